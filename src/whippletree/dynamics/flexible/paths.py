"""Flexible bodies where something goes along paths to ground: the mass matrix, rows of constraints, factors.

Paper    [jain1992] eqs (47)-(50), composite bodies with modes; (54), innovations factors.
Symbols  R = R(k) and F = X(k) of the paper.
Differs  one common frame: X goes on towards ground as it is, and moves a mode by the column of the node that it passes.
"""

import math

from ...algebra import spatial as sp
from ...compiler.lanes import get, inline, kernel, put
from ...kernels.unpack import constants_of, modal_mass
from ...layout.system import MODES, NODE
from .elimination import last_node


@inline
def lower(m, i):
    """The next body towards ground whose DOF move body i and are not passed at i: a node passes its own body"""
    p = m.parent[i]
    return m.parent[p] if m.kind[i] == NODE else p


@kernel
def along_path(m, x, k, P, i, F, out, at, step):
    """out[at + step l] += column of DOF l . F, for all DOF that move body i"""
    while i > 0:
        kind = m.kind[i]
        if kind == NODE:
            f = m.parent[i]
            for a in range(m.dof[f + 1] - m.dof[f]):
                n = at + step * (m.dof[f] + a)
                put(out, n, get(out, n) + sp.dot(F, sp.load_at6(P, x.column[i] + 6 * a)))
        elif kind != MODES:
            for l in range(m.dof[i], m.dof[i + 1]):
                n = at + step * l
                put(out, n, get(out, n) + sp.dot(F, sp.load6(k.S, l)))
        i = lower(m, i)


# ---------------------------------------------------------------- composite bodies


@kernel
def compose(m, w, i, mass, h, J):
    """R(k) of the carrier += R of a body"""
    p = m.parent[i]
    put(w.mass, p, get(w.mass, p) + mass)
    sp.store3(w.h, p, sp.add3(sp.load3(w.h, p), h))
    sp.store6(w.J, p, sp.add(sp.load6(w.J, p), J))


@kernel
def fill_mass_matrix(m, x, k, P, w, M):
    """(50): M, all of it"""
    nu = m.nu
    for n in range(nu * nu):
        put(M, n, 0.0)
    for n in range(m.nb):
        put(w.mass, n, 0.0)
        for c in range(3):
            put(w.h, 3 * n + c, 0.0)
            put(w.J, 6 * n + c, 0.0)
            put(w.J, 6 * n + 3 + c, 0.0)
    for i in range(m.nb - 1, 0, -1):
        mass = get(w.mass, i) + m.mass[i]
        h, J = sp.add3(sp.load3(w.h, i), sp.load3(k.h, i)), sp.add(sp.load6(w.J, i), sp.load6(k.J, i))
        compose(m, w, i, mass, h, J)
        if m.kind[i] == NODE:
            put(w.mass, i, mass)  # as the columns of modes need it below
            sp.store3(w.h, i, h)
            sp.store6(w.J, i, J)
        for j in range(m.dof[i], m.dof[i + 1]):
            if m.kind[i] == MODES:
                a, n = j - m.dof[i], m.dof[i + 1] - m.dof[i]
                F, Mff = sp.load_at6(P, x.column[i] + 6 * a), constants_of(x, i, n).M
                for b in range(a + 1):
                    put(M, j * nu + m.dof[i] + b, modal_mass(x, P, i, n, Mff, a, b) + 0.0 * F[0])
                for node in range(i + 1, last_node(x, i)):
                    Fn = sp.mul_rigid(
                        get(w.mass, node),
                        sp.load3(w.h, node),
                        sp.load6(w.J, node),
                        sp.load_at6(P, x.column[node] + 6 * a),
                    )
                    F = sp.add(F, Fn)
                    for b in range(a + 1):
                        at = j * nu + m.dof[i] + b
                        put(M, at, get(M, at) + sp.dot(Fn, sp.load_at6(P, x.column[node] + 6 * b)))
                along_path(m, x, k, P, m.parent[i], F, M, j * nu, 1)
            else:
                F = sp.mul_rigid(mass, h, J, sp.load6(k.S, j))  # X = R H'
                for l in range(m.dof[i], j + 1):
                    put(M, j * nu + l, sp.dot(F, sp.load6(k.S, l)))
                put(M, j * nu + j, get(M, j * nu + j) + m.armature[j])
                along_path(m, x, k, P, m.parent[i], F, M, j * nu, 1)
    for j in range(nu):
        for l in range(j):
            put(M, l * nu + j, get(M, j * nu + l))


# ---------------------------------------------------------------- factors, with modes eliminated one by one


@kernel
def fill_innovations(m, x, k, P, w, E, out):
    """(1 + H Phi K), row by row; then D"""
    nu = m.nu
    for n in range(nu * nu):
        put(out, n, 0.0)
    for i in range(1, m.nb):
        n = m.dof[i + 1] - m.dof[i]
        for j in range(m.dof[i], m.dof[i + 1]):
            d = get(w.d, j)
            put(out, j * nu + j, 1.0)
            put(out, nu * nu + j, 1.0 / d)
            G = sp.scale(d, sp.load6(w.U, j))
            for l in range(m.dof[i], j):
                inner = sp.dot(sp.load6(k.S, l), G)
                if m.kind[i] == MODES:
                    inner = d * get(E, x.work[i] + (j - m.dof[i]) * n + l - m.dof[i])
                put(out, l * nu + j, inner)
            along_path(m, x, k, P, m.parent[i], G, out, j, nu)


