"""From the model to the motion: what a user waits for around the kernels, of ladders of loops and of chains.

Sizes count loops; chains have ten times as many bodies. Times are those of the processor, each taken once, with kernels
that are loaded: they are seconds, and what is asked is how they grow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from whippletree.dynamics.functions import forward_dynamics
from whippletree.files import load, save
from whippletree.integrate.assemble import assemble
from whippletree.integrate.simulate import simulate
from whippletree.model import Model

from .loop_families import ladder, start
from .result import OURS, BenchResult, Row

HANGING, SWING = math.pi - 0.6, -1.0  # rad, rad/s: cranks swing about where they hang, away from where they are level
OFF = 1e-3  # rad, from which a ladder is assembled
SMALLEST = 4  # loops, whose times are not kept: kernels are loaded
BODIES = 10  # of a chain, for each loop of the ladder


class Clock:
    """Processor seconds of what is asked about one model."""

    def __init__(self, result: BenchResult | None, label: str, loops: int) -> None:
        self.result, self.label, self.loops = result, label, loops
        self.system: Any = None

    def __call__(self, question: str, work: Callable[[], Any]) -> Any:
        begun = time.process_time()
        made = work()
        self.take(question, time.process_time() - begun)
        return made

    def take(self, question: str, seconds: float) -> None:
        if self.result is not None:
            bodies, nu = (self.system.nb - 1, self.system.nu) if self.system else (0, 0)
            row = Row(f"{self.label}: {question}", str(self.loops), bodies, nu, loops=self.loops)
            row.seconds = {OURS: max(seconds, 1e-9)}
            self.result.rows.append(row)


def measure(result: BenchResult, sizes: Iterable[int], progress: Callable[[str], None]) -> None:
    """Ladders of each size, and chains of ten times as many bodies."""
    result.note("processor seconds, each taken once; 'evaluations' are those of the run, by forward_dynamics alone")
    for n in (SMALLEST, *sizes):
        progress(f"ladder of {n} loops")
        _ladder(Clock(result if n != SMALLEST else None, "ladder", n), n)
        progress(f"chain of {BODIES * n} bodies")
        _chain(Clock(result if n != SMALLEST else None, "chain", 0 if n == SMALLEST else n), BODIES * n)
    for question in dict.fromkeys(row.question for row in result.rows):
        rows = result.asked(question)
        if len(rows) > 1:
            grown = rows[-1].seconds[OURS] / rows[0].seconds[OURS]
            slope = math.log(grown) / math.log(int(rows[-1].label) / int(rows[0].label))
            result.note(f"{question}: slope {slope:.2f}")


def _ladder(clock: Clock, n: int) -> None:
    it = clock("build", lambda: ladder(n, HANGING, SWING))
    clock.system = system = clock("compile", it.model.compile)
    q, u = start(system, it.q, it.u)
    clock("first evaluation", lambda: forward_dynamics(system, q, u))
    clock("assemble", lambda: assemble(system, q + OFF * np.sin(np.arange(system.nq)), u))
    run = clock("simulate 1 s", lambda: simulate(system, 1.0, q=q, u=u))
    times, begun = 20, time.process_time()
    for _ in range(times):
        forward_dynamics(system, q, u)
    clock.take("evaluations", (time.process_time() - begun) / times * int(run.attrs["evaluations"]))


def _chain(clock: Clock, n: int) -> None:
    def build() -> Model:
        model = Model(f"chain of {n} bodies")
        for i in range(n):
            model.body(f"b{i}", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
            on = f"b{i - 1}" if i else "ground"
            model.joint(f"j{i}", "revolute", on, f"b{i}", axis="y", at=(0, 0, -1.0 if i else 0))
        return model

    model = clock("build", build)
    with TemporaryDirectory() as folder:
        file = Path(folder) / "chain.toml"
        clock("save", lambda: save(model, file))
        clock("load", lambda: load(file))
    clock.system = system = clock("compile", model.compile)
    q, u = np.full(system.nq, 0.1), np.zeros(system.nu)
    clock("first evaluation", lambda: forward_dynamics(system, q, u))
