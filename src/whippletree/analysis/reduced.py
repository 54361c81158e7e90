"""Force, stiffness, damping and mass along independent coordinates: what constraints push back on drops out.

With dq = T z the forces along z are T' f, since T' C' = 0: those of the constraints, C' lam, are not among them.
"""

from __future__ import annotations

import numpy as np

from ..derivatives.evaluate import states_of, tangents_of
from ..dynamics.constraints.jacobian import rows_of
from ..dynamics.functions import bias_force, mass_matrix
from .chart import Chart
from .differences import STEP, offsets


def left_over(chart: Chart, q: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """What it takes, beside tau, to hold closed poses (..., nq) still, along each coordinate (..., f)."""
    still = np.zeros((*q.shape[:-1], chart.system.nu))
    force = bias_force(chart.system, q, still) - tau
    return (np.swapaxes(chart.motions(q), -1, -2) @ force[..., None])[..., 0]  # T' f


def _slopes(chart: Chart, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(nu, nu) Derivatives by q and u of the force that holds the system at rest, less what constraints hold of it.

    C' lam, with lam fixed, takes all that the dependent DOF need: T' (f - C' lam) has then the derivative of T' f,
    as that of T has no rows but theirs.
    """
    system, still = chart.system, np.zeros(chart.system.nu)
    lam = None
    if chart.dependent.size:
        C = rows_of(system, chart.q, still).C[:, chart.dependent]
        lam = np.linalg.pinv(C.T) @ (bias_force(system, chart.q, still) - tau)[chart.dependent]
    slopes = tangents_of(system, states_of(system, chart.q, still, still, lam)).needed[0, :, 1:]
    return slopes[:, : system.nu], slopes[:, system.nu :]


def stiffness(chart: Chart, tau: np.ndarray) -> np.ndarray:
    """(f, f) K: what the force that holds the system still grows by, for a small displacement z."""
    if chart.dependent.size:  # a pose where motions branch is refused
        chart.displaced(offsets(STEP * chart.units[chart.rows]))
    T = chart.motions(chart.q)
    return T.T @ _slopes(chart, tau)[0] @ T


def damping(chart: Chart, tau: np.ndarray) -> np.ndarray:
    """(f, f) What the force that holds the velocities grows by, for small velocities about rest."""
    T = chart.motions(chart.q)
    return T.T @ _slopes(chart, tau)[1] @ T


def mass(chart: Chart) -> np.ndarray:
    """(f, f) T' M T"""
    T = chart.motions(chart.q)
    return T.T @ mass_matrix(chart.system, chart.q) @ T
