"""Which modes are taken: by count, frequency or participation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from . import check
from .report import DIRECTIONS

USUAL = 6  # modes, by default
MOST = 2000
SPARE = 30  # modes of a large structure beyond those wanted, to report on and to choose from
HAS_MASS = 1e-3  # a direction whose modes hold less than this share of the mass does not take part


@dataclass(frozen=True)
class Choice:
    """One of three is given."""

    count: int | None
    frequency: float | None
    participation: float | None

    @staticmethod
    def of(kind: str, count: Any, frequency: Any, participation: Any) -> Choice:
        given = {"count": count, "frequency": frequency, "participation": participation}
        reported = [name for name, value in given.items() if value is not None]
        if len(reported) > 1:
            raise ModelError(
                "modes are chosen twice", expected="one of count, frequency, participation", got=", ".join(reported)
            )
        if not reported:
            return Choice(USUAL, None, None)
        if count is not None:
            return Choice(_count(count, 0 if kind == "craig-bampton" else 1), None, None)
        value = float(check.numbers(given[reported[0]], (), f"modes: {reported[0]}"))
        if frequency is not None:
            if value <= 0.0:
                raise ModelError("modes: frequency must be positive", expected="rad/s", got=value)
            return Choice(None, value, None)
        if kind != "cantilever":
            raise ModelError(
                f"modes: participation is not for {kind} modes",
                expected="count or frequency",
                got=f"participation = {value:g}",
                hint="only modes that are held at the inboard node each carry a share of the mass",
            )
        if not 0.0 < value < 1.0:
            raise ModelError("modes: participation is a share of the mass", expected="between 0 and 1", got=value)
        return Choice(None, None, value)

    @property
    def wanted(self) -> int:
        """How many modes of a large structure to look at."""
        return (self.count if self.count is not None else 2 * SPARE) + SPARE

    @property
    def limit(self) -> float:
        """The square of the frequency up to which all modes are needed."""
        return 0.0 if self.frequency is None else self.frequency**2

    def take(self, squares: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """The places of the modes that are taken, ascending."""
        if self.count is not None:
            if self.count > len(squares):
                raise ModelError("modes: there are not so many", expected=f"at most {len(squares)}", got=self.count)
            return np.arange(self.count)
        if self.frequency is not None:
            taken = np.flatnonzero(squares <= self.frequency**2)
            if not len(taken):
                first = f"{np.sqrt(squares[0]):.6g} rad/s" if len(squares) else "none"
                raise ModelError(
                    "modes: none is below the frequency", expected=f"at least the first: {first}", got=self.frequency
                )
            return taken
        return self._by_share(shares, float(self.participation or 0.0))

    @staticmethod
    def _by_share(shares: np.ndarray, enough: float) -> np.ndarray:
        """In each direction the modes that hold most of it, until they hold enough."""
        taken: set[int] = set()
        for d, share in enumerate(shares.T):
            order = np.argsort(-share, kind="stable")
            held = np.cumsum(share[order])
            if held[-1] < HAS_MASS:
                continue
            if held[-1] < enough:
                raise ModelError(
                    f"modes: participation cannot be reached in {DIRECTIONS[d]}",
                    expected=f"at most {held[-1]:.4f}, with {len(share)} modes",
                    got=enough,
                    hint="more elements move more of the mass",
                )
            taken |= set(order[: int(np.searchsorted(held, enough)) + 1].tolist())
        return np.array(sorted(taken), dtype=int)


def _count(value: Any, least: int) -> int:
    n = check.counted(value)
    if not least <= n <= MOST:
        raise ModelError("modes: count is not a count", expected=f"{least} to {MOST}", got=repr(value)[:80])
    return n
