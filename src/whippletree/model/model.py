"""The Model: what the user wrote. Named bodies, joints, frames, forces and constraints; plain data, no dynamics."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ..errors import NotCompiled
from ..modes import Modes
from . import check, check_flexible, check_forces, check_kinds, check_temporary, parts
from .constraints import Constraint
from .forces import Force
from .garbage import without_collections
from .pose import IDENTITY, Pose
from .temporary import Temporary

if TYPE_CHECKING:
    from ..system.system import System


@dataclass
class Model:
    """Bodies, joints, frames, forces and constraints by name, and gravity (m/s^2, world axes).

    ``passive`` says whether stiffness, damping, friction and limits of joints act; robot files switch it off
    (docs/decisions/0007-passive-joints.md). Forces always act. ``tree`` says which joints of loops are cut: those met
    last as the joints are written, ``"as written"``, or others where that costs much less, ``"chosen"``
    (docs/decisions/0011-which-joints-are-cut.md).

    >>> m = Model("pendulum")
    >>> bob = m.body("bob", mass=1.0, com=(0, 0, -1), inertia=(0.01, 0.01, 0.01))
    >>> hinge = m.joint("hinge", "revolute", m.ground, bob, axis="y")
    >>> system = m.compile()
    """

    name: str = "model"
    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    passive: bool = True
    tree: str = "chosen"
    where: str | None = field(default=None, compare=False)
    bodies: dict[str, parts.Body] = field(default_factory=dict, init=False)
    flexibles: dict[str, parts.Flexible] = field(default_factory=dict, init=False)
    joints: dict[str, parts.Joint] = field(default_factory=dict, init=False)
    frames: dict[str, parts.Frame] = field(default_factory=dict, init=False)
    couplings: dict[str, parts.Coupling] = field(default_factory=dict, init=False)
    forces: dict[str, Force] = field(default_factory=dict, init=False)
    constraints: dict[str, Constraint] = field(default_factory=dict, init=False)
    temporaries: dict[str, Temporary] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        check.text(self.name, "model name", self.where)
        self.gravity = check.vector(self.gravity, "gravity", where=self.where)
        self.passive = bool(self.passive)
        check.known(self.tree, parts.TREES, "tree", self.where)
        self.ground = parts.Body(parts.GROUND)

    def body(
        self,
        name: str,
        *,
        mass: float,
        com: Sequence[float] = (0.0, 0.0, 0.0),
        inertia: Any = (0.0, 0.0, 0.0),
        idealized: bool = False,
        visuals: Sequence[parts.Visual] = (),
        where: str | None = None,
    ) -> parts.Body:
        """Add a body. ``inertia`` is about the centre of mass: 3 principal moments or 3 x 3 (kg m^2)."""
        check.new_name(name, "body", ChainMap[str, Any](self.bodies, self.flexibles), where)
        label = f"body '{name}'"
        body = parts.Body(
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

    def flexible(self, name: str, modes: Modes, *, where: str | None = None) -> parts.Flexible:
        """Add a flexible body. Its name is that of its frame, fixed to the inboard node; "name/node" is any node.

        Both are names of bodies: joints, frames, forces and constraints take them.

        >>> from whippletree.modes import beam
        >>> m = Model("arm")
        >>> arm = m.flexible("arm", beam(length=1.0, section="tube", radius=0.02, wall=0.002).modes(count=4))
        >>> shoulder = m.joint("shoulder", "revolute", m.ground, arm, axis="y")
        >>> hand = m.frame("hand", "arm/tip")
        """
        check.new_name(name, "body", ChainMap[str, Any](self.bodies, self.flexibles), where)
        check_flexible.modes(modes, f"flexible body '{name}'", where)
        self.flexibles[name] = flexible = parts.Flexible(name, modes, where)
        return flexible

    def joint(
        self,
        name: str,
        kind: str,
        parent: parts.Body | parts.Flexible | str,
        child: parts.Body | parts.Flexible | str,
        *,
        axis: str | Sequence[float] | None = None,
        axis2: str | Sequence[float] | None = None,
        at: Any = IDENTITY,
        child_at: Any = IDENTITY,
        pitch: float | None = None,
        armature: float = 0.0,
        stiffness: float | Sequence[float] = 0.0,
        rest: float | Sequence[float] = 0.0,
        damping: float | Sequence[float] = 0.0,
        friction: float | Sequence[float] = 0.0,
        friction_speed: float = 0.01,
        limits: parts.Limits | None = None,
        where: str | None = None,
        **own: Any,
    ) -> parts.Joint:
        """Join ``child`` to ``parent``. A joint that closes a loop is found, not declared.

        ``at`` is the joint's place in the parent, ``child_at`` in the child: a point (3 numbers,
        m), a :class:`Pose`, a dict with ``position`` and ``quaternion`` (wxyz) or ``rpy``, or a
        4 x 4 matrix. Axes are "x", "y", "z", "-x" ... or 3 numbers in the joint's frame; they
        default to z (universal: x, then y). ``stiffness``, ``rest``, ``damping`` and ``friction``
        are one number, or one for each DOF. A kind may take parameters of its own: those of a curve are
        ``points``, ``closed``, ``orientation`` and ``up`` (docs/reference/joints.md).
        """
        check.new_name(name, "joint", self.joints, where)
        check.known(kind, parts.JOINT_KINDS, f"joint '{name}': kind", where)
        label = f"joint '{name}'"
        first, second = check.axes(kind, axis, axis2, label, where)
        joint = parts.Joint(
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
            stiffness,  # type: ignore[arg-type]  # these become numbers below
            rest,  # type: ignore[arg-type]
            damping,  # type: ignore[arg-type]
            friction,  # type: ignore[arg-type]
            friction_speed,
            limits,
            where,
            check.own(kind, own, label, where),
        )
        if joint.parent == joint.child:
            check.joins_itself(joint)
        check_forces.passive(joint)
        self.joints[name] = joint
        return joint

    def frame(
        self, name: str, body: parts.Body | parts.Flexible | str, at: Any = IDENTITY, *, where: str | None = None
    ) -> parts.Frame:
        """Name a place on a body, for outputs and Jacobians."""
        check.new_name(name, "frame", ChainMap[str, Any](self.bodies, self.flexibles, self.frames), where)
        self.frames[name] = frame = parts.Frame(name, _name(body), check.pose(at, f"frame '{name}': at", where), where)
        return frame

    def couple(
        self,
        joint: parts.Joint | str,
        of: parts.Joint | str,
        *,
        ratio: float = 1.0,
        offset: float = 0.0,
        where: str | None = None,
    ) -> parts.Coupling:
        """Couple two joints of one DOF: ``q(joint) = ratio * q(of) + offset``."""
        name = joint if isinstance(joint, str) else joint.name
        label = f"coupling of '{name}'"
        check.new_name(name, "coupling", self.couplings, where)
        coupling = parts.Coupling(
            name,
            of if isinstance(of, str) else of.name,
            check.number(ratio, f"{label}: ratio", where=where),
            check.number(offset, f"{label}: offset", where=where),
            where,
        )
        self.couplings[name] = coupling
        return coupling

    def force(self, name: str, kind: str, *, where: str | None = None, **parameters: Any) -> Force:
        """Add a force of a kind of ``whippletree.model.FORCE_KINDS``, as "motor", "spring" or "wrench".

        The parameters are the fields of the kind's class, :class:`Motor` to :class:`Custom`. Joints, bodies and frames
        are given by name or as they are, and may be added later.

        >>> m = Model("hoist")
        >>> strut = m.force("strut", "spring", body="box", at=(0, 0, 0.1), to_at=(0, 0, 1), stiffness=200.0, length=0.8)
        """
        check.new_name(name, "force", self.forces, where)
        self.forces[name] = made = check_kinds.force(name, kind, parameters, where)
        return made

    def constraint(self, name: str, kind: str, *, where: str | None = None, **parameters: Any) -> Constraint:
        """Add a constraint of a kind of ``whippletree.model.CONSTRAINT_KINDS``, as "distance", "gear" or "roll".

        The parameters are the fields of the kind's class, from :class:`Distance` to :class:`Speed`. Joints, bodies and
        frames are given by name or as they are, and may be added later. Joints that close loops need none of these.

        >>> m = Model("swing")
        >>> tie = m.constraint("tie", "distance", body="seat", to_at=(0, 0, 2), length=1.5)
        """
        check.new_name(name, "constraint", self.constraints, where)
        self.constraints[name] = made = check_kinds.constraint(name, kind, parameters, where)
        return made

    def temporary(self, constraint: Constraint | str, *, where: str | None = None, **parameters: Any) -> Temporary:
        """Let a constraint be activated and released in runs: the parameters are the fields of :class:`Temporary`.

        >>> m = Model("berth")
        >>> grip = m.constraint("grip", "latch", body="satellite", to="hand")
        >>> when = m.temporary(grip, activate_within=0.01, activate_below=0.05, here=True, release_force=500.0)
        """
        name = constraint if isinstance(constraint, str) else constraint.name
        check.new_name(name, "temporary", self.temporaries, where)
        self.temporaries[name] = made = check_temporary.temporary(name, parameters, where)
        return made

    @property
    def size(self) -> int:
        """How many bodies there are, rigid and flexible; nodes are not counted."""
        return len(self.bodies) + len(self.flexibles)

    def compile(self) -> System:
        """Check the whole and make the :class:`System` that every algorithm takes.

        The System has a model of its own: what is changed here later does not reach it.
        """
        from ..system.compile import compile_model

        with without_collections():
            return compile_model(self._copy())

    def _copy(self) -> Model:
        """With parts of its own. They are numbers, names and what is immutable."""
        made = copy(self)
        for section in ("flexibles", "frames", "couplings", "forces", "constraints", "temporaries"):
            setattr(made, section, {name: copy(part) for name, part in getattr(self, section).items()})
        made.bodies = {name: parts.Body(*_of_body(body)) for name, body in self.bodies.items()}
        made.joints = {name: parts.Joint(*_of_joint(joint)) for name, joint in self.joints.items()}
        for joint in made.joints.values():
            joint.limits = None if joint.limits is None else copy(joint.limits)
        for body in made.bodies.values():
            body.visuals = tuple(map(copy, body.visuals))
        return made

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What a Model does not have, a System has: functions that take one are often given the other."""
            if name.startswith("__"):  # asked for by copies and pickles, of what they are about to make
                raise AttributeError(name)
            raise NotCompiled(self, name)


# all fields of those parts of which there may be many, where copy() takes long
_of_body, _of_joint = (attrgetter(*(field.name for field in fields(part))) for part in (parts.Body, parts.Joint))


def _name(body: parts.Body | parts.Flexible | str) -> str:
    return body.name if isinstance(body, parts.Body | parts.Flexible) else body


def pose(
    position: Sequence[float] = (0.0, 0.0, 0.0),
    *,
    quaternion: Sequence[float] | None = None,
    rpy: Sequence[float] | None = None,
) -> Pose:
    """A :class:`Pose` from a point (m) and a unit quaternion [w, x, y, z] or roll-pitch-yaw (rad)."""
    given: Mapping[str, Any] = {"position": position, "quaternion": quaternion, "rpy": rpy}
    return check.pose({k: v for k, v in given.items() if v is not None}, "pose")
