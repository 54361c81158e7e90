"""Flexible models that more than one test file runs."""

import numpy as np

import whippletree as wt
from whippletree.reproduce.flexible_problems import p10

SPEED, SPIN_TIME = 6.0, 15.0  # rad/s, s


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
