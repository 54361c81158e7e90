"""The loads at the cuts, Gamma f = Psi, by elimination or iteration, in one process or on several. Step VIII.

Paper    [anderson1999] step VIII of section 5; preconditioned conjugate gradients and GMRES after [saad2003] algorithms
         9.1 and 6.9.
Symbols  as the paper: Gamma_d are its diagonal blocks, one for each cut; r, z, p, alpha, beta of conjugate gradients.
Differs  Gamma stays in elements, one for each subchain, so the owner of a subchain has its rows. Rows and columns are
         scaled to a diagonal of 1, so residuals do not depend on units. Where inertia was lent (cut_joints.py)
         Gamma is symmetric but not definite: elimination does not mind, and conjugate gradients give way to GMRES.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...errors import SimulationError, warn
from .cut import Cut
from .cut_layout import BASE_LOADS, MOST, SUBCHAIN
from .elements import (
    BLOCK,
    chain_blocks,
    descend,
    diagonal_blocks,
    eliminate,
    factor_blocks,
    gather_rows,
    gather_weights,
    product,
    reduce_cyclic,
    scale_elements,
    solve_diagonal,
    times_gamma,
    turn,
)
from .options import Cutting


class Alone:
    """One process has all subchains: nothing to exchange. On ranks an object with the same names takes its place.

    ``first, last``: the subchains that this rank has. All arrays are as long as the whole; a rank fills the rows of its
    own subchains and of the cuts at their ends. ``step`` is the paper's step that messages belong to.
    """

    step = ""

    def __init__(self, cut: Cut) -> None:
        self.first, self.last = 0, len(cut.subchains)

    def exchange(self, sides: np.ndarray) -> None:
        """Sides of cuts, (cuts, 2, n): of each cut between this rank and another, the other's side comes here."""

    def add(self, *rows: np.ndarray) -> None:
        """Rows of loads, (loads + 1), or blocks, (cuts, n): at cuts between ranks both sides' numbers are summed."""

    def total(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of all ranks summed."""
        return numbers

    def most(self, number: float) -> float:
        """The largest number of all ranks."""
        return number

    def gather(self, *elements: np.ndarray) -> bool:
        """Elements of all subchains, (subchains, n) each, to one rank; whether it is this one."""
        return True

    def scatter(self, loads: np.ndarray) -> None:
        """Loads from that rank to all."""


class Solved(NamedTuple):
    iterations: int  # 0: by elimination
    residual: float  # |Psi - Gamma f| / |Psi|, rows scaled
    solver: str


class CutSolver:
    """Gamma f = Psi of one cut system. Recursions fill its elements ``K`` and ``g``; ``loads`` are the last
    solution.
    """

    def __init__(self, cut: Cut, table: np.ndarray, cuts: np.ndarray, where: np.ndarray, choice: Cutting, comm: Any):
        self.cut, self.table, self.cuts, self.choice, self.comm = cut, table, cuts, choice, comm
        self.rows_of, self.where = where, where.ravel()
        subchains, self.width = where.shape
        self.K, self.g, self.weight = (np.zeros((subchains, self.width**n)) for n in (2, 1, 1))
        self.flat_K, self.flat_g, self.flat_weight = (a.ravel() for a in (self.K, self.g, self.weight))
        m, joints = cut.rows, len(cut.joints)
        self.units, self.loads, self.psi = (np.zeros(m + 1) for _ in range(3))
        self.r, self.z, self.p, self.Gp, self.f = (np.zeros(m + 1) for _ in range(5))
        self.blocks = np.zeros((joints, BLOCK))
        self.flat_blocks = self.blocks.ravel()
        share = range(comm.first, comm.last)
        self.mine = np.array([j.inner in share or j.outer in share for j in cut.joints], bool)
        owned = np.repeat([j.outer in share for j in cut.joints], [j.rows for j in cut.joints])
        self.own = np.append(owned.astype(float), 0.0)  # rows that this rank counts
        self.lent = sum(len(j.lent) for j in cut.joints)
        self.begun = self.reported = False  # whether loads are those of a state before; whether pcg was refused
        square = subchains * self.width**2
        sizes = square, square, square, *(joints * BLOCK,) * 3, joints * MOST, 2 * BLOCK + MOST, joints * MOST
        self.rooms = [np.zeros(n) for n in sizes]
        self.total = np.zeros(m + 1)
        rows = [j.rows for j in cut.joints]
        self._of_cut, self._of_row = np.repeat(np.arange(joints), rows), np.arange(m) - np.repeat(cut.first[:-1], rows)

    # ------------------------------------------------------------ what all ways need

    def prepare(self) -> None:
        """Elements in good units, and Psi."""
        comm, total, width = self.comm, self.total, self.width
        total[:] = 0.0
        gather_weights(self.where, self.flat_weight, total, width, comm.first, comm.last)
        gather_rows(self.where, self.flat_g, self.psi, width, comm.first, comm.last)
        comm.step = "VII"
        comm.add(total, self.psi)
        scale_elements(self.where, total, self.flat_K, self.flat_g, self.units, width, comm.first, comm.last)
        self.psi *= self.units
        self.factored = False

    def _factor_diagonal(self) -> bool:
        """Factors of Gamma_d; whether it is positive definite."""
        if not self.factored:
            self.blocks[:] = 0.0
            comm = self.comm
            args = self.table, self.cuts, self.flat_K, self.flat_blocks, self.width, comm.first, comm.last
            diagonal_blocks(*args)
            comm.add(self.blocks)
            bad = factor_blocks(self.cuts, self.flat_blocks, self.mine) != 0
            self.definite = not comm.total(np.array([float(bad)]))[0]
            self.factored = True
        return self.definite

    def _times(self, p: np.ndarray, out: np.ndarray) -> None:
        """out = Gamma p"""
        comm = self.comm
        times_gamma(self.where, self.flat_K, p, out, self.width, comm.first, comm.last)
        comm.add(out)

    def _products(self, *pairs: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
        parts = np.zeros((len(pairs), len(self.cut.joints)))
        for (a, b), part in zip(pairs, parts, strict=True):
            product(self.cuts, a, b, self.own, part)
        return self.comm.total(parts).sum(axis=1)

    def residual(self) -> float:
        """|Psi - Gamma f| / |Psi|; r is the vector."""
        self._times(self.f, self.r)
        np.subtract(self.psi, self.r, out=self.r)
        rr, psi = self._products((self.r, self.r), (self.psi, self.psi))
        return float(np.sqrt(rr / psi)) if psi > 0 else float(np.sqrt(rr))

    # ------------------------------------------------------------ solutions

    def solve(self, psi: np.ndarray | None = None) -> Solved:
        """Loads of the elements there are, scaled by ``prepare``; or of another right-hand side, in units of rows."""
        if self.cut.rows == 0:
            return Solved(0, 0.0, self.choice.solver)
        self.comm.step = "VIII"
        other = psi is not None
        if psi is not None:
            np.multiply(psi, self.units, out=self.psi)
        solver = self.choice.solver
        iterative = solver in ("pcg", "gmres")
        if iterative and (self.begun or other):
            self.f[:] = 0.0
            if not other:
                np.divide(self.loads, self.units, out=self.f, where=self.units > 0)
            solved = self._iterate(solver)
        else:
            self._direct("thomas" if iterative else solver)
            solved = Solved(0, self.residual(), solver)
        np.multiply(self.f, self.units, out=self.loads)
        self.begun = self.begun or not other
        return solved

    def forget(self) -> None:
        """Iterations begin from no loads: the solution does not depend on states that were solved before."""
        self.loads[:] = 0.0
        self.begun = True

    def _iterate(self, solver: str) -> Solved:
        most, taken = self.choice.iterations or 4 * self.cut.rows + 20, 0
        definite = self._factor_diagonal()
        if solver == "pcg" and definite:
            taken = self._conjugate_gradients(most)
            if taken >= 0:
                return self._checked(taken, solver)
            taken = -taken - 1
        if solver == "pcg":
            self._say_indefinite(definite)
        return self._checked(taken + self._minimal_residuals(most), "gmres")

    def _say_indefinite(self, curved: bool) -> None:
        """Once, why conjugate gradients are of no use."""
        if self.reported:
            return
        self.reported = True
        why = "a direction of negative curvature was met" if curved else "a block of its diagonal has a negative pivot"
        if self.lent:
            why = "bases without inertia about some axis were lent it"
        text = f"'{self.cut.system.name}': Gamma is not positive definite ({why}), so 'gmres' takes the place of 'pcg'"
        warn(text)

    def _checked(self, taken: int, solver: str) -> Solved:
        """The solution, or that by elimination where iteration left too much."""
        residual = self.residual()
        if residual <= self.choice.rtol:
            return Solved(taken, residual, solver)
        warn(
            f"'{self.cut.system.name}': {solver} has left a residual of {residual:.2g} after {taken} iterations, more"
            f" than rtol = {self.choice.rtol:g}; the loads at the cuts were found by elimination instead"
        )
        self._direct("thomas")
        return Solved(taken, self.residual(), "thomas")

    def _conjugate_gradients(self, most: int) -> int:
        """Steps VIII.6 to 13 from f on; how many, or -1 - how many before Gamma showed not to be definite."""
        f, r, z, p, Gp = self.f, self.r, self.z, self.p, self.Gp
        blocks, rtol, taken = self.flat_blocks, self.choice.rtol, 0
        while self.residual() > rtol and taken < most:  # again where rounding has misled it
            solve_diagonal(self.cuts, blocks, r, z, self.mine)
            p[:] = z
            (rz, psi) = self._products((r, z), (self.psi, self.psi))
            began = taken
            while taken < most:
                self._times(p, Gp)
                (curvature,) = self._products((p, Gp))
                if not curvature > 0.0:
                    return -1 - taken
                descend(rz / curvature, p, Gp, f, r)
                taken += 1
                solve_diagonal(self.cuts, blocks, r, z, self.mine)
                new, rr = self._products((r, z), (r, r))
                if rr <= (0.5 * rtol) ** 2 * psi:
                    break
                turn(new / rz, z, p)
                rz = new
            if taken - began <= 1:  # rounding is all that is left
                break
        return taken

    def _minimal_residuals(self, most: int) -> int:
        """GMRES from f on, preconditioned from the right by Gamma_d; how many products it took."""
        beta0 = self.residual()
        size = float(np.sqrt(self._products((self.psi, self.psi))[0])) or 1.0
        if beta0 <= self.choice.rtol:
            return 0
        most = min(most, 4 * self.cut.rows)
        V, H = [self.r / (beta0 * size)], np.zeros((most + 1, most))
        taken = 0
        left: np.ndarray = np.zeros(0)
        Z: list[np.ndarray] = []
        for k in range(most):
            z, w = np.zeros_like(self.r), np.zeros_like(self.r)
            solve_diagonal(self.cuts, self.flat_blocks, V[k], z, self.mine)
            self._times(z, w)
            Z.append(z)
            for _ in range(2):
                h = self._products(*((v, w) for v in V))
                H[: k + 1, k] += h
                w -= np.tensordot(h, np.array(V), 1)
            H[k + 1, k] = float(np.sqrt(self._products((w, w))[0]))
            taken = k + 1
            if not np.isfinite(H[k + 1, k]):
                break
            rhs = np.zeros(k + 2)
            rhs[0] = beta0 * size
            left = np.linalg.lstsq(H[: k + 2, : k + 1], rhs, rcond=None)[0]
            if np.linalg.norm(rhs - H[: k + 2, : k + 1] @ left) <= 0.5 * self.choice.rtol * size or H[k + 1, k] == 0.0:
                break
            V.append(w / H[k + 1, k])
        self.f += np.tensordot(left, np.array(Z[: left.size]), 1) if left.size else 0.0
        return taken

    # ------------------------------------------------------------ elimination, by one rank for all

    def _direct(self, solver: str) -> None:
        rows = np.zeros_like(self.g)  # Psi again, all of it in the outer elements: it may be another than theirs
        at_base = np.arange(self.width) < self.table[BASE_LOADS::SUBCHAIN, None]
        rows[at_base] = self.psi[self.rows_of[at_base]]
        if self.comm.gather(self.K, rows):
            if not (np.isfinite(rows).all() and np.isfinite(self.K).all()):
                self.f[:] = np.nan
                return
            lost = self._cyclic(rows) if solver == "cyclic" else self._thomas(rows)
            if lost:
                raise SimulationError(
                    f"the loads at the cuts of '{self.cut.system.name}' cannot be found: Gamma is singular",
                    where=self.cut.system.mechanical(self.cut.joints[lost - 1].body),
                    hint="take an algorithm that cuts nothing, or other pieces",
                )
        self.comm.scatter(self.f)

    def _thomas(self, rows: np.ndarray) -> int:
        self.f[:] = 0.0
        room = self.rooms[:3]
        return eliminate(self.table, self.cuts, self.where, self.flat_K, rows.ravel(), *room, self.f, self.width)

    def _cyclic(self, rows: np.ndarray) -> int:
        D, U, V, g, room, f = self.rooms[3:]
        subchains, size = len(self.cut.subchains), max(j.rows for j in self.cut.joints)
        gather_rows(self.where, rows.ravel(), self.psi, self.width, 0, subchains)
        D[:] = 0.0
        diagonal_blocks(self.table, self.cuts, self.flat_K, D, self.width, 0, subchains)
        chain_blocks(self.table, self.cuts, self.flat_K, self.psi, D, U, g, self.width, size)
        lost = reduce_cyclic(self.cuts, D, U, V, g, room, f, size)
        self.f[:-1] = f.reshape(-1, MOST)[self._of_cut, self._of_row]
        return lost
