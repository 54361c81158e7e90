"""Which freedoms of a loop depend on the others, and in what order all are eliminated: a program for reduction.py.

Going inward from the tips, every body has a front: what is felt there of all that lies outboard, as a quadratic form
in its own acceleration and those of a few key bodies, the bases of loops that pass over it. Rows of loops that are
still open travel along. At each freedom one of three things happens:

- it does not move any open row: it is *free*, and eliminated by its equation of motion;
- a row moves with it, and well enough: it *depends* on that loop, and the rows give it;
- rows move with it, but badly: it is *kept* as one more variable until they are closed, and *released* then, by its
  equation of motion (arbitrary coordinate selection). Where rows are left that nothing else moves, they *take* it.

The choice is made at one pose, by the rows as they are there once all freedoms outboard are eliminated. Rows that no
freedom between the body and the base can move are redundant, and left behind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..system.system import System
from .constraint_rows import Table

FREE, DEPENDENT, KEPT, RELEASE, BODY, CLOSE, MERGE, MOVE, TAKE = range(9)  # operations
COLUMNS = 11  # of an operation
HEAD = 21 + 6 + 6  # of a front: articulated inertia, force, and the outward acceleration
WELL = 0.1  # of the effect on a loop that the next few freedoms have by themselves: good enough to depend on
NEAR = 6  # freedoms: farther ones have longer levers
NOTHING = 1e-8  # of what a row could move by: it does not move at all


class Plan(NamedTuple):
    """A program. An operation is a row of COLUMNS integers, executed inward; outward it is read backwards."""

    steps: np.ndarray  # (n, COLUMNS)
    maps: np.ndarray  # where the variables of a front lie in that of the parent, -1 for nowhere
    size: int  # numbers of work
    pivots: np.ndarray  # (n)    of dependent freedoms, squared, at the pose of the plan; else zero
    dependents: dict[str, list[int]]  # freedoms, by the joint or constraint that they close
    kept: list[int]  # freedoms between dependents
    keys: list[tuple[int, ...]]  # of each body


@dataclass
class Group:
    """The open rows of one loop, over a body's own acceleration (first 6 columns) and other variables of its front."""

    element: int
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


