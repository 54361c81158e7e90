"""Motion with loops and constraints, or divided: solvers of one state, compiled apart and called by their addresses.

Paper    of the way back onto constraints: [hairer1996] sec. VII.2, the projection method, eqs (2.13)-(2.14): position,
         then velocity, to the nearest state in the metric of M.
Symbols  g = 0, C u = given as in kernels/constraints.py.
Differs  the multipliers of the projection come from the same factors as those of motion,
         dynamics/constraints/multipliers.py, so redundant rows need no care. Positions are judged as they are; speeds
         only once loops are closed, where rows that the open loop made independent are redundant again and do not lock
         it, unless rows are independent by far more than the loop is open. By reduction, C move = -g of least kinetic
         energy is motion from rest without forces. A division has no factors: there the responses to loads do.
"""

from __future__ import annotations

import numpy as np

from ..algebra.spatial import axpy, load6, store6
from ..compiler.function_pointers import MOTION_CALL, address_of, numbers_at, rows_at
from ..compiler.lanes import get, inline, kernel, put, take, view
from ..dynamics.accuracy.fast_motion import BEYOND
from ..dynamics.constraints import massless as lending
from ..dynamics.constraints import multipliers
from ..dynamics.divide import loops as divided_loops
from ..dynamics.divide import shared_rows
from ..dynamics.divide.options import is_division
from ..dynamics.reduction import passes as reduction
from ..dynamics.reduction import reactions as reduction_loads
from ..dynamics.tree import articulated
from ..kernels.constraints import constrain, ends_of_row
from ..kernels.kinematics import place_and_move
from ..kernels.manifold import advance
from ..kernels.signals import evaluate_signals
from ..layout.constraints import BLADE, COUPLE, ROLL, SPEEDS
from ..layout.system import FACTORS
from .accelerate import TREES, Mechanism, accelerate_here, open_all, open_parts, open_plan
from .run.evaluations import is_wanted, is_wanted_anyway, take_loss

CLOSED = 1e-13  # against the size of the mechanism: about what rounding leaves
FULLY = 2.0  # in place of Constraints.closes: as far as rounding lets it
COARSE = 1e-8  # beyond, factors are taken anew
LOST = 1e-6  # the same, and against velocities: constraints that stay violated by more cannot be met
MOST = 8
POOR_PLAN = 2.0 / reduction.POOR  # loss with pivots that were poor from the start: more than a plan that serves has


@inline
def binds_velocities(E, n):
    """Whether an element has equations of velocities alone"""
    return E.kind[n] == ROLL or E.kind[n] == BLADE or (E.kind[n] == COUPLE and E.turn[n] == SPEEDS)


@kernel
def velocity_violation(m, E, p, q, u, x):
    """Where there are equations of velocities alone: how far all are from being met, against the velocities.

    Without those a contradiction in velocity opens loops in the next step.
    """
    some = False
    for n in range(E.ne):
        some = some or binds_velocities(E, n)
    if not some:
        return 0.0
    place_and_move(m, q, u, p.k)
    constrain(m, E, p.k, p.signals, q, u, x)
    worst, scale = 0.0, 0.0
    for j in range(m.nu):
        scale = max(scale, abs(get(u, j)))
    for r in range(E.nr):
        worst = max(worst, abs(get(x.rate, r)))
    return worst / (1.0 + scale)


@inline
def enough(E):
    """The gap at which loops count as closed"""
    return 0.0 if E.closes == FULLY else CLOSED


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
        before, left = left, multipliers.gap(E, w.rows)
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
        if left <= enough(E) or (turn > 0 and left > 0.5 * before) or not left < np.inf:
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
    return max(left, velocity_violation(m, E, p, q, u, own.x))


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
        before, left = left, multipliers.gap(E, w.rows)
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


