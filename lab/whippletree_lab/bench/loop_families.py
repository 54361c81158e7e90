"""Mechanisms with ever more loops, each closed at a pose well away from singular ones, with velocities that keep it
closed.

Coordinates and velocities are given for all joints: which of them are cut is each engine's own choice. The planar ones
are in the plane x-y, of bars of 1 kg and 1 m that are hinged about z.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whippletree.model import JOINT_KINDS, Model, Pose
from whippletree.model.pose import quaternion_from_matrix

GRAVITY = 9.81
ACROSS, ALONG = 1.0 / 12.0, 1e-3  # moments of a bar; the motion in the plane does not feel the one along it
CRANKS, TURNING = 0.6, -1.0  # of the ladder: angle from upright (rad) and speed (rad/s)
LEAN, FALLING = 0.3, 0.5  # of the tower, the same


@dataclass(slots=True)
class Posed:
    """A model with q and u of every joint, and where there is a formula their exact accelerations."""

    model: Model
    q: dict[str, Any] = field(default_factory=dict)
    u: dict[str, Any] = field(default_factory=dict)
    udot: dict[str, Any] | None = None

    def hinge(self, name: str, parent: str, child: str, turn: tuple[float, float], **places: Any) -> None:
        self.model.joint(name, "revolute", parent, child, axis="z", **places)
        self.q[name], self.u[name] = turn


def start(system: Any, q: Mapping[str, Any], u: Mapping[str, Any] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a System from coordinates and velocities by joint; joints that are not named are at zero."""
    full, velocities = system.q0.copy(), np.zeros(system.nu)
    for name in system.joints:
        if name in q:
            full[system.q_index(name)] = q[name]
        if u and name in u:
            velocities[system.u_index(name)] = u[name]
    return full, velocities


class AllJoints:
    """Rows of q and u for every joint of a model, those that close loops included; read as a System."""

    def __init__(self, model: Model) -> None:
        self.joints = tuple(model.joints)
        kinds = [JOINT_KINDS[j.kind] for j in model.joints.values()]
        ends = np.cumsum([(0, 0), *kinds], axis=0).tolist()
        rows = {n: (slice(a[0], b[0]), slice(a[1], b[1])) for n, a, b in zip(self.joints, ends, ends[1:], strict=False)}
        self.nq, self.nu = ends[-1]
        self.q_index = lambda joint: rows[joint][0]
        self.u_index = lambda joint: rows[joint][1]

    def rows(self, joints: Iterable[str]) -> np.ndarray:
        """Rows of u of some joints."""
        return np.concatenate([np.r_[self.u_index(j)] for j in joints])

    def vector(self, values: dict[str, Any], which: str = "u") -> np.ndarray:
        """The values of all joints in one row."""
        out = np.zeros(self.nq if which == "q" else self.nu)
        index = self.q_index if which == "q" else self.u_index
        for name, value in values.items():
            out[index(name)] = value
        return out


def bar(along: str = "x", thick: float = ALONG) -> dict[str, Any]:
    """What a body of the plane x-y is given; ``thick`` is its moment along itself."""
    if along == "x":
        return {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (thick, ACROSS, ACROSS)}
    return {"mass": 1.0, "com": (0.0, 0.5, 0.0), "inertia": (ACROSS, thick, ACROSS)}


def ladder(n: int, angle: float = CRANKS, speed: float = TURNING, thick: float = ALONG) -> Posed:
    """``n`` four-bars side by side: n + 1 cranks stand on ground, n couplers join their tips.

    All cranks turn alike and the couplers stay level, so angle'' = k sin(angle), k = 3 (3n + 1) g / (2 (4n + 1)).
    """
    it = Posed(Model(f"ladder of {n} loops", gravity=(0.0, -GRAVITY, 0.0)))
    forth, back = (angle, speed), (-angle, -speed)
    it.model.body("crank0", **bar("y", thick))
    it.hinge("foot0", "ground", "crank0", forth)
    for i in range(1, n + 1):
        it.model.body(f"coupler{i}", **bar("x", thick))
        it.model.body(f"crank{i}", **bar("y", thick))
        it.hinge(f"left{i}", f"crank{i - 1}", f"coupler{i}", back, at=(0, 1, 0))
        it.hinge(f"right{i}", f"coupler{i}", f"crank{i}", forth, at=(1, 0, 0), child_at=(0, 1, 0))
        it.hinge(f"foot{i}", "ground", f"crank{i}", forth, at=(i, 0, 0))
    k = 3.0 * (3 * n + 1) * GRAVITY / (2.0 * (4 * n + 1))
    it.udot = {name: k * np.sin(q) for name, q in it.q.items()}  # sin is odd, as the couplers' turn
    return it


