"""The rows of all constraints at one state: residual g, its rate, gamma and the wrenches that hold it.

With A the frame on the first body (a joint's parent) and B the one on the second, all is relative motion in A:
rotation Q, angular velocity w and its rate, displacement d of B's point, its velocity and acceleration. Then C is the
derivative of g and gamma = -(second derivative of g at u' = 0), exact where g = 0 and C u = given.

Rotations are 2 sin(angle / 2): zero only where the frames agree, and of slope 1 there. A screw's angle is not measured:
its displacement says what the angle must be, so that no turn is ever counted.
"""

import math

from ..algebra import spatial as sp
from ..algebra.places import place_on, velocity_at
from ..algebra.rotation import column, quaternion
from ..algebra.trig import sincos
from ..compiler.function_pointers import ALONG, call_flexible
from ..compiler.lanes import get, inline, kernel, put, view
from ..layout import constraints as layout
from ..layout.forces import TINY, code
from ..layout.system import FLEXIBLE
from .relative_kinematics import acceleration_at, force_at, meet, put_row, put_shift_row, put_turn_row, turning
from .rolling import blade_row, roll_rows

DISTANCE, ROLL, BLADE = map(code, ("distance", "roll", "blade"))


@inline
def turn_rows(x, r, c, t, held):
    """Rotations that a joint holds; returns the next row"""
    Q, w = t.Q, t.w
    zero = 0.0 * Q[0]
    if held == layout.TURN_CROSS:  # g = a_x . b_y
        y, z = Q[4], Q[7]
        dy, dz = w[2] * Q[1] - w[0] * z, w[0] * y - w[1] * Q[1]  # w x b_y
        put_turn_row(x, r, c, t, Q[1], (zero, z, -y), w[1] * dz - w[2] * dy)
    elif held == layout.TURN_AXIS:  # g = 2 sin(angle/2) times the axis of the shortest rotation from a_z to b_z
        bx, by, bz = Q[2], Q[5], Q[8]
        f = math.sqrt(2.0 / (1.0 + bz + TINY))
        h = -0.5 * f / (1.0 + bz + TINY)  # df / dbz
        put_turn_row(x, r, c, t, -f * by, (f * bz - h * by * by, h * by * bx, -f * bx), zero)
        put_turn_row(x, r + 1, c, t, f * bx, (h * bx * by, f * bz - h * bx * bx, -f * by), zero)
    elif held == layout.TURN_ALL:  # g = 2 e of the unit quaternion (w, e); g' = (w - e x) angular velocity
        half, ex, ey, ez = quaternion(Q)
        put_turn_row(x, r, c, t, 2.0 * ex, (half, ez, -ey), zero)
        put_turn_row(x, r + 1, c, t, 2.0 * ey, (-ez, half, ex), zero)
        put_turn_row(x, r + 2, c, t, 2.0 * ez, (ey, -ex, half), zero)
    elif held == layout.TURN_TWIST:  # the last row of TURN_ALL: g = 2 e_z, zero where the frames only bend
        half, ex, ey, ez = quaternion(Q)
        put_turn_row(x, r, c, t, 2.0 * ez, (ey, -ex, half), zero)
    return r + layout.TURN_COUNTS[held]


@inline
def shift_rows(x, r, c, held, last, speed, bend):
    """Displacements that a joint holds, that along z at ``last``, which moves; returns the next row"""
    still = 0.0 * speed
    if held & layout.SHIFT_X:
        put_shift_row(x, r, c, c.d[0], column(c.R, 0), c.rate[0], still, c.bend[0])
        r += 1
    if held & layout.SHIFT_Y:
        put_shift_row(x, r, c, c.d[1], column(c.R, 1), c.rate[1], still, c.bend[1])
        r += 1
    if held & layout.SHIFT_Z:
        put_shift_row(x, r, c, c.d[2] - last, column(c.R, 2), c.rate[2], speed, c.bend[2] - bend)
        r += 1
    return r


@inline
def angle_row(x, r, c, v, angle, pitch, speed, bend):
    """The angle about z is that given, or with a pitch what the displacement says: 2 sin((angle of Q - it) / 2)"""
    inverse, f = 0.0, 1.0
    if pitch != 0.0:
        inverse = 1.0 / pitch
        f = pitch / math.sqrt(1.0 + pitch * pitch)  # of slope 1 in m and rad together
    s, t = v.Q[3] - v.Q[1], v.Q[0] + v.Q[4]
    n = 1.0 / math.sqrt(s * s + t * t + TINY)
    sin, cos = sincos(angle + inverse * c.d[2])
    sine, cosine = n * (s * cos - t * sin), n * (t * cos + s * sin)
    half = math.sqrt(0.5 * (1.0 + cosine) + TINY)
    z = column(c.R, 2)
    zero = sp.scale3(0.0, z)
    turn, slope = sp.join(z, zero), f * half
    wb = sp.scale(slope, sp.sub_scaled(turn, inverse, force_at(c.rb, z)))
    wa = sp.scale(-slope, sp.sub_scaled(turn, inverse, force_at(c.there, z)))
    rate, bent = v.w[2] - inverse * c.rate[2], v.rate[2] - inverse * c.bend[2] - bend
    put_row(x, r, f * sine / half, wa, wb, slope * rate, slope * speed, slope * bent)


