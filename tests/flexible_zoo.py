"""Flexible models that more than one test file runs."""

import numpy as np

import whippletree as wt

# P10: EI = 14000 N m^2, EA = 2.8e7 N, rho A = 1.2 kg/m
P10_BEAM = {"A": 1e-3, "Iy": 5e-7, "Iz": 5e-7, "J": 1e-6, "E": 2.8e10, "rho": 1200.0, "rotary": False}
LENGTH = 10.0
SPEED, SPIN_TIME = 6.0, 15.0  # rad/s, s


def p10(count, fidelity="full", plane="bending_y", **more):
    return wt.beam(LENGTH, **(P10_BEAM | more), deforms=[plane]).modes(count=count, fidelity=fidelity)


def hub_and_beam(count, *, tip=0.0, inertia=50.0, **modes):
    """A hub that turns about z, and a beam clamped to it at its axis, perhaps with a mass at the tip"""
    m = wt.Model("hub and beam", gravity=(0, 0, 0))
    m.body("hub", mass=1.0, inertia=(inertia,) * 3)
    m.joint("pivot", "revolute", m.ground, "hub", axis="z")
    m.flexible("arm", p10(count, **modes))
    m.joint("root", "fixed", "hub", "arm")
    m.frame("end", "arm/tip")
    if tip:
        m.body("load", mass=tip, inertia=(1e-9,) * 3)
        m.joint("grip", "fixed", "arm/tip", "load")
    return m


def turned_at(speed, count, fidelity, plane):
    """A beam whose root turns about z, always at the same speed"""
    m = wt.Model("rotating beam", gravity=(0, 0, 0))
    m.flexible("arm", p10(count, fidelity, plane))
    m.joint("pivot", "revolute", m.ground, "arm", axis="z")
    m.force("turn", "motion", joint="pivot", position=wt.Ramp(rate=speed, start=-1.0))
    return m


def spin_up():
    """The angle of a hub that comes to SPEED within SPIN_TIME and keeps it"""
    t = np.linspace(0.0, 30.0, 121)
    s = np.minimum(t, SPIN_TIME)
    angle = SPEED / SPIN_TIME * (s**2 / 2 + (SPIN_TIME / (2 * np.pi)) ** 2 * (np.cos(2 * np.pi * s / SPIN_TIME) - 1))
    return wt.Table(t, angle + SPEED * (t - s), smooth=True)


def spun_beam(fidelity, count=3):
    m = wt.Model("spin-up", gravity=(0, 0, 0))
    m.flexible("beam", p10(count, fidelity))
    m.joint("pivot", "revolute", m.ground, "beam", axis="z")
    m.force("spin", "motion", joint="pivot", position=spin_up())
    m.frame("tip", "beam/tip")
    return m


def lag(run):
    """How far the tip is from the line that turns with the pivot"""
    angle, tip = run["pivot.q"], run["tip.position"]
    return tip[:, 1] * np.cos(angle) - tip[:, 0] * np.sin(angle)
