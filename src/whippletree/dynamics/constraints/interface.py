"""The algorithms that take constraint equations all together, as the registry takes them."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...system.system import System
from ..algorithm import Algorithm
from ..auto.loop_operations import of_multipliers, of_nullspace, of_tree
from ..auto.rates import Cost, Rates, Use, one_by_one
from ..auto.timing import LOOPS, Timed, fastest, ladder, line
from ..auto.tree_operations import of_articulated
from ..tree.cost import OF_ARTICULATED, RECURSION, swept
from . import multipliers, nullspace
from .stepping import stepper

MULTIPLIERS_NAME, NULLSPACE_NAME = "multipliers", "nullspace"
COUNTS = {MULTIPLIERS_NAME: of_multipliers, NULLSPACE_NAME: of_nullspace}


def constraint_operations(system: System, name: str) -> float:
    """What rows of constraints add to a recursion over the tree."""
    return COUNTS[name](system) - of_tree(system)


def _operations(name: str, system: System, use: Use) -> float:
    return of_articulated(system) + constraint_operations(system, name)


def _seconds(name: str, system: System, use: Use, rates: Rates, count: float | None) -> float:
    """Rows have a rate of their own, behind a recursion over the tree."""
    call, each = rates[name]
    recursion = of_articulated(system)
    rows = (count or _operations(name, system, use)) - recursion
    return one_by_one(use, call, rates[swept(system)][1] * recursion + each * rows)


def _calibrate(name: str) -> tuple[float, float]:
    """Behind a recursion over the tree, which takes as long as alone."""
    _, recursion = OF_ARTICULATED.calibrations[RECURSION]()
    systems = [ladder(n).compile() for n in LOOPS]
    times = fastest(*(Timed(s, name) for s in systems))
    behind = [t - recursion * of_articulated(s) for t, s in zip(times, systems, strict=True)]
    return line(behind, [constraint_operations(s, name) for s in systems])


def _cost(name: str, typical: tuple[float, float]) -> Cost:
    return Cost(
        partial(_operations, name),
        partial(_seconds, name),
        {name: typical},
        {name: partial(_calibrate, name)},
        lambda system, plan, rank: COUNTS[name](system, rank),
    )


def _rows(system: System) -> str:
    return f"{system.nu} degrees of freedom, {system.constraints.count} rows of constraints"


MULTIPLIERS = Algorithm(
    MULTIPLIERS_NAME,
    multipliers,
    multipliers.SUPPORTS,
    multipliers.workspace,
    multipliers.accelerations,
    lambda system: f"O(n + n m^2 + m^3): {_rows(system)} by undetermined multipliers",
    measures_loss=True,
    solves_any_pose=True,
    allows_violation=True,
    projects=True,
    stepper=stepper,
    cost=_cost(MULTIPLIERS_NAME, (1.9e-5, 5.5e-11)),
)
NULLSPACE = Algorithm(
    NULLSPACE_NAME,
    nullspace,
    nullspace.SUPPORTS,
    nullspace.workspace,
    nullspace.accelerations,
    lambda system: f"O(n^3): {_rows(system)}, motions in their null space",
    judged=lambda system, loss: np.inf,  # orthonormal bases mix light and heavy coordinates
    solves_any_pose=True,
    cost=_cost(NULLSPACE_NAME, (2.4e-4, 1.8e-10)),
)
