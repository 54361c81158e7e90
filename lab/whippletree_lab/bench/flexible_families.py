"""Chains of flexible bodies: aluminium strips that hang from each other by hinges about x and y in turn.

For timing a strip has the modes of a beam. For motions beside an engine whose nodes have no rotation it is made of mass
points, five at every station of the beam, which move with its section: both engines then get the same points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from whippletree.model import Model
from whippletree.modes import Modes, beam

LENGTH, ACROSS_X, ACROSS_Y = 0.5, 0.01, 0.02  # m
STRIP: dict[str, Any] = {
    "section": "rectangle", "height": ACROSS_X, "width": ACROSS_Y, "E": 70e9, "rho": 2700.0, "axis": "-z", "up": "x",
}  # fmt: skip
STATIONS = 8  # pieces of a strip of mass points
HINGES = "xy"
GRAVITY = (3.0, 2.0, -9.1)  # aslant, so that a chain that hangs straight down begins to bend
DAMPING = 2e-5  # s, of the strip of mass points: this much of its stiffness
DEFORMED = 2e-3  # of a random state: largest eta of the first mode, which has unit mass; of others by their flexibility


def strip(modes: int, fidelity: str) -> Modes:
    """A beam that is held at its base."""
    structure = beam(LENGTH, elements=max(8, modes // 4), **STRIP)
    return structure.modes(count=modes, fidelity=fidelity, nodes=["tip"])


@dataclass(frozen=True, eq=False)
class Points:
    """A strip of mass points: its modes, the mass of each point, and which points are the corners of its tip."""

    modes: Modes
    mass: np.ndarray
    tip: list[int]


@lru_cache
def points(modes: int, fidelity: str = "full") -> Points:
    """The modes of a strip, with the mass in points: at each station in the middle and at four corners."""
    whole = beam(LENGTH, elements=STATIONS, **STRIP).modes(count=modes, nodes="all")
    share = np.full(len(whole.nodes), whole.mass / STATIONS / 5)
    share[[0, -1]] /= 2
    across = np.array([(0, 0), *((x, y) for x in (-1, 1) for y in (-1, 1))]) * (ACROSS_X / 2, ACROSS_Y / 2)
    offsets = np.column_stack([across, np.zeros(5)])
    r = whole.r[:, None] + offsets
    turned = np.cross(whole.psi[:, None].swapaxes(2, 3), offsets[:, None]).swapaxes(2, 3)
    phi = whole.phi[:, None] + turned
    psi = np.broadcast_to(whole.psi[:, None], phi.shape)
    names = [name if k == 0 else f"{name}.{k}" for name in whole.nodes for k in range(5)]
    mass = np.repeat(share, 5)
    made = Modes.from_nodes(
        r.reshape(-1, 3), mass, phi.reshape(-1, 3, modes), whole.K, psi=psi.reshape(-1, 3, modes),
        D=DAMPING * whole.K, nodes=names, inboard="base", fidelity=fidelity,
    )  # fmt: skip
    return Points(made, mass, list(range(len(names) - 4, len(names))))


def chain(bodies: int, modes: Modes) -> Model:
    """So many strips, each hung from the tip of the last."""
    model = Model(f"{bodies} bodies with {modes.count} modes, {modes.fidelity}", gravity=GRAVITY)
    for k in range(bodies):
        model.flexible(f"b{k}", modes)
        model.joint(f"j{k}", "revolute", f"b{k - 1}/tip" if k else "ground", f"b{k}", axis=HINGES[k % 2])
    model.frame("end", f"b{bodies - 1}/tip")
    return model


def state(system: Any, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A random q, u and tau: hinges at any angle, strips deformed by millimetres."""
    rng = np.random.default_rng(seed)
    q, u, tau = rng.uniform(-np.pi, np.pi, system.nq), rng.normal(size=system.nu), rng.normal(size=system.nu)
    for name, body in system.model.flexibles.items():
        slower = body.modes.frequencies[0] / body.modes.frequencies
        q[system.q_index(name)] *= DEFORMED / np.pi * slower**2
        u[system.u_index(name)] *= DEFORMED * slower
    return q, u, tau
