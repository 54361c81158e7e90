"""Events: moments at which an output crosses a value, located within the step where it does.

Method   outputs are looked at SAMPLES times in every step that a method can interpolate; between two looks with a
         change of sign, Brent's method [brent1973] finds the time. Two crossings between two looks are not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ..dynamics.inputs import require_finite, require_unit
from ..dynamics.kinematics import energy
from ..errors import ModelError
from ..model.check import number, text
from ..result.result import Occurrence, Result
from ..system.system import System
from .task import Failure, Task

SAMPLES = 4  # looks in a step that is interpolated
BATCH = 16  # steps between two evaluations of the outputs
TRAIL = 1024  # at most, of a method that keeps where each of its steps ended: twice as many each time nothing happens
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
    value : what is crossed, in the unit of the output.
    direction : "both", "rising" or "falling".
    then : "record"; "stop"; "make grip" or "break grip", of a temporary constraint; or a function ``f(t, q, u)``, after
        which the run goes on: it may change q and u in place.
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
        changes = isinstance(self.then, str) and self.then.startswith(("make ", "break "))
        if self.then not in ("record", "stop") and not callable(self.then) and not changes:
            expected = "record, stop, make or break and a temporary constraint, or a function"
            raise ModelError(f"{label}: then is not known", expected=expected, got=self.then)

    @classmethod
    def parse(cls, condition: str, then: str = "stop") -> Event:
        """From text: ``"ball.position.z < 0.1"`` falls below, ``>`` rises above."""
        at = max(condition.rfind("<"), condition.rfind(">"))
        output, limit = condition[: max(at, 0)].strip(), math.nan
        with suppress(ValueError):
            limit = float(condition[at + 1 :])
        if not output or math.isnan(limit):
            raise ModelError(f"'{condition[:80]}' is not a condition", expected="name < number or name > number")
        return cls(condition.strip(), output, limit, "falling" if condition[at] == "<" else "rising", then)


class Condition(Event):
    """An event of the library's own: its output is a function of many states at once, (T), (T, nq), (T, nu) to (T)."""

    __slots__ = ()


class Look(NamedTuple):
    """One moment at which the outputs are looked at."""

    t: float
    y: np.ndarray  # (q, u, work)
    state: np.ndarray | None  # of the run, after the step that it lies in


