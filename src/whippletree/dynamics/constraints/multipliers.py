"""Forward dynamics with constraints by undetermined multipliers, O(n + n m^2 + m^3), m rows of constraints.

Paper    [kelly1987] eqs (17)-(23): Kane's equations with undetermined multipliers, M u' = f + C' lam, C u' = gamma;
         the traditional technique that [critchley2003] is measured against: C M^-1 C' lam = gamma - C M^-1 f, with
         M^-1 by O(n) recursions, [jain1992] eq. (56).
Symbols  C = B of kelly1987, gamma = g' - B' q'; M^-1 = L^-T D^-1 L^-1, Y = D^-1/2 L^-1 C', a column for each row of C.
Differs  C M^-1 C' = Y'Y is never formed: Y = Q R by Gram-Schmidt with pivoting, done twice, so that its conditioning
         is not squared and the rank shows. A row that adds nothing to those before it is left out: redundant
         constraints need no switch. A loop that is open by g is only known to be redundant to about g, so the rank is
         judged that much more coarsely. One state at a time. What slides adds loads of its own: sliding.py. M may be
         singular where constraints hold a link without mass: massless.py.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...algebra import spatial as sp
from ...compiler import function_pointers as pointers
from ...compiler.lanes import entry, get, inline, kernel, put, scratch, take, view
from ...kernels import blocks
from ...kernels.constraints import constrain, ends_of_row
from ...kernels.forces import spread_prescribed
from ...kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ...kernels.unpack import follows, take_rows, unpack, unpack_constraints, unpack_forces
from ...layout.constraints import ROW_NUMBERS, Rows
from ...layout.forces import MOTION
from ...layout.system import FACTORS, FLEXIBLE
from ...system.system import System
from ..accuracy.fast_motion import BEYOND, hidden_loss, largest
from ..tree import articulated
from ..tree import workspace as tree_work
from . import massless
from .live_rows import live_rows
from .sliding import slide

SUPPORTS = {"trees", "flexible", "loops", "loops of nodes", "couplings", "constraints", "friction"}
RANK = 1e-9  # of what a row would be without cancellation: less is rounding
CLEAR = 1e-13  # of the same: more is not redundant for sure
WIDE = 1e-2  # a mechanism that is open by more still has its constraints
SLOW = 1e-3  # of gravity: accelerations that the tree has alone, and constraints take away, are compared with no less
TINY = 1e-140
PER_VIOLATION = 10.0  # of the same, for a gap of the size of the mechanism


class Work(NamedTuple):
    tree: tree_work.Work
    rows: Rows
    Y: Any  # (nr, nu)  row r: the half solved row r of C, then an orthonormal direction
    R: Any  # (nr, nr)  row i: products of direction i with the rows
    scale: Any  # (nr)  size of each row without cancellation
    norm: Any  # (nr)   squared, of what is left of each row
    order: Any  # (nr)  rows in the order of their pivots
    part: Any  # (nr)   how far to go along each direction
    lam: Any  # (nr)    multipliers: those of rows left out are zero
    left: Any  # (nr)   what each row lacks
    y: Any  # (nu)
    move: Any  # (nu)
    prescribed: Any  # (nb, 6)  acceleration by prescribed motions
    lent: massless.Lent


def work_rows(system: System) -> int:
    """Numbers that the Work of one state takes."""
    nb, nu, nr = system.nb, system.nu, live_rows(system).count
    rows = tree_work.work_rows(system) + ROW_NUMBERS * nr + nr * nu + nr * nr + 6 * nr + 2 * nu + 6 * nb
    return rows + massless.lent_rows(system)


def workspace(system: System, lanes: int = 1) -> np.ndarray:
    """Memory for :func:`accelerations`, which takes one state at a time, also of a batch."""
    rows = kinematics_rows(system) + work_rows(system) + blocks.block_rows(system) + 1 + 3 * system.forces.signals
    return massless.lend(system, blocks.make_memory(system, rows, 1, system.forces.packed, live_rows(system).packed))


@inline
def take_work(m, E, buffer, n):
    tree, n = tree_work.take_work(m, buffer, n)
    rows, n = take_rows(E, buffer, n)
    Y, n = take(buffer, n, E.nr * m.nu)
    R, n = take(buffer, n, E.nr * E.nr)
    scale, n = take(buffer, n, E.nr)
    norm, n = take(buffer, n, E.nr)
    order, n = take(buffer, n, E.nr)
    part, n = take(buffer, n, E.nr)
    lam, n = take(buffer, n, E.nr)
    left, n = take(buffer, n, E.nr)
    y, n = take(buffer, n, m.nu)
    move, n = take(buffer, n, m.nu)
    prescribed, n = take(buffer, n, 6 * m.nb)
    lent, n = massless.take_lent(m, buffer, n)
    return Work(tree, rows, Y, R, scale, norm, order, part, lam, left, y, move, prescribed, lent), n


@inline
def length(a):
    return math.sqrt(sp.dot(a, a))


@kernel
def half_solve(m, E, k, w, r):
    """Y of row r: D^-1/2 L^-1 C', from the two bodies of the row to ground, and its size"""
    A, x = w.tree, w.rows
    a, b, i, first, j, second = ends_of_row(E, r)
    za, zb = scale_by_minus(sp.load6(x.w, 2 * r)), scale_by_minus(sp.load6(x.w, 2 * r + 1))
    if m.header[FLEXIBLE] > 0:
        half_solve_flexible(m, k, w, r, a, b, i, first, j, second)
        return
    for l in range(m.nu):
        put(w.Y, r * m.nu + l, 0.0)
    load, size = length(za) + length(zb), 0.0
    while a > 0 or b > 0:
        if a == b:
            za, b = sp.add(za, zb), 0
        if b > a:
            a, b, za, zb = b, a, zb, za
        for l in range(m.dof[a + 1] - 1, m.dof[a] - 1, -1):
            S = sp.load6(k.S, l)
            factor = (first if l == i else 0.0) + (second if l == j else 0.0)
            d, epsilon = get(A.d, l), factor - sp.dot(S, za)
            root = math.sqrt(d)
            size = max(size, root * (abs(factor) + length(S) * (load + length(za))))
            put(w.Y, r * m.nu + l, root * epsilon)
            za = sp.axpy(d * epsilon, sp.load6(A.U, l), za)  # z+ = z + G epsilon
        a = m.parent[a]
    put(w.scale, r, size)


