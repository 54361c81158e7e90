"""Reduction, as the registry takes it."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ...system.system import System
from ..algorithm import Algorithm
from ..auto.loop_operations import of_reduction
from ..auto.rates import PIVOTED, Cost, Rates, Use, in_lanes, is_small
from ..auto.timing import LOOPS, Timed, fastest, ladder, line
from ..auto.tree_operations import of_articulated, of_kinematics
from ..loads.applied import signals
from ..tree.cost import RECURSION
from . import loaded, passes
from .correction import corrections_of
from .reactions import reactions_of
from .stepping import stepper

NAME = "reduction"


def of_plan(system: System) -> float:
    """What it does with its plan for q = 0; a plan takes a while, and is counted once."""
    found, key = system.workspaces.found, ("operations", NAME)
    if key not in found:
        found[key] = of_kinematics(system) + of_reduction(passes.plan_at(system, system.q0, signals(system, 0.0)))
    return found[key]


def _operations(system: System, use: Use) -> float | None:
    if not system.constraints.count:
        return of_articulated(system)
    return of_plan(system) if system.features & PIVOTED or is_small(system) else None


def _seconds(system: System, use: Use, rates: Rates, count: float | None) -> float | None:
    count = count or _operations(system, use)
    call, each = rates[NAME]
    return None if count is None else in_lanes(use, rates, RECURSION, call, each * count)


def _calibrate() -> tuple[float, float]:
    systems = [ladder(n).compile() for n in LOOPS]
    return line(fastest(*(Timed(s, NAME) for s in systems)), [of_plan(s) for s in systems])


def _describe(system: System) -> str:
    of = "constraints" if system.features & PIVOTED else "loops"
    size = f"{system.nu} degrees of freedom and {system.constraints.count} rows of {of}"
    return f"O(n + m): {size} in one inward and one outward pass"


def _quick(system: System, algorithm: str, threads: int | None) -> Any:
    if threads is not None:
        return None
    waiting: list[Any] = system.workspaces.ready[passes.accelerations]

    def quick(q: Any, u: Any, tau: Any, signals: np.ndarray | None = None) -> np.ndarray | None:
        return passes.quick(system, waiting, q, u, tau, signals)

    return quick


def _quick_loaded(system: System, algorithm: str, threads: int | None) -> Any:
    return partial(loaded.quick, system, system.workspaces.ready[passes.accelerations]) if threads is None else None


REDUCTION = Algorithm(
    NAME,
    passes,
    passes.SUPPORTS,
    passes.workspace,
    passes.accelerations,
    _describe,
    acronyms=("rcr",),
    quick=_quick,
    quick_loaded=_quick_loaded,
    measures_loss=True,
    by_plan=True,
    run_limit=1.0 / passes.POOR,
    certifies_runs=True,
    solves_any_pose=True,
    stepper=stepper,
    steps_in_lanes=True,
    reactions=reactions_of,
    corrections=corrections_of,
    cost=Cost(
        _operations,
        _seconds,
        {NAME: (3.2e-6, 2.6e-10)},
        {NAME: _calibrate},
        lambda system, plan, rank: of_reduction(plan) if plan else None,
    ),
    comes_last=lambda system: bool(system.features & PIVOTED),
)
