"""The free joint: all six motions. q: displacement in the parent's axes, then a quaternion; u: in the child's axes."""

from ..layout.constraints import TURN_NONE
from ..layout.forces import ON_CHILD, SHIFT, UNMEASURED
from .kind import QUATERNION, Formulas, JointKind, matrices
from .spherical import QUATERNION_LABELS, TURN_LABELS


def kernels() -> Formulas:
    from ..algebra.rotation import quaternion
    from ..algebra.spatial import matmul, mul33, mul33t, neg3, transpose
    from ..compiler.lanes import get, inline, put
    from ..kernels.joint_columns import put_quaternion, put_shift, put_turn, quaternion_matrix, shift_origin

    @inline
    def place(m, i, q, k, R, o):
        n, j, sign = m.position[i], m.dof[i], m.sign[i]
        Q, d = quaternion_matrix(k, q, n + 3), (get(q, n), get(q, n + 1), get(q, n + 2))
        axes = R
        if sign > 0.0:
            d = mul33(R, d)
            R = matmul(R, Q)
            _, o = shift_origin(m, k, i, o, d)
            axes, centre = R, o
        else:
            R = matmul(R, transpose(Q))
            centre, o = shift_origin(m, k, i, o, neg3(mul33(R, d)))
        for n in range(3):
            axis = (axes[0], axes[3], axes[6])
            put_turn(k.S, j + n, sign, axis, centre)
            put_shift(k.S, j + 3 + n, sign, axis)
            axes = (axes[1], axes[2], axes[0], axes[4], axes[5], axes[3], axes[7], axes[8], axes[6])
        return R, o

    @inline
    def read(m, i, R, d, q):
        n = m.position[i]
        shift = d if m.sign[i] > 0.0 else neg3(mul33t(R, d))
        for a in range(3):
            put(q, n + a, shift[a])
        put_quaternion(q, n + 3, quaternion(R if m.sign[i] > 0.0 else transpose(R)))

    return Formulas(place, None, read)


FREE = JointKind(
    "free",
    about="all six motions: a floating body",
    coordinates=(("x", "m"), ("y", "m"), ("z", "m"), *QUATERNION_LABELS),
    velocities=(*TURN_LABELS, ("vx", "m/s"), ("vy", "m/s"), ("vz", "m/s")),
    dofs=tuple((n + ON_CHILD + kind, UNMEASURED) for kind in (0, SHIFT) for n in range(3)),
    holds=(TURN_NONE, 0),
    pose=lambda x, joint: (matrices(x[..., 3:]), x[..., :3]),
    kernels=kernels,
    group=QUATERNION,
    axes=0,
    spring="none",
    picture="none",
    color="#999999",
    operations=426,
)
