"""Messages between ranks that share the subchains of one mechanism, counted by the step they belong to.

Numbers cross as they lie in memory. No sum is left to MPI, whose order of additions depends on the number of ranks:
parts are gathered by every rank and added there, in the order of the subchains.

Paper    [anderson1999] table 3: one processor for each subchain; VIII is for one iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil, log2
from typing import Any

import numpy as np

RESULTS = "results"  # what is gathered for the file, apart from all steps
STEPS = {
    "II": "from global to local",
    "VII": "assembling",
    "VIII": "solving",
    "X": "errors of steps, cuts closed",
    RESULTS: "rows and states",
}
HEAD = ("step", "", "calls", "messages", "(table 3)", "numbers", "(table 3)")


class Ranks:
    """The processes of a run. ``counts`` has, by step: calls, messages and numbers that left this rank.

    A message to a neighbour is one. A collective call on p ranks is ceil(log2 p) of them, as the paper counts.
    """

    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.size = comm, comm.Get_rank(), comm.Get_size()
        self.rounds = ceil(log2(self.size)) if self.size > 1 else 0
        self.counts: dict[str, list[int]] = {}

    def count(self, step: str, messages: int, numbers: int) -> None:
        count = self.counts.setdefault(step, [0, 0, 0])
        count[0] += 1
        count[1] += messages
        count[2] += numbers

    def all_gather(self, step: str, own: np.ndarray, every: np.ndarray, sizes: np.ndarray) -> None:
        """What each rank has, one after the other in ``every``, on all of them."""
        self.comm.Allgatherv(own, (every, sizes))
        self.count(step, self.rounds, own.size * (self.size - 1))

    def gather(self, own: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
        """What each rank has, on rank 0; nothing on the others."""
        every = np.empty(sizes.sum()) if self.rank == 0 else None
        self.comm.Gatherv(own, None if every is None else (every, sizes))
        self.count(RESULTS, self.rounds, own.size * (self.rank > 0))
        return [] if every is None else np.split(every, np.cumsum(sizes)[:-1])

    def tell(self, numbers: np.ndarray) -> None:
        """Numbers of rank 0, to all."""
        self.comm.Bcast(numbers)
        self.count(RESULTS, self.rounds, numbers.size * (self.rank == 0))


def shares(weights: np.ndarray, ranks: int) -> np.ndarray:
    """Where the subchains of each rank begin, and the end: at least one each, of about equal weight."""
    done, count = np.concatenate([[0.0], np.cumsum(weights)]), len(weights)
    ends = [0]
    for rank in range(1, ranks):
        wanted = done[-1] * rank / ranks
        nearest = int(np.argmin(np.abs(done - wanted)))
        ends.append(min(max(nearest, ends[-1] + 1), count - ranks + rank))
    return np.array([*ends, count])


class Together:
    """What the solver asks of other processes, as :class:`whippletree.dynamics.subchains.solver.Alone`."""

    def __init__(self, cut: Any, ranks: Ranks) -> None:
        self.ranks, self.comm = ranks, ranks.comm
        self.bounds = shares(np.array([len(s.bodies) for s in cut.subchains], float), ranks.size)
        self.first, self.last = (int(n) for n in self.bounds[ranks.rank : ranks.rank + 2])
        owner = np.repeat(np.arange(ranks.size), np.diff(self.bounds))
        # cuts between this rank and another: the cut, which side is here, and whose the other is
        self.shared = [
            (c, int(owner[joint.outer] == ranks.rank), int(owner[joint.inner] + owner[joint.outer]) - ranks.rank)
            for c, joint in enumerate(cut.joints)
            if owner[joint.inner] != owner[joint.outer] and ranks.rank in (owner[joint.inner], owner[joint.outer])
        ]
        self.rows = [slice(int(cut.first[c]), int(cut.first[c + 1])) for c, _, _ in self.shared]
        self.counts_of = np.diff(self.bounds)
        self.step = ""  # which messages belong to, as the sender labels them
        self.under = ""  # or to which they all do for a while

    @contextmanager
    def aside(self, step: str) -> Iterator[None]:
        """Count all messages for another step."""
        before, self.under = self.under, step
        try:
            yield
        finally:
            self.under = before

    def exchange(self, sides: np.ndarray) -> None:
        """Sides of cuts, (cuts, 2, n): of each cut between this rank and another, the other's side comes here."""
        comm = self.comm
        sent = [comm.Isend(sides[c, side], other, c) for c, side, other in self.shared]
        for c, side, other in self.shared:
            comm.Recv(sides[c, 1 - side], other, c)
        for message in sent:
            message.Wait()
        self.ranks.count(self.under or self.step, len(sent), len(sent) * sides.shape[2])

    def add(self, *rows: np.ndarray) -> None:
        """Rows of loads, (loads + 1), or blocks, (cuts, n): at cuts between ranks both sides' numbers are summed."""
        comm, sent = self.comm, []
        for (c, _, other), loads in zip(self.shared, self.rows, strict=True):
            mine = np.concatenate([a[loads] if a.ndim == 1 else a[c] for a in rows])
            sent.append((comm.Isend(mine, other, c), mine))
        for (c, _, other), loads, (message, mine) in zip(self.shared, self.rows, sent, strict=True):
            theirs, at = np.empty_like(mine), 0
            comm.Recv(theirs, other, c)
            message.Wait()
            for a in rows:
                place = a[loads] if a.ndim == 1 else a[c]
                place += theirs[at : at + place.size]
                at += place.size
        self.ranks.count(self.under or self.step, len(sent), sum(mine.size for _, mine in sent))

    def total(self, numbers: np.ndarray) -> np.ndarray:
        """Numbers of all ranks summed."""
        every = np.empty((self.ranks.size, *numbers.shape))
        self.comm.Allgather(numbers, every)
        self.ranks.count(self.under or self.step, self.ranks.rounds, numbers.size * self.ranks.rounds)
        return every.sum(axis=0)

    def most(self, number: float) -> float:
        """The largest number of all ranks; none where one of them is no number."""
        every = np.empty(self.ranks.size)
        self.comm.Allgather(np.array([number]), every)
        self.ranks.count(self.under or self.step, self.ranks.rounds, self.ranks.rounds)
        return float(every.max())

    def gather(self, *elements: np.ndarray) -> bool:
        """Elements of all subchains, (subchains, n) each, to all ranks: each eliminates for itself."""
        a, b, widths = self.first, self.last, [e[0].size for e in elements]
        sizes = self.counts_of * sum(widths)
        every = np.empty(int(sizes.sum()))
        own = np.concatenate([e[a:b].ravel() for e in elements])
        self.ranks.all_gather(self.under or self.step, own, every, sizes)
        at = 0
        for first, last in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            for e, width in zip(elements, widths, strict=True):
                size = int(last - first) * width
                e[first:last] = every[at : at + size].reshape(e[first:last].shape)
                at += size
        return True

    def scatter(self, loads: np.ndarray) -> None:
        """Nothing is left to send."""


