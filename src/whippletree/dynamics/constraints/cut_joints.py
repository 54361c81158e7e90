"""Coordinates and velocities of joints that close loops, which have no rows in q and u: from the poses of their bodies.

Angles are in (-pi, pi], but that of a screw, which its displacement tells.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...joints import KINDS
from ...layout.forces import ANGLE_X, ANGLE_Y, BEND_X, BEND_Y, SHIFT, WAY
from ...model import Joint
from ...system.joint_frames import joint_frame
from ..kinematics import Kinematics


class Ends(NamedTuple):
    """The frames of a joint in the world, of one state or of B states in front; the joint's axis is z."""

    A: np.ndarray  # (3, 3)  axes of the frame on the parent
    B: np.ndarray  # (3, 3)  and on the child
    gap: np.ndarray  # (3)   from the first frame's origin to the second's
    point: np.ndarray  # (3) the second's origin


def ends_of(k: Kinematics, joint: Joint) -> Ends:
    frame = joint_frame(joint, False)
    turns, points = [], []
    for name, pose in ((joint.parent, joint.at), (joint.child, joint.child_at)):
        R = k.rotation(name)
        turns.append(R @ (pose.rotation() @ frame))
        points.append(k.position(name) + R @ np.array(pose.position))
    return Ends(turns[0], turns[1], points[1] - points[0], points[1])


def dof_axes(ends: Ends, joint: Joint) -> list[np.ndarray]:
    """For each DOF the vector in the world that its speed and its generalized force are along."""
    return KINDS[joint.kind].dof_axes(ends.A, ends.B)


def cut_coordinates(k: Kinematics, joint: Joint) -> np.ndarray:
    """q of the joint, (n,) or (B, n)."""
    ends = ends_of(k, joint)
    Q = np.swapaxes(ends.A, -1, -2) @ ends.B
    kind = KINDS[joint.kind]
    if kind.quaternion:
        from scipy.spatial.transform import Rotation

        turn = np.roll(Rotation.from_matrix(Q).as_quat(canonical=True), 1, axis=-1)
        place = (np.swapaxes(ends.A, -1, -2) @ ends.gap[..., None])[..., 0]
        return np.concatenate([place, turn], axis=-1) if kind.nq == 7 else turn
    found = []
    for axis, (_, measure) in zip(dof_axes(ends, joint), KINDS[joint.kind].dofs, strict=True):
        if measure == WAY or joint.pitch:
            found.append((axis * ends.gap).sum(axis=-1) / (joint.pitch or 1.0))
        elif measure == BEND_X:
            found.append(
                2.0 * np.arctan2(Q[..., 2, 1] - Q[..., 1, 2], 1.0 + Q[..., 0, 0] + Q[..., 1, 1] + Q[..., 2, 2])
            )
        elif measure == BEND_Y:
            w, x, y = 1.0 + np.trace(Q, axis1=-2, axis2=-1), Q[..., 2, 1] - Q[..., 1, 2], Q[..., 0, 2] - Q[..., 2, 0]
            found.append(2.0 * np.arctan2(y, np.hypot(w, x)))
        elif measure == ANGLE_X:
            found.append(np.arctan2(Q[..., 2, 1], Q[..., 1, 1]))
        elif measure == ANGLE_Y:
            found.append(np.arctan2(Q[..., 0, 2], Q[..., 0, 0]))
        else:
            found.append(np.arctan2(Q[..., 1, 0] - Q[..., 0, 1], Q[..., 0, 0] + Q[..., 1, 1]))
    return np.stack(found, axis=-1)


def cut_velocities(k: Kinematics, joint: Joint) -> np.ndarray:
    """u of the joint, (n,) or (B, n)."""
    ends = ends_of(k, joint)
    a, b = k.velocity(joint.parent), k.velocity(joint.child)
    w = b[..., :3] - a[..., :3]
    v = b[..., 3:] + np.cross(b[..., :3], ends.point - k.position(joint.child))
    v = v - a[..., 3:] - np.cross(a[..., :3], ends.point - k.position(joint.parent))
    velocities = [
        (axis * (w if code < SHIFT else v)).sum(axis=-1)
        for axis, (code, _) in zip(dof_axes(ends, joint), KINDS[joint.kind].dofs, strict=True)
    ]
    return np.stack(velocities, axis=-1)
