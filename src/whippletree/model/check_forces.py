"""Every complaint about forces: of joints, on bodies, and as functions of time. The others are in check.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, nearest
from ..joints import KINDS, QUATERNIONS, listed
from ..modes.check import counted, is_list, moved
from . import check, functions, parts
from .check_flexible import body_names, one_place
from .forces import FORCE_KINDS, Bushing, Force, Motion, Motor, Spring
from .pose import Vector
from .renamed import current

if TYPE_CHECKING:
    from .model import Model

Checker = Callable[[Any, str, str | None], Any]  # of a value, what it is, and where it stands


def not_negative(value: Any, what: str, where: str | None = None) -> float:
    return check.number(value, what, low=0.0, where=where)


def positive(value: Any, what: str, where: str | None = None) -> float:
    x = check.number(value, what, where=where)
    if x <= 0.0:
        raise ModelError(f"{what} is too small", expected="a finite number > 0", got=x, where=where)
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
    """A part of this class with these parameters, each of them checked."""
    given = current(given, label, where)
    known_parameters(kind, given, label, ("name", "where"), where)
    return kind(name, **{key: checkers[key](x, f"{label}: {key}", where) for key, x in given.items()}, where=where)


def part_name(value: Any, what: str, where: str | None) -> str:
    """The name of a body, frame or joint, from itself or from the thing."""
    return check.text(getattr(value, "name", value), what, where)


def index(value: Any, what: str, where: str | None) -> int:
    n = counted(value)
    if n < 0:
        raise ModelError(f"{what} is not a count", expected="0, 1, 2 ...", got=check.shown(value), where=where)
    return n


def _three(value: Any, what: str, where: str | None) -> Vector:
    """Three numbers, none negative; a single one stands for all three."""
    if is_list(value):
        x, y, z = (not_negative(x, what, where) for x in check.numbers(value, 3, what, where))
        return (x, y, z)
    return (not_negative(value, what, where),) * 3


def _callable(value: Any, what: str, where: str | None) -> Any:
    if not callable(value):
        raise ModelError(
            f"{what} cannot be called",
            expected="a Python function f(t, position, rotation, velocity, wrench)",
            got=check.shown(value),
            where=where,
        )
    return value


def one_of(*names: str) -> Checker:
    return lambda value, what, where: check.known(value, names, what, where)


def or_none(checker: Checker) -> Checker:
    return lambda value, what, where: None if value is None else checker(value, what, where)


_DRIVE: dict[str, Checker] = {"joint": part_name, "dof": index}
BODIES: dict[str, Checker] = {"body": part_name, "to": part_name}
FIELDS: dict[str, dict[str, Checker]] = {
    "motor": _DRIVE
    | {"torque": function, "position": or_none(function), "velocity": or_none(function)}
    | {"kp": not_negative, "kd": not_negative, "limit": or_none(positive)},
    "motion": _DRIVE | {"position": function},
    "spring": BODIES
    | {"at": check.vector, "to_at": check.vector}
    | {"stiffness": not_negative, "damping": not_negative, "length": not_negative},
    "bushing": BODIES
    | {"at": check.pose, "to_at": check.pose}
    | {"stiffness": _three, "damping": _three, "rotational_stiffness": _three, "rotational_damping": _three},
    "wrench": {
        "body": part_name,
        "at": check.vector,
        "force": check.vector,
        "torque": check.vector,
        "axes": one_of("world", "body"),
        "factor": function,
    },
    "drag": {"body": part_name, "at": check.vector, "linear": not_negative, "quadratic": not_negative},
    "function": {"body": part_name, "at": check.vector, "function": _callable},
}
# of these one must be there, or the force does nothing
EFFECTS: dict[str, tuple[str, ...]] = {
    "spring": ("stiffness", "damping"),
    "bushing": ("stiffness", "damping", "rotational_stiffness", "rotational_damping"),
    "drag": ("linear", "quadratic"),
}


def force(name: str, kind: Any, parameters: Mapping[str, Any], where: str | None = None) -> Force:
    """The force of this kind with these parameters, each of them checked."""
    label = f"force '{name}'"
    check.known(kind, FORCE_KINDS, f"{label}: kind", where)
    made: Force = part(name, label, FORCE_KINDS[kind], FIELDS[kind], parameters, where)
    if isinstance(made, Motor) and made.kp and made.position is None:
        raise ModelError(
            f"{label}: kp needs a position",
            expected="a position to hold, or a velocity with kd",
            got=f"kp = {made.kp:g}, no position",
            where=where,
        )
    if isinstance(made, Motion):
        no_jumps(made.position, label, where)
    if isinstance(made, Spring | Bushing) and made.body == made.to:
        raise ModelError(f"{label} acts between '{made.to}' and itself", where=where, hint="body and to are two bodies")
    keys = EFFECTS.get(kind, ())
    if keys and not any(np.any(getattr(made, key)) for key in keys):
        raise ModelError(f"{label} does nothing", expected=" or ".join(keys) + " above 0", got="0", where=where)
    return made


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


def forces(model: Model) -> None:
    """What can only be seen when all parts are there: names, bodies, joints and DOF of forces."""
    taken, places = taken_names(model), carriers(model)
    driven: dict[tuple[str, int], Motor | Motion] = {}
    for f in model.forces.values():
        own_name(f, "force", taken, f"its outputs are named, as '{f.name}.force': give it a name of its own")
        if isinstance(f, Motor | Motion):
            _drive(model, f)
            _alone(f, driven)
        else:
            ends(f, "force", places)


def taken_names(model: Model) -> dict[str, str]:
    """Names that have outputs, or stand for a place, and what each is of."""
    taken = dict.fromkeys(body_names(model), "a body") | {parts.GROUND: "the ground"}
    return taken | dict.fromkeys(model.joints, "a joint") | dict.fromkeys(model.frames, "a frame")


def own_name(x: parts.Part, word: str, taken: Mapping[str, str], hint: str) -> None:
    if x.name in taken:
        raise ModelError(f"{word} '{x.name}' has the name of {taken[x.name]}", where=x.where, hint=hint)


def carriers(model: Model) -> dict[str, str]:
    """The bodies and frames, and the body or node that each stands on; an inboard node moves with its body's frame."""
    places = {name: one_place(model, name) for name in body_names(model)}
    return places | {x.name: places[x.body] for x in model.frames.values()}


