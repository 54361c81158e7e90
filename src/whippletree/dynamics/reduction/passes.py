"""Recursive coordinate reduction, generalized: closed loops and other constraints in O(n + m), for one state or a
batch in lanes.

Paper    [critchley2003] A generalized recursive coordinate reduction method for multibody system dynamics: RCR, eqs
         (27)-(64); arbitrary coordinate selection, (65)-(102); general coupled loops, (103)-(111). [kelly1987] eq. (8):
         constraints B q' = g, holonomic or not.
Symbols  S = P, A = I^ and f = F^ of the paper; its A^ is x here. Rows are its R: a dependent freedom takes what it
         moves out of them, c = R S, Q = 1 / c.c, (28) and (34), d = Q R' c, and R - c d' is the next R, (30) and (36).
         beta - d.z is the dependent acceleration, (33); U, D and t of a free one are its (12), (59) and (64).
Differs  one common frame, so its shifts S^k are 1. A dependent freedom is taken out of the quadratic form at once, by
         an update of rank two, A - V d' - d V' with V = U - (s/2) d; this gives the sums (53)-(55) over Y and Z without
         forming them. The base bodies of open loops are variables of a front beside the body's own acceleration, for
         GCL, and so are independents between dependents, for ACS. Whatever rolls, slides on a blade, or is held at a
         distance is a row C u' = gamma like those of a loop, on its body and on the base. Where two branches are tied,
         a row is split in two by a variable that both fronts have until they meet; freedoms that are coupled are
         variables until then. No multipliers are solved for. The order of all this is data: plan.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...algebra.compare import lane_most, larger, smaller
from ...algebra.spatial import load6, load_at6
from ...compiler.function_pointers import MODAL as ADD_MODES
from ...compiler.function_pointers import call_flexible
from ...compiler.lanes import entry, get, inline, kernel, put, scratch, take, view
from ...kernels import blocks
from ...kernels.constraints import constrain, ends_of_row
from ...kernels.forces import spread_given
from ...kernels.kinematics import kinematics_rows, modal_columns, place_and_move, take_kinematics
from ...kernels.unpack import take_rows, unpack, unpack_constraints, unpack_forces
from ...layout.constraints import ROW_NUMBERS
from ...layout.forces import TINY
from ...system.system import System
from ..accuracy.fast_motion import BEYOND, swift_loss
from ..constraints.live_rows import live_rows, loop_geometry
from ..constraints.multipliers import given_rate
from ..dispatch import prepare
from .front import add_body, along, begin_body, carry, close_loop, couple, depend, free, hand_out, places
from .front_variables import exchange, exchange_back, keep, merge, move_rows, release, take_kept
from .plan import make_plan
from .program import (
    ADD,
    BODY,
    CLOSE,
    COLUMNS,
    COUPLED,
    DEPENDENT,
    EXCHANGE,
    FREE,
    KEPT,
    MERGE,
    MODAL,
    MOVE,
    RELEASE,
    ROOT,
    TAKE,
    Plan,
    pack_plan,
    unpack_plan,
)
from .residual import allowed, inner_body, missed, missed_coupling

SUPPORTS = {"trees", "flexible", "loops", "loops of nodes", "couplings", "constraints", "lanes"}
POOR = 1e-2  # of the pivot at the pose of the plan, squared: choose again


@kernel
def inward(m, E, k, plan, x, given, tau, wrench, bias, w):
    """Tips to ground; returns the least pivot against that of the plan, squared"""
    worst, modal = 1.0 + get(k.v, 0), modal_columns(m, k)[0]
    for n in range(plan.count):
        s = COLUMNS * n
        op, i, at, rest = plan.steps[s], plan.steps[s + 1], plan.steps[s + 2], plan.steps[s + 3]
        if op == ADD:
            add_body(m, k, wrench, bias, w, i, at)
        elif op == FREE:
            j = plan.steps[s + 4]
            free(load6(k.S, j), get(tau, j), m.resist[j], w, at, rest, plan.steps[s + 5])
        elif op == DEPENDENT or op == TAKE:  # noqa: SIM109  a tuple is slow here
            j, store, rows = plan.steps[s + 4], plan.steps[s + 5], plan.steps[s + 6]
            first, group, count = plan.steps[s + 7], plan.steps[s + 8], plan.steps[s + 9]
            if op == DEPENDENT:
                S = load6(k.S, j)
                size, Q = depend(S, get(tau, j), m.armature[j], w, at, rest, store, rows, count, first, group)
            else:
                size, Q = take_kept(w, at, rest, store, rows, count, first, group, plan.steps[s + 10])
            worst = smaller(smaller(worst, plan.fall[n] * size), plan.rise[n] * Q)
        elif op == CLOSE:
            start, stop, side, key = plan.steps[s + 4], plan.steps[s + 5], plan.steps[s + 7], plan.steps[s + 8]
            inner, slack = inner_body(E, start), plan.steps[s + 9]
            close_loop(x, given, w, plan.steps[s + 6], rest, start, stop, side, key, i, inner, slack)
        elif op == COUPLED:
            couple(E, x, w, plan.steps[s + 6], rest, plan.steps[s + 4], plan.steps[s + 7], plan.steps[s + 8])
        elif op == BODY:
            begin_body(m, k, wrench, bias, w, i, at, rest)
        elif op == MERGE:
            merge(w, at, rest, plan.steps[s + 5], plan.steps[s + 6], plan.maps, plan.steps[s + 7])
        elif op == MOVE:
            row, count, there, mp = plan.steps[s + 4], plan.steps[s + 5], plan.steps[s + 6], plan.steps[s + 7]
            move_rows(w, row, rest, count, there, mp, plan.maps, plan.steps[s + 8])
        elif op == KEPT:
            j, rows, count, var = plan.steps[s + 4], plan.steps[s + 6], plan.steps[s + 9], plan.steps[s + 10]
            S, force, armature = load6(k.S, j), get(tau, j), m.armature[j]
            if plan.steps[s + 7] > 0:  # of a mode, at a node
                S, force, armature = load_at6(modal, plan.steps[s + 7] - 1), 0.0 * force, 0.0
            keep(S, force, armature, w, at, rest, rows, count, var)
        elif op == MODAL:
            slots = view(plan.maps, plan.steps[s + 5], plan.steps[s + 6] + 1)
            front = view(w, at, w.shape[0] - at)
            call_flexible(ADD_MODES, i, int(bias), m.header, k.sin, front, slots, tau, tau, tau)
        elif op == RELEASE:
            release(w, at, rest, plan.steps[s + 5], plan.steps[s + 10])
        elif op == EXCHANGE:
            var, store, rows, first = plan.steps[s + 4], plan.steps[s + 5], plan.steps[s + 6], plan.steps[s + 7]
            pivots, used, count = plan.steps[s + 8], plan.steps[s + 9], plan.steps[s + 10]
            exchange(w, at, rest, store, rows, plan.maps, first, pivots, used, count, var)
    return worst


@kernel
def outward(m, k, E, plan, x, given, share, w, udot):
    """Ground to tips: the program backwards; returns by how much rows are missed beyond what is allowed, squared"""
    amiss, modal = 0.0 * get(k.v, 0), modal_columns(m, k)[0]
    for n in range(plan.count - 1, -1, -1):
        s = COLUMNS * n
        op, at, rest = plan.steps[s], plan.steps[s + 2], plan.steps[s + 3]
        j, store, var = plan.steps[s + 4], plan.steps[s + 5], plan.steps[s + 10]
        if op == ADD or op == BODY or op == MOVE:  # noqa: SIM109
            continue
        if op == ROOT:
            for r in range(6):
                put(w, at + 27 + r, 0.0)
        elif op == CLOSE:
            i, stop, side, key = plan.steps[s + 1], store, plan.steps[s + 7], plan.steps[s + 8]
            slack = plan.steps[s + 9]
            amiss = larger(amiss, missed(k, E, x, given, share, w, at, rest, j, stop, side, key, i, slack))
        elif op == COUPLED:
            first, second = plan.steps[s + 7], plan.steps[s + 8]
            amiss = larger(amiss, missed_coupling(E, x, share, w, places(at, rest)[3], j, first, second))
        elif op == MERGE:
            hand_out(plan.maps, w, at, rest, plan.steps[s + 5], plan.steps[s + 6], plan.steps[s + 7])
        elif op == KEPT:
            a, column = get(w, places(at, rest)[3] + var), plan.steps[s + 7]
            carry(load_at6(modal, column - 1) if column > 0 else load6(k.S, j), w, at, j, a, udot)
        elif op == MODAL:
            for a in range(plan.steps[s + 6]):
                put(udot, j + a, get(w, places(at, rest)[3] + plan.maps[store + 1 + a]))
        elif op == EXCHANGE:
            exchange_back(w, at, rest, store, plan.maps, plan.steps[s + 7], plan.steps[s + 8], j)
        elif op == FREE or op == RELEASE:  # noqa: SIM109
            a = get(w, store + 6 + rest) * (get(w, store + 7 + rest) - along(w, store, at, rest))
            if op == FREE:
                carry(load6(k.S, j), w, at, j, a, udot)
            else:
                put(w, places(at, rest)[3] + var, a)
        else:
            a = get(w, store + 6 + rest) - along(w, store, at, rest)
            if op == DEPENDENT:
                carry(load6(k.S, j), w, at, j, a, udot)
            else:
                put(w, places(at, rest)[3] + var, a)
    return amiss


class Reduced(NamedTuple):
    """Work of one state."""

    x: Any  # Rows
    given: Any  # (nb, 6)  acceleration by given motions; empty without any
    w: Any  # fronts, and what is kept of each freedom


def work_rows(system: System, plan: Plan) -> int:
    """Numbers that the Work of one state takes."""
    return ROW_NUMBERS * live_rows(system).count + 6 * system.nb + plan.size


@inline
def take_reduced(m, F, E, buffer, n):
    """Work in all that is left of a buffer"""
    x, n = take_rows(E, buffer, n)
    given, n = take(buffer, n, 6 * m.nb if F.ndriven > 0 else 0)
    return Reduced(x, given, view(buffer, n, buffer.shape[0] - n))


@kernel
def sweeps(m, E, k, plan, own, tau, wrench, bias, udot):
    """u' under tau and wrenches for the rows as they are; returns how well the plan serves: below POOR it does not.

    Without ``bias``, under these alone, as if bodies were at rest and weightless.
    """
    worst = inward(m, E, k, plan, own.x, own.given, tau, wrench, bias, own.w)
    amiss = outward(m, k, E, plan, own.x, own.given, allowed(E, own.x, get(k.v, 0)), own.w, udot)
    return smaller(worst, 1.0 - amiss / TINY)


@kernel
def solve(m, F, E, k, plan, signals, q, u, tau, wrench, own, udot):
    """u' under tau and wrenches; that of given motions is left at zero. Returns how well the plan serves."""
    constrain(m, E, k, signals, q, u, own.x)
    if F.ndriven > 0:
        spread_given(m, F, k, signals, own.given)
        for r in range(E.nr):  # given motions of what is coupled
            _, _, i, first, j, second = ends_of_row(E, r)
            if first != 0.0:
                done = first * given_rate(m, F, signals, i) + second * given_rate(m, F, signals, j)
                put(own.x.gamma, r, get(own.x.gamma, r) - done)
    return sweeps(m, E, k, plan, own, tau, wrench, 1.0, udot)


