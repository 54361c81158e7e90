"""Reduction of one state under the forces of its model, in one pass over its kinematics.

The algorithm is that of passes.py. Springs, dampers, motors and functions of time are evaluated on the Kinematics that
they share, as in tree/loaded.py; a model without forces compiles none of this.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algebra.compare import lane_most
from ...compiler.lanes import entry, get, put, scratch
from ...kernels.blocks import checksum, make_memory, mismatch, split_wrench, unit_check
from ...kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ...kernels.signals import evaluate_signals
from ...kernels.unpack import unpack, unpack_constraints, unpack_forces
from ...system.system import System
from ..accuracy.fast_motion import hidden_loss
from ..constraints.live_rows import live_rows
from ..dispatch import of_copies, prepare
from ..inputs import time_of
from ..tree.loaded import apply_load, take_load
from . import passes
from .program import pack_plan, unpack_plan


@entry
def sweep_loaded(memory, q, u, forces, time, udot, start, stop):
    """udot of one state under tau and the forces of the model at ``time``; prescribed motions are not among them.

    Returns the loss by fast motion, 0 if all is well, else not a number; so it is where the plan does not serve.
    """
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    plan, end = unpack_plan(memory, end)
    if mismatch(m, q, u, forces, udot):
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    load, n = take_load(m, F, buffer, n, forces.shape[-1] - m.nu)
    own = passes.take_reduced(m, F, E, buffer, n)
    place_and_move(m, q, u, k)
    tau, wrench = split_wrench(m, forces)
    evaluate_signals(F, time[0], load.signals)
    for j in range(m.nu):
        put(load.total, j, get(tau, j))
    apply_load(m, F, k, q, u, wrench, load.signals, load)
    well = passes.solve(m, F, E, k, plan, load.signals, q, u, load.total, load.wrench, own, udot)
    loss = lane_most(hidden_loss(k, u, udot))
    return checksum(udot) + unit_check(k) + loss if well > passes.POOR else np.nan


def workspace(system: System, plan: Any) -> np.ndarray:
    """Memory for a plan."""
    rows = kinematics_rows(system) + passes.work_rows(system, plan)
    rows += system.nu + 12 * system.nb + 25 + 3 * system.forces.signals
    return make_memory(system, rows, 1, system.forces.packed, live_rows(system).packed, pack_plan(plan))


def quick(system: System, waiting: list[Any], q: Any, u: Any, tau: Any, t: Any) -> np.ndarray | None:
    """u' of one state under tau and the forces of the model at a time; None if anything asks for a closer look."""
    try:
        plan = waiting[-1].plan if waiting[-1].plan is waiting[-1].trusted else None
    except LookupError:  # others use it
        return None
    if plan is None:
        return None
    own: list[Any] = system.workspaces.ready.setdefault(sweep_loaded, [])
    try:
        made_for, memory = own.pop()
    except LookupError:
        made_for, memory = None, None
    if made_for is not plan:
        prepare(sweep_loaded, 4, 1)
        memory = workspace(system, plan)
    udot = np.empty(system.nu)
    try:
        total = sweep_loaded(memory, q, u, tau, time_of(t), udot, 0, 1)
    except (TypeError, ValueError):  # not contiguous doubles
        total = of_copies(sweep_loaded, memory, (q, u, tau, time_of(t)), udot)
    own.append((plan, memory))
    return udot if total == 0.0 else None
