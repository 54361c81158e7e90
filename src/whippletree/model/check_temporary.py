"""Every complaint about constraints that are activated and released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from .check import known
from .check_constraints import flag
from .check_forces import Checker, not_negative, one_of, or_none, part, positive
from .constraints import Constraint, Distance, Latch, PointOnPlane, Relative, Roll, Speed
from .temporary import Temporary

if TYPE_CHECKING:
    from .model import Model

FIELDS: dict[str, Checker] = {"begins": one_of("open", "active"), "unilateral": flag, "here": flag}
FIELDS |= {"restitution": not_negative, "activate_at": or_none(not_negative), "release_at": or_none(not_negative)}
for _key in (
    "activate_within",
    "activate_below",
    "release_after",
    "release_force",
    "release_torque",
    "friction",
    "static_friction",
    "slips_at",
):
    FIELDS[_key] = or_none(positive)


def temporary(name: str, given: Mapping[str, Any], where: str | None = None) -> Temporary:
    """How the constraint of this name is activated and released, each parameter checked."""
    label = f"temporary '{name}'"
    made: Temporary = part(name, label, Temporary, FIELDS, given, where)
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
    contact = isinstance(c, PointOnPlane) or (isinstance(c, Roll) and c.slip == "none" and c.pivots)
    if x.friction is not None and not contact:
        raise ModelError(
            f"{label}: its constraint cannot stick and slip",
            expected="a point_on_plane, or a roll with slip = 'none' that pivots",
            got=f"{type(c).__name__} with slip = '{c.slip}'" if isinstance(c, Roll) else type(c).__name__,
            where=x.where,
        )
    if x.slips_at is not None and not isinstance(c, Speed):
        raise ModelError(
            f"{label}: only what couples velocities slips at a load",
            expected="a constraint of kind 'speed'",
            got=type(c).__name__,
            where=x.where,
            hint="a contact has friction instead; release_force and release_torque let go of others",
        )


def temporaries(model: Model) -> None:
    """What can only be seen when all parts are there."""
    for t in model.temporaries.values():
        label = f"temporary '{t.name}'"
        c = model.constraints[known(t.name, model.constraints, f"{label}: constraint", t.where)]
        if t.unilateral and not isinstance(c, Distance | PointOnPlane | Roll):
            raise ModelError(
                f"{label}: its constraint has no two sides",
                expected="a distance, point_on_plane or roll",
                got=type(c).__name__,
                where=t.where,
            )
        _can_slip(c, t, label)
        if t.here and not (isinstance(c, Latch) or (isinstance(c, Relative) and c.of is None)):
            raise ModelError(
                f"{label}: its constraint cannot hold what it finds",
                expected="a latch, or a relative without 'of', which locks a joint",
                got=type(c).__name__,
                where=t.where,
            )
