"""Units of what a sweep can change. Empty where a joint has DOF of several kinds."""

from __future__ import annotations

from typing import Any

from ..joints import KINDS
from ..model import Model, constraints, forces
from ..model.functions import Ramp, Sine, Step, Table
from ..result.columns import joint_quantity
from ..system.system import System

ROTATIONAL = {
    "stiffness": "N m/rad", "damping": "N m s/rad", "friction": "N m", "rest": "rad", "friction_speed": "rad/s",
    "armature": "kg m^2", "limits.lower": "rad", "limits.upper": "rad", "limits.velocity": "rad/s",
    "limits.effort": "N m", "limits.stiffness": "N m/rad", "limits.damping": "s/rad", "velocity": "rad/s",
    "position": "rad", "speed": "rad/s",
    "torque": "N m", "kp": "N m/rad", "kd": "N m s/rad", "limit": "N m", "offset": "rad",
}  # fmt: skip
# metres for radians, and forces for moments
SLIDING = {
    field: unit.replace("kg m^2", "kg").replace("N m", "N").replace("rad", "m") for field, unit in ROTATIONAL.items()
}
PARTS: dict[str, dict[str, str]] = {
    "Body": {"mass": "kg", "com": "m", "inertia": "kg m^2"},
    "Joint": {"at": "m", "child_at": "m", "pitch": "m/rad"},
    "Frame": {"at": "m"},
}
PARTS |= {kind.part.__name__: dict(kind.units) for kind in (*forces.TABLE, *constraints.TABLE)}
OF_FUNCTIONS = {"start": "s", "end": "s", "rise": "s", "frequency": "Hz", "phase": "rad"}
SETTINGS = {"step": "s", "alpha": "1/s", "beta": "1/s", "rtol": "1"}


def part_unit(model: Model, part: Any, path: tuple[str, ...]) -> str:
    """The unit of a field of a part, or of a number in it."""
    kind, field = type(part).__name__, path[0]
    known = PARTS.get(kind, {})
    if field in known:
        unit = known[field]
    elif kind == "Joint":
        dof = int(path[1]) if len(path) > 1 and path[1].isdigit() else None
        unit = _of_joint(part.kind, dof).get(".".join(path) if path[0] == "limits" else field, "")
    elif hasattr(part, "dof") or kind == "Coupling":
        unit = _of_joint(model.joints[part.joint].kind, getattr(part, "dof", 0)).get(field, "")
    else:
        unit = ""
    if not isinstance(getattr(part, field), Ramp | Step | Sine | Table):
        return unit
    return OF_FUNCTIONS.get(path[1], f"{unit}/s" if path[1] == "rate" and unit else unit)


def _of_joint(kind: str, dof: int | None) -> dict[str, str]:
    """Units along one DOF of a joint, or along all if they agree."""
    units = [unit for _, unit in KINDS[kind].rates]
    asked = set(units if dof is None else units[dof : dof + 1])
    return ROTATIONAL if asked == {"rad/s"} else SLIDING if asked == {"m/s"} else {}


def start_units(system: System, joint: str, letter: str) -> tuple[tuple[str, str], ...]:
    """(label, unit) of the numbers of a joint, or of the modes of a flexible body, in q, u or tau."""
    quantity = joint_quantity(system, joint, "q" if letter == "q" else "u")
    units = quantity.units
    if letter == "tau":
        units = tuple({"rad/s": "N m", "m/s": "N"}.get(unit, "") for unit in units)
    return tuple(zip(quantity.labels, units, strict=True))
