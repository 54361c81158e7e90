"""One formula per joint kind: the child's frame, and the columns S of its freedoms.

In the joint's frame the axis is z (universal: x, then y). ``R, o`` come in as the frame on the
tree parent and go out as the frame on the tree child, which is the child's own frame. Where the
user wrote the joint the other way round (``sign`` = -1), the relative pose is inverted and S is
negated. Revolute, prismatic, screw and cylindrical joints are turned round at compile time.
"""

from ..algebra.rotation import column, matrix, turn_x, turn_y, turn_z
from ..algebra.spatial import (
    add3,
    cross,
    join,
    load3,
    matmul,
    mul33,
    neg3,
    scale,
    scale3,
    store3,
    store6,
    sub3,
    transpose,
)
from ..compiler.lanes import get, inline, kernel, put
from ..layout.system import KIND

REVOLUTE, PRISMATIC, SCREW, CYLINDRICAL = KIND["revolute"], KIND["prismatic"], KIND["screw"], KIND["cylindrical"]
UNIVERSAL, PLANAR, SPHERICAL, FREE = KIND["universal"], KIND["planar"], KIND["spherical"], KIND["free"]


@inline
def put_turn(S, j, sign, axis, o):
    """Column of a rotation about an axis through o"""
    store6(S, j, scale(sign, join(axis, cross(o, axis))))


@inline
def put_shift(S, j, sign, axis):
    """Column of a translation along an axis"""
    for n in range(3):
        put(S, 6 * j + n, 0.0)
    store3(S, 2 * j + 1, scale3(sign, axis))


@inline
def shift_origin(m, k, i, o, d):
    """(o, o + d): origins before and after a displacement. A first body's own origin is the component's point."""
    if m.parent[i] == 0:
        store3(k.point, m.component[i], add3(d, load3(m.base, m.component[i])))
        o = sub3(o, d)
    return o, add3(o, d)


@inline
def load_quaternion(q, n):
    return (get(q, n), get(q, n + 1), get(q, n + 2), get(q, n + 3))


@kernel
def place_other(m, q, k, i, R, o):
    """Frame and columns of every kind but revolute"""
    kind, n, j, sign = m.kind[i], m.position[i], m.dof[i], m.sign[i]
    if kind == PRISMATIC:
        axis = column(R, 2)
        _, o = shift_origin(m, k, i, o, scale3(get(q, n), axis))
        put_shift(k.S, j, 1.0, axis)
    elif kind == SCREW:
        s, c = get(k.sin, n), get(k.cos, n)
        R, axis = turn_z(R, s, c), column(R, 2)
        _, o = shift_origin(m, k, i, o, scale3(get(m.pitch, i) * get(q, n), axis))
        store6(k.S, j, join(axis, add3(cross(o, axis), scale3(get(m.pitch, i), axis))))
    elif kind == CYLINDRICAL:
        s, c = get(k.sin, n), get(k.cos, n)
        R, axis = turn_z(R, s, c), column(R, 2)
        _, o = shift_origin(m, k, i, o, scale3(get(q, n + 1), axis))
        put_turn(k.S, j, 1.0, axis, o)
        put_shift(k.S, j + 1, 1.0, axis)
    elif kind == UNIVERSAL:
        s0, c0 = get(k.sin, n), get(k.cos, n)
        s1, c1 = get(k.sin, n + 1), get(k.cos, n + 1)
        if sign > 0.0:
            before = R
            R = turn_y(turn_x(R, s0, c0), s1, c1)
            put_turn(k.S, j, 1.0, column(before, 0), o)
            put_turn(k.S, j + 1, 1.0, column(R, 1), o)
        else:
            before = R
            R = turn_x(turn_y(R, -s1, c1), -s0, c0)
            put_turn(k.S, j, -1.0, column(R, 0), o)
            put_turn(k.S, j + 1, -1.0, column(before, 1), o)
    elif kind == PLANAR:
        s, c = get(k.sin, n + 2), get(k.cos, n + 2)
        if sign > 0.0:
            x, y, z = column(R, 0), column(R, 1), column(R, 2)
            R = turn_z(R, s, c)
            _, o = shift_origin(m, k, i, o, add3(scale3(get(q, n), x), scale3(get(q, n + 1), y)))
            put_turn(k.S, j + 2, 1.0, z, o)
        else:
            R = turn_z(R, -s, c)
            x, y, z = column(R, 0), column(R, 1), column(R, 2)
            inboard, o = shift_origin(m, k, i, o, neg3(add3(scale3(get(q, n), x), scale3(get(q, n + 1), y))))
            put_turn(k.S, j + 2, -1.0, z, inboard)
        put_shift(k.S, j, sign, x)
        put_shift(k.S, j + 1, sign, y)
    else:
        free = 3 * (kind - SPHERICAL)
        w, x, y, z = load_quaternion(q, n + free)
        Q = matrix(w, x, y, z)
        excess = w * w + x * x + y * y + z * z - 1.0
        put(k.defect, 0, get(k.defect, 0) + excess * excess)
        axes, centre = R, o
        if sign > 0.0:
            d = mul33(R, load_shift(q, n, kind, o))
            R = matmul(R, Q)
            _, o = shift_origin(m, k, i, o, d)
            axes, centre = R, o
        else:
            R = matmul(R, transpose(Q))
            centre, o = shift_origin(m, k, i, o, neg3(mul33(R, load_shift(q, n, kind, o))))
        for n in range(3):
            axis = (axes[0], axes[3], axes[6])
            put_turn(k.S, j + n, sign, axis, centre)
            if kind == FREE:
                put_shift(k.S, j + 3 + n, sign, axis)
            axes = (axes[1], axes[2], axes[0], axes[4], axes[5], axes[3], axes[7], axes[8], axes[6])
    return R, o


@inline
def load_shift(q, n, kind, zero):
    """The displacement of a free joint; a spherical one has none"""
    if kind == FREE:
        return (get(q, n), get(q, n + 1), get(q, n + 2))
    return scale3(0.0, zero)
