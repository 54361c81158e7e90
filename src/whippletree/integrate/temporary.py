"""Runs whose constraints come and go: conditions are watched as events, and at each the run begins anew with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..dynamics.choose import choose
from ..dynamics.predict import Use
from ..errors import ModelError, nearest
from ..result.records import Change
from ..result.spans import system_after
from ..system.system import System
from .bonds import Bonds
from .events import Event, Watch
from .making import CLOSED
from .task import Failure, Task

COUNTED = ("accepted", "rejected", "evaluations", "residuals", "factorizations")  # over all parts


class Switching:
    """A run in parts, each with the constraints that hold in it."""

    interpolates = False

    def __init__(
        self,
        task: Task,
        begin: Callable[[Task], Any],
        tau: Any,
        events: Iterable[Event],
        algorithm: str,
        use: Use,
        dress: Callable[[System], System] = lambda system: system,
    ) -> None:
        self.task, self.begin, self.tau, self.events = task, begin, tau, tuple(events)
        self.algorithm, self.use = algorithm, use
        self.bonds = Bonds(task.system, self._force, algorithm, dress)
        self.occurrences: list[Any] = []
        self.counts: dict[str, int] = {}  # of parts that are over
        self._able(task.system)
        names = {f"{name} {what}" for name in self.bonds.temporaries for what in ("made", "broken", "slips", "turns")}
        if taken := names & {e.name for e in self.events}:
            raise ModelError(f"event '{min(taken)}' has the name of a change", hint="give it another name")
        self._part(task)
        t, y = task.start, task.y.copy()
        for name, x in self.bonds.temporaries.items():
            at, action = (x.break_at, "break") if name in self.bonds.system.held else (x.make_at, "make")
            if at is not None and at <= t:
                self.bonds.apply(name, action, t, y)
        self._settle(t, y)

    # ---------------------------------------------------------------- as simulate sees a run

    @property
    def row(self) -> int:
        return self.watch.row

    @property
    def time(self) -> float:
        return self.watch.time

    @property
    def stopped(self) -> Any:
        return self.watch.stopped

    @property
    def changes(self) -> list[Change]:
        return self.bonds.changes

    @property
    def state(self) -> Any:
        """Of the part that is under way."""
        return self.watch.run.state

    def memo(self) -> dict[str, Any]:
        """All that decides how the run goes on from its state, as JSON can hold it."""
        b, part = self.bonds, self.part
        return {
            "changes": len(self.changes),
            "passed": sorted(b.passed),
            "refused": sorted(b.refused),
            "decided": b.friction.decided,
            "part": [part.start, part.first, part.y.tolist()],
            "also": list(self.watch.also),
            "counts": self.counts,
        }

    def recall(self, memo: dict[str, Any], changes: list[Change], before: Any, occurrences: list[Any]) -> None:
        """Begin the part in which another run was that left this memo; the state is still to be put there."""
        b, (start, first, y) = self.bonds, memo["part"]
        b.changes[:] = changes[: memo["changes"]]
        b.passed, b.refused = {(name, action) for name, action in memo["passed"]}, set(memo["refused"])
        b.friction.decided = {name: float(t) for name, t in memo["decided"].items()}
        moved = system_after(self.task.system, b.changes)
        b.hold(moved.held, moved.sliding)
        self._go_on(float(start), np.array(y, float), int(first))
        self.watch.also, self.occurrences = tuple(memo["also"]), occurrences
        self.watch.before, self.counts = before, {key: int(memo["counts"][key]) for key in memo["counts"]}

    def attrs(self) -> dict[str, Any]:
        return self.watch.attrs() | self._counted() | {"changes": Change.text(self.changes)}

    def _counted(self) -> dict[str, int]:
        now = self.watch.attrs()
        return {key: self.counts.get(key, 0) + now[key] for key in COUNTED if key in now}

    def proceed(self, steps: int) -> Failure | None:
        failure = self.watch.proceed(steps)
        own = [o for o in self.watch.occurrences if o.name in self.own]
        self.occurrences += [o for o in self.watch.occurrences if o.name not in self.own]
        self.watch.occurrences.clear()
        stopped = self.watch.stopped
        if failure is None and stopped and (own or stopped[0] in self.own):
            label, t, y = stopped
            self._change(*self.own[label], t, y.copy())
        return failure

    def change(self, name: str, action: str) -> list[Change]:
        """Make or break a temporary constraint now, and go on; returns all that changed, or was refused, by that."""
        if name not in self.bonds.temporaries:
            hint = nearest(name, self.bonds.temporaries)
            raise ModelError(f"temporary constraint '{name}' is not known", hint=hint)
        if action not in ("make", "break"):
            raise ModelError(f"a temporary constraint knows no '{action}'", expected="make or break")
        before, t, y = len(self.changes), self.time, self.watch.run.at(self.time)
        self._change(name, action, t, y)
        if action == "make" and name not in self.bonds.system.held | {c.name: c for c in self.changes[before:]}:
            self.bonds.answer(name, t, y)
        return self.changes[before:]

    # ---------------------------------------------------------------- parts

    def _able(self, system: System) -> None:
        """Refuse at once an algorithm that does not know what may come."""
        sliding = dict.fromkeys(self.bonds.friction.names, (1.0, 0.0, 0.0))
        choose(system.holding(system.model.constraints, sliding), self.algorithm, self.use)

    def _part(self, task: Task) -> None:
        """Begin a part; what may end it is watched."""
        self.part = task
        self.own: dict[str, tuple[str, str]] = {}
        events = [*self._events_now()]
        for name, action, condition in self.bonds.conditions(task.start):
            self.own[condition.name] = (name, action)
            events.append(condition)
        self.watch = Watch(self.begin(task), events)

    def _events_now(self) -> Iterable[Event]:
        """Those of the user; one whose ``then`` makes or breaks stops the part."""
        for e in self.events:
            action, _, name = e.then.partition(" ") if isinstance(e.then, str) else ("", "", "")
            if action in ("make", "break"):
                self.own[e.name] = (name, action)
                e = replace(e, then="stop")
            yield e

    def _force(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        force = self.part.tau.copy()
        if callable(self.tau):
            self.tau(t, q.copy(), u.copy(), force)
        return force

    def _change(self, name: str, action: str, t: float, y: np.ndarray) -> None:
        """Make or break one, then whatever follows from it at the same moment, and go on."""
        self.bonds.apply(name, action, t, y)
        self._settle(t, y)

    def _settle(self, t: float, y: np.ndarray) -> None:
        """Then a new part, unless nothing has happened yet."""
        self.bonds.settle(t, y)
        if t != self.task.start or self.changes:
            self.again(t, y)

    def again(self, t: float, y: np.ndarray) -> None:
        """Go on from y at t, with the constraints that hold now."""
        self._go_on(t, y, int(np.searchsorted(self.part.t, t, side="right")))
        self.watch.also = self.bonds.returns(t, y)
        values = self.watch.probe(np.array([t]), y[None])[0]
        self.watch.before = np.where(np.abs(values) > CLOSED, values, np.nan)  # what has just happened has no side yet

    def _go_on(self, t: float, y: np.ndarray, first: int) -> None:
        system = self.bonds.system
        algorithm = choose(system, self.algorithm, self.use)
        self.counts = self._counted()
        self._part(self.part._replace(system=system, algorithm=algorithm, start=t, y=y, first=first))
