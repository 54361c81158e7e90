"""Events: moments at which an output crosses a value, what they do, and their outputs in many states at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ...dynamics.inputs import require_finite, require_unit
from ...errors import ModelError, SimulationError, nearest
from ...joints import KINDS
from ...model import renamed
from ...model.check import known, number, shown, text
from ...result.result import Result
from ...system.callbacks import function_name, user_error
from ...system.system import System

DIRECTIONS = {"both": 0, "rising": 1, "falling": -1}
ROUNDING = 4e-15  # of the value of an event
RESOLVED = 1e-11  # of q and u: a share of atol, below which a run tells no two states apart
UNIT = 1e-6  # how far from 1 the length of a quaternion may be that a function leaves
PATTERNS = 4  # in which q and u are varied to see how much of an output is rounding


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
    rate : the most by which the output changes per second, where that is known: then no crossing is skipped at all.
    then : "record"; "stop"; "activate grip" or "release grip", of a temporary constraint; or a function ``f(t, q, u)``,
        after which the run goes on: it may change q and u in place.
    """

    name: str
    output: str | Callable[[float, np.ndarray, np.ndarray], float]
    value: float = 0.0
    direction: str = "both"
    then: str | Callable[[float, np.ndarray, np.ndarray], None] = "record"
    rate: float | None = None

    def __post_init__(self) -> None:
        text(self.name, "name of an event")
        label = f"event '{self.name}'"
        object.__setattr__(self, "value", number(self.value, f"{label}: value"))
        if self.rate is not None and not number(self.rate, f"{label}: rate") > 0.0:
            raise ModelError(f"{label}: rate must be positive", expected="a bound of the rate > 0", got=self.rate)
        if not isinstance(self.output, str) and not callable(self.output):
            raise ModelError(f"{label}: output is neither a name nor a function", got=repr(self.output)[:80])
        known(self.direction, DIRECTIONS, f"{label}: direction")
        if isinstance(self.then, str) and " " in self.then:
            action, _, on = self.then.partition(" ")
            object.__setattr__(self, "then", f"{renamed.word(action, renamed.ACTIONS, label)} {on}")
        word = self.then if isinstance(self.then, str) else ""
        if (
            not callable(self.then)
            and word not in ("record", "stop")
            and not word.startswith(("activate ", "release "))
        ):
            expected = "record, stop, activate or release and a temporary constraint, or a function"
            hint = nearest(word.partition(" ")[0], ("record", "stop", "activate", "release"))
            raise ModelError(f"{label}: then is not known", expected=expected, got=shown(self.then), hint=hint)

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


def checked_events(system: System, events: Any) -> tuple[Event, ...]:
    """Events for a run of a system; one alone is one of them."""
    try:
        found = (events,) if isinstance(events, Event) else tuple(events)
    except TypeError:
        raise ModelError("events is not a list", expected="a list of wt.Event", got=shown(events)) from None
    temporaries = system.model.temporaries
    for e in found:
        if not isinstance(e, Event):
            raise ModelError("events holds what is no event", expected="a list of wt.Event", got=repr(e)[:80])
        action, _, name = e.then.partition(" ") if isinstance(e.then, str) else ("", "", "")
        if action in ("activate", "release") and name not in temporaries:
            raise ModelError(
                f"event '{e.name}': '{name}' is no temporary constraint",
                expected="activate or release and one of "
                + (", ".join(map(repr, temporaries)) or "none, as there are none"),
                got=e.then,
                hint=nearest(name.strip(), temporaries),
            )
    return found


@dataclass(frozen=True, slots=True)
class Condition:
    """An event of the library's own: functions of many states at once, (T), (T, nq), (T, nu) to (T, columns).

    With several columns it happens as soon as all of them have fallen below zero. ``rates`` are those of the columns in
    time, NaN where they are not known. With ``level`` it also happens where it begins at its value and goes beyond;
    with ``jumps`` where other changes put it across its value, and with ``fresh`` where it begins there; ``time`` (s)
    is the moment, where it is known. Values below ``noise`` are rounding. Without ``of_poses`` it depends on time and
    generalized velocities alone, however far joints turn.
    """

    name: str
    output: Callable[..., np.ndarray]
    direction: str
    columns: int = 1
    rates: Callable[..., np.ndarray] | None = None
    level: bool = False
    jumps: bool = False
    fresh: bool = False
    time: float | None = None
    noise: float = 0.0
    rate: float | None = None
    of_poses: bool = True


@lru_cache
def ways(count: int) -> np.ndarray:
    """(2 PATTERNS, count) Patterns of either sign, each followed by twice itself."""
    draw = np.random.default_rng(0)
    found = [draw.choice([-1.0, 1.0], count) * draw.uniform(0.5, 1.0, count) for _ in range(PATTERNS)]
    return np.array([n * way for way in found for n in (1.0, 2.0)]).reshape(2 * PATTERNS, count)


