"""The rows of all constraints at one state: residual g, its rate, gamma and the wrenches that hold it.

With A the frame on the first body (a joint's parent) and B the one on the second, all is relative motion in A:
rotation Q, angular velocity w and its rate, displacement d of B's point, its velocity and acceleration. Then C is the
derivative of g and gamma = -(second derivative of g at u' = 0), exact where g = 0 and C u = given.

Rotations are 2 sin(angle / 2): zero only where the frames agree, and of slope 1 there. A screw's angle is not measured:
its displacement says what the angle must be, so that no turn is ever counted.
"""

import math
from typing import Any, NamedTuple

from .constraint_layout import (
    COUPLE,
    DISTANCE,
    DRIVE_SHIFT,
    DRIVE_TURN,
    FIRST,
    LENGTH,
    NUMBERS,
    SECOND,
    TURN_ALL,
    TURN_AXIS,
    TURN_UNIVERSAL,
)
from .force_layout import TINY
from .lanes import get, inline, kernel, put
from .places import place_on, velocity_at
from .rotation import column
from .spatial import (
    add3,
    angular,
    cross,
    dot,
    dot3,
    join,
    linear,
    load3,
    load6,
    load9,
    matmul,
    mul33,
    mul33t,
    neg3,
    scale,
    scale3,
    store6,
    sub3,
    transpose,
)
from .trig import sincos


class Meeting(NamedTuple):
    """Two frames that a joint holds together; vectors with no word on axes are in the world's."""

    a: Any  # the first body
    b: Any  # the second
    R: Any  # (9)       axes of A
    there: Any  # (3)   B's point, from the point of A's component
    rb: Any  # (3)      the same, from the point of B's component
    d: Any  # (3)       from A's point to B's, in A
    rate: Any  # (3)    velocity of B's point in A, in A
    bend: Any  # (3)    its acceleration in A at u' = 0, in A
    Q: Any  # (9)       axes of B in A
    w: Any  # (3)       angular velocity in A, in A
    turn: Any  # (3)    its rate at u' = 0, in A


@inline
def acceleration_at(k, i, r):
    """Of the point r of body i at u' = 0, on a ground that rises at -gravity"""
    v, b = load6(k.v, i), load6(k.b, i)
    w = angular(v)
    return add3(add3(linear(b), cross(angular(b), r)), cross(w, add3(linear(v), cross(w, r))))


@inline
def meet(m, E, k, n):
    a, b = E.body[n], E.to[n]
    c = NUMBERS // 3 * n
    ra, pa = place_on(m, k, a, load3(E.numbers, c + 6))
    rb, pb = place_on(m, k, b, load3(E.numbers, c + 7))
    R, Rb = matmul(load9(k.R, a), frame(E, n, 0)), matmul(load9(k.R, b), frame(E, n, 1))
    d = sub3(pb, pa)
    there = add3(ra, d)
    wa, wb = angular(load6(k.v, a)), angular(load6(k.v, b))
    w = sub3(wb, wa)
    rate = sub3(velocity_at(k, b, rb), velocity_at(k, a, there))
    bend = sub3(sub3(acceleration_at(k, b, rb), acceleration_at(k, a, there)), scale3(2.0, cross(wa, rate)))
    turn = sub3(sub3(angular(load6(k.b, b)), angular(load6(k.b, a))), cross(wa, w))
    Q = matmul(transpose(R), Rb)
    return Meeting(
        a, b, R, there, rb, mul33t(R, d), mul33t(R, rate), mul33t(R, bend), Q, mul33t(R, w), mul33t(R, turn)
    )  # fmt: skip


@inline
def frame(E, n, which):
    """Rotation of an element's frame on the first or second body"""
    return load9(E.numbers, 3 * n + which)


@inline
def put_row(k, x, r, a, b, g, wa, wb, given, bend):
    store6(x.w, 2 * r, wa)
    store6(x.w, 2 * r + 1, wb)
    put(x.g, r, g)
    put(x.given, r, given)
    put(x.rate, r, dot(wa, load6(k.v, a)) + dot(wb, load6(k.v, b)) - given)
    put(x.gamma, r, -bend)


@inline
def put_turn_row(k, x, r, c, g, T, given, bend):
    """A torque T, in A, on the second body and its opposite on the first"""
    zero = scale3(0.0, T)
    w = join(mul33(c.R, T), zero)
    put_row(k, x, r, c.a, c.b, g, scale(-1.0, w), w, given, bend + dot3(T, c.turn))


