"""The least displacement that constraint equations ask for, by the passes of reduction: O(n + m), redundant or not.

min x' W x / 2 - pull' x subject to C x = rows, for weights W of degrees of freedom, is motion from rest under the joint
forces ``pull`` of a mechanism without mass whose joints have W as their armature.
"""

from __future__ import annotations

import numpy as np

from ...compiler.lanes import LANES
from ...system.system import System
from ..constraints.live_rows import live_rows, loop_geometry
from ..constraints.massless import array_in
from .correction import PlannedCorrections
from .passes import POOR
from .plan import make_plan
from .program import Plan


class Displacements(PlannedCorrections):
    """Of one System, in the metric ``weights`` (nu); an infinite weight holds a degree of freedom still."""

    def __init__(self, system: System, weights: np.ndarray) -> None:
        super().__init__(system, LANES)
        self.weights, self.kept = weights, live_rows(system).kept
        self.fixed = ~np.isfinite(weights)
        self.fixed[list(system.forces.motions)] = True

    def choose(self, q: np.ndarray, signals: np.ndarray) -> None:
        geometry = loop_geometry(self.system, live_rows(self.system), q, signals)
        self.follow(make_plan(self.system, geometry, np.flatnonzero(self.fixed).tolist()))
        self.pose = np.concatenate([q, signals])

    def follow(self, plan: Plan) -> None:
        super().follow(plan)
        array_in(self.system, self.memory, "mass")[:] = 0.0
        array_in(self.system, self.memory, "inertia")[:] = 0.0
        array_in(self.system, self.memory, "armature")[:] = np.where(self.fixed, 1.0, self.weights)
        array_in(self.system, self.memory, "resist")[:] = np.where(self.fixed, np.inf, self.weights)

    def least(self, q: np.ndarray, signals: np.ndarray, pull: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(nu) x at a pose, for ``pull`` (nu) and ``rows`` (nr), those of ``system.constraints``.

        The plan of a pose before is kept as long as it serves.
        """
        rest = np.concatenate([pull, rows[self.kept]])
        state = [np.ascontiguousarray(x)[None] for x in (q, np.zeros(self.system.nu), rest, signals)]
        out, health, here = np.zeros((1, self.system.nu)), np.zeros((1, 1)), np.concatenate([q, signals])
        if self.plan is not None:
            self.recursion(self.memory, *state, out, health, 0, 1)
        if not (health[0, 0] > POOR and np.isfinite(out).all()) and not np.array_equal(here, self.pose):
            self.choose(q, signals)
            self.recursion(self.memory, *state, out, health, 0, 1)
        return np.where(self.fixed, 0.0, out[0])
