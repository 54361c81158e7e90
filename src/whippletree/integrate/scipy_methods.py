"""SciPy's methods around the same right-hand side, by name: for comparison with the compiled ones.

Paper    [virtanen2020] SciPy 1.0: RK45, DOP853, Radau and LSODA of scipy.integrate.
Symbols  y = (q, u, work).
Differs  the solvers that solve_ivp drives are driven here directly, so that a run can be watched and what
         it has computed kept. Quaternions are made unit in the outputs; the solvers do not know of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .accelerate import CODES, derivative, mechanism_memory
from .task import Failure, Task

ADAPTIVE = True
RESUMES = False
NAMES = ("scipy-RK45", "scipy-DOP853", "scipy-Radau", "scipy-LSODA")


class Run:
    """A solver under way."""

    state = None  # SciPy keeps its own
    interpolates = True

    def __init__(self, task: Task) -> None:
        import scipy.integrate

        self.task = task
        self.accepted, self.blamed = 0, task.system.nq
        self.evaluations = 0
        self.memory = mechanism_memory(task.system, task.algorithm, 0)
        method = getattr(scipy.integrate, task.integrator.removeprefix("scipy-"))
        tolerances = {"rtol": task.rtol, "atol": task.atol, "max_step": task.step}
        self.make = lambda t, y: method(self._rates, t, y, task.t[-1], **tolerances)
        self.restart(task.start, task.y, task.first)

    def restart(self, t: float, y: np.ndarray, row: int) -> None:
        """Go on from y at t, with this row next."""
        self.time = self.since = t
        self.row, self.begin = row, y.copy()
        self.solver: Any = None

    def _rates(self, t: float, y: np.ndarray) -> np.ndarray:
        task, out = self.task, np.zeros(y.size)
        self.evaluations += 1
        derivative(self.memory, task.tau, task.call, CODES[task.algorithm], float(t), np.ascontiguousarray(y), out)
        if not np.isfinite(out).all():
            self.blamed = int(np.argmin(np.isfinite(out)))
            raise FloatingPointError("the accelerations are not finite")  # LSODA would go on
        return out

    def proceed(self, steps: int) -> Failure | None:
        task = self.task
        hint = f"integrator='dopri5' says more; '{task.integrator}' is for comparison"
        try:
            self.solver = self.solver or self.make(self.time, self.begin)
            for _ in range(steps):
                if self.row == task.t.size:
                    break
                message = self.solver.step()
                if self.solver.status == "failed":
                    return Failure(f"failed: {message}", self.time, self.blamed, hint)
                self.accepted, self.since, self.time = self.accepted + 1, self.time, float(self.solver.t)
                self._write_rows(int(np.searchsorted(task.t, self.time, side="right")))
        except (ValueError, FloatingPointError, np.linalg.LinAlgError) as e:
            return Failure(f"failed: {e}", self.time, self.blamed, hint)
        return None

    def _write_rows(self, reached: int) -> None:
        task, nq, nu = self.task, self.task.system.nq, self.task.system.nu
        for row in range(self.row, reached):
            y = self.at(task.t[row])
            task.Q[row], task.U[row], task.W[row] = y[:nq], y[nq : nq + nu], y[-1]
        self.row = max(self.row, reached)

    def at(self, t: float) -> np.ndarray:
        """y = (q, u, work) at a time within the last step."""
        if self.solver is None:
            return self.begin.copy()
        system, y = self.task.system, self.solver.dense_output()(t)
        for edge in system.topology.edges:
            if edge.joint.kind in ("spherical", "free"):
                last = system.q_index(edge.joint.name).stop
                y[last - 4 : last] /= np.linalg.norm(y[last - 4 : last])
        return y

    def attrs(self) -> dict[str, Any]:
        task = self.task
        counts = {"accepted": self.accepted, "evaluations": self.evaluations}
        return {"rtol": task.rtol, "atol": task.atol} | counts


def begin(task: Task) -> Run:
    return Run(task)
