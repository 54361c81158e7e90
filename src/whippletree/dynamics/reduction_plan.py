"""Which freedoms of a loop depend on the others, and in what order all are eliminated: a program for reduction.py.

Going inward from the tips, every body has a front: what is felt there of all that lies outboard, as a quadratic form
in its own acceleration and those of a few key bodies, the bases of loops that pass over it. Rows of loops that are
still open travel along. At each freedom one of three things happens:

- it does not move any open row: it is *free*, and eliminated by its equation of motion;
- a row moves with it, and well enough: it *depends* on that loop, and the rows give it;
- rows move with it, but badly: it is *kept* as one more variable until they are closed, and *released* then, by its
  equation of motion (arbitrary coordinate selection). Where rows are left that nothing else moves, they *take* it.

Modes of a flexible body are kept from its nodes on, and released, or taken, once all that they move is in the front.
So are freedoms that are coupled, and the variables of rows between two branches: see reduction_ends.py. Of modes and
joints that one depends on the rows which moves them most for its mass: what is expressed in it would else become much
heavier than it is, and lose the digits of its own mass.

The choice is made at one pose, by the rows as they are there once all freedoms outboard are eliminated. Rows that no
freedom between the body and the base can move are redundant, and left behind.

Here, unlike in the sweep, what is said of a body's motion is about its own origin (see LoopGeometry).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..model import GROUND
from ..system.system import System
from .live_rows import LoopGeometry, Spans, columns_of, live_rows
from .reduction_ends import Ends
from .reduction_layout import (
    BODY,
    CLOSE,
    COUPLED,
    DEPENDENT,
    FREE,
    KEPT,
    MERGE,
    MODAL,
    MOVE,
    RELEASE,
    ROOT,
    TAKE,
    Layout,
    Plan,
)

WELL = 0.1  # of the effect on a loop that the next few freedoms have by themselves: good enough to depend on
NEAR = 6  # freedoms: farther ones have longer levers
NOTHING = 1e-8  # of what a row could move by: it does not move at all


@dataclass
class Group:
    """The open rows of one loop, over a body's own acceleration and other variables of its front."""

    element: int  # or the other end of one: see Ends
    count: int  # rows
    base: int  # freedoms outboard of it may move the rows
    own: np.ndarray  # (count, 6)
    rest: dict[tuple[str, int], np.ndarray]  # ("body", b) -> (count, 6); ("freedom", j) -> (count, 1)
    first: np.ndarray  # (count, 6)  own, before any freedom was taken out
    scale: float = 0.0


@dataclass
class Front:
    groups: list[Group] = field(default_factory=list)
    variables: dict[tuple[str, int], None] = field(default_factory=dict)  # besides the body's own acceleration
    released: set[tuple[str, int]] = field(default_factory=set)


def _column_of(name: tuple[str, int], group: Group) -> np.ndarray:
    """What a kept freedom moves the rows by."""
    return group.rest[name][:, 0] if name in group.rest else np.zeros(group.count)


def _size(x: np.ndarray) -> float:
    return float(np.sqrt((x * x).sum()))


def _sizes(rows: np.ndarray, freedoms: np.ndarray) -> np.ndarray:
    """(n) How much each of n freedoms moves the rows."""
    moved = rows @ freedoms.T
    return np.sqrt((moved * moved).sum(axis=0))


