"""Impulses that put speeds onto constraints at once: what a latch takes to close, or a ball to bounce.

Paper    [kelly1987] eqs (8), (21)-(23), over a moment: M (u+ - u) = C' lam, C u+ = given; temporary constraints.
Symbols  C = B, given = g of the paper; lam are impulses (N s, N m s).
Differs  a row may ask for more than to be met: with a restitution e it leaves C u+ - given = -e (C u - given).
         With M = L L' the least z of (L^-1 C')' z = b is found by singular values, so that rows which say the same
         share their impulse; what they ask for must agree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ..system.system import System
from .constraint_rows import ConstraintRows, rows_of
from .functions import mass_matrix
from .nullspace import rank_tolerance

CONTRADICTS = 1e-7  # of the speeds asked for


class Impulse(NamedTuple):
    """A change of speeds in no time."""

    u: np.ndarray  # (nu)  after
    lam: np.ndarray  # (nr)  impulse of each row
    rows: ConstraintRows  # before
    left: np.ndarray  # (nr)  what rows still lack of what they ask for: not small where they contradict each other


def impulse(system: System, q: np.ndarray, u: np.ndarray, t: float, left_over: np.ndarray) -> Impulse:
    """Onto all constraints at q; ``left_over`` (nr): the rate of each row afterwards, zero but where it bounces."""
    rows = rows_of(system, q, u, t)
    free = np.setdiff1d(np.arange(system.nu), list(system.forces.motions))
    L = cholesky(mass_matrix(system, q)[np.ix_(free, free)], lower=True)
    Y = solve_triangular(L, rows.C[:, free].T, lower=True)
    size = np.linalg.norm(Y, axis=0)
    size[size == 0.0] = 1.0
    U, s, Vt = np.linalg.svd(Y / size, full_matrices=False)
    keep = s > rank_tolerance(system, rows) * max(s.max(initial=0.0), 1e-300)
    lacks = left_over - rows.rate
    part = (Vt[keep] @ (lacks / size)) / s[keep]
    z, after = U[:, keep] @ part, u.copy()
    after[free] += solve_triangular(L, z, lower=True, trans="T")
    lam = (Vt[keep].T @ (part / s[keep])) / size
    return Impulse(after, lam, rows, lacks - Y.T @ z)


def contradicts(found: Impulse, u: np.ndarray) -> np.ndarray:
    """(nr, bool) Rows whose demand is not met."""
    scale = 1.0 + np.abs(u).max(initial=0.0) + np.abs(found.rows.given).max(initial=0.0)
    return np.abs(found.left) > CONTRADICTS * scale