@inline
def force_at(r, e):
    return join(cross(r, e), e)


@kernel
def turn_rows(k, x, r, c, held):
    """Rotations that a joint holds; returns the next row"""
    zero, Q = 0.0 * c.Q[0], c.Q
    if held == TURN_UNIVERSAL:  # g = a_x . b_y
        y, z = Q[4], Q[7]
        dy, dz = c.w[2] * Q[1] - c.w[0] * z, c.w[0] * y - c.w[1] * Q[1]  # w x b_y
        put_turn_row(k, x, r, c, Q[1], (zero, z, -y), zero, c.w[1] * dz - c.w[2] * dy)
    elif held == TURN_AXIS:  # g = 2 sin(angle/2) times the axis of the shortest rotation from a_z to b_z
        bx, by, bz = Q[2], Q[5], Q[8]
        f = math.sqrt(2.0 / (1.0 + bz + TINY))
        h = -0.5 * f / (1.0 + bz + TINY)  # df / dbz
        put_turn_row(k, x, r, c, -f * by, (f * bz - h * by * by, h * by * bx, -f * bx), zero, zero)
        put_turn_row(k, x, r + 1, c, f * bx, (h * bx * by, f * bz - h * bx * bx, -f * by), zero, zero)
    elif held == TURN_ALL:  # g = 2 e of the unit quaternion (w, e); g' = (w - e x) angular velocity
        w = 0.5 * math.sqrt(1.0 + Q[0] + Q[4] + Q[8] + TINY)
        s = 0.25 / w
        ex, ey, ez = s * (Q[7] - Q[5]), s * (Q[2] - Q[6]), s * (Q[3] - Q[1])
        put_turn_row(k, x, r, c, 2.0 * ex, (w, ez, -ey), zero, zero)
        put_turn_row(k, x, r + 1, c, 2.0 * ey, (-ez, w, ex), zero, zero)
        put_turn_row(k, x, r + 2, c, 2.0 * ez, (ey, -ex, w), zero, zero)
    return r + held


@kernel
def shift_rows(k, x, r, c, held, last, speed, bend):
    """Displacements that a joint holds, that along z at ``last``, which moves; returns the next row"""
    for n in range(3):
        if held & (1 << n):
            e = column(c.R, 0) if n == 0 else (column(c.R, 1) if n == 1 else column(c.R, 2))
            wa, wb = scale(-1.0, force_at(c.there, e)), force_at(c.rb, e)
            if n == 0:
                put_row(k, x, r, c.a, c.b, c.d[0], wa, wb, 0.0 * speed, c.bend[0])
            elif n == 1:
                put_row(k, x, r, c.a, c.b, c.d[1], wa, wb, 0.0 * speed, c.bend[1])
            else:
                put_row(k, x, r, c.a, c.b, c.d[2] - last, wa, wb, speed, c.bend[2] - bend)
            r += 1
    return r


@kernel
def angle_row(k, x, r, c, angle, pitch, speed, bend):
    """The angle about z is that given, or with a pitch what the displacement says: 2 sin((angle of Q - it) / 2)"""
    inverse, f = 0.0, 1.0
    if pitch != 0.0:
        inverse = 1.0 / pitch
        f = pitch / math.sqrt(1.0 + pitch * pitch)  # of slope 1 in m and rad together
    s, t = c.Q[3] - c.Q[1], c.Q[0] + c.Q[4]
    n = 1.0 / math.sqrt(s * s + t * t + TINY)
    sin, cos = sincos(angle + inverse * c.d[2])
    sine, cosine = n * (s * cos - t * sin), n * (t * cos + s * sin)
    half = math.sqrt(0.5 * (1.0 + cosine) + TINY)
    z = column(c.R, 2)
    zero = scale3(0.0, z)
    turn, slope = join(z, zero), f * half
    wb = scale(slope, sub_scaled(turn, inverse, force_at(c.rb, z)))
    wa = scale(-slope, sub_scaled(turn, inverse, force_at(c.there, z)))
    put_row(
        k, x, r, c.a, c.b, f * sine / half, wa, wb, slope * speed,
        slope * (c.turn[2] - inverse * c.bend[2] - bend),
    )  # fmt: skip


@inline
def sub_scaled(a, x, b):
    """a - x b"""
    return (a[0] - x * b[0], a[1] - x * b[1], a[2] - x * b[2], a[3] - x * b[3], a[4] - x * b[4], a[5] - x * b[5])


