"""Classical Runge-Kutta of order 4 on the configuration manifold, fixed step.

Paper    [celledoni2003] Commutator-free Lie group methods, the method of order 4 (their eq. for CF4);
         on coordinates with q' = u it is the classical method, [hairer1993] table II.1.2.
Symbols  a1 ... a4 are the stage accelerations, u1 ... u4 the stage speeds.
Differs  speeds are in body axes, so exponentials multiply from the right, in reversed order.
"""

from typing import Any

import numpy as np

from ..dynamics import articulated, composite
from ..kernels.blocks import make_memory
from ..kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ..kernels.lanes import entry, get, kernel, put, scratch, take
from ..kernels.layout import unpack
from ..kernels.manifold import advance
from ..system.system import System

ORDER = 4
CODES = {"articulated": 0, "composite": 1}


def workspace(system: System, algorithm: str, lanes: int = 1) -> Any:
    """Memory for :func:`march`."""
    nb, nu, nq = system.nb, system.nu, system.nq
    work = 33 * nb + 8 * nu if CODES[algorithm] == 0 else 22 * nb + nu + nu * nu
    return make_memory(system, kinematics_rows(system) + 3 * nq + 9 * nu + work, lanes)


@kernel
def accelerate(m, k, algorithm, q, u, tau, none, buffer, n, udot):
    place_and_move(m, q, u, k)
    if algorithm == 0:
        w, _ = articulated.take_work(m, buffer, n)
        articulated.solve(m, k, tau, none, w, udot)
    else:
        c, _ = composite.take_work(m, buffer, n)
        composite.solve(m, k, tau, none, c, udot)


@kernel
def combine(n, a, u1, b, u2, c, u3, d, u4, out):
    """out = a u1 + b u2 + c u3 + d u4"""
    for j in range(n):
        put(out, j, a * get(u1, j) + b * get(u2, j) + c * get(u3, j) + d * get(u4, j))


@kernel
def advance_speeds(n, u, h, a, out):
    """out = u + h a"""
    for j in range(n):
        put(out, j, get(u, j) + h * get(a, j))


@entry
def march(memory, q, u, tau, h, every, algorithm, Q, U):
    """Step q, u (in place) by h; store every ``every``-th state as a row of Q, U until they are full."""
    m, end = unpack(memory)
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
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
    step, n = take(buffer, n, m.nu)
    none, _ = take(buffer, n, 0)
    for row in range(Q.shape[0]):
        for _ in range(every):
            accelerate(m, k, algorithm, q, u, tau, none, buffer, n, a1)
            combine(m.nu, h / 2, u, 0.0, u2, 0.0, u3, 0.0, u4, step)
            advance(m, q, step, q2)
            advance_speeds(m.nu, u, h / 2, a1, u2)
            accelerate(m, k, algorithm, q2, u2, tau, none, buffer, n, a2)
            combine(m.nu, 0.0, u, h / 2, u2, 0.0, u3, 0.0, u4, step)
            advance(m, q, step, q3)
            advance_speeds(m.nu, u, h / 2, a2, u3)
            accelerate(m, k, algorithm, q3, u3, tau, none, buffer, n, a3)
            combine(m.nu, -h / 2, u, 0.0, u2, h, u3, 0.0, u4, step)
            advance(m, q2, step, q4)
            advance_speeds(m.nu, u, h, a3, u4)
            accelerate(m, k, algorithm, q4, u4, tau, none, buffer, n, a4)
            combine(m.nu, h / 4, u, h / 6, u2, h / 6, u3, -h / 12, u4, step)
            advance(m, q, step, q)
            combine(m.nu, -h / 12, u, h / 6, u2, h / 6, u3, h / 4, u4, step)
            advance(m, q, step, q)
            for j in range(m.nu):
                rise = get(a1, j) + 2.0 * get(a2, j) + 2.0 * get(a3, j) + get(a4, j)
                put(u, j, get(u, j) + h / 6 * rise)
        for j in range(m.nq):
            Q[row, j] = q[j]
        for j in range(m.nu):
            U[row, j] = u[j]
    return 0


def steps_between(step: float, output_step: float) -> tuple[int, float]:
    """Steps from one output to the next, and the step shortened so that they fit."""
    every = max(1, int(np.ceil(output_step / step * (1 - 1e-9))))
    return every, output_step / every
