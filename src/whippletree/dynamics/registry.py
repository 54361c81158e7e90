"""The algorithms there are: the one place that knows them. A new one is a folder and a line here.

They are asked for what they can do (algorithm.py), never for their names.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..system.system import System
from .algorithm import Algorithm
from .constraints.interface import MULTIPLIERS, NULLSPACE
from .divide.interface import DIVIDE
from .reduction.interface import REDUCTION
from .subchains.interface import SUBCHAINS
from .tree.interface import ARTICULATED, COMPOSITE_BODY

AUTO = "auto"
# ``auto`` considers them in this order
ALGORITHMS: dict[str, Algorithm] = {
    a.name: a for a in (ARTICULATED, COMPOSITE_BODY, REDUCTION, MULTIPLIERS, NULLSPACE, DIVIDE, SUBCHAINS)
}


def aliases() -> dict[str, str]:
    """Acronyms, and the names that they stand for."""
    return {acronym: a.name for a in ALGORITHMS.values() for acronym in a.acronyms}


def find(algorithm: str) -> Algorithm | None:
    """What a name, an acronym, or either with options means; None if nothing."""
    base = algorithm.partition("(")[0]
    found = ALGORITHMS.get(aliases().get(base, base))
    return found if found and (base == algorithm or found.configured) else None


def able_to_solve(system: System) -> list[str]:
    """Algorithms that support all that the system has."""
    return [a.name for a in ALGORITHMS.values() if a.supports(system)]


def _able(system: System) -> Iterator[Algorithm]:
    return (a for a in ALGORITHMS.values() if a.supports(system))


def stepping() -> tuple[str, ...]:
    """Those with a compiled part in runs."""
    return tuple(a.name for a in ALGORITHMS.values() if a.steps)


def projecting() -> Algorithm:
    """The one that projects any state onto the constraints, and solves any without a plan."""
    return next(a for a in ALGORITHMS.values() if a.projects)


def in_lanes(system: System) -> Algorithm | None:
    """The first that steps a block of states in lanes."""
    return next((a for a in _able(system) if a.steps_in_lanes), None)


def with_reactions(system: System) -> Algorithm | None:
    """The first that finds multipliers of constraints in O(n + m)."""
    return next((a for a in _able(system) if a.reactions), None)


def with_corrections(system: System) -> Algorithm | None:
    """The first that solves many right-hand sides in O(n + m) each."""
    return next((a for a in _able(system) if a.corrections and a.reactions), None)


def allowing_violation(system: System) -> list[str]:
    """Those that run while constraints are violated."""
    return [a.name for a in _able(system) if a.allows_violation]
