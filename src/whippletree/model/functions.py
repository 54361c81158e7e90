"""Functions of time, for motors, motions and wrenches. Plain data that checks itself; a plain number is a constant.

Values have the unit of what they drive: N m or N of a force, rad or m of a position, their rates of a speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..modes.check import is_list
from . import check

SHORTEST = 1e-9  # s; over less, rates grow beyond what can be computed with


@dataclass(frozen=True, slots=True)
class Ramp:
    """``value`` until ``start`` (s), then ``value + rate (t - start)``, and constant again after ``end`` (s)."""

    rate: float
    start: float = 0.0
    value: float = 0.0
    end: float | None = None

    def __post_init__(self) -> None:
        _numbers(self, "rate", "start", "value")
        if self.end is not None:
            _numbers(self, "end")
            if self.end <= self.start:
                raise ModelError(
                    "ramp: end is not after start", expected=f"an end > {self.start:g}", got=f"{self.end:g}"
                )


@dataclass(frozen=True, slots=True)
class Step:
    """``before``, and ``after`` from ``start`` (s) on. With a ``rise`` (s) it changes smoothly over that time.

    With x from 0 to 1 during the rise it goes as 6 x^5 - 15 x^4 + 10 x^3: rate and acceleration start and end at zero.
    """

    after: float
    start: float = 0.0
    before: float = 0.0
    rise: float = 0.0

    def __post_init__(self) -> None:
        _numbers(self, "after", "start", "before")
        _numbers(self, "rise", low=0.0)
        if 0.0 < self.rise < SHORTEST:
            raise ModelError("step: rise is too short", expected=f"0 or at least {SHORTEST:g} s", got=f"{self.rise:g}")


@dataclass(frozen=True, slots=True)
class Sine:
    """``offset + amplitude sin(2 pi frequency t + phase)``, frequency in Hz and phase in radians."""

    amplitude: float
    frequency: float
    phase: float = 0.0
    offset: float = 0.0

    def __post_init__(self) -> None:
        _numbers(self, "amplitude", "frequency", "phase", "offset")


@dataclass(frozen=True, slots=True)
class Table:
    """``values`` at ``times`` (s), straight lines between them, and constant outside.

    With ``smooth`` it is the cubic spline through the points that is flat at both ends, so that the rate never jumps.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    smooth: bool = False

    def __post_init__(self) -> None:
        times, values = (_sequence(getattr(self, key), f"table: {key}") for key in ("times", "values"))
        if len(times) != len(values):
            raise ModelError(
                "table: times and values differ in length",
                expected="one value for each time",
                got=f"{len(times)} times, {len(values)} values",
            )
        if len(times) < 2:
            raise ModelError("table: times are too few", expected="at least 2", got=len(times))
        for i in range(1, len(times)):
            if times[i] < times[i - 1] + SHORTEST:
                raise ModelError(
                    "table: times are out of order",
                    expected=f"each at least {SHORTEST:g} s after the one before",
                    got=f"times[{i - 1}] = {times[i - 1]:g}, then times[{i}] = {times[i]:g}",
                )
        if not isinstance(self.smooth, bool | np.bool_):
            raise ModelError("table: smooth is no truth value", expected="true or false", got=check.shown(self.smooth))
        for key, value in (("times", times), ("values", values), ("smooth", bool(self.smooth))):
            object.__setattr__(self, key, value)


Function = float | Ramp | Step | Sine | Table

FUNCTION_KINDS: dict[str, Any] = {"ramp": Ramp, "step": Step, "sine": Sine, "table": Table}


def _numbers(function: Any, *keys: str, low: float | None = None) -> None:
    kind = type(function).__name__.lower()
    for key in keys:
        object.__setattr__(function, key, check.number(getattr(function, key), f"{kind}: {key}", low=low))


def _sequence(value: Any, what: str) -> tuple[float, ...]:
    if not is_list(value):
        raise ModelError(f"{what} is not a list of numbers", got=check.shown(value))
    return tuple(check.number(x, f"{what}[{i}]") for i, x in enumerate(value))
