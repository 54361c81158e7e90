"""What one rank has of a cut system: its subchains, in numbers of their own, and their motion.

Vectors of a share are as long as its subchains; what belongs to cuts, a few numbers each, is as long as the whole.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler.lanes import LANES
from ..dynamics.subchains.algorithm import Pieces
from ..dynamics.subchains.cut import Cut, Forest
from ..dynamics.subchains.options import cutting
from ..dynamics.two_handle.partition import Subchain
from ..errors import ModelError
from ..integrate.joint_forces import JointForces
from ..integrate.run.subchain_motion import Motion
from ..integrate.run.task import Task
from ..layout.system import pack
from ..model.forces import Motor
from ..system.system import NO_FLEXIBLE, System
from .messages import RESULTS

LONG = 1000  # bodies of a rank


def pieces_for(system: System, ranks: int) -> int:
    """Subchains that fill the lanes of every rank; twice, where they are long: those at the ends share no lanes."""
    bodies = system.nb - 1
    return max(1, min(LANES * ranks * (2 if bodies > LONG * ranks else 1), bodies // 2))


class Share(Cut):
    """The subchains first to last of a Cut, under the same names. Of the others nothing is here but their cuts."""

    def __init__(self, cut: Cut, first: int, last: int) -> None:
        self.__dict__.update(cut.__dict__)
        whole, subchains = cut.forest, cut.subchains
        a, b = min(subchains[first].bodies), max(subchains[last - 1].bodies) + 1
        self.q_there, self.u_there = (
            slice(int(whole.arrays[name][a]), int(whole.arrays[name][b])) for name in ("position", "dof")
        )
        self.forest = _part(whole, a, b, first, last)
        self.bodies = np.concatenate([[0], cut.bodies[a:b]])
        self.subchains = [Subchain([0], [], 0)] * len(subchains)
        for s in range(first, last):
            self.subchains[s] = _moved(subchains[s], a - 1)
        for letter, there in (("q", self.q_there), ("u", self.u_there)):
            rows, here = getattr(cut, f"{letter}_rows"), getattr(cut, f"{letter}_here")
            mine = (here >= there.start) & (here < there.stop)
            setattr(self, f"{letter}_rows", rows[mine])
            setattr(self, f"{letter}_here", here[mine] - there.start)
        number = np.arange(len(subchains))
        own = (number >= first) & (number < last) & (cut.base_cut >= 0)
        self.base_q = np.where(own, cut.base_q - self.q_there.start, -1)
        self.base_u = np.where(own, cut.base_u - self.u_there.start, -1)


def _part(whole: Forest, a: int, b: int, first: int, last: int) -> Forest:
    """The bodies a to b of a forest, behind ground."""
    arrays, found = whole.arrays, {}
    keep = np.concatenate([[0], np.arange(a, b)])
    for name in ("kind", "sign", "Rt", "pt", "com", "inertia", "mass", "parameter", "first"):
        found[name] = arrays[name][keep]
    found["parent"] = np.maximum(arrays["parent"][keep] - (a - 1), 0)
    found["component"] = np.maximum(arrays["component"][keep] - first, 0)
    found["base"] = arrays["base"][first:last]
    starts = {name: int(arrays[name][a]) for name in ("position", "dof")}
    for name, start in starts.items():
        found[name] = np.concatenate([[0, 0], arrays[name][a + 1 : b + 1] - start])
    dofs = slice(starts["dof"], int(arrays["dof"][b]))
    for name in ("resist", "up", "armature"):
        found[name] = arrays[name][dofs]
    q0 = whole.q0[starts["position"] : int(arrays["position"][b])].copy()
    nb, nu = len(keep), dofs.stop - dofs.start
    found["gravity"], found["numbers"] = whole.gravity, arrays["numbers"]
    packed, views = pack(found, nb, nu, len(q0), last - first, NO_FLEXIBLE)
    return Forest(whole.name, nb, len(q0), nu, views, q0, whole.gravity, packed)


def _moved(subchain: Subchain, by: int) -> Subchain:
    moved = Subchain([i - by for i in subchain.path], [i - by for i in subchain.aside], 0, has_next=subchain.has_next)
    moved.holds = {i - by for i in subchain.holds}
    return moved


class SharedMotion(Motion):
    """The motion of a share. Joint forces are found from its own joints, and those of cuts from both sides of each."""

    def __init__(self, task: Task, cut: Cut, comm: Any) -> None:
        self.whole, self.comm = cut, comm
        super().__init__(task, comm, Share(cut, comm.first, comm.last))
        system, cuts = task.system, self.cut.joints
        dof = system.arrays["dof"]
        mine = [j for j, here in zip(cuts, self.pieces.solver.mine, strict=True) if here]
        rows = [np.arange(dof[j.body], dof[j.body + 1]) for j in mine]
        owned = [np.full(len(r), comm.first <= j.outer < comm.last) for j, r in zip(mine, rows, strict=True)]
        dofs = np.concatenate([*rows, np.zeros(0, int)])
        here = self.cut
        self.inside = JointForces(task, here.u_rows, here.u_here, here.q_rows, here.q_here, np.ones(here.u_rows.size))
        every = np.arange(system.nq)
        self.at_cuts = JointForces(task, dofs, dofs, every, every, np.concatenate([*owned, np.zeros(0)]))

    def from_tree(self, y: np.ndarray) -> np.ndarray:
        """y of this share from (q, u, work) of the System; the whole is laid out for a moment."""
        nq, nu, cut = self.system.nq, self.system.nu, self.cut
        assert isinstance(cut, Share)
        self.pieces.tree_q[:], self.pieces.tree_u[:] = y[:nq], y[nq : nq + nu]
        q, u = Pieces(self.whole, cutting(self.task.algorithm)).from_tree(y[:nq], y[nq : nq + nu])
        work = y[-1:] if self.pieces.first == 0 else np.zeros(1)
        return np.concatenate([q[cut.q_there], u[cut.u_there], work])

    def to_tree(self, y: np.ndarray) -> np.ndarray:
        """As Motion; its messages are those of the result."""
        with self.comm.aside(RESULTS):
            return super().to_tree(y)

    def close(self, y: np.ndarray) -> None:
        """As Motion; the paper has no such messages."""
        with self.comm.aside("X"):
            super().close(y)

    def recursion(self, t: float, q: np.ndarray, u: np.ndarray) -> float:
        """Steps II to VII under all joint forces; the power of those that store no energy."""
        pieces = self.pieces
        power = self.inside(t, q, u, pieces.tau)
        pieces.place(q, u)
        power += self.at_cuts(t, pieces.tree_q, pieces.tree_u, self.tau)
        pieces.fold(self.tau)
        return power


def refuse_forces(task: Task) -> None:
    """Forces on bodies need places that other ranks know, and functions the whole state."""
    if task.call:
        raise ModelError(
            "a function of the whole state cannot be asked on ranks, which have parts of it",
            hint="give constant joint forces, or motors in the model; or run it on one process",
        )
    for name, force in task.system.forces.elements.items():
        if not isinstance(force, Motor):
            raise ModelError(
                f"force '{name}' ({type(force).__name__.lower()}) acts on bodies, which ranks do not share",
                expected="forces of joints: springs, dampers, friction, joint limits, motors",
                where=force.where,
                hint="run it on one process, without --on mpi",
            )
