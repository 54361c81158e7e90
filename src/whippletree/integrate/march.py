"""A run from where it stands to its end: march on, watch every chunk, keep what was computed."""

from __future__ import annotations

import json
import os
import time as clock
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ..dynamics.dispatch import DEFORMED
from ..dynamics.functions import forward_dynamics
from ..dynamics.inputs import body_of
from ..errors import SimulationError, WhippletreeError
from ..files.whole_file import only_writer
from ..result.netcdf import RESULT, result_path
from ..result.records import Change, Occurrence
from ..result.result import Result
from ..system.callbacks import Callback, raised_in
from ..system.system import System
from .contacts.stopped_at import stopped_at
from .run import balance, passages
from .run.accuracy import Accuracy
from .run.checkpoint import Checkpoint, settings_of
from .run.cross_check import CrossCheck
from .run.output_samples import accelerations_of, rows_of, samples_of, settle_rows
from .run.strain import StrainWatch
from .run.task import Failure, Task

FIRST_STEPS = 16
MOST_STEPS = 10**9  # between two looks at the state
HERE = 1e-6  # of the time, or s: a change of constraints so near to a pose is in it
CHUNK_SECONDS = 0.2  # of computing, between two looks at the state and at Ctrl-C


class Ahead:
    """A run, with all that looks at it on the way."""

    def __init__(
        self,
        task: Task,
        run: Any,
        tau: Any,
        progress: Callable[[Reached], None] | None,
        users: list[Callback],
        second: CrossCheck,
        accuracy: Accuracy,
    ) -> None:
        self.task, self.run, self.tau, self.progress, self.users = task, run, tau, progress, users
        self.second, self.accuracy = second, accuracy
        self.checkpoint: Checkpoint | None = None

    def kept_in(self, output: str | os.PathLike[str], every: float, resume: bool) -> Result:
        """The Result, kept in a file on the way; from what is there, to ``resume``."""
        path = result_path(output)
        with only_writer(path, RESULT):
            self.checkpoint = Checkpoint(path, self.task, self.run, self.so_far, every)
            done = self.checkpoint.resume() if resume and path.exists() else None
            return done or self.to_the_end()

    def to_the_end(self) -> Result:
        """March on and give the Result; whatever ends this early, what was computed is kept."""
        result, task = None, self.task
        try:
            self._march()
            rows = rows_of(task, self.run)
            settle_rows(task, self.tau, *rows[:3])
            udot = accelerations_of(task, self.tau, *rows[:3], getattr(self.run, "changes", ()))
            balance.look(task, "step" in self.run.attrs(), *rows)
            attrs = self._attrs(True) | self.second.attrs()
            samples = samples_of(task, self.tau, slice(rows[0].size))
            result = Result(task.system, *rows, udot=udot, attrs=attrs, events=self._occurrences(), samples=samples)
            if self.checkpoint:
                self.checkpoint.finish(result)
            return result
        except BaseException as error:
            error.partial = result or self.so_far()  # type: ignore[attr-defined]
            if self.checkpoint:
                _keep(self.checkpoint, error)
            raise

    def so_far(self) -> Result:
        """The rows up to now. A function that fails must not cost the rest: then there are no accelerations."""
        task = self.task
        t, Q, U, W = (x[: self.accuracy.lost_at] for x in rows_of(task, self.run))
        udot = samples = None
        with suppress(Exception):
            settle_rows(task, self.tau, t, Q, U)
            udot = accelerations_of(task, self.tau, t, Q, U, getattr(self.run, "changes", ()))
            samples = samples_of(task, self.tau, slice(t.size))
        attrs = self._attrs(False)
        return Result(task.system, t, Q, U, W, udot=udot, attrs=attrs, events=self._occurrences(), samples=samples)

    def _march(self) -> None:
        """To the last row, in chunks of about CHUNK_SECONDS."""
        task, run, checkpoint = self.task, self.run, self.checkpoint
        steps, strain = FIRST_STEPS, StrainWatch(task)
        chunk = min(CHUNK_SECONDS, checkpoint.every) if checkpoint else CHUNK_SECONDS
        while run.row < task.t.size:
            begun = clock.perf_counter()
            failure = run.proceed(steps)
            for user in self.users:
                if user.error is not None:
                    raise raised_in(user, f"near t = {run.time:.6g} s")
            strain.look(run.row)
            self.second.look(run.row, getattr(run, "changes", ()))
            self.accuracy.look(run)
            if failure:
                failure = _explained(failure, getattr(run, "changes", ()))
                raise self._stopped_at(failure) or _failed(task, failure, run.row - 1)
            spent = max(clock.perf_counter() - begun, 1e-6)
            steps = min(MOST_STEPS, max(1, int(min(4.0, chunk / spent) * steps)))
            if self.progress:
                self.progress(Reached(run, float(task.t[-1])))
            if checkpoint:
                checkpoint.mark()
                if run.row < task.t.size:
                    checkpoint.save_if_due()

    def _stopped_at(self, failure: Failure) -> SimulationError | None:
        """The error that names a contact at which steps become too short."""
        run = self.run
        if failure.error or not failure.what.startswith("needs steps"):
            return None
        system = run.system if hasattr(run, "system") else self.task.system
        while not hasattr(run, "at"):
            run = getattr(run, "watch", None) or run.run
        q = run.at(run.time)[: system.nq]
        return stopped_at(system, getattr(self.run, "changes", ()), failure.time, q, failure.what)

    def _occurrences(self) -> list[Occurrence]:
        return getattr(self.run, "occurrences", [])

    def _attrs(self, complete: bool) -> dict[str, Any]:
        task, run = self.task, self.run
        method = {"algorithm": task.algorithm, "integrator": task.integrator} | run.attrs()
        if (changes := getattr(run, "changes", None)) is not None:
            method["changes"] = Change.text(changes)
        if task.system.constraints.count:
            method["stabilization"] = task.stabilization.name
        settings = json.dumps(settings_of(task, self.tau, getattr(run, "events", ())), allow_nan=False)
        known = {"until": float(task.t[-1]), "complete": int(complete), "settings": settings}
        return method | known | {"warnings": list(task.warnings)}


