"""Kinematics of a flexible body and its nodes: places, columns of modes, modal mass, velocities and bias forces.

A flexible body deforms by ``eta`` in a frame B that its inboard node carries. With the velocity v of B its kinetic
energy is a polynomial (:class:`whippletree.modes.Modes`), and what its own motion takes at eta'' = 0 and x = 0
(kinematics.py) follows from it: ``p' + v x* p`` with p = dT/dv for the body, and
``d/dt dT/deta' - dT/deta + K eta + D eta'`` for its modes.
A node is at ``r + phi eta + eta Q eta / 2`` in B and turned by the Cayley rotation of ``psi eta + eta psi2 eta / 2``.

Of a ruthless body the modal mass is constant and its forces have no eta and no eta' but in K and D, [jain1992] (B1);
nodes move by columns that are constant in B, about where the node is.
"""

from .kinematics import place_inertia, turn_inertia
from .lanes import get, inline, kernel, put
from .matrix6 import force_from
from .modal_layout import RUTHLESS, SECOND
from .spatial import (
    add,
    add3,
    angular,
    axpy,
    axpy3,
    cross,
    cross_motion,
    dot3,
    join,
    linear,
    load3,
    load6,
    load9,
    load_at3,
    load_at6,
    matmul,
    mul33,
    mul33t,
    mulsym,
    put_at6,
    scale3,
    store3,
    store6,
    store9,
)
from .unpack import constants_of


@inline
def motion_column(R, o, turn, shift):
    """A motion in the axes of B, at a place o, as one about the component's point"""
    w = mul33(R, turn)
    return join(w, add3(mul33(R, shift), cross(o, w)))


@inline
def ordinary(b, v, o):
    """Acceleration of the point at o"""
    w = angular(v)
    return add3(add3(linear(b), cross(angular(b), o)), cross(w, add3(linear(v), cross(w, o))))


@inline
def about_point(J, mass, h, o):
    """Moments of inertia about the component's point: J + (o.g) 1 - (o g' + g o') / 2, g = 2 h + m o"""
    g = axpy3(mass, o, add3(h, h))
    xx, yy, zz = o[0] * g[0], o[1] * g[1], o[2] * g[2]
    return (
        J[0] + yy + zz,
        J[1] - 0.5 * (o[0] * g[1] + o[1] * g[0]),
        J[2] - 0.5 * (o[0] * g[2] + o[2] * g[0]),
        J[3] + xx + zz,
        J[4] - 0.5 * (o[1] * g[2] + o[2] * g[1]),
        J[5] + xx + yy,
    )


@kernel
def place_flexible(m, x, k, P, q, u, f):
    """A flexible body and its nodes; positions alone where u is empty"""
    p = m.parent[f]
    Rp = load9(k.R, p)
    R = matmul(Rp, load9(m.Rt, f))
    o = add3(load3(k.o, p), mul33(Rp, load3(m.pt, f)))
    store9(k.R, f, R)
    store3(k.o, f, o)
    if u.shape[0] > 0:
        store6(k.v, f, load6(k.v, p))
        store6(k.b, f, load6(k.b, p))
    deform(m, x, k, P, q, u, f, R, o)
    for node in range(f + 1, f + 1 + x.nodes[f]):
        place_node(m, x, k, P, q, u, f, node, R, o)


@kernel
def deform(m, x, k, P, q, u, f, R, o):
    """Moments, columns and bias forces of a body as it is deformed"""
    n, j, l = m.dof[f + 1] - m.dof[f], m.position[f], m.dof[f]
    N, C, at = x.numbers, constants_of(x, f, n), x.column[f]
    forces = at + 6 * n + 6 * x.rank[f]
    zero = 0.0 * R[0]
    none = (zero, zero, zero)
    ruthless, second, moving = x.flags[f] & RUTHLESS > 0, x.flags[f] & SECOND > 0, u.shape[0] > 0
    h, J = add3(none, load_at3(N, C.h)), add(none + none, load_at6(N, C.J))
    w, alpha, pull, turn, acceleration, loss = none, none, none, none, none, zero
    if moving:
        v, b = load6(k.v, f), load6(k.b, f)
        w, alpha = mul33t(R, angular(v)), mul33t(R, angular(b))
        acceleration = mul33t(R, ordinary(b, v, o))
    for a in range(n):
        eta = get(q, j + a)
        Ct, Cr = add3(none, load_at3(N, C.Ct + 3 * a)), add3(none, load_at3(N, C.Cr + 3 * a))
        dJ = add(none + none, load_at6(N, C.J1 + 6 * a))
        if not ruthless:
            for b in range(n):
                y, ab = get(q, j + b), a * n + b
                dJ = axpy(y, load_at6(N, C.J2 + 6 * ab), dJ)
                Cr = axpy3(y, load_at3(N, C.G1 + 3 * ab), Cr)
            if second:
                for b in range(n):
                    Ct = axpy3(get(q, j + b), load_at3(N, C.Ct1 + 3 * (a * n + b)), Ct)
            h = axpy3(0.5 * eta, add3(Ct, load_at3(N, C.Ct + 3 * a)), h)
            J = axpy(0.5 * eta, add(dJ, load_at6(N, C.J1 + 6 * a)), J)
        put_at6(P, at + 6 * a, force_from(R, o, join(Cr, Ct)))
        if moving:
            rate = get(u, l + a)
            force = dot3(Ct, acceleration) + dot3(Cr, alpha) - 0.5 * dot3(w, mulsym(dJ, w))
            damping = zero
            for b in range(n):
                force = force + N[C.K + a * n + b] * get(q, j + b)
                damping = damping + N[C.D + a * n + b] * get(u, l + b)
            loss = loss + rate * damping
            if not ruthless:
                Cr_rate, gyro, Ct_rate = none, none, none
                for b in range(n):
                    y, ab = get(u, l + b), a * n + b
                    Cr_rate = axpy3(y, load_at3(N, C.G1 + 3 * ab), Cr_rate)
                    gyro = axpy3(y, load_at3(N, C.G2 + 3 * ab), gyro)
                    if second:
                        Ct_rate = axpy3(y, load_at3(N, C.Ct1 + 3 * ab), Ct_rate)
                force = force + dot3(w, gyro)
                pull = axpy3(rate, add3(scale3(2.0, cross(w, Ct)), Ct_rate), pull)
                turn = axpy3(rate, add3(add3(mulsym(dJ, w), Cr_rate), cross(w, Cr)), turn)
            put(P, forces + a, force + damping)
    for c in range(x.rank[f]):
        put_at6(P, at + 6 * (n + c), force_from(R, o, load_at6(N, C.Z + 6 * c)))
    if moving:
        put_at6(P, forces + n, force_from(R, o, join(turn, pull)))
        put(k.defect, 1, get(k.defect, 1) - loss)
    h = mul33(R, h)
    store6(k.J, f, about_point(turn_inertia(R, J), m.mass[f], h, o))
    store3(k.h, f, axpy3(m.mass[f], o, h))


