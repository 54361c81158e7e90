"""Second-order displacements of modes: what keeps the second order of strain zero, or as small as it can be.

Of the strain E1(u) + E2(u, u) of a structure that is held at a node, a displacement u2 = eta Q eta / 2 makes the
second order least: K u2 = -∫ E1' σ(E2). The load on coordinate j by modes a and b is V_a' Kgeo(e_j) V_b, with the
geometric stiffness Kgeo of the stresses under a unit displacement e_j.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .mass import Second

if TYPE_CHECKING:
    from .make import Held


def second_order(held: Held, V: np.ndarray) -> Second:
    """Of modes V that are held at the inboard node: of all nodes."""
    s, (n, nm) = held.structure, V.shape
    if s.line is not None:
        return s.line.second_order(V, s.r[held.base])
    a, b = np.triu_indices(nm)
    loads = np.zeros((n, len(a)))
    if s.second_loads is not None:
        loads = s.second_loads(V)[:, a, b]
    else:
        for j in held.inner:
            unit = np.zeros(n)
            unit[j] = 1.0
            part = V.T @ (s.geometric(unit) @ V)  # type: ignore[misc]
            loads[j] = (0.5 * (part + part.T))[a, b]
    u = np.zeros((n, nm, nm))
    u[held.inner[:, None], a, b] = u[held.inner[:, None], b, a] = -held.static(loads[held.inner])
    parts = np.asarray(s.T @ u.reshape(n, -1)).reshape(len(s.r), 6, nm, nm)
    return Second(parts[:, :3], parts[:, 3:])
