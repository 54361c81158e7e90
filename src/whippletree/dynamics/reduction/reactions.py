"""The forces that hold loops closed, from what passes.py has left in its work: O(n + m).

Paper    [critchley2003] finds the motion, eqs (27)-(64), and no constraint loads: these follow from it as said below.
Symbols  r is what each DOF lacks: the force that its motion takes less the one applied, C' lam = r. mu belongs to
         the equation u' = beta - d.z of a dependent DOF, in which d.S = 1, and lam to the rows as they were.
Differs  inward, mu = r - S.P with P the sum of d mu of those outboard; outward, rows R - c d' and d = Q R'c go back to
         R, so that lam + Q c (mu - c.lam) is what lam was before. In a loop by itself this is the shortest lam.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...algebra import spatial as sp
from ...compiler.lanes import LANES, entry, get, kernel, put, scratch, take, view
from ...kernels import blocks, kinematics
from ...kernels import unpack as packing
from ...kernels.constraints import ends_of_row
from ...system.system import System
from ..constraints.live_rows import live_rows
from ..loads.applied import project
from ..tree.newton_euler import balance
from . import operations as ops
from .front import F, places
from .front_variables import put_less
from .passes import Planned, accelerations, solve, solve_planned, take_reduced
from .program import unpack_plan


@kernel
def pull(m, k, plan, w, r):
    """Tips to ground: mu of each dependent DOF, in the place of beta; P lies where f was"""
    modal, _ = kinematics.modal_columns(m, k)
    for n in range(plan.count):
        s = ops.COLUMNS * n + ops.OPERANDS
        op, _, at, rest = ops.operation(plan.steps, ops.COLUMNS * n)
        fr = places(at, rest)[2]
        if op == ops.BODY:
            for c in range(6):
                put(w, at + F + c, 0.0)
            for c in range(rest):
                put(w, fr + c, 0.0)
        elif op in (ops.DEPENDENT, ops.TAKE):
            d, P = ops.solve(plan.steps, s), sp.load_at6(w, at + F)
            mu = get(r, d.j) - sp.dot(sp.load6(k.S, d.j), P) if op == ops.DEPENDENT else -get(w, fr + d.var)
            put(w, d.store + 6 + rest, mu)
            sp.put_at6(w, at + F, sp.axpy(mu, sp.load_at6(w, d.store), P))
            for c in range(rest):
                put(w, fr + c, get(w, fr + c) + mu * get(w, d.store + 6 + c))
        elif op == ops.KEPT:
            d, P = ops.solve(plan.steps, s), sp.load_at6(w, at + F)
            if d.first > 0:
                put(w, fr + d.var, sp.dot(sp.load_at6(modal, d.first - 1), P))
            else:
                put(w, fr + d.var, sp.dot(sp.load6(k.S, d.j), P) - get(r, d.j))
        elif op == ops.EXCHANGE:
            swap = ops.exchange(plan.steps, s)
            for c in range(swap.pivots):
                put_less(w, fr + swap.var, get(w, swap.store + c), fr + plan.maps[swap.link + c])
        elif op == ops.MODAL:
            modes = ops.modal(plan.steps, s)
            for a in range(modes.count):
                slot = fr + plan.maps[modes.slots + 1 + a]
                put(w, slot, get(w, slot) - get(r, modes.j + a))
        elif op == ops.MERGE:
            into = ops.merge(plan.steps, s)
            above = places(into.there, into.above)[2]
            for c in range(6):
                put(w, into.there + F + c, get(w, into.there + F + c) + get(w, at + F + c))
            for c in range(rest):
                a = plan.maps[into.link + c]
                if a >= 0:
                    target = into.there + F + a if a < 6 else above + a - 6
                    put(w, target, get(w, target) + get(w, fr + c))


@kernel
def share_out(plan, w, lam):
    """Ground to tips: lam of the rows as they were, in the place of gamma until their loop is reached"""
    for n in range(plan.count - 1, -1, -1):
        s = ops.COLUMNS * n + ops.OPERANDS
        op, _, _, m = ops.operation(plan.steps, ops.COLUMNS * n)
        width = 7 + m
        if op in (ops.MERGE, ops.ROOT):
            own = ops.merge(plan.steps, s)
            for r in range(own.open):
                put(w, own.rows + r * width + 6 + m, 0.0)
        elif op == ops.MOVE:
            up = ops.move(plan.steps, s)
            for r in range(up.count):
                above = up.there + r * (7 + up.above) + 6 + up.above
                put(w, up.row + r * width + 6 + m, get(w, above))
                put(w, above, 0.0)
        elif op in (ops.DEPENDENT, ops.TAKE):
            d = ops.solve(plan.steps, s)
            rows, c_at = d.rows + 6 + m, d.store + width
            left, size = get(w, d.store + 6 + m), 0.0 * get(w, d.store)
            for r in range(d.count):
                left = left - get(w, c_at + r) * get(w, rows + r * width)
            for r in range(d.first, d.first + d.group):
                c = get(w, c_at + r)
                size = size + c * c
            left = left / size
            for r in range(d.first, d.first + d.group):
                put(w, rows + r * width, get(w, rows + r * width) + left * get(w, c_at + r))
        elif op in (ops.CLOSE, ops.COUPLED):
            loop = ops.couple(plan.steps, s)  # what a loop and a coupling both begin with
            here = loop.rows + 6 + m
            for r in range(loop.start, loop.stop):
                put(lam, r, get(w, here))
                put(w, here, 0.0)
                here += width


@kernel
def reactions_of_rows(m, k, plan, w, r, lam):
    """lam of all rows, behind a solve; rows that the plan does not need are left at zero"""
    for n in range(lam.shape[0]):
        put(lam, n, 0.0)
    pull(m, k, plan, w, r)
    share_out(plan, w, lam)


@kernel
def lacks(m, k, tau, wrench, udot, f, x, r):
    """r: the joint force that u' takes less tau"""
    balance(m, k, False, udot, wrench, f, x, r)
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
    """How many rows no DOF is well suited to: redundant ones, and those that may be nearly so"""
    count = E.nr
    for n in range(plan.count):
        op, _, _, _ = ops.operation(plan.steps, ops.COLUMNS * n)
        if op in (ops.DEPENDENT, ops.TAKE) and plan.rise[n] == np.inf:
            count -= 1
        elif op == ops.CLOSE:
            loop = ops.close(plan.steps, ops.COLUMNS * n + ops.OPERANDS)
            if loop.slack < 0:  # the other end of rows between branches
                count += loop.stop - loop.start
    return count


