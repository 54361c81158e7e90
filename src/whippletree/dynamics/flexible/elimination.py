"""A flexible body in the recursions of every algorithm: its modes, and its nodes, which carry what hangs on it.

Paper    [jain1992] Recursive flexible multibody system dynamics using spatial operators: eq. (45) inverse dynamics;
         (63) articulated inertia, the modes of a body before its hinge; (64) forces inward and accelerations outward;
         (B3) and (B4) where the modal mass is constant.
Symbols  Gamma as the paper; U = mu; d = 1 / D_f; uA = epsilon_f; z = z_r; the columns of a node are Pi, those of the
         body M_rf. E holds D_f, and then its factors.
Differs  a body's frame is fixed to its inboard node, so that H_f = [1, 0] and mu = P_rf: modes are put so when a model
         is compiled. One common frame: phi is 1. Any number of nodes. D_f = L' D L, one mode at a time, from the last.
         (B3) takes the difference of large inverses where a body carries much. Here modes are turned, once, into a few
         *interface modes* of unit mass, all that the frame and the nodes see, and others, which they do not see:
         D_f^-1 = L + Y D^-1 Y' with D = 1 + T Gamma T', of the size of the interface alone. Lambda is then L + Y Y',
         Upsilon Y T, and Omega T' T.
"""

import math

from ...algebra import spatial as sp
from ...compiler.lanes import get, inline, kernel, put
from ...kernels.unpack import constants_of, modal_mass
from ...layout.modes import LOADED, VARIES
from ...layout.system import FACTORS
from ..reduction.front import places


@inline
def modes_taken(m, x, f):
    """Number of modes that are eliminated, where their columns start, and number of all"""
    n = m.dof[f + 1] - m.dof[f]
    if x.rank[f] > 0 and m.header[FACTORS] == 0:
        return x.rank[f], 6 * n, n
    return n, 0, n


@inline
def last_node(x, f):
    return f + 1 + x.nodes[f]


@inline
def forces_of(m, x, f):
    """Where the bias forces of the modes start, and behind them that of the body"""
    return x.column[f] + 6 * (m.dof[f + 1] - m.dof[f] + x.rank[f])


@inline
def rigid_bias(m, k, wrench, i, x):
    """I (b + x) + v x* I v - wrench"""
    f = sp.rigid_force(m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i), sp.add(sp.load6(k.b, i), x), sp.load6(k.v, i))
    return sp.sub(f, sp.load6(wrench, i)) if wrench.shape[0] > 0 else f


# ---------------------------------------------------------------- articulated inertia, forces and accelerations


@kernel
def start_modes(m, x, P, E, stiff, damp, f):
    """Mff, with so much of stiffness and damping, into the lower half of D_f; of interface modes it is 1"""
    size, skip, n = modes_taken(m, x, f)
    at, C, N = x.work[f], constants_of(x, f, n), x.numbers
    if x.flags[f] & VARIES:
        for a in range(n):
            for b in range(a + 1):
                ab = a * n + b
                put(E, at + ab, get(P, x.mass[f] + ab) + stiff * N[C.K + ab] + damp * N[C.D + ab])
    elif skip == 0:
        for a in range(n):
            for b in range(a + 1):
                ab = a * n + b
                put(E, at + ab, N[C.M + ab] + stiff * N[C.K + ab] + damp * N[C.D + ab])
    else:
        for a in range(size):
            for b in range(a + 1):
                ab = a * n + b
                put(E, at + a * size + b, (1.0 if a == b else 0.0) + stiff * N[C.K + ab] + damp * N[C.D + ab])


@kernel
def eliminate_modes(m, x, k, P, w, E, stiff, damp, f):
    """(63): P_R of the frame, once all modes move freely. To the mass of modes one by one is added so much of their
    stiffness and damping"""
    size, skip, _ = modes_taken(m, x, f)
    j, at = m.dof[f], x.work[f]
    start_modes(m, x, P, E, stiff, damp, f)
    zero = 0.0 * get(k.R, 0)
    none = (zero, zero, zero, zero, zero, zero)
    R = sp.add_rigid(none + none + none + (zero, zero, zero), m.mass[f], sp.load3(k.h, f), sp.load6(k.J, f))
    for a in range(size):
        sp.store6(w.U, j + a, sp.load_at6(P, x.column[f] + skip + 6 * a))
    for node in range(f + 1, last_node(x, f)):
        if x.flags[node] & LOADED:
            first = x.column[node] + skip
            Gamma = sp.add_rigid(sp.load21(w.IA, node), m.mass[node], sp.load3(k.h, node), sp.load6(k.J, node))
            R = sp.add21(R, Gamma)
            for a in range(size):
                V = sp.mul(Gamma, sp.load_at6(P, first + 6 * a))
                sp.store6(w.U, j + a, sp.add(V, sp.load6(w.U, j + a)))  # mu
                for b in range(a + 1):
                    ab = at + a * size + b
                    put(E, ab, get(E, ab) + sp.dot(V, sp.load_at6(P, first + 6 * b)))  # D_f
    for a in range(size - 1, -1, -1):
        row = at + a * size
        U, d = sp.load6(w.U, j + a), 1.0 / (get(E, row + a) + m.resist[j + a])
        put(w.d, j + a, d)
        R = sp.sub_outer(R, d, U)  # P_R = P_rr - g mu'
        for b in range(a):
            g, other = d * get(E, row + b), at + b * size
            sp.store6(w.U, j + b, sp.axpy(-g, U, sp.load6(w.U, j + b)))
            for c in range(b + 1):
                put(E, other + c, get(E, other + c) - g * get(E, row + c))
    p = m.parent[f]
    if p > 0:
        sp.store21(w.IA, p, R if m.first[f] else sp.add21(sp.load21(w.IA, p), R))


