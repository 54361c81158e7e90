"""Real time: steps per second without a clock, free and latched, and how late steps are with one and a window open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any

from whippletree.errors import ModelError
from whippletree.files import load
from whippletree.realtime.live import live
from whippletree.realtime.stepper import Stepper
from whippletree.realtime.warm import warm
from whippletree.system.system import System
from whippletree.view.export import find_browser, window

from .measure import took
from .result import OURS, BenchResult, Row

MODEL = Path("models/space_manipulator.toml")
DRIFT = {"drift": (0.0, 0.0, 0.01, -0.06, 0.0, 0.0)}  # the satellite comes to the hand after 3.7 s
RATE = 1000.0  # steps for a second of motion
FREE, HELD = 3000, 5000  # steps: before the latch, and those after it that are left out
LATCHED = 8000  # steps until the arm begins to fold
METHODS = ("rk4", "euler")


def measure(result: BenchResult, seconds: Iterable[int], progress: Callable[[str], None]) -> None:
    """Without a clock by each method, then so many seconds with it."""
    system = manipulator()
    result.note("free and latched: time of a step without a clock, conditions of temporary constraints watched")
    result.note(
        "paced: share of steps that were done before the next was due, with a window open in this process's care"
    )
    for method in METHODS:
        progress(f"{system.name} by {method}")
        for question, taken in _unpaced(system, method, result.rounds).items():
            result.rows.append(Row(question, method, system.nb - 1, system.nu, seconds={OURS: taken}))
    result.paced = {}
    for length in seconds:
        progress(f"{length} s at {RATE:g} steps per second")
        result.paced[str(length)] = _paced(system, length)


def manipulator() -> System:
    """The arm in space that is watched."""
    if not MODEL.exists():
        raise ModelError(f"'{MODEL}' is not here", hint="call it in a clone of the project")
    return load(MODEL).compile()


def _unpaced(system: System, method: str, rounds: int) -> dict[str, float]:
    """Seconds of a step while the satellite drifts, and while the hand holds it; the best of some rounds."""
    stepper = Stepper(system, None, DRIFT, 1.0 / RATE, method)
    warm(stepper)
    best = {"free": float("inf"), "latched": float("inf")}
    for _ in range(min(rounds, 5)):
        stepper.reset()
        for question, skipped, steps in (("free", 0, FREE), ("latched", HELD - FREE, LATCHED - HELD)):
            stepper.advance(skipped)
            best[question] = min(best[question], took(partial(stepper.advance, steps)) / steps)
    return best


def _paced(system: System, length: int) -> dict[str, Any]:
    """Statistics of a run with a window, which a browser looks at where there is one."""
    with ExitStack() as open_windows:
        seen = []

        def ready(about: dict[str, Any]) -> None:
            with suppress(ModelError):
                browser = find_browser()
                open_windows.enter_context(window(browser, about["url"], (640, 480)))
                seen.append(Path(browser).name)

        run = live(system, u=DRIFT, rate=RATE, until=float(length), viewer=True, ready=ready)
    return run.statistics | {"browser": seen[0] if seen else "none"}
