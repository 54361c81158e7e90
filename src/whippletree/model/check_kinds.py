"""Every complaint about forces and constraints, by the tables of their kinds: each by itself, and in the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..joints import KINDS, QUATERNIONS, listed
from . import parts
from .check import known
from .check_flexible import body_names, one_place
from .check_forces import part
from .constraints import TABLE as CONSTRAINTS
from .constraints import Between, Constraint, constraint_kind
from .forces import TABLE as FORCES
from .forces import Drive, Force, Motion, force_kind

if TYPE_CHECKING:
    from .model import Model


def _made(name: str, label: str, kind: Any, table: Any, given: Mapping[str, Any], where: str | None) -> Any:
    """The part of this kind with these parameters, each of them checked, and the row of its kind."""
    rows = {row.name: row for row in table}
    row = rows[known(kind, rows, f"{label}: kind", where)]
    made = part(name, label, row.part, row.checks, given, where)
    if hasattr(made, "to") and made.body == made.to:
        raise ModelError(f"{label} acts between '{made.to}' and itself", where=where, hint="body and to are two bodies")
    if row.check is not None:
        row.check(made, label)
    return made, row


def force(name: str, kind: Any, given: Mapping[str, Any], where: str | None = None) -> Force:
    """The force of this kind with these parameters, each of them checked."""
    label = f"force '{name}'"
    made, row = _made(name, label, kind, FORCES, given, where)
    if row.effects and not any(np.any(getattr(made, key)) for key in row.effects):
        raise ModelError(f"{label} does nothing", expected=" or ".join(row.effects) + " above 0", got="0", where=where)
    return made


def constraint(name: str, kind: Any, given: Mapping[str, Any], where: str | None = None) -> Constraint:
    """The constraint of this kind with these parameters, each of them checked."""
    label = f"constraint '{name}'"
    made, row = _made(name, label, kind, CONSTRAINTS, given, where)
    if row.element is not None:
        return made
    dof, of_dof = (getattr(made, key, 0) for key in ("dof", "of_dof"))
    if made.of is None and of_dof:
        raise ModelError(f"{label}: of_dof needs a joint 'of'", got=of_dof, where=where)
    # two DOF of one joint may be tied, as a thread does in a cylindrical joint; one to itself may not
    if made.joint == made.of and dof == of_dof:
        raise ModelError(
            f"{label} ties joint '{made.joint}' to itself", where=where, hint="joint and of are two joints"
        )
    return made


def forces(model: Model) -> None:
    """What can only be seen when all parts are there: names, bodies, joints and DOF of forces."""
    taken, places = _taken_names(model), _carriers(model)
    driven: dict[tuple[str, int], Drive] = {}
    for f in model.forces.values():
        _own_name(f, "force", taken, f"its outputs are named, as '{f.name}.force': give it a name of its own")
        if isinstance(f, Drive):
            _drive(model, f)
            _alone(f, driven)
        else:
            _ends(f, "force", places)


def constraints(model: Model) -> None:
    """What can only be seen when all parts are there: names, bodies, joints and DOF of constraints."""
    taken, places = _taken_names(model) | dict.fromkeys(model.forces, "a force"), _carriers(model)
    for c in model.constraints.values():
        _own_name(c, "constraint", taken, "its outputs are named: give it a name of its own")
        if isinstance(c, Between):
            _ends(c, "constraint", places)
            continue
        for key, dof in (("joint", "dof"), ("of", "of_dof")):
            kind = constraint_kind(c).joints.get(key)
            if kind is not None:
                _kind_of(model, c, key, kind)
            elif getattr(c, key) is not None:
                _dof(model, c, key, dof)


def _taken_names(model: Model) -> dict[str, str]:
    """Names that have outputs, or stand for a place, and what each is of."""
    taken = dict.fromkeys(body_names(model), "a body") | {parts.GROUND: "the ground"}
    return taken | dict.fromkeys(model.joints, "a joint") | dict.fromkeys(model.frames, "a frame")


def _own_name(x: parts.Part, word: str, taken: Mapping[str, str], hint: str) -> None:
    if x.name in taken:
        raise ModelError(f"{word} '{x.name}' has the name of {taken[x.name]}", where=x.where, hint=hint)


def _carriers(model: Model) -> dict[str, str]:
    """The bodies and frames, and the body or node that each stands on; an inboard node moves with its body's frame."""
    places = {name: one_place(model, name) for name in body_names(model)}
    return places | {x.name: places[x.body] for x in model.frames.values()}


def _drive(model: Model, f: Drive) -> None:
    label = f"force '{f.name}'"
    _one_of_joint(model, f.joint, f.dof, f"{label}: joint", f"{label}: dof", f.where)
    if f.position is not None:
        _plain_coordinates(model.joints[f.joint], f"{label}: position", f.where, force_kind(f).instead)


def _one_of_joint(model: Model, joint: str, dof: int, what: str, counted: str, where: str | None) -> None:
    """A joint that is there and has so many DOF."""
    known(joint, model.joints, what, where)
    kind = model.joints[joint].kind
    count = parts.JOINT_KINDS[kind][1]
    if dof >= count:
        raise ModelError(
            f"{counted} {dof} is not one of joint '{joint}' ({kind})",
            expected=f"0 to {count - 1}" if count > 1 else "0" if count else "a joint that moves",
            got=dof,
            where=where,
        )


def _plain_coordinates(joint: parts.Joint, what: str, where: str | None, hint: str | None = None) -> None:
    """A joint with one coordinate for each DOF."""
    if joint.kind in QUATERNIONS:
        raise ModelError(
            f"{what} is not for a {joint.kind} joint, whose coordinates are not angles",
            expected=listed([name for name, kind in KINDS.items() if kind.nu and not kind.quaternion]),
            got=f"joint '{joint.name}' ({joint.kind})",
            where=where,
            hint=hint or "use joints of one degree of freedom each",
        )


def _alone(f: Drive, driven: dict[tuple[str, int], Drive]) -> None:
    """Motors add up; a motion has its DOF for itself."""
    other = driven.setdefault((f.joint, f.dof), f)
    if other is not f and Motion in (type(f), type(other)):
        raise ModelError(
            f"force '{f.name}': dof {f.dof} of joint '{f.joint}' is driven by '{other.name}' already",
            expected="a motion alone, or motors",
            got=f"a {type(other).__name__.lower()} and a {type(f).__name__.lower()}",
            where=f.where,
        )


def _ends(x: Any, word: str, places: Mapping[str, str]) -> None:
    """``places`` are the bodies and frames, and the body that each stands on."""
    named = {key: getattr(x, key) for key in ("body", "to") if hasattr(x, key)}
    for key, name in named.items():
        known(name, places, f"{word} '{x.name}': {key}", x.where)
    if len(named) == 2 and places[x.body] == places[x.to]:
        raise ModelError(
            f"{word} '{x.name}' acts between '{x.body}' and '{x.to}', which are on one body",
            where=x.where,
            hint="body and to are two bodies",
        )


def _dof(model: Model, c: Any, key: str, dof: str) -> None:
    label, name = f"constraint '{c.name}'", getattr(c, key)
    _one_of_joint(model, name, getattr(c, dof), f"{label}: {key}", f"{label}: {dof}", c.where)
    if not constraint_kind(c).velocities:
        _plain_coordinates(model.joints[name], f"{label}: {key}", c.where)


def _kind_of(model: Model, c: Any, key: str, kind: str) -> None:
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
