"""Names, units and labels of everything a Result holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ModelError
from ..joints import KINDS
from ..model import Drive, Force, force_kind
from ..model.kinds import LOAD

if TYPE_CHECKING:
    from ..model import Model
    from ..system.system import System


# (label, unit) of each coordinate and each speed of a joint kind; one unlabelled entry is a plain number
class Quantity(NamedTuple):
    """What stands behind one name: the labels of its last axis, their units, and a sentence."""

    labels: tuple[str, ...]
    units: tuple[str, ...]
    long_name: str


def _number(unit: str, long_name: str) -> Quantity:
    return Quantity(("",), (unit,), long_name)


_WORLD = "world axes"
PLACES: dict[str, Quantity] = {
    "position": Quantity(("x", "y", "z"), ("m",) * 3, f"position of the origin, {_WORLD}"),
    "rotation": Quantity((), ("1",), f"rotation matrix; its columns are the axes of the body in {_WORLD}"),
    "velocity": Quantity(
        ("wx", "wy", "wz", "vx", "vy", "vz"),
        ("rad/s",) * 3 + ("m/s",) * 3,
        f"angular velocity and velocity of the origin, {_WORLD}",
    ),
}
TOTALS: dict[str, Quantity] = {
    "time": _number("s", "time"),
    "energy": _number("J", "total energy"),
    "energy.kinetic": _number("J", "kinetic energy"),
    "energy.potential": _number("J", "potential energy of gravity"),
    "energy.elastic": _number("J", "energy in springs, bushings, joint limits and flexible bodies"),
    "energy.work": _number("J", "work since the start of all forces that store no energy"),
    "energy.balance": _number("J", "energy less its start and the work: the error of integration"),
    "momentum": Quantity(
        ("Lx", "Ly", "Lz", "px", "py", "pz"),
        ("kg m^2/s",) * 3 + ("kg m/s",) * 3,
        f"angular momentum about the world origin and linear momentum, {_WORLD}",
    ),
}
ENERGIES = {"energy": "total"} | {f"energy.{part}": part for part in ("kinetic", "potential", "elastic")}
RESIDUAL = {"residual": _number("1", "bound of the relative error of accelerations, by their certificate")}
CLOSURE = {"closure": _number("m or rad", "largest violation of constraints; of velocity-level ones, m/s or rad/s")}


JOINT_LETTERS = ("q", "u", "udot")
CUT_LETTERS = ("q", "u")  # of a joint that closes a loop
_HOLD = f"torque and force that hold the second body, at the origin of the joint's frame on it, {_WORLD}"
REACTION = Quantity(LOAD["force"].labels, LOAD["force"].units, _HOLD)


def force_quantities(force: Force, model: Model) -> dict[str, Quantity]:
    """The outputs of a force of the model."""
    found = {name: Quantity(*output[1:]) for name, output in force_kind(force).outputs.items()}
    if isinstance(force, Drive) and KINDS[model.joints[force.joint].kind].rates[force.dof][1] != "rad/s":
        found["force"] = _number("N", "force along the axis")
    return found


def joint_quantity(system: System, joint: str, letter: str) -> Quantity:
    """The quantity of ``<joint>.q``, ``.u`` or ``.udot``; of a flexible body they are those of its modes, numbered."""
    kind, reported = system.joint_kind(joint), {"q": "coordinates", "u": "velocities", "udot": "accelerations"}[letter]
    if kind == "modes":
        rows = system.u_index(joint)
        count = rows.stop - rows.start
        labels = tuple(str(n) for n in range(1, count + 1)) if count > 1 else ("",)
        unit = {"q": "1", "u": "1/s", "udot": "1/s^2"}[letter]
        return Quantity(labels, (unit,) * len(labels), f"{reported} of the modes of a flexible body")
    entries = KINDS[kind].coordinates if letter == "q" else KINDS[kind].rates
    dot = "/s" if letter == "udot" else ""
    labels = tuple(label for label, _ in entries)
    units = tuple((unit + dot).replace("/s/s", "/s^2") for _, unit in entries)
    return Quantity(labels, units, f"{reported} of a {kind} joint: child relative to parent")


def column_names(system: System, letter: str) -> tuple[list[str], list[str]]:
    """Names ("hinge", "base.qw") and units of the columns of q, u or udot."""
    names: list[str] = []
    units: list[str] = []
    for joint in system.joints:
        quantity = joint_quantity(system, joint, letter)
        names += [f"{joint}.{label}" if label else joint for label in quantity.labels]
        units += quantity.units
    return names, units


def column(values: np.ndarray) -> np.ndarray:
    """(T,) where there is one number for each time."""
    return values[:, 0] if values.shape[1] == 1 else values


def shaped(value: Any, shape: tuple[int, ...], what: str, system: System) -> np.ndarray:
    """An array of this shape, or a complaint."""
    array = np.asarray(value, float)
    if array.shape != shape:
        raise ModelError(f"{what} of a result of '{system.name}' has the wrong shape", expected=shape, got=array.shape)
    return array
