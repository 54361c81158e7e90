"""Subchains that float, coupled by the loads at the joints that were cut: one large tree, on lanes or on ranks.

Paper    [anderson1999] the hybrid algorithm, all of it: sequential O(n) recursions within subchains, and the loads
         between them from Gamma f = Psi, eqs (54)-(65), by elimination or by preconditioned conjugate gradients.
Symbols  as the paper, see cut_forces.py, cut_joints.py and solver.py. Its ten steps:
         I     cut the joints, lay out memory                             Cut (cut.py), Pieces
         II    base poses, and coordinates of cut joints                  Pieces.from_tree, Pieces.to_tree
         III   states into subchains, side by side in lanes               Pieces.recursion: place_pieces
         IV    first outward pass: kinematics, faces of cuts             Pieces.recursion: place_pieces, show_faces
         V     inward pass                                               Pieces.recursion: inward_pieces
         VI    what loads at base and tip do to both                      Pieces.recursion: make_elements
         VII   the other side of each cut; Gamma and Psi                  Pieces.recursion: exchange, connect; prepare
         VIII  the loads                                                  CutSolver.solve (solver.py)
         IX    accelerations                                              Pieces.answer
         X     integration in time                                        integrate/run/subchains.py
Differs  trees too: all joints behind a tip are cut, be it several. Subchains of equal joints fill the lanes of a core.

On ranks: every rank makes the same ``Cut`` and its own ``Pieces(cut, choice, comm)``, where ``comm`` has the names of
``subchain_solver.Alone``: ``first, last`` (its subchains, consecutive), ``exchange``, ``add``, ``total``, ``most``,
``gather`` and ``scatter``. Vectors ``q, u, udot`` of the cut system (``cut.forest``: nq, nu) are as long as the whole;
a rank reads and writes the rows of its own subchains. One evaluation is ``pieces.recursion(q, u, tau)``,
``pieces.solve()``, ``pieces.answer(udot)``; each subchain's own state is all that it needs.
``cluster.mpi_share.Share`` is the Cut of one rank.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...compiler.lanes import LANES
from ...errors import SimulationError
from ...kernels.blocks import make_memory
from ...kernels.kinematics import kinematics_rows
from ...layout.system import UNIT
from ...system.system import System
from ..accuracy.fast_motion import BEYOND
from ..accuracy.unevenness import is_graded
from ..dispatch import evaluate
from ..divide.memory import Plan
from ..divide.options import Division
from ..inputs import require_unit
from ..tree import articulated
from ..two_handle.partition import Family, blocks
from . import cut_forces, evaluation, options
from . import cut_layout as lay
from . import solver as solvers
from .cut import Cut, cut_of
from .cut_frames import compose_bases, show_faces, stand_bases
from .cut_joints import connect, derive_cuts, violations
from .elements import growth

SUPPORTS = {"trees"}
MOST_GROWTH = 1e5
_NO_WRENCH = np.zeros(0)


class _Layout(Plan):
    """The subchains of a share in one memory, as divide lays out its subchains; each stands alone."""

    def __init__(self, cut: Cut, lanes: int, first: int, last: int) -> None:
        self.system, self.choice = cut.forest, Division()  # type: ignore[assignment]
        # others may lay out the same subchains at the same time
        self.families = [Family([replace(s, family=n)]) for n, s in enumerate(cut.subchains[first:last])]
        self.blocks, self.inside, self.shared = blocks(self.system, self.families, lanes), [], []  # no loops
        self.subchains, self.lent = [f.subchains[0] for f in self.families], []
        self._lay_out()


class Pieces:
    """The subchains of one process, or of one rank: all that is computed of them, in the memory for it."""

    def __init__(self, cut: Cut, choice: options.Cutting, comm: Any = None) -> None:
        self.cut, self.choice, self.comm = cut, choice, comm or solvers.Alone(cut)
        system, forest = cut.system, cut.forest
        self.first, self.last = self.comm.first, self.comm.last
        self.layout = _Layout(cut, LANES if choice.lanes else 1, self.first, self.last)
        self.memory = self.layout.memory
        widths = [shape[3] for shape in self.layout.shapes]
        self.blocks = np.column_stack([self.layout.at, widths]).astype(np.int64).ravel()
        self.table, self.cuts, where = self._tables()
        self.solver = solvers.CutSolver(cut, self.table, self.cuts, where, choice, self.comm)
        subchains, count, width = len(cut.subchains), len(cut.joints), where.shape[1]
        lending = np.zeros((count, 6, lay.LENDING))
        for c, joint in enumerate(cut.joints):
            for n, lent in enumerate(joint.lent):
                lending[c, n] = lent.inertia, *lent.along
        self.lending = lending.ravel()
        self.tree = make_memory(system, kinematics_rows(system))
        self.centre, self.origin = np.zeros(3 * system.nc), np.zeros(3 * subchains)  # of frames, in the world
        self.faces, self.moves = np.zeros(count * 2 * lay.FACE), np.zeros(count * 2 * 6)
        self.joints, self.ends = np.zeros(count * lay.JOINT), np.zeros(subchains * cut_forces.ENDS)
        self.Y = np.zeros(subchains * width * 6)
        # the state at rest in the frames of bases, where recursions are done
        self.q, self.u = forest.q0.copy(), np.zeros(forest.nu)
        # and of the System: coordinates of cut joints stay here
        self.tree_q, self.tree_u, self.tree_tau = system.q0.copy(), np.zeros(system.nu), np.zeros(system.nu)
        self.tau, self.udot = np.zeros(forest.nu), np.zeros(forest.nu)
        self.own_q, self.own_u = forest.q0.copy(), np.zeros(forest.nu)
        self.room: evaluation.Room | None = None
        self._connect()  # what joints hold whatever their pose: always by the same bits

    def _tables(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        cut = self.cut
        width = max(1, max(self._loads(s) for s in range(len(cut.subchains))))
        where = np.full((len(cut.subchains), width), cut.rows)
        table = np.full((len(cut.subchains), lay.SUBCHAIN), -1)
        for s, subchain in enumerate(cut.subchains):
            base, tip = int(cut.base_cut[s]), cut.tip_cuts[s]
            at_base = cut.joints[base].rows if base >= 0 else 0
            mine = [base, *tip] if base >= 0 else tip
            rows = np.concatenate([np.arange(cut.first[c], cut.first[c + 1]) for c in mine] + [np.zeros(0, int)])
            where[s, : rows.size] = rows
            component = int(cut.system.arrays["component"][cut.bodies[subchain.path[0]]])
            more = [base, tip[0] if tip else 0, len(tip), cut.base_q[s], cut.base_u[s], component, rows.size, at_base]
            table[s, 11:19] = more
            if self.first <= s < self.last:
                row, i, own = self.layout._row, len(subchain.path), self.layout.subchains[s - self.first]
                table[s, :2] = self.layout._own(own)
                table[s, 2:6] = [row(own, name, n * i)[0] for name, n in (("R", 9), ("o", 3), ("v", 6), ("b", 6))]
                table[s, 6:11] = [row(own, name, 0)[0] for name in ("S", "U", "d", "uA", "e")]
        cuts = np.zeros((len(cut.joints), lay.CUT), np.int64)
        for c, joint in enumerate(cut.joints):
            cuts[c, :6] = joint.inner, joint.outer, joint.body, cut.first[c], joint.held, len(joint.lent)
        return table.ravel(), cuts.ravel(), where

    def _loads(self, s: int) -> int:
        base = int(self.cut.base_cut[s])
        return sum(self.cut.joints[c].rows for c in ([base] if base >= 0 else []) + self.cut.tip_cuts[s])

    # ------------------------------------------------------------ one evaluation

    def from_tree(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and u of the cut system from coordinates of the System. Takes a rank that has not all of it some time."""
        cut = self.cut
        self.tree_q[:], self.tree_u[:] = q, u
        if (self.first, self.last) != (0, len(cut.subchains)):
            self.own_q[:], self.own_u[:] = Pieces(cut, self.choice).from_tree(q, u)
            return self.own_q, self.own_u
        for target in (self.q, self.own_q):
            cut_forces.copy_rows(q, cut.q_rows, target, cut.q_here)
        for target in (self.u, self.own_u):
            cut_forces.copy_rows(u, cut.u_rows, target, cut.u_here)
        cut_forces.place_pieces(self.memory, self.table, self.blocks, self.q, self.u, self.tau, self.centre)
        compose_bases(
            self.memory, self.table, self.cuts, self.tree, self.centre, self.origin, self.tree_q, self.tree_u,
            self.faces, self.own_q, self.own_u,
        )  # fmt: skip
        return self.own_q, self.own_u

    def place(self, q: np.ndarray, u: np.ndarray) -> None:
        """Steps II to IV: subchains in their places, each by its own state, and both faces of every cut.

        Coordinates of the joints that were cut follow, near those of the last call, into ``tree_q`` and ``tree_u``.
        """
        cut = self.cut
        cut_forces.copy_rows(q, cut.q_here, self.q, cut.q_here)
        cut_forces.copy_rows(u, cut.u_here, self.u, cut.u_here)
        cut_forces.place_pieces(self.memory, self.table, self.blocks, self.q, self.u, self.tau, self.centre)
        stand_bases(self.memory, self.table, self.tree, self.centre, self.origin, q, u, self.first, self.last)
        self._show()
        derive_cuts(self.cuts, self.tree, self.faces, self.joints, self.tree_q, self.tree_u, self.solver.mine)

    def _show(self) -> None:
        show_faces(self.memory, self.table, self.cuts, self.origin, self.faces, self.first, self.last)
        self.comm.step = "II"
        self.comm.exchange(self.faces.reshape(-1, 2, lay.FACE))

    def recursion(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> None:
        """Steps II to VII of each subchain's own state; ``tau`` are joint forces of the System."""
        cut_forces.copy_rows(tau, self.cut.u_rows, self.tau, self.cut.u_here)
        self.place(q, u)
        self.fold(tau)

    def recursion_of_tree(self, q: np.ndarray, u: np.ndarray, forces: np.ndarray) -> None:
        """The same of coordinates of the System, and with wrenches on bodies behind its joint forces."""
        cut, nu = self.cut, self.cut.system.nu
        cut_forces.copy_rows(forces, cut.u_rows, self.tau, cut.u_here)
        self.from_tree(q, u)
        self._show()
        wrench = forces[nu:].reshape(-1, 6)[cut.bodies].ravel() if forces.size > nu else _NO_WRENCH
        self.fold(forces[:nu], wrench)

    def fold(self, tau: np.ndarray, wrench: np.ndarray = _NO_WRENCH) -> None:
        """Steps V to VII, where subchains have been placed."""
        solver = self.solver
        self.tree_tau[:] = tau
        self._connect()
        cut_forces.inward_pieces(self.memory, self.blocks, wrench)
        cut_forces.make_elements(
            self.memory, self.table, self.cuts, self.joints, self.ends, self.Y, solver.flat_K, solver.flat_g,
            solver.flat_weight, solver.width, self.first, self.last,
        )  # fmt: skip
        solver.prepare()

    def _connect(self) -> None:
        connect(
            self.cuts, self.tree, self.lending, self.tree_q, self.tree_u, self.tree_tau, self.faces, self.joints,
            self.solver.mine,
        )  # fmt: skip

    def solve(self) -> solvers.Solved:
        """Step VIII."""
        return self.solver.solve()

    def answer(self, udot: np.ndarray, alone: bool = False) -> None:
        """Step IX: accelerations of the cut system under the loads found; ``alone``: of nothing but these."""
        if alone:
            cut_forces.clear_forces(self.memory, self.blocks)
        cut_forces.push_ends(
            self.memory, self.table, self.solver.where, self.ends, self.Y, self.solver.loads, self.moves,
            self.solver.width, alone, self.first, self.last,
        )  # fmt: skip
        cut_forces.answer_pieces(self.memory, self.blocks, udot)

    def answer_tree(self, udot: np.ndarray) -> None:
        """The same in coordinates of the System, of which a rank knows those of its own bodies."""
        cut = self.cut
        self.answer(self.udot)
        self.comm.step = "IX"
        self.comm.exchange(self.moves.reshape(-1, 2, 6))
        cut_forces.copy_rows(self.udot, cut.u_here, udot, cut.u_rows)
        cut_forces.open_cuts(self.cuts, self.tree, self.joints, self.moves, udot, self.solver.mine)

    def evaluate(self, q: np.ndarray, u: np.ndarray, forces: np.ndarray, udot: np.ndarray) -> float:
        """u' of the System by all steps in one call, the loads by elimination; 0 if all is well. For one process."""
        cut, nu = self.cut, self.cut.system.nu
        wrench = forces[nu:].reshape(-1, 6)[cut.bodies].ravel() if forces.size > nu else _NO_WRENCH
        return evaluation.evaluate_whole(self._room(), q, u, forces[:nu], wrench, udot, self.solver.width)

    def growth(self) -> float:
        """Of Gamma's pivots, in the last elimination by "thomas"."""
        return float(growth(self.table, self.solver.rooms[0], self.solver.width))

    def _room(self) -> evaluation.Room:
        if self.room is None:
            s, cut = self.solver, self.cut
            work, X, y = s.rooms[:3]
            of_solver = {"where": s.where, "K": s.flat_K, "g": s.flat_g, "weight": s.flat_weight, "units": s.units}
            of_solver |= {"psi": s.psi, "total": s.total, "loads": s.loads, "f": s.f, "mine": s.mine}
            of_cut = {name: getattr(cut, name) for name in ("q_rows", "u_rows", "q_here", "u_here")}
            more = of_solver | of_cut | {"work": work, "X": X, "y": y}
            self.room = evaluation.Room(
                **more, **{name: getattr(self, name) for name in evaluation.Room._fields if name not in more}
            )
        return self.room

    # ------------------------------------------------------------ closing what drifts apart

    def violations(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every load the gap that it closes (m or rad) and its rate, where ``place`` has put the subchains."""
        position, speed = np.zeros(self.cut.rows + 1), np.zeros(self.cut.rows + 1)
        violations(self.cuts, self.faces, self.joints, self.solver.mine, position, speed)
        return position, speed

    def closing(self, violation: np.ndarray) -> np.ndarray:
        """The smallest change of the cut system, measured by its inertia, that closes a gap: M^-1 J' Gamma^-1 gap."""
        self.solver.solve(-violation)
        change = np.zeros(self.cut.forest.nu)
        self.answer(change, alone=True)
        return change

    # ------------------------------------------------------------ the System's coordinates

    def to_tree(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the System from the cut system's, which ``place`` has seen last. Step II"""
        cut = self.cut
        self.tree_q[cut.q_rows], self.tree_u[cut.u_rows] = q[cut.q_here], u[cut.u_here]
        return self.tree_q, self.tree_u

    def without_inertia(self) -> int | None:
        """The System's body whose pivot vanished in the last pass, or None."""
        found = self.layout.without_inertia()
        return None if found is None else int(self.cut.bodies[found])


class Subchains:
    """The algorithm with its options: interchangeable with the modules of other algorithms."""

    SUPPORTS = SUPPORTS

    def __init__(self, choice: options.Cutting) -> None:
        self.choice = choice

    def workspace(self, system: System, lanes: int = 1) -> Pieces | None:
        """A cut and its memory; a batch is solved state by state, each in lanes. None where nothing moves."""
        return Pieces(cut_of(system, self.choice), self.choice) if system.nb > 1 else None

    def accelerations(self, pieces, q, u, forces, udot, start, stop):
        """As the compiled ones. The loss is beyond all limits where digits may be lost."""
        Q, U, F, out = (np.atleast_2d(a) for a in (q, u, forces, udot))
        if pieces:
            require_unit(pieces.cut.system, q, UNIT)  # bases are composed from normalized ones
        loss = BEYOND if pieces and is_graded(pieces.cut.system) else 0.0
        for s in range(start, stop if pieces else start):
            if self.choice.solver == "thomas":
                one = pieces.evaluate(Q[s], U[s], F[s], out[s])
                if one == 0.0:
                    loss = BEYOND if pieces.growth() > MOST_GROWTH or pieces.layout.folded() else loss
                    continue
            pieces.recursion_of_tree(Q[s], U[s], F[s])  # step by step, to iterate, or to see what went wrong
            if pieces.cut.rows and not np.isfinite(pieces.solver.psi).all():
                _explain(pieces, Q[s], U[s], F[s])
                return np.nan
            pieces.solver.forget()
            pieces.solve()
            pieces.answer_tree(out[s])
            loss = BEYOND if pieces.layout.folded() else loss
            loss += float((0.0 * out[s]).sum())
        return loss


def _explain(pieces: Pieces, q: np.ndarray, u: np.ndarray, forces: np.ndarray) -> None:
    """Says so if a subchain alone has a motion without inertia, and the whole has none; else others explain."""
    body = pieces.without_inertia()
    if body is None:
        return
    system = pieces.cut.system
    names = ("q", "u", "tau")
    evaluate(articulated.accelerations, articulated.workspace, system, [q, u, forces], system.nu, None, names)
    raise SimulationError(
        f"a subchain of '{system.name}' has a motion without inertia",
        where=system.mechanical(body),
        hint="bodies farther out hold it, so an algorithm that cuts nothing can solve it; or give this body inertia",
    )


@cache
def _subchains(choice: options.Cutting) -> Subchains:
    return Subchains(choice)


def cut_as(algorithm: str) -> Subchains:
    """The algorithm as its name and options say."""
    return _subchains(options.cutting(algorithm))


_default = _subchains(options.Cutting())
workspace, accelerations = _default.workspace, _default.accelerations
