"""Friction that sticks and slips: when a contact or clutch begins to slip, where to, and when it sticks again.

While it sticks, rows hold it across as far as friction goes. While it slips they are gone, and a row of friction
(kernels/rolling.py, dynamics/constraints/sliding.py) pushes against the slip. A slip that ends sticks if what that
takes is within the limit; else it slips the way it is pulled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dynamics.constraints.jacobian import rows_of
from ...dynamics.functions import forward_dynamics
from ...dynamics.kinematics import kinematics
from ...errors import SimulationError
from ...model import constraint_kind
from ...model.pose import Vector
from ...result.records import Change
from ...system.system import System
from .collision import Struck, inelastic
from .impulse import friction_pivots, impulse

if TYPE_CHECKING:
    from .constraint_state import ConstraintState

STILL = 1e-9  # m/s or m/s^2: rounding of a speed or acceleration that is none
SLACK = 1e-9  # of the largest load: rounding of a limit
TURNED = 0.5  # cosine of the angle by which a slip may turn before its direction is noted anew
JAMMED = 1e-6  # of a contact that friction does not touch
ROUNDING = 1e-13  # m/s: below, a slip is none, as that of a foot at its limit whose body others hold
MOST = 100  # rounds in which a direction is found


class Friction:
    """What sticks and slips among the temporary constraints of a run."""

    def __init__(self, constraint_state: ConstraintState) -> None:
        self.constraint_state = constraint_state
        self.names = rubbing(constraint_state.whole)
        self.decided: dict[str, float] = {}  # when it was found whether each sticks or slips

    # ---------------------------------------------------------------- looks: one state, or many

    def slip(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """(..., 3) Velocity at which the two sides slip, in axes of the surface; of velocities, the first number."""
        whole = self.constraint_state.everything
        rows = self.constraint_state.all_rows(t, q, u)
        return self._across(whole, name, q, u, rows.wrenches, rows.rate)

    def turning(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Falls through zero where a slip ends, or has turned."""
        slip, toward = self.slip(name, t, q, u), np.array(self.constraint_state.system.sliding[name])
        if constraint_kind(self.constraint_state.whole.model.constraints[name]).velocities:  # no kink where it ends
            return np.asarray(slip @ toward + ROUNDING)
        return np.asarray(slip @ toward - TURNED * np.linalg.norm(slip, axis=-1) + ROUNDING)

    def excess(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Load across beyond what friction holds (N or N m), of what sticks."""
        lam, wrenches = self.constraint_state.reactions(t, q, u)
        across, limit = self.across(self.constraint_state.system, name, q, u, wrenches, lam)
        return np.asarray(np.linalg.norm(across, axis=-1) - limit)

    def across(
        self, system: System, name: str, q: np.ndarray, u: np.ndarray, wrenches: np.ndarray, lam: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(..., 3) Load, or impulse, that sticking takes, and the most there can be."""
        x = self.constraint_state.temporaries[name]
        found = self._across(system, name, q, u, wrenches, lam)
        if x.slips_at is not None:
            return found, np.full(lam.shape[:-1], x.slips_at)
        normal = lam[..., self.constraint_state.rows_in(system, name).start]
        return found, (x.static_friction or x.friction or 0.0) * np.maximum(normal, 0.0)

    def shared(self, system: System, lam: np.ndarray, null: np.ndarray) -> np.ndarray:
        """Multipliers by which feet that share a load across take of it as much as each is pressed down.

        Rigid bodies do not tell; so all of them reach their limits together. ``null`` (nr, k) may be added at will.
        """
        c, weight = system.constraints, np.zeros(lam.size)
        for name in self.names:
            if (
                name in system.held
                and name not in system.sliding
                and self.constraint_state.temporaries[name].unilateral
            ):
                own = self.constraint_state.rows_in(system, name)
                rows = [r for r in range(own.start, own.stop) if c.what[r].startswith("slip")]
                weight[rows] = 1.0 / np.sqrt(max(lam[own.start], SLACK * np.abs(lam).max(), 1e-300))
        some = weight > 0.0
        if not null.shape[1] or not some.any():
            return lam
        _, s, Vt = np.linalg.svd(null[~some])
        alone = null @ Vt[int((s > SLACK).sum()) :].T  # of them, what leaves all else as it is
        part = np.linalg.lstsq(weight[some, None] * alone[some], -weight[some] * lam[some], rcond=None)[0]
        return np.asarray(lam + alone @ part)

    def _across(
        self, system: System, name: str, q: np.ndarray, u: np.ndarray, wrenches: np.ndarray, size: np.ndarray
    ) -> np.ndarray:
        """(..., 3) Sum over the rows that sticking takes, each along its direction."""
        rows, c = self.constraint_state.rows_in(system, name), self.constraint_state.whole.model.constraints[name]
        held = [r for r in range(rows.start, rows.stop) if system.constraints.what[r].startswith(("slip", "speed"))]
        if constraint_kind(c).velocities:
            return np.stack([size[..., held[0]], *[np.zeros(size.shape[:-1])] * 2], axis=-1)
        whole = np.einsum("...r,...rx->...x", size[..., held], wrenches[..., held, 1, 3:])
        axes = kinematics(self.constraint_state.whole, q, u).rotation(c.to) @ c.to_at.rotation()  # type: ignore[union-attr]
        return np.asarray(np.einsum("...x,...xy->...y", whole, axes))

    # ---------------------------------------------------------------- changes

    def condition(self, name: str) -> tuple[str, str, Callable[..., Any], str]:
        """Action, word, what to watch and its direction."""
        if name in self.constraint_state.system.sliding:
            return "turn", "turns", lambda t, q, u: self.turning(name, t, q, u), "falling"
        return "slip", "slips", lambda t, q, u: self.excess(name, t, q, u), "rising"

    def turn(self, name: str, t: float, y: np.ndarray) -> None:
        """A slip has ended, or goes elsewhere."""
        slip = self.slip(name, t, *self.constraint_state.split(y))
        if np.linalg.norm(slip) > STILL:
            self.slide(name, t, _unit(slip))
        else:
            self.decide(t, y)

    def slide(self, name: str, t: float, toward: Vector) -> None:
        """From now on it slips; what slips already, another way."""
        b = self.constraint_state
        if b.system.sliding.get(name) != toward:
            b.hold(b.system.held, b.system.sliding | {name: toward})
            b.note(Change(name, "slips", t, np.zeros(6), 0.0, None, toward))

    def go_on(self, name: str, t: float, toward: Vector | None) -> None:
        """After an impact in which it held: it slips another way, or does not slip."""
        b = self.constraint_state
        if toward is not None:
            self.slide(name, t, toward)
        elif name in b.system.sliding:
            b.hold(b.system.held, {n: way for n, way in b.system.sliding.items() if n != name})
            b.note(Change(name, "sticks", t, np.zeros(6), 0.0, None))

    def next(self, t: float, y: np.ndarray) -> bool:
        """One more change at this moment, if there is one."""
        b, (q, u) = self.constraint_state, self.constraint_state.split(y)
        for name in self.names:
            if name not in b.system.held:
                continue
            moves, slides = float(np.linalg.norm(self.slip(name, t, q, u))) > STILL, name in b.system.sliding
            if moves and (not slides or self.turning(name, t, q, u) < 0.0):
                self.turn(name, t, y)
                return True
            if not moves and (self._undecided(name, t, q, u) if slides else self._lets_go(name, t, q, u)):
                self.decide(t, y)
                return True
        return False

    def _lets_go(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        return bool(self.excess(name, t, q, u) > SLACK * np.abs(self.constraint_state.reactions(t, q, u)[0]).max())

    def _undecided(self, name: str, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        """Whether something that slides is at rest, and may stick, or would go back, since something else changed."""
        if self.decided.get(name) != t:
            return True
        rate = self._slip_rates(self.constraint_state.system, (name,), t, q, u)[name]
        return float(rate @ np.array(self.constraint_state.system.sliding[name])) < -STILL

    def require_free(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Refuse contacts whose friction presses them together more than they resist."""
        b = self.constraint_state
        names, pivots = friction_pivots(b.system, q, u, t)
        for name, pivot in zip(names, pivots, strict=True):
            if not pivot > JAMMED:
                raise SimulationError(
                    f"contact '{name}' of '{b.whole.name}' jams at t = {t:.6g} s",
                    expected="a normal force that goes with its friction",
                    got=f"friction {b.temporaries[name].friction:g}",
                    hint="the more it is pressed, the more friction presses it (Painlevé): take less friction",
                )

    def decide(self, t: float, y: np.ndarray, release: str = "") -> None:
        """All that is at rest sticks together, but for what takes more than friction holds: that slips away.

        What is to be released slips, and with it all that is at its limit.
        """
        b, (q, u) = self.constraint_state, self.constraint_state.split(y)
        held, before = b.system.held, dict(b.system.sliding)
        rest = [n for n in self.names if n in held and np.linalg.norm(self.slip(n, t, q, u)) <= STILL]
        moving = {n: d for n, d in before.items() if n not in rest}
        found = impulse(b.whole.holding(held, moving), q, u, t)
        ways: dict[str, Vector] = {}
        slack = -SLACK if release else SLACK
        while True:
            now = b.whole.holding(held, moving | ways)
            lam, wrenches = b.reactions_in(now, t, q, found.u)
            reactions = {n: self.across(now, n, q, u, wrenches, lam) for n in rest if n not in ways}
            least = slack * np.abs(lam).max()
            new = {
                n: _unit(-a) for n, (a, limit) in reactions.items() if n == release or np.linalg.norm(a) - limit > least
            }
            if not new:
                break
            ways, slack, release = self._ways(moving, ways | new, t, q, u), SLACK, ""
        q_before, u_before = q.copy(), u.copy()
        lost = b.take(y, q_before.copy(), found.u)
        b.hold(now.held, now.sliding)
        self.decided |= dict.fromkeys(rest, t)
        for name in rest:
            toward = ways.get(name)
            if toward != before.get(name):
                what = "sticks" if toward is None else "slips"
                b.note(Change(name, what, t, np.zeros(6), lost, None, toward), q_before, u_before)
                lost, u_before = 0.0, u.copy()

    def _ways(
        self, moving: dict[str, Vector], ways: dict[str, Vector], t: float, q: np.ndarray, u: np.ndarray
    ) -> dict[str, Vector]:
        """Where all that leaves its rest slips to: where its friction, against that, lets it accelerate."""
        for n in range(MOST):
            system = self.constraint_state.whole.holding(self.constraint_state.system.held, moving | ways)
            rates, off = self._slip_rates(system, tuple(ways), t, q, u), 0.0
            for name, rate in rates.items():
                if np.linalg.norm(rate) > STILL:
                    step = _unit(rate) if n < MOST // 4 else _unit(np.add(_unit(rate), ways[name]))
                    off = max(off, float(np.linalg.norm(np.subtract(step, ways[name]))))
                    ways = ways | {name: step}
            if off < 1e-12:
                return ways
        return ways | self._ways_by_forces(moving, ways, t, q, u)

    def _ways_by_forces(
        self, moving: dict[str, Vector], ways: dict[str, Vector], t: float, q: np.ndarray, u: np.ndarray
    ) -> dict[str, Vector]:
        """The same of contacts whose normal forces depend much on where they slip to: forces and accelerations solve
        the problem that impulses and velocities of an inelastic impact solve.
        """
        b = self.constraint_state
        names = [name for name in ways if b.temporaries[name].unilateral]
        held = {name: c for name, c in b.system.held.items() if name not in names}
        base = b.whole.holding(held, {n: d for n, d in (moving | ways).items() if n in held})
        rows = rows_of(b.everything, q, u, t)
        own = [range(*b.rows_in(b.everything, name).indices(b.everything.constraints.count)) for name in names]
        some = [r for part in own for r in part]
        if not some or "displacement along y" in [b.everything.constraints.what[r] for r in some]:
            return {}
        first = np.cumsum([0, *map(len, own)])
        contacts = [
            Struck(slice(a, z), b.temporaries[name].friction or 0.0, 0.0)
            for name, a, z in zip(names, first[:-1], first[1:], strict=True)
        ]
        udot = forward_dynamics(base, q, u, b.force(t, q, u), t=t, algorithm=b.algorithm)
        still = rows_of(base, q, u, t, matrix=False).rate
        moved = np.array([impulse(base, q, u, t, still, c).u - u for c in rows.C[some]]).T
        f = inelastic(rows.C[some] @ moved, rows.C[some] @ udot - rows.gamma[some], contacts)
        if f is None:
            return {}
        rate = rows.C @ (udot + moved @ f) - rows.gamma
        found = {name: self._across(b.everything, name, q, u, rows.wrenches, rate) for name in names}
        return {name: _unit(slip) for name, slip in found.items() if np.linalg.norm(slip) > STILL}

    def _slip_rates(
        self, system: System, names: tuple[str, ...], t: float, q: np.ndarray, u: np.ndarray
    ) -> dict[str, np.ndarray]:
        """(3) How fast each slip grows."""
        b = self.constraint_state
        udot = forward_dynamics(system, q, u, b.force(t, q, u), t=t, algorithm=b.algorithm)
        rows = rows_of(b.everything, q, u, t)
        rate = rows.C @ udot - rows.gamma
        return {name: self._across(b.everything, name, q, u, rows.wrenches, rate) for name in names}


def rubbing(system: System) -> tuple[str, ...]:
    """Names of what sticks and slips."""
    known = system.model.temporaries.values()
    return tuple(x.name for x in known if x.friction is not None or x.slips_at is not None)


def free_to_slip(system: System) -> System:
    """The same where all that knows friction may slip, as it may at the start of a run."""
    names = [name for name in rubbing(system) if name in system.held]
    return system.holding(system.held, dict.fromkeys(names, (1.0, 0.0, 0.0))) if names else system


def _unit(x: np.ndarray) -> Vector:
    a, b, c = (x / np.linalg.norm(x)).tolist()
    return a, b, c
