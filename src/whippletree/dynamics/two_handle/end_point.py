"""What the DOF of a subchain do to its tip: E, L and l of recursion.py, of LANES subchains or of one.

With every DOF, from the tip inward: e = E' S, then L += e d e', l += e d uA and E = (1 - U d S') E, eq. (58).
The columns of E do not know of each other. Of subchains in lanes three columns at a time fit the registers; of one
subchain registers hold rows of E, padded to WIDE, across its columns.
"""

from numba.extending import overload

from ...algebra import spatial as sp
from ...algebra.matrix6 import load_column, store_column
from ...compiler.lanes import ALWAYS, LANES, get, get_run, inline, put, put_run, view

WIDE = 8  # numbers of e that are kept for a DOF, and of a row of E and L where one subchain is computed
ROOM = (6 + 6 + 1) * WIDE


def start_tip(E, L, l, wide):
    """E is there; L and l are zero."""


def reach_tip(g, first, last, E, L, l):
    """DOF first to last, last first."""


def end_tip(E, L, l, wide):
    """E, L and l as joining takes them."""


# ---------------------------------------------------------------- lanes


@inline
def reach_columns(g, first, last, E, n):
    """Three columns of E, from n on, and e of them"""
    a, b, c = load_column(E, n), load_column(E, n + 1), load_column(E, n + 2)
    for j in range(last - 1, first - 1, -1):
        S, U, d = sp.load6(g.k.S, j), sp.load6(g.U, j), get(g.d, j)
        ea, eb, ec = sp.dot(S, a), sp.dot(S, b), sp.dot(S, c)
        put(g.e, WIDE * j + n, ea)
        put(g.e, WIDE * j + n + 1, eb)
        put(g.e, WIDE * j + n + 2, ec)
        a, b, c = sp.sub_scaled(a, d * ea, U), sp.sub_scaled(b, d * eb, U), sp.sub_scaled(c, d * ec, U)
    store_column(E, n, a)
    store_column(E, n + 1, b)
    store_column(E, n + 2, c)


@inline
def load_e(e, j):
    return sp.load6(view(e, WIDE * j, 6), 0)


@inline
def reach_in_lanes(g, first, last, E, L, l):
    reach_columns(g, first, last, E, 0)
    reach_columns(g, first, last, E, 3)
    A, b = sp.load21(L, 0), sp.load6(l, 0)
    for j in range(first, last):
        e, d = load_e(g.e, j), get(g.d, j)
        A, b = sp.sub_outer(A, -d, e), sp.axpy(d * get(g.uA, j), e, b)
    sp.store21(L, 0, A)
    sp.store6(l, 0, b)


# ---------------------------------------------------------------- one subchain


@inline
def load_rows(a, n):
    """Registers of six rows, from column n on"""
    upper = (get_run(a, n), get_run(a, n + WIDE), get_run(a, n + 2 * WIDE))
    lower = (get_run(a, n + 3 * WIDE), get_run(a, n + 4 * WIDE), get_run(a, n + 5 * WIDE))
    return upper + lower


@inline
def store_rows(a, n, x):
    put_run(a, n, x[0])
    put_run(a, n + WIDE, x[1])
    put_run(a, n + 2 * WIDE, x[2])
    put_run(a, n + 3 * WIDE, x[3])
    put_run(a, n + 4 * WIDE, x[4])
    put_run(a, n + 5 * WIDE, x[5])


@inline
def reach_one_register(g, first, last, n):
    """LANES columns of E, from n on"""
    a = load_rows(g.wide, n)
    for j in range(last - 1, first - 1, -1):
        S, U, d = sp.load6(g.k.S, j), sp.load6(g.U, j), get(g.d, j)
        e = sp.dot(S, a)
        put_run(g.e, WIDE * j + n, e)
        a = sp.sub_scaled(a, d * e, U)
    store_rows(g.wide, n, a)


@inline
def reach_two_registers(g, first, last, n):
    """The same of twice as many: one waits for its sum while the other adds"""
    a, b = load_rows(g.wide, n), load_rows(g.wide, n + LANES)
    for j in range(last - 1, first - 1, -1):
        S, U, d = sp.load6(g.k.S, j), sp.load6(g.U, j), get(g.d, j)
        e, f = sp.dot(S, a), sp.dot(S, b)
        put_run(g.e, WIDE * j + n, e)
        put_run(g.e, WIDE * j + n + LANES, f)
        a, b = sp.sub_scaled(a, d * e, U), sp.sub_scaled(b, d * f, U)
    store_rows(g.wide, n, a)
    store_rows(g.wide, n + LANES, b)


@inline
def grow_register(g, first, last, n):
    """LANES columns of L and l, from n on"""
    A, b = load_rows(g.wide, 6 * WIDE + n), get_run(g.wide, 12 * WIDE + n)
    for j in range(first, last):
        e = load_e(g.e, j)
        f = get(g.d, j) * get_run(g.e, WIDE * j + n)
        A, b = axpy6(f, e, A), get(g.uA, j) * f + b
    store_rows(g.wide, 6 * WIDE + n, A)
    put_run(g.wide, 12 * WIDE + n, b)


@inline
def axpy6(f, e, A):
    """A + e f', row by row"""
    upper = (A[0] + e[0] * f, A[1] + e[1] * f, A[2] + e[2] * f)
    lower = (A[3] + e[3] * f, A[4] + e[4] * f, A[5] + e[5] * f)
    return upper + lower


@inline
def reach_alone(g, first, last, E, L, l):
    if LANES < WIDE:
        for n in range(0, WIDE, 2 * LANES):
            reach_two_registers(g, first, last, n)
    else:
        reach_one_register(g, first, last, 0)
    for n in range(0, WIDE, LANES):
        grow_register(g, first, last, n)


# ---------------------------------------------------------------- which of them


@overload(start_tip, jit_options=ALWAYS)
def _start_tip(E, L, l, wide):
    if E.ndim == 2:

        def in_lanes(E, L, l, wide):
            for n in range(21):
                put(L, n, 0.0)
            for n in range(6):
                put(l, n, 0.0)

        return in_lanes

    def alone(E, L, l, wide):
        for n in range(ROOM):
            wide[n] = 0.0
        for n in range(36):
            wide[n // 6 * WIDE + n % 6] = E[n]

    return alone


@overload(reach_tip, jit_options=ALWAYS)
def _reach_tip(g, first, last, E, L, l):
    if E.ndim == 2:
        return lambda g, first, last, E, L, l: reach_in_lanes(g, first, last, E, L, l)
    return lambda g, first, last, E, L, l: reach_alone(g, first, last, E, L, l)


@overload(end_tip, jit_options=ALWAYS)
def _end_tip(E, L, l, wide):
    if E.ndim == 2:
        return lambda E, L, l, wide: None

    def alone(E, L, l, wide):
        for n in range(36):
            E[n] = wide[n // 6 * WIDE + n % 6]
        n = 0
        for block in range(3):  # J, H, M: as articulated inertias are kept
            for i in range(3):
                for j in range(0 if block == 1 else i, 3):
                    L[n] = wide[(6 + i + 3 * (block // 2)) * WIDE + j + 3 * ((block + 1) // 2)]
                    n += 1
        for n in range(6):
            l[n] = wide[12 * WIDE + n]

    return alone
