"""Loops that stay inside one subchain: folded into it, so that no other depends on them. O(n + m) for short loops.

Paper    [critchley2007] leaves loops to others; inside a subchain they are those of [kelly1987] with the factors of
         [jain1992], as in constraints/multipliers.py, but of a few bodies only, and solved where the recursion has
         passed them.
Symbols  a *cluster* is loops that share bodies; ``top`` is the body where all of them end. Y, R, scale and order are
         those of constraints/multipliers.py, of the cluster's own DOF. Each direction n that is left after Gram-Schmidt
         has zeta, eta and kappa = R'^-1 of what a motion of the top, a force at the tip, and all else do to the rows;
         with x of the top and f at the tip the load along it is nu = kappa - zeta . x - eta . f. So at the top I +=
         zeta zeta',  p -= kappa zeta,  E -= zeta eta',  L -= eta eta',  l += kappa eta.
Differs  a direction is a DOF taken away: what release() of two_handle/recursion.py does with a joint, with the sign
         turned.
"""

import math

from ...algebra import spatial as sp
from ...algebra.matrix6 import force_frame, force_in, store36
from ...compiler.function_pointers import numbers_at
from ...compiler.lanes import get, kernel, put, view
from ...kernels.unpack import take_integers
from ..constraints import multipliers
from ..two_handle import layout, recursion
from ..two_handle.end_point import load_e, reach_in_lanes
from ..two_handle.responses import press
from . import header as head
from .cluster_basis import make_basis, project_clustered
from .cluster_layout import take_cluster, take_clusters, tops_at

# ---------------------------------------------------------------- inward


@kernel
def half_solve(g, K, k, r, a, b, wa, wb, top):
    """Y of a row and its size, from its two bodies to the top, and what is left there: zeta"""
    za, zb, at = multipliers.scale_by_minus(wa), multipliers.scale_by_minus(wb), r * k.nf
    for l in range(k.nf):
        put(k.Y, at + l, 0.0)
        put(k.C, at + l, 0.0)
    load, size, apart = multipliers.length(za) + multipliers.length(zb), 0.0, True
    while a > top or b > top:
        if a == b:
            za, zb, b, apart = sp.add(za, zb), sp.load6(g.zero, 0), top, False
        if b > a:
            a, b, za, zb, wa, wb = b, a, zb, za, wb, wa
        first = g.m.dof[a]
        for l in range(g.m.dof[a + 1] - 1, first - 1, -1):
            S, d = sp.load6(g.k.S, l), get(g.d, l)
            epsilon, root = -sp.dot(S, za), math.sqrt(d)
            size = max(size, root * multipliers.length(S) * (load + multipliers.length(za)))
            put(k.Y, at + K.place[a] + l - first, root * epsilon)
            if apart:  # beyond, both ends move alike
                put(k.C, at + K.place[a] + l - first, root * sp.dot(S, wa))
            za = sp.axpy(d * epsilon, sp.load6(g.U, l), za)
        a = g.m.parent[a]
    put(k.scale, r, size)
    sp.store6(k.zeta, r, multipliers.scale_by_minus(sp.add(za, zb)))


