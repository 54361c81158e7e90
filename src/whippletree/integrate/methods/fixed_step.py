"""The march of methods with a fixed step: so many steps from one output to the next.

Such steps do not show their error. So the rows of loops are looked at before they can have lost rank, and near a pose
where they do the run goes on along a passage, run/passages.py, to the last of its own times in it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiler.lanes import get, inline, kernel, put, view
from ...dynamics.stepping.closing import LOST
from ...dynamics.stepping.mechanism import impose, open_parts, served
from ...dynamics.stepping.samples import keep_sample, sample_next
from ...dynamics.stepping.stabilization import PROJECTION
from ...kernels.blocks import checksum
from ..project import close
from ..run.contradiction import contradiction_at, contradiction_beyond
from ..run.passage import on_branch, unpacked
from ..run.passages import HINT, Passages
from ..run.plans import Plans
from ..run.rank_watch import UNFOLLOWED, RankWatch
from ..run.task import Failure, Task

# the state of a march: rows filled, steps since the last one, time of that, steps to the next, step, and when the last
# step began, and steps in all; after how many rows of loops are looked at, when the passage under way ends, and whether
# the last step is part of one; then y = (q, u, work) now, and as it was then
ROW, STEP, FROM, EVERY, LENGTH, SINCE, TAKEN, LOOK, END, PASSED = range(10)
HEAD = 10
MOST = 32  # steps between two looks at how far the mechanism has moved
WITHIN = 0.5  # of the way on which rows may lose rank: up to there their singular values are not taken again
NEAR_STEPS, NEAR_TURNS = 2.0, 0.4  # a passage begins so near: in steps, or little moves
GOING, NOT_FINITE, PLAN, VIOLATED = 0, 1, -1, -2  # methods have more of their own


@kernel
def advance_velocities(n, u, h, a, out):
    """out = u + h a"""
    for j in range(n):
        put(out, j, get(u, j) + h * get(a, j))


@kernel
def scaled(n, a, u, out):
    """out = a u"""
    for j in range(n):
        put(out, j, a * get(u, j))


@inline
def view_state(m, state):
    """q and u in a state"""
    return view(state, HEAD, m.nq), view(state, HEAD + m.nq, m.nu)


@inline
def time_of(state):
    return state[FROM] + state[STEP] * state[LENGTH]


def steps_within(time: Any, step: Any) -> Any:
    """The number of steps, no longer than given, that fill a time."""
    return max(1, math.ceil(time / step * (1 - 1e-9)))


def is_shorter(time: Any, times: Any) -> Any:
    """Whether a time between outputs, the last one, is shorter than the others."""
    return time < (1.0 - 1e-9) * (times[1] - times[0])


own_steps_within, own_is_shorter = inline(steps_within), inline(is_shorter)


@kernel
def remember(m, x, state):
    """Before a step: when and where it begins; its first evaluation is looked at"""
    sample_next(open_parts(x)[0].sample)
    state[SINCE], state[PASSED] = time_of(state), 0.0
    ny = m.nq + m.nu + 1
    for j in range(HEAD, HEAD + ny):
        state[j + ny] = state[j]


@kernel
def keep(m, x, state, work, times, every, Q, U, W, samples, trail):
    """After a step: the last one before an output becomes a row of Q, U, W, each one of the trail, in turn; returns a
    status"""
    at = HEAD + m.nq + m.nu
    state[STEP] += 1.0
    q, u = view_state(m, state)
    impose(x, time_of(state), q, u)
    left = close(x, time_of(state), q, u)
    state[at] += work
    if checksum(view(state, HEAD + m.nq, m.nu)) != 0.0:
        return NOT_FINITE
    if trail.shape[0] > 0:
        n = int(state[TAKEN]) % trail.shape[0]
        trail[n, 0] = time_of(state)
        for j in range(at + 1 - HEAD):
            trail[n, 1 + j] = state[HEAD + j]
    state[TAKEN] += 1.0
    if left > LOST:  # the trail has it: an event before may have released a constraint
        return VIOLATED
    keep_sample(open_parts(x)[0].sample, samples, int(state[ROW]))
    if state[STEP] == state[EVERY]:
        row = int(state[ROW])
        for j in range(m.nq):
            Q[row, j] = state[HEAD + j]
        for j in range(m.nu):
            U[row, j] = state[HEAD + m.nq + j]
        W[row] = state[at]
        state[ROW] += 1.0
        state[STEP] = 0.0
        state[FROM] = times[row]
        state[EVERY] = every
        state[LENGTH] = (times[1] - times[0]) / every
        if row == times.shape[0] - 2 and own_is_shorter(times[row + 1] - times[row], times):
            state[EVERY] = own_steps_within(times[row + 1] - times[row], state[LENGTH])
            state[LENGTH] = (times[row + 1] - times[row]) / state[EVERY]
    return GOING if served(x) else PLAN


def steps_between(step: float, output_step: float) -> tuple[int, float]:
    """Steps from one output to the next, and the step shortened so that they fit."""
    every = int(steps_within(output_step, step))
    return every, output_step / every


def first_steps(task: Task, t: float, row: int, every: int, h: float) -> tuple[int, float]:
    """Steps from t to a row and their length, where whole intervals take ``every`` of h."""
    if row == task.t.size:
        return every, h
    if t != task.t[row - 1]:
        return steps_between(task.step, task.t[row] - t)
    return steps_between(h, task.t[row] - t) if is_shorter(task.t[row] - t, task.t) else (every, h)


class Run:
    """A march under way; ``state`` is all there is to know about how far it has come."""

    interpolates = False  # its steps are short

    def __init__(self, task: Task, march: Any, rows: int, more: int = 0) -> None:
        self.task, self.march = task, march
        self.every, self.h = steps_between(task.step, float(task.t[1] - task.t[0]))
        self.plans = Plans(task, rows)
        self.trail = np.zeros((0, 1 + task.y.size))  # time and y after each of the last steps, if there is room
        self.passages = Passages(task, self.plans)
        self.ranks = None if task.stabilization == PROJECTION else RankWatch(task, UNFOLLOWED)
        self.tail = HEAD + 2 * task.y.size + more
        self.behind = self.tail + self.plans.width
        self.seen = self.behind + self.passages.width  # how far rows keep their rank from a pose, and that pose
        self.state = np.zeros(self.seen + (1 + task.system.nq if self.passages.width else 0))
        self.restart(task.start, task.y, task.first)

    def restart(self, t: float, y: np.ndarray, row: int) -> None:
        """Go on from y at t, with this row next; the steps to it may be shorter."""
        every, h = first_steps(self.task, t, row, self.every, self.h)
        self.state[: HEAD + 2 * y.size] = np.concatenate([[row, 0.0, t, every, h, t, *[0.0] * (HEAD - 6)], y, y])
        self.plans.begin(self.state[self.tail : self.behind], t, y[: self.task.system.nq])
        if self.ranks:
            self.ranks.restart(t, y)

    @property
    def row(self) -> int:
        return int(self.state[ROW])

    @property
    def time(self) -> float:
        return float(self.state[FROM] + self.state[STEP] * self.state[LENGTH])

    @property
    def since(self) -> float:
        return float(self.state[SINCE])

    def at(self, t: float) -> np.ndarray:
        """y = (q, u, work) at a time within the last step: a shorter step from where that began."""
        if t == self.time:
            return self.state[HEAD : HEAD + self.task.y.size].copy()
        state = self.rewound()
        if t == self.since:
            return state[HEAD : HEAD + self.task.y.size]
        if self.state[PASSED] != 0.0:
            return unpacked(self.state[self.behind :], t, self.task.y.size)
        state[: TAKEN + 1] = self.task.first, 0.0, self.since, 2.0, t - self.since, self.since, 0.0
        self._march(state, 1, self.trail[:0], self.task.samples[:0])
        return state[HEAD : HEAD + self.task.y.size]

    def rewound(self) -> np.ndarray:
        """The state as it was when the last step began."""
        state, ny = self.state.copy(), self.task.y.size
        state[HEAD : HEAD + ny] = state[HEAD + ny : HEAD + 2 * ny]
        return state

    @property
    def taken(self) -> int:
        """Steps since it began, or began again."""
        return int(self.state[TAKEN])

    def _march(self, state: np.ndarray, steps: int, trail: np.ndarray, samples: np.ndarray) -> int:
        """So many steps, or fewer where the plan has to be made again."""
        task, memory = self.task, self.plans.memory(state[self.tail : self.behind])
        with self.plans.at_work():
            return self.march(
                memory, state, task.tau, task.call, task.t, self.every, self.plans.code,
                task.Q, task.U, task.W, samples, trail, steps,
            )  # fmt: skip

    def proceed(self, steps: int) -> Failure | None:
        while steps > 0 and self.row < self.task.t.size:
            some = 1 if self.plans.planned or self.ranks else steps
            if self.state[END] > self.time:
                self._pass()
                steps -= 1
                continue
            if self.passages.width:
                if self.taken >= self.state[LOOK] and (failure := self._look()):
                    return failure
                some = min(some, int(self.state[LOOK]) - self.taken)
                if self.state[END] > self.time:
                    continue
            status = self._march(self.state, some, self.trail, self.task.samples)
            if status not in (GOING, PLAN):
                return self.failed(status)
            if status == PLAN:
                q = self.state[HEAD : HEAD + self.task.system.nq]
                self.plans.renew(self.state[self.tail : self.behind], self.time, q)
            steps -= some
            if self.ranks:
                self.ranks.look(self.time, self.state[HEAD : HEAD + self.task.y.size])
        return None

    def _look(self) -> Failure | None:
        """Before rows can have lost rank; near that, a way through."""
        state, h, t, nq = self.state, self.state[LENGTH], self.time, self.task.system.nq
        y = state[HEAD : HEAD + self.task.y.size].copy()
        fastest, reach = float(np.abs(y[nq:-1]).max(initial=0.0)), state[self.seen]
        left = WITHIN * reach - float(np.abs(y[:nq] - state[self.seen + 1 :]).max(initial=0.0))
        if left > MOST * h * fastest:
            state[LOOK] = state[TAKEN] + MOST
            return None
        clear, turn = self.passages.clear(t, y), self.passages.natural(y, np.inf)
        state[self.seen] = clear * fastest if clear < np.inf else 0.0
        state[self.seen + 1 :] = y[:nq]
        state[LOOK] = state[TAKEN] + max(1, int(min(MOST, clear / (2.0 * h))))
        if clear > max(NEAR_STEPS * h, NEAR_TURNS * turn):
            return None
        found = self.passages.look(t, y, max(h, turn))
        if found is None:
            return None
        count = int((found.high - t) / h)
        if found.error > 1.0 and found.t <= t:  # it began there
            return None
        if found.error > 1.0 or t + count * h < found.t:
            named = contradiction_beyond(self.task, t, y, surely=False)
            return Failure(self.passages.lost(t, y) or "", t, self.task.system.nq, HINT, named)
        state[self.behind : self.seen] = found.packed()
        state[END] = t + (count - 0.5) * h
        return None

    def _pass(self) -> None:
        """A step along a passage; the last one ends on the constraints."""
        state, task, ny = self.state, self.task, self.task.y.size
        state[SINCE], state[PASSED] = self.time, 1.0
        state[HEAD + ny : HEAD + 2 * ny] = state[HEAD : HEAD + ny]
        state[STEP] += 1.0
        y = unpacked(state[self.behind :], self.time, ny)
        if self.time >= state[END]:
            memory, code = self.plans.beside(self.time, y[: task.system.nq])
            on_branch(memory, task.tau, task.call, code, self.time, y, np.zeros(ny))
        state[HEAD : HEAD + ny] = y
        if self.trail.shape[0]:
            self.trail[self.taken % self.trail.shape[0]] = [self.time, *y]
        state[TAKEN] += 1.0
        state[LOOK] = state[TAKEN] + 1.0
        if state[STEP] == state[EVERY]:
            nq, row = task.system.nq, self.row
            task.Q[row], task.U[row], task.W[row] = y[:nq], y[nq:-1], y[-1]
            every, length = first_steps(task, float(task.t[row]), row + 1, self.every, self.h)
            state[[ROW, STEP, FROM, EVERY, LENGTH]] = row + 1, 0.0, task.t[row], every, length

    def failed(self, status: int) -> Failure:
        nq, nu = self.task.system.nq, self.task.system.nu
        if status == VIOLATED:
            named = contradiction_at(self.task.system, self.time, self.state[HEAD:], surely=True)
            return Failure("leaves its constraints", self.time, 0, "a smaller step", named)
        component = int(np.argmin(np.isfinite(self.state[HEAD + nq : HEAD + nq + nu]))) + nq
        hint = "a smaller step, integrator='dopri5', or mass and inertia for the outermost bodies"
        return Failure("ceased to be finite", self.time, component, hint)

    def attrs(self) -> dict[str, Any]:
        return {"step": self.h} | self.plans.attrs()
