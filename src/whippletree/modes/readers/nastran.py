"""Structures from Nastran: grid points of a bulk file, matrices of DMIG cards, ``.op4`` or ``.op2``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ...errors import ModelError, nearest, path_of
from .. import check
from ..structure import Structure
from .bulk import dmig, matrices_of
from .grid import grid as points_of
from .market import LARGEST_FILE, MOST_COORDINATES
from .matrices import assembled
from .op2 import op2
from .op4 import op4

# pairs of names, mass and stiffness, in the order they are looked for
USUAL = (("MGG", "KGG"), ("MAA", "KAA"), ("MAAX", "KAAX"), ("MXX", "KXX"), ("M", "K"))


def nastran(
    grid: str | os.PathLike[str],
    matrices: str | os.PathLike[str] | None = None,
    *,
    M: str | None = None,
    K: str | None = None,
    names: Mapping[int, str] | None = None,
    dofs: Any = None,
) -> Structure:
    """A structure from the GRID and CORD2 cards of a bulk file and the matrices of an ``.op4`` or ``.op2``.

    Without ``matrices``, DMIG cards of the bulk file are read. ``M`` and ``K`` name the matrices; MGG and KGG, MAA and
    KAA, MAAX and KAAX are found without. Rows are the six components of each grid point, in ascending order; otherwise
    ``dofs`` (n, 2) gives grid point and component (1 to 6) of each row. Nodes are called by their numbers, or by
    ``names``. Units of the files must be m, kg, N; INCLUDE cards are not followed.
    """
    numbers, r, turns = _read(grid, "grid points", points_of)
    if not len(numbers):
        raise ModelError("nastran: the file has no grid points", expected="GRID cards", where=str(grid))
    r = check.numbers(r, (len(numbers), 3), "nastran: places of grid points")
    if matrices is None:
        found, dofs = _read(grid, "DMIG cards", lambda file: matrices_of(_named(dmig(file), M, K, grid), str(grid)))
        mass, stiffness = (0.5 * (x + x.T) for x in found)
    else:
        mass, stiffness = _matrices(path_of(matrices, "the file of matrices"), M, K)
    n, nn = mass.shape[0], len(numbers)
    if mass.shape != (n, n) or stiffness.shape != (n, n) or (dofs is None and n != 6 * nn):
        raise ModelError(
            "nastran: rows of the matrices do not fit the grid points",
            expected=f"6 for each of {nn} grid points",
            got=f"mass {n} x {mass.shape[1]}, stiffness {stiffness.shape[0]} x {stiffness.shape[1]}",
            hint="dofs=... gives grid point and component of each row",
        )
    rows = np.arange(n) if dofs is None else _rows(check.numbers(dofs, (n, 2), "nastran: dofs"), numbers)
    own = scipy.sparse.csr_array((np.ones(n), (rows, np.arange(n))), shape=(6 * nn, n))
    T = scipy.sparse.csr_array(scipy.sparse.block_diag(turns) @ own)
    labels = [(names or {}).get(int(g), int(g)) for g in numbers]
    return assembled(labels, r, mass, stiffness, T)


def _rows(dofs: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    place = np.searchsorted(numbers, dofs[:, 0])
    known = numbers[np.minimum(place, len(numbers) - 1)] == dofs[:, 0]
    good = known & np.isin(dofs[:, 1], np.arange(1, 7))
    if not good.all():
        k = int(np.argmin(good))
        raise ModelError(
            f"nastran: dofs of row {k} are not known",
            expected="a grid point of the bulk file and a component 1 to 6",
            got=dofs[k].tolist(),
        )
    return (6 * place + dofs[:, 1] - 1).astype(int)


def _read(path: str | os.PathLike[str], what: str, reader: Callable[[Path], Any]) -> Any:
    """What a reader makes of a file; readers of binary ones raise whatever they trip over."""
    file = check.file(path, "nastran", LARGEST_FILE)
    try:
        return reader(file)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"nastran: {what} cannot be read", got=str(error)[:80], where=str(file)) from None


def _matrices(path: Path, M: str | None, K: str | None) -> Sequence[Any]:
    readers = {".op4": op4, ".op2": op2}
    if path.suffix.lower() not in readers:
        raise ModelError(f"nastran: '{path.name}' holds no matrices", expected="a file .op4 or .op2", where=str(path))
    found = _read(path, "matrices", readers[path.suffix.lower()])
    chosen = _named({k: k for k in found}, M, K, path)
    for name in chosen:
        rows, columns = found[name].shape
        if rows != columns or not 0 < rows <= MOST_COORDINATES or rows * columns > LARGEST_FILE:
            raise ModelError(
                f"nastran: matrix {name} has the wrong shape",
                expected="square",
                got=f"{rows} x {columns}",
                where=str(path),
            )
    return _read(path, "matrices", lambda _: [found[name].matrix() for name in chosen])


def _named(found: Mapping[str, Any], M: str | None, K: str | None, path: Any) -> tuple[Any, Any]:
    """Mass and stiffness by the names given, or by the usual ones."""
    if (M is None) != (K is None):
        raise ModelError("nastran: one matrix is named and the other is not", expected="M and K, or neither")
    pairs = USUAL if M is None or K is None else ((str(M).upper(), str(K).upper()),)
    for mass, stiffness in pairs:
        if mass in found and stiffness in found:
            return found[mass], found[stiffness]
    wanted = " or ".join(f"{m} and {k}" for m, k in pairs)
    hint = nearest(pairs[0][0], found) if M is not None else "there are: " + (", ".join(list(found)[:12]) or "none")
    raise ModelError("nastran: mass and stiffness are not there", expected=wanted, where=str(path), hint=hint)
