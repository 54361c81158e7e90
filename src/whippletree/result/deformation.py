"""Flexible bodies of a run: where their nodes are, what these move by, and the stresses of beams."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError, nearest
from ..model.check import number
from ..modes import Modes
from .result import Result


def modes_of(run: Result, name: str) -> tuple[Modes, np.ndarray]:
    """The modes of a flexible body and their coordinates over time, (T, nm)."""
    known = run.system.model.flexibles
    if name not in known:
        reported = f"'{name}' is no flexible body of '{run.system.name}'"
        raise ModelError(reported, hint=nearest(str(name), known) or "it has none")
    return known[name].modes, run.q[:, run.system.q_index(name)]


def node_positions(run: Result, name: str) -> np.ndarray:
    """(T, nodes, 3) Places of the nodes of a body in the world."""
    modes, eta = modes_of(run, name)
    turned = np.einsum("tij,tnj->tni", run[f"{name}.rotation"], modes.r + modes.displacements(eta))
    return run[f"{name}.position"][:, None] + turned


def exaggerated(run: Result, scale: float) -> Result:
    """The same motion with flexible bodies deformed so many times as much, and all that they carry carried along."""
    scale = number(scale, "scale of the deformation", low=0.0)
    if scale == 1.0 or not run.system.flexible:
        return run
    q = run.q.copy()
    for name in run.system.flexible.bodies:
        q[:, run.system.q_index(name)] *= scale
    return Result(run.system, run.t, q, run.u, attrs=run.attrs)


def scaled_in_words(run: Result, scale: float) -> str:
    return f", deformations {scale:g} times as large" if run.system.flexible and scale != 1.0 else ""
