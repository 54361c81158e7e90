"""The kinetic energy of a deformed body as a sum of squares, at any deformation.

Mass points move by ``r + phi eta + eta Q eta / 2``. Where Q is zero the energy is the polynomial of :class:`Modes`, and
exact. Where it is not, the points are replaced by a few *generalized points*: with the mass matrix W between points
and a basis U of all second-order fields, U' W U = 1, the coefficients U' W [1, r, phi, Q] move as points of unit mass
do, and what is left of r and phi, which no second-order field sees, is a body of first order. Both are exact, so the
mass matrix is a Gram matrix, M = J' J.

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
LOST = 1e-12  # of a mode's own root mass at the limit of strain: fields below it are rounding
SECTION = 1e-6  # the same of sections' material points, whose second order is itself to rotations cubed
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
        size = _sizes(np.zeros(n) if strain is None else strain, mass)
        moved = np.ones(len(r), bool) if one is None else one != 0.0
        parts = [_basis(weight, Q, size, moved, LOST), _basis(weight, Q, size, ~moved, SECTION)]
        U = np.concatenate(parts, axis=1)
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


def _basis(weight: Any, Q: np.ndarray, size: np.ndarray, which: np.ndarray, lost: float) -> np.ndarray:
    """U with U' W U = 1 that spans the second-order fields of some points, but for those of less than ``lost``."""
    if not which.any():
        return np.zeros((len(Q), 0))
    a, b = np.triu_indices(Q.shape[-1])
    X = (Q[..., a, b] * size[a, b]).transpose(0, 2, 1).reshape(len(Q), -1)
    X = np.where(which[:, None], X, 0.0)
    own = weight.diagonal()
    root = np.sqrt(np.maximum(own, 1e-24 * own.max()))
    left, s, _ = np.linalg.svd(root[:, None] * X, full_matrices=False)
    U = left[:, s > lost * max(1.0, s.max(initial=0.0))] / root[:, None]
    L = np.linalg.cholesky(U.T @ (weight @ U))
    return np.linalg.solve(L, U.T).T


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