def _keep(checkpoint: Checkpoint, error: BaseException) -> None:
    """Save once more, unless it is saving that failed, and say what is in the file."""
    if not checkpoint.failed:
        try:
            checkpoint.save()
        except WhippletreeError as e:
            error.add_note(e.what)
    note = checkpoint.note()
    if note:
        error.add_note(note)


class Elsewhere(Exception):
    """The run is shared, and another process has its Result."""


class Reached(float):
    """The simulated time that a run has come to (s), with the ``steps`` taken and the end, ``until`` (s)."""

    steps: int
    until: float

    def __new__(cls, run: Any, until: float) -> Reached:
        self = super().__new__(cls, run.time)
        attrs = run.attrs()
        self.steps = attrs["accepted"] if "accepted" in attrs else round(run.time / attrs["step"])
        self.until = until
        return self


def _explained(failure: Failure, changes: Sequence[Change]) -> Failure:
    """A run whose constraints changed in the pose that it cannot be followed through is helped by nothing else."""
    there = [f"'{c.name}'" for c in changes if abs(c.t - failure.time) <= HERE * max(1.0, abs(failure.time))]
    if failure.hint != passages.HINT or not there:
        return failure
    return failure._replace(hint=f"let {', '.join(dict.fromkeys(there))} change a little before or behind that pose")


def _failed(task: Task, failure: Failure, row: int) -> SimulationError:
    """The error that names time and joint; ``row`` is the last that is filled."""
    if failure.error:
        return failure.error
    system, where, hint = task.system, None, failure.hint + f"; {DEFORMED}" * bool(task.system.flexible)
    try:
        forward_dynamics(system, task.Q[row], task.U[row], task.tau, t=task.t[row], algorithm=task.algorithm)
    except SimulationError as e:
        if e.where:  # a DOF without mass: the dynamics know which
            where, hint = e.where, e.hint or hint
    return stopped(system, failure, where, hint)


def stopped(system: System, failure: Failure, where: str | None, hint: str) -> SimulationError:
    """The error that names time and joint: ``where``, or by the component of the state that failed."""
    j = min(failure.component, system.nq + system.nu - 1)
    body = body_of(system, "q", j) if j < system.nq else body_of(system, "u", j - system.nq)
    what = f"the motion of '{system.name}' {failure.what} at t = {failure.time:.6g} s"
    return SimulationError(what, where=where or system.mechanical(body), hint=hint)
