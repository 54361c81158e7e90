"""Motion of a divided mechanism inside a run: by the memory of its division, which helpers share.

Paper    of the way back onto constraints: [hairer1996] sec. VII.2, as constraints/stepping.py.
Differs  a division has no factors: there the responses to loads do.
"""

from __future__ import annotations

import numpy as np

from ...compiler.function_pointers import numbers_at
from ...compiler.lanes import get, kernel, put, take, view
from ...kernels.constraints import constrain
from ...kernels.kinematics import place_and_move
from ...kernels.manifold import advance
from ...kernels.signals import evaluate_signals
from ...layout.system import DIVISION
from ...system.system import System
from ..accuracy.fast_motion import BEYOND
from ..constraints import massless as lending
from ..constraints import multipliers
from ..constraints.live_rows import live_rows
from ..stepping.closing import COARSE, MOST, apply_constraints, enough, given_by, velocity_violation
from ..stepping.mechanism import open_all, open_parts
from ..stepping.samples import take_loss
from ..stepping.stepper import Stepper
from . import loops as divided_loops
from . import shared_rows
from .algorithm import planned_run


@kernel
def move_onto_divided(x, t, q, u):
    """The same by responses to loads, at a pose that has been solved"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    if E.closes == 0.0:
        return 0.0
    w, _ = shared_rows.take_work(m, E, x.buffer, n)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    rank, left = -1, 0.0
    for turn in range(MOST):
        place_and_move(m, q, u, p.k)
        constrain(m, E, p.k, p.signals, q, u, w.rows)
        before, left = left, multipliers.violation(E, w.rows)
        closed = left <= enough(E) or (turn > 0 and left > 0.5 * before) or not left < np.inf
        if closed or rank < 0 or left > COARSE:
            rank = divided_loops.refill(m, E, p.k, q, u, w)
        if closed:
            break
        divided_loops.meet(m, q, u, w, rank, w.rows.g)
        advance(m, q, w.move, q)
    divided_loops.meet(m, q, u, w, rank, w.rows.rate)
    for j in range(m.nu):
        put(u, j, get(u, j) + get(w.move, j))
    return max(left, velocity_violation(m, E, p, q, u, w.rows))


@kernel
def solve_divided(x, t, q, u, udot):
    """u' of a divided tree"""
    p, _ = open_parts(x)
    forces = view(p.total, 0, p.total.shape[0] + p.wrench.shape[0])  # wrenches lie behind
    well = divided_loops.divided(p.m, 0, q, u, forces, udot)
    put(p.health, 0, 1.0)
    take_loss(p.sample, BEYOND if well != 0.0 else 1.0)
    return 0.0


@kernel
def solve_divided_loops(x, t, q, u, udot):
    """u' of a divided tree with loops; returns the power of constraints"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    w, n = shared_rows.take_work(m, E, x.buffer, n)
    mine, _ = take(x.buffer, n, 2 * m.nu)
    if F.nf + F.nj == 0:  # else they are there
        place_and_move(m, q, u, p.k)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    forces = view(p.total, 0, p.total.shape[0] + p.wrench.shape[0])
    power, well = divided_loops.solve(m, F, E, p.k, p.signals, q, u, forces, w, udot)
    if lending.lends_bodies(m):
        for j in range(m.nu):
            put(mine, j, 0.0)
        for turn in range(MOST):  # each leaves a share of BODY_SHARE or so
            change = lending.return_inertia(m, p.k, udot, mine, p.total)
            power, well = divided_loops.solve(m, F, E, p.k, p.signals, q, u, forces, w, udot)
            if change < lending.RETURNED:
                break
            if turn == MOST - 1:
                put(udot, 0, np.nan)
        for j in range(m.nu):
            put(p.total, j, get(p.total, j) - get(mine, j))
    put(p.health, 0, 1.0)
    take_loss(p.sample, BEYOND if well != 0.0 else 1.0)
    if F.ndriven > 0:
        apply_constraints(E, p, w.rows.w, w.lam)
    return power


def divided(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, velocities = given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_divided(x, t, coordinates, velocities, numbers_at(udot, nu))


def divided_constrained(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, velocities = given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_divided_loops(x, t, coordinates, velocities, numbers_at(udot, nu))


def closed_divided(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, velocities = given_by(memory, size, buffer, room, q, nq, u, nu)
    return move_onto_divided(x, t, coordinates, velocities)


def stepper(system: System, algorithm: str) -> Stepper:
    """By a division, with threads as its name says. Bodies without mass are lent some, and it is returned."""
    planned, loops = planned_run(system, algorithm), live_rows(system).count > 0
    rows = shared_rows.work_rows(system, planned.memory) + 2 * system.nu

    def mark(memory: np.ndarray) -> None:
        memory[DIVISION : DIVISION + 1].view(np.int64)[0] = planned.memory.ctypes.data

    return Stepper(
        divided_constrained if loops else divided,
        closed_divided if loops else None,
        lambda plan: rows,
        mark=mark,
        at_work=planned.at_work,
        lends=bool(planned.plan.lent),
    )
