"""Velocities at a pose to which a mechanism is put: what floats keeps its momentum.

Where a latch closes what is left open, poses jump and velocities stay, and momentum goes with the poses. DOF belong
together where the mass matrix M or a constraint C couples them. Of those, motions x in which all bodies move as one, by
the same twist, keep p = x' M u: all six of what floats, fewer where joints to ground allow only those, often none.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from ...dynamics.constraints.jacobian import rows_of
from ...dynamics.functions import mass_matrix
from ...dynamics.kinematics import kinematics
from ...system.system import System

AS_ONE = 1e-9  # of the largest singular value: less is rounding


def transferred(system: System, q: np.ndarray, u: np.ndarray, there: np.ndarray, t: float, row: int) -> np.ndarray:
    """(nu) Velocities at the pose ``there`` of a state q, u, for the DOF that belong to a row of the constraints."""
    rows, M = rows_of(system, there, u, t).C, mass_matrix(system, there)
    own, C = np.flatnonzero(rows[row]), rows[system.constraints.follows < 0]
    if not own.size:
        return u
    coupled = (M != 0.0) | (np.abs(C).T @ np.abs(C) > 0.0)
    labels = connected_components(coupled, directed=False)[1]
    group = np.flatnonzero(labels == labels[own[0]])
    deformed = [j for name in system.model.flexibles for j in range(system.nu)[system.u_index(name)]]
    group = np.setdiff1d(group, [*deformed, *system.forces.motions])
    names = [*system.model.bodies, *system.model.flexibles]
    now, was = (_twists(system, pose, names)[:, :, group] for pose in (there, q))
    moved = np.abs(now).max(axis=(1, 2), initial=0.0) > 0.0
    now, was = now[moved].reshape(-1, group.size), was[moved].reshape(-1, group.size)
    same = np.tile(-np.eye(6), (len(now) // 6, 1))
    _, s, Vt = np.linalg.svd(np.block([[now, same], [C[:, group], np.zeros((len(C), 6))]]))
    free = Vt[int((s > AS_ONE * s.max(initial=0.0)).sum()) :]
    X, twists = free[:, : group.size].T, free[:, group.size :].T
    before = np.linalg.lstsq(was, -same @ twists, rcond=None)[0]
    kept = np.abs(was @ before + same @ twists).max(axis=0, initial=0.0) < AS_ONE
    X, before = X[:, kept], before[:, kept]
    lacks = before.T @ (mass_matrix(system, q)[group] @ u) - X.T @ (M[group] @ u)
    found = u.copy()
    found[group] += X @ np.linalg.solve(X.T @ M[np.ix_(group, group)] @ X, lacks)
    return found


def _twists(system: System, q: np.ndarray, names: list[str]) -> np.ndarray:
    """(bodies, 6, nu) [angular; linear] velocity of each body's points at the world origin, for unit velocities."""
    k = kinematics(system, q)
    J = np.array([k.jacobian(name) for name in names])
    p = np.array([k.position(name) for name in names])
    J[:, 3:] += np.cross(p[:, :, None], J[:, :3], axis=1)
    return J
