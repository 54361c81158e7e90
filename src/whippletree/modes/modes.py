"""The modes of a flexible body: constant arrays from which its motion, mass and stiffness follow at any deformation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from dataclasses import field as field_
from typing import Any

import numpy as np

from ..errors import ModelError, nearest
from . import check
from .beams.recovery import BeamRecovery
from .field import MassField
from .points import Points
from .report import Report

KINDS = ("cantilever", "free", "craig-bampton")
FIDELITIES = ("ruthless", "full", "stiffened")


@dataclass(frozen=True, eq=False)
class Modes:
    """Modes of a structure in its own axes, with coordinates eta (nm,); the frame is fixed to the node ``inboard``.

    All is SI: lengths in m, masses in kg. Of nn nodes, ``r`` is (nn, 3), and ``phi`` (m) and ``psi`` (rad) for a unit
    of each eta are (nn, 3, nm); ``K``, ``D`` and ``Mff`` are (nm, nm).

    A node k is at ``r + phi eta + eta Q eta / 2`` and rotated by the Cayley rotation of ``psi eta + eta psi2 eta / 2``.
    With the frame's velocity ``v = [omega; of the origin]`` the kinetic energy is ``[v; eta'] M [v; eta'] / 2``, where
    M holds, to these orders in eta,

    - ``mass`` and the first moment ``h = h0 + h1 eta + eta h2 eta / 2``,
    - ``J = J0 + sum eta_a J1_a + sum eta_a eta_b J2_ab / 2`` about the origin,
    - ``Ct = Ct0 + sum eta_a Ct1_a`` between the origin's velocity and eta', ``Cr = Cr0 + sum eta_a Cr1_a`` between
      omega and eta', and ``Mff`` between eta' and eta'.

    Where these orders are not all of it, ``field`` has the rest (:class:`whippletree.modes.field.MassField`): the
    energy is then exactly that of mass points and rigid bodies at their deformed places, seen from the inboard node.

    ``K`` and ``D`` are stiffness and damping of eta. ``frequencies`` (rad/s) are those of the structure as the modes
    were taken: held at the inboard node, or free. ``strain`` is the largest strain of each mode for ``eta = 1``
    (where only nodes are known, the largest difference of displacements over the distance of successive nodes).
    ``report`` says what was left out, and ``beam`` recovers the loads and stresses of beams.
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
    psi2: np.ndarray  # (nn, 3, nm, nm)
    strain: np.ndarray  # (nm)
    field: MassField | None = None
    report: Report | None = field_(default=None, compare=False)
    beam: BeamRecovery | None = field_(default=None, compare=False)
    recipe: dict[str, Any] | None = field_(default=None, compare=False)  # what a model file says to make the same

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Modes):
            return NotImplemented
        compared = [f.name for f in fields(self) if f.compare]
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in compared)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        span = f"{self.frequencies[0]:.4g} to {self.frequencies[-1]:.4g} rad/s" if self.count else "none"
        nodes = ", ".join(self.nodes[:4]) + (" ..." if len(self.nodes) > 4 else "")
        return f"Modes({self.count} {self.kind}, {self.fidelity}, {span}, nodes {nodes})"

    @property
    def count(self) -> int:
        """How many modes there are."""
        return len(self.Mff)

    def node(self, name: str) -> int:
        """The place of a node in ``nodes``."""
        if name not in self.nodes:
            raise ModelError(f"node '{str(name)[:80]}' is not known", hint=nearest(str(name), self.nodes))
        return self.nodes.index(name)

    def displacements(self, eta: Any) -> np.ndarray:
        """What the nodes move by in the body's frame: (..., nn, 3) for eta (..., nm)."""
        eta = self._coordinates(eta)
        if self.field is not None and self.field.carried:
            from .reference import seen_from

            return seen_from(self, self.node(self.inboard), eta)
        first = np.einsum("kia,...a->...ki", self.phi, eta)
        return first + 0.5 * np.einsum("kiab,...a,...b->...ki", self.Q, eta, eta)

    def stresses(self, eta: Any, at: Any = None) -> dict[str, np.ndarray]:
        """Loads and stresses in a beam; see :meth:`BeamRecovery.stresses`. ``at`` is in metres along the beam."""
        if self.beam is None:
            raise ModelError("stresses are recovered for beams only", expected="modes made by wt.beam(...)")
        return self.beam.stresses(self._coordinates(eta), at)

    def _coordinates(self, eta: Any) -> np.ndarray:
        """eta (..., nm); of a single mode also without the last axis, as results have it."""
        values = np.asarray(eta, dtype=float)
        if self.count == 1 and values.shape[-1:] != (1,):
            values = values[..., None]
        if values.shape[-1:] != (self.count,):
            raise ModelError("eta has the wrong length", expected=f"{self.count}, one for each mode", got=values.shape)
        return values

    def largest_strain(self, eta: Any) -> np.ndarray:
        """The largest strain in the body, (...) for eta (..., nm): of a beam at its outer fibre, else a bound."""
        eta = self._coordinates(eta)
        return abs(eta) @ self.strain if self.beam is None else self.beam.largest(eta)

    def largest_rotation(self, eta: Any) -> np.ndarray:
        """The largest rotation of a node by the deformation (rad), (...) for eta (..., nm)."""
        turned = np.einsum("nxa,...a->...nx", self.psi, self._coordinates(eta))
        return np.asarray(np.linalg.norm(turned, axis=-1).max(axis=-1, initial=0.0))

    def referenced(self, to: str) -> Modes:
        """The same motion seen from a frame that is fixed to another node.

        The arrays are those of the new frame to their orders in eta; systems take the exact motion, from ``field``.
        """
        from .reference import referenced

        return referenced(self, to)

    def ruthless(self) -> Modes:
        """The same without every term that depends on the deformation, (B1) of the paper.

        ``J1`` stays for the pull that spin has on the modes of a body that is not bent, and ``h1`` to go with it.
        """
        names = ("h2", "J2", "Ct1", "Cr1", "Q", "psi2")
        zero: dict[str, Any] = {k: np.zeros_like(getattr(self, k)) for k in names}
        return replace(self, fidelity="ruthless", field=None, **zero)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the arrays as ``.npz``, for :meth:`load` and for ``file = "..."`` in a model file."""
        from .readers.npz import save

        save(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Modes:
        """Modes that :meth:`save` wrote."""
        from .readers.npz import load

        return load(path)

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
        psi2: Any = None,
        D: Any = None,
        nodes: Sequence[str] | None = None,
        inboard: str | None = None,
        kind: str = "cantilever",
        fidelity: str = "full",
    ) -> Modes:
        """Modes from nodal data: places (nn, 3), masses (nn), inertias (nn, 3, 3), ``phi`` and ``psi`` (nn, 3, nm).

        ``Q`` (nn, 3, nm, nm) are second-order displacements, which "stiffened" needs, and ``psi2`` second-order
        rotations. Modes of kind "free" are re-referenced to the inboard node; in those of other kinds it must not move.
        """
        from .reference import finished

        points = Points.make(r, mass, phi, inertia=inertia, psi=psi, Q=Q, psi2=psi2)
        names = check.node_names(nodes, len(r))
        first = names[0] if inboard is None else check.known(inboard, names, "inboard node")
        check.known(kind, KINDS, "kind of modes")
        check.known(fidelity, FIDELITIES, "fidelity")
        if fidelity == "stiffened" and Q is None:
            raise check.no_second_order("the nodal data have no Q")
        check.masses(points.mass, points.inertia)
        strain = check.slopes(points.r, points.phi)
        integrals = points.energy(strain, lumped=True)
        stiffness = check.stiffness(K, points.phi.shape[2])
        damping = np.zeros_like(stiffness) if D is None else check.symmetric(D, len(stiffness), "damping")
        frequencies = check.independent(integrals["Mff"], stiffness)
        made = Modes(
            kind=kind,
            fidelity=fidelity,
            frequencies=frequencies,
            **integrals,
            K=stiffness,
            D=damping,
            nodes=names,
            r=points.r,
            phi=points.phi,
            psi=points.psi,
            Q=points.Q,
            inboard="",
            psi2=points.psi2,
            strain=strain,
        )
        return finished(made, first)
