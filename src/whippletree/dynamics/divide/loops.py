"""Closed loops of a divided tree: loads on the cut joints. Those of one subchain are its own affair
(subchain_loops.py); those that several subchains share are found from what each does to all joints, by divided
recursions.

Paper    [critchley2007] leaves loops to [featherstone1999b]: cut joints are loads that keep the loop's ends together.
         Of m shared rows, C u' = gamma, these are multipliers as [kelly1987] has them:
         u' = u'_0 + M^-1 C' lam,  C M^-1 C' lam = gamma - C u'_0.
Symbols  u'_0 and M^-1 are those of the divided tree with the loops inside its subchains: M^-1 B' = 0 for their rows B.
         C D^-1/2 = P B D^-1/2 + R' Q: Q is orthogonal to all rows inside subchains and to itself, by Gram-Schmidt with
         pivoting, as constraints/multipliers.py does with half solved rows; X = M^-1 D^1/2 Q', one divided pass for
         each row that is kept; K = Q D^1/2 X; K mu = R'^-1 (gamma - C u'), R lam = mu. D are the pivots of the
         subchains.
Differs  C itself is made orthogonal, not D^-1/2 L^-1 C': a divided mass matrix has no such factors. So K is as well
         conditioned as M, whatever the rows are, and a second round takes away what rounding left. A row is redundant
         if the rows inside subchains and the shared rows before it determine it: M^-1 alone does not show that, since K
         has the square of what is left of a row. O((n / p + log p) m + n m^2 + m^3) for m shared rows.
"""

from __future__ import annotations

from ...algebra.spatial import dot, load6
from ...compiler.lanes import get, kernel, put
from ...kernels.constraints import constrain
from ...kernels.forces import spread_prescribed
from ..constraints.multipliers import PER_VIOLATION, RANK, violation
from ..two_handle.layout import GAMMA, LAMBDA, LOCAL
from . import header as head
from .shared_rows import along, back, correct, divided, fill, missing, share_loads, shortfall, split_rows

ROUNDS = 2
MOST_SHORT = 1e-11  # of the terms of a shared row, what its sum may lack


# ---------------------------------------------------------------- rows inside subchains


@kernel
def hand_over(m, E, w, tolerance):
    """Wrenches of rows to the subchains that they are inside of"""
    split, _ = split_rows(m)
    split.tolerance[0] = tolerance
    for s in range(split.nl):
        r = split.inside[s]
        n = E.element[r]
        for j in range(12):
            held = (E.body[n] if j < 6 else E.to[n]) == 0  # ground does not feel it
            split.local[LOCAL * s + j] = 0.0 if held else get(w.rows.w, 12 * r + j)


@kernel
def lacking(m, E, F, signals, k, w):
    """gamma of rows inside subchains: what they lack beside what prescribed motions do"""
    split, _ = split_rows(m)
    driven = F.ndriven > 0
    if driven:
        spread_prescribed(m, F, k, signals, w.prescribed)
    for s in range(split.nl):
        r = split.inside[s]
        n = E.element[r]
        left = get(w.rows.gamma, r) - back(E, w, r)
        if driven:
            left -= dot(load6(w.rows.w, 2 * r), load6(w.prescribed, E.body[n]))
            left -= dot(load6(w.rows.w, 2 * r + 1), load6(w.prescribed, E.to[n]))
        split.local[LOCAL * s + GAMMA] = left


# ---------------------------------------------------------------- all of them


@kernel
def solve(m, F, E, k, signals, q, u, forces, w, udot):
    """u' under joint forces and wrenches, and lam, of rows inside subchains only as far as power takes it.

    u' of prescribed motions is left at zero. k is that of q and u.

    Returns the power of constraints, and zero if the division is well, LOST if digits may be lost.
    """
    split, ns = split_rows(m)
    constrain(m, E, k, signals, q, u, w.rows)
    tolerance = RANK + PER_VIOLATION * violation(E, w.rows)
    hand_over(m, E, w, tolerance)
    lacking(m, E, F, signals, k, w)
    well = divided(m, head.ALL_ACTS, q, u, forces, udot)
    for r in range(E.nr):
        put(w.lam, r, 0.0)
    for s in range(split.nl):
        put(w.lam, split.inside[s], split.local[LOCAL * s + LAMBDA])
    if ns > 0:
        rank = fill(m, E, k, q, u, w, tolerance)
        for _ in range(ROUNDS):
            missing(m, E, F, signals, w, udot)
            correct(m, w, rank, udot, w.lam)
        missing(m, E, F, signals, w, udot)
        if shortfall(m, w, rank) > MOST_SHORT:
            well += head.LOST
        put(w.rank, 0, float(rank))
        put(w.rank, 1, 0.0)
        for s in range(split.nl):
            if get(w.rows.prescribed, split.inside[s]) != 0.0:  # its power takes the whole load
                put(w.rank, 1, 1.0)
        if get(w.rank, 1) > 0.0:
            share_loads(m, q, u, w, rank, w.lam)
    power = 0.0
    for r in range(E.nr):
        power += get(w.lam, r) * get(w.rows.prescribed, r)
    return power, well


@kernel
def refill(m, E, k, q, u, w):
    """What :func:`meet` needs, at a pose whose rows are there; returns the rank of shared rows"""
    hand_over(m, E, w, RANK)
    divided(m, head.ALL_ACTS, q, u, w.none, w.move)
    return fill(m, E, k, q, u, w, RANK)


@kernel
def meet(m, q, u, w, rank, lacks):
    """The move of least kinetic energy with C move = -lacks, into w.move"""
    split, ns = split_rows(m)
    for s in range(split.nl):
        split.local[LOCAL * s + GAMMA] = -get(lacks, split.inside[s])
    divided(m, head.FORCES_ACT, q, u, w.none, w.move)
    for s in range(ns):
        put(w.left, s, -get(lacks, split.shared[s]) - along(w, m.nu, s, w.move))
    correct(m, w, rank, w.move, w.lam)
