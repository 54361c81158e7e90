"""The equations of motion and constraints, solved for many right-hand sides at one state.

    M e = r + C' mu,    C e = s

by the factors that forward dynamics has: of trees M^-1, of large systems with loops reduction, O(n + m) each; else in
the null space of the constraints. What has a prescribed motion stays: its rows of e are zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics.accuracy.certificate import is_large
from ..dynamics.constraints.jacobian import rows_at
from ..dynamics.constraints.nullspace import rank_tolerance, scaled_rows
from ..dynamics.functions import mass_matrix, mass_matrix_inverse
from ..dynamics.registry import with_corrections
from ..system.system import System


def tree_inverse(system: System, q: np.ndarray, threads: int | None = None) -> np.ndarray:
    """(..., nu, nu) M^-1 of the DOF whose motion is not prescribed, zero elsewhere."""
    if not system.forces.motions:
        return mass_matrix_inverse(system, q, threads=threads)
    free = np.delete(np.arange(system.nu), list(system.forces.motions))
    M, inverse = mass_matrix(system, q), np.zeros((*q.shape[:-1], system.nu, system.nu))
    inverse[..., free[:, None], free] = np.linalg.inv(M[..., free[:, None], free])
    return inverse


class Solver:
    """Of one state with constraints."""

    def __init__(self, system: System, q: np.ndarray, u: np.ndarray, signals: np.ndarray) -> None:
        self.system, self.state = system, (q, u, signals)
        self.free = np.delete(np.arange(system.nu), list(system.forces.motions))
        self.large = is_large(system)
        if not self.large:
            self._factorize()

    def _factorize(self) -> None:
        q, u, signals = self.state
        rows, f = rows_at(self.system, q, u, signals), self.free
        self.M = mass_matrix(self.system, q)[np.ix_(f, f)]
        self.size = scaled_rows(rows.C[:, f], rows.wrenches)[:, None]
        U, d, Vt = np.linalg.svd(rows.C[:, f] / self.size)
        rank = int((d > rank_tolerance(self.system, rows)).sum())
        self.U, self.d, self.Y, self.Z = U[:, :rank], d[:rank, None], Vt[:rank].T, Vt[rank:].T
        self.inner = self.Z.T @ self.M @ self.Z

    def solve(self, r: np.ndarray, s: np.ndarray) -> np.ndarray:
        """e (nu, k) for the columns of r (nu, k) and s (nr, k)."""
        if self.large:
            by: Any = with_corrections(self.system)
            q, u, signals = self.state
            found: np.ndarray = by.corrections(self.system, q, u, r, s, signals)
            return found
        e = np.zeros((self.system.nu, r.shape[1]))
        part = self.Y @ (self.U.T @ (s / self.size) / self.d)
        e[self.free] = part + self.Z @ np.linalg.solve(self.inner, self.Z.T @ (r[self.free] - self.M @ part))
        return e
