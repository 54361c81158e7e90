"""The forces that hold loops closed, from what passes.py has left in its work: O(n + m).

Paper    [critchley2003] finds the motion, eqs (27)-(64), and no constraint loads: these follow from it as said below.
Symbols  r is what each freedom lacks: the force that its motion takes less the one applied, C' lam = r. mu belongs to
         the equation u' = beta - d.z of a dependent freedom, in which d.S = 1, and lam to the rows as they were.
Differs  inward, mu = r - S.P with P the sum of d mu of those outboard; outward, rows R - c d' and d = Q R'c go back to
         R, so that lam + Q c (mu - c.lam) is what lam was before. In a loop by itself this is the shortest lam.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algebra import spatial as sp
from ...compiler.lanes import LANES, entry, get, kernel, put, scratch, take, view
from ...kernels import blocks
from ...kernels.constraints import ends_of_row
from ...kernels.kinematics import modal_columns, place_and_move, take_kinematics
from ...kernels.unpack import unpack, unpack_constraints, unpack_forces
from ...system.system import System
from ..constraints.live_rows import live_rows
from ..loads.applied import project
from ..tree.newton_euler import balance
from .front import places
from .passes import Planned, accelerations, solve, solve_planned, take_reduced
from .program import (
    BODY,
    CLOSE,
    COLUMNS,
    COUPLED,
    DEPENDENT,
    EXCHANGE,
    KEPT,
    MERGE,
    MODAL,
    MOVE,
    ROOT,
    TAKE,
    unpack_plan,
)


@kernel
def pull(m, k, plan, w, r):
    """Tips to ground: mu of each dependent freedom, in the place of beta; P lies where f was"""
    modal, _ = modal_columns(m, k)
    for n in range(plan.count):
        s = COLUMNS * n
        op, at, rest, j = plan.steps[s], plan.steps[s + 2], plan.steps[s + 3], plan.steps[s + 4]
        fr = places(at, rest)[2]
        if op == BODY:
            for c in range(6):
                put(w, at + 21 + c, 0.0)
            for c in range(rest):
                put(w, fr + c, 0.0)
        elif op in (DEPENDENT, TAKE):
            store, P = plan.steps[s + 5], sp.load_at6(w, at + 21)
            mu = get(r, j) - sp.dot(sp.load6(k.S, j), P) if op == DEPENDENT else -get(w, fr + plan.steps[s + 10])
            put(w, store + 6 + rest, mu)
            sp.put_at6(w, at + 21, sp.axpy(mu, sp.load_at6(w, store), P))
            for c in range(rest):
                put(w, fr + c, get(w, fr + c) + mu * get(w, store + 6 + c))
        elif op == KEPT:
            P, column = sp.load_at6(w, at + 21), plan.steps[s + 7]
            of_mode = (
                sp.dot(sp.load_at6(modal, column - 1), P) if column > 0 else sp.dot(sp.load6(k.S, j), P) - get(r, j)
            )
            put(w, fr + plan.steps[s + 10], of_mode)
        elif op == EXCHANGE:
            store, first = plan.steps[s + 5], plan.steps[s + 7]
            for c in range(plan.steps[s + 8]):
                put(w, fr + j, get(w, fr + j) - get(w, store + c) * get(w, fr + plan.maps[first + c]))
        elif op == MODAL:
            for a in range(plan.steps[s + 6]):
                slot = fr + plan.maps[plan.steps[s + 5] + 1 + a]
                put(w, slot, get(w, slot) - get(r, j + a))
        elif op == MERGE:
            there, above, first = plan.steps[s + 5], places(plan.steps[s + 5], plan.steps[s + 6])[2], plan.steps[s + 7]
            for c in range(6):
                put(w, there + 21 + c, get(w, there + 21 + c) + get(w, at + 21 + c))
            for c in range(rest):
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
        elif op in (CLOSE, COUPLED):
            start, here = plan.steps[s + 4], plan.steps[s + 6] + 6 + m
            for r in range(start, plan.steps[s + 5]):
                put(lam, r, get(w, here))
                put(w, here, 0.0)
                here += width


@kernel
def loads_of_rows(m, k, plan, w, r, lam):
    """lam of all rows, behind a solve; rows that the plan does not need are left at zero"""
    for n in range(lam.shape[0]):
        put(lam, n, 0.0)
    pull(m, k, plan, w, r)
    share_out(plan, w, lam)


@kernel
def lacks(m, k, tau, wrench, udot, f, x, r):
    """r: the joint force that u' takes less tau"""
    balance(m, k, udot, wrench, f, x, r)
    for j in range(m.nu):
        put(r, j, get(r, j) - get(tau, j))