def tower(n: int) -> Posed:
    """``n`` windows, each of two posts and a lintel, and each but the first on the lintel of the one below.

    Lintels stay level, for posts of one window lean alike; here those of all do, and the tower falls to one side, which
    soft constraints let it do too fast. The tree is n windows deep, and only the first loop has its base on ground.
    """
    it = Posed(Model(f"tower of {n} loops", gravity=(0.0, -GRAVITY, 0.0)))
    below, at = "ground", (0.0, 0.0, 0.0)
    forth, back = (LEAN, FALLING), (-LEAN, -FALLING)
    for i in range(1, n + 1):
        for name, along in (("left", "y"), ("lintel", "x"), ("right", "y")):
            it.model.body(f"{name}{i}", **bar(along))
        it.hinge(f"foot{i}", below, f"left{i}", forth, at=at)
        it.hinge(f"top{i}", f"left{i}", f"lintel{i}", back, at=(0, 1, 0))
        it.hinge(f"corner{i}", f"right{i}", f"lintel{i}", back, at=(0, 1, 0), child_at=(1, 0, 0))
        it.hinge(f"heel{i}", below, f"right{i}", forth, at=(at[0] + 1.0, 0, 0))
        below = f"lintel{i}"
    return it


def lattice(n: int, seed: int = 0) -> Posed:
    """A net of ``n`` x ``n`` parallelograms that share their bars, hinged at its nodes and pinned by one corner.

    Bars across one column stay parallel, and so do those up one row: 2n DOF are left.
    """
    rng = np.random.default_rng(seed)
    it = Posed(Model(f"lattice of {n} x {n} loops", gravity=(0.0, -GRAVITY, 0.0)))
    across = np.column_stack((rng.uniform(-0.4, 0.4, n + 1), rng.normal(size=n + 1) * 0.3))  # angle and speed
    upward = np.column_stack((rng.uniform(-0.4, 0.4, n + 1), rng.normal(size=n + 1) * 0.3))
    turns = {"ground": np.zeros(2)}
    for i in range(n + 1):
        for j in range(n + 1):
            if j < n:
                it.model.body(f"h{i},{j}", **bar("x"))
                turns[f"h{i},{j}"] = across[j]
            if i < n:
                it.model.body(f"v{i},{j}", **bar("y"))
                turns[f"v{i},{j}"] = upward[i]
    tip = {"g": (0, 0, 0), "h": (1, 0, 0), "v": (0, 1, 0)}
    for i in range(n + 1):
        for j in range(n + 1):
            on = f"h{i},{j - 1}" if j else f"v{i - 1},0" if i else "ground"
            ends = [(f"v{i - 1},{j}", (0, 1, 0))] if i and j else []
            ends += [(f"h{i},{j}", (0, 0, 0))] * (j < n) + [(f"v{i},{j}", (0, 0, 0))] * (i < n)
            for name, place in ends:
                a, w = (turns[name] - turns[on]).tolist()
                it.hinge(f"{on} {name}", on, name, (a, w), at=tip[on[0]], child_at=place)
    return it


HEIGHT, LOW, HIGH = 0.9, 0.6, 0.3  # of a platform, and radii of feet and balls (m)


def stewart(n: int) -> Posed:
    """``n`` platforms on six legs each, the first on ground, each other on the one below; level, all moving.

    A leg is a hub on a hinge, a cylinder hinged across it, and a rod that slides in it up to a ball joint.
    """
    rng = np.random.default_rng(0)
    it = Posed(Model(f"{n} stewart platforms"))
    model, below = it.model, "ground"
    for k in range(1, n + 1):
        w, v = rng.normal(size=(2, 3)) * 0.2  # of the platform, seen from below
        model.body(f"platform{k}", mass=20.0, inertia=(0.6, 0.6, 1.2))
        for leg in range(6):
            _leg(it, f"{k},{leg}", leg, below, f"platform{k}", (w, v))
        below = f"platform{k}"
    return it


