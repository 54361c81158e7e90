"""Forces that hold constraints in a state whose accelerations are known: C' lam is what motion needs beside the rest.

Where rows are redundant lam is the shortest one, in N and N m, and the multipliers that move nothing, C' n = 0, are
given too: what they change is not told by rigid bodies. Where there are loops all is swept, O(n + m), by
reduction_loads.py: rows that nothing can move take nothing. Only where others are redundant too, or nearly so, up to
``DENSE`` of them are taken together, by singular values; beyond that lam is the one of the sweep, which holds as well
but need not be the shortest, and what may be added is not known. Without loops rows are few, and always taken
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..model.forces import Motion
from ..system.system import System
from . import reduction
from .constraint_rows import ConstraintRows, rows_at, rows_of
from .evaluate import evaluate
from .inputs import with_wrenches
from .live_rows import live_rows
from .loads import loads, tiled_signals
from .newton_euler import torques
from .newton_euler import workspace as torque_workspace
from .nullspace import rank_tolerance, scaled_rows
from .reduction_loads import loads_of

DENSE = 600  # rows: their singular values take about 0.2 s


class Held(NamedTuple):
    """How constraints hold one state, or B states in front."""

    rest: np.ndarray  # (nu)      force along each freedom that is needed beside all forces that are given
    left: np.ndarray  # (nu)      of it, what no row takes: rest - C' lam, zero but where a motion is given
    rows: ConstraintRows  # without C
    lam: np.ndarray  # (nr)       what each row takes
    idle: np.ndarray  # (i)       rows that nothing moves, of any state: any multiplier of theirs may be added
    null: np.ndarray  # (nr, k)   more multipliers that may be added and move nothing; some of a batch are zero
    misfit: np.ndarray  # ()      what is left where no motion is given, against the largest of rest


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
    if "loops" in system.features and system.features <= reduction.SUPPORTS:
        live = live_rows(system)
        idle = np.setdiff1d(np.arange(nr), live.kept)
        lam, left, doubtful = loads_of(system, q, u, rest, signals)
        together = (doubtful != 0.0) & (live.count <= DENSE) | np.isnan(doubtful)
    spaces = {}
    for s in np.ndindex(q.shape[:-1]):
        if nr and together[s]:
            lam[s], left[s], spaces[s] = _shortest(system, rows_at(system, q[s], u[s], signals[s]), rest[s], idle)
    null = np.zeros((*lam.shape, max((space.shape[1] for space in spaces.values()), default=0)))
    for s, space in spaces.items():
        null[(*s, slice(None), slice(space.shape[1]))] = space
    amiss = np.abs(left[..., _free(system)]).max(axis=-1, initial=0.0)
    largest = np.abs(rest).max(axis=-1, initial=1e-300)
    return Held(rest, left, rows, lam, idle, null, amiss / largest)


def _free(system: System) -> np.ndarray:
    return np.setdiff1d(np.arange(system.nu), list(system.forces.motions))


def _shortest(
    system: System, rows: ConstraintRows, rest: np.ndarray, idle: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """lam, left and null of one state: the rank is judged of rows of unit length, as where motion is solved for."""
    free, some = _free(system), np.setdiff1d(np.arange(len(rows.g)), idle)
    C = rows.C[some]
    size = scaled_rows(C)
    U, s, Vt = np.linalg.svd((C / size[:, None])[:, free], full_matrices=some.size > free.size)
    rank = int((s > rank_tolerance(system, rows)).sum())
    own = U[:, :rank] @ (Vt[:rank] @ rest[free] / s[:rank]) / size
    space = np.linalg.qr(U[:, rank:] / size[:, None])[0]
    own = own - space @ (space.T @ own)
    lam, null = np.zeros(len(rows.g)), np.zeros((len(rows.g), space.shape[1]))
    lam[some], null[some] = own, space
    return lam, rest - own @ C, null


def motion_force(system: System, held: Held, u: np.ndarray, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """What a given motion takes: the force along its freedom, and its power."""
    if motion.name in system.constraints.driven:  # the joint closes a loop
        r, slope = system.constraints.driven[motion.name]
        return held.lam[..., r] * slope, held.lam[..., r] * held.rows.given[..., r]
    row = system.u_index(motion.joint).start + motion.freedom
    force = held.left[..., row]
    return force, force * u[..., row]