def table_3(step: str, ranks: int) -> tuple[float, float] | None:
    """Messages and numbers that the paper counts for an evaluation; None where it counts nothing."""
    rounds = log2(ranks)
    return {"II": (1.0, 6.0), "VII": (1.0, 70.0), "VIII": (3 * rounds, 6 * rounds + 10)}.get(step) if rounds else None


def most(counts: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, list[int]]:
    """Of all ranks, each count of each step that is largest."""
    names = [name for name in STEPS if any(name in c for c in counts)]
    return {name: [max(c.get(name, (0, 0, 0))[n] for c in counts) for n in range(3)] for name in names}


def table(counts: Mapping[str, Sequence[int]], evaluations: int, ranks: int) -> str:
    """Lines for a person: what an evaluation needs of the rank that sends most, and the results in all."""
    rows = [HEAD]
    for step, count in counts.items():
        share = 1 if step == RESULTS else max(1, evaluations)
        calls, messages, numbers = (f"{n / share:.4g}" for n in count)
        known = table_3(step, ranks)
        paper = [f"({n:.4g})" for n in known] if known else ["", ""]
        rows.append((step, STEPS[step], calls, messages, paper[0], numbers, paper[1]))
    widths = [max(len(row[n]) for row in rows) for n in range(len(HEAD))]
    lines = [
        "  ".join(
            cell.ljust(w) if n < 2 else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return "\n".join([f"messages of {ranks} ranks for one of {evaluations} evaluations; results in all", *lines])
