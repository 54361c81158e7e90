"""The writing half of TOML models: every number as the shortest text that reads back to the same bits."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..errors import ModelWarning
from ..joints import KINDS
from ..model import FUNCTION_KINDS, Body, Flexible, Force, Joint, Model, Pose, check, constraint_kind, force_kind
from ..model.kinds import annotated
from ..model.pose import IDENTITY
from .toml_flexible import table_of

# what makes the forces of a joint, and the defaults that are not written
PASSIVE = {"stiffness": 0.0, "rest": 0.0, "damping": 0.0, "friction": 0.0, "friction_speed": 0.01}


def dumps(model: Model, folder: str | os.PathLike[str] | None = None) -> str:
    """The model as TOML that :func:`toml.loads` reads back equal; mesh files inside ``folder`` get relative paths."""
    passive = "" if model.passive else "passive = false\n"
    tree = "" if model.tree == "chosen" else f"tree = {_text(model.tree)}\n"
    parts = [f"name = {_text(model.name)}\ngravity = {_numbers(model.gravity)}\n{passive}{tree}"]
    parts += [_body_text(body, folder) for body in model.bodies.values()]
    parts += [_flexible_text(flexible, folder) for flexible in model.flexibles.values()]
    parts += [_joint_text(joint) for joint in model.joints.values()]
    parts += [_table_text(f"[frames.{_key(f.name)}]", **_changed(f)) for f in model.frames.values()]
    for c in model.couplings.values():
        values = {"of": _text(c.of), "ratio": repr(c.ratio), "offset": repr(c.offset)}
        parts.append(_table_text(f"[couplings.{_key(c.joint)}]", **values))
    parts += [_force_text(force) for force in model.forces.values()]
    parts += [_of_kind("constraints", c, constraint_kind(c).name) for c in model.constraints.values()]
    parts += [_table_text(f"[temporary.{_key(t.name)}]", **_changed(t)) for t in model.temporaries.values()]
    left_out = [f"'{force.name}'" for force in model.forces.values() if annotated(force, "PythonFunction")]
    if left_out:
        text = f"{model.name}: a file holds no Python functions; left out: force {', '.join(left_out)}"
        warnings.warn(text, ModelWarning, stacklevel=3)
    return "\n".join(parts)


def _body_text(body: Body, folder: str | os.PathLike[str] | None) -> str:
    rows = body.inertia
    diagonal = all(rows[i][j] == 0.0 for i in range(3) for j in range(3) if i != j)
    inertia = _numbers([rows[i][i] for i in range(3)]) if diagonal else "[" + ", ".join(map(_numbers, rows)) + "]"
    table = _table_text(
        f"[bodies.{_key(body.name)}]",
        mass=repr(body.mass),
        com=_numbers(body.com) if any(body.com) else None,
        inertia=inertia if any(any(row) for row in rows) else None,
        idealized="true" if body.idealized else None,
    )
    for v in body.visuals:
        table += _table_text(
            f"[[bodies.{_key(body.name)}.visuals]]",
            shape=_text(v.shape),
            size=_numbers(v.size),
            at=_pose(v.at),
            color=None if v.color is None else _numbers(v.color),
            path=None if v.path is None else _text(_relative(v.path, folder)),
        )
    return table


def _flexible_text(flexible: Flexible, folder: str | os.PathLike[str] | None) -> str:
    table = table_of(flexible, lambda path: _relative(path, folder))
    return _table_text(f"[flexible.{_key(flexible.name)}]", **{key: _plain(value) for key, value in table.items()})


def _plain(value: Any) -> str:
    """Numbers, texts, lists and tables of them."""
    if isinstance(value, dict):
        return _inline({_key(str(key)): _plain(inner) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return _value(value)


def _joint_text(joint: Joint) -> str:
    limits = joint.limits
    return _table_text(
        f"[joints.{_key(joint.name)}]",
        kind=_text(joint.kind),
        parent=_text(joint.parent),
        child=_text(joint.child),
        axis=None if KINDS[joint.kind].axes == 0 else _axis(joint.axis),
        axis2=_axis(joint.axis2) if KINDS[joint.kind].axes == 2 else None,
        at=_pose(joint.at),
        child_at=_pose(joint.child_at),
        pitch=repr(joint.pitch) if "pitch" in KINDS[joint.kind].parameters else None,
        armature=repr(joint.armature) if joint.armature else None,
        **{key: _value(getattr(joint, key)) for key in PASSIVE if getattr(joint, key) != PASSIVE[key]},
        limits=None if limits is None else _inline(_changed(limits)),
        **{key: _plain(value) for key, value in joint.own.items()},
    )


def _force_text(force: Force) -> str:
    if annotated(force, "PythonFunction"):
        return f"# left out: force {_text(force.name)}, a Python function\n"
    return _of_kind("forces", force, force_kind(force).name)


def _of_kind(section: str, part: Any, kind: str) -> str:
    return _table_text(f"[{section}.{_key(part.name)}]", kind=_text(kind), **_changed(part))


def _changed(part: Any) -> dict[str, str]:
    """The fields of a dataclass that are not their defaults, as text."""
    given = {f.name: (getattr(part, f.name), f.default) for f in fields(part) if f.name not in ("name", "where")}
    return {key: _value(value) for key, (value, default) in given.items() if value != default}


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return _numbers(value)
    if isinstance(value, Pose):
        return _pose(value) or "[0.0, 0.0, 0.0]"
    function = next((kind for kind, made in FUNCTION_KINDS.items() if isinstance(value, made)), None)
    return repr(value) if function is None else _inline({"kind": _text(function)} | _changed(value))


def _inline(values: dict[str, str]) -> str:
    return "{" + ", ".join(f"{key} = {value}" for key, value in values.items()) + "}"


def _table_text(header: str, **values: str | None) -> str:
    return header + "\n" + "".join(f"{key} = {value}\n" for key, value in values.items() if value is not None)


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _numbers(values: Iterable[float]) -> str:
    return "[" + ", ".join(repr(float(x)) for x in values) + "]"


def _axis(axis: Sequence[float]) -> str:
    named = next((name for name, vector in check.AXES.items() if tuple(axis) == vector), None)
    return _text(named) if named else _numbers(axis)


def _pose(pose: Pose) -> str | None:
    if pose == IDENTITY:
        return None
    if pose.quaternion == IDENTITY.quaternion:
        return _numbers(pose.position)
    return f"{{position = {_numbers(pose.position)}, quaternion = {_numbers(pose.quaternion)}}}"


def _relative(path: str, folder: str | os.PathLike[str] | None) -> str:
    """Relative to the folder when the file is inside it, so that the folder can move."""
    if folder is None or "://" in path:
        return path
    absolute, top = Path(path).resolve(), Path(folder).resolve()
    return absolute.relative_to(top).as_posix() if absolute.is_relative_to(top) else str(absolute)
