"""Sweeps: a model run many times with other numbers, on this machine or on a cluster, into one dataset."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import cloudpickle
from numpy.typing import ArrayLike

from .. import __version__
from ..errors import ModelError, WhippletreeError
from ..files.whole_file import only_writer
from ..model import Model
from ..result.netcdf import RESULT, header, result_path, write
from ..system.system import System
from . import single
from .check import Checked, check_sweep
from .columns import widths
from .designs import Plan, make_plan
from .journal import Journal, begin, journal_path, read
from .local import Job, processors, run_in_processes
from .study import CONVENTIONS, Sweep, Table, reported

PATIENCE = 1.0  # s, that runs are computed in this process before others are started
MARK = "sweep"  # of the file being written


def sweep(
    model: Model | System | str | os.PathLike[str] | Callable[..., Model],
    parameters: Mapping[str, Any],
    until: float,
    *,
    design: str = "grid",
    samples: int | None = None,
    seed: int = 0,
    end: str | Sequence[str] | None = None,
    extremes: str | Sequence[str] = (),
    paths: str | Sequence[str] = (),
    q: ArrayLike | Mapping[str, Any] | None = None,
    u: ArrayLike | Mapping[str, Any] | None = None,
    tau: Any = None,
    assemble: bool = False,
    output_step: float | None = None,
    on: str | None = None,
    workers: int | None = None,
    output: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Callable[[Reached], None] | None = None,
    **settings: Any,
) -> Sweep:
    """Run a model many times with other numbers, and keep what is asked of each run in one dataset.

    Parameters
    ----------
    model : a Model or System, the path of a model file, or a function that makes a Model of some of the parameters.
    parameters : what changes, by path, and its values: ``{"bodies.rod.mass": "0.5:2:64", "q.hinge": [0.1, 0.5]}``. A
        path leads to a number of the model (``bodies.``, ``joints.``, ``frames.``, ``couplings.``, ``forces.``,
        ``constraints.``, then name and field; ``gravity`` is its strength, ``gravity.z`` one component), of the start
        (``q.JOINT``, ``u.JOINT``, ``tau.JOINT``), is a setting (``integrator``, ``algorithm``, ``stabilization``,
        ``rtol``, ``atol``, ``step``, ``alpha``, ``beta``), or an argument of the function. Values are a list, a text
        "low:high:count", "low:high:count:log" or "1,2,5"; of random designs a range, (low, high), "low:high" or
        "low:high:log".
    until : end of each run (s).
    design : "grid"; "together", value by value; or ``samples``, by ``seed``, of "latin", "sobol" or "random".
    end, extremes, paths : names of a Result (``hinge.q``, ``energy``) kept at the end, as the least and largest over
        the rows of a run, or over time (by ``output_step``). Default: ``end`` of coordinates, velocities and energy.
    q, u, tau, output_step, settings : as :func:`simulate` has them, for all runs; ``assemble`` starts each at the
        nearest state in which all loops close.
    on : None, this machine; "dask", a Dask cluster made here; or the address of a scheduler, "tcp://host:8786".
    workers : number of processes (default: the cores); 0 computes in this one.
    output : a file (.nc). Runs are kept beside it as they come, and ``resume`` makes those that are missing.
    progress : called with the number of runs made, which also has ``failed`` and ``runs``.

    ``failures`` and ``warnings`` of the Sweep are those of runs; what stops it carries the Sweep so far as ``partial``.
    """
    if resume and output is None:
        raise ModelError("resume needs the file to go on from", hint="name it as output")
    target = None if output is None else result_path(output)
    plan = make_plan(parameters, design, samples, seed)
    options = {"q": q, "u": u, "tau": tau, "assemble": assemble, "output_step": output_step, "settings": settings}
    keep = {"end": end, "extremes": extremes, "paths": paths}
    checked = check_sweep(model, plan, until, keep, on=on, workers=workers, **options)
    work = Work(checked, plan, _head(checked, plan), on, workers, progress)
    if target is None:
        return reported(_to_the_end(work, None, {}))
    with only_writer(target, RESULT):
        return reported(_in_file(work, target, resume))


class Work(NamedTuple):
    """A sweep to be made."""

    checked: Checked
    plan: Plan
    head: dict[str, Any]  # attributes of the dataset
    on: str | None
    workers: int | None
    progress: Callable[[Reached], None] | None


class Reached(float):
    """The number of runs made so far, with how many ``failed`` and all ``runs``."""

    failed: int
    runs: int

    def __new__(cls, table: Table) -> Reached:
        self = super().__new__(cls, table.count)
        self.failed, self.runs = len(table.messages), table.plan.runs
        return self


def _head(checked: Checked, plan: Plan) -> dict[str, Any]:
    """Attributes of the dataset; ``sweep`` says what it is of, so that another one is not gone on with."""
    recipe = checked.runner.recipe
    made = header(checked.system)
    values = sha256(b"".join(column.tobytes() for column in plan.values))
    identity = {
        "version": __version__,
        "model": made["model_sha256"],
        "function": _plain(recipe.source) if callable(recipe.source) else None,
        "parameters": list(plan.names),
        "values": values.hexdigest(),
        "shape": list(plan.shape),
        "kept": [column.variable for column in checked.columns],
        "until": recipe.until,
        "output_step": recipe.output_step,
        "start": {key: _plain(value) for key, value in recipe.start.items()},
        "assemble": recipe.assemble,
        "settings": {key: _plain(value) for key, value in recipe.settings.items()},
    }
    return made | {
        "whippletree": CONVENTIONS,
        "parameters": json.dumps(list(plan.names)),
        "sweep": json.dumps(identity, allow_nan=False),
    }


def _plain(value: Any) -> Any:
    """As JSON can hold it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(x) for key, x in value.items()}
    if callable(value):
        return getattr(value, "__qualname__", type(value).__qualname__)
    return np.asarray(value, float).tolist()


