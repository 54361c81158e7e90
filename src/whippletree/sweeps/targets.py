"""What a parameter of a sweep changes, found by its path: a number of the model, of the start, or a setting.

``bodies.crank.mass``, ``joints.hinge.damping``, ``joints.hinge.at.x``, ``forces.drive.torque.amplitude``, ``gravity``,
``q.hinge``, ``u.ball.wx``, ``tau.hinge``, ``rtol``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ModelError, nearest
from ..model.check import number
from ..model.numbers import ROOMS, Target, find_number, numbers_of, owner_of
from ..system.system import System
from .units import SETTINGS as SETTING_UNITS
from .units import part_unit, start_units

LETTERS = ("q", "u", "tau")
TEXTS = ("algorithm", "integrator", "stabilization")
SETTINGS = (*TEXTS, "alpha", "beta", "rtol", "atol", "step")


def find_targets(names: Iterable[str], system: System, takes: Sequence[str]) -> tuple[Target, ...]:
    """What each name stands for; ``takes`` are the arguments of the function that builds the model."""
    return tuple(_find(name, system, takes) for name in names)


def _find(name: str, system: System, takes: Sequence[str]) -> Target:
    room, _, rest = name.partition(".")
    if name in takes:
        return Target(name, "build", name, ())
    if name in SETTINGS:
        return Target(name, "setting", name, (), SETTING_UNITS.get(name, ""))
    if room in LETTERS and rest:
        return _start(name, room, rest, system)
    if found := find_number(name, system.model):
        part = getattr(system.model, room)[found.part] if room in ROOMS else None
        return found._replace(unit=part_unit(system.model, part, found.path) if part else "m/s^2")
    known = [
        *takes,
        *SETTINGS,
        *numbers_of(system.model),
        *(f"{x}.{joint}" for x in LETTERS for joint in system.joints),
    ]
    raise ModelError(
        f"parameter '{name}' is not known",
        expected="a path as bodies.NAME.mass, joints.NAME.damping, forces.NAME.stiffness, gravity, q.JOINT, u.JOINT, "
        "tau.JOINT, or " + ", ".join((*(f"'{t}' of the function" for t in takes), *SETTINGS)),
        hint=nearest(name, known),
    )


def _start(name: str, letter: str, rest: str, system: System) -> Target:
    joint = owner_of(rest, (*system.model.joints, *system.model.flexibles))
    if joint is None:
        raise ModelError(
            f"parameter '{name}': joint '{rest}' is not known", hint=nearest(rest.partition(".")[0], system.joints)
        )
    system.q_index(joint)  # complains about a joint that closes a loop
    entries = start_units(system, joint, letter)
    labels = [label for label, _ in entries]
    label = rest[len(joint) + 1 :]
    if label not in labels:
        raise ModelError(
            f"parameter '{name}' is not one number",
            expected=", ".join(f"{letter}.{joint}.{x}" for x in labels) if any(labels) else f"{letter}.{joint}",
            hint=nearest(label, labels) if label and any(labels) else None,
        )
    return Target(name, letter, joint, (str(labels.index(label)),), entries[labels.index(label)][1])


def started(system: System, start: Mapping[str, Any], changes: Mapping[Target, Any]) -> dict[str, Any]:
    """q, u and tau as :func:`simulate` takes them, arrays or dicts by joint, with these numbers in them."""
    given = dict(start)
    for target, value in changes.items():
        letter, joint, x = target.room, target.part, number(value, f"parameter '{target.name}'")
        now, k = given.get(letter), int(target.path[0])
        index = system.q_index if letter == "q" else system.u_index
        if callable(now):
            raise ModelError(f"parameter '{target.name}': tau is a function", hint="let the function do it")
        if now is not None and not isinstance(now, Mapping):
            given[letter] = whole = np.array(now, float)
            whole[index(joint).start + k] = x
            continue
        neutral = system.q0 if letter == "q" else np.zeros(system.nu)
        numbers = np.atleast_1d(np.array((now or {}).get(joint, neutral[index(joint)]), float))
        numbers[k] = x
        given[letter] = {**(now or {}), joint: numbers.tolist()}
    return given
