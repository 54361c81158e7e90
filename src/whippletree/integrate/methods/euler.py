"""Semi-implicit Euler, fixed step: the new velocities move the coordinates, on the manifold.

Paper    [hairer2006] Geometric Numerical Integration, sec. I.1.2, eq. (1.9): the symplectic Euler method.
Symbols  u' = a; the step is h.
Differs  u is a generalized speed, not a momentum, and a is taken at the old u: the method is symplectic
         where the mass matrix is constant and of order 1 everywhere. q moves along h u exactly.
"""

from typing import Any

from ...compiler.lanes import entry, inline, kernel, take
from ...dynamics.stepping.mechanism import accelerate, make_mechanism, open_scratch
from ...kernels.manifold import advance
from ..run.task import Task
from .fixed_step import GOING, LENGTH, ROW, SINCE, Run, advance_velocities, keep, remember, scaled, view_state

ADAPTIVE = False
ORDER = 1


def step_rows(m: Any) -> int:
    """Numbers of scratch that a step takes."""
    return 2 * m.nu


own_rows = inline(step_rows)


@kernel
def step(m, x, t, q, u, h, own):
    """q, u a step of h further, in place; returns the work. ``own``: scratch"""
    a, n = take(own, 0, m.nu)
    move, n = take(own, n, m.nu)
    power = accelerate(x, t, q, u, a)
    advance_velocities(m.nu, u, h, a, u)
    scaled(m.nu, h, u, move)
    advance(m, q, move, q)
    return h * power


# rk4.march with another step: a march that took the step as an argument could not be kept on disk by Numba
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
