"""Mechanisms that an algorithm is chosen for: all kinds of joints, chains, trees, loops and flexible bodies.

A case is a System with a state that its loops allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..kernels.lanes import LANES
from ..model import JOINT_KINDS, Model, Pose
from . import families, flexible_families, loop_families

KINDS = tuple(kind for kind in JOINT_KINDS if kind != "fixed")
CELLS = 2, 4, 8  # along a side of a lattice
MODES = 4, 10  # of flexible bodies
BENT_UP_TO = 256  # flexible bodies
BATCHED = 30, 1024  # bodies of chains whose states come in batches
BATCHES = 2, LANES, 16 * LANES


class Case(NamedTuple):
    family: str
    label: str
    system: Any
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray


def cases(sizes: tuple[int, ...]) -> Iterator[Case]:
    """Of every family, those sizes that it goes by."""
    for kind in KINDS:
        yield _tree("row of one kind", kind, row([kind] * 3))
    yield _tree("row of all kinds", "", row(list(KINDS)))
    many: dict[str, Callable[[int], Model]] = {
        "chain": families.chain,
        "chain of balls": lambda n: row(["spherical"] * n),
        "tree": families.tree,
        "floating tree": lambda n: families.tree(n, floating=True),
        "hanging tree": families.hanging,
    }
    for name, build in many.items():
        for n in sizes:
            yield _tree(name, str(n), build(n))
    for name in ("ladder", "tower", "stewart"):
        bodies, most = {"ladder": (2, 10_000), "tower": (3, 1024), "stewart": (19, 1024)}[name]
        for n in dict.fromkeys(max(1, size // bodies) for size in sizes if size <= most):
            yield looped(name, f"{n} loops" if name != "stewart" else f"{n} platforms", loop_families.LOOPS[name](n))
    for n in CELLS:
        yield looped("lattice", f"{n} x {n}", loop_families.lattice(n))
    for n in (size for size in sizes if size <= BENT_UP_TO):
        for modes in MODES:
            system = flexible_families.chain(n, flexible_families.strip(modes, "ruthless")).compile()
            yield Case("flexible chain", f"{n} x {modes}", system, *flexible_families.state(system))
    for n in BATCHED:
        model = families.chain(n)
        system = model.compile()
        for states in BATCHES:
            q, u, tau, _ = families.states(model, system, states)
            yield Case("batch", f"{states} of a chain of {n}", system, q, u, tau)


def row(kinds: list[str], seed: int = 3) -> Model:
    """Solid bodies one after the other, on joints of these kinds."""
    rng = np.random.default_rng(seed)
    model = Model(f"row of {len(kinds)}")
    for k, kind in enumerate(kinds):
        model.body(f"b{k}", mass=1.0, com=tuple(rng.normal(size=3) * 0.1), inertia=(4e-2, 5e-2, 3e-2))
        axes: dict[str, Any] = {} if kind in ("spherical", "free") else {"axis": "z"}
        if kind == "universal":
            axes = {"axis": "x", "axis2": "y"}
        if kind == "screw":
            axes["pitch"] = 0.1
        turn = rng.normal(size=4)
        at = Pose(tuple(rng.normal(size=3) * 0.2), tuple(turn / np.linalg.norm(turn)))
        model.joint(f"j{k}", kind, f"b{k - 1}" if k else "ground", f"b{k}", at=at, **axes)
    return model


def _tree(family: str, label: str, model: Model) -> Case:
    return Case(family, label, *families.one_state(model))


def looped(family: str, label: str, posed: loop_families.Posed) -> Case:
    """A mechanism with loops, closed."""
    system, every = posed.model.compile(), loop_families.AllJoints(posed.model)
    rows_q = np.concatenate([np.r_[every.q_index(j)] for j in system.joints])
    rows_u = np.concatenate([np.r_[every.u_index(j)] for j in system.joints])
    q, u = every.vector(posed.q, "q")[rows_q], every.vector(posed.u)[rows_u]
    return Case(family, label, system, q, u, np.zeros(system.nu))
