"""Second-order displacements of modes: what keeps the second order of strain zero, or as small as it can be.

Of the strain E1(u) + E2(u, u) of a structure that is held at a node, a displacement u2 = eta Q eta / 2 makes the
second order least: K u2 = -∫ E1' σ(E2), so that its component along a unit load e is -V' Kgeo(K^-1 e) V / 2, with the
geometric stiffness Kgeo of the stresses under that load.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .mass import MatrixMass, NodalMass, Second

if TYPE_CHECKING:
    from .make import Held


def second_order(held: Held, V: np.ndarray, keep: np.ndarray) -> Second:
    """Of modes V that are held at the inboard node: of the nodes to keep, and of those that have mass."""
    s, nm = held.structure, V.shape[1]
    if s.line is not None:
        return s.line.second_order(V, s.r[held.base])
    nn = len(s.r)
    along = np.zeros((6 * nn, nm, nm))
    moving = np.unique(s.T.nonzero()[0])
    for row in moving if isinstance(s.mass, NodalMass) else moving[np.isin(moving // 6, keep)]:
        along[row] = _component(held, V, s.T[[row]].toarray()[0])
    parts = along.reshape(nn, 6, nm, nm)
    moments = _moments(held, V, s.mass) if isinstance(s.mass, MatrixMass) else None
    return Second(parts[:, :3], parts[:, 3:], None, moments)


def _component(held: Held, V: np.ndarray, load: np.ndarray) -> np.ndarray:
    u = np.zeros(len(V))
    u[held.inner] = held.static(load[held.inner])
    part = V.T @ (held.structure.geometric(u) @ V)  # type: ignore[misc]
    return -0.5 * (part + part.T)


def _moments(held: Held, V: np.ndarray, mass: MatrixMass) -> tuple[np.ndarray, np.ndarray]:
    """int Q dm and int r_i Q_j dm, by the loads that the mass puts on the structure."""
    nn, nm = len(mass.r), V.shape[1]
    found = np.zeros((4, 3, nm, nm))
    for i, weight in enumerate((np.ones(nn), *mass.r.T)):
        for j in range(3):
            field = np.zeros((nn, 6))
            field[:, j] = weight
            found[i, j] = _component(held, V, held.structure.T.T @ (mass.M @ field.ravel()))
    return found[0], found[1:]
