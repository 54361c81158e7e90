"""Subchains side by side, as kernels see them: one block of memory for each LANES of them, or for one.

A *subchain* is a subchain: a path of bodies outward from its first one, whose last is the tip, and all that hangs off
the path aside. It stands on the body that carries it, which is its body 0, and is computed in the axes of that body
about the joint's own point. The subchains of a block have the same joints; shorter ones end in bodies without mass
whose joints are locked. ``places`` and ``take_subchains`` are the two sides of one layout.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from ...compiler.lanes import ALWAYS, LANES, LINE, borrow, inline, view
from ...kernels.kinematics import Kinematics
from ...kernels.unpack import take_integers
from ...layout.system import Arrays
from .end_point import ROOM, WIDE

HEAD = 16  # integers in front of a block
WIDTH, BODIES, PATH, NQ, NU, USED, FREE_TIP, Q_FULL, U_FULL, CLUSTERS_AT, OWN_AT, OWN_COUNT = range(12)  # their places

# loops inside a subchain, see divide/subchain_loops.py. Integers of a cluster: its top; its first row and how many;
# DOF; bodies and where they are listed; where its numbers are; its rank. Integers of a row: the bodies of its two
# ends, its place among the local rows. Numbers of a local row: wrenches on its two ends, gamma, and the multiplier
# found
CLUSTER, CLUSTER_ROW, LOCAL = 8, 3, 14
TOP, FIRST_ROW, CLUSTER_ROWS, DOFS, CLUSTER_BODIES, BODIES_AT, NUMBERS_AT, CLUSTER_RANK = range(8)
GAMMA, LAMBDA = 12, 13

# rows of a subchain's own numbers: where it stands, then its two handles, then their answer
POINT, TURN, OFFSET, BASE_V, BASE_B, REL_R, REL_O, NEXT_R, NEXT_O, HEALTH = 0, 3, 12, 15, 21, 27, 36, 39, 48, 51
HANDLES = 52
I_, E_, L_, P_, L0_, X_, F_ = 0, 21, 57, 78, 84, 90, 96  # rows of the handles, from HANDLES on
NODE = 102
OWN = HANDLES + NODE


class Subchains(NamedTuple):
    """What a block holds; rows of registers, or of floats."""

    m: Any  # the bodies, as a System of their own
    k: Any  # Kinematics, as if what carries the subchains were at rest
    path: Any  # number of bodies on the path, which come first
    used: Any  # number of lanes that are subchains; the others repeat one
    free_tip: Any  # whether no subchain has anything beyond its tip
    q_full: Any  # rows of q that all lanes have
    u_full: Any  # rows of u that all lanes have
    q_row: Any  # (nq, lanes)  where in q
    u_row: Any  # (nu, lanes)  where in u, tau and udot
    body: Any  # (nb, lanes)  which body of the System
    side: Any  # (nb)  whether something hangs off the body aside
    q: Any  # (nq)
    u: Any  # (nu)
    tau: Any  # (nu)
    IA: Any  # (nb, 21)  articulated inertia of what hangs off aside
    pA: Any  # (nb, 6)
    U: Any  # (nu, 6)
    d: Any  # (nu)
    uA: Any  # (nu)
    e: Any  # (nu, WIDE)  E' S: how a force at the tip moves the DOF
    x: Any  # (nb, 6)  acceleration less the bias acceleration
    zero: Any  # (21)
    wide: Any  # (ROOM)  for E, L and l of one subchain
    own: Any  # (OWN)


def constant_rows(nb: int, nu: int) -> dict[str, int]:
    return {"Rt": 9 * nb, "pt": 3 * nb, "base": 3, "mass": nb, "com": 3 * nb, "inertia": 6 * nb, "parameter": nb} | {
        "resist": nu
    }


def work_rows(nb: int, nq: int, nu: int, width: int) -> dict[str, int]:
    moving = {"q": nq, "u": nu, "tau": nu, "sin": nq, "cos": nq, "R": 9 * nb, "o": 3 * nb, "S": 6 * nu, "J": 6 * nb}
    moving |= {"h": 3 * nb, "point": 3, "v": 6 * nb, "defect": 3, "b": 6 * nb, "IA": 21 * nb, "pA": 6 * nb}
    return (
        moving
        | {"U": 6 * nu, "d": nu, "uA": nu, "e": WIDE * nu, "x": 6 * nb, "zero": 21}
        | {
            "wide": ROOM if width == 1 else 0,
            "own": OWN,
        }
    )


def integer_rows(nb: int, nq: int, nu: int, width: int) -> dict[str, int]:
    counts = {"parent": nb, "kind": nb, "position": nb + 1, "dof": nb + 1, "component": nb, "side": nb}
    return counts | {"q_row": nq * width, "u_row": nu * width, "body": nb * width}


def cluster_numbers(rows: int, dofs: int) -> int:
    """Numbers that a cluster takes."""
    return 2 * rows * dofs + rows * rows + 18 * rows


def places(nb: int, nq: int, nu: int, width: int) -> tuple[dict[str, int], int]:
    """Where each array of a block starts, from the block's start, and how long the block is."""
    found, n = {}, HEAD
    for name, count in (integer_rows(nb, nq, nu, width) | {"sign": nb}).items():
        found[name] = n
        n += count
    n = -(-n // LINE) * LINE
    for name, count in (constant_rows(nb, nu) | work_rows(nb, nq, nu, width)).items():
        found[name] = n
        n += count * width
    return found, -(-n // LINE) * LINE


# ---------------------------------------------------------------- kernels


@intrinsic
def registers(typing_context: Any, memory: Any, start: Any, count: Any) -> Any:
    """So many rows of registers of a 1-D memory, from number ``start`` on."""
    result = types.Array(types.float64, 1 if LANES == 1 else 2, "C")

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = builder.gep(context.make_array(sig.args[0])(context, builder, args[0]).data, [args[1]])
        return borrow(context, builder, result, data, ir.Constant(args[1].type, 0), args[2])

    return result(memory, types.intp, types.intp), generate


def rows(memory, start, count, like):
    """Rows of a memory and where the rest starts: registers if ``like`` is made of them, else floats."""


@overload(rows, jit_options=ALWAYS)
def _rows(memory, start, count, like):
    if like.ndim == 1:
        return lambda memory, start, count, like: (view(memory, start, count), start + count)
    return lambda memory, start, count, like: (registers(memory, start, count), start + count * LANES)


@inline
def take_subchains(memory, at, like):
    """The block that starts at ``at``"""
    head, n = take_integers(memory, at, HEAD)
    width, nb, nq, nu = head[WIDTH], head[BODIES], head[NQ], head[NU]
    parent, n = take_integers(memory, n, nb)
    kind, n = take_integers(memory, n, nb)
    position, n = take_integers(memory, n, nb + 1)
    dof, n = take_integers(memory, n, nb + 1)
    component, n = take_integers(memory, n, nb)
    side, n = take_integers(memory, n, nb)
    q_row, n = take_integers(memory, n, nq * width)
    u_row, n = take_integers(memory, n, nu * width)
    body, n = take_integers(memory, n, nb * width)
    sign = view(memory, n, nb)
    n = (n + nb + LINE - 1) // LINE * LINE
    Rt, n = rows(memory, n, 9 * nb, like)
    pt, n = rows(memory, n, 3 * nb, like)
    base, n = rows(memory, n, 3, like)
    mass, n = rows(memory, n, nb, like)
    com, n = rows(memory, n, 3 * nb, like)
    inertia, n = rows(memory, n, 6 * nb, like)
    parameter, n = rows(memory, n, nb, like)
    resist, n = rows(memory, n, nu, like)
    q, n = rows(memory, n, nq, like)
    u, n = rows(memory, n, nu, like)
    tau, n = rows(memory, n, nu, like)
    sin, n = rows(memory, n, nq, like)
    cos, n = rows(memory, n, nq, like)
    R, n = rows(memory, n, 9 * nb, like)
    o, n = rows(memory, n, 3 * nb, like)
    S, n = rows(memory, n, 6 * nu, like)
    J, n = rows(memory, n, 6 * nb, like)
    h, n = rows(memory, n, 3 * nb, like)
    point, n = rows(memory, n, 3, like)
    v, n = rows(memory, n, 6 * nb, like)
    defect, n = rows(memory, n, 3, like)
    b, n = rows(memory, n, 6 * nb, like)
    IA, n = rows(memory, n, 21 * nb, like)
    pA, n = rows(memory, n, 6 * nb, like)
    U, n = rows(memory, n, 6 * nu, like)
    d, n = rows(memory, n, nu, like)
    uA, n = rows(memory, n, nu, like)
    e, n = rows(memory, n, WIDE * nu, like)
    x, n = rows(memory, n, 6 * nb, like)
    zero, n = rows(memory, n, 21, like)
    wide, n = rows(memory, n, ROOM if width == 1 else 0, like)
    own, n = rows(memory, n, OWN, like)
    numbers = view(memory, head[OWN_AT], head[OWN_COUNT])  # of joint kinds, the System's
    m = Arrays(
        nb, nu, nq, 1, parent, kind, position, dof, component, u_row, side,
        Rt, pt, base, mass, com, inertia, parameter, sign, resist, resist, zero, numbers, head,
    )  # fmt: skip
    k = Kinematics(sin, cos, R, o, S, J, h, point, v, defect, b)
    return Subchains(
        m, k, head[PATH], head[USED], head[FREE_TIP], head[Q_FULL], head[U_FULL], q_row, u_row, body, side,
        q, u, tau, IA, pA, U, d, uA, e, x, zero, wide, own,
    )  # fmt: skip
