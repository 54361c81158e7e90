"""What is kept of each run of a sweep: numbers of a Result at the end, their extremes, or their paths over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import ModelError
from ..model.check import shown
from ..result.result import Result

XYZ = "xyz"
REPORTED = {"end": "at the end", "min": "least over the run", "max": "largest over the run", "path": "over time"}


class Column(NamedTuple):
    """One number of a Result, and what is kept of it: "end", "min", "max" or "path"."""

    name: str  # as hinge.q, tip.position.x
    how: str
    units: str
    long_name: str

    @property
    def variable(self) -> str:
        return f"{self.name}.{self.how}"


class Keep(NamedTuple):
    """Names of a Result, by what is kept of them."""

    end: tuple[str, ...]
    extremes: tuple[str, ...]
    paths: tuple[str, ...]

    def columns(self, run: Result) -> list[Column]:
        """The numbers behind the names, in the order of :meth:`numbers`; complains about names that a run has not."""
        wanted = (("end", self.end), ("min", self.extremes), ("max", self.extremes), ("path", self.paths))
        found = [
            Column(number, how, unit, reported)
            for how, names in wanted
            for name in names
            for number, unit, reported in _numbers(run, name)
        ]
        seen = set[str]()
        for column in found:
            if column.variable in seen:
                raise ModelError(f"'{column.name}' is kept twice ({REPORTED[column.how]})", hint="name it once")
            seen.add(column.variable)
        return found

    def numbers(self, run: Result) -> np.ndarray:
        """What is kept of a run, in one row: end, minima, maxima, paths one after the other."""
        row = [_flat(run, name)[-1] for name in self.end]
        row += [_flat(run, name).min(axis=0) for name in self.extremes]
        row += [_flat(run, name).max(axis=0) for name in self.extremes]
        row += [_flat(run, name).T.ravel() for name in self.paths]
        return np.concatenate(row)


def widths(columns: Sequence[Column], rows: int) -> list[int]:
    """How many numbers each column has of a run; paths have so many rows."""
    return [rows if column.how == "path" else 1 for column in columns]


def names_given(given: str | Sequence[str] | None, what: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given or ())
    for name in names:
        if not isinstance(name, str):
            raise ModelError(f"{what} is not a list of names", expected="as ['hinge.q', 'energy']", got=shown(name))
    return names


def default_names(run: Result) -> tuple[str, ...]:
    """Coordinates and velocities of all joints of the tree, and the energy."""
    return (*(f"{joint}.{letter}" for letter in "qu" for joint in run.system.joints), "energy")


def _flat(run: Result, name: str) -> np.ndarray:
    """(T, numbers)"""
    return run[name].reshape(len(run), -1)


def _numbers(run: Result, name: str) -> list[tuple[str, str, str]]:
    """Each number behind a name, with its unit and a sentence; those of a rotation by row and column."""
    quantity = run.quantity(name)
    entries = list(zip(quantity.labels, quantity.units, strict=False))
    if not quantity.labels:
        entries = [(a + b, quantity.units[0]) for a in XYZ for b in XYZ]
    if entries == [("", quantity.units[0])]:
        return [(name, quantity.units[0], quantity.long_name)]
    return [(f"{name}.{label}", unit, f"{label} of {quantity.long_name}") for label, unit in entries]