@kernel
def take_off(m, E, k, w, lam, f, r):
    """r - C' lam, in the place of r"""
    for n in range(6 * m.nb):
        put(f, n, 0.0)
    for n in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, n)
        for side, body in enumerate((a, b)):
            sp.store6(f, body, sp.axpy(-get(lam, n), sp.load6(w, 2 * n + side), sp.load6(f, body)))
        put(r, i, get(r, i) - first * get(lam, n))
        put(r, j, get(r, j) - second * get(lam, n))
    project(m, k, f, r)


@kernel
def badly_held(E, plan):
    """How many rows no freedom is well suited to: redundant ones, and those that may be nearly so"""
    count = E.nr
    for n in range(plan.count):
        op = plan.steps[COLUMNS * n]
        if op in (DEPENDENT, TAKE) and plan.rise[n] == np.inf:
            count -= 1
        elif op == CLOSE and plan.steps[COLUMNS * n + 9] < 0:  # the other end of rows between branches
            count += plan.steps[COLUMNS * n + 5] - plan.steps[COLUMNS * n + 4]
    return count


@entry
def loads(memory, q, u, rest, signals, out, health, start, stop):
    """lam of live rows, then rest - C' lam, and how many rows are badly held, of the states start to stop.

    Also how well the plan serves each. Returns 0 if all is well, else not a number.
    """
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    plan, end = unpack_plan(memory, end)
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or rest.shape[-1] != m.nu or out.shape[-1] != E.nr + m.nu + 1:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    block, n = blocks.take_block(m, buffer, n, rest)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    o_block, n = take(buffer, n, out.shape[-1])
    h_block, n = take(buffer, n, 1)
    f, n = take(buffer, n, 6 * m.nb)
    own = take_reduced(m, F, E, buffer, n)
    bad = badly_held(E, plan)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, speeds, now = (
            blocks.gather(q, s, block.q),
            blocks.gather(u, s, block.u),
            blocks.gather(signals, s, s_block),
        )
        place_and_move(m, coordinates, speeds, k)
        r = blocks.gather(rest, s, block.x)
        result, worst = blocks.target(out, o_block), blocks.target(health, h_block)
        lam, n = take(result, 0, E.nr)
        left, n = take(result, n, m.nu)
        well = solve(m, F, E, k, plan, now, coordinates, speeds, r, view(r, m.nu, 0), own, block.out)
        loads_of_rows(m, k, plan, own.w, r, lam)
        for j in range(m.nu):
            put(left, j, get(r, j))
        take_off(m, E, k, own.x.w, lam, f, left)
        put(worst, 0, well)
        put(result, n, 0.0 * well + bad)
        blocks.scatter(result, s, out)
        blocks.scatter(worst, s, health)
        total += blocks.checksum(result) + blocks.unit_check(k)
    return total


class PlannedLoads(Planned):
    """The same for :func:`loads`."""

    sweep = staticmethod(loads)

    def more_rows(self) -> int:
        return self.system.nu + 6 * self.system.nb + live_rows(self.system).count + 1


def loads_of(
    system: System, q: np.ndarray, u: np.ndarray, rest: np.ndarray, signals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of one state or a batch: lam of all rows, (nr), that take the rest, (nu); what they leave of it; and how many
    live rows are redundant or may be nearly so, not a number if the sweep fails. Rows that nothing moves take nothing.
    """
    live, one = live_rows(system), q.ndim == 1
    found = np.zeros((*q.shape[:-1], live.count + system.nu + 1))
    waiting: list[Any] = system.workspaces.ready.setdefault((loads, q.ndim), [])
    planned = waiting.pop() if waiting else PlannedLoads(system, 1 if one else LANES)
    others: list[Any] = system.workspaces.ready.get(accelerations, [])
    if planned.plan is None and others and others[-1].plan is not None:
        planned.follow(others[-1].plan)
    solve_planned(planned, q, u, rest, signals, found, 0, 1 if one else q.shape[0])
    waiting.append(planned)
    lam = np.zeros((*q.shape[:-1], system.constraints.count))
    lam[..., live.kept] = found[..., : live.count]
    return lam, found[..., live.count : -1], np.where(np.isfinite(found).all(axis=-1), found[..., -1], np.nan)
