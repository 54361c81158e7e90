"""What simulate hands to an integrator, and what it hears when a run fails.

An integrator is a module with two names. ``ADAPTIVE`` says whether it chooses its steps by the
tolerances. ``begin(task)`` gives a run with

- ``proceed(steps)``: at most so many steps further, into the rows of ``task.Q`` and ``task.U``; returns
  None, or the Failure that ended it. Where the calls are cut does not change a bit of the motion;
- ``row``: how many rows are filled; ``time``: how far it has come (s);
- ``attrs()``: step or tolerances and counts, for the Result.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..system.system import System


class Task(NamedTuple):
    system: System
    algorithm: str
    integrator: str
    tau: np.ndarray  # (nu)      constant joint force
    t: np.ndarray  # (T)         output times (s), evenly spaced from 0 on
    Q: np.ndarray  # (T, nq)     row 0 is the start, the others are to be filled
    U: np.ndarray  # (T, nu)
    rtol: float
    atol: float
    step: float  # the step of a fixed-step method, the largest step of an adaptive one (s)


class Failure(NamedTuple):
    what: str  # goes on from "at t = ... s "
    time: float
    component: int  # of y = (q, u): who is to blame
    hint: str
