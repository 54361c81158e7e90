"""Loops and constraints at one pose: the rank of each and of all together, and so how many DOF are left.

A count of rows is wrong wherever rows say the same: mobility is the number of velocities less the rank of C. Rows that
add nothing are named by joint and axis. Loops that share joints form a group; each group has its rank for itself, from
singular values, or from the plan of reduction where it is large.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.constraints.jacobian import ConstraintRows, rows_of
from ..dynamics.constraints.live_rows import live_rows, loop_geometry
from ..dynamics.constraints.nullspace import rank_tolerance, scaled_rows
from ..dynamics.inputs import one_state
from ..dynamics.loads.applied import prescribed_motion, signals
from ..dynamics.reduction import passes as reduction
from ..dynamics.reduction.plan import make_plan
from ..dynamics.reduction.program import Plan
from ..dynamics.registry import ALGORITHMS
from ..errors import ModelError
from ..integrate.assemble import CLOSED, assemble, difference
from ..integrate.motion import advance
from ..system.joint_frames import joint_frame
from ..system.system import System, require_system
from .loop_paths import Paths
from .point import dofs_of

DENSE = 400  # rows of a group whose singular values are taken
MOST_OPEN = 1000  # rows: closing more takes minutes
LARGEST = 10**8  # numbers of C
NEARBY = 200  # rows: for so many, a pose nearby is looked at too
STEP = 0.1  # rad, or sizes of the mechanism: to the pose nearby
WEAK = 1e-2  # of what holds nearby: a pose nearly singular


class Loop(NamedTuple):
    """What one joint or constraint closes, by itself."""

    name: str  # of the joint, coupling or constraint
    base: int  # system body at which its two sides meet; 0 is ground
    rows: int
    rank: int
    dependent: tuple[str, ...]  # DOF that it gives, chosen by reduction


class Mobility(NamedTuple):
    """What :func:`mobility` finds."""

    system: System
    q: np.ndarray  # (nq) the pose
    moved: bool  # it was not closed as given: it is the nearest that is
    loops: tuple[Loop, ...]
    rows: int
    rank: int  # of all together
    mobility: int  # DOF that are left: velocities less the rank, and less prescribed motions
    counted: int  # the same by a count of rows, after Gruebler
    nearby: int | None  # the mobility at a pose nearby; None where it was not looked for
    stuck: bool  # whatever moves at this pose cannot go on
    weak: tuple[str, ...]  # loops that hold much less here than nearby; all of a group where none does so alone
    redundant: tuple[tuple[str, str], ...]  # rows that say nothing new: joint or constraint, and direction
    unnamed: int  # more of them, in groups too large to say which
    groups: tuple[tuple[str, ...], ...]  # loops that share joints
    overlap: tuple[int, str]  # the most loops over one joint, and that joint
    dependent: tuple[str, ...]  # DOF, by name
    independent: tuple[str, ...]
    keys: tuple[int, float] | None  # of a body, the most and the mean
    operations: dict[str, int]  # of forward dynamics behind kinematics and rows, by algorithm

    def as_dict(self) -> dict[str, Any]:
        """For a program to read."""
        edges = self.system.topology.edges
        base = [edges[loop.base - 1].joint.name if loop.base else "ground" for loop in self.loops]
        plain = {name: getattr(self, name) for name in ("rows", "rank", "mobility", "counted", "nearby", "stuck")}
        return plain | {
            "q": self.q.tolist(),
            "moved": self.moved,
            "weak": list(self.weak),
            "loops": {
                loop.name: {"base": b, "rows": loop.rows, "rank": loop.rank, "dependent": list(loop.dependent)}
                for loop, b in zip(self.loops, base, strict=True)
            },
            "redundant": [list(pair) for pair in self.redundant],
            "unnamed": self.unnamed,
            "groups": [list(group) for group in self.groups],
            "overlap": {"loops": self.overlap[0], "joint": self.overlap[1]},
            "dependent": list(self.dependent),
            "independent": list(self.independent),
            "keys": None if self.keys is None else {"most": self.keys[0], "mean": self.keys[1]},
            "operations": self.operations,
        }


def mobility(system: System, q: ArrayLike | Mapping[str, Any] | None = None) -> Mobility:
    """How many DOF loops and constraints leave at the pose ``q``, and which of their rows say nothing new.

    ``q`` is an array or a dict from joint names to values; without it, the neutral pose. Where that is not closed,
    the nearest pose that is closed is taken; where there is none, a ModelError names what cannot close.
    """
    require_system(system)
    Q, U, _ = one_state(system, q, None, None, "mobility")
    prescribed_motion(system, 0.0, Q, U)
    count = system.constraints.count
    if count * system.nu > LARGEST:
        raise ModelError(
            f"'{system.name}' is too large for its mobility",
            expected=f"rows of constraints times degrees of freedom of at most {LARGEST:.0e}",
            got=f"{count} rows and {system.nu} degrees of freedom",
        )
    rows = rows_of(system, Q, np.zeros(system.nu))
    violation = float(np.abs(rows.g).max(initial=0.0))
    moved = violation > CLOSED * min(1.0, system.constraints.size)
    if moved:
        if count > MOST_OPEN:
            raise ModelError(
                f"'{system.name}' is not closed at this pose",
                expected=f"a closed pose, or at most {MOST_OPEN} rows of constraints to close",
                got=f"{count} rows, open by {violation:.3g} m or rad",
                hint="give a closed pose as q",
            )
        Q = assemble(system, q).q
        rows = rows_of(system, Q, np.zeros(system.nu))
    return _Analysis(system, Q, rows).found(moved)


class _Analysis:
    """All that is known of one pose."""

    def __init__(self, system: System, q: np.ndarray, rows: ConstraintRows) -> None:
        self.system, self.q, self.rows = system, q, rows
        self.tolerance = rank_tolerance(system, rows)
        self.time = signals(system, 0.0)
        pose = loop_geometry(system, system.constraints, q, self.time)
        self.driven = np.zeros(system.nu, bool)
        self.driven[list(system.forces.motions)] = True
        self.C = rows.C[:, ~self.driven] if self.driven.any() else rows.C
        S = pose.S.copy()
        S[np.flatnonzero(self.driven)] = 0.0
        self.paths = Paths(system, S)
        c = system.constraints
        self.elements = [e for e in range(len(c.kind)) if c.row[e + 1] > c.row[e]]
        self.own = {e: self.paths.rows_of(e, pose.w, self.driven) for e in self.elements}

    def slice(self, e: int) -> slice:
        row = self.system.constraints.row
        return slice(int(row[e]), int(row[e + 1]))

    def name(self, e: int) -> str:
        return self.system.constraints.owner[self.slice(e).start]

    def plan(self) -> Plan | None:
        if not self.system.features <= reduction.SUPPORTS:
            return None
        return make_plan(self.system, loop_geometry(self.system, live_rows(self.system), self.q, self.time))

    def found(self, moved: bool) -> Mobility:
        system, c, plan = self.system, self.system.constraints, self.plan()
        ranks, redundant = {}, np.zeros(c.count, bool)
        for e in self.elements:
            ranks[e], redundant[self.slice(e)] = _dependent_rows(self.own[e], self.tolerance)
        groups = self.paths.groups(self.elements)
        rank, unnamed = 0, 0
        for group in groups:
            kept = np.concatenate([np.arange(c.count)[self.slice(e)] for e in group])
            kept = kept[~redundant[kept]]
            if len(group) == 1:
                rank += ranks[group[0]]
            elif len(kept) <= DENSE or plan is None:
                C = self.C[kept]
                of_group, redundant[kept] = _dependent_rows(C[:, C.any(axis=0)], self.tolerance)
                rank += of_group
            else:
                of_group = sum(len(plan.dependents.get(name, ())) for name in {self.name(e) for e in group})
                rank, unnamed = rank + of_group, unnamed + len(kept) - of_group
        names = _dofs(system)
        dependents = plan.dependents if plan else {}
        taken = {j for js in dependents.values() for j in js}
        if plan is None:
            taken = set(_pivots(self.C, rank, np.flatnonzero(~self.driven)))
        free = system.nu - int(self.driven.sum())
        shared = [group for group in groups if len(group) > 1]
        nearby, stuck, weak = self.look_around(free - rank)
        inside = [len(k) for k in plan.keys[1:]] if plan else []
        return Mobility(
            system, self.q, moved,
            tuple(
                Loop(self.name(e), self.paths.meet[e], len(self.own[e]), ranks[e],
                     tuple(names[j] for j in dependents.get(self.name(e), ())))
                for e in self.elements
            ),
            c.count, rank, free - rank, free - c.count, nearby, stuck, weak,
            tuple((c.owner[r], direction(system, r)) for r in np.flatnonzero(redundant).tolist()), unnamed,
            tuple(tuple(self.name(e) for e in group) for group in shared),
            self.paths.overlap(self.elements),
            tuple(names[j] for j in sorted(taken)),
            tuple(names[j] for j in range(system.nu) if j not in taken and not self.driven[j]),
            (max(inside), float(np.mean(inside))) if inside else None,
            _operations(system, plan, rank),
        )  # fmt: skip

    def look_around(self, free: int) -> tuple[int | None, bool, tuple[str, ...]]:
        """Mobility at a pose nearby, whether there is none, and the loops that hold much less here."""
        system = self.system
        if not 0 < self.rows.C.shape[0] <= NEARBY or free <= 0:
            return None, False, ()
        C, movable = self.C, np.flatnonzero(~self.driven)
        _, _, Vt = np.linalg.svd(C)
        along = np.random.default_rng(0).normal(size=free) @ Vt[len(movable) - free :]
        step = np.zeros(system.nu)
        step[movable] = STEP * min(1.0, system.constraints.size) * along / np.abs(along).max()
        try:
            q = assemble(system, advance(system, self.q, step)).q
        except ModelError:
            return None, False, ()
        if np.linalg.norm(difference(system, self.q, q)) < 1e-2 * np.linalg.norm(step):
            return None, True, ()
        there = _Analysis(system, q, rows_of(system, q, np.zeros(system.nu)))
        rank = _dependent_rows(there.C, there.tolerance)[0]
        weak = [self.name(e) for e in self.elements if _weaker(self.own[e], there.own[e], there.tolerance)]
        if not weak and _weaker(C, there.C, there.tolerance):
            weak = [self.name(e) for e in self.elements]
        return len(movable) - rank, False, tuple(dict.fromkeys(weak))


def _dependent_rows(C: np.ndarray, tolerance: float) -> tuple[int, np.ndarray]:
    """The rank of C, and rows without which it stays the same: those in which its left null space is largest."""
    chosen = np.zeros(len(C), bool)
    if C.size == 0:
        return 0, ~chosen
    U, s, _ = np.linalg.svd(C / scaled_rows(C)[:, None])
    rank = int((s > tolerance).sum())
    null = U[:, rank:].copy()
    for _ in range(len(C) - rank):
        size = np.where(chosen, 0.0, np.linalg.norm(null, axis=1))
        row = int(np.flatnonzero(size > (1 - 1e-6) * size.max())[-1])  # of equal ones the last
        chosen[row] = True
        along = null[row] / size[row]
        null -= np.outer(null @ along, along)
    return rank, chosen


def _weaker(here: np.ndarray, there: np.ndarray, tolerance: float) -> bool:
    """Whether a direction that is held there is held much less here."""
    a, b = (np.linalg.svd(C, compute_uv=False) if C.size else np.zeros(0) for C in (here, there))
    rank = int((b > tolerance * max(1.0, b.max(initial=0.0))).sum())
    return rank > 0 and bool(a[rank - 1] < WEAK * b[rank - 1])


def _pivots(C: np.ndarray, rank: int, columns: np.ndarray) -> list[int]:
    """DOF that depend on the others, by pivoting."""
    from scipy.linalg import qr

    return [int(columns[j]) for j in qr(C, mode="r", pivoting=True)[1][:rank]] if rank else []


def _dofs(system: System) -> list[str]:
    """The joint, and which of its DOF where it has several."""
    dofs = ((joint, label) for joint in system.joints for label, _ in dofs_of(system, joint))
    return [f"{joint}.{label}" if label else joint for joint, label in dofs]


def direction(system: System, r: int) -> str:
    """What a row holds, along the axes that the joint's place ``at`` has in the model."""
    owner, what = system.constraints.owner[r], system.constraints.what[r]
    joint = system.model.joints.get(owner)
    words, _, axis = what.rpartition(" ")
    if joint is None or owner not in system.cut_joints or axis not in "xyz":
        return what
    along = joint_frame(joint, False)[:, "xyz".index(axis)]
    k = int(np.argmax(np.abs(along)))
    if abs(along[k]) > 1 - 1e-9:
        return f"{words} {'xyz'[k]}"
    return f"{words} ({', '.join(f'{x:.3g}' for x in along)})"


def _operations(system: System, plan: Plan | None, rank: int) -> dict[str, int]:
    costs = {a.name: a.cost.at_rank for a in ALGORITHMS.values() if a.cost and a.cost.at_rank}
    counts = {name: at_rank(system, plan, rank) for name, at_rank in costs.items()}
    return {name: count for name, count in counts.items() if count is not None}
