"""Runs of a sweep on a Dask cluster: one made here for the purpose, or one whose scheduler is named.

One that is made here is programs of their own, in sessions of their own: no script is imported again for them, as a
LocalCluster does, and Ctrl-C is for the sweep, which then ends them. If the sweep is killed they end by themselves.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

from .. import __version__
from ..errors import MissingExtra, ModelError, ModelWarning, SimulationError
from .local import Job, cannot_load, processors
from .python import one_thread, python, user_paths
from .single import Outcome, Runner, lost

ANSWER_WITHIN = 3.0  # s, for a scheduler to answer
WORKERS_WITHIN = 30.0  # s, for its first worker
BEGIN_WITHIN = 60.0  # s, on a machine that is busy
END_WITHIN = 5.0  # s
IDLE = "60"  # s, after which a scheduler without tasks, or a worker without scheduler, ends
IN_FLIGHT = 4  # tasks that the scheduler is given, for each thread of a worker
TASK_SECONDS, MOST_AT_ONCE = 0.25, 256  # of computing in one task, and runs: a task costs the scheduler milliseconds

_here = threading.local()  # the runner of each thread of a worker


def run_on_dask(recipe: bytes, jobs: Iterable[Job], on: str, count: int | None) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they come. The scheduler gives the runs of a worker that dies to others, as often as it is set to."""
    with _client(on, count) as client:
        _require_this_version(client, on)
        # a task and not scattered data: those would be lost with the worker that holds them
        shared = client.submit(_same, recipe, key=f"sweep-{uuid4().hex}")
        waiting = iter(jobs)
        first = next(waiting, None)
        if first is None:
            return
        _compile_once_on_each_host(client, shared, first[1])
        yield from _outcomes(client, shared, chain([first], waiting), on)


def _outcomes(client: Any, shared: Any, jobs: Iterator[Job], on: str) -> Iterator[tuple[int, Outcome]]:
    """Short runs travel several at a time.

    When workers die again and again Dask blames all that was waiting there. Such runs come last, one by one.
    """
    from distributed import KilledWorker, as_completed

    groups: dict[str, list[Job]] = {}
    suspects: list[Job] = []

    def submit(group: list[Job], word: str = "") -> Any:
        key = f"{shared.key}-{group[0][0]}{word}"
        groups[key] = group
        return client.submit(_runs, shared, [values for _, values in group], key=key, pure=False)

    room = IN_FLIGHT * max(1, sum(client.nthreads().values()))
    going = as_completed([submit([job]) for job in islice(jobs, room)], loop=client.loop)
    count = 1
    for future in going:
        group, outcomes = groups.pop(future.key), list[Outcome]()
        try:
            seconds, outcomes = _answer(future, on)
            count = max(1, min(MOST_AT_ONCE, int(TASK_SECONDS * len(group) / max(seconds, 1e-6))))
        except KilledWorker:
            suspects += group
            group = []
        future.release()
        if more := list(islice(jobs, count)):
            going.add(submit(more))
        yield from zip((run for run, _ in group), outcomes, strict=True)
    for run, values in suspects:
        try:
            yield run, _answer(submit([(run, values)], "-alone"), on)[1][0]
        except KilledWorker as e:
            yield run, lost(f"its worker died again and again: {e}")


def _answer(future: Any, on: str) -> tuple[float, list[Outcome]]:
    if future.status == "cancelled":
        raise SimulationError(f"the Dask scheduler '{on}' has gone, or was asked to give up the sweep")
    try:
        answer: tuple[float, list[Outcome]] = future.result()
        return answer
    except (OSError, TimeoutError) as e:
        raise SimulationError(f"the Dask scheduler '{on}' has gone", got=str(e)) from None


# ---------------------------------------------------------------- what workers do


def _same(recipe: bytes) -> bytes:
    return recipe


def _runner(recipe: bytes) -> Runner:
    """That of this thread, made once."""
    if getattr(_here, "recipe", None) != recipe:
        warnings.simplefilter("ignore", ModelWarning)  # the sweep has said it once
        _here.runner, _here.recipe = Runner(pickle.loads(recipe)), recipe
    runner: Runner = _here.runner
    return runner


def _runs(recipe: bytes, group: list[tuple[Any, ...]]) -> tuple[float, list[Outcome]]:
    """The seconds it took, and what came of each run."""
    runner, begun = _runner(recipe), time.perf_counter()
    outcomes = [runner.attempt(values) for values in group]
    return time.perf_counter() - begun, outcomes


