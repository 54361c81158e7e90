"""Runs of a sweep in processes on this machine. A process that dies is replaced, and its run is computed again."""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from ..errors import ModelError, SimulationError
from .python import one_thread, python, user_paths
from .single import Outcome, lost
from .worker import receive, send

ATTEMPTS = 3  # of a run whose process dies

Job = tuple[int, tuple[Any, ...]]  # number of the run, and its values


class Died(Exception):
    """A process has ended without an answer."""


class NeverBegan(Died):
    """The same, before it could be asked anything."""


def processors() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Process:
    """One worker, asked from here."""

    def __init__(self, recipe: bytes) -> None:
        command, pipe = python("-m", "whippletree.sweeps.worker", *user_paths()), subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=one_thread())
        try:
            refusal = self.ask(recipe).decode()
        except Died as e:
            raise NeverBegan(*e.args) from None
        if refusal:
            raise cannot_load(refusal)

    def ask(self, message: bytes) -> bytes:
        requests, answers = self.process.stdin, self.process.stdout
        assert requests
        assert answers
        try:
            send(requests, message)
            return receive(answers)
        except (EOFError, OSError, ValueError):
            code = self.process.wait()
            reported = f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
            raise Died(f"its process ended with {reported}") from None

    def end(self) -> None:
        with self.process:  # which closes its pipes and waits for it
            self.process.kill()


def cannot_load(why: str) -> ModelError:
    return ModelError(
        "the workers cannot load what is to be computed",
        got=why,
        hint="functions must be written in the script itself, or in a module that the workers can import",
    )


def run_in_processes(recipe: bytes, jobs: Iterable[Job], count: int) -> Iterator[tuple[int, Outcome]]:
    """Outcomes as they come, from so many processes. Each is served by a thread, which replaces it when it dies."""
    waiting = iter(jobs)
    lock, stopped = threading.Lock(), threading.Event()
    answers: queue.Queue[tuple[int, Outcome] | BaseException | None] = queue.Queue()
    processes: list[Process | None] = [None] * count

    def serve(n: int) -> None:
        try:
            while not stopped.is_set():
                with lock:
                    job = next(waiting, None)
                if job is None:
                    break
                answers.put((job[0], _attempts(recipe, job, processes, n, stopped)))
        except BaseException as e:
            answers.put(e)
        answers.put(None)

    threads = [threading.Thread(target=serve, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    try:
        left = count
        while left:
            answer = answers.get()
            if isinstance(answer, BaseException):
                raise answer
            if answer is None:
                left -= 1
            else:
                yield answer
    finally:
        stopped.set()
        _end(processes, threads)


def _attempts(recipe: bytes, job: Job, processes: list[Process | None], n: int, stopped: threading.Event) -> Outcome:
    """What came of a run, in the n-th process or in those that replace it."""
    why: Died | None = None
    for _ in range(ATTEMPTS):
        try:
            process = processes[n] = processes[n] or Process(recipe)
            outcome: Outcome = pickle.loads(process.ask(pickle.dumps(job[1])))
            return outcome
        except Died as e:
            why, processes[n] = e, None
            if stopped.is_set():
                break
    if isinstance(why, NeverBegan):
        raise SimulationError("processes for the sweep cannot be started", got=str(why))
    return lost(f"{why}, {ATTEMPTS} times")


def _end(processes: list[Process | None], threads: list[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():  # a process may just be starting
            for process in list(processes):
                if process:
                    process.process.kill()
            thread.join(0.05)
    for process in processes:
        if process:
            process.end()
