"""Where loops and constraints run in the tree: the joints on their two sides, and which of them share any."""

from __future__ import annotations

import numpy as np

from ..dynamics.constraints.live_rows import columns_of
from ..layout.constraints import COUPLE
from ..system.system import System


class Paths:
    """The joints between the two bodies of each element of the constraints, and what these joints can move."""

    def __init__(self, system: System, S: np.ndarray) -> None:
        self.system, self.S = system, S
        self.parent, self.columns = system.arrays["parent"].tolist(), columns_of(system)
        self.factors: dict[tuple[int, int], np.ndarray] = {}
        c, cuts = system.constraints, len(system.cut_joints)
        ends = list(zip(c.body.tolist(), c.to.tolist(), strict=True))
        # depth first, a joint that is cut leads to an ancestor, but from one node of a flexible body to another
        up = cuts if not system.topology.sideways else 0
        self.meet = [min(a, b) if e < up else self._meet(a, b) for e, (a, b) in enumerate(ends)]

    def _meet(self, a: int, b: int) -> int:
        """The body at which the ways to ground meet."""
        while a != b:
            a, b = self.parent[max(a, b)], min(a, b)
        return a

    def factor(self, base: int, i: int) -> np.ndarray:
        """R (6, 6) with R'R = sum S'S over the DOF outboard of the base up to those of i."""
        todo = []
        while i != base and (base, i) not in self.factors:
            todo.append(i)
            i = self.parent[i]
        R = self.factors.get((base, i), np.zeros((6, 6)))
        for i in reversed(todo):
            R = np.asarray(np.linalg.qr(np.vstack([R, self.S[self.columns[i]]]), mode="r"))
            self.factors[base, i] = R
        return R

    def rows_of(self, e: int, wrenches: np.ndarray, driven: np.ndarray) -> np.ndarray:
        """A matrix with the singular values of the element's own rows of C."""
        c = self.system.constraints
        if c.kind[e] == COUPLE:
            return np.ones((1, len({j for j in c.arrays["dof"][e].tolist() if not driven[j]})))
        own, base = wrenches[c.row[e] : c.row[e + 1]], self.meet[e]
        sides = [own[:, side] @ self.factor(base, int(i)).T for side, i in enumerate((c.body[e], c.to[e])) if i != base]
        return np.hstack(sides) if sides else np.zeros((len(own), 0))

    def overlap(self, elements: list[int]) -> tuple[int, str]:
        """The most elements that run over one joint, and that joint, the first of several."""
        c, over = self.system.constraints, [0] * self.system.nb
        for e in elements:
            if c.kind[e] != COUPLE:
                over[c.body[e]] += 1
                over[c.to[e]] += 1
                over[self.meet[e]] -= 2
        for i in range(self.system.nb - 1, 0, -1):
            over[self.parent[i]] += over[i]
        for e in elements:
            for i in {int(c.body[e]), int(c.to[e])} if c.kind[e] == COUPLE else ():
                over[i] += 1
        most = max(range(1, self.system.nb), key=lambda i: over[i], default=0)
        return (over[most], self.system.carriers[most - 1]) if most and over[most] > 0 else (0, "")

    def groups(self, elements: list[int]) -> list[list[int]]:
        """Elements that share joints, directly or through others."""
        top = list(range(self.system.nb))  # of joints that are in one group, that nearest to ground

        def find(i: int) -> int:
            while top[i] != i:
                top[i] = top[top[i]]
                i = top[i]
            return i

        c = self.system.constraints
        runs: dict[int, list[int]] = {}
        for e in elements:
            ends = [int(i) for i in (c.body[e], c.to[e])]
            runs[e] = [i for i in ends if i != self.meet[e]]
            if c.kind[e] == COUPLE:
                runs[e] = ends
                continue
            for end in ends:
                i = find(end)
                while i > self.meet[e] and self.parent[i] > self.meet[e]:  # joints of a group hang together
                    top[i] = find(self.parent[i])
                    i = top[i]
        for ends in runs.values():  # both sides, and what couplings tie, are one group too
            for i in ends[1:]:
                a, b = sorted((find(ends[0]), find(i)))
                top[b] = a
        found: dict[int, list[int]] = {}
        for e in elements:
            found.setdefault(find(runs[e][0]) if runs[e] else -1 - e, []).append(e)
        return list(found.values())
