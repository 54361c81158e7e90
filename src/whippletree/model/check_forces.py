"""Every complaint about parameters of forces and constraints, functions of time, and forces of joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

import numpy as np

from ..errors import ModelError, nearest
from ..joints import KINDS, QUATERNIONS
from ..modes.check import counted, is_list, moved
from . import check, functions, parts
from .kinds import Checker
from .pose import Vector
from .renamed import current


def not_negative(value: Any, what: str, where: str | None = None) -> float:
    return check.number(value, what, low=0.0, where=where)


def positive(value: Any, what: str, where: str | None = None) -> float:
    x = check.number(value, what, where=where)
    if x <= 0.0:
        raise ModelError(f"{what} is too small", expected="a finite number > 0", got=x, where=where)
    return x


def not_zero(value: Any, what: str, where: str | None) -> float:
    x = check.number(value, what, where=where)
    if x == 0.0:
        raise ModelError(
            f"{what} is zero",
            expected="a number other than 0",
            got=x,
            where=where,
            hint="a constraint of kind 'relative' without 'of' holds a joint where it is",
        )
    return x


def per_dof(value: Any, kind: str, what: str, *, low: float | None = None, where: str | None = None) -> parts.PerDof:
    """One number for every DOF of a joint, or a tuple with one for each."""
    if not is_list(value):
        return check.number(value, what, low=low, where=where)
    count = parts.JOINT_KINDS[kind][1]
    if len(value) != count or not count:
        expected = "a number" + (f", or {count} of them for the degrees of freedom of a {kind} joint" if count else "")
        raise ModelError(f"{what} has the wrong length", expected=expected, got=f"{len(value)} numbers", where=where)
    return tuple(check.number(x, what, low=low, where=where) for x in value)


def passive(j: parts.Joint) -> None:
    """Spring, damper, friction and stops of a joint."""
    label, where = f"joint '{j.name}'", j.where
    for key, low in (("stiffness", 0.0), ("rest", None), ("damping", 0.0), ("friction", 0.0)):
        setattr(j, key, per_dof(getattr(j, key), j.kind, f"{label}: {key}", low=low, where=where))
    j.friction_speed = positive(j.friction_speed, f"{label}: friction_speed", where)
    j.limits = check.limits(j.limits, label, where)
    spring = KINDS[j.kind].spring
    if spring == "none" and j.stiffness:
        raise ModelError(
            f"{label}: stiffness is not for a {j.kind} joint",
            expected="none",
            got=j.stiffness,
            where=where,
            hint=f"force('{j.name}_spring', 'bushing', body='{j.child}', ...) has one in six directions",
        )
    if spring == "whole" and isinstance(j.stiffness, tuple):
        raise ModelError(
            f"{label}: stiffness of a {j.kind} joint is one number",
            expected="a number: it acts against the whole rotation",
            got=list(j.stiffness),
            where=where,
            hint="a bushing has one for each axis",
        )
    if j.kind in QUATERNIONS and j.rest:
        raise ModelError(
            f"{label}: rest is not for a {j.kind} joint",
            expected="0: its spring is at rest where it is not turned",
            got=j.rest,
            where=where,
            hint="turn at or child_at instead",
        )
    _stops(j, label)


def _stops(j: parts.Joint, label: str) -> None:
    if j.limits is None or not j.limits.stiffness:
        return
    if j.kind in QUATERNIONS:
        raise ModelError(
            f"{label}: limits: stiffness is not for a {j.kind} joint",
            expected="a joint whose coordinates are angles and lengths",
            got=j.kind,
            where=j.where,
        )
    if j.limits.lower is None and j.limits.upper is None:
        raise ModelError(
            f"{label}: limits: stiffness has no stop to act at", expected="lower or upper", got="neither", where=j.where
        )


def function(value: Any, label: str, where: str | None = None) -> functions.Function:
    """A number, or a function of time: an instance, or a mapping with its kind and fields."""
    if isinstance(value, functions.Ramp | functions.Step | functions.Sine | functions.Table):
        return value
    if isinstance(value, Mapping):
        return _function_of_mapping(value, label, where)
    if isinstance(value, str | bytes | Sequence | np.ndarray) or value is None or callable(value):
        raise ModelError(
            f"{label} is not a function of time",
            expected="a number, or a " + ", ".join(functions.FUNCTION_KINDS),
            got=check.shown(value),
            where=where,
            hint="a Python function is a force of its own, of kind 'function'" if callable(value) else None,
        )
    return check.number(value, label, where=where)


def _function_of_mapping(value: Mapping[str, Any], label: str, where: str | None) -> functions.Function:
    if "kind" not in value:
        raise ModelError(
            f"{label}: kind is missing", expected="one of " + ", ".join(functions.FUNCTION_KINDS), where=where
        )
    kind = check.known(value["kind"], functions.FUNCTION_KINDS, f"{label}: kind", where)
    given = {key: x for key, x in value.items() if key != "kind"}
    known_parameters(functions.FUNCTION_KINDS[kind], given, f"{label}: {kind}", (), where)
    try:
        return functions.FUNCTION_KINDS[kind](**given)
    except ModelError as e:
        raise moved(e, where, label) from None


def known_parameters(kind: Any, given: Iterable[str], label: str, hidden: Sequence[str], where: str | None) -> None:
    """The parameters a dataclass takes, no others and none too few."""
    takes = {f.name: f.default is MISSING for f in fields(kind) if f.name not in hidden}
    for key in given:
        if key not in takes:
            short = str(key)[:80]
            raise ModelError(f"{label}: parameter '{short}' is not known", where=where, hint=nearest(short, takes))
    for key, needed in takes.items():
        if needed and key not in given:
            raise ModelError(f"{label}: parameter '{key}' is missing", expected=", ".join(takes), where=where)


def part(
    name: str, label: str, kind: Any, checkers: Mapping[str, Checker], given: Mapping[str, Any], where: str | None
) -> Any:
    """A part of this class with these parameters, each checked as its annotation says or, before that, ``checkers``."""
    given = current(given, label, where)
    known_parameters(kind, given, label, ("name", "where"), where)
    checkers = {f.name: by_annotation(f.type) for f in fields(kind) if f.name in given} | {**checkers}
    return kind(name, **{key: checkers[key](x, f"{label}: {key}", where) for key, x in given.items()}, where=where)


def part_name(value: Any, what: str, where: str | None) -> str:
    """The name of a body, frame or joint, from itself or from the thing."""
    return check.text(getattr(value, "name", value), what, where)


def index(value: Any, what: str, where: str | None) -> int:
    n = counted(value)
    if n < 0:
        raise ModelError(f"{what} is not a count", expected="0, 1, 2 ...", got=check.shown(value), where=where)
    return n


def three(value: Any, what: str, where: str | None) -> Vector:
    """Three numbers, none negative; a single one stands for all three."""
    if is_list(value):
        x, y, z = (not_negative(x, what, where) for x in check.numbers(value, 3, what, where))
        return (x, y, z)
    return (not_negative(value, what, where),) * 3


def python_function(value: Any, what: str, where: str | None) -> Any:
    if not callable(value):
        raise ModelError(
            f"{what} cannot be called",
            expected="a Python function f(t, position, rotation, velocity, wrench)",
            got=check.shown(value),
            where=where,
        )
    return value


def flag(value: Any, what: str, where: str | None) -> bool:
    if not isinstance(value, bool):
        raise ModelError(f"{what} is neither true nor false", expected="true or false", got=value, where=where)
    return value


def one_of(*names: str) -> Checker:
    return lambda value, what, where: check.known(value, names, what, where)


def or_none(checker: Checker) -> Checker:
    return lambda value, what, where: None if value is None else checker(value, what, where)


_OF: dict[str, Checker] = {
    **{"str": part_name, "int": index, "bool": flag, "float": check.number, "Function": function},
    **{"Vector": check.vector, "Axis": check.axis, "Pose": check.pose, "Stiffnesses": three},
    **{"NotNegative": not_negative, "Positive": positive, "NotZero": not_zero, "PythonFunction": python_function},
}


def by_annotation(written: Any) -> Checker:
    """The check of a field whose annotation is written so."""
    plain = written.removesuffix(" | None")
    return _OF[plain] if plain == written else or_none(_OF[plain])


def no_jumps(f: functions.Function, label: str, where: str | None) -> None:
    """A joint cannot change its speed at once."""
    if isinstance(f, functions.Step) and f.rise == 0.0:
        got, hint = "a step without rise", "give the step a rise"
    elif isinstance(f, functions.Ramp) and (f.start > 0.0 or f.end is not None):
        got, hint = "a ramp with a start or an end", "a step with a rise, or a smooth table, starts and ends gently"
    elif isinstance(f, functions.Table) and not f.smooth:
        got, hint = "a table of straight lines", "smooth = true makes it a spline"
    else:
        return
    raise ModelError(
        f"{label}: position has a rate that jumps", expected="a smooth motion", got=got, where=where, hint=hint
    )
