"""The forces of a model at one state: joint forces, wrenches on bodies, stored energy and power.

Functions of time are evaluated first, into ``signals``; what acts then needs no time. Potential forces (springs,
bushings, joint limits) add to the energy, all others to the power, each in its own row of a ledger if there is one.
Formulas: docs/guides/forces.md.
"""

import math

from ..algebra import spatial as sp
from ..algebra.compare import larger, smaller
from ..algebra.places import place_on, push, velocity_at
from ..compiler.function_pointers import read_lane, write_lane
from ..compiler.lanes import get, inline, kernel, put
from ..layout import forces as layout
from .blocks import states_per_block
from .cut_dof import beyond, meet_dof, push_along
from .user_force import ask_force

SPRING, BUSHING, WRENCH, DRAG, FUNCTION = map(layout.code, ("spring", "bushing", "wrench", "drag", "function"))


@inline
def signal(F, signals, n, which, derivative, default):
    """A function of element n, or the default where it has none"""
    s = F.signal[3 * n + which]
    return get(signals, 1 + 3 * s + derivative) if s >= 0 else default


# ---------------------------------------------------------------- one formula for each kind


@inline
def passive_law(P, c, u, stretch, over, under, zero):
    """Spring, damper, smooth friction and stops of a DOF, whose numbers are P[c:]: (force, energy, power)"""
    friction = P[c + 3] / math.sqrt(u * u + P[c + 4] * P[c + 4])
    lost = (P[c + 2] + friction) * u
    stop, sink = P[c + 7], P[c + 8] * u
    held = stop * (over * larger(sink, zero - 1.0) - under * larger(-sink, zero - 1.0))  # a stop does not pull
    force = stop * (under - over) - P[c] * stretch - lost - held
    energy = 0.5 * (P[c] * stretch * stretch + stop * (over * over + under * under))
    return force, energy, -(lost + held) * u


@inline
def passive_force(F, n, q, u, zero):
    """Of a DOF of the tree: (force, energy, power)"""
    c, stretch, over, under = 9 * n, zero, zero, zero
    if F.passive_coordinate[n] >= 0:
        x = get(q, F.passive_coordinate[n])
        stretch = x - F.passive[c + 1]
        over, under = larger(x - F.passive[c + 6], zero), larger(F.passive[c + 5] - x, zero)
    return passive_law(F.passive, c, get(u, F.passive_dof[n]), stretch, over, under, zero)


@kernel
def cut_passive(m, F, k, n, wrench, zero):
    """Of a DOF of a joint that closes a loop: (force, energy, power)"""
    c, stretch, over, under = layout.NUMBERS * n + layout.FRAMES, zero, zero, zero
    x = meet_dof(m, F, k, n)
    if F.coordinate[n] != layout.UNMEASURED:
        stretch = beyond(F, n, x, F.numbers[c + 1] + zero)
        past = beyond(F, n, x, F.numbers[layout.NUMBERS * n + layout.MIDDLE] + zero)
        over, under = larger(past - F.numbers[c + 6], zero), larger(F.numbers[c + 5] - past, zero)
    force, energy, power = passive_law(F.numbers, c, x.speed, stretch, over, under, zero)
    push_along(F, n, x, force, wrench)
    return force, energy, power


@inline
def motor_law(F, n, signals, lag, speed, zero):
    """With ``lag``, how far the coordinate is behind the position that is asked for"""
    c = layout.NUMBERS * n + layout.FRAMES
    kp, kd, limit = F.numbers[c], F.numbers[c + 1], F.numbers[c + 2]
    rate = signal(F, signals, n, 1, 1, zero)
    rate = signal(F, signals, n, 2, 0, rate)
    force = signal(F, signals, n, 0, 0, zero) + kd * (rate - speed) + kp * lag
    return smaller(larger(force, -limit + zero), limit + zero)


@inline
def motor_force(F, n, signals, q, u, zero):
    """(force, power)"""
    lag, speed = zero, get(u, F.dof[n])
    if F.numbers[layout.NUMBERS * n + layout.FRAMES] != 0.0:
        lag = signal(F, signals, n, 1, 0, zero) - get(q, F.coordinate[n])
    force = motor_law(F, n, signals, lag, speed, zero)
    return force, force * speed


@kernel
def cut_motor(m, F, k, n, signals, wrench, zero):
    """The same at a joint that closes a loop"""
    lag, x = zero, meet_dof(m, F, k, n)
    if F.numbers[layout.NUMBERS * n + layout.FRAMES] != 0.0:
        lag = -beyond(F, n, x, signal(F, signals, n, 1, 0, zero) + zero)
    force = motor_law(F, n, signals, lag, x.speed, zero)
    push_along(F, n, x, force, wrench)
    return force, force * x.speed