@kernel
def fill_cluster(memory, g, K, c, tolerance):
    """Directions of a cluster, with their zeta and eta, behind the recursion of its bodies"""
    k, _ = take_cluster(memory, K, c)
    t, header = layout.CLUSTER * c, take_integers(memory, 0, head.HEADER)[0]
    R, o = sp.load9(view(g.own, layout.TURN, 9), 0), sp.load3(view(g.own, layout.OFFSET, 3), 0)
    for r in range(k.rows):
        z = layout.CLUSTER_ROW * (K.table[t + layout.FIRST_ROW] + r)
        w = view(memory, header[head.LOCAL_AT] + layout.LOCAL * K.row[z + 2], 12)
        wa, wb = force_in(R, o, sp.load6(w, 0)), force_in(R, o, sp.load6(w, 1))
        half_solve(g, K, k, r, K.row[z], K.row[z + 1], wa, wb, K.table[t + layout.TOP])
    rank = multipliers.orthogonalize(k.nf, k.rows, k, tolerance)
    K.table[t + layout.CLUSTER_RANK] = rank
    if header[head.SHARED_COUNT] > 0:
        make_basis(k, rank)
    for n in range(rank):
        r = int(get(k.order, n))
        zeta = sp.scale(1.0 / get(k.scale, r), sp.load6(k.zeta, r))
        for s in range(n):
            other = int(get(k.order, s))
            zeta = sp.axpy(-get(k.R, other * k.rows + r), sp.load6(k.zeta, other), zeta)
        sp.store6(k.zeta, r, sp.scale(1.0 / get(k.R, r * k.rows + r), zeta))
        eta = sp.load6(g.zero, 0)
        if not g.free_tip:
            for m in range(k.bodies.shape[0]):
                i = k.bodies[m]
                if i <= g.path:
                    for l in range(g.m.dof[i], g.m.dof[i + 1]):
                        y = get(k.Y, r * k.nf + K.place[i] + l - g.m.dof[i])
                        eta = sp.axpy(y * math.sqrt(get(g.d, l)), load_e(g.e, l), eta)
        sp.store6(k.eta, r, eta)


@kernel
def press_cluster(memory, g, K, c):
    """kappa of the directions of a cluster, from gamma and the joint forces left"""
    k, _ = take_cluster(memory, K, c)
    t, header = layout.CLUSTER * c, take_integers(memory, 0, head.HEADER)[0]
    for n in range(K.table[t + layout.CLUSTER_RANK]):
        r = int(get(k.order, n))
        place = (
            header[head.LOCAL_AT] + layout.LOCAL * K.row[layout.CLUSTER_ROW * (K.table[t + layout.FIRST_ROW] + r) + 2]
        )
        total = memory[place + layout.GAMMA] / get(k.scale, r)
        for s in range(n):
            other = int(get(k.order, s))
            total -= get(k.R, other * k.rows + r) * get(k.part, other)
        total = total / get(k.R, r * k.rows + r)
        put(k.part, r, total)
        for m in range(k.bodies.shape[0]):
            i = k.bodies[m]
            for l in range(g.m.dof[i], g.m.dof[i + 1]):
                y = get(k.Y, r * k.nf + K.place[i] + l - g.m.dof[i])
                total -= y * math.sqrt(get(g.d, l)) * get(g.uA, l)
        put(k.kappa, r, total)


@kernel
def tie(memory, g, K, c, IA, pA, E, L, l):
    """A cluster takes its directions away, from I and p of its top and from the tip"""
    k, _ = take_cluster(memory, K, c)
    for n in range(K.table[layout.CLUSTER * c + layout.CLUSTER_RANK]):
        r = int(get(k.order, n))
        zeta, eta, kappa = sp.load6(k.zeta, r), sp.load6(k.eta, r), get(k.kappa, r)
        IA, pA = sp.sub_outer(IA, -1.0, zeta), sp.axpy(-kappa, zeta, pA)
        if not g.free_tip:
            for i in range(6):
                for j in range(6):
                    E[6 * i + j] -= zeta[i] * eta[j]
            sp.store21(L, 0, sp.sub_outer(sp.load21(L, 0), 1.0, eta))
            sp.store6(l, 0, sp.axpy(kappa, eta, sp.load6(l, 0)))
    return IA, pA


