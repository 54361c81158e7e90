"""The benchmark bicycle of Meijaard, Papadopoulos, Ruina and Schwab (2007), table 1, with z up and x ahead."""

import numpy as np

import whippletree as wt

WHEELBASE, TRAIL, TILT, GRAVITY = 1.02, 0.08, np.pi / 10, 9.81
REAR_RADIUS, FRONT_RADIUS = 0.3, 0.35


def model():
    m = wt.Model("bicycle", gravity=(0, 0, -GRAVITY))
    rear, front = (0.0, 0.0, REAR_RADIUS), (WHEELBASE, 0.0, FRONT_RADIUS)
    pivot = np.array([WHEELBASE + TRAIL, 0.0, 0.0]) + 0.8 * np.array([-np.sin(TILT), 0.0, np.cos(TILT)])
    m.body("frame", mass=85.0, com=(0.3, 0, 0.9), inertia=((9.2, 0, -2.4), (0, 11.0, 0), (-2.4, 0, 2.8)))
    m.body("rear", mass=2.0, inertia=(0.0603, 0.12, 0.0603))
    from_pivot = (np.array([0.9, 0.0, 0.7]) - pivot).tolist()
    inertia = ((0.05892, 0, 0.00756), (0, 0.06, 0), (0.00756, 0, 0.00708))
    m.body("fork", mass=4.0, com=from_pivot, inertia=inertia)
    m.body("front", mass=3.0, inertia=(0.1405, 0.28, 0.1405))
    m.joint("flight", "free", m.ground, "frame")
    m.joint("rear", "revolute", "frame", "rear", axis="y", at=rear)
    m.joint("steer", "revolute", "frame", "fork", axis=(-np.sin(TILT), 0.0, np.cos(TILT)), at=pivot.tolist())
    m.joint("front", "revolute", "fork", "front", axis="y", at=(np.array(front) - pivot).tolist())
    for wheel, radius in (("rear", REAR_RADIUS), ("front", FRONT_RADIUS)):
        m.constraint(f"{wheel} contact", "roll", body=wheel, radius=radius, axis="y")
    return m


def linear(system, speed):
    """About the upright run at a speed (m/s)."""
    u = {"flight": (0, 0, 0, speed, 0, 0), "rear": speed / REAR_RADIUS, "front": speed / FRONT_RADIUS}
    return wt.linearize(system, u=u | {"steer": 0.0})
