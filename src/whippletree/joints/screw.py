"""The screw joint: a rotation q about z and a displacement pitch q along it."""

from ..layout.constraints import DRIVE_TURN, TURN_AXIS
from ..layout.forces import ANGLE_Z
from .kind import ACROSS, Formulas, JointKind, Z, about, along


def kernels() -> Formulas:
    from ..algebra.rotation import column, turn_z
    from ..algebra.spatial import add3, cross, join, scale3, store6
    from ..compiler.lanes import get, inline, put
    from ..kernels.joint_columns import angle_about_z, nearest_turn, shift_origin

    @inline
    def place(m, i, q, k, R, o):
        n, pitch = m.position[i], get(m.parameter, i)
        R, axis = turn_z(R, get(k.sin, n), get(k.cos, n)), column(R, 2)
        _, o = shift_origin(m, k, i, o, scale3(pitch * get(q, n), axis))
        store6(k.S, m.dof[i], join(axis, add3(cross(o, axis), scale3(pitch, axis))))
        return R, o

    @inline
    def read(m, i, R, d, q):
        n, pitch = m.position[i], get(m.parameter, i)
        put(q, n, nearest_turn(angle_about_z(R), d[2] / pitch if pitch != 0.0 else get(q, n)))

    return Formulas(place, None, read)


SCREW = JointKind(
    "screw",
    about="rotation about the axis and, in proportion, displacement along it",
    coordinates=(("", "rad"),),
    dofs=((Z, ANGLE_Z),),
    holds=(TURN_AXIS, ACROSS),
    pose=lambda x, joint: (about(Z, x[..., 0]), along(slice(2, 3), joint.pitch * x)),
    kernels=kernels,
    parameters=("pitch",),
    drives=(DRIVE_TURN,),
    color="#56B4E9",
    operations=236,
)
