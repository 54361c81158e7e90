"""The models that are timed: chains, trees, robots; sizes of them; and random states.

Every family gives plain Models, so that each engine is built from the same data.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

from whippletree.errors import MissingExtra, ModelError, nearest
from whippletree.files import load
from whippletree.model import JOINT_KINDS, Model, Pose
from whippletree.model.shapes import rod

from . import loop_families

LARGEST = 1_000_000  # bodies; a Model of more does not fit the memory of a usual machine

# name: file under the robots folder of the example-robot-data package, and the base
ROBOTS: dict[str, tuple[str, str | None]] = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", None),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", None),
    "solo12": ("solo_description/robots/solo12.urdf", "free"),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", "free"),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", "free"),
    "centauro": ("centauro_description/urdf/centauro.urdf", "free"),
}

# every family, and the sizes at which it is measured
PLANNED: dict[str, tuple[Any, ...]] = {
    "chain": (7, 16, 30, 64, 128, 256, 512, 1024, 2048, 4096),
    "tree": (8, 16, 32, 64, 128, 256),
    "robot": tuple(ROBOTS),
    "batch": (7, 30),
    "calls": (7, 30),
    "derivatives": (7, 30),
    "rollout": ("xarm7", "g1", *loop_families.ROLLED),
    "simulate": (7, 30),
    "scaling": (1000, 3162, 10000, 31623, 100000),
    "divide": (128, 256, 1024, 4096, 16384, 100000),
    "mpi": (1024, 20000, 100000),
    "subchains": (128, 256, 1024, 4096),
    "flexible": (10,),
    "choose": (4, 16, 64, 128, 256, 1024, 10000),
    "theory": (1024, 4096),
    "live": (60,),
    "view": (10,),
    "whole": (64, 256, 1024, 4096, 10000),
    **loop_families.PLANNED,
}


def sizes(text: str | Sequence[Any] | None, family: str) -> tuple[Any, ...]:
    """Planned sizes of a family from "8:4096" (powers of two), "7,30,128" (as listed) or a sequence; robots by name."""
    if text is None:
        return PLANNED[family]
    parts = [p.strip() for p in text.split(",")] if isinstance(text, str) else list(text)
    if family == "robot":
        for name in parts:
            if name not in ROBOTS:
                raise ModelError(f"robot '{name}' is not known", hint=nearest(str(name), ROBOTS))
        return tuple(parts)
    if family == "rollout":
        return tuple(int(p) if str(p).isdecimal() and 0 < int(p) <= LARGEST else _named(str(p)) for p in parts)
    found = [n for part in parts for n in _sizes(part)]
    if not found:
        raise ModelError("no sizes to measure", expected="8:4096, or 7,30,128", got=repr(text))
    return tuple(dict.fromkeys(found))


def _named(name: str) -> str:
    """A robot's name, that of a mechanism with loops, or the path of a model file."""
    known = [*ROBOTS, *loop_families.ROLLED]
    if name not in known and not name.endswith((".toml", ".urdf")):
        hint = nearest(name, known)
        raise ModelError(f"model '{name}' is not known", expected="a robot, a model file, or a length", hint=hint)
    return name


def span(part: Any, most: int, what: str, example: str) -> tuple[int, int]:
    """First and last number of "low:high", or of one number."""
    low, colon, high = str(part).partition(":")
    try:
        first, last = int(low), int(high if colon else low)
    except ValueError:
        first = last = 0
    if not 1 <= first <= last <= most:
        expected = f"whole numbers from 1 to {most}, as {example}"
        raise ModelError(f"the {what} cannot be read", expected=expected, got=repr(part))
    return first, last


