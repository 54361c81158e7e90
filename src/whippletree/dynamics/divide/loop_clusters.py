"""Which loops stay inside a subchain, and which of these share bodies: a cluster. All others are shared by several
subchains.

A joint that closes a loop, or a constraint between two bodies, stays inside where both bodies are of one subchain or
the body that carries it. Couplings of DOF are shared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...layout.constraints import COUPLE
from ...system.system import System
from ..constraints.live_rows import live_rows
from ..two_handle.layout import CLUSTER, CLUSTER_ROW, cluster_numbers
from ..two_handle.partition import Family, Subchain


@dataclass(slots=True)
class Loop:
    """A loop in a subchain, whose bodies are numbered from its carrier, 0, on."""

    ends: tuple[int, int]
    rows: range  # live rows
    bodies: set[int]  # whose DOF move it
    top: int  # the body where its two sides meet


def tie_loops(system: System, families: list[Family]) -> tuple[list[int], list[int]]:
    """Gives every subchain its clusters; returns the live rows inside subchains, in the order of the clusters, and the
    others.
    """
    live, held = live_rows(system), {b: s for f in families for s in f.subchains for b in s.bodies}
    found: dict[int, list[Loop]] = {}
    shared: list[int] = []
    for e in range(len(live.body)):
        rows = range(int(live.row[e]), int(live.row[e + 1]))
        ends = int(live.body[e]), int(live.to[e])
        subchain = held.get(max(ends))
        loop = None
        if subchain is not None and live.arrays["kind"][e] != COUPLE:
            loop = _inside(system, subchain, ends, rows)
        if loop is None:
            shared += rows
        elif len(rows):
            found.setdefault(id(subchain), []).append(loop)
    inside: list[int] = []
    for subchain in (s for f in families for s in f.subchains):
        subchain.clusters = _clusters(found.get(id(subchain), []))
        subchain.first_row = len(inside)
        inside += [r for cluster in subchain.clusters for loop in cluster for r in loop.rows]
    return inside, shared


def _inside(system: System, subchain: Subchain, ends: tuple[int, int], rows: range) -> Loop | None:
    """A loop as its subchain sees it, or None if it does not stay inside."""
    local, parent = _numbered(subchain), system.arrays["parent"]
    if ends[0] not in local or ends[1] not in local:
        return None
    a, b, bodies = *ends, set()
    while a != b:
        a, b = max(a, b), min(a, b)
        bodies.add(local[a])
        a = int(parent[a])
    return Loop((local[ends[0]], local[ends[1]]), rows, bodies, local[a]) if bodies else None


def _numbered(subchain: Subchain) -> dict[int, int]:
    return {subchain.carrier: 0} | {b: n for n, b in enumerate(subchain.bodies, start=1)}


def _clusters(loops: list[Loop]) -> list[list[Loop]]:
    """Loops that share bodies together; those whose top is farther out come first."""
    clusters: list[list[Loop]] = []
    owner: dict[int, list[Loop]] = {}
    for loop in loops:
        mine = [loop]
        for body in loop.bodies:
            other = owner.get(body)
            if other is not None and other is not mine and other in clusters:
                clusters.remove(other)
                mine = other + mine
                for o in other:
                    owner.update(dict.fromkeys(o.bodies, mine))
        for o in mine:
            owner.update(dict.fromkeys(o.bodies, mine))
        clusters.append(mine)
    return sorted(clusters, key=lambda cluster: -_top(cluster))


def _top(cluster: list[Loop]) -> int:
    return min(loop.top for loop in cluster)


def lay_out(system: System, subchain: Subchain, take: Callable[[int], int]) -> tuple[int, dict[int, np.ndarray]]:
    """Where the clusters of a subchain are in a memory, and the integers there; ``take`` gives room."""
    dof, nb = np.diff(system.arrays["dof"]), 1 + len(subchain.bodies)
    dofs = np.array([0, *dof[subchain.bodies]])
    rows: list[tuple[int, int, int]] = []
    table, place = [], np.full(nb, -1)
    count = sum(len(loop.rows) for cluster in subchain.clusters for loop in cluster)
    at = take(2 + CLUSTER * len(subchain.clusters) + CLUSTER_ROW * count + nb + int(dofs.sum()))
    tables = {}
    for cluster in subchain.clusters:
        bodies = np.array(sorted(set[int]().union(*(loop.bodies for loop in cluster))))
        starts = np.concatenate([[0], np.cumsum(dofs[bodies])])
        place[bodies] = starts[:-1]
        first = len(rows)
        for loop in cluster:
            for _ in loop.rows:
                rows.append((*loop.ends, subchain.first_row + len(rows)))
        listed, numbers = take(bodies.size), take(cluster_numbers(len(rows) - first, int(starts[-1])))
        tables[listed] = bodies
        table.append([_top(cluster), first, len(rows) - first, starts[-1], bodies.size, listed, numbers, 0])
    flat = [len(subchain.clusters), count, *np.ravel(table), *np.ravel(rows), *place]
    return at, tables | {at: np.array(flat, int)}
