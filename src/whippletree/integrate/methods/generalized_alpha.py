"""Generalized-alpha on the configuration manifold, implicit, fixed step: for stiff systems.

Paper    [bruels2010] On the use of Lie group time integrators in multibody dynamics, the scheme without constraints;
         [arnold2007] for its second order, [chung1993] for the parameters.
Symbols  a is the paper's algorithmic acceleration, u and udot its v and v'; AM, AF, BETA, GAMMA its alpha_m, alpha_f,
         beta, gamma, and RHO its rho_infinity; S is the iteration matrix S_t.
Differs  unknown is udot at the end of the step, by which the end moves: S is taken from differences of the
         residual, so that it knows every force. S is kept from step to step while Newton's iteration converges.
         With flexible bodies S is at first the mass matrix with the stiffness and damping of modes: that is solved by
         two passes, O(n), and serves as long as other forces change little in a step.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ...algebra.dense import factorize, solve_factors
from ...compiler.lanes import entry, get, inline, kernel, put, take, view
from ...dynamics.stepping import mechanism
from ...dynamics.tree import innovations as operators
from ...dynamics.tree.newton_euler import balance
from ...dynamics.tree.workspace import take_work, work_rows
from ...kernels.blocks import checksum
from ...kernels.kinematics import place_and_move
from ...kernels.manifold import advance
from ...layout.forces import MOTION
from ...layout.system import FACTORS, FLEXIBLE, MODAL_WORK
from ...system.system import System
from ..run.task import Failure, Task
from . import fixed_step
from .fixed_step import GOING, HEAD, LENGTH, NOT_FINITE, ROW, SINCE, keep, remember, view_state

ADAPTIVE = False
LOOPS = False
ORDER = 2
RHO = 0.8  # what is left per step of an oscillation much faster than the step: 1 damps none, 0 all
AM, AF = (2 * RHO - 1) / (RHO + 1), RHO / (RHO + 1)
GAMMA = 0.5 + AF - AM
BETA = 0.25 * (GAMMA + 0.5) ** 2
SHARE = (1 - AF) / (1 - AM)  # of a change of udot that a changes by

NOT_SOLVED = 2
# A step is solved when u would change by less than this share of itself, or by so much (rad/s, m/s). A step of order 2
# that turns anything by 1e-3 errs by more than 1e-9 of it, so what is left does not show.
RELATIVE, ABSOLUTE = 1e-10, 1e-12
SLOW = 0.1  # a correction this large against the one before asks for a new S
SLOW_RECURSIONS, MOST_RECURSIONS = (
    1.0,
    16,
)  # of corrections by recursions, which cost little: they go on while they shrink
ROUNDED = 1e3  # corrections by a new S that no longer shrink are rounding if not larger than this many tolerances
MOST_CORRECTIONS, MOST_MATRICES = 10, 8
NUDGE = 1e-8  # rad or m: how far a difference moves the end of the step, sqrt(rounding) of an angle of 1

# behind the state of a march: these numbers; udot and a now, and where the last step began; S and its pivots
BEGUN, POWER, MATRIX_STEP, RESIDUALS, FACTORIZATIONS, WORST, POWER_THEN = range(7)
RECORD = 8


class Solution(NamedTuple):
    """What a step begins with, and what it solves for."""

    c: Any  # (RECORD)
    udot: Any  # (nu)   where the step began
    a: Any  # (nu)
    S: Any  # (nu, nu)  factors of the iteration matrix
    pivot: Any  # (nu)
    q1: Any  # (nq)     the end
    u1: Any  # (nu)
    udot1: Any  # (nu)
    a1: Any  # (nu)
    guess: Any  # (nu)  udot1 as the last two steps let it be expected
    r: Any  # (nu)      residual, then the correction of udot1
    nudged: Any  # (nu) another residual
    move: Any  # (nu)
    f: Any  # (nb, 6)   for the residual
    x: Any  # (nb, 6)
    recursions: Any  # Work of articulated bodies, where some are flexible


def dense_rows(m: Any) -> int:
    """Numbers of scratch that a step takes, but for recursions."""
    return m.nq + 7 * m.nu + 12 * m.nb


def step_rows(system: System) -> int:
    """Numbers of scratch that a step takes."""
    return dense_rows(system) + (work_rows(system) if system.flexible else 0)


def more_state(system: System) -> int:
    return RECORD + 5 * system.nu + system.nu**2


_dense_rows = inline(dense_rows)


@inline
def recursion_rows(m):
    return 33 * m.nb + 8 * m.nu + m.header[MODAL_WORK] if m.header[FLEXIBLE] > 0 else 0


@inline
def open_solution(m, state, own):
    """The Solution in a state and scratch, and udot and a as they were when the last step began"""
    nu = m.nu
    c, n = take(state, HEAD + 2 * (m.nq + nu + 1), RECORD)
    udot, n = take(state, n, nu)
    a, n = take(state, n, nu)
    then, n = take(state, n, 2 * nu)
    S, n = take(state, n, nu * nu)
    pivot, n = take(state, n, nu)
    q1, n = take(own, 0, m.nq)
    u1, n = take(own, n, nu)
    udot1, n = take(own, n, nu)
    a1, n = take(own, n, nu)
    guess, n = take(own, n, nu)
    r, n = take(own, n, nu)
    nudged, n = take(own, n, nu)
    move, n = take(own, n, nu)
    f, n = take(own, n, 6 * m.nb)
    x, n = take(own, n, 6 * m.nb)
    recursions, n = take(own, n, recursion_rows(m))
    return Solution(c, udot, a, S, pivot, q1, u1, udot1, a1, guess, r, nudged, move, f, x, recursions), then


@kernel
def reach(m, s, q, u, h):
    """q1, u1 and a1 by udot1"""
    for j in range(m.nu):
        a = get(s.a, j)
        a1 = ((1 - AF) * get(s.udot1, j) + AF * get(s.udot, j) - AM * a) / (1 - AM)
        put(s.a1, j, a1)
        put(s.u1, j, get(u, j) + h * ((1 - GAMMA) * a + GAMMA * a1))
        put(s.move, j, h * get(u, j) + h * h * ((0.5 - BETA) * a + BETA * a1))
    advance(m, q, s.move, s.q1)


@kernel
def residual(x, t, s, out):
    """out: joint forces that udot1 needs less those there are; udot1 less the given where that is. Returns power"""
    p, _ = mechanism.open_parts(x)
    m, F = p.m, p.F
    if F.ndriven > 0:
        mechanism.impose(x, t, s.q1, s.u1)
    place_and_move(m, s.q1, s.u1, p.k)
    power = mechanism.load(p, t, s.q1, s.u1)
    balance(m, p.k, False, s.udot1, p.wrench, s.f, s.x, out)
    for j in range(m.nu):
        put(out, j, get(out, j) - get(p.total, j))
    if F.ndriven > 0:
        for n in range(F.nf):
            if F.kind[n] == MOTION:
                j = F.dof[n]
                power = power + get(out, j) * get(s.u1, j)
                put(out, j, get(s.udot1, j) - get(p.signals, 3 + 3 * F.signal[3 * n]))
    s.c[RESIDUALS] += 1.0
    return power


@kernel
def take_matrix(m, x, t, s, q, u, h):
    """S: how the residual changes with udot1, by differences, and its factors"""
    nudge = NUDGE / (h * h * BETA * SHARE)
    reach(m, s, q, u, h)
    residual(x, t, s, s.r)
    for j in range(m.nu):
        here = get(s.udot1, j)
        put(s.udot1, j, here + nudge)
        reach(m, s, q, u, h)
        residual(x, t, s, s.nudged)
        put(s.udot1, j, here)
        for i in range(m.nu):
            put(s.S, i * m.nu + j, (get(s.nudged, i) - get(s.r, i)) / nudge)
    factorize(m.nu, s.S, s.pivot)
    s.c[MATRIX_STEP] = h
    s.c[FACTORIZATIONS] += 1.0


@kernel
def solve_recursions(x, s, h, anew):
    """r becomes (M + h^2 BETA SHARE K + h GAMMA SHARE D)^-1 r, K and D those of modes; factors are kept or anew"""
    p, _ = mechanism.open_parts(x)
    w, _ = take_work(p.m, s.recursions, 0)
    if anew:
        added = view(s.f, 0, 2)
        put(added, 0, h * h * BETA * SHARE)
        put(added, 1, h * GAMMA * SHARE)
        operators.factorize(p.m, p.k, w, added)
    operators.solve(p.m, p.k, w, s.r, 0, 1, s.r)


@kernel
def correct(m, x, s, h, recursions, anew):
    """udot1 -= S^-1 r; returns the largest change of u1 in units of its tolerance"""
    if recursions:
        solve_recursions(x, s, h, anew)
    else:
        solve_factors(m.nu, s.S, s.pivot, s.r)
    size = 0.0
    for j in range(m.nu):
        put(s.udot1, j, get(s.udot1, j) - get(s.r, j))
        change = abs(h * GAMMA * SHARE * get(s.r, j))
        now = change / (ABSOLUTE + RELATIVE * (abs(get(s.u1, j)) + abs(h * get(s.udot1, j))))
        if not now < math.inf:
            s.c[WORST] = j
            return math.inf
        if now > size:
            size = now
            s.c[WORST] = j
    return size


@kernel
def iterate(m, x, t, s, q, u, h, fresh, recursions):
    """Newton's iteration with the factors there are, or with recursions; whether it has come to its end"""
    last, anew = math.inf, True
    for _ in range(MOST_RECURSIONS if recursions else MOST_CORRECTIONS):
        reach(m, s, q, u, h)
        s.c[POWER] = residual(x, t, s, s.r)
        size = correct(m, x, s, h, recursions, anew)
        rate = size / last
        anew = rate > SLOW
        if size <= 1.0 or (last < math.inf and size * rate <= 1.0 - rate):  # nor would all be seen that follow
            reach(m, s, q, u, h)
            return True
        if not size <= (SLOW_RECURSIONS if recursions else SLOW) * last:
            if fresh and size <= ROUNDED and last <= ROUNDED:
                reach(m, s, q, u, h)
                return True
            return False
        last = size
    return False


