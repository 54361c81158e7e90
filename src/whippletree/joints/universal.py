"""The universal (Cardan, Hooke) joint: a rotation about x, fixed in the parent, then about y, fixed in the child."""

from ..layout.constraints import TURN_CROSS
from ..layout.forces import ANGLE_X, ANGLE_Y, ON_CHILD
from .kind import ALL, CARRIED, Formulas, JointKind, X, Y, about, nowhere


def kernels() -> Formulas:
    from ..algebra.rotation import column, turn_x, turn_y
    from ..algebra.spatial import transpose
    from ..algebra.trig import arctangent
    from ..compiler.lanes import get, inline, put
    from ..kernels.joint_columns import carried_axis, nearest_turn, put_turn

    @inline
    def place(m, i, q, k, R, o):
        n, j, before = m.position[i], m.dof[i], R
        s0, c0 = get(k.sin, n), get(k.cos, n)
        s1, c1 = get(k.sin, n + 1), get(k.cos, n + 1)
        if m.sign[i] > 0.0:
            R = turn_y(turn_x(R, s0, c0), s1, c1)
            put_turn(k.S, j, 1.0, column(before, 0), o)
            put_turn(k.S, j + 1, 1.0, column(R, 1), o)
        else:
            R = turn_x(turn_y(R, -s1, c1), -s0, c0)
            put_turn(k.S, j, -1.0, column(R, 0), o)
            put_turn(k.S, j + 1, -1.0, column(before, 1), o)
        return R, o

    @inline
    def read(m, i, R, d, q):
        n = m.position[i]
        Q = R if m.sign[i] > 0.0 else transpose(R)
        put(q, n, nearest_turn(arctangent(Q[7], Q[4]), get(q, n)))
        put(q, n + 1, nearest_turn(arctangent(Q[2], Q[0]), get(q, n + 1)))

    return Formulas(place, carried_axis, read)


UNIVERSAL = JointKind(
    "universal",
    about="rotation about `axis`, fixed in the parent, then about `axis2`, fixed in the child",
    coordinates=(("angle1", "rad"), ("angle2", "rad")),
    dofs=((X, ANGLE_X), (Y + ON_CHILD, ANGLE_Y)),
    holds=(TURN_CROSS, ALL),
    pose=lambda x, joint: (about(X, x[..., 0]) @ about(Y, x[..., 1]), nowhere(x)),
    kernels=kernels,
    group=CARRIED,
    axes=2,
    picture="ball",
    color="#CC79A7",
    operations=323,
)
