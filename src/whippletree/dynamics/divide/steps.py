"""The steps of a division in compiled code: by one thread, or shared among those that look at one board."""

import numpy as np

from ...algebra.compare import exceeds
from ...compiler.atomics import doubles_at, fence, pause, read_shared, write_shared
from ...compiler.function_pointers import call_strand, read_lane
from ...compiler.lanes import entry, inline, kernel, view
from ...compiler.thread_pool import (
    APART,
    AWAKE,
    FIRST_TASK,
    JOBS,
    MEMBERS,
    SIZES,
    SPINS,
    STEPS,
    claim,
    finish,
    publish,
    wait_for,
)
from ...kernels.unpack import take_integers
from ...layout.system import UNIT
from ..two_handle.join import FAMILY, GROWTH, JOIN, KEEP, ROOM, carry, compose, join, part, stand_on
from ..two_handle.layout import HEAD, HEALTH, KNOTS_AT, registers, take_strands
from ..two_handle.recursion import answer_strands, pivots_of_strands, place_strands, sweep_strands
from ..two_handle.responses import press_strands, ready_strands
from .memory import (
    ANSWER,
    BLOCKS_AT,
    BLOCKS_COUNT,
    COMPOSE,
    FAMILIES_AT,
    FIRST_AT,
    FORCES_ACT,
    FORCES_ALONE,
    GRAVITY,
    HEADER,
    JOINS_AT,
    JOINS_COUNT,
    KNOTTED,
    LOST,
    MIDDLE,
    OPENING,
    PIVOTS,
    PIVOTS_ONLY,
    PLACE,
    PRESS,
    READY,
    ROOM_AT,
    STANDS_AT,
    STANDS_COUNT,
    STEPS_COUNT,
    SWEEP,
    SYSTEM_NB,
    SYSTEM_NQ,
    SYSTEM_NU,
    TASK,
    TASKS_AT,
)

MOST_GROWTH = 1e5


@inline
def each_block(memory, kind, block, q, u, forces, udot, like):
    """What a step does with one block of strands"""
    header, _ = take_integers(memory, 0, HEADER)
    at = header[BLOCKS_AT] + 2 * block
    start = take_integers(memory, at, 1)[0][0]
    nu = header[SYSTEM_NU]
    if kind == PLACE:
        place_strands(memory, start, q, u, forces, like)
    elif kind == SWEEP:
        sweep_strands(memory, start, view(forces, nu, forces.shape[0] - nu), like)
    elif kind == READY:
        ready_strands(memory, start, forces, like)
    elif kind == PRESS:
        press_strands(memory, start, like)
    elif kind == PIVOTS:
        pivots_of_strands(memory, start, udot, like)
    else:
        answer_strands(memory, start, udot, like)


@kernel
def assemble(memory, kind, z):
    """Joins and families of one level: inward, outward, or both where it is the last"""
    header, _ = take_integers(memory, 0, HEADER)
    room = view(memory, header[ROOM_AT], ROOM)
    if kind != OPENING:
        for n in range(z[1], z[2]):
            join(memory, take_integers(memory, header[JOINS_AT] + JOIN * n, JOIN)[0], room)
        for n in range(z[3], z[4]):
            carry(memory, take_integers(memory, header[FAMILIES_AT] + FAMILY * n, FAMILY)[0], room)
    if kind in (OPENING, MIDDLE):
        for n in range(z[3], z[4]):
            stand_on(memory, take_integers(memory, header[FAMILIES_AT] + FAMILY * n, FAMILY)[0])
        for n in range(z[2] - 1, z[1] - 1, -1):
            part(memory, take_integers(memory, header[JOINS_AT] + JOIN * n, JOIN)[0])


@kernel
def do_task(memory, task, q, u, forces, udot):
    header, _ = take_integers(memory, 0, HEADER)
    z, _ = take_integers(memory, header[TASKS_AT] + TASK * task, TASK)
    kind = z[0]
    if header[FORCES_ALONE] == PIVOTS_ONLY:
        if kind != ANSWER:
            return
        kind = PIVOTS
    if header[FORCES_ALONE] == FORCES_ACT:
        if kind == COMPOSE:
            return
        kind = READY if kind == PLACE else PRESS if kind == SWEEP else kind
    if kind == COMPOSE:
        compose(memory, header[STANDS_AT], header[STANDS_COUNT], view(memory, GRAVITY, 3))
    elif kind in (PLACE, SWEEP, ANSWER, READY, PRESS, PIVOTS):
        for block in range(z[1], z[2]):
            b, _ = take_integers(memory, header[BLOCKS_AT] + 2 * block, 2)
            if b[1] == 1 and kind not in (PLACE, READY, PIVOTS) and take_integers(memory, b[0], HEAD)[0][KNOTS_AT] > 0:
                call_strand(header[KNOTTED], memory, kind, b[0], forces, udot)
            elif b[1] == 1:
                each_block(memory, kind, block, q, u, forces, udot, q)
            else:
                each_block(memory, kind, block, q, u, forces, udot, registers(memory, 0, 0))
    else:
        assemble(memory, kind, z)


