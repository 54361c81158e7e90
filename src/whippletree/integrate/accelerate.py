"""The right-hand side of motion inside compiled loops: u' by the algorithm chosen, under all forces, and q' = N(q) u.

A given motion is solved exactly, by any algorithm: its freedom resists without end (``resist``), so no force moves
it, and the acceleration y that it causes in the bodies outboard acts on them as the wrench -I y.
"""

from typing import Any, NamedTuple

import numpy as np

from ..dynamics import articulated, composite
from ..dynamics.newton_euler import balance
from ..kernels.blocks import make_memory
from ..kernels.force_layout import MOTION, evaluate_signals, unpack_forces
from ..kernels.forces import apply_forces
from ..kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ..kernels.lanes import entry, get, inline, kernel, put, scratch, take, view
from ..kernels.layout import unpack
from ..kernels.manifold import coordinate_rates
from ..kernels.outside import call_policy
from ..kernels.spatial import add, axpy, load3, load6, mul_rigid, store6, sub
from ..system.system import System

CODES = {"articulated": 0, "composite": 1}


class Mechanism(NamedTuple):
    """What moves, what acts on it, and where that is computed."""

    m: Any  # the System
    F: Any  # its forces
    k: Any  # Kinematics
    tau: Any  # (nu)        joint forces that the caller gives
    call: Any  # address of a function that gives them instead, or 0; None where there never is one
    algorithm: Any  # a code of CODES; None is articulated too, and leaves the others uncompiled
    total: Any  # (nu)      joint forces in all
    wrench: Any  # (nb, 6)  on bodies; empty where nothing acts on them
    signals: Any  # (1 + 3 ns)  time and functions of it
    spare: Any  # (24)
    y: Any  # (nb, 6)       acceleration by given motions; empty without any
    f: Any  # (nb, 6)       likewise
    needed: Any  # (nu)     likewise: joint forces that the accelerations need


def mechanism_memory(system: System, algorithm: str, rows: int, lanes: int = 1) -> np.ndarray:
    """Memory for a Mechanism, its algorithm's Work, and ``rows`` numbers more for a state."""
    nb, nu = system.nb, system.nu
    work = 33 * nb + 8 * nu if CODES[algorithm] == 0 else 22 * nb + nu + nu * nu
    loads = 2 * nu + 18 * nb + 25 + 3 * system.forces.signals
    return make_memory(system, kinematics_rows(system) + work + loads + rows, lanes, system.forces.packed)


@inline
def open_forces(memory):
    """The System and its forces at the start of a memory, and where the rest starts"""
    m, n = unpack(memory)
    F, n = unpack_forces(memory, n)
    return m, F, n


@inline
def open_mechanism(m, F, k, tau, call, algorithm, buffer, n):
    """A Mechanism that computes in a buffer from row n on, and where that is unused"""
    bodies = 6 * m.nb if F.nbodies + F.ndriven > 0 else 0
    motions = 1 if F.ndriven > 0 else 0
    total, n = take(buffer, n, m.nu)
    wrench, n = take(buffer, n, bodies)
    signals, n = take(buffer, n, 1 + 3 * F.ns)
    spare, n = take(buffer, n, 24)
    y, n = take(buffer, n, 6 * m.nb * motions)
    f, n = take(buffer, n, 6 * m.nb * motions)
    needed, n = take(buffer, n, m.nu * motions)
    return Mechanism(m, F, k, tau, call, algorithm, total, wrench, signals, spare, y, f, needed), n


@kernel
def ask(call, t, q, u, total):
    """Joint forces by the user's function, if there is one"""
    if call is not None:  # noqa: SIM102  on its own, it is decided before compiling
        if call != 0 and call_policy(call, t, q, u, total) != 0:
            put(total, 0, np.nan)


