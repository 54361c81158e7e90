"""Rows of constraints that several subchains share: their Jacobian, its rank beside the rows inside subchains, their
loads.

Paper    [kelly1987] as in loops.py, which says what the symbols are.
Symbols  C D^-1/2 = P B D^-1/2 + R' Q: B are the rows inside subchains, Q is orthogonal to these and to itself.
Differs  redundant rows are found beside all others, in the metric of the pivots.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...algebra.dense import factorize, solve_factors
from ...algebra.spatial import dot, load6
from ...compiler.atomics import doubles_at, integers_at
from ...compiler.function_pointers import call_division, call_subchain
from ...compiler.lanes import get, inline, kernel, put, take, view
from ...compiler.thread_pool import SHARED_STATE
from ...kernels.constraints import ends_of_row
from ...kernels.unpack import take_integers, take_rows
from ...layout import constraints as equations
from ...layout.forces import MOTION
from ...layout.system import DIVISION
from ...system.system import System
from ..constraints import multipliers
from ..constraints.live_rows import live_rows
from ..two_handle import layout
from . import header as head


class Split(NamedTuple):
    """Rows inside subchains, and rows that they share: which of all they are."""

    local: Any  # (nl, LOCAL)  as subchains see them
    tolerance: Any  # (1)
    nl: Any
    inside: Any  # (nl)
    ns: Any
    shared: Any  # (ns)


class Work(NamedTuple):
    rows: equations.Rows
    C: Any  # (ns, nu)
    Y: Any  # (ns, nu)  C D^-1/2 against its scale, then Q, then Q D^1/2
    X: Any  # (ns, nu)  M^-1 D^1/2 Q'
    R: Any  # (ns, ns)  row i: products of direction i with the rows
    K: Any  # (ns, ns)  scaled to unit diagonal, factored
    pivot: Any  # (ns)
    unit: Any  # (ns)   of K's rows, 1 / sqrt of its diagonal
    scale: Any  # (ns)  size of each row without cancellation
    norm: Any  # (ns)   squared, of what is left of each row
    order: Any  # (ns)  rows in the order of their pivots
    part: Any  # (ns)   how far to go along each direction, then what a round adds to lam
    mu: Any  # (ns)     loads along the directions
    left: Any  # (ns)   what each shared row lacks
    lam: Any  # (nr)    multipliers: those of rows left out are zero
    move: Any  # (nu)
    none: Any  # (nu)   zeros
    root: Any  # (nu)   D^-1/2; zero where motion is prescribed
    push: Any  # (nu)   generalized forces of a pass
    rank: Any  # (2)    of the shared rows; whether lam of rows inside subchains has what loads of these cause
    more: Any  # (nr)   what a correction adds to lam
    prescribed: Any  # (nb, 6)  acceleration by prescribed motions


def work_rows(system: System, division: np.ndarray) -> int:
    """Numbers that the Work of one state takes, with the memory of its division."""
    nu, nr, header = system.nu, live_rows(system).count, division[: head.HEADER].view(np.int64)
    ns = int(header[head.SHARED_COUNT])
    return (equations.ROW_NUMBERS + 2) * nr + ns * (3 * nu + 2 * ns + 8) + 4 * nu + 6 * system.nb + 2


@inline
def split_rows(m):
    """Which rows are whose"""
    memory = doubles_at(m.header[DIVISION], head.HEADER)
    header, _ = take_integers(memory, 0, head.HEADER)
    nl, ns = header[head.LOCAL_COUNT], header[head.SHARED_COUNT]
    whole = doubles_at(m.header[DIVISION], header[head.SIZE])
    inside, _ = take_integers(whole, header[head.LOCAL_ROWS_AT], nl)
    shared, _ = take_integers(whole, header[head.SHARED_ROWS_AT], ns)
    return Split(
        view(whole, header[head.LOCAL_AT], layout.LOCAL * nl), view(whole, head.TOLERANCE, 1), nl, inside, ns, shared
    ), ns


@inline
def take_work(m, E, buffer, n):
    _, ns = split_rows(m)
    rows, n = take_rows(E, buffer, n)
    C, n = take(buffer, n, ns * m.nu)
    Y, n = take(buffer, n, ns * m.nu)
    X, n = take(buffer, n, ns * m.nu)
    R, n = take(buffer, n, ns * ns)
    K, n = take(buffer, n, ns * ns)
    pivot, n = take(buffer, n, ns)
    unit, n = take(buffer, n, ns)
    scale, n = take(buffer, n, ns)
    norm, n = take(buffer, n, ns)
    order, n = take(buffer, n, ns)
    part, n = take(buffer, n, ns)
    mu, n = take(buffer, n, ns)
    left, n = take(buffer, n, ns)
    lam, n = take(buffer, n, E.nr)
    move, n = take(buffer, n, m.nu)
    none, n = take(buffer, n, m.nu)
    root, n = take(buffer, n, m.nu)
    push, n = take(buffer, n, m.nu)
    kept, n = take(buffer, n, 2)
    more, n = take(buffer, n, E.nr)
    prescribed, n = take(buffer, n, 6 * m.nb)
    loads = part, mu, left, lam, move, none, root, push, kept, more, prescribed
    return Work(rows, C, Y, X, R, K, pivot, unit, scale, norm, order, *loads), n


@kernel
def divided(m, forces_alone, q, u, forces, udot):
    """u' by the division that the System's memory names: under all forces, or generalized forces and gamma alone"""
    place = m.header[DIVISION]
    memory = doubles_at(place, head.HEADER)
    header, _ = take_integers(memory, 0, head.HEADER)
    memory = doubles_at(place, header[head.SIZE])
    header[head.FORCES_ALONE] = forces_alone
    shared_state = integers_at(header[head.SHARED_STATE_AT], SHARED_STATE)
    return call_division(header[head.SOLVER], memory, q, u, forces, udot, shared_state, 0, header[head.MEMBERS_NOW])


@inline
def back(E, w, r):
    """integrate/stabilize.py; else zero"""
    return 2.0 * E.alpha * get(w.rows.rate, r) + E.beta * E.beta * get(w.rows.g, r)


# ---------------------------------------------------------------- rows that subchains share


@kernel
def fill_rows(m, E, k, w):
    """C, from the two bodies of each row to where they meet; its scale; and C D^-1/2 less its parts along local rows"""
    split, ns = split_rows(m)
    for n in range(ns * m.nu):
        put(w.C, n, 0.0)
    for s in range(ns):
        r = split.shared[s]
        a, b, i, first, j, second = ends_of_row(E, r)
        wa, wb = load6(w.rows.w, 2 * r), load6(w.rows.w, 2 * r + 1)
        size, at = max(abs(first) * get(w.root, i), abs(second) * get(w.root, j)), s * m.nu
        while a != b:
            if b > a:
                a, b, wa, wb = b, a, wb, wa
            for l in range(m.dof[a], m.dof[a + 1]):
                S = load6(k.S, l)
                put(w.C, at + l, dot(S, wa))
                size = max(size, get(w.root, l) * multipliers.length(S) * multipliers.length(wa))
            a = m.parent[a]
        put(w.C, at + i, get(w.C, at + i) + first)
        put(w.C, at + j, get(w.C, at + j) + second)
        put(w.scale, s, size)
        for l in range(m.nu):
            put(w.Y, at + l, get(w.root, l) * get(w.C, at + l))
        for _ in range(2):  # rounding leaves some
            project(m, view(w.Y, at, m.nu))


@kernel
def project(m, row):
    """A row less its parts along the rows inside subchains"""
    memory = doubles_at(m.header[DIVISION], head.HEADER)
    header, _ = take_integers(memory, 0, head.HEADER)
    if header[head.LOCAL_COUNT] > 0:
        whole = doubles_at(m.header[DIVISION], header[head.SIZE])
        for block in range(header[head.BLOCKS_COUNT]):
            b, _ = take_integers(whole, header[head.BLOCKS_AT] + 2 * block, 2)
            if b[1] == 1 and take_integers(whole, b[0], layout.HEAD)[0][layout.CLUSTERS_AT] > 0:
                call_subchain(header[head.CLUSTERED], whole, head.PROJECT, b[0], row, row)


@kernel
def fill(m, E, k, q, u, w, tolerance):
    """All that belongs to shared rows at the pose that was solved last; returns their rank"""
    divided(m, head.PIVOTS_ONLY, q, u, w.none, w.root)
    for l in range(m.nu):
        put(w.root, l, math.sqrt(get(w.root, l)))
    fill_rows(m, E, k, w)
    split, ns = split_rows(m)
    rank, nu = multipliers.orthogonalize(m.nu, ns, w, tolerance), m.nu
    for n in range(split.nl):
        split.local[layout.LOCAL * n + layout.GAMMA] = 0.0
    for n in range(rank):
        r = int(get(w.order, n))
        for l in range(r * nu, (r + 1) * nu):
            root = get(w.root, l - r * nu)
            put(w.Y, l, get(w.Y, l) / root if root > 0.0 else 0.0)
        divided(m, head.FORCES_ACT, q, u, view(w.Y, r * nu, nu), view(w.X, r * nu, nu))
    for n in range(rank):
        for s in range(rank):
            r, other, total = int(get(w.order, n)), int(get(w.order, s)), 0.0
            for l in range(nu):
                total += get(w.Y, other * nu + l) * get(w.X, r * nu + l)
            put(w.K, s * rank + n, total)
        put(w.unit, n, 1.0 / math.sqrt(abs(get(w.K, n * rank + n))))
    for n in range(rank):
        for s in range(rank):
            put(w.K, s * rank + n, get(w.unit, s) * get(w.K, s * rank + n) * get(w.unit, n))
    factorize(rank, w.K, w.pivot)
    return rank


@kernel
def correct(m, w, rank, move, lam):
    """move += M^-1 C' more, such that C times this is what the shared rows lack; lam of these grows by it"""
    split, ns = split_rows(m)
    nu = m.nu
    for n in range(rank):  # R' part = what the rows lack
        r = int(get(w.order, n))
        total = get(w.left, r) / get(w.scale, r)
        for s in range(n):
            other = int(get(w.order, s))
            total -= get(w.R, other * ns + r) * get(w.part, other)
        put(w.part, r, total / get(w.R, r * ns + r))
        put(w.mu, n, get(w.unit, n) * get(w.part, r))
    solve_factors(rank, w.K, w.pivot, w.mu)
    for n in range(rank - 1, -1, -1):  # R more = mu
        r, mu = int(get(w.order, n)), get(w.unit, n) * get(w.mu, n)
        for l in range(nu):
            put(move, l, get(move, l) + mu * get(w.X, r * nu + l))
        total = mu
        for s in range(n + 1, rank):
            other = int(get(w.order, s))
            total -= get(w.R, r * ns + other) * get(w.part, other)
        put(w.part, r, total / get(w.R, r * ns + r))
        i = split.shared[r]
        put(lam, i, get(lam, i) + get(w.part, r) / get(w.scale, r))