class Watch:
    """A run that is watched: it proceeds as the run does, and stops or changes it where an event says so."""

    def __init__(self, run: Any, events: Iterable[Event]) -> None:
        self.run, self.events = run, tuple(events)
        self.task: Task = run.task
        self.occurrences: list[Occurrence] = []
        self.stopped: tuple[str, float, np.ndarray] | None = None
        self.before: np.ndarray | None = None  # the outputs at the last look, less their values
        self.also: tuple[float, ...] = ()  # times to look at, beside those of every step
        self.seen: int = run.row  # rows before which all events are known
        self.probe = Probe(self.task.system, self.events)
        self.wanted = np.array([DIRECTIONS[e.direction] for e in self.events])
        self.trails, self.batch = hasattr(run, "trail"), BATCH
        if self.trails:
            run.trail = np.zeros((TRAIL, run.trail.shape[1]))

    @property
    def row(self) -> int:
        """Rows that stand; all of them, once an event has stopped the run."""
        return self.task.t.size if self.stopped else self.seen

    @property
    def time(self) -> float:
        return self.stopped[1] if self.stopped else self.run.time

    @property
    def state(self) -> Any:
        return self.run.state

    def attrs(self) -> dict[str, Any]:
        return self.run.attrs() | ({"stopped": self.stopped[0]} if self.stopped else {})

    def recall(self, before: np.ndarray | None, occurrences: list[Occurrence]) -> None:
        """Go on where a run has been whose state the run now has."""
        self.before, self.occurrences, self.seen = before, occurrences, self.run.row

    def proceed(self, steps: int) -> Failure | None:
        """At most so many steps further, unless an event stops the run."""
        while steps > 0 and self.row < self.task.t.size:
            trails = self.trails and not any(t > self.run.time for t in self.also)
            some = min(steps, self.batch if trails else BATCH if self.run.state is not None else 1)
            failure = self._trailing(some) if trails else self._some(some)
            self.seen = self.run.row
            if failure:
                return failure
            steps -= some
        return None

    def _some(self, steps: int) -> Failure | None:
        """A few steps, then one look at all of them together."""
        looks, failure = [], None
        if self.before is None and self.run.time == 0.0:
            looks.append(Look(0.0, self.task.y, None))
        while steps > 0 and failure is None and self.run.row < self.task.t.size:
            from_, steps = self.run.time, steps - 1
            failure = self.run.proceed(1)
            if self.run.time > from_:
                looks += self._looks()
        if looks:
            values = self.probe(np.array([x.t for x in looks]), np.array([x.y for x in looks]))
            for n, (look, now) in enumerate(zip(looks, values, strict=True)):
                crossed = np.flatnonzero(self._crossed(now if self.before is None else self.before, now))
                self.before = now
                if crossed.size and self._happen(crossed, looks[n - 1].t if n else -np.inf, look):
                    return None
        return failure

    def _trailing(self, steps: int) -> Failure | None:
        """Many steps, then one look at where each ended; if something happens they are taken again, up to it."""
        run, start, from_ = self.run, self.run.state.copy(), self.run.taken
        if self.before is None and run.time == 0.0:
            self.before = self.probe(np.zeros(1), self.task.y[None])[0]
        failure = run.proceed(steps)
        trail = run.trail[np.arange(from_, run.taken) % TRAIL]
        if not len(trail):
            return failure
        t, y = trail[:, 0], trail[:, 1:]
        values = self.probe(t, y)
        before = np.empty_like(values)
        before[0], before[1:] = values[0] if self.before is None else self.before, values[:-1]
        if (before * values > 0.0).all() or not (crossed := self._crossed(before, values)).any():
            self.before, self.batch = values[-1], min(2 * self.batch, TRAIL)
            return failure
        n = int(np.argmax(crossed.any(axis=1)))
        self.before, self.batch = values[n], BATCH
        run.state[:] = start
        run.proceed(n + 1)
        self._happen(np.flatnonzero(crossed[n]), t[n - 1] if n else -np.inf, Look(t[n], y[n], run.state.copy()))
        return None

    def _looks(self) -> list[Look]:
        """Within the step just taken, and at its end."""
        a, b = self.run.since, self.run.time
        state = None if self.run.state is None else self.run.state.copy()
        count = SAMPLES if self.run.interpolates else 1
        times = [*np.linspace(a, b, count + 1)[1:].tolist(), *(t for t in self.also if a < t < b)]
        return [Look(t, self.run.at(t), state) for t in sorted(times)]

    def _crossed(self, before: np.ndarray, now: np.ndarray) -> np.ndarray:
        """(..., events) Which outputs have changed sign, the way their events want it."""
        rises, falls = (before < 0) & (now >= 0), (before > 0) & (now <= 0)
        return (rises & (self.wanted >= 0)) | (falls & (self.wanted <= 0))

    def _happen(self, crossed: np.ndarray, from_: float, look: Look) -> bool:
        """What the events say, the earliest first; True if the run is not where it was."""
        here = None if self.run.state is None else self.run.state.copy()
        if look.state is not None:
            self.run.state[:] = look.state
        found = sorted((self._locate(n, max(from_, self.run.since), look.t), n) for n in crossed)
        for t, n in found:
            event, y = self.events[n], self.run.at(t)
            q, u = self._split(y)
            self.occurrences.append(Occurrence(event.name, t, q.copy(), u.copy()))
            if event.then == "stop":
                self.stopped = event.name, t, y
                return True
            if callable(event.then) and self._changed(event, t, y):
                return True
        if here is not None:
            self.run.state[:] = here
        return False

    def _locate(self, n: int, a: float, b: float) -> float:
        def g(t: float) -> float:
            return float(self.probe(np.array([t]), self.run.at(t)[None])[0, n])

        ga, gb = g(a), g(b)
        if ga == 0.0 or gb == 0.0 or (ga < 0) == (gb < 0):  # on the value itself
            return b
        return float(brentq(g, a, b, xtol=1e-14 + 4e-16 * abs(b), rtol=1e-15))

    def _changed(self, event: Event, t: float, y: np.ndarray) -> bool:
        """Call the event's function; if it changes q or u, the run starts again from there."""
        q, u = self._split(y)
        new_q, new_u = q.copy(), u.copy()
        event.then(t, new_q, new_u)  # type: ignore[operator]
        if np.array_equal(new_q, q) and np.array_equal(new_u, u):
            return False
        system = self.task.system
        require_finite(system, (new_q, new_u), ("q", "u"))
        require_unit(system, new_q, UNIT)
        work = y[-1] + energy(system, new_q, new_u).total - energy(system, q, u).total  # of the impulse
        first = int(np.searchsorted(self.task.t, t, side="right"))
        self.run.restart(t, np.concatenate([new_q, new_u, [work]]), first)
        self.before = None
        return True

    def _split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nq = self.task.system.nq
        return y[:nq], y[nq:-1]


class Probe:
    """The outputs of events, less the values that they are to cross, in many states at once."""

    def __init__(self, system: System, events: tuple[Event, ...]) -> None:
        self.system, self.events = system, events
        self.named = any(isinstance(event.output, str) for event in events)
        self.values = np.array([event.value for event in events])
        empty = Result(system, np.zeros(0), np.zeros((0, system.nq)), np.zeros((0, system.nu)), np.zeros(0))
        for event in events:
            if isinstance(event.output, str) and len(empty.quantity(event.output).labels) != 1:
                labels = empty.quantity(event.output).labels
                raise ModelError(
                    f"event '{event.name}': '{event.output}' is not one number",
                    expected=", ".join(f"{event.output}.{label}" for label in labels) or "an output with one number",
                )

    def __call__(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        nq = self.system.nq
        q, u = np.ascontiguousarray(y[:, :nq]), np.ascontiguousarray(y[:, nq:-1])
        run: Any = Result(self.system, t, q, u, y[:, -1]) if self.named else None
        values = np.empty((t.size, len(self.events)))
        for n, event in enumerate(self.events):
            if isinstance(event.output, str):
                values[:, n] = run[event.output]
            elif isinstance(event, Condition):
                values[:, n] = event.output(t, q, u)  # type: ignore[arg-type]
            else:
                values[:, n] = [event.output(*state) for state in zip(t.tolist(), q, u, strict=True)]
        return values - self.values
