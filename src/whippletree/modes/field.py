"""The kinetic energy of a deformed body as a sum of squares, at any deformation.

Mass points move by ``r + phi eta + eta Q eta / 2``. Where Q is zero the energy is the polynomial of :class:`Modes`, and
exact. Where it is not, the points are replaced by a few *generalized points*: with the mass matrix W between points
and a basis U of fields, U' W U = 1, the coefficients U' W [1, r, phi, Q] move as points of unit mass do, and what is
left of r and phi is a body of first order: the mass matrix is a Gram matrix, M = J' J, whatever U. The basis has all
first-order fields and what Q has beyond them, so that of what is left of Q only the square counts. Of points that no
translation moves, those of a beam's sections, it has r alone: their energy is exact to second order in eta.

Lumps are rigid bodies at nodes, which turn by the Cayley rotation of ``psi eta + eta psi2 eta / 2``.
The *carrier* is the node that the body's frame is fixed to, if it moves in the frame in which the modes are given, as
in free modes: the energy there is transformed exactly, by the velocity of that node.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .cross import LEVI, moment

LUMPS = 50  # rigid bodies at nodes that keep their own rotation; more of them are distributed mass
LOST = 1e-12  # first-order fields below it are rounding
BEYOND = 1e-6  # of a mode's root mass at the limit of strain: beyond first-order fields only squares count
LIMIT = 0.01  # strain up to which modes are meant
POLYNOMIAL = ("h0", "h1", "J0", "J1", "J2", "Cr0", "Cr1", "Mff")
LUMP = ("lump_mass", "lump_com", "lump_inertia", "lump_r", "lump_phi", "lump_psi", "lump_Q", "lump_psi2")
NODES = ("node_phi", "node_psi", "node_Q", "node_psi2")


@dataclass(frozen=True, eq=False)
class MassField:
    """Constants of the energy beside those of :class:`Modes`, in the frame in which the modes were made.

    The polynomial ``h0 ... Mff`` is that of first-order motion, without lumps. Arrays ``node_...`` are the motion of
    the nodes in that frame, and empty where it is the frame of the body.
    """

    h0: np.ndarray
    h1: np.ndarray
    J0: np.ndarray
    J1: np.ndarray
    J2: np.ndarray
    Cr0: np.ndarray
    Cr1: np.ndarray
    Mff: np.ndarray
    one: np.ndarray  # (ng)
    r: np.ndarray  # (ng, 3)
    phi: np.ndarray  # (ng, 3, nm)
    Q: np.ndarray  # (ng, 3, nm, nm)
    lump_mass: np.ndarray  # (nl)
    lump_com: np.ndarray  # (nl, 3)  from the node
    lump_inertia: np.ndarray  # (nl, 3, 3)  about it
    lump_r: np.ndarray  # (nl, 3)
    lump_phi: np.ndarray  # (nl, 3, nm)
    lump_psi: np.ndarray
    lump_Q: np.ndarray  # (nl, 3, nm, nm)
    lump_psi2: np.ndarray
    node_phi: np.ndarray  # (nn, 3, nm)
    node_psi: np.ndarray
    node_Q: np.ndarray  # (nn, 3, nm, nm)
    node_psi2: np.ndarray

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MassField):
            return NotImplemented
        return all(np.array_equal(getattr(self, f.name), getattr(other, f.name)) for f in fields(self))

    __hash__ = None  # type: ignore[assignment]

    @property
    def carried(self) -> bool:
        """Whether the body's frame moves in that of the modes."""
        return len(self.node_phi) > 0

    def shapes(self, nn: int) -> dict[str, tuple[int, ...]]:
        """Of all arrays, for files."""
        n, ng, nl, nc = len(self.Mff), len(self.one), len(self.lump_mass), nn if self.carried else 0
        found: dict[str, tuple[int, ...]] = {"h0": (3,), "h1": (3, n), "J0": (3, 3), "J1": (n, 3, 3), "Cr0": (3, n)}
        found |= {"J2": (n, n, 3, 3), "Cr1": (n, 3, n), "Mff": (n, n), "one": (ng,), "r": (ng, 3), "phi": (ng, 3, n)}
        found |= {"Q": (ng, 3, n, n), "lump_mass": (nl,), "lump_com": (nl, 3), "lump_inertia": (nl, 3, 3)}
        found |= {"lump_r": (nl, 3), "lump_phi": (nl, 3, n), "lump_psi": (nl, 3, n), "lump_Q": (nl, 3, n, n)}
        found |= {"lump_psi2": (nl, 3, n, n), "node_phi": (nc, 3, n), "node_psi": (nc, 3, n)}
        return found | {"node_Q": (nc, 3, n, n), "node_psi2": (nc, 3, n, n)}

    @property
    def trivial(self) -> bool:
        """Whether the polynomial is all there is."""
        return not (self.carried or len(self.one) or len(self.lump_mass))


