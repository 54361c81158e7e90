"""Validation problems with closed loops: P01 to P04, each with a start that closes.

Which joint of a loop is cut is the topology's choice, so a start is given for all joints and a System takes what it
needs (``start``).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from whippletree.model import Model, Pose

from ..bench.loop_families import bar, ladder, start
from .problems import Start, case


def five_bar_model(variant: str = "A") -> Model:
    """P01: three hinges and two slides along x (A) or y (B) of the third bar, in the plane x-y."""
    axis = {"A": "x", "B": "y"}[variant]
    model = Model(f"five bar {variant}", gravity=(0, -9.81, 0))
    for i in range(1, 5):
        model.body(f"bar{i}", **bar(thick=0.0))
    model.joint("q1", "revolute", "ground", "bar1")
    model.joint("q2", "revolute", "bar1", "bar2", at=(1, 0, 0))
    model.joint("q3", "revolute", "bar2", "bar3", at=(1, 0, 0))
    model.joint("q4", "prismatic", "bar3", "bar4", axis=axis)
    place = Pose((0.0, np.sqrt(2), 0.0), (np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8)))
    model.joint("q5", "prismatic", "bar4", "ground", axis=axis, child_at=place)
    return model


def five_bar(variant: str = "A") -> Start:
    """P01 at its start."""
    system = five_bar_model(variant).compile()
    q = {"q1": np.pi / 4, "q2": np.pi / 2, "q3": -np.pi / 2, "q4": 0.0, "q5": 0.0}
    return system, *start(system, q)


ANDREWS = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")


def andrews_model() -> Model:
    """P02: seven bodies in the plane x-y; four of them meet in one pin."""
    p = case("P02")["model"]["parameters"]
    model = Model("andrews", gravity=(0, 0, 0))
    com = {
        1: (p["ra"], 0),
        2: (-p["da"], 0),
        3: (p["sa"], p["sb"]),
        4: (0, -(p["e"] - p["ea"])),
        5: (p["ta"], p["tb"]),
        6: (p["zf"] - p["fa"], 0),
        7: (p["ua"], p["ub"]),
    }
    for i, (x, y) in com.items():
        model.body(f"K{i}", mass=p[f"m{i}"], com=(x, y, 0), inertia=(p[f"I{i}"],) * 3)
    model.joint("beta", "revolute", "ground", "K1")
    model.joint("Theta", "revolute", "K1", "K2", at=(p["rr"], 0, 0))
    model.joint("gamma", "revolute", "ground", "K3", at=(p["xB"], p["yB"], 0))
    model.joint("delta", "revolute", "ground", "K5", at=(p["xA"], p["yA"], 0))
    model.joint("Phi", "revolute", "K5", "K4", at=(p["zt"], 0, 0))
    model.joint("epsilon", "revolute", "ground", "K7", at=(p["xA"], p["yA"], 0))
    model.joint("Omega", "revolute", "K7", "K6", at=(0, -p["u"], 0))
    for k, place in ((2, (-p["d"], 0, 0)), (4, (0, -p["e"], 0)), (6, (p["zf"], 0, 0))):
        model.joint(f"pin{k}", "revolute", "K3", f"K{k}", at=(0, -p["ss"], 0), child_at=place)
    spring = {"at": (p["sd"], -p["sc"], 0), "to_at": (p["xC"], p["yC"], 0), "stiffness": p["c0"], "length": p["l0"]}
    model.force("spring", "spring", body="K3", **spring)
    model.force("motor", "motor", joint="beta", torque=p["mom"])
    return model


def andrews_angles(x: Sequence[float]) -> dict[str, float]:
    """Angles, velocities or accelerations of all joints from the seven of the test set."""
    at = dict(zip(ANDREWS, x, strict=True))
    turned = {2: at["beta"] + at["Theta"], 4: at["Phi"] + at["delta"], 6: at["Omega"] + at["epsilon"]}
    return at | {f"pin{k}": angle - at["gamma"] for k, angle in turned.items()}


def andrews() -> Start:
    """P02 at its start."""
    system = andrews_model().compile()
    return system, *start(system, andrews_angles(case("P02")["initial"]["q"]))


def bricard_model() -> Model:
    """P03: six bars on edges of a cube, hinged about x, y, z in turn; q = 0 is the start. The sixth bar is ground."""
    given = case("P03")["model"]
    points = [np.array(given["points"][f"P{i}"], float) for i in range(6)]
    model = Model("bricard", gravity=given["gravity"])
    bar, near, place = given["bar"], "ground", points[0]
    for i, (a, b) in enumerate(pairwise(points)):
        along = np.abs(b - a)
        inertia = along * bar["Ixx_axial"] + (1 - along) * bar["Iyy"]
        model.body(f"bar{i + 1}", mass=bar["mass"], com=(b - a) / 2, inertia=inertia)
        model.joint(f"q{i + 1}", "revolute", near, f"bar{i + 1}", axis="yzxyz"[i], at=place)
        near, place = f"bar{i + 1}", b - a
    model.joint("q6", "revolute", "bar5", "ground", axis="x", at=place, child_at=points[5])
    return model


def bricard() -> Start:
    """P03 at its start."""
    system = bricard_model().compile()
    return system, system.q0.copy(), np.zeros(system.nu)


def n_four_bar_model(n: int) -> Model:
    """P04: n four-bars of thin rods side by side, as the family of the bench that is named so."""
    model = ladder(n, thick=0.0).model
    model.name = f"ladder of {n} four-bars"
    return model


def n_four_bar(n: int, angle: float = 0.0, speed: float = -1.0) -> Start:
    """P04 with all cranks at an angle from upright, anticlockwise, couplers level."""
    system, at = n_four_bar_model(n).compile(), ladder(n, angle, speed)
    return system, *start(system, at.q, at.u)
