"""Friction of what slides: multipliers that follow others, on top of those that hold.

Paper    [lotstedt1981] Coulomb friction in two-dimensional rigid body systems: M u' = f + C' lam + F s, s = mu lam_n,
         with a friction force F s against the slip, whose size follows the normal force.
Symbols  as in multipliers.py: Y = Q R are half solved rows, y = D^1/2 L' u'. Half solved columns of F are Y_F.
Differs  C M^-1 (C' + F mu) is not symmetric and is never formed. Each column of F moves the multipliers by
         -R^-1 Q' Y_F and y by what is left of Y_F beside Q, so that as many equations remain as contacts slide:
         s - mu (multipliers moved by s) = mu lam_n. A load that is constant, as in a clutch, is the same with mu = 0.
         Where rows are redundant, a contact's share is that of the shortest multipliers: null vectors are taken off.
         A pivot that is not positive is a contact that jams: integrate/contacts/friction.py looks for it.
"""

import math

import numpy as np

from ...compiler.lanes import get, kernel, put
from ...kernels.unpack import follows
from ...layout.constraints import FRICTION, NUMBERS


def loads_that_follow(follows: np.ndarray, share: np.ndarray, lam: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """(k) Loads s of the rows that follow others, which move multipliers ``lam`` (nr) by moved (nr, k) @ s."""
    rows = np.flatnonzero(follows >= 0)
    own = follows[rows] == rows
    A = coupling(follows, share, moved)
    return np.linalg.solve(A, np.where(own, share[rows], share[rows] * lam[follows[rows]]))


def coupling(follows: np.ndarray, share: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """(k, k) s - share (multipliers followed, moved by s) as a matrix times s."""
    rows = np.flatnonzero(follows >= 0)
    factor = np.where(follows[rows] == rows, 0.0, share[rows])
    return np.eye(rows.size) - factor[:, None] * moved[follows[rows]]


@kernel
def dot_rows(A, n, r, B, s):
    total = 0.0
    for l in range(n):
        total += get(A, r * n + l) * get(B, s * n + l)
    return total


@kernel
def take_off(A, n, factor, r, B, s):
    """Row s of B less a multiple of row r of A"""
    for l in range(n):
        put(B, s * n + l, get(B, s * n + l) - factor * get(A, r * n + l))


@kernel
def backward(nr, w, rank, f):
    """Row f of R: -R^-1 of what is in ``part``, as multipliers"""
    for r in range(nr):
        put(w.R, f * nr + r, 0.0)
    for n in range(rank - 1, -1, -1):
        r = int(get(w.order, n))
        total = -get(w.part, r)
        for s in range(n + 1, rank):
            other = int(get(w.order, s))
            total -= get(w.R, r * nr + other) * get(w.R, f * nr + other) * get(w.scale, other)
        put(w.R, f * nr + r, total / get(w.R, r * nr + r) / get(w.scale, r))


@kernel
def null_vectors(E, w, rank):
    """Multipliers that move nothing, orthonormal, in the rows of R that belong to rows left out"""
    nr = E.nr
    for n in range(rank, nr):
        f = int(get(w.order, n))
        if follows(E, f) >= 0 or get(w.scale, f) == 0.0:
            continue
        for s in range(rank):
            r = int(get(w.order, s))
            put(w.part, r, get(w.scale, f) * get(w.R, r * nr + f))
        backward(nr, w, rank, f)
        put(w.R, f * nr + f, 1.0)
        shorten(E, w, rank, n, w.R, f)
        length = math.sqrt(dot_rows(w.R, nr, f, w.R, f))
        for r in range(nr):
            put(w.R, f * nr + r, get(w.R, f * nr + r) / length)


@kernel
def shorten(E, w, rank, stop, A, r):
    """Row r of A without null vectors, those of rows left out before ``stop``"""
    for _ in range(2):
        for n in range(rank, stop):
            f = int(get(w.order, n))
            if follows(E, f) < 0 and get(w.scale, f) > 0.0:
                take_off(w.R, E.nr, dot_rows(w.R, E.nr, f, A, r), f, A, r)


@kernel
def slide(nu, E, w, rank):
    """Loads of friction, whose Y is half solved, join the multipliers lam; y is what they add to the motion, if any"""
    nr, friction = E.nr, 0
    for f in range(nr):
        friction += 1 if follows(E, f) >= 0 else 0
    if friction == 0:
        return False
    null_vectors(E, w, rank)
    shorten(E, w, rank, nr, w.lam, 0)
    for f in range(nr):
        if follows(E, f) < 0:
            continue
        for n in range(rank):
            put(w.part, int(get(w.order, n)), 0.0)
        for _ in range(2):
            for n in range(rank):
                r = int(get(w.order, n))
                along = dot_rows(w.Y, nu, r, w.Y, f)
                take_off(w.Y, nu, along, r, w.Y, f)
                put(w.part, r, get(w.part, r) + along)
        backward(nr, w, rank, f)
        shorten(E, w, rank, nr, w.R, f)
    couple(E, w)
    for l in range(nu):
        put(w.y, l, 0.0)
    for f in range(nr):
        if follows(E, f) < 0:
            continue
        s = get(w.lam, f)
        for r in range(nr):
            if follows(E, r) < 0:
                put(w.lam, r, get(w.lam, r) + s * get(w.R, f * nr + r))
        for l in range(nu):
            put(w.y, l, get(w.y, l) + s * get(w.Y, f * nu + l))
    return True


@kernel
def couple(E, w):
    """lam of friction rows: s_i - mu_i sum_j (row followed by i, moved by j) s_j = mu_i lam of that row"""
    nr = E.nr
    for i in range(nr):
        n = follows(E, i)
        if n < 0:
            continue
        factor = E.numbers[NUMBERS * E.element[i] + FRICTION]
        put(w.lam, i, factor if n == i else factor * get(w.lam, n))
        for j in range(nr):  # the matrix lies where responses have no other use for their entries
            if follows(E, j) >= 0:
                put(w.part, j, 0.0 if n == i else factor * get(w.R, j * nr + n))
        for j in range(nr):
            if follows(E, j) >= 0:
                put(w.R, j * nr + i, (1.0 if i == j else 0.0) - get(w.part, j))  # entry (i, j), transposed
    for k in range(nr):
        if follows(E, k) < 0:
            continue
        for i in range(k + 1, nr):
            if follows(E, i) >= 0:
                factor = get(w.R, k * nr + i) / get(w.R, k * nr + k)
                put(w.lam, i, get(w.lam, i) - factor * get(w.lam, k))
                for j in range(k + 1, nr):
                    if follows(E, j) >= 0:
                        put(w.R, j * nr + i, get(w.R, j * nr + i) - factor * get(w.R, j * nr + k))
    for i in range(nr - 1, -1, -1):
        if follows(E, i) < 0:
            continue
        total = get(w.lam, i)
        for j in range(i + 1, nr):
            if follows(E, j) >= 0:
                total -= get(w.R, j * nr + i) * get(w.lam, j)
        put(w.lam, i, total / get(w.R, i * nr + i))
