"""A run by the solver of a library around single evaluations, watched and kept like the compiled ones.

A solver has ``time`` (s), ``step()``, which takes one step and returns None or what went wrong, and ``look(t)``: y at
a time within the last step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...dynamics.loads.applied import prescribed_motion
from ...dynamics.stepping.closing import LOST
from ...dynamics.stepping.mechanism import derivative
from ...dynamics.stepping.stabilization import PROJECTION
from ...joints import QUATERNIONS
from ..project import violation_left
from ..run.contradiction import contradiction_beyond
from ..run.plans import Plans
from ..run.rank_watch import RankWatch
from ..run.task import Failure, Task

HALVINGS = 30  # of a step, to find the moment at which constraints are violated

Rates = Callable[[float, np.ndarray], np.ndarray]


class Run:
    """A solver under way; ``make(rates, t, y, until)`` starts one, which may take no step beyond ``until``: the end, or
    where a function of time begins another piece."""

    state = None  # the library keeps its own
    interpolates = True

    def __init__(self, task: Task, make: Callable[[Rates, float, np.ndarray, float], Any]) -> None:
        self.task, self.make = task, make
        self.accepted, self.blamed = 0, task.system.nq
        self.evaluations = 0
        self.served, self.left = True, 0.0  # the plan serves; violation of constraints at the last look
        self.plans = Plans(task, 0)
        why = f"'{task.integrator}' may go on along another branch; 'dopri5', 'dop853' and 'rk4' follow theirs"
        self.ranks = RankWatch(task, why)
        self.tail = np.zeros(self.plans.width)
        self.restart(task.start, task.y, task.first)

    def restart(self, t: float, y: np.ndarray, row: int) -> None:
        """Go on from y at t, with this row next."""
        self.time = self.since = t
        self.row, self.begin = row, y.copy()
        self.solver: Any = None
        self.until = t
        self.ranks.restart(t, y)
        self.plans.begin(self.tail, t, y[: self.task.system.nq])

    def rates(self, t: float, y: np.ndarray) -> np.ndarray:
        task, out = self.task, np.zeros(y.size)
        self.evaluations += 1
        # a copy of y, where prescribed motions may be written
        memory = self.plans.memory(self.tail)
        with self.plans.at_work():
            self.served = derivative(memory, task.tau, task.call, self.plans.code, float(t), np.array(y), out)
        if not np.isfinite(out).all():
            self.blamed = int(np.argmin(np.isfinite(out)))
            raise FloatingPointError("the accelerations are not finite")  # some libraries would go on
        return out

    def proceed(self, steps: int) -> Failure | None:
        task = self.task
        hint = f"integrator='dopri5' says more; '{task.integrator}' is for comparison"
        try:
            for _ in range(steps):
                if self.row == task.t.size:
                    break
                if self.solver is None or self.time >= self.until:
                    self.begin = self.at(self.time)
                    marks = task.system.forces.marks
                    self.until = min([float(task.t[-1]), *marks[marks > self.time]])
                    self.solver = self.make(self.rates, self.time, self.begin, self.until)
                wrong = self.solver.step()
                if wrong:
                    named = contradiction_beyond(task, self.time, self.at(self.time), surely=False)
                    return Failure(f"failed: {wrong}", self.time, self.blamed, hint, named)
                self.accepted, self.since, self.time = self.accepted + 1, self.time, self.solver.time
                if self.ranks.active:
                    self.ranks.look(self.time, self.at(self.time))
                if task.system.constraints.count and self._violated(self.time):
                    good, bad = self._first_violation()
                    self._write_rows(int(np.searchsorted(task.t, good, side="right")))
                    named = contradiction_beyond(task, bad, self.at(good), surely=True)
                    return Failure("leaves its constraints", bad, 0, hint, named)
                if not self.served:
                    self.plans.renew(self.tail, self.time, self.at(self.time)[: task.system.nq])
                self._write_rows(int(np.searchsorted(task.t, self.time, side="right")))
        except (ValueError, FloatingPointError, np.linalg.LinAlgError) as e:
            return Failure(f"failed: {e}", self.time, self.blamed, hint)
        return None

    def _violated(self, t: float) -> bool:
        """Whether constraints cannot be met at a time within the last step."""
        self.at(t)
        return self.left > LOST

    def _first_violation(self) -> tuple[float, float]:
        """The last time within the last step at which constraints are met, and the first at which they are not."""
        good, bad = self.since, self.time
        for _ in range(HALVINGS):
            middle = 0.5 * (good + bad)
            good, bad = (good, middle) if self._violated(middle) else (middle, bad)
        return good, bad

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
        system, y = self.task.system, self.solver.look(t)
        for edge in system.topology.edges:
            if edge.joint.kind in QUATERNIONS:
                last = system.q_index(edge.joint.name).stop
                y[last - 4 : last] /= np.linalg.norm(y[last - 4 : last])
        prescribed_motion(system, t, y, y[system.nq :])
        if self.task.stabilization == PROJECTION:
            self.left = violation_left(system, y[: system.nq], y[system.nq : -1], t)
        return y

    def attrs(self) -> dict[str, Any]:
        task = self.task
        counts = {"accepted": self.accepted, "evaluations": self.evaluations}
        return {"rtol": task.rtol, "atol": task.atol} | counts | self.plans.attrs()
