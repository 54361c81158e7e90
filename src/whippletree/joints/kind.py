"""What the library knows of a joint kind: one row of the joint table.

A row loads no compiler: its compiled formulas are made by ``kernels`` when the first kernel asks for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..layout.constraints import DRIVE_NONE, SHIFT_X, SHIFT_Y, SHIFT_Z
from ..layout.forces import ON_CHILD, SHIFT

X, Y, Z = range(3)
ACROSS, ALL = SHIFT_X | SHIFT_Y, SHIFT_X | SHIFT_Y | SHIFT_Z
# how a kind is written the other way round, child to parent, and how its coordinates move (see kernels/joints.py)
REVERSIBLE = 0  # its inverse is itself in a frame turned half round x; its axes are fixed in the parent; q' = u
CARRIED = 1  # some axis is carried by the joint itself, which adds a bias acceleration; q' = u
QUATERNION = 2  # the last four coordinates are a unit quaternion

Labels = tuple[tuple[str, str], ...]  # label and unit of each coordinate
Pose = tuple[np.ndarray, np.ndarray]  # rotation (..., 3, 3) and displacement (..., 3)


class Formulas(NamedTuple):
    """The compiled formulas of a kind; the joint is that of body i.

    ``place(m, i, q, k, R, o)``: R, o is the joint's frame on the tree parent; stores the columns S and returns the
    frame on the tree child. ``m.sign[i]`` is -1 where the user's child is the tree parent; a reversible kind need not
    look. ``bias(m, i, q, u, k)``: (6) S' u, S differentiated in the frame of the user's parent, times the sign; None
    where S is constant there or on the child.
    ``read(m, i, R, d, q)``: writes q from the child's frame R, d in the parent's, near the q that is there.
    """

    place: Any
    bias: Any
    read: Any


@dataclass(frozen=True)
class JointKind:
    """One kind: all that other rooms ask for instead of its name."""

    name: str
    about: str  # for the reference of joint kinds: what it lets move
    coordinates: Labels
    dofs: tuple[tuple[int, int], ...]  # axis (layout.forces.ON_CHILD says how) and measure of each DOF, joint frame
    holds: tuple[int, int] | None  # rotations and displacements held where it closes a loop; None if it cannot
    pose: Callable[[np.ndarray, Any], Pose]  # of the child's frame in the parent's at coordinates (..., nq) of a Joint
    kernels: Callable[[], Formulas] | None  # None: never a joint of the tree
    group: int = REVERSIBLE
    velocities: Labels = ()  # those of the coordinates if there are none
    axes: int = 1  # how many axes the user may write
    parameters: tuple[str, ...] = ()  # what the user may write besides axes: pitch, or entries of Joint.own
    drives: tuple[int, ...] = ()  # how a prescribed motion of each DOF is held where it closes a loop
    spring: str = "each"  # "each" DOF may have one, one against the "whole" rotation, or "none"
    picture: str = "pin"  # pin, slide, ball or none
    color: str = "#333333"  # in the picture of the topology
    operations: int = 0  # additions and multiplications of its kinematics: tests/support/count_operations.py
    axes_of: Callable[[np.ndarray, np.ndarray], list[np.ndarray]] | None = None  # see dof_axes
    check: Callable[[dict[str, Any], str, str | None], dict[str, Any]] | None = None  # of Joint.own, or a ModelError
    numbers: Callable[[Any], np.ndarray] | None = None  # what its kernels read besides: packed with the System

    @property
    def nq(self) -> int:
        return len(self.coordinates)

    @property
    def rates(self) -> Labels:
        """Label and unit of each generalized velocity."""
        return self.velocities or tuple((label, f"{unit}/s") for label, unit in self.coordinates)

    @property
    def nu(self) -> int:
        return len(self.rates)

    @property
    def quaternion(self) -> bool:
        return self.group == QUATERNION

    @property
    def turns_only(self) -> bool:
        """Whether it is a rotation about a point or axis that both bodies share."""
        return all(unit == "rad/s" for _, unit in self.rates) and not self.parameters

    @property
    def slides_only(self) -> bool:
        """Whether it is one displacement."""
        return [unit for _, unit in self.rates] == ["m/s"]

    @property
    def telescopes(self) -> bool:
        """Whether it moves along its own axis."""
        return any(axis == Z + SHIFT for axis, _ in self.dofs)

    @property
    def coded(self) -> bool:
        """Whether the axes of its DOF are axes of its two frames, as ``dof`` says."""
        return self.axes_of is None and self.numbers is None

    def drive(self, dof: int) -> int:
        """How a prescribed motion is held where the joint closes a loop; DRIVE_NONE if it cannot be."""
        return self.drives[dof] if dof < len(self.drives) else DRIVE_NONE

    def dof_axes(self, A: np.ndarray, B: np.ndarray) -> list[np.ndarray]:
        """(..., 3) for each DOF the vector e with u = e . (relative angular velocity or velocity).

        A and B (..., 3, 3) are the joint's frames on the parent and on the child.
        """
        if self.axes_of is not None:
            return self.axes_of(A, B)
        return [(B if axis % SHIFT >= ON_CHILD else A)[..., :, axis % 3] for axis, _ in self.dofs]


def about(axis: int, angle: np.ndarray) -> np.ndarray:
    """(..., 3, 3) Rotations about an axis of the frame."""
    a, b = (axis + 1) % 3, (axis + 2) % 3
    turn = np.zeros((*angle.shape, 3, 3))
    turn[..., axis, axis] = 1.0
    turn[..., a, a] = turn[..., b, b] = np.cos(angle)
    turn[..., b, a] = np.sin(angle)
    turn[..., a, b] = -turn[..., b, a]
    return turn


def along(axes: slice, values: np.ndarray) -> np.ndarray:
    """(..., 3) Displacements along axes of the frame."""
    shift = np.zeros((*values.shape[:-1], 3))
    shift[..., axes] = values
    return shift


def nowhere(x: np.ndarray) -> np.ndarray:
    """(..., 3) No displacement, of coordinates x (..., nq)."""
    return np.zeros((*x.shape[:-1], 3))


def matrices(quaternions: np.ndarray) -> np.ndarray:
    """(..., 3, 3) of quaternions (..., 4) [w, x, y, z] of any length."""
    w, x, y, z = np.moveaxis(quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True), -1, 0)
    rows = [
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
