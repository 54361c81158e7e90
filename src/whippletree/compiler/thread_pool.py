"""Threads that stay: they wait for a job, spinning a while in compiled code and then asleep, and share its tasks.

A job is steps, and a step is tasks that do not depend on each other. Each task is claimed by one thread; nobody goes on
before the step is done. Whoever comes late finds tasks claimed, so a job waits for no thread that sleeps. The board
holds all that threads look at without having claimed anything, and lives as long as they do.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import numpy as np

from .atomics import add_shared, address, fence, give_way, pause, read_shared, swap_shared, write_shared
from .lanes import inline

MOST_STEPS, MOST_TASKS, MOST_HELPERS = 128, 1024, 64
APART = 8  # integers between numbers that different threads write: a cache line
# places on the board; JOBS is odd while a job is being written
JOBS, SIZES, STEPS, MEMBERS, GIVE_WAY = 0, 8, 20, 21, 22
AWAKE = 24
FIRST_TASK = AWAKE + MOST_HELPERS * APART
DONE = FIRST_TASK + MOST_STEPS + 1
CLAIMS = DONE + MOST_STEPS * APART
BOARD = CLAIMS + MOST_TASKS * APART
SPINS = 20_000  # pauses of a thread without a job until it sleeps: some hundred microseconds
PATIENCE = 2_000  # pauses of a thread that waits for another, until it offers its core


# ---------------------------------------------------------------- kernels


@inline
def publish(board, memory, q, u, forces, udot, first_task, steps, members):
    """Write a job on the board; its number"""
    job = read_shared(board, JOBS)
    write_shared(board, JOBS, job + 1)
    fence()
    board[SIZES], board[SIZES + 1] = address(memory), memory.shape[0]
    board[SIZES + 2], board[SIZES + 3] = address(q), q.shape[0]
    board[SIZES + 4], board[SIZES + 5] = address(u), u.shape[0]
    board[SIZES + 6], board[SIZES + 7] = address(forces), forces.shape[0]
    board[SIZES + 8], board[SIZES + 9] = address(udot), udot.shape[0]
    board[STEPS], board[MEMBERS] = steps, members
    for n in range(steps + 1):
        board[FIRST_TASK + n] = first_task[n]
    for n in range(steps):
        write_shared(board, DONE + n * APART, 0)
    write_shared(board, JOBS, job + 2)
    return job + 2


@inline
def claim(board, task, job):
    """Whether this thread is the one to do a task of a job.

    A thread that comes so late that the next job is on the board may claim one of its tasks for the old job, which the
    next job's threads pass over; it must not do it: its job is done.
    """
    seen = read_shared(board, CLAIMS + task * APART)
    while seen < job:
        if swap_shared(board, CLAIMS + task * APART, seen, job):
            return read_shared(board, JOBS) == job
        seen = read_shared(board, CLAIMS + task * APART)
    return False


@inline
def finish(board, step):
    """Say that a task of a step is done"""
    add_shared(board, DONE + step * APART, 1)


@inline
def wait_for(board, step, tasks, job):
    """Until all tasks of a step are done; whether the job is still the one"""
    spins = 0
    while read_shared(board, DONE + step * APART) < tasks and read_shared(board, JOBS) == job:
        pause()
        spins += 1
        if spins % PATIENCE == 0:
            give_way(board[GIVE_WAY])
    return read_shared(board, JOBS) == job


# ---------------------------------------------------------------- Python


class Crew:
    """Helpers of the thread that calls. ``serve(board, member)`` is what they do until nothing came for a while."""

    def __init__(self, serve: Any) -> None:
        self.serve = serve
        self.board = np.zeros(BOARD, np.int64)
        self.board[GIVE_WAY] = _give_way_address()
        self.free = threading.Lock()  # one job at a time
        self.bells: list[threading.Event] = []

    def call(self, helpers: int) -> None:
        """See that so many helpers are awake, or about to be."""
        while len(self.bells) < helpers:
            bell = threading.Event()
            self.bells.append(bell)
            name = f"whippletree-{len(self.bells)}"
            threading.Thread(target=self._wait, args=(bell, len(self.bells)), name=name, daemon=True).start()
        for n in range(helpers):
            if not self.board[AWAKE + n * APART]:
                self.bells[n].set()

    def _wait(self, bell: threading.Event, member: int) -> None:
        while True:
            bell.wait()
            bell.clear()
            self.serve(self.board, member)


def _give_way_address() -> int:
    """Of sched_yield, where the system has it."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


_crews: dict[Any, Crew] = {}
if hasattr(os, "register_at_fork"):  # a forked process has the crews but not their threads
    os.register_at_fork(after_in_child=_crews.clear)


def crew_of(serve: Any) -> Crew:
    """The crew of this process for one kind of job."""
    if serve not in _crews:
        _crews[serve] = Crew(serve)
    return _crews[serve]
