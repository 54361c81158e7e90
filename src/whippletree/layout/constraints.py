"""Constraints as kernels see them: flat arrays packed behind the System and its forces; and the rows of one state.

A joint that closes a loop holds ``turn`` rotations and the displacements of the mask ``shift`` between a frame on its
parent (the first body) and one on its child (the second); the axis of the joint is z.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .forces import code

JOINT, COUPLE = map(code, ("joint", "couple"))  # rows that algorithms look at
# rotations held: none; x of the parent stays across y of the child; about the two axes across z; all; no twist about z,
# which keeps the relative angular velocity in the plane that bisects the two z axes
TURN_NONE, TURN_CROSS, TURN_AXIS, TURN_ALL, TURN_TWIST = 0, 1, 2, 3, 4
TURN_COUNTS = (0, 1, 2, 3, 1)
SHIFT_X, SHIFT_Y, SHIFT_Z = 1, 2, 4
DRIVE_NONE, DRIVE_TURN, DRIVE_SHIFT = range(3)  # the motion along the axis is a function of time
SLIDES = 3  # the same of what rolls, or couples velocities: its last row is friction
VELOCITIES = 1  # of what couples DOF: their velocities alone
# of what rolls: where, and what may slip; its pivoting may be held besides, and wheels have an axle
PLANE, LINE, SPHERE = range(3)
SLIP_NONE, SLIP_SIDE, SLIP_ALL, PIVOT_HELD, AXLE = 0, 1, 2, 4, 8
# numbers of an element: rotation of the frame on the first and second body, its point on each, and what its kind needs
FRAMES, PARAMETERS = 24, 12
NUMBERS = FRAMES + PARAMETERS
# factors of two DOF, or radius and tyre of a wheel; pitch, distance, offset, or radius of what a ball rolls on
FIRST, SECOND, LENGTH = FRAMES, FRAMES + 1, FRAMES + 2
FRICTION, TOWARD = FRAMES + 3, FRAMES + 6  # coefficient, or the load itself; where it slides (3), in the first frame
ROW_NUMBERS = 16  # of the Rows of one row


class Constraints(NamedTuple):
    """Elements, each of a few rows, flat."""

    ne: Any  # number of elements
    nr: Any  # number of rows
    nv: Any  # number of elements with equations of velocities alone
    size: Any  # a length of the mechanism (m): gaps are small or large against it
    alpha: Any  # (1/s)  g'' + 2 alpha g' + beta^2 g = 0 is asked for; both zero but where a run is stabilized so
    beta: Any  # (1/s)
    closes: Any  # 1 where a run goes back onto the constraints after each step, 2 if as far as can be, else 0
    kind: Any  # (ne)
    turn: Any  # (ne)
    shift: Any  # (ne)        mask
    drive: Any  # (ne)
    row: Any  # (ne + 1)      first row of each
    body: Any  # (ne)         the first system body, 0 is ground
    to: Any  # (ne)           the second
    dof: Any  # (ne, 2)   rows of u
    coordinate: Any  # (ne, 2)  rows of q
    signal: Any  # (ne)       number of a function of time, -1 for none
    element: Any  # (nr)      of each row
    numbers: Any  # (ne, NUMBERS)


class Rows(NamedTuple):
    """All constraints in one state: C u = given, C u' = gamma. Row r of C pairs w with the motions of two bodies."""

    g: Any  # (nr)      how far from closed (m, rad)
    rate: Any  # (nr)   C u - given, the rate of that
    prescribed: Any  # (nr)  what a function of time asks for, else zero
    gamma: Any  # (nr)
    w: Any  # (nr, 12)  wrench on the first body and on the second, each about the point of its component


_INTEGERS = ("kind", "turn", "shift", "drive", "row", "body", "to", "dof", "coordinate", "signal", "element")
STABILIZED = slice(4, 7)  # where alpha, beta and closes stand in what is packed


def pack_constraints(arrays: Mapping[str, np.ndarray], size: float) -> np.ndarray:
    """All arrays of :class:`Constraints` behind a header, integers by their bits."""
    header = np.array([len(arrays["kind"]), len(arrays["element"]), arrays["slips"].sum()], np.int64).view(float)
    parts = [np.ascontiguousarray(arrays[name], np.int64).ravel().view(float) for name in _INTEGERS]
    return np.concatenate([header, [size, 0.0, 0.0, 1.0], *parts, np.asarray(arrays["numbers"], float).ravel()])