@kernel
def load(x, t, q, u):
    """All forces at a state, into ``total`` and ``wrench``; returns the power of those that store no energy"""
    power = get(x.k.v, 0)  # of ground: zero
    for j in range(x.m.nu):
        put(x.total, j, get(x.tau, j))
    ask(x.call, t, q, u, x.total)
    for j in range(x.m.nu):
        power = power + get(x.total, j) * get(u, j)
    if x.F.nf + x.F.nj > 0:
        evaluate_signals(x.F, t, x.signals)
        _, p = apply_forces(x.m, x.F, x.k, x.signals, q, u, x.total, x.wrench, x.spare, view(x.spare, 0, 0))
        power = power + p
    if x.F.ndriven > 0:
        hold(x)
    return power


@kernel
def impose(x, t, q, u):
    """q and u of given motions, in place: they do not drift"""
    if x.F.ndriven > 0:
        evaluate_signals(x.F, t, x.signals)
        for n in range(x.F.nf):
            if x.F.kind[n] == MOTION:
                s = 3 * x.F.signal[3 * n]
                put(q, x.F.coordinate[n], get(x.signals, 1 + s))
                put(u, x.F.freedom[n], get(x.signals, 2 + s))


@kernel
def hold(x):
    """wrench -= I y, with the acceleration y that given motions cause"""
    m, F = x.m, x.F
    for n in range(6 * m.nb):
        put(x.y, n, 0.0)
    for n in range(F.nf):
        if F.kind[n] == MOTION:
            i = F.body[n]
            given = get(x.signals, 3 + 3 * F.signal[3 * n])
            store6(x.y, i, axpy(given, load6(x.k.S, F.freedom[n]), load6(x.y, i)))
    for i in range(1, m.nb):
        y = add(load6(x.y, i), load6(x.y, m.parent[i]))
        store6(x.y, i, y)
        store6(x.wrench, i, sub(load6(x.wrench, i), mul_rigid(m.mass[i], load3(x.k.h, i), load6(x.k.J, i), y)))


@kernel
def drive(x, u, udot):
    """u' of given motions; returns the power that they take"""
    m, F = x.m, x.F
    balance(m, x.k, udot, x.wrench, x.f, x.y, x.needed)
    power = get(x.k.v, 0)
    for n in range(F.nf):
        if F.kind[n] == MOTION:
            j = F.freedom[n]
            given = get(x.signals, 3 + 3 * F.signal[3 * n])
            force = get(x.needed, j) + m.armature[j] * given - get(x.total, j)
            power = power + force * get(u, j)
            put(udot, j, given)
    return power


@kernel
def solve(algorithm, x, udot, buffer, n):
    """u' under ``total`` and ``wrench``"""
    if algorithm is not None:  # noqa: SIM102  as above
        if algorithm == 1:
            c, _ = composite.take_work(x.m, buffer, n)
            composite.solve(x.m, x.k, x.total, x.wrench, c, udot)
            return
    w, _ = articulated.take_work(x.m, buffer, n)
    articulated.solve(x.m, x.k, x.total, x.wrench, w, udot)


@inline
def accelerate(x, t, q, u, udot, buffer, n):
    """u' of one state, or of one in each lane; Work lies in the buffer from row n on. Returns the power of forces."""
    impose(x, t, q, u)
    place_and_move(x.m, q, u, x.k)
    power = load(x, t, q, u)
    solve(x.algorithm, x, udot, buffer, n)
    if x.F.ndriven > 0:
        power = power + drive(x, u, udot)
    return power


@inline
def rates(x, t, y, out, buffer, n):
    """out = y' of y = (q, u, work of forces)"""
    nq, nu = x.m.nq, x.m.nu
    q, u = view(y, 0, nq), view(y, nq, nu)
    coordinate_rates(x.m, q, u, view(out, 0, nq))
    put(out, nq + nu, accelerate(x, t, q, u, view(out, nq, nu), buffer, n))


@entry
def derivative(memory, tau, call, algorithm, t, y, out):
    """y' of one state y = (q, u, work), for solvers that are not compiled here"""
    m, F, end = open_forces(memory)
    buffer = scratch(memory, end, y)
    k, n = take_kinematics(m, buffer)
    x, n = open_mechanism(m, F, k, tau, call, algorithm, buffer, n)
    rates(x, t, y, out, buffer, n)