def nothing(n: int) -> dict[str, np.ndarray]:
    """Of generalized points, lumps and nodes."""
    empty: dict[str, np.ndarray] = {"one": np.zeros(0), "r": np.zeros((0, 3))}
    empty |= {"phi": np.zeros((0, 3, n)), "Q": np.zeros((0, 3, n, n))}
    empty |= {"lump_mass": np.zeros(0), "lump_com": np.zeros((0, 3)), "lump_inertia": np.zeros((0, 3, 3))}
    empty |= {"lump_r": np.zeros((0, 3)), "lump_phi": np.zeros((0, 3, n)), "lump_psi": np.zeros((0, 3, n))}
    empty |= {"lump_Q": np.zeros((0, 3, n, n)), "lump_psi2": np.zeros((0, 3, n, n))}
    empty |= {"node_phi": np.zeros((0, 3, n)), "node_psi": np.zeros((0, 3, n))}
    return empty | {"node_Q": np.zeros((0, 3, n, n)), "node_psi2": np.zeros((0, 3, n, n))}


def mass_field(
    polynomial: dict[str, Any],
    weight: Any,
    r: np.ndarray,
    phi: np.ndarray,
    Q: np.ndarray | None,
    strain: np.ndarray | None,
    mass: np.ndarray,
    lumps: dict[str, np.ndarray] | None = None,
    one: np.ndarray | None = None,
) -> MassField | None:
    """The energy of points with the mass matrix ``weight`` between them and of lumps; None if the polynomial is all.

    ``polynomial`` is that of the points to first order and of what is left besides, such as the inertia of sections;
    ``strain`` and ``mass`` of every mode give its range; a translation moves points by ``one``.
    """
    n = phi.shape[2]
    made: dict[str, Any] = {name: polynomial[name] for name in POLYNOMIAL} | nothing(n) | (lumps or {})
    if Q is not None and n and Q.any():
        U = _basis(weight, r, phi, Q, _sizes(np.zeros(n) if strain is None else strain, mass), one)
        across = weight @ U  # coefficients of a field x are U' W x
        points = {"one": across.sum(axis=0) if one is None else one @ across}
        points |= {name: np.tensordot(across.T, x, axes=1) for name, x in (("r", r), ("phi", phi), ("Q", Q))}
        made |= points
        for name, value in first_order(points["one"], points["r"], points["phi"]).items():
            made[name] = made[name] - value
    field = MassField(**{name: np.ascontiguousarray(x, float) for name, x in made.items()})
    return None if field.trivial else field


def _sizes(strain: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """What a unit of Q_ab adds to the root mass of a mode, in parts of it, at the limit of strain: (nm, nm)."""
    reach = LIMIT / np.where(strain > 0.0, strain, np.inf)
    reach = np.where(reach > 0.0, reach, reach.max(initial=0.0) or 1.0)
    one = reach[:, None] / np.sqrt(mass)
    return np.maximum(one, one.T)


def _basis(
    weight: Any, r: np.ndarray, phi: np.ndarray, Q: np.ndarray, size: np.ndarray, one: np.ndarray | None
) -> np.ndarray:
    """U with U' W U = 1: all first-order fields of points that a translation moves, what second-order ones have beyond
    them, and the places of other points."""
    count, n = len(r), phi.shape[2]
    moved = np.ones((count, 1), bool) if one is None else one[:, None] != 0.0
    first = np.hstack([moved * np.hstack([np.ones((count, 1)), r, phi.reshape(count, -1)]), ~moved * r])
    mass = np.einsum("na,na->a", first, weight @ first)
    kept = mass > 0.0
    U = _beyond(np.zeros((count, 0)), weight, first[:, kept] / np.sqrt(mass[kept]), LOST)
    a, b = np.triu_indices(n)
    return _beyond(U, weight, moved * (Q[..., a, b] * size[a, b]).reshape(count, -1), BEYOND)


def _beyond(U: np.ndarray, weight: Any, X: np.ndarray, lost: float) -> np.ndarray:
    """U, and what spans the fields X beyond it, but for those of less than ``lost``."""
    own = weight.diagonal()
    root = np.sqrt(np.maximum(own, 1e-24 * own.max()))[:, None]
    least = lost * max(1.0, np.linalg.norm(root * X, axis=0).max(initial=0.0))
    left, s, _ = np.linalg.svd(root * (X - U @ (U.T @ (weight @ X))), full_matrices=False)
    V = left[:, s > least] / root
    V = V - U @ (U.T @ (weight @ V))
    L = np.linalg.cholesky(V.T @ (weight @ V))
    return np.hstack([U, np.linalg.solve(L, V.T).T])


def first_order(one: np.ndarray, r: np.ndarray, phi: np.ndarray) -> dict[str, np.ndarray]:
    """The polynomial of generalized points of unit mass that move by r + phi eta."""
    P1 = np.einsum("ni,nja->aij", r, phi)
    P2 = np.einsum("nia,njb->abij", phi, phi)
    J2 = moment(P2 + P2.swapaxes(-1, -2))
    return {
        "h0": one @ r,
        "h1": np.einsum("n,nia->ia", one, phi),
        "J0": moment(r.T @ r),
        "J1": moment(P1 + P1.swapaxes(-1, -2)),
        "J2": 0.5 * (J2 + J2.swapaxes(0, 1)),
        "Cr0": np.einsum("ijk,nj,nka->ia", LEVI, r, phi, optimize=True),
        "Cr1": np.einsum("ijk,abjk->aib", LEVI, P2),
        "Mff": np.einsum("nia,nib->ab", phi, phi),
    }
