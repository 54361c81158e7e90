"""Many states through time in one compiled loop, LANES of them a block; with constraints one state at a time.

A block starts from row 0 of Q and U, takes its joint forces from an array or from a policy at the start
of each step, and writes its lanes where they belong: nothing is copied afterwards.
"""

from typing import Any, NamedTuple

from ..compiler.function_pointers import call_policy, read_lane, write_lane
from ..compiler.lanes import LANES, LINE, entry, get, inline, kernel, lane_sum, scratch, take
from ..dynamics.stepping.closing import LOST
from ..dynamics.stepping.mechanism import impose, make_mechanism, mechanism_memory, open_plan
from ..dynamics.stepping.stepper import Stepper
from ..kernels.blocks import states_per_block
from ..kernels.unpack import unpack
from ..system.system import System
from .methods import euler, rk4
from .project import close

METHODS = {"rk4": 0, "euler": 1}
SPEED, COORDINATE, FORCE, RAISED, VIOLATED = 1, 2, 3, 4, 5  # what a state of trouble is about


class States(NamedTuple):
    """Where a block stands."""

    q: Any  # (nq)
    u: Any  # (nu)
    tau: Any  # (nu)


def workspace(system: System, stepper: Stepper, lanes: int = LANES) -> Any:
    """Memory for :func:`march_states`: of one state in a row for the policy, then of a block."""
    states = system.nq + 2 * system.nu
    return mechanism_memory(system, stepper, rk4.step_rows(system) + 2 * states + LINE, lanes)


@inline
def take_states(m, buffer, n):
    q, n = take(buffer, n, m.nq)
    u, n = take(buffer, n, m.nu)
    tau, n = take(buffer, n, m.nu)
    return States(q, u, tau), n


@kernel
def load_row(table, first, row, block):
    """block = table[first + lane, row]. An axis of length 1 serves all; past the end the last state stands in."""
    row = min(row, table.shape[1] - 1)
    for lane in range(states_per_block(block)):
        state = min(first + lane, table.shape[0] - 1)
        for j in range(table.shape[2]):
            write_lane(block, j, lane, table[state, row, j])


@kernel
def store_row(block, first, row, table):
    """table[first + lane, row] = block"""
    for lane in range(min(states_per_block(block), table.shape[0] - first)):
        for j in range(table.shape[2]):
            table[first + lane, row, j] = read_lane(block, j, lane)


# ---------------------------------------------------------------- joint forces from a policy


@kernel
def ask_policy(policy, t, x, one, count):
    """x.tau from the policy, for each of ``count`` states on its own. Returns the lane that raised, or -1."""
    for lane in range(states_per_block(x.q)):
        if lane < count:  # behind, lanes repeat the last state, and so its forces
            for j in range(one.q.shape[0]):
                one.q[j] = read_lane(x.q, j, lane)
            for j in range(one.u.shape[0]):
                one.u[j] = read_lane(x.u, j, lane)
                one.tau[j] = 0.0
            if call_policy(policy, t, one.q, one.u, one.tau) != 0:
                return lane
        for j in range(one.u.shape[0]):
            write_lane(x.tau, j, lane, one.tau[j])
    return -1


# ---------------------------------------------------------------- stepping


@inline
def residue(block):
    """0 if all numbers of a block are finite, else not a number; added up lane by lane first."""
    total = 0.0 * get(block, 0)
    for j in range(1, block.shape[0]):
        total = total + 0.0 * get(block, j)
    return lane_sum(total)


@kernel
def bad_row(block, lane):
    """The first number of a lane that is not finite, or -1."""
    for j in range(block.shape[0]):
        if 0.0 * read_lane(block, j, lane) != 0.0:
            return j
    return -1


@inline
def note(trouble, state, step, cause, row):
    trouble[state, 0] = step
    trouble[state, 1] = cause
    trouble[state, 2] = row


@kernel
def report(trouble, first, step, x):
    """Into the row of every state that is not finite: the step, what is wrong, and in which row of it."""
    for lane in range(min(states_per_block(x.q), trouble.shape[0] - first)):
        cause, row = FORCE, bad_row(x.tau, lane)
        if row < 0:
            cause, row = SPEED, bad_row(x.u, lane)
        if row < 0:
            cause, row = COORDINATE, bad_row(x.q, lane)
        if row >= 0:
            note(trouble, first + lane, step, cause, row)


@entry
def march_states(memory, tau, h, every, method, policy, check, algorithm, block, Q, U, trouble, start, stop):
    """The states start to stop from row 0 of Q and U on: in lanes if ``block`` is a matrix, else one by one.

    Q (B, rows, nq), U (B, rows, nu): row 0 is given, the others are written, ``every`` steps of h (s) apart.
    tau (1 or B, 1 or steps, nu), or ``policy``, an address, not 0. ``trouble`` (B, 3) starts as zeros and holds
    for a state that fails its step (from 1 on), what failed, and in which row; its block ends there. ``algorithm``
    is a code of stepping/calls.py; where it solves constraints, every state is closed.
    """
    m, _ = unpack(memory)
    _, end = open_plan(memory)
    one, end = take_states(m, memory, end)
    buffer = scratch(memory, end, block)
    x, n = take_states(m, buffer, 0)
    own, n = take(buffer, n, rk4.own_rows(m))
    mechanism = make_mechanism(memory, buffer, n, x.tau, 0, algorithm)
    steps = (Q.shape[1] - 1) * every
    for first in range(start, stop, states_per_block(buffer)):
        load_row(Q, first, 0, x.q)
        load_row(U, first, 0, x.u)
        load_row(tau, first, 0, x.tau)
        if algorithm[2] != 0:
            close(mechanism, 0.0, x.q, x.u)
            store_row(x.q, first, 0, Q)
            store_row(x.u, first, 0, U)
        for step in range(1, steps + 1):
            if policy != 0:
                lane = ask_policy(policy, (step - 1) * h, x, one, Q.shape[0] - first)
                if lane >= 0:
                    note(trouble, first + lane, step, RAISED, 0)
                    store_row(x.q, first, (step + every - 1) // every, Q)  # for whom it raised
                    store_row(x.u, first, (step + every - 1) // every, U)
                    break
            elif tau.shape[1] > 1:
                load_row(tau, first, step - 1, x.tau)
            if method == 0:
                rk4.step(m, mechanism, (step - 1) * h, x.q, x.u, h, own)
            else:
                euler.step(m, mechanism, (step - 1) * h, x.q, x.u, h, own)
            impose(mechanism, step * h, x.q, x.u)
            left = close(mechanism, step * h, x.q, x.u)
            if check and left > LOST:  # states with constraints go one by one
                note(trouble, first, step, VIOLATED, 0)
                store_row(x.q, first, (step + every - 1) // every, Q)
                store_row(x.u, first, (step + every - 1) // every, U)
                break
            if check and residue(x.q) + residue(x.u) != 0.0:
                report(trouble, first, step, x)
                break
            if step % every == 0:
                store_row(x.q, first, step // every, Q)
                store_row(x.u, first, step // every, U)
    return 0
