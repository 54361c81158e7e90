"""The march of adaptive Runge-Kutta methods with dense output; a method is a tableau of numbers.

Paper    [hairer1993] sec. II.4 to II.6 and II.10: embedded error estimates and dense output, in the form of the
         programs DOPRI5 and DOP853; steps by step_size.py, [hairer1996] sec. IV.2.
Symbols  K are the stages; y = (q, u, work).
Differs  quaternions are made unit in every new y before its derivative is taken. This is a projection onto
         the manifold that the solution lies on, no farther away than the error of the step, so the order
         stays; and since the last stage is taken at the projected y, it is the first stage of the next step
         exactly. The same in dense output. Loops are closed likewise, by project.py. The error is held to a fixed share
         of the tolerance (margin). Where steps become much shorter than those before, a pose may be near where
         loops lose rank: run/passages.py looks for it, and the march goes on behind it.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler.lanes import LANES, LINE, aligned, entry, get, get_run, inline, kernel, put, put_run, take, view
from ...dynamics.loads.applied import prescribed_motion
from ...dynamics.stepping import mechanism
from ...dynamics.stepping.closing import LOST
from ...dynamics.stepping.samples import keep_sample, sample_anyway, sample_next
from ...dynamics.stepping.stabilization import PROJECTION
from ...kernels.blocks import checksum
from ...kernels.unpack import unpack
from .. import project
from ..run import passage, passages
from ..run.contradiction import contradiction_beyond
from ..run.plans import Plans
from ..run.rank_watch import UNFOLLOWED, RankWatch
from ..run.task import Failure, Task
from . import stages, step_size
from .tableau import Tableau

MOST_STEPS = 2_000_000  # from one output to the next
# steps shorter than this share of the largest before may be so because loops lose rank; that length is forgotten over
# the time that two hundred such steps would take, however many there are
SHORT, FORGET = 0.25, 0.005
LOOPS = 100.0  # margin more: velocities that follow from others carry their errors, and a ladder turns for minutes
ROUNDED = 2.0**-53
SOON = 0.01  # of a step: a stop that is nearer is at its beginning
ROUNDING = 2.3e-15  # steps that are no longer than this share of the time do not move it

# the state of a march: the record of control, these numbers, y, y', the stages of the last step, the rows of its
# interpolant, of which the first is y where it began, and whether the others are prepared; the length of steps that are
# not short; whether y' is of a plan that did not serve; whether short steps are looked at; whether the last step is
# part of a passage through a pose where rank is lost, whose polynomial is behind the plan's pose, and when that ends;
# when such a pose is looked at again from nearer, with what half length, 0 if it is not, and the error from here; and
# the next of the moments at which a function of time bends
ROW, FROM, LENGTH, EVALUATIONS, SINCE, WORST, BROKEN, PREPARED, CALM, STALE = range(6, 16)
LOOKS, PASSED, END, AGAIN, HALF, LEAST, MARK = range(16, 23)
HEAD = 3 * LINE
GOING, TOO_SMALL, NOT_FINITE, TOO_MANY, PLAN, VIOLATED, SHORTENED = range(7)


@inline
def padded(ny):
    """The length of vectors like y: zeros follow, so that registers go over them without a rest"""
    return max(1, (ny + LINE - 1) // LINE) * LINE


@kernel
def prepare(m, x, method, c, y, K, dense, spare):
    """The interpolant of the last step, in the form of DOPRI5 and DOP853; its first row is there"""
    width, count, h = y.shape[0], method.stages + method.extra, c[LENGTH]
    last = (method.stages - 1) * width
    for s in range(method.stages, count):
        stages.stage(method, s, h, dense, K, spare)
        mechanism.rates(m, x, c[FROM] + method.C[s] * h, spare, view(K, s * width, width))
    c[EVALUATIONS] += method.extra
    for j in range(0, width, LANES):
        rise = get_run(y, j) - get_run(dense, j)
        bend = h * get_run(K, j) - rise
        put_run(dense, width + j, rise)
        put_run(dense, 2 * width + j, bend)
        put_run(dense, 3 * width + j, rise - h * get_run(K, last + j) - bend)
        for r in range(method.rows):
            put_run(dense, (4 + r) * width + j, h * stages.weigh(method.D, r * count, count, K, width, j))
    c[PREPARED] = 1.0


@kernel
def interpolate(m, rows, share, dense, out):
    """out: y where a share x of the step is done, d_0 + x (d_1 + (1-x) (d_2 + x (d_3 + (1-x) (d_4 + ...))))"""
    width = out.shape[0]
    for j in range(0, width, LANES):
        total = get_run(dense, (3 + rows) * width + j)
        for r in range(2 + rows, -1, -1):
            total = get_run(dense, r * width + j) + (share if r % 2 == 0 else 1.0 - share) * total
        put_run(out, j, total)
    passage.make_unit(m, out)


@kernel
def write_row(m, y, row, Q, U, W):
    for j in range(m.nq):
        Q[row, j] = y[j]
    for j in range(m.nu):
        U[row, j] = y[m.nq + j]
    W[row] = y[m.nq + m.nu]


@kernel
def over_stop(F, nq, h, y, new, atol):
    """The share of a step at which a joint is stopped, or is farthest beyond, if no stage saw anything of that; else 1.

    A coordinate goes along the cubic of its values and velocities at both ends, which are within its limits.
    """
    least = 1.0
    for n in range(F.nj):
        c, i, j = 9 * n, F.passive_coordinate[n], nq + F.passive_dof[n]
        if i < 0 or F.passive[c + 7] == 0.0:
            continue
        a, b, v, w = get(y, i), get(new, i), h * get(y, j), h * get(new, j)
        for side in range(2):
            sign = 1.0 - 2.0 * side
            room, left = sign * (F.passive[c + 6 - side] - a), sign * (F.passive[c + 6 - side] - b)
            if not (room >= 0.0 and left >= 0.0 and sign * v > 0.0 and sign * w < 0.0):
                continue
            if room + left > sign * (v - w):  # no farther than straight lines from both ends
                continue
            low, high = 0.0, 1.0  # where it turns
            for _ in range(40):
                s = 0.5 * (low + high)
                rate = v + 2.0 * s * (3.0 * (b - a) - 2.0 * v - w) + 3.0 * s * s * (v + w - 2.0 * (b - a))
                low, high = (s, high) if sign * rate > 0.0 else (low, s)
            if sign * along_cubic(a, b, v, w, high) <= room + atol:
                continue
            turn, low = high, 0.0
            for _ in range(40):
                s = 0.5 * (low + high)
                low, high = (low, s) if sign * along_cubic(a, b, v, w, s) > room else (s, high)
            least = min(least, high if high > SOON else turn)
    return least


@inline
def along_cubic(a, b, v, w, s):
    """How far a cubic has come from a at a share of its way to b, with slopes v and w"""
    return s * (v + s * (3.0 * (b - a) - 2.0 * v - w + s * (v + w - 2.0 * (b - a))))


@entry
def march(
    memory, state, tau, call, times, marks, rtol, atol, largest, most, algorithm, method, Q, U, W, samples, stop, steps,
    ask,
):  # fmt: skip
    """On from ``state`` until rows of Q, U, W are filled up to ``stop``, or for so many steps tried; returns a status.

    ``marks``: moments at which functions of time begin another piece: steps end there, or would pass over a pulse.

    ``samples``: of each row the end of a step since the row before that lost most digits.
    ``ask``: prepare the interpolant of the last step even where no row needs it.
    """
    m, buffer = mechanism.open_scratch(memory, state)
    _, F, _, _ = mechanism.open_all(memory)
    ny = m.nq + m.nu + 1
    width = padded(ny)
    new, n = take(buffer, 0, width)
    error, n = take(buffer, n, 2 * width)
    x = mechanism.make_mechanism(memory, buffer, n, tau, call, algorithm)
    c, at = take(state, 0, HEAD)
    y, at = take(state, at, width)
    f, at = take(state, at, width)
    K, at = take(state, at, (method.stages + method.extra) * width)
    dense, at = take(state, at, (4 + method.rows) * width)
    until, last_stage, sample = times[times.shape[0] - 1], method.stages - 1, mechanism.open_parts(x)[0].sample
    if c[step_size.STEP] == 0.0:  # it begins here
        mechanism.rates(m, x, c[step_size.TIME], y, f)
        c[step_size.STEP] = step_size.first_step(
            m, x, c[step_size.TIME], y, f, new, view(K, 0, width), rtol, atol, method.control.order
        )
        c[EVALUATIONS] += 2.0
        c[WORST] = stages.first_broken(f, width)
        if not abs(get(f, int(c[WORST]))) < math.inf:
            return NOT_FINITE
    elif c[STALE] != 0.0:
        sample_anyway(sample)
        mechanism.rates(m, x, c[step_size.TIME], y, f)
        c[EVALUATIONS] += 1.0
        keep_sample(sample, samples, min(int(c[ROW]), times.shape[0] - 1))
    c[STALE] = 0.0
    done = 0
    while True:
        row = int(c[ROW])
        if (ask or (row < stop and times[row] <= c[step_size.TIME])) and c[PREPARED] == 0.0 and c[LENGTH] > 0.0:
            prepare(m, x, method, c, y, K, dense, new)
            if checksum(dense) != 0.0:
                c[WORST] = stages.first_broken(K, width)
                return NOT_FINITE
        while row < stop and times[row] <= c[step_size.TIME]:
            interpolate(m, method.rows, (times[row] - c[FROM]) / c[LENGTH], dense, new)
            q, u = view(new, 0, m.nq), view(new, m.nq, m.nu)
            if c[PASSED] == 0.0:  # else they are as good as the motion before and behind
                mechanism.impose(x, times[row], q, u)
                if project.close(x, times[row], q, u) > LOST:
                    c[ROW] = row
                    return VIOLATED
            write_row(m, new, row, Q, U, W)
            row += 1
            c[SINCE] = 0.0
        c[ROW] = row
        if row == stop or done == steps:
            return GOING
        if c[STALE] != 0.0:  # behind a mark, where y' may jump
            mechanism.rates(m, x, c[step_size.TIME], y, f)
            c[EVALUATIONS] += 1.0
            if not mechanism.served(x):
                return PLAN
            c[STALE] = 0.0
        accepted, h, ends, end, mark, aside = False, 0.0, False, until, math.inf, 0.0
        for j in range(ny):
            put(K, j, get(f, j))
        while not accepted:
            if c[SINCE] >= most:
                return TOO_MANY
            if c[step_size.STEP] <= max(ROUNDING * c[step_size.TIME], 1e-18 * until):
                return VIOLATED if c[BROKEN] == VIOLATED else NOT_FINITE if c[BROKEN] != 0.0 else TOO_SMALL
            if c[LOOKS] != 0.0 and (
                c[step_size.TIME] >= c[AGAIN] if c[HALF] > 0.0 else c[step_size.STEP] < SHORT * c[CALM]
            ):
                return SHORTENED
            left = 0.0
            while c[MARK] < marks.shape[0] and marks[int(c[MARK])] <= c[step_size.TIME]:
                c[MARK] += 1.0
            h, end = min(c[step_size.STEP], largest), min(until, c[AGAIN] if c[HALF] > 0.0 else until)
            mark = marks[int(c[MARK])] if c[MARK] < marks.shape[0] else math.inf
            end = min(end, mark)
            ends = c[step_size.TIME] + 1.01 * h >= end
            if ends:
                h = end - c[step_size.TIME]
            before = mark * (1.0 - 2.0 * ROUNDED)  # a function that jumps at the mark has not yet done so
            for s in range(1, method.stages):
                stages.stage(method, s, h, y, K, new)
                if s == last_stage:
                    passage.make_unit(m, new)
                    for j in range(ny):
                        put(error, j, get(new, j))
                    left = project.close(x, c[step_size.TIME] + h, view(new, 0, m.nq), view(new, m.nq, m.nu))
                    aside = stages.distance(ny, error, new, rtol, atol)
                    sample_next(sample)
                t = min(c[step_size.TIME] + method.C[s] * h, before)
                mechanism.rates(m, x, t, new, view(K, s * width, width))
            size, c[WORST], c[BROKEN] = stages.error_of_step(method, ny, h, y, new, K, error, rtol, atol)
            size = max(size, aside)  # constraints that move it farther than it may err have it on another branch
            if left > LOST:
                size, c[BROKEN] = math.inf, VIOLATED
            c[EVALUATIONS] += last_stage
            c[SINCE] += 1.0
            share = over_stop(F, m.nq, h, y, new, atol) if size <= 1.0 else 1.0
            if share < 1.0:
                step_size.cut(c, share * h)
            else:
                accepted = step_size.control(method.control, c, h, size)
        for j in range(ny):
            put(dense, j, get(y, j))
            put(y, j, get(new, j))
            put(f, j, get(K, last_stage * width + j))
        c[FROM], c[LENGTH], c[PREPARED], c[PASSED] = c[step_size.TIME], h, 0.0, 0.0
        c[CALM] = max(h, c[CALM] - FORGET * h)
        c[step_size.TIME] = end if ends else c[step_size.TIME] + h
        keep_sample(sample, samples, row)
        while row + 1 < times.shape[0] and times[row] < c[step_size.TIME]:  # rows that share the step
            row += 1
            keep_sample(sample, samples, row)
        done += 1
        c[STALE] = 1.0 if ends and end == mark else 0.0
        if not mechanism.served(x):
            c[STALE] = 1.0
            return PLAN


@entry
def between(packed, rows, dense, share, out):
    """Rows y where shares of the last step are done"""
    m, _ = unpack(packed)
    for k in range(share.shape[0]):
        interpolate(m, rows, share[k], dense, out[k])


class Run:
    """A march under way; ``state`` is all there is to know about how far it has come."""

    interpolates = True

    def __init__(self, task: Task, method: Tableau) -> None:
        system = task.system
        self.method = method._replace(margin=method.margin * (LOOPS if system.constraints.count else 1.0))
        self.task, ny = task, system.nq + system.nu + 1
        self.width = max(1, -(-ny // LINE)) * LINE  # padded
        self.plans = Plans(task, 3 * self.width)
        self.passages = passages.Passages(task, self.plans)
        self.ranks = None if task.stabilization == PROJECTION else RankWatch(task, UNFOLLOWED)
        self.dense = HEAD + (2 + method.stages + method.extra) * self.width
        self.tail = self.dense + (4 + method.rows) * self.width
        self.behind = self.tail + self.plans.width
        self.state = aligned(self.behind + self.passages.width)
        self.restart(task.start, task.y, task.first)

    def restart(self, t: float, y: np.ndarray, row: int) -> None:
        """Go on from y at t, with this row next; what was counted stays."""
        counts = [step_size.ACCEPTED, step_size.REJECTIONS, EVALUATIONS, CALM]
        kept = self.state[counts]
        self.state[:] = 0.0
        self.state[counts] = kept
        self.state[[step_size.TIME, FROM, step_size.PAST, ROW, LOOKS]] = (
            t,
            t,
            step_size.LEAST_PAST,
            row,
            self.passages.width > 0,
        )
        self.state[HEAD : HEAD + y.size] = y
        if self.state[CALM] == 0.0:
            self.state[CALM] = self.passages.natural(y, float(self.task.t[-1]))
        self.plans.begin(self.state[self.tail : self.behind], t, y[: self.task.system.nq])
        if self.ranks:
            self.ranks.restart(t, y)

    @property
    def row(self) -> int:
        return int(self.state[ROW])

    @property
    def time(self) -> float:
        return float(self.state[step_size.TIME])

    @property
    def since(self) -> float:
        return float(self.state[FROM])

    @cached_property
    def closing(self) -> np.ndarray:
        return project.onto_memory(self.task.system)

    def at(self, t: float) -> np.ndarray:
        """y = (q, u, work) at a time within the last step."""
        return np.asarray(self.all_at(np.array([t]))[0])

    def all_at(self, t: np.ndarray) -> np.ndarray:
        """(T, nq + nu + 1) The same at many times."""
        system, out = self.task.system, np.zeros((t.size, self.width))
        ny = system.nq + system.nu + 1
        if self.state[LENGTH] == 0.0:
            return np.tile(self.state[HEAD : HEAD + ny], (t.size, 1))
        if self.state[PREPARED] == 0.0:
            self._march(self.row, 0, True)
        share = (t - self.since) / self.state[LENGTH]
        between(system.packed, self.method.rows, self.state[self.dense :], share, out)
        if self.state[PASSED] == 0.0:
            for when, y in zip(t.tolist(), out, strict=True):
                prescribed_motion(system, when, y, y[system.nq :])
            if self.task.stabilization == PROJECTION:
                project.project_all(system, self.closing, t, out)
        return out[:, :ny]

    def _march(self, stop: int, steps: int, ask: bool) -> int:
        task, tail = self.task, self.state[self.tail : self.behind]
        while True:
            before = self.state[step_size.ACCEPTED]
            if steps > 0 and self.state[END] > self.time:
                self._pass()
            some = 0 if self.state[END] > self.time else max(0, steps - int(self.state[step_size.ACCEPTED] - before))
            with self.plans.at_work():
                status = march(
                    self.plans.memory(tail), self.state, task.tau, task.call, task.t, task.system.forces.marks,
                    task.rtol, task.atol, task.step, MOST_STEPS, self.plans.code, self.method, task.Q, task.U, task.W,
                    task.samples, stop, some, ask,
                )  # fmt: skip
            steps -= int(self.state[step_size.ACCEPTED] - before)
            if status == PLAN:
                self.plans.renew(tail, self.time, self.state[HEAD : HEAD + task.system.nq])
            elif status == SHORTENED:
                if self._look() == TOO_SMALL:
                    return TOO_SMALL
            elif status != GOING or self.row == stop or steps <= 0:
                return status

    def _look(self) -> int:
        """Steps have become short: is a pose near where loops lose rank, and a way through it?"""
        state, ny = self.state, self.task.y.size
        y = state[HEAD : HEAD + ny].copy()
        whole = (self.method.margin / self.task.rtol) ** (1.0 / (self.method.control.order + 1.0))  # in steps
        found = self.passages.look(self.time, y, state[CALM], whole, state[HALF])
        state[EVALUATIONS] += self.passages.evaluations
        least = state[LEAST] if state[HALF] > 0.0 else np.inf
        state[[AGAIN, HALF, LEAST]] = 0.0
        if found and found.error <= 1.0:
            state[self.behind : self.behind + self.passages.width] = found.packed()
            state[END] = min(found.high, self.task.t[-1])
            return GOING
        if found and found.error < passages.FALLS * least and (nearer := self.passages.nearer(self.time, found)):
            state[[AGAIN, HALF]], state[LEAST] = nearer, found.error
            return GOING
        state[CALM] = state[step_size.STEP]
        ahead = found is not None and found.t > self.time  # shorter steps would follow roundings to another branch
        return TOO_SMALL if ahead else GOING

    def _pass(self) -> None:
        """A step along a passage, no longer than those before it were."""
        state, ny, rows = self.state, self.task.y.size, 4 + self.method.rows
        left = state[END] - self.time
        count = max(1, round(left / state[CALM]))
        t, end = self.time, state[END] if count == 1 else self.time + left / count
        dense = state[self.dense : self.tail].reshape(rows, self.width)
        dense[:, :ny], y = passage.dense_rows(state[self.behind :], t, end, rows, ny)
        state[[FROM, LENGTH, step_size.TIME, PREPARED, PASSED]] = t, end - t, end, 1.0, 1.0
        state[step_size.ACCEPTED] += 1.0
        if count == 1:
            memory, code = self.plans.beside(end, y[: self.task.system.nq])
            passage.on_branch(memory, self.task.tau, self.task.call, code, end, y, np.zeros(ny))
            state[[step_size.STEP, STALE]] = state[CALM], 1.0
        state[HEAD : HEAD + ny] = y

    def proceed(self, steps: int, rows: int | None = None) -> Failure | None:
        """At most so many steps, and rows, further."""
        stop = self.task.t.size
        stop, status = stop if rows is None else min(stop, self.row + rows), GOING
        while self.ranks and steps > 1 and status == GOING and self.row < stop:
            status, steps = self._march(stop, 1, False), steps - 1
            self.ranks.look(self.time, self.state[HEAD : HEAD + self.task.y.size])
        if status == GOING:
            status = self._march(stop, steps, False)
        if status == GOING:
            return None
        what, hint = {
            TOO_SMALL: (
                f"needs steps below {self.state[step_size.STEP]:.1g} s",
                "look for something that jumps or is very fast, or loosen rtol and atol",
            ),
            NOT_FINITE: ("ceases to be finite", "give mass and inertia to the outermost bodies, or check the forces"),
            TOO_MANY: (
                f"takes more than {MOST_STEPS} steps to the next output",
                "look for something very fast or stiff, loosen rtol and atol, or keep more outputs",
            ),
            VIOLATED: ("leaves its constraints", "smaller steps"),
        }[status]
        named = None
        if status in (VIOLATED, TOO_SMALL) and self.task.stabilization == PROJECTION:
            row = min(self.row, self.task.t.size - 1)
            t = min(self.time, float(self.task.t[row]))  # of a row, or of a step that failed
            t = self.time if t <= self.since else t
            named = contradiction_beyond(self.task, t, self.at(t), status == VIOLATED)
        if named is None and status in (TOO_SMALL, NOT_FINITE):
            lost = self.passages.lost(self.time, self.at(self.time))
            what, hint = (lost, passages.HINT) if lost else (what, hint)
        return Failure(what, self.time, int(self.state[WORST]), hint, named)

    def attrs(self) -> dict[str, Any]:
        counts = (("accepted", step_size.ACCEPTED), ("rejected", step_size.REJECTIONS), ("evaluations", EVALUATIONS))
        tolerances = {"rtol": self.task.rtol, "atol": self.task.atol}
        return tolerances | {name: int(self.state[i]) for name, i in counts} | self.plans.attrs()
