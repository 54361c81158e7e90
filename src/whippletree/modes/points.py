"""Mass points of a structure and the modal integrals over them, consistent to second order in deformation.

A point has a place, a mass, a rotary inertia, and moves with the modes: ``rho = r + phi eta + eta Q eta / 2``, turned
by ``theta = psi eta + eta psi2 eta / 2``. Points are nodes with lumped masses, or the Gauss points of elements,
with weights as masses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from . import check
from .cross import LEVI, moment
from .field import LUMPS, MassField, mass_field


@dataclass(frozen=True, eq=False)
class Points:
    """Mass points and how the modes move them."""

    r: np.ndarray  # (n, 3)
    mass: np.ndarray  # (n)
    inertia: np.ndarray  # (n, 3, 3)
    phi: np.ndarray  # (n, 3, nm)
    psi: np.ndarray  # (n, 3, nm)
    Q: np.ndarray  # (n, 3, nm, nm)
    psi2: np.ndarray  # (n, 3, nm, nm)

    @staticmethod
    def make(
        r: Any, mass: Any, phi: Any, *, inertia: Any = None, psi: Any = None, Q: Any = None, psi2: Any = None
    ) -> Points:
        """Points from array-likes; what is left out is zero."""
        r = check.numbers(r, (None, 3), "places of nodes")
        n = len(r)
        mass, phi = check.numbers(mass, (n,), "mass"), check.numbers(phi, (n, 3, None), "phi")
        nm = phi.shape[2]
        more: dict[str, Any] = {"inertia": (inertia, (n, 3, 3)), "psi": (psi, (n, 3, nm))}
        more |= {"Q": (Q, (n, 3, nm, nm)), "psi2": (psi2, (n, 3, nm, nm))}
        made = (np.zeros(shape) if x is None else check.numbers(x, shape, name) for name, (x, shape) in more.items())
        inertia, psi, Q, psi2 = made
        return Points(r, mass, inertia, phi, psi, Q, psi2)

    def energy(self, strain: np.ndarray | None, lumped: bool) -> dict[str, Any]:
        """The integrals, and ``field``, what the energy takes besides: a :class:`MassField` or None.

        Rotary inertia rotates with its node if it is ``lumped``; if it is distributed, as that of a beam's sections,
        its material points move to the order that the points have.
        """
        turned, lumps = self.inertia.any(axis=(1, 2)), None
        distributed = not lumped or int(turned.sum()) > LUMPS
        second = bool(self.Q.any() or self.psi2.any())
        got, polynomial = self.integrals(sections=distributed and not second), self.integrals(True, sections=True)
        if distributed and second and turned.any():
            field = self._with_sections().field(polynomial, strain, np.diag(got["Mff"]), None, len(self.mass))
            return got | {"field": field}
        if not distributed and turned.any():
            polynomial = replace(self, inertia=0.0 * self.inertia).integrals(True)
            lumps = rotors(self.inertia[turned], self.psi[turned], self.psi2[turned])
        return got | {"field": self.field(polynomial, strain, np.diag(got["Mff"]), lumps)}

    def field(
        self,
        polynomial: dict[str, Any],
        strain: np.ndarray | None,
        mass: np.ndarray,
        lumps: dict[str, np.ndarray] | None,
        moved: int | None = None,
    ) -> MassField | None:
        """See :func:`mass_field`; a translation moves the first ``moved`` points, or all."""
        weight, one = scipy.sparse.diags_array(self.mass), np.ones(len(self.mass))
        one[len(one) if moved is None else moved :] = 0.0
        return mass_field(polynomial, weight, self.r, self.phi, self.Q, strain, mass, lumps, one)

    def _with_sections(self) -> Points:
        """With what rotates each section, as points that no translation moves: its directions d, at d + theta × d +
        theta × (theta × d) / 2, with the second moments along them as masses."""
        S = 0.5 * np.trace(self.inertia, axis1=1, axis2=2)[:, None, None] * np.eye(3) - self.inertia
        moments, axes = np.linalg.eigh(S)
        used = (moments > 1e-12 * moments.max(initial=0.0)) & self._of_bodies()[:, None]
        node, which = np.nonzero(used)
        d, psi, psi2 = axes[node, :, which], self.psi[node], self.psi2[node]
        T = np.einsum("ijk,nka->naji", LEVI, psi)
        twice = 0.5 * np.einsum("naij,nbjk,nk->niab", T, T, d, optimize=True)
        Q = twice + twice.swapaxes(-1, -2) + np.einsum("ijk,njab,nk->niab", LEVI, psi2, d)
        phi = np.einsum("naij,nj->nia", T, d)
        arrays = ((self.r, d), (self.mass, moments[used]), (self.phi, phi), (self.psi, 0 * psi), (self.Q, Q))
        r, mass, phi, psi, Q = (np.concatenate(pair) for pair in arrays)
        return Points(r, mass, np.zeros((len(r), 3, 3)), phi, psi, Q, 0.0 * Q)

    def _of_bodies(self) -> np.ndarray:
        """Which inertias a body can have: no moment is more than the sum of the others."""
        most = np.linalg.eigvalsh(self.inertia)[:, -1]
        trace = np.trace(self.inertia, axis1=1, axis2=2)
        return np.asarray(0.5 * trace - most >= -1e-9 * trace)

    def integrals(self, linear: bool = False, sections: bool = False) -> dict[str, Any]:
        """mass, h0, h1, h2, J0, J1, J2, Ct0, Ct1, Cr0, Cr1, Mff of :class:`Modes`.

        ``linear``: of points without Q; ``sections``: the inertia is that of sections.
        """
        m, r, phi, Q = self.mass, self.r, self.phi, 0.0 * self.Q if linear else self.Q
        h1, h2 = np.einsum("n,nia->ia", m, phi), np.einsum("n,niab->iab", m, Q)
        # second moments int rho rho dm, and their derivatives: J = tr(P) 1 - P
        P0 = np.einsum("n,ni,nj->ij", m, r, r)
        P1 = np.einsum("n,ni,nja->aij", m, r, phi)
        P2 = np.einsum("n,nia,njb->abij", m, phi, phi) + np.einsum("n,ni,njab->abij", m, r, Q)
        # cross: (x × y)_i = e_ijk x_j y_k
        Cr1 = np.einsum("ijk,abjk->aib", LEVI, np.einsum("n,nja,nkb->abjk", m, phi, phi))
        Cr1 += np.einsum("ijk,n,nj,nkab->aib", LEVI, m, r, Q, optimize=True)
        got = {
            "mass": float(m.sum()),
            "h0": m @ r,
            "h1": h1,
            "h2": h2,
            "J0": moment(P0),
            "J1": moment(P1 + P1.swapaxes(-1, -2)),
            "J2": moment(P2 + P2.swapaxes(-1, -2)),
            "Ct0": h1.copy(),
            "Ct1": h2.transpose(1, 0, 2).copy(),
            "Cr0": np.einsum("ijk,n,nj,nka->ia", LEVI, m, r, phi, optimize=True),
            "Cr1": Cr1,
            "Mff": np.einsum("n,nia,nib->ab", m, phi, phi),
        }
        got["J2"] = 0.5 * (got["J2"] + got["J2"].swapaxes(0, 1))
        for name, value in (self._sections() if sections else self._rotary()).items():
            got[name] = got[name] + value
        return got

    def _rotary(self) -> dict[str, np.ndarray]:
        """What rotary inertias add: R I R' with R = 1 + theta~ + theta~^2 / 2, omega = theta' + theta × theta' / 2."""
        I, psi, psi2 = self.inertia, self.psi, self.psi2
        T = np.einsum("ijk,nka->naji", LEVI, psi)  # T[n, a] = psi_a~ : T x = psi_a × x
        TI = np.einsum("naij,njk->naik", T, I)
        turned = TI + TI.swapaxes(-1, -2)  # d(R I R')/d eta_a
        J2 = np.einsum("naij,njk,nblk->abil", T, I, T, optimize=True)
        J2 = J2 + J2.swapaxes(0, 1)
        half = 0.5 * np.einsum("naij,nbjk,nkl->abil", T, T, I, optimize=True)
        half = half + half.swapaxes(0, 1) + np.einsum("ijk,nkab,nil->abjl", LEVI, psi2, I, optimize=True)
        Cr1 = np.einsum("naij,njb->aib", turned, psi)
        Cr1 += 0.5 * np.einsum("nij,najk,nkb->aib", I, T, psi, optimize=True)
        Cr1 += np.einsum("nij,njab->aib", I, psi2)
        return {
            "J0": I.sum(axis=0),
            "J1": turned.sum(axis=0),
            "J2": J2 + half + half.swapaxes(-1, -2),
            "Cr0": np.einsum("nij,nja->ia", I, psi),
            "Cr1": Cr1,
            "Mff": np.einsum("nia,nij,njb->ab", psi, I, psi, optimize=True),
        }

    def _sections(self) -> dict[str, np.ndarray]:
        """The same for material points d of a section that move by theta × d, theta = psi eta: a sum of squares.

        Their second moments are S = tr(I) / 2 - I. An inertia that no body has, such as that about the axis of a beam
        alone, has negative ones: its angular velocity in the section, (1 - theta~) omega + theta', is squared instead.
        """
        I, psi = self.inertia, self.psi
        S = 0.5 * np.trace(I, axis1=1, axis2=2)[:, None, None] * np.eye(3) - I
        body = self._of_bodies()
        T = np.einsum("ijk,nka->naji", LEVI, psi)
        of_body, other = (np.where(x[:, None, None], y, 0.0) for x, y in ((body, S), (~body, I)))
        P1 = np.einsum("naij,njk->aik", T, of_body)
        P2 = np.einsum("naij,njk,nblk->abil", T, of_body, T, optimize=True)
        TI = np.einsum("naij,njk->aik", T, other)
        TIT = np.einsum("naij,njk,nblk->abil", T, other, T, optimize=True)
        J2 = moment(P2 + P2.swapaxes(-1, -2)) + TIT + TIT.swapaxes(-1, -2)
        Cr1 = np.einsum("ijk,abjk->aib", LEVI, P2) + np.einsum("naij,njk,nkb->aib", T, other, psi, optimize=True)
        return {
            "J0": I.sum(axis=0),
            "J1": moment(P1 + P1.swapaxes(-1, -2)) + TI + TI.swapaxes(-1, -2),
            "J2": 0.5 * (J2 + J2.swapaxes(0, 1)),
            "Cr0": np.einsum("nij,nja->ia", I, psi),
            "Cr1": Cr1,
            "Mff": np.einsum("nia,nij,njb->ab", psi, I, psi, optimize=True),
        }


def rotors(inertia: np.ndarray, psi: np.ndarray, psi2: np.ndarray) -> dict[str, np.ndarray]:
    """Lumps that turn, and whose mass is elsewhere."""
    count, nm = len(inertia), psi.shape[2]
    still, second = np.zeros((count, 3)), np.zeros((count, 3, nm, nm))
    made = {"lump_mass": np.zeros(count), "lump_com": still, "lump_r": still, "lump_phi": 0.0 * psi, "lump_Q": second}
    return made | {"lump_inertia": inertia, "lump_psi": psi, "lump_psi2": psi2}
