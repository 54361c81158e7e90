"""Configurations in motion: q' = N(q) u, and q carried along a constant u on its manifold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..compiler.lanes import entry, scratch, take
from ..dynamics.dispatch import evaluate
from ..dynamics.inputs import states
from ..kernels import blocks, manifold
from ..kernels.unpack import unpack
from ..model.check import number
from ..system.system import System, require_system


def workspace(system: System, lanes: int = 1) -> Any:
    return blocks.make_memory(system, 2 * system.nq + system.nu, lanes)


@entry
def moved(memory, q, step, out, start, stop):
    """q carried along the displacement step, on the manifold"""
    m, end = unpack(memory)
    buffer = scratch(memory, end, q)
    q_block, n = take(buffer, 0, m.nq)
    step_block, n = take(buffer, n, m.nu)
    out_block, n = take(buffer, n, m.nq)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        result = blocks.target(out, out_block)
        manifold.advance(m, blocks.gather(q, s, q_block), blocks.gather(step, s, step_block), result)
        blocks.scatter(result, s, out)
        total += blocks.checksum(result)
    return total


@entry
def rates(memory, q, u, out, start, stop):
    """N(q) u"""
    m, end = unpack(memory)
    buffer = scratch(memory, end, q)
    q_block, n = take(buffer, 0, m.nq)
    u_block, n = take(buffer, n, m.nu)
    out_block, n = take(buffer, n, m.nq)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        result = blocks.target(out, out_block)
        manifold.coordinate_rates(m, blocks.gather(q, s, q_block), blocks.gather(u, s, u_block), result)
        blocks.scatter(result, s, out)
        total += blocks.checksum(result)
    return total


def advance(system: System, q: ArrayLike, u: ArrayLike, h: float = 1.0) -> np.ndarray:
    """q (nq,) or (B, nq) moved along constant velocities u (nu,) or (B, nu) for h seconds: exact, on its manifold."""
    require_system(system)
    Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
    return evaluate(moved, workspace, system, [Q, U * number(h, "h")], system.nq)


def coordinate_rates(system: System, q: ArrayLike, u: ArrayLike) -> np.ndarray:
    """``q' = N(q) u``, (nq,) or (B, nq)."""
    require_system(system)
    Q, U = states(system, ("q", q, system.nq), ("u", u, system.nu))
    return evaluate(rates, workspace, system, [Q, U], system.nq)
