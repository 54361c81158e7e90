"""The loss to go by of algorithms that cut: what they lose in loops, and by levers, is not measured by their passes."""

from __future__ import annotations

from ...system.system import System
from ..accuracy.fast_motion import BEYOND
from ..accuracy.limits import BEGUN, DENSE


def judged(system: System, loss: float) -> float:
    small = 0 < system.constraints.count <= DENSE - system.nu
    return max(loss, BEYOND if small else BEGUN)