@kernel
def solve_reduced(x, t, q, u, udot):
    """u' with loops by reduction; returns the power of those that move by themselves"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    plan, _ = open_plan(x.memory)
    lam, n = take(x.buffer, n, E.nr)
    r, n = take(x.buffer, n, m.nu)
    f, n = take(x.buffer, n, 6 * m.nb)
    a, n = take(x.buffer, n, 6 * m.nb)
    own = reduction.take_reduced(m, F, E, x.buffer, n)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    well = reduction.solve(m, F, E, p.k, plan, p.signals, q, u, p.total, p.wrench, own, udot)
    put(p.health, 0, well)
    if well > reduction.POOR:  # else it is done again by another plan
        take_loss(p.sample, (POOR_PLAN if plan.poor > 0 else 1.0) / well)
    elif is_wanted_anyway(p.sample) and plan.poor == 0:
        take_loss(p.sample, BEYOND)
    power = get(p.k.v, 0)
    if F.ns > 0:
        reduction_loads.lacks(m, p.k, p.total, p.wrench, udot, f, a, r)
        reduction_loads.loads_of_rows(m, p.k, plan, own.w, r, lam)
        for n in range(E.nr):
            power = power + get(lam, n) * get(own.x.given, n)
        if F.ndriven > 0:
            apply_constraints(E, p, own.x.w, lam)
    return power


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


@kernel
def apply_constraints(E, p, w, lam):
    """The forces of constraints join all others"""
    for r in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, r)
        force = get(lam, r)
        store6(p.wrench, a, axpy(force, load6(w, 2 * r), load6(p.wrench, a)))
        store6(p.wrench, b, axpy(force, load6(w, 2 * r + 1), load6(p.wrench, b)))
        put(p.total, i, get(p.total, i) + first * force)
        put(p.total, j, get(p.total, j) + second * force)


# ---------------------------------------------------------------- as they are called


@inline
def given_by(memory, size, buffer, room, q, nq, u, nu):
    """Arrays behind pointers: a Mechanism, q and u"""
    whole, rest = numbers_at(memory, size), numbers_at(buffer, room)
    x = Mechanism(whole, rest, view(rest, 0, 0), None, None)
    return x, numbers_at(q, nq), numbers_at(u, nu)


def accelerated(memory, size, buffer, room, tau, call, solver, t, q, nq, u, nu, udot):
    x = Mechanism(numbers_at(memory, size), numbers_at(buffer, room), numbers_at(tau, nu), call, solver)
    return accelerate_here(x, t, numbers_at(q, nq), numbers_at(u, nu), numbers_at(udot, nu))


def accelerated_lanes(memory, size, buffer, room, tau, call, solver, t, q, nq, u, nu, udot):
    x = Mechanism(numbers_at(memory, size), rows_at(buffer, room), rows_at(tau, nu), None, None)
    accelerate_here(x, t, rows_at(q, nq), rows_at(u, nu), rows_at(udot, nu))
    return 0.0  # nobody asks for the work of many states


def constrained(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, speeds = given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_constrained(x, t, coordinates, speeds, numbers_at(udot, nu))


def closed(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, speeds = given_by(memory, size, buffer, room, q, nq, u, nu)
    return move_onto(x, t, coordinates, speeds)


def reduced(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, speeds = given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_reduced(x, t, coordinates, speeds, numbers_at(udot, nu))


def closed_reduced(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, speeds = given_by(memory, size, buffer, room, q, nq, u, nu)
    return move_onto_reduced(x, t, coordinates, speeds)


def divided(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, speeds = given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_divided(x, t, coordinates, speeds, numbers_at(udot, nu))


def divided_constrained(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, speeds = given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_divided_loops(x, t, coordinates, speeds, numbers_at(udot, nu))


def closed_divided(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, speeds = given_by(memory, size, buffer, room, q, nq, u, nu)
    return move_onto_divided(x, t, coordinates, speeds)


SOLVERS = {
    "multipliers": (constrained, closed),
    "reduction": (reduced, closed_reduced),
    "divided tree": (divided, None),
    "divided loops": (divided_constrained, closed_divided),
}


def code_of(algorithm: str, loops: bool = True) -> tuple[int, int, int]:
    """What a Mechanism of one state takes for an algorithm."""
    if is_division(algorithm):
        algorithm = "divided loops" if loops else "divided tree"
    motion = address_of(accelerated, MOTION_CALL)
    if algorithm in TREES:
        return motion, TREES[algorithm], 0
    solver, closer = SOLVERS[algorithm]
    return motion, address_of(solver), address_of(closer) if closer else 0


def code_of_lanes() -> tuple[int, int, int]:
    """The same of a Mechanism with one state in each lane, by the articulated sweep."""
    return address_of(accelerated_lanes, MOTION_CALL), 0, 0
