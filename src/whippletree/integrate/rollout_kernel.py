"""Many states through time in one compiled loop, LANES of them a block, or one state at a time.

A block starts from row 0 of Q and U, takes its joint forces from an array or from a policy at the start
of each step, and writes its lanes where they belong: nothing is copied afterwards. Where constraints are solved in
lanes by a plan, a state that the plan does not serve leaves its block, and is stepped alone from its last row.
"""

from typing import Any, NamedTuple

from ..algebra.compare import lane_most
from ..compiler.function_pointers import call_policy, read_lane, write_lane
from ..compiler.lanes import LANES, LINE, entry, get, inline, kernel, lane_sum, put, scratch, take
from ..dynamics.reduction.passes import POOR
from ..dynamics.stepping.closing import LOST
from ..dynamics.stepping.mechanism import impose, make_mechanism, mechanism_memory, open_parts, open_plan
from ..dynamics.stepping.stepper import Stepper
from ..kernels.blocks import states_per_block
from ..kernels.unpack import unpack
from ..system.system import System
from .methods import euler, rk4
from .project import close

METHODS = {"rk4": 0, "euler": 1}
SPEED, COORDINATE, FORCE, RAISED, VIOLATED, ALONE = 1, 2, 3, 4, 5, 6  # what a state of trouble is about


class States(NamedTuple):
    """Where a block stands."""

    q: Any  # (nq)
    u: Any  # (nu)
    tau: Any  # (nu)


def workspace(system: System, stepper: Stepper, lanes: int = LANES, plan: Any = None) -> Any:
    """Memory for :func:`march_states`: of one state in a row for the policy, then of a block."""
    states = system.nq + 2 * system.nu
    rows = rk4.step_rows(system) + 2 * states + 2 * system.nu + LINE
    return mechanism_memory(system, stepper, rows, lanes, plan=plan)


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


@inline
def is_under_way(trouble, state):
    """Whether there is such a state, and nothing is known against it"""
    return state < trouble.shape[0] and trouble[state, 0] == 0


# ---------------------------------------------------------------- joint forces from a policy


@kernel
def ask_policy(policy, t, x, one, trouble, first):
    """x.tau from the policy, for each state on its own. Returns the lane that raised, or -1."""
    for lane in range(states_per_block(x.q)):
        if is_under_way(trouble, first + lane):  # other lanes repeat a state, and its forces
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


@kernel
def leave_block(trouble, first, step, x, health):
    """States that are not finite, or not served, go on alone; a copy of another takes the lane. Whether any is left."""
    serving = -1
    for lane in range(states_per_block(x.q)):
        if is_under_way(trouble, first + lane):
            served = read_lane(health, 0, lane) > POOR
            if served and bad_row(x.q, lane) < 0 and bad_row(x.u, lane) < 0:
                serving = lane
            else:
                note(trouble, first + lane, step, ALONE, 0)
    if serving < 0:
        return False
    for lane in range(states_per_block(x.q)):
        if not is_under_way(trouble, first + lane):
            for part in x:
                for j in range(part.shape[0]):
                    write_lane(part, j, lane, read_lane(part, j, serving))
    return True


@kernel
def note_bends(notes, first, step, u, last, before, noted):
    """If ``noted``, into the row of every state how far u is from going on as it did, of its largest velocity"""
    trouble, bends = notes
    for lane in range(min(states_per_block(u), bends.shape[0] - first)):
        most, size = 0.0, 0.0
        for j in range(u.shape[0]):
            now, one = read_lane(u, j, lane), read_lane(last, j, lane)
            most = max(most, abs(now - 2.0 * one + read_lane(before, j, lane)))
            size = max(size, abs(now))
            write_lane(before, j, lane, one)
            write_lane(last, j, lane, now)
        if noted and is_under_way(trouble, first + lane):  # else the lane repeats another state
            bent, row = most / max(size, 1e-300), bends[first + lane]
            row[2] += bent
            if bent > row[0]:
                row[0], row[1] = bent, step


@entry
def march_states(memory, tau, h, every, method, policy, check, algorithm, block, Q, U, since, notes, start, stop):
    """The states start to stop from rows ``since`` (B) of Q and U on: in lanes if ``block`` is a matrix, else alone.

    Q (B, rows, nq), U (B, rows, nu): that row is given, later ones are written, ``every`` steps of h (s) apart; all
    states of a block begin at the same. tau (1 or B, 1 or steps, nu), or ``policy``, an address, not 0. ``trouble``
    (B, 3) starts as zeros and holds for a state that fails its step (from 1 on), what failed, and in which row; its
    block ends there, unless it can be stepped alone. ``algorithm`` is a code of stepping/calls.py; where it solves
    constraints, every state is closed, and ``bends`` (B, 3) gets the largest bend of each, its step, and the sum.
    ``notes`` is (trouble, bends).
    """
    trouble, _ = notes
    m, _ = unpack(memory)
    _, end = open_plan(memory)
    one, end = take_states(m, memory, end)
    buffer = scratch(memory, end, block)
    x, n = take_states(m, buffer, 0)
    own, n = take(buffer, n, rk4.own_rows(m))
    last, n = take(buffer, n, m.nu)
    before, n = take(buffer, n, m.nu)
    mechanism = make_mechanism(memory, buffer, n, x.tau, 0, algorithm)
    health = open_parts(mechanism)[0].health
    leaving = algorithm[2] != 0 and states_per_block(buffer) > 1
    steps = (Q.shape[1] - 1) * every
    for first in range(start, stop, states_per_block(buffer)):
        begin = since[first] * every
        load_row(Q, first, since[first], x.q)
        load_row(U, first, since[first], x.u)
        load_row(tau, first, begin, x.tau)
        if algorithm[2] != 0 and begin == 0:
            close(mechanism, 0.0, x.q, x.u)
            store_row(x.q, first, 0, Q)
            store_row(x.u, first, 0, U)
        for step in range(begin + 1, steps + 1):
            if leaving:
                put(health, 0, 1.0)
            if policy != 0:
                lane = ask_policy(policy, (step - 1) * h, x, one, trouble, first)
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
            if leaving:
                well = lane_most(-get(health, 0)) < -POOR and residue(x.q) + residue(x.u) == 0.0
                if not well and not leave_block(trouble, first, step, x, health):
                    break
            elif check and left > LOST:
                note(trouble, first, step, VIOLATED, 0)
                store_row(x.q, first, (step + every - 1) // every, Q)
                store_row(x.u, first, (step + every - 1) // every, U)
                break
            elif check and residue(x.q) + residue(x.u) != 0.0:
                report(trouble, first, step, x)
                break
            if algorithm[2] != 0:
                note_bends(notes, first, step, x.u, last, before, step > begin + 2)  # of two steps there is none
            if step % every == 0:
                store_row(x.q, first, step // every, Q)
                store_row(x.u, first, step // every, U)
    return 0
