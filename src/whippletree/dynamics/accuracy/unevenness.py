"""How far lengths and masses of a System differ, and so how much loss is believed before any certificate."""

import numpy as np

from ...system.system import System
from .limits import LIMIT

UNEVEN = 1e2  # the loss that is believed where lengths or masses differ so much that levers cancel in forces too
LENGTHS, MASSES = 1e4, 1e5  # the largest over the least, from which on they do
GRADED = 1e3  # lengths, or the mass that a body carries over its own: from there on what is lost varies with the pose


def first_limit(system: System) -> float:
    """LIMIT or UNEVEN, by how far lengths and masses of the System differ; found once."""
    if "first limit" not in system.workspaces.found:
        masses = system.arrays["mass"][system.arrays["mass"] > 0.0]
        uneven = length_ratio(system) > LENGTHS or (masses.size and masses.max() > MASSES * masses.min())
        system.workspaces.found["first limit"] = UNEVEN if uneven else LIMIT
    return system.workspaces.found["first limit"]


def length_ratio(system: System) -> float:
    """The largest length of a System over the least; m/s^2 and rad/s^2 are compared too, so 1 m is one of them."""
    a, numbers = system.arrays, system.constraints.arrays["numbers"]
    masses = a["mass"][a["mass"] > 0.0]
    turns = np.sqrt(np.abs(a["inertia"][a["mass"] > 0.0][:, [0, 3, 5]]) / masses[:, None])  # radii of gyration
    places = [np.linalg.norm(x, axis=1) for x in (a["pt"], a["com"], numbers[:, 18:21], numbers[:, 21:24])]
    lengths = np.concatenate([[1.0], turns.ravel(), *places])
    return float(lengths.max() / lengths[lengths > 0.0].min())


def carried_over_own(system: System) -> np.ndarray:
    """For every body the heaviest one that it carries, however far out, over its own mass; infinite if it has none."""
    mass, parent = system.arrays["mass"], system.arrays["parent"]
    carried = np.zeros(system.nb)
    for i in range(system.nb - 1, 0, -1):
        p = parent[i]
        carried[p] = max(carried[p], carried[i], mass[i])
    carried[0] = 0.0  # ground holds anything
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(carried > 0.0, carried / mass, 0.0)


def mass_grading(system: System) -> tuple[float, int]:
    """The largest mass that a body carries over its own mass, and which body it is; found once for a System.

    With loops and constraints any body may carry any other: the heaviest one counts. A massless body that carries
    others counts as GRADED: whether its motions have inertia is a matter of the pose.
    """
    known = system.workspaces.found.get("mass grading")
    if known is None:
        known = system.workspaces.found["mass grading"] = _mass_grading(system)
    return known


def _mass_grading(system: System) -> tuple[float, int]:
    if system.nb == 1:
        return 1.0, 0
    mass, ratio = system.arrays["mass"], carried_over_own(system)
    if system.constraints.count:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio[1:] = mass.max() / mass[1:]
    worst = int(np.argmax(np.where(mass > 0.0, ratio, 0.0)))
    if ratio[worst] < GRADED and np.isinf(ratio).any():
        return GRADED, int(np.argmax(ratio))
    return float(ratio[worst]), worst


def is_graded(system: System) -> bool:
    """Whether lengths differ so much, or bodies carry others so much heavier, that a loss says little of the error."""
    found = system.workspaces.found
    if "graded" not in found:
        found["graded"] = mass_grading(system)[0] >= GRADED or length_ratio(system) >= GRADED
    return bool(found["graded"])