@entry
def sweep(memory, q, u, forces, signals, udot, health, start, stop):
    """udot of the states start to stop, and of each how well the plan serves it.

    Returns the loss by fast motion, 0 if all is well, else not a number.
    """
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    plan, end = unpack_plan(memory, end)
    if blocks.mismatch(m, q, u, forces, udot) or signals.shape[-1] != 1 + 3 * F.ns:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    block, n = blocks.take_block(m, buffer, n, forces)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    h_block, n = take(buffer, n, 1)
    own = take_reduced(m, F, E, buffer, n)
    total, loss = 0.0, 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, speeds, now = (
            blocks.gather(q, s, block.q),
            blocks.gather(u, s, block.u),
            blocks.gather(signals, s, s_block),
        )
        place_and_move(m, coordinates, speeds, k)
        tau, wrench = blocks.split_wrench(m, blocks.gather(forces, s, block.x))
        out, worst = blocks.target(udot, block.out), blocks.target(health, h_block)
        put(worst, 0, solve(m, F, E, k, plan, now, coordinates, speeds, tau, wrench, own, out))
        blocks.scatter(out, s, udot)
        blocks.scatter(worst, s, health)
        loss = max(loss, lane_most(swift_loss(speeds, out, 0.0 * get(worst, 0))))
        total += blocks.checksum(out) + blocks.unit_check(k)
    return total + loss


