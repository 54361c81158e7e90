"""The prismatic joint: a displacement q along z."""

import numpy as np

from ..layout.constraints import DRIVE_SHIFT, TURN_ALL
from ..layout.forces import SHIFT, WAY
from .kind import ACROSS, Formulas, JointKind, Z, along


def kernels() -> Formulas:
    from ..algebra.rotation import column
    from ..algebra.spatial import scale3
    from ..compiler.lanes import get, inline, put
    from ..kernels.joint_columns import put_shift, shift_origin

    @inline
    def place(m, i, q, k, R, o):
        axis = column(R, 2)
        _, o = shift_origin(m, k, i, o, scale3(get(q, m.position[i]), axis))
        put_shift(k.S, m.dof[i], 1.0, axis)
        return R, o

    @inline
    def read(m, i, R, d, q):
        put(q, m.position[i], d[2])

    return Formulas(place, None, read)


PRISMATIC = JointKind(
    "prismatic",
    about="displacement along the axis",
    coordinates=(("", "m"),),
    dofs=((Z + SHIFT, WAY),),
    holds=(TURN_ALL, ACROSS),
    pose=lambda x, joint: (np.eye(3), along(slice(2, 3), x)),
    kernels=kernels,
    drives=(DRIVE_SHIFT,),
    picture="slide",
    color="#009E73",
    operations=205,
)
