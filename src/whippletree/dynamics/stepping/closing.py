"""What every way back onto constraints shares: when constraints count as met, and arrays behind pointers.

Positions are judged as they are; velocities only once loops are closed, where rows that the open loop made independent
are redundant again and do not lock it, unless rows are independent by far more than the loop is open.
"""

from __future__ import annotations

from ...algebra.compare import larger
from ...algebra.spatial import axpy, load6, store6
from ...compiler.function_pointers import numbers_at, rows_at
from ...compiler.lanes import LANES, get, inline, kernel, put, view
from ...kernels.constraints import constrain, ends_of_row
from ...kernels.kinematics import place_and_move
from .mechanism import Mechanism, accelerate_here

CLOSED = 1e-13  # against the size of the mechanism: about what rounding leaves
FULLY = 2.0  # in place of Constraints.closes: as far as rounding lets it
COARSE = 1e-8  # beyond, factors are taken anew
LOST = 1e-6  # the same, and against velocities: constraints that stay violated by more cannot be met
MOST = 8


@kernel
def velocity_violation(m, E, p, q, u, x):
    """Where there are equations of velocities alone: how far each lane is from meeting all, against its velocities.

    Without those a contradiction in velocity opens loops in the next step.
    """
    zero = 0.0 * get(p.k.v, 0)
    worst, scale = zero, 1.0 + zero
    if E.nv > 0:
        place_and_move(m, q, u, p.k)
        constrain(m, E, p.k, p.signals, q, u, x)
        most = zero
        for j in range(m.nu):
            most = larger(most, larger(get(u, j), -get(u, j)))
        for r in range(E.nr):
            worst = larger(worst, larger(get(x.rate, r), -get(x.rate, r)))
        scale = scale + most
    return worst / scale


@inline
def enough(E):
    """The violation at which loops count as closed"""
    return 0.0 if E.closes == FULLY else CLOSED


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


@inline
def lanes_given_by(memory, size, buffer, room, q, nq, u, nu):
    """The same of one state in each lane; calls count numbers, not rows"""
    rest = rows_at(buffer, room // LANES)
    x = Mechanism(numbers_at(memory, size), rest, view(rest, 0, 0), None, None)
    return x, rows_at(q, nq // LANES), rows_at(u, nu // LANES)


def accelerated(memory, size, buffer, room, tau, call, solver, t, q, nq, u, nu, udot):
    x = Mechanism(numbers_at(memory, size), numbers_at(buffer, room), numbers_at(tau, nu), call, solver)
    return accelerate_here(x, t, numbers_at(q, nq), numbers_at(u, nu), numbers_at(udot, nu))


def accelerated_lanes(memory, size, buffer, room, tau, call, solver, t, q, nq, u, nu, udot):
    x = Mechanism(numbers_at(memory, size), rows_at(buffer, room), rows_at(tau, nu), None, solver)
    accelerate_here(x, t, rows_at(q, nq), rows_at(u, nu), rows_at(udot, nu))
    return 0.0  # the work of many states is not needed