class Planned:
    """The memory of :func:`sweep`, for a plan that is made at the first state and again where it does not serve."""

    sweep = staticmethod(sweep)

    def __init__(self, system: System, lanes: int) -> None:
        prepare(self.sweep, 5, 1 if lanes == 1 else 2)
        self.system, self.lanes = system, lanes
        self.plan: Plan | None = None
        self.trusted: Plan | None = None  # the plan, once a state that it solved has a certificate
        self.pose = np.zeros(0)  # that the plan was made at, and its time
        self.memory, self.health, self.no_time = np.zeros(0), np.zeros(1), np.zeros(1)

    def choose(self, q: np.ndarray, signals: np.ndarray) -> None:
        self.follow(plan_at(self.system, q, signals))
        self.pose = np.concatenate([q, signals])

    def follow(self, plan: Plan) -> None:
        system, self.plan = self.system, plan
        rows = kinematics_rows(system) + blocks.block_rows(system) + 2 + 3 * system.forces.signals
        rows += work_rows(system, plan) + self.more_rows()
        packed = system.forces.packed, live_rows(system).packed, pack_plan(plan)
        self.memory = blocks.make_memory(system, rows, self.lanes, *packed)

    def more_rows(self) -> int:
        return 0


def plan_at(system: System, q: np.ndarray, signals: np.ndarray) -> Plan:
    """A plan for a pose; the last one is known."""
    pose, found = np.concatenate([q, signals]), system.workspaces.found
    key = "plan", *system.forces.motions
    last = found.get(key)
    if last is None or not np.array_equal(last[0], pose):
        last = found[key] = pose, make_plan(system, loop_geometry(system, live_rows(system), q, signals))
    return last[1]


