"""A run under its own certificates: evaluations that lost more digits than plain calls allow are certified."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dynamics.accuracy.fast_motion import BEYOND
from ...dynamics.accuracy.trust import RISE, loss_limit, promised
from ...dynamics.auto.choose import choose
from ...dynamics.functions import errors_of
from ...dynamics.inputs import body_of
from ...dynamics.registry import ALGORITHMS
from ...dynamics.stepping.samples import LOSS, TIME
from ...dynamics.stepping.stabilization import PROJECTION
from ...errors import SimulationError, warn
from ...result.spans import sampled
from ..quasi_static import quasi_static_rows
from .output_samples import samples_of
from .task import Task


class Accuracy:
    """Looks at the samples of rows as they come, and certifies those that lost too many digits."""

    def __init__(self, task: Task, tau: Any) -> None:
        self.task, self.tau, self.seen, self.warned = task, tau, 1, False
        self.lost_at: int | None = None  # the row whose interval has an evaluation that is lost
        self.name = choose(task.system, task.algorithm)
        by = ALGORITHMS[self.name]
        self.usual = by.run_limit or loss_limit(task.system, self.name)
        known = not by.certifies_runs or ("certified run", self.name) in task.system.workspaces.found
        self.limit = self.usual if known else 0.0

    def look(self, run: Any) -> None:
        """At rows up to that of the run, with the constraints that held there.

        Raises
        ------
        SimulationError
            if accelerations were lost to rounding, or constraints contradict each other.
        """
        task, rows = self.task, slice(self.seen, run.row)
        self.seen = max(self.seen, run.row)
        if not task.samples[rows, LOSS].max(initial=0.0) > self.limit or quasi_static_rows(task.system).size:
            return
        samples, fixed = samples_of(task, self.tau, rows), "step" in run.attrs()
        most = np.inf if task.stabilization == PROJECTION else BEYOND  # open loops look contradictory
        for row, p, udot in sampled(task.system, samples, getattr(run, "changes", ()), fixed, self.limit):
            loss, t = samples.rows[row, [LOSS, TIME]]
            if self.limit < loss < most:
                self._certify(p, udot, float(loss), float(t), rows.start + row)

    def _certify(self, p: Any, udot: np.ndarray, loss: float, t: float, row: int) -> None:
        system, task = p.system, self.task
        try:
            errors = errors_of(p, udot, self.name)
        except SimulationError as lost:
            self.lost_at = row
            raise SimulationError(
                f"the run of '{system.name}' ends at t = {t:.6g} s: {lost.what}",
                expected=lost.expected,
                got=lost.got,
                where=lost.where,
                hint=lost.hint,
            ) from lost
        j = int(np.argmax(errors)) if errors.size else 0
        worst = float(errors.max(initial=0.0))
        fine = worst < promised(system)
        if loss < BEYOND:
            self.limit = max(self.usual, RISE * loss if fine else loss)
        if fine:
            task.system.workspaces.found["certified run", self.name] = True
        if task.samples[0, LOSS] > 0.0:  # a large system
            task.samples[0, LOSS] = max(self.limit, task.samples[0, LOSS])
        if worst > max(task.rtol, promised(system) if system.flexible else 0.0) and not self.warned:
            reported = (
                f"accelerations of '{system.name}' by '{self.name}' are exact to {worst:.1e} only at t = {t:.6g} s"
            )
            where = system.mechanical(body_of(system, "u", j))
            hint = f"worse than rtol = {task.rtol:g}; run['residual'] has the bound of each output interval"
            self.warned = True
            warn(f"{reported}, {where}: {hint}")
