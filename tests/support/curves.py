"""Splines of curve joints for the references: quintic, a sum of powers and truncated powers; no line is of `src`.

Knots are where the arc length says: found by repetition, with arc lengths by Simpson's rule on many parts. The frame is
x along the tangent, y along up x tangent; its angular velocity follows from derivatives of the rotation matrix.
"""

from functools import lru_cache
from math import factorial

import numpy as np

PARTS = 256  # of a piece, for its length: the error of Simpson's rule is below 1e-13 of it


def _terms(x, clusters, n):
    """Derivative n of 1, x, ..., x^5 and of (x - knot)^5 where that is positive, (len(x), terms)"""
    x = np.atleast_1d(np.asarray(x, np.longdouble))
    powers = [factorial(p) / factorial(p - n) * x ** (p - n) if p >= n else 0 * x for p in range(6)]
    cut = [factorial(5) / factorial(5 - n) * np.maximum(x - k, 0.0) ** (5 - n) * (x > k) for k in clusters]
    return np.stack(powers + cut, axis=-1)


class Quintic:
    def __init__(self, s, P, closed):
        self.s, self.h, self.closed = s, s[-1], closed
        self.inner, ends = s[1:-1].astype(np.longdouble) / self.h, np.array([0.0, 1.0])
        rows = [_terms(s.astype(np.longdouble) / self.h, self.inner, 0)]
        if closed:
            rows += [np.diff(_terms(ends, self.inner, n), axis=0) for n in (1, 2, 3, 4)]
        else:
            rows += [_terms(ends, self.inner, n) for n in (2, 3)]
        right = np.vstack([P, np.zeros((4, 3))])
        A = np.vstack(rows)
        self.c = np.zeros(right.shape, np.longdouble)
        for _ in range(4):  # powers cancel: what is left is found and taken off with more digits
            self.c += np.linalg.solve(A.astype(float), (right - A @ self.c).astype(float))

    def __call__(self, q, n):
        if self.closed:
            q = q % self.h
        elif np.ndim(q) == 0 and not 0.0 <= q <= self.h:  # straight
            end = 0.0 if q < 0.0 else self.h
            return self(end, n) + (q - end) * self(end, 1) * (n == 0) if n < 2 else np.zeros(3)
        found = (_terms(np.asarray(q, np.longdouble) / self.h, self.inner, n) @ self.c / self.h**n).astype(float)
        return found[0] if np.ndim(q) == 0 else found


def _lengths(curve):
    found = []
    for a, b in zip(curve.s, curve.s[1:], strict=False):
        x = np.linspace(a, b, 2 * PARTS + 1)
        x[-1] -= 1e-13 * curve.h if curve.closed else 0.0  # the end of a closed curve is its beginning
        speed = np.linalg.norm(curve(x, 1), axis=1)
        found.append((b - a) / (6 * PARTS) * (speed[0] + speed[-1] + 4 * speed[1::2].sum() + 2 * speed[2:-1:2].sum()))
    return found


@lru_cache(256)
def splines(points, closed, up):
    P = np.array(points + points[:1] if closed else points)
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(P, axis=0), axis=1))])
    for _ in range(200):
        new = np.concatenate([[0.0], np.cumsum(_lengths(Quintic(s, P, closed)))])
        done = np.abs(new - s).max() < 1e-13 * new[-1]
        s = new
        if done:
            break
    U = np.array(up + up[:1] if closed else up) if np.ndim(up) == 2 else np.tile(up, (len(P), 1))
    return Quintic(s, P, closed), Quintic(s, U, closed)


def _unit(v, d, dd):
    """A vector made of length 1, with two derivatives"""
    size = np.linalg.norm(v)
    n = v / size
    rate = n @ d
    dn = (d - rate * n) / size
    return n, dn, (dd - (dn @ d + n @ dd) * n - 2 * rate * dn) / size


def _crossed(a, b):
    return np.cross(a[0], b[0]), np.cross(a[1], b[0]) + np.cross(a[0], b[1]), (
        np.cross(a[2], b[0]) + 2 * np.cross(a[1], b[1]) + np.cross(a[0], b[2])
    )  # fmt: skip


def _vector(W):
    return np.array([W[2, 1] - W[1, 2], W[0, 2] - W[2, 0], W[1, 0] - W[0, 1]]) / 2


def along(own, q):
    """Rotation, place, and for a unit of speed angular velocity, velocity, and what is left of their derivatives"""
    c, b = splines(own["points"], own["closed"], own["up"])
    place, a = c(q, 0), [c(q, n) for n in (1, 2, 3)]
    if own["orientation"] == "fixed":
        return np.eye(3), place, np.zeros(3), a[0], np.zeros(3), a[1]
    x = _unit(*a)
    y = _unit(*_crossed([b(q, n) for n in (0, 1, 2)], a))
    E, D, DD = (np.column_stack(columns) for columns in zip(x, y, _crossed(x, y), strict=True))
    return E, place, _vector(D @ E.T), a[0], _vector(DD @ E.T + D @ D.T), a[1]
