"""Evaluations of a run that lost most digits: of each output interval one, with its state, to be certified.

An integrator asks for the next evaluation to be looked at (`sample_next`) where the state is on the constraints: at the
end of an accepted step, or at the begin of a step of fixed length. That costs a copy of the state in each step.
Row 0, the start, has no interval: it holds the loss that is not worth keeping.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from ...compiler.lanes import ALWAYS, get, inline, kernel, put

LOSS, TIME, STATE = range(3)
WANTED, WANTED_ANYWAY = -1.0, -2.0  # in place of a loss; the latter where no better plan is to be had


def sample_rows(m: Any) -> int:
    """Numbers of a sample: loss, t, q, u and u'."""
    return STATE + m.nq + 2 * m.nu


own_sample_rows = inline(sample_rows)


@inline
def sample_next(sample):
    put(sample, LOSS, WANTED)


@inline
def sample_anyway(sample):
    put(sample, LOSS, WANTED_ANYWAY)


@inline
def is_wanted_anyway(sample):
    return get(sample, LOSS) == WANTED_ANYWAY


@inline
def is_wanted(sample):
    """Whether the evaluation under way is looked at"""
    return get(sample, LOSS) < 0.0


@inline
def take_loss(sample, loss):
    """The loss of digits of an evaluation, if it is looked at"""
    if is_wanted(sample):
        put(sample, LOSS, loss)
        put(sample, TIME, WANTED)


def take_state(m, sample, t, q, u, udot):
    """The rest of it"""


@overload(take_state, jit_options=ALWAYS)
def _take_state(m, sample, t, q, u, udot):
    def of_one(m, sample, t, q, u, udot):
        if get(sample, TIME) < 0.0:
            put(sample, TIME, t)
            for j in range(m.nq):
                put(sample, STATE + j, get(q, j))
            for j in range(m.nu):
                put(sample, STATE + m.nq + j, get(u, j))
                put(sample, STATE + m.nq + m.nu + j, get(udot, j))

    return of_one if sample.ndim == 1 else lambda m, sample, t, q, u, udot: None


@kernel
def keep_sample(sample, samples, row):
    """A sample becomes that of a row if it lost more digits than the one there"""
    if samples.shape[0] > 0 and sample[LOSS] > max(samples[row, LOSS], samples[0, LOSS]):
        for j in range(samples.shape[1]):
            samples[row, j] = sample[j]


def forget_samples(samples: np.ndarray, t: float, begins: bool) -> None:
    """Drop those after a time from which the run goes on another way; ``begins``: they are of where steps begin."""
    samples[samples[:, TIME] >= t if begins else samples[:, TIME] > t] = 0.0
