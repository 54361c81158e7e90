"""The validation problems: models and starts of P04 to P09 and P11 that are not loops, and the numbers of all of them.

Each case has a file of numbers in ``data/`` that were not made by this library, with their tolerances; it says where
they come from. Loops are in loop_problems.py, flexible bodies in flexible_problems.py.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from whippletree.model import Model, Pose
from whippletree.system.system import System

DATA = Path(__file__).parent / "data"
Start = tuple[System, np.ndarray, np.ndarray]  # a system, its q and its u


@cache
def case(name: str) -> dict[str, Any]:
    """Model, start, reference numbers and tolerances of a case, as "P01"."""
    (file,) = DATA.glob(f"{name.lower()}_*.json")
    return json.loads(file.read_text("utf-8"))


def table(name: str) -> Any:
    """Columns by name of a file of ``data/``, as "p01_fivebar_A"."""
    return np.genfromtxt(DATA / f"{name}.csv", delimiter=",", names=True)


def columns(rows: Any, names: list[str]) -> np.ndarray:
    """Some columns of a table side by side, (rows, names)."""
    return np.column_stack([rows[name] for name in names])


def heavy_top() -> Start:
    """P05: a fast symmetric top on a ball joint."""
    given = case("P05")
    model = Model("heavy top", gravity=given["model"]["gravity"])
    solid = {"mass": given["model"]["mass"], "inertia": given["model"]["central_inertia"]}
    model.body("top", com=given["model"]["com_body"], **solid)
    model.joint("ball", "spherical", "ground", "top")
    system = model.compile()
    return system, system.q0.copy(), np.array(given["initial"]["omega"])


def puma560(rotors: bool = True) -> Model:
    """P06. Standard Denavit-Hartenberg: a joint's own turn comes first, then d, a and alpha to the link's frame."""
    given = case("P06")["model"]
    model = Model("puma560", gravity=given["gravity"])
    for i in range(6):
        solid = {"mass": given["mass"][i], "com": given["com"][i], "inertia": given["inertia_diag"][i]}
        # idealized: no mass; a moment of the table over the sum of the rest
        model.body(f"link{i + 1}", idealized=i in (0, 2), **solid)
        half = given["alpha"][i] / 2  # joint frame in the link: the inverse of Tz(d) Tx(a) Rx(alpha)
        c, s = np.cos(2 * half), np.sin(2 * half)
        a, d = given["a"][i], given["d"][i]
        child_at = Pose((-a, -s * d, -c * d), (np.cos(half), -np.sin(half), 0.0, 0.0))
        rotor = given["gear"][i] ** 2 * given["rotor_inertia_Jm"][i] if rotors else 0.0
        near = f"link{i}" if i else "ground"
        model.joint(f"joint{i + 1}", "revolute", near, f"link{i + 1}", axis="z", child_at=child_at, armature=rotor)
    return model


def rod_chain(n: int = 16) -> Model:
    """P07 part a: level rods that fall from rest; the axis points so that they turn downward for positive
    velocities.
    """
    model = Model(f"rod chain {n}")
    for i in range(n):
        model.body(f"rod{i}", mass=1.0, com=(0.5, 0, 0), inertia=(0.0, 1 / 12, 1 / 12))
        near, place = (f"rod{i - 1}", (1.0, 0, 0)) if i else ("ground", (0.0, 0, 0))
        model.joint(f"hinge{i}", "revolute", near, f"rod{i}", axis="y", at=place)
    return model


def falling_rods(n: int) -> np.ndarray:
    """Absolute angular accelerations of its n rods by the closed form.

    The joints fall with a_i = g (1 + A lam^i + C lam^(n-i)), a_0 = 0, a_(n-1) + 2 a_n = 3 g.
    """
    g, lam, i = 9.81, np.sqrt(3) - 2, np.arange(n + 1)
    A, C = np.linalg.solve([[1.0, lam**n], [lam ** (n - 1) + 2 * lam**n, lam + 2]], [-1.0, 0.0])
    return np.diff(g * (1 + A * lam**i + C * lam ** (n - i)))


def chain3d(n: int = 16) -> Model:
    """P07 part b."""
    model = Model(f"chain3d {n}")
    place, near = (0.0, 0.0, 0.0), "ground"
    for i in range(1, n + 1):
        length = 0.2 + 0.05 * np.cos(i)
        model.body(
            f"body{i}",
            mass=1 + 0.3 * np.sin(i),
            com=(0.02 * np.sin(2 * i), 0.03 * np.cos(i), length / 2),
            inertia=(0.03 + 0.005 * np.sin(i), 0.032 + 0.004 * np.cos(2 * i), 0.02 + 0.002 * np.cos(i)),
        )
        model.joint(f"joint{i}", "revolute", near, f"body{i}", axis="xyz"[(i - 1) % 3], at=place)
        place, near = (0.0, 0.01 * (-1) ** i, length), f"body{i}"
    return model


def chain3d_state(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, u and tau that its table is of."""
    i = np.arange(1, n + 1)
    return 0.3 * np.sin(1.7 * i), 0.4 * np.cos(0.9 * i), 0.1 * np.sin(0.5 * i)