@kernel
def half_solve_flexible(m, k, w, r, a, b, i, first, j, second):
    """The same with flexible bodies, by a recursion from the outer body of the row"""
    A, x, top = w.tree, w.rows, max(a, b)
    for n in range(6 * (top + 1)):
        put(A.pA, n, 0.0)
    sp.store6(A.pA, a, sp.sub(sp.load6(A.pA, a), sp.load6(x.w, 2 * r)))
    sp.store6(A.pA, b, sp.sub(sp.load6(A.pA, b), sp.load6(x.w, 2 * r + 1)))
    factors, row = view(w.prescribed, 0, 4), view(w.Y, r * m.nu, m.nu)
    put(factors, 0, float(i))
    put(factors, 1, first)
    put(factors, 2, float(j))
    put(factors, 3, second)
    put(w.scale, r, pointers.call_flexible(pointers.HALF, top, 0, m.header, k.sin, A.IA, row, factors, row, row))


@inline
def scale_by_minus(a):
    return (-a[0], -a[1], -a[2], -a[3], -a[4], -a[5])


@kernel
def product(Y, nu, r, s):
    total = 0.0
    for l in range(nu):
        total += get(Y, r * nu + l) * get(Y, s * nu + l)
    return total


@kernel
def subtract(Y, nu, factor, r, s):
    """Row s less a multiple of row r"""
    for l in range(nu):
        put(Y, s * nu + l, get(Y, s * nu + l) - factor * get(Y, r * nu + l))


@kernel
def violation(E, x):
    """The largest residual against the size of the mechanism, or in radians"""
    largest = 0.0
    for r in range(E.nr):
        largest = max(largest, abs(get(x.g, r)))
    return min(largest * max(1.0, 1.0 / E.size), WIDE)


@kernel
def orthogonalize(nu, nr, w, tolerance):
    """Y = Q R with the largest remaining row first; returns the rank"""
    for r in range(nr):
        factor = 1.0 / get(w.scale, r) if get(w.scale, r) > 0.0 else 0.0
        for l in range(nu):
            put(w.Y, r * nu + l, factor * get(w.Y, r * nu + l))
        put(w.order, r, float(r))
        put(w.norm, r, product(w.Y, nu, r, r))
    for n in range(nr):
        best = n
        for s in range(n + 1, nr):
            if get(w.norm, int(get(w.order, s))) > get(w.norm, int(get(w.order, best))):
                best = s
        r = int(get(w.order, best))
        if not get(w.norm, r) > tolerance * tolerance:
            return n
        put(w.order, best, get(w.order, n))
        put(w.order, n, float(r))
        for s in range(n):  # once more, so that directions stay orthogonal
            other = int(get(w.order, s))
            more = product(w.Y, nu, other, r)
            subtract(w.Y, nu, more, other, r)
            put(w.R, other * nr + r, get(w.R, other * nr + r) + more)
        length = math.sqrt(product(w.Y, nu, r, r))
        put(w.R, r * nr + r, length)
        for l in range(nu):
            put(w.Y, r * nu + l, get(w.Y, r * nu + l) / length)
        for s in range(n + 1, nr):
            other = int(get(w.order, s))
            along = product(w.Y, nu, r, other)
            put(w.R, r * nr + other, along)
            subtract(w.Y, nu, along, r, other)
            put(w.norm, other, product(w.Y, nu, other, other))
    return nr


