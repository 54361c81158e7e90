"""The error of accelerations from the residuals of their equations, by the factors of passes.py: O(n + m).

Motion from rest without bias, under the residual of the equations of motion, with that of the constraint equations on
their right-hand sides. Right-hand sides lie in lanes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.lanes import LANES, entry, get, put, scratch, take, view
from ...kernels import blocks
from ...kernels.constraints import constrain
from ...kernels.kinematics import place_and_move, take_kinematics
from ...kernels.unpack import unpack, unpack_constraints, unpack_forces
from ...system.system import System
from ..constraints.live_rows import live_rows
from .passes import Planned, Reduced, recursions, solve_planned, take_reduced
from .program import unpack_plan


@entry
def corrections(memory, q, u, rest, signals, out, health, start, stop):
    """e of M e = r + C' mu, C e = s, for ``rest`` = (r, s) of the states start to stop; returns 0 if all is well"""
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    plan, end = unpack_plan(memory, end)
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or rest.shape[-1] != m.nu + E.nr or out.shape[-1] != m.nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    block, n = blocks.take_block(m, buffer, n, out)
    s_block, n = take(buffer, n, 1 + 3 * F.ns)
    r_block, n = take(buffer, n, m.nu + E.nr)
    h_block, n = take(buffer, n, 1)
    own = take_reduced(m, F, E, buffer, n)
    free = Reduced(own.x, view(own.prescribed, 0, 0), own.w)  # prescribed motions stand still
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities, now = (
            blocks.gather(q, s, block.q),
            blocks.gather(u, s, block.u),
            blocks.gather(signals, s, s_block),
        )
        place_and_move(m, coordinates, velocities, k)
        constrain(m, E, k, now, coordinates, velocities, own.x)
        r = blocks.gather(rest, s, r_block)
        for n in range(E.nr):
            put(own.x.gamma, n, get(r, m.nu + n))
        result, worst = blocks.target(out, block.out), blocks.target(health, h_block)
        put(worst, 0, recursions(m, E, k, plan, free, view(r, 0, m.nu), view(r, 0, 0), 0.0, result))
        blocks.scatter(result, s, out)
        blocks.scatter(worst, s, health)
        total += blocks.checksum(result) + blocks.unit_check(k)
    return total


class PlannedCorrections(Planned):
    """The memory of :func:`corrections`."""

    recursion = staticmethod(corrections)

    def more_rows(self) -> int:
        return self.system.nu + live_rows(self.system).count + 1


def corrections_of(
    system: System, q: np.ndarray, u: np.ndarray, r: np.ndarray, s: np.ndarray, signals: np.ndarray
) -> np.ndarray:
    """(nu, k) Of one state, for the columns of r (nu, k) and s (nr, k)."""
    count = r.shape[1]
    Q, U, S = (np.tile(x, (count, 1)) for x in (q, u, signals))
    rest = np.concatenate([r, s[live_rows(system).kept]]).T.copy()
    waiting: list[Any] = system.workspaces.ready.setdefault(corrections, [])
    planned = waiting.pop() if waiting else PlannedCorrections(system, LANES)
    if not np.array_equal(planned.pose, np.concatenate([q, signals])):  # a plan for another pose would prove itself
        planned.choose(q, signals)
    out = np.zeros((count, system.nu))
    solve_planned(planned, Q, U, rest, S, out, 0, count)
    waiting.append(planned)
    return out.T
