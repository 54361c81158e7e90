"""Which temporary constraints hold, what makes and breaks them, and what that does to a state.

Rows of q and u stay the same: a latch is never part of the tree. At the moment of making, speeds jump by the impulse
that puts them onto the constraint, which conserves momentum; the energy that is lost is in the account. Impacts that
follow each other ever faster end at a speed of REST: what bounces more slowly stays.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..dynamics.constraint_forces import multipliers_of
from ..dynamics.constraint_rows import ConstraintRows, rows_of
from ..dynamics.functions import energy, forward_dynamics, kinematics
from ..dynamics.impulses import Impulse, contradicts, impulse
from ..dynamics.joint_loads import wrenches_of
from ..errors import ModelWarning, SimulationError
from ..model import Constraint, Distance, Latch, Pose, Relative, Temporary
from ..model.pose import quaternion_from_matrix
from ..result.records import Change
from ..system.system import System
from .events import Condition
from .project import project

REST = 1e-4  # m/s: impacts that would leave less do not bounce
STILL = 1e-9  # m/s or m/s^2: rounding of a speed or acceleration that is none
LOOKS = (0.25, 0.5, 0.75, 0.95)  # of a flight after a bounce
MOST_AT_ONCE = 200  # changes at one moment
CLOSED = 1e-9  # m or rad: what may be left open by what has been made
PULLS = 1e-9  # N or N s, against the largest of its kind: rounding of a force that is none


class Bonds:
    """The temporary constraints of a system in motion; ``system`` is the one that moves now.

    ``force(t, q, u)`` gives the joint forces that act beside those of the model; ``dress`` puts other numbers into the
    forces of a system that is about to move. A state is y = (q, u, work).
    """

    def __init__(
        self,
        system: System,
        force: Callable[..., np.ndarray],
        algorithm: str,
        dress: Callable[[System], System] = lambda system: system,
    ) -> None:
        self.whole, self.system, self.force, self.algorithm, self.dress = system, system, force, algorithm, dress
        self.temporaries: dict[str, Temporary] = system.model.temporaries
        self.changes: list[Change] = []
        self.passed: set[tuple[str, str]] = set()  # times that have made or broken
        self.refused: set[str] = set()
        self._everything = system.holding(system.model.constraints)
        self._seen: tuple[Any, ConstraintRows | None] = (None, None)

    # ---------------------------------------------------------------- what makes and breaks

    def conditions(self, start: float) -> list[tuple[str, str, Condition]]:
        """From a time on: name, "make" or "break", and what to watch."""
        found = []
        for name, x in self.temporaries.items():
            made = name in self.system.held
            action = "break" if made else "make"
            at = x.break_at if made else x.make_at
            tests = self._breaking(name, x) if made else self._making(name, x)
            if at is not None and (name, action) not in self.passed and at >= start:
                tests.append((lambda t, q, u, at=at: t - at, "rising"))
            for n, (output, direction) in enumerate(tests):
                label = f"{name} {'broken' if made else 'made'}" + f" ({n})" * (n > 0)
                found.append((name, action, Condition(label, output, 0.0, direction, "stop")))
        return found

    def _making(self, name: str, x: Temporary) -> list[tuple[Any, str]]:
        if x.one_sided:
            return [(lambda t, q, u: self._approach(name, t, q, u)[0], "falling")]
        if x.make_within is None or name in self.refused:
            return []

        def outside(t: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
            near, speed = self._apart(name, t, q, u)
            return np.maximum(near / x.make_within - 1.0, speed / x.make_below - 1.0 if x.make_below else -1.0)

        return [(outside, "falling")]

    def _breaking(self, name: str, x: Temporary) -> list[tuple[Any, str]]:
        tests: list[tuple[Any, str]] = []
        if x.one_sided:
            tests.append((lambda t, q, u: self._holding(name, t, q, u), "falling"))
        for limit, part in ((x.break_force, slice(3, 6)), (x.break_torque, slice(0, 3))):
            if limit is not None:

                def beyond(
                    t: np.ndarray, q: np.ndarray, u: np.ndarray, limit: float = limit, part: slice = part
                ) -> np.ndarray:
                    return np.linalg.norm(self._loads(t, q, u)[1][name][..., part], axis=-1) / limit - 1.0

                tests.append((beyond, "rising"))
        return tests

    # ---------------------------------------------------------------- what conditions look at: one state, or many

    def _all_rows(self, t: Any, q: np.ndarray, u: np.ndarray) -> ConstraintRows:
        """Of all constraints, whether they hold or not; conditions that look at the same states share them."""
        key, rows = self._seen
        if rows is None or key is not q:
            rows = rows_of(self._everything, q, u, t, matrix=False)
            self._seen = q, rows
        return rows

    def _apart(self, name: str, t: Any, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distance between the two sides of a constraint (m or rad), and the speed at which they move."""
        rows, own = self._all_rows(t, q, u), _rows_in(self._everything, name)
        what = self._everything.constraints.what[own]
        some = [n for n, w in enumerate(what) if w.startswith(("displacement", "distance"))] or list(range(len(what)))
        g, rate = rows.g[..., own][..., some], rows.rate[..., own][..., some]
        return np.linalg.norm(g, axis=-1), np.linalg.norm(rate, axis=-1)

    def out_of_reach(self, name: str, t: float, y: np.ndarray) -> str | None:
        """Why something may not be made now: it is too far away, or too fast, for what makes it by itself."""
        x, self._seen = self.temporaries[name], (None, None)
        near, speed = (float(v) for v in self._apart(name, t, *self.split(y)))
        if x.make_within is not None and near > x.make_within:
            return f"{near:.4g} m or rad away, and {x.make_within:g} is near enough"
        if x.make_below is not None and speed > x.make_below:
            return f"moving at {speed:.4g} m/s or rad/s, and {x.make_below:g} is slow enough"
        return None

    def _approach(self, name: str, t: Any, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """How far a one-sided constraint is from being reached, and the rate of that."""
        rows, first, sign = self._all_rows(t, q, u), _rows_in(self._everything, name).start, self._sign(name)
        return sign * rows.g[..., first], sign * rows.rate[..., first]

    def _sign(self, name: str) -> float:
        """A contact is open where its residual is positive, a rope where it is negative."""
        return -1.0 if isinstance(self.whole.model.constraints[name], Distance) else 1.0

    def _loads(self, t: Any, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """Multipliers of the constraints that hold, and what each does to its body."""
        tau = self.force(t, q, u) if q.ndim == 1 else np.array([self.force(*s) for s in zip(t, q, u, strict=True)])
        udot = forward_dynamics(self.system, q, u, tau, t=t, algorithm=self.algorithm)
        held = multipliers_of(self.system, q, u, udot, tau, t=t)
        return held.lam, wrenches_of(self.system, q, u, held.rows.wrenches, held.lam)

    def _holding(self, name: str, t: Any, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The force of a one-sided constraint, positive as long as it is not asked to pull (a rope: to push)."""
        return self._sign(name) * self._loads(t, q, u)[0][..., _rows_in(self.system, name).start]

    # ---------------------------------------------------------------- changes

    def apply(self, name: str, action: str, t: float, y: np.ndarray) -> None:
        """Make or break one; y changes in place."""
        self.passed.add((name, action))
        if action == "break":
            self._break(name, t)
        elif not self.temporaries[name].one_sided or self._reached(name, t, *self.split(y)):
            self._make(name, t, y)

    def settle(self, t: float, y: np.ndarray) -> None:
        """Whatever follows at the same moment: what is reached, or pulls."""
        q, u = self.split(y)
        for _ in range(MOST_AT_ONCE):
            if not self._next(t, y, q, u):
                return
        raise SimulationError(
            f"constraints of '{self.whole.name}' are made and broken without end at t = {t:.6g} s",
            hint="restitution of 1 between bodies that rest on each other never comes to rest",
        )

    def returns(self, t: float, y: np.ndarray) -> tuple[float, ...]:
        """When to look after what has just bounced, so that a short flight is not overlooked between two looks."""
        (q, u), times = self.split(y), []
        for name in {c.name for c in self.changes if c.t == t and c.what == "bounced"} - self.system.held.keys():
            rate, fall = float(self._approach(name, t, q, u)[1]), -self._fall(name, t, q, u)
            if fall > 0.0 and rate > 0.0:
                times += [t + share * 2.0 * rate / fall for share in LOOKS]
        return tuple(sorted(times))

    def _fall(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> float:
        """The acceleration at which a one-sided constraint that is open goes farther away."""
        udot = forward_dynamics(self.system, q, u, self.force(t, q, u), t=t, algorithm=self.algorithm)
        rows, first = rows_of(self._everything, q, u, t), _rows_in(self._everything, name).start
        return self._sign(name) * float(rows.C[first] @ udot - rows.gamma[first])

    def _reached(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        """Whether something one-sided is there and comes nearer, or is about to."""
        self._seen = None, None  # u changes in place
        gap, rate = self._approach(name, t, q, u)
        if gap > CLOSED * max(1.0, self._everything.constraints.size) or rate > STILL:
            return False
        return bool(rate < -STILL or self._fall(name, t, q, u) < -STILL)

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
        self.system = self.dress(self.whole.holding({n: c for n, c in self.system.held.items() if n != name}))
        self.changes.append(Change(name, "broken", t, np.zeros(6), 0.0, None))

    def _make(self, name: str, t: float, y: np.ndarray) -> None:
        """Close what is open and put speeds onto it; y changes in place. What contradicts the others is refused."""
        if name in self.system.held:
            return
        (q, u), x = self.split(y), self.temporaries[name]
        placed = self._placed(name, q, u)
        order = [n for n in self.whole.model.constraints if n in self.system.held or n == name]
        new = self.whole.holding({n: placed if n == name else self.system.held[n] for n in order})
        q2, u2 = q.copy(), u.copy()
        gap = 0.0 if x.one_sided else project(new, q2, u2, t)
        over = np.zeros(new.constraints.count)
        bounces = False
        if x.one_sided:
            self._seen = None, None
            rate = float(self._approach(name, t, q, u)[1])
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
            self.system = self.dress(new)
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

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q and u of y, as views."""
        return y[: self.whole.nq], y[self.whole.nq : -1]


def _rows_in(system: System, name: str) -> slice:
    rows = [n for n, owner in enumerate(system.constraints.owner) if owner == name]
    return slice(rows[0], rows[-1] + 1)
