"""Recursive coordinate reduction, generalized: closed loops and other constraints in O(n + m), for one state or a
batch in lanes.

Paper    [critchley2003] A generalized recursive coordinate reduction method for multibody system dynamics: RCR, eqs
         (27)-(64); arbitrary coordinate selection, (65)-(102); general coupled loops, (103)-(111). [kelly1987] eq. (8):
         constraints B q' = g, holonomic or not.
Symbols  S = P, A = I^ and f = F^ of the paper; its A^ is x here. Rows are its R: a dependent DOF takes what it
         moves out of them, c = R S, Q = 1 / c.c, (28) and (34), d = Q R' c, and R - c d' is the next R, (30) and (36).
         beta - d.z is the dependent acceleration, (33); U, D and t of a free one are its (12), (59) and (64).
Differs  one common frame, so its shifts S^k are 1. A dependent DOF is taken out of the quadratic form at once, by
         an update of rank two, A - V d' - d V' with V = U - (s/2) d; this gives the sums (53)-(55) over Y and Z without
         forming them. The base bodies of open loops are variables of a front beside the body's own acceleration, for
         GCL, and so are independents between dependents, for ACS. Whatever rolls, slides on a blade, or is held at a
         distance is a row C u' = gamma like those of a loop, on its body and on the base. Where two branches are tied,
         a row is split in two by a variable that both fronts have until they meet; DOF that are coupled are
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
from ...kernels import blocks, kinematics
from ...kernels import unpack as packing
from ...kernels.constraints import constrain, ends_of_row
from ...kernels.forces import spread_prescribed
from ...layout.constraints import ROW_NUMBERS
from ...layout.forces import TINY
from ...system.system import System
from ..accuracy.fast_motion import BEYOND, hidden_loss
from ..constraints.live_rows import live_rows, loop_geometry
from ..constraints.multipliers import prescribed_rate
from ..dispatch import prepare
from . import front, residual
from . import front_variables as variables
from . import operations as ops
from .plan import make_plan
from .program import Plan, pack_plan, unpack_plan

SUPPORTS = {"trees", "flexible", "loops", "loops of nodes", "couplings", "constraints", "lanes"}
POOR = 1e-2  # of the pivot at the pose of the plan, squared: choose again


@kernel
def inward(m, E, k, plan, x, prescribed, tau, wrench, bias, w):
    """Tips to ground; returns the least pivot against that of the plan, squared.

    Of the front at ``at``, in world axes about the component's point: A and f are what the body feels of all outboard,
    minus the force at acceleration a being A a - f; behind them are the same of the front's other variables.
    """
    worst, modal = 1.0 + get(k.v, 0), kinematics.modal_columns(m, k)[0]
    for n in range(plan.count):
        s = ops.COLUMNS * n + ops.OPERANDS
        op, i, at, rest = ops.operation(plan.steps, ops.COLUMNS * n)
        if op == ops.ADD:
            front.add_body(m, k, wrench, bias, w, i, at)
        elif op == ops.FREE:
            d = ops.solve(plan.steps, s)
            front.free(load6(k.S, d.j), get(tau, d.j), m.resist[d.j], w, at, rest, d.store)
        elif op == ops.DEPENDENT or op == ops.TAKE:
            d = ops.solve(plan.steps, s)
            if op == ops.DEPENDENT:
                size, Q = front.depend(load6(k.S, d.j), get(tau, d.j), m.armature[d.j], w, at, rest, d)
            else:
                size, Q = variables.take_kept(w, at, rest, d)
            worst = smaller(smaller(worst, plan.fall[n] * size), plan.rise[n] * Q)
        elif op == ops.CLOSE:
            front.close_loop(E, x, prescribed, w, rest, i, ops.close(plan.steps, s))
        elif op == ops.COUPLED:
            front.couple(E, x, w, rest, ops.couple(plan.steps, s))
        elif op == ops.BODY:
            front.begin_body(m, k, wrench, bias, w, i, at, rest)
        elif op == ops.MERGE:
            variables.merge(w, at, rest, plan.maps, ops.merge(plan.steps, s))
        elif op == ops.MOVE:
            variables.move_rows(w, rest, plan.maps, ops.move(plan.steps, s))
        elif op == ops.KEPT:
            d = ops.solve(plan.steps, s)
            S, force, armature = load6(k.S, d.j), get(tau, d.j), m.armature[d.j]
            if d.first > 0:  # of a mode, at a node
                S, force, armature = load_at6(modal, d.first - 1), 0.0 * force, 0.0
            variables.keep(S, force, armature, w, at, rest, d)
        elif op == ops.MODAL:
            modes = ops.modal(plan.steps, s)
            slots, own = view(plan.maps, modes.slots, modes.count + 1), view(w, at, w.shape[0] - at)
            call_flexible(ADD_MODES, i, int(bias), m.header, k.sin, own, slots, tau, tau, tau)
        elif op == ops.RELEASE:
            variables.release(w, at, rest, ops.solve(plan.steps, s))
        elif op == ops.EXCHANGE:
            worst = smaller(worst, variables.exchange(w, at, rest, plan, ops.exchange(plan.steps, s)))
    return worst


@kernel
def outward(m, k, E, plan, x, prescribed, share, w, udot):
    """Ground to tips: the program backwards; returns by how much rows are missed beyond what is allowed, squared.

    z of the front at ``at`` is the body's acceleration less its bias, zr those of the front's other variables.
    """
    largest, modal = 0.0 * get(k.v, 0), kinematics.modal_columns(m, k)[0]
    for n in range(plan.count - 1, -1, -1):
        s = ops.COLUMNS * n + ops.OPERANDS
        op, i, at, rest = ops.operation(plan.steps, ops.COLUMNS * n)
        zr = front.places(at, rest)[3]
        if op == ops.ADD or op == ops.BODY or op == ops.MOVE:
            continue
        if op == ops.ROOT:
            for r in range(6):
                put(w, at + front.Z + r, 0.0)
        elif op == ops.CLOSE:
            largest = larger(
                largest, residual.missed(k, E, x, prescribed, share, w, at, zr, i, ops.close(plan.steps, s))
            )
        elif op == ops.COUPLED:
            largest = larger(largest, residual.missed_coupling(E, x, share, w, zr, ops.couple(plan.steps, s)))
        elif op == ops.MERGE:
            front.hand_out(plan.maps, w, at, rest, ops.merge(plan.steps, s))
        elif op == ops.KEPT:
            d = ops.solve(plan.steps, s)
            S = load_at6(modal, d.first - 1) if d.first > 0 else load6(k.S, d.j)
            front.carry(S, w, at, d.j, get(w, zr + d.var), udot)
        elif op == ops.MODAL:
            modes = ops.modal(plan.steps, s)
            for a in range(modes.count):
                put(udot, modes.j + a, get(w, zr + plan.maps[modes.slots + 1 + a]))
        elif op == ops.EXCHANGE:
            variables.exchange_back(w, zr, plan.maps, ops.exchange(plan.steps, s))
        else:
            d = ops.solve(plan.steps, s)
            a = get(w, d.store + 6 + rest)  # 1 / D of what is free, which t stands behind; beta of what depends
            if op == ops.FREE or op == ops.RELEASE:
                a = a * (get(w, d.store + 7 + rest) - front.along(w, d.store, at, rest))
            else:
                a = a - front.along(w, d.store, at, rest)
            if op == ops.FREE or op == ops.DEPENDENT:
                front.carry(load6(k.S, d.j), w, at, d.j, a, udot)
            else:
                put(w, zr + d.var, a)
    return largest


class Reduced(NamedTuple):
    """Work of one state."""

    x: Any  # Rows
    prescribed: Any  # (nb, 6)  acceleration by prescribed motions; empty without any
    w: Any  # fronts, and what is kept of each DOF


def work_rows(system: System, plan: Plan) -> int:
    """Numbers that the Work of one state takes."""
    return ROW_NUMBERS * live_rows(system).count + 6 * system.nb + plan.size


@inline
def take_reduced(m, F, E, buffer, n):
    """Work in all that is left of a buffer"""
    x, n = packing.take_rows(E, buffer, n)
    prescribed, n = take(buffer, n, 6 * m.nb if F.ndriven > 0 else 0)
    return Reduced(x, prescribed, view(buffer, n, buffer.shape[0] - n))


@kernel
def recursions(m, E, k, plan, own, tau, wrench, bias, udot):
    """u' under tau and wrenches for the rows as they are; returns how well the plan serves: below POOR it does not.

    Without ``bias``, under these alone, as if bodies were at rest and weightless.
    """
    worst = inward(m, E, k, plan, own.x, own.prescribed, tau, wrench, bias, own.w)
    largest = outward(m, k, E, plan, own.x, own.prescribed, residual.allowed(E, own.x, get(k.v, 0)), own.w, udot)
    return smaller(worst, 1.0 - largest / TINY)


@kernel
def solve(m, F, E, k, plan, signals, q, u, tau, wrench, own, udot):
    """u' under tau and wrenches; that of prescribed motions is left at zero. Returns how well the plan serves."""
    constrain(m, E, k, signals, q, u, own.x)
    if F.ndriven > 0:
        spread_prescribed(m, F, k, signals, own.prescribed)
        for r in range(E.nr):  # prescribed motions of what is coupled
            _, _, i, first, j, second = ends_of_row(E, r)
            if first != 0.0:
                done = first * prescribed_rate(m, F, signals, i) + second * prescribed_rate(m, F, signals, j)
                put(own.x.gamma, r, get(own.x.gamma, r) - done)
    return recursions(m, E, k, plan, own, tau, wrench, 1.0, udot)


