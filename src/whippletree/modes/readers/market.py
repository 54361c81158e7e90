"""Matrix Market files (``.mtx``): a line that says what follows, the size, then numbers.

Read here and not by SciPy, whose reader ends the process on some files that are wrong.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy

from ...errors import ModelError

LARGEST_FILE = 2**30  # bytes
MOST_COORDINATES = 500_000
FORMS, FIELDS, SYMMETRIES = ("coordinate", "array"), ("real", "double", "integer"), ("general", "symmetric")


def market(path: Path, what: str) -> Any:
    """The square matrix of real numbers in a file: an array, or a sparse one."""
    where = str(path)
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise ModelError(f"{what}: the file is too large", expected=f"at most {LARGEST_FILE} bytes", where=where)
        lines = path.read_text("ascii").splitlines()
        form, symmetric = _head(lines[0] if lines else "", what, where)
        body = [line for line in lines[1:] if line.strip() and not line.lstrip().startswith("%")]
        size = [int(word) for word in body[0].split()]
        if len(size) != (3 if form == "coordinate" else 2) or min(size) < 0:
            raise ValueError(f"the size is '{body[0][:40]}'")
        if size[0] != size[1] or size[0] > MOST_COORDINATES:
            got = f"{size[0]} x {size[1]}"
            raise ModelError(f"{what}: no square matrix of at most {MOST_COORDINATES} rows", got=got, where=where)
        numbers = np.loadtxt(body[1:], ndmin=2) if len(body) > 1 else np.zeros((0, 1))
        return _coordinate(numbers, size, symmetric) if form == "coordinate" else _array(numbers, size[0], symmetric)
    except FileNotFoundError:
        raise ModelError(f"{what}: there is no such file", where=where) from None
    except ModelError:
        raise
    except (OSError, ValueError, IndexError) as error:
        raise ModelError(
            f"{what}: the file cannot be read as Matrix Market", got=str(error)[:80], where=where
        ) from None


def _head(line: str, what: str, where: str) -> tuple[str, bool]:
    words = line.lower().split()
    known = len(words) == 5 and words[:2] == ["%%matrixmarket", "matrix"]
    if not known or words[2] not in FORMS or words[3] not in FIELDS or words[4] not in SYMMETRIES:
        raise ModelError(
            f"{what}: the file cannot be read as Matrix Market",
            expected=f"%%MatrixMarket matrix, {' or '.join(FORMS)}, real or integer, {' or '.join(SYMMETRIES)}",
            got=repr(line[:80]),
            where=where,
        )
    return words[2], words[4] == "symmetric"


def _coordinate(numbers: np.ndarray, size: list[int], symmetric: bool) -> Any:
    if len(numbers) != size[2] or (size[2] and numbers.shape[1] != 3):
        raise ValueError(f"{len(numbers)} lines of {numbers.shape[1]} numbers for {size[2]} entries of 3")
    at = numbers.reshape(-1, 3)[:, :2]
    if not ((at >= 1) & (at <= size[0]) & (at == np.floor(at))).all():
        raise ValueError("an entry stands outside of the matrix")
    (row, column), data = at.T.astype(int) - 1, numbers.reshape(-1, 3)[:, 2]
    if symmetric:
        other = row != column
        row, column = np.concatenate([row, column[other]]), np.concatenate([column, row[other]])
        data = np.concatenate([data, data[other]])
    return scipy.sparse.csr_array((data, (row, column)), shape=(size[0], size[0]))


def _array(numbers: np.ndarray, n: int, symmetric: bool) -> np.ndarray:
    """Columns after each other; of a symmetric matrix, what is on and below the diagonal."""
    expected = n * (n + 1) // 2 if symmetric else n * n
    if numbers.size != expected:
        raise ValueError(f"{numbers.size} numbers for {expected} entries")
    if not symmetric:
        return numbers.reshape(n, n).T.copy()
    lower = np.zeros((n, n))
    column, row = np.triu_indices(n)
    lower[row, column] = numbers.ravel()
    return lower + np.tril(lower, -1).T