@inline
def spring_force(m, F, k, n, wrench, zero):
    """Along the line between two points: (tension, length, energy, power)"""
    a, b, c = F.body[n], F.to[n], layout.NUMBERS * n + layout.FRAMES
    ra, pa = place_on(m, k, a, sp.load3(F.numbers, 12 * n + 6))
    rb, pb = place_on(m, k, b, sp.load3(F.numbers, 12 * n + 7))
    d = sp.sub3(pa, pb)
    length = math.sqrt(sp.dot3(d, d) + layout.TINY)
    axis = sp.scale3(1.0 / length, d)
    rate = sp.dot3(axis, sp.sub3(velocity_at(k, a, ra), velocity_at(k, b, rb)))
    stretch, lost = length - F.numbers[c + 2], F.numbers[c + 1] * rate
    tension = F.numbers[c] * stretch + lost
    force = sp.scale3(-tension, axis)
    none = (zero, zero, zero)
    push(wrench, a, ra, force, none)
    push(wrench, b, rb, sp.neg3(force), none)
    return tension, length, 0.5 * F.numbers[c] * stretch * stretch, -lost * rate


@inline
def times3(F, c, x):
    """Three numbers of an element times a vector, one by one"""
    return (F.numbers[c] * x[0], F.numbers[c + 1] * x[1], F.numbers[c + 2] * x[2])


@inline
def bushing_force(m, F, k, n, wrench):
    """Force and torque on the first body, in world axes, energy and power.

    With e, w of the unit quaternion of the relative rotation A, V = 1/2 (2e)' K (2e), whose torque is
    -2 (w K e + e x K e); 4 w e and 4 e e' = A + A' + (1 - tr A) 1 need no quaternion, and no branch.
    """
    a, b, c = F.body[n], F.to[n], layout.NUMBERS * n + layout.FRAMES
    ra, pa = place_on(m, k, a, sp.load3(F.numbers, 12 * n + 6))
    rb, pb = place_on(m, k, b, sp.load3(F.numbers, 12 * n + 7))
    Rb = sp.matmul(sp.load9(k.R, b), sp.load9(F.numbers, 4 * n + 1))
    A = sp.matmul(sp.transpose(Rb), sp.matmul(sp.load9(k.R, a), sp.load9(F.numbers, 4 * n)))
    gap = sp.sub3(pa, pb)
    there = sp.add3(rb, gap)  # the first body's point, seen from the second's component
    d = sp.mul33t(Rb, gap)
    rate = sp.mul33t(Rb, sp.sub3(velocity_at(k, a, ra), velocity_at(k, b, there)))
    turning = sp.mul33t(Rb, sp.sub3(sp.angular(sp.load6(k.v, a)), sp.angular(sp.load6(k.v, b))))
    Kd, Cd, Cw = times3(F, c, d), times3(F, c + 3, rate), times3(F, c + 9, turning)
    kx, ky, kz = F.numbers[c + 6], F.numbers[c + 7], F.numbers[c + 8]
    torque = (
        -0.5 * (kx * (A[7] - A[5]) + (kz - ky) * (A[5] + A[7])),
        -0.5 * (ky * (A[2] - A[6]) + (kx - kz) * (A[2] + A[6])),
        -0.5 * (kz * (A[3] - A[1]) + (ky - kx) * (A[1] + A[3])),
    )
    rest = 1.0 - (A[0] + A[4] + A[8])
    twist = kx * (2.0 * A[0] + rest) + ky * (2.0 * A[4] + rest) + kz * (2.0 * A[8] + rest)
    force, torque = sp.mul33(Rb, sp.neg3(sp.add3(Kd, Cd))), sp.mul33(Rb, sp.sub3(torque, Cw))
    push(wrench, a, ra, force, torque)
    push(wrench, b, there, sp.neg3(force), sp.neg3(torque))
    return force, torque, 0.5 * (sp.dot3(Kd, d) + twist), -sp.dot3(Cd, rate) - sp.dot3(Cw, turning)


@inline
def prescribed_wrench(m, F, k, n, signals, wrench):
    a, c = F.body[n], layout.NUMBERS * n + layout.FRAMES
    r, _ = place_on(m, k, a, sp.load3(F.numbers, 12 * n + 6))
    factor = get(signals, 1 + 3 * F.signal[3 * n])
    force = (F.numbers[c] * factor, F.numbers[c + 1] * factor, F.numbers[c + 2] * factor)
    torque = (F.numbers[c + 3] * factor, F.numbers[c + 4] * factor, F.numbers[c + 5] * factor)
    if F.numbers[c + 6] != 0.0:  # in the axes of the body
        R = sp.matmul(sp.load9(k.R, a), sp.load9(F.numbers, 4 * n))
        force, torque = sp.mul33(R, force), sp.mul33(R, torque)
    push(wrench, a, r, force, torque)
    return force, torque, sp.dot3(force, velocity_at(k, a, r)) + sp.dot3(torque, sp.angular(sp.load6(k.v, a)))


