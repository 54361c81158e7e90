"""Closed loops of a divided tree: loads on the cut joints, whose effect on all joints divided sweeps find.

Paper    [critchley2007] leaves loops to [featherstone1999b]: cut joints are loads that keep the loop's ends together.
         Of m rows of constraints, C u' = gamma, these are multipliers as [kelly1987] has them:
         u' = u'_tree + M^-1 C' lam,  C M^-1 C' lam = gamma - C u'_tree.
Symbols  C = R' Q by Gram-Schmidt with pivoting, as multipliers.py does with half solved rows; X = M^-1 Q', one
         divided sweep for each row that is kept; K = Q X; K mu = R'^-1 (gamma - C u'), R lam = mu.
Differs  C itself is made orthogonal, not D^-1/2 L^-1 C': a divided mass matrix has no such factors. So K is as well
         conditioned as M, whatever the rows are, and a second round takes away what rounding left. Redundant rows are
         left out by rank. O((n / p + log p) m + n m^2 + m^3) for m rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..kernels.constraint_layout import ROW_NUMBERS, Rows, take_rows
from ..kernels.constraints import constrain, ends_of_row
from ..kernels.dense import factorize, solve_factors
from ..kernels.force_layout import MOTION
from ..kernels.lanes import get, inline, kernel, put, take, view
from ..kernels.layout import DIVISION, take_integers
from ..kernels.outside import call_division
from ..kernels.shared import doubles_at, integers_at
from ..kernels.spatial import dot, load6
from ..system.system import System
from .crew import BOARD
from .division import BOARD_AT, FORCES_ALONE, HEADER, MEMBERS_NOW, SIZE, SOLVER
from .live_rows import live_rows
from .multipliers import PER_GAP, RANK, gap, length, orthogonalize

ROUNDS = 2


class Work(NamedTuple):
    rows: Rows
    C: Any  # (nr, nu)
    Y: Any  # (nr, nu)  C against its scale, then Q
    X: Any  # (nr, nu)  M^-1 Q'
    R: Any  # (nr, nr)  row i: products of direction i with the rows
    K: Any  # (nr, nr)  Q M^-1 Q', factored
    pivot: Any  # (nr)
    scale: Any  # (nr)  size of each row without cancellation
    norm: Any  # (nr)   squared, of what is left of each row
    order: Any  # (nr)  rows in the order of their pivots
    part: Any  # (nr)   how far to go along each direction
    mu: Any  # (nr)     loads along the directions
    lam: Any  # (nr)    multipliers: those of rows left out are zero
    more: Any  # (nr)   what a round adds to them
    left: Any  # (nr)   what each row lacks
    move: Any  # (nu)


def work_rows(system: System) -> int:
    """Numbers that the Work of one state takes."""
    nu, nr = system.nu, live_rows(system).count
    return ROW_NUMBERS * nr + 3 * nr * nu + 2 * nr * nr + 9 * nr + nu


@inline
def take_work(m, E, buffer, n):
    rows, n = take_rows(E, buffer, n)
    C, n = take(buffer, n, E.nr * m.nu)
    Y, n = take(buffer, n, E.nr * m.nu)
    X, n = take(buffer, n, E.nr * m.nu)
    R, n = take(buffer, n, E.nr * E.nr)
    K, n = take(buffer, n, E.nr * E.nr)
    pivot, n = take(buffer, n, E.nr)
    scale, n = take(buffer, n, E.nr)
    norm, n = take(buffer, n, E.nr)
    order, n = take(buffer, n, E.nr)
    part, n = take(buffer, n, E.nr)
    mu, n = take(buffer, n, E.nr)
    lam, n = take(buffer, n, E.nr)
    more, n = take(buffer, n, E.nr)
    left, n = take(buffer, n, E.nr)
    move, n = take(buffer, n, m.nu)
    return Work(rows, C, Y, X, R, K, pivot, scale, norm, order, part, mu, lam, more, left, move), n


@kernel
def divided(m, forces_alone, q, u, forces, udot):
    """u' of the tree by the division that the System's memory tells of; under all there is, or joint forces alone"""
    place = m.header[DIVISION]
    memory = doubles_at(place, HEADER)
    header, _ = take_integers(memory, 0, HEADER)
    memory = doubles_at(place, header[SIZE])
    header[FORCES_ALONE] = forces_alone
    board = integers_at(header[BOARD_AT], BOARD)
    return call_division(header[SOLVER], memory, q, u, forces, udot, board, 0, header[MEMBERS_NOW])


@kernel
def fill_rows(m, E, k, w):
    """C, from the two bodies of each row to where they meet; its scale; and Y, where given motions have no part"""
    for n in range(E.nr * m.nu):
        put(w.C, n, 0.0)
    for r in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, r)
        wa, wb = load6(w.rows.w, 2 * r), load6(w.rows.w, 2 * r + 1)
        size, at = max(abs(first), abs(second)), r * m.nu
        while a != b:
            if b > a:
                a, b, wa, wb = b, a, wb, wa
            for l in range(m.dof[a], m.dof[a + 1]):
                S = load6(k.S, l)
                put(w.C, at + l, dot(S, wa))
                if m.resist[l] != math.inf:
                    size = max(size, length(S) * length(wa))
            a = m.parent[a]
        put(w.C, at + i, get(w.C, at + i) + first)
        put(w.C, at + j, get(w.C, at + j) + second)
        put(w.scale, r, size)
        for l in range(m.nu):
            put(w.Y, at + l, 0.0 if m.resist[l] == math.inf else get(w.C, at + l))


@kernel
def fill(m, E, k, q, u, w, tolerance):
    """All that belongs to the rows at the pose that was solved last; returns the rank"""
    fill_rows(m, E, k, w)
    rank, nu = orthogonalize(m.nu, E.nr, w, tolerance), m.nu
    for n in range(rank):
        r = int(get(w.order, n))
        divided(m, 1, q, u, view(w.Y, r * nu, nu), view(w.X, r * nu, nu))
        for s in range(rank):
            other = int(get(w.order, s))
            total = 0.0
            for l in range(nu):
                total += get(w.Y, other * nu + l) * get(w.X, r * nu + l)
            put(w.K, s * rank + n, total)
    factorize(rank, w.K, w.pivot)
    return rank


@kernel
def correct(m, E, w, rank, lacks, move):
    """move += M^-1 C' more, such that C times this is what the rows lack; lam grows by it"""
    nr, nu = E.nr, m.nu
    for n in range(rank):  # R' part = what the rows lack
        r = int(get(w.order, n))
        total = get(lacks, r) / get(w.scale, r)
        for s in range(n):
            other = int(get(w.order, s))
            total -= get(w.R, other * nr + r) * get(w.part, other)
        put(w.part, r, total / get(w.R, r * nr + r))
        put(w.mu, n, get(w.part, r))
    solve_factors(rank, w.K, w.pivot, w.mu)
    for n in range(rank - 1, -1, -1):  # R more = mu
        r = int(get(w.order, n))
        for l in range(nu):
            put(move, l, get(move, l) + get(w.mu, n) * get(w.X, r * nu + l))
        total = get(w.mu, n)
        for s in range(n + 1, rank):
            other = int(get(w.order, s))
            total -= get(w.R, r * nr + other) * get(w.more, other)
        put(w.more, r, total / get(w.R, r * nr + r))
        put(w.lam, r, get(w.lam, r) + get(w.more, r) / get(w.scale, r))


