"""Accelerations of a tree whose subchains may have lost digits: measured against the equations of motion and corrected.

Paper    [higham2002] iterative refinement, section 12.1: residuals with twice the digits, corrections in doubles.
Symbols  r = tau - (M u' + bias), by one Newton-Euler pass; M du = r by the factors of [jain1992], as operators.py.
Differs  D includes prescribed motions, whose du is zero.

Subchains lose digits where a light body carries heavy ones: a force at a light tip moves it far, I_B L_A of assembly.py
and Gamma of subchain_solver.py then have terms as large as the ratio of masses, and what a solution needs is the rest.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from ..errors import SimulationError
from ..kernels.blocks import make_memory, mismatch
from ..kernels.extended import add_cross, add_product, add_to
from ..kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ..kernels.lanes import entry, kernel, put, scratch, take, view
from ..kernels.spatial import add21, add_rigid, dot, load3, load6, load21, mul, rigid_force, store6, store21, sub_outer
from ..kernels.unpack import unpack
from ..system.system import System
from . import operators
from .inputs import body_of
from .partition import carried_over_own
from .sweep_work import take_work, work_rows

ROUNDS = 40  # of refinement, at most
SETTLED = 1e-12  # the last correction over the largest acceleration, below which accelerations are proven
GRADED = 1e3  # of mass_grading, from which on accelerations are refined
NEAR = 1e-14  # of the distance to a joint, within which a rounding is
LOSSY = 1e6  # of mass_grading, from which on no run is begun
_NUMBERS = types.Array(types.float64, 1, "C")


# ---------------------------------------------------------------- where digits may be lost


def mass_grading(system: System) -> tuple[float, int]:
    """The largest mass that a body carries over its own mass, and which body it is; found once for a System.

    With loops and constraints any body may carry any other: the heaviest one counts. A massless body that carries
    others counts as GRADED: whether its motions have inertia is a matter of the pose.
    """
    known = system.found.get("mass grading")
    if known is None:
        known = system.found["mass grading"] = _mass_grading(system)
    return known


def _mass_grading(system: System) -> tuple[float, int]:
    if system.nb == 1:
        return 1.0, 0
    mass, ratio = system.arrays["mass"], carried_over_own(system)
    if system.constraints.count:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio[1:] = mass.max() / mass[1:]
    worst = int(np.argmax(np.where(mass > 0.0, ratio, 0.0)))
    if ratio[worst] < GRADED and np.isinf(ratio).any():
        return GRADED, int(np.argmax(ratio))
    return float(ratio[worst]), worst


# ---------------------------------------------------------------- residual and correction


@kernel
def factorize(m, k, w):
    """D and G of operators.py, with prescribed motions"""
    for n in range(21 * m.nb):
        put(w.IA, n, 0.0)
    for i in range(m.nb - 1, 0, -1):
        P = add_rigid(load21(w.IA, i), m.mass[i], load3(k.h, i), load6(k.J, i))
        for j in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            S = load6(k.S, j)
            U = mul(P, S)
            d = 1.0 / (dot(S, U) + m.resist[j])
            P = sub_outer(P, d, U)
            store6(w.U, j, U)
            put(w.d, j, d)
        store21(w.IA, m.parent[i], add21(load21(w.IA, m.parent[i]), P))


@kernel
def round_off(m, k, low, high, none):
    """What rounding took from S: rotations of a joint are about one point, o, to more digits than S has"""
    for i in range(1, m.nb):
        o = load3(k.o, i)
        reach = abs(o[0]) + abs(o[1]) + abs(o[2])
        for j in range(m.dof[i], m.dof[i + 1]):
            apart = 0.0
            for n in range(3):
                high[3 * j + n], low[3 * j + n] = -k.S[6 * j + 3 + n], 0.0
            add_cross(high, low, 3 * j, 1.0, o, k.S, none, 6 * j)
            for n in range(3):
                low[3 * j + n] += high[3 * j + n]
                apart = max(apart, abs(low[3 * j + n]))
            for n in range(3):
                low[3 * j + n] = low[3 * j + n] if apart <= NEAR * reach else 0.0  # about another point, or a slide


@kernel
def body_forces(m, k, low_S, forces, udot, x, f):
    """Accelerations x of bodies, and behind them their low parts; forces f that these take, likewise"""
    wrench, low = forces.shape[0] > m.nu, 6 * m.nb
    xl, fl = view(x, low, low), view(f, low, low)
    for n in range(2 * low):
        x[n] = f[n] = 0.0
    for i in range(1, m.nb):  # ground to tips: x = x_p + S u', f = I x + bias
        p, at = m.parent[i], 6 * i
        for n in range(6):
            x[at + n], xl[at + n] = x[6 * p + n], xl[6 * p + n]
        for j in range(m.dof[i], m.dof[i + 1]):
            for n in range(6):
                add_product(x, xl, at + n, udot[j], k.S[6 * j + n], low_S[3 * j + n - 3] if n > 2 else 0.0)
        h, J = load3(k.h, i), load6(k.J, i)
        bias = rigid_force(m.mass[i], h, J, load6(k.b, i), load6(k.v, i))
        for n in range(6):
            f[at + n] = bias[n]
            if wrench:
                add_to(f, fl, at + n, -forces[m.nu + at + n], 0.0)
        for n in range(3):
            for c in range(3):  # of J: xx xy xz yy yz zz
                first, second = min(n, c), max(n, c)
                add_product(f, fl, at + n, J[first * (5 - first) // 2 + second], x[at + c], xl[at + c])
            add_product(f, fl, at + 3 + n, m.mass[i], x[at + 3 + n], xl[at + 3 + n])
        add_cross(f, fl, at, 1.0, h, x, xl, at + 3)  # J w + h x v, m v - h x w
        add_cross(f, fl, at + 3, -1.0, h, x, xl, at)


@kernel
def take_from(m, k, low_S, forces, udot, x, f, r):
    """r = tau - S . f, from tips to ground; x is overwritten"""
    xl, fl = view(x, 6 * m.nb, 6 * m.nb), view(f, 6 * m.nb, 6 * m.nb)
    for i in range(m.nb - 1, 0, -1):
        at, p = 6 * i, m.parent[i]
        for j in range(m.dof[i], m.dof[i + 1]):
            x[0], xl[0] = forces[j], 0.0
            for n in range(6):
                add_product(x, xl, 0, -k.S[6 * j + n], f[at + n], fl[at + n])
            for n in range(3):
                add_product(x, xl, 0, -low_S[3 * j + n], f[at + 3 + n], 0.0)
            add_product(x, xl, 0, -m.armature[j], udot[j], 0.0)
            r[j] = 0.0 if m.resist[j] == math.inf else x[0]
        for n in range(6):
            add_to(f, fl, 6 * p + n, f[at + n], fl[at + n])


@entry
def refine(memory, q, u, forces, udot, proof):
    """Corrects udot. Into ``proof``: the first and the last correction over the largest acceleration, rounds taken,
    and the DOF whose correction was the largest. Returns 0, or not a number."""
    m, end = unpack(memory)
    if mismatch(m, q, u, forces, udot):
        return np.nan
    buffer = scratch(memory, end, memory)
    k, n = take_kinematics(m, buffer)
    w, n = take_work(m, buffer, n)
    x, n = take(buffer, n, 12 * m.nb)
    f, n = take(buffer, n, 12 * m.nb)
    low_S, n = take(buffer, n, 12 * m.nu)
    r, n = take(buffer, n, m.nu)
    du, n = take(buffer, n, m.nu)
    place_and_move(m, q, u, k)
    factorize(m, k, w)
    round_off(m, k, low_S, view(low_S, 3 * m.nu, 3 * m.nu), view(low_S, 6 * m.nu, 6 * m.nu))
    last = math.inf
    for count in range(ROUNDS):
        body_forces(m, k, low_S, forces, udot, x, f)
        take_from(m, k, low_S, forces, udot, x, f, r)
        operators.solve(m, k, w, r, 0, 1, du)
        largest, size, worst = 0.0, 0.0, 0
        for j in range(m.nu):
            if not abs(du[j]) <= largest:
                largest, worst = abs(du[j]), j
            udot[j] += du[j]
            size = max(size, abs(udot[j]))
        change = largest / size if size > 0.0 else largest
        if count == 0:
            proof[0] = change
        proof[1], proof[2], proof[3] = change, count + 1.0, float(worst)
        if change <= SETTLED or not change < 0.5 * last:
            break
        last = change
    return 0.0 * proof[1]


def workspace(system: System) -> np.ndarray:
    """Memory for :func:`refine`."""
    return make_memory(system, kinematics_rows(system) + work_rows(system) + 24 * system.nb + 14 * system.nu, 1)


def refined(system: System, algorithm: str, q: Any, u: Any, forces: Any, udot: np.ndarray) -> float:
    """Corrects the accelerations of one state of a tree in place; returns by how much, relative to the largest.

    Raises
    ------
    SimulationError
        if corrections do not settle: the equations of motion lose too many digits at this state.
    """
    compiled: Any = refine
    compiled.compile((*[_NUMBERS] * 6,))
    waiting = system.ready.setdefault(refine, [])
    memory = waiting.pop() if waiting else workspace(system)
    proof = np.zeros(4)
    total = refine(memory, *(np.ascontiguousarray(a) for a in (q, u, forces)), udot, proof)
    waiting.append(memory)
    if total == 0.0 and proof[1] <= SETTLED:
        return float(proof[0])
    ratio, body = mass_grading(system)
    raise SimulationError(
        f"algorithm '{algorithm}' loses too many digits of '{system.name}' at this state",
        where=system.mechanical(body_of(system, "u", int(proof[3]))),
        got=f"corrections of {proof[1]:.1e} of the largest acceleration after {int(proof[2])} rounds",
        hint=_why(system, ratio, body) + "algorithm='articulated' cuts nothing",
    )


def _why(system: System, ratio: float, body: int) -> str:
    if ratio < GRADED:
        return ""
    return f"the body of {system.mechanical(body)} carries one {ratio:.1e} times as heavy as itself; "
