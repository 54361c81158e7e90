"""Classical Runge-Kutta of order 4 on the configuration manifold, fixed step.

Paper    [celledoni2003] Commutator-free Lie group methods, the method of order 4 (their eq. for CF4);
         on coordinates with q' = u it is the classical method, [hairer1993] table II.1.2.
Symbols  a1 ... a4 are the stage accelerations, u1 ... u4 the stage velocities.
Differs  velocities are in body axes, so exponentials multiply from the right, in reversed order.
"""

from typing import Any

from ...compiler.lanes import entry, get, inline, kernel, put, take
from ...dynamics.stepping.mechanism import accelerate, make_mechanism, open_scratch
from ...kernels.manifold import advance
from ..run.task import Task
from .fixed_step import GOING, LENGTH, ROW, SINCE, Run, advance_velocities, keep, remember, scaled, view_state

ADAPTIVE = False
ORDER = 4


@kernel
def combine(n, a, u1, b, u2, c, u3, d, u4, out):
    """out = a u1 + b u2 + c u3 + d u4"""
    for j in range(n):
        put(out, j, a * get(u1, j) + b * get(u2, j) + c * get(u3, j) + d * get(u4, j))


def step_rows(m: Any) -> int:
    """Numbers of scratch that a step takes."""
    return 3 * m.nq + 8 * m.nu


own_rows = inline(step_rows)


@kernel
def step(m, x, t, q, u, h, own):
    """q, u a step of h further, in place; returns the work. ``own``: scratch"""
    q2, n = take(own, 0, m.nq)
    q3, n = take(own, n, m.nq)
    q4, n = take(own, n, m.nq)
    u2, n = take(own, n, m.nu)
    u3, n = take(own, n, m.nu)
    u4, n = take(own, n, m.nu)
    a1, n = take(own, n, m.nu)
    a2, n = take(own, n, m.nu)
    a3, n = take(own, n, m.nu)
    a4, n = take(own, n, m.nu)
    move, n = take(own, n, m.nu)
    p1 = accelerate(x, t, q, u, a1)
    scaled(m.nu, h / 2, u, move)
    advance(m, q, move, q2)
    advance_velocities(m.nu, u, h / 2, a1, u2)
    p2 = accelerate(x, t + h / 2, q2, u2, a2)
    scaled(m.nu, h / 2, u2, move)
    advance(m, q, move, q3)
    advance_velocities(m.nu, u, h / 2, a2, u3)
    p3 = accelerate(x, t + h / 2, q3, u3, a3)
    for j in range(m.nu):
        put(move, j, h * get(u3, j) - h / 2 * get(u, j))
    advance(m, q2, move, q4)
    advance_velocities(m.nu, u, h, a3, u4)
    p4 = accelerate(x, t + h, q4, u4, a4)
    combine(m.nu, h / 4, u, h / 6, u2, h / 6, u3, -h / 12, u4, move)
    advance(m, q, move, q)
    combine(m.nu, -h / 12, u, h / 6, u2, h / 6, u3, h / 4, u4, move)
    advance(m, q, move, q)
    for j in range(m.nu):
        rise = get(a1, j) + 2.0 * get(a2, j) + 2.0 * get(a3, j) + get(a4, j)
        put(u, j, get(u, j) + h / 6 * rise)
    return h / 6 * (p1 + 2.0 * p2 + 2.0 * p3 + p4)


@entry
def march(memory, state, tau, call, times, every, algorithm, Q, U, W, samples, trail, steps):
    """At most ``steps`` steps on from ``state``, into the rows of Q, U, W and of the trail; returns a status."""
    m, buffer = open_scratch(memory, state)
    own, n = take(buffer, 0, own_rows(m))
    x = make_mechanism(memory, buffer, n, tau, call, algorithm)
    q, u = view_state(m, state)
    for _ in range(steps):
        if state[ROW] == Q.shape[0]:
            break
        remember(m, x, state)
        work = step(m, x, state[SINCE], q, u, state[LENGTH], own)
        status = keep(m, x, state, work, times, every, Q, U, W, samples, trail)
        if status != GOING:
            return status
    return GOING


def begin(task: Task) -> Run:
    return Run(task, march, step_rows(task.system))
