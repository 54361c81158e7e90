"""Mass and bias forces of a deformed body beyond the polynomial of first-order motion; see modes/field.py.

All of it is d'Alembert's principle: what moves with velocity D eta' in the frame, seen from it, takes the force of its
acceleration along D. *Points* move to second order and have unit mass; a translation of the frame moves them by
``one``. *Lumps* are rigid bodies at nodes. The *carrier* is the node that the body's frame B is fixed to, where it
moves in the frame A in which the modes are given: A moves against B by its columns, with a minus.

Symbols   D derivative of a place by eta; W where the scratch of a body starts, in what Kinematics keeps
"""

from .kinematics import turn_inertia
from .lanes import get, inline, kernel, put
from .several import at_once, get_constants, get_some, put_some, sum_some
from .spatial import (
    add,
    add3,
    angular,
    axpy3,
    cross,
    cross_motion,
    dot,
    dot3,
    join,
    linear,
    load3,
    load6,
    load_at3,
    load_at6,
    matmul,
    mul33,
    mul33t,
    mul_rigid,
    mulsym,
    put_at6,
    rigid_force,
    scale3,
    sub,
)


@inline
def motion_column(R, o, turn, shift):
    """A motion in the axes of a frame, at a place o, as one about the component's point"""
    w = mul33(R, turn)
    return join(w, add3(mul33(R, shift), cross(o, w)))


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
def deflected(N, Q, n, a, y, first):
    """Sum over b of Q_ab y_b"""
    total = scale3(get(y, first), load_at3(N, Q + 3 * a * n))
    for b in range(1, n):
        total = axpy3(get(y, first + b), load_at3(N, Q + 3 * (a * n + b)), total)
    return total


@inline
def node_place(N, at, n, Q, second, q, j, zero):
    """Place of a node and its rotation vector"""
    rho, theta = add3(zero, load_at3(N, at)), zero
    for a in range(n):
        eta = get(q, j + a)
        rho, theta = axpy3(eta, load_at3(N, at + 3 + 3 * a), rho), axpy3(eta, load_at3(N, at + 3 + 3 * (n + a)), theta)
        if second:
            rho = axpy3(0.5 * eta, deflected(N, Q, n, a, q, j), rho)
            theta = axpy3(0.5 * eta, deflected(N, Q + 3 * n * n, n, a, q, j), theta)
    return rho, theta


@inline
def node_column(N, at, n, Q, second, q, j, a, zero):
    """Derivative of the rotation vector and of the place by eta_a"""
    turn, shift = add3(zero, load_at3(N, at + 3 + 3 * (n + a))), add3(zero, load_at3(N, at + 3 + 3 * a))
    if second:
        turn, shift = add3(turn, deflected(N, Q + 3 * n * n, n, a, q, j)), add3(shift, deflected(N, Q, n, a, q, j))
    return turn, shift


# ---------------------------------------------------------------- generalized points


@inline
def move_row(N, F, G, n, g, c, P, W, q, u, j, l, moving, zero):
    """Component c of some points from g on: place, velocity and acceleration at eta'' = 0, in the frame; D is stored"""
    r, phi, rows = F + (1 + c) * G, F + (4 + c * n) * G, F + (4 + 3 * n) * G + c * n
    entries = F + (4 + 3 * n) * G + 3 * n + 1
    some = get_constants(N, r + g, P)
    rho, speed, late = some, zero * some, zero * some
    for a in range(n):
        first, eta = get_constants(N, phi + a * G + g, P), get(q, j + a)
        D, more = first, zero * first
        for e in range(int(N[rows + a]), int(N[rows + a + 1])):
            at = entries + e * (1 + G)
            b, value = int(N[at]), get_constants(N, at + 1 + g, P)
            D = D + get(q, j + b) * value
            if moving:
                more = more + get(u, l + b) * value
        put_some(P, W + (c * n + a) * G + g, D)
        rho = rho + (0.5 * eta) * (first + D)
        if moving:
            rate = get(u, l + a)
            speed, late = speed + rate * D, late + rate * more
    return rho, speed, late


@kernel
def move_points(x, F, f, n, P, W, q, u, j, l, w, alpha, acceleration, h, J, turn, pull):
    """D (3, n, points) of the points into W, then places and accelerations at eta'' = 0 (6, points); first and second
    moments with theirs, and the wrench of their motion in the frame"""
    N, G, moving, zero = x.numbers, x.points[f], u.shape[0] > 0, 0.0 * w[0]
    rho = W + 3 * n * G
    none = zero * get_constants(N, F, P)
    h0, turned, pulled = (none, none, none), (none, none, none), (none, none, none)
    J0 = (none, none, none, none, none, none)
    for g in range(0, G, at_once(P)):
        one = get_constants(N, F + g, P)
        px, vx, ax = move_row(N, F, G, n, g, 0, P, W, q, u, j, l, moving, zero)
        py, vy, ay = move_row(N, F, G, n, g, 1, P, W, q, u, j, l, moving, zero)
        pz, vz, az = move_row(N, F, G, n, g, 2, P, W, q, u, j, l, moving, zero)
        p = (px, py, pz)
        h0, J0 = axpy3(one, p, h0), add(J0, about(1.0, p))
        e = axpy3(2.0, cross(w, (vx, vy, vz)), (ax, ay, az))
        pulled, turned = axpy3(one, e, pulled), add3(turned, cross(p, e))
        full = add3(axpy3(one, acceleration, e), add3(cross(alpha, p), cross(w, cross(w, p))))
        put_three(P, rho + g, G, p)
        put_three(P, rho + 3 * G + g, G, full)
    h, J = add3(h, sum3(h0, P)), add(J, sum3(J0[0:3], P) + sum3(J0[3:6], P))
    return h, J, add3(turn, sum3(turned, P)), add3(pull, sum3(pulled, P))


