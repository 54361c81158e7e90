"""The homokinetic (constant-velocity) joint: two shafts that bend about a point and do not twist against each other.

With z the shaft in both frames, Q = Rx(q1/2) Ry(q2) Rx(q1/2): a double Cardan joint whose middle part halves the bend.
Its quaternion (cos q1/2 cos q2/2, sin q1/2 cos q2/2, sin q2/2, 0) has no part along z. Hence the relative angular
velocity S u is in the plane that bisects the shafts, w . (z_A + z_B) = 0, and shafts that spin in fixed bearings spin
at equal velocities at any bend: w_A . (z_A + z_B) = w_B . (z_A + z_B). The bend b has cos b/2 = cos q1/2 cos q2/2.

S = [(x_A + x_B) / 2, y'] with y' = Rx(q1/2) y; both are at right angles. At q2 = pi, folded back, S is singular.
"""

import numpy as np

from ..layout.constraints import TURN_TWIST
from ..layout.forces import BEND_X, BEND_Y
from .kind import ALL, CARRIED, Formulas, JointKind, Pose, X, Y, about, nowhere


def kernels() -> Formulas:
    import math

    from ..algebra import spatial as sp
    from ..algebra.rotation import column, turn_x, turn_y
    from ..algebra.trig import arctangent, sincos
    from ..compiler.lanes import get, inline, put
    from ..kernels.joint_columns import nearest_turn, note_length, put_turn

    @inline
    def place(m, i, q, k, R, o):
        n, j, sign = m.position[i], m.dof[i], m.sign[i]
        s, c = sincos(0.5 * sign * get(q, n))
        half = turn_x(R, s, c)
        sy, cy = sincos(0.5 * sign * get(q, n + 1))  # (x_A + x_B) / 2 = cos q2/2 (x' cos q2/2 - z' sin q2/2): folded
        first = sp.axpy3(-sy, column(half, 2), sp.scale3(cy, column(half, 0)))  # back, a sum would be rounding alone
        R = turn_x(turn_y(half, 2.0 * sy * cy, cy * cy - sy * sy), s, c)  # Q inverted is Q at -q
        put_turn(k.S, j, sign, sp.scale3(cy, first), o)
        note_length(k, cy)
        put_turn(k.S, j + 1, sign, column(half, 1), o)
        return R, o

    @inline
    def bias(m, i, q, u, k):
        """In the parent's frame A: x_B' = w x x_B, y'' = u1/2 x_A x y'"""
        j, sign = m.dof[i], m.sign[i]
        u1, u2 = get(u, j), get(u, j + 1)
        e, y = sp.scale3(sign, sp.angular(sp.load6(k.S, j))), sp.scale3(sign, sp.angular(sp.load6(k.S, j + 1)))
        own = column(sp.load9(k.R, i), 0)
        other = sp.sub3(sp.scale3(2.0, e), own)
        xA, xB = (other, own) if sign > 0.0 else (own, other)
        w = sp.add3(sp.scale3(u1, e), sp.scale3(u2, y))
        t = sp.scale3(0.5 * sign * u1, sp.axpy3(u2, sp.cross(xA, y), sp.cross(w, xB)))
        return sp.join(t, sp.cross(sp.load3(k.o, i), t))

    @inline
    def read(m, i, R, d, q):
        n = m.position[i]
        Q = R if m.sign[i] > 0.0 else sp.transpose(R)
        w, x, y = 1.0 + Q[0] + Q[4] + Q[8], Q[7] - Q[5], Q[2] - Q[6]
        first, second = 2.0 * arctangent(x, w), 2.0 * arctangent(y, math.sqrt(w * w + x * x))
        turns = math.floor((get(q, n) - first) / (2.0 * math.pi) + 0.5)
        if turns - 2.0 * math.floor(0.5 * turns) != 0.0:  # (q1 + 2 pi, -q2) is the same rotation
            second = -second
        put(q, n, first + 2.0 * math.pi * turns)
        put(q, n + 1, nearest_turn(second, get(q, n + 1)))

    return Formulas(place, bias, read)


def pose(x: np.ndarray, joint: object) -> Pose:
    half = about(X, 0.5 * x[..., 0])
    return half @ about(Y, x[..., 1]) @ half, nowhere(x)


def axes_of(A: np.ndarray, B: np.ndarray) -> list[np.ndarray]:
    """The columns of S over their squares."""
    Q = np.swapaxes(A, -1, -2) @ B
    first = (A[..., :, 0] + B[..., :, 0]) / (1.0 + Q[..., 0, 0])[..., None]
    w, x = 1.0 + np.trace(Q, axis1=-2, axis2=-1), Q[..., 2, 1] - Q[..., 1, 2]
    second = (A[..., :, 1] * w[..., None] + A[..., :, 2] * x[..., None]) / np.hypot(w, x)[..., None]
    return [first, second]


HOMOKINETIC = JointKind(
    "homokinetic",
    about="bending in two directions across the shaft `axis`, without twist: a constant-velocity joint",
    coordinates=(("bend1", "rad"), ("bend2", "rad")),
    dofs=((X, BEND_X), (Y, BEND_Y)),
    holds=(TURN_TWIST, ALL),
    pose=pose,
    kernels=kernels,
    group=CARRIED,
    picture="ball",
    color="#117733",
    operations=420,
    axes_of=axes_of,
)
