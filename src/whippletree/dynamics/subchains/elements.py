"""Sums, products and factors of Gamma, which is never whole: one element for each subchain. Parts of step VIII.

Rows of loads are numbered cut by cut; ``where`` says which of them the rows of an element are, rows at its base first;
behind them all is one more number, always zero, for elements that have fewer. Blocks of several cuts that share a tip
are eliminated together, so elimination from the outermost subchains inward fills nothing: block Thomas for a chain.
"""

import math

from ...compiler.lanes import entry, inline, kernel
from .cut_layout import (
    BASE_CUT,
    BASE_LOADS,
    CUT,
    FIRST_LOAD,
    HELD,
    INNER,
    LENT,
    LOADS,
    MOST,
    OUTER,
    SUBCHAIN,
    TIP_COUNT,
    TIP_FIRST,
)

BLOCK = MOST * MOST  # numbers of a diagonal block


@kernel
def factor(n, A, at, stride):
    """A = L D L' in place. Returns how many pivots are negative, or -1 if one is lost"""
    negative = 0
    for k in range(n):
        pivot = A[at + k * stride + k]
        if not abs(pivot) > 0.0:
            return -1
        negative += 1 if pivot < 0.0 else 0
        for i in range(k + 1, n):
            f = A[at + i * stride + k] / pivot
            for j in range(k + 1, i + 1):
                A[at + i * stride + j] -= f * A[at + j * stride + k]
        for i in range(k + 1, n):
            A[at + i * stride + k] /= pivot
    return negative


@kernel
def solve_factored(n, A, at, stride, b, first, step):
    """b = A^-1 b, by the factors"""
    for i in range(n):
        for j in range(i):
            b[first + i * step] -= A[at + i * stride + j] * b[first + j * step]
    for i in range(n - 1, -1, -1):
        b[first + i * step] /= A[at + i * stride + i]
        for j in range(i + 1, n):
            b[first + i * step] -= A[at + j * stride + i] * b[first + j * step]


# ---------------------------------------------------------------- rows in good units


@entry
def gather_weights(where, weight, total, width, first, last):
    """Sum of the elements' own diagonals"""
    for n in range(first * width, last * width):
        total[where[n]] += weight[n]


@entry
def scale_elements(where, total, K, g, units, width, first, last):
    """Rows and columns so that the diagonal is about 1; ``units`` is what a load is measured in"""
    m = units.shape[0] - 1
    for n in range(m):
        units[n] = 1.0 / math.sqrt(total[n]) if total[n] > 0.0 else 0.0
    units[m] = 0.0
    for s in range(first, last):
        for i in range(width):
            a = units[where[s * width + i]]
            g[s * width + i] *= a
            for j in range(width):
                K[(s * width + i) * width + j] *= a * units[where[s * width + j]]


@entry
def gather_rows(where, g, out, width, first, last):
    """Sum of the elements' rows"""
    for n in range(out.shape[0]):
        out[n] = 0.0
    for n in range(first * width, last * width):
        out[where[n]] += g[n]
    out[out.shape[0] - 1] = 0.0


@inline
def cut_rows(cuts, c):
    return cuts[c * CUT + HELD] + cuts[c * CUT + LENT]


@entry
def diagonal_blocks(table, cuts, K, blocks, width, first, last):
    """Gamma_d: of every cut the block of its own rows, as far as the subchains first to last know it"""
    for s in range(first, last):
        if table[s * SUBCHAIN + BASE_CUT] >= 0:
            add_block(cuts, K, blocks, width, s, table[s * SUBCHAIN + BASE_CUT], 0)
        row, tip = table[s * SUBCHAIN + BASE_LOADS], table[s * SUBCHAIN + TIP_FIRST]
        for c in range(tip, tip + table[s * SUBCHAIN + TIP_COUNT]):
            add_block(cuts, K, blocks, width, s, c, row)
            row += cut_rows(cuts, c)


@inline
def add_block(cuts, K, blocks, width, s, c, row):
    for i in range(cut_rows(cuts, c)):
        for j in range(cut_rows(cuts, c)):
            blocks[c * BLOCK + i * MOST + j] += K[(s * width + row + i) * width + row + j]


@inline
def row_at_tip(table, cuts, s, c):
    """The first row of a cut among those at the tip of a subchain"""
    row = 0
    for before in range(table[s * SUBCHAIN + TIP_FIRST], c):
        row += cut_rows(cuts, before)
    return row


