"""What ``auto`` takes, beside the best that could be taken: every algorithm that solves a case, timed in turn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ..dynamics import calibrate, predict, reduction
from ..dynamics.choose import able_to_solve, decide
from ..dynamics.loads import signals
from ..dynamics.operations import of_reduction
from ..dynamics.predict import Use
from ..dynamics.tree_operations import of_kinematics
from ..kernels.lanes import LANES
from .choice_cases import Case, cases
from .measure import difference
from .result import BenchResult, Row

AUTO = "auto"
WITHIN = 1.15  # of the best: what a choice may cost
TURN = 2e-3  # seconds of calls in a turn, of which the fastest counts
HOPELESS = 8.0  # times as long as the best, predicted: is not timed


def measure(result: BenchResult, sizes: tuple[int, ...], progress: Callable[[str], None]) -> None:
    """Every case, by every algorithm that may be the best, and by auto."""
    result.note("seconds are of the best single public call, without forces of the model, on one thread")
    result.note(f"an algorithm that is predicted to take {HOPELESS:g} times as long as the best is not timed")
    for case in cases(sizes):
        progress(f"{case.family} {case.label}")
        result.rows.append(timed(case, result.rounds))
    result.note(summary(result))


def timed(case: Case, rounds: int) -> Row:
    """One case."""
    import whippletree

    system, one = case.system, case.q.ndim == 1
    use = Use() if one else Use(min(len(case.q), LANES))
    row = Row(case.family, case.label, system.model.size, system.nu, states=1 if one else len(case.q))
    row.loops, row.taken = len(system.cut_joints), decide(system, use).algorithm
    predicted = _predicted(case, use)
    shortest = min(predicted.values())
    names = [n for n in able_to_solve(system) if predicted.get(n, shortest) <= HOPELESS * shortest or n == row.taken]
    forward = partial(whippletree.forward_dynamics, system, case.q, case.u, case.tau)
    runs = {name: partial(forward, algorithm=name) for name in (*names, AUTO)}
    reference = runs[names[0]]()
    row.differences = {name: difference(run(), reference) for name, run in runs.items()}
    for _ in range(rounds):  # in turn, so that what else runs here hits all alike
        for name, run in runs.items():
            row.seconds[name] = min(row.seconds.get(name, inf), calibrate.best(run, TURN))
    row.predicted = predicted
    if not one:
        row.seconds = {name: took / row.states for name, took in row.seconds.items()}
        row.predicted = {name: took / min(row.states, LANES) for name, took in predicted.items()}
    return row


def _predicted(case: Case, use: Use) -> dict[str, float]:
    system, counted = case.system, {}
    if system.constraints.count:
        plan = reduction.plan_at(system, np.atleast_2d(case.q)[0], signals(system, 0.0))
        counted["reduction"] = float(of_reduction(plan) + of_kinematics(system))
    rates = calibrate.measured(able_to_solve(system))
    found = {n: predict.seconds(system, n, use, rates, counted) for n in able_to_solve(system)}
    return {name: took for name, took in found.items() if took is not None}


def ratio(row: Row) -> float:
    """Time of auto over that of the best. By name it is the same call, so the better of both readings counts."""
    return min(row.seconds[AUTO], row.seconds[row.taken]) / min(row.seconds.values())


def summary(result: BenchResult) -> str:
    """In how many cases auto comes near the best."""
    rows: list[Any] = result.rows
    near = sum(ratio(r) <= WITHIN for r in rows)
    worst = max(rows, key=ratio)
    return (
        f"auto is within {WITHIN - 1:.0%} of the best in {near} of {len(rows)} cases ({near / len(rows):.0%}); "
        f"at worst {ratio(worst):.2f} times, for {worst.question} {worst.label}"
    )
