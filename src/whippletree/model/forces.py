"""Forces of a Model, one kind each. Plain data; :meth:`Model.force` makes, checks and keeps them.

A ``body`` or ``to`` is the name of a body, of a frame or "ground"; points and poses are in its axes, in metres.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from . import check_forces as checks
from .functions import Function
from .kinds import (
    ENERGY,
    LOAD,
    PLACE,
    POWER,
    ForceKind,
    NotNegative,
    Output,
    Positive,
    PythonFunction,
    Stiffnesses,
)
from .parts import GROUND, Part
from .pose import IDENTITY, Pose, Vector

__all__ = [
    "FORCE_KINDS", "Bushing", "Custom", "Drag", "Drive", "Force", "Motion", "Motor", "Spring", "Wrench", "force_kind",
]  # fmt: skip
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
    kp: NotNegative = 0.0
    kd: NotNegative = 0.0
    limit: Positive | None = None


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
    stiffness: NotNegative = 0.0
    damping: NotNegative = 0.0
    length: NotNegative = 0.0


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
    stiffness: Stiffnesses = ORIGIN
    damping: Stiffnesses = ORIGIN
    rotational_stiffness: Stiffnesses = ORIGIN
    rotational_damping: Stiffnesses = ORIGIN


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
    linear: NotNegative = 0.0
    quadratic: NotNegative = 0.0


@dataclass(slots=True)
class Custom(Part):
    """A Python function ``f(t, position, rotation, velocity, wrench)`` that sets the wrench at a point of a body."""

    body: str
    function: PythonFunction
    at: Vector = ORIGIN


Drive = Motor | Motion  # in a joint
Force = Drive | Spring | Bushing | Wrench | Drag | Custom

# ---------------------------------------------------------------- what is known of each


def _motor(f: Motor, label: str) -> None:
    if f.kp and f.position is None:
        raise ModelError(
            f"{label}: kp needs a position",
            expected="a position to hold, or a velocity with kd",
            got=f"kp = {f.kp:g}, no position",
            where=f.where,
        )


_TORQUE = {"force": Output(0, ("",), ("N m",), "torque about the axis")} | POWER  # of a DOF that turns
_LINE = {"force": Output(0, ("",), ("N",), "tension"), "length": Output(1, ("",), ("m",), "length")}
_SIX = ("stiffness", "damping", "rotational_stiffness", "rotational_damping")
TABLE = (
    ForceKind(
        "motor", Motor, outputs=_TORQUE, check=_motor,
        numbers=lambda f: (f.kp, f.kd, math.inf if f.limit is None else f.limit),
        instead="a bushing pulls to a pose; velocity and kd hold a speed",
    ),
    ForceKind(
        "motion", Motion, outputs=_TORQUE, check=lambda f, label: checks.no_jumps(f.position, label, f.where),
    ),
    ForceKind(
        "spring", Spring, PLACE | {"stiffness": "N/m", "damping": "N s/m", "length": "m"}, _LINE | ENERGY | POWER,
        numbers=lambda f: (f.stiffness, f.damping, f.length), effects=("stiffness", "damping"), line=True,
    ),
    ForceKind(
        "bushing", Bushing, PLACE | dict(zip(_SIX, ("N/m", "N s/m", "N m/rad", "N m s/rad"), strict=True)),
        LOAD | ENERGY | POWER, effects=_SIX,
        numbers=lambda f: (*f.stiffness, *f.damping, *f.rotational_stiffness, *f.rotational_damping),
    ),
    ForceKind(
        "wrench", Wrench, PLACE | {"force": "N", "torque": "N m", "factor": "1"},
        numbers=lambda f: (*f.force, *f.torque, f.axes == "body"), checks={"axes": checks.one_of("world", "body")},
    ),
    ForceKind(
        "drag", Drag, PLACE | {"linear": "N s/m", "quadratic": "N s^2/m^2"},
        numbers=lambda f: (f.linear, f.quadratic), effects=("linear", "quadratic"),
    ),
    ForceKind("function", Custom, PLACE),
)  # fmt: skip
FORCE_KINDS: dict[str, Any] = {kind.name: kind.part for kind in TABLE}
_KIND_OF = {kind.part: kind for kind in TABLE}


def force_kind(force: Force) -> ForceKind:
    return _KIND_OF[type(force)]
