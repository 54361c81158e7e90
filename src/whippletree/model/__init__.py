"""The Model and its parts: what the user wrote."""

from .constraints import (
    CONSTRAINT_KINDS,
    Constraint,
    Distance,
    Gear,
    KnifeEdge,
    Latch,
    PointOnLine,
    PointOnPlane,
    Rack,
    Relative,
    Roll,
    Speed,
)
from .forces import FORCE_KINDS, Bushing, Custom, Drag, Force, Motion, Motor, Spring, Wrench
from .functions import FUNCTION_KINDS, Function, Ramp, Sine, Step, Table
from .model import Model, pose
from .parts import GROUND, JOINT_KINDS, TREES, Body, Coupling, Flexible, Frame, Joint, Limits, Visual
from .pose import Pose
from .temporary import Temporary

__all__ = [
    "CONSTRAINT_KINDS", "FORCE_KINDS", "FUNCTION_KINDS", "GROUND", "JOINT_KINDS", "TREES", "Body", "Bushing",
    "Constraint", "Coupling", "Custom", "Distance", "Drag", "Flexible", "Force", "Frame", "Function", "Gear", "Joint",
    "KnifeEdge", "Latch", "Limits", "Model", "Motion", "Motor", "PointOnLine", "PointOnPlane", "Pose", "Rack", "Ramp",
    "Relative", "Roll", "Sine", "Speed", "Spring", "Step", "Table", "Temporary", "Visual", "Wrench", "pose",
]  # fmt: skip
