"""Operations on fronts, for reduction.py: what a body feels of all outboard, a quadratic form in a few accelerations.

A front lies at ``at`` in the work: A (21) and f (6) of the body's own acceleration, z (6); then of its m other
variables B (m, 6), C (lower triangle), fr (m), zr (m); then open rows of loops, 7 + m numbers each, gamma last.
"""

import numpy as np

from ..kernels.lanes import get, inline, kernel, put
from ..kernels.spatial import add, add21, add_rigid, axpy, dot, load3, load6, mul, rigid_force, scale, sub_outer
from .reduction_layout import HEAD, SPARE

# place of entry (a, b) of a symmetric 6 x 6 matrix in its 21 numbers
PLACE = np.array(
    [
        [0, 1, 2, 6, 7, 8],
        [1, 3, 4, 9, 10, 11],
        [2, 4, 5, 12, 13, 14],
        [6, 9, 12, 15, 16, 17],
        [7, 10, 13, 16, 18, 19],
        [8, 11, 14, 17, 19, 20],
    ]
).ravel()


@inline
def load_at6(a, n):
    return (get(a, n), get(a, n + 1), get(a, n + 2), get(a, n + 3), get(a, n + 4), get(a, n + 5))


@inline
def put_at6(a, n, x):
    for i in range(6):
        put(a, n + i, x[i])


@inline
def load_at21(a, n):
    first, second, third = load_at6(a, n), load_at6(a, n + 6), load_at6(a, n + 12)
    return first + second + third + (get(a, n + 18), get(a, n + 19), get(a, n + 20))


@inline
def put_at21(a, n, x):
    for i in range(21):
        put(a, n + i, x[i])


@inline
def sub_outer_two(A, V, d):
    """A - V d' - d V'"""
    return (
        A[0] - 2.0 * (V[0] * d[0]),
        A[1] - V[0] * d[1] - V[1] * d[0],
        A[2] - V[0] * d[2] - V[2] * d[0],
        A[3] - 2.0 * (V[1] * d[1]),
        A[4] - V[1] * d[2] - V[2] * d[1],
        A[5] - 2.0 * (V[2] * d[2]),
        A[6] - V[0] * d[3] - V[3] * d[0],
        A[7] - V[0] * d[4] - V[4] * d[0],
        A[8] - V[0] * d[5] - V[5] * d[0],
        A[9] - V[1] * d[3] - V[3] * d[1],
        A[10] - V[1] * d[4] - V[4] * d[1],
        A[11] - V[1] * d[5] - V[5] * d[1],
        A[12] - V[2] * d[3] - V[3] * d[2],
        A[13] - V[2] * d[4] - V[4] * d[2],
        A[14] - V[2] * d[5] - V[5] * d[2],
        A[15] - 2.0 * (V[3] * d[3]),
        A[16] - V[3] * d[4] - V[4] * d[3],
        A[17] - V[3] * d[5] - V[5] * d[3],
        A[18] - 2.0 * (V[4] * d[4]),
        A[19] - V[4] * d[5] - V[5] * d[4],
        A[20] - 2.0 * (V[5] * d[5]),
    )


@inline
def places(at, m):
    """Where B, C, fr and zr of a front lie"""
    B = at + HEAD
    C = B + 6 * m
    fr = C + m * (m + 1) // 2
    return B, C, fr, fr + m


@inline
def force_on(m, k, wrench, bias, i):
    """-bias (I b + v x* I v) + wrench"""
    f = scale(-bias, rigid_force(m.mass[i], load3(k.h, i), load6(k.J, i), load6(k.b, i), load6(k.v, i)))
    return add(f, load6(wrench, i)) if wrench.shape[0] > 0 else f


@kernel
def begin_body(m, k, wrench, bias, w, i, at, rest):
    """A front of the body alone: A = I"""
    f = force_on(m, k, wrench, bias, i)
    zero = 0.0 * f[0]
    none = (zero, zero, zero, zero, zero, zero)
    empty = none + none + none + (zero, zero, zero)
    put_at21(w, at, add_rigid(empty, m.mass[i], load3(k.h, i), load6(k.J, i)))
    put_at6(w, at + 21, f)
    put_at6(w, at + 27, none)
    B, _, _, zr = places(at, rest)
    for n in range(B, zr):
        put(w, n, 0.0)