@kernel
def press(m, x, k, P, w, E, tau, step, wrench, bias, f):
    """(64), tips to ground: epsilon_f and z_R. Without ``bias`` of tau alone; rows of tau are ``step`` apart"""
    size, skip, n = modes_taken(m, x, f)
    j, at, forces = m.dof[f], x.work[f], forces_of(m, x, f)
    zero = 0.0 * get(k.R, 0)
    z = (zero, zero, zero, zero, zero, zero)
    if bias:
        z = sp.add(rigid_bias(m, k, wrench, f, z), sp.load_at6(P, forces + n))
    left = at + size * size
    for a in range(n):
        e = get(tau, step * (j + a))
        put(E, left + a, e - get(P, forces + a) if bias else e)
    Y = constants_of(x, f, n).Y
    for a in range(size):
        e = get(E, left + a)
        if skip > 0:
            e = zero
            for b in range(n):
                e = e + x.numbers[Y + b * size + a] * get(E, left + b)
        put(w.uA, j + a, e)
    for node in range(f + 1, last_node(x, f)):
        zn = sp.load6(w.pA, node)
        if bias:
            none = (zero, zero, zero, zero, zero, zero)
            zn = sp.add(zn, rigid_bias(m, k, wrench, node, none))
        z = sp.add(z, zn)
        for a in range(size):
            put(w.uA, j + a, get(w.uA, j + a) - sp.dot(zn, sp.load_at6(P, x.column[node] + skip + 6 * a)))
    for a in range(size - 1, -1, -1):
        e = get(w.d, j + a) * get(w.uA, j + a)
        z = sp.axpy(e, sp.load6(w.U, j + a), z)  # z_R = z_r + g epsilon_f
        for b in range(a):
            put(w.uA, j + b, get(w.uA, j + b) - e * get(E, at + a * size + b))
    p = m.parent[f]
    if p > 0:
        sp.store6(w.pA, p, z if bias and m.first[f] else sp.add(sp.load6(w.pA, p), z))


@kernel
def accelerate_modes(m, x, k, P, w, E, udot, step, f):
    """(64), ground to tips: eta'' = nu_f - g' alpha_R, and what the nodes do"""
    size, skip, n = modes_taken(m, x, f)
    j, at = m.dof[f], x.work[f]
    xi = sp.load6(w.x, m.parent[f])
    sp.store6(w.x, f, xi)
    left = at + size * size
    found = left + n
    for a in range(size):
        s = get(w.uA, j + a) - sp.dot(sp.load6(w.U, j + a), xi)
        for b in range(a):
            s = s - get(E, at + a * size + b) * get(E, found + b)
        put(E, found + a, s * get(w.d, j + a))
    C = constants_of(x, f, n)
    for a in range(n):
        s = get(E, found + a) if skip == 0 else 0.0 * xi[0]
        if skip > 0:
            for b in range(n):
                s = s + x.numbers[C.L + a * n + b] * get(E, left + b)
            for c in range(size):
                s = s + x.numbers[C.Y + a * size + c] * get(E, found + c)
        put(udot, step * (j + a), s)
    for node in range(f + 1, last_node(x, f)):
        xn = xi
        for a in range(size):
            xn = sp.axpy(get(E, found + a), sp.load_at6(P, x.column[node] + skip + 6 * a), xn)
        sp.store6(w.x, node, xn)


# ---------------------------------------------------------------- inverse dynamics


@kernel
def carry_out(m, x, k, P, udot, wrench, f, force, xs):
    """(45), ground to tips: accelerations of the nodes, and the force that each and the body needs"""
    j, n, forces = m.dof[f], m.dof[f + 1] - m.dof[f], forces_of(m, x, f)
    xi = sp.load6(xs, m.parent[f])
    sp.store6(xs, f, xi)
    z = sp.add(rigid_bias(m, k, wrench, f, xi), sp.load_at6(P, forces + n))
    for a in range(n):
        z = sp.axpy(get(udot, j + a), sp.load_at6(P, x.column[f] + 6 * a), z)
    sp.store6(force, f, z)
    for node in range(f + 1, last_node(x, f)):
        xn = xi
        for a in range(n):
            xn = sp.axpy(get(udot, j + a), sp.load_at6(P, x.column[node] + 6 * a), xn)
        sp.store6(xs, node, xn)
        sp.store6(force, node, rigid_bias(m, k, wrench, node, xn))


