"""Back onto the constraints: after a step q and u go to the nearest state, in the metric of M, that they allow.

Paper    [hairer1996] sec. VII.2, the projection method, eqs (2.13)-(2.14): position, then velocity.
Symbols  g = 0, C u = given as in kernels/constraints.py.
Differs  the multipliers of the projection come from the same factors as those of motion, dynamics/multipliers.py, so
         redundant rows need no care. Positions are judged as they are; speeds only once loops are closed, where rows
         that the open loop made independent are redundant again and do not lock it.
"""

from __future__ import annotations

import numpy as np
from numba import types
from numba.extending import overload

from ..dynamics import articulated, multipliers, reduction
from ..kernels.blocks import ALWAYS
from ..kernels.constraints import constrain
from ..kernels.force_layout import evaluate_signals
from ..kernels.kinematics import place_and_move
from ..kernels.lanes import entry, get, kernel, put, take, view
from ..kernels.manifold import advance
from ..system.system import System
from .accelerate import CODES, make_mechanism, mechanism_memory, open_all, open_parts, open_plan, open_scratch

CLOSED = 1e-13  # against the size of the mechanism: about what rounding leaves
COARSE = 1e-8  # beyond, factors are taken anew
MOST = 8


@kernel
def move_onto(x, t, q, u):
    """q and u in place; returns the gap that is left, against the size of the mechanism"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    w, _ = multipliers.take_work(m, E, x.buffer, n)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    still, rank, left = view(p.wrench, 0, 0), -1, 0.0
    for turn in range(MOST):
        place_and_move(m, q, u, p.k)
        constrain(m, E, p.k, p.signals, q, u, w.rows)
        before, left = left, multipliers.gap(E, w.rows)
        closed = left < CLOSED or (turn > 0 and left > 0.5 * before) or not left < np.inf
        if closed or rank < 0 or left > COARSE:
            articulated.solve(m, p.k, p.total, still, w.tree, w.move)
            rank = multipliers.fill(m, E, p.k, w, multipliers.RANK)
        if closed:
            break
        for r in range(E.nr):
            put(w.left, r, -get(w.rows.g, r))
        for j in range(m.nu):
            put(w.move, j, 0.0)
        multipliers.correct(m, E, p.k, w, rank, w.left, w.move)
        advance(m, q, w.move, q)
    for r in range(E.nr):
        put(w.left, r, -get(w.rows.rate, r))
    multipliers.correct(m, E, p.k, w, rank, w.left, u)
    return left


@kernel
def move_onto_reduced(x, t, q, u):
    """The same by reduction: C move = -g of least kinetic energy is motion from rest without forces"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    plan, _ = open_plan(x.memory)
    none, n = take(x.buffer, n, m.nu)
    move, n = take(x.buffer, n, m.nu)
    own = reduction.take_reduced(m, F, E, x.buffer, n)
    still, left = view(p.wrench, 0, 0), 0.0
    free = reduction.Reduced(own.x, view(own.given, 0, 0), own.w)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    for j in range(m.nu):
        put(none, j, 0.0)
    for turn in range(MOST):
        place_and_move(m, q, u, p.k)
        constrain(m, E, p.k, p.signals, q, u, own.x)
        before, left = left, multipliers.gap(E, own.x)
        if left < CLOSED or (turn > 0 and left > 0.5 * before) or not left < np.inf:
            break
        for r in range(E.nr):
            put(own.x.gamma, r, -get(own.x.g, r))
        reduction.sweeps(m, E, p.k, plan, free, none, still, 0.0, move)
        advance(m, q, move, q)
    for r in range(E.nr):
        put(own.x.gamma, r, -get(own.x.rate, r))
    reduction.sweeps(m, E, p.k, plan, free, none, still, 0.0, move)
    for j in range(m.nu):
        put(u, j, get(u, j) + get(move, j))
    return left


def close(algorithm, x, t, q, u):
    """q and u onto the constraints, where an algorithm solves them and the run is not stabilized otherwise"""


@overload(close, jit_options=ALWAYS)
def _close(algorithm, x, t, q, u):
    if algorithm == types.float64:

        def onto(algorithm, x, t, q, u):
            _, _, E, _ = open_all(x.memory)
            if E.closes != 0.0:
                move_onto(x, t, q, u)

        return onto
    if algorithm == types.float32:

        def onto_reduced(algorithm, x, t, q, u):
            move_onto_reduced(x, t, q, u)

        return onto_reduced
    return lambda algorithm, x, t, q, u: None


@entry
def closed(memory, algorithm, t, y, none):
    """y = (q, u, ...) of one state onto the constraints, in place; returns the gap that is left"""
    m, buffer = open_scratch(memory, y)
    x = make_mechanism(memory, buffer, 0, none, 0, algorithm)
    return move_onto(x, t, view(y, 0, m.nq), view(y, m.nq, m.nu))


def project(system: System, q: np.ndarray, u: np.ndarray, t: float = 0.0) -> float:
    """q and u of one state onto the constraints at time t, in place; returns the gap that is left (m or rad)."""
    if not system.constraints.count:
        return 0.0
    y = np.concatenate([q, u])
    memory = mechanism_memory(system, "multipliers", 0)
    gap = closed(memory, CODES["multipliers"], float(t), y, np.zeros(system.nu))
    q[:], u[:] = y[: system.nq], y[system.nq :]
    return float(gap * min(1.0, system.constraints.size))
