"""Motion with loops by reduction inside a run, by a plan that is made again where it serves no longer.

Paper    of the way back onto constraints: [hairer1996] sec. VII.2, as constraints/stepping.py.
Differs  C move = -g of least kinetic energy is motion from rest without forces.
"""

from __future__ import annotations

from ...algebra.compare import larger, smaller
from ...compiler.function_pointers import numbers_at, rows_at
from ...compiler.lanes import LANES, get, kernel, lane_count, lane_of, put, take, view
from ...kernels.constraints import constrain
from ...kernels.kinematics import place_and_move
from ...kernels.manifold import advance
from ...kernels.signals import evaluate_signals
from ...system.system import System
from ..accuracy.fast_motion import BEYOND
from ..constraints.live_rows import WIDE, live_rows
from ..stepping.closing import LOST, MOST, apply_constraints, enough, given_by, lanes_given_by, velocity_violation
from ..stepping.mechanism import open_all, open_parts, open_plan
from ..stepping.samples import is_wanted_anyway, take_loss
from ..stepping.stepper import Stepper
from . import passes as reduction
from . import reactions as reduction_reactions

POOR_PLAN = 2.0 / reduction.POOR  # loss with pivots that were poor from the start: more than a plan that serves has


@kernel
def violations(E, x, zero):
    """The largest residual of each lane against the size of the mechanism, or in radians"""
    largest = zero
    for r in range(E.nr):
        largest = larger(largest, larger(get(x.g, r), -get(x.g, r)))
    return smaller(largest * max(1.0, 1.0 / E.size), zero + WIDE)


@kernel
def settled(left, before, turn, limit):
    """Whether every lane is closed, or comes no closer"""
    for lane in range(lane_count(left)):
        here = lane_of(left, lane)
        if here > limit and (turn == 0 or here <= 0.5 * lane_of(before, lane)):
            return False
    return True


@kernel
def move_onto_reduced(x, t, q, u):
    """The same by reduction, in each lane: C move = -g of least kinetic energy is motion from rest without forces"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    plan, _ = open_plan(x.memory)
    none, n = take(x.buffer, n, m.nu)
    move, n = take(x.buffer, n, m.nu)
    own = reduction.take_reduced(m, F, E, x.buffer, n)
    still, zero = view(p.wrench, 0, 0), 0.0 * get(p.k.v, 0)
    left = zero
    free = reduction.Reduced(own.x, view(own.prescribed, 0, 0), own.w)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    for j in range(m.nu):
        put(none, j, 0.0)
    for turn in range(MOST):
        place_and_move(m, q, u, p.k)
        constrain(m, E, p.k, p.signals, q, u, own.x)
        before, left = left, violations(E, own.x, zero)
        if settled(left, before, turn, enough(E)):
            break
        for r in range(E.nr):
            put(own.x.gamma, r, -get(own.x.g, r))
        reduction.recursions(m, E, p.k, plan, free, none, still, 0.0, move)
        advance(m, q, move, q)
    for r in range(E.nr):
        put(own.x.gamma, r, -get(own.x.rate, r))
    reduction.recursions(m, E, p.k, plan, free, none, still, 0.0, move)
    for j in range(m.nu):
        put(u, j, get(u, j) + get(move, j))
    return larger(left, velocity_violation(m, E, p, q, u, own.x))


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
        reduction_reactions.lacks(m, p.k, p.total, p.wrench, udot, f, a, r)
        reduction_reactions.reactions_of_rows(m, p.k, plan, own.w, r, lam)
        for n in range(E.nr):
            power = power + get(lam, n) * get(own.x.prescribed, n)
        if F.ndriven > 0:
            apply_constraints(E, p, own.x.w, lam)
    return power


def reduced(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, velocities = given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_reduced(x, t, coordinates, velocities, numbers_at(udot, nu))


def closed_reduced(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, velocities = given_by(memory, size, buffer, room, q, nq, u, nu)
    return move_onto_reduced(x, t, coordinates, velocities)


@kernel
def solve_lanes(x, t, q, u, udot):
    """u' of one state in each lane; health is the least since it was last set"""
    p, n = open_parts(x)
    m, F, E, _ = open_all(x.memory)
    plan, _ = open_plan(x.memory)
    own = reduction.take_reduced(m, F, E, x.buffer, n)
    if F.ns > 0:
        evaluate_signals(F, t, p.signals)
    well = reduction.solve(m, F, E, p.k, plan, p.signals, q, u, p.total, p.wrench, own, udot)
    put(p.health, 0, smaller(get(p.health, 0), well))
    return 0.0


def reduced_lanes(memory, size, buffer, room, t, q, nq, u, nu, udot):
    x, coordinates, velocities = lanes_given_by(memory, size, buffer, room, q, nq, u, nu)
    return solve_lanes(x, t, coordinates, velocities, rows_at(udot, nu // LANES))


def closed_lanes(memory, size, buffer, room, t, q, nq, u, nu, udot):
    """A lane whose constraints stay violated is not served by the plan"""
    x, coordinates, velocities = lanes_given_by(memory, size, buffer, room, q, nq, u, nu)
    left = move_onto_reduced(x, t, coordinates, velocities)
    p, _ = open_parts(x)
    put(p.health, 0, smaller(get(p.health, 0), reduction.POOR + 1.0 - left * (1.0 / LOST)))
    return 0.0


def stepper(system: System, algorithm: str) -> Stepper:
    """By a plan for a pose."""
    more = live_rows(system).count + system.nu + 12 * system.nb
    return Stepper(
        reduced,
        closed_reduced,
        lambda plan: reduction.work_rows(system, plan) + more,
        plan_at=reduction.plan_at,
        lanes=(reduced_lanes, closed_lanes),
    )
