"""The frame of a joint in which kernels know its kind: the axis is z; of a kind with two axes x, then y.

And the ends of what acts between two bodies: a rotation and a point on each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..joints import KINDS
from ..joints.kind import REVERSIBLE
from ..model import Joint

if TYPE_CHECKING:
    from .system import System

PRINCIPAL = {(1.0, 0.0, 0.0): 0, (0.0, 1.0, 0.0): 1, (0.0, 0.0, 1.0): 2}


def in_plane_axes(axis: tuple[float, float, float]) -> np.ndarray:
    """Rotation (3 x 3) whose third column is ``axis``; the other two span the plane of a planar joint.

    Cyclic for x, y and z: the columns are (y, z, x), (z, x, y) and (x, y, z). For any other axis with
    z > 0, the shortest rotation that takes z to it. For the opposite axes (-x, -y, -z, z < 0) the
    rotation of the axis, turned half round its first column.
    """
    if axis in PRINCIPAL:
        return np.roll(np.eye(3), -(PRINCIPAL[axis] + 1), axis=1)
    x, y, z = axis
    opposite = (-x + 0.0, -y + 0.0, -z + 0.0)
    if opposite in PRINCIPAL or z < 0:
        return in_plane_axes(opposite) * [1.0, -1.0, -1.0]
    f = 1.0 / (1.0 + z)
    return np.array([[1 - f * x * x, -f * x * y, x], [-f * x * y, 1 - f * y * y, y], [-x, -y, z]])


def joint_frame(joint: Joint, turned: bool) -> np.ndarray:
    """Rotation of the frame in which the kernels know the joint's kind."""
    kind = KINDS.get(joint.kind)
    if kind is None or kind.axes == 0:
        return np.eye(3)
    if kind.axes == 2:
        x, y = np.array(joint.axis), np.array(joint.axis2)
        y = y - x * (x @ y)
        y /= np.linalg.norm(y)
        return np.column_stack([x, y, np.cross(x, y)])
    frame = in_plane_axes(joint.axis)
    if turned and kind.group == REVERSIBLE:  # X(q)^-1 = F X(q) F with F half a turn about x
        return frame * [1.0, -1.0, -1.0]
    return frame


def put_end(
    system: System, name: str, at: Any, numbers: np.ndarray, which: int, frame: np.ndarray | None = None
) -> int:
    """The system body of one end; its frame at a point or pose there goes into the numbers of an element."""
    body, R, p = system.place(name)
    point, turn = (at, np.eye(3)) if isinstance(at, tuple) else (at.position, at.rotation())
    numbers[9 * which : 9 * which + 9] = (R @ (turn if frame is None else turn @ frame)).ravel()
    numbers[18 + 3 * which : 21 + 3 * which] = R @ np.array(point) + p
    return body


def put_joint_ends(system: System, joint: Joint, numbers: np.ndarray) -> dict[str, int]:
    """The system bodies of a joint's parent and child; its frames there go into the numbers of an element."""
    frame = joint_frame(joint, False)
    ends = ("body", joint.parent, joint.at), ("to", joint.child, joint.child_at)
    return {key: put_end(system, name, pose, numbers, which, frame) for which, (key, name, pose) in enumerate(ends)}
