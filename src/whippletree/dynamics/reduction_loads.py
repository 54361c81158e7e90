"""The forces that hold loops closed, from what reduction.py has left in its work: O(n + m).

Paper    [critchley2003] after eq. (64): loads of loops follow from the motion.
Symbols  r is what each freedom lacks: the force that its motion takes less the one applied, C' lam = r. mu belongs to
         the equation u' = beta - d.z of a dependent freedom, in which d.S = 1, and lam to the rows as they were.
Differs  inward, mu = r - S.P with P the sum of d mu of those outboard; outward, rows R - c d' and d = Q R'c go back to
         R, so that lam + Q c (mu - c.lam) is what lam was before. In a loop by itself this is the shortest lam.
"""

from __future__ import annotations

import numpy as np

from ..kernels.blocks import (
    checksum,
    gather,
    scatter,
    split_wrench,
    states_per_block,
    take_block,
    target,
    unit_check,
)
from ..kernels.constraint_layout import unpack_constraints
from ..kernels.force_layout import unpack_forces
from ..kernels.kinematics import place_and_move, take_kinematics
from ..kernels.lanes import LANES, entry, get, kernel, put, scratch, take
from ..kernels.layout import unpack
from ..kernels.spatial import axpy, dot, load6
from ..system.system import System
from .fronts import load_at6, places, put_at6
from .live_rows import live_rows
from .newton_euler import balance
from .reduction import Planned, solve, solve_planned, take_reduced
from .reduction_layout import BODY, CLOSE, COLUMNS, DEPENDENT, KEPT, MERGE, MOVE, ROOT, TAKE, unpack_plan


@kernel
def pull(k, plan, w, r):
    """Tips to ground: mu of each dependent freedom, in the place of beta; P lies where f was"""
    for n in range(plan.count):
        s = COLUMNS * n
        op, at, m, j = plan.steps[s], plan.steps[s + 2], plan.steps[s + 3], plan.steps[s + 4]
        fr = places(at, m)[2]
        if op == BODY:
            for c in range(6):
                put(w, at + 21 + c, 0.0)
            for c in range(m):
                put(w, fr + c, 0.0)
        elif op in (DEPENDENT, TAKE):
            store, P = plan.steps[s + 5], load_at6(w, at + 21)
            mu = get(r, j) - dot(load6(k.S, j), P) if op == DEPENDENT else -get(w, fr + plan.steps[s + 10])
            put(w, store + 6 + m, mu)
            put_at6(w, at + 21, axpy(mu, load_at6(w, store), P))
            for c in range(m):
                put(w, fr + c, get(w, fr + c) + mu * get(w, store + 6 + c))
        elif op == KEPT:
            put(w, fr + plan.steps[s + 10], dot(load6(k.S, j), load_at6(w, at + 21)) - get(r, j))
        elif op == MERGE:
            there, above, first = plan.steps[s + 5], places(plan.steps[s + 5], plan.steps[s + 6])[2], plan.steps[s + 7]
            for c in range(6):
                put(w, there + 21 + c, get(w, there + 21 + c) + get(w, at + 21 + c))
            for c in range(m):
                a = plan.maps[first + c]
                if a >= 0:
                    into = there + 21 + a if a < 6 else above + a - 6
                    put(w, into, get(w, into) + get(w, fr + c))