@inline
def drag_force(m, F, k, n, wrench, zero):
    a, c = F.body[n], layout.NUMBERS * n + layout.FRAMES
    r, _ = place_on(m, k, a, sp.load3(F.numbers, 12 * n + 6))
    v = velocity_at(k, a, r)
    force = sp.scale3(-(F.numbers[c] + F.numbers[c + 1] * math.sqrt(sp.dot3(v, v))), v)
    push(wrench, a, r, force, (zero, zero, zero))
    return force, sp.dot3(force, v)


@inline
def custom_force(m, F, k, n, signals, wrench, spare):
    """A user's function of time, position (3), rotation (9) and velocity (6), asked for each state on its own"""
    a = F.body[n]
    r, p = place_on(m, k, a, sp.load3(F.numbers, 12 * n + 6))
    R = sp.matmul(sp.load9(k.R, a), sp.load9(F.numbers, 4 * n))
    w, v = sp.angular(sp.load6(k.v, a)), velocity_at(k, a, r)
    sp.store9(spare, 0, R)
    sp.store3(spare, 3, p)
    sp.store6(spare, 2, sp.join(w, v))
    for j in range(18, 24):
        put(spare, j, 0.0)
    for lane in range(states_per_block(spare)):
        if ask_force(F.address[n], read_lane(signals, 0, lane), spare, lane) != 0:
            write_lane(spare, 18, lane, math.nan)
    torque, force = sp.load3(spare, 6), sp.load3(spare, 7)
    push(wrench, a, r, force, torque)
    return force, torque, sp.dot3(force, v) + sp.dot3(torque, w)


@inline
def ball_spring(F, n, q, total):
    """k times the rotation 2 e w of a spherical joint, in the child's axes: (energy)"""
    at, j, stiffness = F.coordinate[n], F.dof[n], F.numbers[layout.NUMBERS * n + layout.FRAMES]
    w = get(q, at)
    energy = 0.0 * w
    for r in range(3):
        e = get(q, at + 1 + r)
        put(total, j + r, get(total, j + r) - 2.0 * stiffness * w * e)
        energy = energy + 2.0 * stiffness * e * e
    return energy


# ---------------------------------------------------------------- all of them


@kernel
def spread_prescribed(m, F, k, signals, prescribed):
    """Set ``prescribed`` (nb, 6), the accelerations of bodies that the motions of DOF cause"""
    for n in range(6 * m.nb):
        put(prescribed, n, 0.0)
    for n in range(F.nf):
        if F.kind[n] == layout.MOTION:
            i = F.body[n]
            rate = get(signals, 3 + 3 * F.signal[3 * n])
            sp.store6(prescribed, i, sp.axpy(rate, sp.load6(k.S, F.dof[n]), sp.load6(prescribed, i)))
    for i in range(1, m.nb):
        sp.store6(prescribed, i, sp.add(sp.load6(prescribed, i), sp.load6(prescribed, m.parent[i])))


@inline
def apply_forces(m, F, k, signals, q, u, total, wrench, spare, ledger):
    """Add joint forces to ``total`` and set ``wrench`` (nb, 6), which may be empty; returns energy and power."""
    zero = get(k.v, 0)  # of ground
    energy, power = zero, zero
    for n in range(wrench.shape[0]):
        put(wrench, n, 0.0)
    for n in range(F.nj):
        j = F.passive_dof[n]
        force, e, p = passive_force(F, n, q, u, zero)
        put(total, j, get(total, j) + force)
        energy, power = energy + e, power + p
    none = (zero, zero, zero)
    for n in range(F.nf):
        kind, force, torque, e, p = F.kind[n], none, none, zero, zero
        if kind == layout.MOTOR:
            j = F.dof[n]
            x, p = motor_force(F, n, signals, q, u, zero)
            put(total, j, get(total, j) + x)
            torque = (x, zero, zero)
        elif kind == SPRING:
            x, length, e, p = spring_force(m, F, k, n, wrench, zero)
            torque = (x, length, zero)
        elif kind == BUSHING:
            force, torque, e, p = bushing_force(m, F, k, n, wrench)
        elif kind == WRENCH:
            force, torque, p = prescribed_wrench(m, F, k, n, signals, wrench)
        elif kind == DRAG:
            force, p = drag_force(m, F, k, n, wrench, zero)
        elif kind == FUNCTION:
            force, torque, p = custom_force(m, F, k, n, signals, wrench, spare)
        elif kind == layout.BALL:
            e = ball_spring(F, n, q, total)
        elif kind == layout.CUT_MOTOR:
            x, p = cut_motor(m, F, k, n, signals, wrench, zero)
            torque = (x, zero, zero)
        elif kind == layout.CUT_PASSIVE:
            x, e, p = cut_passive(m, F, k, n, wrench, zero)
            torque = (x, zero, zero)
        energy, power = energy + e, power + p
        if ledger.shape[0] > 0:
            for i in range(3):
                put(ledger, layout.ROW * n + i, torque[i])
                put(ledger, layout.ROW * n + 3 + i, force[i])
            put(ledger, layout.ROW * n + 6, e)
            put(ledger, layout.ROW * n + 7, p)
    return energy, power
