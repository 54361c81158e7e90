"""What a parameter of a sweep changes, found by its path: a number of the model, of the start, or a setting.

``bodies.crank.mass``, ``joints.hinge.damping``, ``joints.hinge.at.x``, ``forces.drive.torque.amplitude``, ``gravity``,
``q.hinge``, ``u.ball.wx``, ``tau.hinge``, ``rtol``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, nearest
from ..joints import KINDS
from ..model import CONSTRAINT_KINDS, FORCE_KINDS, JOINT_KINDS, Limits, Model, Pose
from ..model.check import number
from ..system.system import System
from .units import SETTINGS as SETTING_UNITS
from .units import part_unit, start_units

ROOMS = ("bodies", "joints", "frames", "couplings", "forces", "constraints")
LETTERS = ("q", "u", "tau")
TEXTS = ("algorithm", "integrator", "stabilization")
SETTINGS = (*TEXTS, "alpha", "beta", "rtol", "atol", "step")
XYZ = ("x", "y", "z")
TENSOR = tuple(a + b for a in XYZ for b in XYZ)
DIRECTIONS = ("axis", "axis2")  # of which no single number can be set


class Target(NamedTuple):
    """Where a value goes. ``room`` is "build", "setting", "gravity", a letter of the start, or one of ROOMS."""

    name: str  # as the user wrote it
    room: str
    part: str  # of the model, or a joint; or the setting
    path: tuple[str, ...]  # within the part
    unit: str = ""

    @property
    def of_model(self) -> bool:
        return self.room in (*ROOMS, "gravity")


def find_targets(names: Iterable[str], system: System, takes: Sequence[str]) -> tuple[Target, ...]:
    """What each name stands for; ``takes`` are the arguments of the function that builds the model."""
    return tuple(_find(name, system, takes) for name in names)


def _find(name: str, system: System, takes: Sequence[str]) -> Target:
    room, _, rest = name.partition(".")
    if name in takes:
        return Target(name, "build", name, ())
    if name in SETTINGS:
        return Target(name, "setting", name, (), SETTING_UNITS.get(name, ""))
    if room == "gravity" and rest in ("", *XYZ):
        return _gravity(name, rest, system.model)
    if room in LETTERS and rest:
        return _start(name, room, rest, system)
    if room in ROOMS and rest:
        return _part(name, room, rest, system.model)
    known = [*takes, *SETTINGS, "gravity", *_paths(system)]
    raise ModelError(
        f"parameter '{name}' is not known",
        expected="a path as bodies.NAME.mass, joints.NAME.damping, forces.NAME.stiffness, gravity, q.JOINT, u.JOINT, "
        "tau.JOINT, or " + ", ".join((*(f"'{t}' of the function" for t in takes), *SETTINGS)),
        hint=nearest(name, known),
    )


def _paths(system: System) -> list[str]:
    model = system.model
    parts = [
        ".".join((room, name, *leaf))
        for room in ROOMS
        for name, p in getattr(model, room).items()
        for leaf in leaves(p)
    ]
    return parts + [f"{letter}.{joint}" for letter in LETTERS for joint in system.joints]


def _owner(rest: str, names: Iterable[str]) -> str | None:
    """The name that a path begins with: the longest, since names may have dots."""
    return max((n for n in names if rest == n or rest.startswith(n + ".")), key=len, default=None)


def _gravity(name: str, axis: str, model: Model) -> Target:
    if not axis and not any(model.gravity):
        raise ModelError(
            f"parameter 'gravity' has no direction in '{model.name}'", hint="set gravity.x, gravity.y or gravity.z"
        )
    return Target(name, "gravity", "", (axis,) if axis else (), "m/s^2")


def _start(name: str, letter: str, rest: str, system: System) -> Target:
    joint = _owner(rest, (*system.model.joints, *system.model.flexibles))
    if joint is None:
        raise ModelError(
            f"parameter '{name}': joint '{rest}' is not known", hint=nearest(rest.partition(".")[0], system.joints)
        )
    system.q_index(joint)  # complains about a joint that closes a loop
    entries = start_units(system, joint, letter)
    labels = [label for label, _ in entries]
    label = rest[len(joint) + 1 :]
    if label not in labels:
        raise ModelError(
            f"parameter '{name}' is not one number",
            expected=", ".join(f"{letter}.{joint}.{x}" for x in labels) if any(labels) else f"{letter}.{joint}",
            hint=nearest(label, labels) if label and any(labels) else None,
        )
    return Target(name, letter, joint, (str(labels.index(label)),), entries[labels.index(label)][1])


def _part(name: str, room: str, rest: str, model: Model) -> Target:
    parts: Mapping[str, Any] = getattr(model, room)
    owner = _owner(rest, parts)
    if owner is None:
        asked = rest.partition(".")[0]
        raise ModelError(f"parameter '{name}': there is no '{asked}' in {room}", hint=nearest(asked, parts))
    path = tuple(rest[len(owner) + 1 :].split("."))
    known = list(leaves(parts[owner]))
    if path not in known:
        texts = [".".join(leaf) for leaf in known]
        raise ModelError(
            f"parameter '{name}': '{'.'.join(path)}' is no number of {room}.{owner}",
            expected="one of " + ", ".join(texts),
            hint=nearest(".".join(path), texts) if len(texts) > 12 else None,
        )
    return Target(name, room, owner, path, part_unit(model, parts[owner], path))


# ---------------------------------------------------------------- numbers in a part


def leaves(part: Any) -> Iterable[tuple[str, ...]]:
    """Paths of all numbers of a part that can be set."""
    for f in fields(part):
        if f.name in DIRECTIONS:
            continue
        for rest in _inside(part, str(f.type), getattr(part, f.name)):
            yield (f.name, *rest)


def _inside(part: Any, declared: str, value: Any) -> Iterable[tuple[str, ...]]:
    kind = declared.removesuffix(" | None")
    if kind == "float" or (kind == "Function" and not is_dataclass(value)):
        return [()]
    if kind == "Function":
        return [leaf for leaf in leaves(value) if len(leaf) == 1]
    if kind in ("Vector", "Pose"):
        return [(axis,) for axis in XYZ]
    if kind == "tuple[Vector, Vector, Vector]":
        return [(entry,) for entry in TENSOR]
    if kind == "Limits":
        return leaves(value or Limits())
    if kind == "PerFreedom":
        count = JOINT_KINDS[part.kind][1]
        return [(), *((str(k),) for k in range(count) if count > 1)]
    return []


def _put(part: Any, path: tuple[str, ...], x: float) -> Any:
    """The part with another number at a path."""
    field, rest = path[0], path[1:]
    value = getattr(part, field)
    if value is None and field == "limits":
        value = Limits()
    if not rest:
        new: Any = x
    elif isinstance(value, Pose):
        new = Pose(_with(value.position, XYZ.index(rest[0]), x), value.quaternion)
    elif is_dataclass(value):
        new = _put(value, rest, x)
    elif rest[0] in TENSOR:
        rows = [list(row) for row in value]
        i, j = divmod(TENSOR.index(rest[0]), 3)
        rows[i][j] = rows[j][i] = x
        new = tuple(tuple(row) for row in rows)
    elif rest[0] in XYZ:
        new = _with(value, XYZ.index(rest[0]), x)
    else:  # one freedom of several
        each = value if isinstance(value, tuple) else (value,) * JOINT_KINDS[part.kind][1]
        new = _with(each, int(rest[0]), x)
    return replace(part, **{field: new})


def _with(values: Any, at: int, x: float) -> Any:
    return tuple(x if k == at else old for k, old in enumerate(values))


# ---------------------------------------------------------------- a model with other numbers


def changed(model: Model, changes: Mapping[Target, Any]) -> Model:
    """The model with these numbers; each part that changes is checked as if it were written so."""
    new, parts = copy(model), dict[tuple[str, str], Any]()
    for target, value in changes.items():
        x = number(value, f"parameter '{target.name}'")
        if target.room == "gravity":
            new.gravity = _pulled(new.gravity, target.path, x)
        else:
            key = target.room, target.part
            parts[key] = _put(parts.get(key) or getattr(model, target.room)[target.part], target.path, x)
    for (room, name), part in parts.items():
        setattr(new, room, getattr(new, room) | {name: _checked(room, part)})
    return new


def _pulled(gravity: Sequence[float], path: tuple[str, ...], x: float) -> Any:
    if path:
        return _with(gravity, XYZ.index(path[0]), x)
    return tuple((np.array(gravity) * (x / math.hypot(*gravity))).tolist())


def _checked(room: str, part: Any) -> Any:
    """The part as :class:`Model` makes it, with all its complaints."""
    alone = Model("part")
    given = {f.name: getattr(part, f.name) for f in fields(part)}
    if room == "joints":
        given |= given.pop("own")
        takes = KINDS[part.kind].axes
        given |= {key: None for key, least in (("axis", 1), ("axis2", 2)) if takes < least}
    plain: dict[str, Any] = {"bodies": alone.body, "joints": alone.joint, "frames": alone.frame}
    plain["couplings"] = alone.couple
    if room in plain:
        return plain[room](**given)
    kinds, make = (FORCE_KINDS, alone.force) if room == "forces" else (CONSTRAINT_KINDS, alone.constraint)
    kind = next(kind for kind, made in kinds.items() if isinstance(part, made))
    new = {f.name: given[f.name] for f in fields(part) if f.name != "name" and given[f.name] != f.default}
    return make(part.name, kind, **new | {"where": part.where})


# ---------------------------------------------------------------- a start with other numbers


def started(system: System, start: Mapping[str, Any], changes: Mapping[Target, Any]) -> dict[str, Any]:
    """q, u and tau as :func:`simulate` takes them, arrays or dicts by joint, with these numbers in them."""
    given = dict(start)
    for target, value in changes.items():
        letter, joint, x = target.room, target.part, number(value, f"parameter '{target.name}'")
        now, k = given.get(letter), int(target.path[0])
        index = system.q_index if letter == "q" else system.u_index
        if callable(now):
            raise ModelError(f"parameter '{target.name}': tau is a function", hint="let the function do it")
        if now is not None and not isinstance(now, Mapping):
            given[letter] = whole = np.array(now, float)
            whole[index(joint).start + k] = x
            continue
        neutral = system.q0 if letter == "q" else np.zeros(system.nu)
        numbers = np.atleast_1d(np.array((now or {}).get(joint, neutral[index(joint)]), float))
        numbers[k] = x
        given[letter] = {**(now or {}), joint: numbers.tolist()}
    return given
