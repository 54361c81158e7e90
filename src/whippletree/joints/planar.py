"""The planar joint: displacements along x and y of the parent, then a rotation about z."""

from ..layout.constraints import SHIFT_Z, TURN_AXIS
from ..layout.forces import ANGLE_Z, SHIFT, WAY
from .kind import CARRIED, Formulas, JointKind, X, Y, Z, about, along


def kernels() -> Formulas:
    from ..algebra.rotation import column, turn_z
    from ..algebra.spatial import add3, mul33t, neg3, scale3
    from ..compiler.lanes import get, inline, put
    from ..kernels.joint_columns import (
        angle_about_z,
        carried_axis,
        nearest_turn,
        put_shift,
        put_turn,
        shift_origin,
    )

    @inline
    def place(m, i, q, k, R, o):
        n, j, sign = m.position[i], m.dof[i], m.sign[i]
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
        return R, o

    @inline
    def read(m, i, R, d, q):
        n, sign = m.position[i], m.sign[i]
        shift = d if sign > 0.0 else neg3(mul33t(R, d))
        put(q, n, shift[0])
        put(q, n + 1, shift[1])
        put(q, n + 2, nearest_turn(sign * angle_about_z(R), get(q, n + 2)))

    return Formulas(place, carried_axis, read)


PLANAR = JointKind(
    "planar",
    about="two displacements in the plane across the axis and rotation about it",
    coordinates=(("x", "m"), ("y", "m"), ("angle", "rad")),
    dofs=((X + SHIFT, WAY), (Y + SHIFT, WAY), (Z, ANGLE_Z)),
    holds=(TURN_AXIS, SHIFT_Z),
    pose=lambda x, joint: (about(Z, x[..., 2]), along(slice(2), x[..., :2])),
    kernels=kernels,
    group=CARRIED,
    picture="none",
    color="#A08A00",
    operations=321,
)