@inline
def along(w, nu, s, move):
    """C move, of one shared row"""
    total = 0.0
    for l in range(nu):
        total += get(w.C, s * nu + l) * get(move, l)
    return total


@kernel
def missing(m, E, F, signals, w, udot):
    """left = gamma - C u', with u' of prescribed motions in its place"""
    split, ns = split_rows(m)
    for l in range(m.nu):
        put(w.move, l, get(udot, l))
    for n in range(F.nf):
        if F.kind[n] == MOTION:
            put(w.move, F.dof[n], get(signals, 3 + 3 * F.signal[3 * n]))
    for s in range(ns):
        r = split.shared[s]
        put(w.left, s, get(w.rows.gamma, r) - back(E, w, r) - along(w, m.nu, s, w.move))


@kernel
def shortfall(m, w, rank):
    """What the shared rows that are kept lack, at most, over the largest of their terms; w.move is u'"""
    most = 0.0
    for n in range(rank):
        r = int(get(w.order, n))
        size = abs(get(w.left, r))
        for l in range(m.nu):
            size = max(size, abs(get(w.C, r * m.nu + l) * get(w.move, l)))
        if size > 0.0:
            most = max(most, abs(get(w.left, r)) / size)
    return most


@kernel
def share_loads(m, q, u, w, rank, lam):
    """lam of rows inside subchains grows by what loads ``lam`` of shared rows cause"""
    split, _ = split_rows(m)
    if split.nl == 0:
        return
    for l in range(m.nu):
        total = 0.0
        for n in range(rank):
            s = int(get(w.order, n))
            total += get(w.C, s * m.nu + l) * get(lam, split.shared[s])
        put(w.push, l, total)
    divided(m, head.FORCES_ACT, q, u, w.push, w.move)  # gamma is zero, as fill() has left it
    for s in range(split.nl):
        i = split.inside[s]
        put(w.lam, i, get(w.lam, i) + split.local[layout.LOCAL * s + layout.LAMBDA])
