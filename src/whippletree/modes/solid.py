"""Solid bodies by finite elements, through scikit-fem."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import scipy

from ..errors import MissingExtra, ModelError, nearest
from . import check
from .beams.sections import positive
from .mass import MatrixMass, rigid_motion
from .solve import compact
from .structure import Structure

LARGEST_FILE = 2**28  # bytes
Place = str | Callable[[np.ndarray], np.ndarray] | Sequence[int]


def solid(
    mesh: Any, *, E: float, nu: float, rho: float, attach: Mapping[str, Place], degree: int = 2, scale: float = 1.0
) -> Structure:
    """A solid of one material, meshed by tetrahedra or hexahedra: a scikit-fem mesh (m), or a file that meshio reads.

    ``E`` is its modulus (Pa), ``nu`` Poisson's ratio, ``rho`` its density (kg/m^3).

    ``attach`` names the places where other bodies are joined; each becomes a node with rotations that holds the surface
    rigidly. A place is the name of a boundary of the mesh, a function that is true there (of x, y, z as an array
    (3, n)), or numbers of vertices. ``degree`` 2 adds nodes on edges (linear elements are much too stiff in bending).
    ``scale`` turns the lengths of a file into metres.
    """
    try:
        import skfem
    except ImportError:
        raise MissingExtra("scikit-fem", "fem", "a solid body") from None
    E, rho, scale = positive(E, "solid: E"), positive(rho, "solid: rho"), positive(scale, "solid: scale")
    ratio = float(check.numbers(nu, (), "solid: nu"))
    if not -1.0 < ratio < 0.5:
        raise ModelError("solid: nu is no Poisson ratio", expected="more than -1, less than 0.5", got=ratio)
    if not attach:
        raise ModelError("solid: it is attached nowhere", expected="attach={'base': ...}")
    body = _mesh(mesh, skfem)
    body = body.scaled(scale) if scale != 1.0 else body
    basis = skfem.Basis(body, _element(body, degree, skfem), intorder=2 * degree)
    inside = _Elements(basis, E * ratio / ((1.0 + ratio) * (1.0 - 2.0 * ratio)), E / (2.0 * (1.0 + ratio)))
    r, nn = np.ascontiguousarray(basis.doflocs.T), basis.N
    m = inside.mass(rho)
    T = scipy.sparse.kron(scipy.sparse.eye_array(nn), scipy.sparse.csr_array(np.eye(6, 3)), format="csr")
    made = Structure(
        tuple(str(k) for k in range(nn)),
        r,
        compact(scipy.sparse.csr_array(scipy.sparse.kron(m, scipy.sparse.eye_array(3)))),
        compact(inside.stiffness()),
        T,
        T.T @ rigid_motion(r, np.zeros(3)),
        MatrixMass(r, scipy.sparse.csr_array(scipy.sparse.kron(m, scipy.sparse.diags_array([1.0, 1, 1, 0, 0, 0])))),
        geometric=inside.geometric,
        second_loads=inside.second_loads,
        strain=inside.largest,
        mesh=nn,
    )
    for name, place in attach.items():
        made = made.gather(name, _members(name, place, body, basis, r))
    return made


class _Elements:
    """Matrices of an elastic solid, from values and gradients of the shape functions at quadrature points."""

    def __init__(self, basis: Any, lam: float, mu: float) -> None:
        self.lam, self.mu, self.dx, self.nodes, self.count = lam, mu, basis.dx, basis.element_dofs, basis.N
        shape = basis.dx.shape
        self.N = np.stack([np.broadcast_to(np.asarray(f[0]), shape) for f in basis.basis])  # (nodes, elements, points)
        self.grad = np.stack([np.broadcast_to(f[0].grad, (3, *shape)) for f in basis.basis])

    def mass(self, rho: float) -> Any:
        """∫ ρ N_a N_b between nodes."""
        return self._sum(np.einsum("aep,bep,ep->eab", self.N, self.N, rho * self.dx, optimize=True))

    def stiffness(self) -> Any:
        """∫ λ ∂_i N_a ∂_j N_b + μ (∂_j N_a ∂_i N_b + δ_ij ∇N_a.∇N_b)."""
        both = np.einsum("aiep,bjep,ep->eaibj", self.grad, self.grad, self.dx, optimize=True)
        along = np.einsum("eakbk->eab", both)
        K = self.lam * both + self.mu * both.transpose(0, 1, 4, 3, 2)
        K[:, :, [0, 1, 2], :, [0, 1, 2]] += self.mu * along
        n = 3 * len(self.nodes)
        rows = (3 * self.nodes[:, None] + np.arange(3)[:, None]).reshape(n, -1)
        return self._sum(K.reshape(-1, n, n), rows, 3 * self.count)

    def geometric(self, u: np.ndarray) -> Any:
        """∫ σ_ij ∂_i u_k ∂_j v_k, with the stresses σ of the displacement u."""
        e = self._strains(u[:, None])[..., 0]
        stress = 2.0 * self.mu * e + self.lam * np.trace(e) * np.eye(3)[:, :, None, None]
        part = np.einsum("aiep,ijep,bjep,ep->eab", self.grad, stress, self.grad, self.dx, optimize=True)
        return compact(scipy.sparse.csr_array(scipy.sparse.kron(self._sum(part), scipy.sparse.eye_array(3))))

    def second_loads(self, V: np.ndarray) -> np.ndarray:
        """V_a' Kgeo(e_j) V_b = ∫ σ_li(E) ∂_i N, E = ∇V_a ∇V_b' made symmetric: (3 nn, nm, nm)."""
        nm = V.shape[1]
        gradient = np.einsum("aiep,aejm->ijepm", self.grad, V.reshape(self.count, 3, nm)[self.nodes], optimize=True)
        found = np.zeros((self.count, 3, nm, nm))
        for a in range(nm):
            for b in range(a + 1):
                e = np.einsum("ikep,jkep->ijep", gradient[..., a], gradient[..., b])
                e = 0.5 * (e + e.swapaxes(0, 1))
                stress = 2.0 * self.mu * e + self.lam * np.trace(e) * np.eye(3)[:, :, None, None]
                part = np.einsum("aiep,liep,ep->ael", self.grad, stress, self.dx, optimize=True)
                load = np.zeros((self.count, 3))
                np.add.at(load, self.nodes, part)
                found[..., a, b] = found[..., b, a] = load
        return found.reshape(-1, nm, nm)

    def largest(self, V: np.ndarray) -> np.ndarray:
        """The largest norm of the strain, of each mode."""
        e = self._strains(V)
        return np.sqrt(np.einsum("ijepm,ijepm->epm", e, e)).max(axis=(0, 1))

    def _strains(self, V: np.ndarray) -> np.ndarray:
        moved = V.reshape(self.count, 3, -1)[self.nodes]  # (nodes, elements, 3, nm)
        gradient = np.einsum("aiep,aejm->ijepm", self.grad, moved, optimize=True)
        return 0.5 * (gradient + gradient.swapaxes(0, 1))

    def _sum(self, parts: np.ndarray, rows: np.ndarray | None = None, size: int | None = None) -> Any:
        """Parts (elements, n, n) of the matrix, each at its element's rows (n, elements)."""
        at, n = (self.nodes if rows is None else rows).T, size or self.count
        i, j = (np.broadcast_to(x, parts.shape).ravel() for x in (at[:, :, None], at[:, None, :]))
        return scipy.sparse.csr_array(scipy.sparse.coo_array((parts.ravel(), (i, j)), shape=(n, n)))