@kernel
def predict(m, s):
    for j in range(m.nu):
        put(s.udot1, j, get(s.guess, j))


@kernel
def undriven(x):
    """Whether no motion is prescribed: its row of the residual is not a force, and S has none of it"""
    p, _ = mechanism.open_parts(x)
    return p.F.ndriven == 0


@kernel
def solve_step(m, x, t, s, q, u, h):
    """The end of a step of h that ends at t; a status"""
    predict(m, s)
    if s.c[MATRIX_STEP] == h and iterate(m, x, t, s, q, u, h, False, False):
        return GOING
    if m.header[FLEXIBLE] > 0 and undriven(x):
        predict(m, s)
        if iterate(m, x, t, s, q, u, h, True, True):
            s.c[MATRIX_STEP] = 0.0
            return GOING
    predict(m, s)
    for _ in range(MOST_MATRICES):
        take_matrix(m, x, t, s, q, u, h)
        if iterate(m, x, t, s, q, u, h, True, False):
            return GOING
        if checksum(s.udot1) != 0.0:
            return NOT_FINITE
    return NOT_SOLVED


@kernel
def copy(n, x, out):
    for j in range(n):
        put(out, j, get(x, j))


@entry
def march(memory, state, tau, call, times, every, algorithm, Q, U, W, samples, trail, steps):
    """At most ``steps`` steps on from ``state``, into the rows of Q, U, W and of the trail; returns a status."""
    m, buffer = mechanism.open_scratch(memory, state)
    m.header[FACTORS] = 1  # modes one by one: the stiffness added is not seen by interface modes
    own, n = take(buffer, 0, _dense_rows(m) + recursion_rows(m))
    x = mechanism.make_mechanism(memory, buffer, n, tau, call, algorithm)
    q, u = view_state(m, state)
    s, then = open_solution(m, state, own)
    if s.c[BEGUN] == 0.0:
        s.c[POWER] = mechanism.accelerate(x, state[SINCE], q, u, s.udot)
        if checksum(s.udot) != 0.0:
            return NOT_FINITE
        copy(m.nu, s.udot, s.a)
        copy(m.nu, s.udot, then)
        s.c[BEGUN] = 1.0
    for _ in range(steps):
        if state[ROW] == Q.shape[0]:
            break
        remember(m, x, state)
        h, power = state[LENGTH], s.c[POWER]
        s.c[POWER_THEN] = power
        for j in range(m.nu):
            put(s.guess, j, 2.0 * get(s.udot, j) - get(then, j))
        copy(2 * m.nu, s.udot, then)  # and a, which lies behind
        status = solve_step(m, x, state[SINCE] + h, s, q, u, h)
        if status != GOING:
            return status
        copy(m.nq, s.q1, q)
        copy(m.nu, s.u1, u)
        copy(m.nu, s.udot1, s.udot)
        copy(m.nu, s.a1, s.a)
        status = keep(m, x, state, 0.5 * h * (power + s.c[POWER]), times, every, Q, U, W, samples, trail)
        if status != GOING:
            return status
    return GOING


