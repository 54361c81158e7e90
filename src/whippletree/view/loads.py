"""Arrows of a run: forces that act, and reactions of joints and constraints, at any of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from ..model import Drive, Pose, force_kind
from ..result.result import Result
from .poses import Poses

Arrows = dict[str, tuple[np.ndarray, np.ndarray]]  # name -> tail (m) and vector (N)


class RunLoads:
    """The loads of a run; computed when they are first asked for."""

    def __init__(self, run: Result) -> None:
        self.run = run

    @cached_property
    def reactions(self) -> Mapping[str, tuple[Poses, np.ndarray]]:
        """Where each joint holds its second body, and the force there, (T, 3) N."""
        system, found = self.run.system, {}
        for joint in system.model.joints.values():
            force = self.run[f"{joint.name}.reaction"][:, 3:]
            if np.abs(force).max(initial=0.0) > 0.0:
                found[joint.name] = Poses(system, [(joint.child, joint.child_at)]), force
        return found

    @cached_property
    def forces(self) -> Mapping[str, tuple[Poses, np.ndarray]]:
        """Where each force of the model acts on its body, and the force there, (T, 3) N; drives turn joints."""
        system, found = self.run.system, {}
        for name, force in system.forces.elements.items():
            if isinstance(force, Drive):
                continue
            at = force.at if isinstance(force.at, Pose) else Pose(force.at)
            here = Poses(system, [(force.body, at)])
            if force_kind(force).line:
                away = Poses(system, [(force.to, Pose(force.to_at))])(self.run.q)[1] - here(self.run.q)[1]
                along = away[:, 0] / np.maximum(np.linalg.norm(away[:, 0], axis=1), 1e-300)[:, None]
                found[name] = here, self.run[f"{name}.force"][:, None] * along
            else:
                found[name] = here, self.run[f"{name}.force"][:, 3:]
        return found

    def at(self, kind: str, row: int, q: np.ndarray) -> Arrows:
        """The arrows of "reactions" or "forces" at a row of the run, in a configuration q."""
        loads: Mapping[str, tuple[Poses, np.ndarray]] = getattr(self, kind)
        return {name: (poses(q)[1][0], force[row]) for name, (poses, force) in loads.items()}

    def largest(self, kind: str) -> float:
        """The largest force of a kind in the run, N."""
        loads: Mapping[str, tuple[Poses, np.ndarray]] = getattr(self, kind)
        sizes = [float(np.linalg.norm(force, axis=1).max()) for _, force in loads.values()]
        return max(sizes, default=0.0)
