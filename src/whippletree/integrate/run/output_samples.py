"""The rows of a run that have been filled, the forces given there, and the accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dynamics.functions import forward_dynamics
from ...dynamics.registry import AUTO
from ...result.records import Change
from ...result.spans import Samples, parts, samples_beyond
from ...system.callbacks import call_tau
from ..quasi_static import quasi_static_rows, settle
from .task import Task


def rows_of(task: Task, run: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """t, Q, U and W as far as the run has come; where an event has stopped it, that moment is the last row."""
    stopped, nq = getattr(run, "stopped", None), task.system.nq
    if not stopped:
        n = run.row
        return task.t[:n].copy(), task.Q[:n].copy(), task.U[:n].copy(), task.W[:n].copy()
    _, t, y = stopped
    n = int(np.searchsorted(task.t, t, side="left"))
    ends = (task.t, t), (task.Q, y[:nq]), (task.U, y[nq:-1]), (task.W, y[-1])
    t_, Q, U, W = (np.concatenate([rows[:n], np.asarray(last)[None]]) for rows, last in ends)
    return t_, Q, U, W


def accelerations_of(
    task: Task, tau: Any, t: np.ndarray, Q: np.ndarray, U: np.ndarray, changes: Sequence[Change] = ()
) -> np.ndarray | None:
    """u' of rows under the forces given; None if the model alone tells them."""
    if tau is None and not task.system.forces.callbacks and not quasi_static_rows(task.system).size:
        return None
    force, name = forces_of(task, tau, t, Q, U), AUTO if changes else task.algorithm
    spans = [(n, s) for n, s in parts(task.system, t, tuple(changes)) if n.stop > n.start]
    return np.concatenate([forward_dynamics(s, Q[n], U[n], force[n], t=t[n], algorithm=name) for n, s in spans])


def samples_of(task: Task, tau: Any, rows: slice) -> Samples:
    """Samples of rows (evaluations.py), with the joint forces given there."""
    found = task.samples[rows]
    if not callable(tau):
        return Samples(found, task.tau)
    kept, force = samples_beyond(found, 0.0), np.zeros((len(found), task.system.nu))
    _, t, Q, U, _ = np.split(found[kept], np.cumsum([1, 1, task.system.nq, task.system.nu]), axis=1)
    force[kept] = forces_of(task, tau, t[:, 0], Q, U)
    return Samples(found, force)


def settle_start(task: Task, tau: Any) -> None:
    """Quasi-static modes begin where their loads hold them."""
    q, u = task.y[: task.system.nq], task.y[task.system.nq : -1]
    settle_rows(task, tau, task.t[:1], q[None], u[None])
    task.Q[0], task.U[0] = q, u


def settle_rows(task: Task, tau: Any, t: np.ndarray, Q: np.ndarray, U: np.ndarray) -> None:
    """Quasi-static modes, in rows, go to where their loads hold them."""
    settle(task.system, t, Q, U, lambda: forces_of(task, tau, t, Q, U), task.algorithm)


def forces_of(task: Task, tau: Any, t: np.ndarray, Q: np.ndarray, U: np.ndarray) -> np.ndarray:
    """Joint forces given, of rows."""
    force = np.tile(task.tau, (t.size, 1))
    if callable(tau):
        for at, q, u, row in zip(t, Q, U, force, strict=True):
            call_tau(tau, float(at), q, u, row)
    return force
