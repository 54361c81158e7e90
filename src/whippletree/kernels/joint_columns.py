"""What the formulas of joint kinds are made of: columns of S, displaced origins, coordinates read back from frames.

In the joint's frame the axis is z. ``R, o`` is a frame about the component's point; ``sign`` is -1 where the user's
child is the tree parent: the relative pose is then inverted and S negated.
"""

import math

from ..algebra import spatial as sp
from ..algebra.compare import larger, smaller
from ..algebra.rotation import matrix
from ..algebra.trig import arctangent
from ..compiler.lanes import get, inline, put

LOST = 1e30  # a loss that no limit allows
SHORT = 0.25  # a column of S: a rounding of unit terms is four of its u'


@inline
def put_turn(S, j, sign, axis, o):
    """Column of a rotation about an axis through o"""
    sp.store6(S, j, sp.scale(sign, sp.join(axis, sp.cross(o, axis))))


@inline
def put_shift(S, j, sign, axis):
    """Column of a translation along an axis"""
    for n in range(3):
        put(S, 6 * j + n, 0.0)
    sp.store3(S, 2 * j + 1, sp.scale3(sign, axis))


@inline
def note_length(k, length):
    """LOST among the defects if a column of S is SHORT"""
    zero = 0.0 * length
    lost = smaller(zero + LOST, 1e200 * larger(zero, SHORT * SHORT - length * length))
    put(k.defect, 2, larger(get(k.defect, 2), lost))


@inline
def shift_origin(m, k, i, o, d):
    """(o, o + d): origins before and after a displacement. A first body's own origin is the component's point."""
    if m.parent[i] == 0:
        sp.store3(k.point, m.component[i], sp.add3(d, sp.load3(m.base, m.component[i])))
        o = sp.sub3(o, d)
    return o, sp.add3(o, d)


@inline
def carried_axis(m, i, q, u, k):
    """The bias where the last DOF's axis is carried by the DOF before it: (S_1 u_1 + ...) x S_n u_n"""
    j, n = m.dof[i], m.dof[i + 1] - 1
    motion = sp.scale(get(u, j), sp.load6(k.S, j))
    for l in range(j + 1, n + 1):
        motion = sp.axpy(get(u, l), sp.load6(k.S, l), motion)
    return sp.scale(m.sign[i], sp.cross_motion(motion, sp.scale(get(u, n), sp.load6(k.S, n))))


@inline
def load_quaternion(q, n):
    return (get(q, n), get(q, n + 1), get(q, n + 2), get(q, n + 3))


@inline
def quaternion_matrix(k, q, n):
    """The rotation of the quaternion at n; how far its length is from 1 is added to the defect"""
    w, x, y, z = load_quaternion(q, n)
    excess = w * w + x * x + y * y + z * z - 1.0
    put(k.defect, 0, get(k.defect, 0) + excess * excess)
    return matrix(w, x, y, z)


# ---------------------------------------------------------------- coordinates, from the frames


@inline
def angle_about_z(R):
    return arctangent(R[3] - R[1], R[0] + R[4])


@inline
def nearest_turn(angle, before):
    """The angle, to within whole turns, that is nearest to another"""
    return angle + 2.0 * math.pi * math.floor((before - angle) / (2.0 * math.pi) + 0.5)


@inline
def put_quaternion(q, n, a):
    """The one of the two that is nearer to what is there"""
    b = load_quaternion(q, n)
    sign = -1.0 if a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] < 0.0 else 1.0
    for i in range(4):
        put(q, n + i, sign * a[i])