@inline
def distance_row(m, E, k, x, r, n):
    """g = |d| - length"""
    a, b, c = E.body[n], E.to[n], layout.NUMBERS // 3 * n
    ra, pa = place_on(m, k, a, sp.load3(E.numbers, c + 6))
    rb, pb = place_on(m, k, b, sp.load3(E.numbers, c + 7))
    d = sp.sub3(pb, pa)
    length = math.sqrt(sp.dot3(d, d) + TINY)
    e = sp.scale3(1.0 / length, d)
    rate = sp.sub3(velocity_at(k, b, rb), velocity_at(k, a, ra))
    along = sp.dot3(e, rate)
    bend = sp.dot3(e, sp.sub3(acceleration_at(k, b, rb), acceleration_at(k, a, ra)))
    bend = bend + (sp.dot3(rate, rate) - along * along) / length
    gap = length - E.numbers[layout.NUMBERS * n + layout.LENGTH]
    put_row(x, r, gap, force_at(ra, sp.neg3(e)), force_at(rb, e), along, 0.0 * gap, bend)


@inline
def couple_row(E, x, r, n, q, u, value, rate, bend):
    """g = first q + second q - offset - function of time; or of velocities alone, which no pose can tell: g = 0"""
    c = layout.NUMBERS * n
    first, second = E.numbers[c + layout.FIRST], E.numbers[c + layout.SECOND]
    i, j = E.dof[2 * n], E.dof[2 * n + 1]
    total = first * get(q, E.coordinate[2 * n]) + second * get(q, E.coordinate[2 * n + 1])
    gap = total - E.numbers[c + layout.LENGTH] - value
    if E.turn[n] == layout.VELOCITIES:
        gap, rate, bend = 0.0 * total, value, rate
    if E.drive[n] == layout.SLIDES:  # no condition, but a load
        rate = first * get(u, i) + second * get(u, j)
    put(x.g, r, gap)
    put(x.prescribed, r, rate)
    put(x.rate, r, first * get(u, i) + second * get(u, j) - rate)
    put(x.gamma, r, bend)
    for s in range(12):
        put(x.w, 12 * r + s, 0.0)


@inline  # a call would pass all arrays, which takes longer than the rows
def joint_rows(m, E, k, x, n, value, rate, bend):
    """All rows of a joint that closes a loop"""
    c, pitch, drive, r = meet(m, E, k, n), E.numbers[layout.NUMBERS * n + layout.LENGTH], E.drive[n], E.row[n]
    if E.turn[n] > 0:
        r = turn_rows(x, r, c, turning(E, k, n, c), E.turn[n])
    slide = 0.0 if drive != layout.DRIVE_SHIFT else (pitch if pitch != 0.0 else 1.0)
    r = shift_rows(x, r, c, E.shift[n], slide * value, slide * rate, slide * bend)
    if pitch != 0.0:
        zero = 0.0 * value
        angle_row(x, r, c, turning(E, k, n, c), zero, pitch, zero, zero)
    elif drive == layout.DRIVE_TURN:
        angle_row(x, r, c, turning(E, k, n, c), value, 0.0, rate, bend)


@kernel
def constrain(m, E, k, signals, q, u, x):
    """The Rows x of one state, whose functions of time are evaluated in ``signals``"""
    zero = get(k.v, 0)  # of ground
    for n in range(E.ne):
        value, rate, bend = zero, zero, zero
        if E.signal[n] >= 0:
            s = 1 + 3 * E.signal[n]
            value, rate, bend = get(signals, s) + zero, get(signals, s + 1) + zero, get(signals, s + 2) + zero
        if E.kind[n] == layout.COUPLE:
            couple_row(E, x, E.row[n], n, q, u, value, rate, bend)
        elif E.kind[n] == DISTANCE:
            distance_row(m, E, k, x, E.row[n], n)
        elif E.kind[n] == ROLL:
            roll_rows(m, E, k, x, n)
        elif E.kind[n] == BLADE:
            blade_row(m, E, k, x, n)
        else:
            joint_rows(m, E, k, x, n, value, rate, bend)


@inline
def ends_of_row(E, r):
    """Bodies of a row, and DOF and factors of one that couples DOF"""
    n = E.element[r]
    c = layout.NUMBERS * n
    if E.kind[n] == layout.COUPLE:
        first, second = E.numbers[c + layout.FIRST], E.numbers[c + layout.SECOND]
        return E.body[n], E.to[n], E.dof[2 * n], first, E.dof[2 * n + 1], second
    return E.body[n], E.to[n], 0, 0.0, 0, 0.0


@kernel
def fill_matrix(m, E, k, x, C):
    """C (nr, nu), row by row"""
    for n in range(E.nr * m.nu):
        put(C, n, 0.0)
    for r in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, r)
        for end in range(2):
            body, w = (a, sp.load6(x.w, 2 * r)) if end == 0 else (b, sp.load6(x.w, 2 * r + 1))
            if m.header[FLEXIBLE] > 0:
                row = view(C, r * m.nu, m.nu)
                call_flexible(ALONG, body, 2 * r + end, m.header, k.sin, row, x.w, row, row, row)
                continue
            l = m.dof[body + 1] - 1 if body > 0 else -1
            while l >= 0:
                at = r * m.nu + l
                put(C, at, get(C, at) + sp.dot(sp.load6(k.S, l), w))
                l = m.up[l]
        if first != 0.0:
            put(C, r * m.nu + i, get(C, r * m.nu + i) + first)
        if second != 0.0:
            put(C, r * m.nu + j, get(C, r * m.nu + j) + second)
