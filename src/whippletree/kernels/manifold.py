"""Configurations move on a manifold: q' = N(q) u, and q carried along a constant u."""

import math

from ..algebra.rotation import matrix, normalize, quaternion_product
from ..algebra.spatial import add3, axpy3, cross, mul33, scale3
from ..algebra.trig import sincos
from ..compiler.lanes import get, inline, kernel, put
from .joint_columns import load_quaternion
from .joints import quaternion_at

SMALL = 1e-60  # keeps the angle off zero; far below rounding for any angle that matters


@inline
def load_turn(step, j):
    return (get(step, j), get(step, j + 1), get(step, j + 2))


@inline
def put_all(a, n, x):
    for i in range(len(x)):
        put(a, n + i, x[i])


@inline
def exponential(w):
    """Quaternion of the rotation vector w, and sin(|w|/2) / |w| and |w|"""
    angle = math.sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2] + SMALL)
    s, c = sincos(0.5 * angle)
    f = s / angle
    return (c, f * w[0], f * w[1], f * w[2]), f, angle


@inline
def screw_shift(w, v, f, angle):
    """V(w) v: where the translation of a body goes that turns by w while it moves by v, in body axes"""
    a = 2.0 * f * f  # (1 - cos) / angle^2
    s, _ = sincos(angle)
    b = (angle - s) / (angle * angle * angle)
    wv = cross(w, v)
    return axpy3(b, cross(w, wv), axpy3(a, wv, v))


@kernel
def advance(m, q, step, out):
    """out: q moved by the displacement step (nu), each joint along its own axes. out may be q."""
    for i in range(1, m.nb):
        at, n, j = quaternion_at(m, i), m.position[i], m.dof[i]
        if at < 0:
            for l in range(m.dof[i + 1] - j):
                put(out, n + l, get(q, n + l) + get(step, j + l))
            continue
        w, a = load_turn(step, j), load_quaternion(q, at)
        turn, f, angle = exponential(w)
        if at > n:  # a displacement in the parent's axes stands before it
            shift = mul33(matrix(a[0], a[1], a[2], a[3]), screw_shift(w, load_turn(step, j + 3), f, angle))
            put_all(out, n, add3((get(q, n), get(q, n + 1), get(q, n + 2)), shift))
        put_all(out, at, normalize(quaternion_product(a, turn)))


@inline
def coordinate_rates(m, q, u, out):
    """out = N(q) u"""
    for i in range(1, m.nb):
        at, n, j = quaternion_at(m, i), m.position[i], m.dof[i]
        if at < 0:
            for l in range(m.dof[i + 1] - j):
                put(out, n + l, get(u, j + l))
            continue
        w, a = scale3(0.5, load_turn(u, j)), load_quaternion(q, at)
        if at > n:
            put_all(out, n, mul33(matrix(a[0], a[1], a[2], a[3]), load_turn(u, j + 3)))
        put_all(out, at, quaternion_product(a, (0.0 * w[0], w[0], w[1], w[2])))
