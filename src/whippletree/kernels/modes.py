"""Kinematics of a flexible body and its nodes: places, columns of modes, modal mass, velocities and bias forces.

A flexible body deforms by ``eta`` in a frame B that its inboard node carries. With the velocity v of B its kinetic
energy is a polynomial (:class:`whippletree.modes.Modes`), and what its own motion takes at eta'' = 0 and x = 0
(kinematics.py) follows from it: ``p' + v x* p`` with p = dT/dv for the body, and
``d/dt dT/deta' - dT/deta + K eta + D eta'`` for its modes.
A node is at ``r + phi eta + eta Q eta / 2`` in B and turned by the Cayley rotation of ``psi eta + eta psi2 eta / 2``.

Of a ruthless body the modal mass is constant and its forces have no eta and no eta' but in K and D, [jain1992] (B1);
nodes move by columns that are constant in B, about where the node is.
"""

from ..algebra import spatial as sp
from ..algebra.matrix6 import force_from
from ..algebra.several import next_line
from ..compiler.lanes import get, inline, put
from ..layout.modes import CARRIED, MANY, SECOND, VARIES
from .kinematics import place_inertia, turn_inertia
from .modal_mass import (
    add_lumps,
    along_points,
    carried_frame,
    carry_forces,
    carry_mass,
    cayley,
    column_of_node,
    contract,
    mass_of_points,
    motion_column,
    move_points,
    place_of_node,
    turn_rate,
)
from .unpack import constants_of


@inline
def ordinary(b, v, o):
    """Acceleration of the point at o"""
    w = sp.angular(v)
    return sp.add3(
        sp.add3(sp.linear(b), sp.cross(sp.angular(b), o)), sp.cross(w, sp.add3(sp.linear(v), sp.cross(w, o)))
    )


@inline
def about_point(J, mass, h, o):
    """Moments of inertia about the component's point: J + (o.g) 1 - (o g' + g o') / 2, g = 2 h + m o"""
    g = sp.axpy3(mass, o, sp.add3(h, h))
    xx, yy, zz = o[0] * g[0], o[1] * g[1], o[2] * g[2]
    return (
        J[0] + yy + zz,
        J[1] - 0.5 * (o[0] * g[1] + o[1] * g[0]),
        J[2] - 0.5 * (o[0] * g[2] + o[2] * g[0]),
        J[3] + xx + zz,
        J[4] - 0.5 * (o[1] * g[2] + o[2] * g[1]),
        J[5] + xx + yy,
    )


@inline
def carried_by(m, k, u, f):
    """Frame, velocity and bias acceleration of a flexible body, from those of the body that carries it"""
    p = m.parent[f]
    Rp = sp.load9(k.R, p)
    R = sp.matmul(Rp, sp.load9(m.Rt, f))
    o = sp.add3(sp.load3(k.o, p), sp.mul33(Rp, sp.load3(m.pt, f)))
    sp.store9(k.R, f, R)
    sp.store3(k.o, f, o)
    zero = 0.0 * R[0]
    v, b = (zero, zero, zero, zero, zero, zero), (zero, zero, zero, zero, zero, zero)
    if u.shape[0] > 0:
        v, b = sp.load6(k.v, p), sp.load6(k.b, p)
        sp.store6(k.v, f, v)
        sp.store6(k.b, f, b)
    return R, o, v, b


@inline
def place_ruthless(m, x, k, P, q, u, f):
    """A ruthless body and its nodes; positions alone where u is empty"""
    R, o, v, b = carried_by(m, k, u, f)
    load_ruthless(m, x, k, P, q, u, f, R, o, v, b)
    for node in range(f + 1, f + 1 + x.nodes[f]):
        place_node(m, x, k, P, q, u, f, node, True, False, False, R, o, v, b)


