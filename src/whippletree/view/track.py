"""A run as a motion over continuous time: configurations between the kept ones."""

from __future__ import annotations

import numpy as np

from ..joints import QUATERNIONS
from ..system.system import System


def some_rows(count: int, most: int) -> np.ndarray:
    """Of so many rows all, or the first, the last and others evenly between."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))


class Track:
    """Configurations q (T, nq) at times t (T,), s, from ``begin`` to ``end``."""

    def __init__(self, system: System, t: np.ndarray, q: np.ndarray) -> None:
        self.t, self.q = t, q
        self.begin, self.end = float(t[0]), float(t[-1])
        turning = [joint for joint in system.joints if system.joint_kind(joint) in QUATERNIONS]
        ends = [system.q_index(joint).stop for joint in turning]
        self._quaternions = [slice(end - 4, end) for end in ends]

    def row(self, t: float) -> int:
        """The last row at or before a time."""
        return int(np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, self.t.size - 1))

    def at(self, t: float) -> np.ndarray:
        """q (nq,) at a time, straight between rows; quaternions the shorter way."""
        n = self.row(t)
        if n + 1 == self.t.size or self.t[n + 1] <= self.t[n]:
            return self.q[n]
        share = float(np.clip((t - self.t[n]) / (self.t[n + 1] - self.t[n]), 0.0, 1.0))
        a, b = self.q[n], self.q[n + 1]
        q = (1.0 - share) * a + share * b
        for rows in self._quaternions:
            near = b[rows] if a[rows] @ b[rows] >= 0.0 else -b[rows]
            mixed = (1.0 - share) * a[rows] + share * near
            q[rows] = mixed / np.linalg.norm(mixed)
        return q
