"""Every complaint about constraints that are activated and released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..joints import listed
from .check import known
from .check_forces import one_of, part
from .constraints import TABLE, Constraint, constraint_kind
from .temporary import Temporary

if TYPE_CHECKING:
    from .model import Model


def temporary(name: str, given: Mapping[str, Any], where: str | None = None) -> Temporary:
    """How the constraint of this name is activated and released, each parameter checked."""
    label = f"temporary '{name}'"
    made: Temporary = part(name, label, Temporary, {"begins": one_of("open", "active")}, given, where)
    if made.restitution > 1.0:
        raise ModelError(f"{label}: restitution is invalid", expected="0 to 1", got=made.restitution, where=where)
    if made.restitution and not made.unilateral:
        raise ModelError(
            f"{label}: restitution is for what is unilateral",
            where=where,
            hint="what holds both ways does not bounce; unilateral = true makes it a contact or a rope",
        )
    if made.activate_below is not None and made.activate_within is None:
        raise ModelError(
            f"{label}: activate_below needs activate_within", where=where, hint="how near must the two sides be?"
        )
    if made.unilateral and (made.activate_within is not None or made.here):
        raise ModelError(
            f"{label}: a unilateral constraint is activated when it is reached",
            where=where,
            hint="leave activate_within and here out",
        )
    _rubs(made, label)
    return made


def _rubs(x: Temporary, label: str) -> None:
    """What friction needs."""
    if x.friction is not None and not x.unilateral:
        raise ModelError(
            f"{label}: friction is for what is unilateral",
            where=x.where,
            hint="unilateral = true makes it a contact; a clutch or brake is a speed that slips_at a load",
        )
    if x.static_friction is not None and (x.friction is None or x.static_friction < x.friction):
        expected = "friction" if x.friction is None else f"at least the friction of what slips, {x.friction:g}"
        raise ModelError(
            f"{label}: static_friction is invalid", expected=expected, got=x.static_friction, where=x.where
        )


def _can_slip(c: Constraint, x: Temporary, label: str) -> None:
    """Whether a constraint is of a kind that friction knows."""
    kind = constraint_kind(c)
    if x.friction is not None and (kind.sticks is None or kind.sticks(c) is None):
        raise ModelError(
            f"{label}: its constraint cannot stick and slip",
            expected=", or ".join(row.sticks_if for row in TABLE if row.sticks),
            got=type(c).__name__ + (f" with slip = '{c.slip}'" if hasattr(c, "slip") else ""),
            where=x.where,
        )
    if x.slips_at is not None and not kind.velocities:
        raise ModelError(
            f"{label}: only what couples velocities slips at a load",
            expected="a constraint of kind " + " or ".join(f"'{row.name}'" for row in TABLE if row.velocities),
            got=type(c).__name__,
            where=x.where,
            hint="a contact has friction instead; release_force and release_torque let go of others",
        )


def temporaries(model: Model) -> None:
    """What can only be seen when all parts are there."""
    for t in model.temporaries.values():
        label = f"temporary '{t.name}'"
        c = model.constraints[known(t.name, model.constraints, f"{label}: constraint", t.where)]
        kind = constraint_kind(c)
        if t.unilateral and not kind.opens:
            raise ModelError(
                f"{label}: its constraint has no two sides",
                expected=listed([row.name for row in TABLE if row.opens]).removesuffix(" joint"),
                got=type(c).__name__,
                where=t.where,
            )
        _can_slip(c, t, label)
        if t.here and (not kind.here or getattr(c, "of", None) is not None):
            raise ModelError(
                f"{label}: its constraint cannot hold what it finds",
                expected=", or ".join(row.here_if for row in TABLE[::-1] if row.here),
                got=type(c).__name__,
                where=t.where,
            )
