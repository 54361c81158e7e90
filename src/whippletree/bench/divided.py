"""One long chain, divided: time and error of the ways to do so, beside the articulated-body sweep on one core.

The questions of Critchley, Anderson and Binani 2007: figure 8 (time against the number of bodies), figure 7 (time of
two threads against the share of the terminal subchain); and accuracy, against accelerations in extended precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from ..dynamics.division import SHARE
from ..model import Model
from . import exact, families, plain_dca
from .measure import Call, difference
from .result import OURS, BenchResult, Row

# way: algorithm, threads, and the longest chain that is asked of it
WAYS: dict[str, tuple[str, int, int]] = {
    "lanes": ("divide", 1, 1_000_000),
    "2 threads": ("divide(lanes=False)", 2, 1_000_000),
    "lanes, 2 threads": ("divide", 2, 1_000_000),
    "dcat": ("dcat(lanes=False)", 1, 4096),
    "dca": ("dca(lanes=False)", 1, 1024),
    "dca in lanes": ("dca", 1, 1024),
}
EXACT_UP_TO = 4096  # bodies
PLAIN = "dca, not pivoted"
TURN, WAKE = 5e-3, 15e-3  # seconds that a way calls in a row, and before it is timed
SHARED = 1024  # bodies of the chain whose terminal share is varied
BALANCED = round(SHARE / (1.0 + SHARE), 3)  # what is taken of two subchains where nothing is asked for
TERMINAL = (0.3, 0.4, 0.5, BALANCED, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)


def measure(result: BenchResult, sizes: Iterable[int], progress: Callable[[str], None]) -> None:
    """Every size in every way, then the terminal share."""
    result.note(f"{OURS} is the articulated-body sweep on one core; all others divide, and take its accelerations")
    result.note("times are of the best single call")
    result.note("errors are relative to the largest acceleration, without joint forces")
    for size in sizes:
        progress(f"chain of {size}: building")
        model = families.chain(size)
        system, q, u, tau = families.one_state(model)
        row = Row("forward", str(size), size, system.nu, threads=2)
        calls = [_call(system, OURS, "articulated", 1, q, u, tau)]
        calls += [_call(system, way, *how[:2], q, u, tau) for way, how in WAYS.items() if size <= how[2]]
        if size <= EXACT_UP_TO:
            progress(f"chain of {size}: exact accelerations")
            _errors(row, model, system, q, u)
        progress(f"chain of {size}: timing")
        row.seconds = best_calls(calls, result.rounds)
        result.rows.append(row)
    _shares(result, progress)


def best_calls(calls: list[Call], rounds: int) -> dict[str, float]:
    """Seconds of the best single call of each way, which take turns.

    A turn of many calls says little where cores are shared: two threads have both of them for a moment only.
    """
    best = {c.engine: inf for c in calls}
    for k in range(rounds):
        first = k % len(calls)
        for c in (*calls[first:], *calls[:first]):
            waking = perf_counter() + WAKE
            while perf_counter() < waking:  # until helpers are awake, and on cores of their own
                c.run()
            spent = 0.0
            while spent < TURN:
                start = perf_counter()
                c.run()
                took = perf_counter() - start
                spent, best[c.engine] = spent + took, min(best[c.engine], took)
    return best


def _call(system: Any, engine: str, algorithm: str, threads: int, *state: np.ndarray) -> Call:
    import whippletree

    # articulated as users call it: not through the path of batches
    how: dict[str, Any] = {} if algorithm == "articulated" else {"threads": threads}
    run = partial(whippletree.forward_dynamics, system, *state, algorithm=algorithm, **how)
    return Call(engine, run, run)


def _errors(row: Row, model: Model, system: Any, q: np.ndarray, u: np.ndarray) -> None:
    (posed, truth), none = exact.of_chain(model, system.joints, q, u), np.zeros(system.nu)
    ways = {OURS: ("articulated", 1)} | {way: how[:2] for way, how in WAYS.items() if row.bodies <= how[2]}
    for way, (algorithm, threads) in ways.items():
        row.differences[way] = difference(_call(system, way, algorithm, threads, q, u, none).value(), truth)
    row.differences[PLAIN] = difference(plain_dca.accelerations(posed), truth)


def _shares(result: BenchResult, progress: Callable[[str], None]) -> None:
    """Two threads without lanes, by the share of the terminal subchain: the paper's figure 7."""
    system, *state = families.one_state(families.chain(SHARED))
    progress(f"chain of {SHARED}: terminal shares")
    forms = {f"terminal {share:.0%}": f"divide(pieces=2, lanes=False, terminal={share})" for share in TERMINAL}
    calls = [_call(system, name, form, 2, *state) for name, form in forms.items()]
    calls.append(_call(system, OURS, "articulated", 1, *state))
    row = Row("share", f"{SHARED}, 2 threads", SHARED, system.nu, threads=2)
    row.seconds = best_calls(calls, result.rounds)
    result.rows.append(row)
    best = min(forms, key=lambda name: row.seconds[name])
    more = row.seconds[f"terminal {BALANCED:.0%}"] / row.seconds[best] - 1.0
    result.note(f"the default terminal share, {BALANCED:.0%}, takes {more:.0%} more than the best of those, {best[9:]}")
