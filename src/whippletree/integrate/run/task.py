"""What simulate hands to an integrator, and what it hears when a run fails.

An integrator is a module with two names. ``ADAPTIVE`` says whether it chooses its steps by the
tolerances. ``begin(task)`` gives a run with

- ``proceed(steps)``: at most so many steps further, into the rows of ``task.Q``, ``task.U`` and ``task.W``; returns
  None, or the Failure that ended it. Where the calls are cut does not change a bit of the motion;
- ``row``: how many rows are filled; ``time``: how far it has come (s);
- ``at(t)``: y = (q, u, work) at a time within the last step, from ``since`` (s) on; ``interpolates``: whether that is
  cheap, and a step long enough to look at several times;
- ``restart(t, y, row)``: goes on from another y, as an event wants it, with this row next;
- ``state``: an array of all there is to know about how far it has come: a new run with a copy of it goes on with
  the same bits. None where a library keeps its own;
- ``attrs()``: step or tolerances and counts, for the Result.

A module whose runs have no ``state`` says ``RESUMES = False``, one that cannot keep loops closed ``LOOPS = False``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...dynamics.accuracy.trust import loss_limit
from ...dynamics.stepping.samples import LOSS, TIME, sample_rows
from ...dynamics.stepping.stabilization import PROJECTION, Stabilization
from ...errors import SimulationError, warnings_so_far
from ...system.system import System

SMALL = 400  # degrees of freedom: samples of more are kept beyond the limit only, lest they double a run's memory


class Task(NamedTuple):
    system: System
    algorithm: str
    integrator: str
    tau: np.ndarray  # (nu)      constant joint force
    call: int  # address of a function that gives joint forces instead, or 0
    start: float  # where the motion begins (s)
    y: np.ndarray  # (nq + nu + 1)  q, u and work (J) there
    first: int  # the row that is filled first
    t: np.ndarray  # (T)         times of the rows (s), evenly spaced from 0 on; the last interval may be shorter
    Q: np.ndarray  # (T, nq)     rows before the first are filled
    U: np.ndarray  # (T, nu)
    W: np.ndarray  # (T)         work of all forces that store no energy, since t = 0 (J)
    rtol: float
    atol: float
    samples: np.ndarray  # (T, 2 + nq + 2 nu)  of each row the evaluation that lost most digits: evaluations.py
    step: float  # the step of a fixed-step method, the largest step of an adaptive one (s)
    stabilization: Stabilization
    warnings: list[str]  # of the run so far: errors.warn


def make_task(
    system: System, algorithm: str, integrator: str, t: np.ndarray, q: np.ndarray, u: np.ndarray, **more: Any
) -> Task:
    """A Task that starts at the first time from q and u; ``more``: tau, call, rtol, atol, step and stabilization."""
    Q, U, W = np.empty((t.size, system.nq)), np.empty((t.size, system.nu)), np.empty(t.size)
    Q[0], U[0], W[0] = q, u, 0.0
    options: dict[str, Any] = {"tau": np.zeros(system.nu), "call": 0, "rtol": 1e-8, "atol": 1e-10}
    options |= {"stabilization": PROJECTION, "warnings": warnings_so_far()} | more
    y = np.concatenate([q, u, [0.0]])
    options["samples"] = no_samples(system, algorithm, t.size)
    return Task(system, algorithm, integrator, start=float(t[0]), y=y, first=1, t=t, Q=Q, U=U, W=W, **options)


def no_samples(system: System, algorithm: str, rows: int) -> np.ndarray:
    """Room for those of so many rows."""
    found = np.zeros((rows, sample_rows(system)))
    found[0, TIME] = np.nan  # no sample
    if system.nu > SMALL:
        found[0, LOSS] = loss_limit(system, algorithm)
    return found


class Failure(NamedTuple):
    what: str  # goes on from "at t = ... s "
    time: float
    component: int  # of y = (q, u, work): who is to blame
    hint: str
    error: SimulationError | None = None  # says more, where it is known
