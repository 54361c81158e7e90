"""The clock of a run: when each step is due, how late it was, and what happens then.

Step n is due to begin at n periods, and to be done one period later, when the next is due: what is not done by then is
late, by as much. What overruns either lets time slip, is caught up with, or ends the run.
"""

from __future__ import annotations

import time
from bisect import bisect
from itertools import pairwise
from typing import Any

from ..model.check import known

OVERRUN = ("slow", "catch up", "stop")
SPIN = 2e-4  # s before a step is due: the rest is waited for awake, since a core that sleeps may come back late
MOST_BEHIND = 0.25  # s: "catch up" lets go of what is more
EDGES = (0.0, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1, 0.5, float("inf"))  # s, of the histogram


class Lateness:
    """How late steps were, counted as they come. ``used`` is the time from when a step was due to begin until it was
    done; ``late`` what of it was beyond the period."""

    def __init__(self, period: float) -> None:
        self.period = period
        self.steps = self.on_time = 0
        self.worst = self.total = self.longest = self.slipped = 0.0
        self.counts = [0] * (len(EDGES) - 1)

    def note(self, used: float, period: float) -> float:
        """A step that is done; returns how late it is (s)."""
        late = used - period
        self.steps += 1
        self.longest = max(self.longest, used)
        self.counts[bisect(EDGES, used) - 1] += 1
        if late <= 0.0:
            self.on_time += 1
            return 0.0
        self.worst = max(self.worst, late)
        self.total += late
        return late

    def report(self) -> dict[str, Any]:
        """Numbers for people and files, times in seconds."""
        labels = [f"{low * 1e3:g} to {high * 1e3:g} ms" for low, high in pairwise(EDGES)]
        labels[-1] = f"over {EDGES[-2] * 1e3:g} ms"
        return {
            "steps": self.steps,
            "on_time": self.on_time / self.steps if self.steps else 1.0,
            "late_steps": self.steps - self.on_time,
            "worst_lateness": self.worst,
            "mean_lateness": self.total / self.steps if self.steps else 0.0,
            "longest_step": self.longest,
            "slipped": self.slipped,
            "histogram": dict(zip(labels, self.counts, strict=True)),
        }


class Pacer:
    """Waits for each step of ``step`` seconds of motion, which take ``step / scale`` seconds of the clock."""

    def __init__(self, step: float, scale: float, overrun: str) -> None:
        known(overrun, OVERRUN, "overrun")
        self.step, self.overrun = step, overrun
        self.lateness = Lateness(step / scale)
        self.rescale(scale)

    def rescale(self, scale: float) -> None:
        """Other time, from now on."""
        self.scale, self.period = scale, self.step / scale
        self.begin()

    def begin(self) -> None:
        """The next step is due now."""
        self.due = time.perf_counter()

    def wait(self) -> None:
        """Until the next step is due: asleep, and for the last of it awake."""
        left = self.due - time.perf_counter()
        if left > SPIN:
            time.sleep(left - SPIN)
        while time.perf_counter() < self.due:
            pass

    def done(self) -> bool:
        """A step is done. Returns whether the run may go on."""
        now = time.perf_counter()
        late = self.lateness.note(now - self.due, self.period)
        self.due += self.period
        if late > 0.0 and self.overrun == "stop":
            return False
        slip = late if self.overrun == "slow" else max(0.0, late - MOST_BEHIND)
        self.lateness.slipped += slip
        self.due += slip
        return True
