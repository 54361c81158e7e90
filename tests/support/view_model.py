"""A motion to look at: two bodies that swing, and a box that flies by."""

import numpy as np

import whippletree as wt


def swing() -> wt.Model:
    """Two bodies without shapes and one with: a bar, a bar with a lump at its end, and a box that flies by."""
    m = wt.Model("swing")
    arm = m.body("arm", mass=2.0, com=(0, 0, -0.5), inertia=(0.2, 0.2, 0.01))
    fore = m.body("fore/arm", mass=1.0, com=(0, 0, -0.4), inertia=(0.04, 0.05, 0.03))
    box = m.body("box", **wt.box(mass=1.0, size=(0.3, 0.2, 0.1)))
    m.joint("shoulder", "revolute", m.ground, arm, axis="y")
    m.joint("elbow", "revolute", arm, fore, axis="y", at=(0, 0, -1.0))
    m.joint("flight", "free", m.ground, box)
    return m


def swinging() -> wt.Result:
    """A motion that is not simulated: the shoulder swings, the elbow too, the box turns and moves along x."""
    system = swing().compile()
    t = np.linspace(0.0, 2.0, 41)
    q = np.tile(system.q0, (t.size, 1))
    q[:, system.q_index("shoulder")] = 0.9 * np.cos(2.0 * t)[:, None]
    q[:, system.q_index("elbow")] = 0.7 * np.sin(3.0 * t)[:, None]
    flight = system.q_index("flight").start
    q[:, flight] = 0.4 * t - 0.4
    q[:, flight + 2] = -1.2
    q[:, flight + 3], q[:, flight + 6] = np.cos(t), np.sin(t)
    return wt.Result(system, t, q, np.zeros((t.size, system.nu)), udot=np.zeros((t.size, system.nu)))
