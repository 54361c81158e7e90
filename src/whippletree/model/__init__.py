"""The Model and its parts: what the user wrote."""

from . import constraints, forces
from .constraints import *  # noqa: F403
from .forces import *  # noqa: F403
from .functions import FUNCTION_KINDS, Function, Ramp, Sine, Step, Table
from .model import Model, pose
from .parts import GROUND, JOINT_KINDS, TREES, Body, Coupling, Flexible, Frame, Joint, Limits, Visual
from .pose import Pose
from .temporary import Temporary

__all__ = [
    "FUNCTION_KINDS", "GROUND", "JOINT_KINDS", "TREES", "Body", "Coupling", "Flexible", "Frame", "Function", "Joint",
    "Limits", "Model", "Pose", "Ramp", "Sine", "Step", "Table", "Temporary", "Visual", "pose",
]  # fmt: skip
__all__ += constraints.__all__
__all__ += forces.__all__
