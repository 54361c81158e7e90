"""Messages between the ranks of a run, counted by the step of the algorithm that they belong to.

Numbers cross as they lie in memory. A sum is not left to MPI, whose order of additions depends on the number of ranks:
parts of sums are gathered by every rank and added there, in the order of the subchains.
"""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np

RESULTS = "results"  # what is gathered for the file, apart from all steps


class Ranks:
    """The processes that share a run. ``counts`` has, by step: calls, messages and numbers that left this rank.

    A message to a neighbour is one. A collective call on p ranks is ceil(log2 p) of them, as the paper counts.
    """

    def __init__(self, comm: Any) -> None:
        self.comm, self.rank, self.size = comm, comm.Get_rank(), comm.Get_size()
        self.rounds = ceil(log2(self.size)) if self.size > 1 else 0
        self.counts: dict[str, list[int]] = {}

    def _count(self, step: str, messages: int, numbers: int) -> None:
        count = self.counts.setdefault(step, [0, 0, 0])
        count[0] += 1
        count[1] += messages
        count[2] += numbers

    def shift(self, step: str, send: np.ndarray, receive: np.ndarray, by: int) -> None:
        """``send`` goes so many ranks further, and ``receive`` is filled from as far behind; at the ends by nobody."""
        to, source = self.rank + by, self.rank - by
        there, here = 0 <= to < self.size, 0 <= source < self.size
        if there and here:
            self.comm.Sendrecv(send, to, 0, receive, source, 0)
        elif there:
            self.comm.Send(send, to)
        elif here:
            self.comm.Recv(receive, source)
        self._count(step, int(there), send.size * there)

    def all_gather(self, step: str, own: np.ndarray, every: np.ndarray, sizes: np.ndarray | None = None) -> None:
        """What each rank has, one after the other in ``every``, on all of them; ``sizes`` where they differ."""
        if self.size == 1:
            every.reshape(-1)[:] = own.reshape(-1)
        elif sizes is None:
            self.comm.Allgather(own, every)
        else:
            self.comm.Allgatherv(own, (every, sizes))
        self._count(step, self.rounds, own.size * (self.size - 1))

    def gather(self, own: np.ndarray, every: np.ndarray | None, sizes: np.ndarray, step: str = RESULTS) -> None:
        """What each rank has, one after the other, on rank 0."""
        self.comm.Gatherv(own, None if every is None else (every, sizes))
        self._count(step, self.rounds, own.size * (self.rank > 0))

    def scatter(self, every: np.ndarray | None, own: np.ndarray, sizes: np.ndarray, step: str = RESULTS) -> None:
        """The way back."""
        self.comm.Scatterv(None if every is None else (every, sizes), own)
        self._count(step, self.rounds, 0 if every is None else every.size - own.size)

    def tell(self, numbers: np.ndarray, step: str = RESULTS) -> None:
        """Numbers of rank 0, to all."""
        self.comm.Bcast(numbers)
        self._count(step, self.rounds, numbers.size * (self.rank == 0))
