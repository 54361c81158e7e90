"""The plan of a division in one memory: blocks of subchains, how they are joined, and the steps of a solution."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...compiler.lanes import LANES, LINE, aligned
from ...compiler.thread_pool import MOST_STEPS, MOST_TASKS
from ...system.system import System
from ..accuracy.unevenness import carried_over_own
from ..constraints.massless import BODY_SHARE
from ..inputs import body_of
from ..two_handle import join as assembly
from ..two_handle import layout
from ..two_handle.partition import Subchain, blocks, partition
from . import header as head
from .loop_clusters import lay_out, tie_loops
from .options import Division

SHARE = 1.1  # cost of a subchain with two handles over one with a free tip; `whippletree bench divide` measures it
SHARES = 4  # of a step, for each thread, where there are many blocks


class Plan:
    """What a System is divided into, and the memory to solve it in."""

    def __init__(self, system: System, choice: Division) -> None:
        self.system, self.choice = system, choice
        lanes = LANES if choice.lanes else 1
        if system.nb == 1:  # nothing moves
            self.subchains: list[Subchain] = []
            self.blocks: list[list[Subchain]] = []
            self.memory, self.lent = _nothing(system), []
            return
        pieces = self._pieces(lanes)
        share = SHARE if lanes == 1 else 1.0
        self._divide(pieces, share, lanes)
        if choice.leaves == "subchains" and choice.pieces is None and max(map(len, self.blocks)) == 1 < lanes:
            # no two subchains are alike: lanes would stay empty
            self._divide(self._pieces(1), SHARE, lanes)
        self.subchains = [s for f in self.families for s in f.subchains]
        self.lent = without_mass(system) if self.inside or self.shared else []
        self._lay_out()

    def _divide(self, pieces: int, share: float, lanes: int) -> None:
        self.families = partition(self.system, self.choice, pieces, share)
        self.inside, self.shared = tie_loops(self.system, self.families)
        self.blocks = blocks(self.system, self.families, lanes)

    def _pieces(self, lanes: int) -> int:
        bodies = self.system.nb - 1
        return self.choice.pieces or max(1, min(lanes * self.choice.threads, bodies // 2))

    def tip_grading(self) -> tuple[float, int]:
        """The largest mass that the last body of a subchain carries over its own mass, and which body it is."""
        ratio = carried_over_own(self.system)
        tips = [s.path[-1] for s in self.subchains if s.has_next]
        worst = max(tips, key=lambda b: ratio[b], default=0)
        return float(ratio[worst]), worst

    def growth(self) -> float:
        """What health() of steps.py looks at, when last solved."""
        header = self.memory[: head.HEADER].view(np.int64)
        at, count = int(header[head.JOINS_AT]), int(header[head.JOINS_COUNT])
        joins = self.memory[at : at + assembly.JOIN * count].view(np.int64).reshape(-1, assembly.JOIN)
        return float(self.memory[joins[:, assembly.KEEP] + assembly.GROWTH].max(initial=0.0))

    def folded(self) -> bool:
        """Whether a joint was so nearly folded back that digits were lost, when last solved."""
        for at, (nb, nq, nu, width) in zip(self.at, self.shapes, strict=True):
            start = at + layout.places(nb, nq, nu, width)[0]["defect"] + 2 * width
            if self.memory[start : start + width].any():
                return True
        return False

    def without_inertia(self) -> int | None:
        """The outermost body whose pivot vanished when last solved, or None."""
        for n in range(len(self.blocks) - 1, -1, -1):
            block, (nb, nq, nu, width) = self.blocks[n], self.shapes[n]
            start = self.at[n] + layout.places(nb, nq, nu, width)[0]["d"]
            d = self.memory[start : start + nu * width].reshape(nu, width)
            for lane in range(len(block) - 1, -1, -1):
                rows = self._rows("dof", block[lane])
                bad = np.flatnonzero(~np.isfinite(d[: len(rows), lane]))
                if bad.size:
                    return body_of(self.system, "u", int(rows[bad[-1]]))
        return None

    # ------------------------------------------------------------ memory

    def _lay_out(self) -> None:
        self._end = head.HEADER
        self.shapes = [self._shape(block) for block in self.blocks]
        self.at = []
        for nb, nq, nu, width in self.shapes:
            self.at.append(self._take(layout.places(nb, nq, nu, width)[1]))
        stands = np.array([self._stand(s) for s in self.subchains])
        joins, families = self._joins()
        tasks, first = self._steps()
        listed = {
            head.STANDS_AT: stands,
            head.BLOCKS_AT: np.array([(at, shape[3]) for at, shape in zip(self.at, self.shapes, strict=True)]),
            head.JOINS_AT: np.array(joins, int).reshape(-1, assembly.JOIN),
            head.FAMILIES_AT: np.array(families),
            head.TASKS_AT: np.array(tasks),
            head.FIRST_AT: np.array(first),
        }
        listed |= {head.LOCAL_ROWS_AT: np.array(self.inside, int), head.SHARED_ROWS_AT: np.array(self.shared, int)}
        where = {name: self._take(table.size) for name, table in listed.items()}
        room, local = self._take(assembly.ROOM), self._take(layout.LOCAL * len(self.inside))
        tied = {s.block: lay_out(self.system, s, self._take) for s in self.subchains if s.clusters}
        own = self.system.arrays["numbers"]
        self.own_at = self._take(own.size)
        self.memory = aligned(self._end)
        self.memory[self.own_at : self.own_at + own.size] = own
        header = self.memory[: head.HEADER].view(np.int64)
        for name, table in listed.items():
            header[name] = where[name]
            self.memory[where[name] : where[name] + table.size].view(np.int64)[:] = table.ravel()
        header[[head.STANDS_COUNT, head.BLOCKS_COUNT, head.STEPS_COUNT, head.ROOM_AT]] = (
            len(self.subchains), len(self.blocks), len(first) - 1, room,
        )  # fmt: skip
        header[head.JOINS_COUNT] = len(joins)
        header[[head.SYSTEM_NQ, head.SYSTEM_NU, head.SYSTEM_NB]] = self.system.nq, self.system.nu, self.system.nb
        header[[head.SIZE, head.LOCAL_AT, head.LOCAL_COUNT, head.SHARED_COUNT]] = (
            self.memory.size, local, len(self.inside), len(self.shared),
        )  # fmt: skip
        self.memory[head.GRAVITY : head.GRAVITY + 3] = self.system.gravity
        for n in range(len(self.blocks)):
            self._fill(n)
        for n, (at, tables) in tied.items():
            self.memory[self.at[n] : self.at[n] + layout.HEAD].view(np.int64)[layout.CLUSTERS_AT] = at
            for start, table in tables.items():
                self.memory[start : start + table.size].view(np.int64)[:] = table

    def _take(self, count: int) -> int:
        start = self._end
        self._end = start + -(-count // LINE) * LINE
        return start

    def _shape(self, block: list[Subchain]) -> tuple[int, int, int, int]:
        """Bodies (with the carrier), coordinates and velocities of the longest subchain, and the width of a row."""
        a, bodies = self.system.arrays, block[0].bodies
        nq = int((a["position"][1:] - a["position"][:-1])[bodies].sum())
        nu = int((a["dof"][1:] - a["dof"][:-1])[bodies].sum())
        return 1 + len(bodies), nq, nu, 1 if len(block) == 1 else LANES

    def _own(self, subchain: Subchain) -> tuple[int, int]:
        """Where a subchain's own numbers are, and how far apart."""
        return self._row(subchain, "own", 0)

    def _row(self, subchain: Subchain, name: str, row: int) -> tuple[int, int]:
        nb, nq, nu, width = self.shapes[subchain.block]
        start = self.at[subchain.block] + layout.places(nb, nq, nu, width)[0][name]
        return start + row * width + subchain.lane, width

    def _stand(self, subchain: Subchain) -> list[int]:
        at, step = self._own(subchain)
        on = subchain.carried_by
        if on is None:
            return [at, step, -1, 0, 0, 0, 0, 0, 0, 0]
        i = 1 + on.bodies.index(subchain.carrier)
        sizes = (("R", 9), ("o", 3), ("v", 6), ("b", 6))
        carrier = [self._row(on, name, size * i)[0] for name, size in sizes]
        return [at, step, *self._own(on), *carrier, int(subchain.goes_on), 0]

    # ------------------------------------------------------------ joins and steps

    def _joins(self) -> tuple[list[list[int]], list[list[int]]]:
        """Binary assembly of every family, families of low level first; self.joined counts joins up to each family."""
        self.ordered = sorted(self.families, key=lambda f: f.level)
        joins: list[list[int]] = []
        families, self.joined = [], [0]
        for family in self.ordered:
            node, step = self._assemble(family.subchains, joins)
            first = family.subchains[0]
            on, carry = first.carried_by, [-1, -1, -1, 0]
            if on is not None:
                i = 1 + on.bodies.index(first.carrier)
                carry = [self._row(on, name, size * i)[0] for name, size in (("IA", 21), ("pA", 6), ("x", 6))]
                carry.append(self._own(on)[1])
            families.append([node, step, *self._own(first), *carry])
            self.joined.append(len(joins))
        return joins, families

    def _assemble(self, subchains: list[Subchain], joins: list[list[int]]) -> tuple[int, int]:
        if len(subchains) == 1:
            at, step = self._own(subchains[0])
            return at + layout.HANDLES * step, step
        half = len(subchains) // 2
        a, b = self._assemble(subchains[:half], joins), self._assemble(subchains[half:], joins)
        whole = self._take(layout.NODE)
        joins.append([*a, *b, whole, self._take(assembly.KEPT), int(subchains[-1].has_next), 0])
        return whole, 1

    def _steps(self) -> tuple[list[list[int]], list[int]]:
        """Tasks, and the first task of every step."""
        tasks: list[list[int]] = []
        first = [0]
        levels = [block[0].family for block in self.blocks]
        level = [self.families[f].level for f in levels]
        top = max(level)

        def step(kind: int, *ranges: tuple[int, int]) -> None:
            tasks.extend([kind, *r, 0, 0][: head.TASK] for r in ranges)
            first.append(len(tasks))

        def serial(kind: int, at_level: int) -> None:
            mine = [n for n, f in enumerate(self.ordered) if f.level == at_level]
            a, b = mine[0], mine[-1] + 1
            tasks.append([kind, self.joined[a], self.joined[b], a, b])
            first.append(len(tasks))

        def shares(at_level: int | None) -> list[tuple[int, int]]:
            mine = [n for n, x in enumerate(level) if at_level is None or x == at_level]
            threads = self.choice.threads
            count = threads * (SHARES if len(mine) > threads else 1)
            count = min(len(mine), count, MOST_TASKS // (8 + 4 * top))
            cuts = [mine[0] + len(mine) * n // count for n in range(count + 1)]
            return list(pairwise(cuts))

        step(head.PLACE, *shares(None))
        step(head.COMPOSE, (0, 0))
        for n in range(top):
            step(head.RECURSION, *shares(n))
            serial(head.JOINING, n)
        step(head.RECURSION, *shares(top))
        serial(head.MIDDLE, top)
        step(head.ANSWER, *shares(top))
        for n in range(top - 1, -1, -1):
            serial(head.OPENING, n)
            step(head.ANSWER, *shares(n))
        assert len(first) <= MOST_STEPS + 1
        assert len(tasks) <= MOST_TASKS
        return tasks, first

    # ------------------------------------------------------------ blocks

    def _fill(self, n: int) -> None:
        """The bodies of a block, lane by lane; lanes without a subchain repeat the first."""
        block, (nb, nq, nu, width) = self.blocks[n], self.shapes[n]
        where, size = layout.places(nb, nq, nu, width)
        memory = self.memory[self.at[n] : self.at[n] + size]
        a, longest = self.system.arrays, block[0]
        counts = layout.integer_rows(nb, nq, nu, width)
        ints = {name: memory[where[name] : where[name] + count].view(np.int64) for name, count in counts.items()}
        rows = layout.constant_rows(nb, nu) | {"q": nq, "R": 9 * nb}
        part = {name: memory[where[name] : where[name] + r * width].reshape(r, width) for name, r in rows.items()}
        bodies = np.array(longest.bodies)
        local = {int(b): i for i, b in enumerate(bodies, start=1)}
        parents = [0] + [local.get(int(a["parent"][b]), 0) for b in bodies[1:]]
        ints["parent"][1:], ints["kind"][1:] = parents, a["kind"][bodies]
        sizes = {"position": np.diff(a["position"])[bodies], "dof": np.diff(a["dof"])[bodies]}
        for name, size_of in sizes.items():
            ints[name][1:] = np.concatenate([[0], np.cumsum(size_of)])
        memory[where["sign"] : where["sign"] + nb][1:] = a["sign"][bodies]
        part["Rt"].reshape(nb, 9, width)[:, [0, 4, 8]] = 1.0
        part["R"][[0, 4, 8]] = 1.0  # the carrier's
        part["resist"][:] = np.inf
        part["q"][:] = _neutral(bodies, self.system)[:, None]
        ints["q_row"][:], ints["u_row"][:] = -1, -1
        for lane in range(width):
            self._fill_lane(block[lane if lane < len(block) else 0], lane, part, ints, width)
        first = memory[: layout.HEAD].view(np.int64)
        first[[layout.WIDTH, layout.BODIES, layout.PATH, layout.NQ, layout.NU, layout.USED]] = (
            width,
            nb,
            len(longest.path),
            nq,
            nu,
            len(block),
        )
        first[[layout.OWN_AT, layout.OWN_COUNT]] = self.own_at, self.system.arrays["numbers"].size
        first[layout.FREE_TIP] = not any(s.has_next for s in block)
        first[layout.Q_FULL] = min(len(self._rows("position", s)) for s in block)
        first[layout.U_FULL] = min(len(self._rows("dof", s)) for s in block)

    def _rows(self, name: str, subchain: Subchain) -> np.ndarray:
        first = self.system.arrays[name]
        return np.concatenate([np.arange(first[b], first[b + 1]) for b in subchain.bodies])

    def _fill_lane(self, subchain: Subchain, lane: int, part: dict[str, Any], ints: dict[str, Any], width: int) -> None:
        a, bodies = self.system.arrays, np.array(subchain.bodies)
        here = slice(1, 1 + len(bodies))
        for name, size in (("Rt", 9), ("pt", 3), ("mass", 1), ("com", 3), ("inertia", 6), ("parameter", 1)):
            table = part[name].reshape(-1, size, width)
            table[here, :, lane] = a[name][bodies].reshape(-1, size)
        for body in set(self.lent) & set(subchain.bodies):
            i = 1 + subchain.bodies.index(body)
            typical = BODY_SHARE * np.array([a["mass"][1:].max(), a["inertia"].max()])
            part["mass"][i, lane] = typical[0]
            part["inertia"].reshape(-1, 6, width)[i, [0, 3, 5], lane] = typical[1]
        part["pt"].reshape(-1, 3, width)[1, :, lane] = 0.0
        root = int(bodies[0])
        on_ground = subchain.carried_by is None
        part["base"][:, lane] = a["base"][a["component"][root]] if on_ground else a["pt"][root]
        for name, rows in (("q_row", self._rows("position", subchain)), ("u_row", self._rows("dof", subchain))):
            ints[name].reshape(-1, width)[: len(rows), lane] = rows
        rows = self._rows("dof", subchain)
        part["resist"][: len(rows), lane] = a["resist"][rows]
        ints["body"].reshape(-1, width)[here, lane] = bodies
        for i, b in enumerate(bodies.tolist(), start=1):
            if b in subchain.holds:
                ints["side"][i] = 1


def without_mass(system: System) -> list[int]:
    """Bodies without mass that carry none: alone they move at no cost, and a loop may hold them."""
    a = system.arrays
    return [i for i in range(1, system.nb) if a["mass"][i] == 0.0 and i not in a["parent"]]


def _nothing(system: System) -> np.ndarray:
    """A plan without steps."""
    memory = aligned(head.HEADER)
    memory.view(np.int64)[[head.SYSTEM_NB, head.SIZE]] = system.nb, head.HEADER
    return memory


def _neutral(bodies: np.ndarray, system: System) -> np.ndarray:
    """Coordinates of joints that do not move, for subchains that are shorter."""
    first = system.arrays["position"]
    rows = np.concatenate([np.arange(first[b], first[b + 1]) for b in bodies])
    return system.q0[rows]
