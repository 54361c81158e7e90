"""The cylindrical joint: a rotation about z and a displacement along it."""

from ..layout.constraints import DRIVE_SHIFT, DRIVE_TURN, TURN_AXIS
from ..layout.forces import ANGLE_Z, SHIFT, WAY
from .kind import ACROSS, Formulas, JointKind, Z, about, along


def kernels() -> Formulas:
    from ..algebra.rotation import column, turn_z
    from ..algebra.spatial import scale3
    from ..compiler.lanes import get, inline, put
    from ..kernels.joint_columns import angle_about_z, nearest_turn, put_shift, put_turn, shift_origin

    @inline
    def place(m, i, q, k, R, o):
        n, j = m.position[i], m.dof[i]
        R, axis = turn_z(R, get(k.sin, n), get(k.cos, n)), column(R, 2)
        _, o = shift_origin(m, k, i, o, scale3(get(q, n + 1), axis))
        put_turn(k.S, j, 1.0, axis, o)
        put_shift(k.S, j + 1, 1.0, axis)
        return R, o

    @inline
    def read(m, i, R, d, q):
        n = m.position[i]
        put(q, n, nearest_turn(angle_about_z(R), get(q, n)))
        put(q, n + 1, d[2])

    return Formulas(place, None, read)


CYLINDRICAL = JointKind(
    "cylindrical",
    about="rotation about the axis and displacement along it",
    coordinates=(("angle", "rad"), ("displacement", "m")),
    dofs=((Z, ANGLE_Z), (Z + SHIFT, WAY)),
    holds=(TURN_AXIS, ACROSS),
    pose=lambda x, joint: (about(Z, x[..., 0]), along(slice(2, 3), x[..., 1:])),
    kernels=kernels,
    drives=(DRIVE_TURN, DRIVE_SHIFT),
    color="#E69F00",
    operations=251,
)