def _mesh(mesh: Any, skfem: Any) -> Any:
    if not isinstance(mesh, str | os.PathLike):
        if not isinstance(mesh, skfem.Mesh3D):
            raise ModelError(
                "solid: no mesh of solid elements", expected="a scikit-fem mesh or a file", got=repr(mesh)[:80]
            )
        return mesh
    path = check.file(mesh, "solid", LARGEST_FILE)
    try:
        import meshio  # noqa: F401
    except ImportError:
        raise MissingExtra("meshio", "fem", "a mesh file") from None
    try:
        read = skfem.Mesh.load(str(path))
    except (Exception, SystemExit) as error:  # the readers of meshio raise whatever they trip over, and some exit
        raise ModelError("solid: the file cannot be read as a mesh", got=str(error)[:80], where=str(path)) from None
    if not isinstance(read, skfem.Mesh3D):
        raise ModelError("solid: no mesh of solid elements", got=type(read).__name__, where=str(path))
    return read


def _element(mesh: Any, degree: int, skfem: Any) -> Any:
    kinds = {("tet", 1): skfem.ElementTetP1, ("tet", 2): skfem.ElementTetP2}
    kinds |= {("hex", 1): skfem.ElementHex1, ("hex", 2): skfem.ElementHex2}
    shape = "tet" if isinstance(mesh, skfem.MeshTet1) else "hex" if isinstance(mesh, skfem.MeshHex1) else "other"
    if (shape, degree) not in kinds:
        raise ModelError(
            "solid: elements are not known",
            expected="tetrahedra or hexahedra of degree 1 or 2",
            got=f"{type(mesh).__name__}, degree {degree!r}",
        )
    return kinds[shape, degree]()


def _members(name: str, place: Place, mesh: Any, one: Any, r: np.ndarray) -> list[int]:
    if isinstance(place, str):
        known = mesh.boundaries or {}
        if place not in known:
            raise ModelError(
                f"solid: boundary '{place[:80]}' of '{name}' is not known", hint=nearest(place[:80], known)
            )
        found = one.get_dofs(place).flatten()
    elif callable(place):
        found = np.flatnonzero(np.asarray(place(r.T), dtype=bool))
    else:
        found = one.nodal_dofs[0, np.asarray(place, dtype=int)]
    if not len(found):
        raise ModelError(
            f"solid: there is no node at '{name}'", expected="at least three nodes that are not on one line"
        )
    return [int(k) for k in found]
