"""Forces as kernels see them: flat arrays packed behind the System; and functions of time at one time."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np


def code(kind: str) -> int:
    """What kernels know a kind by. It is made of the name: tables and kernels agree without a list that both read."""
    return crc32(kind.encode()) & 0x7FFFFFFF


# kinds that algorithms look at. BALL: the spring of a spherical joint; HELD: a motion that a constraint holds, no force
# of its own; CUT: in a joint that closes a loop
MOTOR, MOTION, BALL, HELD = map(code, ("motor", "motion", "ball", "held"))
CUT_MOTOR, CUT_PASSIVE = code("cut_motor"), code("cut_passive")
FRAMES, PARAMETERS = 24, 12  # numbers of an element: two rotations and two points, then what its kind needs
NUMBERS = FRAMES + PARAMETERS
# DOF of a CUT element: axis 0, 1 or 2 of the frame on the parent or, more by ON_CHILD, on the child;
# a turn about it or, more by SHIFT, a displacement along it
ON_CHILD, SHIFT = 3, 6
# coordinate of a CUT element: what is measured of it
UNMEASURED, WAY, ANGLE_X, ANGLE_Y, ANGLE_Z, BEND_X, BEND_Y = range(7)
MIDDLE, SCALE = FRAMES + 9, FRAMES + 10  # the value its stops count from; way for a unit of the coordinate
ROW = 8  # of the ledger: six numbers of load, stored energy, power of what does not store it
TINY = 1e-200  # m^2: keeps the direction of a spring without length a number


class Forces(NamedTuple):
    """Elements, the passive forces of DOF, and functions of time, flat."""

    nf: Any  # number of elements
    nj: Any  # number of DOF with passive forces
    ns: Any  # number of functions of time
    ndriven: Any  # number of motions
    nbodies: Any  # number of elements that act on bodies
    kind: Any  # (nf)
    body: Any  # (nf)          the first system body, 0 is ground
    to: Any  # (nf)            the second
    dof: Any  # (nf)       row of u, or as ON_CHILD says
    coordinate: Any  # (nf)    row of q, or what is measured
    signal: Any  # (nf, 3)     numbers of functions of time, -1 for none
    address: Any  # (nf)       of a user's function
    numbers: Any  # (nf, NUMBERS)
    passive_dof: Any  # (nj)
    passive_coordinate: Any  # (nj)  -1 where there is none
    passive: Any  # (nj, 9)    stiffness, rest, damping, friction, its speed, lower, upper, stop, its damping
    first: Any  # (ns + 1)     first piece of each function
    time: Any  # (np)          where a piece begins (s)
    piece: Any  # (np, 6)      polynomial in the time since then
    wave: Any  # (ns, 3)       amplitude, angular frequency (rad/s), phase


_INTEGERS = {"kind", "body", "to", "dof", "coordinate", "signal", "address"}
_INTEGERS |= {"passive_dof", "passive_coordinate", "first"}


def pack_forces(arrays: Mapping[str, np.ndarray], ndriven: int, nbodies: int) -> np.ndarray:
    """All arrays of :class:`Forces` behind a header of counts, integers by their bits."""
    nf, nj, ns, pieces = (len(arrays[name]) for name in ("kind", "passive_dof", "wave", "time"))
    header = np.array([nf, nj, ns, ndriven, nbodies, pieces], np.int64).view(float)
    parts = [
        np.ascontiguousarray(arrays[name], np.int64).view(float) if name in _INTEGERS else np.asarray(arrays[name])
        for name in Forces._fields[5:]
    ]
    return np.concatenate([header, *(np.asarray(part, float).ravel() for part in parts)])
