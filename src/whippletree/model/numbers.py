"""Numbers of a model by their paths, and a model with other numbers.

``bodies.crank.mass``, ``joints.hinge.damping``, ``joints.hinge.at.x``, ``forces.drive.torque.amplitude``, ``gravity``.
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
from . import renamed
from .check import number
from .constraints import constraint_kind
from .forces import force_kind
from .kinds import FLOATS
from .model import Model
from .parts import JOINT_KINDS, Limits
from .pose import Pose

ROOMS = ("bodies", "joints", "frames", "couplings", "forces", "constraints")
XYZ = ("x", "y", "z")
TENSOR = tuple(a + b for a in XYZ for b in XYZ)
DIRECTIONS = ("axis", "axis2")  # of which no single number can be set


class Target(NamedTuple):
    """Where a value goes: ``room`` is "gravity" or one of ROOMS; of a sweep also "build", "setting" or a letter."""

    name: str  # as the user wrote it
    room: str
    part: str  # of the model, or a joint; or the setting
    path: tuple[str, ...]  # within the part
    unit: str = ""

    @property
    def of_model(self) -> bool:
        return self.room in (*ROOMS, "gravity")


def find_number(name: str, model: Model) -> Target | None:
    """What a path stands for; None if it does not begin as one."""
    room, _, rest = name.partition(".")
    if room == "gravity" and rest in ("", *XYZ):
        return _gravity(name, rest, model)
    return _part(name, room, rest, model) if room in ROOMS and rest else None


def numbers_of(model: Model) -> list[str]:
    """Paths of all numbers that can be set."""
    paths = (
        ".".join((room, name, *leaf))
        for room in ROOMS
        for name, part in getattr(model, room).items()
        for leaf in leaves(part)
    )
    return ["gravity", *paths]


def owner_of(rest: str, names: Iterable[str]) -> str | None:
    """The name that a path begins with: the longest, since names may have dots."""
    return max((n for n in names if rest == n or rest.startswith(n + ".")), key=len, default=None)


def _gravity(name: str, axis: str, model: Model) -> Target:
    if not axis and not any(model.gravity):
        raise ModelError(
            f"parameter 'gravity' has no direction in '{model.name}'", hint="set gravity.x, gravity.y or gravity.z"
        )
    return Target(name, "gravity", "", (axis,) if axis else (), "m/s^2")


def _part(name: str, room: str, rest: str, model: Model) -> Target:
    parts: Mapping[str, Any] = getattr(model, room)
    owner = owner_of(rest, parts)
    if owner is None:
        asked = rest.partition(".")[0]
        raise ModelError(f"parameter '{name}': there is no '{asked}' in {room}", hint=nearest(asked, parts))
    path = tuple(rest[len(owner) + 1 :].split("."))
    known = list(leaves(parts[owner]))
    if path not in known and renamed.KEYS.get(path[0]) in {leaf[0] for leaf in known}:
        path = (renamed.word(path[0], renamed.KEYS, f"parameter '{name}'"), *path[1:])
    if path not in known:
        texts = [".".join(leaf) for leaf in known]
        raise ModelError(
            f"parameter '{name}': '{'.'.join(path)}' is no number of {room}.{owner}",
            expected="one of " + ", ".join(texts),
            hint=nearest(".".join(path), texts) if len(texts) > 12 else None,
        )
    return Target(name, room, owner, path)


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
    if kind in FLOATS or (kind == "Function" and not is_dataclass(value)):
        return [()]
    if kind == "Function":
        return [leaf for leaf in leaves(value) if len(leaf) == 1]
    if kind in ("Vector", "Stiffnesses", "Pose"):
        return [(axis,) for axis in XYZ]
    if kind == "tuple[Vector, Vector, Vector]":
        return [(entry,) for entry in TENSOR]
    if kind == "Limits":
        return leaves(value or Limits())
    if kind == "PerDof":
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
    else:  # one DOF of several
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
    kind, make = (force_kind, alone.force) if room == "forces" else (constraint_kind, alone.constraint)
    new = {f.name: given[f.name] for f in fields(part) if f.name != "name" and given[f.name] != f.default}
    return make(part.name, kind(part).name, **new | {"where": part.where})
