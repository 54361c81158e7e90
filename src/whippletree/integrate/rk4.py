"""Classical Runge-Kutta of order 4 on the configuration manifold, fixed step.

Paper    [celledoni2003] Commutator-free Lie group methods, the method of order 4 (their eq. for CF4);
         on coordinates with q' = u it is the classical method, [hairer1993] table II.1.2.
Symbols  a1 ... a4 are the stage accelerations, u1 ... u4 the stage speeds.
Differs  speeds are in body axes, so exponentials multiply from the right, in reversed order.
"""

from ..kernels.lanes import entry, get, kernel, put, take
from ..kernels.manifold import advance
from ..system.system import System
from .accelerate import accelerate
from .fixed_step import GOING, NOT_FINITE, ROW, Run, advance_speeds, keep, open_run, scaled
from .task import Task

ADAPTIVE = False
ORDER = 4


@kernel
def combine(n, a, u1, b, u2, c, u3, d, u4, out):
    """out = a u1 + b u2 + c u3 + d u4"""
    for j in range(n):
        put(out, j, a * get(u1, j) + b * get(u2, j) + c * get(u3, j) + d * get(u4, j))


@kernel
def step(m, k, algorithm, q, u, tau, h, buffer, n):
    """q, u a step of h further, in place; scratch lies in the buffer from row n on"""
    q2, n = take(buffer, n, m.nq)
    q3, n = take(buffer, n, m.nq)
    q4, n = take(buffer, n, m.nq)
    u2, n = take(buffer, n, m.nu)
    u3, n = take(buffer, n, m.nu)
    u4, n = take(buffer, n, m.nu)
    a1, n = take(buffer, n, m.nu)
    a2, n = take(buffer, n, m.nu)
    a3, n = take(buffer, n, m.nu)
    a4, n = take(buffer, n, m.nu)
    move, n = take(buffer, n, m.nu)
    none, _ = take(buffer, n, 0)
    accelerate(m, k, algorithm, q, u, tau, none, buffer, n, a1)
    scaled(m.nu, h / 2, u, move)
    advance(m, q, move, q2)
    advance_speeds(m.nu, u, h / 2, a1, u2)
    accelerate(m, k, algorithm, q2, u2, tau, none, buffer, n, a2)
    scaled(m.nu, h / 2, u2, move)
    advance(m, q, move, q3)
    advance_speeds(m.nu, u, h / 2, a2, u3)
    accelerate(m, k, algorithm, q3, u3, tau, none, buffer, n, a3)
    for j in range(m.nu):
        put(move, j, h * get(u3, j) - h / 2 * get(u, j))
    advance(m, q2, move, q4)
    advance_speeds(m.nu, u, h, a3, u4)
    accelerate(m, k, algorithm, q4, u4, tau, none, buffer, n, a4)
    combine(m.nu, h / 4, u, h / 6, u2, h / 6, u3, -h / 12, u4, move)
    advance(m, q, move, q)
    combine(m.nu, -h / 12, u, h / 6, u2, h / 6, u3, h / 4, u4, move)
    advance(m, q, move, q)
    for j in range(m.nu):
        rise = get(a1, j) + 2.0 * get(a2, j) + 2.0 * get(a3, j) + get(a4, j)
        put(u, j, get(u, j) + h / 6 * rise)


@entry
def march(memory, state, tau, h, every, algorithm, Q, U, steps):
    """At most ``steps`` steps on from ``state``, into the rows of Q, U; returns a status."""
    m, k, q, u, buffer, n = open_run(memory, state)
    for _ in range(steps):
        if state[ROW] == Q.shape[0]:
            break
        step(m, k, algorithm, q, u, tau, h, buffer, n)
        if not keep(m, state, q, u, every, Q, U):
            return NOT_FINITE
    return GOING


def stage_rows(system: System) -> int:
    """Numbers that :func:`step` takes for its stages."""
    return 3 * system.nq + 8 * system.nu


def begin(task: Task) -> Run:
    return Run(task, march, stage_rows(task.system))
