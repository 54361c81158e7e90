"""The motion of a cut system: y' of every subchain's own state, and cuts that drift apart closed again. Steps II to X.

Paper    [anderson1999] steps II to X of section 5; its section 6 asks for a way to keep cut joints together.
Symbols  y = (q, u, work) of the cut system: each subchain has its joints, and floating bases their pose and velocity.
Differs  after a step positions and then velocities go to the nearest ones, in the metric of inertia, at which the cuts
         are closed: the same Gamma gives them, by the gaps in place of Psi.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.lanes import entry
from ...dynamics.dispatch import prepare
from ...dynamics.loads.applied import loads
from ...dynamics.stepping.mechanism import ask
from ...dynamics.subchains.algorithm import Pieces
from ...dynamics.subchains.cut import Cut, cut_of
from ...dynamics.subchains.options import cutting
from ...joints import FIRST_QUATERNION
from .. import motion
from .task import Task

CLOSED = 1e-12  # m, rad and their rates: gaps below are rounding
ROUNDS = 4  # to close them; each leaves the share of a gap that Gamma has changed since it was made
# what a run counts: evaluations, solutions, iterations in all, the most of one solution, the worst residual, the widest
# gap before it was closed, the widest that was left, and whether loads are those of a state before
COUNTS = 8
EVALUATIONS, SOLUTIONS, ITERATIONS, MOST_ITERATIONS, RESIDUAL, VIOLATION, LEFT, BEGUN = range(COUNTS)


@entry
def ask_policy(call, t, q, u, total):
    """Joint forces by the user's function"""
    ask(call, t, q, u, total)
    return 0.0


