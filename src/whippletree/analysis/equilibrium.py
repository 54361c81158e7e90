"""Poses in which a system stays at rest, and what it takes to hold the joints that are held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.constraints.consistency import motions_left
from ..dynamics.constraints.jacobian import rows_of
from ..dynamics.functions import bias_force
from ..errors import ModelError, SimulationError
from ..integrate.assemble import closed_pose
from ..model.check import number
from ..system.system import System, require_system
from .balance import Search
from .point import free_rows, joint_rows, joints_of, operating_point


@dataclass(frozen=True)
class Equilibrium:
    """A pose at rest, made by :func:`equilibrium`.

    Attributes
    ----------
    q : (nq) the pose.
    tau : (nu) joint forces that hold it: the given ones, and the reactions of joints that were held (N m, N).
    residual : the largest joint force that is left over (N m or N).
    iterations : steps taken.
    stable : after a small push the system stays near; False if it leaves or drifts away.
    neutral : number of independent directions in which nothing resists a displacement.
    """

    system: System
    q: np.ndarray
    tau: np.ndarray
    residual: float
    iterations: int
    stable: bool
    neutral: int

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as ``whippletree equilibrium --json`` prints them."""
        s = self.system
        joints = {j: {"q": self.q[s.q_index(j)].tolist(), "tau": self.tau[s.u_index(j)].tolist()} for j in s.joints}
        more = ("residual", "iterations", "stable", "neutral")
        return {"system": s.name, "joints": joints} | {name: getattr(self, name) for name in more}


def equilibrium(
    system: System,
    q: ArrayLike | Mapping[str, Any] | None = None,
    tau: ArrayLike | Mapping[str, Any] | None = None,
    *,
    fixed: Iterable[str] = (),
    tolerance: float = 1e-10,
) -> Equilibrium:
    """A pose in which the system stays at rest under constant joint forces ``tau`` (nu,) (N m, N; default none).

    The search starts at ``q`` (default neutral) and may end at an unstable pose, if that is near. ``q``
    and ``tau`` are arrays, or dicts from joint names to values. Joints named in ``fixed`` are held where
    they are, and so are prescribed motions, at t = 0; what it takes to hold them is in ``tau`` of the answer. The other
    forces of the model act, as they are at t = 0. With loops the search starts at the nearest closed pose, and moves
    through closed poses only. ``tolerance`` is what may be left
    over of a joint force, relative to the weight that the joint carries and the forces on it.

    Raises ModelError if a force has nothing to resist it, as with a free body under gravity, and
    SimulationError if the search ends without an equilibrium.
    """
    require_system(system)
    tolerance = number(tolerance, "tolerance")
    if not 1e-15 <= tolerance < 1.0:
        raise ModelError("tolerance is out of range", expected="from 1e-15 to below 1", got=tolerance)
    start, _, force = operating_point(system, q, None, tau)
    free = free_rows(system, fixed)
    start = closed_start(system, start, q, fixed)
    search = Search(system, start, force, free)
    found, iterations = start, 0
    try:
        if search.at(start).most > tolerance:
            search.at(start).refuse_unopposed()
            found, iterations = search.run(start, tolerance)
        here = search.at(found)
        stable, neutral = here.stability()
    except np.linalg.LinAlgError as e:
        raise SimulationError(
            f"no equilibrium of '{system.name}' was found: a matrix of its small motions is singular or not finite",
            got=str(e),
            hint="look for motions without mass or stiffness, and numbers that are far too large; or start elsewhere",
        ) from e
    residual = float(np.abs(here.left * here.scale).max(initial=0.0))
    force = force + _reactions(system, found, force, np.setdiff1d(np.arange(system.nu), free))
    return Equilibrium(system, found, force, residual, iterations, stable, neutral)


def closed_start(system: System, q: np.ndarray, given: Any, fixed: Iterable[str]) -> np.ndarray:
    """The closed pose nearest to q; joints that are held stay, and so do those that a dict names, if they can."""
    kept = np.zeros(system.nu, bool)
    kept[joint_rows(system, fixed, "fixed")] = True
    named = kept.copy()
    for joint in given if isinstance(given, Mapping) else ():
        named[system.u_index(joint)] = True
    if (named != kept).any():
        with suppress(ModelError):
            return closed_pose(system, q, named)
    try:
        return closed_pose(system, q, kept)
    except ModelError as e:
        if not kept.any():
            raise
        held = joints_of(system, np.flatnonzero(kept))
        raise ModelError(
            f"{e.what} with {held} held", expected=e.expected, got=e.got, hint="hold fewer joints, or in another pose"
        ) from None


def _reactions(system: System, q: np.ndarray, tau: np.ndarray, held: np.ndarray) -> np.ndarray:
    """(nu) What joints that are held, and prescribed motions, add to tau; where loops share it, the least that does."""
    if not held.size:
        return np.zeros(system.nu)
    reactions, still = np.zeros(system.nu), np.zeros(system.nu)
    motions = motions_left(system, rows_of(system, q, still))
    missing = motions.T @ (bias_force(system, q, still) - tau)
    reactions[held] = np.linalg.lstsq(motions[held].T, missing, rcond=1e-9)[0]
    return reactions
