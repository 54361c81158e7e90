"""SciPy's methods around forward_dynamics, by name: for comparison with the compiled ones.

Paper    [virtanen2020] SciPy 1.0: RK45, DOP853, Radau and LSODA of scipy.integrate.
Symbols  y = (q, u).
Differs  the solvers that solve_ivp drives are driven here directly, so that a run can be watched and what
         it has computed kept. Quaternions are made unit in the outputs; the solvers do not know of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics.functions import forward_dynamics
from ..errors import SimulationError
from .motion import coordinate_rates
from .task import Failure, Task

ADAPTIVE = True
NAMES = ("scipy-RK45", "scipy-DOP853", "scipy-Radau", "scipy-LSODA")


class Run:
    """A solver under way."""

    def __init__(self, task: Task) -> None:
        import scipy.integrate

        self.task, self.row, self.time = task, 1, 0.0
        self.accepted, self.blamed = 0, task.system.nq
        self.evaluations = 0
        method = getattr(scipy.integrate, task.integrator.removeprefix("scipy-"))
        y = np.concatenate([task.Q[0], task.U[0]])
        self.make = lambda: method(self._rates, 0.0, y, task.t[-1], rtol=task.rtol, atol=task.atol, max_step=task.step)
        self.solver: Any = None

    def _rates(self, t: float, y: np.ndarray) -> np.ndarray:
        task, nq = self.task, self.task.system.nq
        self.evaluations += 1
        if not np.isfinite(y).all():
            self.blamed = int(np.argmin(np.isfinite(y)))
            return np.full_like(y, np.nan)
        udot = forward_dynamics(task.system, y[:nq], y[nq:], task.tau, algorithm=task.algorithm)
        return np.concatenate([coordinate_rates(task.system, y[:nq], y[nq:]), udot])

    def proceed(self, steps: int) -> Failure | None:
        task, nq = self.task, self.task.system.nq
        hint = f"integrator='dopri5' says more; '{task.integrator}' is for comparison"
        try:
            self.solver = self.solver or self.make()
            for _ in range(steps):
                if self.row == task.t.size:
                    break
                message = self.solver.step()
                if self.solver.status == "failed":
                    return Failure(f"failed: {message}", self.time, self.blamed, hint)
                self.accepted, self.time = self.accepted + 1, float(self.solver.t)
                reached = int(np.searchsorted(task.t, self.time, side="right"))
                if reached > self.row:
                    y = self.solver.dense_output()(task.t[self.row : reached]).T
                    task.Q[self.row : reached], task.U[self.row : reached] = y[:, :nq], y[:, nq:]
                    self._project(slice(self.row, reached))
                    self.row = reached
        except (SimulationError, ValueError, np.linalg.LinAlgError) as e:
            what = e.what if isinstance(e, SimulationError) else str(e)
            return Failure(f"failed: {what}", self.time, self.blamed, hint)
        return None

    def _project(self, rows: slice) -> None:
        system = self.task.system
        for edge in system.topology.edges:
            if edge.joint.kind in ("spherical", "free"):
                x = self.task.Q[rows, system.q_index(edge.joint.name)][:, -4:]
                x /= np.linalg.norm(x, axis=1, keepdims=True)

    def attrs(self) -> dict[str, Any]:
        task = self.task
        counts = {"accepted": self.accepted, "evaluations": self.evaluations}
        return {"rtol": task.rtol, "atol": task.atol} | counts


def begin(task: Task) -> Run:
    return Run(task)