@kernel
def half_solve(m, x, k, P, w, E, Y, factors, top):
    """D^-1/2 L^-1 of a row of constraints: Y (nu). Its wrenches, with a minus, lie in w.pA up to body ``top``;
    ``factors`` are [row of u, factor] twice. Returns the size that the row would have without cancellation"""
    size, load = 0.0, 0.0
    for l in range(m.nu):
        put(Y, l, 0.0)
    for n in (0, 2):
        l = int(get(factors, n))
        put(Y, l, get(Y, l) + get(factors, n + 1))
    for i in range(top, 0, -1):
        load = max(load, math.sqrt(sp.dot(sp.load6(w.pA, i), sp.load6(w.pA, i))))
    for i in range(top, 0, -1):
        if m.kind[i] == NODE:
            continue
        z, j, n = sp.load6(w.pA, i), m.dof[i], m.dof[i + 1] - m.dof[i]
        reach = math.sqrt(sp.dot(z, z)) + load
        if m.kind[i] == MODES:
            for node in range(i + 1, last_node(x, i)):
                zn = sp.load6(w.pA, node)
                z = sp.add(z, zn)
                for a in range(n):
                    put(Y, j + a, get(Y, j + a) - sp.dot(zn, sp.load_at6(P, x.column[node] + 6 * a)))
        for l in range(j + n - 1, j - 1, -1):
            d, S = get(w.d, l), sp.load6(k.S, l)
            epsilon = get(Y, l) - sp.dot(S, z)
            root = math.sqrt(d)
            size = max(size, root * (abs(epsilon) + math.sqrt(sp.dot(S, S)) * reach))
            z = sp.axpy(d * epsilon, sp.load6(w.U, l), z)
            if m.kind[i] == MODES:
                row = x.work[i] + (l - j) * n
                for b in range(l - j):
                    put(Y, j + b, get(Y, j + b) - d * epsilon * get(E, row + b))
            put(Y, l, root * epsilon)
        p = m.parent[i]
        if p > 0:
            sp.store6(w.pA, p, sp.add(sp.load6(w.pA, p), z))
    return size


@kernel
def half_solve_back(m, x, k, P, w, E, y, move):
    """move += L^-T D^-1/2 y"""
    for n in range(6):
        put(w.x, n, 0.0)
    for i in range(1, m.nb):
        xi = sp.load6(w.x, m.parent[i])
        j, n = m.dof[i], m.dof[i + 1] - m.dof[i]
        if m.kind[i] == NODE:
            f = m.parent[i]
            for a in range(m.dof[f + 1] - m.dof[f]):
                xi = sp.axpy(get(w.uA, m.dof[f] + a), sp.load_at6(P, x.column[i] + 6 * a), xi)
        for l in range(j, j + n):
            d = get(w.d, l)
            s = math.sqrt(d) * get(y, l) - d * sp.dot(sp.load6(w.U, l), xi)
            if m.kind[i] == MODES:
                for b in range(l - j):
                    s -= d * get(E, x.work[i] + (l - j) * n + b) * get(w.uA, j + b)
            xi = sp.axpy(s, sp.load6(k.S, l), xi)  # zero for modes
            put(w.uA, l, s)
            put(move, l, get(move, l) + s)
        sp.store6(w.x, i, xi)


# ---------------------------------------------------------------- energy and momentum


@kernel
def output_modes(m, x, k, P, q, u, f, origin, out):
    """Add momentum (6), kinetic, potential and elastic energy of the modes of a body to out"""
    n, j, l = m.dof[f + 1] - m.dof[f], m.position[f], m.dof[f]
    C, N, v = constants_of(x, f, n), x.numbers, sp.load6(k.v, f)
    zero = 0.0 * v[0]
    p, kinetic, elastic = (zero, zero, zero, zero, zero, zero), zero, zero
    for a in range(n):
        column, rate = sp.load_at6(P, x.column[f] + 6 * a), get(u, l + a)
        p = sp.axpy(rate, column, p)
        kinetic = kinetic + rate * sp.dot(column, v)
        for b in range(n):
            kinetic = kinetic + 0.5 * rate * (modal_mass(x, P, f, n, C.M, a, b) * get(u, l + b))
            elastic = elastic + 0.5 * get(q, j + a) * (N[C.K + a * n + b] * get(q, j + b))
    angular, linear = moved_to(p, origin)
    for c in range(3):
        put(out, c, get(out, c) + angular[c])
        put(out, 3 + c, get(out, 3 + c) + linear[c])
    put(out, 6, get(out, 6) + kinetic)
    put(out, 7, get(out, 7) + fall(m, x, k, q, f, C))
    put(out, 8, get(out, 8) + elastic)


@inline
def moved_to(p, o):
    """A momentum about the component's point as one about the world's origin"""
    l = p[3:6]
    turned = (o[1] * l[2] - o[2] * l[1], o[2] * l[0] - o[0] * l[2], o[0] * l[1] - o[1] * l[0])
    return sp.add3(p[0:3], turned), l


@inline
def fall(m, x, k, q, f, C):
    """Potential of gravity by the deformation of a ruthless body; that of others is in the first moment"""
    total = 0.0 * get(k.R, 0)
    if x.flags[f] & 1:
        for a in range(m.dof[f + 1] - m.dof[f]):
            Ct = (x.numbers[C.Ct + 3 * a], x.numbers[C.Ct + 3 * a + 1], x.numbers[C.Ct + 3 * a + 2])
            for r in range(3):
                row = 9 * f + 3 * r
                g = m.gravity[r] * get(q, m.position[f] + a)
                for c in range(3):
                    total = total - g * (get(k.R, row + c) * Ct[c])
    return total
