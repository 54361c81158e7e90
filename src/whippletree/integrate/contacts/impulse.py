"""Impulses that put velocities onto constraints at once: what a latch takes to close, or a ball to bounce.

Paper    [kelly1987] eqs (8), (21)-(23), over a moment: M (u+ - u) = C' lam, C u+ = given; temporary constraints.
Symbols  C = B, given = g of the paper; lam are impulses (N s, N m s).
Differs  a row may ask for more than to be met: with a restitution e it leaves C u+ - given = -e (C u - given).
         With M = L L' the least z of (L^-1 C')' z = b is found by singular values, so that rows which say the same
         share their impulse; what they ask for must agree. Friction of what slides follows its normal impulse, as in
         constraints/sliding.py; loads that are constant, as of a clutch, have no impulse.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ...dynamics.constraints.jacobian import ConstraintRows, rows_of
from ...dynamics.constraints.nullspace import rank_tolerance
from ...dynamics.constraints.sliding import coupling, loads_that_follow
from ...dynamics.functions import mass_matrix
from ...system.system import System

CONTRADICTS = 1e-7  # of the velocities asked for
UNMOVED = 1e-12  # of the row that moves most: rows that no joint can move, as across a planar loop


class Impulse(NamedTuple):
    """A change of velocities in no time."""

    u: np.ndarray  # (nu)  after
    lam: np.ndarray  # (nr)  impulse of each row
    rows: ConstraintRows  # before
    left: np.ndarray  # (nr)  what rows still lack of what they ask for: not small where they contradict each other


def impulse(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    t: float,
    left_over: np.ndarray | float = 0.0,
    push: np.ndarray | float = 0.0,
) -> Impulse:
    """Onto all constraints at q; ``left_over`` (nr): the rate of each row afterwards, zero but where it bounces.

    ``push`` (nu) is an impulse along the DOF that acts besides.
    """
    rows, c = rows_of(system, q, u, t), system.constraints
    free, L, Y = _half_solved(system, q, rows)
    z = solve_triangular(L, np.broadcast_to(push, system.nu)[free], lower=True)
    held, asked = c.follows < 0, left_over - rows.rate
    lacks = np.column_stack([asked - Y.T @ z, -Y.T @ Y[:, ~held]])
    moved, along = _shared(system, rows, Y, lacks)
    share = np.where(c.follows == np.arange(c.count), 0.0, c.share)
    rub = loads_that_follow(c.follows, share, moved[:, 0], moved[:, 1:])
    z = z + along[:, 0] + (Y[:, ~held] + along[:, 1:]) @ rub
    lam = moved[:, 0] + moved[:, 1:] @ rub
    lam[~held] = rub
    after = u.copy()
    after[free] += solve_triangular(L, z, lower=True, trans="T")
    return Impulse(after, lam, rows, np.where(held, asked - Y.T @ z, 0.0))


def _half_solved(system: System, q: np.ndarray, rows: ConstraintRows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """DOF that no motion is prescribed to, L of M = L L' and Y = L^-1 C' there."""
    free = np.setdiff1d(np.arange(system.nu), list(system.forces.motions))
    L = cholesky(mass_matrix(system, q)[np.ix_(free, free)], lower=True)
    return free, L, solve_triangular(L, rows.C[:, free].T, lower=True)


def _shared(system: System, rows: ConstraintRows, Y: np.ndarray, lacks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each column of what rows lack, the multipliers (nr, k) of those that hold, and z = Y lam."""
    held = system.constraints.follows < 0
    H = Y[:, held]
    size = np.linalg.norm(H, axis=0)
    reach = np.abs(rows.wrenches[held]).max(axis=(1, 2), initial=0.0)
    still = np.abs(rows.C[held]).max(axis=1, initial=0.0) <= UNMOVED * reach  # as between bodies that are welded
    size[still | (size <= UNMOVED * size.max(initial=0.0))] = np.inf  # their direction is rounding
    U, s, Vt = np.linalg.svd(H / size, full_matrices=False)
    keep = s > rank_tolerance(system, rows) * max(s.max(initial=0.0), 1e-300)
    part = (Vt[keep] @ (lacks[held] / size[:, None])) / s[keep, None]
    lam = np.zeros(lacks.shape)
    lam[held] = (Vt[keep].T @ (part / s[keep, None])) / size[:, None]
    return lam, U[:, keep] @ part


def friction_pivots(system: System, q: np.ndarray, u: np.ndarray, t: float) -> tuple[list[str], np.ndarray]:
    """Names of what slides, and for each how much of its resistance to being pressed friction leaves: 1 is all."""
    c = system.constraints
    rub = np.flatnonzero(c.follows >= 0)
    if not rub.size:
        return [], np.zeros(0)
    rows = rows_of(system, q, u, t)
    _, _, Y = _half_solved(system, q, rows)
    A = coupling(c.follows, c.share, _shared(system, rows, Y, -Y.T @ Y[:, rub])[0])
    found = A.diagonal().copy()
    for k in range(rub.size):
        found[k] = min(found[k], A[k, k])
        A[k + 1 :] -= np.outer(A[k + 1 :, k] / A[k, k], A[k])
    return [c.owner[r] for r in rub], found


def contradicts(found: Impulse, u: np.ndarray) -> np.ndarray:
    """(nr, bool) Rows whose demand is not met."""
    scale = 1.0 + np.abs(u).max(initial=0.0) + np.abs(found.rows.prescribed).max(initial=0.0)
    return np.abs(found.left) > CONTRADICTS * scale
