"""Certificates of trees of rigid bodies whose residuals in doubles say too little: refinement with twice the digits.

A light body that carries heavy ones leaves no digit of its own mass in a residual that is computed in doubles
(refine_divided.py). What rounding of the state does is found by solving states next to it.
"""

from __future__ import annotations

import numpy as np

from ..errors import SimulationError
from .certificate import Certificate, Problem
from .refine_divided import SETTLED, refined

NEAR = 3  # states, each off by a rounding
MARGIN = 10.0
UNIT = 2.0**-52


def certify_extended(p: Problem, udot: np.ndarray, algorithm: str) -> tuple[np.ndarray, Certificate] | None:
    """Accelerations to 1e-12, and their certificate; None if refinement does not settle."""
    try:
        right, first = _solution(p, udot, algorithm)
        rng, spread = np.random.default_rng(NEAR), np.zeros_like(udot)
        for _ in range(NEAR):
            signs = (rng.choice([-UNIT, UNIT], x.shape) for x in (p.q, p.u, p.forces))
            q, u, forces = (
                x + by * (np.abs(x) + unit) for x, by, unit in zip(p[1:4], signs, (1.0, 0.0, 0.0), strict=True)
            )
            spread = np.maximum(
                spread, np.abs(_solution(p._replace(q=q, u=u, forces=forces), right, algorithm)[0] - right)
            )
    except SimulationError:
        return None
    largest = float(np.abs(right).max(initial=0.0))
    error = MARGIN * (spread + SETTLED * largest)
    bound = float(error.max(initial=0.0)) / largest if largest > 0.0 else 0.0
    return right, Certificate(algorithm, bound, error, first, 1)


def _solution(p: Problem, udot: np.ndarray, algorithm: str) -> tuple[np.ndarray, float]:
    """Accelerations, and by how much they were corrected."""
    found = udot.copy()
    return found, refined(p.system, algorithm, p.q, p.u, p.forces, found)
