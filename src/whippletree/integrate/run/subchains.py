"""Runs of a cut system: each subchain's own state is integrated; rows are in the System's coordinates. Step X.

Paper    [anderson1999] step X; methods as methods/rk4.py and methods/dopri5.py say.
Symbols  y = (q, u, work) of the cut system.
Differs  steps are taken here, around compiled recursions: a system that is worth cutting is large.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dynamics.accuracy.unevenness import mass_grading
from ...dynamics.two_handle.partition import LOSSY
from ...errors import ModelError
from .. import motion
from ..methods import dopri5
from ..methods.fixed_step import first_steps, steps_between
from ..methods.step_size import LEAST_PAST, SAFETY
from ..methods.tableau import Tableau
from .subchain_motion import Motion
from .task import Failure, Task

# numbers of a run: rows filled, time, when the last step began and its length, the next step, error of the last one,
# whether one was rejected, counts of both kinds; of fixed steps those since the last row, and how many to the next
ROW, TIME, FROM, LENGTH, STEP, PAST, REJECTED, ACCEPTED, REJECTIONS, DONE, EVERY, AT_ROW = range(12)
HEAD = 12
ROUNDED = 2.0**-53
ROUNDING = 2.3e-15  # steps that are no longer than this share of the time do not move it
METHODS = ("rk4", "dopri5")


def weighed(weights: np.ndarray, K: np.ndarray) -> np.ndarray:
    """weights[0] K_0 + ..., one stage after the other: a product of matrices rounds by the place of a component."""
    total = weights[0] * K[0]
    for weight, stage in zip(weights[1:], K[1:], strict=True):
        total += weight * stage
    return total


class Run:
    """What both methods share; ``state`` is all there is to know about how far a run has come."""

    def __init__(self, task: Task, stages: int, motion: Motion) -> None:
        self.task, self.motion = task, motion
        self.plans = self
        ny = self.motion.ny
        sizes = np.cumsum([HEAD, self.motion.kept_size, ny, ny, stages * ny])
        self.state = np.zeros(sizes[-1])
        self.head, kept, self.y, self.begun, K = np.split(self.state, sizes[:-1])
        self.K = K.reshape(stages, ny)
        self.motion.keep_in(kept)
        self.restart(task.start, task.y, task.first)

    def recall(self, attrs: dict[str, Any], until: float) -> None:
        """All that was noted is in the state."""

    def restart(self, t: float, y: np.ndarray, row: int) -> None:
        """Go on from y of the System at t, with this row next."""
        head, counted = self.head, self.head[[ACCEPTED, REJECTIONS]].copy()
        head[:] = 0.0
        head[[ROW, TIME, FROM, PAST, ACCEPTED, REJECTIONS]] = row, t, t, LEAST_PAST, *counted
        self.y[:] = self.begun[:] = self.motion.from_tree(y)
        self.motion.pieces.place(self.y[: self.motion.nq], self.y[self.motion.nq : -1])

    @property
    def row(self) -> int:
        return int(self.head[ROW])

    @property
    def time(self) -> float:
        return float(self.head[TIME])

    @property
    def since(self) -> float:
        return float(self.head[FROM])

    def write_row(self, y: np.ndarray) -> None:
        """y of the cut system as the next row."""
        task, row, nq = self.task, self.row, self.task.system.nq
        found = self.motion.to_tree(y)
        task.Q[row], task.U[row], task.W[row] = found[:nq], found[nq:-1], found[-1]
        self.head[ROW] += 1

    def failed(self, what: str, y: np.ndarray) -> Failure:
        """The component that is not finite, else the first joint."""
        cut, nq = self.motion.cut, self.task.system.nq
        bad = np.flatnonzero(~np.isfinite(y[self.motion.nq : -1]))
        known = np.flatnonzero(cut.u_here == bad[0]) if bad.size else bad
        component = nq + (int(cut.u_rows[known[0]]) if known.size else 0)
        return Failure(what, self.time, component, "a smaller step, or mass and inertia for the outermost bodies")

    def at(self, t: float) -> np.ndarray:
        """(q, u, work) of the System at a time within the last step; the run itself is left as it was."""
        saved = self.state.copy()
        found = self.motion.to_tree(self.between(t)) if t != self.time else self.motion.to_tree(self.y)
        self.state[:] = saved
        return found

    def between(self, t: float) -> np.ndarray:
        raise AssertionError("each method has its own")


class FixedRun(Run):
    """Runge-Kutta of order 4 with a fixed step, as methods/rk4.py."""

    interpolates = False

    def __init__(self, task: Task, motion: Motion) -> None:
        self.every, self.h = steps_between(task.step, float(task.t[1]))
        super().__init__(task, 4, motion)

    def restart(self, t: float, y: np.ndarray, row: int) -> None:
        super().restart(t, y, row)
        every, h = first_steps(self.task, t, row, self.every, self.h)
        self.head[[EVERY, STEP, AT_ROW]] = every, h, t

    def proceed(self, steps: int) -> Failure | None:
        head, task = self.head, self.task
        for _ in range(steps):
            if self.row == task.t.size:
                break
            self.begun[:] = self.y
            head[FROM], head[LENGTH] = head[TIME], head[STEP]
            self.y[:] = self.step(self.time, self.begun, float(head[STEP]))
            head[DONE] += 1
            head[ACCEPTED] += 1
            head[TIME] = head[AT_ROW] + head[DONE] * head[STEP]
            if not self.motion.finite(self.y):
                return self.failed("ceased to be finite", self.y)
            if head[DONE] == head[EVERY]:
                head[[TIME, AT_ROW]] = task.t[self.row]
                self.write_row(self.y)
                head[[DONE, EVERY, STEP]] = 0, *first_steps(task, self.time, self.row, self.every, self.h)
        return None

    def step(self, t: float, y: np.ndarray, h: float) -> np.ndarray:
        """y a step further; names as in methods/rk4.py."""
        m, K, nq = self.motion, self.K, self.motion.nq
        q, u = y[:nq].copy(), y[nq:-1].copy()

        def rates(share: float, q: np.ndarray, u: np.ndarray, n: int) -> np.ndarray:
            m.rates(t + share * h, np.concatenate([q, u, y[-1:]]), K[n])
            return K[n, nq:-1]

        def moved(q: np.ndarray, by: np.ndarray) -> np.ndarray:
            out = np.empty_like(q)
            motion.moved(m.memory, q, by, out, 0, 1)
            return out

        a1 = rates(0.0, q, u, 0)
        q2, u2 = moved(q, h / 2 * u), u + h / 2 * a1
        a2 = rates(0.5, q2, u2, 1)
        q3, u3 = moved(q, h / 2 * u2), u + h / 2 * a2
        a3 = rates(0.5, q3, u3, 2)
        q4, u4 = moved(q2, h * u3 - h / 2 * u), u + h * a3
        a4 = rates(1.0, q4, u4, 3)
        new = moved(q, h / 4 * u + h / 6 * u2 + h / 6 * u3 - h / 12 * u4)
        new = moved(new, -h / 12 * u + h / 6 * u2 + h / 6 * u3 + h / 4 * u4)
        work = y[-1] + h / 6 * (K[0, -1] + 2 * K[1, -1] + 2 * K[2, -1] + K[3, -1])
        found = np.concatenate([new, u + h / 6 * (a1 + 2 * a2 + 2 * a3 + a4), [work]])
        m.close(found)
        return found

    def between(self, t: float) -> np.ndarray:
        return self.begun.copy() if t == self.since else self.step(self.since, self.begun, t - self.since)

    def attrs(self) -> dict[str, Any]:
        return {"step": self.h} | self.motion.attrs()


class AdaptiveRun(Run):
    """An adaptive Runge-Kutta method with dense output, as adaptive.py; ``begun`` is y where the last step began."""

    interpolates = True

    def __init__(self, task: Task, method: Tableau, motion: Motion) -> None:
        self.method, count = method, method.stages + method.extra
        self.A, self.E = method.A.reshape(count, count), method.E.reshape(2, method.stages)
        self.D = method.D.reshape(method.rows, count)
        super().__init__(task, method.stages + 1, motion)
        self.K, self.f = self.K[:-1], self.K[-1]

    def restart(self, t: float, y: np.ndarray, row: int) -> None:
        super().restart(t, y, row)
        self.head[STEP] = 0.0

    def _norm(self, x: np.ndarray, *near: np.ndarray) -> float:
        """RMS of x, each component in units of its tolerance; no number where x is none."""
        scale = self.task.atol + self.task.rtol * np.max(np.abs(near), axis=0)
        return float(np.sqrt(self.motion.mean((x / scale) ** 2)))

    def _first_step(self) -> float:
        """As methods/step_size.py."""
        y, f, spare = self.y, self.f, np.zeros(self.motion.ny)
        d0, d1 = self._norm(y, y), self._norm(f, y)
        h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
        self.motion.rates(self.time + h, y + h * f, spare)
        most = max(d1, self._norm(spare - f, y) / h)
        if not most < np.inf:
            return max(1e-6 * h, 1e-12)
        better = max(1e-6, 1e-3 * h) if most <= 1e-15 else (0.01 / most) ** (1.0 / self.method.control.order)
        return float(min(100.0 * h, better))

    def _control(self, h: float, error: float) -> bool:
        """Whether the step is accepted; the next one by Hairer's PI controller, as methods/step_size.py."""
        k, c = self.method.control, self.head
        raw = error**k.exponent
        if error <= 1.0:
            factor = raw / c[PAST] ** k.beta / SAFETY
            new = h / max(1.0 / k.grow, min(1.0 / k.shrink, factor))
            c[PAST] = max(error, LEAST_PAST)
            c[STEP] = min(new, h) if c[REJECTED] else new
            c[REJECTED] = 0.0
            c[ACCEPTED] += 1
            return True
        c[STEP] = h / min(1.0 / k.shrink, raw / SAFETY) if raw < np.inf else h * k.shrink
        c[REJECTED] = 1.0
        c[REJECTIONS] += 1
        return False

    def proceed(self, steps: int) -> Failure | None:
        head, task, until, marks = self.head, self.task, float(self.task.t[-1]), self.task.system.forces.marks
        if head[STEP] == 0.0:
            self.motion.rates(self.time, self.y, self.f)
            if not self.motion.finite(self.f):
                return self.failed("ceases to be finite", self.f)
            head[STEP] = self._first_step()
        for _ in range(steps):
            if self.row == task.t.size:
                break
            accepted = False
            while not accepted:
                if head[STEP] <= max(ROUNDING * head[TIME], 1e-18 * until):
                    return self.failed(f"needs steps below {head[STEP]:.1g} s", self.y)
                h, end, mark = float(min(head[STEP], task.step)), until, np.inf
                later = np.searchsorted(marks, head[TIME], side="right")
                if later < marks.size:  # adaptive.py says why steps end there
                    mark = float(marks[later])
                    end = min(until, mark)
                last = head[TIME] + 1.01 * h >= end
                h = end - float(head[TIME]) if last else h
                new = self._try(h, mark * (1.0 - 2.0 * ROUNDED))
                error = self._error(h, new)
                accepted = self._control(h, error)
            self.begun[:], self.y[:], self.f[:] = self.y, new, self.K[-1]
            head[FROM], head[LENGTH] = head[TIME], h
            head[TIME] = end if last else head[TIME] + h
            if last and end == mark:
                self.motion.rates(mark, self.y, self.f)
            self._write_rows()
        return None

    def _try(self, h: float, before: float) -> np.ndarray:
        """The stages of a step, none behind ``before``, and y at its end, which is on the cuts, where the last stage is
        taken."""
        m, K, stages = self.motion, self.K, self.method.stages
        K[0] = self.f
        new = self.y
        for s in range(1, stages):
            new = self.y + h * weighed(self.A[s, :s], K[:s])
            if s == stages - 1:
                m.unit(new)
                m.close(new)
            m.rates(min(float(self.head[TIME]) + self.method.C[s] * h, before), new, K[s])
        return new

    def _error(self, h: float, new: np.ndarray) -> float:
        error = self.method.margin * self._norm(h * weighed(self.E[0], self.K), self.y, new)
        return error if error < np.inf else np.inf

    def between(self, t: float) -> np.ndarray:
        """y at a time within the last step, in the form of DOPRI5."""
        h, K, x = float(self.head[LENGTH]), self.K, (t - self.since) / max(float(self.head[LENGTH]), 1e-300)
        if h == 0.0:
            return self.y.copy()
        rise = self.y - self.begun
        bend = h * K[0] - rise
        rows = [self.begun, rise, bend, rise - h * K[-1] - bend, *(h * weighed(d, K) for d in self.D)]
        total = rows[-1]
        for r in range(len(rows) - 2, -1, -1):
            total = rows[r] + (x if r % 2 == 0 else 1.0 - x) * total
        self.motion.unit(total)
        return total

    def _write_rows(self) -> None:
        t = self.task.t
        while self.row < t.size and t[self.row] <= self.time:
            at = float(t[self.row])
            self.write_row(self.y if at == self.time else self.between(at))

    def attrs(self) -> dict[str, Any]:
        counts = {"accepted": int(self.head[ACCEPTED]), "rejected": int(self.head[REJECTIONS])}
        return {"rtol": self.task.rtol, "atol": self.task.atol} | counts | self.motion.attrs()


