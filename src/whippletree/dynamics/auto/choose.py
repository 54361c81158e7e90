"""Which algorithm a system gets, and why.

``auto`` takes the first of ALGORITHMS that supports the system, unless another is predicted to be clearly faster. It
looks for one only where a system is so large that there can be one, and measures this host (calibrate.py) only where
typical rates promise a gain. A decision is made once for a system and a use of it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compiler.lanes import LANES
from ...errors import ModelError, nearest
from ...model.check import shown
from ...system.system import System
from ..dispatch import thread_count
from ..registry import ALGORITHMS, AUTO, able_to_solve, aliases, find
from . import calibrate
from . import cost_model as predict
from .rates import IN_LANES, LEAST, ON_THREADS, WITH_FORCES, Rates, Use, is_small

PROMISED = 1.25  # times as fast by typical rates, for which kernels are compiled and the host is measured
CLEAR = 1.1  # times as fast on this host, for which another than the first is taken
ONE = Use()


class Decision(NamedTuple):
    """What ``auto`` takes, why, and what was predicted to take how many seconds."""

    algorithm: str
    why: str
    seconds: dict[str, float] = {}  # noqa: RUF012  never changed


def choose(system: System, algorithm: str = AUTO, use: Use = ONE) -> str:
    """The name of the algorithm to run; refuses what it cannot do and says which ones can."""
    require_algorithm_name(algorithm)
    if algorithm == AUTO:
        return decide(system, use).algorithm
    able, found = able_to_solve(system), find(algorithm)
    if found is None:
        raise ModelError(f"algorithm '{algorithm}' is not known", hint=_meant(algorithm))
    if found.name not in able:
        raise _refusal(system, found.name, able)
    return found.name


def require_algorithm_name(algorithm: Any) -> None:
    """Refuse what is no text, before it is looked up."""
    if not isinstance(algorithm, str):
        raise ModelError(
            "algorithm is not a name", expected='"auto" or one of ' + ", ".join(ALGORITHMS), got=shown(algorithm)
        )


def _meant(algorithm: str) -> str:
    """A hint for a name that is not known: the fields' abbreviations, in any case, and misspelt names."""
    plain = algorithm.lower()
    if plain == "rnea":
        return "the recursive Newton-Euler algorithm is inverse dynamics: wt.inverse_dynamics"
    known = aliases()
    if plain in known:
        return f"did you mean '{known[plain]}'?"
    return nearest(plain, (AUTO, *ALGORITHMS, *known)) or "known: auto, " + ", ".join(ALGORITHMS)


def decide(system: System, use: Use = ONE) -> Decision:
    """What ``auto`` takes for this use, found out once."""
    known = system.workspaces.found.get((AUTO, use))
    if known is None:
        known = system.workspaces.found[AUTO, use] = _decide(system, use)
    return known


def use_of(Q: np.ndarray, threads: int | None) -> Use:
    """One state, or so many of a batch as fill the lanes of all threads: more are alike."""
    count = thread_count(threads)
    return Use(None if Q.ndim == 1 else min(len(Q), LANES * count), count)


def _decide(system: System, use: Use) -> Decision:
    able = able_to_solve(system)
    able.sort(key=lambda name: ALGORITHMS[name].comes_last(system))  # it is stable
    fit = [name for name in able if not use.among or name in use.among] or able
    first, others = fit[0], fit[1:]
    if not others:
        return Decision(first, "no other can")
    if is_small(system):
        return _decide_small(system, fit, use)
    typical = _predicted(system, [first, *others], use, predict.TYPICAL)
    if first not in typical:
        return Decision(first, "by rule: its cost grows as the mechanism does")
    rivals = [name for name in others if name in typical and typical[name] * PROMISED < typical[first]]
    if not rivals:
        return Decision(first, f"no other promises to be {PROMISED:g} times as fast", typical)
    found = _predicted(system, [first, *rivals], use, calibrate.measured(_rates(system, first, rivals, use)))
    best = min(found, key=found.__getitem__)
    gain = found[first] / found[best]
    if gain < CLEAR:
        return Decision(first, f"no other is {CLEAR:g} times as fast on this host, as predicted", found)
    return Decision(best, f"predicted to be {gain:.2g} times as fast as {first} on this host", found)


def _decide_small(system: System, fit: list[str], use: Use) -> Decision:
    """The first; or another, where forces of the model make the calls of quick ones slow."""
    first = fit[0]
    if not system.forces.any or use.states is not None or use.among:
        return Decision(first, f"by rule: nothing is faster below {LEAST} bodies and rows of constraints")
    found = _predicted(system, fit, use, calibrate.known())
    best = min(found, key=found.__getitem__)
    if best == first or found[first] < CLEAR * found[best]:
        return Decision(first, f"no other is predicted to be {CLEAR:g} times as fast", found)
    return Decision(best, f"predicted to be {found[first] / found[best]:.2g} times as fast as {first}", found)


def _predicted(system: System, names: list[str], use: Use, rates: Rates) -> dict[str, float]:
    """Seconds of those whose operations are counted, and that solve every pose which the others do."""
    costs = {name: ALGORITHMS[name].cost for name in names}
    fair = [name for name, cost in costs.items() if cost and cost.is_candidate(system, use)]
    found = {name: predict.seconds(system, name, use, rates) for name in fair}
    return {name: took for name, took in found.items() if took is not None}


def _rates(system: System, first: str, rivals: list[str], use: Use) -> list[str]:
    """Names of the rates that a prediction for these takes."""
    more = {IN_LANES: use.states is not None, ON_THREADS: use.threads > 1, WITH_FORCES: system.forces.any}
    return [first, *rivals, *(name for name, needed in more.items() if needed)]


def beyond(system: System, algorithm: str) -> dict[str, list[str]]:
    """What an algorithm does not support of a system, in words, and the names of that."""
    parts = {
        "flexible": ("flexible bodies", system.model.flexibles),
        "loops": ("closed loops", system.cut_joints),
        "loops of nodes": ("loops over two nodes of one body", [joint.name for joint in system.topology.sideways]),
        "couplings": ("joint couplings", system.model.couplings),
        "constraints": ("constraints", system.held),
        "friction": ("friction", system.sliding),
    }
    missing = system.features - ALGORITHMS[algorithm].SUPPORTS
    return {words: list(names) for feature, (words, names) in parts.items() if feature in missing}


def _refusal(system: System, algorithm: str, able: list[str]) -> ModelError:
    has = [f"{words} ({', '.join(map(repr, names[:5]))})" for words, names in beyond(system, algorithm).items()]
    return ModelError(
        f"algorithm '{algorithm}' cannot solve '{system.name}'",
        got=" and ".join(has),
        hint="these can: " + ", ".join(able),
    )
