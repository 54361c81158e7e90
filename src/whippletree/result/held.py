"""Forces that held the constraints of a run, at all its times."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from ..dynamics.constraints.forces import Held, multipliers_of
from ..errors import ModelError
from .columns import shaped

if TYPE_CHECKING:
    from ..system.system import System
    from .result import Result

MISFIT = 1e-6  # of the largest force, that no constraint explains: accelerations are known to some 1e-10


def held_of(run: Result, system: System, rows: slice) -> Held:
    """From the accelerations; the joint forces that the run was given must be known for that."""
    q, u, udot, t = (x[rows] for x in (run.q, run.u, run.udot, run.t))
    given = json.loads(run.attrs.get("settings", "{}")).get("tau")  # where it is constant; a function is not kept
    tau = np.zeros(system.nu) if given is None else shaped(given, (system.nu,), "tau", system)
    held = multipliers_of(system, q, u, udot, tau, t=t)
    if run.given_udot is not None and system.constraints.count and held.misfit.max(initial=0.0) > MISFIT:
        raise ModelError(
            f"result of '{run.system.name}' does not know the joint forces that were given to the run",
            hint="wt.reactions(system, q, u, tau) takes them",
        )
    return held
