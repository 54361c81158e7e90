"""Whether flexible bodies stay within what linear modes can tell."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import ModelWarning
from .task import Task

LIMIT = 0.02  # stiffness and shapes of modes are those of small strains: beyond, they err by some percent


class SmallStrain:
    """Looks at the rows of a run as they are filled, and warns once of each body that strains past the limit."""

    def __init__(self, task: Task) -> None:
        self.task, self.seen = task, 0
        self.bodies = dict(task.system.flexible.bodies) if task.system.flexible else {}

    def look(self, row: int) -> None:
        """At the rows before this one that are new."""
        task, first = self.task, self.seen
        self.seen = row
        for name, body in list(self.bodies.items()):
            strain = np.abs(task.Q[first:row, task.system.q_index(name)]) @ body.modes.strain
            if (strain > LIMIT).any():
                k = int(np.argmax(strain > LIMIT))
                time = task.t[first + k]
                warnings.warn(
                    f"flexible body '{name}' strains by up to {strain[k]:.2g} at t = {time:.4g} s: "
                    f"its modes are those of small strains, to {LIMIT:g}",
                    ModelWarning,
                    stacklevel=5,
                )
                del self.bodies[name]