@kernel
def fill(m, E, k, w, tolerance):
    """The factors of all rows at the pose of k, behind the recursion of the tree; returns the rank"""
    for r in range(E.nr):
        half_solve(m, E, k, w, r)
        if follows(E, r) >= 0:  # friction holds nothing
            put(w.scale, r, 0.0)
    return orthogonalize(m.nu, E.nr, w, tolerance)


@kernel
def independent(E, w, rank, open_by):
    """Whether all rows are independent, and would be if the mechanism were not open by so much"""
    least = get(w.R, int(get(w.order, E.nr - 1)) * (E.nr + 1))
    return rank == E.nr and least > RANK + PER_VIOLATION * open_by


@kernel
def correct(m, E, k, w, rank, lacks, move):
    """move += M^-1 C' lam with lam such that C times this is what the rows lack; lam is kept"""
    nr, nu = E.nr, m.nu
    for l in range(nu):
        put(w.y, l, 0.0)
    for n in range(rank):  # R' part = what the rows lack
        r = int(get(w.order, n))
        total = get(lacks, r) / get(w.scale, r)
        for s in range(n):
            other = int(get(w.order, s))
            total -= get(w.R, other * nr + r) * get(w.part, other)
        put(w.part, r, total / get(w.R, r * nr + r))
        for l in range(nu):
            put(w.y, l, get(w.y, l) + get(w.part, r) * get(w.Y, r * nu + l))
    for r in range(nr):
        put(w.lam, r, 0.0)
    for n in range(rank - 1, -1, -1):  # R lam = part
        r = int(get(w.order, n))
        total = get(w.part, r)
        for s in range(n + 1, rank):
            other = int(get(w.order, s))
            total -= get(w.R, r * nr + other) * get(w.lam, other)
        put(w.lam, r, total / get(w.R, r * nr + r))
    for r in range(nr):
        put(w.lam, r, get(w.lam, r) / get(w.scale, r) if get(w.scale, r) > 0.0 else 0.0)
    add_half(m, k, w, move)


@kernel
def add_half(m, k, w, move):
    """move += L^-T D^-1/2 y"""
    A = w.tree
    if m.header[FLEXIBLE] > 0:
        pointers.call_flexible(pointers.HALF_BACK, 0, 0, m.header, k.sin, A.IA, w.y, move, move, move)
        return
    for n in range(6):
        put(A.x, n, 0.0)
    for i in range(1, m.nb):  # ground to tips
        x = sp.load6(A.x, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            xj = math.sqrt(get(A.d, j)) * get(w.y, j) - get(A.d, j) * sp.dot(sp.load6(A.U, j), x)
            x = sp.axpy(xj, sp.load6(k.S, j), x)
            put(move, j, get(move, j) + xj)
        sp.store6(A.x, i, x)


@inline
def prescribed_rate(m, F, signals, j):
    """Acceleration of DOF j if it is given, else zero"""
    for n in range(F.nf):
        if F.kind[n] == MOTION and F.dof[n] == j:
            return get(signals, 3 + 3 * F.signal[3 * n])
    return 0.0


@kernel
def missing(m, E, F, signals, w, udot):
    """left = gamma - C u', with u' of the tree alone and of prescribed motions"""
    x, A = w.rows, w.tree
    for r in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, r)
        done = sp.dot(sp.load6(x.w, 2 * r), sp.add(sp.load6(A.x, a), sp.load6(w.prescribed, a)))
        done += sp.dot(sp.load6(x.w, 2 * r + 1), sp.add(sp.load6(A.x, b), sp.load6(w.prescribed, b)))
        if first != 0.0:
            done += first * (get(udot, i) + prescribed_rate(m, F, signals, i))
        if second != 0.0:
            done += second * (get(udot, j) + prescribed_rate(m, F, signals, j))
        back = 2.0 * E.alpha * get(x.rate, r) + E.beta * E.beta * get(x.g, r)  # integrate/stabilize.py; else zero
        put(w.left, r, get(x.gamma, r) - back - done)


