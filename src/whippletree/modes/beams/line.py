"""The line of a beam: second-order displacements, strains and loads along it.

A section at x stands at r and is turned by R = exp θ~; with the axis e, strains are Γ = R'r' - e and κ, R κ~ = R'.
Modes give θ, Γ and κ = θ' of first order. Second-order parts θ2 and Q keep those of strain zero:
    θ2_ab' = (θ_a × θ_b' + θ_b × θ_a') / 2
    Q_ab'  = (θ_a × (θ_b × e) + θ_b × (θ_a × e)) / 2 + θ2_ab × e + θ_a × Γ_b + θ_b × Γ_a
In a plane this is the foreshortening -∫ φ_a' φ_b' dx; torsion with bending, and stretch with bending, are there too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.polynomial import legendre

from ..mass import Second
from .elements import Element
from .recovery import BeamRecovery
from .sections import Section

X = np.array([1.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class BeamLine:
    """Elements between ``ends`` (m along the beam); ``columns[e]`` are the structure's coordinates of element e."""

    ends: np.ndarray
    element: Element
    columns: tuple[np.ndarray, ...]
    axes: np.ndarray  # of the beam, as columns, in the structure's frame
    section: Section
    gauss: np.ndarray  # points of mass in an element, on [-1, 1]

    def second_order(self, V: np.ndarray, held: np.ndarray) -> Second:
        """Q and θ2 of nodes and of mass points, for modes that are still at the place ``held``."""
        ne, nm = len(self.columns), V.shape[1]
        Q, turn = np.zeros((3, nm, nm)), np.zeros((3, nm, nm))
        at_nodes, at_points = [(Q, turn)], []
        for e in range(ne):
            found = self._along(V, e, np.append(self.gauss, 1.0), Q, turn)
            at_points.append((found[0][:-1], found[1][:-1]))
            Q, turn = found[0][-1], found[1][-1]
            at_nodes.append((Q, turn))
        nodes_Q, nodes_turn = (np.stack(x) for x in zip(*at_nodes, strict=True))
        k = int(np.argmin(abs(self.ends - float(self.axes[:, 0] @ held))))
        points_Q, points_turn = (np.concatenate(x) for x in zip(*at_points, strict=True))
        gauss_s = [a + 0.5 * (b - a) * (self.gauss + 1.0) for a, b in pairwise(self.ends)]
        s = np.concatenate([self.ends, *gauss_s])
        Q, turn = np.concatenate([nodes_Q, points_Q]), np.concatenate([nodes_turn, points_turn])
        # less the rigid motion of node k, in the structure's axes
        Q = Q - Q[k] - _cross_ab(turn[k], X) * (s - s[k])[:, None, None, None]
        Q, turn = (np.einsum("ij,njab->niab", self.axes, x) for x in (Q, turn - turn[k]))
        return Second(Q[: ne + 1], turn[: ne + 1], (Q[ne + 1 :], turn[ne + 1 :]))

    def _along(
        self, V: np.ndarray, e: int, xi: np.ndarray, Q: np.ndarray, turn: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Q and θ2 at points of element e, from those at its start; the integrals are exact for polynomials."""
        length = self.ends[e + 1] - self.ends[e]
        nodes, weights = legendre.leggauss(self.element.degree + 2)
        sub = (xi[:, None] + 1.0) * (nodes + 1.0) / 2.0 - 1.0  # from the start to each point
        w = 0.25 * length * (xi[:, None] + 1.0) * weights
        f = self.element.fields(sub.ravel(), length)
        local = V[self.columns[e]]
        fields = (x[:, :, self.element.columns] @ local for x in (f.T, f.dT, f.B[:, :3]))
        theta, rate, strain = (x.reshape(*sub.shape, 3, -1) for x in fields)
        turning = 0.5 * _both(theta, rate)
        bent = 0.5 * _both(theta, np.cross(theta, X[:, None], axis=-2)) + _both(theta, strain)
        far = 0.5 * length * (xi[:, None] - sub)  # x - s, for ∫ θ2 ds = ∫ (x - s) θ2' ds
        grown = np.einsum("pq,pqiab->piab", w, turning)
        twice = (
            np.einsum("pq,pq,pqiab->piab", w, far, turning) + turn * (0.5 * length * (xi + 1.0))[:, None, None, None]
        )
        moved = np.einsum("pq,pqiab->piab", w, bent) + _cross_ab(twice, X)
        return Q + moved, turn + grown

    def strains(self, V: np.ndarray, xi: np.ndarray) -> np.ndarray:
        """Of the modes, at points xi of every element: (elements, len(xi), 6, nm)."""
        lengths = np.diff(self.ends)
        matrices = [self.element.fields(xi, length).B[:, :, self.element.columns] for length in lengths]
        return np.stack([B @ V[c] for B, c in zip(matrices, self.columns, strict=True)])

    def recovery(self, V: np.ndarray) -> BeamRecovery:
        """Strains as Legendre coefficients."""
        nodes, weights = legendre.leggauss(self.element.degree + 1)
        P = legendre.legvander(nodes, self.element.degree)
        fit = (P * weights[:, None]).T * (np.arange(self.element.degree + 1) + 0.5)[:, None]
        strains = np.einsum("kp,epia->ekia", fit, self.strains(V, nodes))
        return BeamRecovery(self.ends, strains, self.section, self.element.shear)

    def largest(self, V: np.ndarray) -> np.ndarray:
        """The largest strain at the outer fibre, of each mode."""
        return self.recovery(V).largest(np.eye(V.shape[1]))


def _both(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """x_a × y_b + x_b × y_a, (..., 3, nm, nm)."""
    one = np.cross(x[..., :, None], y[..., None, :], axis=-3)
    return one + one.swapaxes(-1, -2)


def _cross_ab(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Of components (..., 3, nm, nm) with one vector."""
    return np.cross(x, y[:, None, None], axis=-3)