def _output(event: Event, t: float, q: np.ndarray, u: np.ndarray) -> float:
    """What the function of an event returns."""
    assert callable(event.output)
    try:
        return float(event.output(t, q, u))
    except Exception as e:
        who = f"event '{event.name}': the output '{function_name(event.output)}'"
        raise user_error(who, f"at t = {t:.9g} s", e) from e


def call_then(system: System, event: Event | Condition, t: float, q: np.ndarray, u: np.ndarray) -> None:
    """Call the function of an event, if it has one, on q and u, which it may change."""
    if isinstance(event, Condition) or not callable(event.then):
        return
    who, when = f"event '{event.name}': the function '{function_name(event.then)}'", f"at t = {t:.9g} s"
    try:
        event.then(t, q, u)
    except Exception as e:
        raise user_error(who, when, e) from e
    try:
        require_finite(system, (q, u), ("q", "u"))
        require_unit(system, q, UNIT)
    except ModelError as e:
        raise SimulationError(f"{who} leaves a wrong state {when}: {e.what}", expected=e.expected, got=e.got) from None


class Probe:
    """The outputs of events, less the values that they are to cross, in many states at once: a column for each part."""

    def __init__(self, system: System, events: tuple[Event | Condition, ...]) -> None:
        self.system, self.events = system, events
        own = [event.columns if isinstance(event, Condition) else 1 for event in events]
        self.first = np.cumsum([0, *own])[:-1]
        self.slices = [slice(n, n + count) for n, count in zip(self.first, own, strict=True)]
        self.columns = sum(own)
        bounds = [np.nan if event.rate is None else event.rate for event in events]
        self.rate = np.repeat(np.array(bounds, float), own)  # declared
        least = [e.noise if isinstance(e, Condition) else ROUNDING * abs(e.value) for e in events]
        self.least = np.repeat(np.array(least, float), own)  # of what is rounding
        self.named = any(isinstance(event, Event) and isinstance(event.output, str) for event in events)
        empty = Result(system, np.zeros(0), np.zeros((0, system.nq)), np.zeros((0, system.nu)), np.zeros(0))
        for event in events:
            if isinstance(event.output, str) and len(empty.quantity(event.output).labels) != 1:
                labels = empty.quantity(event.output).labels
                raise ModelError(
                    f"event '{event.name}': '{event.output}' is not one number",
                    expected=", ".join(f"{event.output}.{label}" for label in labels) or "an output with one number",
                )

    def __call__(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(T, columns) of states y (T, nq + nu + 1)."""
        q, u = self._split(y)
        run: Any = Result(self.system, t, q, u, y[:, -1]) if self.named else None
        values = np.empty((t.size, self.columns))
        for event, own in zip(self.events, self.slices, strict=True):
            if isinstance(event, Condition):
                values[:, own] = event.output(t, q, u).reshape(t.size, -1)
            elif isinstance(event.output, str):
                values[:, own.start] = run[event.output] - event.value
            else:
                found = [_output(event, *state) for state in zip(t.tolist(), q, u, strict=True)]
                values[:, own.start] = np.array(found) - event.value
        return values

    def rates(self, t: np.ndarray, y: np.ndarray) -> np.ndarray:
        """(T, columns) The rates of outputs, NaN where the library does not know them."""
        q, u = self._split(y)
        found = np.full((t.size, self.columns), np.nan)
        for event, own in zip(self.events, self.slices, strict=True):
            if isinstance(event, Condition) and event.rates is not None:
                found[:, own] = event.rates(t, q, u).reshape(t.size, -1)
        return found

    def whole(self, values: np.ndarray) -> np.ndarray:
        """(..., events) of (..., columns): where an event has several, the largest."""
        return np.asarray(np.maximum.reduceat(values, self.first, axis=-1))

    def noise(self, t: float, y: np.ndarray, atol: float) -> np.ndarray:
        """(columns) How much of each output is rounding: what it changes with q and u, varied less than a run resolves.

        An output that does not vary in proportion, as one that jumps just here, is not judged by that.
        """
        states = np.tile(y, (1 + 2 * PATTERNS, 1))
        states[1:, :-1] += min(0.1 * atol, RESOLVED) * ways(y.size - 1)
        values = self(np.full(len(states), t), states)
        one, two = values[1::2] - values[0], values[2::2] - values[0]
        fits = np.abs(two - 2.0 * one) <= 0.5 * np.abs(two)
        found = np.where(fits & np.isfinite(two), np.abs(two), 0.0).max(axis=0)
        return np.asarray(np.maximum(found, self.least))

    def _split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nq = self.system.nq
        return np.ascontiguousarray(y[:, :nq]), np.ascontiguousarray(y[:, nq:-1])


def rotational(system: System) -> np.ndarray:
    """Places in y = (q, u, work) of the velocities at which joints turn."""
    found: list[int] = []
    for edge in system.topology.edges:
        if edge.flexible:  # modes have no joint
            continue
        first = system.nq + system.u_index(edge.joint.name).start
        found += [first + n for n, (_, unit) in enumerate(KINDS[edge.joint.kind].rates) if unit == "rad/s"]
    return np.array(found, int)
