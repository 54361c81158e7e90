"""The Model and its parts: what the user wrote."""

from .model import GROUND, JOINT_KINDS, Body, Coupling, Frame, Joint, Limits, Model, Visual, pose
from .pose import Pose

__all__ = ["GROUND", "JOINT_KINDS", "Body", "Coupling", "Frame", "Joint", "Limits", "Model", "Pose", "Visual", "pose"]
