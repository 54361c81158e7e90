"""Between the arrays a user passes and what a kernel computes on: one state where it lies, a batch in lanes."""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ..algebra.compare import exceeds
from ..compiler.lanes import ALWAYS, INNER, LANES, LINE, aligned, get, inline, lane_sum, take, view
from ..layout.system import ADDRESS, PLACING, UNIT


class Block(NamedTuple):
    """Room for the inputs and outputs of LANES states."""

    q: Any  # (nq)
    u: Any  # (nu)
    x: Any  # (nu, or nu + 6 nb)  tau or udot, and the wrenches on bodies if there are any
    out: Any  # (nu)


def block_rows(system: Any) -> int:
    return system.nq + 3 * system.nu + 6 * system.nb


def make_memory(system: Any, rows: int, lanes: int = 1, *more: np.ndarray) -> np.ndarray:
    """What an entry works in: the packed System and ``more``, then ``rows`` floats, or registers in ``lanes``."""
    packed = np.concatenate([system.packed, *more])
    if system.flexible:
        packed[ADDRESS : ADDRESS + 1].view(np.int64)[0] = system.flexible.address(lanes)
        packed[PLACING : PLACING + 1].view(np.int64)[0] = system.flexible.address(lanes, placing=True)
    head = -(-packed.size // LINE) * LINE
    whole = aligned(head + rows * lanes)
    whole[: packed.size] = packed
    return whole


@inline
def take_block(m, buffer, n, x):
    q, n = take(buffer, n, m.nq)
    u, n = take(buffer, n, m.nu)
    out, n = take(buffer, n, m.nu)
    forces, n = take(buffer, n, x.shape[-1])
    return Block(q, u, forces, out), n


@inline
def split_wrench(m, x):
    """The third input, and the wrenches that follow it, which may be none"""
    return view(x, 0, m.nu), view(x, m.nu, x.shape[0] - m.nu)


@inline
def mismatch(m, q, u, x, out):
    """Whether an array does not fit the System; the Python layer then says which."""
    n = x.shape[-1]
    fits = n == m.nu or n == m.nu + 6 * m.nb
    return not fits or q.shape[-1] != m.nq or u.shape[-1] != m.nu or out.shape[-1] != m.nu


@inline
def checksum(values):
    """Zero if all values are finite, otherwise not a number"""
    total = 0.0
    for j in range(values.shape[0]):
        total += lane_sum(0.0 * get(values, j))
    return total


@inline
def unit_check(k):
    """Zero if the quaternions are unit to UNIT, otherwise not a number"""
    return np.nan if exceeds(get(k.defect, 0), 4.0 * UNIT * UNIT) else 0.0


def states_per_block(buffer):
    """States that one pass over a buffer holds: 1, or LANES."""


def gather(states, first, buffer):
    """The states from row ``first`` on, as the buffer's kernel wants them.

    One state (1-D) is used where it lies. A batch ``(B, n)`` is copied into the buffer, transposed
    into lanes; past its end the last state stands in.
    """


def scatter(buffer, first, states):
    """The way back: store lanes as rows ``first`` on of a batch. One state already lies in place."""


def target(states, buffer):
    """Where a kernel writes its result: one state's own array, or the buffer."""


@overload(states_per_block, jit_options=ALWAYS)
def _states_per_block(buffer):
    count = LANES if buffer.ndim == 2 else 1
    return lambda buffer: count


@overload(target, jit_options=ALWAYS)
def _target(states, buffer):
    if states.ndim == 1:
        return lambda states, buffer: states
    return lambda states, buffer: buffer


@overload(gather, jit_options=INNER)
def _gather(states, first, buffer):
    if states.ndim == 1:
        return lambda states, first, buffer: states

    if buffer.ndim == 1:

        def one_row(states, first, buffer):
            for j in range(states.shape[1]):
                buffer[j] = states[first, j]
            return buffer

        return one_row

    def rows(states, first, buffer):
        last = states.shape[0] - 1
        for lane in range(LANES):
            row = min(first + lane, last)
            for j in range(states.shape[1]):
                buffer[j, lane] = states[row, j]
        return buffer

    return rows


@overload(scatter, jit_options=INNER)
def _scatter(buffer, first, states):
    if states.ndim == 1:
        return lambda buffer, first, states: None

    if buffer.ndim == 1:

        def one_row(buffer, first, states):
            for j in range(states.shape[1]):
                states[first, j] = buffer[j]

        return one_row

    def rows(buffer, first, states):
        for lane in range(min(LANES, states.shape[0] - first)):
            for j in range(states.shape[1]):
                states[first + lane, j] = buffer[j, lane]

    return rows
