"""Complaints about flexible bodies, and the names that they add to those of bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..modes import Modes

if TYPE_CHECKING:
    from .model import Model


def modes(value: Any, label: str, where: str | None = None) -> Modes:
    """Modes whose frame is fixed to a node, as a body needs them."""
    if not isinstance(value, Modes):
        raise ModelError(
            f"{label}: modes are missing",
            expected="Modes, as wt.beam(...).modes(...) makes them",
            got=repr(value)[:80],
            where=where,
        )
    if not value.inboard:
        raise ModelError(
            f"{label}: the frame of the modes floats",
            expected="modes with an inboard node",
            got=f"{value.kind} modes of no node",
            where=where,
            hint="modes.referenced(to=...) fixes the frame to a node",
        )
    return value


def body_names(model: Model) -> dict[str, str]:
    """All that can carry something, in order, and whose it is: ground, bodies, flexible bodies and their nodes."""
    owners = {name: name for name in ("ground", *model.bodies, *model.flexibles)}
    for flexible in model.flexibles.values():
        for name in flexible.node_names:
            if name in owners:
                raise ModelError(
                    f"body '{name}' has the name of a node of '{flexible.name}'",
                    where=model.bodies[name].where if name in model.bodies else model.flexibles[name].where,
                    hint="give each a name of its own",
                )
            owners[name] = flexible.name
    return owners


def one_place(model: Model, name: str) -> str:
    """The body or node that a name means: the inboard node of a flexible body moves with its frame."""
    if not model.flexibles:
        return name
    body, _, node = name.rpartition("/")
    flexible = model.flexibles.get(body)
    return body if flexible is not None and node == flexible.modes.inboard else name