def _begin(recipe: bytes, values: tuple[Any, ...]) -> str:
    """Have the kernels compiled, and kept on the disk of this host; what prevents that, or nothing."""
    try:
        runner = _runner(recipe)
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    with suppress(Exception):  # the run itself will tell
        runner.begin(values)
    return ""


def _version() -> str:
    return __version__


# ---------------------------------------------------------------- the cluster


def require_place(on: str, count: int | None) -> None:
    """Complain at once where there is no Dask, or no scheduler that answers."""
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtra("distributed", "cluster", "a sweep on a Dask cluster") from None
    if on == "dask":
        if os.name == "nt":
            raise ModelError(
                "a Dask cluster is not made on Windows",
                hint="start 'dask scheduler' and 'dask worker ADDRESS', and give that address",
            )
        return
    if count is not None:
        raise ModelError("workers are for this machine", got=f"workers={count}, on='{on}'", hint="leave them out")
    with _quiet(), _connected(on):
        pass


def _connected(on: str) -> Any:
    from distributed import Client

    try:
        return Client(on, timeout=ANSWER_WITHIN, set_as_default=False)
    except Exception as e:  # what is not a scheduler may answer anything
        raise ModelError(
            f"no Dask scheduler answers at '{on}'",
            got=" ".join(str(e).split())[:200] or type(e).__name__,
            hint="start one with 'dask scheduler' and 'dask worker ADDRESS', or take 'dask' for a local cluster",
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Workers are activated and released, and that is not for the user to read."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextmanager
def _client(on: str, count: int | None) -> Iterator[Any]:
    place = cluster(count) if on == "dask" else nullcontext(on)
    with place as address, _quiet(), _connected(address) as client:
        yield client


def _require_this_version(client: Any, on: str) -> None:
    try:
        client.wait_for_workers(1, timeout=WORKERS_WITHIN)
    except TimeoutError:
        raise ModelError(
            f"the Dask scheduler '{on}' has no workers", hint="start some with 'dask worker ADDRESS'"
        ) from None
    try:
        versions = client.run(_version)
    except Exception as e:
        raise ModelError(
            "the Dask workers cannot import whippletree",
            got=f"{type(e).__name__}: {e}",
            hint="install it where they run: pip install 'whippletree[cluster]'",
        ) from None
    others = {f"{worker}: {version}" for worker, version in versions.items() if version != __version__}
    if others:
        raise ModelError(
            "Dask workers have another version of whippletree",
            expected=__version__,
            got=", ".join(sorted(others)[:4]),
            hint=f"pip install whippletree=={__version__}",
        )


def _compile_once_on_each_host(client: Any, shared: Any, values: tuple[Any, ...]) -> None:
    """One run begins on each host before all do: the others find the kernels on its disk."""
    hosts: dict[str, list[str]] = {}
    for address in client.nthreads():
        hosts.setdefault(address.rsplit(":", 1)[0], []).append(address)
    futures = [
        client.submit(_begin, shared, values, workers=workers, allow_other_workers=True, pure=False)
        for workers in hosts.values()
    ]
    for refusal in client.gather(futures, errors="skip"):  # a run that kills its worker will tell itself
        if refusal:
            raise cannot_load(refusal)


# ---------------------------------------------------------------- one made here


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
            Path(folder, "paths.py").write_text(f"import sys\nsys.path += {user_paths()!r}\n", "utf-8")
            options += ["--preload", str(Path(folder, "paths.py"))]
            started.append(_start("worker", [address, *options], log))
            yield address
        finally:
            for process in reversed(started):
                _end(process)


def _start(what: str, options: list[str], log: Path) -> subprocess.Popen[bytes]:
    command = python("-m", f"distributed.cli.dask_{what}", "--no-dashboard", *options)
    streams: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    with open(log, "ab") as errors:
        return subprocess.Popen(command, stderr=errors, env=one_thread(), start_new_session=True, **streams)


def _address(scheduler: subprocess.Popen[bytes], file: Path, log: Path) -> str:
    """What the scheduler writes once it can be reached."""
    until = time.monotonic() + BEGIN_WITHIN
    while time.monotonic() < until and scheduler.poll() is None:
        with suppress(OSError, ValueError, KeyError):  # not there yet, or not yet whole
            return str(json.loads(file.read_text())["address"])
        time.sleep(0.05)
    reported = log.read_text(errors="replace").strip().splitlines()
    raise SimulationError(
        "a Dask cluster cannot be started here", got=reported[-1].strip() if reported else "no answer"
    )


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, and then insist; a nanny's workers are in its session."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with suppress(subprocess.TimeoutExpired):
            process.wait(END_WITHIN)
