"""Constraints of a Model that are not joints, one kind each. Plain data; :meth:`Model.constraint` makes and keeps them.

A ``body`` or ``to`` is the name of a body, of a frame or "ground"; points and poses are in its axes, in metres. A
``dof`` counts from 0 within its joint, whose coordinates q are angles (rad) and lengths (m).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from ..joints import HINGE, KINDS, SLIDE
from ..layout import constraints as layout
from . import check
from . import check_forces as checks
from .forces import ORIGIN
from .functions import Function, Step
from .kinds import PLACE, Axis, ConstraintKind, Element, NotNegative, NotZero, Positive
from .parts import GROUND, Joint, Part
from .pose import IDENTITY, Pose, Vector

__all__ = [
    "CONSTRAINT_KINDS", "Between", "Constraint", "Distance", "Gear", "KnifeEdge", "Latch", "PointOnLine",
    "PointOnPlane", "Rack", "Relative", "Roll", "Speed", "constraint_kind",
]  # fmt: skip


@dataclass(slots=True)
class Distance(Part):
    """The points ``at`` of ``body`` and ``to_at`` of ``to`` keep the distance ``length`` (m): a rod without mass."""

    body: str
    length: Positive
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
    ratio: NotZero
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
    radius: NotZero
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
    axis: Axis = (0.0, 0.0, 1.0)
    axis2: Axis = (0.0, 1.0, 0.0)
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
    radius: NotNegative
    axis: Axis | None = None
    tyre: NotNegative = 0.0
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
    ratio: NotZero = 1.0
    speed: Function = 0.0
    dof: int = 0
    of_dof: int = 0


Between = Distance | PointOnLine | PointOnPlane | Latch | Roll | KnifeEdge  # two bodies
Constraint = Between | Gear | Rack | Relative | Speed

# ---------------------------------------------------------------- what is known of each


def _perpendicular(c: Latch, label: str) -> None:
    if KINDS[c.joint].axes == 2:
        check.axes(c.joint, c.axis, c.axis2, label, c.where)


def _gentle(c: Speed, label: str) -> None:
    if isinstance(c.speed, Step) and c.speed.rise == 0.0:
        raise ModelError(
            f"{label}: speed jumps",
            expected="a speed that masses can follow",
            got="a step without rise",
            where=c.where,
            hint="give the step a rise",
        )


def _rolls(c: Roll, label: str) -> None:
    """What does not go together."""
    if c.radius == 0.0 and c.axis is not None:
        raise ModelError(f"{label}: a wheel has a radius", expected="more than 0", got=c.radius, where=c.where)
    if c.tyre and c.axis is None:
        raise ModelError(f"{label}: a ball has no tyre", got=c.tyre, where=c.where, hint="axis makes it a wheel")
    if c.tyre > c.radius:
        expected = f"at most the radius, {c.radius:g} m"
        raise ModelError(f"{label}: the tyre is larger than the wheel", expected=expected, got=c.tyre, where=c.where)
    if c.slip == "side" and (c.axis is None or c.on != "plane"):
        raise ModelError(
            f"{label}: slip = 'side' is for wheels on a plane", where=c.where, hint="take slip = 'none' or 'all'"
        )
    if (c.on == "sphere") != (c.to_radius != 0.0):
        expected = "a radius, negative for a bowl" if c.on == "sphere" else "0 where it does not roll on a sphere"
        raise ModelError(f"{label}: to_radius is invalid", expected=expected, got=c.to_radius, where=c.where)
    if c.on == "sphere" and c.axis is not None:
        raise ModelError(f"{label}: only a ball rolls on a sphere", where=c.where, hint="leave axis out")
    if -c.radius <= c.to_radius < 0.0:
        expected = f"more than the ball's radius, {c.radius:g} m"
        raise ModelError(f"{label}: the bowl is too small", expected=expected, got=-c.to_radius, where=c.where)


def _held(axes: str, shift: int) -> Element:
    """Displacements of a point along axes of ``to_at``."""
    return Element("joint", tuple(f"displacement along {axis}" for axis in axes), shift=shift)


def _rolling(c: Roll) -> Element:
    tyre = c.radius if c.axis is None else c.tyre
    what = ["displacement along the normal"] + ["displacement along y"] * (c.on == "line")
    what += ["slip along"] * (c.slip != "all") + ["slip aside"] * (c.slip == "none" and c.on != "line")
    what += [] if c.pivots else ["turning about the normal"]
    slips = _SLIPS[c.slip] | (0 if c.pivots else layout.PIVOT_HELD) | (0 if c.axis is None else layout.AXLE)
    numbers = c.radius - tyre, tyre, c.to_radius
    return Element("roll", tuple(what), numbers, _SURFACES[c.on], slips, c.axis, slips=True)


_SURFACES = {"plane": layout.PLANE, "line": layout.LINE, "sphere": layout.SPHERE}
_SLIPS = {"none": layout.SLIP_NONE, "side": layout.SLIP_SIDE, "all": layout.SLIP_ALL}
_LATCHES = [name for name, kind in KINDS.items() if kind.holds not in (None, (0, 0)) and not kind.parameters]
TABLE = (
    ConstraintKind(
        "distance", Distance, PLACE | {"length": "m"}, opens=-1, line=True,
        element=lambda c: Element("distance", ("distance",), (0.0, 0.0, c.length)),
    ),
    ConstraintKind("point_on_line", PointOnLine, PLACE, element=lambda c: _held("yz", layout.SHIFT_Y | layout.SHIFT_Z)),
    ConstraintKind(
        "point_on_plane", PointOnPlane, PLACE, element=lambda c: _held("z", layout.SHIFT_Z), opens=1,
        sticks=lambda c: Roll(c.name, c.body, 0.0, to=c.to, at=c.at, to_at=c.to_at),  # a ball of no radius
        sticks_if="a point_on_plane",
    ),
    ConstraintKind("gear", Gear),
    ConstraintKind(
        "rack", Rack, {"radius": "m", "offset": "m"}, ratio="radius", joints={"joint": SLIDE, "of": HINGE},
    ),
    ConstraintKind(
        "relative", Relative, check=lambda c, label: checks.no_jumps(c.position, label, c.where),
        here="position", here_if="a relative without 'of', which locks a joint",
    ),
    ConstraintKind(
        "latch", Latch, element=lambda c: Joint(c.name, c.joint, c.to, c.body, c.axis, c.axis2, c.to_at, c.at),
        checks={"joint": checks.one_of(*_LATCHES)}, check=_perpendicular, here="to_at", here_if="a latch",
    ),
    ConstraintKind(
        "roll", Roll, PLACE | dict.fromkeys(("radius", "tyre", "to_radius"), "m"), element=_rolling, opens=1,
        checks={"on": checks.one_of(*_SURFACES), "slip": checks.one_of(*_SLIPS)}, check=_rolls,
        sticks=lambda c: c if c.slip == "none" and c.pivots else None,
        sticks_if="a roll with slip = 'none' that pivots",
    ),
    ConstraintKind("knife_edge", KnifeEdge, PLACE, element=lambda c: Element("blade", ("slip aside",), slips=True)),
    ConstraintKind("speed", Speed, velocities=True, check=_gentle),
)  # fmt: skip
CONSTRAINT_KINDS: dict[str, Any] = {kind.name: kind.part for kind in TABLE}
_KIND_OF = {kind.part: kind for kind in TABLE}


def constraint_kind(c: Constraint) -> ConstraintKind:
    return _KIND_OF[type(c)]
