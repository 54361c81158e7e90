"""Runs whose constraints are activated and released: conditions are watched as events, and at each the run begins anew
with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ...dynamics.auto.choose import choose
from ...dynamics.auto.rates import Use
from ...dynamics.stepping.samples import forget_samples
from ...dynamics.stepping.stabilization import PROJECTION
from ...errors import ModelError, SimulationError, nearest
from ...result.records import Change
from ...result.spans import system_after
from ...system.callbacks import call_tau
from ...system.system import System
from ..run.events import Condition, Event
from ..run.task import Failure, Task
from ..run.watch import MOST_AT_ONCE, Watch
from .constraint_state import Act, ConstraintState

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
        self.constraint_state = ConstraintState(task.system, self._force, algorithm, dress)
        self.occurrences: list[Any] = []
        self.counts: dict[str, int] = {}  # of parts that are over
        self.solved_by = [task.algorithm]  # algorithms of all parts, each once
        self._able(task.system)
        names = {
            f"{name} {what}"
            for name in self.constraint_state.temporaries
            for what in ("activated", "released", "slips", "turns")
        }
        if taken := names & {e.name for e in self.events}:
            raise ModelError(f"event '{min(taken)}' has the name of a change", hint="give it another name")
        self._part(task)
        t, y = task.start, task.y.copy()
        self.constraint_state.together(self.constraint_state.due(t), t, y)
        if self.changes:
            self.again(t, y)
        else:
            self.watch.sides = self.watch.sides_at(t, y)
            self._follow(t, y, self._begun({}, t))

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
    def system(self) -> System:
        """That moves now."""
        return self.constraint_state.system

    @property
    def changes(self) -> list[Change]:
        return self.constraint_state.changes

    @property
    def state(self) -> Any:
        """Of the part that is under way."""
        return self.watch.run.state

    def memo(self) -> dict[str, Any]:
        """All that decides how the run goes on from its state, as JSON can hold it."""
        b, part = self.constraint_state, self.part
        return {
            "changes": len(self.changes),
            "passed": sorted(b.passed),
            "refused": sorted(b.refused),
            "decided": b.friction.decided,
            "part": [part.start, part.first, part.y.tolist()],
            "counts": self.counts,
            "solved_by": self.solved_by,
        }

    def recall(self, memo: dict[str, Any], changes: list[Change], sides: Any, occurrences: list[Any]) -> None:
        """Begin the part in which another run was that left this memo; the state is still to be put there."""
        b, (start, first, y) = self.constraint_state, memo["part"]
        b.recall(changes[: memo["changes"]])
        b.passed, b.refused = {(name, action) for name, action in memo["passed"]}, set(memo["refused"])
        b.friction.decided = {name: float(t) for name, t in memo["decided"].items()}
        moved = system_after(self.task.system, b.changes)
        b.hold(moved.held, moved.sliding)
        self._go_on(float(start), np.array(y, float), int(first))
        self.occurrences = self.watch.occurrences = occurrences
        self.watch.sides, self.counts = sides, {key: int(memo["counts"][key]) for key in memo["counts"]}
        self.solved_by = [str(name) for name in memo["solved_by"]]

    def attrs(self) -> dict[str, Any]:
        """Without the changes, whose text is long: these are asked for at every report of progress."""
        return self.watch.attrs() | self._counted() | {"algorithm": ", ".join(self.solved_by)}

    def _counted(self) -> dict[str, int]:
        now = self.watch.attrs()
        return {key: self.counts.get(key, 0) + now[key] for key in COUNTED if key in now}

    def proceed(self, steps: int) -> Failure | None:
        return self.watch.proceed(steps)

    def change(self, name: str, action: str) -> list[Change]:
        """Activate or release a temporary constraint now; returns all that changed, or was refused, by that."""
        if name not in self.constraint_state.temporaries:
            hint = nearest(name, self.constraint_state.temporaries)
            raise ModelError(f"temporary constraint '{name}' is not known", hint=hint)
        if action not in ("activate", "release"):
            raise ModelError(f"a temporary constraint has no action '{action}'", expected="activate or release")
        before, t, y = len(self.changes), self.time, self.watch.run.at(self.time)
        self.constraint_state.standstill.forget()
        self._happen(t, y, [Act(name, action)], [])
        if action == "activate" and name not in self.constraint_state.system.held | {
            c.name: c for c in self.changes[before:]
        }:
            self.constraint_state.answer(name, t, y)
        return self.changes[before:]

    # ---------------------------------------------------------------- parts

    def _able(self, system: System) -> None:
        """Refuse at once an algorithm that does not know what may come."""
        sliding = dict.fromkeys(self.constraint_state.friction.names, (1.0, 0.0, 0.0))
        choose(system.holding(system.model.constraints, sliding), self.algorithm, self.use)

    def _part(self, task: Task) -> None:
        """Begin a part; what may end it is watched."""
        self.part = task
        found = self.constraint_state.conditions(task.start, task.y)
        self.acts: list[Act | None] = [*map(_act, self.events), *(act for act, _ in found)]
        events: list[Event | Condition] = [*self.events, *(condition for _, condition in found)]
        self.watch = Watch(self.begin(task), events, self._react)
        self.watch.occurrences = self.occurrences

    def _force(self, t: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(..., nu) Given forces, of one state or many."""
        force = np.tile(self.part.tau, (*q.shape[:-1], 1))
        if callable(self.tau):
            for s in np.ndindex(q.shape[:-1]):
                call_tau(self.tau, np.asarray(t)[s].item(), q[s].copy(), u[s].copy(), force[s])
        return force

    def _react(self, t: float, y: np.ndarray, fired: list[int]) -> bool:
        """All that events and conditions say at one moment; True if the run was changed."""
        return self._happen(t, y, [act for n in fired if (act := self.acts[n])], fired)

    def _happen(self, t: float, y: np.ndarray, acts: list[Act], fired: list[int]) -> bool:
        """Record, release, activate, call functions, then what follows from all that; a stop comes last."""
        changed = False
        for _ in range(MOST_AT_ONCE):
            self.watch.record(t, y, fired)
            stopped = self.watch.stopped
            if acts:
                self.constraint_state.together(acts, t, y)
            called = self.watch.call(t, y, fired)
            if called:
                self.constraint_state.moved(t, y, self.task.stabilization == PROJECTION)
                self.constraint_state.settle(t, y)
            if not acts and not called:
                return changed or stopped is not None
            fired, changed = self._again(t, y, fired), True
            self.watch.stopped = stopped
            if not fired:
                return True
            acts = [act for n in fired if (act := self.acts[n])]
        names = ", ".join(f"'{self.watch.events[n].name}'" for n in fired)
        raise SimulationError(f"{names} of '{self.task.system.name}' cause each other without end at t = {t:.6g} s")

    def again(self, t: float, y: np.ndarray) -> None:
        """Go on from y at t, with the constraints that hold now, and what that activates or releases at this moment."""
        self._follow(t, y, self._again(t, y))

    def _follow(self, t: float, y: np.ndarray, fired: list[int]) -> None:
        if fired:
            self._react(t, y, fired)

    def _again(self, t: float, y: np.ndarray, fired: Sequence[int] = ()) -> list[int]:
        """Go on from y at t, with the constraints that hold now; events that have come about by that, at this moment.

        Outputs of events that have just ``fired`` have no side until they leave their values; others keep theirs.
        """
        keys = self._keys()
        before = dict(zip(keys, [] if self.watch.sides is None else self.watch.sides.tolist(), strict=False))
        just = {keys[n] for n in fired}
        self._go_on(t, y.copy(), int(np.searchsorted(self.part.t, t, side="right")))
        watch, keys = self.watch, self._keys()
        known = np.array([np.nan if key in just else before.get(key, np.nan) for key in keys])
        watch.sides = watch.sides_at(t, y, np.nan_to_num(known), [key in just for key in keys])
        jumped = watch.jumped(np.nan_to_num(known), watch.sides)
        found = [n for n in jumped if not isinstance(event := watch.events[n], Condition) or event.jumps]
        return sorted({*found, *self._begun(before, t)})

    def _begun(self, before: Mapping[Any, float], t: float) -> list[int]:
        """Conditions that are new and hold where they begin."""
        found, watch = [], self.watch
        assert watch.sides is not None
        for n, (key, event) in enumerate(zip(self._keys(), watch.events, strict=True)):
            if isinstance(event, Condition) and key not in before and event.fresh:
                over = event.time <= t if event.time is not None else watch.sides[n] == watch.wanted[n]
                found += [n] if over else []
        return found

    def _keys(self) -> list[Any]:
        """By which events are known in the next part: those of the user by their number."""
        return [n if isinstance(event, Event) else event.name for n, event in enumerate(self.watch.events)]

    def _go_on(self, t: float, y: np.ndarray, first: int) -> None:
        system = self.constraint_state.system
        algorithm = choose(system, self.algorithm, self.use)
        before = self.solved_by if t > self.task.start else []
        self.counts, self.solved_by = self._counted(), list(dict.fromkeys([*before, algorithm]))
        self.watch.over = True
        forget_samples(self.part.samples, t, self.watch.trails)
        self._part(self.part._replace(system=system, algorithm=algorithm, start=t, y=y, first=first))


def _act(event: Event) -> Act | None:
    """What an event of the user does to a temporary constraint."""
    action, _, name = event.then.partition(" ") if isinstance(event.then, str) else ("", "", "")
    return Act(name, action) if action in ("activate", "release") else None
