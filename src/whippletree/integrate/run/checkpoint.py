"""The file of a run: written while the run goes on, and read to go on from where a run was stopped."""

from __future__ import annotations

import json
import os
import time as clock
from collections.abc import Callable, Iterable
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import __version__
from ...dynamics.inputs import body_of
from ...dynamics.stepping.samples import LOSS
from ...errors import ModelError, WhippletreeError
from ...model.kinds import annotated
from ...result.netcdf import Kept, as_result, bare_dataset, dataset, header, read, write
from ...result.records import Change
from ...result.result import Result
from ..contacts.run import Switching
from ..quasi_static import rows_named
from .events import Event
from .task import Task
from .watch import Watch

if TYPE_CHECKING:
    import xarray as xr

WRITING_SHARE = 0.1  # of the time of a run, at most
FOLLOW = ("output_step", "step")  # from until, where they are not given
MARK = "run"  # of the file being written: the next run removes what a killed one left


def settings_of(task: Task, tau: Any, events: Iterable[Event]) -> dict[str, Any]:
    """All that decides the motion besides the model and the start, as JSON can hold it."""
    system = task.system
    functions = [f"tau: {_name(tau)}"] if callable(tau) else []
    for force in system.forces.elements.values():
        for key in annotated(force, "PythonFunction"):
            name = _name(getattr(force, key))
            functions.append(f"force '{force.name}' on '{force.body}' at {tuple(force.at)}: {name}")
    return {
        "until": float(task.t[-1]),
        "output_step": float(task.t[1]),
        "integrator": task.integrator,
        "algorithm": task.algorithm,
        "rtol": task.rtol,
        "atol": task.atol,
        "step": task.step,
        "stabilization": list(task.stabilization) if system.constraints.count else None,
        "tau": task.tau.tolist() if task.tau.any() else None,
        "functions": functions,
        "events": [[e.name, _name(e.output), e.value, e.direction, _name(e.then), e.rate] for e in events],
        **rows_named(system),
    }


def _name(function: Any) -> str:
    if isinstance(function, str):
        return function
    return getattr(function, "__qualname__", type(function).__qualname__)


def _copy(sides: np.ndarray | None) -> np.ndarray | None:
    return None if sides is None else sides.copy()


