"""Every complaint about a sweep, before any of its runs is made."""

from __future__ import annotations

import inspect
import operator
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.inputs import one_state
from ..errors import ModelError, SimulationError, kept_warnings, nearest
from ..files import load
from ..integrate.run.times import LARGEST_RESULT, output_times, positive
from ..model import Model
from ..model.check import number, shown
from ..model.numbers import Target, changed
from ..result.result import Result
from ..system.system import System
from .columns import Column, Keep, default_names, names_given, widths
from .designs import Plan
from .single import Recipe, Runner
from .study import TAKEN
from .targets import LETTERS, SETTINGS, TEXTS, find_targets, started

PROBES = 8  # runs of which one at least must begin
BUILDING = 5.0  # s of trying a function that makes models; the runs after that are tried by the workers


class Checked(NamedTuple):
    """A sweep that can be made."""

    runner: Runner
    system: System  # of the model as it is given, or of the first run
    columns: list[Column]
    times: np.ndarray  # (rows) of paths


def check_sweep(
    model: Any,
    plan: Plan,
    until: float,
    keep: Mapping[str, Any],
    *,
    on: str | None,
    workers: int | None,
    settings: Mapping[str, Any],
    assemble: bool,
    output_step: float | None,
    **start: Any,
) -> Checked:
    """All that can be known before the first run; the kernels it needs are compiled on the way."""
    _check_place(on, workers)
    for name in settings:
        if name not in SETTINGS:
            raise ModelError(f"setting '{name}' is not known to sweep", hint=nearest(name, SETTINGS))
    for name in plan.names:
        if name in TAKEN:
            raise ModelError(f"a parameter cannot be named '{name}'", hint="the dataset has a dimension of that name")
    if number(until, "until") <= 0:
        raise ModelError("until must lie after the start", expected="a time > 0 (s)", got=until)
    until = float(until)
    model = load(model) if isinstance(model, str | os.PathLike) else model
    with kept_warnings(shown=False):  # the runs warn again
        return _checked(model, plan, until, keep, settings, assemble, output_step, start)


def _checked(
    model: Any,
    plan: Plan,
    until: float,
    keep: Mapping[str, Any],
    settings: Mapping[str, Any],
    assemble: bool,
    output_step: float | None,
    start: Mapping[str, Any],
) -> Checked:
    source, system, takes = _source(model, plan)
    targets = find_targets(plan.names, system, takes)
    wanted = Keep(*(names_given(keep[key], key) for key in Keep._fields))
    blank = Result(system, [0.0], [system.q0], [np.zeros(system.nu)], [0.0])  # it knows all names
    if not any(wanted):
        wanted = wanted._replace(end=default_names(blank))
    columns = wanted.columns(blank)
    step = None if output_step is None else positive(output_step, "output_step", until)
    times = _times(system, until, step) if wanted.paths else np.zeros(0)
    _check_size(plan, columns, times.size)
    runner = Runner(Recipe(source, targets, until, step, start, bool(assemble), dict(settings), wanted))
    _check_values(runner, plan, system)
    _begin(runner, plan)
    return Checked(runner, system, columns, times)


def _check_place(on: str | None, workers: int | None) -> None:
    if on is not None and on != "dask" and not (isinstance(on, str) and "://" in on[1:]):
        raise ModelError(
            "there is no such place to sweep on",
            expected="'dask', or the address of a Dask scheduler as 'tcp://host:8786'",
            got=shown(on),
        )
    try:
        count = 1 if workers is None else operator.index(workers)
    except TypeError:
        count = -1
    least = 0 if on is None else 1
    if count < least:
        raise ModelError("workers are not a number of processes", expected=f"an integer >= {least}", got=shown(workers))
    if on is not None:
        from .dask_cluster import require_place

        require_place(on, workers)


def _source(model: Any, plan: Plan) -> tuple[Any, System, tuple[str, ...]]:
    """The model or the function that makes it, a system to look names up in, and what the function takes."""
    if isinstance(model, System):
        return model.model, model, ()
    if isinstance(model, Model):
        return model, model.compile(), ()
    if not callable(model):
        raise ModelError(
            "there is no model to sweep", expected="a Model, a file, or a function that makes one", got=shown(model)
        )
    takes = _takes(model, plan.names)
    first = dict(zip(plan.names, plan.of(0), strict=True))
    made = model(**{name: first[name] for name in takes})
    if not isinstance(made, Model):
        raise ModelError("the function does not make a model", expected="a Model", got=shown(made))
    return model, made.compile(), takes