@kernel
def gather_in(m, x, P, udot, f, force, xs, tau):
    """(45), tips to ground: T_f, and the force that the frame needs"""
    j, n, forces = m.dof[f], m.dof[f + 1] - m.dof[f], forces_of(m, x, f)
    M, xi = constants_of(x, f, n).M, sp.load6(xs, f)
    for a in range(n):
        e = get(P, forces + a) + sp.dot(sp.load_at6(P, x.column[f] + 6 * a), xi)
        for b in range(n):
            e = e + modal_mass(x, P, f, n, M, a, b) * get(udot, j + b)
        put(tau, j + a, e)
    push_nodes(m, x, P, force, tau, f)


@kernel
def push_nodes(m, x, P, force, tau, f):
    """What forces on the nodes do along each mode, into tau; all add up at the frame, and at its carrier"""
    j, n = m.dof[f], m.dof[f + 1] - m.dof[f]
    z = sp.load6(force, f)
    for node in range(f + 1, last_node(x, f)):
        zn = sp.load6(force, node)
        z = sp.add(z, zn)
        for a in range(n):
            put(tau, j + a, get(tau, j + a) + sp.dot(zn, sp.load_at6(P, x.column[node] + 6 * a)))
    sp.store6(force, f, z)
    p = m.parent[f]
    if p > 0:
        sp.store6(force, p, sp.add(sp.load6(force, p), z))


@kernel
def carry_nodes(m, x, k, P, udot, f, a):
    """Spatial accelerations of a body and its nodes, from that of its carrier"""
    p, j, n = m.parent[f], m.dof[f], m.dof[f + 1] - m.dof[f]
    af = sp.add(sp.load6(a, p), sp.sub(sp.load6(k.b, f), sp.load6(k.b, p)))
    sp.store6(a, f, af)
    for node in range(f + 1, last_node(x, f)):
        an = sp.add(af, sp.sub(sp.load6(k.b, node), sp.load6(k.b, f)))
        for l in range(n):
            an = sp.axpy(get(udot, j + l), sp.load_at6(P, x.column[node] + 6 * l), an)
        sp.store6(a, node, an)


@kernel
def add_modes(m, x, P, w, slots, tau, bias, f):
    """M_m and the forces of a body's modes into its front of reduction/passes.py: ``slots`` are the number of variables
    there,
    and which of them each mode is"""
    j, n, forces = m.dof[f], m.dof[f + 1] - m.dof[f], forces_of(m, x, f)
    B, C, fr, _ = places(0, slots[0])
    M, e = constants_of(x, f, n).M, sp.load_at6(P, forces + n)
    for c in range(6):
        put(w, 21 + c, get(w, 21 + c) - bias * e[c])
    for a in range(n):
        var, column = slots[1 + a], sp.load_at6(P, x.column[f] + 6 * a)
        for c in range(6):
            put(w, B + 6 * var + c, get(w, B + 6 * var + c) + column[c])
        put(w, fr + var, get(w, fr + var) + get(tau, j + a) - bias * get(P, forces + a))
        for b in range(a + 1):
            high, low = max(var, slots[1 + b]), min(var, slots[1 + b])
            at = C + high * (high + 1) // 2 + low
            put(w, at, get(w, at) + modal_mass(x, P, f, n, M, a, b))


@kernel
def hold_modes(m, x, P, y, total, f):
    """Forces on modes by an acceleration y of the frame that is given"""
    for a in range(m.dof[f + 1] - m.dof[f]):
        l = m.dof[f] + a
        put(total, l, get(total, l) - sp.dot(sp.load_at6(P, x.column[f] + 6 * a), sp.load6(y, f)))


# ---------------------------------------------------------------- modes that follow their loads at once


@kernel
def settle(m, x, E, left, q, f):
    """eta -= K^-1 left, among the modes that resist acceleration without end; ``left``: what would hold them still"""
    n, l, at = m.dof[f + 1] - m.dof[f], m.dof[f], x.work[f]
    K, rest = constants_of(x, f, n).K, at + n * n
    for a in range(n):
        still = m.resist[l + a] == math.inf
        put(E, rest + a, get(left, l + a) if still else 0.0 * get(left, l + a))
        for b in range(a + 1):
            both = still and m.resist[l + b] == math.inf
            put(E, at + a * n + b, x.numbers[K + a * n + b] if both else (1.0 if a == b else 0.0))
    for a in range(n - 1, -1, -1):  # K = L' D L
        d = 1.0 / get(E, at + a * n + a)
        put(E, at + a * n + a, d)
        for b in range(a):
            g = d * get(E, at + a * n + b)
            put(E, rest + b, get(E, rest + b) - g * get(E, rest + a))
            for c in range(b + 1):
                put(E, at + b * n + c, get(E, at + b * n + c) - g * get(E, at + a * n + c))
    for a in range(n):
        s = get(E, rest + a)
        for b in range(a):
            s = s - get(E, at + a * n + b) * get(E, rest + b)
        put(E, rest + a, s * get(E, at + a * n + a))
        j = m.position[f] + a
        put(q, j, get(q, j) - get(E, rest + a))
