"""Structures from mass and stiffness matrices with the places of their nodes: arrays, ``.npz`` or Matrix Market."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ...errors import ModelError, nearest, path_of
from .. import check
from ..mass import mass_of, rigid_motion
from ..solve import LARGEST_DENSE, Matrix, compact
from ..structure import Geometric, Structure
from .market import MOST_COORDINATES, market
from .npz import arrays

KEYS = ("M", "K", "r", "names", "dofs")


def structure(
    source: str | os.PathLike[str] | None = None,
    *,
    M: Any = None,
    K: Any = None,
    r: Any = None,
    names: Sequence[str] | None = None,
    dofs: Any = None,
    geometric: Geometric | None = None,
) -> Structure:
    """A structure from its mass and stiffness matrices ``M`` and ``K`` and the places ``r`` (nn, 3) of its nodes.

    Matrices are arrays, SciPy's sparse ones, or files of Matrix Market (``.mtx``). ``source`` is an ``.npz`` that holds
    arrays of these names; sparse ones are there as ``M_row``, ``M_col`` and ``M_data``. Rows are [x y z] or [x y z θx
    θy θz] of node after node; in any other order, ``dofs`` (n, 2) gives node and component (0 to 5) of each. Nodes are
    called n0, n1 ... without ``names``. Units are m, kg, N. ``geometric(u)`` is the geometric
    stiffness of a displacement u, linear in it.

    A mass matrix that is a rigid body at each node is taken as that. In any other, displacements of the deformed body
    are interpolated as the matrix does it, which is exact for solid elements.
    """
    given = {"M": M, "K": K, "r": r, "names": names, "dofs": dofs}
    if source is not None:
        given = _read(source, {k: v for k, v in given.items() if v is not None})
    for key in ("M", "K", "r"):
        if given.get(key) is None:
            raise ModelError(
                f"structure: {key} is missing", expected="M, K and r", where=str(source) if source else None
            )
    try:
        return _structure(**given, geometric=geometric)
    except ModelError as error:
        if source is None or error.where is not None:
            raise
        raise check.moved(error, str(source)) from None


def _structure(M: Any, K: Any, r: Any, names: Any, dofs: Any, geometric: Geometric | None) -> Structure:
    places = check.numbers(r, (None, 3), "places of nodes")
    mass, stiffness = _matrix(M, "mass"), _matrix(K, "stiffness")
    n, nn = mass.shape[0], len(places)
    if stiffness.shape != mass.shape:
        raise ModelError(
            "stiffness has the wrong shape", expected=f"{n} x {n}, as mass", got=f"{stiffness.shape[0]} rows"
        )
    rows = _rows(dofs, n, nn)
    T = scipy.sparse.csr_array((np.ones(n), (rows, np.arange(n))), shape=(6 * nn, n))
    return assembled(names, places, mass, stiffness, T, geometric)


def assembled(names: Any, r: np.ndarray, M: Matrix, K: Matrix, T: Any, geometric: Geometric | None = None) -> Structure:
    """The structure of matrices that are of one size, once they are checked."""
    M, K = _checked(M, "mass"), _checked(K, "stiffness")
    full = scipy.sparse.csr_array(T @ scipy.sparse.csr_array(M) @ T.T)
    rigid = T.T @ rigid_motion(r, np.zeros(3))
    return Structure(check.node_names(names, len(r)), r, M, K, T, rigid, mass_of(r, full), geometric=geometric)


def _read(source: str | os.PathLike[str], given: dict[str, Any]) -> dict[str, Any]:
    path = path_of(source, "the structure")
    if path.suffix != ".npz":
        raise ModelError(
            f"'{path.name}' is not read as a structure",
            expected="a file .npz; M and K may be files .mtx",
            got=path.suffix or "no suffix",
            where=str(path),
        )
    found = arrays(path)
    for key in ("M", "K"):
        triplet = tuple(f"{key}_{part}" for part in ("row", "col", "data"))
        if all(name in found for name in triplet):
            row, column, data = (found.pop(name) for name in triplet)
            found[key] = _from_triplet(row, column, data, key)
    for key in found:
        if key not in KEYS:
            raise ModelError(f"structure: '{key[:80]}' is not known", where=str(path), hint=nearest(key[:80], KEYS))
    return dict.fromkeys(KEYS) | found | given


def _from_triplet(row: np.ndarray, column: np.ndarray, data: np.ndarray, key: str) -> Any:
    try:
        row, column = row.astype(np.int64), column.astype(np.int64)
        n = int(max(row.max(initial=-1), column.max(initial=-1))) + 1
        if n > MOST_COORDINATES or min(row.min(initial=0), column.min(initial=0)) < 0:
            raise ValueError
        return scipy.sparse.csr_array((data, (row, column)), shape=(n, n))
    except (TypeError, ValueError, OverflowError):
        raise ModelError(
            f"structure: {key} is no sparse matrix", expected=f"{key}_row, {key}_col, {key}_data"
        ) from None


def _matrix(value: Any, what: str) -> Matrix:
    """An array or sparse matrix; a path is read as Matrix Market."""
    if isinstance(value, str | os.PathLike):
        return _matrix(market(Path(value), what), what)
    if scipy.sparse.issparse(value):
        matrix = scipy.sparse.csr_array(value, dtype=float)
        if matrix.shape[0] != matrix.shape[1] or not np.isfinite(matrix.data).all():
            raise ModelError(f"{what} is no square matrix of finite numbers", got=" x ".join(map(str, matrix.shape)))
        return matrix
    matrix = check.numbers(value, (None, None), what)
    if matrix.shape[0] != matrix.shape[1]:
        raise ModelError(
            f"{what} has the wrong shape", expected="a square matrix", got=" x ".join(map(str, matrix.shape))
        )
    return matrix


def _rows(dofs: Any, n: int, nn: int) -> np.ndarray:
    """The row of each coordinate among [x y z θx θy θz] of all nodes."""
    if dofs is None:
        if n not in (3 * nn, 6 * nn):
            raise ModelError(
                "structure: rows of the matrices do not fit the nodes",
                expected=f"3 or 6 for each of {nn} nodes",
                got=f"{n} rows",
                hint="dofs=... gives node and component of each row",
            )
        return np.arange(6 * nn).reshape(nn, 6)[:, : n // nn].ravel()
    table = check.numbers(dofs, (n, 2), "structure: dofs")
    node, component = table.astype(int).T
    wrong = (table != table.astype(int)).any(axis=1) | (node < 0) | (node >= nn) | (component < 0) | (component > 5)
    if wrong.any():
        k = int(np.argmax(wrong))
        raise ModelError(
            f"structure: dofs of row {k} are not known",
            expected=f"a node 0 to {nn - 1} and a component 0 to 5",
            got=table[k].tolist(),
        )
    rows = 6 * node + component
    if len(np.unique(rows)) < n:
        raise ModelError("structure: dofs are defined twice", expected="each component of a node once")
    return rows


def _checked(matrix: Matrix, what: str) -> Matrix:
    """Symmetric, and of a small structure also of no negative eigenvalue: a large one shows that when it is solved."""
    n = matrix.shape[0]
    if n <= LARGEST_DENSE:
        dense = matrix.toarray() if scipy.sparse.issparse(matrix) else matrix
        return check.mass_matrix(dense, n) if what == "mass" else check.stiffness(dense, n)
    matrix = scipy.sparse.csr_array(matrix)
    even = check.evened(matrix, what)
    if what == "mass" and not (matrix.diagonal().min() >= 0.0 < matrix.diagonal().max()):
        raise ModelError("mass is not positive", expected="no negative diagonal", got=f"{matrix.diagonal().min():.6g}")
    return compact(even)
