"""Back onto the constraints: after a step q and u go to the nearest state, in the metric of M, that they allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler.function_pointers import address_of, call_solver
from ..compiler.lanes import entry, inline, view
from ..dynamics.constraints.jacobian import rows_of
from ..dynamics.constraints.live_rows import live_rows
from ..dynamics.loads.applied import signals
from ..dynamics.reduction import passes as reduction
from ..dynamics.reduction.passes import plan_at
from ..system.system import System
from .accelerate import make_mechanism, mechanism_memory, open_scratch
from .closed import closed, closed_reduced

MOST_ROWS = 64  # the factors of multipliers, of the cube of the rows, take longer for more than a plan of reduction
WELL = 1e-10  # violation that reduction may leave: where a pose is nearly singular its plan may, multipliers do not


@inline
def close(x, t, q, u):
    """q and u onto the constraints, where an algorithm solves them and the run is not stabilized otherwise"""
    return call_solver(x.algorithm[2], x.memory, x.buffer, t, q, u, u) if x.algorithm[2] != 0 else 0.0


@entry
def onto(memory, algorithm, t, y, none):
    """y = (q, u, ...) of one state onto the constraints, in place; returns the violation that is left"""
    m, buffer = open_scratch(memory, y)
    x = make_mechanism(memory, buffer, 0, none, 0, algorithm)
    return close(x, t, view(y, 0, m.nq), view(y, m.nq, m.nu))


@entry
def all_onto(memory, algorithm, t, Y, none):
    """The same of many states, rows of Y, each at its time"""
    for k in range(t.shape[0]):
        y = Y[k]
        m, buffer = open_scratch(memory, y)
        x = make_mechanism(memory, buffer, 0, none, 0, algorithm)
        close(x, t[k], view(y, 0, m.nq), view(y, m.nq, m.nu))


def onto_memory(system: System) -> np.ndarray:
    """Memory for :func:`project_all`."""
    return mechanism_memory(system, "multipliers", 0)


def project_all(system: System, memory: np.ndarray, t: np.ndarray, Y: np.ndarray) -> None:
    """States y = (q, u, ...), rows of Y, onto the constraints at their times, in place."""
    if system.constraints.count:
        all_onto(memory, (0, 0, address_of(closed)), t, Y, np.zeros(system.nu))


def project(system: System, q: np.ndarray, u: np.ndarray, t: float = 0.0) -> float:
    """q and u of one state onto the constraints at time t, in place; returns the gap that is left (m or rad)."""
    left = violation_left(system, q, u, t)
    if system.constraints.of_poses.all():
        return left * min(1.0, system.constraints.size)
    g = rows_of(system, q, u, t, matrix=False).g[system.constraints.of_poses]
    return float(np.abs(g).max(initial=0.0))


def violation_left(system: System, q: np.ndarray, u: np.ndarray, t: float) -> float:
    """The same; returns the violation that is left, against the size of the mechanism or its velocities."""
    if not system.constraints.count:
        return 0.0
    if live_rows(system).count > MOST_ROWS and system.features <= reduction.SUPPORTS:
        y = np.concatenate([q, u])
        plan = plan_at(system, q, signals(system, t))
        left = _onto(mechanism_memory(system, "reduction", 0, plan=plan), closed_reduced, t, y)
        if left < WELL:
            q[:], u[:] = y[: system.nq], y[system.nq :]
            return left
    y = np.concatenate([q, u])
    left = _onto(mechanism_memory(system, "multipliers", 0), closed, t, y)
    q[:], u[:] = y[: system.nq], y[system.nq :]
    return left


def _onto(memory: np.ndarray, closer: Any, t: float, y: np.ndarray) -> float:
    return float(onto(memory, (0, 0, address_of(closer)), float(t), y, np.zeros(y.size)))