def _drive(model: Model, f: Motor | Motion) -> None:
    label = f"force '{f.name}'"
    one_of_joint(model, f.joint, f.dof, f"{label}: joint", f"{label}: dof", f.where)
    if f.position is not None:
        hint = "a bushing pulls to a pose; velocity and kd hold a speed" if isinstance(f, Motor) else None
        plain_coordinates(model.joints[f.joint], f"{label}: position", f.where, hint)


def one_of_joint(model: Model, joint: str, dof: int, what: str, counted: str, where: str | None) -> None:
    """A joint that is there and has so many DOF."""
    check.known(joint, model.joints, what, where)
    kind = model.joints[joint].kind
    count = parts.JOINT_KINDS[kind][1]
    if dof >= count:
        raise ModelError(
            f"{counted} {dof} is not one of joint '{joint}' ({kind})",
            expected=f"0 to {count - 1}" if count > 1 else "0" if count else "a joint that moves",
            got=dof,
            where=where,
        )


def plain_coordinates(joint: parts.Joint, what: str, where: str | None, hint: str | None = None) -> None:
    """A joint with one coordinate for each DOF."""
    if joint.kind in QUATERNIONS:
        raise ModelError(
            f"{what} is not for a {joint.kind} joint, whose coordinates are not angles",
            expected=listed([name for name, kind in KINDS.items() if kind.nu and not kind.quaternion]),
            got=f"joint '{joint.name}' ({joint.kind})",
            where=where,
            hint=hint or "use joints of one degree of freedom each",
        )


def _alone(f: Motor | Motion, driven: dict[tuple[str, int], Motor | Motion]) -> None:
    """Motors add up; a motion has its DOF for itself."""
    other = driven.setdefault((f.joint, f.dof), f)
    if other is not f and isinstance(f, Motion) | isinstance(other, Motion):
        raise ModelError(
            f"force '{f.name}': dof {f.dof} of joint '{f.joint}' is driven by '{other.name}' already",
            expected="a motion alone, or motors",
            got=f"a {type(other).__name__.lower()} and a {type(f).__name__.lower()}",
            where=f.where,
        )


def ends(x: Any, word: str, places: Mapping[str, str]) -> None:
    """``places`` are the bodies and frames, and the body that each stands on."""
    named = {key: getattr(x, key) for key in ("body", "to") if hasattr(x, key)}
    for key, name in named.items():
        check.known(name, places, f"{word} '{x.name}': {key}", x.where)
    if len(named) == 2 and places[x.body] == places[x.to]:
        raise ModelError(
            f"{word} '{x.name}' acts between '{x.body}' and '{x.to}', which are on one body",
            where=x.where,
            hint="body and to are two bodies",
        )
