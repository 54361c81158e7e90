"""The steps of a division in compiled code: by one thread, or shared among those that look at one board."""

import numpy as np

from ...algebra.compare import exceeds
from ...compiler import atomics
from ...compiler import thread_pool as pool
from ...compiler.function_pointers import call_subchain, read_lane
from ...compiler.lanes import entry, inline, kernel, view
from ...kernels.unpack import take_integers
from ...layout.system import UNIT
from ..two_handle import join as assembly
from ..two_handle import recursion
from ..two_handle.layout import CLUSTERS_AT, HEAD, HEALTH, registers, take_subchains
from ..two_handle.responses import press_subchains, ready_subchains
from . import header as head

MOST_GROWTH = 300.0  # its square, in roundings, may be lost: 1e-11


@inline
def each_block(memory, kind, block, q, u, forces, udot, like):
    """What a step does with one block of subchains"""
    header, _ = take_integers(memory, 0, head.HEADER)
    at = header[head.BLOCKS_AT] + 2 * block
    start = take_integers(memory, at, 1)[0][0]
    nu = header[head.SYSTEM_NU]
    if kind == head.PLACE:
        recursion.place_subchains(memory, start, q, u, forces, like)
    elif kind == head.RECURSION:
        recursion.inward_subchains(memory, start, view(forces, nu, forces.shape[0] - nu), like)
    elif kind == head.READY:
        ready_subchains(memory, start, forces, like)
    elif kind == head.PRESS:
        press_subchains(memory, start, like)
    elif kind == head.PIVOTS:
        recursion.pivots_of_subchains(memory, start, udot, like)
    else:
        recursion.answer_subchains(memory, start, udot, like)


@kernel
def assemble(memory, kind, z):
    """Joins and families of one level: inward, outward, or both where it is the last"""
    header, _ = take_integers(memory, 0, head.HEADER)
    room = view(memory, header[head.ROOM_AT], assembly.ROOM)
    if kind != head.OPENING:
        for n in range(z[1], z[2]):
            assembly.join(
                memory, take_integers(memory, header[head.JOINS_AT] + assembly.JOIN * n, assembly.JOIN)[0], room
            )
        for n in range(z[3], z[4]):
            assembly.carry(
                memory, take_integers(memory, header[head.FAMILIES_AT] + assembly.FAMILY * n, assembly.FAMILY)[0], room
            )
    if kind in (head.OPENING, head.MIDDLE):
        for n in range(z[3], z[4]):
            assembly.stand_on(
                memory, take_integers(memory, header[head.FAMILIES_AT] + assembly.FAMILY * n, assembly.FAMILY)[0]
            )
        for n in range(z[2] - 1, z[1] - 1, -1):
            assembly.part(memory, take_integers(memory, header[head.JOINS_AT] + assembly.JOIN * n, assembly.JOIN)[0])


@kernel
def do_task(memory, task, q, u, forces, udot):
    header, _ = take_integers(memory, 0, head.HEADER)
    z, _ = take_integers(memory, header[head.TASKS_AT] + head.TASK * task, head.TASK)
    kind = z[0]
    if header[head.FORCES_ALONE] == head.PIVOTS_ONLY:
        if kind != head.ANSWER:
            return
        kind = head.PIVOTS
    if header[head.FORCES_ALONE] == head.FORCES_ACT:
        if kind == head.COMPOSE:
            return
        kind = head.READY if kind == head.PLACE else head.PRESS if kind == head.RECURSION else kind
    if kind == head.COMPOSE:
        assembly.compose(memory, header[head.STANDS_AT], header[head.STANDS_COUNT], view(memory, head.GRAVITY, 3))
    elif kind in (head.PLACE, head.RECURSION, head.ANSWER, head.READY, head.PRESS, head.PIVOTS):
        for block in range(z[1], z[2]):
            b, _ = take_integers(memory, header[head.BLOCKS_AT] + 2 * block, 2)
            if (
                b[1] == 1
                and kind not in (head.PLACE, head.READY, head.PIVOTS)
                and take_integers(memory, b[0], HEAD)[0][CLUSTERS_AT] > 0
            ):
                call_subchain(header[head.CLUSTERED], memory, kind, b[0], forces, udot)
            elif b[1] == 1:
                each_block(memory, kind, block, q, u, forces, udot, q)
            else:
                each_block(memory, kind, block, q, u, forces, udot, registers(memory, 0, 0))
    else:
        assemble(memory, kind, z)


