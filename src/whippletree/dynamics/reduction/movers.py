"""Open rows of loops at a pose, and what moves them: of DOF that are kept, and of those still to come."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ...model import GROUND
from ...system.system import System
from ..constraints.live_rows import Effects, LoopGeometry, columns_of
from .loop_ends import Ends

WELL = 0.1  # of the effect on a loop that the next few DOF have by themselves: good enough to depend on
NEAR = 6  # DOF: farther ones have longer levers
FAIR = 0.1  # of the same, before anything was eliminated: less loses digits, so the choice waits for the whole loop
ROUNDING = 4e-16  # of what a row could move by: a degree of freedom that moves open rows by less does not move them
NOTHING = 1e-13  # of the same: rows that are moved by less are closed
RANK = 1e-9  # of the same: less is redundant, as for constraints/multipliers.py
PER_VIOLATION = 10.0  # both, for a closure error of the size of the mechanism: rows are known no better


@dataclass
class Group:
    """The open rows of one loop, over a body's own acceleration and other variables of its front."""

    element: int  # or the other end of one: see Ends
    count: int  # rows
    base: int  # DOF outboard of it may move the rows
    own: np.ndarray  # (count, 6)
    rest: dict[tuple[str, int], np.ndarray]  # ("body", b) -> (count, 6); ("dof", j) -> (count, 1)
    first: np.ndarray  # (count, 6)  own, before any DOF was taken out
    scale: float = 0.0


@dataclass
class Front:
    groups: list[Group] = field(default_factory=list)
    variables: dict[tuple[str, int], None] = field(default_factory=dict)  # besides the body's own acceleration
    released: set[tuple[str, int]] = field(default_factory=set)


def size_of(x: np.ndarray) -> float:
    return math.sqrt(np.vdot(x, x))


def sizes_of(rows: np.ndarray, dofs: np.ndarray) -> np.ndarray:
    """(n) How much each of n DOF moves the rows."""
    moved = rows @ dofs.T
    return np.sqrt((moved * moved).sum(axis=0))


class Movers:
    """DOF at a pose, as they move rows. A body's motion is about its own origin."""

    def __init__(self, system: System, pose: LoopGeometry, ends: Ends, driven: frozenset[int]) -> None:
        self.pose, self.ends, self.nu = pose, ends, system.nu
        self.parent, self.dof = system.arrays["parent"].tolist(), system.arrays["dof"].tolist()
        self.kinds, self.columns = [GROUND, *(e.joint.kind for e in system.topology.edges)], columns_of(system)
        self.light = 1.0 / np.sqrt(pose.mass)
        self.waiting: set[tuple[str, int]] = set()  # modes that do not feel all yet
        self.driven, self.effects = driven, Effects(system, pose, driven)
        self.nothing, self.rank = NOTHING + PER_VIOLATION * pose.open_by, RANK + PER_VIOLATION * pose.open_by

    def later_effect(self, group: Group, i: int, later: list[int]) -> float:
        """By how much degrees of freedom still to come, of this joint or farther inboard, move the rows, each at unit
        velocity, in the mean square; inf while a variable of the rows is still to come."""
        if any(self.waits(name) and self.moves(group, name) for name in group.rest):
            return np.inf
        if i <= group.base:
            return 0.0
        own = [j for j in later if j not in self.driven]
        effect = size_of(group.own @ self.pose.seen(own, i).T) if own else 0.0
        rows, at, outer = group.own, i, int(self.parent[i])
        for b in sorted((b for what, b in group.rest if what == "body"), reverse=True):  # they move too, from there on
            rows, at = self.carried(rows, at, outer), outer
            effect = max(effect, size_of(rows @ self.effects.of(b, outer)))
            rows, at = self.carried(rows, at, b) + group.rest["body", b], b
            outer = min(outer, b)
        rows = self.carried(rows, at, outer)
        return max(effect, size_of(rows @ self.effects.of(group.base, outer)))

    def carried(self, rows: np.ndarray, i: int, to: int) -> np.ndarray:
        """Rows at body i as rows at one farther inboard, mostly its parent."""
        return (
            rows if i == to else rows @ self.pose.inward[i] if to == self.parent[i] else self.pose.carried(rows, i, to)
        )

    def left_for_later(self, group: Group, i: int, effect: float) -> float:
        """The share of what later degrees of freedom could do to the rows that is left to them, at most 1."""
        outer = int(self.parent[i])
        first = size_of(group.first @ self.pose.inward[i] @ self.effects.of(group.base, outer))
        return min(effect / first, 1.0) if first > 0.0 else 1.0

    def best_kept(self, group: Group, front: Front) -> float:
        """By how much the best variable that is kept moves the rows."""
        kept = (size_of(group.rest[name]) for name in self.for_its_mass(group, front, done=True))
        return max(kept, default=0.0)

    def waits(self, name: tuple[str, int]) -> bool:
        """Whether a variable is still to come into this front from elsewhere."""
        return name in self.waiting or (name[0] == "dof" and name[1] in self.ends.waiting)

    def moves(self, group: Group, name: tuple[str, int]) -> bool:
        """Whether a variable of the front has a part in the rows."""
        return float(np.abs(group.rest[name]).max(initial=0.0)) > ROUNDING * group.scale

    def for_its_mass(self, group: Group, front: Front, done: bool = False) -> dict[tuple[str, int], float]:
        """How much each kept DOF moves the rows, over the root of its mass; ``done``: those that feel all."""
        found = {}
        for name, rows in group.rest.items():
            what, j = name
            if what == "dof" and name not in front.released and not (done and self.waits(name)):
                size = size_of(rows)
                if size > self.rank * group.scale:
                    found[name] = size * (self.light[j] if j < self.nu else 1.0)
        return found

    def most(self, i: int, group: Group, front: Front) -> float:
        """What the best kept DOF, or one of the next few inboard, moves rows by, over the root of its mass."""
        most, outer, seen = max(self.for_its_mass(group, front).values(), default=0.0), int(self.parent[i]), 0
        while outer > group.base and seen < NEAR:
            columns = self.columns[outer]
            if columns:
                first = self.dof[int(self.parent[outer])] if self.kinds[outer] == "node" else self.dof[outer]
                sizes = sizes_of(group.own, self.pose.seen(columns, i)) * self.light[first : first + len(columns)]
                most, seen = max(most, float(sizes.max())), seen + 1
            outer = int(self.parent[outer])
        return most

    def reach(self, i: int) -> float:
        """How far a DOF of a body moves it; of a body without any, one of the body that carries it."""
        while i and not self.columns[i]:
            i = int(self.parent[i])
        dofs = self.pose.seen(self.columns[i], i)
        return float(np.sqrt((dofs * dofs).sum(axis=1).max(initial=0.0)))

    def near(self, i: int, j: int, base: int) -> np.ndarray:
        """(n, 6) DOF j of body i and the next few inboard of it, in the loop."""
        found: list[int] = []
        low, outer = j, i
        while outer > base and len(found) < NEAR:
            found += range(low, self.dof[outer] - 1, -1) if self.kinds[outer] != "modes" else ()
            outer = int(self.parent[outer])
            low = int(self.dof[outer + 1]) - 1
        return self.pose.seen(found, i)
