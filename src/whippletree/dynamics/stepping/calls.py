"""The addresses that a compiled loop calls for a stepper."""

from __future__ import annotations

from typing import Any

from ...compiler.function_pointers import MOTION_CALL, address_of
from .closing import accelerated, accelerated_lanes
from .stepper import Stepper


def code_of(stepper: Stepper) -> tuple[int, int, int]:
    """What a Mechanism of one state takes for a stepper."""
    return address_of(accelerated, MOTION_CALL), _address(stepper.solver), closing_code(stepper)


def closing_code(stepper: Stepper) -> int:
    """The address of what closes it, 0 if nothing does."""
    return _address(stepper.closer or 0)


def code_of_lanes(stepper: Stepper) -> tuple[int, int, int]:
    """The same of a Mechanism with one state in each lane."""
    assert stepper.lanes is not None
    solver, closer = stepper.lanes
    return address_of(accelerated_lanes, MOTION_CALL), _address(solver), _address(closer or 0)


def _address(code: Any) -> int:
    """Of what is called by address; a number says it all."""
    return code if isinstance(code, int) else address_of(code)
