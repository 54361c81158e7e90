"""Which values the parameters of a sweep take in each of its runs: a grid, lists side by side, or a random design."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, ModelWarning
from ..model.check import known, number, shown

RANDOM = ("latin", "sobol", "random")
DESIGNS = ("grid", "together", *RANDOM)
MOST_RUNS = 10_000_000
GRID_FORMS = "low:high:count, low:high:count:log, or values with commas"
RANGE_FORMS = "low:high or low:high:log"


class Plan(NamedTuple):
    """The runs of a sweep, numbered from 0 on as the dataset holds them."""

    names: tuple[str, ...]
    dims: tuple[str, ...]  # of the dataset: the names in a grid, else "run"
    shape: tuple[int, ...]
    values: tuple[np.ndarray, ...]  # of each parameter: along its own dimension in a grid, else for each run

    @property
    def runs(self) -> int:
        return math.prod(self.shape)

    def of(self, run: int) -> tuple[Any, ...]:
        """The values of one run, as plain numbers and texts."""
        at = np.unravel_index(run, self.shape)
        places = at if self.dims == self.names else at * len(self.names)
        return tuple(column[i].item() for column, i in zip(self.values, places, strict=True))

    def combinations(self, values: Iterable[np.ndarray]) -> Iterable[tuple[Any, ...]]:
        """All that parameters with these values take together, once each."""
        columns = [column.tolist() for column in values]
        if self.dims == self.names:
            return product(*(dict.fromkeys(column) for column in columns))
        return dict.fromkeys(zip(*columns, strict=True))


def make_plan(parameters: Mapping[str, Any], design: str, samples: int | None, seed: int) -> Plan:
    """Read what the user gave; complains about the first that cannot be read."""
    if not isinstance(parameters, Mapping) or not parameters:
        raise ModelError(
            "a sweep needs parameters",
            expected="names and their values, as {'bodies.rod.mass': [1.0, 2.0]}",
            got=shown(parameters),
        )
    known(design, DESIGNS, "design")
    names = tuple(map(str, parameters))
    if design in RANDOM:
        return _random(names, list(parameters.values()), design, _samples(samples, design), seed)
    if samples is not None:
        raise ModelError(f"samples are not for a design '{design}'", hint="take one of " + ", ".join(RANDOM))
    values = tuple(_values(name, given) for name, given in parameters.items())
    sizes = tuple(column.size for column in values)
    if design == "grid":
        plan = Plan(names, names, sizes, values)
    else:
        if len(set(sizes)) > 1:
            reported = ", ".join(f"{name} {size}" for name, size in zip(names, sizes, strict=True))
            raise ModelError(
                "parameters taken together differ in length", expected="as many values of each", got=reported
            )
        plan = Plan(names, ("run",), sizes[:1], values)
    if plan.runs > MOST_RUNS:
        count = math.prod(map(float, plan.shape))  # or infinite
        raise ModelError("the sweep has too many runs", expected=f"at most {MOST_RUNS}", got=f"{count:g}")
    return plan


def _values(name: str, given: Any) -> np.ndarray:
    """The values along one parameter: floats, or texts such as names of integrators."""
    if isinstance(given, str):
        return _parsed(name, given)
    listed = np.atleast_1d(np.asarray(given, dtype=object))
    if not listed.size or listed.ndim > 1:
        raise ModelError(f"parameter '{name}' has no list of values", expected="numbers or texts", got=shown(given))
    if all(isinstance(x, str) for x in listed.tolist()):
        return np.array(listed.tolist())
    return np.array([number(x, f"parameter '{name}'") for x in listed.tolist()])


def _parsed(name: str, text: str) -> np.ndarray:
    parts = text.split(":")
    try:
        if len(parts) in (3, 4):
            low, high, count = float(parts[0]), float(parts[1]), int(parts[2])
            if count >= 1 and (len(parts) == 3 or parts[3] == "log"):
                return _spaced(name, low, high, count, len(parts) == 4)
        elif len(parts) == 1 and all(piece.strip() for piece in text.split(",")):
            return _listed(name, text.split(","))
    except ValueError as e:
        if isinstance(e, ModelError):
            raise
    raise ModelError(f"parameter '{name}': '{text}' cannot be read", expected=GRID_FORMS)


def _listed(name: str, pieces: list[str]) -> np.ndarray:
    try:
        numbers = [float(piece) for piece in pieces]
    except ValueError:
        return np.array([piece.strip() for piece in pieces])
    return np.array([number(x, f"parameter '{name}'") for x in numbers])


def _spaced(name: str, low: float, high: float, count: int, log: bool) -> np.ndarray:
    if count > MOST_RUNS:
        raise ModelError("the sweep has too many runs", expected=f"at most {MOST_RUNS}", got=count)
    _range(name, low, high, log)
    return np.geomspace(low, high, count) if log else np.linspace(low, high, count)


def _range(name: str, low: float, high: float, log: bool) -> None:
    for bound in (low, high):
        number(bound, f"parameter '{name}'")
    if log and (low <= 0 or high <= 0):
        raise ModelError(
            f"parameter '{name}': a logarithmic range cannot reach zero",
            expected="two numbers > 0",
            got=f"{low:g} and {high:g}",
        )


# ---------------------------------------------------------------- random designs


def _samples(samples: Any, design: str) -> int:
    if samples is None:
        raise ModelError(f"a design '{design}' needs samples", expected="a number of runs")
    try:
        count = operator.index(samples)
    except TypeError:
        count = 0
    if not 1 <= count <= MOST_RUNS:
        raise ModelError(
            "samples are not a number of runs", expected=f"an integer from 1 to {MOST_RUNS}", got=shown(samples)
        )
    return count


def _random(names: tuple[str, ...], given: list[Any], design: str, samples: int, seed: int) -> Plan:
    ranges = [_bounds(name, value) for name, value in zip(names, given, strict=True)]
    try:
        rng = np.random.default_rng(operator.index(seed))
    except (TypeError, ValueError):
        raise ModelError("seed is invalid", expected="an integer >= 0", got=shown(seed)) from None
    unit = _unit_square(design, samples, len(names), rng)
    columns = []
    for x, (low, high, log) in zip(unit.T, ranges, strict=True):
        columns.append(low * (high / low) ** x if log else low + (high - low) * x)
    return Plan(names, ("run",), (samples,), tuple(columns))


def _unit_square(design: str, samples: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Points in the unit cube, (samples, count)."""
    from scipy.stats import qmc

    if design == "random":
        return rng.random((samples, count))
    if design == "latin":
        return qmc.LatinHypercube(count, seed=rng).random(samples)
    if samples & (samples - 1):
        text = f"{samples} samples are no power of two, and a sobol design fills its space evenly only with one"
        warnings.warn(text, ModelWarning, stacklevel=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the same, in other words
        return qmc.Sobol(count, seed=rng).random(samples)


def _bounds(name: str, given: Any) -> tuple[float, float, bool]:
    log, pair = False, given
    if isinstance(given, str):
        pair = given.split(":")
        log = len(pair) == 3 and pair[2] == "log"
        pair = pair[:2] if log else pair
    try:
        low, high = (float(x) for x in pair)
    except (TypeError, ValueError):
        expected = RANGE_FORMS if isinstance(given, str) else "(low, high)"
        raise ModelError(f"parameter '{name}' has no range to sample", expected=expected, got=shown(given)) from None
    _range(name, low, high, log)
    return low, high, log
