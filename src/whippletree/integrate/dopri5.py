"""Dormand-Prince 5(4), adaptive, with dense output: the default.

Paper    [dormand1980] A family of embedded Runge-Kutta formulae, RK5(4)7M; [hairer1993] table II.5.2, and
         dense output of sec. II.6 in the form of its program DOPRI5; steps by step_size.py, [hairer1996] sec. IV.2.
Symbols  A, C, E and D are the paper's a_ij, c_i, b_i - b^_i and the d_i of DOPRI5; K the stages; y = (q, u, work).
Differs  quaternions are made unit in every new y before its derivative is taken. This is a projection onto
         the manifold that the solution lies on, no farther away than the error of the step, so the order
         stays; and since the last stage is taken at the projected y, it is the first stage of the next step
         exactly. The same in dense output. The error is held to a fixed share of the tolerance (MARGIN).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..kernels.joints import FREE, SPHERICAL, load_quaternion
from ..kernels.lanes import LANES, LINE, entry, get, get_run, inline, kernel, put, put_run, scratch, take, view
from ..kernels.kinematics import take_kinematics
from ..kernels.layout import unpack
from ..kernels.manifold import put_all
from ..kernels.rotation import normalize
from .accelerate import CODES, mechanism_memory, open_forces, open_mechanism, rates
from .step_size import ACCEPTED, LEAST_PAST, PAST, REJECTIONS, STEP, TIME, control, first_step, scale_of
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
C = (0.0, 1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0)
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
ROUNDING = 2.3e-15  # steps that are no longer than this share of the time do not move it

# the state of a march: the record of control, these numbers, y, y', and five rows that interpolate the last step
ROW, FROM, LENGTH, EVALUATIONS, SINCE, WORST, BROKEN = range(6, 13)
HEAD = 2 * LINE
GOING, TOO_SMALL, NOT_FINITE, TOO_MANY = range(4)


@inline
def padded(ny):
    """The length of vectors like y: zeros follow, so that registers go over them without a rest"""
    return max(1, (ny + LINE - 1) // LINE) * LINE


@kernel
def project(m, y):
    """Quaternions of y = (q, ...) made unit, in place"""
    for i in range(1, m.nb):
        if m.kind[i] >= SPHERICAL:
            n = m.position[i] + (3 if m.kind[i] == FREE else 0)
            put_all(y, n, normalize(load_quaternion(y, n)))


@kernel
def first_broken(K, n):
    """The component that is not finite in the earliest stage where one is not"""
    for j in range(K.shape[0]):
        if not abs(get(K, j)) < math.inf:
            return j % n
    return 0


@inline
def weigh(w, count, K, width, j):
    """w[0] K_0 + ... of ``count`` stages, for the LANES components from j on"""
    total = w[0] * get_run(K, j)
    for r in range(1, count):
        total = total + w[r] * get_run(K, r * width + j)
    return total


@kernel
def error_of_step(ny, h, y, new, K, error, rtol, atol):
    """RMS of the error in units of what is allowed, its largest component, and whether that is not finite"""
    width = y.shape[0]
    for j in range(0, width, LANES):
        put_run(error, j, weigh(E, 7, K, width, j))
    total, largest, worst = 0.0, -1.0, 0
    for j in range(ny):
        e = abs(h * get(error, j)) / scale_of(get(y, j), get(new, j), rtol, atol)
        if not e < math.inf:
            return math.inf, first_broken(K, width), True
        if e > largest:
            largest, worst = e, j
        total += e * e
    return MARGIN * math.sqrt(total / max(1, ny)), worst, False


@kernel
def stage(s, h, y, K, out):
    """out = y + h (A[s,0] K_0 + ... + A[s,s-1] K_(s-1))"""
    width = y.shape[0]
    for j in range(0, width, LANES):
        put_run(out, j, get_run(y, j) + h * weigh(A[s], s, K, width, j))


@kernel
def prepare_dense(h, y, new, K, dense):
    """The interpolant of the step from y to new, in the form of DOPRI5"""
    width = y.shape[0]
    for j in range(0, width, LANES):
        rise = get_run(new, j) - get_run(y, j)
        bend = h * get_run(K, j) - rise
        put_run(dense, j, get_run(y, j))
        put_run(dense, width + j, rise)
        put_run(dense, 2 * width + j, bend)
        put_run(dense, 3 * width + j, rise - h * get_run(K, 6 * width + j) - bend)
        put_run(dense, 4 * width + j, h * weigh(D, 7, K, width, j))


@kernel
def interpolate(m, x, dense, out):
    """out: y where a share x of the step is done"""
    width = out.shape[0]
    z = 1.0 - x
    for j in range(0, width, LANES):
        inner = get_run(dense, 3 * width + j) + z * get_run(dense, 4 * width + j)
        inner = get_run(dense, width + j) + z * (get_run(dense, 2 * width + j) + x * inner)
        put_run(out, j, get_run(dense, j) + x * inner)
    project(m, out)


@kernel
def write_rows(m, c, times, dense, spare, Q, U, W, stop):
    """Rows whose time the last step has reached"""
    row = int(c[ROW])
    while row < stop and times[row] <= c[TIME]:
        interpolate(m, (times[row] - c[FROM]) / c[LENGTH], dense, spare)
        for j in range(m.nq):
            Q[row, j] = spare[j]
        for j in range(m.nu):
            U[row, j] = spare[m.nq + j]
        W[row] = spare[m.nq + m.nu]
        row += 1
        c[SINCE] = 0.0
    c[ROW] = row


@entry
def march(memory, state, tau, call, times, rtol, atol, largest, most, algorithm, Q, U, W, stop, steps):
    """On from ``state`` until rows of Q, U, W are filled up to ``stop``, or for so many steps tried; returns a status."""
    m, F, end = open_forces(memory)
    buffer = scratch(memory, end, state)
    k, n = take_kinematics(m, buffer)
    x, n = open_mechanism(m, F, k, tau, call, algorithm, buffer, n)
    ny = m.nq + m.nu + 1
    width = padded(ny)
    K, n = take(buffer, n, 7 * width)
    new, n = take(buffer, n, width)
    error, n = take(buffer, n, width)
    c, at = take(state, 0, HEAD)
    y, at = take(state, at, width)
    f, at = take(state, at, width)
    dense, at = take(state, at, 5 * width)
    until = times[times.shape[0] - 1]
    if c[EVALUATIONS] == 0.0:
        rates(x, c[TIME], y, f, buffer, n)
        c[STEP] = first_step(x, c[TIME], y, f, buffer, n, new, view(K, 0, width), rtol, atol)
        c[EVALUATIONS] = 2.0
        c[WORST] = first_broken(f, width)
        if not abs(get(f, int(c[WORST]))) < math.inf:
            return NOT_FINITE
    for tried in range(steps + 1):
        write_rows(m, c, times, dense, new, Q, U, W, stop)
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
            rates(x, c[TIME] + C[s] * h, new, view(K, s * width, width), buffer, n)
        size, c[WORST], c[BROKEN] = error_of_step(ny, h, y, new, K, error, rtol, atol)
        c[EVALUATIONS] += 6.0
        c[SINCE] += 1.0
        if control(c, h, size):
            prepare_dense(h, y, new, K, dense)
            for j in range(ny):
                put(y, j, get(new, j))
                put(f, j, get(K, 6 * width + j))
            c[FROM], c[LENGTH] = c[TIME], h
            c[TIME] = until if last else c[TIME] + h
    return GOING


@entry
def between(packed, dense, share, out):
    """y where a share of the last step is done"""
    m, _ = unpack(packed)
    interpolate(m, share, dense, out)


class Run:
    """A march under way; ``state`` is all there is to know about how far it has come."""

    def __init__(self, task: Task) -> None:
        system = self.system = task.system
        self.task, ny = task, system.nq + system.nu + 1
        width = max(1, -(-ny // LINE)) * LINE  # padded
        self.memory = mechanism_memory(system, task.algorithm, 9 * width)
        self.state = np.zeros(HEAD + 7 * width)
        self.state[[TIME, PAST, ROW]] = task.start, LEAST_PAST, task.first
        self.state[HEAD : HEAD + ny] = task.y

    @property
    def row(self) -> int:
        return int(self.state[ROW])

    @property
    def time(self) -> float:
        return float(self.state[TIME])

    @property
    def since(self) -> float:
        return float(self.state[FROM])

    def at(self, t: float) -> np.ndarray:
        """y = (q, u, work) at a time within the last step."""
        system = self.system
        width = (self.state.size - HEAD) // 7
        out = np.zeros(width)
        between(system.packed, self.state[HEAD + 2 * width :], (t - self.since) / self.state[LENGTH], out)
        return out[: system.nq + system.nu + 1]

    def proceed(self, steps: int, rows: int | None = None) -> Failure | None:
        """At most so many steps, and rows, further."""
        task, stop = self.task, self.task.t.size
        status = march(
            self.memory, self.state, task.tau, task.call, task.t, task.rtol, task.atol, task.step, MOST_STEPS,
            CODES[task.algorithm], task.Q, task.U, task.W, stop if rows is None else min(stop, self.row + rows), steps,
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
