"""A run that is spread over ranks. Rank 0 leads it and sees it as any other, with the rows and the state of all.

It says how far to go and gathers what the others have found; they serve until it is done. The gathered state is that of
a run on one process, so any number of ranks can go on from it.
"""

from __future__ import annotations

import atexit
import json
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..compiler.disk_cache import kernels_cached, remember_cached
from ..integrate.run.subchain_motion import COUNTS
from ..integrate.run.subchains import HEAD
from ..integrate.run.task import Failure, Task
from .messages import Ranks, most
from .share import Share

END, PROCEED, RECALL = range(3)
SIGNALS = (signal.SIGINT, signal.SIGTERM)
COURTESY = 0.5  # s, that rank 0 has to say it first where all ranks have failed alike
POLITE = 0.01  # s between two looks of ranks that wait for kernels


@contextmanager
def all_or_none(ranks: Ranks) -> Iterator[None]:
    """What goes wrong on one rank in here ends all: others may wait for it where they cannot be reached."""
    try:
        yield
    except Exception as e:
        if ranks.rank > 0:
            time.sleep(COURTESY)
            print(f"error on rank {ranks.rank}: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
            ranks.comm.Abort(1)
        if ranks.size > 1:
            atexit.register(ranks.comm.Abort, 1)  # once this rank has said it
        raise


class Places(NamedTuple):
    """What a rank has of the whole: columns of q and u, and numbers of a state with their places in the whole's."""

    q: np.ndarray
    u: np.ndarray
    state: np.ndarray
    there: np.ndarray
    work: np.ndarray  # numbers of the state whose sum over all ranks is
    work_there: np.ndarray  # this one of the whole


def places_of(task: Task, share: Share, whole: Any, stages: int, first: int, last: int) -> Places:
    system, a = task.system, task.system.arrays
    columns = [
        np.concatenate([np.arange(a[name][b], a[name][b + 1]) for b in share.bodies[1:]])
        for name in ("position", "dof")
    ]
    loads = [
        np.arange(share.first[c], share.first[c + 1]) for c, j in enumerate(share.joints) if first <= j.outer < last
    ]
    kept, starts = [np.arange(HEAD + COUNTS)] if first == 0 else [], HEAD + COUNTS + np.array([0, system.nq])
    kept += [columns[0] + starts[0], columns[1] + starts[1], *(rows + starts[1] + system.nu for rows in loads)]
    begin = HEAD + COUNTS + system.nq + system.nu + share.rows + 1
    ny, every = share.forest.nq + share.forest.nu, whole.nq + whole.nu
    y_there = np.r_[share.q_there, whole.nq + np.r_[share.u_there]]
    blocks = np.arange(2 + stages)
    state, there = (
        np.concatenate([*kept, (begin + blocks[:, None] * (n + 1) + rows).ravel()])
        for n, rows in ((ny, np.arange(ny)), (every, y_there))
    )
    work, work_there = (begin + blocks * (n + 1) + n for n in (ny, every))
    return Places(columns[0], columns[1], state, there, work, work_there)


class OwnRows:
    """Rows of a result of which a rank keeps its own columns."""

    def __init__(self, rows: int, columns: np.ndarray) -> None:
        self.columns, self.rows = columns, np.empty((rows, columns.size))

    def __setitem__(self, row: int, values: np.ndarray) -> None:
        self.rows[row] = values[self.columns]


class Part:
    """What a rank computes of a run, and what it tells rank 0."""

    def __init__(self, ranks: Ranks, run: Any, places: list[Places], whole: int) -> None:
        self.ranks, self.run, self.places, self.whole = ranks, run, places, whole
        self.gathered = run.row
        self.asked = 0  # a signal that came meanwhile
        self.counts: dict[str, list[int]] = {}

    @contextmanager
    def deferred(self) -> Iterator[dict[int, Any]]:
        """A signal is noted, so that no step is left half done; what was to happen then is given."""

        def note(number: int, _: Any) -> None:
            self.asked = number

        before: dict[int, Any] = {number: signal.signal(number, note) for number in SIGNALS}
        try:
            yield before
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def collect(self, failure: Failure | None) -> tuple[np.ndarray, Failure | None]:
        """Signals that came on any rank, and the failure that tells most; rows and states go to rank 0."""
        ranks, run = self.ranks, self.run
        asked = np.zeros(ranks.size, np.int64)
        ranks.all_gather("results", np.array([self.asked]), asked, np.ones(ranks.size, int))
        reported = ranks.comm.gather((failure, ranks.counts))
        self._gather_rows(run.row)
        if reported is not None:
            self.counts = most([counts for _, counts in reported])
            failures = [f for f, _ in reported if f is not None]
            failure = max(failures, key=lambda f: f.component, default=None)
        return asked, failure

    def _gather_rows(self, until: int) -> None:
        """Columns of all rows since the last time."""
        task, mine = self.run.task, self.places[self.ranks.rank]
        some = slice(self.gathered, until)
        count, self.gathered = until - self.gathered, until
        if count == 0:
            return
        lead = self.ranks.rank == 0
        Q, U = (
            rows[some, columns] if lead else rows.rows[some] for rows, columns in ((task.Q, mine.q), (task.U, mine.u))
        )
        own = np.concatenate([Q.ravel(), U.ravel(), task.W[some]])
        sizes = np.array([count * (p.q.size + p.u.size + 1) for p in self.places])
        parts = self.ranks.gather(own, sizes)
        if not lead:
            return
        task.W[some] = 0.0
        for part, p in zip(parts, self.places, strict=True):
            q, u, work = np.split(part, [count * p.q.size, count * (p.q.size + p.u.size)])
            task.Q[some, p.q], task.U[some, p.u] = q.reshape(count, -1), u.reshape(count, -1)
            task.W[some] += work

    def gather_state(self, whole: np.ndarray | None) -> None:
        """The state of a run on one process, from those of all ranks."""
        mine, state = self.places[self.ranks.rank], self.run.state
        sizes = np.array([p.state.size + p.work.size for p in self.places])
        parts = self.ranks.gather(np.concatenate([state[mine.state], state[mine.work]]), sizes)
        if whole is None:
            return
        whole[mine.work_there] = 0.0
        for part, p in zip(parts, self.places, strict=True):
            whole[p.there] = part[: p.state.size]
            whole[p.work_there] += part[p.state.size :]

    def take_state(self, whole: np.ndarray) -> None:
        """The way back: all ranks hear the whole and take their parts; work so far stays with rank 0."""
        self.ranks.tell(whole)
        mine, state = self.places[self.ranks.rank], self.run.state
        begin = mine.work[0] - (self.run.motion.ny - 1)
        state[:begin] = whole[:begin]
        state[mine.state] = whole[mine.there]
        state[mine.work] = whole[mine.work_there] if self.ranks.rank == 0 else 0.0
        self.gathered = self.run.row

    def serve(self) -> None:
        """Do what rank 0 says until it is done."""
        command = np.zeros(2, np.int64)
        with self.deferred():
            while True:
                self.ranks.tell(command)
                if command[0] == END:
                    return
                if command[0] == RECALL:
                    self.take_state(np.empty(self.whole))
                    continue
                with all_or_none(self.ranks):
                    self.collect(self.run.proceed(int(command[1])))
                    self.gather_state(None)


class Spread:
    """The run of all ranks, for rank 0: a run as integrate/run/task.py says, without ``at`` and ``restart``."""

    interpolates = False

    def __init__(self, part: Part, handlers: dict[int, Any]) -> None:
        self.part, self.handlers = part, handlers
        self.plans = self  # which a file recalls when it has filled the state
        self.state = np.zeros(part.whole)
        self.asked, self.torn = 0, False  # torn: ranks may wait for each other in the middle of a step

    def _command(self, *words: int) -> None:
        self.part.ranks.tell(np.array(words, np.int64))

    def recall(self, attrs: dict[str, Any], until: float) -> None:
        """Go on from the state that was put here."""
        self._command(RECALL, 0)
        self.part.take_state(self.state)

    @property
    def row(self) -> int:
        return self.part.run.row

    @property
    def time(self) -> float:
        return float(self.part.run.time)

    def proceed(self, steps: int) -> Failure | None:
        """So many steps on all ranks; 0 brings them up to the first."""
        if self.asked:
            number, self.asked = self.asked, 0
            handler = self.handlers[number]
            if callable(handler):
                handler(number, None)
            raise KeyboardInterrupt
        self._command(PROCEED, steps)
        self.torn = True
        with all_or_none(self.part.ranks):
            asked, failure = self.part.collect(self.part.run.proceed(steps))
            self.part.gather_state(self.state)
        self.torn = False
        self.asked = int(asked.max())
        return failure

    def close(self) -> None:
        """Dismiss the other ranks; not those that wait in a step that will not go on."""
        if not self.torn:
            self._command(END, 0)

    def attrs(self) -> dict[str, Any]:
        counts = {"ranks": self.part.ranks.size, "messages": json.dumps(self.part.counts)}
        return self.part.run.attrs() | counts


def compile_first(ranks: Ranks, what: str, work: Callable[[], None]) -> None:
    """Have rank 0 compile kernels that are not on disk yet, while the others wait without taking its core."""
    if ranks.size > 1 and not ranks.comm.bcast(kernels_cached(what)):
        if ranks.rank == 0:
            work()
            remember_cached(what)
        message = ranks.comm.Ibarrier()
        while not message.Test():
            time.sleep(POLITE)