class Motion:
    """Of the task's System, cut as its algorithm says; or of a share of that, whose ``comm`` knows the other ranks.

    Some numbers go on from one evaluation to the next: counts, coordinates of the joints that were cut, and their
    loads, from which iterations start. A motion with a copy of them goes on with the same bits.
    """

    def __init__(self, task: Task, comm: Any = None, cut: Cut | None = None) -> None:
        self.task, self.system = task, task.system
        choice = cutting(task.algorithm)
        self.cut = cut or cut_of(task.system, choice)
        self.pieces = Pieces(self.cut, choice, comm)
        forest, system = self.cut.forest, task.system
        self.nq, self.nu, self.ny = forest.nq, forest.nu, forest.nq + forest.nu + 1
        self.kept_size = COUNTS + system.nq + system.nu + self.cut.rows + 1
        self.keep_in(np.zeros(self.kept_size))
        self.memory = motion.workspace(forest)  # type: ignore[arg-type]
        for compiled in (motion.rates, motion.moved):
            prepare(compiled, 2, 1)
        kind, position = forest.arrays["kind"], forest.arrays["position"]
        turns = np.flatnonzero(kind >= FIRST_QUATERNION)
        self.quaternions = (position[turns + 1] - 4)[:, None] + np.arange(4)
        self._segments()
        self.tau, self.solver = np.zeros(system.nu), choice.solver

    def keep_in(self, kept: np.ndarray) -> None:
        """Have these numbers kept in an array of the caller's."""
        sizes = np.cumsum([COUNTS, self.system.nq, self.system.nu])
        self.counts, q, u, loads_ = np.split(kept, sizes)
        pieces = self.pieces
        q[:], u[:], loads_[:] = pieces.tree_q, pieces.tree_u, pieces.solver.loads
        pieces.tree_q, pieces.tree_u, pieces.solver.loads = q, u, loads_

    def _segments(self) -> None:
        """Where the q and u of each subchain begin in y, and their places among those of all ranks."""
        arrays, pieces, count = self.cut.forest.arrays, self.pieces, len(self.cut.subchains)
        firsts = [min(s.bodies) for s in self.cut.subchains[pieces.first : pieces.last]]
        self.starts = np.concatenate([arrays["position"][firsts], self.nq + arrays["dof"][firsts]])
        own = np.arange(pieces.first, pieces.last)
        self.slots = np.concatenate([own, count + own])
        self.components = float(pieces.comm.total(np.array([self.ny - 1.0]))[0])

    def mean(self, squares: np.ndarray) -> float:
        """Of all components of all ranks but work, whose parts are here and there.

        Sums go subchain by subchain, and so do not depend on who has which.
        """
        parts = np.zeros(2 * len(self.cut.subchains))
        parts[self.slots] = np.add.reduceat(squares[:-1], self.starts)
        self.pieces.comm.step = "X"
        return float(self.pieces.comm.total(parts).sum()) / self.components

    def finite(self, y: np.ndarray) -> bool:
        """Whether all numbers of all ranks are."""
        self.pieces.comm.step = "X"
        return not self.pieces.comm.most(float(not np.isfinite(y).all()))

    # ------------------------------------------------------------ from and to the System's coordinates

    def from_tree(self, y: np.ndarray) -> np.ndarray:
        """y of the cut system from (q, u, work) of the System."""
        nq, nu = self.system.nq, self.system.nu
        q, u = self.pieces.from_tree(y[:nq], y[nq : nq + nu])
        return np.concatenate([q, u, y[-1:]])

    def to_tree(self, y: np.ndarray) -> np.ndarray:
        """(q, u, work) of the System from y of the cut system."""
        q, u = y[: self.nq], y[self.nq : -1]
        self.pieces.place(q, u)
        return np.concatenate([*self.pieces.to_tree(q, u), y[-1:]])

    # ------------------------------------------------------------ the right-hand side

    def rates(self, t: float, y: np.ndarray, out: np.ndarray) -> None:
        """out = y' of the cut system; not finite where the dynamics are not."""
        q, u = np.ascontiguousarray(y[: self.nq]), np.ascontiguousarray(y[self.nq : -1])
        pieces = self.pieces
        out[-1] = self.recursion(t, q, u)
        self.counts[EVALUATIONS] += 1
        motion.rates(self.memory, q, u, out[: self.nq], 0, 1)
        pieces.solver.begun = bool(self.counts[BEGUN])
        solved = pieces.solve()
        self.counts[BEGUN] = 1.0
        self.counts[[SOLUTIONS, ITERATIONS]] += 1.0, solved.iterations
        self.counts[MOST_ITERATIONS] = max(self.counts[MOST_ITERATIONS], solved.iterations)
        self.counts[RESIDUAL] = max(self.counts[RESIDUAL], solved.residual)
        self.solver = solved.solver
        pieces.answer(out[self.nq : -1])

    def recursion(self, t: float, q: np.ndarray, u: np.ndarray) -> float:
        """Steps II to VII under all forces; the power of those that store no energy."""
        tau, power = self._forces(t, q, u)
        self.pieces.recursion(q, u, tau)
        return power

    def _forces(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, float]:
        """Joint forces of the System in all, and the power of those that store no energy."""
        task, system = self.task, self.system
        plain = not task.call and not system.forces.any
        if plain and not task.tau.any():
            return task.tau, 0.0
        self.pieces.place(q, u)
        tree_q, tree_u = self.pieces.to_tree(q, u)
        self.tau[:] = task.tau
        if task.call:
            ask_policy(task.call, t, tree_q, tree_u, self.tau)
        power = float(self.tau @ tree_u)
        if system.forces.any:
            found = loads(system, tree_q, tree_u, t)
            self.tau += found.tau
            power += float(found.power)
        return self.tau, power

    # ------------------------------------------------------------ back onto the cuts

    def unit(self, y: np.ndarray) -> None:
        """Quaternions of unit length, in place."""
        turns = y[self.quaternions]
        y[self.quaternions] = turns / np.linalg.norm(turns, axis=1, keepdims=True)

    def close(self, y: np.ndarray) -> None:
        """y, in place, to where the cuts are closed. Gamma is that of the last evaluation, which was near."""
        if not self.cut.rows:
            return
        pieces, q, u = self.pieces, y[: self.nq].copy(), y[self.nq : -1].copy()
        loads_ = pieces.solver.loads.copy()
        for n in range(ROUNDS):
            pieces.place(q, u)
            violation, _ = pieces.violations()
            if self._widest(violation, n) <= CLOSED:
                break
            motion.moved(self.memory, q.copy(), pieces.closing(violation), q, 0, 1)
        for n in range(ROUNDS):
            if n:
                pieces.place(q, u)
            _, rate = pieces.violations()
            if self._widest(rate, n) <= CLOSED:
                break
            u += pieces.closing(rate)
        y[: self.nq], y[self.nq : -1] = q, u
        pieces.solver.loads[:] = loads_

    def _widest(self, violation: np.ndarray, n: int) -> float:
        self.pieces.comm.step = "X"
        widest = float(self.pieces.comm.most(np.abs(violation).max()))
        which = VIOLATION if n == 0 else LEFT if n == ROUNDS - 1 else None
        if which is not None:
            self.counts[which] = max(self.counts[which], widest)
        return widest

    def attrs(self) -> dict[str, Any]:
        """For the Result: how the loads at the cuts were found."""
        c = self.counts
        return {
            "subchains": len(self.cut.subchains),
            "solver": self.solver,
            "evaluations": int(c[EVALUATIONS]),
            "iterations_mean": float(c[ITERATIONS] / max(1.0, c[SOLUTIONS])),
            "iterations_most": int(c[MOST_ITERATIONS]),
            "residual_worst": float(c[RESIDUAL]),
            "gap_worst": float(c[VIOLATION]),
        }