@inline
def cayley(t, s):
    """1 + s (t~ + t~ t~ / 2), with s = 1 / (1 + t.t / 4)"""
    h = 0.5 * s
    xx, yy, zz = h * t[0] * t[0], h * t[1] * t[1], h * t[2] * t[2]
    xy, xz, yz = h * t[0] * t[1], h * t[0] * t[2], h * t[1] * t[2]
    X, Y, Z = s * t[0], s * t[1], s * t[2]
    return (1.0 - yy - zz, xy - Z, xz + Y, xy + Z, 1.0 - xx - zz, yz - X, xz - Y, yz + X, 1.0 - xx - yy)


@inline
def turn_rate(t, s, rate):
    """omega = s (t' + t x t' / 2)"""
    return scale3(s, axpy3(0.5, cross(t, rate), rate))


@inline
def bent(N, Q, n, a, y, first):
    """Sum over b of Q_ab y_b"""
    total = scale3(get(y, first), load_at3(N, Q + 3 * a * n))
    for b in range(1, n):
        total = axpy3(get(y, first + b), load_at3(N, Q + 3 * (a * n + b)), total)
    return total


@kernel
def place_node(m, x, k, P, q, u, f, node, R, o):
    """Frame, columns, velocity and bias acceleration of a node, and the inertia of what is welded to it"""
    n, j, l, r = m.dof[f + 1] - m.dof[f], m.position[f], m.dof[f], x.rank[f]
    N, at = x.numbers, x.data[node]
    phi, psi, T = at + 3, at + 3 + 3 * n, at + 3 + 6 * n
    Q = T + 6 * r
    psi2 = Q + 3 * n * n
    ruthless, second, moving = x.flags[f] & RUTHLESS > 0, x.flags[f] & SECOND > 0, u.shape[0] > 0
    zero = 0.0 * R[0]
    none = (zero, zero, zero)
    rho, theta = add3(none, load_at3(N, at)), none
    for a in range(n):
        eta, shape = get(q, j + a), load_at3(N, phi + 3 * a)
        rho, theta = axpy3(eta, shape, rho), axpy3(eta, load_at3(N, psi + 3 * a), theta)
        if second:
            rho = axpy3(0.5 * eta, bent(N, Q, n, a, q, j), rho)
            theta = axpy3(0.5 * eta, bent(N, psi2, n, a, q, j), theta)
    s = 1.0 / (1.0 + 0.25 * dot3(theta, theta))
    here = add3(o, mul33(R, rho))
    store9(k.R, node, matmul(R, cayley(theta, s)))
    store3(k.o, node, here)
    turning, moved, bend, rate, curl = none, none, none, none, none
    for a in range(n):
        turn, shift = add3(none, load_at3(N, psi + 3 * a)), add3(none, load_at3(N, phi + 3 * a))
        y = get(u, l + a) if moving else zero
        if second:
            turn, shift = add3(turn, bent(N, psi2, n, a, q, j)), add3(shift, bent(N, Q, n, a, q, j))
            if moving:
                bend, curl = axpy3(y, bent(N, Q, n, a, u, l), bend), axpy3(y, bent(N, psi2, n, a, u, l), curl)
        rate = axpy3(y, turn, rate)
        if not ruthless:
            turn = turn_rate(theta, s, turn)
        put_at6(P, x.column[node] + 6 * a, motion_column(R, here, turn, shift))
        turning, moved = axpy3(y, turn, turning), axpy3(y, shift, moved)
    for c in range(r):
        put_at6(
            P, x.column[node] + 6 * (n + c), motion_column(R, here, load_at3(N, T + 6 * c), load_at3(N, T + 6 * c + 3))
        )
    if moving:
        v, vJ = load6(k.v, f), motion_column(R, here, turning, moved)
        slow = zero if ruthless else -0.5 * s * dot3(theta, rate)
        curl = axpy3(slow, turning, turn_rate(theta, s, curl))  # omega' at eta'' = 0
        late = motion_column(R, here, curl, add3(bend, cross(moved, turning)))
        store6(k.v, node, add(v, vJ))
        store6(k.b, node, add(add(load6(k.b, f), cross_motion(v, vJ)), late))
    place_inertia(m, k, node, load9(k.R, node), here)
