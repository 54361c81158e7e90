"""Dormand-Prince 5(4), adaptive, with dense output: the default.

Paper    [dormand1980] A family of embedded Runge-Kutta formulae, RK5(4)7M; [hairer1993] table II.5.2, initial
         step of sec. II.4, dense output of sec. II.6 in the form of its program DOPRI5; PI controller of
         [hairer1996] sec. IV.2 with the constants of DOPRI5.
Symbols  A, E and D are the paper's a_ij, b_i - b^_i and the d_i of DOPRI5; K the stages; y = (q, u).
Differs  quaternions are made unit in every new y before its derivative is taken. This is a projection onto
         the manifold that the solution lies on, no farther away than the error of the step, so the order
         stays; and since the last stage is taken at the projected y, it is the first stage of the next step
         exactly. The same in dense output. A step that gives no number is repeated with a fifth of it.
         The error is held to a fixed share of the tolerance (MARGIN).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernels.blocks import make_memory
from ..kernels.joints import FREE, SPHERICAL, load_quaternion
from ..kernels.kinematics import kinematics_rows, take_kinematics
from ..kernels.lanes import entry, get, inline, kernel, put, scratch, take, view
from ..kernels.layout import unpack
from ..kernels.manifold import put_all
from ..kernels.rotation import normalize
from .accelerate import CODES, rates, work_rows
from .task import Failure, Task

ADAPTIVE = True
ORDER = 5
MOST_STEPS = 2_000_000  # from one output to the next

# row s: the weights of stages 0 ... s - 1; the last row is also b, the weights of the step
A = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
E = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
D = (
    -12715105075 / 11282082432,
    0.0,
    87487479700 / 32700410799,
    -10690763975 / 1880347072,
    701980252875 / 199316789632,
    -1453857185 / 822651844,
    69997945 / 29380423,
)
MARGIN = 4.0  # errors are held this far below the tolerance: a fast top's energy then drifts by 5 rtol in 10 s
SAFETY, BETA = 0.9, 0.04
SHRINK, GROW = 0.2, 10.0  # the step changes by no more at a time
EXPONENT = 0.2 - 0.75 * BETA
LEAST_PAST = 1e-4
SHORTEST = 1e-12  # s, to begin with where nothing better is known
ROUNDING = 2.3e-15  # steps that are no longer than this share of the time do not move it

# the state of a march: these numbers, then y, y', and the five rows of the last step's interpolant
TIME, STEP, PAST, REJECTED, ROW, FROM, LENGTH, ACCEPTED, REJECTIONS, EVALUATIONS, SINCE, WORST, BROKEN, HEAD = range(14)
GOING, TOO_SMALL, NOT_FINITE, TOO_MANY = range(4)


@kernel
def project(m, y):
    """Quaternions of y = (q, ...) made unit, in place"""
    for i in range(1, m.nb):
        if m.kind[i] >= SPHERICAL:
            n = m.position[i] + (3 if m.kind[i] == FREE else 0)
            put_all(y, n, normalize(load_quaternion(y, n)))


@inline
def scale_of(a, b, rtol, atol):
    return atol + rtol * max(abs(a), abs(b))


@kernel
def norm(x, y, rtol, atol):
    """RMS of x, each component in units of its tolerance"""
    total = 0.0
    for j in range(x.shape[0]):
        e = get(x, j) / scale_of(get(y, j), get(y, j), rtol, atol)
        total += e * e
    return math.sqrt(total / x.shape[0])


@kernel
def first_broken(K, n):
    """The component that is not finite in the earliest stage where one is not"""
    for j in range(K.shape[0]):
        if not abs(get(K, j)) < math.inf:
            return j % n
    return 0


@kernel
def error_of_step(h, y, new, K, rtol, atol):
    """RMS of the error in units of what is allowed, its largest component, and whether that is not finite"""
    n = y.shape[0]
    total, largest, worst = 0.0, -1.0, 0
    for j in range(n):
        e = 0.0
        for s in range(7):
            e += E[s] * get(K, s * n + j)
        e = abs(h * e) / scale_of(get(y, j), get(new, j), rtol, atol)
        if not e < math.inf:
            return math.inf, first_broken(K, n), True
        if e > largest:
            largest, worst = e, j
        total += e * e
    return MARGIN * math.sqrt(total / n), worst, False


@kernel
def stage(s, h, y, K, out):
    """out = y + h (A[s,0] K_0 + ... + A[s,s-1] K_(s-1))"""
    n = y.shape[0]
    for j in range(n):
        total = 0.0
        for r in range(s):
            total += A[s, r] * get(K, r * n + j)
        put(out, j, get(y, j) + h * total)


@kernel
def prepare_dense(h, y, new, K, dense):
    """The interpolant of the step from y to new, in the form of DOPRI5"""
    n = y.shape[0]
    for j in range(n):
        rise = get(new, j) - get(y, j)
        bend = h * get(K, j) - rise
        last = 0.0
        for s in range(7):
            last += D[s] * get(K, s * n + j)
        put(dense, j, get(y, j))
        put(dense, n + j, rise)
        put(dense, 2 * n + j, bend)
        put(dense, 3 * n + j, rise - h * get(K, 6 * n + j) - bend)
        put(dense, 4 * n + j, h * last)


@kernel
def interpolate(m, x, dense, out):
    """out: y where a share x of the step is done"""
    n = out.shape[0]
    z = 1.0 - x
    for j in range(n):
        inner = get(dense, 3 * n + j) + z * get(dense, 4 * n + j)
        inner = get(dense, n + j) + z * (get(dense, 2 * n + j) + x * inner)
        put(out, j, get(dense, j) + x * inner)
    project(m, out)


@kernel
def first_step(m, k, algorithm, y, f, tau, none, buffer, n, spare, f_spare, rtol, atol):
    """A step to begin with, and the evaluation at its end left in f_spare: [hairer1993] sec. II.4"""
    d0, d1 = norm(y, y, rtol, atol), norm(f, y, rtol, atol)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    for j in range(y.shape[0]):
        put(spare, j, get(y, j) + h * get(f, j))
    rates(m, k, algorithm, spare, tau, none, buffer, n, f_spare)
    for j in range(y.shape[0]):
        put(f_spare, j, get(f_spare, j) - get(f, j))
    d2 = norm(f_spare, y, rtol, atol) / h
    most = max(d1, d2)
    if not most < math.inf:
        return max(1e-6 * h, SHORTEST)
    better = max(1e-6, 1e-3 * h) if most <= 1e-15 else (0.01 / most) ** 0.2
    return min(100.0 * h, better)


@kernel
def control(c, h, error):
    """Whether the step is accepted; the next one by Hairer's PI controller"""
    raw = error**EXPONENT
    if error <= 1.0:
        factor = raw / c[PAST] ** BETA / SAFETY
        h_new = h / max(1.0 / GROW, min(1.0 / SHRINK, factor))
        c[PAST] = max(error, LEAST_PAST)
        c[STEP] = min(h_new, h) if c[REJECTED] != 0.0 else h_new
        c[REJECTED] = 0.0
        c[ACCEPTED] += 1
        return True
    c[STEP] = h * SHRINK if raw == math.inf else h / min(1.0 / SHRINK, raw / SAFETY)
    c[REJECTED] = 1.0
    c[REJECTIONS] += 1
    return False