@kernel
def missing(m, E, F, signals, w, udot):
    """left = gamma - C u', with u' of given motions in its place"""
    for l in range(m.nu):
        put(w.move, l, get(udot, l))
    for n in range(F.nf):
        if F.kind[n] == MOTION:
            put(w.move, F.freedom[n], get(signals, 3 + 3 * F.signal[3 * n]))
    for r in range(E.nr):
        back = 2.0 * E.alpha * get(w.rows.rate, r) + E.beta * E.beta * get(w.rows.g, r)  # integrate/stabilize.py
        done = 0.0
        for l in range(m.nu):
            done += get(w.C, r * m.nu + l) * get(w.move, l)
        put(w.left, r, get(w.rows.gamma, r) - back - done)


@kernel
def solve(m, F, E, k, signals, q, u, forces, w, udot):
    """u' under joint forces and wrenches, and lam; u' of given motions is left at zero. k is that of q and u.

    Returns the power of constraints, and zero if the division is well.
    """
    well = divided(m, 0, q, u, forces, udot)
    constrain(m, E, k, signals, q, u, w.rows)
    rank = fill(m, E, k, q, u, w, RANK + PER_GAP * gap(E, w.rows))
    for r in range(E.nr):
        put(w.lam, r, 0.0)
    for _ in range(ROUNDS):
        missing(m, E, F, signals, w, udot)
        correct(m, E, w, rank, w.left, udot)
    power = 0.0
    for r in range(E.nr):
        power += get(w.lam, r) * get(w.rows.given, r)
    return power, well
