"""Events: moments at which an output crosses a value, located within the step where it does.

Method   outputs are looked at SAMPLES times in every step that a method can interpolate; between two looks with a
         change of sign, Brent's method [brent1973] finds the time. Two crossings between two looks are not seen.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ..dynamics.functions import energy
from ..dynamics.inputs import require_finite, require_unit
from ..errors import ModelError
from ..model.check import number, text
from ..result.result import Result
from ..system.system import System
from .task import Failure, Task

SAMPLES = 4  # looks in a step that is interpolated
BATCH = 16  # steps between two evaluations of the outputs
DIRECTIONS = {"both": 0, "rising": 1, "falling": -1}
UNIT = 1e-6  # how far from 1 the length of a quaternion may be that a function returns


@dataclass(frozen=True, slots=True)
class Event:
    """An output that crosses a value, and what then happens.

    Attributes
    ----------
    name : how it is called in the result and in messages.
    output : an output with one number ("hinge.q", "ball.position.z", "strut.force", "energy.kinetic"), or a function
        ``f(t, q, u)`` that returns one.
    value : what is crossed.
    direction : "both", "rising" or "falling".
    then : "record"; "stop"; or a function ``f(t, q, u)``, after which the run goes on: it may change q and u in place.
    """

    name: str
    output: str | Callable[[float, np.ndarray, np.ndarray], float]
    value: float = 0.0
    direction: str = "both"
    then: str | Callable[[float, np.ndarray, np.ndarray], None] = "record"

    def __post_init__(self) -> None:
        text(self.name, "name of an event")
        label = f"event '{self.name}'"
        object.__setattr__(self, "value", number(self.value, f"{label}: value"))
        if not isinstance(self.output, str) and not callable(self.output):
            raise ModelError(f"{label}: output is neither a name nor a function", got=repr(self.output)[:80])
        if self.direction not in DIRECTIONS:
            raise ModelError(f"{label}: direction is not known", expected=", ".join(DIRECTIONS), got=self.direction)
        if self.then not in ("record", "stop") and not callable(self.then):
            raise ModelError(f"{label}: then is not known", expected="record, stop or a function", got=self.then)

    @classmethod
    def parse(cls, condition: str, then: str = "stop") -> Event:
        """From text: ``"ball.position.z < 0.1"`` falls below, ``>`` rises above."""
        match = re.fullmatch(r"\s*(.+?)\s*([<>])\s*(\S+)\s*", condition)
        try:
            limit = float(match[3]) if match else None
        except ValueError:
            limit = None
        if match is None or limit is None:
            raise ModelError(f"'{condition}' is not a condition", expected="name < number or name > number")
        return cls(condition.strip(), match[1], limit, "falling" if match[2] == "<" else "rising", then)


class Occurrence(NamedTuple):
    """An event that happened."""

    name: str
    t: float  # s
    q: np.ndarray  # (nq)  before a function changed it
    u: np.ndarray  # (nu)


class Watch:
    """A run that is watched: it proceeds as the run does, and stops or changes it where an event says so."""

    def __init__(self, run: Any, begin: Callable[[Task], Any], events: Iterable[Event]) -> None:
        self.run, self.begin, self.events = run, begin, tuple(events)
        self.task: Task = run.task
        self.occurrences: list[Occurrence] = []
        self.stopped: tuple[str, float, np.ndarray] | None = None
        self.samples = SAMPLES if self.task.step >= self.task.t[-1] or hasattr(run, "solver") else 1
        self._last: tuple[float, np.ndarray] | None = None
        _check(self.task.system, self.events)

    @property
    def row(self) -> int:
        """Rows filled; all of them, once an event has stopped the run."""
        return self.task.t.size if self.stopped else self.run.row

    @property
    def time(self) -> float:
        return self.stopped[1] if self.stopped else self.run.time

    @property
    def state(self) -> Any:
        return self.run.state

    def attrs(self) -> dict[str, Any]:
        return self.run.attrs() | ({"stopped": self.stopped[0]} if self.stopped else {})
