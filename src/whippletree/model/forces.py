"""Forces of a Model, one kind each. Plain data; :meth:`Model.force` makes, checks and keeps them.

A ``body`` or ``to`` is the name of a body, of a frame or "ground"; points and poses are in its axes, in metres.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .functions import Function
from .parts import GROUND, Part
from .pose import IDENTITY, Pose, Vector

ORIGIN: Vector = (0.0, 0.0, 0.0)


@dataclass(slots=True)
class Motor(Part):
    """A drive on one DOF of a joint, with coordinate q and speed u.

    It applies ``torque(t) + kp (position(t) - q) + kd (velocity(t) - u)``, cut off at plus and minus ``limit``. Without
    a ``velocity`` the target speed is the rate of ``position``. ``dof`` counts from 0 within the joint.
    """

    joint: str
    dof: int = 0
    torque: Function = 0.0
    position: Function | None = None
    velocity: Function | None = None
    kp: float = 0.0
    kd: float = 0.0
    limit: float | None = None


@dataclass(slots=True)
class Motion(Part):
    """One DOF of a joint moves as a given function of time; the force that this takes is an output."""

    joint: str
    dof: int = 0
    position: Function = 0.0


@dataclass(slots=True)
class Spring(Part):
    """A spring and damper along the line between the point ``at`` of ``body`` and ``to_at`` of ``to``.

    ``stiffness`` (N/m), ``damping`` (N s/m) and free ``length`` (m).
    """

    body: str
    to: str = GROUND
    at: Vector = ORIGIN
    to_at: Vector = ORIGIN
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0


@dataclass(slots=True)
class Bushing(Part):
    """Springs and dampers in six directions between the pose ``at`` of ``body`` and ``to_at`` of ``to``.

    ``stiffness`` (N/m), ``damping`` (N s/m), ``rotational_stiffness`` (N m/rad) and ``rotational_damping`` (N m s/rad)
    act along and about the axes x, y, z of ``to_at``.
    """

    body: str
    to: str = GROUND
    at: Pose = IDENTITY
    to_at: Pose = IDENTITY
    stiffness: Vector = ORIGIN
    damping: Vector = ORIGIN
    rotational_stiffness: Vector = ORIGIN
    rotational_damping: Vector = ORIGIN


@dataclass(slots=True)
class Wrench(Part):
    """``factor(t)`` times a ``force`` (N) at a point and a ``torque`` (N m), in "world" or "body" ``axes``."""

    body: str
    at: Vector = ORIGIN
    force: Vector = ORIGIN
    torque: Vector = ORIGIN
    axes: str = "world"
    factor: Function = 1.0


@dataclass(slots=True)
class Drag(Part):
    """``-(linear + quadratic |v|) v`` at a point with velocity v; ``linear`` in N s/m, ``quadratic`` in N s^2/m^2."""

    body: str
    at: Vector = ORIGIN
    linear: float = 0.0
    quadratic: float = 0.0


@dataclass(slots=True)
class Custom(Part):
    """A Python function ``f(t, position, rotation, velocity, wrench)`` that sets the wrench at a point of a body."""

    body: str
    function: Callable[..., Any]
    at: Vector = ORIGIN


Force = Motor | Motion | Spring | Bushing | Wrench | Drag | Custom

FORCE_KINDS: dict[str, Any] = {
    "motor": Motor,
    "motion": Motion,
    "spring": Spring,
    "bushing": Bushing,
    "wrench": Wrench,
    "drag": Drag,
    "function": Custom,
}