@inline
def place_deformed(m, x, k, P, q, u, f):
    """The same of any other"""
    R, o, v, b = carried_by(m, k, u, f)
    R, o, v, b = deform(m, x, k, P, q, u, f, R, o, v, b)
    second, carried = x.flags[f] & SECOND > 0, x.flags[f] & CARRIED > 0
    for node in range(f + 1, f + 1 + x.nodes[f]):
        place_node(m, x, k, P, q, u, f, node, False, second, carried, R, o, v, b)


@inline
def elastic(N, C, n, a, q, u, j, l, zero):
    """Forces of stiffness and of damping on mode a"""
    force, damping = zero, zero
    for b in range(n):
        force = force + get(N, C.K + a * n + b) * get(q, j + b)
        damping = damping + get(N, C.D + a * n + b) * get(u, l + b)
    return force, damping


@inline
def differentiate(x, C, n, P, W, q, u, j, l):
    """What the deformation changes in dJ and Cr of each mode (n, 9) into W, then rates of Cr and of its part that is
    antisymmetric (n, 6)"""
    contract(x.numbers, C.G, n, 9 * n, q, j, P, W)
    if u.shape[0] > 0:
        contract(x.numbers, C.H, n, 6 * n, u, l, P, W + 9 * n + MANY)


@inline
def polynomial(x, C, P, W, q, u, j, l, n, a, w, alpha, acceleration, h, J, turn, pull, loss):
    """Ct, Cr and the bias force of mode a; first and second moments, and the wrench of motion in the frame, with its
    share. In W are derivatives (:func:`differentiate`)"""
    N, zero = x.numbers, 0.0 * w[0]
    none, eta, J1 = (zero, zero, zero), get(q, j + a), sp.load_at6(N, C.J1 + 6 * a)
    Ct, Cr = (
        sp.add3(none, sp.load_at3(N, C.Ct + 3 * a)),
        sp.add3(sp.load_at3(P, W + 9 * a + 6), sp.load_at3(N, C.Cr + 3 * a)),
    )
    dJ, force = sp.add(sp.load_at6(P, W + 9 * a), J1), zero
    h, J = sp.axpy3(eta, Ct, h), sp.axpy(0.5 * eta, sp.add(dJ, J1), J)
    if u.shape[0] > 0:
        rate, rates = get(u, l + a), W + 9 * n + MANY + 6 * a
        Cr_rate, gyro, turned = sp.load_at3(P, rates), sp.load_at3(P, rates + 3), sp.mulsym(dJ, w)
        force, damping = elastic(N, C, n, a, q, u, j, l, zero)
        loss = loss + rate * damping
        force = (
            force
            + damping
            + sp.dot3(Ct, acceleration)
            + sp.dot3(Cr, alpha)
            - 0.5 * sp.dot3(w, turned)
            + sp.dot3(w, gyro)
        )
        pull = sp.axpy3(2.0 * rate, sp.cross(w, Ct), pull)
        turn = sp.axpy3(rate, sp.add3(sp.add3(turned, Cr_rate), sp.cross(w, Cr)), turn)
    return Ct, Cr, force, h, J, turn, pull, loss


@inline
def local_motion(R, o, v, b, moving):
    """Angular velocity and acceleration, and the acceleration of the origin, in the axes of the frame"""
    zero = 0.0 * R[0]
    w, alpha, acceleration = (zero, zero, zero), (zero, zero, zero), (zero, zero, zero)
    if moving:
        w, alpha, acceleration = (
            sp.mul33t(R, sp.angular(v)),
            sp.mul33t(R, sp.angular(b)),
            sp.mul33t(R, ordinary(b, v, o)),
        )
    return w, alpha, acceleration