@kernel
def add_body(m, k, wrench, bias, w, i, at):
    """A body into the front of its child, which becomes its own"""
    put_at21(w, at, add_rigid(load_at21(w, at), m.mass[i], load3(k.h, i), load6(k.J, i)))
    put_at6(w, at + 21, add(load_at6(w, at + 21), force_on(m, k, wrench, bias, i)))


@kernel
def close_loop(x, given, w, at, rest, start, stop, side, key, outer, inner):
    """The rows of a loop at its outer end: w . x_outer + w' . x_base = gamma"""
    for r in range(start, stop):
        own, other = load6(x.w, 2 * r + side), load6(x.w, 2 * r + 1 - side)
        put_at6(w, at, own)
        for n in range(rest):
            put(w, at + 6 + n, 0.0)
        if key >= 0:
            put_at6(w, at + 6 + key, other)
        gamma = get(x.gamma, r)
        if given.shape[0] > 0:
            gamma = gamma - dot(own, load6(given, outer)) - dot(other, load6(given, inner))
        put(w, at + 6 + rest, gamma)
        at += 7 + rest


@kernel
def free(S, tau, resist, w, at, m, store):
    """Eliminate a freedom by its equation of motion: rank one"""
    B, C, fr, _ = places(at, m)
    A, f = load_at21(w, at), load_at6(w, at + 21)
    U = mul(A, S)
    d = 1.0 / (dot(S, U) + resist)
    t = tau + dot(S, f)
    put_at21(w, at, sub_outer(A, d, U))
    put_at6(w, at + 21, axpy(-(d * t), U, f))
    put_at6(w, store, U)
    put(w, store + 6 + m, d)
    put(w, store + 7 + m, t)
    for r in range(m):
        Ur = dot(load_at6(w, B + 6 * r), S)
        put(w, store + 6 + r, Ur)
        share = d * Ur
        put_at6(w, B + 6 * r, axpy(-share, U, load_at6(w, B + 6 * r)))
        for c in range(r + 1):
            put(w, C, get(w, C) - share * get(w, store + 6 + c))
            C += 1
        put(w, fr + r, get(w, fr + r) - share * t)


@inline
def take_out(w, m, store, rows, count, first, group, S):
    """Solve the rows of a group for a freedom, d and beta, and put it into the first ``count`` rows; returns c.c, 1 / c.c, d, beta.

    What it moves each row by, c, is kept behind.
    """
    width = 7 + m
    row = rows + first * width
    own = load_at6(w, row)
    c = dot(own, S)
    put(w, store + width + first, c)
    size, d, beta = c * c, scale(c, own), c * get(w, row + 6 + m)
    for n in range(m):
        put(w, store + 6 + n, c * get(w, row + 6 + n))
    for r in range(first + 1, first + group):
        row += width
        own = load_at6(w, row)
        c = dot(own, S)
        put(w, store + width + r, c)
        size, d, beta = size + c * c, axpy(c, own, d), beta + c * get(w, row + 6 + m)
        for n in range(m):
            put(w, store + 6 + n, get(w, store + 6 + n) + c * get(w, row + 6 + n))
    Q = 1.0 / size
    d, beta = scale(Q, d), Q * beta
    put_at6(w, store, d)
    put(w, store + 6 + m, beta)
    for n in range(m):
        put(w, store + 6 + n, Q * get(w, store + 6 + n))
    for r in range(count):
        row = rows + r * width
        own = load_at6(w, row)
        c = dot(own, S)
        put(w, store + width + r, c)
        put_at6(w, row, axpy(-c, d, own))
        put(w, row + 6 + m, get(w, row + 6 + m) - c * beta)
        for n in range(m):
            put(w, row + 6 + n, get(w, row + 6 + n) - c * get(w, store + 6 + n))
    return size, Q, d, beta


