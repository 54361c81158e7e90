"""Operations on fronts, for passes.py: what a body feels of all outboard, a quadratic form in a few accelerations.

A front lies at ``at`` in the work: A (21) and f (6) of the body's own acceleration, z (6); then of its m other
variables B (m, 6), C (lower triangle), fr (m), zr (m); then open rows of loops, 7 + m numbers each, gamma last.
"""

from ...algebra import spatial as sp
from ...compiler.lanes import get, inline, kernel, put
from ...layout.constraints import FIRST, NUMBERS, SECOND

# where the parts of a front begin; z is written on the way outward
F, Z, HEAD = 21, 27, 33
SPARE = 1  # in the work: room for the variables of one front


@inline
def load_at21(a, n):
    first, second, third = sp.load_at6(a, n), sp.load_at6(a, n + 6), sp.load_at6(a, n + 12)
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
    f = sp.scale(
        -bias, sp.rigid_force(m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i), sp.load6(k.b, i), sp.load6(k.v, i))
    )
    return sp.add(f, sp.load6(wrench, i)) if wrench.shape[0] > 0 else f


@kernel
def begin_body(m, k, wrench, bias, w, i, at, rest):
    """A front of the body alone: A = I"""
    f = force_on(m, k, wrench, bias, i)
    zero = 0.0 * f[0]
    none = (zero, zero, zero, zero, zero, zero)
    empty = none + none + none + (zero, zero, zero)
    put_at21(w, at, sp.add_rigid(empty, m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i)))
    sp.put_at6(w, at + F, f)
    sp.put_at6(w, at + Z, none)
    B, _, _, zr = places(at, rest)
    for n in range(B, zr):
        put(w, n, 0.0)


@kernel
def add_body(m, k, wrench, bias, w, i, at):
    """A body into the front of its child, which becomes its own"""
    put_at21(w, at, sp.add_rigid(load_at21(w, at), m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i)))
    sp.put_at6(w, at + F, sp.add(sp.load_at6(w, at + F), force_on(m, k, wrench, bias, i)))


@inline
def close_loop(E, x, prescribed, w, m, outer, loop):
    """The rows of a loop at its outer end: w . x_outer + w' . x_base = gamma; or of a constraint between two branches,
    whose slack is a variable: w . x + s = gamma on one of them, w' . x' - s = 0 on the other"""
    row, inner = loop.rows, base_of(E, loop.start)
    for r in range(loop.start, loop.stop):
        own, other = sp.load6(x.w, 2 * r + loop.side), sp.load6(x.w, 2 * r + 1 - loop.side)
        sp.put_at6(w, row, own)
        for n in range(m):
            put(w, row + 6 + n, 0.0)
        if loop.key >= 0:
            sp.put_at6(w, row + 6 + loop.key, other)
        gamma = right_side(x, prescribed, r, own, other, outer, inner, loop.slack)
        if loop.slack != 0:
            put(w, row + 5 + abs(loop.slack) + r - loop.start, 1.0 if loop.slack > 0 else -1.0)
        put(w, row + 6 + m, gamma)
        row += 7 + m


@inline
def base_of(E, r):
    """The base of the loop that a row is of"""
    e = E.element[r]
    return min(E.body[e], E.to[e])


@inline
def right_side(x, prescribed, r, own, other, outer, inner, slack):
    """What a row asks of the DOF, beside what prescribed motions do"""
    gamma = get(x.gamma, r)
    if slack < 0:
        gamma = 0.0 * gamma
    if prescribed.shape[0] > 0:
        gamma = gamma - sp.dot(own, sp.load6(prescribed, outer))
        if slack == 0:
            gamma = gamma - sp.dot(other, sp.load6(prescribed, inner))
    return gamma


@inline
def couple(E, x, w, m, pair):
    """A row in two variables"""
    c = NUMBERS * E.element[pair.start]
    for n in range(6 + m):
        put(w, pair.rows + n, 0.0)
    if pair.first >= 0:
        put(w, pair.rows + 6 + pair.first, E.numbers[c + FIRST])
    if pair.second >= 0:
        put(w, pair.rows + 6 + pair.second, get(w, pair.rows + 6 + pair.second) + E.numbers[c + SECOND])
    put(w, pair.rows + 6 + m, get(x.gamma, pair.start))