@kernel
def write_rows(m, c, times, dense, spare, Q, U, stop):
    """Rows whose time the last step has reached"""
    row = int(c[ROW])
    while row < stop and times[row] <= c[TIME]:
        interpolate(m, (times[row] - c[FROM]) / c[LENGTH], dense, spare)
        for j in range(m.nq):
            Q[row, j] = spare[j]
        for j in range(m.nu):
            U[row, j] = spare[m.nq + j]
        row += 1
        c[SINCE] = 0.0
    c[ROW] = row


@entry
def march(memory, state, tau, times, rtol, atol, largest, most, algorithm, Q, U, stop, steps):
    """On from ``state`` until rows of Q, U are filled up to ``stop``, or for so many steps tried; returns a status."""
    m, end = unpack(memory)
    buffer = scratch(memory, end, state)
    k, n = take_kinematics(m, buffer)
    ny = m.nq + m.nu
    K, n = take(buffer, n, 7 * ny)
    new, n = take(buffer, n, ny)
    none, _ = take(buffer, n, 0)
    c, at = take(state, 0, HEAD)
    y, at = take(state, at, ny)
    f, at = take(state, at, ny)
    dense, at = take(state, at, 5 * ny)
    until = times[times.shape[0] - 1]
    if c[EVALUATIONS] == 0.0:
        rates(m, k, algorithm, y, tau, none, buffer, n, f)
        c[STEP] = first_step(m, k, algorithm, y, f, tau, none, buffer, n, new, view(K, 0, ny), rtol, atol)
        c[EVALUATIONS] = 2.0
        c[WORST] = first_broken(f, ny)
        if not abs(get(f, int(c[WORST]))) < math.inf:
            return NOT_FINITE
    for tried in range(steps + 1):
        write_rows(m, c, times, dense, new, Q, U, stop)
        if c[ROW] == stop or tried == steps:
            return GOING
        if c[SINCE] >= most:
            return TOO_MANY
        if c[STEP] <= max(ROUNDING * c[TIME], 1e-18 * until):
            return NOT_FINITE if c[BROKEN] != 0.0 else TOO_SMALL
        h = min(c[STEP], largest)
        last = c[TIME] + 1.01 * h >= until
        if last:
            h = until - c[TIME]
        for j in range(ny):
            put(K, j, get(f, j))
        for s in range(1, 7):
            stage(s, h, y, K, new)
            if s == 6:
                project(m, new)
            rates(m, k, algorithm, new, tau, none, buffer, n, view(K, s * ny, ny))
        error, c[WORST], c[BROKEN] = error_of_step(h, y, new, K, rtol, atol)
        c[EVALUATIONS] += 6.0
        c[SINCE] += 1.0
        if control(c, h, error):
            prepare_dense(h, y, new, K, dense)
            for j in range(ny):
                put(y, j, get(new, j))
                put(f, j, get(K, 6 * ny + j))
            c[FROM], c[LENGTH] = c[TIME], h
            c[TIME] = until if last else c[TIME] + h
    return GOING


