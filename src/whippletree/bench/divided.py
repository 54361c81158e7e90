"""One long chain, divided: time and error of the ways to do so, beside the articulated-body sweep on one core.

The questions of Critchley, Anderson and Binani 2007: figure 8 (time against the number of bodies), figure 7 (time of
two threads against the share of the terminal subchain); and accuracy, against accelerations in extended precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from ..model import Model
from . import exact, families, plain_dca
from .loop_families import Posed
from .measure import Call, difference, race
from .result import OURS, BenchResult, Row

# way: algorithm, threads, and the longest chain that is asked of it
WAYS: dict[str, tuple[str, int, int]] = {
    "lanes": ("divide", 1, 1_000_000),
    "2 threads": ("divide(lanes=False)", 2, 1_000_000),
    "lanes, 2 threads": ("divide", 2, 1_000_000),
    "dcat": ("dcat(lanes=False)", 1, 4096),
    "dca": ("dca(lanes=False)", 1, 4096),
    "dca in lanes": ("dca", 1, 4096),
}
EXACT_UP_TO = 4096  # bodies
PLAIN = "dca, not pivoted"
SHARED = 1024  # bodies of the chain whose terminal share is varied
TERMINAL = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)
HEAD = ["bodies", "way", "microseconds", "times as fast", "error", "/ articulated"]


def measure(result: BenchResult, sizes: Iterable[int], progress: Callable[[str], None]) -> None:
    """Every size in every way, then the terminal share."""
    result.note(f"{OURS} is the articulated-body sweep on one core; all others divide, and take its accelerations")
    result.note("errors are relative to the largest acceleration, without joint forces")
    for size in sizes:
        progress(f"chain of {size}: building")
        model = families.chain(size)
        system = model.compile()
        q, u, tau, _ = (x[0] for x in families.states(model, system, 1))
        row = Row("forward", str(size), size, system.nu, threads=2)
        calls = [_call(system, OURS, "articulated", 1, q, u, tau)]
        calls += [_call(system, way, *how[:2], q, u, tau) for way, how in WAYS.items() if size <= how[2]]
        if size <= EXACT_UP_TO:
            progress(f"chain of {size}: exact accelerations")
            _errors(row, model, system, q, u)
        progress(f"chain of {size}: timing")
        row.seconds = race(calls, result.rounds, 2)
        result.rows.append(row)
    _shares(result, progress)


def _call(system: Any, engine: str, algorithm: str, threads: int, *state: np.ndarray) -> Call:
    import whippletree

    run = partial(whippletree.forward_dynamics, system, *state, algorithm=algorithm, threads=threads)
    if algorithm == "articulated":  # as users call it: not through the path of batches
        run = partial(whippletree.forward_dynamics, system, *state)
    return Call(engine, run, run)


def _errors(row: Row, model: Model, system: Any, q: np.ndarray, u: np.ndarray) -> None:
    posed = Posed(model, dict(zip(system.joints, q, strict=True)), dict(zip(system.joints, u, strict=True)))
    found = exact.accelerations(posed)
    truth, none = np.array([found[j][0] for j in system.joints]), np.zeros(system.nu)
    ways = {OURS: ("articulated", 1)} | {way: how[:2] for way, how in WAYS.items() if row.bodies <= how[2]}
    for way, (algorithm, threads) in ways.items():
        row.differences[way] = difference(_call(system, way, algorithm, threads, q, u, none).value(), truth)
    row.differences[PLAIN] = difference(plain_dca.accelerations(posed), truth)


def _shares(result: BenchResult, progress: Callable[[str], None]) -> None:
    """Two threads without lanes, by the share of the terminal subchain: the paper's figure 7."""
    model = families.chain(SHARED)
    system = model.compile()
    state = [x[0] for x in families.states(model, system, 1)[:3]]
    progress(f"chain of {SHARED}: terminal shares")
    forms = {f"terminal {share:.0%}": f"divide(pieces=2, lanes=False, terminal={share})" for share in TERMINAL}
    calls = [_call(system, name, form, 2, *state) for name, form in forms.items()]
    calls.append(_call(system, OURS, "articulated", 1, *state))
    row = Row("share", f"{SHARED}, 2 threads", SHARED, system.nu, threads=2)
    row.seconds = race(calls, result.rounds, 2)
    result.rows.append(row)


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    found = []
    for r in result.rows:
        for way in dict.fromkeys([*r.seconds, *r.differences]):
            seconds, error, ratio = r.seconds.get(way), r.differences.get(way), r.ratio(way)
            usual = r.differences.get(OURS)
            found.append(
                [
                    r.label,
                    f"{OURS} articulated" if way == OURS else way,
                    "-" if seconds is None else digits(seconds * 1e6),
                    "-" if ratio is None else f"{1.0 / ratio:.2f}x",
                    "-" if error is None else f"{error:.0e}",
                    "-" if error is None or not usual else digits(error / usual),
                ]
            )
    return HEAD, found
