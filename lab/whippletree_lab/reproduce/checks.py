"""A reference number beside ours: what every validation case comes down to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Check(NamedTuple):
    """One comparison. ``reference`` and ``ours`` are what is shown: a number, or the size of many."""

    what: str
    reference: float
    ours: float
    difference: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether ours is near enough; not where it is not a number."""
        return bool(self.difference <= self.tolerance)


class Curve(NamedTuple):
    """What a picture shows of a case: ours as a line, the reference as dots."""

    title: str
    axes: tuple[str, str]
    ours: tuple[np.ndarray, np.ndarray]
    reference: tuple[np.ndarray, np.ndarray]


@dataclass
class Outcome:
    """All comparisons of a case, and the time (s) that its runs and evaluations took."""

    checks: list[Check] = field(default_factory=list)
    curves: list[Curve] = field(default_factory=list)
    seconds: float = 0.0

    @contextmanager
    def timed(self) -> Iterator[None]:
        """What is done in here counts."""
        begun = perf_counter()
        yield
        self.seconds += perf_counter() - begun

    def compare(
        self, what: str, ours: ArrayLike, reference: ArrayLike, tolerance: float, relative: bool = False
    ) -> None:
        """Numbers of any shape: the largest difference counts, shown with the two numbers that it is between.

        ``relative``: to the reference, number by number.
        """
        a, b = np.broadcast_arrays(np.asarray(ours, float), np.asarray(reference, float))
        off = np.abs(a - b) / (np.abs(b) if relative else 1.0)
        worst = np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape)
        self.checks.append(Check(what, float(b[worst]), float(a[worst]), float(off[worst]), tolerance))

    def bound(self, what: str, found: ArrayLike, tolerance: float) -> None:
        """What ought to be zero: the largest of it counts."""
        self.compare(what, np.abs(np.asarray(found, float)).max(), 0.0, tolerance)
