"""A DOF of a joint that closes a loop: the state has no rows for it, so all follows from the joint's two bodies.

With A the frame on the joint's parent and B the one on its child, Q are the axes of B in A. Angles are known to within
a turn: they are measured from a given one, half a turn to either side. That of a screw follows from its displacement.
"""

import math
from typing import Any, NamedTuple

from ..algebra import spatial as sp
from ..algebra.places import place_on, push, velocity_at
from ..algebra.rotation import column
from ..algebra.trig import arctangent, sincos
from ..compiler.lanes import inline, kernel
from ..layout.forces import ANGLE_X, ANGLE_Y, BEND_X, BEND_Y, NUMBERS, ON_CHILD, SCALE, SHIFT, WAY


class Dof(NamedTuple):
    """In world axes."""

    axis: Any  # (3)
    speed: Any  # of the child against the parent
    sine: Any  # of the angle, times a length that the cosine has too
    cosine: Any
    way: Any  # along the axis
    there: Any  # (3)   B's point, from the point of A's component
    rb: Any  # (3)      the same, from the point of B's component


@inline
def axis_of(R, n):
    return column(R, 0) if n == 0 else (column(R, 1) if n == 1 else column(R, 2))


@kernel
def meet_dof(m, F, k, n):
    """The DOF of element n"""
    a, b, code = F.body[n], F.to[n], F.dof[n]
    ra, pa = place_on(m, k, a, sp.load3(F.numbers, NUMBERS // 3 * n + 6))
    rb, pb = place_on(m, k, b, sp.load3(F.numbers, NUMBERS // 3 * n + 7))
    A = sp.matmul(sp.load9(k.R, a), sp.load9(F.numbers, NUMBERS // 9 * n))
    B = sp.matmul(sp.load9(k.R, b), sp.load9(F.numbers, NUMBERS // 9 * n + 1))
    gap = sp.sub3(pb, pa)
    there = sp.add3(ra, gap)
    axis = axis_of(B, code % 3) if code % SHIFT >= ON_CHILD else axis_of(A, code % 3)
    if code < SHIFT:
        motion = sp.sub3(sp.angular(sp.load6(k.v, b)), sp.angular(sp.load6(k.v, a)))
    else:
        motion = sp.sub3(velocity_at(k, b, rb), velocity_at(k, a, there))
    Q = sp.matmul(sp.transpose(A), B)
    sine, cosine = Q[3] - Q[1], Q[0] + Q[4]
    if F.coordinate[n] == ANGLE_X:
        sine, cosine = Q[7], Q[4]
    elif F.coordinate[n] == ANGLE_Y:
        sine, cosine = Q[2], Q[0]
    elif F.coordinate[n] == BEND_X or F.coordinate[n] == BEND_Y:
        w, x, y = 1.0 + Q[0] + Q[4] + Q[8], Q[7] - Q[5], Q[2] - Q[6]  # of a quaternion without a part along z
        h = math.sqrt(w * w + x * x)
        if F.coordinate[n] == BEND_X:  # half about x of A, half about x of B
            axis = sp.scale3(1.0 / (1.0 + Q[0]), sp.add3(column(A, 0), column(B, 0)))
            sine, cosine = 2.0 * w * x, w * w - x * x
        else:
            axis = sp.scale3(1.0 / h, sp.add3(sp.scale3(w, column(A, 1)), sp.scale3(x, column(A, 2))))
            sine, cosine = 2.0 * h * y, h * h - y * y
    return Dof(axis, sp.dot3(axis, motion), sine, cosine, sp.dot3(axis, gap), there, rb)


@inline
def beyond(F, n, x, value):
    """How far the coordinate is past a value; that of an angle is at most half a turn"""
    if F.coordinate[n] == WAY:
        return x.way / F.numbers[NUMBERS * n + SCALE] - value
    s, c = sincos(value)
    return arctangent(x.sine * c - x.cosine * s, x.cosine * c + x.sine * s)


@inline
def push_along(F, n, x, force, wrench):
    """A torque about the axis, or a force along it, on the child, and its opposite on the parent"""
    along = sp.scale3(force, x.axis)
    none = sp.scale3(0.0, along)
    pull, twist = (none, along) if F.dof[n] < SHIFT else (along, none)
    push(wrench, F.to[n], x.rb, pull, twist)
    push(wrench, F.body[n], x.there, sp.neg3(pull), sp.neg3(twist))
