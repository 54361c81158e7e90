"""Which states of a rollout may have changed their branch: velocities bend within a step, where loops lose rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..errors import warn
from .run.passage import LARGEST, Weakness
from .run.passages import vary
from .variants import Variants

BENT = 0.005  # of the largest speed, within a step: a motion that changes its branch, or is spoilt, turns as much
SUDDEN = 10.0  # times the mean of all steps: where steps are long, all bend
WEAK = 0.1  # of the singular values at the start, in the pose behind such a step
MOST_LOOKS = 20  # states that are run again, to look at that pose


def warn_of_bends(
    moving: Variants,
    h: float,
    steps: int,
    starts: np.ndarray,
    bends: np.ndarray,
    pose: Callable[[int, int], np.ndarray],
) -> None:
    """Warn of them; ``bends`` as in rollout_kernel.py, ``pose`` gives q (nq) of a state after a step."""
    system = moving.systems[0]
    if not 0 < system.constraints.count <= LARGEST or not vary(system):
        return
    bent = np.flatnonzero((bends[:, 0] > BENT) & (bends[:, 0] > SUDDEN * bends[:, 2] / steps))
    found = []
    for state in bent[:MOST_LOOKS].tolist():
        step = int(bends[state, 1])
        weak = Weakness(moving.system(state), 0.0, starts[state])
        if weak.rank and weak.of(step * h, pose(state, step)) < WEAK * weak.first:
            found.append(f"state {state} at t = {step * h:.6g} s")
    if found:
        some = ", ".join(found[:4]) + (" and others" if len(found) > 4 or len(bent) > MOST_LOOKS else "")
        reported = f"the motion of '{system.name}' bends where loops lose rank, and may be on another branch: {some}"
        warn(f"{reported}; wt.simulate follows its own branch")
