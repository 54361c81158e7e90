"""Every complaint about structures and modes."""

from __future__ import annotations

import operator
import os
from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ..errors import ModelError, nearest, path_of, warn

if TYPE_CHECKING:
    from .modes import Modes

SYMMETRY = 1e-8  # of the largest entry: what printed matrices of 9 digits keep
ROUNDING = 1e-9  # of the largest eigenvalue: what is left of a zero one in matrices of large structures
STILL = 1e-6  # of the largest motion: modes printed with 7 digits
LARGEST_NUMBER = 1e100  # squares and products of two such still fit in a float
ABSURD = (1e-4, 1e8)  # rad/s: slower than a day, faster than ultrasound


def counted(value: Any) -> int:
    """A whole number; -1 for whatever is none."""
    try:
        return -1 if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        return -1


def is_list(value: Any) -> bool:
    """Whether it is a row of values: neither a text nor a table, nor one number as an array."""
    if type(value) in (tuple, list):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def moved(error: ModelError, where: str | None, label: str = "") -> ModelError:
    """The same complaint about another place; ``label`` is put before it, unless it stands there already."""
    what = error.what if error.what.startswith(label) else f"{label}: {error.what}"
    return ModelError(what, expected=error.expected, got=error.got, where=where, hint=error.hint)


def file(path: str | os.PathLike[str], what: str, largest: int) -> Path:
    """A file that is there and has at most so many bytes."""
    found = path_of(path, what)
    if not found.is_file():
        raise ModelError(f"{what}: there is no file '{found.name}'", where=str(found))
    if found.stat().st_size > largest:
        raise ModelError(f"{what}: the file is too large", expected=f"at most {largest} bytes", where=str(found))
    return found


def known(name: Any, names: Collection[str], what: str) -> str:
    if not isinstance(name, str) or name not in names:
        short = str(name)[:80]
        raise ModelError(f"{what} '{short}' is not known", hint=nearest(short, names))
    return name


def numbers(value: Any, shape: Sequence[int | None], what: str) -> np.ndarray:
    """A finite array; None in ``shape`` admits any length."""
    size = " x ".join("n" if n is None else str(n) for n in shape)
    expected = f"{size} finite numbers" if size else "a finite number"
    try:
        plain = np.asarray(value)
        array = np.array(plain, dtype=float) if plain.dtype.kind in "fiu" or not plain.size else None
    except (TypeError, ValueError, OverflowError):
        array = None
    if array is None:
        raise ModelError(f"{what}: not numbers", expected=expected, got=repr(value)[:80])
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        raise ModelError(f"{what} has the wrong shape", expected=expected, got=" x ".join(map(str, array.shape)))
    if not np.isfinite(array).all():
        raise ModelError(f"{what} is not finite", expected=expected, got=f"{array[~np.isfinite(array)][0]}")
    if abs(array).max(initial=0.0) > LARGEST_NUMBER:
        raise ModelError(
            f"{what} is too large to compute with", expected=f"at most {LARGEST_NUMBER:g}", got=f"{abs(array).max():g}"
        )
    return array


def node_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"n{k}" for k in range(count))
    given = tuple(str(name) for name in names)
    if len(given) != count:
        raise ModelError("node names: the wrong number", expected=f"{count}, one for each node", got=len(given))
    times = Counter(given)
    for name in given:
        if times[name] > 1:
            raise ModelError(f"node '{name}' is defined twice", hint="give each a name of its own")
        if not name.strip() or "/" in name or not name.isprintable() or len(name) > 200:
            raise ModelError("node name cannot be used", expected="printable characters without '/'", got=repr(name))
    return given


