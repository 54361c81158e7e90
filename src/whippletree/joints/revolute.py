"""The revolute joint: a rotation q about z."""

from ..layout.constraints import DRIVE_TURN, TURN_AXIS
from ..layout.forces import ANGLE_Z
from .kind import ALL, Formulas, JointKind, Z, about, nowhere


def kernels() -> Formulas:
    from ..algebra.rotation import column, turn_z
    from ..compiler.lanes import get, inline, put
    from ..kernels.joint_columns import angle_about_z, nearest_turn, put_turn

    @inline
    def place(m, i, q, k, R, o):
        R = turn_z(R, get(k.sin, m.position[i]), get(k.cos, m.position[i]))
        put_turn(k.S, m.dof[i], 1.0, column(R, 2), o)
        return R, o

    @inline
    def read(m, i, R, d, q):
        put(q, m.position[i], nearest_turn(angle_about_z(R), get(q, m.position[i])))

    return Formulas(place, None, read)


REVOLUTE = JointKind(
    "revolute",
    about="rotation about the axis",
    coordinates=(("", "rad"),),
    dofs=((Z, ANGLE_Z),),
    holds=(TURN_AXIS, ALL),
    pose=lambda x, joint: (about(Z, x[..., 0]), nowhere(x)),
    kernels=kernels,
    drives=(DRIVE_TURN,),
    color="#0072B2",
    operations=229,
)
