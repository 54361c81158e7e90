"""The right-hand side of motion inside compiled loops: u' by the algorithm chosen, under all forces, and q' = N(q) u.

A prescribed motion is solved exactly, by any algorithm: its DOF resists without end (``resist``), so no force moves
it, and the acceleration y that it causes in the bodies outboard acts on them as the wrench -I y.

Modes that are quasi-static resist without end too. They neither move nor accelerate; where they are follows from the
loads, K eta = f, with f at the accelerations that the others have: solved for, and again, from where they were last.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import overload

from ...algebra import spatial as sp
from ...compiler import function_pointers as pointers
from ...compiler.lanes import ALWAYS, entry, get, inline, kernel, put, scratch, take, view
from ...kernels import kinematics
from ...kernels import unpack as packing
from ...kernels.blocks import make_memory
from ...kernels.forces import apply_forces, spread_prescribed
from ...kernels.manifold import coordinate_rates
from ...kernels.signals import evaluate_signals
from ...layout.forces import MOTION
from ...layout.system import DIVISION, MODAL_MOTION, MODES
from ...system.system import System
from ..constraints.live_rows import live_rows
from ..reduction import passes as reduction
from ..reduction import program
from ..tree import articulated, composite
from ..tree.newton_euler import balance
from ..tree.workspace import take_work, work_rows
from . import samples
from .stabilization import PROJECTION, Stabilization, stabilized
from .stepper import Stepper

ROUNDS = 4  # of a state with quasi-static modes: each leaves the share (motion's frequency / mode's)^2 of their error
ARTICULATED, COMPOSITE = 0, 1  # recursions over trees that are compiled in; other solvers are addresses


class Mechanism(NamedTuple):
    """What moves, what acts on it, and where that is computed: closed, for calls.

    Numba hands a tuple over number by number: the hundreds of an open one took longer than the dynamics of an arm.
    """

    memory: Any  # the System and its forces, packed
    buffer: Any  # room for Parts and the algorithm's Work, whose rows nothing else uses
    tau: Any  # (nu)        joint forces that the caller gives
    call: Any  # address of a function that gives them instead, or 0; None in lanes, where there never is one
    algorithm: Any  # addresses of what accelerates it, of a solver or one of the recursions, and of what closes it
    #                 or 0, as in calls.py; where it is compiled in: a solver, or None, which is articulated


class Parts(NamedTuple):
    """A Mechanism, open."""

    m: Any  # the System
    F: Any  # its forces
    k: Any  # Kinematics
    tau: Any  # (nu)        as in Mechanism
    call: Any
    total: Any  # (nu)      joint forces in all
    wrench: Any  # (nb, 6)  on bodies; empty where nothing acts on them
    signals: Any  # (1 + 3 ns)  time and functions of it
    spare: Any  # (24)
    y: Any  # (nb, 6)       acceleration by prescribed motions; empty without any and without flexible bodies
    f: Any  # (nb, 6)       likewise
    needed: Any  # (nu)     likewise: joint forces that the accelerations need
    health: Any  # (1)      how well the plan of reduction serves
    sample: Any  # (2 + nq + 2 nu)  loss of digits, t, q, u and u' of an evaluation: evaluations.py


def mechanism_memory(
    system: System,
    stepper: Stepper,
    rows: int,
    lanes: int = 1,
    stabilization: Stabilization = PROJECTION,
    plan: program.Plan | None = None,
) -> np.ndarray:
    """Memory for a Mechanism, its algorithm's Work, and ``rows`` numbers more for a state.

    What a stepper refers to must stay where it is as long as the memory is used.
    """
    live, work = live_rows(system), stepper.work(plan)
    if system.flexible:
        work = max(work, work_rows(system))  # where modes settle
    loads = 2 * system.nu + 18 * system.nb + 26 + 3 * system.forces.signals + samples.sample_rows(system)
    packed = system.forces.packed, stabilized(live.packed, stabilization), program.pack_plan(plan)
    memory = make_memory(system, kinematics.kinematics_rows(system) + work + loads + rows, lanes, *packed)
    stepper.mark(memory)
    return memory


@inline
def open_forces(memory):
    """The System and its forces at the start of a memory, and where the rest starts"""
    m, n = packing.unpack(memory)
    F, n = packing.unpack_forces(memory, n)
    return m, F, n


@inline
def open_all(memory):
    """The System, its forces and its constraints at the start of a memory, and where the rest starts"""
    m, F, n = open_forces(memory)
    E, n = packing.unpack_constraints(memory, n)
    return m, F, E, n


@inline
def open_plan(memory):
    """The plan of reduction in a memory, and where the rest starts"""
    _, _, _, n = open_all(memory)
    return program.unpack_plan(memory, n)


@inline
def open_scratch(memory, states):
    """The System at the start of a memory, and a buffer behind it"""
    m, _ = packing.unpack(memory)
    _, end = open_plan(memory)
    return m, scratch(memory, end, states)


@inline
def make_mechanism(memory, buffer, n, tau, call, algorithm):
    """A Mechanism that computes in a buffer from row n on"""
    return Mechanism(memory, view(buffer, n, buffer.shape[0] - n), tau, call, algorithm)


@inline
def open_parts(x):
    """The Parts of a Mechanism, and where its buffer is unused"""
    m, F, _ = open_forces(x.memory)
    k, n = kinematics.take_kinematics(m, x.buffer)
    bodies = 6 * m.nb if F.nbodies + F.ndriven > 0 else 0
    motions = 1 if F.ndriven > 0 or m.header[MODAL_MOTION] > 0 else 0
    total, n = take(x.buffer, n, m.nu)
    wrench, n = take(x.buffer, n, bodies)
    signals, n = take(x.buffer, n, 1 + 3 * F.ns)
    spare, n = take(x.buffer, n, 24)
    y, n = take(x.buffer, n, 6 * m.nb * motions)
    f, n = take(x.buffer, n, 6 * m.nb * motions)
    needed, n = take(x.buffer, n, m.nu * motions)
    health, n = take(x.buffer, n, 1)
    sample, n = take(x.buffer, n, samples.own_sample_rows(m))
    return Parts(m, F, k, x.tau, x.call, total, wrench, signals, spare, y, f, needed, health, sample), n


@kernel
def ask(call, t, q, u, total):
    """Joint forces by the user's function, if there is one"""
    if call is not None:  # noqa: SIM102  on its own, it is decided before compiling
        if call != 0 and pointers.call_policy(call, t, q, u, total) != 0:
            put(total, 0, np.nan)


