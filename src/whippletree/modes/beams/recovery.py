"""Loads and stresses of a beam from the coordinates of its modes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from ...errors import ModelError
from .sections import Section

LOADS = ("axial", "shear_y", "shear_z", "torsion", "bending_y", "bending_z")


@dataclass(frozen=True, eq=False)
class BeamRecovery:
    """Strains of the modes as polynomials on every element: Legendre coefficients (elements, degree + 1, 6, nm).

    The six strains are stretch, shear along y and z, twist, and curvature about y and z, in the beam's own axes.
    """

    ends: np.ndarray  # of the elements, (elements + 1), m along the beam
    strains: np.ndarray
    section: Section
    shear: bool  # whether the beam shears: Timoshenko's does

    def strain(self, at: np.ndarray) -> np.ndarray:
        """The six strains of each mode at places along the beam: (len(at), 6, nm)."""
        element = np.clip(np.searchsorted(self.ends, at, side="right") - 1, 0, len(self.ends) - 2)
        a, b = self.ends[element], self.ends[element + 1]
        V = legendre.legvander((2.0 * at - a - b) / (b - a), self.strains.shape[1] - 1)
        return np.einsum("sk,skia->sia", V, self.strains[element])

    def largest(self, eta: np.ndarray) -> np.ndarray:
        """The largest strain at the outer fibre of the beam, (...) for eta (..., nm)."""
        part = np.linspace(0.0, 1.0, 4 * self.strains.shape[1] + 1)
        s = np.unique(self.ends[:-1, None] + np.diff(self.ends)[:, None] * part)
        p = self.section.at(s)
        # of a section without known outer fibre: that of a rectangle of the same radius of gyration
        cy, cz = (np.where(np.isnan(c), np.sqrt(3.0 * I / p.A), c) for c, I in ((p.cy, p.Iz), (p.cz, p.Iy)))
        reach = np.stack([np.ones_like(s)] * 3 + [np.where(np.isnan(p.ct), np.hypot(cy, cz), p.ct), cz, cy], axis=1)
        found = np.zeros(eta.shape[:-1])
        for strain, at in zip(self.strain(s), reach, strict=True):  # of each section, (6, nm)
            found = np.maximum(found, abs(eta @ strain.T) @ at)
        return found

    def stresses(self, eta: Any, at: Any = None) -> dict[str, np.ndarray]:
        """Loads (N, N m) and stresses (Pa) at places ``at`` (m along the beam; the ends of elements if left out).

        The loads ``axial``, ``shear_y``, ``shear_z`` (of Timoshenko beams), ``torsion``, ``bending_y``, ``bending_z``
        and, at the outer fibre, ``axial_stress``, ``bending_stress``, ``torsion_stress`` and ``von_mises``, each
        (..., len(at)) for eta (..., nm). Shear by bending, which is zero at the outer fibre, is not in the stresses.
        """
        s = self.ends if at is None else np.atleast_1d(np.asarray(at, dtype=float))
        if not np.isfinite(s).all() or s.min() < self.ends[0] or s.max() > self.ends[-1]:
            raise ModelError(
                "stresses: a place is not on the beam",
                expected=f"{self.ends[0]:g} to {self.ends[-1]:g} m",
                got=f"{s.min():g} to {s.max():g}",
            )
        section = self.section.at(s)
        if np.isnan(section.cy + section.cz + section.ct).any():
            raise ModelError(
                "stresses: the outer fibre of a general section is not known", expected="cy, cz and ct of the beam"
            )
        stiffness = np.nan_to_num(section.stiffness())  # no shear factor where there is no shear
        loads = np.einsum("sia,...a->...si", stiffness[..., None] * self.strain(s), np.asarray(eta, float))
        found = {name: loads[..., i] for i, name in enumerate(LOADS) if self.shear or "shear" not in name}
        axial = loads[..., 0] / section.A
        bending = abs(loads[..., 5]) * section.cy / section.Iz + abs(loads[..., 4]) * section.cz / section.Iy
        if section.round:  # bending about both axes adds as a vector
            bending = np.hypot(loads[..., 5], loads[..., 4]) * section.cy / section.Iz
        torsion = abs(loads[..., 3]) * section.ct / section.J
        normal = abs(axial) + bending
        found |= {"axial_stress": axial, "bending_stress": bending, "torsion_stress": torsion}
        return found | {"von_mises": np.sqrt(normal**2 + 3.0 * torsion**2)}
