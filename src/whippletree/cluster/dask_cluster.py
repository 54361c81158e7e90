"""Runs of a sweep on a Dask cluster: one made here for the purpose, or one whose scheduler is named."""

from __future__ import annotations

import logging
import os
import pickle
import threading
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from itertools import islice
from typing import Any

from .. import __version__
from ..errors import MissingExtra, ModelError, ModelWarning, SimulationError
from .local import Job, cannot_load, environment, processors
from .single import Outcome, Runner, lost

ANSWER_WITHIN = 3.0  # s, for a scheduler to answer
WORKERS_WITHIN = 30.0  # s, for its first worker
IN_FLIGHT = 8  # runs that the scheduler is given, for each thread of a worker

_here = threading.local()  # the runner of each thread of a worker


def run_on_dask(recipe: bytes, jobs: Iterable[Job], on: str, count: int | None) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they come. The scheduler gives the runs of a worker that dies to others, as often as it is set to."""
    with _client(on, count) as client:
        _require_this_version(client, on)
        # a task and not scattered data: those would be lost with the worker that holds them
        shared = client.submit(_same, recipe, key=f"sweep-{sha256(recipe).hexdigest()[:16]}-{os.getpid()}")
        waiting = iter(jobs)
        first = next(waiting, None)
        if first is None:
            return
        _compile_once_on_each_host(client, shared, first[1])
        yield from _outcomes(client, shared, [first], waiting, on)


def _outcomes(
    client: Any, shared: Any, first: list[Job], waiting: Iterator[Job], on: str
) -> Iterator[tuple[int, Outcome]]:
    from distributed import as_completed

    runs: dict[str, int] = {}

    def submit(job: Job) -> Any:
        future = client.submit(_run, shared, job[1], key=f"{shared.key}-{job[0]}", pure=False)
        runs[future.key] = job[0]
        return future

    room = IN_FLIGHT * max(1, sum(client.nthreads().values()))
    going = as_completed([submit(job) for job in [*first, *islice(waiting, room)]])
    for future in going:
        outcome = _outcome(future, on)
        run = runs.pop(future.key)
        future.release()
        for job in islice(waiting, 1):
            going.add(submit(job))
        yield run, outcome


def _outcome(future: Any, on: str) -> Outcome:
    from distributed import KilledWorker

    if future.status == "cancelled":
        raise SimulationError(f"the Dask scheduler '{on}' has given up the sweep or has gone")
    try:
        outcome: Outcome = future.result()
        return outcome
    except KilledWorker as e:
        return lost(f"its worker died again and again: {e}")
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


def _run(recipe: bytes, values: tuple[Any, ...]) -> Outcome:
    return _runner(recipe).attempt(values)


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
        return Client(on, timeout=ANSWER_WITHIN)
    except Exception as e:  # what is not a scheduler may answer anything
        raise ModelError(
            f"no Dask scheduler answers at '{on}'",
            got=" ".join(str(e).split())[:200] or type(e).__name__,
            hint="start one with 'dask scheduler' and 'dask worker ADDRESS', or take 'dask' for a local cluster",
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Workers come and go, and that is not for the user to read."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _client(on: str, count: int | None) -> Iterator[Any]:
    from distributed import Client

    with _quiet():
        if on != "dask":
            with _connected(on) as client:
                yield client
            return
        with _cluster(count) as cluster, Client(cluster, timeout=WORKERS_WITHIN) as client:
            yield client


@contextmanager
def _cluster(count: int | None) -> Iterator[Any]:
    """A scheduler and workers of their own on this machine; no script is imported again for them."""
    from distributed.deploy.subprocess import SubprocessCluster

    with _environment():
        cluster = SubprocessCluster(
            n_workers=count or processors(),
            threads_per_worker=1,
            dashboard_address=None,  # type: ignore[arg-type]
            worker_kwargs={"dashboard": False, "memory_limit": 0},
            silence_logs=logging.CRITICAL,
        )
    with cluster:
        yield cluster


@contextmanager
def _environment() -> Iterator[None]:
    """What processes started now inherit."""
    before = dict(os.environ)
    os.environ.update(environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


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
