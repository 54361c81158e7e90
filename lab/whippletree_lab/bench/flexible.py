"""Forward dynamics of chains of flexible bodies: what it takes against modes and bodies, beside the paper's counts.

The error of a row is what the accelerations leave of M udot + b = tau, relative to the sizes of the terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from whippletree.dynamics.auto import flexible_operations as flexible_cost
from whippletree.dynamics.functions import bias_force, forward_dynamics, mass_matrix
from whippletree.errors import ModelError, nearest
from whippletree.modes.modes import FIDELITIES

from .families import span
from .flexible_families import chain, state, strip
from .measure import Call, race, slope, took
from .result import OURS, BenchResult, Row

COMPOSITE, DENSE = f"{OURS} composite", f"{OURS} composite, LAPACK"
PLANNED_MODES = tuple(range(1, 21))
MOST_MODES = 200
GROWTH_MODES = (8, 16, 32, 64)
GROWTH_BODIES, MODES_THERE = (16, 32, 64, 128, 256), 10
MANY = 100  # bodies, of which articulated is held against composite
LONGEST = 0.2  # s: a call that takes longer is timed in LEAST turns
LEAST = 3


def mode_numbers(text: str | Sequence[Any] | None) -> tuple[int, ...]:
    """Numbers of modes from "1:20" (all of them), "1,5,10" or a sequence."""
    parts = PLANNED_MODES if text is None else text.split(",") if isinstance(text, str) else text
    spans = [span(part, MOST_MODES, "numbers of modes", "1:20 (all of them) or 1,5,10") for part in parts]
    return tuple(dict.fromkeys(n for first, last in spans for n in range(first, last + 1)))


def known_fidelity(name: str) -> str:
    if name not in FIDELITIES:
        raise ModelError(f"fidelity '{name}' is not known", hint=nearest(str(name), FIDELITIES))
    return name


def measure(
    result: BenchResult,
    bodies: Iterable[int],
    modes: Sequence[int],
    fidelity: str,
    progress: Callable[[str], None],
) -> None:
    """Figure 2 of the paper for each number of bodies, and growth with modes and bodies."""
    bodies = tuple(bodies)
    result.note(f"{OURS} is articulated; strips are {fidelity}, on hinges; counted: operations of [jain1992] sec. VII")
    result.note("LAPACK: our mass matrix and bias force, and SciPy's Cholesky factors of it")
    asked = [("modes", count, n) for count in bodies for n in modes]
    asked += [("growth with modes", bodies[0], n) for n in GROWTH_MODES]
    asked += [("growth with bodies", count, MODES_THERE) for count in GROWTH_BODIES]
    for question, count, n in (*asked, ("many bodies", MANY, MODES_THERE)):
        growing = question.startswith("growth")
        progress("growth: " * growing + f"{count} bodies with {n} modes")
        result.rows.append(_row(question, count, n, fidelity, result.rounds, others=not growing))
    _say(result)


def _row(question: str, bodies: int, modes: int, fidelity: str, rounds: int, others: bool) -> Row:
    system = chain(bodies, strip(modes, fidelity)).compile()
    q, u, tau = state(system)
    calls = _calls(system, q, u, tau) if others else _calls(system, q, u, tau)[:1]
    row = Row(question, f"{bodies} x {modes}", bodies, system.nu, modes=modes)
    row.operations = {OURS: flexible_cost.articulated([modes] * bodies)}
    if others:
        row.operations[COMPOSITE] = flexible_cost.composite([modes] * bodies)
    balance = Balance(system, q, u, tau)
    row.differences = {c.engine: balance.error(c.value()) for c in calls}
    slow = [c for c in calls if took(c.run) > LONGEST]
    quick = [c for c in calls if c not in slow]
    row.seconds = race(quick, rounds) | {c.engine: min(took(c.run) for _ in range(LEAST)) for c in slow}
    return row


class Balance:
    """M udot + b = tau, and how well accelerations fulfil it."""

    def __init__(self, system: Any, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> None:
        self.M, self.b, self.tau = mass_matrix(system, q), bias_force(system, q, u), tau

    def error(self, udot: np.ndarray) -> float:
        """What is left over, each row relative to the sizes of its terms: rounding makes some 1e-16 of it for each."""
        left = np.abs(self.M @ udot + self.b - self.tau)
        terms = np.abs(self.M) @ np.abs(udot) + np.abs(self.b) + np.abs(self.tau)
        return float((left / terms).max()) if np.isfinite(udot).all() else np.inf


def _calls(system: Any, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> list[Call]:
    from scipy.linalg import cho_factor, cho_solve

    forward = partial(forward_dynamics, system, q, u, tau)
    articulated, composite = (partial(forward, algorithm=name) for name in ("articulated", "composite"))

    def dense() -> np.ndarray:
        M, b = mass_matrix(system, q), bias_force(system, q, u)
        factors = cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        return np.asarray(cho_solve(factors, tau - b, overwrite_b=True, check_finite=False))

    return [Call(e, f, f) for e, f in ((OURS, articulated), (COMPOSITE, composite), (DENSE, dense))]


def _say(result: BenchResult) -> None:
    for along in ("modes", "bodies"):
        result.note_growth(OURS, along, growth(result, f"growth with {along}"))
    for row in (*(r for r in result.asked("modes") if r.modes in (5, 10)), *result.asked("many bodies")):
        counted = row.operations[COMPOSITE] / row.operations[OURS]
        took = ", ".join(f"{e.removeprefix(OURS + ' ')} {row.ratio(e):.3g}x" for e in (COMPOSITE, DENSE))
        result.note(f"composite against articulated, {row.label}: counted {counted:.1f}x; measured {took}")


def growth(result: BenchResult, question: str) -> tuple[float, float, float] | None:
    """First and last number of modes or bodies, and the fitted slope of log time against log of it."""
    rows = [r for r in result.asked(question) if OURS in r.seconds]
    return slope((r.modes if question == "growth with modes" else r.bodies, r.seconds[OURS]) for r in rows)