@inline
def put_three(P, at, step, x):
    put_some(P, at, x[0])
    put_some(P, at + step, x[1])
    put_some(P, at + 2 * step, x[2])


@inline
def get_three(P, at, step):
    return get_some(P, at), get_some(P, at + step), get_some(P, at + 2 * step)


@inline
def sum3(x, P):
    return sum_some(x[0], P), sum_some(x[1], P), sum_some(x[2], P)


@inline
def about(m, x):
    """m (x.x 1 - x x')"""
    y = scale3(m, x)
    xx, yy, zz = x[0] * y[0], x[1] * y[1], x[2] * y[2]
    return yy + zz, -x[0] * y[1], -x[0] * y[2], xx + zz, -x[1] * y[2], xx + yy


@kernel
def along_points(x, F, f, n, P, W, a, Ct, Cr, force):
    """Ct, Cr and the bias force of mode a with those of the points"""
    N, G = x.numbers, x.points[f]
    rho, D = W + 3 * n * G, W + a * G
    none = 0.0 * get_constants(N, F, P)
    t, r, s = (none, none, none), (none, none, none), none
    for g in range(0, G, at_once(P)):
        d = get_three(P, D + g, n * G)
        t, r = axpy3(get_constants(N, F + g, P), d, t), add3(r, cross(get_three(P, rho + g, G), d))
        s = s + dot3(d, get_three(P, rho + 3 * G + g, G))
    return add3(Ct, sum3(t, P)), add3(Cr, sum3(r, P)), force + sum_some(s, P)


@kernel
def mass_of_points(x, f, n, P, W, M, mass):
    """Mff (n, n), its lower half, with D' D of the points"""
    N, G, step = x.numbers, x.points[f], n * x.points[f]
    for a in range(n):
        for b in range(a + 1):
            left, right = W + a * G, W + b * G
            s = (0.0 * get_some(P, left), 0.0 * get_some(P, left), 0.0 * get_some(P, left))
            for g in range(0, G, at_once(P)):
                y, z = get_three(P, left + g, step), get_three(P, right + g, step)
                s = (s[0] + y[0] * z[0], s[1] + y[1] * z[1], s[2] + y[2] * z[2])
            put(P, M + a * n + b, N[mass + a * n + b] + sum_some(s[0] + s[1] + s[2], P))


# ---------------------------------------------------------------- rigid bodies at nodes


@kernel
def add_lumps(x, first, f, n, second, P, at, forces, M, W, q, u, j, l, w, alpha, acceleration, h, J, turn, pull):
    """A body's lumps into [Cr; Ct] of its modes, their bias forces, Mff, the moments, and the wrench of motion in the
    frame"""
    N, moving, zero = x.numbers, u.shape[0] > 0, 0.0 * w[0]
    none, size = (zero, zero, zero), 13 + 6 * n + (6 * n * n if second else 0)
    for lump in range(x.lumps[f]):
        mass, inertia, node = N[first + lump * size], first + lump * size + 4, first + lump * size + 10
        Q = node + 3 + 6 * n
        rho, theta = node_place(N, node, n, Q, second, q, j, none)
        s = 1.0 / (1.0 + 0.25 * dot3(theta, theta))
        R = cayley(theta, s)
        arm = mul33(R, add3(none, load_at3(N, first + lump * size + 1)))
        I, p = turn_inertia(R, add(none + none, load_at6(N, inertia))), add3(rho, arm)
        spin, moved, bend, rate, curl = none, none, none, none, none
        for a in range(n):
            t, shift = node_column(N, node, n, Q, second, q, j, a, none)
            if moving:
                y = get(u, l + a)
                rate = axpy3(y, t, rate)
                if second:
                    bend = axpy3(y, deflected(N, Q, n, a, u, l), bend)
                    curl = axpy3(y, deflected(N, Q + 3 * n * n, n, a, u, l), curl)
            t = turn_rate(theta, s, t)
            shift = add3(shift, cross(t, arm))
            if moving:
                spin, moved = axpy3(y, t, spin), axpy3(y, shift, moved)
            push, twist = scale3(mass, shift), mulsym(I, t)
            put_at6(P, W + 6 * a, join(t, shift))
            old = load_at6(P, at + 6 * a)
            put_at6(P, at + 6 * a, add(old, join(add3(twist, cross(p, push)), push)))
            for b in range(a + 1):
                other, ab = load_at6(P, W + 6 * b), M + a * n + b
                put(P, ab, get(P, ab) + (dot3(twist, angular(other)) + dot3(push, linear(other))))
        h, J = axpy3(mass, p, h), add(J, add(I, about(mass, p)))
        if moving:
            curl = axpy3(-0.5 * s * dot3(theta, rate), spin, turn_rate(theta, s, curl))  # of spin, at eta'' = 0
            e = add3(add3(bend, cross(curl, arm)), cross(spin, cross(spin, arm)))
            e = axpy3(2.0, cross(w, moved), e)
            full = add3(add3(acceleration, e), add3(cross(alpha, p), cross(w, cross(w, p))))
            whole, Iw = add3(w, spin), mulsym(I, w)
            more = add3(mulsym(I, add3(curl, cross(w, spin))), cross(whole, mulsym(I, whole)))
            T, force = add3(more, mulsym(I, alpha)), scale3(mass, full)
            e = scale3(mass, e)
            pull = add3(pull, e)
            turn = add3(turn, add3(axpy3(-1.0, cross(w, Iw), more), cross(p, e)))
            for a in range(n):
                column = load_at6(P, W + 6 * a)
                put(P, forces + a, get(P, forces + a) + (dot3(angular(column), T) + dot3(linear(column), force)))
    return h, J, turn, pull


