"""SciPy's methods around the same right-hand side, by name: for comparison with the compiled ones.

Paper    [virtanen2020] SciPy 1.0: RK45, DOP853, Radau and LSODA of scipy.integrate.
Symbols  y = (q, u, work).
Differs  the solvers that solve_ivp drives are driven here directly, so that a run can be watched and what
         it has computed kept. Quaternions are made unit in the outputs; the solvers do not know of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..run.task import Task
from .library_run import Rates, Run

ADAPTIVE = True
RESUMES = False
NAMES = ("scipy-RK45", "scipy-DOP853", "scipy-Radau", "scipy-LSODA")


class Solver:
    def __init__(self, task: Task, rates: Rates, t: float, y: np.ndarray, until: float) -> None:
        import scipy.integrate

        method = getattr(scipy.integrate, task.integrator.removeprefix("scipy-"))
        self.inner = method(rates, t, y, until, rtol=task.rtol, atol=task.atol, max_step=task.step)

    @property
    def time(self) -> float:
        return float(self.inner.t)

    def step(self) -> str | None:
        message = self.inner.step()
        return message if self.inner.status == "failed" else None

    def look(self, t: float) -> np.ndarray:
        return self.inner.dense_output()(t)


def begin(task: Task) -> Run:
    return Run(task, partial(Solver, task))
