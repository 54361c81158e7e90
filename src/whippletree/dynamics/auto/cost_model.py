"""How long an algorithm takes for one evaluation: its operations, counted, times what one takes on this host.

A rate is measured with the algorithm itself (calibrate.py): seconds of a call that does nothing, and of an operation.
Those of TYPICAL are of an AMD EPYC with four lanes, and serve where nothing has been measured yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...compiler.lanes import LANES
from ...system.system import System
from ..divide.options import Division
from ..loads.applied import signals
from ..reduction.passes import plan_at
from .loop_operations import of_multipliers, of_nullspace, of_reduction, of_tree
from .tree_operations import Divided, of_articulated, of_composite, of_divide, of_kinematics

# multipliers pivot anew in every state, plans do not: with these reduction is taken only where it is clearly faster
PIVOTED = {"couplings", "constraints", "loops of nodes"}
LEAST = 64  # bodies and rows of constraints, below which nothing is faster than the first that can
Rates = Mapping[str, tuple[float, ...]]

IN_LANES, ON_THREADS, BENDING = "articulated in lanes", "divide on threads", "articulated, flexible"
WITH_FORCES = "forces of the model"
QUICK = ("articulated", "reduction", "divide")  # one state of a model without forces goes straight into their kernels
# seconds of a call, and of an operation; of divide on registers and on floats; on threads, of waiting for each other;
# what forces of the model add to a call that is quick without them, and to any other
TYPICAL: Rates = {
    "articulated": (1.1e-6, 1.64e-10),
    IN_LANES: (1.2e-5, 2.2e-10 * max(1, LANES / 4)),
    BENDING: (1.5e-6, 2.0e-10),
    "composite": (1.0e-5, 6.0e-10),
    "reduction": (3.2e-6, 2.6e-10),
    "multipliers": (1.9e-5, 5.5e-11),
    "nullspace": (2.4e-4, 1.8e-10),
    "divide": (2.1e-6, 2.4e-10 * max(1, LANES / 4), 1.66e-10),
    ON_THREADS: (8.0e-6,),
    WITH_FORCES: (1.0e-6, 1.2e-5),
}


class Use(NamedTuple):
    """What accelerations are wanted for."""

    states: int | None = None  # of a batch; None is one state by itself
    threads: int = 1
    among: tuple[str, ...] = ()  # algorithms that can serve it; empty for all


def operations(system: System, algorithm: str, use: Use) -> float | None:
    """Additions and multiplications of one state; None where they are not counted."""
    if algorithm == "divide":
        divided = divided_for(system, use)
        return divided.total if divided else None
    if algorithm == "composite":
        return of_composite(system)
    if algorithm in ("multipliers", "nullspace"):
        return of_articulated(system) + constraint_operations(system, algorithm)
    if algorithm == "articulated" or (algorithm == "reduction" and not system.constraints.count):
        return of_articulated(system)
    if algorithm == "reduction" and (system.features & PIVOTED or is_small(system)):
        return of_plan(system)
    return None


def is_small(system: System) -> bool:
    """Whether no algorithm is faster than the first that can, as long as calls take as long."""
    return system.nb - 1 + system.constraints.count < LEAST


def of_plan(system: System) -> float:
    """What ``reduction`` does with its plan for q = 0; a plan takes a while, and is counted once."""
    known = system.found.get("operations of reduction")
    if known is None:
        known = of_kinematics(system) + of_reduction(plan_at(system, system.q0, signals(system, 0.0)))
        system.found["operations of reduction"] = known
    return known


def constraint_operations(system: System, algorithm: str) -> float:
    """What rows of constraints add to a sweep over the tree."""
    return (of_multipliers if algorithm == "multipliers" else of_nullspace)(system) - of_tree(system)


def divided_for(system: System, use: Use) -> Divided | None:
    """What ``divide`` does for this use; cutting a large system takes a while, and is done once."""
    choice = division(use)
    key = "operations of divide", choice
    if key not in system.found:
        system.found[key] = of_divide(system, choice)
    return system.found[key]


def division(use: Use) -> Division:
    """How ``divide`` divides for this: threads share one state, but have states of their own of a batch."""
    return Division(threads=use.threads if use.states is None else 1)


def seconds(
    system: System, algorithm: str, use: Use, rates: Rates, counted: Mapping[str, float] | None = None
) -> float | None:
    """Of one call; None where operations are not counted. ``counted`` gives those that are known already."""
    alone = _without_forces(system, algorithm, use, rates, counted or {})
    if alone is None or not system.forces.any or use.among:  # inside a run, forces take their operations only
        return alone
    quick, other = rates[WITH_FORCES]
    return alone + (quick if use.states is None and algorithm in QUICK else other)


def _without_forces(
    system: System, algorithm: str, use: Use, rates: Rates, counted: Mapping[str, float]
) -> float | None:
    if algorithm == "divide":
        return _divided(system, use, rates)
    count = counted.get(algorithm) or operations(system, algorithm, use)
    if count is None:
        return None
    swept = BENDING if system.flexible else "articulated"
    call, each = rates[swept if algorithm == "articulated" else algorithm]
    if algorithm in ("multipliers", "nullspace"):  # rows have a rate of their own, behind a sweep over the tree
        sweep = of_articulated(system)
        one = rates[swept][1] * sweep + each * (count - sweep)
    else:
        one = each * count
    if use.states is None:
        return call + one
    if algorithm in ("articulated", "composite", "reduction"):
        blocks, (start, wide) = -(-use.states // LANES), rates[IN_LANES]
        slower = wide / rates["articulated"][1] if LANES > 1 else 1.0  # an operation on a register
        return start + -(-blocks // use.threads) * slower * one
    return call + -(-use.states // use.threads) * one


def _divided(system: System, use: Use, rates: Rates) -> float | None:
    divided = divided_for(system, use)
    if divided is None:
        return None
    call, wide, single = rates["divide"]
    one = wide * divided.registers + single * divided.floats
    if use.states is not None:
        return rates[IN_LANES][0] + -(-use.states // use.threads) * (call + one)
    return call + one + (rates[ON_THREADS][0] if use.threads > 1 else 0.0)
