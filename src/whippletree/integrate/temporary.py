"""Runs whose constraints come and go: conditions are watched as events, and at each the run begins anew with others.

Rows of q and u stay the same: a latch is never part of the tree. At the moment of making, speeds jump by the impulse
that puts them onto the constraint, which conserves momentum; the energy that is lost is in the account. Impacts that
follow each other ever faster end at a speed of REST: what bounces more slowly stays.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..dynamics.choose import choose
from ..dynamics.constraint_forces import multipliers_of
from ..dynamics.constraint_rows import rows_of
from ..dynamics.functions import energy, forward_dynamics, kinematics
from ..dynamics.impulses import Impulse, contradicts, impulse
from ..dynamics.joint_loads import wrenches_of
from ..dynamics.predict import Use
from ..errors import ModelError, ModelWarning, SimulationError
from ..model import Constraint, Distance, Latch, Pose, Relative, Temporary
from ..model.pose import quaternion_from_matrix
from ..result.records import Change
from ..system.system import System
from .events import Event, Watch
from .project import project
from .task import Failure, Task

REST = 1e-4  # m/s: impacts that would leave less do not bounce
STILL = 1e-9  # m/s or m/s^2: rounding of a speed or acceleration that is none
LOOKS = (0.25, 0.5, 0.75, 0.95)  # of a flight after a bounce
MOST_AT_ONCE = 200  # changes at one moment
CLOSED = 1e-9  # m or rad: what may be left open by what has been made
PULLS = 1e-9  # N or N s, against the largest of its kind: rounding of a force that is none


class Switching:
    """A run in parts, each with the constraints that hold in it."""

    interpolates = False

    def __init__(
        self, task: Task, begin: Callable[[Task], Any], tau: Any, events: Iterable[Event], algorithm: str, use: Use
    ) -> None:
        self.task, self.begin, self.tau, self.events = task, begin, tau, tuple(events)
        self.algorithm, self.use = algorithm, use
        self.whole = task.system
        self.temporaries: dict[str, Temporary] = task.system.model.temporaries
        self.occurrences: list[Any] = []
        self.changes: list[Change] = []
        self.passed: set[tuple[str, str]] = set()  # times that have made or broken
        self.refused: set[str] = set()
        names = {e.name for e in self.events} & {f"{n} {what}" for n in self.temporaries for what in ("made", "broken")}
        if names:
            raise ModelError(f"event '{sorted(names)[0]}' has the name of a change", hint="give it another name")
        self._everything = self.whole.holding(self.whole.model.constraints)
        self._part(task)
        t, y = task.start, task.y.copy()
        for name, x in self.temporaries.items():
            at, action = (x.break_at, "break") if name in self.system.held else (x.make_at, "make")
            if at is not None and at <= t:
                self._apply(name, action, t, y)
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

    state = None

    def attrs(self) -> dict[str, Any]:
        return self.watch.attrs() | {"changes": Change.text(self.changes)}

    def proceed(self, steps: int) -> Failure | None:
        failure = self.watch.proceed(steps)
        own = [o for o in self.watch.occurrences if o.name in self.own]
        self.occurrences += [o for o in self.watch.occurrences if o.name not in self.own]
        self.watch.occurrences.clear()
        stopped = self.watch.stopped
        if failure is None and stopped and (own or stopped[0] in self.own):
            name, t, y = stopped
            constraint, action = self.own[name]
            self._change(constraint, action, t, y.copy())
        return failure

    # ---------------------------------------------------------------- parts

    def _part(self, task: Task) -> None:
        """Begin a part; what may end it is watched."""
        self.part, self.system = task, task.system
        self.own: dict[str, tuple[str, str]] = {}
        self.watch = Watch(self.begin(task), (*self._events_now(), *self._conditions()))

    def _events_now(self) -> tuple[Event, ...]:
        """Those of the user; one whose ``then`` makes or breaks stops the part."""
        found = []
        for e in self.events:
            action, _, name = e.then.partition(" ") if isinstance(e.then, str) else ("", "", "")
            if action in ("make", "break"):
                self.own[e.name] = (name, action)
                e = replace(e, then="stop")
            found.append(e)
        return tuple(found)

    def _conditions(self) -> list[Event]:
        found = []
        for name, x in self.temporaries.items():
            made = name in self.system.held
            action = "break" if made else "make"
            at = x.break_at if made else x.make_at
            tests = self._breaking(name, x) if made else self._making(name, x)
            if at is not None and (name, action) not in self.passed and at >= self.part.start:
                tests.append((lambda t, q, u, at=at: t - at, "rising"))
            for n, (output, direction) in enumerate(tests):
                label = f"{name} {'broken' if made else 'made'}" + f" ({n})" * (n > 0)
                self.own[label] = (name, action)
                found.append(Event(label, output, 0.0, direction, "stop"))
        return found

    def _making(self, name: str, x: Temporary) -> list[tuple[Any, str]]:
        if x.one_sided:
            return [(lambda t, q, u: self._approach(name, t, q, u)[0], "falling")]
        if x.make_within is None or name in self.refused:
            return []

        def outside(t: float, q: np.ndarray, u: np.ndarray) -> float:
            near, speed = self._apart(name, t, q, u)
            return max(near / x.make_within - 1.0, speed / x.make_below - 1.0 if x.make_below else -1.0)  # type: ignore[operator]

        return [(outside, "falling")]

    def _breaking(self, name: str, x: Temporary) -> list[tuple[Any, str]]:
        tests: list[tuple[Any, str]] = []
        if x.one_sided:
            tests.append((lambda t, q, u: self._holding(name, t, q, u), "falling"))
        for limit, part in ((x.break_force, slice(3, 6)), (x.break_torque, slice(0, 3))):
            if limit is not None:

                def beyond(t: float, q: np.ndarray, u: np.ndarray, limit: float = limit, part: slice = part) -> float:
                    return float(np.linalg.norm(self._loads(t, q, u)[1][name][part])) / limit - 1.0

                tests.append((beyond, "rising"))
        return tests

    # ---------------------------------------------------------------- what conditions look at

    def _rows(self, name: str) -> slice:
        """Rows of a constraint among all."""
        return _rows_in(self._everything, name)

    def _apart(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> tuple[float, float]:
        """Distance between the two sides of a constraint (m or rad), and the speed at which they move."""
        rows, own = rows_of(self._everything, q, u, t, matrix=False), self._rows(name)
        what = self._everything.constraints.what[own]
        some = [n for n, w in enumerate(what) if w.startswith(("displacement", "distance"))] or list(range(len(what)))
        return float(np.linalg.norm(rows.g[own][some])), float(np.linalg.norm(rows.rate[own][some]))

    def _approach(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> tuple[float, float]:
        """How far a one-sided constraint is from being reached, and the rate of that."""
        rows, first = rows_of(self._everything, q, u, t, matrix=False), self._rows(name).start
        sign = self._sign(name)
        return sign * float(rows.g[first]), sign * float(rows.rate[first])

    def _sign(self, name: str) -> float:
        """A contact is open where its residual is positive, a rope where it is negative."""
        return -1.0 if isinstance(self.whole.model.constraints[name], Distance) else 1.0

    def _loads(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Multipliers of the constraints that hold, and what each does to its body."""
        tau = self._forces(t, q, u)
        udot = forward_dynamics(self.system, q, u, tau, t=t, algorithm=self.algorithm)
        held = multipliers_of(self.system, q, u, udot, tau, t=t)
        return held.lam, wrenches_of(self.system, q, u, held.rows.wrenches, held.lam)

    def _forces(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        force = self.part.tau.copy()
        if callable(self.tau):
            self.tau(t, q.copy(), u.copy(), force)
        return force

    def _holding(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> float:
        """The force of a one-sided constraint, positive as long as it is not asked to pull (a rope: to push)."""
        return self._sign(name) * float(self._loads(t, q, u)[0][_rows_in(self.system, name).start])

    # ---------------------------------------------------------------- changes

    def _change(self, name: str, action: str, t: float, y: np.ndarray) -> None:
        """Make or break one, then whatever follows from it at the same moment, and go on."""
        self._apply(name, action, t, y)
        self._settle(t, y)

    def _apply(self, name: str, action: str, t: float, y: np.ndarray) -> None:
        self.passed.add((name, action))
        if action == "break":
            self._break(name, t)
        elif not self.temporaries[name].one_sided or self._reached(name, t, *self._split(y)):
            self._make(name, t, y)

    def _settle(self, t: float, y: np.ndarray) -> None:
        """What is reached, or pulls, at this moment; then a new part, unless nothing has happened yet."""
        q, u = self._split(y)
        for _ in range(MOST_AT_ONCE):
            if not self._next(t, y, q, u):
                break
        else:
            raise SimulationError(
                f"constraints of '{self.whole.name}' are made and broken without end at t = {t:.6g} s",
                hint="restitution of 1 between bodies that rest on each other never comes to rest",
            )
        if t == self.task.start and not self.changes:
            return
        first = int(np.searchsorted(self.part.t, t, side="right"))
        algorithm = choose(self.system, self.algorithm, self.use)
        self._part(self.part._replace(system=self.system, algorithm=algorithm, start=t, y=y, first=first))
        self.watch.also = self._returns(t, q, u)

    def _returns(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[float, ...]:
        """When to look after what has just bounced, so that a short flight is not overlooked between two looks."""
        times = [t]
        for name in {c.name for c in self.changes if c.t == t and c.what == "bounced"} - self.system.held.keys():
            rate, fall = self._approach(name, t, q, u)[1], -self._fall(name, t, q, u)
            if fall > 0.0 and rate > 0.0:
                times += [t + share * 2.0 * rate / fall for share in LOOKS]
        return tuple(sorted(times[1:]))

    def _fall(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> float:
        """The acceleration at which a one-sided constraint that is open goes farther away."""
        udot = forward_dynamics(self.system, q, u, self._forces(t, q, u), t=t, algorithm=self.algorithm)
        rows, first = rows_of(self._everything, q, u, t), self._rows(name).start
        return self._sign(name) * float(rows.C[first] @ udot - rows.gamma[first])

    def _reached(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        """Whether something one-sided is there and comes nearer, or is about to."""
        gap, rate = self._approach(name, t, q, u)
        if gap > CLOSED * max(1.0, self._everything.constraints.size) or rate > STILL:
            return False
        return rate < -STILL or self._fall(name, t, q, u) < -STILL

    def _next(self, t: float, y: np.ndarray, q: np.ndarray, u: np.ndarray) -> bool:
        """One more change at this moment, if there is one."""
        sided = [name for name, x in self.temporaries.items() if x.one_sided]
        for name in sided:
            if name not in self.system.held and self._reached(name, t, q, u):
                self._make(name, t, y)
                return True
        made = [name for name in sided if name in self.system.held]
        if made:
            lam = self._loads(t, q, u)[0]
            worst = min(made, key=lambda name: self._sign(name) * lam[_rows_in(self.system, name).start])
            if self._sign(worst) * lam[_rows_in(self.system, worst).start] < -PULLS * np.abs(lam).max():
                self._break(worst, t)
                return True
        return False

    def _break(self, name: str, t: float) -> None:
        if name not in self.system.held:
            return
        self.system = self.whole.holding({n: c for n, c in self.system.held.items() if n != name})
        self.changes.append(Change(name, "broken", t, np.zeros(6), 0.0, None))

    def _make(self, name: str, t: float, y: np.ndarray) -> None:
        """Close what is open and put speeds onto it; y changes in place. What contradicts the others is refused."""
        if name in self.system.held:
            return
        (q, u), x = self._split(y), self.temporaries[name]
        placed = self._placed(name, q, u)
        order = [n for n in self.whole.model.constraints if n in self.system.held or n == name]
        new = self.whole.holding({n: placed if n == name else self.system.held[n] for n in order})
        q2, u2 = q.copy(), u.copy()
        gap = 0.0 if x.one_sided else project(new, q2, u2, t)
        over = np.zeros(new.constraints.count)
        bounces = False
        if x.one_sided:
            _, rate = self._approach(name, t, q, u)
            bounces = -x.restitution * rate > REST
            if bounces:
                over[_rows_in(new, name).start] = -self._sign(name) * x.restitution * rate
        found = impulse(new, q2, u, t, over)
        wrong = contradicts(found, u)
        if gap > CLOSED * max(1.0, new.constraints.size) or wrong.any():
            self._refuse(name, t, new, found, gap)
            return
        if bounces:  # rows along which it would hold, but for the normal, are left alone
            found = self._bounce(new, name, q2, u, t, over)
        before = energy(self.whole, q, u).total
        lost = before - energy(self.whole, q2, found.u).total
        wrench = wrenches_of(new, q2, u, found.rows.wrenches, found.lam)[name]
        q[:], u[:] = q2, found.u
        y[-1] -= lost
        if not bounces:
            self.system = new
        here = placed if x.here else None
        self.changes.append(Change(name, "bounced" if bounces else "made", t, wrench, lost, here))

    def _bounce(self, new: System, name: str, q: np.ndarray, u: np.ndarray, t: float, over: np.ndarray) -> Impulse:
        """Only the normal row of what bounces acts, beside all that hold."""
        own, rate = _rows_in(new, name), rows_of(new, q, u, t, matrix=False).rate
        over[own.start + 1 : own.stop] = rate[own.start + 1 : own.stop]
        return impulse(new, q, u, t, over)

    def _placed(self, name: str, q: np.ndarray, u: np.ndarray) -> Constraint:
        """The constraint, holding what it finds where it is meant to."""
        c = self.whole.model.constraints[name]
        if not self.temporaries[name].here:
            return c
        if isinstance(c, Relative):
            return replace(c, position=float(q[self.whole.q_index(c.joint).start + c.freedom]))
        assert isinstance(c, Latch)
        k = kinematics(self.whole, q, u)
        R, p = k.rotation(c.to).T, k.position(c.to)
        turn = R @ k.rotation(c.body) @ c.at.rotation()
        place = R @ (k.position(c.body) + k.rotation(c.body) @ np.array(c.at.position) - p)
        return replace(c, to_at=Pose(tuple(place.tolist()), quaternion_from_matrix(turn)))

    def _refuse(self, name: str, t: float, new: System, found: Impulse, gap: float) -> None:
        """Say so once; the motion goes on without it."""
        self.refused.add(name)
        open_ = gap > CLOSED * max(1.0, new.constraints.size)
        rows = np.abs(found.left) > 0.1 * np.abs(found.left).max()
        names = dict.fromkeys(o for o, w in zip(new.constraints.owner, rows, strict=True) if w and o != name)
        why = (
            f"it stays open by {gap:.3g} m or rad"
            if open_
            else "it contradicts " + (", ".join(f"'{n}'" for n in names) or "the motions that are given")
        )
        warnings.warn(f"temporary '{name}' is not made at t = {t:.6g} s: {why}", ModelWarning, stacklevel=2)
        self.changes.append(Change(name, "refused", t, np.zeros(6), 0.0, None))

    def _split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return y[: self.whole.nq], y[self.whole.nq : -1]


def _rows_in(system: System, name: str) -> slice:
    rows = [n for n, owner in enumerate(system.constraints.owner) if owner == name]
    return slice(rows[0], rows[-1] + 1)
