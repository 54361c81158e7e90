"""Recursive coordinate reduction, generalized: closed loops in O(n + m), for one state or a batch in lanes.

Paper    [critchley2003] A generalized recursive coordinate reduction method for multibody system dynamics: RCR, eqs
         (27)-(64); arbitrary coordinate selection, (65)-(92); general coupled loops, (93)-(111).
Symbols  S = P, A = I^ and f = F^ of the paper; its A^ is x here. Rows are its R: a dependent freedom takes what it
         moves out of them, c = R S, Q = 1 / c.c, (28) and (34), d = Q R' c, and R - c d' is the next R, (30) and (36).
         beta - d.z is the dependent acceleration, (33); U, D and t of a free one are its (12), (59) and (64).
Differs  one common frame, so its shifts S^k are 1. A dependent freedom is taken out of the quadratic form at once, by
         an update of rank two, A - V d' - d V' with V = U - (s/2) d; this gives the sums (53)-(55) over Y and Z without
         forming them. The base bodies of open loops are variables of a front beside the body's own acceleration, for
         GCL, and so are independents between dependents, for ACS. The order of all this is data: reduction_plan.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels.blocks import (
    block_rows,
    checksum,
    gather,
    make_memory,
    mismatch,
    scatter,
    split_wrench,
    states_per_block,
    take_block,
    target,
    unit_check,
)
from ..kernels.compare import smaller
from ..kernels.constraint_layout import ROW_NUMBERS, take_rows, unpack_constraints
from ..kernels.constraints import constrain
from ..kernels.force_layout import unpack_forces
from ..kernels.forces import spread_given
from ..kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ..kernels.lanes import entry, get, inline, kernel, put, scratch, take
from ..kernels.layout import take_integers, unpack
from ..kernels.spatial import axpy, dot, load6
from ..system.system import System
from .constraint_rows import rows_at
from .fronts import (
    begin_body,
    close_loop,
    depend,
    free,
    keep,
    load_at6,
    merge,
    move_rows,
    places,
    put_at6,
    release,
    take_kept,
)
from .reduction_plan import BODY, CLOSE, COLUMNS, DEPENDENT, FREE, KEPT, MERGE, MOVE, RELEASE, TAKE, Plan, make_plan

SUPPORTS = {"trees", "loops", "lanes"}
POOR = 1e-2  # of the pivot at the pose of the plan, squared: choose again


class Program(NamedTuple):
    """A Plan as kernels see it."""

    count: Any  # number of operations
    steps: Any  # (count, COLUMNS)
    maps: Any
    pivots: Any  # (count)


def pack_plan(plan: Plan) -> np.ndarray:
    header = np.array([len(plan.steps), plan.maps.size], np.int64)
    integers = np.concatenate([header, plan.steps.ravel(), plan.maps]).view(float)
    return np.concatenate([integers, plan.pivots])


@inline
def unpack_plan(memory, n):
    counts, n = take_integers(memory, n, 2)
    steps, n = take_integers(memory, n, COLUMNS * counts[0])
    maps, n = take_integers(memory, n, counts[1])
    pivots, n = take(memory, n, counts[0])
    return Program(counts[0], steps, maps, pivots), n


@inline
def along(w, store, at, m):
    """(U or d) . z of a front"""
    total = dot(load_at6(w, store), load_at6(w, at + 27))
    zr = places(at, m)[3]
    for r in range(m):
        total = total + get(w, store + 6 + r) * get(w, zr + r)
    return total


@kernel
def inward(m, E, k, plan, x, given, tau, wrench, w):
    """Tips to ground; returns the least pivot against that of the plan, squared"""
    worst = 1.0 + get(k.v, 0)
    for n in range(plan.count):
        s = COLUMNS * n
        op, i, at, rest = plan.steps[s], plan.steps[s + 1], plan.steps[s + 2], plan.steps[s + 3]
        if op == BODY:
            begin_body(m, k, wrench, w, i, at, rest)
        elif op == FREE:
            j = plan.steps[s + 4]
            free(load6(k.S, j), get(tau, j), m.resist[j], w, at, rest, plan.steps[s + 5])
        elif op == DEPENDENT:
            j = plan.steps[s + 4]
            size = depend(
                load6(k.S, j), get(tau, j), m.armature[j], w, at, rest, plan.steps[s + 5], plan.steps[s + 6],
                plan.steps[s + 7], plan.steps[s + 8], plan.steps[s + 9],
            )  # fmt: skip
            worst = smaller(worst, size / plan.pivots[n] + get(k.v, 0))
        elif op == MERGE:
            merge(w, at, rest, plan.steps[s + 5], plan.steps[s + 6], plan.maps, plan.steps[s + 7])
        elif op == MOVE:
            move_rows(
                w, at, rest, plan.steps[s + 4], plan.steps[s + 5], plan.steps[s + 6], plan.maps, plan.steps[s + 7]
            )
        elif op == CLOSE:
            e = E.element[plan.steps[s + 4]]
            low, high = min(E.body[e], E.to[e]), max(E.body[e], E.to[e])
            close_loop(
                x, given, w, at, rest, plan.steps[s + 4], plan.steps[s + 5], plan.steps[s + 6], plan.steps[s + 7],
                high, low,
            )  # fmt: skip
        elif op == KEPT:
            j = plan.steps[s + 4]
            keep(
                load6(k.S, j), get(tau, j), m.armature[j], w, at, rest, plan.steps[s + 6], plan.steps[s + 7],
                plan.steps[s + 8],
            )  # fmt: skip
        elif op == TAKE:
            size = take_kept(
                w, at, rest, plan.steps[s + 5], plan.steps[s + 6], plan.steps[s + 7], plan.steps[s + 8],
                plan.steps[s + 9], plan.steps[s + 10],
            )  # fmt: skip
            worst = smaller(worst, size / plan.pivots[n] + get(k.v, 0))
        else:
            release(w, at, rest, plan.steps[s + 5], plan.steps[s + 8])
    return worst


@kernel
def outward(m, k, plan, w, udot):
    """Ground to tips: the program backwards"""
    for n in range(plan.count - 1, -1, -1):
        s = COLUMNS * n
        op, at, rest, j, store = (
            plan.steps[s],
            plan.steps[s + 2],
            plan.steps[s + 3],
            plan.steps[s + 4],
            plan.steps[s + 5],
        )
        if op == FREE:
            a = get(w, store + 6 + rest) * (get(w, store + 7 + rest) - along(w, store, at, rest))
        elif op == DEPENDENT:
            a = get(w, store + 6 + rest) - along(w, store, at, rest)
        elif op == KEPT:
            a = get(w, places(at, rest)[3] + plan.steps[s + 8])
        elif op == TAKE:
            a = get(w, store + 6 + rest) - along(w, store, at, rest)
            put(w, places(at, rest)[3] + plan.steps[s + 10], a)
            put(udot, j, a)
            continue
        elif op == RELEASE:
            a = get(w, store + 6 + rest) * (get(w, store + 7 + rest) - along(w, store, at, rest))
            put(w, places(at, rest)[3] + plan.steps[s + 8], a)
            put(udot, j, a)
            continue
        elif op == MERGE:
            there, mp, first = plan.steps[s + 5], plan.steps[s + 6], plan.steps[s + 7]
            put_at6(w, at + 27, load_at6(w, there + 27))
            zr, above = places(at, rest)[3], places(there, mp)[3]
            for r in range(rest):
                b = plan.maps[first + r]
                value = 0.0 * get(k.v, 0)
                if b >= 6:
                    value = get(w, above + b - 6)
                elif b >= 0:
                    value = get(w, there + 27 + b)
                put(w, zr + r, value)
            continue
        else:
            continue
        put(udot, j, a)
        put_at6(w, at + 27, axpy(a, load6(k.S, j), load_at6(w, at + 27)))


@entry
def sweep(memory, q, u, forces, signals, udot, health, start, stop):
    """udot of the states start to stop, and of each the least pivot against that of the plan, squared.

    Returns 0 if all is well, else not a number.
    """
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    plan, end = unpack_plan(memory, end)
    if mismatch(m, q, u, forces, udot) or signals.shape[-1] != 1 + 3 * F.ns:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    x, n = take_rows(E, buffer, n)
    given, n = take(buffer, n, 6 * m.nb if F.ndriven > 0 else 0)
    block, n = take_block(m, buffer, n, forces)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    h_block, n = take(buffer, n, 1)
    w, n = take(buffer, n, buffer.shape[0] - n)
    total = 0.0
    for s in range(start, stop, states_per_block(buffer)):
        coordinates, speeds, now = gather(q, s, block.q), gather(u, s, block.u), gather(signals, s, s_block)
        place_and_move(m, coordinates, speeds, k)
        tau, wrench = split_wrench(m, gather(forces, s, block.x))
        constrain(m, E, k, now, coordinates, speeds, x)
        if F.ndriven > 0:
            spread_given(m, F, k, now, given)
        out, worst = target(udot, block.out), target(health, h_block)
        put(worst, 0, inward(m, E, k, plan, x, given, tau, wrench, w))
        outward(m, k, plan, w, out)
        scatter(out, s, udot)
        scatter(worst, s, health)
        total += checksum(out) + unit_check(k)
    return total


class Planned:
    """The memory of :func:`sweep`, for a plan that is made at the first state and again where it does not serve."""

    def __init__(self, system: System, lanes: int) -> None:
        self.system, self.lanes = system, lanes
        self.plan: Plan | None = None
        self.memory = np.zeros(0)

    def choose(self, q: np.ndarray, signals: np.ndarray) -> None:
        system = self.system
        k = kinematics_of(system, q)
        rows = rows_at(system, q, np.zeros(system.nu), signals)
        self.plan = make_plan(system, k._S, rows.wrenches)
        self.memory = memory_for(system, self.plan, self.lanes)


def memory_for(system: System, plan: Plan, lanes: int) -> np.ndarray:
    loads = ROW_NUMBERS * system.constraints.count + 6 * system.nb + 2 + 3 * system.forces.signals
    rows = kinematics_rows(system) + loads + block_rows(system) + plan.size
    return make_memory(system, rows, lanes, system.forces.packed, system.constraints.packed, pack_plan(plan))


def workspace(system: System, lanes: int = 1) -> Any:
    return Planned(system, lanes)


def kinematics_of(system: System, q: np.ndarray) -> Any:
    from .functions import kinematics

    return kinematics(system, q)


def accelerations(planned, q, u, forces, signals, udot, start, stop):
    """As the compiled ones; a state that the plan does not serve well gets one of its own."""
    if planned.plan is None:
        planned.choose(*((q, signals) if q.ndim == 1 else (q[start], signals[start])))
    health = np.empty(1) if q.ndim == 1 else np.empty((q.shape[0], 1))
    total = sweep(planned.memory, q, u, forces, signals, udot, health, start, stop)
    poor = np.flatnonzero(~(health.ravel()[start:stop] > POOR) & (health.ravel()[start:stop] < np.inf)) + start
    if total == 0.0 and not poor.size:
        return total
    if q.ndim == 1:
        planned.choose(q, signals)
        return sweep(planned.memory, q, u, forces, signals, udot, health, 0, 1)
    for s in range(start, stop):
        if s in poor or not np.isfinite(udot[s]).all():
            one = Planned(planned.system, 1)
            one.choose(q[s], signals[s])
            sweep(one.memory, q[s], u[s], forces[s], signals[s], udot[s], np.empty(1), 0, 1)
    return float(0.0 * udot[start:stop].sum())
