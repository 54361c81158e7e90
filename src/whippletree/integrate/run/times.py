"""Times and tolerances that the user gives a run, and the rows of its result."""

from __future__ import annotations

import math

import numpy as np

from ...errors import ModelError
from ...model.check import number
from ...system.system import System

LARGEST_RESULT = 4e9  # bytes
RTOL, ATOL = 1e-8, 1e-10
LEAST_RTOL = 1e-14  # some 50 roundings: below, no step can show that it is good enough


def positive(value: float | None, what: str, default: float) -> float:
    """A time, or its default where none is given."""
    if value is None:
        return default
    x = number(value, what)
    if x <= 0:
        raise ModelError(f"{what} must be positive", expected="a time > 0 (s)", got=x)
    return x


def output_times(system: System, until: float, output_step: float | None, default: float) -> np.ndarray:
    """Times of the rows of a result: 0, output_step, 2 output_step, ... and ``until``, so that the last interval may be
    shorter; evenly spaced by at most the default where no output_step is given."""
    apart = positive(output_step, "output_step", default)
    rows = max(1, math.ceil(until / apart * (1 - 1e-9)))
    size = rows * (system.nq + system.nu + 1) * 8
    if size > LARGEST_RESULT:
        raise ModelError(
            "the result would not fit in memory",
            expected=f"at most {LARGEST_RESULT / 1e9:g} GB",
            got=f"{rows} rows of {system.nq + system.nu} numbers, {size / 1e9:.1f} GB",
            hint="a larger output_step",
        )
    t = np.linspace(0.0, until, rows + 1)
    if output_step is not None and abs(t[1] - apart) > 1e-9 * apart:
        t[1:-1] = apart * np.arange(1, rows)
    return t


def check_tolerances(rtol: float, atol: float, integrator: str, adaptive: bool) -> None:
    """Both positive numbers, and only where they are used."""
    for value, what, low, high in ((rtol, "rtol", LEAST_RTOL, 1.0), (atol, "atol", 0.0, math.inf)):
        x = number(value, what)
        if not (x > 0 and low <= x < high):
            expected = f"at least {low:g} and less than 1" if low else "a number > 0"
            raise ModelError(f"{what} is not a tolerance to integrate with", expected=expected, got=x)
    if not adaptive and (rtol, atol) != (RTOL, ATOL):
        raise ModelError(
            f"integrator '{integrator}' has a fixed step and no tolerances",
            got=f"rtol {rtol:g}, atol {atol:g}",
            hint="give step instead, or take integrator='dopri5'",
        )