@entry
def recursion(memory, q, u, forces, signals, udot, health, start, stop):
    """udot of the states start to stop, and of each how well the plan serves it.

    Returns the loss by fast motion, 0 if all is well, else not a number.
    """
    m, end = packing.unpack(memory)
    F, end = packing.unpack_forces(memory, end)
    E, end = packing.unpack_constraints(memory, end)
    plan, end = unpack_plan(memory, end)
    if blocks.mismatch(m, q, u, forces, udot) or signals.shape[-1] != 1 + 3 * F.ns:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = kinematics.take_kinematics(m, buffer)
    block, n = blocks.take_block(m, buffer, n, forces)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    h_block, n = take(buffer, n, 1)
    own = take_reduced(m, F, E, buffer, n)
    total, loss = 0.0, 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities, now = (
            blocks.gather(q, s, block.q),
            blocks.gather(u, s, block.u),
            blocks.gather(signals, s, s_block),
        )
        kinematics.place_and_move(m, coordinates, velocities, k)
        tau, wrench = blocks.split_wrench(m, blocks.gather(forces, s, block.x))
        out, worst = blocks.target(udot, block.out), blocks.target(health, h_block)
        put(worst, 0, solve(m, F, E, k, plan, now, coordinates, velocities, tau, wrench, own, out))
        blocks.scatter(out, s, udot)
        blocks.scatter(worst, s, health)
        loss = max(loss, lane_most(hidden_loss(k, velocities, out)))
        total += blocks.checksum(out) + blocks.unit_check(k)
    return total + loss


class Planned:
    """The memory of :func:`recursion`, for a plan that is made at the first state and again where it does not serve."""

    recursion = staticmethod(recursion)

    def __init__(self, system: System, lanes: int) -> None:
        prepare(self.recursion, 5, 1 if lanes == 1 else 2)
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
        rows = kinematics.kinematics_rows(system) + blocks.block_rows(system) + 2 + 3 * system.forces.signals
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
        total = recursion(
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
    """The same for any recursion over a plan."""
    if q.ndim == 1:
        return _solve_one(planned, q, u, forces, signals, out)
    if planned.plan is None:
        planned.choose(q[start], signals[start])
    health = np.empty((q.shape[0], 1))
    total = planned.recursion(planned.memory, q, u, forces, signals, out, health, start, stop)
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
        total = planned.recursion(planned.memory, q, u, forces, signals, out, planned.health, 0, 1)
    if not (np.isfinite(total) and planned.health[0] > POOR) and not np.array_equal(pose, planned.pose):
        planned.choose(q, signals)  # not where this plan was made: there is no better one
        total = planned.recursion(planned.memory, q, u, forces, signals, out, planned.health, 0, 1)
    return total