@entry
def loads(memory, q, u, rest, signals, out, health, start, stop):
    """lam of live rows, then rest - C' lam, and how many rows are badly held, of the states start to stop.

    Also how well the plan serves each. Returns 0 if all is well, else not a number.
    """
    m, end = packing.unpack(memory)
    F, end = packing.unpack_forces(memory, end)
    E, end = packing.unpack_constraints(memory, end)
    plan, end = unpack_plan(memory, end)
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or rest.shape[-1] != m.nu or out.shape[-1] != E.nr + m.nu + 1:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = kinematics.take_kinematics(m, buffer)
    block, n = blocks.take_block(m, buffer, n, rest)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    o_block, n = take(buffer, n, out.shape[-1])
    h_block, n = take(buffer, n, 1)
    f, n = take(buffer, n, 6 * m.nb)
    own = take_reduced(m, F, E, buffer, n)
    bad = badly_held(E, plan)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities, now = (
            blocks.gather(q, s, block.q),
            blocks.gather(u, s, block.u),
            blocks.gather(signals, s, s_block),
        )
        kinematics.place_and_move(m, coordinates, velocities, k)
        r = blocks.gather(rest, s, block.x)
        result, worst = blocks.target(out, o_block), blocks.target(health, h_block)
        lam, n = take(result, 0, E.nr)
        left, n = take(result, n, m.nu)
        well = solve(m, F, E, k, plan, now, coordinates, velocities, r, view(r, m.nu, 0), own, block.out)
        reactions_of_rows(m, k, plan, own.w, r, lam)
        for j in range(m.nu):
            put(left, j, get(r, j))
        take_off(m, E, k, own.x.w, lam, f, left)
        put(worst, 0, well)
        put(result, n, 0.0 * well + bad)
        blocks.scatter(result, s, out)
        blocks.scatter(worst, s, health)
        total += blocks.checksum(result) + blocks.unit_check(k)
    return total


class PlannedReactions(Planned):
    """The same for :func:`loads`."""

    recursion = staticmethod(loads)

    def more_rows(self) -> int:
        return self.system.nu + 6 * self.system.nb + live_rows(self.system).count + 1


def reactions_of(
    system: System, q: np.ndarray, u: np.ndarray, rest: np.ndarray, signals: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of one state or a batch: lam of all rows, (nr), that take the rest, (nu); what they leave of it; and how many
    live rows are redundant or may be nearly so, not a number if the recursion fails. Rows that nothing moves take
    nothing.
    """
    live, one = live_rows(system), q.ndim == 1
    found = np.zeros((*q.shape[:-1], live.count + system.nu + 1))
    waiting: list[Any] = system.workspaces.ready.setdefault((loads, q.ndim), [])
    planned = waiting.pop() if waiting else PlannedReactions(system, 1 if one else LANES)
    others: list[Any] = system.workspaces.ready.get(accelerations, [])
    if planned.plan is None and others and others[-1].plan is not None:
        planned.follow(others[-1].plan)
    solve_planned(planned, q, u, rest, signals, found, 0, 1 if one else q.shape[0])
    waiting.append(planned)
    lam = np.zeros((*q.shape[:-1], system.constraints.count))
    lam[..., live.kept] = found[..., : live.count]
    return lam, found[..., live.count : -1], np.where(np.isfinite(found).all(axis=-1), found[..., -1], np.nan)