def floating_tree(stiffness: float = 0.0) -> Model:
    """P08: a floating base with three arms of two links; its springs are of 4 N m/rad in every joint."""
    given = case("P08")["model"]
    model = Model("floating tree", gravity=given["gravity"])
    model.body("base", mass=given["base"]["mass"], inertia=given["base"]["inertia"])
    model.joint("flight", "free", "ground", "base")
    for link in given["links"]:
        near = "base" if link["parent"] == "base" else f"link{link['parent']}"
        model.body(f"link{link['id']}", mass=link["mass"], com=link["com"], inertia=link["inertia"])
        model.joint(f"joint{link['id']}", "revolute", near, f"link{link['id']}", axis=link["axis"], at=link["pos"])
        model.joints[f"joint{link['id']}"].stiffness = stiffness
    return model


def flying_tree(stiffness: float = 4.0) -> Start:
    """P08 compiled, and its start."""
    system, start = floating_tree(stiffness).compile(), case("P08")["initial"]
    q, u = system.q0.copy(), np.zeros(system.nu)
    u[system.u_index("flight")] = [*start["base_omega_body"], *start["base_velocity"]]
    for k in range(6):
        q[system.q_index(f"joint{k + 1}")], u[system.u_index(f"joint{k + 1}")] = start["q"][k], start["u"][k]
    return system, q, u


def sleigh() -> Start:
    """P09: a body on ice with a blade below, its mass ahead of the blade."""
    given = case("P09")
    model = Model("sleigh", gravity=(0, 0, 0))
    inertia = (given["model"]["central_inertia"],) * 3
    model.body("sleigh", mass=given["model"]["mass"], inertia=inertia, com=(given["model"]["a"], 0, 0))
    model.joint("ice", "planar", "ground", "sleigh", axis="z")
    model.constraint("blade", "knife_edge", body="sleigh")
    system = model.compile()
    return system, system.q0.copy(), np.array([given["initial"]["v"], 0.0, given["initial"]["omega"]])


def sleigh_solution(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Speed along the blade and angular velocity of P09 at times t, in closed form."""
    given = case("P09")
    m, inertia, a = (given["model"][k] for k in ("mass", "central_inertia", "a"))
    v0, w0 = given["initial"]["v"], given["initial"]["omega"]
    K = inertia + m * a * a
    c = np.sqrt(v0**2 + K * w0**2 / m)
    x = a * m * c / K * np.asarray(t) + np.arctanh(v0 / c)
    return c * np.tanh(x), c * np.sqrt(m / K) / np.cosh(x)


def docking(latch: str = "fixed", **options: Any) -> Model:
    """P11: two free bodies; the latch is made at once and let go after 5 s."""
    given = case("P11")["model"]
    model = Model("docking", gravity=(0, 0, 0))
    for name in "AB":
        model.body(name, mass=given[name]["mass"], inertia=given[name]["inertia"])
        model.joint(f"flight_{name}", "free", "ground", name)
    hinge: Any = {} if latch == "fixed" else {"joint": latch, "at": (-0.75, 0, 0), "to_at": (0.75, 0, 0)}
    model.constraint("latch", "latch", body="B", to="A", **hinge)
    model.temporary("latch", activate_at=0.0, release_at=5.0, here=latch == "fixed", **options)
    return model


def docking_start() -> dict[str, Any]:
    """q and u of P11 by joint, as :func:`simulate` takes them."""
    start = case("P11")["initial"]
    q = {f"flight_{n}": (*start[f"r{n}"], 1.0, 0.0, 0.0, 0.0) for n in "AB"}
    return {"q": q, "u": {f"flight_{n}": (*start[f"w{n}"], *start[f"v{n}"]) for n in "AB"}}
