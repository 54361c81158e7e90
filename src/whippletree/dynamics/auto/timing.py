"""Small systems, and calls of them that are timed: what calibrations of algorithms are made of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ...joints import HINGE
from ...model import Model
from ...system.system import System

ROUNDS, SPEND = 25, 0.004  # turns of each call that is timed, and seconds of a turn
LENGTHS, FEWER = (32, 512), (16, 96)  # bodies of the chains that are timed; where the cost is not linear
LOOPS = 4, 24  # of the ladders


def chain(bodies: int) -> Model:
    """Boxes in a row, hinged about x, y and z in turn."""
    model = Model(f"chain of {bodies}")
    for k in range(bodies):
        model.body(f"b{k}", mass=1.0, com=(0.05, 0.02, 0.1), inertia=(4e-3, 5e-3, 3e-3))
        at = (0.02, 0.0, 0.2) if k else (0.0, 0.0, 0.0)
        model.joint(f"j{k}", HINGE, f"b{k - 1}" if k else "ground", f"b{k}", axis="xyz"[k % 3], at=at)
    return model


def ladder(loops: int) -> Model:
    """Upright cranks side by side, with couplers between their tips: closed at q = 0."""
    model = Model(f"ladder of {loops}")
    bar: dict[str, Any] = {"mass": 1.0, "inertia": (0.08, 0.08, 0.08)}
    for k in range(loops + 1):
        model.body(f"crank{k}", com=(0.0, 0.5, 0.0), **bar)
        if k:
            model.body(f"coupler{k}", com=(0.5, 0.0, 0.0), **bar)
            model.joint(f"left{k}", HINGE, f"crank{k - 1}", f"coupler{k}", axis="z", at=(0, 1, 0))
            ends: dict[str, Any] = {"at": (1, 0, 0), "child_at": (0, 1, 0)}
            model.joint(f"right{k}", HINGE, f"coupler{k}", f"crank{k}", axis="z", **ends)
        model.joint(f"foot{k}", HINGE, "ground", f"crank{k}", axis="z", at=(k, 0, 0))
    return model


class Timed(NamedTuple):
    """A call that is timed."""

    system: System
    algorithm: str
    states: int | None = None
    threads: int | None = None

    def call(self) -> Callable[[], Any]:
        from ..functions import forward_dynamics

        lead, s = () if self.states is None else (self.states,), self.system
        q, zero = np.broadcast_to(s.q0, (*lead, s.nq)).copy(), np.zeros((*lead, s.nu))
        return partial(forward_dynamics, s, q, zero, zero, algorithm=self.algorithm, threads=self.threads)


def fastest(*timed: Timed) -> list[float]:
    """Seconds of the fastest call of each. They take turns, so that what else runs here hits all alike."""
    calls = [t.call() for t in timed]
    found = [inf] * len(calls)
    for _ in range(ROUNDS):
        found = [min(least, best(call, SPEND)) for least, call in zip(found, calls, strict=True)]
    return found


def best(call: Callable[[], Any], spend: float) -> float:
    """Seconds of the fastest of so many calls as ``spend`` seconds hold, and at least three after the first."""
    call()
    least, calls, until = inf, 0, perf_counter() + spend
    while calls < 3 or perf_counter() < until:
        start = perf_counter()
        call()
        least, calls = min(least, perf_counter() - start), calls + 1
    return least


def line(times: list[float], counts: list[float]) -> tuple[float, float]:
    """Seconds of a call and of an operation, from a small and a large system."""
    (quick, slow), (few, many) = times, counts
    each = max(slow - quick, 0.0) / (many - few)
    return max(quick - each * few, 0.0), each


def of_chains(
    algorithm: str, sizes: tuple[int, int], count: Callable[[System], float], states: int | None = None
) -> tuple[float, float]:
    """Seconds of a call and of an operation, by chains of two lengths."""
    systems = [chain(n).compile() for n in sizes]
    return line(fastest(*(Timed(s, algorithm, states) for s in systems)), [count(s) for s in systems])
