"""What ``explain`` says about algorithms: operations, predicted and measured times, which one is taken and why."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..dynamics.auto import calibrate
from ..dynamics.auto import cost_model as predict
from ..dynamics.auto.choose import ONE, beyond, decide
from ..dynamics.auto.rates import WITH_FORCES
from ..dynamics.auto.timing import best
from ..dynamics.auto.tree_operations import of_kinematics
from ..dynamics.functions import forward_dynamics
from ..dynamics.registry import ALGORITHMS, able_to_solve
from ..errors import WhippletreeError
from ..system.system import System
from .loop_words import found_mobility
from .mobility import Mobility

LONGEST = 2.0  # s: what is predicted to take longer is not measured
SPEND = 0.1  # s for each that is measured


class Line(NamedTuple):
    """One algorithm that supports the system; seconds are of one state, on one thread."""

    algorithm: str
    operations: float | None  # None: not counted
    predicted: float | None
    measured: float | None


def lines(system: System, measure: bool) -> list[Line]:
    """Of every algorithm that supports the system, the first that ``auto`` considers first."""
    able, known = able_to_solve(system), found_mobility(system)
    found = known if isinstance(known, Mobility) else None
    counted = {name: count + of_kinematics(system) for name, count in (found.operations if found else {}).items()}
    rates = calibrate.measured([*able, *[WITH_FORCES] * system.forces.any]) if measure else calibrate.known()
    reported = []
    for name in able:
        count = counted.get(name) or predict.operations(system, name, ONE)
        took = predict.seconds(system, name, ONE, rates, counted)
        reported.append(Line(name, count, took, _measured(system, name, found, took) if measure else None))
    return reported


def _measured(system: System, name: str, found: Mobility | None, predicted: float | None) -> float | None:
    """Seconds of a call at rest, in a closed pose where there are loops."""
    if (predicted or 0.0) > LONGEST or (system.constraints.count and found is None):
        return None
    q, zero = np.array(system.q0 if found is None else found.q), np.zeros(system.nu)
    try:
        return best(lambda: forward_dynamics(system, q, zero, zero, algorithm=name), SPEND)
    except WhippletreeError:  # it cannot solve this pose
        return None


def cannot(system: System) -> dict[str, str]:
    """Algorithms that do not support the system, and what of it."""
    missing = {name: " and ".join(beyond(system, name)) for name in ALGORITHMS}
    return {name: what for name, what in missing.items() if what}


def describe(system: System, measure: bool) -> list[str]:
    """The algorithm that is taken, and a table of all."""
    refused = cannot(system)
    by_reason = {why: [name for name, w in refused.items() if w == why] for why in refused.values()}
    reported = [f"           cannot: {', '.join(names)} ({why})" for why, names in by_reason.items()]
    decision = decide(system)
    rows = lines(system, measure)
    head = f"costs      {'of one state':<14}{'operations':>14}{'predicted':>12}" + f"{'measured':>12}" * measure
    return [
        f"algorithm  {decision.algorithm}: {ALGORITHMS[decision.algorithm].describe(system)}",
        f"           {decision.why}",
        head,
        *(_row(r, measure) for r in rows),
        *reported,
        f"           predicted {_whose(rows)}" + ("; with forces of the model" * system.forces.any),
    ]


def _whose(rows: list[Line]) -> str:
    """Where the rates are from."""
    typical = [r.algorithm for r in rows if not calibrate.is_measured(r.algorithm)]
    if not typical:
        return "from rates of this host"
    some = "" if len(typical) == len(rows) else f" for {', '.join(typical)}"
    return f"from rates of a typical host{some}: --measure measures this one"


def _row(line: Line, measure: bool) -> str:
    count = "not counted" if line.operations is None else f"{line.operations:,.0f}"
    row = f"           {line.algorithm:<14}{count:>14}{_time(line.predicted):>12}"
    return row + f"{_time(line.measured):>12}" * measure


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s"


def as_dict(system: System, measure: bool) -> dict[str, Any]:
    """The same for a program to read, in seconds."""
    table: dict[str, Any] = {}
    for name, operations, predicted, measured in lines(system, measure):
        table[name] = {"able": True, "operations": operations, "predicted": predicted, "measured": measured}
    table |= {name: {"able": False, "reason": why} for name, why in cannot(system).items()}
    if not able_to_solve(system):
        return {"algorithm": None, "why": None, "algorithms": table}
    decision = decide(system)
    return {"algorithm": decision.algorithm, "why": decision.why, "algorithms": table}