@kernel
def inward_clustered(memory, at, wrench, like):
    """inward_subchains() of two_handle/recursion.py, of one subchain with loops inside"""
    g = layout.take_subchains(memory, at, like)
    counts, _ = take_integers(memory, at, layout.HEAD)
    K, _ = take_clusters(memory, counts[layout.CLUSTERS_AT], g)
    tolerance = memory[head.TOLERANCE]
    V, B = sp.load6(view(g.own, layout.BASE_V, 6), 0), sp.load6(view(g.own, layout.BASE_B, 6), 0)
    if wrench.shape[0] > 0:
        recursion.gather_wrench(
            g, wrench, sp.load9(view(g.own, layout.TURN, 9), 0), sp.load3(view(g.own, layout.OFFSET, 3), 0)
        )
    handles = view(g.own, layout.HANDLES, layout.NODE)
    E, L, l = view(handles, layout.E_, 36), view(handles, layout.L_, 21), view(handles, layout.L0_, 6)
    if not g.free_tip:
        store36(
            E, 0, force_frame(sp.load9(view(g.own, layout.NEXT_R, 9), 0), sp.load3(view(g.own, layout.NEXT_O, 3), 0))
        )
        sp.store21(L, 0, sp.load21(g.zero, 0))
        sp.store6(l, 0, sp.load6(g.zero, 0))
    c, IA, pA = 0, sp.load21(g.zero, 0), sp.load6(g.zero, 0)
    for i in range(g.m.nb - 1, -1, -1):
        if i >= g.path:
            IA, pA = sp.load21(g.zero, 0), sp.load6(g.zero, 0)
        while tops_at(K, c, i):
            fill_cluster(memory, g, K, c, tolerance)
            press_cluster(memory, g, K, c)
            IA, pA = tie(memory, g, K, c, IA, pA, E, L, l)
            c += 1
        if i == 0:
            break
        IA = sp.add_rigid(IA, get(g.m.mass, i), sp.load3(g.k.h, i), sp.load6(g.k.J, i))
        pA = sp.add(pA, recursion.own_force(g, i, V, B, wrench))
        if g.side[i]:
            IA, pA = sp.add21(IA, sp.load21(g.IA, i)), sp.add(pA, sp.load6(g.pA, i))
        for j in range(g.m.dof[i + 1] - 1, g.m.dof[i] - 1, -1):
            U, d, uA = recursion.release(g, j, IA, pA)
            IA, pA = sp.sub_outer(IA, d, U), sp.axpy(d * uA, U, pA)
        if i > g.path:
            p = g.m.parent[i]
            sp.store21(g.IA, p, sp.add21(sp.load21(g.IA, p), IA))
            sp.store6(g.pA, p, sp.add(sp.load6(g.pA, p), pA))
        elif not g.free_tip:
            reach_in_lanes(g, g.m.dof[i], g.m.dof[i + 1], E, L, l)
    sp.store21(view(handles, layout.I_, 21), 0, IA)
    sp.store6(view(handles, layout.P_, 6), 0, pA)


@kernel
def press_clustered(memory, at, like):
    """press_subchains() of two_handle/responses.py, of one subchain with loops inside"""
    g = layout.take_subchains(memory, at, like)
    counts, _ = take_integers(memory, at, layout.HEAD)
    K, _ = take_clusters(memory, counts[layout.CLUSTERS_AT], g)
    handles = view(g.own, layout.HANDLES, layout.NODE)
    c, pA, l = 0, sp.load6(g.zero, 0), sp.load6(g.zero, 0)
    for i in range(g.m.nb - 1, -1, -1):
        if i >= g.path:
            pA = sp.load6(g.zero, 0)
        while tops_at(K, c, i):
            press_cluster(memory, g, K, c)
            k, _ = take_cluster(memory, K, c)
            for n in range(K.table[layout.CLUSTER * c + layout.CLUSTER_RANK]):
                r = int(get(k.order, n))
                pA = sp.axpy(-get(k.kappa, r), sp.load6(k.zeta, r), pA)
                l = sp.axpy(get(k.kappa, r), sp.load6(k.eta, r), l)
            c += 1
        if i == 0:
            break
        if g.side[i]:
            pA = sp.add(pA, sp.load6(g.pA, i))
        for j in range(g.m.dof[i + 1] - 1, g.m.dof[i] - 1, -1):
            push, pA = press(g, j, pA)
            if i <= g.path and not g.free_tip:
                l = sp.axpy(push, load_e(g.e, j), l)
        if i > g.path:
            sp.store6(g.pA, g.m.parent[i], sp.add(sp.load6(g.pA, g.m.parent[i]), pA))
    sp.store6(view(handles, layout.P_, 6), 0, pA)
    if not g.free_tip:
        sp.store6(view(handles, layout.L0_, 6), 0, l)


# ---------------------------------------------------------------- outward


