"""Flexible models that more than one test file runs."""

import numpy as np

import whippletree as wt
from whippletree_lab.reproduce.flexible_problems import p10

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


AXES = {"revolute": {"axis": "y"}, "universal": {"axis": "y", "axis2": "z"}, "spherical": {}}


def linkage(corners, kinds, links, gravity=(0.0, 0.0, -9.81)):
    """Links from corner to corner in the plane x-z, on ground at both ends; each a Modes along x, or None for a rod."""
    model, where, at, turned = wt.Model("linkage", gravity=gravity), "ground", (corners[0][0], 0.0, corners[0][1]), 0.0
    for k, (x, z) in enumerate(np.diff(corners, axis=0)):
        name, length, angle = f"link{k}", float(np.hypot(x, z)), float(np.arctan2(-z, x))
        pose = wt.pose(at, rpy=(0.0, angle - turned, 0.0))
        if links[k] is None:
            model.body(name, **wt.rod(mass=length, length=length, radius=0.02))
        else:
            model.flexible(name, links[k])
        model.joint(f"joint{k}", kinds[k], where, name, at=pose, **AXES[kinds[k]])
        where, at = (name, (length, 0.0, 0.0)) if links[k] is None else (f"{name}/tip", (0.0, 0.0, 0.0))
        turned = angle
    end = wt.pose((corners[-1][0], 0.0, corners[-1][1]), rpy=(0.0, turned, 0.0))
    model.joint("end", kinds[-1], "ground", where, at=end, child_at=at, **AXES[kinds[-1]])
    return model


def flexible_loop(rng):
    """Three to five links on ground at both ends, of which some are beams; most of the joints turn in the plane."""
    corners = np.cumsum(rng.uniform(0.2, 1.0, (int(rng.integers(4, 7)), 2)) * rng.choice((-1, 1), 2), axis=0)
    corners, links = rng.permutation(corners), []
    for length in np.linalg.norm(np.diff(corners, axis=0), axis=1):
        size = {"height": rng.uniform(0.01, 0.03), "width": rng.uniform(0.005, 0.03)}
        beam = wt.beam(length=length, section="rectangle", **size, E=7e10, rho=2700.0, elements=2)
        kind = {"kind": "craig-bampton", "outboard": "tip", "count": 0} if rng.random() < 0.5 else {"count": 4}
        fidelity = str(rng.choice(("ruthless", "full", "stiffened")))
        links.append(None if rng.random() < 0.3 else beam.modes(**kind, fidelity=fidelity))
    kinds = rng.choice(("revolute", "universal", "spherical"), len(corners), p=(0.8, 0.1, 0.1)).tolist()
    return linkage(corners, kinds, links, tuple(rng.uniform(-10, 10, 3)))
