"""A run as a motion over continuous time: configurations between the kept ones."""

from __future__ import annotations

import numpy as np

from ..model import JOINT_KINDS
from ..system.system import System


class Track:
    """Configurations q (T, nq) at times t (T,), s."""

    def __init__(self, system: System, t: np.ndarray, q: np.ndarray) -> None:
        self.t, self.q = t, q
        self._quaternions: list[slice] = []
        for joint in system.joints:
            if system.joint_kind(joint) in ("spherical", "free"):
                first = system.q_index(joint).start + JOINT_KINDS[system.joint_kind(joint)][0] - 4
                self._quaternions.append(slice(first, first + 4))

    @property
    def begin(self) -> float:
        """The first time, s."""
        return float(self.t[0])

    @property
    def end(self) -> float:
        """The last time, s."""
        return float(self.t[-1])

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