@kernel
def share(board, job, member, members, steps, memory, q, u, forces, udot):
    """A thread's part of a job: its own tasks of every step first, then those that nobody has begun"""
    for step in range(steps):
        first, last = board[FIRST_TASK + step], board[FIRST_TASK + step + 1]
        for turn in range(2):
            for task in range(first, last):
                mine = (task - first) * members // (last - first) == member
                if mine == (turn == 0) and claim(board, task, job):
                    do_task(memory, task, q, u, forces, udot)
                    finish(board, step)
        if not wait_for(board, step, last - first, job):
            return


@kernel
def serve(board, member):
    """Take part in the jobs that come, until none has come for a while"""
    write_shared(board, AWAKE + (member - 1) * APART, 1)
    last, spins = 0, 0
    while spins < SPINS:
        job = read_shared(board, JOBS)
        if job == last or job % 2 == 1:
            pause()
            spins += 1
            continue
        memory = doubles_at(board[SIZES], board[SIZES + 1])
        q, u = doubles_at(board[SIZES + 2], board[SIZES + 3]), doubles_at(board[SIZES + 4], board[SIZES + 5])
        forces = doubles_at(board[SIZES + 6], board[SIZES + 7])
        udot = doubles_at(board[SIZES + 8], board[SIZES + 9])
        steps, members = board[STEPS], board[MEMBERS]
        fence()
        if read_shared(board, JOBS) == job:  # what was read belongs together
            if member < members:
                share(board, job, member, members, steps, memory, q, u, forces, udot)
            last, spins = job, 0
    write_shared(board, AWAKE + (member - 1) * APART, 0)


@inline
def block_health(memory, at, width, like):
    g = take_strands(memory, at, like)
    total = 0.0
    for lane in range(width):
        total += read_lane(g.own, HEALTH, lane)
        if exceeds(read_lane(g.k.defect, 0, lane), 4.0 * UNIT * UNIT):
            total += np.nan
    return total


@kernel
def health(memory):
    """Zero if all accelerations are finite and all quaternions unit, LOST if digits may be, else not a number"""
    header, _ = take_integers(memory, 0, HEADER)
    total = 0.0
    for block in range(header[BLOCKS_COUNT]):
        z, _ = take_integers(memory, header[BLOCKS_AT] + 2 * block, 2)
        if z[1] == 1:
            total += block_health(memory, z[0], 1, memory)
        else:
            total += block_health(memory, z[0], z[1], registers(memory, 0, 0))
    if growth(memory) > MOST_GROWTH:
        total += LOST
    return total


@kernel
def growth(memory):
    """The largest term of I_B L_A in all joins: times a rounding, what may be lost"""
    header, _ = take_integers(memory, 0, HEADER)
    most = 0.0
    for n in range(header[JOINS_COUNT]):
        z, _ = take_integers(memory, header[JOINS_AT] + JOIN * n, JOIN)
        most = max(most, memory[z[KEEP] + GROWTH])
    return most


@entry
def solve(memory, q, u, forces, udot, board, member, members):
    """udot of one state, by this thread alone or with the others that look at the board. Returns 0 if all is well,
    LOST if digits may be lost, else not a number.

    With FORCES_ACT in the header it is udot of joint forces alone, at the pose of the state that was solved last: no
    gravity, no velocity, no wrenches. With PIVOTS_ONLY it is 1 / D of that pose. A helper, ``member`` > 0, serves
    instead.
    """
    if member > 0:
        serve(board, member)
        return 0.0
    header, _ = take_integers(memory, 0, HEADER)
    nu, n = header[SYSTEM_NU], forces.shape[0]
    fits = n == nu or n == nu + 6 * header[SYSTEM_NB]
    if not fits or q.shape[0] != header[SYSTEM_NQ] or u.shape[0] != nu or udot.shape[0] != nu:
        return np.nan
    steps = header[STEPS_COUNT]
    first_task, _ = take_integers(memory, header[FIRST_AT], steps + 1)
    if members == 1:
        for task in range(first_task[steps]):
            do_task(memory, task, q, u, forces, udot)
    else:
        job = publish(board, memory, q, u, forces, udot, first_task, steps, members)
        share(board, job, 0, members, steps, memory, q, u, forces, udot)
    return health(memory)
