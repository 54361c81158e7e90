"""Whether a contact or rope that would pull is released: by its force while it holds, and by the acceleration at which
its two sides part when it does not.

Symbols  lam_n is the force of a contact, positive where it pushes, a_n the acceleration at which it opens. One that
         holds has a_n = 0 and lam_n >= 0, one that is open lam_n = 0 and a_n >= 0. Without rows across, lam_n < 0
         implies a_n > 0 after a release. A contact that rolls loses its rows across with the normal one, and may close
         again: a disc that pulls while it rolls, and falls when it does not. Then others that touch are tried, all sets
         of them, those first that differ least; if none fits, rigid bodies have no motion there, and the run ends.
         One that sticks by friction slips first.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from ...dynamics.constraints.jacobian import rows_of
from ...dynamics.functions import forward_dynamics
from ...errors import SimulationError
from ...result.records import Change
from ...system.system import System
from .friction import STILL

if TYPE_CHECKING:
    from .constraint_state import ConstraintState

CLOSES = 1e-8  # of what makes up an acceleration: less may be rounding
MOST_TRIED = 8  # contacts of which all sets are tried
STANDS = 1e-9  # s, and of the time, of q and of u: what changes by less stands
MOST_CHANGES = 20  # of one constraint while all stands


def release_if_it_opens(b: ConstraintState, name: str, t: float, y: np.ndarray) -> None:
    """Release a contact or rope that would pull; if it closes again, change others, or end the run."""
    q, u = b.split(y)
    held = {n: c for n, c in b.system.held.items() if n != name}
    without = b.whole.holding(held, {n: d for n, d in b.system.sliding.items() if n != name})
    opens, least = opening(b, without, name, t, q, u)
    if opens >= -least:
        b.let_go(name, t)
        return
    if name in b.friction.names and name not in b.system.sliding:
        b.friction.decide(t, y, release=name)
        return
    for held_now in _others(b, name, t, q, u):
        if _fits(b, held_now, t, q, u):
            for other in [n for n in b.system.held if n not in held_now.held]:
                b.let_go(other, t)
            b.hold(held_now.held, held_now.sliding)
            for other in [n for n in held_now.held if n not in held and n != name]:
                b.note(Change(other, "activated", t, np.zeros(6), 0.0, None))
            return
    rolls = b.system.constraints.what[b.rows_in(b.system, name)][1:] and name not in b.friction.names
    raise SimulationError(
        f"contact '{name}' of '{b.whole.name}' can neither hold nor open at t = {t:.6g} s",
        expected="a force that pushes while it holds, or sides that part when it is released",
        got=f"it would pull to hold, and close again at {-opens:.3g} m/s^2 when released",
        hint="it rolls without slipping, whatever force across that takes: pass friction, so that it can slip, or "
        'slip="all"'
        if rolls
        else "rigid bodies have no motion from here: give it other friction, or a spring and a damper",
    )


def opening(
    b: ConstraintState, system: System, name: str, t: float, q: np.ndarray, u: np.ndarray
) -> tuple[float, float]:
    """The acceleration at which something unilateral that is open goes farther away, and how much of it may be
    rounding.
    """
    udot = forward_dynamics(system, q, u, b.force(t, q, u), t=t, algorithm=b.algorithm)
    rows, first = rows_of(b.everything, q, u, t), b.rows_in(b.everything, name).start
    moved, gamma = rows.C[first] * udot, float(rows.gamma[first])
    size = float(np.abs(moved).sum()) + abs(gamma)
    return b.sign(name) * (float(moved.sum()) - gamma), max(STILL, CLOSES * size)


def _others(b: ConstraintState, name: str, t: float, q: np.ndarray, u: np.ndarray) -> Iterator[System]:
    """Systems with other contacts and ropes of those that touch: all sets, those first that change fewest."""
    held, sliding = b.system.held, b.system.sliding
    touch = [n for n, x in b.temporaries.items() if x.unilateral and (n in held or b.touches(n, t, q, u))]
    touch = touch if len(touch) <= MOST_TRIED else [name]
    for count in range(1, len(touch) + 1):
        for some in combinations(touch, count):
            if some == (name,):
                continue
            now = [n for n in b.whole.model.constraints if (n in held) != (n in some)]
            constraints = {n: held[n] if n in held else b.whole.model.constraints[n] for n in now}
            yield b.whole.holding(constraints, {n: d for n, d in sliding.items() if n in constraints})


def _fits(b: ConstraintState, system: System, t: float, q: np.ndarray, u: np.ndarray) -> bool:
    """Whether all contacts and ropes that it holds push, and all others that touch part."""
    lam = b.reactions_in(system, t, q, u)[0]
    for name, x in b.temporaries.items():
        if not x.unilateral:
            continue
        if name in system.held:
            if b.sign(name) * lam[b.rows_in(system, name).start] < -b.no_pull(name, lam):
                return False
        elif name in b.system.held or b.touches(name, t, q, u):
            opens, least = opening(b, system, name, t, q, u)
            if opens < -least:
                return False
    return True


class Standstill:
    """Ends a run in which constraints change again and again while time and state stand."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.forget()

    def forget(self) -> None:
        """Begin to count anew, as for commands that are given while time stands."""
        self.t, self.state, self.counts = -np.inf, np.zeros(0), dict[str, int]()

    def look(self, change: Change) -> None:
        """Count a change.

        Raises
        ------
        SimulationError
            if one constraint has changed more than MOST_CHANGES times since the state has moved.
        """
        state = np.concatenate([change.q_after, change.u_after])
        least = STANDS * max(1.0, float(np.abs(state).max(initial=0.0)))
        jump = float(np.abs(change.u_after - change.u_before).max(initial=0.0))
        stands = change.t - self.t <= STANDS * max(1.0, abs(change.t)) and jump <= least
        if not stands or np.abs(state - self.state).max(initial=0.0) > least:
            self.t, self.state, self.counts = change.t, state, {}
        self.counts[change.name] = self.counts.get(change.name, 0) + 1
        if self.counts[change.name] > MOST_CHANGES:
            names = ", ".join(f"'{n}'" for n, count in self.counts.items() if 2 * count > MOST_CHANGES)
            raise SimulationError(
                f"{names} of '{self.name}' change without end at t = {change.t:.6g} s",
                expected="a set of constraints with which the motion can go on",
                got=f"{MOST_CHANGES} changes of '{change.name}', the last one \"{change.what}\", while nothing moves",
                hint="friction, loads or events at their limits contradict each other: change friction, release_force "
                "or release_torque there, or what events do",
            )
