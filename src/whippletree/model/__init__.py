"""The Model and its parts: what the user wrote."""

from .forces import FORCE_KINDS, Bushing, Custom, Drag, Force, Motion, Motor, Spring, Wrench
from .functions import FUNCTION_KINDS, Function, Ramp, Sine, Step, Table
from .model import Model, pose
from .parts import GROUND, JOINT_KINDS, Body, Coupling, Frame, Joint, Limits, Visual
from .pose import Pose

__all__ = [
    "FORCE_KINDS", "FUNCTION_KINDS", "GROUND", "JOINT_KINDS", "Body", "Bushing", "Coupling", "Custom", "Drag", "Force",
    "Frame", "Function", "Joint", "Limits", "Model", "Motion", "Motor", "Pose", "Ramp", "Sine", "Spring", "Step",
    "Table", "Visual", "Wrench", "pose",
]  # fmt: skip
