"""The constraints of a state as numbers: how far from closed, how fast, and the matrix of C u' = gamma."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiler.lanes import entry, scratch, take, view
from ...kernels import blocks
from ...kernels.constraints import constrain, fill_matrix
from ...kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ...kernels.unpack import unpack, unpack_constraints
from ...layout.constraints import ROW_NUMBERS, Rows
from ...system.system import System
from ..dispatch import evaluate
from ..loads.applied import tiled_signals


class ConstraintRows(NamedTuple):
    """Rows in the order of ``system.constraints``, of one state, or of B states in front."""

    g: np.ndarray  # (nr)      residual, m or rad
    rate: np.ndarray  # (nr)   its rate, C u - given
    prescribed: np.ndarray  # (nr)  what functions of time ask for
    gamma: np.ndarray  # (nr)  C u' = gamma
    wrenches: np.ndarray  # (nr, 2, 6)  on the first and second body, about the points of their components
    C: np.ndarray  # (nr, nu), or (nr, 0) where it is not asked for


def _workspace(system: System, lanes: int, width: int) -> np.ndarray:
    rows = kinematics_rows(system) + system.nq + system.nu + 1 + 3 * system.forces.signals
    return blocks.make_memory(system, rows + width * system.constraints.count, lanes, system.constraints.packed)


@entry
def constraint_rows(memory, q, u, signals, out, start, stop):
    """g, rate, given, gamma (nr each), w (nr, 12) and, if there is room, C (nr, nu) of the states start to stop."""
    m, end = unpack(memory)
    E, end = unpack_constraints(memory, end)
    size = E.nr * ROW_NUMBERS
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or out.shape[-1] not in (size, size + E.nr * m.nu):
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, m.nu)
    s_block, n = take(buffer, n, signals.shape[-1])
    block, n = take(buffer, n, out.shape[-1])
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities = blocks.gather(q, s, q_block), blocks.gather(u, s, u_block)
        place_and_move(m, coordinates, velocities, k)
        result = blocks.target(out, block)
        g, n = take(result, 0, E.nr)
        rate, n = take(result, n, E.nr)
        prescribed, n = take(result, n, E.nr)
        gamma, n = take(result, n, E.nr)
        w, n = take(result, n, 12 * E.nr)
        x = Rows(g, rate, prescribed, gamma, w)
        constrain(m, E, k, blocks.gather(signals, s, s_block), coordinates, velocities, x)
        if out.shape[-1] > size:
            fill_matrix(m, E, k, x, view(result, size, E.nr * m.nu))
        blocks.scatter(result, s, out)
        total += blocks.checksum(result) + blocks.unit_check(k)
    return total


def rows_of(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    t: float | np.ndarray = 0.0,
    threads: int | None = None,
    *,
    matrix: bool = True,
) -> ConstraintRows:
    """Of checked states (n,) or (B, n), at one time or at (B,) times; O(n + m) without the matrix C."""
    return rows_at(system, q, u, tiled_signals(system, t, q), threads, matrix=matrix)


def rows_at(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    signals: np.ndarray,
    threads: int | None = None,
    *,
    matrix: bool = True,
) -> ConstraintRows:
    """The same, with the functions of time already evaluated."""
    nr, nu = system.constraints.count, system.nu if matrix else 0
    width, names = ROW_NUMBERS + nu, ("q", "u", "time")

    def workspace(system: System, lanes: int) -> np.ndarray:
        return _workspace(system, lanes, width)

    out = evaluate(constraint_rows, workspace, system, [q, u, signals], nr * width, threads, names)
    g, rate, prescribed, gamma = (out[..., k * nr : (k + 1) * nr] for k in range(4))
    w, C, lead = out[..., 4 * nr : ROW_NUMBERS * nr], out[..., ROW_NUMBERS * nr :], out.shape[:-1]
    return ConstraintRows(g, rate, prescribed, gamma, w.reshape(*lead, nr, 2, 6), C.reshape(*lead, nr, nu))