@kernel
def share(shared_state, job, member, members, steps, memory, q, u, forces, udot):
    """A thread's part of a job: its own tasks of every step first, then those not begun yet"""
    for step in range(steps):
        first, last = shared_state[pool.FIRST_TASK + step], shared_state[pool.FIRST_TASK + step + 1]
        for turn in range(2):
            for task in range(first, last):
                mine = (task - first) * members // (last - first) == member
                if mine == (turn == 0) and pool.claim(shared_state, task, job):
                    do_task(memory, task, q, u, forces, udot)
                    pool.finish(shared_state, step)
        if not pool.wait_for(shared_state, step, last - first, job):
            return


@kernel
def serve(shared_state, member):
    """Take part in the jobs that come, until none has come for a while"""
    atomics.write_shared(shared_state, pool.AWAKE + (member - 1) * pool.APART, 1)
    last, spins = 0, 0
    while spins < pool.SPINS:
        job = atomics.read_shared(shared_state, pool.JOBS)
        if job == last or job % 2 == 1:
            atomics.pause()
            spins += 1
            continue
        memory = atomics.doubles_at(shared_state[pool.SIZES], shared_state[pool.SIZES + 1])
        q, u = (
            atomics.doubles_at(shared_state[pool.SIZES + 2], shared_state[pool.SIZES + 3]),
            atomics.doubles_at(shared_state[pool.SIZES + 4], shared_state[pool.SIZES + 5]),
        )
        forces = atomics.doubles_at(shared_state[pool.SIZES + 6], shared_state[pool.SIZES + 7])
        udot = atomics.doubles_at(shared_state[pool.SIZES + 8], shared_state[pool.SIZES + 9])
        steps, members = shared_state[pool.STEPS], shared_state[pool.MEMBERS]
        atomics.fence()
        if atomics.read_shared(shared_state, pool.JOBS) == job:  # what was read belongs together
            if member < members:
                share(shared_state, job, member, members, steps, memory, q, u, forces, udot)
            last, spins = job, 0
    atomics.write_shared(shared_state, pool.AWAKE + (member - 1) * pool.APART, 0)


@inline
def block_health(memory, at, width, like):
    g = take_subchains(memory, at, like)
    total = 0.0
    for lane in range(width):
        total += read_lane(g.own, HEALTH, lane)
        if exceeds(read_lane(g.k.defect, 0, lane), 4.0 * UNIT * UNIT):
            total += np.nan
        if read_lane(g.k.defect, 2, lane) > 0.0:
            total += head.LOST
    return total


@kernel
def health(memory):
    """Zero if all accelerations are finite and all quaternions unit, LOST if digits may be, else not a number"""
    header, _ = take_integers(memory, 0, head.HEADER)
    total = 0.0
    for block in range(header[head.BLOCKS_COUNT]):
        z, _ = take_integers(memory, header[head.BLOCKS_AT] + 2 * block, 2)
        if z[1] == 1:
            total += block_health(memory, z[0], 1, memory)
        else:
            total += block_health(memory, z[0], z[1], registers(memory, 0, 0))
    if growth(memory) > MOST_GROWTH:
        total += head.LOST
    return total


@kernel
def growth(memory):
    """The largest term of I_B L_A in all joins: times a rounding, what may be lost"""
    header, _ = take_integers(memory, 0, head.HEADER)
    most = 0.0
    for n in range(header[head.JOINS_COUNT]):
        z, _ = take_integers(memory, header[head.JOINS_AT] + assembly.JOIN * n, assembly.JOIN)
        most = max(most, memory[z[assembly.KEEP] + assembly.GROWTH])
    return most


@entry
def solve(memory, q, u, forces, udot, shared_state, member, members):
    """udot of one state, by this thread alone or with the others that look at the board. Returns 0 if all is well,
    LOST if digits may be lost, else not a number.

    With FORCES_ACT in the header it is udot of joint forces alone, at the pose of the state that was solved last: no
    gravity, no velocity, no wrenches. With PIVOTS_ONLY it is 1 / D of that pose. A helper, ``member`` > 0, serves
    instead.
    """
    if member > 0:
        serve(shared_state, member)
        return 0.0
    header, _ = take_integers(memory, 0, head.HEADER)
    nu, n = header[head.SYSTEM_NU], forces.shape[0]
    fits = n == nu or n == nu + 6 * header[head.SYSTEM_NB]
    if not fits or q.shape[0] != header[head.SYSTEM_NQ] or u.shape[0] != nu or udot.shape[0] != nu:
        return np.nan
    steps = header[head.STEPS_COUNT]
    first_task, _ = take_integers(memory, header[head.FIRST_AT], steps + 1)
    if members == 1:
        for task in range(first_task[steps]):
            do_task(memory, task, q, u, forces, udot)
    else:
        job = pool.publish(shared_state, memory, q, u, forces, udot, first_task, steps, members)
        share(shared_state, job, 0, members, steps, memory, q, u, forces, udot)
    return health(memory)