def _leg(it: Posed, name: str, leg: int, below: str, above: str, motion: tuple[np.ndarray, np.ndarray]) -> None:
    model, (w, v), side = it.model, motion, 1 if leg % 2 else -1
    low, high = np.deg2rad(120 * (leg // 2) + 50 * side), np.deg2rad(120 * (leg // 2) + 15 * side)
    foot = np.array([LOW * np.cos(low), LOW * np.sin(low), 0.0])
    ball = np.array([HIGH * np.cos(high), HIGH * np.sin(high), 0.0])  # on the platform
    reach = ball - foot + np.array([0.0, 0.0, HEIGHT])
    long = np.linalg.norm(reach)
    z = reach / long
    x = np.cross([0.0, 1.0, 0.0], z)
    x /= np.linalg.norm(x)
    y = np.cross(z, x)
    R = np.column_stack([x, y, z])
    model.body(f"hub{name}", mass=0.5, inertia=(5e-4, 5e-4, 5e-4))
    model.body(f"cylinder{name}", mass=2.0, com=(0, 0, 0.25), inertia=(0.04, 0.04, 0.001))
    model.body(f"rod{name}", mass=1.0, com=(0, 0, -0.25), inertia=(0.02, 0.02, 0.0002))
    place, back = Pose(tuple(foot), quaternion_from_matrix(R)), Pose((0.0, 0.0, 0.0), quaternion_from_matrix(R.T))
    model.joint(f"foot{name}", "revolute", below, f"hub{name}", axis="x", at=place)
    model.joint(f"fork{name}", "revolute", f"hub{name}", f"cylinder{name}", axis="y")
    model.joint(f"slide{name}", "prismatic", f"cylinder{name}", f"rod{name}", axis="z", at=(0, 0, long))
    model.joint(f"ball{name}", "spherical", f"rod{name}", above, at=back, child_at=tuple(ball))
    tip = v + np.cross(w, ball)  # = (ux x + uy y) x long z + uz z
    ux, uy, uz = -(tip @ y) / long, (tip @ x) / long, tip @ z
    it.q |= {f"foot{name}": 0.0, f"fork{name}": 0.0, f"slide{name}": 0.0, f"ball{name}": (1.0, 0.0, 0.0, 0.0)}
    it.u |= {f"foot{name}": ux, f"fork{name}": uy, f"slide{name}": uz, f"ball{name}": w - ux * x - uy * y}


THIGH, SHANK, APART, STANCE = 0.25, 0.3, 0.12, 0.6  # of a leg of the walker (m), and the angle of its thighs (rad)


def walker(n: int) -> Posed:
    """A robot of ``n`` legs, each a five-bar of two hips, thighs and shanks that meet at a foot, falling level."""
    it = Posed(Model(f"walker with {n} legs"))
    model = it.model
    model.body("trunk", mass=12.0, inertia=(0.1, 0.3, 0.35))
    model.joint("float", "free", "ground", "trunk")
    it.q["float"], it.u["float"] = (0, 0, 0.5, 1, 0, 0, 0), (0.1, -0.2, 0.3, 0.0, 0.0, -0.5)
    drop = THIGH * np.cos(STANCE)
    reach = THIGH * np.sin(STANCE) + APART / 2
    knee = np.arcsin(reach / SHANK)
    for leg in range(n):
        x, y = 0.3 * (1 - 2 * (leg // 2 % 2)) * (1 + leg // 4), 0.15 * (1 - 2 * (leg % 2))
        for side, sign in (("front", -1.0), ("back", 1.0)):
            for part, length, mass in (("thigh", THIGH, 0.8), ("shank", SHANK, 0.2)):
                inertia = (mass * length**2 / 12, mass * length**2 / 12, 1e-3)
                model.body(f"{side}{part}{leg}", mass=mass, com=(0, 0, -length / 2), inertia=inertia)
            hip = (x - sign * APART / 2, y, 0.0)
            model.joint(f"{side}hip{leg}", "revolute", "trunk", f"{side}thigh{leg}", axis="y", at=hip)
            model.joint(
                f"{side}knee{leg}", "revolute", f"{side}thigh{leg}", f"{side}shank{leg}", axis="y", at=(0, 0, -THIGH)
            )
            it.q[f"{side}hip{leg}"] = sign * STANCE
            it.q[f"{side}knee{leg}"] = -sign * (STANCE + knee)
            # straight down at 0.4 m/s: hips turn by w, shanks by v in space
            w, v = np.linalg.solve(
                [[drop, SHANK * np.cos(knee)], [-THIGH * np.sin(STANCE), SHANK * np.sin(knee)]], [0.0, 0.4]
            )
            it.u[f"{side}hip{leg}"], it.u[f"{side}knee{leg}"] = -sign * w, -sign * (v - w)
        end = (0, 0, -SHANK)
        model.joint(f"foot{leg}", "spherical", f"frontshank{leg}", f"backshank{leg}", at=end, child_at=end)
        turn = it.q[f"backhip{leg}"] + it.q[f"backknee{leg}"] - it.q[f"fronthip{leg}"] - it.q[f"frontknee{leg}"]
        it.q[f"foot{leg}"] = (np.cos(turn / 2), 0.0, np.sin(turn / 2), 0.0)
        rate = it.u[f"backhip{leg}"] + it.u[f"backknee{leg}"] - it.u[f"fronthip{leg}"] - it.u[f"frontknee{leg}"]
        it.u[f"foot{leg}"] = (0.0, rate, 0.0)
    return it


ROLLED: dict[str, Callable[[], Posed]] = {"stewart": lambda: stewart(1), "walker": lambda: walker(4)}  # with loops
LOOPS: dict[str, Callable[[int], Posed]] = {"ladder": ladder, "tower": tower, "lattice": lattice, "stewart": stewart}
PLANNED: dict[str, tuple[int, ...]] = {
    "ladder": (1, 4, 16, 64, 256, 1024, 4096, 10000),
    "tower": (1, 4, 16, 64, 256, 1024, 4000),
    "lattice": (1, 2, 4, 6, 8, 12, 16),
    "stewart": (1, 2, 4, 8, 16, 32, 64),
}
