"""What the loop shares with those who look at it: the state now, and the rows of the last while.

One memory, written by the loop alone. A reader of the state takes it again if the count in front has changed meanwhile,
or is odd: then it was being written. Rows go round: the oldest are written over.
"""

from __future__ import annotations

import mmap
import sys
import tempfile
from typing import Any, NamedTuple

import numpy as np

from ..system.system import System

(
    COUNT, TIME, TICKS, PAUSED, SCALE, RATE, ON_TIME, WORST, LATE_STEPS, SLIPPED, ENDED, ROWS, FAILED, RESETS,
) = range(14)  # fmt: skip
HEAD = 14
MOST_ROWS = 100_000


class Now(NamedTuple):
    """The state of a run, as of one moment."""

    head: np.ndarray  # (HEAD)
    held: np.ndarray  # (temporaries)  1 where it holds
    inputs: np.ndarray  # (inputs)  as controls stand
    q: np.ndarray
    u: np.ndarray

    @property
    def t(self) -> float:
        return float(self.head[TIME])


class Memory:
    """``file`` is what another process opens; ``inputs``: how many controls there are."""

    def __init__(self, system: System, inputs: int, rows: int = MOST_ROWS, file: Any = None) -> None:
        self.system, self.rows = system, rows
        parts = (HEAD, len(system.model.temporaries), inputs, system.nq, system.nu)
        self.width = 2 + system.nq + 2 * system.nu
        size = 8 * (sum(parts) + rows * self.width)
        self.file = file or tempfile.TemporaryFile()  # noqa: SIM115, as long as it is mapped
        if file is None:
            self.file.truncate(size)
        self.map = mmap.mmap(self.file.fileno(), size)
        whole = np.frombuffer(self.map, float)
        ends = np.cumsum(parts)
        self.head, self.held, self.inputs, self.q, self.u = np.split(whole[: ends[-1]], ends[:-1])
        self.whole = whole[: ends[-1]]
        self.parts = ends[:-1]
        self.table = whole[ends[-1] :].reshape(rows, self.width)

    # ---------------------------------------------------------------- the loop

    def publish(self, head: dict[int, float], held: Any, inputs: Any, q: np.ndarray, u: np.ndarray) -> None:
        """The state now."""
        self.head[COUNT] += 1.0
        for key, value in head.items():
            self.head[key] = value
        self.held[:], self.inputs[:], self.q[:], self.u[:] = held, inputs, q, u
        self.head[COUNT] += 1.0

    def keep(self, rows: tuple[np.ndarray, ...]) -> None:
        """More rows: t, q, u, work and udot."""
        count, n = int(self.head[ROWS]), len(rows[0])
        self.table[(count + np.arange(n)) % self.rows] = np.column_stack(rows)
        self.head[ROWS] = count + n

    def forget(self) -> None:
        """All rows, before another start."""
        self.head[ROWS] = 0.0
        self.head[RESETS] += 1.0

    # ---------------------------------------------------------------- those who look

    def read(self) -> Now:
        """The state as of one moment."""
        while True:
            before = self.head[COUNT]
            found = self.whole.copy()
            if before % 2 == 0 and self.head[COUNT] == before:
                return Now(*np.split(found, self.parts))

    def latest(self, seconds: float) -> tuple[np.ndarray, ...]:
        """The rows of the last so many seconds of motion, as :meth:`recent` has them."""
        count = int(self.head[ROWS])
        ends = self.table[[(count - 1) % self.rows, (count - 2) % self.rows], 0] if count > 1 else np.array([1.0, 0.0])
        spacing = max(1e-6, float(ends[0] - ends[1]))
        return self.recent(int(seconds / spacing) + 1)

    def recent(self, most: int = sys.maxsize) -> tuple[np.ndarray, ...]:
        """t, q, u, work and udot of the last rows there are, the oldest first."""
        count, nq, nu = int(self.head[ROWS]), self.system.nq, self.system.nu
        first = max(0, count - min(most, self.rows))
        rows = self.table[np.arange(first, count) % self.rows].copy()
        if (over := int(self.head[ROWS]) - self.rows - first) > 0:  # written over while they were read
            rows = rows[over:]
        t, q, u, work, udot = np.split(rows, [1, 1 + nq, 1 + nq + nu, 2 + nq + nu], axis=1)
        return t[:, 0], q, u, work[:, 0], udot