class Planner:
    def __init__(self, system: System, pose: LoopGeometry) -> None:
        self.pose, self.nb, self.nu = pose, system.nb, system.nu
        self.owner, self.ends = live_rows(system).owner, Ends(system, live_rows(system))
        self.coupled = {j for met in self.ends.couplings.values() for c in met for j in c.freedoms if j >= 0}
        self.parent, self.dof = system.arrays["parent"].tolist(), system.arrays["dof"].tolist()
        self.kinds, self.columns = [GROUND, *(e.joint.kind for e in system.topology.edges)], columns_of(system)
        self.places = system.flexible.column if system.flexible else []  # of modes; none in a rigid system
        self.light = 1.0 / np.sqrt(pose.mass)
        self.waiting: set[tuple[str, int]] = set()  # modes that do not feel all yet
        self.driven = frozenset(system.forces.motions)
        self.fronts = [Front() for _ in range(system.nb)]
        self.program: list[tuple[Any, ...]] = []  # with symbols, before places are known
        self.dependents: dict[str, list[int]] = {}
        self.kept: list[int] = []
        self.begun: set[int] = set()
        self.spans = Spans(system, pose, self.driven)

    # ------------------------------------------------------------ choosing

    def can_move(self, group: Group, i: int, later: list[int]) -> bool:
        """Whether a freedom still to come, of this joint or farther inboard, moves the rows."""
        if any(self.waits(name) and self.moves(group, name) for name in group.rest):
            return True
        if i <= group.base:
            return False
        own = [j for j in later if j not in self.driven]
        if own and _sizes(group.own, self.pose.seen(own, i)).max() > NOTHING * group.scale:
            return True
        rows, at, outer = group.own, i, int(self.parent[i])
        for b in sorted((b for what, b in group.rest if what == "body"), reverse=True):  # they move too, from there on
            rows, at = self.pose.carried(rows, at, outer), outer
            if _size(rows @ self.spans.of(b, outer)) > NOTHING * _size(rows):
                return True
            rows, at = self.pose.carried(rows, at, b) + group.rest["body", b], b
            outer = min(outer, b)
        rows = self.pose.carried(rows, at, outer)
        return _size(rows @ self.spans.of(group.base, outer)) > NOTHING * _size(group.first)

    def waits(self, name: tuple[str, int]) -> bool:
        """Whether a variable is still to come into this front from elsewhere."""
        return name in self.waiting or (name[0] == "freedom" and name[1] in self.ends.waiting)

    def moves(self, group: Group, name: tuple[str, int]) -> bool:
        """Whether a variable of the front has a part in the rows."""
        return float(np.abs(group.rest[name]).max(initial=0.0)) > NOTHING * group.scale

    def for_its_mass(self, group: Group, front: Front, done: bool = False) -> dict[tuple[str, int], float]:
        """How much each kept freedom moves the rows, over the root of its mass; ``done``: those that feel all."""
        found = {}
        for name, rows in group.rest.items():
            what, j = name
            if what == "freedom" and name not in front.released and not (done and self.waits(name)):
                size = _size(rows)
                if size > NOTHING * group.scale:
                    found[name] = size * (self.light[j] if j < self.nu else 1.0)
        return found

    def plan(self) -> None:
        for i in range(self.nb - 1, 0, -1):
            self.body(i)
            front = self.fronts[i]
            if self.kinds[i] == "node":
                self.node(i, front)
            elif self.kinds[i] == "modes":
                self.modes(i, front)
            else:
                freedoms = range(self.dof[i], self.dof[i + 1])
                self.meet(i, front, list(freedoms))
                for j in reversed(freedoms):
                    self.freedom(i, front, j, list(range(self.dof[i], j)))
            self.meet(i, front, [])
            self.release(i, front)
            self.merge(i, front)
        if 0 in self.begun:
            self.meet(0, self.fronts[0], [])
            self.release(0, self.fronts[0])
            self.program.append((ROOT, 0))

    def meet(self, i: int, front: Front, later: list[int]) -> None:
        """Couplings, and rows of two branches, whose ends have come together; those of this joint once it is behind."""
        couplings = self.ends.couplings.get(i, [])
        if not self.ends.meets(i) or (later and any(i in c.at for c in couplings)):
            return
        self.ends.met(i)
        for c in couplings:
            rest: dict[tuple[str, int], np.ndarray] = {}
            for j, f in zip(c.freedoms, c.factors, strict=True):
                if j >= 0:
                    rest["freedom", j] = rest.get(("freedom", j), 0.0) + np.array([[f]])
            scale = max(map(abs, c.factors))
            first = np.array([[scale, 0.0, 0.0, 0.0, 0.0, 0.0]])  # turning, the same about any point
            front.groups.insert(0, Group(c.group, 1, i, np.zeros((1, 6)), rest, first, scale))
            self.program.append((COUPLED, i, c.group, *c.freedoms))
            self.dependents.setdefault(self.owner[self.ends.rows(c.group).start], [])
        self.settle(i, front, later)

    def settle(self, i: int, front: Front, later: list[int]) -> None:
        """Rows that no freedom to come moves are done with."""
        for group in list(front.groups):
            if not self.can_move(group, i, later):
                self.take(i, front, group)
                front.groups.remove(group)

    def node(self, i: int, front: Front) -> None:
        """Its motion becomes that of its body's frame and modes."""
        first = self.dof[int(self.parent[i])]
        for a, S in enumerate(self.pose.seen(self.columns[i], i)):
            name = ("freedom", first + a)
            front.variables[name] = None
            self.waiting.add(name)
            for group in front.groups:
                group.rest[name] = (group.own @ S)[:, None]
            self.program.append((KEPT, i, first + a, 1 + self.places[i] + 6 * a))

    def modes(self, i: int, front: Front) -> None:
        """The modal mass and forces; from here on modes are variables like others."""
        first, count = self.dof[i], self.dof[i + 1] - self.dof[i]
        names = [("freedom", first + a) for a in range(count)]
        front.variables |= dict.fromkeys(names)
        self.waiting -= set(names)
        self.kept += range(first, first + count)
        self.program.append((MODAL, i, first, count))
        for group in front.groups:
            self.take_modes(i, front, group)
        self.settle(i, front, [])

    def body(self, i: int) -> None:
        """Its own inertia, and the rows of loops that end here."""
        if i not in self.begun:
            self.begun.add(i)
            self.program.append((BODY, i))
        for end in self.ends.of_body.get(i, ()):
            rows, base = self.ends.rows(end.group), end.base
            own, count = self.pose.own[rows, end.side], rows.stop - rows.start
            rest = {("body", base): self.pose.own[rows, 1 - end.side]} if base and not end.slack else {}
            for n in range(count if end.slack else 0):
                rest["freedom", abs(end.slack) + n] = np.sign(end.slack) * np.eye(count)[:, n : n + 1]
            group = Group(end.group, count, base, own, dict(rest), own)
            group.scale = _size(own) * (self.reach(i) or float(end.slack != 0))
            self.fronts[i].variables |= dict.fromkeys(rest)
            if group.scale > 0.0:
                self.fronts[i].groups.append(group)
                self.program.append((CLOSE, i, *end))
            self.dependents.setdefault(self.owner[rows.start], [])

    def reach(self, i: int) -> float:
        """How far a freedom of a body moves it; of a body without any, one of the body that carries it."""
        while i and not self.columns[i]:
            i = int(self.parent[i])
        freedoms = self.pose.seen(self.columns[i], i)
        return float(np.sqrt((freedoms * freedoms).sum(axis=1).max(initial=0.0)))

    def near(self, i: int, j: int, base: int) -> np.ndarray:
        """(n, 6) Freedom j of body i and the next few inboard of it, in the loop."""
        found: list[int] = []
        low, outer = j, i
        while outer > base and len(found) < NEAR:
            found += range(low, self.dof[outer] - 1, -1) if self.kinds[outer] != "modes" else ()
            outer = int(self.parent[outer])
            low = int(self.dof[outer + 1]) - 1
        return self.pose.seen(found, i)

    def freedom(self, i: int, front: Front, j: int, later: list[int]) -> None:
        S, touched = self.pose.seen([j], i)[0], j in self.coupled
        chosen, most = None, 0.0
        for group in front.groups:
            moved = _size(group.own @ S)
            if j in self.driven or moved <= NOTHING * group.scale:
                continue
            touched = True
            if j in self.coupled or i <= group.base:  # kept: its coupling, or the rows' other end, is still to come
                continue
            if self.places and moved * self.light[j] < WELL * max(
                self.for_its_mass(group, front).values(), default=0.0
            ):
                continue
            share = moved / _sizes(group.own, self.near(i, j, group.base)).max()
            if share > most and (share >= WELL or not self.can_move(group, i, later)):
                chosen, most = group, share
        if not touched:
            self.program.append((FREE, i, j))
        elif chosen is None:
            name = ("freedom", j)
            front.variables[name] = None
            self.kept.append(j)
            for group in front.groups:
                group.rest[name] = (group.own @ S)[:, None]
            self.program.append((KEPT, i, j))
        else:
            pivot = float(np.sum((chosen.own @ S) ** 2))
            could = _sizes(chosen.first, self.near(i, j, chosen.base)).max()
            self.program.append((DEPENDENT, i, j, chosen.element, pivot, pivot < (WELL * could) ** 2))
            self.substitute(front, chosen, lambda g: g.own @ S)
            self.dependents[self.owner[self.ends.rows(chosen.element).start]].append(j)
        self.settle(i, front, later)

    def take(self, i: int, front: Front, group: Group) -> None:
        """Rows that no freedom to come moves give kept freedoms."""
        while sizes := self.for_its_mass(group, front):
            self.take_one(i, front, group, max(sizes, key=sizes.__getitem__))

    def take_modes(self, i: int, front: Front, group: Group) -> None:
        """Modes that feel all, as long as nothing that is still to come moves the rows much better."""
        while sizes := self.for_its_mass(group, front, done=True):
            name = max(sizes, key=sizes.__getitem__)
            if sizes[name] < WELL * max(self.for_its_mass(group, front).values()):
                return
            if sizes[name] < WELL * self.to_come(i, group):
                return
            self.take_one(i, front, group, name)

    def to_come(self, i: int, group: Group) -> float:
        """The most that one of the next few freedoms inboard moves rows by, over the root of its mass."""
        most, outer, seen = 0.0, int(self.parent[i]), 0
        while outer > group.base and seen < NEAR:
            columns = self.columns[outer]
            if columns:
                first = self.dof[int(self.parent[outer])] if self.kinds[outer] == "node" else self.dof[outer]
                sizes = _sizes(group.own, self.pose.seen(columns, i)) * self.light[first : first + len(columns)]
                most, seen = max(most, float(sizes.max())), seen + 1
            outer = int(self.parent[outer])
        return most

    def take_one(self, i: int, front: Front, group: Group, name: tuple[str, int]) -> None:
        size = _size(group.rest[name])
        self.program.append((TAKE, i, name[1], group.element, size**2, size < WELL * group.scale))
        front.released.add(name)
        if name[1] < self.nu:
            self.kept.remove(name[1])
            self.dependents[self.owner[self.ends.rows(group.element).start]].append(name[1])
        self.substitute(front, group, partial(_column_of, name))
        for each in front.groups:
            each.rest.pop(name, None)

    def substitute(self, front: Front, chosen: Group, column: Callable[[Group], np.ndarray]) -> None:
        """Solve the rows of a group for a variable that moves rows by ``column``, and put it into all others."""
        c = column(chosen)
        q = c / (c @ c)
        d = q @ chosen.own
        more = {name: q @ rows for name, rows in chosen.rest.items()}
        for group in front.groups:
            cg = column(group)
            if np.linalg.norm(cg) > NOTHING * group.scale:  # loops that share a freedom: it now moves with both bases
                group.base = min(group.base, chosen.base)
            group.own = group.own - np.outer(cg, d)
            for name, row in more.items():
                group.rest[name] = group.rest.get(name, 0.0) - np.outer(cg, row)

    def release(self, i: int, front: Front) -> None:
        """Kept freedoms that no open row needs any more."""
        for name in list(front.variables):
            what, j = name
            if what != "freedom" or name in front.released or self.waits(name):
                continue
            if not any(name in g.rest and self.moves(g, name) for g in front.groups):
                front.released.add(name)
                self.program.append((RELEASE, i, j))
                owner = self.dependents[self.owner[j - self.nu]] if j >= self.nu else []
                if owner:  # both branches move as s does: one of their freedoms may go for it
                    owner.pop()

    def merge(self, i: int, front: Front) -> None:
        p = int(self.parent[i])
        if p == 0 and not any(name not in front.released for name in front.variables):
            self.program.append((ROOT, i))
            return
        if p not in self.begun:
            self.begun.add(p)
            self.program.append((BODY, p))
        above = self.fronts[p]
        for name in front.variables:
            if name not in front.released and name != ("body", p):
                above.variables[name] = None
        for group in front.groups:
            keys = group.rest.pop(("body", p), None)
            own, first = self.pose.carried(group.own, i, p), self.pose.carried(group.first, i, p)
            own = own if p else 0.0 * own  # ground stands still
            above.groups.append(replace(group, own=own if keys is None else own + keys, first=first))
            self.program.append((MOVE, i, p, group.element))
        self.program.append((MERGE, i, p))


def make_plan(system: System, pose: LoopGeometry) -> Plan:
    """For the live rows at one pose."""
    planner = Planner(system, pose)
    planner.plan()
    layout = Layout(planner.program, planner.fronts, planner.ends.count)
    return layout.plan(planner.dependents, planner.kept, planner.ends.rows)