@inline
def finish(m, x, k, P, C, f, R, o, h, J, turn, pull, loss, moving):
    """Interface columns, the wrench of motion in the frame, and the moments, in world axes"""
    n, at = m.dof[f + 1] - m.dof[f], x.column[f]
    for c in range(x.rank[f]):
        sp.put_at6(P, at + 6 * (n + c), force_from(R, o, sp.load_at6(x.numbers, C.Z + 6 * c)))
    if moving:
        sp.put_at6(P, at + 6 * n + 6 * x.rank[f] + n, force_from(R, o, sp.join(turn, pull)))
        put(k.defect, 1, get(k.defect, 1) - loss)
    h = sp.mul33(R, h)
    sp.store6(k.J, f, about_point(turn_inertia(R, J), m.mass[f], h, o))
    sp.store3(k.h, f, sp.axpy3(m.mass[f], o, h))


@inline
def load_ruthless(m, x, k, P, q, u, f, R, o, v, b):
    """Moments, columns and bias forces of a ruthless body: [jain1992] (B1)"""
    n, j, l, at, N = m.dof[f + 1] - m.dof[f], m.position[f], m.dof[f], x.column[f], x.numbers
    C, forces, moving, zero = constants_of(x, f, n), at + 6 * n + 6 * x.rank[f], u.shape[0] > 0, 0.0 * R[0]
    none, loss = (zero, zero, zero), zero
    w, alpha, acceleration = local_motion(R, o, v, b, moving)
    for a in range(n):
        Ct, Cr = sp.add3(none, sp.load_at3(N, C.Ct + 3 * a)), sp.add3(none, sp.load_at3(N, C.Cr + 3 * a))
        sp.put_at6(P, at + 6 * a, force_from(R, o, sp.join(Cr, Ct)))
        if moving:
            force, damping = elastic(N, C, n, a, q, u, j, l, zero)
            loss = loss + get(u, l + a) * damping
            turned = sp.mulsym(sp.add(none + none, sp.load_at6(N, C.J1 + 6 * a)), w)
            force = force + damping + sp.dot3(Ct, acceleration) + sp.dot3(Cr, alpha) - 0.5 * sp.dot3(w, turned)
            put(P, forces + a, force)
    h, J = sp.add3(none, sp.load_at3(N, C.h)), sp.add(none + none, sp.load_at6(N, C.J))
    finish(m, x, k, P, C, f, R, o, h, J, none, none, loss, moving)


