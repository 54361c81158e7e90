"""A pose: where a frame stands in another one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Pose:
    """Position in metres and rotation as a unit quaternion [w, x, y, z]."""

    position: Vector = (0.0, 0.0, 0.0)
    quaternion: Quaternion = (1.0, 0.0, 0.0, 0.0)

    def rotation(self) -> np.ndarray:
        """The rotation as a 3 x 3 matrix; its columns are the frame's axes."""
        return np.array(_rows(*self.quaternion))


IDENTITY = Pose()


def rotations(quaternions: ArrayLike) -> np.ndarray:
    """(..., 3, 3) The rotations of unit quaternions (..., 4)."""
    rows = _rows(*np.moveaxis(np.asarray(quaternions, float), -1, 0))
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _rows(w: Any, x: Any, y: Any, z: Any) -> tuple[tuple[Any, Any, Any], ...]:
    """Of the rotation of a unit quaternion."""
    return (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )


def quaternion_from_rpy(rpy: Sequence[float]) -> Quaternion:
    """Roll, pitch, yaw (radians) about fixed x, y, z axes, in that order, as in URDF."""
    (cr, sr), (cp, sp), (cy, sy) = ((math.cos(a / 2), math.sin(a / 2)) for a in rpy)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


def quaternion_from_matrix(rotation: np.ndarray) -> Quaternion:
    """The unit quaternion of a 3 x 3 rotation matrix, with w >= 0 (Shepperd's method)."""
    m = np.asarray(rotation, float)
    trace = m[0, 0] + m[1, 1] + m[2, 2]
    four = np.array([trace, m[0, 0], m[1, 1], m[2, 2]])
    k = int(np.argmax(four))
    q = np.empty(4)
    if k == 0:
        q[:] = 1 + trace, m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
    else:
        i, j, l = k - 1, k % 3, (k + 1) % 3
        q[0] = m[l, j] - m[j, l]
        q[1 + i] = 1 + m[i, i] - m[j, j] - m[l, l]
        q[1 + j] = m[j, i] + m[i, j]
        q[1 + l] = m[l, i] + m[i, l]
    q /= math.copysign(float(np.linalg.norm(q)), q[0])
    return (float(q[0]), float(q[1]), float(q[2]), float(q[3]))
