"""Zeros of several functions of time over an interval, isolated so that none is skipped.

Paper    [trefethen2013] chapters 2, 3 and 18: the polynomial through Chebyshev points, the decay of its coefficients as
         a measure of how well it represents a function, and roots by subdivision.
Symbols  c_k are coefficients of Chebyshev polynomials T_k on an interval mapped to -1 <= x <= 1.
Differs  no roots of polynomials are computed: an interval is halved until every function on it is free of zeros, or
         crosses zero and is monotone, or is within rounding of zero. Bounds of a polynomial follow from its values on a
         finer Chebyshev grid (Ehlich and Zeller: at most 1/cos(n pi / 2 m) of the largest of m + 1 values, for degree
         n). What the polynomial does not represent is estimated by REMAINDER times its last coefficients. A function
         with a declared bound of its rate is free of zeros only where that bound proves it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

COARSE, FINE = 4, 8  # degrees: of the first look at a step, and of all others
GRID = 64  # intervals of the grid on which a polynomial is bounded
BEYOND = 0.02  # of half its range: how far a polynomial of degree 8 may go beyond its values on the grid
LAST = 3  # coefficients that tell what a polynomial leaves out: those of a kink vary in sign and size with its place
REMAINDER = 8.0  # they fall like 1/k^2, so that all that follow are some 3 times the last three
ROUNDING = 2e-15  # of the largest value
NEXT = 0.125  # its square is beyond BEYOND / 2
SHORTEST = 1e-15  # s, and of the time: shorter intervals are not halved
MOST = 20_000  # intervals in one step: beyond, as for a function that is all noise, ends decide


class Shape(NamedTuple):
    """What is known of each function on an interval, (columns) each."""

    above: np.ndarray  # positive throughout
    below: np.ndarray  # negative throughout
    simple: np.ndarray  # monotone through zero, or within rounding of it throughout: one zero, which ends tell


class Piece(NamedTuple):
    """An interval on which no function has zeros that its ends do not tell."""

    a: float
    b: float
    at_a: np.ndarray  # (columns)
    at_b: np.ndarray
    noise: np.ndarray


def _matrices(degree: int) -> tuple[np.ndarray, ...]:
    """Points, values to coefficients, coefficients to values and to slopes on the grid."""
    points = -np.cos(np.pi * np.arange(degree + 1) / degree)
    grid = -np.cos(np.pi * np.arange(GRID + 1) / GRID)
    to_values = np.polynomial.chebyshev.chebvander(grid, degree)
    slopes = np.polynomial.chebyshev.chebvander(grid, degree - 1) @ np.polynomial.chebyshev.chebder(np.eye(degree + 1))
    return points, np.linalg.inv(np.polynomial.chebyshev.chebvander(points, degree)), to_values, slopes


_MATRICES = {degree: _matrices(degree) for degree in (COARSE, FINE)}


def nodes(a: float, b: float, degree: int) -> np.ndarray:
    """(degree + 1) Times at which a function over an interval is taken, both ends among them."""
    t = 0.5 * (a + b) + 0.5 * (b - a) * _MATRICES[degree][0]
    t[0], t[-1] = a, b
    return t


def shape_of(t: np.ndarray, values: np.ndarray, noise: np.ndarray, rate: np.ndarray) -> Shape:
    """Of functions with these values (degree + 1, columns) at the nodes of an interval.

    ``noise`` (columns): values below are rounding. ``rate`` (columns): declared bounds of the rate, or NaN. Times
    (degree + 1, columns) are of columns on intervals of their own.
    """
    degree = len(t) - 1
    _, to_coefficients, to_values, to_slopes = _MATRICES[degree]
    c = to_coefficients @ values
    last = np.abs(c[-LAST:]).sum(axis=0)
    rest = REMAINDER * last + ROUNDING * np.abs(values).max(axis=0)
    least, most = _bounds(to_values @ c, rest)
    falls, rises = _bounds(to_slopes @ c, rest * degree * degree)
    declared = np.isfinite(rate)
    if declared.any():
        pairs, apart = (
            values[:-1] + values[1:],
            np.diff(t.reshape(degree + 1, -1), axis=0) * np.where(declared, rate, 0.0),
        )
        least = np.where(declared, 0.5 * (pairs - apart).min(axis=0), least)
        most = np.where(declared, 0.5 * (pairs + apart).max(axis=0), most)
    tiny, a, b = np.abs(values) <= noise, values[0], values[-1]
    # a kink next to an end hardly shows in slopes: of a function that keeps its sign its range must tell
    crosses = (a * b < 0.0) | tiny[0] | tiny[-1]
    return Shape(least > 0.0, most < 0.0, tiny.all(axis=0) | (crosses & ((falls > 0.0) | (rises < 0.0))))


def shapes_of(t: np.ndarray, values: np.ndarray, noise: np.ndarray, rate: np.ndarray) -> Shape:
    """(parts, columns) The same on many intervals, with times (parts, degree + 1) and values (.., .., columns)."""
    parts, count, columns = values.shape
    together = values.swapaxes(0, 1).reshape(count, -1)
    found = shape_of(np.repeat(t.T, columns, axis=1), together, np.tile(noise, parts), np.tile(rate, parts))
    return Shape(*(x.reshape(parts, columns) for x in found))


def _bounds(values: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    least, most = values.min(axis=0), values.max(axis=0)
    beyond = 0.5 * BEYOND * (most - least) + rest
    return least - beyond, most + beyond


def spans(t: np.ndarray, speed: np.ndarray, farthest: float) -> np.ndarray:
    """(parts + 1) Ends of parts of an interval in which something at these velocities goes no farther.

    Between two times it goes as fast as at the faster one.
    """
    gone = np.concatenate([[0.0], np.cumsum(np.diff(t) * np.maximum(speed[:-1], speed[1:]))])
    parts = max(1, int(np.ceil(gone[-1] / farthest)))
    return np.concatenate([t[:1], np.interp(gone[-1] * np.arange(1, parts) / parts, gone, t), t[-1:]])


def pieces(
    sample: Callable[[np.ndarray], np.ndarray],
    start: float,
    end: float,
    noise: Callable[[float], np.ndarray],
    rate: np.ndarray,
    settled: Callable[[Shape], bool],
) -> Iterator[Piece]:
    """Pieces of an interval, in order of time, halved until ``settled`` of their shape.

    ``sample(t)`` gives values (times, columns), ``noise(t)`` how much of them is rounding there.
    """
    waiting, taken = [(float(start), float(end))], 0
    while waiting:
        a, b = waiting.pop()
        t, taken = nodes(a, b, FINE), taken + 1
        values = sample(t)
        middle = 0.5 * (a + b)
        rounding = noise(middle)
        shape = shape_of(t, values, rounding, rate)
        small = b - a <= SHORTEST * max(1.0, abs(b)) or not a < middle < b or taken > MOST
        if small or settled(shape) or not np.isfinite(values).all():
            yield Piece(a, b, values[0], values[-1], rounding)
        else:
            cut = a + _share(values, rounding, shape) * (b - a)
            cut = cut if a < cut < b else middle
            waiting += [(cut, b), (a, cut)]


def _share(values: np.ndarray, noise: np.ndarray, shape: Shape) -> float:
    """Where to cut an interval: half of it, or next to an end where something that is not settled touches zero.

    It may do so like a parabola, which is free of zeros beyond NEXT of the interval, and there again.
    """
    open_ = ~(shape.above | shape.below | shape.simple)
    at_a, at_b = ((np.abs(values[n]) <= noise) & open_ for n in (0, -1))
    return 0.5 if at_a.any() == at_b.any() else NEXT if at_a.any() else 1.0 - NEXT