class Checkpoint:
    """Keeps a run in a file. The process that makes one must be the file's only writer.

    ``so_far()`` gives the Result up to now, with accelerations where a reader of the file could not compute them.
    """

    def __init__(
        self, path: str | os.PathLike[str], task: Task, run: Any, so_far: Callable[[], Result], every: float
    ) -> None:
        self.path, self.task, self.run, self.so_far = path, task, run, so_far
        self.every, self.head = every, header(task.system)
        self.until: float | None = None  # how far the file goes (s), once this run has written or read it
        self.failed = False  # whether the disk has refused it
        self.state: np.ndarray | None = None
        self.ahead = np.zeros((0, task.samples.shape[1]))  # samples of intervals that the state has not finished
        self.before: np.ndarray | None = None  # on which side of their values outputs of events were
        self.happened = 0  # events up to the state
        self.memo: str | None = None  # of a run whose constraints are activated and released
        self.mark()
        self.next = clock.perf_counter() + every

    def mark(self) -> None:
        """Remember the state to go on from. A failed step or an interrupted function leaves none behind."""
        run = self.run
        if run.state is not None:
            self.state = run.state.copy()
            ahead = self.task.samples[_innermost(run).row :]
            self.ahead = ahead[: int(np.count_nonzero(ahead[:, LOSS]))].copy()
        if isinstance(run, Switching):
            self.before, self.happened = _copy(run.watch.sides), len(run.occurrences)
            self.memo = json.dumps(run.memo(), allow_nan=False)
        elif isinstance(run, Watch):
            self.before, self.happened = _copy(run.sides), len(run.occurrences)

    def save_if_due(self) -> None:
        """Save every so many seconds, or more rarely where writing takes its time."""
        begun = clock.perf_counter()
        if begun < self.next:
            return
        self.save()
        now = clock.perf_counter()
        self.next = now + max(self.every, (now - begun) * (1 / WRITING_SHARE - 1))

    def save(self) -> None:
        """The rows so far, and the state to go on from, which may lie some rows behind."""
        result = self.so_far()
        data = bare_dataset(result, self.head)
        if self.state is not None:
            words = {"long_name": "samples of intervals that the state has not finished"}
            data["state_sample"] = (("state_row", "sample_number"), self.ahead, words)
            data["state"] = ("state_number", self.state, {"long_name": "state of the integrator, to go on from"})
            data.attrs["state_events"] = self.happened
            if self.memo is not None:
                data.attrs["state_memo"] = self.memo
        if self.before is not None:
            data["state_outputs"] = ("state_output", self.before, {"long_name": "sides of events at that state"})
        self._write(data, packed=False)
        self.until = float(result.t[-1])

    def finish(self, result: Result) -> None:
        """The whole run, with all that a reader may want to find in the file."""
        self._write(dataset(result), packed=True)

    def _write(self, data: xr.Dataset, packed: bool) -> None:
        try:
            write(data, self.path, packed=packed, mark=MARK)
        except WhippletreeError:
            self.failed = True
            raise

    def note(self) -> str | None:
        """What is in the file now, in words."""
        if self.until is None:
            return None
        more = "" if self.state is None else "; resume goes on from there"
        return f"kept: {self.path}, which ends at t = {self.until:.6g} s{more}"

    def resume(self) -> Result | None:
        """Put the run where the file's run was; returns the Result if that was at the end."""
        kept = read(self.path)
        try:
            self._refuse_another_run(kept)
            return self._go_on(kept)
        except ModelError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError):
            raise self._not_this_run("does not fit together", None, None) from None

    def _go_on(self, kept: Kept) -> Result | None:
        task, run, arrays = self.task, self.run, kept.arrays
        if kept.attrs["complete"]:
            return as_result(task.system, kept)
        state, rows = arrays.get("state"), arrays["time"].size
        if state is not None and isinstance(run, Switching):
            self._recall_parts(kept, run)
        if state is None or state.shape != run.state.shape or not np.isfinite(state).all():
            raise self._not_this_run("holds no state to go on from", None, None)
        run.state[:] = state
        inner = _innermost(run)
        inner.plans.recall(kept.attrs, inner.time)
        whole = [("q", task.Q), ("u", task.U), ("work", task.W)]
        fits = all(arrays[name].shape == (rows, *into.shape[1:]) for name, into in whole)
        same = rows <= task.t.size and np.array_equal(arrays["time"], task.t[:rows])
        if not (same and fits and 1 <= inner.row <= rows):
            raise self._not_this_run("does not fit together", None, None)
        if isinstance(run, Switching):
            run.watch.seen = inner.row
        elif isinstance(run, Watch):
            run.recall(arrays.get("state_outputs"), kept.events[: kept.attrs["state_events"]])
        for name, into in whole:
            into[:rows] = arrays[name]
        samples, ahead, row = arrays.get("sample"), arrays.get("state_sample"), inner.row
        if samples is not None and samples.shape == task.samples[:rows].shape:
            task.samples[1:row] = samples[1:row]
        if ahead is not None and ahead.shape == task.samples[row : row + len(ahead)].shape:
            task.samples[row : row + len(ahead)] = ahead
        before, here = kept.warnings(), list(task.warnings)
        task.warnings[:] = dict.fromkeys([*before, *here])
        self.mark()
        self.until = float(task.t[rows - 1])
        return None

    def _recall_parts(self, kept: Kept, run: Switching) -> None:
        """Put a run whose constraints are activated and released into the part that the file's run was in."""
        try:
            changes = Change.parse(kept.attrs["changes"], self.task.system.model)
            memo, events = json.loads(kept.attrs["state_memo"]), kept.events[: kept.attrs["state_events"]]
            run.recall(memo, changes, kept.arrays.get("state_outputs"), events)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._not_this_run("does not tell which of its constraints held", None, None) from None

    def _refuse_another_run(self, kept: Kept) -> None:
        """Refuse a file that another version, model, start or other settings have made."""
        there, here = kept.attrs.get("settings"), json.loads(self.so_far().attrs["settings"])
        if not isinstance(there, str) or "complete" not in kept.attrs:
            raise self._not_this_run("does not say how it was computed", None, None)
        if kept.attrs.get("version") != __version__:
            raise self._not_this_run("is of another version of Whippletree", kept.attrs.get("version"), __version__)
        if kept.model != self.head["model"]:
            raise self._not_this_run("is of another model", *_first_difference(kept.model, self.head["model"]))
        settings = json.loads(there)
        names = [name for name in here if settings.get(name) != here[name]]
        if "until" in names:
            names = [name for name in names if name not in FOLLOW]
        if names == ["until"]:
            raise self._ends_elsewhere(float(settings["until"]), here["until"], bool(kept.attrs["complete"]))
        if names:
            reported = [
                ", ".join(f"{name} {_short(values.get(name))}" for name in names) for values in (settings, here)
            ]
            raise self._not_this_run(
                f"is of another run: {', '.join(names)} differ{'s' * (len(names) == 1)}", *reported
            )
        for letter, rows in (("q", self.task.Q), ("u", self.task.U)):
            first = kept.arrays[letter][0]
            if first.shape != rows[0].shape:
                raise self._not_this_run("does not fit together", None, None)
            if not np.array_equal(first, rows[0]):
                j = int(np.argmax(first != rows[0]))
                place = self.task.system.mechanical(body_of(self.task.system, letter, j))
                reported = [f"{letter}[{j}] = {float(x)!r}, {place}" for x in (first[j], rows[0, j])]
                raise self._not_this_run("starts elsewhere", *reported)

    def _ends_elsewhere(self, there: float, here: float, complete: bool) -> ModelError:
        begun = "was computed" if complete else "is being computed"
        again = f"give until={_short(there)}" if not complete else "leave out resume"
        return ModelError(
            f"the run cannot go on from '{self.path}': it is of another run, {begun} until t = {_short(there)} s",
            expected=f"until {_short(there)}",
            got=f"until {_short(here)}",
            hint=f"resume completes a run and does not change its end: {again}, or begin another run, with another "
            "name, in its last state: q=run.q[-1], u=run.u[-1] of run = wt.load_result(...)",
        )

    def _not_this_run(self, why: str, expected: object, got: object) -> ModelError:
        hint = "give what the file was made with, choose another name, or start anew without resume"
        return ModelError(f"the run cannot go on from '{self.path}': it {why}", expected=expected, got=got, hint=hint)


def _short(value: Any) -> str:
    text = f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else str(value)
    return text if len(text) <= 200 else text[:200] + "..."


def _first_difference(a: str, b: str) -> tuple[str, str]:
    """The first lines in which two models differ, each after the table it stands in."""
    table = ""
    for x, y in zip_longest(a.splitlines(), b.splitlines(), fillvalue="nothing more"):
        if x != y:
            return f"{table}{x}", f"{table}{y}"
        table = f"{x} " if x.startswith("[") else table
    return "", ""


def _innermost(run: Any) -> Any:
    """The run of an integrator, below what watches it."""
    watch = run.watch if isinstance(run, Switching) else run
    return watch.run if isinstance(watch, Watch) else watch
