"""Which loops stay inside a strand, and which of these share bodies: a knot. All others are shared by several strands.

A joint that closes a loop, or a constraint between two bodies, stays inside where both bodies are of one strand or the
body that carries it. Couplings of freedoms are shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...layout.constraints import COUPLE
from ...system.system import System
from ..constraints.live_rows import live_rows
from ..two_handle.layout import KNOT, KNOT_ROW, knot_numbers
from ..two_handle.partition import Family, Strand


@dataclass(slots=True)
class Loop:
    """A loop in a strand, whose bodies are numbered from its carrier, 0, on."""

    ends: tuple[int, int]
    rows: range  # live rows
    bodies: set[int]  # whose freedoms move it
    top: int  # the body where its two sides meet


def tie_loops(system: System, families: list[Family]) -> tuple[list[int], list[int]]:
    """Gives every strand its knots; returns the live rows inside strands, in the order of the knots, and the others."""
    live, held = live_rows(system), {b: s for f in families for s in f.strands for b in s.bodies}
    found: dict[int, list[Loop]] = {}
    shared: list[int] = []
    for e in range(len(live.body)):
        rows = range(int(live.row[e]), int(live.row[e + 1]))
        ends = int(live.body[e]), int(live.to[e])
        strand = held.get(max(ends))
        loop = None
        if strand is not None and live.arrays["kind"][e] != COUPLE:
            loop = _inside(system, strand, ends, rows)
        if loop is None:
            shared += rows
        elif len(rows):
            found.setdefault(id(strand), []).append(loop)
    inside: list[int] = []
    for strand in (s for f in families for s in f.strands):
        strand.knots = _knots(found.get(id(strand), []))
        strand.first_row = len(inside)
        inside += [r for knot in strand.knots for loop in knot for r in loop.rows]
    return inside, shared


def _inside(system: System, strand: Strand, ends: tuple[int, int], rows: range) -> Loop | None:
    """A loop as its strand sees it, or None if it does not stay inside."""
    local, parent = _numbered(strand), system.arrays["parent"]
    if ends[0] not in local or ends[1] not in local:
        return None
    a, b, bodies = *ends, set()
    while a != b:
        a, b = max(a, b), min(a, b)
        bodies.add(local[a])
        a = int(parent[a])
    return Loop((local[ends[0]], local[ends[1]]), rows, bodies, local[a]) if bodies else None


def _numbered(strand: Strand) -> dict[int, int]:
    return {strand.carrier: 0} | {b: n for n, b in enumerate(strand.bodies, start=1)}


def _knots(loops: list[Loop]) -> list[list[Loop]]:
    """Loops that share bodies together; those whose top is farther out come first."""
    knots: list[list[Loop]] = []
    owner: dict[int, list[Loop]] = {}
    for loop in loops:
        mine = [loop]
        for body in loop.bodies:
            other = owner.get(body)
            if other is not None and other is not mine and other in knots:
                knots.remove(other)
                mine = other + mine
                for o in other:
                    owner.update(dict.fromkeys(o.bodies, mine))
        for o in mine:
            owner.update(dict.fromkeys(o.bodies, mine))
        knots.append(mine)
    return sorted(knots, key=lambda knot: -_top(knot))


def _top(knot: list[Loop]) -> int:
    return min(loop.top for loop in knot)


def lay_out(system: System, strand: Strand, take: Callable[[int], int]) -> tuple[int, dict[int, np.ndarray]]:
    """Where the knots of a strand are in a memory, and the integers there; ``take`` gives room."""
    dof, nb = np.diff(system.arrays["dof"]), 1 + len(strand.bodies)
    freedoms = np.array([0, *dof[strand.bodies]])
    rows: list[tuple[int, int, int]] = []
    table, place = [], np.full(nb, -1)
    count = sum(len(loop.rows) for knot in strand.knots for loop in knot)
    at = take(2 + KNOT * len(strand.knots) + KNOT_ROW * count + nb + int(freedoms.sum()))
    tables = {}
    for knot in strand.knots:
        bodies = np.array(sorted(set[int]().union(*(loop.bodies for loop in knot))))
        starts = np.concatenate([[0], np.cumsum(freedoms[bodies])])
        place[bodies] = starts[:-1]
        first = len(rows)
        for loop in knot:
            for _ in loop.rows:
                rows.append((*loop.ends, strand.first_row + len(rows)))
        listed, numbers = take(bodies.size), take(knot_numbers(len(rows) - first, int(starts[-1])))
        tables[listed] = bodies
        table.append([_top(knot), first, len(rows) - first, starts[-1], bodies.size, listed, numbers, 0])
    flat = [len(strand.knots), count, *np.ravel(table), *np.ravel(rows), *place]
    return at, tables | {at: np.array(flat, int)}
