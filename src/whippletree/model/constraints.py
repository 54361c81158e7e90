"""Constraints of a Model that are not joints, one kind each. Plain data; :meth:`Model.constraint` makes and keeps them.

A ``body`` or ``to`` is the name of a body, of a frame or "ground"; points and poses are in its axes, in metres. A
``dof`` counts from 0 within its joint, whose coordinates q are angles (rad) and lengths (m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .forces import ORIGIN
from .functions import Function
from .parts import GROUND, Part
from .pose import IDENTITY, Pose, Vector


@dataclass(slots=True)
class Distance(Part):
    """The points ``at`` of ``body`` and ``to_at`` of ``to`` keep the distance ``length`` (m): a rod without mass."""

    body: str
    length: float
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Vector = ORIGIN


@dataclass(slots=True)
class PointOnLine(Part):
    """The point ``at`` of ``body`` stays on the x axis of the pose ``to_at`` of ``to``: a pin in a straight slot."""

    body: str
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Pose = IDENTITY


@dataclass(slots=True)
class PointOnPlane(Part):
    """The point ``at`` of ``body`` stays in the plane z = 0 of the pose ``to_at`` of ``to``: a foot on a floor."""

    body: str
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Pose = IDENTITY


@dataclass(slots=True)
class Gear(Part):
    """``q(joint) = ratio * q(of) + offset``, for one DOF of each; as a coupling, with a name."""

    joint: str
    of: str
    ratio: float
    offset: float = 0.0
    dof: int = 0
    of_dof: int = 0


@dataclass(slots=True)
class Rack(Part):
    """A rack and its pinion: ``q(joint) = radius * q(of) + offset``, prismatic ``joint`` (m) and revolute ``of`` (rad).

    With the pinion on the other side of the rack ``radius`` (m) is negative.
    """

    joint: str
    of: str
    radius: float
    offset: float = 0.0


@dataclass(slots=True)
class Relative(Part):
    """``q(joint) - q(of)``, or ``q(joint)`` alone, is a given function of time ``position``."""

    joint: str
    of: str | None = None
    position: Function = 0.0
    dof: int = 0
    of_dof: int = 0


@dataclass(slots=True)
class Latch(Part):
    """``body`` is held to ``to`` as a joint of this ``joint`` kind holds its child to its parent.

    ``at`` on ``body`` and ``to_at`` on ``to`` are the poses of the joint's two frames. Nothing hangs on a latch: bodies
    have joints of their own that carry them, so that it can be activated and released.
    """

    body: str
    to: str = GROUND
    joint: str = "fixed"
    axis: Vector = (0.0, 0.0, 1.0)
    axis2: Vector = (0.0, 1.0, 0.0)
    at: Pose = IDENTITY
    to_at: Pose = IDENTITY


@dataclass(slots=True)
class Roll(Part):
    """A wheel or a ball of ``radius`` (m) around the point ``at`` of ``body`` rolls on a surface of ``to``.

    A wheel turns about ``axis``, in axes of ``body``, and touches with its rim; ``tyre`` (m) is the radius to which the
    rim is rounded. Without an axis it is a ball, or with no radius a point. It rolls ``on`` the "plane" z = 0 of the
    pose ``to_at``, above it; on the "line" along its x axis, above which the centre stays; or, a ball, on the "sphere"
    of ``to_radius`` (m) around its place, inside where that is negative. ``slip`` may be "none", "side" (across the
    direction in which a wheel heads) or "all", as on ice. Unless it ``pivots``, it does not turn about the normal.
    """

    body: str
    radius: float
    axis: Vector | None = None
    tyre: float = 0.0
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Pose = IDENTITY
    on: str = "plane"
    to_radius: float = 0.0
    slip: str = "none"
    pivots: bool = True


@dataclass(slots=True)
class KnifeEdge(Part):
    """A blade at the pose ``at`` of ``body`` moves along its x axis, and never along its y axis, as seen from ``to``.

    What keeps it on the ice is a constraint or joint of its own.
    """

    body: str
    to: str = GROUND
    at: Pose = IDENTITY


@dataclass(slots=True)
class Speed(Part):
    """``u(joint) = ratio * u(of) + speed``, or ``u(joint) = speed``: velocities alone (rad/s, m/s), wherever they lead.

    ``speed`` is a function of time; a ``dof`` counts the rows of u of a joint.
    """

    joint: str
    of: str | None = None
    ratio: float = 1.0
    speed: Function = 0.0
    dof: int = 0
    of_dof: int = 0


Between = Distance | PointOnLine | PointOnPlane | Latch | Roll | KnifeEdge  # two bodies
Constraint = Between | Gear | Rack | Relative | Speed

CONSTRAINT_KINDS: dict[str, Any] = {
    "distance": Distance,
    "point_on_line": PointOnLine,
    "point_on_plane": PointOnPlane,
    "gear": Gear,
    "rack": Rack,
    "relative": Relative,
    "latch": Latch,
    "roll": Roll,
    "knife_edge": KnifeEdge,
    "speed": Speed,
}
