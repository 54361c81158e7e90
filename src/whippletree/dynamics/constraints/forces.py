"""Forces that hold constraints in a state whose accelerations are known: C' lam is what motion needs beside the rest.

Where rows are redundant lam is the shortest one, in N and N m, and the multipliers that move nothing, C' n = 0, are
given too: what they change is not told by rigid bodies. Where there are loops all is swept, O(n + m), by
reduction/reactions.py: rows that nothing can move take nothing. Only where others are redundant too, or nearly so, up
to ``DENSE`` of them are taken together, by singular values; beyond that lam is the one of the recursion, which holds as
well but need not be the shortest, and what may be added is not known. Without loops rows are few, and always taken
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...model.forces import Motion
from ...system.system import System
from ..dispatch import evaluate
from ..inputs import with_wrenches
from ..loads.applied import loads, tiled_signals
from ..registry import with_reactions
from ..tree.newton_euler import torques
from ..tree.newton_euler import workspace as torque_workspace
from .jacobian import ConstraintRows, rows_at, rows_of
from .live_rows import live_rows
from .nullspace import rank_tolerance, shortest

DENSE = 600  # rows: their singular values take about 0.2 s


class Held(NamedTuple):
    """How constraints hold one state, or B states in front."""

    rest: np.ndarray  # (nu)      force along each DOF that is needed beside all forces that are given
    left: np.ndarray  # (nu)      of it, what no row takes: rest - C' lam, zero but where a motion is prescribed
    rows: ConstraintRows  # without C
    lam: np.ndarray  # (nr)       what each row takes
    idle: np.ndarray  # (i)       rows that nothing moves, of any state: any multiplier of theirs may be added
    null: np.ndarray  # (nr, k)   more multipliers that may be added and move nothing; some of a batch are zero
    misfit: np.ndarray  # ()      what is left where no motion is prescribed, against the largest of rest


def multipliers_of(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    udot: np.ndarray,
    tau: np.ndarray | None = None,
    wrenches: Mapping[str, Any] | None = None,
    t: float | np.ndarray = 0.0,
) -> Held:
    """Of checked states (n,) or (B, n) with their accelerations, under joint forces and wrenches, at time t."""
    motion = with_wrenches(system, udot, wrenches, q)
    rest = evaluate(torques, torque_workspace, system, [q, u, motion], system.nu, None, ("q", "u", "udot"))
    if system.forces.any:
        rest = rest - loads(system, q, u, t).tau
    if tau is not None:
        rest = rest - tau
    rest = np.ascontiguousarray(rest)
    rows, signals = rows_of(system, q, u, t, matrix=False), tiled_signals(system, t, q)
    nr = system.constraints.count
    lam, left = np.zeros((*q.shape[:-1], nr)), rest.copy()
    together, idle = np.ones(q.shape[:-1], bool), np.zeros(0, int)
    swift = with_reactions(system) if "loops" in system.features else None
    if swift and swift.reactions:
        live = live_rows(system)
        idle = np.setdiff1d(np.arange(nr), live.kept)
        lam, left, doubtful = swift.reactions(system, q, u, rest, signals)
        together = (doubtful != 0.0) & (live.count <= DENSE) | np.isnan(doubtful)
    null = np.zeros((*lam.shape, 0))
    if nr and together.any():
        some = rows_at(system, q[together], u[together], signals[together])
        lam[together], left[together], space = shortest_multipliers(system, some, rest[together], idle)
        null = np.zeros((*lam.shape, space.shape[-1]))
        null[together] = space
    residual = np.abs(left[..., _free(system)]).max(axis=-1, initial=0.0)
    largest = np.abs(rest).max(axis=-1, initial=1e-300)
    return Held(rest, left, rows, lam, idle, null, residual / largest)


def _free(system: System) -> np.ndarray:
    return np.delete(np.arange(system.nu), list(system.forces.motions))


def shortest_multipliers(
    system: System, rows: ConstraintRows, rest: np.ndarray, idle: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """lam, left and null of B states. What slides loads its row of friction too, as its own multiplier says."""
    c, free, nr = system.constraints, _free(system), rows.g.shape[-1]
    some = np.setdiff1d(np.flatnonzero(c.follows < 0), idle)
    rubbing = np.flatnonzero(c.follows >= 0)
    constant = rubbing[c.follows[rubbing] == rubbing]
    load, together = np.zeros(nr), np.eye(nr)
    load[constant] = c.share[constant]
    together[rubbing, c.follows[rubbing]] = c.share[rubbing]
    together = together[:, some]
    C, lacks = (together.T @ rows.C)[..., free], (rest - load @ rows.C)[..., free]
    own, space = shortest(C, lacks[..., None], rank_tolerance(system, rows))
    lam = own[..., 0] @ together.T + load
    return lam, rest - (lam[..., None, :] @ rows.C)[..., 0, :], together @ space


def motion_force(system: System, held: Held, u: np.ndarray, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """What a prescribed motion takes: the force along its DOF, and its power."""
    if motion.name in system.constraints.driven:  # the joint closes a loop
        r, slope = system.constraints.driven[motion.name]
        return held.lam[..., r] * slope, held.lam[..., r] * held.rows.prescribed[..., r]
    row = system.u_index(motion.joint).start + motion.dof
    force = held.left[..., row]
    return force, force * u[..., row]
