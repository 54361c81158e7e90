"""The addresses that a compiled loop calls for a stepper."""

from __future__ import annotations

from ...compiler.function_pointers import MOTION_CALL, address_of
from .closing import accelerated, accelerated_lanes
from .stepper import Stepper


def code_of(stepper: Stepper) -> tuple[int, int, int]:
    """What a Mechanism of one state takes for a stepper."""
    solver = stepper.solver if isinstance(stepper.solver, int) else address_of(stepper.solver)
    return address_of(accelerated, MOTION_CALL), solver, closing_code(stepper)


def closing_code(stepper: Stepper) -> int:
    """The address of what closes it, 0 if nothing does."""
    return address_of(stepper.closer) if stepper.closer else 0


def code_of_lanes() -> tuple[int, int, int]:
    """The same of a Mechanism with one state in each lane, by the articulated sweep."""
    return address_of(accelerated_lanes, MOTION_CALL), 0, 0