@inline
def deform(m, x, k, P, q, u, f, R, o, v, b):
    """The same of any other body, and its modal mass if that varies; returns the frame in which its modes are given"""
    n, j, l, at = m.dof[f + 1] - m.dof[f], m.position[f], m.dof[f], x.column[f]
    C, M, G, moving, zero = constants_of(x, f, n), x.mass[f], x.points[f], u.shape[0] > 0, 0.0 * R[0]
    none, forces, S = (zero, zero, zero), at + 6 * n, M + n * n + 9
    second, carried, varies = x.flags[f] & SECOND > 0, x.flags[f] & CARRIED > 0, x.flags[f] & VARIES > 0
    W, lumps = next_line(P, x.scratch[f]), C.F
    if G > 0:
        lumps = C.F + (4 + 3 * n) * G + 3 * n * (G // MANY) + 1 + (1 + MANY) * x.entries[f]
    if carried:
        node = lumps + x.lumps[f] * (13 + 6 * n + (6 * n * n if second else 0))
        R, o, v, b = carried_frame(x, node, n, second, P, W, S, q, u, j, l, R, o, v, b)
    w, alpha, acceleration = local_motion(R, o, v, b, moving)
    h, J = sp.add3(none, sp.load_at3(x.numbers, C.h)), sp.add(none + none, sp.load_at6(x.numbers, C.J))
    turn, pull, loss = none, none, zero
    if G > 0:
        h, J, turn, pull = move_points(x, C.F, f, n, P, W, q, u, j, l, w, alpha, acceleration, h, J, turn, pull)
        mass_of_points(x, f, n, P, W, M, C.M)
    elif varies:
        for ab in range(n * n):
            put(P, M + ab, get(x.numbers, C.M + ab))
    derivatives = W + 3 * n * G + 6 * G
    differentiate(x, C, n, P, derivatives, q, u, j, l)
    for a in range(n):
        Ct, Cr, force, h, J, turn, pull, loss = polynomial(
            x, C, P, derivatives, q, u, j, l, n, a, w, alpha, acceleration, h, J, turn, pull, loss
        )
        if G > 0:
            Ct, Cr, force = along_points(x, C.F, f, n, P, W, a, Ct, Cr, force)
        sp.put_at6(P, at + 6 * a, sp.join(Cr, Ct))
        put(P, forces + a, force)
    if x.lumps[f] > 0:
        h, J, turn, pull = add_lumps(
            x, lumps, f, n, second, P, at, forces, M, W, q, u, j, l, w, alpha, acceleration, h, J, turn, pull
        )
    for a in range(n):
        sp.put_at6(P, at + 6 * a, force_from(R, o, sp.load_at6(P, at + 6 * a)))
    finish(m, x, k, P, C, f, R, o, h, J, turn, pull, loss, moving)
    if carried:
        if moving:
            carry_forces(m, k, f, n, P, forces, S, v, b)
        carry_mass(m, k, f, n, P, at, M, S, W)
    if varies:
        for a in range(n):
            for c in range(a):
                put(P, M + c * n + a, get(P, M + a * n + c))
        for c in range(3):
            put(P, M + n * n + c, get(k.h, 3 * f + c))
        sp.put_at6(P, M + n * n + 3, sp.load6(k.J, f))
    return R, o, v, b


@inline
def place_node(m, x, k, P, q, u, f, node, ruthless, second, carried, R, o, v, b):
    """Frame, columns, velocity and bias acceleration of a node, and the inertia of what is welded to it"""
    n, j, l, r = m.dof[f + 1] - m.dof[f], m.position[f], m.dof[f], x.rank[f]
    N, at = x.numbers, x.data[node]
    T = at + 3 + 6 * n
    Q = T + 6 * r
    W, S, moving, zero = next_line(P, x.scratch[f]), x.mass[f] + n * n + 9, u.shape[0] > 0, 0.0 * R[0]
    none = (zero, zero, zero)
    place, late = place_of_node(N, at, n, Q, second, P, W, q, u, j, l, zero)
    theta, rho = sp.angular(place), sp.linear(place)
    s = 1.0 / (1.0 + 0.25 * sp.dot3(theta, theta))
    here = sp.add3(o, sp.mul33(R, rho))
    sp.store9(k.R, node, sp.matmul(R, cayley(theta, s)))
    sp.store3(k.o, node, here)
    turning, moved, rate = none, none, none
    for a in range(n):
        column = column_of_node(N, at, second, P, W, a, zero)
        turn, shift, y = sp.angular(column), sp.linear(column), get(u, l + a) if moving else zero
        rate = sp.axpy3(y, turn, rate)
        if not ruthless:
            turn = turn_rate(theta, s, turn)
        column = motion_column(R, here, turn, shift)
        sp.put_at6(P, x.column[node] + 6 * a, sp.add(column, sp.load_at6(P, S + 6 * a)) if carried else column)
        turning, moved = sp.axpy3(y, turn, turning), sp.axpy3(y, shift, moved)
    for c in range(r):
        sp.put_at6(
            P,
            x.column[node] + 6 * (n + c),
            motion_column(R, here, sp.load_at3(N, T + 6 * c), sp.load_at3(N, T + 6 * c + 3)),
        )
    if moving:
        vJ = motion_column(R, here, turning, moved)
        slow = zero if ruthless else -0.5 * s * sp.dot3(theta, rate)
        curl = sp.axpy3(slow, turning, turn_rate(theta, s, sp.angular(late)))  # omega' at eta'' = 0
        late = motion_column(R, here, curl, sp.add3(sp.linear(late), sp.cross(moved, turning)))
        sp.store6(k.v, node, sp.add(v, vJ))
        sp.store6(k.b, node, sp.add(sp.add(b, sp.cross_motion(v, vJ)), late))
    place_inertia(m, k, node, sp.load9(k.R, node), here)