# ---------------------------------------------------------------- the file


def _in_file(work: Work, target: Path, resume: bool) -> Sweep:
    """The sweep in its file; runs that the journal beside it holds are not made again."""
    beside, identity, known = journal_path(target), json.loads(work.head["sweep"]), dict[int, single.Outcome]()
    if resume and not beside.exists() and target.exists():
        return _complete(target, beside, identity)
    width = sum(widths(work.checked.columns, work.checked.times.size))
    kept = read(beside, width) if resume and beside.exists() else None
    if kept and kept.identity is not None:
        if kept.identity != identity:
            raise _another_sweep(beside, kept.identity, identity)
        journal, known = kept.go_on(beside), kept.runs
    else:
        journal = begin(beside, identity)
    try:
        done = _to_the_end(work, journal, known)
        write(done.dataset, target, packed=True, mark=MARK)
    except BaseException as error:
        partial = getattr(error, "partial", None)
        if partial is not None:
            _keep(partial, target, error)
        raise
    finally:
        journal.close()
    if done.complete:
        beside.unlink()
    return done


def _complete(target: Path, beside: Path, identity: Mapping[str, Any]) -> Sweep:
    """The sweep in a file that has no journal."""
    kept = Sweep.load(target)
    found = json.loads(kept.dataset.attrs["sweep"])
    if found != identity:
        raise _another_sweep(target, found, identity)
    if not kept.complete:
        raise ModelError(f"the sweep cannot go on: '{beside}' is missing", hint="start anew without resume")
    return kept


def _keep(partial: Sweep, target: Path, error: BaseException) -> None:
    """Write what there is, and say so; the journal has it anyway."""
    try:
        write(partial.dataset, target, packed=False, mark=MARK)
    except WhippletreeError as e:
        error.add_note(e.what)
    made = partial.dataset.attrs["done"] + len(partial.failures)
    error.add_note(f"kept: {target}, with {made} of {partial.runs} runs; resume goes on from there")


def _another_sweep(path: Path, found: Mapping[str, Any], here: Mapping[str, Any]) -> ModelError:
    names = [name for name in here if found.get(name) != here[name]]
    reported = [", ".join(f"{name} {str(x.get(name))[:60]}" for name in names) for x in (found, here)]
    return ModelError(
        f"the sweep cannot go on from '{path}': it is of another sweep: {', '.join(names)} differ",
        expected=reported[0],
        got=reported[1],
        hint="give what the file was made with, choose another name, or start anew without resume",
    )


# ---------------------------------------------------------------- the runs


def _to_the_end(work: Work, journal: Journal | None, known: Mapping[int, single.Outcome]) -> Sweep:
    """All runs that are not known yet; whatever ends this early, what was computed is kept."""
    plan, checked = work.plan, work.checked
    table = Table(plan, checked.runner.recipe.targets, checked.columns, checked.times)
    for run, outcome in known.items():
        table.put(run, outcome)
    jobs = ((run, plan.of(run)) for run in range(plan.runs) if not table.state[run])
    left = plan.runs - len(known)
    try:
        with closing(_outcomes(checked.runner, jobs, left, work.on, work.workers)) as outcomes:
            for run, outcome in outcomes:
                if journal:
                    journal.add(run, outcome)
                table.put(run, outcome)
                if work.progress:
                    work.progress(Reached(table))
    except BaseException as error:
        error.partial = table.sweep(work.head, False)  # type: ignore[attr-defined]
        raise
    return table.sweep(work.head, not (table.state == single.LOST).any())


def _outcomes(
    runner: single.Runner, jobs: Iterator[Job], left: int, on: str | None, workers: int | None
) -> Generator[tuple[int, single.Outcome], None, None]:
    """From wherever the runs are computed."""
    if not left:
        return
    if on is not None:
        from .dask_cluster import run_on_dask

        yield from run_on_dask(cloudpickle.dumps(runner.recipe), jobs, on, workers)
        return
    if not workers:
        until = None if workers == 0 else time.monotonic() + PATIENCE
        for job in jobs:
            try:
                yield job[0], runner.attempt(job[1], until)
            except single.OutOfPatience:
                jobs = chain([job], jobs)
                break
            left -= 1
            if until is not None and time.monotonic() > until:
                break
    if left:
        count = min(workers or processors(), left)
        yield from run_in_processes(cloudpickle.dumps(runner.recipe), jobs, count)
