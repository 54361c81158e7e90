"""Mass and bias forces of a deformed body beyond the polynomial of first-order motion; see modes/field.py.

All of it is d'Alembert's principle: what moves with velocity D eta' in the frame, seen from it, takes the force of its
acceleration along D. *Points* move to second order and have unit mass; a translation of the frame moves them by
``one``. *Lumps* are rigid bodies at nodes. The *carrier* is the node that the body's frame B is fixed to, where it
moves in the frame A in which the modes are given: A moves against B by its columns, with a minus.

Symbols   D derivative of a place by eta; W where the scratch of a body starts, in what Kinematics keeps
"""

from ..algebra import spatial as sp
from ..algebra.several import at_once, get_constants, get_some, put_some, sum_some
from ..compiler.lanes import get, inline, put, view_integers
from ..layout.modes import MANY
from .kinematics import turn_inertia


@inline
def motion_column(R, o, turn, shift):
    """A motion in the axes of a frame, at a place o, as one about the component's point"""
    w = sp.mul33(R, turn)
    return sp.join(w, sp.add3(sp.mul33(R, shift), sp.cross(o, w)))


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
    return sp.scale3(s, sp.axpy3(0.5, sp.cross(t, rate), rate))


@inline
def contract(N, T, n, size, y, first, P, W):
    """Sum over b of y_b T_b, (n, size), into W; numbers behind it, up to MANY, are overwritten"""
    for i in range(0, size, at_once(P)):
        s = get(y, first) * get_constants(N, T + i, P)
        for b in range(1, n):
            s = s + get(y, first + b) * get_constants(N, T + b * size + i, P)
        put_some(P, W + i, s)


@inline
def place_of_node(N, at, n, Q, second, P, W, q, u, j, l, zero):
    """Rotation vector and place of a node, [theta; rho], and their second derivative in time at eta'' = 0; to second
    order what their derivatives by eta change goes to W (n, 6)"""
    moving, none = u.shape[0] > 0, (zero, zero, zero, zero, zero, zero)
    place, late = sp.add(none, (0.0, 0.0, 0.0, *sp.load_at3(N, at))), none
    if second:
        if moving:
            contract(N, Q, n, 6 * n, u, l, P, W)
            for a in range(n):
                late = sp.axpy(get(u, l + a), sp.load_at6(P, W + 6 * a), late)
        contract(N, Q, n, 6 * n, q, j, P, W)
    for a in range(n):
        eta, column = get(q, j + a), sp.load_at6(N, at + 3 + 6 * a)
        place = sp.axpy(eta, column, place)
        if second:
            place = sp.axpy(0.5 * eta, sp.load_at6(P, W + 6 * a), place)
    return place, late


@inline
def column_of_node(N, at, second, P, W, a, zero):
    """Derivative of [theta; rho] by eta_a"""
    column = sp.add((zero, zero, zero, zero, zero, zero), sp.load_at6(N, at + 3 + 6 * a))
    return sp.add(column, sp.load_at6(P, W + 6 * a)) if second else column


# ---------------------------------------------------------------- generalized points


@inline
def move_some(N, I, rows, r, phi, values, size, n, P, D, q, u, j, l, moving, zero):
    """One component of some points: place, velocity and acceleration at eta'' = 0, in the frame; D is stored.

    I has where the coefficients Q_ab of each mode a begin, and of each b; values are those of MANY points.
    """
    rho = get_constants(N, r, P)
    speed, late = zero * rho, zero * rho
    for a in range(n):
        first, eta = get_constants(N, phi + a * size, P), get(q, j + a)
        d, more = zero + first, zero * first
        for e in range(get(I, rows + a), get(I, rows + a + 1)):
            b, value = get(I, e), get_constants(N, values + MANY * e, P)
            d = d + get(q, j + b) * value
            if moving:
                more = more + get(u, l + b) * value
        put_some(P, D + a * size, d)
        rho = rho + (0.5 * eta) * (first + d)
        if moving:
            rate = get(u, l + a)
            speed, late = speed + rate * d, late + rate * more
    return rho, speed, late


