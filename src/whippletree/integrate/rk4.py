"""Classical Runge-Kutta of order 4 on the configuration manifold, fixed step.

Paper    [celledoni2003] Commutator-free Lie group methods, the method of order 4 (their eq. for CF4);
         on coordinates with q' = u it is the classical method, [hairer1993] table II.1.2.
Symbols  a1 ... a4 are the stage accelerations, u1 ... u4 the stage speeds.
Differs  speeds are in body axes, so exponentials multiply from the right, in reversed order.
"""

from typing import Any, NamedTuple

import numpy as np

from ..dynamics import articulated, composite
from ..kernels.blocks import make_memory
from ..kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ..kernels.lanes import entry, get, inline, kernel, put, scratch, take
from ..kernels.layout import unpack
from ..kernels.manifold import advance
from ..system.system import System

ORDER = 4
CODES = {"articulated": 0, "composite": 1}


class Stages(NamedTuple):
    q2: Any  # (nq)
    q3: Any
    q4: Any
    u2: Any  # (nu)
    u3: Any
    u4: Any
    a1: Any  # (nu)
    a2: Any
    a3: Any
    a4: Any
    step: Any  # (nu)  displacement
    none: Any  # (0)   no wrenches


def stage_rows(system: System) -> int:
    return 3 * system.nq + 8 * system.nu


def workspace(system: System, algorithm: str, lanes: int = 1) -> Any:
    """Memory for :func:`march`."""
    nb, nu = system.nb, system.nu
    work = 33 * nb + 8 * nu if CODES[algorithm] == 0 else 22 * nb + nu + nu * nu
    return make_memory(system, kinematics_rows(system) + stage_rows(system) + work, lanes)


@inline
def take_stages(m, buffer, n):
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
    none, n = take(buffer, n, 0)
    return Stages(q2, q3, q4, u2, u3, u4, a1, a2, a3, a4, step, none), n


@kernel
def accelerate(m, k, algorithm, q, u, tau, none, buffer, n, udot):
    """udot by a code of CODES; None is articulated too, and leaves the others uncompiled"""
    place_and_move(m, q, u, k)
    if algorithm is not None:  # noqa: SIM102  on its own, it is decided before compiling
        if algorithm == 1:
            c, _ = composite.take_work(m, buffer, n)
            composite.solve(m, k, tau, none, c, udot)
            return
    w, _ = articulated.take_work(m, buffer, n)
    articulated.solve(m, k, tau, none, w, udot)


@kernel
def scaled(n, a, u1, out):
    """out = a u1"""
    for j in range(n):
        put(out, j, a * get(u1, j))


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


@kernel
def rk4_step(m, k, s, algorithm, q, u, tau, h, buffer, n):
    """q and u (in place) one step of h on, under constant tau; floats or lanes. buffer is free from n on."""
    accelerate(m, k, algorithm, q, u, tau, s.none, buffer, n, s.a1)
    scaled(m.nu, h / 2, u, s.step)
    advance(m, q, s.step, s.q2)
    advance_speeds(m.nu, u, h / 2, s.a1, s.u2)
    accelerate(m, k, algorithm, s.q2, s.u2, tau, s.none, buffer, n, s.a2)
    scaled(m.nu, h / 2, s.u2, s.step)
    advance(m, q, s.step, s.q3)
    advance_speeds(m.nu, u, h / 2, s.a2, s.u3)
    accelerate(m, k, algorithm, s.q3, s.u3, tau, s.none, buffer, n, s.a3)
    for j in range(m.nu):
        put(s.step, j, h * get(s.u3, j) - h / 2 * get(u, j))
    advance(m, s.q2, s.step, s.q4)
    advance_speeds(m.nu, u, h, s.a3, s.u4)
    accelerate(m, k, algorithm, s.q4, s.u4, tau, s.none, buffer, n, s.a4)
    combine(m.nu, h / 4, u, h / 6, s.u2, h / 6, s.u3, -h / 12, s.u4, s.step)
    advance(m, q, s.step, q)
    combine(m.nu, -h / 12, u, h / 6, s.u2, h / 6, s.u3, h / 4, s.u4, s.step)
    advance(m, q, s.step, q)
    for j in range(m.nu):
        rise = get(s.a1, j) + 2.0 * get(s.a2, j) + 2.0 * get(s.a3, j) + get(s.a4, j)
        put(u, j, get(u, j) + h / 6 * rise)


@entry
def march(memory, q, u, tau, h, every, algorithm, Q, U):
    """Step q, u (in place) by h; store every ``every``-th state as a row of Q, U until they are full."""
    m, end = unpack(memory)
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    s, n = take_stages(m, buffer, n)
    for row in range(Q.shape[0]):
        for _ in range(every):
            rk4_step(m, k, s, algorithm, q, u, tau, h, buffer, n)
        for j in range(m.nq):
            Q[row, j] = q[j]
        for j in range(m.nu):
            U[row, j] = u[j]
    return 0


def steps_between(step: float, output_step: float) -> tuple[int, float]:
    """Steps from one output to the next, and the step shortened so that they fit."""
    every = max(1, int(np.ceil(output_step / step * (1 - 1e-9))))
    return every, output_step / every
