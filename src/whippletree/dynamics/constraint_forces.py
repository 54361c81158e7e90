"""Forces that hold constraints in a state whose accelerations are known: C' lam is what motion needs beside the rest.

Where rows are redundant lam is the shortest one, in N and N m, and the multipliers that move nothing, C' n = 0, are
given too: what they change is not told by rigid bodies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..model.forces import Motion
from ..system.system import System
from .constraint_rows import ConstraintRows, rows_of
from .evaluate import evaluate
from .inputs import with_wrenches
from .loads import loads
from .newton_euler import torques
from .newton_euler import workspace as torque_workspace
from .nullspace import rank_tolerance, scaled_rows


class Held(NamedTuple):
    """How constraints hold one state, or B states in front."""

    rest: np.ndarray  # (nu)      force along each freedom that is needed beside all forces that are given
    rows: ConstraintRows
    lam: np.ndarray  # (nr)       of it, what each row takes: rest = C' lam, but where a motion is given
    null: np.ndarray  # (nr, k)   multipliers that may be added and move nothing; some columns of a batch are zero
    misfit: np.ndarray  # ()      what no row takes, against the largest of rest


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
    rows, nr = rows_of(system, q, u, t), system.constraints.count
    free = np.setdiff1d(np.arange(system.nu), list(system.forces.motions))
    if q.ndim == 1:
        return Held(rest, rows, *_shortest(system, rows, rest, free))
    each = [_shortest(system, ConstraintRows(*(x[s] for x in rows)), rest[s], free) for s in range(len(q))]
    null = np.zeros((len(q), nr, max((n.shape[1] for _, n, _ in each), default=0)))
    for s, (_, n, _) in enumerate(each):
        null[s, :, : n.shape[1]] = n
    lam = np.array([lam for lam, _, _ in each]).reshape(len(q), nr)
    return Held(rest, rows, lam, null, np.array([misfit for _, _, misfit in each]))


def _shortest(
    system: System, rows: ConstraintRows, rest: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """lam, null and misfit of one state: the rank is judged of rows of unit length, as where motion is solved for."""
    if not rows.g.size:
        return np.zeros(0), np.zeros((0, 0)), np.zeros(())
    size = scaled_rows(rows.C)
    U, s, Vt = np.linalg.svd((rows.C / size[:, None])[:, free], full_matrices=rows.g.size > free.size)
    rank = int((s > rank_tolerance(system, rows)).sum())
    lam = U[:, :rank] @ (Vt[:rank] @ rest[free] / s[:rank]) / size
    null = np.linalg.qr(U[:, rank:] / size[:, None])[0]
    lam = lam - null @ (null.T @ lam)
    left = rest[free] - lam @ rows.C[:, free]
    return lam, null, np.abs(left).max(initial=0.0) / max(np.abs(rest).max(initial=0.0), 1e-300)


def motion_force(system: System, held: Held, u: np.ndarray, motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """What a given motion takes: the force along its freedom, and its power."""
    if motion.name in system.constraints.driven:  # the joint closes a loop
        r, slope = system.constraints.driven[motion.name]
        return held.lam[..., r] * slope, held.lam[..., r] * held.rows.given[..., r]
    row = system.u_index(motion.joint).start + motion.freedom
    force = held.rest[..., row] - (held.lam * held.rows.C[..., row]).sum(axis=-1)
    return force, force * u[..., row]
