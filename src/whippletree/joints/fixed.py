"""The fixed joint: a weld. It never is a joint of the tree; where it closes a loop it holds all six motions."""

import numpy as np

from ..layout.constraints import TURN_ALL
from .kind import ALL, JointKind, nowhere

FIXED = JointKind(
    "fixed",
    about="nothing: a weld",
    coordinates=(),
    dofs=(),
    holds=(TURN_ALL, ALL),
    pose=lambda x, joint: (np.eye(3), nowhere(x)),
    kernels=None,
    axes=0,
    picture="none",
)
