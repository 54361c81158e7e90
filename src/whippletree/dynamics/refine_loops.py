"""The same as refine_divided.py with loops: accelerations and multipliers that several subchains have found together.

Symbols  r = tau + C' lam - (M u' + bias) and g = gamma - C u', with twice the digits; M du - C' more = r, C du = g by
         the divided passes that are there, divided_loops.py.
Differs  rows that were left out as redundant have lam = 0 and no part in it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import types

from ..errors import SimulationError
from ..kernels.blocks import mismatch
from ..kernels.constraints import ends_of_row
from ..kernels.extended import add_product
from ..kernels.forces import spread_given
from ..kernels.kinematics import take_kinematics
from ..kernels.lanes import entry, get, kernel, put, scratch, take, view
from ..kernels.spatial import dot, load6
from ..kernels.unpack import unpack, unpack_constraints, unpack_forces
from ..system.system import System
from .division import FORCES_ACT
from .inputs import body_of
from .live_rows import live_rows
from .multipliers import given_rate
from .refine_divided import SETTLED, body_forces, round_off, take_from
from .shared_rows import along, back, correct, divided, share_loads, split_rows, take_work
from .strand_layout import GAMMA, LAMBDA, LOCAL

ROUNDS = 12  # of refinement, at most
_NUMBERS = types.Array(types.float64, 1, "C")


def room(system: System) -> int:
    """Numbers that a refinement takes, behind the Work of divided_loops.py."""
    return 24 * system.nb + 13 * system.nu + live_rows(system).count


@kernel
def push_rows(m, E, w, f):
    """Forces that bodies take, less those of the multipliers"""
    low = view(f, 6 * m.nb, 6 * m.nb)
    for r in range(E.nr):
        a, b, _, _, _, _ = ends_of_row(E, r)
        for n in range(6):
            add_product(f, low, 6 * a + n, -w.lam[r], w.rows.w[12 * r + n], 0.0)
            add_product(f, low, 6 * b + n, -w.lam[r], w.rows.w[12 * r + 6 + n], 0.0)


@kernel
def lacks(m, E, F, signals, w, udot, x, g):
    """gamma - C u' of all rows, from the accelerations of bodies"""
    low = view(x, 6 * m.nb, 6 * m.nb)
    for r in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, r)
        x[0], low[0] = w.rows.gamma[r] - back(E, w, r), 0.0  # ground's: it does not accelerate
        for n in range(6):
            if a > 0:
                add_product(x, low, 0, -w.rows.w[12 * r + n], x[6 * a + n], low[6 * a + n])
            if b > 0:
                add_product(x, low, 0, -w.rows.w[12 * r + 6 + n], x[6 * b + n], low[6 * b + n])
        if first != 0.0:
            add_product(x, low, 0, -first, udot[i], given_rate(m, F, signals, i))
        if second != 0.0:
            add_product(x, low, 0, -second, udot[j], given_rate(m, F, signals, j))
        left = dot(load6(w.rows.w, 2 * r), load6(w.given, a)) + dot(load6(w.rows.w, 2 * r + 1), load6(w.given, b))
        g[r] = x[0] - left
        x[0] = low[0] = 0.0


@kernel
def couple(m, E, w, r):
    """Generalized forces of rows that couple DOF"""
    for row in range(E.nr):
        _, _, i, first, j, second = ends_of_row(E, row)
        if first != 0.0 and m.resist[i] != math.inf:
            r[i] += first * w.lam[row]
        if second != 0.0 and m.resist[j] != math.inf:
            r[j] += second * w.lam[row]


@kernel
def clear_gamma(m):
    """Rows inside strands lack nothing"""
    split, _ = split_rows(m)
    for s in range(split.nl):
        split.local[LOCAL * s + GAMMA] = 0.0


