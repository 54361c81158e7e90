"""Linear algebra of structures: static displacements and lowest modes. Small systems dense, large ones sparse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from ..errors import ModelError
from .check import ROUNDING

LARGEST_DENSE = 1500  # coordinates: a second for all modes
Matrix = Any  # an array, or a sparse matrix


def compact(matrix: Matrix) -> Matrix:
    """An array if it is small, else sparse rows."""
    if matrix.shape[0] <= LARGEST_DENSE:
        return matrix.toarray() if scipy.sparse.issparse(matrix) else np.asarray(matrix, dtype=float)
    return scipy.sparse.csr_array(matrix)


def part(matrix: Matrix, rows: np.ndarray, columns: np.ndarray) -> Matrix:
    return matrix[np.ix_(rows, columns)] if isinstance(matrix, np.ndarray) else matrix[rows][:, columns]


def solver(K: Matrix) -> Callable[[np.ndarray], np.ndarray]:
    """K^-1 for a positive definite K; a mechanism is refused."""
    if isinstance(K, np.ndarray):
        if not len(K):
            return lambda F: F
        if np.diag(K).min() <= 0.0:
            raise mechanism()
        size = np.sqrt(np.diag(K))
        try:
            factor = scipy.linalg.cho_factor(K / size / size[:, None])
        except np.linalg.LinAlgError:
            raise mechanism() from None
        if np.diag(factor[0]).min() ** 2 < 1e-14:  # a pivot of rounding beside ones
            raise mechanism()
        return lambda F: (scipy.linalg.cho_solve(factor, (F.T / size).T).T / size).T
    try:
        options = {"SymmetricMode": True}
        lu = scipy.sparse.linalg.splu(K.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=options)
    except RuntimeError:
        raise mechanism() from None
    pivots = lu.U.diagonal()
    if pivots.min() <= 1e-14 * pivots.max():
        raise mechanism()
    return lu.solve


def mechanism() -> ModelError:
    return ModelError(
        "the structure can move without being deformed when its inboard node is held",
        expected="a stiffness that is positive definite then",
        got="a motion without energy, or with a negative one",
        hint="a node without rotations cannot hold a body: gather several nodes into one",
    )


def lowest(K: Matrix, M: Matrix, shift: float, wanted: int, limit: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Squares of frequencies, ascending, and modes with V' M V = 1.

    All of a small system; of a large one so many as wanted, and more until their squares pass the limit.

    1 / (λ + shift) are the largest eigenvalues of M against K + shift M, which are found to full accuracy.
    """
    if not isinstance(K, np.ndarray):
        return _lowest_sparse(K, M, shift, wanted, limit)
    n = len(K)
    count, group = scipy.sparse.csgraph.connected_components(
        scipy.sparse.csr_array((abs(K) > 0.0) | (abs(M) > 0.0)), directed=False
    )
    squares, vectors = [], []
    for c in range(count):  # apart, so that equal frequencies of different parts do not mix
        rows = np.flatnonzero(group == c)
        k, m = K[np.ix_(rows, rows)], M[np.ix_(rows, rows)]
        try:
            mu, v = scipy.linalg.eigh(m, k + shift * m)
        except np.linalg.LinAlgError:
            raise mechanism() from None
        has_mass = mu > 1e-15 * mu.max(initial=0.0)
        mu, v = mu[has_mass], v[:, has_mass]
        whole = np.zeros((n, len(mu)))
        whole[rows] = v / np.sqrt(mu)  # v' (k + shift m) v = 1, so v' m v = mu
        squares.append(1.0 / mu - shift)
        vectors.append(whole)
    found, modes = np.concatenate(squares or [np.zeros(0)]), np.concatenate(vectors or [np.zeros((0, 0))], axis=1)
    order = np.argsort(found, kind="stable")
    return found[order], modes[:, order]


def _lowest_sparse(K: Matrix, M: Matrix, shift: float, wanted: int, limit: float) -> tuple[np.ndarray, np.ndarray]:
    inverse = solver(K + shift * M if shift else K)
    operator = scipy.sparse.linalg.LinearOperator(K.shape, matvec=inverse)
    start = np.ones(K.shape[0])  # the same modes every time
    most = K.shape[0] - 2
    k = min(wanted, most)
    while True:
        squares, v = scipy.sparse.linalg.eigsh(K, k=k, M=M, sigma=-shift, which="LM", OPinv=operator, v0=start)
        if k == most or squares.max() > limit:
            break
        k = min(2 * k, most)
    order = np.argsort(squares)
    return squares[order], v[:, order]


def not_rigid(squares: np.ndarray, modes: np.ndarray, rigid: int, shift: float) -> tuple[np.ndarray, np.ndarray]:
    """The modes above the rigid ones, which must be as many as there are ways to move without deformation."""
    zero = int((squares < ROUNDING**0.5 * shift).sum())
    if zero != rigid:
        raise ModelError(
            "free modes contain motion without deformation",
            expected=f"{rigid} rigid modes",
            got=f"{zero} of zero frequency",
            hint="the structure falls apart, or a part of it is not joined",
        )
    return squares[rigid:], modes[:, rigid:]
