"""Mass of a structure: what its modal integrals are made of.

Each kind has ``integrals(V, shapes, second, strain)``: of modes V in the structure's coordinates, which move its nodes
by ``shapes`` (nn, 6, nm), of their second order, if there is one, and of the largest strain of each. They are those of
:class:`Modes`, with ``field``, a :class:`MassField` or None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from ..errors import ModelError
from .cross import LEVI, moment
from .field import LUMPS, mass_field
from .points import Points, rotors


@dataclass(frozen=True, eq=False)
class Second:
    """Second order of the modes: Q and psi2 of nodes, and of mass points."""

    Q: np.ndarray  # (nn, 3, nm, nm)
    psi2: np.ndarray
    points: tuple[np.ndarray, np.ndarray] | None = None  # Q and psi2


@dataclass(frozen=True, eq=False)
class NodalMass:
    """Rigid bodies at the nodes: mass, centre of mass from the node, inertia about it."""

    r: np.ndarray
    mass: np.ndarray
    offset: np.ndarray
    inertia: np.ndarray

    def integrals(
        self, V: np.ndarray, shapes: np.ndarray, second: Second | None, strain: np.ndarray | None = None
    ) -> dict[str, Any]:
        phi, psi, c = shapes[:, :3], shapes[:, 3:], self.offset
        at = phi + np.einsum("ijk,nja,nk->nia", LEVI, psi, c)
        T = np.einsum("ijk,nka->naji", LEVI, psi)
        twice = np.einsum("naij,nbjk,nk->niab", T, T, c, optimize=True)
        Q = 0.5 * (twice + twice.swapaxes(-1, -2))
        if second is not None:
            Q = Q + second.Q + np.einsum("ijk,njab,nk->niab", LEVI, second.psi2, c)
        psi2 = np.zeros_like(Q) if second is None else second.psi2
        all_points = Points(self.r + c, self.mass, self.inertia, at, psi, Q, psi2)
        aside, turned = c.any(axis=1) & (self.mass > 0.0), self.inertia.any(axis=(1, 2))
        if (aside | turned).sum() > LUMPS:
            return all_points.energy(strain, lumped=False)
        got = all_points.integrals()
        plain = np.zeros_like(Q) if second is None else second.Q
        rest = Points(self.r, np.where(aside, 0.0, self.mass), 0.0 * self.inertia, phi, psi, plain, psi2)
        k = aside | turned
        here = np.where(aside, 1.0, 0.0)[k, None, None]
        lumps = rotors(self.inertia[k], psi[k], psi2[k])
        lumps |= {"lump_mass": np.where(aside, self.mass, 0.0)[k], "lump_com": c[k] * here[:, 0]}
        lumps |= {"lump_r": self.r[k] * here[:, 0], "lump_phi": phi[k] * here, "lump_Q": plain[k] * here[..., None]}
        return got | {"field": rest.field(rest.integrals(linear=True), strain, np.diag(got["Mff"]), lumps)}


@dataclass(frozen=True, eq=False)
class PointMass:
    """Points whose motion is linear in the coordinates of the structure: N and T are (n, 3, coordinates)."""

    r: np.ndarray
    mass: np.ndarray
    inertia: np.ndarray
    N: np.ndarray
    T: np.ndarray

    def integrals(
        self, V: np.ndarray, shapes: np.ndarray, second: Second | None, strain: np.ndarray | None = None
    ) -> dict[str, Any]:
        phi, psi = self.N @ V, self.T @ V
        Q, psi2 = (None, None) if second is None or second.points is None else second.points
        points = Points.make(self.r, self.mass, phi, inertia=self.inertia, psi=psi, Q=Q, psi2=psi2)
        return points.energy(strain, lumped=False)


@dataclass(frozen=True, eq=False)
class MatrixMass:
    """A mass matrix between the motions [x y z θx θy θz] of all nodes, (6 nn, 6 nn).

    Displacements of the deformed body are interpolated as the matrix does it. This is exact where all three directions
    have the same interpolation, as in solid elements; of rotary inertia that is coupled between nodes, the turning with
    the deformation is left out.
    """

    r: np.ndarray
    M: Any  # sparse

    def integrals(
        self, V: np.ndarray, shapes: np.ndarray, second: Second | None, strain: np.ndarray | None = None
    ) -> dict[str, Any]:
        got = self._first_order(shapes)
        if second is None or not second.Q.any():
            return got | {"field": None}
        weight, share = self._between_points(shapes)
        Q = second.Q / share
        field = mass_field(got, weight, self.r, shapes[:, :3], Q, strain, np.diag(got["Mff"]))
        WQ = np.tensordot((weight @ np.column_stack([np.ones(len(self.r)), self.r])).T, Q, axes=1)
        h2, rQ = WQ[0], WQ[1:]  # int Q; int r_i Q_j
        P = rQ.transpose(2, 3, 0, 1)
        J2 = moment(P + P.swapaxes(-1, -2))
        got["h2"], got["Ct1"] = h2, h2.transpose(1, 0, 2).copy()
        got["J2"] = got["J2"] + 0.5 * (J2 + J2.swapaxes(0, 1))
        got["Cr1"] = got["Cr1"] + np.einsum("dij,ijab->adb", LEVI, rQ)
        return got | {"field": field}

    def _between_points(self, shapes: np.ndarray) -> tuple[Any, float]:
        """The mass matrix between points, and how much of the mass it holds.

        That of solid elements is the same along x, y and z, and all there is. Of others, masses at the nodes take its
        place for motion of second order, as much of them as leaves the mass of motions of first order positive.
        """
        nn, _, nm = shapes.shape
        M = scipy.sparse.csr_array(self.M)
        parts = [M[i::6, :][:, i::6] for i in range(3)]
        alike = scipy.sparse.kron(parts[0], scipy.sparse.diags_array([1.0, 1, 1, 0, 0, 0]))
        if abs(M - alike).max() <= 1e-12 * abs(M).max():
            return parts[0], 1.0
        even = sum(np.asarray(x.sum(axis=1)).ravel() for x in parts) / 3.0
        nodal = scipy.sparse.diags_array(np.maximum(even, 0.0))
        around = np.zeros((nn, 6, 3, nm))
        around[:, :3] = np.einsum("idk,nka->nida", LEVI, shapes[:, :3])
        moves = [rigid_motion(self.r, np.zeros(3)), shapes.reshape(6 * nn, nm), around.reshape(6 * nn, 3 * nm)]
        F = np.concatenate(moves, axis=1)
        F = F / np.sqrt(np.maximum(np.einsum("xa,xa->a", F, M @ F), np.finfo(float).tiny))
        s, turn = np.linalg.eigh(F.T @ (M @ F))
        F = F @ (turn[:, s > 1e-10 * s.max()] / np.sqrt(s[s > 1e-10 * s.max()]))
        x = F.reshape(nn, 6, -1)[:, :3].reshape(3 * nn, -1)
        most = np.linalg.eigvalsh(x.T @ (scipy.sparse.kron(nodal, scipy.sparse.eye_array(3)) @ x))[-1]
        share = min(1.0, 1.0 / most)
        return share * nodal, share

    def _first_order(self, shapes: np.ndarray) -> dict[str, Any]:
        nn, _, nm = shapes.shape
        R = rigid_motion(self.r, np.zeros(3))  # (6 nn, 6): along, then about x, y, z
        MR = self.M @ R
        whole = R.T @ MR
        flat = shapes.reshape(6 * nn, nm)
        around = np.zeros((nn, 6, 3, nm))  # e_d × phi
        around[:, :3] = np.einsum("idk,nka->nida", LEVI, shapes[:, :3])
        turned = around.reshape(6 * nn, 3, nm)
        MF, MT = self.M @ flat, (self.M @ around.reshape(6 * nn, 3 * nm)).reshape(6 * nn, 3, nm)
        Ct0, Cr0 = MR[:, :3].T @ flat, MR[:, 3:].T @ flat
        J1 = np.einsum("xd,xea->ade", R[:, 3:], MT)
        J2 = np.einsum("xda,xeb->abde", turned, MT, optimize=True)
        Cr1 = np.einsum("xda,xb->adb", turned, MF, optimize=True)
        h2 = np.zeros((3, nm, nm))
        J2 = J2 + J2.swapaxes(-1, -2)
        J2 = 0.5 * (J2 + J2.swapaxes(0, 1))
        return {
            "mass": float(whole[0, 0]),
            "h0": first_moment(whole),
            "h1": Ct0,
            "h2": h2,
            "J0": whole[3:, 3:],
            "J1": J1 + J1.swapaxes(-1, -2),
            "J2": J2,
            "Ct0": Ct0.copy(),
            "Ct1": h2.transpose(1, 0, 2).copy(),
            "Cr0": Cr0,
            "Cr1": Cr1,
            "Mff": flat.T @ MF,
        }


def first_moment(M: np.ndarray) -> np.ndarray:
    """h from the coupling of translation x_i and rotation about e_d: int (e_d × r)_i dm = e_idk h_k."""
    return 0.5 * np.einsum("idk,...id->...k", LEVI, M[..., :3, 3:])


def rigid_motion(r: np.ndarray, about: np.ndarray) -> np.ndarray:
    """[x y z θx θy θz] of all nodes for unit motions along and about the axes through a point: (6 nn, 6)."""
    R = np.zeros((len(r), 6, 6))
    R[:, :3, :3] = R[:, 3:, 3:] = np.eye(3)
    R[:, :3, 3:] = np.einsum("idk,nk->nid", LEVI, r - about)
    return R.reshape(-1, 6)


def mass_of(r: np.ndarray, M: scipy.sparse.csr_array) -> NodalMass | MatrixMass:
    """The mass that a matrix (6 nn, 6 nn) holds: of rigid bodies at the nodes, if it can be seen as that."""
    nodal = nodal_mass(r, M)
    if nodal is not None:
        return nodal
    moves = (abs(M).sum(axis=1).reshape(-1, 6) > 0.0)[:, :3]
    for k in np.flatnonzero(moves.any(axis=1) & ~moves.all(axis=1)):
        raise ModelError(
            f"node {k} has mass along {' and '.join(np.array(list('xyz'))[moves[k]])} only",
            expected="rows along x, y and z of every node that moves",
            hint="masses at the nodes, a diagonal matrix, may do without",
        )
    return MatrixMass(r, M)


def nodal_mass(r: np.ndarray, M: scipy.sparse.csr_array) -> NodalMass | None:
    """The nodes' rigid bodies, if that is what the matrix holds: no coupling of nodes, and the form of a rigid body."""
    coo = M.tocoo()
    if (coo.row // 6 != coo.col // 6).any():
        return None
    nn = len(r)
    blocks = np.zeros((nn, 6, 6))
    np.add.at(blocks, (coo.row // 6, coo.row % 6, coo.col % 6), coo.data)
    mass = blocks[:, [0, 1, 2], [0, 1, 2]].max(axis=1)
    c = first_moment(blocks) / np.where(mass > 0.0, mass, 1.0)[:, None]
    lever = np.einsum("idk,nk->nid", LEVI, c) * mass[:, None, None]
    form = np.zeros_like(blocks)
    form[:, [0, 1, 2], [0, 1, 2]] = np.where(blocks[:, [0, 1, 2], [0, 1, 2]] > 0.0, mass[:, None], 0.0)
    form[:, :3, 3:], form[:, 3:, :3] = lever, lever.swapaxes(1, 2)
    form[:, 3:, 3:] = blocks[:, 3:, 3:]
    if not np.allclose(form, blocks, rtol=0.0, atol=1e-12 * abs(blocks).max(initial=0.0)):
        return None
    shift = np.einsum("nk,nk->n", c, c)[:, None, None] * np.eye(3) - c[:, :, None] * c[:, None, :]
    return NodalMass(r, mass, c, blocks[:, 3:, 3:] - mass[:, None, None] * shift)
