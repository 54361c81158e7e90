"""Which DOF of a loop depend on the others, and in what order all are eliminated: a program for passes.py.

Going inward from the tips, every body has a front: what is felt there of all that lies outboard, as a quadratic form
in its own acceleration and those of a few key bodies, the bases of loops that pass over it. Rows of loops that are
still open travel along. At each DOF one of three things happens:

- it does not move any open row: it is *free*, and eliminated by its equation of motion;
- a row moves with it, and well enough: it *depends* on that loop, and the rows give it;
- rows move with it, but badly: it is *kept* as one more variable until they are closed, and *released* then, by its
  equation of motion (arbitrary coordinate selection). Where rows are left that nothing else moves, they *take* it.

Modes of a flexible body are kept from its nodes on, and released, or taken, once all that they move is in the front.
So are DOF that are coupled, and the variables of rows between two branches: see loop_ends.py. Of modes and
joints that one depends on the rows which moves them most for its mass: what is expressed in it would else become much
heavier than it is, and lose the digits of its own mass.

The choice is made at one pose, by the rows as they are there once all DOF outboard are eliminated. Rows that no
DOF between the body and the base can move are redundant, and left behind.

Here, unlike in the recursion, a body's motion is taken about its own origin (see LoopGeometry).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import qr

from ...system.system import System
from ..constraints.live_rows import LoopGeometry, live_rows
from . import movers
from . import operations as ops
from .loop_ends import Ends
from .program import Layout, Plan


def _column_of(name: tuple[str, int], group: movers.Group) -> np.ndarray:
    """What a kept DOF moves the rows by."""
    return group.rest[name][:, 0] if name in group.rest else np.zeros(group.count)


class Planner:
    def __init__(self, system: System, pose: LoopGeometry, driven: frozenset[int]) -> None:
        self.pose, self.nb, self.nu = pose, system.nb, system.nu
        self.owner, self.ends = live_rows(system).owner, Ends(system, live_rows(system), driven)
        self.coupled = {j for met in self.ends.couplings.values() for c in met for j in c.dofs if j >= 0}
        self.movers = x = movers.Movers(system, pose, self.ends, driven)
        self.parent, self.dof, self.kinds, self.columns, self.driven = x.parent, x.dof, x.kinds, x.columns, x.driven
        self.places = system.flexible.column if system.flexible else []  # of modes; none in a rigid system
        self.fronts = [movers.Front() for _ in range(system.nb)]
        self.program: list[tuple[Any, ...]] = []  # with symbols, before places are known
        self.dependents: dict[str, list[int]] = {}
        self.kept: list[int] = []
        self.begun: set[int] = set()

    def plan(self) -> None:
        for i in range(self.nb - 1, 0, -1):
            self.body(i)
            front = self.fronts[i]
            if self.kinds[i] == "node":
                self.node(i, front)
            elif self.kinds[i] == "modes":
                self.modes(i, front)
            else:
                dofs = range(self.dof[i], self.dof[i + 1])
                self.meet(i, front, list(dofs))
                for j in reversed(dofs):
                    self.place_dof(i, front, j, list(range(self.dof[i], j)))
            self.meet(i, front, [])
            self.release(i, front)
            self.merge(i, front)
        if 0 in self.begun:
            self.meet(0, self.fronts[0], [])
            self.release(0, self.fronts[0])
            self.program.append((ops.ROOT, 0))

    def meet(self, i: int, front: movers.Front, later: list[int]) -> None:
        """Couplings, and rows of two branches, whose ends have come together; those of this joint once it is behind."""
        couplings = self.ends.couplings.get(i, [])
        if not self.ends.meets(i) or (later and any(i in c.at for c in couplings)):
            return
        self.ends.met(i)
        for c in couplings:
            rest: dict[tuple[str, int], np.ndarray] = {}
            for j, f in zip(c.dofs, c.factors, strict=True):
                if j >= 0:
                    rest["dof", j] = rest.get(("dof", j), 0.0) + np.array([[f]])
            scale = max(map(abs, c.factors))
            first = np.array([[scale, 0.0, 0.0, 0.0, 0.0, 0.0]])  # turning, the same about any point
            front.groups.insert(0, movers.Group(c.group, 1, i, np.zeros((1, 6)), rest, first, scale))
            self.program.append((ops.COUPLED, i, c.group, *c.dofs))
            self.dependents.setdefault(self.owner[self.ends.rows(c.group).start], [])
        self.settle(i, front, later)

    def settle(self, i: int, front: movers.Front, later: list[int]) -> None:
        """Rows that no DOF to come moves are done with."""
        for group in list(front.groups):
            effect = self.movers.later_effect(group, i, later)
            if effect <= self.movers.nothing * group.scale:
                self.take(i, front, group)
                front.groups.remove(group)
            elif not self.places and effect < np.inf:  # modes have their own rule
                self.take(i, front, group, effect)

    def node(self, i: int, front: movers.Front) -> None:
        """Its motion becomes that of its body's frame and modes."""
        first = self.dof[int(self.parent[i])]
        for a, S in enumerate(self.pose.seen(self.columns[i], i)):
            name = ("dof", first + a)
            front.variables[name] = None
            self.movers.waiting.add(name)
            for group in front.groups:
                group.rest[name] = (group.own @ S)[:, None]
            self.program.append((ops.KEPT, i, first + a, 1 + self.places[i] + 6 * a))

    def modes(self, i: int, front: movers.Front) -> None:
        """The modal mass and forces; from here on modes are variables like others."""
        first, count = self.dof[i], self.dof[i + 1] - self.dof[i]
        names = [("dof", first + a) for a in range(count)]
        front.variables |= dict.fromkeys(names)
        self.movers.waiting -= set(names)
        self.kept += range(first, first + count)
        self.program.append((ops.MODAL, i, first, count))
        for group in front.groups:
            self.take_modes(i, front, group)
        self.exchange(i, front)
        self.settle(i, front, [])

    def body(self, i: int) -> None:
        """Its own inertia, and the rows of loops that end here."""
        if i not in self.begun:
            self.begun.add(i)
            self.program.append((ops.BODY, i))
        for end in self.ends.of_body.get(i, ()):
            rows, base = self.ends.rows(end.group), end.base
            own, count = self.pose.own[rows, end.side], rows.stop - rows.start
            rest = {("body", base): self.pose.own[rows, 1 - end.side]} if base and not end.slack else {}
            for n in range(count if end.slack else 0):
                rest["dof", abs(end.slack) + n] = np.sign(end.slack) * np.eye(count)[:, n : n + 1]
            group = movers.Group(end.group, count, base, own, dict(rest), own)
            group.scale = movers.size_of(own) * (self.movers.reach(i) or float(end.slack != 0))
            self.fronts[i].variables |= dict.fromkeys(rest)
            if group.scale > 0.0:
                self.fronts[i].groups.append(group)
                self.program.append((ops.CLOSE, i, *end))
            self.dependents.setdefault(self.owner[rows.start], [])

    def place_dof(self, i: int, front: movers.Front, j: int, later: list[int]) -> None:
        S, touched = self.pose.outward[i] @ self.pose.S[j], j in self.coupled
        chosen, most = None, 0.0
        for group in front.groups:
            moved = movers.size_of(group.own @ S)
            if j in self.driven or moved <= movers.ROUNDING * group.scale:
                continue
            touched = True
            if j in self.coupled or i <= group.base:  # kept: its coupling, or the rows' other end, is still to come
                continue
            if self.places and moved * self.movers.light[j] < movers.WELL * self.movers.most(i, group, front):
                continue  # modes move the rows much better
            share = moved / movers.sizes_of(group.own, self.movers.near(i, j, group.base)).max()
            if share > most and self.depends_well(i, front, S, later, group, moved, share):
                chosen, most = group, share
        if not touched:
            self.program.append((ops.FREE, i, j))
        elif chosen is None:
            name = ("dof", j)
            front.variables[name] = None
            self.kept.append(j)
            for group in front.groups:
                group.rest[name] = (group.own @ S)[:, None]
            self.program.append((ops.KEPT, i, j))
            self.exchange(i, front)
        else:
            pivot = float(np.sum((chosen.own @ S) ** 2))
            could = movers.sizes_of(chosen.first, self.movers.near(i, j, chosen.base)).max()
            self.program.append((ops.DEPENDENT, i, j, chosen.element, pivot, pivot < (movers.WELL * could) ** 2))
            self.substitute(front, chosen, lambda g: g.own @ S)
            self.dependents[self.owner[self.ends.rows(chosen.element).start]].append(j)
        self.settle(i, front, later)

    def depends_well(
        self,
        i: int,
        front: movers.Front,
        S: np.ndarray,
        later: list[int],
        group: movers.Group,
        moved: float,
        share: float,
    ) -> bool:
        """Whether rows may give a degree of freedom here: nothing near moves them better, what is left of its effect on
        them is no rounding of what it was, or no less than what is left to those still to come and to those kept."""
        could = movers.size_of(group.first @ S)
        effect = self.movers.later_effect(group, i, later)
        if share < movers.WELL:
            return effect <= self.movers.nothing * group.scale and moved >= movers.FAIR * self.movers.best_kept(
                group, front
            )
        fair = max(self.movers.left_for_later(group, i, effect) * could, self.movers.best_kept(group, front))
        return moved >= movers.FAIR * min(fair, could)

    def exchange(self, i: int, front: movers.Front) -> None:
        """Of more kept variables than rows can tell apart, the one that moves them least for its mass is expressed in
        the others: open rows then move without it, and it is released. So a front keeps no more than the open rows."""
        names = sorted(j for what, j in front.variables if what == "dof" and self.may_exchange(front, j))
        if len(names) < 2:
            return
        columns = [np.column_stack([_column_of(("dof", j), g) for j in names]) / g.scale for g in front.groups]
        light = self.movers.light[names]
        R, order = qr(np.vstack(columns) * light, mode="r", pivoting=True)
        sizes = np.abs(np.diag(R))
        rank = int((sizes > movers.ROUNDING * light[order[: len(sizes)]]).sum())
        for victim in order[rank:] if rank else ():
            name = ("dof", names[victim])
            pivots = [names[p] for p in order[:rank]]
            columns_of = {  # in each loop's rows
                g.element: np.column_stack([_column_of(("dof", p), g) for p in pivots])
                for g in front.groups
                if name in g.rest
            }
            self.program.append((ops.EXCHANGE, i, name[1], pivots, columns_of))
            for group in front.groups:
                group.rest.pop(name, None)

    def may_exchange(self, front: movers.Front, j: int) -> bool:
        """Whether a kept variable moves open rows, and is in no other front and no coupling."""
        name = ("dof", j)
        if j >= self.nu or j in self.coupled or name in front.released or self.movers.waits(name):
            return False
        return any(name in group.rest for group in front.groups)

    def take(self, i: int, front: movers.Front, group: movers.Group, least: float = 0.0) -> None:
        """Rows give kept degrees of freedom that move them by at least so much: nothing that comes moves them more."""
        while sizes := self.movers.for_its_mass(group, front):
            name = max(sizes, key=sizes.__getitem__)
            if movers.size_of(group.rest[name]) < least:
                return
            self.take_one(i, front, group, name)

    def take_modes(self, i: int, front: movers.Front, group: movers.Group) -> None:
        """Modes that feel all, as long as nothing that is still to come moves the rows much better."""
        while sizes := self.movers.for_its_mass(group, front, done=True):
            name = max(sizes, key=sizes.__getitem__)
            if sizes[name] < movers.WELL * self.movers.most(i, group, front):
                return
            self.take_one(i, front, group, name)

    def take_one(self, i: int, front: movers.Front, group: movers.Group, name: tuple[str, int]) -> None:
        size = movers.size_of(group.rest[name])
        self.program.append((ops.TAKE, i, name[1], group.element, size**2, size < movers.WELL * group.scale))
        front.released.add(name)
        if name[1] < self.nu:
            self.kept.remove(name[1])
            self.dependents[self.owner[self.ends.rows(group.element).start]].append(name[1])
        self.substitute(front, group, partial(_column_of, name))
        for each in front.groups:
            each.rest.pop(name, None)

    def substitute(
        self, front: movers.Front, chosen: movers.Group, column: Callable[[movers.Group], np.ndarray]
    ) -> None:
        """Solve the rows of a group for a variable that moves rows by ``column``, and put it into all others."""
        c = column(chosen)
        q = c / (c @ c)
        d = q @ chosen.own
        more = {name: q @ rows for name, rows in chosen.rest.items()}
        for group in front.groups:
            cg = column(group)
            if (
                np.linalg.norm(cg) > movers.ROUNDING * group.scale
            ):  # loops that share a DOF: it now moves with both bases
                group.base = min(group.base, chosen.base)
            group.own = group.own - np.outer(cg, d)
            for name, row in more.items():
                group.rest[name] = group.rest.get(name, 0.0) - np.outer(cg, row)

    def release(self, i: int, front: movers.Front) -> None:
        """Kept DOF that no open row needs any more."""
        for name in list(front.variables):
            what, j = name
            if what != "dof" or name in front.released or self.movers.waits(name):
                continue
            if not any(name in g.rest and self.movers.moves(g, name) for g in front.groups):
                front.released.add(name)
                self.program.append((ops.RELEASE, i, j))
                owner = self.dependents[self.owner[j - self.nu]] if j >= self.nu else []
                if owner:  # both branches move as s does: one of their DOF may go for it
                    owner.pop()

    def merge(self, i: int, front: movers.Front) -> None:
        p = int(self.parent[i])
        if p == 0 and not any(name not in front.released for name in front.variables):
            self.program.append((ops.ROOT, i))
            return
        if p not in self.begun:
            self.begun.add(p)
            self.program.append((ops.BODY, p))
        above = self.fronts[p]
        for name in front.variables:
            if name not in front.released and name != ("body", p):
                above.variables[name] = None
        for group in front.groups:
            keys = group.rest.pop(("body", p), None)
            own, first = group.own @ self.pose.inward[i], group.first @ self.pose.inward[i]
            own = own if p else 0.0 * own  # ground stands still
            above.groups.append(replace(group, own=own if keys is None else own + keys, first=first))
            self.program.append((ops.MOVE, i, p, group.element))
        self.program.append((ops.MERGE, i, p))


def make_plan(system: System, pose: LoopGeometry, held: Iterable[int] = ()) -> Plan:
    """For the live rows at one pose; degrees of freedom that are ``held`` stand still, as prescribed motions do."""
    planner = Planner(system, pose, frozenset(system.forces.motions).union(held))
    planner.plan()
    layout = Layout(planner.program, planner.fronts, planner.ends.count)
    return layout.plan(planner.dependents, planner.kept, planner.ends.rows)