class Run(fixed_step.Run):
    """A march under way, with what an implicit step needs besides."""

    def __init__(self, task: Task) -> None:
        self.more = HEAD + 2 * task.y.size
        super().__init__(task, march, step_rows(task.system), more_state(task.system))

    def restart(self, t: float, y: np.ndarray, row: int) -> None:
        """Go on from y at t, with this row next; what was counted stays."""
        super().restart(t, y, row)
        self.state[self.more + BEGUN] = self.state[self.more + MATRIX_STEP] = 0.0

    def rewound(self) -> np.ndarray:
        """The state as it was when the last step began."""
        state, nu, n = super().rewound(), self.task.system.nu, self.more + RECORD
        state[n : n + 2 * nu] = state[n + 2 * nu : n + 4 * nu]
        state[self.more + POWER] = state[self.more + POWER_THEN]
        return state

    def failed(self, status: int) -> Failure:
        if status == NOT_FINITE:
            return super().failed(status)
        worst = self.task.system.nq + int(self.state[self.more + WORST])
        hint = "a smaller step, or look for a force that jumps"
        return Failure(f"finds no end of a step of {self.state[LENGTH]:.3g} s", self.time, worst, hint)

    def attrs(self) -> dict[str, Any]:
        counts = (("residuals", RESIDUALS), ("factorizations", FACTORIZATIONS))
        return super().attrs() | {name: int(self.state[self.more + i]) for name, i in counts}


def begin(task: Task) -> Run:
    return Run(task)