@kernel
def depend(S, tau, armature, w, at, m, store, rows, count, first, group):
    """Take a freedom out of the rows and of the quadratic form; returns c.c and 1 / c.c"""
    B, C, fr, _ = places(at, m)
    size, Q, d, beta = take_out(w, m, store, rows, count, first, group, S)
    A, f = load_at21(w, at), load_at6(w, at + 21)
    U = mul(A, S)
    s = dot(S, U) + armature
    V = axpy(-0.5 * s, d, U)
    more = s * beta - tau - dot(S, f)
    put_at21(w, at, sub_outer_two(A, V, d))
    put_at6(w, at + 21, axpy(more, d, axpy(-beta, U, f)))
    for r in range(m):
        b = load_at6(w, B + 6 * r)
        Ur, dr = dot(b, S), get(w, store + 6 + r)
        Vr = Ur - 0.5 * s * dr
        put(w, SPARE + r, Vr)
        put_at6(w, B + 6 * r, axpy(-dr, V, axpy(-Vr, d, b)))
        for c in range(r + 1):
            put(w, C, get(w, C) - Vr * get(w, store + 6 + c) - dr * get(w, SPARE + c))
            C += 1
        put(w, fr + r, get(w, fr + r) - beta * Ur + more * dr)
    return size, Q


