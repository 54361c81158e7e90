"""Where two branches of a tree meet, in O(log n).

Paper    [myers1983] An applicative random-access stack: every node has its parent and one jump farther in.
"""

from __future__ import annotations

from collections.abc import Sequence


class Ancestors:
    """Of a tree whose nodes are numbered from the root, 0, outward: ``parent[i] < i``."""

    def __init__(self, parent: Sequence[int]) -> None:
        self.parent, self.depth, self.jump = parent, [0] * len(parent), [0] * len(parent)
        depth, jump = self.depth, self.jump
        for i in range(1, len(parent)):
            p = parent[i]
            near, far = jump[p], jump[jump[p]]
            depth[i] = depth[p] + 1
            jump[i] = far if depth[p] - depth[near] == depth[near] - depth[far] else p

    def meet(self, a: int, b: int) -> int:
        """The outermost node from which both come, which may be one of them."""
        parent, depth, jump = self.parent, self.depth, self.jump
        if depth[a] < depth[b]:
            a, b = b, a
        while depth[a] > depth[b]:
            a = jump[a] if depth[jump[a]] >= depth[b] else parent[a]
        while a != b:
            a, b = (jump[a], jump[b]) if jump[a] != jump[b] else (parent[a], parent[b])
        return a
