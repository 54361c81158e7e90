"""Flexible bodies as they deform: bars between neighbouring nodes, with round joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..modes import Modes
from ..system.system import System
from .batches import instances
from .meshes.solids import cylinder, sphere
from .pieces import body_colors
from .poses import from_z

if TYPE_CHECKING:
    import viser

THIN = 0.012  # radius of a body whose cross-section is not known, as a part of its size


class FlexibleBodies:
    """The nodes of all flexible bodies of a system, and the bars between them."""

    def __init__(self, scene: viser.SceneApi, system: System) -> None:
        self.system = system
        self.names = tuple(system.model.flexibles)
        modes = [system.model.flexibles[name].modes for name in self.names]
        counts = [len(m.nodes) for m in modes]
        first = np.cumsum(counts) - counts
        self._pairs = np.concatenate([neighbours(m.r) + n for m, n in zip(modes, first, strict=True)])
        self._radius = np.repeat([thickness(m) for m in modes], counts)
        colors = np.repeat([body_colors(system)[name] for name in self.names], counts, axis=0).astype(np.uint8)
        ends = self._pairs[:, 0]
        self.nodes = instances(scene, "/flexible/nodes", sphere(), np.tile(self._radius[:, None], (1, 3)), colors)
        self.bars = instances(scene, "/flexible/bars", cylinder(), np.ones((len(ends), 3)), colors[ends])

    def place(self, q: np.ndarray, R: np.ndarray, p: np.ndarray) -> None:
        """Bend them as q says, with their rotations (bodies, 3, 3) and positions (bodies, 3)."""
        found = []
        for name, turn, place in zip(self.names, R, p, strict=True):
            modes = self.system.model.flexibles[name].modes
            local = modes.r + modes.displacements(q[self.system.q_index(name)])
            found.append(place + local @ turn.T)
        nodes = np.concatenate(found)
        a, b = nodes[self._pairs[:, 0]], nodes[self._pairs[:, 1]]
        length = np.linalg.norm(b - a, axis=1)
        radius = self._radius[self._pairs[:, 0]]
        self.nodes.batched_positions = nodes.astype(np.float32)
        self.bars.batched_positions = (0.5 * (a + b)).astype(np.float32)
        self.bars.batched_wxyzs = from_z((b - a) / np.maximum(length, 1e-300)[:, None]).astype(np.float32)
        self.bars.batched_scales = np.column_stack([radius, radius, length]).astype(np.float32)


def neighbours(r: np.ndarray) -> np.ndarray:
    """(nodes - 1, 2) The shortest tree of lines that joins all nodes: of a beam, the beam."""
    from scipy.sparse.csgraph import minimum_spanning_tree
    from scipy.spatial.distance import pdist, squareform

    apart = squareform(pdist(r)) if len(r) > 1 else np.zeros((1, 1))
    tree = minimum_spanning_tree(np.maximum(apart, 1e-12 * (1.0 - np.eye(len(r))))).tocoo()
    return np.column_stack([tree.row, tree.col]).astype(int).reshape(-1, 2)


def thickness(modes: Modes) -> float:
    """Radius to draw a body with, m: as its section says, where it is known."""
    recipe: dict[str, Any] = modes.recipe or {}
    size = float(np.linalg.norm(np.ptp(modes.r, axis=0)))
    if "radius" in recipe:
        known = float(np.mean(recipe["radius"]))
    elif "width" in recipe and "height" in recipe:
        known = float(np.mean(recipe["width"]) + np.mean(recipe["height"])) / 4
    else:
        known = THIN * size
    return max(known, 0.3 * THIN * size)
