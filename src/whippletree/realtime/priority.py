"""A loop with a clock to keep goes before others: in real time, on a core of its own that does not fall asleep.

A core that has nothing to do sleeps, and a virtual one is given to somebody else: both come back late. Where the system
lets us run in real time, a process of the lowest class therefore keeps the loop's core busy. On a virtual machine with
two cores, steps of 0.08 ms at 1 kHz were late 16 times in 30 s with it, and 180 times without.
"""

from __future__ import annotations

import gc
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from ..sweeps.python import python

PRIORITY = 10  # of 99 in real time
BUSY = """
import os, sys
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
try:
    with open("/proc/self/autogroup", "w") as file:
        file.write("19")
except OSError:
    pass
while os.getppid() == int(sys.argv[1]):
    pass
"""  # last among all sessions, and ends with its parent, however that does


@contextmanager
def undisturbed(paced: bool) -> Iterator[None]:
    """Without pauses for garbage; and, with a clock to keep, before others where the system lets us."""
    was = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        with ExitStack() as ours:
            if paced and hasattr(os, "SCHED_FIFO"):
                with suppress(OSError):  # a user who may not stays among the others
                    ours.enter_context(_in_real_time())
            yield
    finally:
        gc.unfreeze()
        if was:
            gc.enable()


@contextmanager
def _in_real_time() -> Iterator[None]:
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(PRIORITY))
    try:
        with ExitStack() as ours:
            if len(os.sched_getaffinity(0)) > 1:
                ours.enter_context(_awake())
            yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


@contextmanager
def _awake() -> Iterator[None]:
    """On the last of our cores alone, with a process that keeps it awake."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})  # which the process inherits
    busy = subprocess.Popen(python("-I", "-S", "-c", BUSY, str(os.getpid())), start_new_session=True)
    try:
        yield
    finally:
        busy.kill()
        busy.wait()
        os.sched_setaffinity(0, cores)