@inline
def load(p, t, q, u):
    """All forces at a state but those of prescribed motions, into ``total`` and ``wrench``; returns the power of those
    that
    store no energy"""
    power = get(p.k.defect, 1)  # of modes: zero without any
    for j in range(p.m.nu):
        put(p.total, j, get(p.tau, j))
    ask(p.call, t, q, u, p.total)
    for j in range(p.m.nu):
        power = power + get(p.total, j) * get(u, j)
    if p.F.nf + p.F.nj > 0:
        evaluate_signals(p.F, t, p.signals)
        _, more = apply_forces(p.m, p.F, p.k, p.signals, q, u, p.total, p.wrench, p.spare, view(p.spare, 0, 0))
        power = power + more
    return power


@kernel
def impose(x, t, q, u):
    """q and u of prescribed motions, in place: they do not drift"""
    p, _ = open_parts(x)
    if p.F.ndriven > 0:
        evaluate_signals(p.F, t, p.signals)
        for n in range(p.F.nf):
            if p.F.kind[n] == MOTION:
                s = 3 * p.F.signal[3 * n]
                put(q, p.F.coordinate[n], get(p.signals, 1 + s))
                put(u, p.F.dof[n], get(p.signals, 2 + s))


@kernel
def hold(p):
    """wrench -= I y, with the acceleration y that prescribed motions cause"""
    m = p.m
    spread_prescribed(m, p.F, p.k, p.signals, p.y)
    for i in range(1, m.nb):
        pushed = sp.mul_rigid(m.mass[i], sp.load3(p.k.h, i), sp.load6(p.k.J, i), sp.load6(p.y, i))
        sp.store6(p.wrench, i, sp.sub(sp.load6(p.wrench, i), pushed))
        if m.kind[i] == MODES:
            pointers.call_flexible(pointers.HOLD, i, 0, m.header, p.k.sin, p.total, p.y, p.total, p.total, p.total)


@kernel
def drive(p, u, udot):
    """u' of prescribed motions; returns the power that they take"""
    m, F = p.m, p.F
    balance(m, p.k, False, udot, p.wrench, p.f, p.y, p.needed)
    power = get(p.k.v, 0)
    for n in range(F.nf):
        if F.kind[n] == MOTION:
            j = F.dof[n]
            given = get(p.signals, 3 + 3 * F.signal[3 * n])
            force = get(p.needed, j) + m.armature[j] * given - get(p.total, j)
            power = power + force * get(u, j)
            put(udot, j, given)
    return power


def solve(algorithm, x, p, t, q, u, udot, n):
    """u' under ``total`` and ``wrench``; Work lies in the buffer from row n on. Returns the power of constraints."""


