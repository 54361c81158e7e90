"""Which temporary constraints hold, what activates and releases them, and what that does to a state.

Rows of q and u stay the same: a latch is never part of the tree. On activation, velocities jump by the
impulse that puts them onto the constraint, which conserves momentum; the energy that is lost is in the account
(activation.py). What sticks and slips by friction is in friction.py. Impacts that follow each other ever faster end at
a speed of REST: what bounces more slowly stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.constraints.consistency import require_consistent
from ...dynamics.constraints.forces import multipliers_of
from ...dynamics.constraints.jacobian import ConstraintRows, rows_of
from ...dynamics.functions import forward_dynamics
from ...dynamics.kinematics import energy
from ...dynamics.loads.joints import wrenches_of
from ...errors import SimulationError
from ...model import Constraint, Temporary, constraint_kind
from ...model.pose import Vector
from ...result.records import Change
from ...system.system import System
from ..project import project
from ..run.events import Condition
from ..run.watch import MOST_AT_ONCE, SAME, SET
from .activation import CLOSED, PULLS, REST, activate_together, make, refuse, strike
from .friction import STILL, Friction
from .hold_or_open import Standstill, opening, release_if_it_opens
from .impulse import impulse

HOP = 1e-12  # m: lower ones are not told from rounding
SEEN = 4.0  # times HOP: lower hops end at a time that is computed
LOW, FAR = 1e-10, 1e-13  # m, and of coordinates: impacts that would hop no higher do not bounce
HELD = 1e-9  # of how far a contact would be moved by its own impulse: less is rounding
SAME_PULL = 1e-6  # of the largest pull: contacts that pull alike are released together
OPEN = 1e-14  # m: what is open by less when it is activated is left so
BEYOND = 1e-6  # m, and of the mechanism: a contact or rope that is so far beyond itself is no contact
Reactions = tuple[np.ndarray, np.ndarray]


class Act(NamedTuple):
    """What is done to a temporary constraint."""

    name: str
    action: str  # activate, release, or part, which releases what then opens; by friction slip, turn
    timed: str = ""  # the parameter whose time it is


class ConstraintState:
    """The temporary constraints of a system in motion; ``system`` is the one that moves now.

    ``force(t, q, u)`` gives the joint forces that act beside those of the model; ``dress`` puts other numbers into the
    forces of a system that is about to move. A state is y = (q, u, work).
    """

    def __init__(
        self, system: System, force: Callable[..., np.ndarray], algorithm: str, dress: Callable[[System], System]
    ) -> None:
        self.whole, self.system, self.force, self.algorithm, self.dress = system, system, force, algorithm, dress
        self.temporaries: dict[str, Temporary] = system.model.temporaries
        self.changes: list[Change] = []
        self.now = np.zeros(system.nq + system.nu + 1)  # the state that changes
        self.passed: set[tuple[str, str]] = set()  # times at which it was activated or released
        self.refused: set[str] = set()
        self.everything = system.holding(system.model.constraints)  # all of them, whether they hold or not
        self.number = {name: n for n, name in enumerate(self.temporaries)}
        sides = [self._sides(name) for name in self.temporaries]
        self.sides, self.first_side = np.concatenate(sides), np.cumsum([0, *map(len, sides)])[:-1]
        self.friction = Friction(self)
        self.standstill = Standstill(system.name)
        self.in_sequence = False  # whether a run has warned of contacts that are struck one after the other
        self.activated: dict[str, float] = {}  # when each was activated last
        self._seen: dict[str, tuple[np.ndarray, Any]] = {}

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and u of y, as views."""
        return y[: self.whole.nq], y[self.whole.nq : -1]

    def hold(self, held: Mapping[str, Constraint], sliding: Mapping[str, Vector]) -> None:
        """From now on these."""
        self.move_as(self.whole.holding(held, sliding))

    def move_as(self, system: System) -> None:
        """From now on what this one holds."""
        self.system = self.dress(system)
        self.forget()

    def take(self, y: np.ndarray, q: np.ndarray, u: np.ndarray) -> float:
        """Jump to q and u; the energy that is lost (J) goes into the account."""
        here = self.split(y)
        lost = energy(self.whole, *here).total - energy(self.whole, q, u).total
        here[0][:], here[1][:] = q, u
        y[-1] -= lost
        self.forget()
        return float(lost)

    def forget(self) -> None:
        """What has been seen of a state that now changes in place."""
        self._seen.clear()

    def rows_in(self, system: System, name: str) -> slice:
        """Rows of a constraint."""
        owner = system.constraints.owner
        first = owner.index(name)
        return slice(first, first + owner.count(name))

    # ---------------------------------------------------------------- activation and release

    def conditions(self, t: float, y: np.ndarray) -> list[tuple[Act, Condition]]:
        """From a state on: what is done, and what to watch for it."""
        found = []
        self.forget()
        for name, x in self.temporaries.items():
            made = name in self.system.held
            action, word = ("release", "released") if made else ("activate", "activated")
            if made and x.unilateral:
                found.append((Act(name, "part"), self._pull_of(name, t, y)))
            if not made and x.unilateral and (landing := self._landing(name, t, y)):
                found.append((Act(name, action), landing))
            tests = self._release_of(name, x) if made else self._activation_of(name, x)
            found += [(Act(name, action), test) for test in tests]
            for what, at in self._times(name, x, made):
                if at > t or (at == t and (name, what) not in self.passed):
                    label = f"{name} {word}: {what}"
                    timed = Condition(
                        label, lambda t, q, u, at=at: t - at, "rising", jumps=True, fresh=True, time=at, of_poses=False
                    )
                    found.append((Act(name, action, what), timed))
            if made and name in self.friction.names:
                other, word, output, direction = self.friction.condition(name)
                of_poses = other != "turn" or not constraint_kind(self.whole.model.constraints[name]).velocities
                found.append((Act(name, other), Condition(f"{name} {word}", output, direction, of_poses=of_poses)))
        return found

    def _landing(self, name: str, t: float, y: np.ndarray) -> Condition | None:
        """The end of a hop that is lower than what distances resolve, by its parabola; of one that does not lead back
        to the open side, its top.
        """
        q, u = self.split(y)
        gap, rate = (float(x) for x in self.approach(name, t, q, u))
        if not (gap <= HOP and rate > 0.0) or name in self.refused:
            return None
        if gap < -HOP:
            turns = f"{name} activated: turns back"
            return Condition(turns, lambda t, q, u: self.approach(name, t, q, u)[1], "falling")
        fall = self._fall(name, t, q, u)
        if not rate * rate < -2.0 * SEEN * HOP * fall:
            return None
        gap = max(gap, 0.0)
        at = t + (rate + np.sqrt(rate * rate - 2.0 * fall * gap)) / -fall
        label = f"{name} activated: lands"
        return Condition(label, lambda t, q, u: t - at, "rising", jumps=True, fresh=True, time=at, of_poses=False)

    def _times(self, name: str, x: Temporary, made: bool) -> list[tuple[str, float]]:
        """Parameters that activate or release it at a time, and when (s)."""
        if not made:
            return [] if x.activate_at is None else [("activate_at", x.activate_at)]
        found = [] if x.release_at is None else [("release_at", x.release_at)]
        if x.release_after is not None:
            found.append(("release_after", self.activated.get(name, 0.0) + x.release_after))
        return found

    def no_pull(self, name: str, lam: np.ndarray) -> float:
        """The force of a unilateral constraint that is rounding (N): of all forces, and of its lighter body at rest."""
        c, bodies = self.whole.model.constraints[name], self.whole.model.bodies
        lighter = min((bodies[n].mass for n in (c.body, c.to) if n in bodies), default=0.0)  # type: ignore[union-attr]
        return max(PULLS * float(np.abs(lam).max()), STILL * lighter)

    def due(self, t: float) -> list[Act]:
        """What times activate or release at the start of a run."""
        acts = []
        for name, x in self.temporaries.items():
            made = name in self.system.held
            times = [what for what, at in self._times(name, x, made) if at <= t]
            acts += [Act(name, "release" if made else "activate", what) for what in times]
        return acts

    def _activation_of(self, name: str, x: Temporary) -> list[Condition]:
        label = f"{name} activated"
        if x.unilateral:

            def gap(t: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
                return self.approach(name, t, q, u)[0]

            def rate(t: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
                return self.approach(name, t, q, u)[1]

            return [Condition(label, gap, "falling", rates=rate, level=True, noise=HOP)]
        if x.activate_within is None or name in self.refused:
            return []
        near, slow, n = x.activate_within, x.activate_below, self.number[name]

        def outside(t: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
            distance, speed = self._squares(t, q, u)[:2]
            columns = [distance[..., n] / near**2 - 1.0] + ([] if slow is None else [speed[..., n] / slow**2 - 1.0])
            return np.stack(columns, axis=-1)

        def rates(t: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
            columns = [self._squares(t, q, u)[2][..., n] / near**2]
            return np.stack(columns if slow is None else [*columns, np.full(columns[0].shape, np.nan)], axis=-1)

        return [Condition(label, outside, "falling", 1 if slow is None else 2, rates, jumps=True)]

    def _pull_of(self, name: str, t: float, y: np.ndarray) -> Condition:
        noise = self.no_pull(name, self.reactions(t, *self.split(y))[0])

        def holding(t: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
            return self._holding(name, t, q, u)

        return Condition(f"{name} released", holding, "falling", level=True, noise=noise)

    def _release_of(self, name: str, x: Temporary) -> list[Condition]:
        tests = []
        for what, limit, part in (
            ("force", x.release_force, slice(3, 6)),
            ("torque", x.release_torque, slice(0, 3)),
        ):
            if limit is not None:

                def beyond(
                    t: Any, q: np.ndarray, u: np.ndarray, limit: float = limit, part: slice = part
                ) -> np.ndarray:
                    return np.linalg.norm(self.wrenches(t, q, u)[name][..., part], axis=-1) / limit - 1.0

                tests.append(Condition(f"{name} released: {what}", beyond, "rising", jumps=True, fresh=True))
        return tests

    # ---------------------------------------------------------------- what conditions look at: one state, or many

    def all_rows(self, t: Any, q: np.ndarray, u: np.ndarray) -> ConstraintRows:
        """Of all constraints, whether they hold or not; conditions that look at the same states share them."""
        return self._once("rows", q, lambda: rows_of(self.everything, q, u, t, matrix=False))

    def _once(self, what: str, q: np.ndarray, find: Callable[[], Any]) -> Any:
        """Found once for states that several look at."""
        if what not in self._seen or self._seen[what][0] is not q:
            self._seen[what] = q, find()
        return self._seen[what][1]

    def _sides(self, name: str) -> list[int]:
        """Rows that say how far the two sides of a constraint are from each other: those of places, if it has any."""
        own, what = self.rows_in(self.everything, name), self.everything.constraints.what
        rows = list(range(own.start, own.stop))
        return [n for n in rows if what[n].startswith(("displacement", "distance"))] or rows

    def _squares(self, t: Any, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(..., temporaries) Squares of the distance between the two sides of each (m or rad) and of the speed at which
        they move, and the rate of the first."""

        def find() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            rows = self.all_rows(t, q, u)
            g, rate = rows.g[..., self.sides], rows.rate[..., self.sides]
            found = (np.add.reduceat(x, self.first_side, axis=-1) for x in (g * g, rate * rate, 2.0 * g * rate))
            return tuple(found)  # type: ignore[return-value]

        return self._once("squares", q, find)

    def out_of_reach(self, name: str, t: float, y: np.ndarray) -> str | None:
        """Why something may not be made now: it is too far away, or too fast, for what makes it by itself."""
        x = self.temporaries[name]
        self.forget()
        near, speed = (float(np.sqrt(v[self.number[name]])) for v in self._squares(t, *self.split(y))[:2])
        if x.activate_within is not None and near > x.activate_within:
            return f"{near:.4g} m or rad away, and {x.activate_within:g} is near enough"
        if x.activate_below is not None and speed > x.activate_below:
            return f"moving at {speed:.4g} m/s or rad/s, and {x.activate_below:g} is slow enough"
        return None

    def approach(self, name: str, t: Any, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far a unilateral constraint is from being reached, and the rate of that."""
        rows, first, sign = self.all_rows(t, q, u), self.rows_in(self.everything, name).start, self.sign(name)
        return sign * rows.g[..., first], sign * rows.rate[..., first]

    def sign(self, name: str) -> float:
        """A contact is open where its residual is positive, a rope where it is negative."""
        return float(constraint_kind(self.whole.model.constraints[name]).opens or 1)

    def reactions(self, t: Any, q: np.ndarray, u: np.ndarray) -> Reactions:
        """Multipliers of the constraints that hold, and the wrenches of rows."""
        return self._once("reactions", q, lambda: self.reactions_in(self.system, t, q, u))

    def wrenches(self, t: Any, q: np.ndarray, u: np.ndarray) -> dict[str, np.ndarray]:
        """What each constraint that holds does to its body."""
        lam, rows = self.reactions(t, q, u)
        return self._once("wrenches", q, lambda: wrenches_of(self.system, q, u, rows, lam))

    def reactions_in(self, system: System, t: Any, q: np.ndarray, u: np.ndarray) -> Reactions:
        """The same, of a system that holds others."""
        tau = self.force(t, q, u)
        udot = forward_dynamics(system, q, u, tau, t=t, algorithm=self.algorithm)
        held = multipliers_of(system, q, u, udot, tau, t=t)
        lam = held.lam
        if held.null.shape[-1] and self.friction.names:
            lam = np.array(lam)
            for s in np.ndindex(q.shape[:-1]):
                lam[s] = self.friction.shared(system, lam[s], held.null[s])
        return lam, held.rows.wrenches

    def _holding(self, name: str, t: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The force of a unilateral constraint, positive as long as it is not asked to pull (a rope: to push)."""
        return self.sign(name) * self.reactions(t, q, u)[0][..., self.rows_in(self.system, name).start]

    # ---------------------------------------------------------------- changes

    def together(self, acts: Sequence[Act], t: float, y: np.ndarray) -> None:
        """All that is done at one moment, then what follows from it; y changes in place.

        Constraints are released first, then friction changes, then those that hold both ways are activated, all by one
        impulse, then contacts and ropes that are reached, those that move each other together.
        """
        self.now = y
        self.forget()
        self.passed |= {(act.name, act.timed) for act in acts if act.timed}
        wanted: dict[str, list[str]] = {}
        for act in sorted(acts, key=lambda act: self.number[act.name]):
            wanted.setdefault(act.action, []).append(act.name)
        for name in dict.fromkeys(wanted.get("release", [])):
            self.let_go(name, t)
        for name in wanted.get("part", []):
            if name in self.system.sliding:  # a force that goes through infinity is no pull
                self.friction.require_free(t, *self.split(y))
            if name in self.system.held:
                release_if_it_opens(self, name, t, y)
        for name in wanted.get("turn", []):
            if name in self.system.sliding:
                self.friction.turn(name, t, y)
        for name in wanted.get("slip", []):
            if name in self.system.held and name not in self.system.sliding:
                self.friction.decide(t, y, release=name)
        made = dict.fromkeys(wanted.get("activate", []))
        self.refused -= set(made)
        activate_together(self, [name for name in made if not self.temporaries[name].unilateral], t, y)
        self.settle(t, y)

    def note(self, change: Change, q: np.ndarray | None = None, u: np.ndarray | None = None) -> None:
        """Keep a change that led from q, u to the state now; nothing moved if they are left out."""
        after = [x.copy() for x in self.split(self.now)]
        before = [after[0].copy() if q is None else q.copy(), after[1].copy() if u is None else u.copy()]
        found = change._replace(q_before=before[0], u_before=before[1], q_after=after[0], u_after=after[1])
        self.changes.append(found)
        if found.what == "activated":
            self.activated[found.name] = found.t
        self.standstill.look(found)

    def recall(self, changes: Sequence[Change]) -> None:
        """The changes of another run, up to where this one goes on."""
        self.changes[:] = changes
        self.activated = {c.name: c.t for c in changes if c.what == "activated"}

    def answer(self, name: str, t: float, y: np.ndarray) -> None:
        """Of something unilateral that was to be made: refuse it where its two sides do not meet."""
        self.now = y
        self.forget()
        gap, rate = self.approach(name, t, *self.split(y))
        refuse(self, name, t, f"its two sides do not meet: they are {gap:.3g} m apart and part at {rate:.3g} m/s")

    def moved(self, t: float, y: np.ndarray, strictly: bool) -> None:
        """After a function has changed y: contacts and ropes whose sides move are open; others hold, if strictly."""
        self.now = y
        self.forget()
        q, u = self.split(y)
        for name, x in self.temporaries.items():
            if x.unilateral and name in self.system.held and abs(self.approach(name, t, q, u)[1]) > STILL:
                self.let_go(name, t)
        if strictly:
            require_consistent(self.system, q, u, t, SET)

    def settle(self, t: float, y: np.ndarray) -> None:
        """Whatever follows at the same moment: what is reached, or pulls."""
        q, u = self.split(y)
        self.now = y
        before, tried = len(self.changes), list[str]()
        for _ in range(MOST_AT_ONCE):
            if self._next(t, y, q, u):
                continue
            more = [name for name in self._redundant(t, q, u) if name not in tried]
            if not more:
                self._close(self.changes[before:], t, y)
                return
            tried += more
            for name in more:
                make(self, name, t, y)
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(c.name for c in self.changes[before:]))
        raise SimulationError(
            f"constraints of '{self.whole.name}' are activated and released without end at t = {t:.6g} s: {names}",
            hint="restitution of 1 between bodies that rest on each other never comes to rest",
        )

    def _redundant(self, t: float, q: np.ndarray, u: np.ndarray) -> list[str]:
        """Open contacts and ropes that touch and can neither open nor close while others hold: a fourth foot, which
        takes its share of friction in whatever order feet come down.
        """
        sided = [name for name, x in self.temporaries.items() if x.unilateral]
        touch = [n for n in sided if n not in {*self.system.held, *self.refused} and self.touches(n, t, q, u)]
        if not touch or not any(name in self.system.held for name in sided):
            return []
        rows, still = rows_of(self.everything, q, u, t), rows_of(self.system, q, u, t, matrix=False).rate
        found = []
        for name in touch:
            c = rows.C[self.rows_in(self.everything, name).start]
            free = c @ (impulse(self.whole.holding({}), q, u, t, 0.0, c).u - u)
            if free > 0.0 and c @ (impulse(self.system, q, u, t, still, c).u - u) <= HELD * free:
                found.append(name)
        return found

    def _close(self, changes: Sequence[Change], t: float, y: np.ndarray) -> None:
        """Put the state onto contacts and ropes, where changes left it off by what counts as none: steps go back onto
        them, and take what that moves for an error of their own.
        """
        q, u = (x.copy() for x in self.split(y))
        self.forget()
        held = [name for name in self.system.held if name in self.temporaries and self.temporaries[name].unilateral]
        off = np.array([self.approach(name, t, q, u) for name in held]).reshape(-1, 2)
        if not changes or (np.abs(off) <= (OPEN, OPEN * max(1.0, float(np.abs(u).max(initial=0.0))))).all():
            return
        project(self.system, q, u, t)
        self.take(y, q, u)
        self.changes[-1] = self.changes[-1]._replace(q_after=q, u_after=u)

    def _fall(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> float:
        """The acceleration at which a unilateral constraint that is open goes farther away."""
        return opening(self, self.system, name, t, q, u)[0]

    def touches(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        """Whether the two sides of something unilateral are together and stay so, but for accelerations."""
        self.forget()
        gap, rate = self.approach(name, t, q, u)
        return bool(gap <= CLOSED * max(1.0, self.everything.constraints.size) and abs(rate) <= STILL)

    def hops(self, name: str, t: float, q: np.ndarray, u: np.ndarray, speed: float) -> bool:
        """Whether a unilateral constraint that opens at a speed opens farther than rounding before it closes."""
        least = max(LOW, FAR * float(np.abs(q).max(initial=0.0)))
        return speed * speed > -2.0 * least * self._fall(name, t, q, u)

    def _reached(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        """Whether something unilateral is there and comes nearer, or is about to: a hop of no time is none."""
        self.forget()
        gap, rate = self.approach(name, t, q, u)
        if gap < -BEYOND * max(1.0, self.everything.constraints.size):
            raise SimulationError(
                f"'{name}' of '{self.whole.name}' is violated by {-gap:.3g} m at t = {t:.6g} s",
                expected="a state on its open side",
                hint="begin there, and let events put bodies only there",
            )
        if gap > CLOSED * max(1.0, self.everything.constraints.size) or rate > REST:
            return False
        if rate < -STILL:
            return True
        fall = self._fall(name, t, q, u)
        return bool(fall < -STILL and rate <= max(STILL, -0.5 * SAME * max(1.0, abs(t)) * fall))

    def _next(self, t: float, y: np.ndarray, q: np.ndarray, u: np.ndarray) -> bool:
        """One more change at this moment, if there is one."""
        sided = [name for name, x in self.temporaries.items() if x.unilateral]
        open_ = [name for name in sided if name not in {*self.system.held, *self.refused}]
        if reached := [name for name in open_ if self._reached(name, t, q, u)]:
            strike(self, reached, t, y)
            return True
        made = [name for name in sided if name in self.system.held]
        self.friction.require_free(t, q, u)
        if made:
            lam = self.reactions(t, q, u)[0]
            push = {name: self.sign(name) * float(lam[self.rows_in(self.system, name).start]) for name in made}
            worst = min(push, key=push.__getitem__)
            if push[worst] < -self.no_pull(worst, lam):
                for name in [n for n in made if push[n] <= (1.0 - SAME_PULL) * push[worst]]:
                    if name in self.system.held:
                        release_if_it_opens(self, name, t, y)
                return True
        return self.friction.next(t, y)

    def let_go(self, name: str, t: float) -> None:
        if name not in self.system.held:
            return
        sliding = {n: d for n, d in self.system.sliding.items() if n != name}
        self.hold({n: c for n, c in self.system.held.items() if n != name}, sliding)
        self.note(Change(name, "released", t, np.zeros(6), 0.0, None))
