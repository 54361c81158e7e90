"""Agreement first, then time: engines take turns in one run, so that noise hits all alike, and the best turn counts."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat
from math import inf
from time import perf_counter, sleep
from typing import Any

import numpy as np

AGREE = 1e-8  # largest relative difference to ours with which an engine's time counts
TURN = 2e-3  # seconds that one turn of an engine should take, so that the clock's own cost is lost in it
MOST = 100_000  # calls in a turn
REST = 0.02  # seconds before a turn with threads: an OpenMP team goes on spinning on its cores after its own turn
SINGLE, WAKE = 5e-3, 15e-3  # seconds of single calls in a turn, and before them


@dataclass(slots=True)
class Call:
    """One engine's way to answer one question: ``run`` is timed, ``value`` gives the answer in our coordinates."""

    engine: str
    run: Callable[[], Any]
    value: Callable[[], np.ndarray]


def difference(value: np.ndarray, reference: np.ndarray) -> float:
    """Largest difference, relative to the largest entry of the reference; inf where an answer is not finite."""
    if np.shape(value) != np.shape(reference) or not np.isfinite(value).all():
        return inf
    scale = float(np.abs(reference).max(initial=0.0))
    return float(np.abs(value - reference).max(initial=0.0)) / (scale or 1.0)


def slope(points: Iterable[tuple[float, float]]) -> tuple[float, float, float] | None:
    """First and last x, and the fitted slope of log y against log x; None of fewer than two."""
    x, y = np.array(sorted(points)).reshape(-1, 2).T
    return (x[0], x[-1], float(np.polyfit(np.log(x), np.log(y), 1)[0])) if len(set(x)) > 1 else None


def took(run: Callable[[], Any]) -> float:
    """Seconds of one call."""
    return _turn(run, 1)


def race(calls: Sequence[Call], rounds: int, threads: int = 1) -> dict[str, float]:
    """Seconds per call of every engine: the best of ``rounds`` turns, taken in rotation."""
    counts = {c.engine: _calls_in_a_turn(c.run) for c in calls}

    def turn(c: Call) -> float:
        if threads > 1:
            sleep(REST)
        c.run()  # brings its own data back into the caches, which the neighbour has filled, and wakes threads
        return _turn(c.run, counts[c.engine])

    collecting = gc.isenabled()
    gc.disable()
    try:
        return _best(calls, rounds, turn)
    finally:
        if collecting:
            gc.enable()


def best_calls(calls: Sequence[Call], rounds: int) -> dict[str, float]:
    """Seconds of the best single call of each way, which take turns.

    A turn of many calls says little where cores are shared: two threads have both of them for a moment only.
    """

    def turn(c: Call) -> float:
        waking = perf_counter() + WAKE
        while perf_counter() < waking:  # until helpers are awake, and on cores of their own
            c.run()
        spent, least = 0.0, inf
        while spent < SINGLE:
            once = took(c.run)
            spent, least = spent + once, min(least, once)
        return least

    return _best(calls, rounds, turn)


def _best(calls: Sequence[Call], rounds: int, turn: Callable[[Call], float]) -> dict[str, float]:
    """The best turn of each, in rotation."""
    best = {c.engine: inf for c in calls}
    for k in range(rounds):
        first = k % len(calls)  # no call always runs after the same neighbour's caches
        for c in (*calls[first:], *calls[:first]):
            best[c.engine] = min(best[c.engine], turn(c))
    return best


def _turn(run: Callable[[], Any], count: int) -> float:
    start = perf_counter()
    for _ in repeat(None, count):
        run()
    return (perf_counter() - start) / count


def _calls_in_a_turn(run: Callable[[], Any]) -> int:
    """So many that a turn takes TURN; each guess is timed thrice, lest one interruption make turns of one call."""
    run()
    count = 1
    while count < MOST and (spent := min(_turn(run, count) for _ in range(3)) * count) < TURN:
        count = min(MOST, max(2 * count, int(count * TURN / max(spent, 1e-7))))
    return count