@kernel
def share_out(plan, w, lam):
    """Ground to tips: lam of the rows as they were, in the place of gamma until their loop is reached"""
    for n in range(plan.count - 1, -1, -1):
        s = COLUMNS * n
        op, m = plan.steps[s], plan.steps[s + 3]
        width = 7 + m
        if op in (MERGE, ROOT):
            for r in range(plan.steps[s + 9]):
                put(w, plan.steps[s + 8] + r * width + 6 + m, 0.0)
        elif op == MOVE:
            here, there, mp = plan.steps[s + 4], plan.steps[s + 6], plan.steps[s + 7]
            for r in range(plan.steps[s + 5]):
                above = there + r * (7 + mp) + 6 + mp
                put(w, here + r * width + 6 + m, get(w, above))
                put(w, above, 0.0)
        elif op in (DEPENDENT, TAKE):
            store, rows = plan.steps[s + 5], plan.steps[s + 6] + 6 + m
            first, group, count = plan.steps[s + 7], plan.steps[s + 8], plan.steps[s + 9]
            left, size = get(w, store + 6 + m), 0.0 * get(w, store)
            for r in range(count):
                left = left - get(w, store + width + r) * get(w, rows + r * width)
            for r in range(first, first + group):
                c = get(w, store + width + r)
                size = size + c * c
            left = left / size
            for r in range(first, first + group):
                put(w, rows + r * width, get(w, rows + r * width) + left * get(w, store + width + r))
        elif op == CLOSE:
            start, here = plan.steps[s + 4], plan.steps[s + 6] + 6 + m
            for r in range(start, plan.steps[s + 5]):
                put(lam, r, get(w, here))
                put(w, here, 0.0)
                here += width


@kernel
def loads_of_rows(k, plan, w, r, lam):
    """lam of all rows, behind a solve; rows that the plan does not need are left at zero"""
    for n in range(lam.shape[0]):
        put(lam, n, 0.0)
    pull(k, plan, w, r)
    share_out(plan, w, lam)


@kernel
def lacks(m, k, tau, wrench, udot, f, x, r):
    """r: the joint force that u' takes less tau"""
    balance(m, k, udot, wrench, f, x, r)
    for j in range(m.nu):
        put(r, j, get(r, j) - get(tau, j))


@entry
def loads(memory, q, u, forces, signals, lam, health, start, stop):
    """lam of live rows in the states start to stop, and of each how well the plan serves it.

    Returns 0 if all is well, else not a number.
    """
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    plan, end = unpack_plan(memory, end)
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or lam.shape[-1] != E.nr or signals.shape[-1] != 1 + 3 * F.ns:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    block, n = take_block(m, buffer, n, forces)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    l_block, n = take(buffer, n, E.nr)
    h_block, n = take(buffer, n, 1)
    r, n = take(buffer, n, m.nu)
    f, n = take(buffer, n, 6 * m.nb)
    a, n = take(buffer, n, 6 * m.nb)
    own = take_reduced(m, F, E, buffer, n)
    total = 0.0
    for s in range(start, stop, states_per_block(buffer)):
        coordinates, speeds, now = gather(q, s, block.q), gather(u, s, block.u), gather(signals, s, s_block)
        place_and_move(m, coordinates, speeds, k)
        tau, wrench = split_wrench(m, gather(forces, s, block.x))
        out, worst = target(lam, l_block), target(health, h_block)
        put(worst, 0, solve(m, F, E, k, plan, now, coordinates, speeds, tau, wrench, own, block.out))
        lacks(m, k, tau, wrench, block.out, f, a, r)
        loads_of_rows(k, plan, own.w, r, out)
        scatter(out, s, lam)
        scatter(worst, s, health)
        total += checksum(out) + unit_check(k)
    return total


class PlannedLoads(Planned):
    """The same for :func:`loads`."""

    sweep = staticmethod(loads)

    def more_rows(self) -> int:
        return self.system.nu + 12 * self.system.nb + live_rows(self.system).count


def loads_of(system: System, q: np.ndarray, u: np.ndarray, forces: np.ndarray, signals: np.ndarray) -> np.ndarray:
    """lam of all rows, (nr) or (B, nr), under forces (tau, and then wrenches if any) of one state or a batch."""
    live = live_rows(system)
    found = np.zeros((*q.shape[:-1], live.count))
    workspace = PlannedLoads(system, 1 if q.ndim == 1 else LANES)
    solve_planned(workspace, q, u, forces, signals, found, 0, 1 if q.ndim == 1 else q.shape[0])
    lam = np.zeros((*q.shape[:-1], system.constraints.count))
    lam[..., live.kept] = found
    return lam
