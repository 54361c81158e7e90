"""Deformations of flexible bodies past what their modes are good for: said once for a run, when it comes there."""

from __future__ import annotations

import numpy as np

from ...errors import warn
from .task import Task

SMALL = 0.01  # strain up to which stiffness and shapes are linear enough: metals yield before
STEEP = 0.3  # rad, by which a node is rotated: a slender beam deflects by 5 % too much there, its strain being small


class StrainWatch:
    """Looks at the rows of a run as they come."""

    def __init__(self, task: Task) -> None:
        self.task, self.seen, self.reported = task, 0, not task.system.flexible

    def look(self, rows: int) -> None:
        """At rows up to this one: names the first body whose strain passes the limit, when, and the strain there."""
        if self.reported or rows <= self.seen:
            return
        system, new = self.task.system, slice(self.seen, rows)
        past: list[tuple[float, str, str]] = []
        for name, flexible in system.model.flexibles.items():
            eta, modes = self.task.Q[new, system.q_index(name)], flexible.modes
            for much, limit, what in (
                (modes.largest_strain(eta), SMALL, "strained by {0:.3g}"),
                (modes.largest_rotation(eta), STEEP, "bent or twisted by {0:.3g} rad"),
            ):
                if (much > limit).any():
                    n = int(np.argmax(much > limit))
                    past.append((float(self.task.t[new][n]), name, f"{what.format(much[n])} %s by more than {limit:g}"))
        self.seen = rows
        if past:
            t, name, reported = min(past)
            self.reported = True
            warn(
                f"flexible body '{name}' is {reported % f'at t = {t:.6g} s,'}: its modes are linear, and hold for "
                "small strain and rotation"
            )
