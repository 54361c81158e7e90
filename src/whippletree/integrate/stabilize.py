"""How a run stays on its constraints: by going back onto them after each step, by Baumgarte's terms, or not at all.

Paper    [baumgarte1972] Stabilization of constraints and integrals of motion in dynamical systems: the accelerations
         obey g'' + 2 alpha g' + beta^2 g = 0 instead of g'' = 0, so that a gap g dies out.
Symbols  alpha and beta (1/s) as there; alpha = beta is aperiodic, with the time constant 1 / alpha.
"""

from __future__ import annotations

from typing import Any

from ..dynamics.registry import ALGORITHMS, allowing_violation
from ..dynamics.stepping.stabilization import PROJECTION, Stabilization
from ..errors import ModelError
from ..model.check import known, number
from ..system.system import System

NAMES = ("projection", "baumgarte", "none")
RATE = 20.0  # 1/s: a gap dies out within some 0.1 s, and steps of 10 ms still follow


def make_stabilization(system: System, name: str, alpha: Any, beta: Any) -> Stabilization:
    """From what the user gives; refuses what makes no sense together."""
    known(name, NAMES, "stabilization")
    rates = []
    for what, value in (("alpha", alpha), ("beta", beta)):
        if value is not None and name != "baumgarte":
            raise ModelError(
                f"{what} belongs to Baumgarte's stabilization",
                got=f"{what} = {value!r} with stabilization '{name}'",
                hint="add stabilization='baumgarte'",
            )
        x = RATE if value is None else number(value, what)
        if x < 0:
            raise ModelError(f"{what} must not be negative: gaps would grow", expected="a rate >= 0 (1/s)", got=x)
        rates.append(x)
    if name != "projection" and not system.constraints.count:
        raise ModelError(f"'{system.name}' has no loops or constraints to stabilize", got=f"stabilization '{name}'")
    return Stabilization(name, *rates) if name == "baumgarte" else Stabilization(name, 0.0, 0.0)


def require_stable(system: System, how: Stabilization, algorithm: str) -> None:
    """Only multipliers, of whole or divided trees, leave room for gaps: the other algorithms count on closed loops."""
    if how != PROJECTION and not ALGORITHMS[algorithm].allows_violation:
        raise ModelError(
            f"algorithm '{algorithm}' runs with projection only",
            got=f"stabilization '{how.name}'",
            hint="take algorithm=" + " or ".join(f"'{name}'" for name in allowing_violation(system)),
        )
