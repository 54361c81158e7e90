"""CVODE of SUNDIALS around the same right-hand side, by scikit-sundae: for comparison on stiff systems.

Paper    [hindmarsh2005] SUNDIALS: its solver CVODE with backward differentiation formulas of order 1 to 5.
Symbols  y = (q, u, work).
Differs  it is driven step by step, so that a run can be watched and what it has computed kept. Quaternions are made
         unit in the outputs; the solver does not know of them.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...errors import MissingExtra
from ..run.task import Task
from .library_run import Rates, Run

ADAPTIVE = True
RESUMES = False


class Solver:
    def __init__(self, task: Task, rates: Rates, t: float, y: np.ndarray, until: float) -> None:
        import sksundae

        def write_rates(t: float, y: np.ndarray, out: np.ndarray) -> None:
            out[:] = rates(t, y)

        self.time, self.until = t, until
        options = {"rtol": task.rtol, "atol": task.atol, "max_step": task.step}
        self.inner = sksundae.cvode.CVODE(write_rates, method="BDF", **options)
        self.inner.init_step(t, y)

    def step(self) -> str | None:
        """One step; after a look, CVODE first returns to the end of the last one."""
        before = self.time
        for _ in range(2):
            found = self.inner.step(self.until, "onestep", self.until)
            if not found.success:
                return str(found.message)
            self.time = float(found.t)
            if self.time > before:
                return None
        return "the steps become too small"

    def look(self, t: float) -> np.ndarray:
        """Within the last step, CVODE interpolates."""
        return np.array(self.inner.step(t, "normal", self.until).y)


def begin(task: Task) -> Run:
    try:
        import sksundae  # noqa: F401
    except ImportError:
        raise MissingExtra("scikit-sundae", "sundae", "integrator 'cvode'") from None
    return Run(task, partial(Solver, task))
