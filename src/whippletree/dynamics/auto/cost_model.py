"""How long an algorithm takes for one evaluation: its operations, counted, times what one takes on this host.

A rate is measured with the algorithm itself (calibrate.py): seconds of a call that does nothing, and of an operation.
Those of TYPICAL are of an AMD EPYC with four lanes, and serve where nothing has been measured yet.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...system.system import System
from ..registry import ALGORITHMS
from ..tree.cost import RECURSION
from .rates import WITH_FORCES, Rates, Use
from .tree_operations import of_kinematics

# what forces of the model add to a call that is quick without them, and to any other
TYPICAL: Rates = {WITH_FORCES: (1.0e-6, 1.2e-5)} | {
    name: rate for a in ALGORITHMS.values() if a.cost for name, rate in a.cost.typical.items()
}


def operations(system: System, algorithm: str, use: Use) -> float | None:
    """Additions and multiplications of one state; None where they are not counted."""
    cost = ALGORITHMS[algorithm].cost
    return cost.operations(system, use) if cost else None


def seconds(
    system: System, algorithm: str, use: Use, rates: Rates, counted: Mapping[str, float] | None = None
) -> float | None:
    """Of one call; None where operations are not counted. ``counted`` gives those that are known already."""
    it = ALGORITHMS[algorithm]
    alone = it.cost.seconds(system, use, rates, (counted or {}).get(algorithm)) if it.cost else None
    if alone is None or not system.forces.any or use.among:  # inside a run, forces take their operations only
        return alone
    quick, other = rates[WITH_FORCES]
    if use.states is None and it.quick_loaded:
        return alone + quick
    before = (
        rates[RECURSION][1] * of_kinematics(system) * (use.states or 1)
    )  # forces are evaluated in a pass of their own
    return alone + other + before