def _takes(source: Any, names: Sequence[str]) -> tuple[str, ...]:
    """Parameters that are arguments of the function."""
    arguments = inspect.signature(source).parameters.values()
    kinds = inspect.Parameter
    if any(a.kind == kinds.VAR_KEYWORD for a in arguments):
        return tuple(name for name in names if name.isidentifier() and name not in (*SETTINGS, "gravity"))
    known = [a.name for a in arguments if a.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY)]
    missing = [a.name for a in arguments if a.default is a.empty and a.name in known and a.name not in names]
    if missing:
        raise ModelError(
            f"the function that makes the model needs '{missing[0]}'",
            expected="a parameter of that name",
            got=", ".join(names),
        )
    return tuple(name for name in known if name in names)


def _times(system: System, until: float, step: float | None) -> np.ndarray:
    """Times of each path (s)."""
    if step is None:
        raise ModelError("paths need the time between two rows", expected="an output_step (s)", got="none")
    return output_times(system, until, step, until)


def _check_size(plan: Plan, columns: Sequence[Column], rows: int) -> None:
    numbers = sum(widths(columns, rows))
    size = 8.0 * plan.runs * numbers
    if size > LARGEST_RESULT:
        raise ModelError(
            "the sweep would not fit in memory",
            expected=f"at most {LARGEST_RESULT / 1e9:g} GB",
            got=f"{plan.runs} runs of {numbers} numbers, {size / 1e9:.1f} GB",
            hint="keep less of each run, or a larger output_step",
        )


# ---------------------------------------------------------------- values


def _check_values(runner: Runner, plan: Plan, system: System) -> None:
    """Every number in its place; what a model, or a start, refuses is refused here."""
    targets = runner.recipe.targets
    for target, values in zip(targets, plan.values, strict=True):
        text = values.dtype.kind == "U"
        if text != (target.part in TEXTS and target.room == "setting") and target.room != "build":
            expected = "a name" if target.part in TEXTS else "numbers"
            raise ModelError(f"parameter '{target.name}': wrong values", expected=expected, got=shown(values[0].item()))
    if callable(runner.recipe.source):
        _check_builds(runner, plan)
    else:
        for part in dict.fromkeys((t.room, t.part) for t in targets if t.of_model):
            for chosen in _chosen(plan, targets, [(t.room, t.part) == part for t in targets]):
                _saying(chosen, changed, runner.recipe.source, chosen)
    for letter in LETTERS:
        for chosen in _chosen(plan, targets, [t.room == letter for t in targets]):
            _saying(chosen, _one_start, runner, system, chosen)


def _chosen(plan: Plan, targets: Sequence[Target], which: Sequence[bool]) -> Iterator[dict[Target, Any]]:
    """All that some of the parameters take together."""
    some = list(compress(targets, which))
    for taken in plan.combinations(compress(plan.values, which)) if some else ():
        yield dict(zip(some, taken, strict=True))


def _one_start(runner: Runner, system: System, chosen: Mapping[Target, Any]) -> None:
    start = started(system, runner.recipe.start, chosen)
    tau = None if callable(start["tau"]) else start["tau"]
    one_state(system, start["q"], start["u"], tau, "sweep")


def _check_builds(runner: Runner, plan: Plan) -> None:
    until = time.monotonic() + BUILDING
    for run in range(plan.runs):
        values = plan.of(run)
        try:
            _saying(dict(zip(runner.recipe.targets, values, strict=True)), runner.model, values)
        except ModelError:
            raise
        except Exception:  # of the function itself: that run will tell
            pass
        if time.monotonic() > until:
            return


def _saying(chosen: Mapping[Target, Any], call: Any, *arguments: Any) -> None:
    """Call, and let a complaint say for which values."""
    try:
        call(*arguments)
    except ModelError as e:
        at = ", ".join(f"{target.name} = {value}" for target, value in chosen.items())
        raise ModelError(e.what, expected=e.expected, got=e.got, where=f"the sweep, at {at}", hint=e.hint) from None


# ---------------------------------------------------------------- the first moments


def _begin(runner: Runner, plan: Plan) -> None:
    """The first moments of a run, so that kernels are compiled once and settings refused.

    A run may be impossible, as one whose loop cannot close. If all that are tried are, the input is wrong.
    """
    refusal: Exception | None = None
    for run in np.unique(np.linspace(0, plan.runs - 1, PROBES).astype(int)).tolist():
        values = plan.of(run)
        try:
            runner.begin(values)
        except SimulationError:
            pass  # it was begun; the run itself will tell
        except Exception as e:
            refusal = refusal or e
            continue
        return _check_settings(runner, plan, values)
    assert refusal
    raise refusal


def _check_settings(runner: Runner, plan: Plan, values: tuple[Any, ...]) -> None:
    """Each combination of settings, by the first moments of a run that is possible."""
    targets = runner.recipe.targets
    for chosen in _chosen(plan, targets, [t.room == "setting" for t in targets]):
        new = tuple(chosen.get(t, value) for t, value in zip(targets, values, strict=True))
        try:
            _saying(chosen, runner.begin, new)
        except SimulationError:
            continue  # it was begun
