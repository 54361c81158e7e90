"""Divide and conquer, as the registry takes it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.lanes import LANES
from ...system.system import System
from ..accuracy.limits import BEGUN
from ..accuracy.unevenness import is_graded
from ..algorithm import Algorithm
from ..auto.rates import IN_LANES, ON_THREADS, Cost, Rates, Use
from ..auto.timing import Timed, chain, fastest
from ..auto.tree_operations import Divided, of_divide
from ..two_handle.trust import judged
from . import algorithm as divide
from .memory import without_mass
from .options import LEAVES, NAME, Division
from .stepping import stepper

DIVIDED = 128, 1024  # bodies of the chains that are timed
WHOLE = Division(lanes=False)


def divided_for(system: System, use: Use) -> Divided | None:
    """What it does for this use; cutting a large system takes a while, and is done once."""
    choice, found = division(use), system.workspaces.found
    key = "operations", NAME, choice
    if key not in found:
        found[key] = of_divide(system, choice)
    return found[key]


def division(use: Use) -> Division:
    """How it divides for this: threads share one state, but have states of their own of a batch."""
    return Division(threads=use.threads if use.states is None else 1)


def _operations(system: System, use: Use) -> float | None:
    divided = divided_for(system, use)
    return divided.total if divided else None


def _seconds(system: System, use: Use, rates: Rates, count: float | None) -> float | None:
    divided = divided_for(system, use)
    if divided is None:
        return None
    call, wide, single = rates[NAME]
    one = wide * divided.registers + single * divided.floats
    if use.states is not None:
        return rates[IN_LANES][0] + -(-use.states // use.threads) * (call + one)
    return call + one + (rates[ON_THREADS][0] if use.threads > 1 else 0.0)


def _is_candidate(system: System, use: Use) -> bool:
    divided = divided_for(system, use)
    return divided is not None and divided.blunt and not is_graded(system)


def _calibrate() -> tuple[float, ...]:
    """A call, and operations on registers and on floats."""
    from scipy.optimize import nnls

    short, long = (chain(n).compile() for n in DIVIDED)
    cases = [(short, Division()), (long, Division()), (short, WHOLE), (long, WHOLE)]
    counts = [of_divide(*case) for case in cases]
    times = fastest(*(Timed(s, NAME if choice.lanes else f"{NAME}(lanes=False)") for s, choice in cases))
    table = np.array([(1.0, c.registers, c.floats) for c in counts if c is not None])
    found = nnls(table / np.array(times)[:, None], np.ones(len(times)))[0].tolist()  # least relative errors
    return tuple(found if LANES > 1 else (found[0], found[2], found[2]))


def _waiting() -> tuple[float, ...]:
    """What two threads lose by waiting for each other."""
    system, (call, wide, single) = chain(DIVIDED[1]).compile(), _calibrate()
    count = of_divide(system, Division(threads=2))
    assert count is not None
    alone = call + wide * count.registers + single * count.floats
    return (max(fastest(Timed(system, NAME, threads=2))[0] - alone, 0.0),)


def _quick(system: System, algorithm: str, threads: int | None) -> Any:
    """Of a tree, once a state by it has a certificate."""
    way = algorithm if algorithm.partition("(")[0] in LEAVES else NAME
    waiting, key = divide.waiting_for(system, way, threads), ("loss", way)
    if waiting is None:
        return None
    found = system.workspaces.found

    def quick(q: Any, u: Any, tau: Any, signals: np.ndarray | None = None) -> np.ndarray | None:
        return divide.quick(system, waiting, q, u, tau) if found.get(key, 0.0) > BEGUN else None

    return quick


DIVIDE = Algorithm(
    NAME,
    divide,
    divide.SUPPORTS,
    divide.workspace,
    divide.accelerations,
    lambda system: f"O(n / p + log p): {system.nu} degrees of freedom, subchains side by side on p lanes and threads",
    acronyms=tuple(name for name in LEAVES if name != NAME),
    configured=divide.divided,
    quick=_quick,
    judged=judged,
    certifies_runs=True,
    allows_violation=True,
    stepper=stepper,
    lends_bodies=lambda system: bool(without_mass(system)),
    cost=Cost(
        _operations,
        _seconds,
        {NAME: (2.1e-6, 2.4e-10 * max(1, LANES / 4), 1.66e-10), ON_THREADS: (8.0e-6,)},
        {NAME: _calibrate, ON_THREADS: _waiting},
        is_candidate=_is_candidate,
    ),
)