@overload(solve, jit_options=ALWAYS)
def _solve(algorithm, x, p, t, q, u, udot, n):
    def by_articulated(algorithm, x, p, t, q, u, udot, n):
        w, _ = take_work(p.m, x.buffer, n)
        articulated.solve(p.m, p.k, p.total, p.wrench, w, udot)
        return 0.0

    def by_any(algorithm, x, p, t, q, u, udot, n):
        if algorithm > COMPOSITE:
            return pointers.call_solver(algorithm, x.memory, x.buffer, t, q, u, udot)
        if algorithm == COMPOSITE:
            c, _ = composite.take_work(p.m, x.buffer, n)
            samples.take_loss(p.sample, composite.solve(p.m, p.k, p.total, p.wrench, c, udot))
        elif samples.is_wanted(p.sample):
            w, _ = take_work(p.m, x.buffer, n)
            samples.take_loss(p.sample, articulated.solve(p.m, p.k, p.total, p.wrench, w, udot))
        else:  # compiled without what measures the loss: worth 8 % of an arm
            w, _ = take_work(p.m, x.buffer, n)
            articulated.solve(p.m, p.k, p.total, p.wrench, w, udot)
        return 0.0

    def in_lanes(algorithm, x, p, t, q, u, udot, n):
        if algorithm > COMPOSITE:
            return pointers.call_solver(algorithm, x.memory, x.buffer, t, q, u, udot)
        w, _ = take_work(p.m, x.buffer, n)
        articulated.solve(p.m, p.k, p.total, p.wrench, w, udot)
        return 0.0

    if not isinstance(algorithm, types.Integer):
        return by_articulated
    return by_any if udot.ndim == 1 else in_lanes


@inline
def served(x):
    """Whether the plan of the algorithm, if it needs one, still serves"""
    p, _ = open_parts(x)
    return x.algorithm[2] == 0 or get(p.health, 0) > reduction.POOR


@kernel
def times_solved(m):
    """Once, or more often where there are quasi-static modes"""
    if m.header[MODAL_MOTION] > 0:
        for i in range(1, m.nb):
            if m.kind[i] == MODES:
                for j in range(m.dof[i], m.dof[i + 1]):
                    if m.resist[j] == math.inf:
                        return ROUNDS
    return 1


@kernel
def follow(x, p, q, udot, n):
    """Quasi-static modes go to where their stiffness holds the loads there were"""
    m = p.m
    if p.F.ndriven == 0:  # else drive has done so
        balance(m, p.k, False, udot, p.wrench, p.f, p.y, p.needed)
    for j in range(m.nu):
        put(p.needed, j, get(p.needed, j) - get(p.total, j))
    for i in range(1, m.nb):
        if m.kind[i] == MODES:
            work = view(x.buffer, n, x.buffer.shape[0] - n)
            pointers.call_flexible(pointers.SETTLE, i, 0, m.header, p.k.sin, work, p.needed, q, q, q)


@kernel
def accelerate_here(x, t, q, u, udot):
    """u' of one state, or of one in each lane. Returns the power of forces."""
    p, n = open_parts(x)
    if p.F.ndriven > 0:
        impose(x, t, q, u)
    power = get(p.k.v, 0)
    for again in range(times_solved(p.m)):
        if again > 0:
            follow(x, p, q, udot, n)
        if p.m.header[DIVISION] == 0 or p.F.nf + p.F.nj > 0:  # a division has its own kinematics
            kinematics.place_and_move(p.m, q, u, p.k)
        power = load(p, t, q, u)
        if p.F.ndriven > 0:
            hold(p)
        power = power + solve(x.algorithm, x, p, t, q, u, udot, n)
        if p.F.ndriven > 0:
            power = power + drive(p, u, udot)
    samples.take_state(p.m, p.sample, t, q, u, udot)
    return power


@inline
def accelerate(x, t, q, u, udot):
    """The same by address: compiled once, and not again with every integrator"""
    return pointers.call_motion(x.algorithm[0], x.memory, x.buffer, x.tau, x.call, x.algorithm[1], t, q, u, udot)


@inline
def rates(m, x, t, y, out):
    """out = y' of y = (q, u, work of forces)"""
    q, u = view(y, 0, m.nq), view(y, m.nq, m.nu)
    power = accelerate(x, t, q, u, view(out, m.nq, m.nu))
    coordinate_rates(m, q, u, view(out, 0, m.nq))
    put(out, m.nq + m.nu, power)


@entry
def derivative(memory, tau, call, algorithm, t, y, out):
    """y' of one state y = (q, u, work), for solvers that are not compiled here; returns whether a plan still serves"""
    m, buffer = open_scratch(memory, y)
    x = make_mechanism(memory, buffer, 0, tau, call, algorithm)
    rates(m, x, t, y, out)
    return served(x)
