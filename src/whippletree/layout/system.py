"""The System as kernels see it: flat arrays packed into one, so that a call from Python passes a single pointer.

``pack`` and ``unpack`` (unpack.py) are the two sides of one layout; tests/system/test_system.py holds them together.
Why one packed array: docs/decisions/0003-system-into-kernels.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

# bodies that no joint carries: a node of a flexible body, and the flexible body itself, whose DOF are its modes
NODE, MODES = -1, -2
# counts and the like at the start of a System: see Arrays; those of flexible bodies are zero where there are none
COUNTS = 12
ADDRESS, FLEXIBLE, MODAL_MOTION, MODAL_WORK, FACTORS, DIVISION, PLACING, OWN_NUMBERS = range(4, COUNTS)
UNIT = 1e-3  # how far from 1 a quaternion's length may be; integrators drift, users forget


class Arrays(NamedTuple):
    """Body i owns rows dof[i]:dof[i+1] of u and position[i]:position[i+1] of q. Body 0 is ground."""

    nb: Any  # number of bodies, ground included
    nu: Any  # length of u
    nq: Any  # length of q
    nc: Any  # number of components: what hangs together once ground is taken away
    parent: Any  # (nb)     parent[i] < i
    kind: Any  # (nb)       joint kind: its code in the joint table, or NODE or MODES
    position: Any  # (nb+1) first row of q
    dof: Any  # (nb+1)      first row of u
    component: Any  # (nb)
    up: Any  # (nu)         next DOF towards ground, -1 where there is none
    first: Any  # (nb)      1 if the body is the first of its siblings to be met going inward
    Rt: Any  # (nb, 9)      rotation of the joint's frame in the parent
    pt: Any  # (nb, 3)      its position in the parent; zero for children of ground
    base: Any  # (nc, 3)    position of the component's first joint in the world
    mass: Any  # (nb)
    com: Any  # (nb, 3)     centre of mass in the body
    inertia: Any  # (nb, 6) about the centre of mass, body axes: xx xy xz yy yz zz
    parameter: Any  # (nb)  of the joint's kind: a screw's pitch, or where in numbers its own ones begin
    sign: Any  # (nb)       -1 if the user's child is the parent in the tree
    armature: Any  # (nu)
    resist: Any  # (nu)     the same, and infinite where the motion is prescribed: nothing moves the DOF then
    gravity: Any  # (3)
    numbers: Any  # (nn)    of joint kinds that have more than one parameter
    header: (
        Any  # (COUNTS) the counts above; then of flexible bodies: address of what solves them (outside.call_flexible),
    )
    # how many numbers they take here, of Kinematics and of Work, and 1 if modes are to be eliminated one by one;
    # then the address of the memory of a division, where a run is divided, and that of what places flexible bodies


def lengths(nb: int, nu: int, nc: int, numbers: int = 0) -> dict[str, int]:
    """Numbers in each array, in packing order."""
    counts = {"parent": nb, "kind": nb, "position": nb + 1, "dof": nb + 1, "component": nb, "first": nb, "up": nu}
    counts |= {"Rt": 9 * nb, "pt": 3 * nb, "base": 3 * nc, "mass": nb, "com": 3 * nb, "inertia": 6 * nb}
    return counts | {"parameter": nb, "sign": nb, "armature": nu, "resist": nu, "gravity": 3, "numbers": numbers}


def pack(
    arrays: Mapping[str, np.ndarray], nb: int, nu: int, nq: int, nc: int, flexible: tuple[np.ndarray, int, int]
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """All arrays behind a header of counts, integers by their bits; and read-only views of them by name.

    ``flexible``: the flexible bodies, packed, and how many numbers they take of Kinematics and of Work.
    """
    own = np.size(arrays["numbers"])
    counts = lengths(nb, nu, nc, own)
    more, motion, work = flexible
    packed = np.concatenate([np.empty(COUNTS + sum(counts.values())), more])
    packed[:COUNTS].view(np.int64)[:] = nb, nu, nq, nc, 0, more.size, motion, work, 0, 0, 0, own
    views, n = {}, COUNTS
    for name, count in counts.items():
        array = np.asarray(arrays[name])
        part = packed[n : n + count].view(np.int64 if array.dtype.kind in "iub" else float).reshape(array.shape)
        part[...] = array
        part.setflags(write=False)
        views[name] = part
        n += count
    return packed, views
