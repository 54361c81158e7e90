"""The algorithms of trees, as the registry takes them."""

from __future__ import annotations

from ...system.system import System
from ..algorithm import Algorithm
from ..stepping import mechanism
from ..stepping.stepper import Stepper
from . import articulated, composite
from .cost import COMPOSITE, OF_ARTICULATED, OF_COMPOSITE, RECURSION
from .workspace import work_rows


def _articulated_stepper(system: System, algorithm: str) -> Stepper:
    return Stepper(mechanism.ARTICULATED, None, lambda plan: work_rows(system), lanes=(mechanism.ARTICULATED, None))


def _composite_stepper(system: System, algorithm: str) -> Stepper:
    rows = 22 * system.nb + 2 * system.nu + system.nu**2
    return Stepper(mechanism.COMPOSITE, None, lambda plan: rows)


def _no_quick(system: System, algorithm: str, threads: int | None) -> None:
    """Its quick call is written out in functions.py."""


ARTICULATED = Algorithm(
    RECURSION,
    articulated,
    articulated.SUPPORTS,
    articulated.workspace,
    articulated.accelerations,
    lambda system: f"O(n): {system.nu} degrees of freedom in one inward and one outward pass, no matrix is formed",
    acronyms=("aba",),
    quick=_no_quick,
    quick_loaded=_no_quick,
    measures_loss=True,
    solves_any_pose=True,
    steps_in_lanes=True,
    stepper=_articulated_stepper,
    cost=OF_ARTICULATED,
)
COMPOSITE_BODY = Algorithm(
    COMPOSITE,
    composite,
    composite.SUPPORTS,
    composite.workspace,
    composite.accelerations,
    lambda system: f"O(n d^2): factors the {system.nu} x {system.nu} mass matrix",
    acronyms=("crba",),
    measures_loss=True,
    solves_any_pose=True,
    stepper=_composite_stepper,
    cost=OF_COMPOSITE,
)
