"""Forward and inverse dynamics of a tree under the forces of its model, in one pass over its kinematics.

The algorithms are those of articulated.py and newton_euler.py. Springs, dampers, motors and the like, functions of time
and prescribed motions are evaluated on the Kinematics that they share; a model without forces compiles none of this.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ...algebra import compare
from ...algebra import spatial as sp
from ...compiler.function_pointers import HOLD, call_flexible
from ...compiler.lanes import ALWAYS, entry, get, inline, kernel, put, scratch, take, view
from ...kernels import blocks, kinematics
from ...kernels import unpack as packing
from ...kernels.forces import apply_forces, spread_prescribed
from ...kernels.signals import evaluate_signals
from ...layout.forces import MOTION
from ...layout.system import MODES
from ...system.system import System
from ..accuracy.fast_motion import hidden_loss
from .articulated import solve
from .newton_euler import balance
from .workspace import take_work, work_rows


class Load(NamedTuple):
    """What acts on one state, and room to find it."""

    total: Any  # (nu)     generalized forces
    wrench: Any  # (nb, 6) on bodies; empty where nothing acts on them
    signals: Any  # (1 + 3 ns)  time and functions of it
    spare: Any  # (24)
    y: Any  # (nb, 6)      acceleration by prescribed motions; empty without any


def workspace(system: System, lanes: int = 1) -> Any:
    """Memory for the entries below."""
    load = system.nu + 12 * system.nb + 25 + 3 * system.forces.signals
    rows = (
        kinematics.kinematics_rows(system) + work_rows(system) + 12 * system.nb + blocks.block_rows(system) + 2 * load
    )
    return blocks.make_memory(system, rows, lanes, system.forces.packed)


@inline
def take_load(m, F, buffer, n, wrenches):
    bodies = 6 * m.nb if F.nbodies + F.ndriven + wrenches > 0 else 0
    total, n = take(buffer, n, m.nu)
    wrench, n = take(buffer, n, bodies)
    signals, n = take(buffer, n, 1 + 3 * F.ns)
    spare, n = take(buffer, n, 24)
    y, n = take(buffer, n, 6 * m.nb if F.ndriven > 0 else 0)
    return Load(total, wrench, signals, spare, y), n


def signals_of(F, given, first, buffer):
    """Functions of time: of the time of one state, or as they were evaluated for each of a batch."""


@overload(signals_of, jit_options=ALWAYS)
def _signals_of(F, given, first, buffer):
    if given.ndim == 1:

        def of_time(F, given, first, buffer):
            evaluate_signals(F, given[0], buffer)
            return buffer

        return of_time
    return lambda F, given, first, buffer: blocks.gather(given, first, buffer)


@kernel
def apply_load(m, F, k, q, u, wrench, signals, load):
    """Set ``total``, which begins with what the caller applies, and ``wrench``, by the forces of the model and those on
    bodies that the caller applies"""
    apply_forces(m, F, k, signals, q, u, load.total, load.wrench, load.spare, view(load.spare, 0, 0))
    for i in range(m.nb if wrench.shape[0] > 0 else 0):
        sp.store6(load.wrench, i, sp.add(sp.load6(load.wrench, i), sp.load6(wrench, i)))


@kernel
def hold_motions(m, F, k, signals, load):
    """wrench -= I y, with the acceleration y that prescribed motions cause"""
    spread_prescribed(m, F, k, signals, load.y)
    for i in range(1, m.nb):
        pushed = sp.mul_rigid(m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i), sp.load6(load.y, i))
        sp.store6(load.wrench, i, sp.sub(sp.load6(load.wrench, i), pushed))
        if m.kind[i] == MODES:
            call_flexible(HOLD, i, 0, m.header, k.sin, load.total, load.y, load.total, load.total, load.total)


@entry
def accelerations(memory, q, u, forces, time, udot, start, stop):
    """As articulated.accelerations, under tau, wrenches if any, and the forces of the model at ``time``: that of one
    state, or time and functions of it for each of a batch."""
    m, end = packing.unpack(memory)
    F, end = packing.unpack_forces(memory, end)
    if blocks.mismatch(m, q, u, forces, udot):
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = kinematics.take_kinematics(m, buffer)
    w, n = take_work(m, buffer, n)
    load, n = take_load(m, F, buffer, n, forces.shape[-1] - m.nu)
    block, n = blocks.take_block(m, buffer, n, forces)
    total, loss = 0.0, 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities = blocks.gather(q, s, block.q), blocks.gather(u, s, block.u)
        kinematics.place_and_move(m, coordinates, velocities, k)
        tau, wrench = blocks.split_wrench(m, blocks.gather(forces, s, block.x))
        signals = signals_of(F, time, s, load.signals)
        for j in range(m.nu):
            put(load.total, j, get(tau, j))
        apply_load(m, F, k, coordinates, velocities, wrench, signals, load)
        if F.ndriven > 0:
            hold_motions(m, F, k, signals, load)
        out = blocks.target(udot, block.out)
        own = solve(m, k, load.total, load.wrench, w, out)
        for n in range(F.nf if F.ndriven > 0 else 0):
            if F.kind[n] == MOTION:
                put(out, F.dof[n], get(signals, 3 + 3 * F.signal[3 * n]))
        loss = max(loss, compare.lane_most(own), compare.lane_most(hidden_loss(k, velocities, out)))
        blocks.scatter(out, s, udot)
        total += (
            blocks.checksum(out) + blocks.checksum(coordinates) + blocks.checksum(velocities) + blocks.unit_check(k)
        )
    return total + loss


@entry
def torques(memory, q, u, motion, time, tau, start, stop):
    """As newton_euler.torques, less the forces of the model at ``time``. Returns 0 if all is well."""
    m, end = packing.unpack(memory)
    F, end = packing.unpack_forces(memory, end)
    if blocks.mismatch(m, q, u, motion, tau):
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = kinematics.take_kinematics(m, buffer)
    f, n = take(buffer, n, 6 * m.nb)
    x, n = take(buffer, n, 6 * m.nb)
    load, n = take_load(m, F, buffer, n, motion.shape[-1] - m.nu)
    block, n = blocks.take_block(m, buffer, n, motion)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities = blocks.gather(q, s, block.q), blocks.gather(u, s, block.u)
        kinematics.place_and_move(m, coordinates, velocities, k)
        udot, wrench = blocks.split_wrench(m, blocks.gather(motion, s, block.x))
        for j in range(m.nu):
            put(load.total, j, 0.0)
        apply_load(m, F, k, coordinates, velocities, wrench, signals_of(F, time, s, load.signals), load)
        out = blocks.target(tau, block.out)
        balance(m, k, False, udot, load.wrench, f, x, out)
        for j in range(m.nu):
            put(out, j, get(out, j) - get(load.total, j))
        blocks.scatter(out, s, tau)
        total += (
            blocks.checksum(out) + blocks.checksum(coordinates) + blocks.checksum(velocities) + blocks.unit_check(k)
        )
    return total
