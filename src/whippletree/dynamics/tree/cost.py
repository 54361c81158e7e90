"""What recursions over a tree cost; their rates serve other algorithms too, which begin with one."""

from __future__ import annotations

from ...compiler.lanes import LANES
from ...system.system import System
from ..auto.rates import BENDING, IN_LANES, Cost, Rates, Use, in_lanes
from ..auto.timing import FEWER, LENGTHS, of_chains
from ..auto.tree_operations import of_articulated, of_composite

RECURSION, COMPOSITE = "articulated", "composite"  # names of rates, and of algorithms


def swept(system: System) -> str:
    """The rate of the recursion over this system."""
    return BENDING if system.flexible else RECURSION


def _articulated(system: System, use: Use, rates: Rates, count: float | None) -> float:
    call, each = rates[swept(system)]
    return in_lanes(use, rates, RECURSION, call, each * (count or of_articulated(system)))


def _composite(system: System, use: Use, rates: Rates, count: float | None) -> float:
    call, each = rates[COMPOSITE]
    return in_lanes(use, rates, RECURSION, call, each * (count or of_composite(system)))


OF_ARTICULATED = Cost(
    lambda system, use: of_articulated(system),
    _articulated,
    {RECURSION: (1.1e-6, 1.64e-10), IN_LANES: (1.2e-5, 2.2e-10 * max(1, LANES / 4)), BENDING: (1.5e-6, 2.0e-10)},
    {
        RECURSION: lambda: of_chains(RECURSION, LENGTHS, of_articulated),
        IN_LANES: lambda: of_chains(RECURSION, LENGTHS, of_articulated, LANES),
    },
)
OF_COMPOSITE = Cost(
    lambda system, use: of_composite(system),
    _composite,
    {COMPOSITE: (1.0e-5, 6.0e-10)},
    {COMPOSITE: lambda: of_chains(COMPOSITE, FEWER, of_composite)},
)
