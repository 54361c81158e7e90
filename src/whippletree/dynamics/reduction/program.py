"""Where the fronts of a program lie, and the program as integers, for the kernels of passes.py.

A front is of no use once it has gone into that of its parent, and outward not before: a few places serve for all, and
what is kept of each DOF is all that grows with their number. A body takes over the front of the first child that
comes in, as it lies, where both have the same variables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...compiler.lanes import inline, take
from ...kernels.unpack import take_integers
from . import operations as ops
from .front import HEAD, SPARE

Name = tuple[str, int]  # of a variable: ("body", b), 6 numbers, or ("dof", j), which may be the slack of a row


class Plan(NamedTuple):
    """A program. An operation is a row of ops.COLUMNS integers, executed inward; outward it is read backwards."""

    steps: np.ndarray  # (n, ops.COLUMNS)
    maps: np.ndarray  # where the variables of a front lie in that of the parent, -1 for nowhere
    size: int  # numbers of work
    pivots: np.ndarray  # (n)    of dependent DOF, squared, at the pose of the plan; else zero
    poor: np.ndarray  # (n)      whether there was none better, so that a rise is worth a new plan too
    exchanged: np.ndarray  # pivots of exchanges, squared, one exchange after the other
    dependents: dict[str, list[int]]  # DOF, by the joint or constraint that they close
    kept: list[int]  # DOF between dependents
    keys: list[tuple[int, ...]]  # of each body


@dataclass
class Place:
    """A front and those that take it over."""

    width: int  # of variables besides the body's own acceleration
    slots: dict[Name, int]
    open: dict[int, tuple[int, int]] = field(default_factory=dict)  # element -> its first row, and how many
    rows: int = 0  # most at once
    first: int = 0  # operation
    last: int = 0
    at: int = 0
    length: int = 0

    def add(self, element: int, count: int) -> int:
        """Room for rows, as low as there is."""
        start = 0
        for a, n in sorted(self.open.values()):
            if start + count <= a:
                break
            start = max(start, a + n)
        self.open[element] = start, count
        self.rows = max(self.rows, self.count)
        return start

    @property
    def count(self) -> int:
        return max((a + n for a, n in self.open.values()), default=0)

    @property
    def size(self) -> int:
        return self.row(self.rows)

    def row(self, n: int) -> int:
        """Where row n lies in the front."""
        m = self.width
        return HEAD + 6 * m + m * (m + 1) // 2 + 2 * m + n * (7 + m)


def _width(names: Any) -> int:
    return sum(6 if what == "body" else 1 for what, _ in names)


def _range(first: int, count: int) -> range:
    return range(first, first + count)


def exchange_size(pivots: int, rows: int) -> int:
    """Numbers that an exchange keeps: m, and behind it the columns of the rows and their triangular factor."""
    return pivots + (pivots + 1) * rows + pivots * (pivots + 1) // 2


def _slots(names: Any) -> dict[Name, int]:
    slots, n = {}, 0
    for name in names:
        slots[name] = n
        n += 6 if name[0] == "body" else 1
    return slots


class Layout:
    """Turns a program with names, as the Planner wrote it, into one with places."""

    def __init__(self, program: list[tuple[Any, ...]], fronts: list[Any], count_of: Any) -> None:
        self.program, self.fronts, self.count_of = program, fronts, count_of
        self.last_use: dict[int, int] = {}  # of the rows of an element
        for n, (op, _, *more) in enumerate(program):
            if op in (ops.DEPENDENT, ops.TAKE):
                self.last_use[more[1]] = n
        self.places: list[Any] = [None] * len(fronts)  # of each body, a Place
        self.taken_over: set[int] = set()  # bodies whose front the parent takes over
        self.symbols: list[tuple[Any, ...]] = []  # operation, its place, and rows as numbers
        self.maps: list[int] = []
        self.exchanged: list[float] = []

    def used_after(self, element: int, n: int) -> bool:
        return self.last_use.get(element, -1) > n

    def rows(self) -> None:
        """First pass: who takes over whose front, and which rows of it a loop gets."""
        program = self.program
        for n, (op, i, *more) in enumerate(program):
            place = self.places[i]
            if op == ops.BODY:
                child = self.first_child(n, i)
                if child and self.same_variables(child, i):
                    self.taken_over.add(child)
                    place, op = self.places[child], ops.ADD
                else:
                    names = self.fronts[i].variables
                    place = Place(_width(names), _slots(names), first=n)
                self.places[i] = place
                self.emit(op, i, place, n)
            elif op in (ops.CLOSE, ops.COUPLED):
                self.emit(op, i, place, n, place.add(more[0], self.count_of(more[0])), *more)
                if not self.used_after(more[0], n):  # redundant as a whole: only looked at, behind the solve
                    del place.open[more[0]]
            elif op in (ops.DEPENDENT, ops.TAKE):
                j, e, pivot, poor = more
                first, group = place.open[e]
                if not self.used_after(e, n):
                    del place.open[e]
                self.emit(op, i, place, n, j, first, group, place.count, pivot, poor)
            elif op in (ops.FREE, ops.KEPT, ops.RELEASE):
                self.emit(op, i, place, n, more[0], place.count, *more[1:])
            elif op == ops.EXCHANGE:
                j, pivots, columns = more
                used = [e for e in columns if self.used_after(e, n)]
                if used:  # else they are redundant, and nothing depends on them
                    rows = [r for e in used for r in _range(*place.open[e])]
                    left = np.diag(np.linalg.qr(np.vstack([columns[e] for e in used]), mode="r")) ** 2
                    self.emit(op, i, place, n, j, pivots[: len(left)], rows, place.count, left)
            elif op == ops.MODAL:
                self.emit(op, i, place, n, *more)
            elif op == ops.ROOT:
                self.emit(op, i, place, n)
            elif op == ops.MERGE and i not in self.taken_over:
                self.emit(op, i, place, n, more[0], self.link(i, more[0]))
                self.touch(self.places[more[0]], n)
            elif op == ops.MOVE and i not in self.taken_over:
                p, e = more
                if self.used_after(e, n):
                    start, count = place.open.pop(e)
                    there = self.places[p].add(e, count)
                    self.emit(op, i, place, n, start, count, p, there, self.link(i, p))

    def first_child(self, n: int, i: int) -> int:
        """The body whose front comes into that of i right behind operation n; 0 for none."""
        op, child, *to = self.program[n + 1] if n + 1 < len(self.program) else (ops.BODY, 0)
        return child if op in (ops.MERGE, ops.MOVE) and to[0] == i else 0

    def emit(self, op: int, i: int, place: Place, n: int, *more: Any) -> None:
        self.touch(place, n)
        self.symbols.append((op, i, place, n, *more))

    def touch(self, place: Place, n: int) -> None:
        place.last = max(place.last, n)

    def same_variables(self, child: int, i: int) -> bool:
        """Whether the front of a child can go on as that of its parent."""
        return not self.fronts[child].released and set(self.fronts[child].variables) == set(self.fronts[i].variables)

    def link(self, i: int, p: int) -> int:
        """Where the variables of a front lie in that of the parent; returns the place in maps"""
        here, there = self.places[i], self.places[p]
        link = np.full(here.width, -1, int)
        for name, at in here.slots.items():
            width = 6 if name[0] == "body" else 1
            if name not in self.fronts[i].released:
                target = 0 if name == ("body", p) else 6 + there.slots[name]
                link[at : at + width] = target + np.arange(width)
        return self.listed(link.tolist())

    def allot(self) -> int:
        """Second pass: places for fronts, each free again after its last operation; returns where they end."""
        fronts = {id(p): p for p in self.places if p is not None}
        begin: dict[int, list[Place]] = {}
        for p in fronts.values():
            begin.setdefault(p.first, []).append(p)
        end: dict[int, list[Place]] = {}
        for p in fronts.values():
            end.setdefault(p.last, []).append(p)
        size = SPARE + max((p.width for p in fronts.values()), default=0)
        empty: list[tuple[int, int]] = []  # length, place
        for n in sorted({*begin, *end}):
            for p in begin.get(n, ()):
                fit = min((e for e in empty if e[0] >= p.size), default=None)
                if fit is None:
                    p.at, length = size, p.size
                    size += length
                else:
                    empty.remove(fit)
                    length, p.at = fit
                p.length = length
            empty += [(p.length, p.at) for p in end.get(n, ())]
        return size

    def plan(self, dependents: dict[str, list[int]], kept: list[int], slices: Any) -> Plan:
        """The Plan; ``slices`` gives the rows of an element."""
        self.rows()
        size = self.allot()
        steps: list[list[int]] = []
        pivots: list[float] = []
        poor: list[bool] = []
        for op, i, place, _, *more in self.symbols:
            own, length = self.operands(op, place, more, slices, size)
            step = [*ops.Operation(op, i, place.at, place.width), *own]
            steps.append(step + [0] * (ops.COLUMNS - len(step)))
            size += length
            gives = op in (ops.DEPENDENT, ops.TAKE)
            pivots.append(more[4] if gives else 0.0)
            poor.append(more[5] if gives else False)
        keys = [tuple(b for what, b in front.variables if what == "body") for front in self.fronts]
        table, maps = np.array(steps, np.int64).reshape(-1, ops.COLUMNS), np.array(self.maps, np.int64)
        sizes = np.array(pivots), np.array(poor), np.array(self.exchanged)
        return Plan(table, maps, size, *sizes, dependents, kept, keys)

    def operands(self, op: int, place: Place, more: list[Any], slices: Any, store: int) -> tuple[Iterable[int], int]:
        """What an operation is done to, and how many numbers it keeps at ``store``."""
        m, rows = place.width, place.at + place.row(0)
        if op in (ops.CLOSE, ops.COUPLED):
            return self.ends(op, place, more, slices), 0
        if op in (ops.FREE, ops.KEPT, ops.RELEASE):
            j, count, *column = more
            var = place.slots.get(("dof", j), -1)
            length = 8 + m if op != ops.KEPT else 0
            return ops.Solve(j, store, rows, first=column[0] if column else 0, count=count, var=var), length
        if op in (ops.DEPENDENT, ops.TAKE):
            j, first, group, count, _, _ = more
            var = place.slots.get(("dof", j), -1)
            return ops.Solve(j, store, rows, first, group, count, var), 7 + m + max(count, first + group)
        if op == ops.EXCHANGE:
            j, names, used, count, left = more
            link = self.listed([*(place.slots["dof", name] for name in names), *used, len(self.exchanged)])
            self.exchanged += left.tolist()
            own = ops.Exchange(place.slots["dof", j], store, rows, link, len(names), len(used), count)
            return own, exchange_size(len(names), len(used))
        if op == ops.MODAL:
            j, count = more
            return ops.Modal(j, self.listed([m, *(place.slots["dof", j + a] for a in range(count))]), count), 0
        if op == ops.MERGE:
            p, link = more
            above = self.places[p]
            return ops.Merge(p, above.at, above.width, link, rows, place.rows), 0
        if op == ops.ROOT:
            return ops.Merge(0, 0, 0, 0, rows, place.rows), 0
        if op == ops.MOVE:
            start, count, p, there, link = more
            above = self.places[p]
            return ops.Move(place.at + place.row(start), count, above.at + above.row(there), above.width, link), 0
        return (), 0

    def ends(self, op: int, place: Place, more: list[Any], slices: Any) -> Iterable[int]:
        """Operands of what brings rows in."""
        if op == ops.COUPLED:
            start, e, *dofs = more
            both = (place.slots["dof", j] if j >= 0 else -1 for j in dofs)
            return ops.Couple(slices(e).start, slices(e).stop, place.at + place.row(start), *both)
        start, group, side, base, slack = more
        key = place.slots["body", base] if base and not slack else -1
        shared = (1 if slack > 0 else -1) * (1 + place.slots["dof", abs(slack)]) if slack else 0
        own = slices(group)
        return ops.Close(own.start, own.stop, place.at + place.row(start), side, key, shared)

    def listed(self, numbers: list[int]) -> int:
        """Where in maps they are put."""
        start = len(self.maps)
        self.maps += numbers
        return start


class Program(NamedTuple):
    """A Plan as kernels see it."""

    count: Any  # number of operations
    poor: Any  # whether a pivot is poor
    steps: Any  # (count, ops.COLUMNS)
    maps: Any
    fall: Any  # (count)   times a pivot, squared: how far it has fallen since the plan
    rise: Any  # (count)   over it: how far it has risen, where that matters
    exchanged: Any  # of exchanges: times a pivot, squared


def pack_plan(plan: Plan | None) -> np.ndarray:
    """A plan as numbers, or that there is none."""
    if plan is None:
        return np.zeros(4, np.int64).view(float)
    header = np.array([len(plan.steps), plan.maps.size, plan.poor.any(), plan.exchanged.size], np.int64)
    integers = np.concatenate([header, plan.steps.ravel(), plan.maps]).view(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        fall = np.where(plan.pivots > 0.0, 1.0 / plan.pivots, 0.0)
    rise = np.where(plan.poor, plan.pivots, np.inf)
    return np.concatenate([integers, fall, rise, 1.0 / plan.exchanged])


@inline
def unpack_plan(memory, n):
    counts, n = take_integers(memory, n, 4)
    steps, n = take_integers(memory, n, ops.COLUMNS * counts[0])
    maps, n = take_integers(memory, n, counts[1])
    fall, n = take(memory, n, counts[0])
    rise, n = take(memory, n, counts[0])
    exchanged, n = take(memory, n, counts[3])
    return Program(counts[0], counts[2], steps, maps, fall, rise, exchanged), n
