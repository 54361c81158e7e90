"""Contacts at which a run stops that needs ever shorter steps: points of contact that are not defined, and changes that
accumulate.

A wheel with the unit vectors a along its axle and n normal to the surface touches below its centre along
m = (n - (n.a) a) / |..|, which is not defined where it lies flat, |n x a| = 0: before, the point of contact runs around
the rim ever faster. A ball on a sphere has no normal at the centre of that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dynamics.kinematics import kinematics
from ...errors import SimulationError
from ...result.records import Change
from ...system.system import System

FLAT = 1e-3  # rad: steps become too short before a wheel lies flat
NEAR = 1e-6  # m, from the centre of a sphere
MANY, RECENT = 10, 1e-3  # changes in that share of the run


def stopped_at(system: System, changes: Sequence[Change], t: float, q: np.ndarray, what: str) -> SimulationError | None:
    """The error that names the contact at which the motion of a system stops at t, pose q, if there is one."""
    rolling: dict[str, Any] = {name: c for name, c in system.held.items() if hasattr(c, "radius")}
    for name, c in rolling.items():
        k = kinematics(system, q)
        R = k.rotation(c.to) @ c.to_at.rotation()
        there = k.position(c.to) + k.rotation(c.to) @ np.array(c.to_at.position)
        d = k.position(c.body) + k.rotation(c.body) @ np.array(c.at) - there
        lean = 1.0
        if c.axis is not None:
            a = k.rotation(c.body) @ np.array(c.axis, float)
            n = d / max(float(np.linalg.norm(d)), 1e-300) if c.on == "sphere" else R[:, 2]
            lean = float(np.linalg.norm(np.cross(n, a / np.linalg.norm(a))))
        if lean < FLAT or (c.on == "sphere" and np.linalg.norm(d) < NEAR):
            return SimulationError(
                f"the motion of '{system.name}' {what} at t = {t:.6g} s: '{name}' has no point of contact there",
                expected="a wheel that stands on its rim, or a ball off the centre of what it rolls on",
                got=f"the wheel of '{c.body}' lies flat but for {lean:.2g} rad" if lean < FLAT else "the centre",
                hint="stop the run before that by an event, or let points of the rim touch (point_on_plane)",
            )
    begin = t - RECENT * t
    recent = [c for c in changes[-200:] if c.t >= begin]
    if len(recent) < MANY:
        return None
    names = ", ".join(f"'{name}'" for name in dict.fromkeys(c.name for c in recent))
    return SimulationError(
        f"the motion of '{system.name}' {what} at t = {t:.6g} s, where changes accumulate: {names}",
        got=f"{len(recent)} changes from t = {recent[0].t:.9g} s on",
        hint="impacts and slips that follow each other ever faster: give contacts less restitution, or a spring and a "
        "damper in place of one of them, or stop the run before that",
    )
