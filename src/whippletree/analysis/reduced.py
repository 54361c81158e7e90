"""Force, stiffness, damping and mass along independent coordinates: what constraints push back on drops out.

With dq = T z the forces along z are T' f, since T' C' = 0: those of the constraints, C' lam, are not among them.
"""

from __future__ import annotations

import numpy as np

from ..dynamics.functions import bias_force, mass_matrix
from .chart import Chart
from .differences import STEP, offsets, slopes, speed_steps


def left_over(chart: Chart, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """What it takes, beside tau, to hold closed poses (..., nq) still, along each coordinate (..., f)."""
    still = np.zeros((*q.shape[:-1], chart.system.nu))
    force = bias_force(chart.system, q, still) - tau
    return (np.swapaxes(chart.motions(q), -1, -2) @ force[..., None])[..., 0]  # T' f


def stiffness(chart: Chart, tau: np.ndarray) -> np.ndarray:
    """(f, f) K: what the force that holds the system still grows by, for a small displacement z."""
    steps = STEP * chart.units[chart.rows]
    return slopes(left_over(chart, chart.displaced(offsets(steps)), tau), steps)


def damping(chart: Chart) -> np.ndarray:
    """(f, f) What the force that holds the speeds grows by, for small speeds about rest."""
    T, steps = chart.motions(chart.q), speed_steps(np.zeros(chart.rows.size))
    speeds = offsets(steps) @ T.T
    poses = np.tile(chart.q, (len(speeds), 1))
    return slopes(bias_force(chart.system, poses, speeds) @ T, steps)


def mass(chart: Chart) -> np.ndarray:
    """(f, f) T' M T"""
    T = chart.motions(chart.q)
    return T.T @ mass_matrix(chart.system, chart.q) @ T