def _sizes(part: Any) -> list[int]:
    first, last = span(part, LARGEST, "sizes", "8:4096 (doubling) or 7,30,128")
    return [first * power for power in powers(last // first)]


def powers(most: int) -> list[int]:
    """1, 2, 4 and on."""
    return [1 << k for k in range(most.bit_length())]


def chain(n: int, seed: int = 0) -> Model:
    """``n`` bodies in a row: random poses, revolute joints about random axes, random inertias."""
    rng = np.random.default_rng(seed)
    model = Model(f"chain of {n}")
    for k in range(n):
        _body(model, rng, k)
        parent = f"b{k - 1}" if k else "ground"
        model.joint(f"j{k}", "revolute", parent, f"b{k}", axis=_unit(rng, 3), at=_pose(rng), child_at=_pose(rng, 0.1))
    return model


def tree(n: int, seed: int = 0, *, floating: bool = False) -> Model:
    """``n`` bodies on random parents, joined by the kinds that all peers hold; ``floating``: on a free base."""
    rng = np.random.default_rng(seed)
    model = Model(f"tree of {n}")
    kinds = rng.choice(["revolute", "prismatic", "spherical"], n, p=[0.7, 0.15, 0.15])
    for k in range(n):
        _body(model, rng, k)
        parent = f"b{rng.integers(max(0, k - 8), k)}" if k else "ground"
        kind = "free" if floating and k == 0 else str(kinds[k])
        axis = _unit(rng, 3) if kind in ("revolute", "prismatic") else None
        model.joint(f"j{k}", kind, parent, f"b{k}", axis=axis, at=_pose(rng), child_at=_pose(rng, 0.1))
    return model


def hanging(n: int) -> Model:
    """Arms of seven rods that hang by hinges about x and y in turn, the first from ground, each other from the last.

    Pushed gently they swing about their rest, a motion that two engines can follow to the last digits; thrown about, an
    arm is chaotic, and errors of the end say nothing.
    """
    rng = np.random.default_rng(0)
    model = Model(f"hanging tree of {n}" if n > 7 else f"hanging arm of {n}")
    lengths = rng.uniform(0.2, 0.4, n).tolist()
    for k, (length, mass) in enumerate(zip(lengths, rng.uniform(0.5, 1.5, n).tolist(), strict=True)):
        model.body(f"b{k}", **rod(mass=mass, length=length, radius=0.03, axis="-z"))
        on = k - 1 if k % 7 else k - 4
        parent, at = (f"b{on}", (0.0, 0.0, -lengths[on])) if k else ("ground", (0.0, 0.0, 0.0))
        model.joint(f"j{k}", "revolute", parent, f"b{k}", axis="xy"[k % 2], at=at)
    return model


def robot(name: str) -> Model:
    """A robot of the example-robot-data package, through ``whippletree.load``."""
    sizes([name], "robot")
    path, base = ROBOTS[name]
    folder = robots_folder()
    return load(folder / path, base=base, packages=[folder.parent])


def rolled(name: str | int) -> Model:
    """What a rollout is measured on: a robot, the model of a file, or a chain of so many bodies."""
    if isinstance(name, int):
        return chain(name)
    if name in ROBOTS:
        return robot(name)
    model = load(name)
    model.passive = False  # engines are compared by their dynamics: forces differ in form
    model.forces.clear()
    return model


def robots_folder() -> Path:
    """The folder of robots that the example-robot-data wheel installs."""
    try:
        wheel = distribution("example-robot-data")
    except PackageNotFoundError:
        raise MissingExtra("example-robot-data", "test", "the robot family") from None
    return Path(str(wheel.locate_file("cmeel.prefix/share/example-robot-data/robots")))


def states(
    model: Model, system: Any, count: int, seed: int = 1
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """``count`` random states: q (count, nq), u, tau and udot (count, nu)."""
    rng = np.random.default_rng(seed)
    u, tau, udot = (rng.normal(size=(count, system.nu)) for _ in range(3))
    q = rng.uniform(-1.0, 1.0, (count, system.nq))
    for name in system.joints:
        kind, where = model.joints[name].kind, system.q_index(name)
        if kind == "revolute":
            q[:, where] *= np.pi
        elif JOINT_KINDS[kind][0] != JOINT_KINDS[kind][1]:  # the quaternion comes last
            turn = rng.normal(size=(count, 4))
            q[:, where.stop - 4 : where.stop] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    return q, u, tau, udot


def one_state(model: Model) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """The model compiled, and a random q, u and tau of it."""
    system = model.compile()
    q, u, tau, _ = (x[0] for x in states(model, system, 1))
    return system, q, u, tau


def _body(model: Model, rng: np.random.Generator, k: int) -> None:
    """A box of random sides (m), turned, of the mass of wood: an inertia that a solid can have."""
    sides, R = rng.uniform(0.1, 0.4, 3), Pose(quaternion=_unit(rng, 4)).rotation()
    mass = 700.0 * sides.prod()
    I = R * (mass / 12.0 * ((sides**2).sum() - sides**2)) @ R.T
    model.body(f"b{k}", mass=mass, com=(rng.normal(size=3) * 0.1).tolist(), inertia=0.5 * (I + I.T))


def _pose(rng: np.random.Generator, reach: float = 0.3) -> Pose:
    x, y, z = (rng.normal(size=3) * reach).tolist()
    return Pose((x, y, z), _unit(rng, 4))


def _unit(rng: np.random.Generator, count: int) -> Any:
    x = rng.normal(size=count)
    return tuple((x / np.linalg.norm(x)).tolist())
