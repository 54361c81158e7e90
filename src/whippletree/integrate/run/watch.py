"""A run that is watched: conditions are isolated in every step, and what happens at one moment happens together.

Method   within a step that a method interpolates, outputs of events are taken at Chebyshev points and isolated by
         crossings.py; Brent's method [brent1973] finds the time. Steps of a fixed length are looked at where they end,
         and isolated the same way where an output could have reached its value in between, by its rate or by what it
         changes from step to step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from ...dynamics.constraints.consistency import require_consistent
from ...dynamics.kinematics import energy
from ...dynamics.stepping.samples import forget_samples
from ...dynamics.stepping.stabilization import PROJECTION
from ...errors import SimulationError
from ...result.records import Occurrence
from .crossings import COARSE, Piece, Shape, nodes, pieces, shape_of, shapes_of, spans
from .events import DIRECTIONS, Condition, Event, Probe, call_then, rotational
from .task import Failure, Task

BATCH = 16  # steps between two evaluations of the outputs
TRAIL = 1024  # at most, of a method that keeps where each of its steps ended: twice as many each time nothing happens
SAME = 1e-12  # s, and of the time: crossings no farther apart happen at one moment
HERE = 0.1  # of the rounding of an output: one that is nearer to its value has reached it
FARTHER = 2.0  # an output may move so many times as far in a step as its rates at both ends, or the steps beside, say
TURNED = 2.0  # rad: pieces in which joints turn no farther are represented by polynomials
FIRST, THEN, VELOCITIES = (
    16,
    48,
    33,
)  # parts of a step looked at together; times whose velocities tell how far joints turn
MOST_AT_ONCE = 200  # changes at one moment
SET = "the state that an event has set"
Reaction = Callable[[float, np.ndarray, list[int]], bool]


class Step(NamedTuple):
    """A step, and the states in it that are looked at first."""

    state: np.ndarray | None  # of the run, after it
    t: np.ndarray
    y: np.ndarray  # (looks, q u work)


class Watch:
    """It proceeds as the run does, and stops or changes it where an event says so.

    ``sides`` (events): on which side of its value each output has been last, farther than rounding; 0 where it has not
    left the value since it was reached. ``react(t, y, fired)`` does what events say, and tells whether the run was
    changed; without it, the watch does so itself.
    """

    def __init__(self, run: Any, events: Iterable[Event | Condition], react: Reaction | None = None) -> None:
        self.run, self.events = run, tuple(events)
        self.task: Task = run.task
        self.react = react or self._react
        self.occurrences: list[Occurrence] = []
        self.stopped: tuple[str, float, np.ndarray] | None = None
        self.sides: np.ndarray | None = None
        self.seen: int = run.row  # rows before which all events are known
        self.over = False  # whether another watch has taken its place
        self.probe = Probe(self.task.system, self.events)
        self.wanted = np.array([DIRECTIONS[e.direction] for e in self.events])
        self.level = np.array([isinstance(e, Condition) and e.level for e in self.events], bool)
        self.noise = np.zeros(0)  # (columns) to begin with
        of_poses = any(getattr(e, "of_poses", True) for e in self.events)
        self.rotational = rotational(self.task.system) if of_poses else np.zeros(0, int)
        self.moved = np.zeros(self.probe.columns)  # by the step before, of fixed length
        self.trails, self.batch = hasattr(run, "trail"), BATCH
        if self.trails:
            run.trail = np.zeros((TRAIL, run.trail.shape[1]))

    @property
    def row(self) -> int:
        """Rows that stand; all of them, once an event has stopped the run."""
        return self.task.t.size if self.stopped else self.seen

    @property
    def time(self) -> float:
        return self.stopped[1] if self.stopped else self.run.time

    @property
    def state(self) -> Any:
        return self.run.state

    def attrs(self) -> dict[str, Any]:
        return self.run.attrs() | ({"stopped": self.stopped[0]} if self.stopped else {})

    def recall(self, sides: np.ndarray | None, occurrences: list[Occurrence]) -> None:
        """Go on where a run has been whose state the run now has."""
        self.sides, self.occurrences, self.seen = sides, occurrences, self.run.row

    def proceed(self, steps: int) -> Failure | None:
        """At most so many steps further, unless an event stops the run."""
        if not self.noise.size:
            self.noise = self._noise(self.task.start, self.task.y)
        if self.sides is None:
            self.sides = self.sides_at(self.run.time, self.run.at(self.run.time))
        while steps > 0 and self.row < self.task.t.size and not self.over:
            some = min(steps, self.batch if self.trails else BATCH if self.run.state is not None else 1)
            failure = self._trailing(some) if self.trails else self._some(some)
            self.seen = self.run.row
            if failure:
                return failure
            steps -= some
        return None

    # ---------------------------------------------------------------- looking

    def _some(self, steps: int) -> Failure | None:
        """A few steps, then one look at all of them together."""
        found: list[Step] = []
        failure, run = None, self.run
        while steps > 0 and failure is None and run.row < self.task.t.size:
            from_, steps = run.time, steps - 1
            failure = run.proceed(1)
            if run.time > from_:
                state = None if run.state is None else run.state.copy()
                t = nodes(run.since, run.time, COARSE) if run.interpolates else np.array([run.since, run.time])
                first = found[-1].y[-1] if found else run.at(t[0])
                found.append(Step(state, t, np.concatenate([first[None], self._at(t[1:])])))
        if not found:
            return failure
        y = np.concatenate([step.y for step in found])
        values = self.probe(np.concatenate([step.t for step in found]), y)
        here = None if run.state is None else run.state.copy()
        for step, own in zip(found, np.split(values, np.cumsum([len(s.t) for s in found])[:-1]), strict=True):
            if self._quiet_step(step, own):
                continue
            if step.state is not None:
                run.state[:] = step.state
            if self._search(step.t[0], step.t[-1]):
                return None
        if here is not None:
            run.state[:] = here
        return failure

    def _at(self, t: np.ndarray) -> np.ndarray:
        """(T, nq + nu + 1) States at times within the last step."""
        many = getattr(self.run, "all_at", None)
        return many(t) if many else np.array([self.run.at(x) for x in t.tolist()])

    def _trailing(self, steps: int) -> Failure | None:
        """Many steps, then one look at where each ended; where something may happen they are taken again, up to it."""
        run, start, from_ = self.run, self.run.state.copy(), self.run.taken
        t0, y0 = run.time, run.at(run.time)
        failure = run.proceed(steps)
        trail = run.trail[np.arange(from_, run.taken) % TRAIL]
        if not len(trail):
            return failure
        t, y = np.concatenate([[t0], trail[:, 0]]), np.concatenate([y0[None], trail[:, 1:]])
        values = self.probe(t, y)
        quiet = self._quiet_ends(t, y, values)
        if quiet.all():
            self.batch = min(2 * self.batch, TRAIL)
            self.moved = np.abs(values[-1] - values[-2])
            return failure
        n, self.batch = int(np.argmin(quiet)), 1
        self.moved = np.abs(values[n + 1] - values[n])
        if n + 1 < len(trail) or failure:
            run.state[:] = start
            run.proceed(n + 1)
        self._search(run.since, run.time)
        return None

    def _quiet_step(self, step: Step, values: np.ndarray) -> bool:
        """Whether no output can have reached its value in a step."""
        if len(step.t) == 2:
            quiet = bool(self._quiet_ends(step.t, step.y, values)[0])
            self.moved = np.abs(values[1] - values[0])
            return quiet
        if self._turned(step.y, step.t[-1] - step.t[0]).max(initial=0.0) > TURNED:
            return False
        return bool(self._quiet(shape_of(step.t, values, self.noise, self.probe.rate), values).all())

    def _quiet(self, shape: Shape, values: np.ndarray) -> np.ndarray:
        """(events) Which outputs stay on the side where they are, or at their value."""
        above, below = self._above(shape), self._below(shape)
        held = (np.abs(self.probe.whole(values)) <= self.probe.whole(self.noise)).all(axis=0) & (self.sides == 0.0)
        return np.asarray((above & (self.sides == 1.0)) | (below & (self.sides == -1.0)) | held)

    def _quiet_ends(self, t: np.ndarray, y: np.ndarray, values: np.ndarray) -> np.ndarray:
        """(steps) The same by values where steps end: an output moves less than its distance from its value."""
        h, sides = np.diff(t)[:, None], self.sides
        a, b = values[:-1], values[1:]
        moved = np.abs(b - a)
        beside = np.maximum(np.concatenate([self.moved[None], moved[:-1]]), np.concatenate([moved[1:], moved[-1:]]))
        rates = np.abs(self.probe.rates(t, y))
        by_rates = h * np.maximum(rates[:-1], rates[1:])
        reach = FARTHER * np.maximum(moved, np.where(np.isnan(by_rates), beside, by_rates))
        declared = self.probe.rate
        reach = np.where(np.isnan(declared), reach, 0.5 * h * declared)
        mean, least = 0.5 * (a + b), np.minimum(a, b)
        above = np.where(np.isnan(declared), least, mean) > reach
        below = np.where(np.isnan(declared), np.maximum(a, b), mean) < -reach
        whole = np.abs(self.probe.whole(values)) <= self.probe.whole(self.noise)
        held = whole[:-1] & whole[1:] & (sides == 0.0)
        above, below = self._above(Shape(above, below, above)), self._below(Shape(above, below, above))
        quiet = (above & (sides == 1.0)) | (below & (sides == -1.0)) | held
        slow = np.maximum(self._turned(y[:-1], h[:, 0]), self._turned(y[1:], h[:, 0])) <= TURNED
        return np.asarray(quiet.all(axis=-1) & slow)

    def _above(self, shape: Shape) -> np.ndarray:
        """(..., events) Positive throughout: an event with several columns, where one of them is."""
        return np.asarray(np.logical_or.reduceat(shape.above, self.probe.first, axis=-1))

    def _below(self, shape: Shape) -> np.ndarray:
        return np.asarray(np.logical_and.reduceat(shape.below, self.probe.first, axis=-1))

    def _turned(self, y: np.ndarray, h: Any) -> np.ndarray:
        """How far joints turn in a time h, at most (rad)."""
        return np.asarray(np.abs(y[:, self.rotational]).max(axis=1, initial=0.0) * h)

    # ---------------------------------------------------------------- isolating

    def _search(self, a: float, b: float) -> bool:
        """All crossings within the step just taken, in order; True if the run is not where it was."""
        known: dict[float, np.ndarray] = {}

        def sample(t: np.ndarray) -> np.ndarray:
            new = np.array([x for x in dict.fromkeys(t.tolist()) if x not in known])
            if new.size:
                known.update(zip(new.tolist(), self.probe(new, self._at(new)), strict=True))
            return np.array([known[x] for x in t.tolist()])

        def settled(shape: Shape) -> bool:
            single = shape.above | shape.below | shape.simple
            simple = np.logical_and.reduceat(single, self.probe.first)
            return bool((simple | self._above(shape)).all())

        def noise(t: float) -> np.ndarray:
            return self._noise(t, self.run.at(t))

        def judged(looks: list[np.ndarray]) -> np.ndarray:
            values = sample(np.concatenate(looks)).reshape(len(looks), -1, self.probe.columns)
            shapes = shapes_of(np.array(looks), values, self.noise, self.probe.rate)
            return np.asarray(self._quiet(shapes, values.swapaxes(0, 1)).all(axis=-1))

        grid = np.linspace(a, b, VELOCITIES)
        ends = spans(grid, self._turned(self._at(grid), 1.0), TURNED) if self.rotational.size else grid[[0, -1]]
        parts, some, whole = itertools.pairwise(ends.tolist()), FIRST, len(ends) == 2
        while looks := [nodes(*part, COARSE) for part in itertools.islice(parts, some)]:
            some = THEN
            quiet = np.zeros(1, bool) if whole else judged(looks)
            for n, t in enumerate(looks):
                if quiet[n]:
                    continue
                for piece in pieces(sample, t[0], t[-1], noise, self.probe.rate, settled):
                    if self._pass(piece):
                        return True
                quiet = quiet if whole else judged(looks)  # by the sides that are now
        return False

    def _pass(self, piece: Piece) -> bool:
        """Through a piece, and what happens in it; True if that changed the run."""
        found = {n: t for n in range(len(self.events)) if (t := self._crossing(n, piece)) is not None}
        while found:
            fired, t, y = self._together(found, min(found.values()))
            found = {n: at for n, at in found.items() if n not in fired}
            self.sides[fired] = 0.0  # type: ignore[index]
            if self.react(t, y, fired):
                return True
        value = self.probe.whole(piece.at_b)
        beyond = np.abs(value) > self.probe.whole(piece.noise)
        self.sides[beyond] = np.sign(value[beyond])  # type: ignore[index]
        return False

    def _crossing(self, n: int, piece: Piece) -> float | None:
        """When an event happens within a piece."""
        own, side = self.probe.slices[n], self.sides[n]  # type: ignore[index]
        beyond = float(piece.noise[own].max())
        a, b = float(piece.at_a[own].max()), float(piece.at_b[own].max())
        if own.stop - own.start > 1:
            return self._entry(own, piece) if side == 1.0 else None
        falls = side == 1.0 and b <= 0.0 and self.wanted[n] <= 0
        rises = side == -1.0 and b >= 0.0 and self.wanted[n] >= 0
        if falls or rises:
            time = getattr(self.events[n], "time", None)
            return time if time is not None and piece.a <= time <= piece.b else self._locate(own.start, piece)
        if self.level[n] and side == 0.0 and self.wanted[n] * b > beyond:
            return self._locate(own.start, piece, 0.0 if self.wanted[n] * a < 0.0 else self.wanted[n] * beyond)
        return None

    def _entry(self, own: slice, piece: Piece) -> float | None:
        """When all columns of an event have become negative, if they are so at one time."""
        enter, leave = piece.a, piece.b
        for k in range(own.start, own.stop):
            a, b = piece.at_a[k], piece.at_b[k]
            if a > 0.0 and b > 0.0:
                return None
            if a > 0.0:
                enter = max(enter, self._locate(k, piece))
            elif b > 0.0:
                leave = min(leave, self._locate(k, piece))
        return enter if enter <= leave else None

    def _locate(self, column: int, piece: Piece, value: float = 0.0) -> float:
        """When a column that is monotone over a piece crosses a value."""

        known = {piece.a: piece.at_a[column], piece.b: piece.at_b[column]}

        def g(t: float) -> float:
            return float(known[t] if t in known else self.probe(np.array([t]), self.run.at(t)[None])[0, column]) - value

        a, b, ga, gb = piece.a, piece.b, g(piece.a), g(piece.b)
        if ga == 0.0 or not ga * gb < 0.0:
            return a if abs(ga) <= abs(gb) else b
        return float(brentq(g, a, b, xtol=1e-15 + 4e-16 * abs(b), rtol=1e-15))

    # ---------------------------------------------------------------- happening

    def _together(self, found: dict[int, float], t: float) -> tuple[list[int], float, np.ndarray]:
        """All events of one moment, in the order in which they are declared, when that is, and the state then."""
        fired = [n for n, at in found.items() if at <= t + SAME * max(1.0, abs(t))]
        known = [x for n in fired if (x := getattr(self.events[n], "time", None)) is not None]
        t = min(known) if known else t
        y = self.run.at(t)
        value, rounding, sides = self._values(t, y), self.probe.whole(self._noise(t, y)), self.sides
        toward = ((sides == 1.0) & (self.wanted <= 0)) | ((sides == -1.0) & (self.wanted >= 0))
        reached = np.flatnonzero(toward & (np.abs(value) <= HERE * rounding))
        return sorted({*fired, *reached.tolist()}), t, y

    def sides_at(
        self, t: float, y: np.ndarray, before: np.ndarray | None = None, fired: Sequence[bool] = ()
    ) -> np.ndarray:
        """Of outputs in a state from which the run goes on; those at their value are where they were ``before``."""
        value, rounding = self._values(t, y), self.probe.whole(self._noise(t, y))
        old = np.zeros(value.size) if before is None else before
        least = np.where(fired, 0.5, 1.0) * rounding if len(fired) else rounding
        return np.where(np.abs(value) > least, np.sign(value), old)

    def _values(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.probe.whole(self.probe(np.array([t]), y[None])[0])

    def _noise(self, t: float, y: np.ndarray) -> np.ndarray:
        return self.probe.noise(t, y, self.task.atol)

    def jumped(self, before: np.ndarray, after: np.ndarray) -> list[int]:
        """Events whose outputs a change has put across their values."""
        up, down = (before < 0.0) & (after > 0.0), (before > 0.0) & (after < 0.0)
        return [int(n) for n in np.flatnonzero((up & (self.wanted >= 0)) | (down & (self.wanted <= 0)))]

    def record(self, t: float, y: np.ndarray, fired: Sequence[int]) -> None:
        """Note the user's events, and stop where one says so."""
        q, u = self._split(y)
        for n in fired:
            event = self.events[n]
            if isinstance(event, Event):
                self.occurrences.append(Occurrence(event.name, t, q.copy(), u.copy()))
                if event.then == "stop" and not self.stopped:
                    self.stopped = event.name, t, y.copy()

    def call(self, t: float, y: np.ndarray, fired: Sequence[int]) -> bool:
        """The functions of events, in the order in which they are declared; True if one changed y, which it may."""
        system, (q, u) = self.task.system, self._split(y)
        new_q, new_u = q.copy(), u.copy()
        for n in fired:
            call_then(system, self.events[n], t, new_q, new_u)
        if np.array_equal(new_q, q) and np.array_equal(new_u, u):
            return False
        y[-1] += energy(system, new_q, new_u).total - energy(system, q, u).total  # of the impulse
        q[:], u[:] = new_q, new_u
        return True

    def _react(self, t: float, y: np.ndarray, fired: list[int]) -> bool:
        """What events say; if functions change q or u, the run starts again from there."""
        changed, sides = False, np.asarray(self.sides)
        for _ in range(MOST_AT_ONCE):
            self.record(t, y, fired)
            if self.stopped:
                return True
            if not self.call(t, y, fired):
                break
            if self.task.stabilization == PROJECTION:  # others close what is open
                require_consistent(self.task.system, *self._split(y), t, SET)
            changed, before = True, sides
            sides = self.sides_at(t, y, before)
            fired = self.jumped(before, sides)
            if not fired:
                break
        else:
            names = ", ".join(f"'{self.events[n].name}'" for n in fired)
            raise SimulationError(f"events {names} cause each other without end at t = {t:.6g} s")
        if changed:
            forget_samples(self.task.samples, t, self.trails)
            self.run.restart(t, y, int(np.searchsorted(self.task.t, t, side="right")))
            self.sides = sides
        return changed

    def _split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        nq = self.task.system.nq
        return y[:nq], y[nq:-1]
