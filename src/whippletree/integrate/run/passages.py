"""When a run looks for a pose where loops lose rank, and with what it goes through."""

from __future__ import annotations

import math

import numpy as np

from ...dynamics.accuracy.certificate import Problem
from ...dynamics.accuracy.trust import scale_of
from ...dynamics.constraints.jacobian import rows_of
from ...dynamics.functions import solve_again
from ...dynamics.loads.applied import signals
from ...dynamics.registry import find
from ...dynamics.stepping.by_calls import stepper_of
from ...dynamics.stepping.stabilization import PROJECTION
from ...model import constraint_kind
from ...system.system import System
from ..motion import advance
from ..project import project
from .passage import AIM, LARGEST, RANK, Crossing, Passage, Weakness, room
from .plans import Plans
from .task import Task

NEAR = 4.0  # steps, or little moves, before or behind it: nearer, a pose where rank is lost may be why steps are short
SHARE = 0.08  # of the time in which the motion changes as a whole, as steps have it: half a passage
LENGTHS = (1.0, 0.5, 2.0, 0.25, 4.0)  # of this that are tried
HALVES = (1.0, 0.7, 1.4, 0.5, 2.0)  # or of the half length that is right by what was found from farther away
TURNS = (4.0, 2.0, 1.0)  # and of the time in which the mechanism moves a little
WITHIN = 0.5  # of a half length before the pose: from there a polynomial is looked for
GROWTH = 13.0  # the error of a polynomial is like its length to this power
LOWER = 0.3  # of AIM, so that it is met
CHANGE = 0.25, 0.9  # of half lengths from one look to the next
FALLS = 0.5  # of errors from one look to the next: more, and it is rounding
AWAY = 0.05  # rad, or sizes of the mechanism: from a pose that is to be named to one that it is compared with
LOST = 1e-2  # of what holds there
START = 1e-3  # of what holds a little later: a run begins in a pose where rank is lost
CURVED = 4.0 * AWAY**2  # of rows of unit size, over a little move squared: how much faster singular values come to fall
OPENED = 1e-8  # rad and m, by which loops are opened to see what accelerations make of it
UNLIKE = 10.0  # relative difference over that: 1e-6 of most mechanisms, 1 of overconstrained ones, else above 20
STANDS = 1e-9  # rad/s, or sizes of the mechanism per second: what is slower goes nowhere
HINT = "loosen rtol and atol, take integrator='dopri5', or begin behind that pose"


def starts_singular(system: System, q: np.ndarray, u: np.ndarray) -> bool:
    """Whether loops have less rank in a pose than where its velocities lead."""
    fastest = float(np.abs(u).max(initial=0.0)) / min(1.0, system.constraints.size)
    if not fastest > STANDS or not 0 < system.constraints.count <= LARGEST:
        return False
    ahead = advance(system, q, u, AWAY / fastest)
    project(system, ahead, u.copy(), 0.0)
    weak = Weakness(system, 0.0, ahead)
    return weak.rank > 0 and weak.of(0.0, q) < START * weak.first


def depends_on_closure(system: System, algorithm: str, other: str, q: np.ndarray, u: np.ndarray) -> bool:
    """Whether accelerations change with how far loops are open, as stages of steps leave them, much more than by
    another algorithm: where axes are parallel only while loops are closed, a plan holds only then, and steps are short.
    """
    if not 0 < system.constraints.count <= LARGEST:
        return False
    force, now, plan_at = np.zeros(system.nu), signals(system, 0.0), stepper_of(system, algorithm).plan_at
    if plan_at is None or not plan_at(system, q, now).exchanged.size:
        return False
    closed, opened = (Problem(system, x, u, force, now) for x in (q, q + OPENED * np.cos(1.0 + np.arange(q.size))))
    if solve_again(closed, algorithm, algorithm) is None:  # its plan is made here
        return False
    found, right = (solve_again(opened, name, name) for name in (algorithm, other))
    if found is None or right is None:
        return False
    return bool(np.abs(found - right).max() > UNLIKE * OPENED * scale_of(system, right))


def vary(system: System) -> bool:
    """Whether rows depend on poses: those of velocities of joints alone keep their rank."""
    kept = [c.name for c in system.model.constraints.values() if constraint_kind(c).velocities]
    return not set(system.constraints.owner) <= set(kept)


