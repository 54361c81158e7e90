"""The writing half of TOML models: every number as the shortest text that reads back to the same bits."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from ..model import Body, Coupling, Frame, Joint, Model, Pose, check
from ..model.pose import IDENTITY


def dumps(model: Model, folder: str | os.PathLike[str] | None = None) -> str:
    """The model as TOML that :func:`toml.loads` reads back equal; mesh files inside ``folder`` get relative paths."""
    parts = [f"name = {_text(model.name)}\ngravity = {_numbers(model.gravity)}\n"]
    parts += [_body_text(body, folder) for body in model.bodies.values()]
    parts += [_joint_text(joint) for joint in model.joints.values()]
    parts += [_frame_text(frame) for frame in model.frames.values()]
    parts += [_coupling_text(coupling) for coupling in model.couplings.values()]
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


def _joint_text(joint: Joint) -> str:
    limits = joint.limits
    given = {} if limits is None else {key: getattr(limits, key) for key in ("lower", "upper", "velocity", "effort")}
    inside = ", ".join(f"{key} = {value!r}" for key, value in given.items() if value is not None)
    return _table_text(
        f"[joints.{_key(joint.name)}]",
        kind=_text(joint.kind),
        parent=_text(joint.parent),
        child=_text(joint.child),
        axis=None if joint.kind in ("fixed", "spherical", "free") else _axis(joint.axis),
        axis2=_axis(joint.axis2) if joint.kind == "universal" else None,
        at=_pose(joint.at),
        child_at=_pose(joint.child_at),
        pitch=repr(joint.pitch) if joint.kind == "screw" else None,
        armature=repr(joint.armature) if joint.armature else None,
        damping=repr(joint.damping) if joint.damping else None,
        friction=repr(joint.friction) if joint.friction else None,
        limits=None if limits is None else f"{{{inside}}}",
    )


def _frame_text(frame: Frame) -> str:
    return _table_text(f"[frames.{_key(frame.name)}]", body=_text(frame.body), at=_pose(frame.at))


def _coupling_text(coupling: Coupling) -> str:
    values = {"ratio": repr(coupling.ratio), "offset": repr(coupling.offset)}
    return _table_text(f"[couplings.{_key(coupling.joint)}]", of=_text(coupling.of), **values)


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
