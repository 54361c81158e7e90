"""The modes of a flexible body: constant arrays from which its motion, mass and stiffness follow at any deformation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

KINDS = ("cantilever", "free", "craig-bampton")
FIDELITIES = ("ruthless", "full", "stiffened")


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes of a structure in its own axes, with coordinates eta; the frame is fixed to the node ``inboard``.

    A node k is at ``r + phi eta + eta Q eta / 2`` and turned by the Cayley rotation of ``psi eta``. The kinetic energy
    is a polynomial in eta: with the frame's velocity ``v = [omega; of the origin]`` it is
    ``[v; eta'] M [v; eta'] / 2``, where M holds

    - ``mass`` and the first moment ``h = h0 + h1 eta + eta h2 eta / 2``,
    - ``J = J0 + sum eta_a J1_a + sum eta_a eta_b J2_ab / 2`` about the origin,
    - ``Ct = Ct0 + sum eta_a Ct1_a`` between the origin's velocity and eta', ``Cr = Cr0 + sum eta_a Cr1_a`` between
      omega and eta', and ``Mff`` between eta' and eta'.

    ``K`` and ``D`` are stiffness and damping of eta; ``frequencies`` (rad/s) are those of the structure the modes were
    taken from, and zero where a mode has none.
    """

    kind: str
    fidelity: str
    frequencies: np.ndarray  # (nm)
    mass: float
    h0: np.ndarray  # (3)
    h1: np.ndarray  # (3, nm)
    h2: np.ndarray  # (3, nm, nm)
    J0: np.ndarray  # (3, 3)
    J1: np.ndarray  # (nm, 3, 3)
    J2: np.ndarray  # (nm, nm, 3, 3)
    Ct0: np.ndarray  # (3, nm)
    Ct1: np.ndarray  # (nm, 3, nm)
    Cr0: np.ndarray  # (3, nm)
    Cr1: np.ndarray  # (nm, 3, nm)
    Mff: np.ndarray  # (nm, nm)
    K: np.ndarray  # (nm, nm)
    D: np.ndarray  # (nm, nm)
    nodes: tuple[str, ...]
    r: np.ndarray  # (nn, 3)
    phi: np.ndarray  # (nn, 3, nm)
    psi: np.ndarray  # (nn, 3, nm)
    Q: np.ndarray  # (nn, 3, nm, nm)
    inboard: str
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """How many modes there are."""
        return len(self.Mff)

    def node(self, name: str) -> int:
        """The place of a node in ``nodes``."""
        return self.nodes.index(name)

    @staticmethod
    def from_nodes(
        r: Any,
        mass: Any,
        phi: Any,
        K: Any,
        *,
        inertia: Any = None,
        psi: Any = None,
        Q: Any = None,
        D: Any = None,
        nodes: Sequence[str] | None = None,
        inboard: str | None = None,
        kind: str = "cantilever",
        fidelity: str = "full",
    ) -> Modes:
        """Modes from nodal data: places (nn, 3), masses (nn), inertias (nn, 3, 3), ``phi`` and ``psi`` (nn, 3, nm)."""
        from .points import Points

        points = Points.make(r, mass, phi, inertia=inertia, psi=psi, Q=Q)
        names = tuple(nodes) if nodes is not None else tuple(f"n{k}" for k in range(len(points.r)))
        integrals = points.integrals()
        stiffness = np.asarray(K, dtype=float)
        damping = np.zeros_like(stiffness) if D is None else np.asarray(D, dtype=float)
        squares = np.linalg.eigvals(np.linalg.solve(integrals["Mff"], stiffness)).real
        made = Modes(
            kind,
            "full" if fidelity == "ruthless" else fidelity,
            np.sqrt(np.maximum(np.sort(squares), 0.0)),
            **integrals,
            K=stiffness,
            D=damping,
            nodes=names,
            r=points.r,
            phi=points.phi,
            psi=points.psi,
            Q=points.Q,
            inboard=inboard if inboard is not None else names[0],
        )
        return made.ruthless() if fidelity == "ruthless" else made

    def ruthless(self) -> Modes:
        """The same without every term that depends on the deformation."""
        from dataclasses import replace

        gone = {k: np.zeros_like(getattr(self, k)) for k in ("h1", "h2", "J1", "J2", "Ct1", "Cr1", "Q")}
        return replace(self, fidelity="ruthless", **gone)