class Passages:
    """``width``: numbers of a run's state that the polynomial of a passage takes, 0 where none is looked for."""

    def __init__(self, task: Task, plans: Plans) -> None:
        self.task, self.plans = task, plans
        by = find(task.algorithm)
        looks = task.system.constraints.count > 0 and task.stabilization == PROJECTION
        looks = looks and by is not None and by.handles_loops
        looks = looks and task.system.constraints.count <= LARGEST and vary(task.system)
        self.width = room(task.y.size) if looks else 0
        self.evaluations = 0
        self.last: Crossing | None = None

    def natural(self, y: np.ndarray, until: float) -> float:
        """A length of steps (s) to begin with: the mechanism moves a little."""
        nq, size = self.task.system.nq, self.task.system.constraints.size
        fastest = float(np.abs(y[nq:-1]).max(initial=0.0)) / min(1.0, size) if self.width else 0.0
        return min(AWAY / fastest, until) if fastest > STANDS else 0.0

    def look(self, t: float, y: np.ndarray, step: float, whole: float = 0.0, half: float = 0.0) -> Crossing | None:
        """A pose ahead or just behind where rank is lost, with the best way through it; None if there is none.

        ``step``: the length (s) of steps farther away; ``whole``: in how many of them the
        motion changes as a whole, where that is known; ``half``: as :meth:`nearer` says.
        """
        self.evaluations = 0
        if not self.near(t, y, step):
            return None
        task, turn = self.task, self.natural(y, np.inf)
        allowed = task.atol + task.rtol * np.abs(y)
        way = Passage(task.system, self.plans.beside, task.tau, task.call, t, y, allowed)
        with self.plans.at_work():
            lengths = [n * half for n in HALVES] if half else [n * SHARE * whole * step for n in LENGTHS if whole]
            self.last = way.through(lengths + [n * turn for n in TURNS])
        self.evaluations = way.evaluations
        return self.last

    def nearer(self, t: float, found: Crossing) -> tuple[float, float] | None:
        """From where (s) to look again, and the half length that is right by an error; None behind the pose.

        Long steps see a pose from so far that only polynomials too long to be good reach it.
        """
        half = (found.high - found.t) * float(np.clip((LOWER * AIM / found.error) ** (1.0 / GROWTH), *CHANGE))
        return (max(t, found.t - WITHIN * half), half) if found.t > t else None

    def near(self, t: float, y: np.ndarray, step: float) -> bool:
        """Whether rows go to a loss of rank, or come from it, within a few steps."""
        system, nq = self.task.system, self.task.system.nq
        q, u = y[:nq], y[nq:-1]
        back = advance(system, q, u, -max(step, self.natural(y, np.inf)))
        weak = Weakness(system, t, back)
        if weak.rank == 0:
            return False
        here, there = weak.of(t, q), weak.of(t, back)
        return here < NEAR * abs(there - here) + RANK

    def clear(self, t: float, y: np.ndarray) -> float:
        """For how long (s), at these velocities, no rank is lost.

        The least singular value falls as fast as any changes here, and ever faster, by CURVED: it may be largest here.
        """
        system, nq, turn = self.task.system, self.task.system.nq, self.natural(y, np.inf)
        if turn == 0.0:
            return np.inf
        weak = Weakness(system, t, advance(system, y[:nq], y[nq:-1], -turn))
        if weak.rank == 0:
            return np.inf
        here = weak.sizes_at(t, y[:nq])[: weak.rank]
        change = float(np.abs(here - weak.sizes[: weak.rank]).max(initial=0.0))
        return 2.0 * float(here[-1]) * turn / (change + math.sqrt(change**2 + 2.0 * CURVED * float(here[-1])))

    def lost(self, t: float, y: np.ndarray) -> str | None:
        """Which loops lose rank in this pose, in words."""
        if self.last and abs(self.last.t - t) < NEAR * max(self.last.high - self.last.low, 1e-6):
            return f"cannot be followed through a pose where {self.last.words()}"
        system, nq = self.task.system, self.task.system.nq
        step = self.natural(y, np.inf)
        if not self.width or step == 0.0 or not np.isfinite(y).all():
            return None
        q, u = advance(system, y[:nq], y[nq:-1], -step), y[nq:-1].copy()
        project(system, q, u, t)
        weak = Weakness(system, t, q)
        rank, loops = weak.lost(t, y[:nq], LOST * weak.first)
        if rank == weak.rank or np.abs(rows_of(system, q, u, t).g).max() > 1e-6:
            return None
        return f"cannot be followed through a pose where {Crossing(t, rank, weak.rank, loops, np.inf).words()}"
