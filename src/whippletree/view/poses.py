"""Where bodies stand in the world: of one configuration, or of many at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ..model.pose import IDENTITY, Pose
from ..system.system import System
from .standing import Standing, standing


class Poses:
    """Poses of places, each a body or frame by name and a pose in it, as functions of q."""

    def __init__(self, system: System, places: Iterable[tuple[str, Pose]]) -> None:
        self.system = system
        found = [(*system.place(name), at) for name, at in places]
        self._group = np.array([body for body, _, _, _ in found], int)
        self._turn = np.array([R @ at.rotation() for _, R, _, at in found]).reshape(-1, 3, 3)
        self._shift = np.array([R @ np.array(at.position) + p for _, R, p, at in found]).reshape(-1, 3)

    @classmethod
    def of(cls, system: System, names: Sequence[str]) -> Poses:
        """Those of bodies and frames themselves."""
        return cls(system, [(name, IDENTITY) for name in names])

    def at(self, k: Standing) -> tuple[np.ndarray, np.ndarray]:
        """Rotations (..., n, 3, 3) and positions (..., n, 3), as bodies stand."""
        R = k.R[..., self._group, :, :]
        return R @ self._turn, k.o[..., self._group, :] + (R @ self._shift[..., None])[..., 0]

    def __call__(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self.at(standing(self.system, q))


def quaternions(R: np.ndarray) -> np.ndarray:
    """(..., 4) [w, x, y, z] of rotations (..., 3, 3): of four formulas the one with the largest pivot (Shepperd)."""
    R = np.asarray(R, float)
    xx, yy, zz = R[..., 0, 0], R[..., 1, 1], R[..., 2, 2]
    a, b, c = R[..., 2, 1] - R[..., 1, 2], R[..., 0, 2] - R[..., 2, 0], R[..., 1, 0] - R[..., 0, 1]
    xy, xz, yz = R[..., 1, 0] + R[..., 0, 1], R[..., 0, 2] + R[..., 2, 0], R[..., 2, 1] + R[..., 1, 2]
    four = np.stack(
        [
            np.stack([1 + xx + yy + zz, a, b, c], axis=-1),
            np.stack([a, 1 + xx - yy - zz, xy, xz], axis=-1),
            np.stack([b, xy, 1 - xx + yy - zz, yz], axis=-1),
            np.stack([c, xz, yz, 1 - xx - yy + zz], axis=-1),
        ],
        axis=-2,
    )
    pivots = np.stack([four[..., n, n] for n in range(4)], axis=-1)
    q = np.take_along_axis(four, pivots.argmax(axis=-1)[..., None, None], axis=-2)[..., 0, :]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def from_z(directions: np.ndarray) -> np.ndarray:
    """(..., 4) Shortest turns that take z to unit vectors (..., 3)."""
    x, y, z = (directions[..., n] for n in range(3))
    q = np.stack([1 + z, -y, x, np.zeros_like(x)], axis=-1)
    down = z < -1 + 1e-12
    q[down] = [0.0, 1.0, 0.0, 0.0]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)
