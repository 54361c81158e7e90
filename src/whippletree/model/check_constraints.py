"""Every complaint about constraints. The others are in check.py and check_forces.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..joints import HINGE, KINDS, SLIDE
from . import check_forces as checks
from .check import axes, axis, known, number, pose, vector
from .constraints import CONSTRAINT_KINDS, Between, Constraint, Gear, Latch, Rack, Relative, Roll, Speed
from .functions import Step

if TYPE_CHECKING:
    from .model import Model


def _not_zero(value: Any, what: str, where: str | None) -> float:
    x = number(value, what, where=where)
    if x == 0.0:
        raise ModelError(
            f"{what} is zero",
            expected="a number other than 0",
            got=x,
            where=where,
            hint="a constraint of kind 'relative' without 'of' holds a joint where it is",
        )
    return x


def flag(value: Any, what: str, where: str | None) -> bool:
    if not isinstance(value, bool):
        raise ModelError(f"{what} is neither true nor false", expected="true or false", got=value, where=where)
    return value


LATCHES = [name for name, kind in KINDS.items() if kind.holds not in (None, (0, 0)) and not kind.parameters]
_LINK: dict[str, checks.Checker] = checks.BODIES | {"at": vector}
_PAIR: dict[str, checks.Checker] = {"joint": checks.part_name, "of": checks.part_name, "offset": number}
_DOFS: dict[str, checks.Checker] = {"dof": checks.index, "of_dof": checks.index}
FIELDS: dict[str, dict[str, checks.Checker]] = {
    "distance": _LINK | {"to_at": vector, "length": checks.positive},
    "point_on_line": _LINK | {"to_at": pose},
    "point_on_plane": _LINK | {"to_at": pose},
    "gear": _PAIR | _DOFS | {"ratio": _not_zero},
    "rack": _PAIR | {"radius": _not_zero},
    "roll": _LINK
    | {
        "radius": checks.not_negative,
        "axis": checks.or_none(axis),
        "tyre": checks.not_negative,
        "to_at": pose,
        "to_radius": number,
    }
    | {"on": checks.one_of("plane", "line", "sphere"), "slip": checks.one_of("none", "side", "all"), "pivots": flag},
    "latch": checks.BODIES | {"at": pose, "to_at": pose, "joint": checks.one_of(*LATCHES), "axis": axis, "axis2": axis},
    "knife_edge": checks.BODIES | {"at": pose},
    "speed": _DOFS
    | {"joint": checks.part_name, "of": checks.or_none(checks.part_name), "ratio": _not_zero, "speed": checks.function},
    "relative": _DOFS
    | {"joint": checks.part_name, "of": checks.or_none(checks.part_name), "position": checks.function},
}


def constraint(name: str, kind: Any, given: Mapping[str, Any], where: str | None = None) -> Constraint:
    """The constraint of this kind with these parameters, each of them checked."""
    label = f"constraint '{name}'"
    known(kind, CONSTRAINT_KINDS, f"{label}: kind", where)
    made: Constraint = checks.part(name, label, CONSTRAINT_KINDS[kind], FIELDS[kind], given, where)
    if isinstance(made, Between):
        if made.body == made.to:
            raise ModelError(
                f"{label} acts between '{made.to}' and itself", where=where, hint="body and to are two bodies"
            )
        if isinstance(made, Roll):
            _rolls(made, label)
        if isinstance(made, Latch) and KINDS[made.joint].axes == 2:
            axes(made.joint, made.axis, made.axis2, label, where)
        return made
    if isinstance(made, Relative):
        checks.no_jumps(made.position, label, where)
    if isinstance(made, Speed) and isinstance(made.speed, Step) and made.speed.rise == 0.0:
        raise ModelError(
            f"{label}: speed jumps",
            expected="a speed that masses can follow",
            got="a step without rise",
            where=where,
            hint="give the step a rise",
        )
    if isinstance(made, Relative | Speed) and made.of is None and made.of_dof:
        raise ModelError(f"{label}: of_dof needs a joint 'of'", got=made.of_dof, where=where)
    # two DOF of one joint may be tied, as a thread does in a cylindrical joint; one to itself may not
    if made.joint == made.of and (isinstance(made, Rack) or made.dof == made.of_dof):
        raise ModelError(
            f"{label} ties joint '{made.joint}' to itself", where=where, hint="joint and of are two joints"
        )
    return made


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


def constraints(model: Model) -> None:
    """What can only be seen when all parts are there: names, bodies, joints and DOF of constraints."""
    taken, places = checks.taken_names(model) | dict.fromkeys(model.forces, "a force"), checks.carriers(model)
    for c in model.constraints.values():
        checks.own_name(c, "constraint", taken, "its outputs are named: give it a name of its own")
        if isinstance(c, Between):
            checks.ends(c, "constraint", places)
        elif isinstance(c, Rack):
            _kind_of(model, c, "joint", SLIDE)
            _kind_of(model, c, "of", HINGE)
        else:
            _dof(model, c, "joint", "dof")
            if c.of is not None:
                _dof(model, c, "of", "of_dof")


def _dof(model: Model, c: Gear | Relative | Speed, key: str, dof: str) -> None:
    label, name = f"constraint '{c.name}'", getattr(c, key)
    checks.one_of_joint(model, name, getattr(c, dof), f"{label}: {key}", f"{label}: {dof}", c.where)
    if not isinstance(c, Speed):
        checks.plain_coordinates(model.joints[name], f"{label}: {key}", c.where)


def _kind_of(model: Model, c: Rack, key: str, kind: str) -> None:
    name = known(getattr(c, key), model.joints, f"constraint '{c.name}': {key}", c.where)
    got = model.joints[name].kind
    if got != kind:
        raise ModelError(
            f"constraint '{c.name}': {key} '{name}' is not a {kind} joint",
            expected=f"a {kind} joint",
            got=got,
            where=c.where,
            hint="a gear ties degrees of freedom of other joints",
        )
