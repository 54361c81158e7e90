"""What each rank does for lab/bench/mpi.py, which starts them; rank 0 prints what was measured, as JSON.

``mpiexec -n 2 python -m whippletree_lab.bench.mpi_rank SIZE ROUNDS``
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from math import inf
from time import perf_counter, sleep
from typing import Any

import numpy as np

from whippletree.dynamics.subchains.algorithm import Pieces
from whippletree.dynamics.subchains.cut import cut_of
from whippletree.dynamics.subchains.options import Cutting
from whippletree.mpi.messages import Ranks, Together, most, table_3
from whippletree.mpi.share import Share, pieces_for
from whippletree.mpi.start import alone, connect

from . import families
from .measure import difference
from .result import OURS

TURN = 5e-3  # s of calls in a row
SMALL, SIDE = 6, 70  # numbers of an allreduce, and of a message as step VII sends them
POLITE = 1e-3  # s between two looks of ranks that wait while another is timed


class Evaluation:
    """Right-hand sides of a chain by some ranks."""

    def __init__(self, system: Any, state: list[np.ndarray], ranks: Ranks) -> None:
        choice = Cutting(pieces=pieces_for(system, ranks.size))
        cut = cut_of(system, choice)
        comm = Together(cut, ranks)
        q, u, self.tau = state
        self.share = Share(cut, comm.first, comm.last)
        whole_q, whole_u = Pieces(cut, choice).from_tree(q, u)
        self.q, self.u = whole_q[self.share.q_there].copy(), whole_u[self.share.u_there].copy()
        self.pieces, self.ranks = Pieces(self.share, choice, comm), ranks
        self.pieces.tree_q[:], self.pieces.tree_u[:] = q, u
        self.udot = np.zeros(self.share.forest.nu)

    def __call__(self) -> None:
        self.pieces.recursion(self.q, self.u, self.tau)
        self.pieces.solve()
        self.pieces.answer(self.udot)

    def tree(self) -> np.ndarray:
        """Accelerations of all joints that were not cut, of all ranks; zero where one was."""
        found = np.zeros(self.share.system.nu)
        found[self.share.u_rows] = self.udot[self.share.u_here]
        return np.sum(self.ranks.comm.allgather(found), axis=0)


def best_turns(comm: Any, calls: dict[str, Callable[[], None]], single: set[str], rounds: int) -> dict[str, float]:
    """Seconds of the best call of each way, until the last rank is done; they take turns, some of rank 0 alone."""
    best = dict.fromkeys(calls, inf)
    for _ in range(rounds):
        for name, call in calls.items():
            if name not in single:
                best[name] = min(best[name], _turn(comm, call))
            elif comm.Get_rank() == 0:
                best[name] = min(best[name], _turn(None, call))
            _wait(comm)
    return best


def _turn(comm: Any, call: Callable[[], None]) -> float:
    """The best of some calls in a row; all ranks make as many."""
    begun, best, going = perf_counter(), inf, np.array([1])
    while going[0]:
        if comm is not None:
            comm.Barrier()
        start = perf_counter()
        call()
        took = np.array([perf_counter() - start])
        going[0] = perf_counter() - begun < TURN
        if comm is not None:
            took = max(comm.allgather(took))
            comm.Bcast(going)
        best = min(best, float(took[0]))
    return best


def _wait(comm: Any) -> None:
    """For all ranks, without taking the core of one that is timed."""
    message = comm.Ibarrier()
    while not message.Test():
        sleep(POLITE)


def latencies(comm: Any) -> dict[str, Callable[[], None]]:
    """A sum of few numbers, and a message to the next rank and back."""
    small, out, side, back = np.ones(SMALL), np.ones(SMALL), np.ones(SIDE), np.ones(SIDE)
    other = comm.Get_rank() ^ 1

    def swap() -> None:
        if other < comm.Get_size():
            comm.Sendrecv(side, other, 0, back, other, 0)

    return {f"allreduce of {SMALL}": lambda: comm.Allreduce(small, out), f"exchange of {SIDE}": swap}


def main(size: int, rounds: int) -> None:
    ranks = connect()
    comm = ranks.comm
    model = families.chain(size)
    system = model.compile()
    state = [x[0] for x in families.states(model, system, 1)[:3]]
    together, one = Evaluation(system, state, ranks), Evaluation(system, state, alone())
    together()
    one()
    ranks.counts.clear()
    together()
    counts = most(comm.allgather(ranks.counts))
    answer, expected = together.tree(), one.tree()
    both = (answer != 0.0) & (expected != 0.0)  # not where either has cut
    name = f"{ranks.size} rank" + "s" * (ranks.size > 1)
    calls: dict[str, Callable[[], None]] = {OURS: one, name: together}
    seconds = best_turns(comm, calls | latencies(comm), {OURS}, rounds)
    if ranks.rank == 0:
        reported = {
            "dofs": system.nu,
            "seconds": {way: seconds.pop(way) for way in calls},
            "latencies": seconds,
            "differences": {name: difference(answer[both], expected[both])},
            "messages": _messages(counts, ranks.size),
        }
        print(json.dumps(reported), flush=True)


def _messages(counts: dict[str, list[int]], ranks: int) -> dict[str, float]:
    """Of one evaluation, by step, and what the paper counts."""
    found: dict[str, float] = {}
    for step, (_, messages, numbers) in counts.items():
        found |= {f"{step}: messages": messages, f"{step}: numbers": numbers}
        if paper := table_3(step, ranks):
            found |= {f"{step}: messages, table 3": paper[0], f"{step}: numbers, table 3": paper[1]}
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