# ---------------------------------------------------------------- a frame that is fixed to a node which moves


@kernel
def carried_frame(x, node, n, second, P, S, q, u, j, l, R, o, v, b):
    """Frame A, its velocity and bias acceleration from those of B; columns of A against B into S (n, 6)"""
    N, moving, zero = x.numbers, u.shape[0] > 0, 0.0 * R[0]
    none, Q = (zero, zero, zero), node + 3 + 6 * n
    rho, theta = node_place(N, node, n, Q, second, q, j, none)
    s = 1.0 / (1.0 + 0.25 * dot3(theta, theta))
    back = scale3(-1.0, theta)
    R = matmul(R, cayley(back, s))
    r = mul33t(cayley(back, s), add3(none, load_at3(N, node)))
    o = add3(o, mul33(R, axpy3(-1.0, rho, r)))
    here = add3(o, mul33(R, rho))
    spin, moved, bend, rate, curl = none, none, none, none, none
    for a in range(n):
        t, shift = node_column(N, node, n, Q, second, q, j, a, none)
        y = get(u, l + a) if moving else zero
        rate = axpy3(y, t, rate)
        if moving and second:
            bend = axpy3(y, deflected(N, Q, n, a, u, l), bend)
            curl = axpy3(y, deflected(N, Q + 3 * n * n, n, a, u, l), curl)
        t = turn_rate(theta, s, t)
        put_at6(P, S + 6 * a, motion_column(R, here, scale3(-1.0, t), scale3(-1.0, shift)))
        spin, moved = axpy3(y, t, spin), axpy3(y, shift, moved)
    if moving:
        vJ = motion_column(R, here, spin, moved)
        curl = axpy3(-0.5 * s * dot3(theta, rate), spin, turn_rate(theta, s, curl))
        late = motion_column(R, here, curl, add3(bend, cross(moved, spin)))
        v = sub(v, vJ)
        b = sub(sub(b, cross_motion(v, vJ)), late)
    return R, o, v, b


@kernel
def carry_mass(m, k, f, n, P, at, M, S, W):
    """Columns and Mff of motion against B: C + I S and Mff + S' C + C' S + S' I S"""
    mass, h, J = m.mass[f], load3(k.h, f), load6(k.J, f)
    for a in range(n):
        Sa, C = load_at6(P, S + 6 * a), load_at6(P, at + 6 * a)
        put_at6(P, W + 6 * a, add(C, mul_rigid(mass, h, J, Sa)))
        for b in range(a + 1):
            ab = M + a * n + b
            put(P, ab, get(P, ab) + (dot(Sa, load_at6(P, W + 6 * b)) + dot(load_at6(P, S + 6 * b), C)))
    for a in range(n):
        put_at6(P, at + 6 * a, load_at6(P, W + 6 * a))


@kernel
def carry_forces(m, k, f, n, P, forces, S, v, b):
    """Bias forces of motion against B, from those of A; and the wrench beyond that of a rigid body which moves as B"""
    mass, h, J = m.mass[f], load3(k.h, f), load6(k.J, f)
    whole = add(rigid_force(mass, h, J, b, v), load_at6(P, forces + n))
    put_at6(P, forces + n, sub(whole, rigid_force(mass, h, J, load6(k.b, f), load6(k.v, f))))
    for a in range(n):
        put(P, forces + a, get(P, forces + a) + dot(load_at6(P, S + 6 * a), whole))