@kernel
def keep(S, tau, armature, w, at, m, rows, count, var):
    """A freedom becomes variable ``var`` of the front: z = z' + S u'"""
    B, C, fr, _ = places(at, m)
    A, f = load_at21(w, at), load_at6(w, at + 21)
    U = mul(A, S)
    for r in range(m):
        if r == var:
            continue
        high, low = max(r, var), min(r, var)
        put(w, C + high * (high + 1) // 2 + low, dot(load_at6(w, B + 6 * r), S))
    put_at6(w, B + 6 * var, U)
    put(w, C + var * (var + 1) // 2 + var, dot(S, U) + armature)
    put(w, fr + var, tau + dot(S, f))
    for r in range(count):
        row = rows + r * (7 + m)
        put(w, row + 6 + var, dot(load_at6(w, row), S))


@kernel
def release(w, at, m, store, var):
    """Eliminate a variable of the front by its equation of motion"""
    B, C, fr, _ = places(at, m)
    U, t = load_at6(w, B + 6 * var), get(w, fr + var)
    d = 1.0 / get(w, C + var * (var + 1) // 2 + var)
    put_at6(w, store, U)
    put(w, store + 6 + m, d)
    put(w, store + 7 + m, t)
    for r in range(m):
        high, low = max(r, var), min(r, var)
        put(w, store + 6 + r, get(w, C + high * (high + 1) // 2 + low))
    put(w, store + 6 + var, 0.0)
    put_at21(w, at, sub_outer(load_at21(w, at), d, U))
    put_at6(w, at + 21, axpy(-(d * t), U, load_at6(w, at + 21)))
    for r in range(m):
        share = d * get(w, store + 6 + r)
        put_at6(w, B + 6 * r, axpy(-share, U, load_at6(w, B + 6 * r)))
        for c in range(r + 1):
            n = C + r * (r + 1) // 2 + c
            put(w, n, get(w, n) - share * get(w, store + 6 + c))
        put(w, fr + r, get(w, fr + r) - share * t)
    forget(w, B, C, m, var)


@kernel
def take_kept(w, at, m, store, rows, count, first, group, var):
    """Rows give a kept variable: as :func:`depend`, with the variable itself in the place of S u'; returns the same"""
    width = 7 + m
    B, C, fr, _ = places(at, m)
    size = 0.0 * get(w, fr + var)
    for n in range(width):
        put(w, store + n, 0.0)
    for r in range(first, first + group):
        row = rows + r * width
        c = get(w, row + 6 + var)
        put(w, store + width + r, c)
        size = size + c * c
        for n in range(width):
            put(w, store + n, get(w, store + n) + c * get(w, row + n))
    Q = 1.0 / size
    for n in range(width):
        put(w, store + n, Q * get(w, store + n))
    for r in range(count):
        row = rows + r * width
        c = get(w, row + 6 + var)
        put(w, store + width + r, c)
        for n in range(width):
            put(w, row + n, get(w, row + n) - c * get(w, store + n))
        put(w, row + 6 + var, 0.0)
    put(w, store + 6 + var, 0.0)
    A, f = load_at21(w, at), load_at6(w, at + 21)
    d, beta, U = load_at6(w, store), get(w, store + 6 + m), load_at6(w, B + 6 * var)
    s = get(w, C + var * (var + 1) // 2 + var)
    V = axpy(-0.5 * s, d, U)
    more = s * beta - get(w, fr + var)
    put_at21(w, at, sub_outer_two(A, V, d))
    put_at6(w, at + 21, axpy(more, d, axpy(-beta, U, f)))
    for r in range(m):
        high, low = max(r, var), min(r, var)
        Ur, dr = get(w, C + high * (high + 1) // 2 + low), get(w, store + 6 + r)
        put(w, SPARE + r, Ur - 0.5 * s * dr)
        put(w, fr + r, get(w, fr + r) - beta * Ur + more * dr)
    for r in range(m):
        Vr, dr = get(w, SPARE + r), get(w, store + 6 + r)
        put_at6(w, B + 6 * r, axpy(-dr, V, axpy(-Vr, d, load_at6(w, B + 6 * r))))
        for c in range(r + 1):
            n = C + r * (r + 1) // 2 + c
            put(w, n, get(w, n) - Vr * get(w, store + 6 + c) - dr * get(w, SPARE + c))
    forget(w, B, C, m, var)
    return size, Q


@inline
def forget(w, B, C, m, var):
    """A variable that is gone"""
    for r in range(m):
        high, low = max(r, var), min(r, var)
        put(w, C + high * (high + 1) // 2 + low, 0.0)
    for n in range(6):
        put(w, B + 6 * var + n, 0.0)


@inline
def add_entry(w, at, m, a, b, value):
    """Add to entry (a, b) of a symmetric front, of which a child has value in (r, c), r > c; twice where a = b"""
    if a < 6 and b < 6:
        n = at + PLACE[6 * a + b]
        put(w, n, get(w, n) + (2.0 * value if a == b else value))
        return
    high, low = max(a, b) - 6, min(a, b)
    B, C, _, _ = places(at, m)
    n = B + 6 * high + low if low < 6 else C + high * (high + 1) // 2 + low - 6
    put(w, n, get(w, n) + value)


@kernel
def merge(w, at, m, there, mp, maps, first):
    """Add a front to that of the parent"""
    put_at21(w, there, add21(load_at21(w, there), load_at21(w, at)))
    put_at6(w, there + 21, add(load_at6(w, there + 21), load_at6(w, at + 21)))
    B, C, fr, _ = places(at, m)
    _, _, above, _ = places(there, mp)
    for r in range(m):
        a = maps[first + r]
        if a < 0:
            continue
        for n in range(6):
            add_entry(w, there, mp, a, n, get(w, B + 6 * r + n))
        for c in range(r):
            if maps[first + c] >= 0:
                add_entry(w, there, mp, a, maps[first + c], get(w, C + r * (r + 1) // 2 + c))
        square = get(w, C + r * (r + 1) // 2 + r)
        if a < 6:
            n = there + PLACE[7 * a]
            put(w, n, get(w, n) + square)
            put(w, there + 21 + a, get(w, there + 21 + a) + get(w, fr + r))
        else:
            n = places(there, mp)[1] + (a - 6) * (a - 5) // 2 + a - 6
            put(w, n, get(w, n) + square)
            put(w, above + a - 6, get(w, above + a - 6) + get(w, fr + r))


@kernel
def move_rows(w, row, m, count, there, mp, maps, first):
    """Open rows of a front become rows of the parent's"""
    for _ in range(count):
        for n in range(6 + mp):
            put(w, there + n, 0.0)
        put_at6(w, there, load_at6(w, row))
        for r in range(m):
            a = maps[first + r]
            if a >= 0:
                put(w, there + a, get(w, there + a) + get(w, row + 6 + r))
        put(w, there + 6 + mp, get(w, row + 6 + m))
        row += 7 + m
        there += 7 + mp
