"""A Runge-Kutta method as numbers, for the march of adaptive.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .step_size import Control


class Tableau(NamedTuple):
    """A method. Its last stage is taken at the new y, and is the first of the next step."""

    stages: int
    extra: int  # more stages, for dense output only
    rows: int  # of D
    A: np.ndarray  # (stages + extra, stages + extra)  row s: weights of the stages before s; the last stage's is b
    C: np.ndarray  # (stages + extra)
    E: np.ndarray  # (2, stages)  weights of the two error estimates; the second only tempers the first, and may be zero
    D: np.ndarray  # (rows, stages + extra)  weights of the last rows of the interpolant
    margin: float  # errors are held this far below the tolerance
    control: Control


def make_tableau(A: Any, C: Any, E: Any, D: Any, extra: int, margin: float, steps: Control) -> Tableau:
    """From rows; those of A end before their diagonal."""
    full = [(*row, *(0,) * (len(C) - len(row))) for row in A]
    a, c, e, d = (np.array(x, float).ravel() for x in (full, C, E, D))
    return Tableau(len(C) - extra, extra, len(D), a, c, e, d, margin, steps)