@inline
def move_points(x, F, f, n, P, W, q, u, j, l, w, alpha, acceleration, h, J, turn, pull):
    """D (n, 3, points) of the points into W, then places and accelerations at eta'' = 0 (6, points); first and second
    moments with theirs, and the wrench of their motion in the frame"""
    N, G, moving, zero = x.numbers, x.points[f], u.shape[0] > 0, 0.0 * w[0]
    rho, size, first, heads = W + 3 * n * G, 3 * G, F + (4 + 3 * n) * G, 3 * n * (G // MANY) + 1
    I = view_integers(N, first, heads + x.entries[f])
    none = zero * get_constants(N, F, P)
    h0, turned, pulled = (none, none, none), (none, none, none), (none, none, none)
    J0 = (none, none, none, none, none, none)
    for g in range(0, G, at_once(P)):
        one, row, r, phi, D = get_constants(N, F + g, P), 3 * n * (g // MANY), F + G + g, F + 4 * G + g, W + g
        values = first + heads + x.entries[f] - MANY * heads + g % MANY
        px, vx, ax = move_some(N, I, row, r, phi, values, size, n, P, D, q, u, j, l, moving, zero)
        row, r, phi, D = row + n, r + G, phi + G, D + G
        py, vy, ay = move_some(N, I, row, r, phi, values, size, n, P, D, q, u, j, l, moving, zero)
        row, r, phi, D = row + n, r + G, phi + G, D + G
        pz, vz, az = move_some(N, I, row, r, phi, values, size, n, P, D, q, u, j, l, moving, zero)
        p = (px, py, pz)
        h0, J0 = sp.axpy3(one, p, h0), sp.add(J0, about(1.0, p))
        e = sp.axpy3(2.0, sp.cross(w, (vx, vy, vz)), (ax, ay, az))
        pulled, turned = sp.axpy3(one, e, pulled), sp.add3(turned, sp.cross(p, e))
        full = sp.add3(sp.axpy3(one, acceleration, e), sp.add3(sp.cross(alpha, p), sp.cross(w, sp.cross(w, p))))
        put_three(P, rho + g, G, p)
        put_three(P, rho + 3 * G + g, G, full)
    h, J = sp.add3(h, sum3(h0, P)), sp.add(J, sum3(J0[0:3], P) + sum3(J0[3:6], P))
    return h, J, sp.add3(turn, sum3(turned, P)), sp.add3(pull, sum3(pulled, P))


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
    y = sp.scale3(m, x)
    xx, yy, zz = x[0] * y[0], x[1] * y[1], x[2] * y[2]
    return yy + zz, -x[0] * y[1], -x[0] * y[2], xx + zz, -x[1] * y[2], xx + yy


@inline
def along_points(x, F, f, n, P, W, a, Ct, Cr, force):
    """Ct, Cr and the bias force of mode a with those of the points"""
    N, G = x.numbers, x.points[f]
    rho, D = W + 3 * n * G, W + 3 * a * G
    none = 0.0 * get_constants(N, F, P)
    t, r, s = (none, none, none), (none, none, none), none
    for g in range(0, G, at_once(P)):
        d = get_three(P, D + g, G)
        t, r = sp.axpy3(get_constants(N, F + g, P), d, t), sp.add3(r, sp.cross(get_three(P, rho + g, G), d))
        s = s + sp.dot3(d, get_three(P, rho + 3 * G + g, G))
    return sp.add3(Ct, sum3(t, P)), sp.add3(Cr, sum3(r, P)), force + sum_some(s, P)


@inline
def mass_of_points(x, f, n, P, W, M, mass):
    """Mff (n, n), its lower half, with D' D of the points: two rows by two columns, each number loaded for two
    products; an odd last row goes with itself"""
    N, size = x.numbers, 3 * x.points[f]
    for a in range(0, n, 2):
        A = min(a + 1, n - 1)
        for b in range(0, a + 1, 2):
            B = min(b + 1, n - 1)
            s = 0.0 * get_some(P, W)
            ab, aB, Ab, AB = s, s, s, s
            for g in range(W, W + size, at_once(P)):
                y, Y = get_some(P, g + a * size), get_some(P, g + A * size)
                z, Z = get_some(P, g + b * size), get_some(P, g + B * size)
                ab, aB, Ab, AB = ab + y * z, aB + y * Z, Ab + Y * z, AB + Y * Z
            put(P, M + a * n + b, get(N, mass + a * n + b) + sum_some(ab, P))
            put(P, M + a * n + B, get(N, mass + a * n + B) + sum_some(aB, P))
            put(P, M + A * n + b, get(N, mass + A * n + b) + sum_some(Ab, P))
            put(P, M + A * n + B, get(N, mass + A * n + B) + sum_some(AB, P))


# ---------------------------------------------------------------- rigid bodies at nodes


@inline
def add_lumps(x, first, f, n, second, P, at, forces, M, W, q, u, j, l, w, alpha, acceleration, h, J, turn, pull):
    """A body's lumps into [Cr; Ct] of its modes, their bias forces, Mff, the moments, and the wrench of motion in the
    frame"""
    N, moving, zero = x.numbers, u.shape[0] > 0, 0.0 * w[0]
    none, size, columns = (zero, zero, zero), 13 + 6 * n + (6 * n * n if second else 0), W + 6 * n + MANY
    for lump in range(x.lumps[f]):
        mass, inertia, node = get(N, first + lump * size), first + lump * size + 4, first + lump * size + 10
        Q = node + 3 + 6 * n
        place, late = place_of_node(N, node, n, Q, second, P, W, q, u, j, l, zero)
        theta, rho = sp.angular(place), sp.linear(place)
        s = 1.0 / (1.0 + 0.25 * sp.dot3(theta, theta))
        R = cayley(theta, s)
        arm = sp.mul33(R, sp.add3(none, sp.load_at3(N, first + lump * size + 1)))
        I, p = turn_inertia(R, sp.add(none + none, sp.load_at6(N, inertia))), sp.add3(rho, arm)
        spin, moved, rate = none, none, none
        for a in range(n):
            column = column_of_node(N, node, second, P, W, a, zero)
            t = turn_rate(theta, s, sp.angular(column))
            shift = sp.add3(sp.linear(column), sp.cross(t, arm))
            if moving:
                y = get(u, l + a)
                rate = sp.axpy3(y, sp.angular(column), rate)
                spin, moved = sp.axpy3(y, t, spin), sp.axpy3(y, shift, moved)
            push, twist = sp.scale3(mass, shift), sp.mulsym(I, t)
            sp.put_at6(P, columns + 6 * a, sp.join(t, shift))
            old = sp.load_at6(P, at + 6 * a)
            sp.put_at6(P, at + 6 * a, sp.add(old, sp.join(sp.add3(twist, sp.cross(p, push)), push)))
            for b in range(a + 1):
                other, ab = sp.load_at6(P, columns + 6 * b), M + a * n + b
                put(P, ab, get(P, ab) + (sp.dot3(twist, sp.angular(other)) + sp.dot3(push, sp.linear(other))))
        h, J = sp.axpy3(mass, p, h), sp.add(J, sp.add(I, about(mass, p)))
        if moving:
            slow = -0.5 * s * sp.dot3(theta, rate)
            curl = sp.axpy3(slow, spin, turn_rate(theta, s, sp.angular(late)))  # of spin, at eta'' = 0
            e = sp.add3(sp.add3(sp.linear(late), sp.cross(curl, arm)), sp.cross(spin, sp.cross(spin, arm)))
            e = sp.axpy3(2.0, sp.cross(w, moved), e)
            full = sp.add3(sp.add3(acceleration, e), sp.add3(sp.cross(alpha, p), sp.cross(w, sp.cross(w, p))))
            whole, Iw = sp.add3(w, spin), sp.mulsym(I, w)
            more = sp.add3(sp.mulsym(I, sp.add3(curl, sp.cross(w, spin))), sp.cross(whole, sp.mulsym(I, whole)))
            T, force = sp.add3(more, sp.mulsym(I, alpha)), sp.scale3(mass, full)
            e = sp.scale3(mass, e)
            pull = sp.add3(pull, e)
            turn = sp.add3(turn, sp.add3(sp.axpy3(-1.0, sp.cross(w, Iw), more), sp.cross(p, e)))
            for a in range(n):
                column = sp.load_at6(P, columns + 6 * a)
                put(
                    P,
                    forces + a,
                    get(P, forces + a) + (sp.dot3(sp.angular(column), T) + sp.dot3(sp.linear(column), force)),
                )
    return h, J, turn, pull


# ---------------------------------------------------------------- a frame that is fixed to a node which moves


@inline
def carried_frame(x, node, n, second, P, W, S, q, u, j, l, R, o, v, b):
    """Frame A, its velocity and bias acceleration from those of B; columns of A against B into S (n, 6)"""
    N, moving, zero = x.numbers, u.shape[0] > 0, 0.0 * R[0]
    none, Q = (zero, zero, zero), node + 3 + 6 * n
    place, late = place_of_node(N, node, n, Q, second, P, W, q, u, j, l, zero)
    theta, rho = sp.angular(place), sp.linear(place)
    s = 1.0 / (1.0 + 0.25 * sp.dot3(theta, theta))
    back = sp.scale3(-1.0, theta)
    R = sp.matmul(R, cayley(back, s))
    r = sp.mul33t(cayley(back, s), sp.add3(none, sp.load_at3(N, node)))
    o = sp.add3(o, sp.mul33(R, sp.axpy3(-1.0, rho, r)))
    here = sp.add3(o, sp.mul33(R, rho))
    spin, moved, rate = none, none, none
    for a in range(n):
        column = column_of_node(N, node, second, P, W, a, zero)
        y, shift = get(u, l + a) if moving else zero, sp.linear(column)
        rate = sp.axpy3(y, sp.angular(column), rate)
        t = turn_rate(theta, s, sp.angular(column))
        sp.put_at6(P, S + 6 * a, motion_column(R, here, sp.scale3(-1.0, t), sp.scale3(-1.0, shift)))
        spin, moved = sp.axpy3(y, t, spin), sp.axpy3(y, shift, moved)
    if moving:
        vJ = motion_column(R, here, spin, moved)
        curl = sp.axpy3(-0.5 * s * sp.dot3(theta, rate), spin, turn_rate(theta, s, sp.angular(late)))
        v = sp.sub(v, vJ)
        b = sp.sub(
            sp.sub(b, sp.cross_motion(v, vJ)),
            motion_column(R, here, curl, sp.add3(sp.linear(late), sp.cross(moved, spin))),
        )
    return R, o, v, b


@inline
def carry_mass(m, k, f, n, P, at, M, S, W):
    """Columns and Mff of motion against B: C + I S and Mff + S' C + C' S + S' I S"""
    mass, h, J = m.mass[f], sp.load3(k.h, f), sp.load6(k.J, f)
    for a in range(n):
        Sa, C = sp.load_at6(P, S + 6 * a), sp.load_at6(P, at + 6 * a)
        sp.put_at6(P, W + 6 * a, sp.add(C, sp.mul_rigid(mass, h, J, Sa)))
        for b in range(a + 1):
            ab = M + a * n + b
            put(P, ab, get(P, ab) + (sp.dot(Sa, sp.load_at6(P, W + 6 * b)) + sp.dot(sp.load_at6(P, S + 6 * b), C)))
    for a in range(n):
        sp.put_at6(P, at + 6 * a, sp.load_at6(P, W + 6 * a))


@inline
def carry_forces(m, k, f, n, P, forces, S, v, b):
    """Bias forces of motion against B, from those of A; and the wrench beyond that of a rigid body which moves as B"""
    mass, h, J = m.mass[f], sp.load3(k.h, f), sp.load6(k.J, f)
    whole = sp.add(sp.rigid_force(mass, h, J, b, v), sp.load_at6(P, forces + n))
    sp.put_at6(P, forces + n, sp.sub(whole, sp.rigid_force(mass, h, J, sp.load6(k.b, f), sp.load6(k.v, f))))
    for a in range(n):
        put(P, forces + a, get(P, forces + a) + sp.dot(sp.load_at6(P, S + 6 * a), whole))
