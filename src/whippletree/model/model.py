"""The Model: what the user wrote. Named bodies, joints and frames; plain data, no dynamics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import check
from .pose import IDENTITY, Pose, Vector

if TYPE_CHECKING:
    from ..system.system import System

GROUND = "ground"

# freedoms of each joint kind: (length of q, length of u)
JOINT_KINDS: dict[str, tuple[int, int]] = {
    "fixed": (0, 0),
    "revolute": (1, 1),
    "prismatic": (1, 1),
    "screw": (1, 1),
    "cylindrical": (2, 2),
    "universal": (2, 2),
    "planar": (3, 3),
    "spherical": (4, 3),
    "free": (7, 6),
}


@dataclass(slots=True)
class Visual:
    """Something to draw on a body: a primitive or a mesh file, at a pose of the body.

    ``shape`` is "box", "sphere", "cylinder" or "mesh"; ``size`` is (x, y, z), (radius,) or
    (radius, length) in metres, and the scale (x, y, z) of a mesh; ``path`` is the mesh file.
    """

    shape: str
    size: tuple[float, ...]
    at: Pose = IDENTITY
    color: tuple[float, float, float, float] | None = None
    path: str | None = None


@dataclass(slots=True)
class Body:
    """A rigid body: mass (kg), centre of mass (m) and inertia about it (kg m^2), in body axes.

    ``idealized`` admits what no solid has but tables of robots do: mass zero, and moments of
    inertia that break the triangle inequality.
    """

    name: str
    mass: float = 0.0
    com: Vector = (0.0, 0.0, 0.0)
    inertia: tuple[Vector, Vector, Vector] = ((0.0,) * 3,) * 3  # type: ignore[assignment]
    idealized: bool = False
    visuals: tuple[Visual, ...] = ()
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class Limits:
    """What a joint may do: position (rad or m), speed and effort. Kept, not yet enforced."""

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None


@dataclass(slots=True)
class Joint:
    """A joint of ``child`` on ``parent``: the frame ``child_at`` of the child moves in ``at`` of the parent.

    ``axis`` is the axis of a revolute, prismatic, screw or cylindrical joint, the normal of a
    planar one, and the first axis (fixed in the parent) of a universal one, whose second axis
    (fixed in the child) is ``axis2``. ``pitch`` is the advance of a screw in metres per radian.
    ``armature`` is a rotor's reflected inertia, added to the mass matrix for each freedom.
    """

    name: str
    kind: str
    parent: str
    child: str
    axis: Vector = (0.0, 0.0, 1.0)
    axis2: Vector = (0.0, 1.0, 0.0)
    at: Pose = IDENTITY
    child_at: Pose = IDENTITY
    pitch: float = 0.0
    armature: float = 0.0
    damping: float = 0.0
    friction: float = 0.0
    limits: Limits | None = None
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class Frame:
    """A named place on a body."""

    name: str
    body: str
    at: Pose = IDENTITY
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class Coupling:
    """q(joint) = ratio * q(of) + offset, as URDF's mimic."""

    joint: str
    of: str
    ratio: float = 1.0
    offset: float = 0.0
    where: str | None = field(default=None, compare=False)


