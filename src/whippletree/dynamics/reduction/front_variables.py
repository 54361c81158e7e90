"""More operations on fronts: variables beside the body's own acceleration, and the way to the parent's front."""

import numpy as np

from ...algebra import spatial as sp
from ...algebra.compare import smaller
from ...compiler.lanes import get, inline, kernel, put
from .front import SPARE, F, load_at21, places, put_at21, sub_outer_two

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


@kernel
def keep(S, tau, armature, w, at, m, dof):
    """A DOF becomes a variable of the front: z = z' + S u'"""
    var = dof.var
    B, C, fr, _ = places(at, m)
    A, f = load_at21(w, at), sp.load_at6(w, at + F)
    U = sp.mul(A, S)
    for r in range(m):
        if r == var:
            continue
        high, low = max(r, var), min(r, var)
        put(w, C + high * (high + 1) // 2 + low, sp.dot(sp.load_at6(w, B + 6 * r), S))
    sp.put_at6(w, B + 6 * var, U)
    put(w, C + var * (var + 1) // 2 + var, sp.dot(S, U) + armature)
    put(w, fr + var, tau + sp.dot(S, f))
    for r in range(dof.count):
        row = dof.rows + r * (7 + m)
        put(w, row + 6 + var, sp.dot(sp.load_at6(w, row), S))


@kernel
def release(w, at, m, dof):
    """Eliminate a variable of the front by its equation of motion"""
    store, var = dof.store, dof.var
    B, C, fr, _ = places(at, m)
    U, t = sp.load_at6(w, B + 6 * var), get(w, fr + var)
    d = 1.0 / get(w, C + var * (var + 1) // 2 + var)
    sp.put_at6(w, store, U)
    put(w, store + 6 + m, d)
    put(w, store + 7 + m, t)
    for r in range(m):
        high, low = max(r, var), min(r, var)
        put(w, store + 6 + r, get(w, C + high * (high + 1) // 2 + low))
    put(w, store + 6 + var, 0.0)
    put_at21(w, at, sp.sub_outer(load_at21(w, at), d, U))
    sp.put_at6(w, at + F, sp.axpy(-(d * t), U, sp.load_at6(w, at + F)))
    for r in range(m):
        share = d * get(w, store + 6 + r)
        sp.put_at6(w, B + 6 * r, sp.axpy(-share, U, sp.load_at6(w, B + 6 * r)))
        for c in range(r + 1):
            n = C + r * (r + 1) // 2 + c
            put(w, n, get(w, n) - share * get(w, store + 6 + c))
        put(w, fr + r, get(w, fr + r) - share * t)
    forget(w, B, C, m, var)


@kernel
def take_kept(w, at, m, dof):
    """Rows give a kept variable: as :func:`depend`, with the variable itself in the place of S u'; returns the same"""
    width, store, rows, var = 7 + m, dof.store, dof.rows, dof.var
    B, C, fr, _ = places(at, m)
    size = 0.0 * get(w, fr + var)
    for n in range(width):
        put(w, store + n, 0.0)
    for r in range(dof.first, dof.first + dof.group):
        row = rows + r * width
        c = get(w, row + 6 + var)
        put(w, store + width + r, c)
        size = size + c * c
        for n in range(width):
            put(w, store + n, get(w, store + n) + c * get(w, row + n))
    Q = 1.0 / size
    for n in range(width):
        put(w, store + n, Q * get(w, store + n))
    for r in range(dof.count):
        row = rows + r * width
        c = get(w, row + 6 + var)
        put(w, store + width + r, c)
        for n in range(width):
            put(w, row + n, get(w, row + n) - c * get(w, store + n))
        put(w, row + 6 + var, 0.0)
    put(w, store + 6 + var, 0.0)
    A, f = load_at21(w, at), sp.load_at6(w, at + F)
    d, beta, U = sp.load_at6(w, store), get(w, store + 6 + m), sp.load_at6(w, B + 6 * var)
    s = get(w, C + var * (var + 1) // 2 + var)
    V = sp.axpy(-0.5 * s, d, U)
    more = s * beta - get(w, fr + var)
    put_at21(w, at, sub_outer_two(A, V, d))
    sp.put_at6(w, at + F, sp.axpy(more, d, sp.axpy(-beta, U, f)))
    for r in range(m):
        high, low = max(r, var), min(r, var)
        Ur, dr = get(w, C + high * (high + 1) // 2 + low), get(w, store + 6 + r)
        put(w, SPARE + r, Ur - 0.5 * s * dr)
        put(w, fr + r, get(w, fr + r) - beta * Ur + more * dr)
    for r in range(m):
        Vr, dr = get(w, SPARE + r), get(w, store + 6 + r)
        sp.put_at6(w, B + 6 * r, sp.axpy(-dr, V, sp.axpy(-Vr, d, sp.load_at6(w, B + 6 * r))))
        for c in range(r + 1):
            n = C + r * (r + 1) // 2 + c
            put(w, n, get(w, n) - Vr * get(w, store + 6 + c) - dr * get(w, SPARE + c))
    forget(w, B, C, m, var)
    return size, Q


@kernel
def exchange(w, at, m, plan, swap):
    """Express a variable in others, the pivots, as far as open rows go: z_p = y_p - m_p z_var, with m the least-squares
    solution of sum_p c_p m_p = c_var over the rows. Rows then have y alone, and z_var may be released.

    Modified Gram-Schmidt without roots: the columns c_p become orthogonal, R is unit upper triangular. Returns
    the least of their sizes against those of the plan, squared.
    """
    maps, worst = plan.maps, 1.0 + 0.0 * get(w, at)
    sizes = maps[swap.link + swap.pivots + swap.used]
    var, store, rows, pivots, used = swap.var, swap.store, swap.rows, swap.pivots, swap.used
    width, c, R = 7 + m, store + pivots, store + pivots + (pivots + 1) * used
    B, C, fr, _ = places(at, m)
    for n in range(pivots + 1):
        slot = maps[swap.link + n] if n < pivots else var
        for r in range(used):
            put(w, c + n * used + r, get(w, rows + maps[swap.link + pivots + r] * width + 6 + slot))
    for n in range(pivots):
        size = 0.0 * get(w, fr + var)
        for r in range(used):
            size = size + get(w, c + n * used + r) * get(w, c + n * used + r)
        worst = smaller(worst, plan.exchanged[sizes + n] * size)
        for l in range(n + 1, pivots + 1):
            along = 0.0 * size
            for r in range(used):
                along = along + get(w, c + n * used + r) * get(w, c + l * used + r)
            along = along / size
            for r in range(used):
                put(w, c + l * used + r, get(w, c + l * used + r) - along * get(w, c + n * used + r))
            put(w, R + l * (l - 1) // 2 + n, along)
    for n in range(pivots - 1, -1, -1):
        mn = get(w, R + pivots * (pivots - 1) // 2 + n)
        for l in range(n + 1, pivots):
            mn = mn - get(w, R + l * (l - 1) // 2 + n) * get(w, store + l)
        put(w, store + n, mn)
    for n in range(pivots):
        p, mn = maps[swap.link + n], get(w, store + n)
        for r in range(swap.count):
            row = rows + r * width + 6
            put(w, row + var, get(w, row + var) - mn * get(w, row + p))
        sp.put_at6(w, B + 6 * var, sp.axpy(-mn, sp.load_at6(w, B + 6 * p), sp.load_at6(w, B + 6 * var)))
        put(w, fr + var, get(w, fr + var) - mn * get(w, fr + p))
        both = C + max(p, var) * (max(p, var) + 1) // 2 + min(p, var)
        square, before = C + var * (var + 1) // 2 + var, get(w, both)
        for r in range(m):
            if r != var:
                at_var, at_p = max(r, var), max(r, p)
                put_less(w, C + at_var * (at_var + 1) // 2 + min(r, var), mn, C + at_p * (at_p + 1) // 2 + min(r, p))
        put(w, square, get(w, square) - mn * (before + get(w, both)))
    return worst


@inline
def put_less(w, n, factor, other):
    put(w, n, get(w, n) - factor * get(w, other))


@inline
def exchange_back(w, zr, maps, swap):
    """z_p = y_p - m_p z_var"""
    for n in range(swap.pivots):
        put_less(w, zr + maps[swap.link + n], get(w, swap.store + n), zr + swap.var)


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
def merge(w, at, m, maps, into):
    """Add a front to that of the parent"""
    there, mp, first = into.there, into.above, into.link
    put_at21(w, there, sp.add21(load_at21(w, there), load_at21(w, at)))
    sp.put_at6(w, there + F, sp.add(sp.load_at6(w, there + F), sp.load_at6(w, at + F)))
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
            put(w, there + F + a, get(w, there + F + a) + get(w, fr + r))
        else:
            n = places(there, mp)[1] + (a - 6) * (a - 5) // 2 + a - 6
            put(w, n, get(w, n) + square)
            put(w, above + a - 6, get(w, above + a - 6) + get(w, fr + r))


@kernel
def move_rows(w, m, maps, move):
    """Open rows of a front become rows of the parent's"""
    row, there, mp = move.row, move.there, move.above
    for _ in range(move.count):
        for n in range(6 + mp):
            put(w, there + n, 0.0)
        sp.put_at6(w, there, sp.load_at6(w, row))
        for r in range(m):
            a = maps[move.link + r]
            if a >= 0:
                put(w, there + a, get(w, there + a) + get(w, row + 6 + r))
        put(w, there + 6 + mp, get(w, row + 6 + m))
        row += 7 + m
        there += 7 + mp
