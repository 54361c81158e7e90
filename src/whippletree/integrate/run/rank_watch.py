"""Warns where loops lose rank, or nearly, in runs without passages: behind it they may be on another branch.

Methods of libraries march by themselves, and runs that do not project onto their constraints have left the branch that
a passage would follow by their drift. The least singular value falls and rises again; its square is a parabola.
"""

from __future__ import annotations

import numpy as np

from ...errors import warn
from .passage import LARGEST, Weakness, lowest
from .passages import AWAY, vary
from .task import Task

NEARLY, WEAK = 0.1, 0.02  # of the singular values beside, and at the start: a least one that is smaller may be zero
UNFOLLOWED = "the run may go on along another branch; with stabilization='projection' it follows its own"


class RankWatch:
    """Looks at the ends of steps; ``why``: what the warning says of the run."""

    def __init__(self, task: Task, why: str) -> None:
        system = task.system
        self.system, self.why, self.warned = system, why, False
        self.active = 0 < system.constraints.count <= LARGEST and vary(system)
        self.move = AWAY * min(1.0, system.constraints.size)  # of coordinates, from one look to the next
        self.restart(task.start, task.y)

    def restart(self, t: float, y: np.ndarray) -> None:
        """Begin anew from y at t."""
        self.weak: Weakness | None = None
        self.looks: list[tuple[float, float]] = []
        self.first, self.pose = (t, y.copy()), y[: self.system.nq].copy()

    def look(self, t: float, y: np.ndarray) -> None:
        """Warn, once, if the least singular value was least within the last two looks, and all but zero there."""
        q = y[: self.system.nq]
        if not self.active or self.warned or float(np.abs(q - self.pose).max(initial=0.0)) < self.move:
            return
        if self.weak is None:
            self.weak = Weakness(self.system, self.first[0], self.first[1][: self.system.nq])
            self.looks = [(self.first[0], self.weak.first)]
        if not self.weak.rank:
            return
        before, self.pose = self.pose, q.copy()
        self.looks = [*self.looks[-2:], (t, self.weak.of(t, q))]
        times, sizes = (np.array(x) for x in zip(*self.looks, strict=True))
        if len(times) < 3 or not sizes[0] > sizes[1] <= sizes[2]:
            return
        when, least = lowest(times, sizes**2)
        if least < max(NEARLY * sizes.max(), WEAK * self.weak.first) ** 2:
            self.warned = True
            _, loops = self.weak.lost(when, before, sizes.max())
            names = ", ".join(f"'{name}'" for name in loops[:4]) + (", ..." if len(loops) > 4 else "")
            lose = "loops of '{}' lose" if len(loops) > 1 else "a loop of '{}' loses"
            reported = f"{lose.format(self.system.name)} rank near t = {when:.6g} s ({names}), or nearly"
            warn(f"{reported}: {self.why}")