def check(task: Task) -> None:
    """Refuse what is not run in subchains."""
    if task.system.nb == 1:
        raise ModelError(
            f"nothing moves in '{task.system.name}', so there is nothing to cut",
            hint="take an algorithm that cuts nothing",
        )
    if task.integrator not in METHODS:
        raise ModelError(
            f"integrator '{task.integrator}' does not run subchains",
            hint="take one of " + ", ".join(METHODS) + ", or an algorithm that cuts nothing",
        )
    ratio, body = mass_grading(task.system)
    if ratio >= LOSSY:
        raise ModelError(
            f"a run of '{task.system.name}' in subchains would lose digits: a light body carries a heavy one",
            where=task.system.mechanical(body),
            got=f"one {ratio:.1e} times as heavy as itself",
            expected=f"less than {LOSSY:g}",
            hint="an algorithm that cuts nothing runs it; single states are refined",
        )
    if task.system.forces.motions:
        row = next(iter(task.system.forces.motions))
        body = int(np.searchsorted(task.system.arrays["dof"], row, side="right")) - 1
        raise ModelError(
            f"subchains do not run '{task.system.name}', which has a prescribed motion",
            where=task.system.mechanical(body),
            hint="an algorithm that cuts nothing runs it; single states are no matter",
        )


def begin(task: Task, motion: Motion | None = None) -> Run:
    """A run of subchains by the integrator of the task; ``motion`` is that of a share where ranks have parts of it."""
    check(task)
    motion = motion or Motion(task)
    return FixedRun(task, motion) if task.integrator == "rk4" else AdaptiveRun(task, dopri5.TABLEAU, motion)