@entry
def factor_blocks(cuts, blocks, mine):
    """Factors of Gamma_d. Returns how many pivots are negative, or -1 if one is lost"""
    negative = 0
    for c in range(cuts.shape[0] // CUT):
        if mine[c]:
            found = factor(cut_rows(cuts, c), blocks, c * BLOCK, MOST)
            if found < 0:
                return -1
            negative += found
    return negative


# ---------------------------------------------------------------- products


@entry
def times_gamma(where, K, p, out, width, first, last):
    """out = Gamma p, as far as the subchains first to last know it"""
    for n in range(out.shape[0]):
        out[n] = 0.0
    for s in range(first, last):
        for i in range(width):
            total = 0.0
            for j in range(width):
                total += K[(s * width + i) * width + j] * p[where[s * width + j]]
            out[where[s * width + i]] += total
    out[out.shape[0] - 1] = 0.0


@entry
def solve_diagonal(cuts, blocks, r, z, mine):
    """Gamma_d z = r. Step VIII.10"""
    for c in range(cuts.shape[0] // CUT):
        if mine[c]:
            first, count = cuts[c * CUT + FIRST_LOAD], cut_rows(cuts, c)
            for n in range(first, first + count):
                z[n] = r[n]
            solve_factored(count, blocks, c * BLOCK, MOST, z, first, 1)


@entry
def product(cuts, a, b, own, out):
    """a . b of the rows that are one's own, cut by cut, so that the sum does not depend on who has which"""
    for c in range(cuts.shape[0] // CUT):
        first, total = cuts[c * CUT + FIRST_LOAD], 0.0
        for n in range(first, first + cuts[c * CUT + HELD] + cuts[c * CUT + LENT]):
            total += own[n] * a[n] * b[n]
        out[c] = total


@entry
def descend(alpha, p, Gp, f, r):
    """f += alpha p, r -= alpha Gamma p. Step VIII.9"""
    for n in range(p.shape[0]):
        f[n] += alpha * p[n]
        r[n] -= alpha * Gp[n]


@entry
def turn(beta, z, p):
    """p = z + beta p. Step VIII.13"""
    for n in range(p.shape[0]):
        p[n] = z[n] + beta * p[n]


# ---------------------------------------------------------------- elimination


@entry
def eliminate(table, cuts, where, K, g, work, X, y, f, width):
    """f = Gamma^-1 g from the outermost subchains inward and back. Returns 0, or 1 + the cut whose pivot is lost.

    Of subchain s ``work`` holds the block of the cuts at its tip, X and y its solution for K_tb and for g.
    """
    subchains, square = table.shape[0] // SUBCHAIN, width * width
    for n in range(subchains * square):
        work[n] = 0.0
    for n in range(subchains * width):
        y[n] = 0.0
    for s in range(subchains - 1, -1, -1):
        nb, nt = table[s * SUBCHAIN + BASE_LOADS], table[s * SUBCHAIN + LOADS] - table[s * SUBCHAIN + BASE_LOADS]
        at, k = s * square, s * square
        for i in range(nt):
            y[s * width + i] += g[s * width + nb + i]
            for j in range(nt):
                work[at + i * width + j] += K[k + (nb + i) * width + nb + j]
            for j in range(nb):
                X[at + i * width + j] = K[k + (nb + i) * width + j]
        if nt > 0:
            if factor(nt, work, at, width) < 0:
                return 1 + table[s * SUBCHAIN + TIP_FIRST]
            solve_factored(nt, work, at, width, y, s * width, 1)
            for j in range(nb):
                solve_factored(nt, work, at, width, X, at + j, width)
        c = table[s * SUBCHAIN + BASE_CUT]
        if c >= 0:
            push_inward(table, cuts, s, c, K, g, work, X, y, nb, nt, width)
    for s in range(subchains):
        nb, nt = table[s * SUBCHAIN + BASE_LOADS], table[s * SUBCHAIN + LOADS] - table[s * SUBCHAIN + BASE_LOADS]
        for i in range(nt):
            value = y[s * width + i]
            for j in range(nb):
                value -= X[s * square + i * width + j] * f[where[s * width + j]]
            f[where[s * width + nb + i]] = value
    return 0


@entry
def growth(table, work, width):
    """One over the least pivot of the last elimination; Gamma's diagonal is 1. Times a rounding, what may be lost"""
    most = 0.0
    for s in range(table.shape[0] // SUBCHAIN):
        for i in range(table[s * SUBCHAIN + LOADS] - table[s * SUBCHAIN + BASE_LOADS]):
            most = max(most, 1.0 / abs(work[(s * width + i) * width + i]))
    return most


@kernel
def push_inward(table, cuts, s, c, K, g, work, X, y, nb, nt, width):
    """What is left of a subchain at its base, into the block of the tip that it hangs on"""
    inner, k = cuts[c * CUT + INNER], s * width * width
    row = row_at_tip(table, cuts, inner, c)
    for i in range(nb):
        for j in range(nb):
            value = K[k + i * width + j]
            for n in range(nt):
                value -= K[k + i * width + nb + n] * X[k + n * width + j]
            work[inner * width * width + (row + i) * width + row + j] += value
        value = g[s * width + i]
        for n in range(nt):
            value -= K[k + i * width + nb + n] * y[s * width + n]
        y[inner * width + row + i] += value


@entry
def chain_blocks(table, cuts, K, g, D, U, out, width, size):
    """Diagonal blocks of a chain's Gamma and those right of them, ``size`` wide, with 1 where a cut has fewer rows"""
    for c in range(cuts.shape[0] // CUT):
        s, count = cuts[c * CUT + OUTER], cut_rows(cuts, c)
        for i in range(size):
            out[c * MOST + i] = g[cuts[c * CUT + FIRST_LOAD] + i] if i < count else 0.0
            for j in range(size):
                U[c * BLOCK + i * MOST + j] = 0.0
                if i >= count or j >= count:
                    D[c * BLOCK + i * MOST + j] = 1.0 if i == j else 0.0
        if table[s * SUBCHAIN + TIP_COUNT] > 0:
            for i in range(count):
                for j in range(cut_rows(cuts, c + 1)):
                    U[c * BLOCK + i * MOST + j] = K[(s * width + i) * width + count + j]


@kernel
def halve(D, U, V, g, room, j, apart, count, size):
    """Block j, factored, out of the blocks left and right of it; V keeps the block left of it"""
    left, right = j - apart, j + apart
    X, Y, y = 0, BLOCK, 2 * BLOCK  # in the room: D^-1 V', D^-1 U, D^-1 g
    for i in range(size):
        room[y + i] = g[j * MOST + i]
        for n in range(size):
            V[j * BLOCK + n * MOST + i] = U[left * BLOCK + n * MOST + i]
            room[X + i * MOST + n] = U[left * BLOCK + n * MOST + i]
            room[Y + i * MOST + n] = U[j * BLOCK + i * MOST + n] if right < count else 0.0
    solve_factored(size, D, j * BLOCK, MOST, room, y, 1)
    for n in range(size):
        solve_factored(size, D, j * BLOCK, MOST, room, X + n, MOST)
        solve_factored(size, D, j * BLOCK, MOST, room, Y + n, MOST)
    for i in range(size):
        for n in range(size):
            U[left * BLOCK + i * MOST + n] = 0.0
        for l in range(size):
            v = V[j * BLOCK + i * MOST + l]
            g[left * MOST + i] -= v * room[y + l]
            for n in range(size):
                D[left * BLOCK + i * MOST + n] -= v * room[X + l * MOST + n]
                U[left * BLOCK + i * MOST + n] -= v * room[Y + l * MOST + n]
            if right < count:
                u = U[j * BLOCK + l * MOST + i]
                g[right * MOST + i] -= u * room[y + l]
                for n in range(size):
                    D[right * BLOCK + i * MOST + n] -= u * room[Y + l * MOST + n]


@entry
def reduce_cyclic(cuts, D, U, V, g, room, f, size):
    """f = Gamma^-1 g of a chain: every other block is eliminated, then every other of the rest, and so on.

    D, U and g are overwritten; g and f have MOST rows for each cut. Returns 0, or 1 + the cut whose pivot is lost.
    """
    count, apart = cuts.shape[0] // CUT, 1
    while apart < count:
        for j in range(apart, count, 2 * apart):
            if factor(size, D, j * BLOCK, MOST) < 0:
                return 1 + j
            halve(D, U, V, g, room, j, apart, count, size)
        apart *= 2
    if factor(size, D, 0, MOST) < 0:
        return 1
    for n in range(count * MOST):
        f[n] = g[n]
    solve_factored(size, D, 0, MOST, f, 0, 1)
    while apart > 1:
        apart //= 2
        for j in range(apart, count, 2 * apart):
            for i in range(size):  # f_j = D^-1 (g_j - V' f_left - U f_right)
                for n in range(size):
                    f[j * MOST + i] -= V[j * BLOCK + n * MOST + i] * f[(j - apart) * MOST + n]
                    if j + apart < count:
                        f[j * MOST + i] -= U[j * BLOCK + i * MOST + n] * f[(j + apart) * MOST + n]
            solve_factored(size, D, j * BLOCK, MOST, f, j * MOST, 1)
    return 0
