"""The parts of a Model: bodies, joints, frames and couplings. Plain data; :class:`Model` checks and keeps them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..joints import KINDS
from ..modes import Modes
from .pose import IDENTITY, Pose, Vector
from .renamed import KEYS, attribute

GROUND = "ground"
TREES = ("chosen", "as written")  # which joints of loops are cut
PerDof = float | tuple[float, ...]  # one number for every DOF of a joint, or one for each

# DOF of each joint kind: (length of q, length of u)
JOINT_KINDS: dict[str, tuple[int, int]] = {name: (kind.nq, kind.nu) for name, kind in KINDS.items()}


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
class Part:
    """What every force and constraint has: its name, and the file and line it stands at."""

    name: str
    where: str | None = field(default=None, compare=False, kw_only=True)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            return attribute(self, name, KEYS)


@dataclass(slots=True)
class Body:
    """A rigid body: mass (kg), centre of mass (m) and inertia about it (kg m^2), in body axes.

    ``idealized`` admits what no solid has but tables of robots do: mass zero, and moments of
    inertia that break the triangle inequality.
    """

    name: str
    mass: float = 0.0
    com: Vector = (0.0, 0.0, 0.0)
    inertia: tuple[Vector, Vector, Vector] = ((0.0,) * 3,) * 3
    idealized: bool = False
    visuals: tuple[Visual, ...] = ()
    where: str | None = field(default=None, compare=False)


@dataclass(slots=True)
class Flexible:
    """A flexible body: its frame is that of its inboard node, and its nodes are bodies "name/node" too."""

    name: str
    modes: Modes
    where: str | None = field(default=None, compare=False)

    @property
    def node_names(self) -> dict[str, int]:
        """The names its nodes have as bodies, and their places in the modes."""
        return {f"{self.name}/{node}": k for k, node in enumerate(self.modes.nodes)}


@dataclass(slots=True)
class Limits:
    """What a joint may do: ``lower``, ``upper`` (rad or m), ``velocity`` (rad/s or m/s) and ``effort`` (N m or N).

    Each bound holds for every DOF. With a ``stiffness`` k (N m/rad or N/m) the position limits are compliant joint
    limits: beyond one by d they push back with k d (1 + ``damping`` d'), damping in s/rad or s/m. Without it, and for
    speed and effort, limits are data.
    """

    lower: float | None = None
    upper: float | None = None
    velocity: float | None = None
    effort: float | None = None
    stiffness: float = 0.0
    damping: float = 0.0


@dataclass(slots=True)
class Joint:
    """A joint of ``child`` on ``parent``: the frame ``child_at`` of the child moves in ``at`` of the parent.

    ``axis`` is the axis of a revolute, prismatic, screw or cylindrical joint, the normal of a
    planar one, and the first axis (fixed in the parent) of a universal one, whose second axis
    (fixed in the child) is ``axis2``. ``pitch`` is the advance of a screw in metres per radian.
    ``armature`` is a rotor's reflected inertia, added to the mass matrix for each DOF.

    In each DOF, with coordinate q and speed u, act a spring ``-stiffness (q - rest)``, a damper ``-damping u`` and
    friction ``-friction u / sqrt(u^2 + friction_speed^2)``: one number for every DOF, or one for each. The spring
    of a spherical joint acts against its whole rotation. ``own`` holds the parameters that only this kind takes.
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
    stiffness: PerDof = 0.0
    rest: PerDof = 0.0
    damping: PerDof = 0.0
    friction: PerDof = 0.0
    friction_speed: float = 0.01
    limits: Limits | None = None
    where: str | None = field(default=None, compare=False)
    own: dict[str, Any] = field(default_factory=dict)


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
