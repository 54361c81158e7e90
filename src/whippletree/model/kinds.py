"""Rows of the tables of forces and constraints: all that is known of a kind besides its formula (decision 0033)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

from .pose import Vector

Checker = Callable[[Any, str, str | None], Any]  # of a value, what it is, and where it stands
# annotations of fields, by which they are checked (check_forces.by_annotation)
NotNegative = float
Positive = float
NotZero = float
FLOATS = ("float", "NotNegative", "Positive", "NotZero")
Stiffnesses = Vector  # none negative; one number stands for all three
Axis = Vector  # of length 1
PythonFunction = Callable[..., Any]
NONE: Any = {}
PLACE = {"at": "m", "to_at": "m"}  # units


class Output(NamedTuple):
    """What a result holds of a force: where it stands in the force's row of the ledger, and what it is."""

    place: int | slice
    labels: tuple[str, ...]
    units: tuple[str, ...]
    long_name: str


_LABELS, _UNITS = ("Tx", "Ty", "Tz", "Fx", "Fy", "Fz"), ("N m",) * 3 + ("N",) * 3
LOAD = {"force": Output(slice(0, 6), _LABELS, _UNITS, "torque and force on the body, world axes")}
ENERGY = {"energy": Output(6, ("",), ("J",), "stored energy")}
POWER = {"power": Output(7, ("",), ("W",), "power")}


class ForceKind(NamedTuple):
    """One kind of force. Its formula is the branch for ``code(name)`` in kernels/forces.py."""

    name: str
    part: Any  # its class
    units: Mapping[str, str] = NONE  # of its parameters; in a joint they follow from the DOF
    outputs: Mapping[str, Output] = LOAD | POWER
    numbers: Callable[[Any], Sequence[float]] = lambda f: ()  # what its formula reads besides its ends
    effects: tuple[str, ...] = ()  # of these one must be there, or the force does nothing
    checks: Mapping[str, Checker] = NONE  # of parameters whose annotation does not say it
    check: Callable[[Any, str], None] | None = None  # of a part by itself and its label
    instead: str | None = None  # where its position is asked of a joint whose coordinates are not angles: a hint
    line: bool = False  # it pulls along the line between two points: its load is a tension; it is drawn as a coil


class Element(NamedTuple):
    """The rows of a constraint between two bodies: its formula in kernels/constraints.py, and what that reads."""

    formula: str
    what: tuple[str, ...]  # each row holds; SPEED_WORDS of system/constraints.py begin those of velocities alone
    numbers: tuple[float, ...] = ()  # FIRST, SECOND and LENGTH of layout/constraints.py
    shift: int = 0
    turn: int = 0
    axle: Vector | None = None  # z of the frame on ``body``, where ``at`` is a point
    slips: bool = False  # whether there may be equations of velocities alone


class ConstraintKind(NamedTuple):
    """One kind of constraint: between two bodies, with an ``element``, or of DOF of joints, without."""

    name: str
    part: Any  # its class
    units: Mapping[str, str] = NONE  # of its parameters, where they do not follow from a DOF
    element: Callable[[Any], Any] | None = None  # the Element, or the Joint whose rows it has
    ratio: str = "ratio"  # the parameter r of q(joint) - r q(of) = offset; 1 where there is none
    velocities: bool = False  # it couples velocities alone, and may slip at a load
    joints: Mapping[str, str] = NONE  # kinds of joints that it takes, where it does not take all
    checks: Mapping[str, Checker] = NONE  # of parameters whose annotation does not say it
    check: Callable[[Any, str], None] | None = None  # of a part by itself and its label
    opens: int = 0  # sign of the residual where a unilateral one is open: 1 of a contact, -1 of a rope, 0 of no such
    sticks: Callable[[Any], Any] | None = None  # the wheel or ball that may stick and slip, or None
    sticks_if: str = ""  # in words
    here: str = ""  # the parameter that is found where it is activated, if it holds what it finds
    here_if: str = ""  # in words
    line: bool = False  # it is drawn as a rod between two points


def annotated(part: Any, annotation: str) -> tuple[str, ...]:
    """The fields of a class or part with this annotation, as "Function", of time; or that or None."""
    return tuple(f.name for f in fields(part) if f.type in (annotation, f"{annotation} | None"))
