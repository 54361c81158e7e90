"""How an algorithm steps inside a run: what the compiled loop calls, and the memory that this takes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np


def _nothing(memory: np.ndarray) -> None:
    pass


@dataclass(frozen=True)
class Stepper:
    """Made for one System.

    Attributes
    ----------
    solver : a function that is compiled and called by its address, ``solver(memory, size, buffer, room, t, q, nq, u,
        nu, udot)``, which returns the power of constraints; or the address itself; or the number of a recursion that
        the loop has compiled in (mechanism.py).
    closer : the same for the way back onto the constraints, which returns the violation that is left; None if there is
        nothing to close.
    lanes : both for one state in each lane; None if it steps no lanes.
    work : numbers of the buffer that both take, for a plan.
    plan_at : a plan for a pose ``(system, q, signals)``, for those that need one; a run makes another where it
        no longer serves.
    mark : writes into a new memory what the solver looks for there.
    at_work : a context within which the compiled loop may run.
    lends : whether bodies without mass are lent some, so that the start is solved by another algorithm too.
    kept : what has to live as long as the solver is called.
    """

    solver: Callable[..., float] | int
    closer: Callable[..., float] | None
    work: Callable[[Any], int]
    plan_at: Callable[..., Any] | None = None
    mark: Callable[[np.ndarray], Any] = _nothing
    at_work: Callable[[], AbstractContextManager[Any]] = nullcontext
    lends: bool = False
    kept: Any = None
    lanes: tuple[Callable[..., float] | int, Callable[..., float] | None] | None = None