def names(value: Any, what: str) -> list[str]:
    """One text, or several."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Sequence | np.ndarray) or not all(isinstance(name, str) for name in value):
        raise ModelError(f"{what} are not names", expected="a text, or a list of texts", got=repr(value)[:80])
    return [str(name) for name in value]


def symmetric(value: Any, count: int, what: str) -> np.ndarray:
    return evened(numbers(value, (count, count), what), what)


def evened(matrix: Any, what: str) -> Any:
    """The symmetric part of a square matrix, an array or sparse; what is left must be rounding."""
    gap = abs(matrix - matrix.T)
    if matrix.shape[0] and gap.max() > SYMMETRY * abs(matrix).max():
        i, j = np.unravel_index(int(gap.argmax()), gap.shape)
        got = f"{matrix[i, j]:.9g} at ({i}, {j}), {matrix[j, i]:.9g} at ({j}, {i})"
        raise ModelError(f"{what} is not symmetric", expected="a symmetric matrix", got=got)
    return 0.5 * (matrix + matrix.T)


def stiffness(value: Any, count: int) -> np.ndarray:
    """Symmetric, and no motion gives energy away."""
    matrix = symmetric(value, count, "stiffness")
    least, most = _extremes(matrix)
    if least < -ROUNDING * abs(most):
        raise ModelError(
            "stiffness is not positive semi-definite",
            expected="no motion with negative energy",
            got=f"an eigenvalue {least:.6g} beside {most:.6g}, each coordinate scaled by its own stiffness",
        )
    return matrix


def scaled(matrix: np.ndarray) -> np.ndarray:
    """With ones on the diagonal, so that rotations and lengths, soft and stiff, weigh the same."""
    size = np.sqrt(abs(np.diag(matrix)))
    size = np.where(size > 0.0, size, 1.0)
    return matrix / size / size[:, None]


def _extremes(matrix: np.ndarray) -> tuple[float, float]:
    """Least and largest eigenvalue of a symmetric matrix, scaled."""
    if not len(matrix):
        return 0.0, 0.0
    with np.errstate(over="ignore"):
        even = scaled(matrix)
    largest = float(abs(even).max())
    if largest > 1.0 + ROUNDING:  # |a_ij| <= sqrt(a_ii a_jj) in a matrix without negative eigenvalues
        return -largest, largest
    least, most = scipy.linalg.eigvalsh(even)[[0, -1]]
    return float(least), float(most)


def mass_matrix(value: Any, count: int) -> np.ndarray:
    matrix = symmetric(value, count, "mass")
    least, most = _extremes(matrix)
    if least < -ROUNDING * abs(most) or most <= 0.0:
        raise ModelError(
            "mass is not positive",
            expected="a symmetric matrix without negative eigenvalues",
            got=f"eigenvalues from {least:.6g} to {most:.6g}, each coordinate scaled by its own mass",
        )
    return matrix


def masses(mass: np.ndarray, inertia: np.ndarray) -> None:
    """Of mass points."""
    worst = int(np.argmin(mass)) if len(mass) else 0
    if not len(mass) or mass[worst] < 0.0 or mass.sum() <= 0.0:
        got = f"{mass[worst]:.6g} at node {worst}" if len(mass) else "no nodes"
        raise ModelError("mass is not positive", expected="masses >= 0, not all zero", got=got)
    for k, tensor in enumerate(inertia):
        moments = np.linalg.eigvalsh(symmetric(tensor, 3, f"inertia of node {k}"))
        if moments[0] < -ROUNDING * abs(moments).max():
            raise ModelError(f"inertia of node {k} is not positive", expected="moments >= 0", got=moments.tolist())


def independent(mass: np.ndarray, stiff: np.ndarray) -> np.ndarray:
    """Frequencies of modes that are independent and all cost energy."""
    if not len(mass):
        return np.zeros(0)
    least, most = _extremes(mass)
    if least <= ROUNDING * most:
        raise ModelError(
            "modes are linearly dependent",
            expected="modes whose mass matrix is positive definite",
            got=f"an eigenvalue {least:.3g} beside {most:.3g}, each mode scaled by its own mass",
            hint="leave out modes that repeat others",
        )
    squares = scipy.linalg.eigh(stiff, mass, eigvals_only=True)
    if squares[0] <= ROUNDING * squares[-1]:
        raise ModelError(
            "modes contain rigid motion",
            expected="modes that all cost energy; the body's frame moves by its joint",
            got=f"a frequency {np.sqrt(max(squares[0], 0.0)):.3g} beside {np.sqrt(squares[-1]):.3g} rad/s",
            hint="leave out the rigid modes",
        )
    return sensible(np.sqrt(squares))


def sensible(frequencies: np.ndarray) -> np.ndarray:
    """Warn of a first frequency that no structure has."""
    low, high = ABSURD
    if len(frequencies) and not low <= frequencies[0] <= high:
        warn(f"the first frequency is {frequencies[0]:.6g} rad/s: are lengths in m, masses in kg, stiffness in N/m?")
    return frequencies


def still(modes: Modes, inboard: str) -> None:
    """The inboard node of modes that are not free."""
    k = modes.node(inboard)
    for word, motion in (("moves", modes.phi), ("turns", modes.psi)):
        here = abs(motion[k]).max(initial=0.0)
        if here > STILL * abs(motion).max(initial=0.0):
            a = int(np.argmax(abs(motion[k]).max(axis=0)))
            raise ModelError(
                f"inboard node '{inboard}' {word} in {modes.kind} modes",
                expected="a node that is held in every mode",
                got=f"{here:.6g} in mode {a}, and at most {abs(motion).max():.6g} elsewhere",
                hint="modes of kind 'free' may move it",
            )


def no_second_order(why: str) -> ModelError:
    return ModelError(
        "fidelity 'stiffened' needs the geometric stiffness of the structure",
        expected="a beam, a solid mesh, or geometric=... given to the structure",
        got=why,
        hint="fidelity='full' leaves stiffening out",
    )


def slopes(r: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """Relative displacement over distance, the largest of each mode: a strain when nothing better is known."""
    steps = np.linalg.norm(r[1:] - r[:-1], axis=1)
    far = steps > 0.0
    change = np.linalg.norm(phi[1:] - phi[:-1], axis=1)[far] / steps[far, None]
    return change.max(axis=0, initial=0.0)


def free_of_ground(K: Any, rigid: np.ndarray) -> None:
    """Rigid motion must cost no energy: the body's frame moves by its joint."""
    for name, motion in zip(("along x", "along y", "along z", "about x", "about y", "about z"), rigid.T, strict=True):
        force, scale = abs(K @ motion).max(initial=0.0), (abs(K) @ abs(motion)).max(initial=0.0)
        if force > 1e-6 * scale:  # matrices printed with 7 digits
            raise ModelError(
                f"stiffness resists rigid motion {name}",
                expected="a structure that is joined to nothing",
                got=f"a force {force:.3g} beside {scale:.3g} inside the structure",
                hint="take supports out of the matrices; joints of the model hold the body",
            )
