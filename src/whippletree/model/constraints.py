"""Constraints of a Model that are not joints, one kind each. Plain data; :meth:`Model.constraint` makes and keeps them.

A ``body`` or ``to`` is the name of a body, of a frame or "ground"; points and poses are in its axes, in metres. A
``freedom`` counts from 0 within its joint, whose coordinates q are angles (rad) and lengths (m).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .forces import ORIGIN
from .functions import Function
from .parts import GROUND
from .pose import IDENTITY, Pose, Vector


@dataclass(slots=True)
class Distance:
    """The points ``at`` of ``body`` and ``to_at`` of ``to`` keep the distance ``length`` (m): a rod without mass."""

    name: str
    body: str
    length: float
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Vector = ORIGIN
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class PointOnLine:
    """The point ``at`` of ``body`` stays on the x axis of the pose ``to_at`` of ``to``: a pin in a straight slot."""

    name: str
    body: str
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Pose = IDENTITY
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class PointOnPlane:
    """The point ``at`` of ``body`` stays in the plane z = 0 of the pose ``to_at`` of ``to``: a foot on a floor."""

    name: str
    body: str
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Pose = IDENTITY
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class Gear:
    """``q(joint) = ratio * q(of) + offset``, for one freedom of each; as a coupling, with a name."""

    name: str
    joint: str
    of: str
    ratio: float
    offset: float = 0.0
    freedom: int = 0
    of_freedom: int = 0
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class Rack:
    """A rack and its pinion: ``q(joint) = radius * q(of) + offset``, prismatic ``joint`` (m) and revolute ``of`` (rad).

    With the pinion on the other side of the rack ``radius`` (m) is negative.
    """

    name: str
    joint: str
    of: str
    radius: float
    offset: float = 0.0
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class Relative:
    """``q(joint) - q(of)``, or ``q(joint)`` alone, is a given function of time ``position``."""

    name: str
    joint: str
    of: str | None = None
    position: Function = 0.0
    freedom: int = 0
    of_freedom: int = 0
    where: str | None = field(default=None, compare=False)


Constraint = Distance | PointOnLine | PointOnPlane | Gear | Rack | Relative

CONSTRAINT_KINDS: dict[str, Any] = {
    "distance": Distance,
    "point_on_line": PointOnLine,
    "point_on_plane": PointOnPlane,
    "gear": Gear,
    "rack": Rack,
    "relative": Relative,
}
