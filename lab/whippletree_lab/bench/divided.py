"""One long chain, divided: time and error of the ways to do so, beside the articulated-body recursion on one core.

The questions of Critchley, Anderson and Binani 2007: figure 8 (time against the number of bodies), figure 7 (time of
two threads against the share of the terminal subchain); and accuracy, against accelerations in extended precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from whippletree.dynamics.divide.memory import SHARE
from whippletree.dynamics.functions import forward_dynamics

from ..engines import exact
from . import families, plain_dca
from .loop_families import Posed
from .measure import Call, best_calls, difference
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
SHARED = 1024  # bodies of the chain whose terminal share is varied
BALANCED = round(SHARE / (1.0 + SHARE), 3)  # what is taken of two subchains where nothing is asked for
TERMINAL = (0.3, 0.4, 0.5, BALANCED, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9)


class Chain(NamedTuple):
    """A chain at a random state; ``exact``: itself posed, and its accelerations, where it is not too long."""

    system: Any
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    exact: tuple[Posed, np.ndarray] | None


def chains(sizes: Iterable[int], exact_up_to: int, progress: Callable[[str], None]) -> Iterator[Chain]:
    """One of each size. Exact accelerations are without joint forces."""
    for size in sizes:
        progress(f"chain of {size}: building")
        model = families.chain(size)
        system, q, u, tau = families.one_state(model)
        if size <= exact_up_to:
            progress(f"chain of {size}: exact accelerations")
        known = exact.of_chain(model, system.joints, q, u) if size <= exact_up_to else None
        yield Chain(system, q, u, tau, known)


def measure(result: BenchResult, sizes: Iterable[int], progress: Callable[[str], None]) -> None:
    """Every size in every way, then the terminal share."""
    result.note(f"{OURS} is the articulated-body recursion on one core; all others divide, and take its accelerations")
    result.note("times are of the best single call")
    result.note("errors are relative to the largest acceleration, without joint forces")
    for system, q, u, tau, known in chains(sizes, EXACT_UP_TO, progress):
        row = Row("forward", str(system.nu), system.nu, system.nu, threads=2)
        ways = {OURS: ("articulated", 1)} | {way: how[:2] for way, how in WAYS.items() if system.nu <= how[2]}
        if known:
            for way, how in ways.items():
                found = _call(system, way, *how, q, u, np.zeros(system.nu)).value()
                row.differences[way] = difference(found, known[1])
            row.differences[PLAIN] = difference(plain_dca.accelerations(known[0]), known[1])
        progress(f"chain of {system.nu}: timing")
        row.seconds = best_calls([_call(system, way, *how, q, u, tau) for way, how in ways.items()], result.rounds)
        result.rows.append(row)
    _shares(result, progress)


def _call(system: Any, engine: str, algorithm: str, threads: int, *state: np.ndarray) -> Call:
    # articulated as users call it: not through the path of batches
    how: dict[str, Any] = {} if algorithm == "articulated" else {"threads": threads}
    run = partial(forward_dynamics, system, *state, algorithm=algorithm, **how)
    return Call(engine, run, run)


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
