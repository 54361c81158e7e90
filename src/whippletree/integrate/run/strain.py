"""Deformations of flexible bodies past what their modes are good for: said once for a run, when it comes there."""

from __future__ import annotations

import numpy as np

from ...errors import warn
from .task import Task

SMALL = 0.01  # strain up to which stiffness and shapes are linear enough: metals yield before


class StrainWatch:
    """Looks at the rows of a run as they come."""

    def __init__(self, task: Task) -> None:
        self.task, self.seen, self.reported = task, 0, not task.system.flexible

    def look(self, rows: int) -> None:
        """At rows up to this one: names the first body whose strain passes the limit, when, and the strain there."""
        if self.reported or rows <= self.seen:
            return
        system, new = self.task.system, slice(self.seen, rows)
        past: list[tuple[float, str, float]] = []
        for name, flexible in system.model.flexibles.items():
            strain = flexible.modes.largest_strain(self.task.Q[new, system.q_index(name)])
            if (strain > SMALL).any():
                n = int(np.argmax(strain > SMALL))
                past.append((float(self.task.t[new][n]), name, float(strain[n])))
        self.seen = rows
        if past:
            t, name, much = min(past)
            self.reported = True
            warn(
                f"flexible body '{name}' is strained by {much:.3g} at t = {t:.6g} s, by more than {SMALL:g}: its modes "
                "are linear, and hold for small strain"
            )
