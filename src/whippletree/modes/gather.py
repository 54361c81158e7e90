"""Nodes of a structure held together rigidly by a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from ..errors import ModelError
from . import check
from .mass import MatrixMass, NodalMass, PointMass, rigid_motion
from .solve import compact
from .structure import Structure


def gather(structure: Structure, name: str, members: Sequence[str | int], at: Any = None) -> Structure:
    """See :meth:`Structure.gather`."""
    nn = len(structure.r)
    whole = [m if isinstance(m, int | np.integer) and 0 <= m < nn else structure.node(m) for m in members]  # type: ignore[arg-type]
    places = np.unique(np.array(whole, dtype=int))
    names = check.node_names((*structure.names, name), nn + 1)
    r = structure.r[places]
    point = (r.mean(axis=0) if len(r) else None) if at is None else check.numbers(at, (3,), f"node '{name}': at")
    moved = np.concatenate([structure.held(k) for k in places] or [np.zeros(0, int)])
    turning = np.zeros((0, 6)) if point is None else structure.rigid @ rigid_motion(np.zeros((1, 3)), point)
    if point is None or np.linalg.matrix_rank(turning[moved], tol=1e-9 * abs(turning).max()) < 6:
        raise ModelError(
            f"node '{name}' is not held by the nodes it gathers",
            expected="at least three nodes that are not on one line",
            got=f"{len(places)} nodes",
        )
    n = structure.K.shape[0]
    others = np.setdiff1d(np.arange(n), moved)
    member = scipy.sparse.csr_array(np.where(np.isin(np.arange(n), moved)[:, None], turning, 0.0))
    G = scipy.sparse.hstack([scipy.sparse.eye_array(n, format="csc")[:, others], member], format="csr")
    own = scipy.sparse.hstack([scipy.sparse.csr_array((6, len(others))), scipy.sparse.eye_array(6)])
    geometric = structure.geometric
    strain, loads = structure.strain, structure.second_loads
    return replace(
        structure,
        names=names,
        r=np.vstack([structure.r, point]),
        M=_between(structure.M, G),
        K=_between(structure.K, G),
        T=scipy.sparse.vstack([structure.T @ G, own], format="csr"),
        rigid=np.concatenate([structure.rigid[others], rigid_motion(point[None], np.zeros(3))]),
        mass=_mass(structure, point, G),
        geometric=None if geometric is None else (lambda u: _between(geometric(G @ u), G)),
        line=None,
        strain=None if strain is None else (lambda V: strain(G @ V)),
        second_loads=None if loads is None else (lambda V: _on_both(loads(G @ V), G)),
        recipe=None,
    )


def _between(matrix: Any, G: Any) -> Any:
    return compact(G.T @ (scipy.sparse.csr_array(matrix) @ G))


def _on_both(loads: np.ndarray, G: Any) -> np.ndarray:
    """Loads on the coordinates that move the old ones by G."""
    return np.asarray(G.T @ loads.reshape(len(loads), -1)).reshape(-1, *loads.shape[1:])


def _mass(structure: Structure, point: np.ndarray, G: Any) -> NodalMass | PointMass | MatrixMass:
    """The mass with one node more, which has none."""
    mass = structure.mass
    if isinstance(mass, PointMass):
        N, T = (np.stack([x @ G for x in y.transpose(1, 0, 2)], axis=1) for y in (mass.N, mass.T))
        return replace(mass, N=N, T=T)
    r = np.vstack([mass.r, point])
    if isinstance(mass, MatrixMass):
        return MatrixMass(r, scipy.sparse.block_diag([mass.M, scipy.sparse.csr_array((6, 6))], format="csr"))
    more = (np.append(mass.mass, 0.0), np.vstack([mass.offset, np.zeros(3)]))
    return NodalMass(r, *more, np.concatenate([mass.inertia, np.zeros((1, 3, 3))]))
