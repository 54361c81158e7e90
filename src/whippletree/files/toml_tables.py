"""The tables that a model file may have, and the keys of each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from ..model import CONSTRAINT_KINDS, FORCE_KINDS, Temporary, shapes
from ..model.pose import IDENTITY
from .toml_flexible import FORMS


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


class LimitsTable(Table):
    lower: Any = None
    upper: Any = None
    velocity: Any = None
    effort: Any = None
    stiffness: Any = 0.0
    damping: Any = 0.0


class JointTable(Table):
    kind: str
    parent: str
    child: str
    axis: Any = None
    axis2: Any = None
    at: Any = IDENTITY
    child_at: Any = IDENTITY
    pitch: Any = None
    armature: Any = 0.0
    stiffness: Any = 0.0
    rest: Any = 0.0
    damping: Any = 0.0
    friction: Any = 0.0
    friction_speed: Any = 0.01
    limits: LimitsTable | None = None


class FrameTable(Table):
    body: str
    at: Any = IDENTITY


class CouplingTable(Table):
    of: str
    ratio: Any = 1.0
    offset: Any = 0.0


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


def _shape_table(shape: Callable[..., Any]) -> type[Table]:
    """The arguments of a shape as a table: ``shape = "rod"`` beside them."""
    arguments = inspect.signature(shape).parameters.values()
    fields: dict[str, Any] = {p.name: (Any, ... if p.default is p.empty else p.default) for p in arguments}
    return create_model(f"{shape.__name__.title()}Table", __base__=Table, shape=(str, ...), **fields)


def _part_table(name: str, part: type, **more: Any) -> type[Table]:
    """The fields of a part as a table; of a force or constraint with ``kind`` beside them."""
    given = [f for f in fields(part) if f.name not in ("name", "where")]
    keys: dict[str, Any] = {f.name: (Any, ... if f.default is MISSING else f.default) for f in given}
    return create_model(f"{name.title()}Table", __base__=Table, **more, **keys)


def _kind_table(kind: str, part: type) -> type[Table]:
    return _part_table(kind, part, kind=(str, ...))


def _form_table(form: str, keys: dict[str, bool]) -> type[Table]:
    """A flexible body in one of its forms."""
    own: dict[str, Any] = {key: (Any, ... if needed else None) for key, needed in keys.items()} | {form: (str, ...)}
    return create_model(f"{form.title()}Table", __base__=Table, **own)


SHAPE_TABLES = {name: _shape_table(shape) for name, shape in SHAPES.items()}
FORCE_TABLES = {kind: _kind_table(kind, part) for kind, part in FORCE_KINDS.items() if kind != "function"}
FLEXIBLE_TABLES = {form: _form_table(form, keys) for form, keys in FORMS.items()}
TEMPORARY = _part_table("temporary", Temporary)
CONSTRAINT_TABLES = {kind: _kind_table(kind, part) for kind, part in CONSTRAINT_KINDS.items()}