@kernel
def untie(memory, g, K, c, x, f):
    """Loads of a cluster whose top accelerates by x, and what they do to its DOF"""
    k, _ = take_cluster(memory, K, c)
    t, header = layout.CLUSTER * c, take_integers(memory, 0, head.HEADER)[0]
    for m in range(k.bodies.shape[0]):
        i = k.bodies[m]
        for l in range(g.m.dof[i], g.m.dof[i + 1]):
            put(K.push, l, 0.0)
    for n in range(K.table[t + layout.CLUSTER_RANK]):
        r = int(get(k.order, n))
        nu = get(k.kappa, r) - sp.dot(sp.load6(k.zeta, r), x)
        if not g.free_tip:
            nu -= sp.dot(sp.load6(k.eta, r), f)
        put(k.nu, r, nu)
        for m in range(k.bodies.shape[0]):
            i = k.bodies[m]
            for l in range(g.m.dof[i], g.m.dof[i + 1]):
                y = get(k.Y, r * k.nf + K.place[i] + l - g.m.dof[i])
                put(K.push, l, get(K.push, l) + math.sqrt(get(g.d, l)) * y * nu)
    for r in range(k.rows):
        memory[
            header[head.LOCAL_AT]
            + layout.LOCAL * K.row[layout.CLUSTER_ROW * (K.table[t + layout.FIRST_ROW] + r) + 2]
            + layout.LAMBDA
        ] = 0.0
    for n in range(K.table[t + layout.CLUSTER_RANK] - 1, -1, -1):  # R lam = nu
        r = int(get(k.order, n))
        total = get(k.nu, r)
        for s in range(n + 1, K.table[t + layout.CLUSTER_RANK]):
            other = int(get(k.order, s))
            total -= get(k.R, r * k.rows + other) * get(k.part, other)
        put(k.part, r, total / get(k.R, r * k.rows + r))
        place = (
            header[head.LOCAL_AT] + layout.LOCAL * K.row[layout.CLUSTER_ROW * (K.table[t + layout.FIRST_ROW] + r) + 2]
        )
        memory[place + layout.LAMBDA] = get(k.part, r) / get(k.scale, r)


@kernel
def answer_clustered(memory, at, udot, like):
    """answer_subchains() of two_handle/recursion.py, of one subchain with loops inside"""
    g = layout.take_subchains(memory, at, like)
    counts, _ = take_integers(memory, at, layout.HEAD)
    K, _ = take_clusters(memory, counts[layout.CLUSTERS_AT], g)
    handles = view(g.own, layout.HANDLES, layout.NODE)
    x, f = sp.load6(view(handles, layout.X_, 6), 0), sp.load6(view(handles, layout.F_, 6), 0)
    c = K.count - 1
    for i in range(g.m.nb):
        if i > g.path:
            x = sp.load6(g.x, g.m.parent[i])
        if i > 0:
            for j in range(g.m.dof[i], g.m.dof[i + 1]):
                left = get(g.uA, j) - sp.dot(sp.load6(g.U, j), x)
                if not g.free_tip and i <= g.path:
                    left = left + sp.dot(load_e(g.e, j), f)
                udot_j = get(g.d, j) * left
                if K.place[i] >= 0:
                    udot_j += get(K.push, j)
                x = sp.axpy(udot_j, sp.load6(g.k.S, j), x)
                put(g.tau, j, udot_j)
            if g.side[i]:
                sp.store6(g.x, i, x)
        while c >= 0 and K.table[layout.CLUSTER * c + layout.TOP] == i:
            untie(memory, g, K, c, x, f)
            c -= 1
    recursion.scatter_rows(g.tau, g.u_row, g.u_full, g.used, udot)
    total = get(g.zero, 0)
    for j in range(g.m.nu):
        total = total + 0.0 * get(g.tau, j)
    put(g.own, layout.HEALTH, total)


def clustered(memory, size, kind, start, forces, count, udot, nu):
    """A step of one subchain, as it is called: compiled apart, where there are such subchains"""
    whole, given = numbers_at(memory, size), numbers_at(forces, count)
    if kind == head.RECURSION:
        inward_clustered(whole, start, view(given, nu, count - nu), given)
    elif kind == head.PRESS:
        press_clustered(whole, start, given)
    elif kind == head.PROJECT:
        project_clustered(whole, start, given, given)
    else:
        answer_clustered(whole, start, numbers_at(udot, nu), given)
    return 0.0
