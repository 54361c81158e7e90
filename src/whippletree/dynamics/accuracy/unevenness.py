"""How far lengths and masses of a System differ, and so how much loss is believed before any certificate."""

import numpy as np

from ...system.system import System
from .limits import LIMIT

UNEVEN = 1e2  # the loss that is believed where lengths or masses differ so much that levers cancel in forces too
LENGTHS, MASSES = 1e4, 1e5  # the largest over the least, from which on they do


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