@dataclass
class Model:
    """Bodies, joints and frames by name, and gravity (m/s^2, world axes).

    >>> m = Model("pendulum")
    >>> bob = m.body("bob", mass=1.0, com=(0, 0, -1), inertia=(0.01, 0.01, 0.01))
    >>> hinge = m.joint("hinge", "revolute", m.ground, bob, axis="y")
    >>> system = m.compile()
    """

    name: str = "model"
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    where: str | None = field(default=None, compare=False)
    bodies: dict[str, Body] = field(default_factory=dict, init=False)
    joints: dict[str, Joint] = field(default_factory=dict, init=False)
    frames: dict[str, Frame] = field(default_factory=dict, init=False)
    couplings: dict[str, Coupling] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        check.text(self.name, "model name", self.where)
        self.gravity = check.vector(self.gravity, "gravity", where=self.where)
        self.ground = Body(GROUND)

    def body(
        self,
        name: str,
        *,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        idealized: bool = False,
        visuals: Sequence[Visual] = (),
        where: str | None = None,
    ) -> Body:
        """Add a body. ``inertia`` is about the centre of mass: 3 principal moments or 3 x 3 (kg m^2)."""
        check.new_name(name, "body", self.bodies, where)
        label = f"body '{name}'"
        body = Body(
            name,
            check.number(mass, f"{label}: mass", where=where),
            check.vector(com, f"{label}: com", where=where),
            check.inertia_matrix(inertia, label, where),
            bool(idealized),
            tuple(visuals),
            where,
        )
        check.body(body)
        self.bodies[name] = body
        return body

    def joint(
        self,
        name: str,
        kind: str,
        parent: Body | str,
        child: Body | str,
        *,
        axis: str | Sequence[float] | None = None,
        axis2: str | Sequence[float] | None = None,
        at: Any = IDENTITY,
        child_at: Any = IDENTITY,
        pitch: float | None = None,
        armature: float = 0.0,
        damping: float = 0.0,
        friction: float = 0.0,
        limits: Limits | None = None,
        where: str | None = None,
    ) -> Joint:
        """Join ``child`` to ``parent``. A joint that closes a loop is found, not declared.

        ``at`` is the joint's place in the parent, ``child_at`` in the child: a point (3 numbers,
        m), a :class:`Pose`, a dict with ``position`` and ``quaternion`` (wxyz) or ``rpy``, or a
        4 x 4 matrix. Axes are "x", "y", "z", "-x" ... or 3 numbers in the joint's frame; they
        default to z (universal: x, then y).
        """
        check.new_name(name, "joint", self.joints, where)
        check.known(kind, JOINT_KINDS, f"joint '{name}': kind", where)
        label = f"joint '{name}'"
        first, second = check.axes(kind, axis, axis2, label, where)
        joint = Joint(
            name,
            kind,
            _name(parent),
            _name(child),
            first,
            second,
            check.pose(at, f"{label}: at", where),
            check.pose(child_at, f"{label}: child_at", where),
            check.pitch(kind, pitch, label, where),
            check.number(armature, f"{label}: armature", low=0.0, where=where),
            check.number(damping, f"{label}: damping", low=0.0, where=where),
            check.number(friction, f"{label}: friction", low=0.0, where=where),
            check.limits(limits, label, where),
            where,
        )
        check.joint(joint)
        self.joints[name] = joint
        return joint

    def frame(self, name: str, body: Body | str, at: Any = IDENTITY, *, where: str | None = None) -> Frame:
        """Name a place on a body, for outputs and Jacobians."""
        check.new_name(name, "frame", self.frames if name not in self.bodies else self.bodies, where)
        frame = Frame(name, _name(body), check.pose(at, f"frame '{name}': at", where), where)
        self.frames[name] = frame
        return frame

    def couple(
        self,
        joint: Joint | str,
        of: Joint | str,
        *,
        ratio: float = 1.0,
        offset: float = 0.0,
        where: str | None = None,
    ) -> Coupling:
        """Couple two joints of one freedom: ``q(joint) = ratio * q(of) + offset``."""
        name = joint if isinstance(joint, str) else joint.name
        label = f"coupling of '{name}'"
        check.new_name(name, "coupling", self.couplings, where)
        coupling = Coupling(
            name,
            of if isinstance(of, str) else of.name,
            check.number(ratio, f"{label}: ratio", where=where),
            check.number(offset, f"{label}: offset", where=where),
            where,
        )
        self.couplings[name] = coupling
        return coupling

    def compile(self) -> System:
        """Check the whole and make the :class:`System` that every algorithm takes."""
        from ..system.compile import compile_model

        return compile_model(self)


def _name(body: Body | str) -> str:
    return body.name if isinstance(body, Body) else body


def pose(
    position: Sequence[float] = (0.0, 0.0, 0.0),
    *,
    quaternion: Sequence[float] | None = None,
    rpy: Sequence[float] | None = None,
) -> Pose:
    """A :class:`Pose` from a point (m) and a unit quaternion [w, x, y, z] or roll-pitch-yaw (rad)."""
    given: Mapping[str, Any] = {"position": position, "quaternion": quaternion, "rpy": rpy}
    return check.pose({k: v for k, v in given.items() if v is not None}, "pose")
