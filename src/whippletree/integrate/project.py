"""Back onto the constraints: after a step q and u go to the nearest state, in the metric of M, that they allow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler.function_pointers import call_solver
from ..compiler.lanes import entry, inline, view
from ..dynamics.constraints.jacobian import rows_of
from ..dynamics.constraints.live_rows import live_rows
from ..dynamics.loads.applied import signals
from ..dynamics.registry import projecting, with_corrections
from ..dynamics.stepping.calls import closing_code
from ..dynamics.stepping.mechanism import make_mechanism, mechanism_memory, open_scratch
from ..dynamics.stepping.stepper import Stepper
from ..system.system import System

MOST_ROWS = 64  # dense factors, of the cube of the rows, take longer for more than a plan of O(n + m)
WELL = 1e-10  # violation that a plan may leave: near singular poses it may leave more, dense factors do not


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
    return mechanism_memory(system, _stepper(system), 0)


def _stepper(system: System) -> Any:
    """Of the algorithm that projects any state."""
    by: Any = projecting()
    return by.stepper(system, by.name)


def project_all(system: System, memory: np.ndarray, t: np.ndarray, Y: np.ndarray) -> None:
    """States y = (q, u, ...), rows of Y, onto the constraints at their times, in place."""
    if system.constraints.count:
        all_onto(memory, (0, 0, closing_code(_stepper(system))), t, Y, np.zeros(system.nu))


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
    by = with_corrections(system) if live_rows(system).count > MOST_ROWS else None
    if by and by.stepper and (stepper := by.stepper(system, by.name)).plan_at:
        y = np.concatenate([q, u])
        left = _onto(system, stepper, stepper.plan_at(system, q, signals(system, t)), t, y)
        if left < WELL:
            q[:], u[:] = y[: system.nq], y[system.nq :]
            return left
    y = np.concatenate([q, u])
    left = _onto(system, _stepper(system), None, t, y)
    q[:], u[:] = y[: system.nq], y[system.nq :]
    return left


def _onto(system: System, stepper: Stepper, plan: Any, t: float, y: np.ndarray) -> float:
    memory = mechanism_memory(system, stepper, 0, plan=plan)
    return float(onto(memory, (0, 0, closing_code(stepper)), float(t), y, np.zeros(system.nu)))