class Planner:
    def __init__(self, system: System, S: np.ndarray, wrenches: np.ndarray) -> None:
        self.system, self.S, self.w, self.table = system, S, wrenches, Table(system)
        a = system.arrays
        self.parent, self.dof = a["parent"], a["dof"]
        self.driven = set(system.forces.motions)
        self.fronts = [Front() for _ in range(system.nb)]
        self.program: list[tuple[Any, ...]] = []  # with symbols, before places are known
        self.dependents: dict[str, list[int]] = {}
        self.kept: list[int] = []
        self.begun: set[int] = set()
        self.spans: dict[tuple[int, int], np.ndarray] = {}

    # ------------------------------------------------------------ choosing

    def span(self, base: int, i: int) -> np.ndarray:
        """(6, r) Orthonormal: all that freedoms of i and farther inboard, but outboard of the base, can do."""
        key, todo = (base, i), []
        while key[1] > base and key not in self.spans:
            todo.append(key[1])
            key = (base, int(self.parent[key[1]]))
        found = self.spans.get(key, np.zeros((6, 0)))
        for body in reversed(todo):
            columns = [self.S[j] for j in range(self.dof[body], self.dof[body + 1]) if j not in self.driven]
            for S in columns if found.shape[1] < 6 else ():
                rest = S - found @ (found.T @ S)
                rest = rest - found @ (found.T @ rest)
                if np.linalg.norm(rest) > 1e-9 * np.linalg.norm(S):
                    found = np.column_stack([found, rest / np.linalg.norm(rest)])
            self.spans[base, body] = found
        return found

    def can_move(self, group: Group, i: int, later: list[int]) -> bool:
        """Whether a freedom still to come, of this joint or farther inboard, moves the rows."""
        if any(_size(group.own @ self.S[j]) > NOTHING * group.scale for j in later if j not in self.driven):
            return True
        rows, outer = group.own, int(self.parent[i])
        for b in sorted((b for what, b in group.rest if what == "body"), reverse=True):  # they move too, from there on
            if _size(rows @ self.span(b, outer)) > NOTHING * _size(rows):
                return True
            rows, outer = rows + group.rest["body", b], min(outer, b)
        return _size(rows @ self.span(group.base, outer)) > NOTHING * _size(group.first)

    def plan(self) -> None:
        for i in range(self.system.nb - 1, 0, -1):
            self.body(i)
            front = self.fronts[i]
            for j in range(self.dof[i + 1] - 1, self.dof[i] - 1, -1):
                self.freedom(i, front, j, list(range(self.dof[i], j)))
            self.release(i, front)
            self.merge(i, front)

    def body(self, i: int) -> None:
        """Its own inertia, and the rows of loops that end here."""
        if i not in self.begun:
            self.begun.add(i)
            self.program.append((BODY, i))
        table = self.table
        for e in table.by_body.get(i, ()):
            rows, base = table.rows(e), table.base(e)
            outer = 0 if table.body[e] == i else 1
            own = self.w[rows, outer]
            rest = {("body", base): self.w[rows, 1 - outer]} if base else {}
            group = Group(e, rows.stop - rows.start, base, own, dict(rest), own)
            group.scale = _size(own) * max(_size(self.S[j]) for j in range(self.dof[i], self.dof[i + 1]))
            self.fronts[i].variables |= dict.fromkeys(rest)
            if group.scale > 0.0:
                self.fronts[i].groups.append(group)
                self.program.append((CLOSE, i, e, outer, base))
            self.dependents.setdefault(self.system.constraints.owner[rows.start], [])

    def near(self, i: int, j: int, base: int) -> list[int]:
        """Freedom j and the next few inboard of it, in the loop."""
        found: list[int] = []
        low = j
        while i > base and len(found) < NEAR:
            found += range(low, self.dof[i] - 1, -1)
            i = int(self.parent[i])
            low = int(self.dof[i + 1]) - 1
        return found

    def freedom(self, i: int, front: Front, j: int, later: list[int]) -> None:
        S, touched = self.S[j], False
        chosen, most = None, 0.0
        for group in front.groups:
            moved = _size(group.own @ S)
            if j in self.driven or moved <= NOTHING * group.scale:
                continue
            touched = True
            share = moved / max(moved, *(_size(group.first @ self.S[n]) for n in self.near(i, j, group.base)))
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
            self.program.append((DEPENDENT, i, j, chosen.element, float(np.sum((chosen.own @ S) ** 2))))
            self.substitute(front, chosen, lambda g: g.own @ S)
            owner = self.system.constraints.owner[self.table.rows(chosen.element).start]
            self.dependents[owner].append(j)
        for group in list(front.groups):
            if not self.can_move(group, i, later):
                self.take(i, front, group)
                front.groups.remove(group)

    def take(self, i: int, front: Front, group: Group) -> None:
        """Rows that no freedom to come moves give kept freedoms."""
        while True:
            sizes = {
                name: float(np.linalg.norm(rows))
                for name, rows in group.rest.items()
                if name[0] == "freedom" and name not in front.released
            }
            name = max(sizes, key=sizes.__getitem__, default=None)
            if name is None or sizes[name] <= NOTHING * group.scale:
                return
            self.program.append((TAKE, i, name[1], group.element, sizes[name] ** 2))
            front.released.add(name)
            self.kept.remove(name[1])
            owner = self.system.constraints.owner[self.table.rows(group.element).start]
            self.dependents[owner].append(name[1])
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
            if what == "freedom" and name not in front.released:
                open_ = any(
                    float(np.abs(g.rest[name]).max(initial=0.0)) > NOTHING * g.scale
                    for g in front.groups
                    if name in g.rest
                )
                if not open_:
                    front.released.add(name)
                    self.program.append((RELEASE, i, j))

    def merge(self, i: int, front: Front) -> None:
        p = int(self.parent[i])
        if p == 0:
            return
        if p not in self.begun:
            self.begun.add(p)
            self.program.append((BODY, p))
        above = self.fronts[p]
        for name in front.variables:
            if name not in front.released and name != ("body", p):
                above.variables[name] = None
        self.program.append((MERGE, i, p))
        for group in front.groups:
            keys = group.rest.pop(("body", p), None)
            own = group.own if keys is None else group.own + keys
            above.groups.append(replace(group, own=own))
            self.program.append((MOVE, i, p, group.element))

    # ------------------------------------------------------------ places

    def lay_out(self) -> Plan:
        nb = self.system.nb
        slot: list[dict[tuple[str, int], int]] = []
        rest = np.zeros(nb, int)
        for i, front in enumerate(self.fronts):
            places, n = {}, 0
            for name in front.variables:
                places[name] = n
                n += 6 if name[0] == "body" else 1
            slot.append(places)
            rest[i] = n
        rows: list[dict[int, int]] = [{} for _ in range(nb)]  # element -> first row, by body
        counts = np.zeros(nb, int)
        table = self.table
        for op, i, *more in self.program:
            if op in (CLOSE, MOVE):
                body, element = (i, more[0]) if op == CLOSE else (more[0], more[1])
                rows[body][element] = int(counts[body])
                counts[body] += table.count(element)
        at, size = np.zeros(nb, int), 1
        for i in range(1, nb):
            m = rest[i]
            at[i] = size
            size += HEAD + 6 * m + m * (m + 1) // 2 + 2 * m + counts[i] * (7 + m)
        steps: list[list[int]] = []
        maps: list[int] = []
        pivots: list[float] = []
        for op, i, *more in self.program:
            m, here = int(rest[i]), int(at[i])
            first = here + HEAD + 6 * m + m * (m + 1) // 2 + 2 * m  # of the rows
            step: list[int]
            pivot = 0.0
            if op == BODY:
                step = [i, here, m]
            elif op == CLOSE:
                e, outer, base = more
                own = table.rows(e)
                place = slot[i][("body", base)] if base else -1
                step = [i, first + rows[i][e] * (7 + m), m, own.start, own.stop, outer, place]
            elif op in (FREE, DEPENDENT, KEPT, RELEASE, TAKE):
                j = more[0]
                step = [i, here, m, j, size]
                size += 8 + 2 * m
                if op in (DEPENDENT, TAKE):
                    e, pivot = more[1], more[2]
                    step += [first, int(counts[i]), rows[i][e], table.count(e)]
                    step += [slot[i][("freedom", j)]] if op == TAKE else []
                else:
                    step += [first, int(counts[i]), slot[i].get(("freedom", j), -1)]
            else:
                p = more[0]
                there, mp = int(at[p]), int(rest[p])
                link = np.full(m, -1, int)
                for name, place in slot[i].items():
                    width = 6 if name[0] == "body" else 1
                    if name in self.fronts[i].released:
                        continue
                    target = 0 if name == ("body", p) else 6 + slot[p][name]
                    link[place : place + width] = target + np.arange(width)
                start = len(maps)
                maps += link.tolist()
                if op == MERGE:
                    step = [i, here, m, p, there, mp, start]
                else:
                    e = more[1]
                    last = there + HEAD + 6 * mp + mp * (mp + 1) // 2 + 2 * mp + rows[p][e] * (7 + mp)
                    step = [i, first + rows[i][e] * (7 + m), m, table.count(e), last, mp, start]
            steps.append([op, *step, *[0] * (COLUMNS - 1 - len(step))])
            pivots.append(pivot)
        keys = [tuple(b for what, b in front.variables if what == "body") for front in self.fronts]
        table_of_steps = np.array(steps, np.int64).reshape(-1, COLUMNS)
        links, sizes = np.array(maps, np.int64), np.array(pivots)
        return Plan(table_of_steps, links, size, sizes, self.dependents, self.kept, keys)


def make_plan(system: System, S: np.ndarray, wrenches: np.ndarray) -> Plan:
    """For the freedoms S (nu, 6) and the rows' wrenches (nr, 2, 6) of one pose."""
    planner = Planner(system, S, wrenches)
    planner.plan()
    return planner.lay_out()