@kernel
def correction(m, q, u, w, r, g):
    """w.move = du; lam grows by what goes with it"""
    split, ns = split_rows(m)
    for s in range(split.nl):
        split.local[LOCAL * s + GAMMA] = g[split.inside[s]]
    divided(m, FORCES_ACT, q, u, r, w.push)
    for l in range(m.nu):
        put(w.move, l, get(w.push, l))
    for s in range(split.nl):
        n = split.inside[s]
        put(w.lam, n, get(w.lam, n) + split.local[LOCAL * s + LAMBDA])
        split.local[LOCAL * s + GAMMA] = 0.0
    if ns > 0:
        rank = int(get(w.rank, 0))
        for s in range(ns):
            put(w.left, s, g[split.shared[s]] - along(w, m.nu, s, w.move))
            put(w.more, split.shared[s], 0.0)
        correct(m, w, rank, w.move, w.more)
        for l in range(m.nu):
            r[l] = get(w.move, l)  # the pass below takes its place
        share_loads(m, q, u, w, rank, w.more)
        for l in range(m.nu):
            put(w.move, l, r[l])
        for s in range(ns):
            n = split.shared[s]
            put(w.lam, n, get(w.lam, n) + get(w.more, n))


@entry
def refine_loops(memory, q, u, forces, signals, udot, proof):
    """Corrects udot of the state that divide.solve_loops() has solved last; ``proof`` as in refine_divided.py."""
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    if mismatch(m, q, u, forces, udot):
        return np.nan
    buffer = scratch(memory, end, memory)
    k, n = take_kinematics(m, buffer)
    w, n = take_work(m, E, buffer, n)
    x, n = take(buffer, n, 12 * m.nb)
    f, n = take(buffer, n, 12 * m.nb)
    low_S, n = take(buffer, n, 12 * m.nu)
    r, n = take(buffer, n, m.nu)
    g, n = take(buffer, n, E.nr)
    round_off(m, k, low_S, view(low_S, 3 * m.nu, 3 * m.nu), view(low_S, 6 * m.nu, 6 * m.nu))
    spread_given(m, F, k, signals, w.given)
    _, ns = split_rows(m)
    if ns > 0 and get(w.rank, 1) == 0.0:
        clear_gamma(m)
        share_loads(m, q, u, w, int(get(w.rank, 0)), w.lam)
    last = math.inf
    for count in range(ROUNDS):
        body_forces(m, k, low_S, forces, udot, x, f)
        push_rows(m, E, w, f)
        lacks(m, E, F, signals, w, udot, x, g)
        take_from(m, k, low_S, forces, udot, x, f, r)
        couple(m, E, w, r)
        correction(m, q, u, w, r, g)
        largest, size, worst = 0.0, 0.0, 0
        for j in range(m.nu):
            if not abs(get(w.move, j)) <= largest:
                largest, worst = abs(get(w.move, j)), j
            udot[j] += get(w.move, j)
            size = max(size, abs(udot[j]))
        change = largest / size if size > 0.0 else largest
        if count == 0:
            proof[0] = change
        proof[1], proof[2], proof[3] = change, count + 1.0, float(worst)
        if change <= SETTLED or not change < 0.5 * last:
            break
        last = change
    return 0.0 * proof[1]


def refined_loops(
    system: System, memory: np.ndarray, q: Any, u: Any, forces: Any, signals: Any, udot: np.ndarray, lent: list[int]
) -> float:
    """Corrects the accelerations of one state with loops in place; returns by how much, relative to the largest.

    ``lent`` are bodies without mass that were given some in the passes: the equations of motion have none.

    Raises
    ------
    SimulationError
        if corrections do not settle: the equations of motion lose too many digits at this state.
    """
    compiled: Any = refine_loops
    compiled.compile((*[_NUMBERS] * 7,))
    proof = np.zeros(4)
    total = refine_loops(memory, q, u, forces, signals, udot, proof)
    if total == 0.0 and proof[1] <= SETTLED:
        return float(proof[0])
    if lent:
        raise SimulationError(
            f"algorithm 'divide' cannot solve '{system.name}' at this state: a body has no mass, and no loop holds it",
            where=system.mechanical(lent[0]),
            got=f"corrections of {proof[1]:.1e} of the largest acceleration after {int(proof[2])} rounds",
            hint="give it mass and inertia; algorithm='reduction' may find a pivot where loops hold it",
        )
    raise SimulationError(
        f"algorithm 'divide' loses too many digits of '{system.name}' at this state",
        where=system.mechanical(body_of(system, "u", int(proof[3]))),
        got=f"corrections of {proof[1]:.1e} of the largest acceleration after {int(proof[2])} rounds",
        hint="compare algorithm='reduction' and 'nullspace'; a loop near a singular pose is lost to all of them",
    )