@kernel
def solve(m, F, E, k, signals, q, u, tau, wrench, w, measures, udot):
    """u' under tau and wrenches, and lam; u' of prescribed motions is left at zero.

    Returns the power of constraints and, if it ``measures`` that, the loss of digits.
    """
    m.header[FACTORS] = 1  # modes one by one
    power, loss, alone, rank, force = 0.0, 0.0, 0.0, 0, tau
    lends = w.lent.tau.shape[0] > 0
    for again in range(2 if lends else 1):
        if again:  # with the forces that lent armature returns
            loss += massless.owe(m, k, w, rank)
            massless.give_back(m, w.lent, tau, udot)
            force = w.lent.tau
        loss += articulated.solve(m, k, force, wrench, w.tree, udot)
        alone = largest(udot) if measures else 0.0
        if E.nr > 0:
            if not again:
                constrain(m, E, k, signals, q, u, w.rows)
                spread_prescribed(m, F, k, signals, w.prescribed)
            missing(m, E, F, signals, w, udot)
            if not again:
                rank = fill(m, E, k, w, RANK + PER_VIOLATION * violation(E, w.rows))
            correct(m, E, k, w, rank, w.left, udot)
    if E.nr > 0:
        if measures:
            loss = max(loss, doubt(E, w, rank), alone / (largest(udot) + SLOW * largest(m.gravity) + TINY))
        for r in range(E.nr):
            if follows(E, r) >= 0:
                half_solve(m, E, k, w, r)
                if lends:
                    massless.give_back_row(m.nu, w.lent, w.Y, r)
        if slide(m.nu, E, w, rank):
            add_half(m, k, w, udot)
        for r in range(E.nr):
            power += get(w.lam, r) * get(w.rows.prescribed, r)
    return power, loss


@kernel
def doubt(E, w, rank):
    """The loss by the least pivot; beyond all limits where an equation left out is not redundant, or contradicted"""
    loss, nr, moved = 0.0, E.nr, 0.0
    for n in range(rank):
        moved = max(moved, abs(get(w.part, int(get(w.order, n)))))
    if rank > 0:
        loss = 1.0 / get(w.R, int(get(w.order, rank - 1)) * (nr + 1)) ** 2
    for n in range(rank, nr):
        r = int(get(w.order, n))
        if get(w.scale, r) > 0.0:
            lacks, terms = get(w.left, r) / get(w.scale, r), abs(get(w.left, r) / get(w.scale, r))
            for s in range(rank):
                other = int(get(w.order, s))
                part = get(w.R, other * nr + r) * get(w.part, other)
                lacks, terms = lacks - part, terms + abs(part)
            if get(w.norm, r) > CLEAR * CLEAR or abs(lacks) > CLEAR * (terms + moved):
                loss = BEYOND
        elif follows(E, r) < 0 and abs(get(w.left, r)) > RANK * (1.0 + abs(get(w.rows.gamma, r))):
            loss = BEYOND  # all that it holds is prescribed
    return loss


@entry
def accelerations(memory, q, u, forces, signals, udot, start, stop):
    """udot of the states start to stop, under tau and then wrenches if any; ``signals`` are functions of time.

    Returns the largest loss if all is well, else not a number.
    """
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    if blocks.mismatch(m, q, u, forces, udot) or signals.shape[-1] != 1 + 3 * F.ns:
        return np.nan
    buffer = scratch(memory, end, memory)
    k, n = take_kinematics(m, buffer)
    w, n = take_work(m, E, buffer, n)
    block, n = blocks.take_block(m, buffer, n, forces)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    total, worst = 0.0, 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities = blocks.gather(q, s, block.q), blocks.gather(u, s, block.u)
        place_and_move(m, coordinates, velocities, k)
        tau, wrench = blocks.split_wrench(m, blocks.gather(forces, s, block.x))
        out = blocks.target(udot, block.out)
        _, loss = solve(
            m, F, E, k, blocks.gather(signals, s, s_block), coordinates, velocities, tau, wrench, w, True, out
        )
        blocks.scatter(out, s, udot)
        worst = max(worst, loss, hidden_loss(k, velocities, out))
        total += blocks.checksum(out) + blocks.unit_check(k)
    return total + worst
