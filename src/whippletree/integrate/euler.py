"""Semi-implicit Euler, fixed step: the new speeds move the coordinates, on the manifold.

Paper    [hairer2006] Geometric Numerical Integration, sec. I.1.2, eq. (1.9): the symplectic Euler method.
Symbols  u' = a; the step is h.
Differs  u is a generalized speed, not a momentum, and a is taken at the old u: the method is symplectic
         where the mass matrix is constant and of order 1 everywhere. q moves along h u exactly.
"""

from ..kernels.lanes import entry, kernel, take
from ..kernels.manifold import advance
from .accelerate import accelerate
from .fixed_step import GOING, LENGTH, NOT_FINITE, ROW, SINCE, Run, advance_speeds, keep, open_run, remember, scaled
from .task import Task

ADAPTIVE = False
ORDER = 1


@kernel
def step(x, t, q, u, h, buffer, n):
    """q, u a step of h further, in place; returns the work. Scratch lies in the buffer from row n on"""
    m = x.m
    a, n = take(buffer, n, m.nu)
    move, n = take(buffer, n, m.nu)
    power = accelerate(x, t, q, u, a, buffer, n)
    advance_speeds(m.nu, u, h, a, u)
    scaled(m.nu, h, u, move)
    advance(m, q, move, q)
    return h * power


# rk4.march with another step: a march that took the step as an argument could not be kept on disk by Numba
@entry
def march(memory, state, tau, call, times, every, algorithm, Q, U, W, steps):
    """At most ``steps`` steps on from ``state``, into the rows of Q, U, W; returns a status."""
    x, q, u, buffer, n = open_run(memory, state, tau, call, algorithm)
    for _ in range(steps):
        if state[ROW] == Q.shape[0]:
            break
        remember(x.m, state)
        work = step(x, state[SINCE], q, u, state[LENGTH], buffer, n)
        if not keep(x, state, work, times, every, Q, U, W):
            return NOT_FINITE
    return GOING


def begin(task: Task) -> Run:
    return Run(task, march, 2 * task.system.nu)
