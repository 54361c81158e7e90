"""Threads that stay: they wait for a job, spinning a while in compiled code and then asleep, and share its tasks.

A job is steps, and a step is tasks that do not depend on each other. Each task is claimed by one thread; none goes on
before the step is done. Tasks are claimed atomically, so a late thread cannot delay a job. The shared state holds all
that threads read without having claimed anything, and lives as long as they do.
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
# places in the shared state; JOBS is odd while a job is being written
JOBS, SIZES, STEPS, MEMBERS, GIVE_WAY = 0, 8, 20, 21, 22
AWAKE = 24
FIRST_TASK = AWAKE + MOST_HELPERS * APART
DONE = FIRST_TASK + MOST_STEPS + 1
CLAIMS = DONE + MOST_STEPS * APART
SHARED_STATE = CLAIMS + MOST_TASKS * APART
SPINS = 20_000  # pauses of a thread without a job until it sleeps: some hundred microseconds
PATIENCE = 2_000  # pauses of a thread that waits for another, until it offers its core


# ---------------------------------------------------------------- kernels


@inline
def publish(shared_state, memory, q, u, forces, udot, first_task, steps, members):
    """Write a job into the shared state; its number"""
    job = read_shared(shared_state, JOBS)
    write_shared(shared_state, JOBS, job + 1)
    fence()
    shared_state[SIZES], shared_state[SIZES + 1] = address(memory), memory.shape[0]
    shared_state[SIZES + 2], shared_state[SIZES + 3] = address(q), q.shape[0]
    shared_state[SIZES + 4], shared_state[SIZES + 5] = address(u), u.shape[0]
    shared_state[SIZES + 6], shared_state[SIZES + 7] = address(forces), forces.shape[0]
    shared_state[SIZES + 8], shared_state[SIZES + 9] = address(udot), udot.shape[0]
    shared_state[STEPS], shared_state[MEMBERS] = steps, members
    for n in range(steps + 1):
        shared_state[FIRST_TASK + n] = first_task[n]
    for n in range(steps):
        write_shared(shared_state, DONE + n * APART, 0)
    write_shared(shared_state, JOBS, job + 2)
    return job + 2


@inline
def claim(shared_state, task, job):
    """Whether this thread is the one to do a task of a job.

    A thread that comes so late that the next job is published may claim one of its tasks for the old job, which the
    next job's threads pass over; it must not do it: its job is done.
    """
    seen = read_shared(shared_state, CLAIMS + task * APART)
    while seen < job:
        if swap_shared(shared_state, CLAIMS + task * APART, seen, job):
            return read_shared(shared_state, JOBS) == job
        seen = read_shared(shared_state, CLAIMS + task * APART)
    return False


@inline
def finish(shared_state, step):
    """Say that a task of a step is done"""
    add_shared(shared_state, DONE + step * APART, 1)


@inline
def wait_for(shared_state, step, tasks, job):
    """Until all tasks of a step are done; whether the job is still the one"""
    spins = 0
    while read_shared(shared_state, DONE + step * APART) < tasks and read_shared(shared_state, JOBS) == job:
        pause()
        spins += 1
        if spins % PATIENCE == 0:
            give_way(shared_state[GIVE_WAY])
    return read_shared(shared_state, JOBS) == job


# ---------------------------------------------------------------- Python


class ThreadPool:
    """Helpers of the thread that calls. ``serve(shared_state, member)`` is what they do until nothing came for a
    while.
    """

    def __init__(self, serve: Any) -> None:
        self.serve = serve
        self.shared_state = np.zeros(SHARED_STATE, np.int64)
        self.shared_state[GIVE_WAY] = _give_way_address()
        self.free = threading.Lock()  # one job at a time
        self.events: list[threading.Event] = []

    def call(self, helpers: int) -> None:
        """See that so many helpers are awake, or about to be."""
        while len(self.events) < helpers:
            event = threading.Event()
            self.events.append(event)
            name = f"whippletree-{len(self.events)}"
            threading.Thread(target=self._wait, args=(event, len(self.events)), name=name, daemon=True).start()
        for n in range(helpers):
            if not self.shared_state[AWAKE + n * APART]:
                self.events[n].set()

    def _wait(self, event: threading.Event, member: int) -> None:
        while True:
            event.wait()
            event.clear()
            self.serve(self.shared_state, member)


def _give_way_address() -> int:
    """Of sched_yield, where the system has it."""
    try:
        return ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value or 0
    except (AttributeError, OSError, TypeError):
        return 0


_thread_pools: dict[Any, ThreadPool] = {}
if hasattr(os, "register_at_fork"):  # a forked process has the pools but not their threads
    os.register_at_fork(after_in_child=_thread_pools.clear)


def thread_pool_of(serve: Any) -> ThreadPool:
    """The thread pool of this process for one kind of job."""
    if serve not in _thread_pools:
        _thread_pools[serve] = ThreadPool(serve)
    return _thread_pools[serve]