class Run:
    """A march under way; ``state`` is all there is to know about how far it has come."""

    def __init__(self, task: Task) -> None:
        system = self.system = task.system
        self.task, ny = task, system.nq + system.nu
        rows = kinematics_rows(system) + work_rows(system, task.algorithm) + 8 * ny
        self.memory = make_memory(system, rows)
        self.state = np.zeros(HEAD + 7 * ny)
        self.state[[PAST, ROW]] = LEAST_PAST, 1
        self.state[HEAD : HEAD + ny] = np.concatenate([task.Q[0], task.U[0]])

    @property
    def row(self) -> int:
        return int(self.state[ROW])

    @property
    def time(self) -> float:
        return float(self.state[TIME])

    def proceed(self, steps: int, rows: int | None = None) -> Failure | None:
        """At most so many steps, and rows, further."""
        task, stop = self.task, self.task.t.size
        status = march(
            self.memory, self.state, task.tau, task.t, task.rtol, task.atol, task.step, MOST_STEPS,
            CODES[task.algorithm], task.Q, task.U, stop if rows is None else min(stop, self.row + rows), steps,
        )  # fmt: skip
        if status == GOING:
            return None
        what, hint = {
            TOO_SMALL: (
                f"needs steps below {self.state[STEP]:.1g} s",
                "look for something that jumps or is very fast, or loosen rtol and atol",
            ),
            NOT_FINITE: ("ceases to be finite", "give mass and inertia to the outermost bodies, or check the forces"),
            TOO_MANY: (
                f"takes more than {MOST_STEPS} steps to the next output",
                "look for something very fast or stiff, loosen rtol and atol, or keep more outputs",
            ),
        }[status]
        return Failure(what, self.time, int(self.state[WORST]), hint)

    def attrs(self) -> dict[str, Any]:
        counts = (("accepted", ACCEPTED), ("rejected", REJECTIONS), ("evaluations", EVALUATIONS))
        return {"rtol": self.task.rtol, "atol": self.task.atol} | {name: int(self.state[i]) for name, i in counts}


def begin(task: Task) -> Run:
    return Run(task)
