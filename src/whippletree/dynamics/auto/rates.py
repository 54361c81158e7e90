"""What a cost is made of: operations, counted, times seconds of one on a host."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...compiler.lanes import LANES
from ...system.system import System

# multipliers pivot anew in every state, plans do not: with these a plan is taken only where it is clearly faster
PIVOTED = {"couplings", "constraints", "loops of nodes"}
LEAST = 64  # bodies and rows of constraints, below which nothing is faster than the first that can
Rates = Mapping[str, tuple[float, ...]]

IN_LANES, ON_THREADS, BENDING = "recursion in lanes", "division on threads", "recursion, flexible"
WITH_FORCES = "forces of the model"


class Use(NamedTuple):
    """What accelerations are wanted for."""

    states: int | None = None  # of a batch; None is one state by itself
    threads: int = 1
    among: tuple[str, ...] = ()  # algorithms that can serve it; empty for all


def is_small(system: System) -> bool:
    """Whether no algorithm is faster than the first that can, as long as calls take as long."""
    return system.nb - 1 + system.constraints.count < LEAST


def _always(system: System, use: Use) -> bool:
    return True


@dataclass(frozen=True)
class Cost:
    """How long an algorithm takes, for ``auto`` and ``explain``.

    Attributes
    ----------
    operations : additions and multiplications of one state, ``(system, use)``; None where they are not counted.
    seconds : of one call without forces of the model, ``(system, use, rates, count)``; ``count`` is None or those
        operations, where they are known already. None where they are not counted.
    typical : its rates on a typical host, by name: seconds of a call and of an operation.
    calibrations : what measures those rates on this host, by name.
    at_rank : operations at a pose whose plan and rank are known, ``(system, plan, rank)``; None without a plan.
    is_candidate : whether ``auto`` may take it for ``(system, use)``: it solves every pose that others do.
    """

    operations: Callable[[System, Use], float | None]
    seconds: Callable[[System, Use, Rates, float | None], float | None]
    typical: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    calibrations: Mapping[str, Callable[[], tuple[float, ...]]] = field(default_factory=dict)
    at_rank: Callable[[System, Any, int], int | None] | None = None
    is_candidate: Callable[[System, Use], bool] = _always


def one_by_one(use: Use, call: float, one: float) -> float:
    """Seconds of a call whose states are solved one by one, on threads."""
    return call + one * (1 if use.states is None else -(-use.states // use.threads))


def in_lanes(use: Use, rates: Rates, recursion: str, call: float, one: float) -> float:
    """Seconds of a call whose states are solved in lanes, on threads; ``recursion`` names the rate of the recursion."""
    if use.states is None:
        return call + one
    blocks, (start, wide) = -(-use.states // LANES), rates[IN_LANES]
    slower = wide / rates[recursion][1] if LANES > 1 else 1.0  # an operation on a register
    return start + -(-blocks // use.threads) * slower * one