def workspace(system: System, lanes: int = 1) -> Any:
    return Planned(system, lanes)


def quick(
    system: System, waiting: list[Any], q: Any, u: Any, tau: Any, signals: np.ndarray | None = None
) -> np.ndarray | None:
    """u' of one state under all forces, and functions of time if there are any; None if anything asks for a closer
    look."""
    try:
        planned = waiting.pop()
    except LookupError:  # others use it
        return None
    udot = np.empty(system.nu)
    try:
        total = sweep(
            planned.memory, q, u, tau, planned.no_time if signals is None else signals, udot, planned.health, 0, 1
        )
    except TypeError:  # not contiguous doubles
        total = None
    waiting.append(planned)
    believed = planned.plan is not None and planned.plan is planned.trusted and planned.health[0] > POOR
    return udot if total == 0.0 and believed else None


def accelerations(planned, q, u, forces, signals, udot, start, stop):
    """As the compiled ones; a state that the plan does not serve well gets one of its own."""
    return solve_planned(planned, q, u, forces, signals, udot, start, stop)


def solve_planned(planned, q, u, forces, signals, out, start, stop):
    """The same for any sweep over a plan."""
    if q.ndim == 1:
        return _solve_one(planned, q, u, forces, signals, out)
    if planned.plan is None:
        planned.choose(q[start], signals[start])
    health = np.empty((q.shape[0], 1))
    total = planned.sweep(planned.memory, q, u, forces, signals, out, health, start, stop)
    served = health.ravel()[start:stop]
    alone = (~(served > POOR) & (served < np.inf)) | ~np.isfinite(out[start:stop]).all(axis=1)
    if np.isfinite(total) and not alone.any():
        return total
    for s in start + np.flatnonzero(alone):
        _solve_one(type(planned)(planned.system, 1), q[s], u[s], forces[s], signals[s], out[s])
    return float(0.0 * out[start:stop].sum()) + BEYOND  # no state of these plans has a certificate


def _solve_one(planned, q, u, forces, signals, out):
    pose, total = np.concatenate([q, signals]), np.nan
    if planned.plan is not None:
        total = planned.sweep(planned.memory, q, u, forces, signals, out, planned.health, 0, 1)
    if not (np.isfinite(total) and planned.health[0] > POOR) and not np.array_equal(pose, planned.pose):
        planned.choose(q, signals)  # not where this plan was made: there is no better one
        total = planned.sweep(planned.memory, q, u, forces, signals, out, planned.health, 0, 1)
    return total
