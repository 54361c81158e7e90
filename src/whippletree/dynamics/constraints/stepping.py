"""Motion with constraints by multipliers inside a run, and the way back onto constraints.

Paper    of the way back: [hairer1996] sec. VII.2, the projection method, eqs (2.13)-(2.14): position, then velocity, to
         the nearest state in the metric of M.
Symbols  g = 0, C u = given as in kernels/constraints.py.
Differs  the multipliers of the projection come from the same factors as those of motion, multipliers.py, so redundant
         rows need no care. Other algorithms have their own: reduction/stepping.py and divide/stepping.py.
"""

from __future__ import annotations

import numpy as np

from ...compiler.function_pointers import numbers_at
from ...compiler.lanes import get, kernel, put, view
from ...kernels.constraints import constrain
from ...kernels.kinematics import place_and_move
from ...kernels.manifold import advance
from ...kernels.signals import evaluate_signals
from ...layout.system import FACTORS
from ...system.system import System
from ..stepping.closing import COARSE, MOST, apply_constraints, enough, given_by, velocity_violation
from ..stepping.mechanism import open_all, open_parts
from ..stepping.samples import is_wanted, take_loss
from ..stepping.stepper import Stepper
from ..tree import articulated
from . import multipliers
from .massless import lend


@kernel
def move_onto(x, t, q, u):
    """q and u in place; returns the violation that is left, against the size of the mechanism or its velocities"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    if E.closes == 0.0:  # the run is stabilized otherwise
        return 0.0
    w, _ = multipliers.take_work(m, E, x.buffer, n)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    still, rank, left, sure = view(p.wrench, 0, 0), -1, 0.0, False
    for turn in range(MOST):
        place_and_move(m, q, u, p.k)
        constrain(m, E, p.k, p.signals, q, u, w.rows)
        before, left = left, multipliers.violation(E, w.rows)
        closed = left <= enough(E) or (turn > 0 and left > 0.5 * before) or not left < np.inf
        if rank < 0 or left > COARSE or (closed and not sure):
            m.header[FACTORS] = 1
            articulated.solve(m, p.k, p.total, still, w.tree, w.move)
            rank = multipliers.fill(m, E, p.k, w, multipliers.RANK)
            sure = left < COARSE and multipliers.independent(E, w, rank, left)
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
    if sure:  # independent rows are met
        return left
    return max(left, velocity_violation(m, E, p, q, u, w.rows))


@kernel
def solve_constrained(x, t, q, u, udot):
    """u' with constraints by multipliers; returns their power"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    w, _ = multipliers.take_work(m, E, x.buffer, n)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    measures = is_wanted(p.sample)
    power, loss = multipliers.solve(m, F, E, p.k, p.signals, q, u, p.total, p.wrench, w, measures, udot)
    put(p.health, 0, 1.0)
    take_loss(p.sample, loss)
    if F.ndriven > 0:
        apply_constraints(E, p, w.rows.w, w.lam)
    return power


def constrained(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, velocities = given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_constrained(x, t, coordinates, velocities, numbers_at(udot, nu))


def closed(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, velocities = given_by(memory, size, buffer, room, q, nq, u, nu)
    return move_onto(x, t, coordinates, velocities)


def stepper(system: System, algorithm: str) -> Stepper:
    """By multipliers, which need no plan: also what projects any state onto the constraints."""
    return Stepper(
        constrained, closed, lambda plan: multipliers.work_rows(system), mark=lambda memory: lend(system, memory)
    )
