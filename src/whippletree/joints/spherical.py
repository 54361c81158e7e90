"""The spherical (ball) joint: any rotation, by a unit quaternion; its velocities are in the child's axes."""

from ..layout.constraints import TURN_NONE
from ..layout.forces import ON_CHILD, UNMEASURED
from .kind import ALL, QUATERNION, Formulas, JointKind, matrices, nowhere

QUATERNION_LABELS = tuple((label, "1") for label in ("qw", "qx", "qy", "qz"))
TURN_LABELS = tuple((label, "rad/s") for label in ("wx", "wy", "wz"))


def kernels() -> Formulas:
    from ..algebra.rotation import quaternion
    from ..algebra.spatial import matmul, transpose
    from ..compiler.lanes import inline
    from ..kernels.joint_columns import put_quaternion, put_turn, quaternion_matrix

    @inline
    def place(m, i, q, k, R, o):
        Q, sign = quaternion_matrix(k, q, m.position[i]), m.sign[i]
        axes = R
        if sign > 0.0:
            R = matmul(R, Q)
            axes = R
        else:
            R = matmul(R, transpose(Q))
        for n in range(3):
            put_turn(k.S, m.dof[i] + n, sign, (axes[0], axes[3], axes[6]), o)
            axes = (axes[1], axes[2], axes[0], axes[4], axes[5], axes[3], axes[7], axes[8], axes[6])
        return R, o

    @inline
    def read(m, i, R, d, q):
        put_quaternion(q, m.position[i], quaternion(R if m.sign[i] > 0.0 else transpose(R)))

    return Formulas(place, None, read)


SPHERICAL = JointKind(
    "spherical",
    about="any rotation about a point",
    coordinates=QUATERNION_LABELS,
    velocities=TURN_LABELS,
    dofs=tuple((n + ON_CHILD, UNMEASURED) for n in range(3)),
    holds=(TURN_NONE, ALL),
    pose=lambda x, joint: (matrices(x), nowhere(x)),
    kernels=kernels,
    group=QUATERNION,
    axes=0,
    spring="whole",
    picture="ball",
    color="#D55E00",
    operations=381,
)