@inline
def distance_row(m, E, k, x, r, n):
    """g = |d| - length"""
    a, b, c = E.body[n], E.to[n], NUMBERS // 3 * n
    ra, pa = place_on(m, k, a, load3(E.numbers, c + 6))
    rb, pb = place_on(m, k, b, load3(E.numbers, c + 7))
    d = sub3(pb, pa)
    length = math.sqrt(dot3(d, d) + TINY)
    e = scale3(1.0 / length, d)
    rate = sub3(velocity_at(k, b, rb), velocity_at(k, a, ra))
    along = dot3(e, rate)
    bend = dot3(e, sub3(acceleration_at(k, b, rb), acceleration_at(k, a, ra)))
    bend = bend + (dot3(rate, rate) - along * along) / length
    gap = length - E.numbers[NUMBERS * n + LENGTH]
    put_row(k, x, r, a, b, gap, force_at(ra, neg3(e)), force_at(rb, e), 0.0 * gap, bend)


@inline
def couple_row(E, x, r, n, q, u, value, rate, bend):
    """g = first q + second q - offset - function of time"""
    c = NUMBERS * n
    first, second = E.numbers[c + FIRST], E.numbers[c + SECOND]
    i, j = E.freedom[2 * n], E.freedom[2 * n + 1]
    total = first * get(q, E.coordinate[2 * n]) + second * get(q, E.coordinate[2 * n + 1])
    put(x.g, r, total - E.numbers[c + LENGTH] - value)
    put(x.given, r, rate)
    put(x.rate, r, first * get(u, i) + second * get(u, j) - rate)
    put(x.gamma, r, bend)
    for s in range(12):
        put(x.w, 12 * r + s, 0.0)


@kernel
def joint_rows(m, E, k, x, n, value, rate, bend):
    """All rows of a joint that closes a loop"""
    c, pitch, drive = meet(m, E, k, n), E.numbers[NUMBERS * n + LENGTH], E.drive[n]
    r = turn_rows(k, x, E.row[n], c, E.turn[n])
    slide = 0.0 if drive != DRIVE_SHIFT else (pitch if pitch != 0.0 else 1.0)
    r = shift_rows(k, x, r, c, E.shift[n], slide * value, slide * rate, slide * bend)
    zero = 0.0 * value
    if pitch != 0.0:
        angle_row(k, x, r, c, zero, pitch, zero, zero)
    elif drive == DRIVE_TURN:
        angle_row(k, x, r, c, value, 0.0, rate, bend)


@kernel
def constrain(m, E, k, signals, q, u, x):
    """The Rows x of one state, whose functions of time are evaluated in ``signals``"""
    zero = get(k.v, 0)  # of ground
    for n in range(E.ne):
        value, rate, bend = zero, zero, zero
        if E.signal[n] >= 0:
            s = 1 + 3 * E.signal[n]
            value, rate, bend = get(signals, s) + zero, get(signals, s + 1) + zero, get(signals, s + 2) + zero
        if E.kind[n] == COUPLE:
            couple_row(E, x, E.row[n], n, q, u, value, rate, bend)
        elif E.kind[n] == DISTANCE:
            distance_row(m, E, k, x, E.row[n], n)
        else:
            joint_rows(m, E, k, x, n, value, rate, bend)


@inline
def ends_of_row(E, r):
    """Bodies of a row, and freedoms and factors of one that couples freedoms"""
    n = E.element[r]
    c = NUMBERS * n
    if E.kind[n] == COUPLE:
        return E.body[n], E.to[n], E.freedom[2 * n], E.numbers[c + FIRST], E.freedom[2 * n + 1], E.numbers[c + SECOND]
    return E.body[n], E.to[n], 0, 0.0, 0, 0.0


@kernel
def fill_matrix(m, E, k, x, C):
    """C (nr, nu), row by row"""
    for n in range(E.nr * m.nu):
        put(C, n, 0.0)
    for r in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, r)
        for end in range(2):
            body, w = (a, load6(x.w, 2 * r)) if end == 0 else (b, load6(x.w, 2 * r + 1))
            l = m.dof[body + 1] - 1 if body > 0 else -1
            while l >= 0:
                at = r * m.nu + l
                put(C, at, get(C, at) + dot(load6(k.S, l), w))
                l = m.up[l]
        if first != 0.0:
            put(C, r * m.nu + i, get(C, r * m.nu + i) + first)
        if second != 0.0:
            put(C, r * m.nu + j, get(C, r * m.nu + j) + second)
