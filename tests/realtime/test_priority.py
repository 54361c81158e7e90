"""A loop with a clock goes before others, and leaves the machine as it was."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from whippletree.realtime import priority

linux = pytest.mark.skipif(not hasattr(os, "SCHED_FIFO"), reason="priorities of Linux")


def may_run_in_real_time() -> bool:
    try:
        with priority._in_real_time():
            return True
    except OSError:
        return False


@linux
def test_all_is_as_it_was_afterwards():
    before = os.sched_getscheduler(0), os.sched_getaffinity(0)
    with priority.undisturbed(True):
        if may_run_in_real_time() and len(before[1]) > 1:
            assert os.sched_getaffinity(0) == {max(before[1])}
    assert (os.sched_getscheduler(0), os.sched_getaffinity(0)) == before


@linux
def test_who_may_not_stays_among_the_others(monkeypatch):
    def refuse(*_):
        raise PermissionError

    before = os.sched_getaffinity(0)
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with priority.undisturbed(True):
        assert os.sched_getscheduler(0) == os.SCHED_OTHER
        assert os.sched_getaffinity(0) == before


@linux
def test_what_keeps_a_core_awake_ends_with_its_parent():
    """Killed, a run cannot end it."""
    code = (
        "import subprocess, sys, os\nfrom whippletree.realtime.priority import BUSY\n"
        "print(subprocess.Popen([sys.executable, '-SEc', BUSY, str(os.getpid())]).pid, flush=True)\ninput()"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pid = int(run.stdout.readline())
    os.kill(pid, 0)
    run.kill()
    run.wait()
    until = time.monotonic() + 60.0
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return
        if state == "Z":  # nobody waits for it here
            return
        time.sleep(0.02)
    pytest.fail("it still runs")
