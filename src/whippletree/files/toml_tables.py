"""The tables that a model file may have, and the keys of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from ..joints import KINDS
from ..model import CONSTRAINT_KINDS, FORCE_KINDS, Coupling, Frame, Joint, Limits, Temporary, shapes
from ..model.kinds import annotated
from ..model.pose import IDENTITY
from .toml_flexible import FORMS, arguments_of


class Table(BaseModel):
    """Pydantic checks which keys a table has and which of them are tables; values are checked by the Model."""

    model_config = ConfigDict(extra="forbid", strict=True)


class VisualTable(Table):
    shape: str
    size: Any = None
    at: Any = IDENTITY
    color: Any = None
    path: str | None = None


class BodyTable(Table):
    mass: Any
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = (0.0, 0.0, 0.0)
    idealized: bool = False
    visuals: list[VisualTable] = []


class FileTable(Table):
    name: str = "model"
    gravity: Any = (0.0, 0.0, -9.81)
    passive: bool = True
    tree: str = "chosen"
    bodies: dict[str, dict[str, Any]] = {}
    flexible: dict[str, dict[str, Any]] = {}
    joints: dict[str, dict[str, Any]] = {}
    frames: dict[str, dict[str, Any]] = {}
    couplings: dict[str, dict[str, Any]] = {}
    forces: dict[str, dict[str, Any]] = {}
    constraints: dict[str, dict[str, Any]] = {}
    temporary: dict[str, dict[str, Any]] = {}


SHAPES: dict[str, Callable[..., dict[str, Any]]] = {
    f.__name__: f for f in (shapes.point, shapes.rod, shapes.box, shapes.sphere, shapes.cylinder, shapes.mesh)
}


def _table(name: str, keys: dict[str, Any]) -> type[Table]:
    return create_model(f"{name.title()}Table", __base__=Table, **keys)


def _keys(needed: dict[str, bool]) -> dict[str, Any]:
    """Keys of any value, and whether a table needs them."""
    return {key: (Any, ... if must else None) for key, must in needed.items()}


def _fields(part: type, *hidden: str) -> dict[str, Any]:
    """The fields of a part as keys."""
    return _keys({f.name: f.default is MISSING for f in fields(part) if f.name not in ("name", "where", *hidden)})


TEXT = (str, ...)
KIND = {"kind": TEXT}
LimitsTable = _table("limits", _fields(Limits))
OWN = _keys({name: False for kind in KINDS.values() if kind.check is not None for name in kind.parameters})
JointTable = _table(
    "joint", _fields(Joint, "own") | OWN | KIND | {"parent": TEXT, "child": TEXT, "limits": (LimitsTable | None, None)}
)
FrameTable = _table("frame", _fields(Frame) | {"body": TEXT})
CouplingTable = _table("coupling", _fields(Coupling, "joint") | {"of": TEXT})
SHAPE_TABLES = {name: _table(name, {"shape": TEXT} | _keys(arguments_of(shape))) for name, shape in SHAPES.items()}
FORCE_TABLES = {k: _table(k, KIND | _fields(x)) for k, x in FORCE_KINDS.items() if not annotated(x, "PythonFunction")}
FLEXIBLE_TABLES = {form: _table(form, _keys(keys) | {form: TEXT}) for form, keys in FORMS.items()}
TEMPORARY = _table("temporary", _fields(Temporary))
CONSTRAINT_TABLES = {kind: _table(kind, KIND | _fields(part)) for kind, part in CONSTRAINT_KINDS.items()}
