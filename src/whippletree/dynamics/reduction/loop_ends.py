"""Where the rows of constraints begin and where they meet, for plan.py.

A row between a body and one of its ancestors is open from the body to the ancestor, its base. Between two branches it
is two rows, one on each of its bodies, w . a + s = gamma and w' . a' - s = 0, with a variable s of its own that goes
into the fronts of both; a coupling is a row in two DOF, which are kept. Both wait for the body on which the
branches meet, or for ground.
"""

from __future__ import annotations

from typing import NamedTuple

from ...layout.constraints import COUPLE, FIRST, SECOND
from ...system.ancestors import Ancestors
from ...system.system import System
from ..constraints.live_rows import LiveRows


class End(NamedTuple):
    """The rows of an element on one of its bodies."""

    group: int  # its number: that of the element, and behind all elements that of the other end
    side: int  # which wrench of a row acts here
    base: int  # the ancestor, or the body on which the branches meet
    slack: int  # of the first row, as if it were a DOF: the number of s, less than zero for -s; 0: no branches


class Coupling(NamedTuple):
    group: int
    dofs: tuple[int, ...]  # two, each -1 if it has no part or its motion is prescribed
    factors: tuple[float, ...]
    at: tuple[int, int]  # bodies that they carry


class Ends:
    def __init__(self, system: System, rows: LiveRows, driven: frozenset[int]) -> None:
        self.row, self.elements = rows.row.tolist(), len(rows.body)
        self.meet = Ancestors(system.arrays["parent"].tolist()).meet
        self.of_body: dict[int, list[End]] = {}
        self.couplings: dict[int, list[Coupling]] = {}  # by the body where both DOF are in the front
        self.waiting: dict[int, int] = {}  # DOF and slacks: how many elements have still to meet
        self._meeting: dict[int, list[int]] = {}  # which of them, by body
        kinds, numbers = rows.arrays["kind"], rows.arrays["numbers"]
        for e in range(self.elements):
            a, b = int(rows.body[e]), int(rows.to[e])
            if kinds[e] == COUPLE:
                factors = tuple(numbers[e, [FIRST, SECOND]].tolist())
                own = zip(rows.arrays["dof"][e].tolist(), factors, strict=True)
                dofs = tuple(j if f != 0.0 and j not in driven else -1 for j, f in own)
                base = self.meet(a, b)
                self.couplings.setdefault(base, []).append(Coupling(e, dofs, factors, (a, b)))
                self._wait(base, [j for j in dofs if j >= 0])
            elif a != b and self.row[e + 1] > self.row[e]:  # what ties a body to itself holds nothing
                self._tie(system.nu, e, a, b)

    def _tie(self, nu: int, e: int, a: int, b: int) -> None:
        base = self.meet(a, b)
        if base in (a, b):
            self.of_body.setdefault(max(a, b), []).append(End(e, 0 if a > b else 1, base, 0))
            return
        rows = self.rows(e)
        slack = nu + rows.start
        self.of_body.setdefault(a, []).append(End(e, 0, base, slack))
        self.of_body.setdefault(b, []).append(End(self.elements + e, 1, base, -slack))
        self._wait(base, [nu + r for r in range(rows.start, rows.stop)])

    def _wait(self, meet: int, variables: list[int]) -> None:
        self._meeting.setdefault(meet, []).extend(variables)
        for j in variables:
            self.waiting[j] = self.waiting.get(j, 0) + 1

    def meets(self, i: int) -> bool:
        """Whether something waits for the front of a body."""
        return bool(self._meeting.get(i))

    def met(self, i: int) -> None:
        """All that meets on a body is in its front."""
        for j in self._meeting.pop(i, ()):
            self.waiting[j] -= 1
            if not self.waiting[j]:
                del self.waiting[j]

    def rows(self, group: int) -> slice:
        e = group % self.elements
        return slice(self.row[e], self.row[e + 1])

    def count(self, group: int) -> int:
        rows = self.rows(group)
        return rows.stop - rows.start
