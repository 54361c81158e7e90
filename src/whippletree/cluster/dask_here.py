"""A Dask scheduler and its workers on this machine, for one sweep.

They are programs of their own, in sessions of their own: no script is imported again for them, as a LocalCluster does,
and Ctrl-C is for the sweep, which then ends them. If the sweep is killed they end by themselves.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import SimulationError
from .local import environment, processors

BEGIN_WITHIN = 60.0  # s, on a machine that is busy
END_WITHIN = 5.0  # s
IDLE = "60"  # s, after which a scheduler without tasks, or a worker without scheduler, ends


@contextmanager
def cluster(count: int | None) -> Iterator[str]:
    """The address of its scheduler; it has so many workers of one thread each, which a nanny replaces when they die."""
    with TemporaryDirectory(prefix="whippletree-", ignore_cleanup_errors=True) as folder:
        file, log = Path(folder, "scheduler.json"), Path(folder, "log")
        started: list[subprocess.Popen[bytes]] = []
        try:
            options = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file), "--idle-timeout", IDLE]
            started.append(_start("scheduler", options, log))
            address = _address(started[0], file, log)
            options = ["--nworkers", str(count or processors()), "--nthreads", "1", "--memory-limit", "0"]
            options += ["--host", "127.0.0.1", "--death-timeout", IDLE, "--local-directory", folder]
            started.append(_start("worker", [address, *options], log))
            yield address
        finally:
            for process in reversed(started):
                _end(process)


def _start(what: str, options: list[str], log: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", f"distributed.cli.dask_{what}", "--no-dashboard", *options]
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with open(log, "ab") as errors:
        return subprocess.Popen(command, stderr=errors, env=environment(), start_new_session=True, **streams)


def _address(scheduler: subprocess.Popen[bytes], file: Path, log: Path) -> str:
    """What the scheduler writes once it can be reached."""
    until = time.monotonic() + BEGIN_WITHIN
    while time.monotonic() < until and scheduler.poll() is None:
        with suppress(OSError, ValueError, KeyError):  # not there yet, or not yet whole
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.05)
    said = log.read_text(errors="replace").strip().splitlines()
    raise SimulationError("a Dask cluster cannot be started here", got=said[-1].strip() if said else "no answer")


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, and then insist; a nanny's workers are in its session."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_WITHIN)
