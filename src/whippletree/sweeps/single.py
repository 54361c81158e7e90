"""One run of a sweep, wherever it is computed: the values of its parameters in, a row of numbers or a message out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from ..errors import SimulationError, WhippletreeError, kept_warnings
from ..integrate.assemble import assemble
from ..integrate.simulate import simulate
from ..model import Model
from ..model.numbers import Target, changed
from ..result.result import Result
from ..system.system import System
from .columns import Keep
from .targets import LETTERS, started

DONE, FAILED, LOST = 1, 2, 3
BRIEF = 1e-3  # of a run: enough to have its kernels compiled, and its input refused


class Outcome(NamedTuple):
    """What came of a run. ``state`` is DONE, FAILED, or LOST: then it was never finished, and may be tried again."""

    state: int
    numbers: np.ndarray | None = None
    message: str = ""
    warnings: tuple[str, ...] = ()


class Recipe(NamedTuple):
    """What all runs of a sweep share. It crosses to other processes and machines."""

    source: Model | Callable[..., Model]
    targets: tuple[Target, ...]
    until: float
    output_step: float | None
    start: Mapping[str, Any]  # q, u, tau
    assemble: bool
    settings: Mapping[str, Any]
    keep: Keep


class OutOfPatience(Exception):
    """A run takes longer than the time that it was given here."""


class Runner:
    """Computes runs, one after the other. A system is compiled again only where it changes."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.made: tuple[Any, System] | None = None

    def model(self, values: tuple[Any, ...]) -> Model:
        """The model of a run, each part checked."""
        chosen = self._chosen(values)
        source = self.recipe.source
        if callable(source):
            arguments = {target.part: value for target, value in chosen.items() if target.room == "build"}
            source = source(**arguments)
        changes = {target: value for target, value in chosen.items() if target.of_model}
        return changed(source, changes) if changes else source

    def _chosen(self, values: tuple[Any, ...]) -> dict[Target, Any]:
        return dict(zip(self.recipe.targets, values, strict=True))

    def system(self, values: tuple[Any, ...]) -> System:
        key = [v for t, v in self._chosen(values).items() if t.of_model or t.room == "build"]
        if self.made is None or self.made[0] != key:
            self.made = key, self.model(values).compile()
        return self.made[1]

    def simulate(self, values: tuple[Any, ...], *, brief: bool = False, until_clock: float | None = None) -> Result:
        """The run itself, as :func:`whippletree.simulate` makes it; or only its beginning."""
        recipe, system, chosen = self.recipe, self.system(values), self._chosen(values)
        start = started(system, recipe.start, {t: value for t, value in chosen.items() if t.room in LETTERS})
        if recipe.assemble:
            state = assemble(system, start.get("q"), start.get("u"))
            start |= {"q": state.q, "u": state.u}
        settings = {**recipe.settings, **{t.part: value for t, value in chosen.items() if t.room == "setting"}}
        until, output_step = recipe.until, recipe.output_step
        if brief:
            until, output_step = until * BRIEF, None
        progress = None if until_clock is None else _hurry(until_clock)
        return simulate(system, until, output_step=output_step, progress=progress, **start, **settings)

    def begin(self, values: tuple[Any, ...]) -> None:
        """Have all kernels compiled that such a run needs, by its first moments; what it complains about is raised."""
        with self._quiet():
            self.recipe.keep.numbers(self.simulate(values, brief=True))

    def attempt(self, values: tuple[Any, ...], until_clock: float | None = None) -> Outcome:
        """The run, whatever comes of it, with all that it warns of."""
        with self._quiet() as texts:
            outcome = self._attempt(values, until_clock)
        return outcome._replace(warnings=tuple(texts))

    @contextmanager
    def _quiet(self) -> Iterator[list[str]]:
        """Warnings are kept and not shown. A System warns once of some things: the run after such a one has another."""
        with kept_warnings(shown=False) as texts:
            try:
                yield texts
            finally:
                if texts:
                    self.made = None

    def _attempt(self, values: tuple[Any, ...], until_clock: float | None) -> Outcome:
        try:
            return Outcome(DONE, self.recipe.keep.numbers(self.simulate(values, until_clock=until_clock)))
        except OutOfPatience:
            raise
        except WhippletreeError as e:
            return Outcome(FAILED, message=str(e))
        except Exception as e:  # of a function of the user, or of a library: it must not cost the other runs
            return Outcome(FAILED, message=f"{type(e).__name__}: {e}")


def _hurry(until_clock: float) -> Callable[[Any], None]:
    def look(_: Any) -> None:
        if time.monotonic() > until_clock:
            raise OutOfPatience

    return look


def lost(why: str) -> Outcome:
    return Outcome(LOST, message=str(SimulationError("the run was never finished", got=why, hint="resume tries again")))
