"""Validation problem P10: a beam alone, on a hub, and turning."""

from __future__ import annotations

from typing import Any

from whippletree.model import Model, Ramp
from whippletree.modes import Modes, beam

# EI = 14000 N m^2, EA = 2.8e7 N, rho A = 1.2 kg/m
P10_BEAM: dict[str, Any] = {
    "A": 1e-3, "Iy": 5e-7, "Iz": 5e-7, "J": 1e-6, "E": 2.8e10, "rho": 1200.0, "rotary": False,
}  # fmt: skip
LENGTH = 10.0  # m
UNIT = (1.2 * LENGTH**4 / 14000.0) ** 0.5  # s: frequencies of tables are in its inverse


def p10(count: int, fidelity: str = "full", plane: str = "bending_y", **more: Any) -> Modes:
    """The beam's lowest clamped modes in one plane."""
    return beam(LENGTH, **(P10_BEAM | more), deforms=[plane]).modes(count=count, fidelity=fidelity)


def hub_and_beam(count: int, *, tip: float = 0.0, **modes: Any) -> Model:
    """A hub that turns about z, and a beam clamped to it at its axis, perhaps with a mass at the tip."""
    m = Model("hub and beam", gravity=(0, 0, 0))
    m.body("hub", mass=1.0, inertia=(50.0,) * 3)
    m.joint("pivot", "revolute", m.ground, "hub", axis="z")
    m.flexible("arm", p10(count, **modes))
    m.joint("root", "fixed", "hub", "arm")
    m.frame("end", "arm/tip")
    if tip:
        m.body("load", mass=tip, inertia=(1e-9,) * 3)
        m.joint("grip", "fixed", "arm/tip", "load")
    return m


def turned_at(speed: float, count: int, fidelity: str, plane: str) -> Model:
    """A beam whose root turns about z, always at the same speed (rad/s)."""
    m = Model("rotating beam", gravity=(0, 0, 0))
    m.flexible("arm", p10(count, fidelity, plane))
    m.joint("pivot", "revolute", m.ground, "arm", axis="z")
    m.force("turn", "motion", joint="pivot", position=Ramp(rate=speed, start=-1.0))
    return m