@kernel
def free(S, tau, resist, w, at, m, store):
    """Eliminate a DOF by its equation of motion: rank one"""
    B, C, fr, _ = places(at, m)
    A, f = load_at21(w, at), sp.load_at6(w, at + F)
    U = sp.mul(A, S)
    d = 1.0 / (sp.dot(S, U) + resist)
    t = tau + sp.dot(S, f)
    put_at21(w, at, sp.sub_outer(A, d, U))
    sp.put_at6(w, at + F, sp.axpy(-(d * t), U, f))
    sp.put_at6(w, store, U)
    put(w, store + 6 + m, d)
    put(w, store + 7 + m, t)
    for r in range(m):
        Ur = sp.dot(sp.load_at6(w, B + 6 * r), S)
        put(w, store + 6 + r, Ur)
        share = d * Ur
        sp.put_at6(w, B + 6 * r, sp.axpy(-share, U, sp.load_at6(w, B + 6 * r)))
        for c in range(r + 1):
            put(w, C, get(w, C) - share * get(w, store + 6 + c))
            C += 1
        put(w, fr + r, get(w, fr + r) - share * t)


@inline
def take_out(w, m, dof, S):
    """Solve the rows of a group for a DOF, d and beta, and put it into all open rows.

    What it moves each row by, c, is kept behind. Returns c.c, 1 / c.c, d and beta.
    """
    width, store, rows = 7 + m, dof.store, dof.rows
    row = rows + dof.first * width
    own = sp.load_at6(w, row)
    c = sp.dot(own, S)
    put(w, store + width + dof.first, c)
    size, d, beta = c * c, sp.scale(c, own), c * get(w, row + 6 + m)
    for n in range(m):
        put(w, store + 6 + n, c * get(w, row + 6 + n))
    for r in range(dof.first + 1, dof.first + dof.group):
        row += width
        own = sp.load_at6(w, row)
        c = sp.dot(own, S)
        put(w, store + width + r, c)
        size, d, beta = size + c * c, sp.axpy(c, own, d), beta + c * get(w, row + 6 + m)
        for n in range(m):
            put(w, store + 6 + n, get(w, store + 6 + n) + c * get(w, row + 6 + n))
    Q = 1.0 / size
    d, beta = sp.scale(Q, d), Q * beta
    sp.put_at6(w, store, d)
    put(w, store + 6 + m, beta)
    for n in range(m):
        put(w, store + 6 + n, Q * get(w, store + 6 + n))
    for r in range(dof.count):
        row = rows + r * width
        own = sp.load_at6(w, row)
        c = sp.dot(own, S)
        put(w, store + width + r, c)
        sp.put_at6(w, row, sp.axpy(-c, d, own))
        put(w, row + 6 + m, get(w, row + 6 + m) - c * beta)
        for n in range(m):
            put(w, row + 6 + n, get(w, row + 6 + n) - c * get(w, store + 6 + n))
    return size, Q, d, beta


@kernel
def depend(S, tau, armature, w, at, m, dof):
    """Take a DOF out of the rows and of the quadratic form; returns c.c and 1 / c.c"""
    B, C, fr, _ = places(at, m)
    size, Q, d, beta = take_out(w, m, dof, S)
    A, f = load_at21(w, at), sp.load_at6(w, at + F)
    U = sp.mul(A, S)
    s = sp.dot(S, U) + armature
    V = sp.axpy(-0.5 * s, d, U)
    more = s * beta - tau - sp.dot(S, f)
    put_at21(w, at, sub_outer_two(A, V, d))
    sp.put_at6(w, at + F, sp.axpy(more, d, sp.axpy(-beta, U, f)))
    for r in range(m):
        b = sp.load_at6(w, B + 6 * r)
        Ur, dr = sp.dot(b, S), get(w, dof.store + 6 + r)
        Vr = Ur - 0.5 * s * dr
        put(w, SPARE + r, Vr)
        sp.put_at6(w, B + 6 * r, sp.axpy(-dr, V, sp.axpy(-Vr, d, b)))
        for c in range(r + 1):
            put(w, C, get(w, C) - Vr * get(w, dof.store + 6 + c) - dr * get(w, SPARE + c))
            C += 1
        put(w, fr + r, get(w, fr + r) - beta * Ur + more * dr)
    return size, Q


@inline
def along(w, store, at, m):
    """(U or d) . z of a front"""
    total = sp.dot(sp.load_at6(w, store), sp.load_at6(w, at + Z))
    zr = places(at, m)[3]
    for r in range(m):
        total = total + get(w, store + 6 + r) * get(w, zr + r)
    return total


@inline
def carry(S, w, at, j, a, udot):
    """z + S u'"""
    put(udot, j, a)
    sp.put_at6(w, at + Z, sp.axpy(a, S, sp.load_at6(w, at + Z)))


@inline
def hand_out(maps, w, at, m, into):
    """The accelerations that a front depends on, from that of the parent"""
    sp.put_at6(w, at + Z, sp.load_at6(w, into.there + Z))
    zr, above = places(at, m)[3], places(into.there, into.above)[3]
    for r in range(m):
        b = maps[into.link + r]
        if b >= 6:
            put(w, zr + r, get(w, above + b - 6))
        elif b >= 0:
            put(w, zr + r, get(w, into.there + Z + b))
        else:
            put(w, zr + r, 0.0)
