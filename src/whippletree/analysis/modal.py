"""Poles and shapes of M x'' + D x' + K x = 0, each with its noise known, so that zero is zero."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import eig, eigh

from .differences import ROUNDING

ASYMMETRY = 1e-9  # of K, relative: above it forces are not those of a potential


class Small(NamedTuple):
    """A system near equilibrium, and the sizes against which its numbers are judged."""

    M: np.ndarray  # (n, n) mass matrix
    K: np.ndarray  # (n, n) stiffness
    D: np.ndarray  # (n, n) damping
    force: np.ndarray  # (n) size of the forces
    units: np.ndarray  # (n) size of the displacements

    def noise(self, shapes: np.ndarray) -> np.ndarray:
        """What rounding can add to x' K x of each column of shapes: K[i, j] is known to ROUNDING force_i / unit_j."""
        return ROUNDING * (self.force @ np.abs(shapes)) * ((1 / self.units) @ np.abs(shapes))


def poles_and_shapes(small: Small) -> tuple[np.ndarray, np.ndarray]:
    """Poles (k), one of each conjugate or opposite pair, and shapes (k, n), of any size.

    Undamped: k = n, a pole is i omega (it oscillates), 0 (nothing resists), or a growth rate > 0.
    """
    M, K, D, force, _ = small
    if (np.abs(D) > ROUNDING * np.maximum.outer(force, force)).any():
        poles, shapes = _damped(small)
    elif np.abs(K - K.T).max() > ASYMMETRY * np.abs(K).max():
        poles, shapes = _circulatory(small)
    else:
        squares, shapes = eigh((K + K.T) / 2, M)  # shapes' M shapes = 1
        least = small.noise(shapes) + 10 * M.shape[0] * np.finfo(float).eps * np.abs(squares).max()
        poles = np.sqrt(np.where(np.abs(squares) <= least, 0.0, -squares).astype(complex))
    order = np.lexsort((np.abs(poles), -np.maximum(poles.real, 0.0)))
    return poles[order], shapes.T[order]


def _circulatory(small: Small) -> tuple[np.ndarray, np.ndarray]:
    """K is not symmetric: constant torques in axes that turn with a body do work around a loop; flutter is possible."""
    squares, shapes = eig(small.K, small.M)
    shapes = shapes / np.sqrt(np.abs(np.einsum("ik,ij,jk->k", shapes.conj(), small.M, shapes)))
    least = small.noise(shapes) + ASYMMETRY * np.abs(squares)
    squares = np.where(np.abs(squares.imag) <= least, squares.real, squares)
    squares = np.where(np.abs(squares) <= least, 0.0, squares)
    poles = np.sqrt(-squares)
    # a conjugate pair of squares is four poles: +-a +-ib; one square stands for the growing mode, one for the decaying
    poles = np.where(squares.imag > 0, poles.conj(), np.where(squares.imag < 0, -poles.conj(), poles))
    return poles, shapes


def _damped(small: Small) -> tuple[np.ndarray, np.ndarray]:
    M, K, D, _, _ = small
    n = M.shape[0]
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
    poles, shapes = np.linalg.eig(A)
    keep = poles.imag >= 0
    poles, shapes = poles[keep], shapes[:n, keep]
    shapes = shapes / np.sqrt(np.abs(np.einsum("ik,ij,jk->k", shapes.conj(), M, shapes)))
    return np.where(np.abs(poles) ** 2 <= small.noise(shapes), 0.0, poles), shapes
