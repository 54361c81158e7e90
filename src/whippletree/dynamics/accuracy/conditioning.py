"""How far algorithms may differ in accelerations: by a rounding for each unit of conditioning of [M C'; C 0]."""

from __future__ import annotations

import numpy as np

from ...system.system import System
from ..constraints.jacobian import rows_of
from ..constraints.nullspace import rank_tolerance, scaled_rows, split_space
from ..functions import mass_matrix

AGREE = 1e-9  # of the largest acceleration, for each unit of conditioning
DENSE = 400  # DOF and rows, beyond which conditioning and dense matrices take too long


def conditioning(system: System, q: np.ndarray, u: np.ndarray) -> float:
    """Of [M C'; C 0] with the rows that are independent, scaled to unit diagonal and rows; inf if M is singular."""
    free = np.setdiff1d(np.arange(system.nu), list(system.forces.motions))
    M, rows = mass_matrix(system, q)[np.ix_(free, free)], rows_of(system, q, u)
    masses = np.abs(np.diag(M))  # negative where a flexible body is deformed beyond what its modes tell
    if not masses.all():
        return np.inf
    root = 1.0 / np.sqrt(masses)
    M, C = M * root * root[:, None], (rows.C[:, free] * root)
    _, Y = split_space(C / scaled_rows(C)[:, None], rank_tolerance(system, rows), "svd")
    corner = np.zeros((Y.shape[1], Y.shape[1]))
    return float(np.linalg.cond(np.block([[M, Y], [Y.T, corner]]))) if free.size else 1.0


def singular(system: System, q: np.ndarray, u: np.ndarray) -> float:
    """How near a pose is to one in which rows are lost: the largest singular value of C over the least but zeros."""
    sizes = np.linalg.svd(rows_of(system, q, u).C, compute_uv=False)
    sizes = sizes[sizes > 1e-12 * sizes.max(initial=0.0)]
    return float(sizes[0] / sizes[-1]) if sizes.size else 1.0
