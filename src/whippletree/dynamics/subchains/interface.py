"""Subchains, as the registry takes them."""

from __future__ import annotations

from typing import Any

from ...system.system import System
from ..algorithm import Algorithm
from ..two_handle.trust import judged
from . import algorithm as subchains
from .options import NAMES


def _configured(system: System, algorithm: str, threads: int | None, one_state: bool) -> tuple[Any, int | None]:
    return subchains.cut_as(algorithm), threads


SUBCHAINS = Algorithm(
    NAMES[0],
    subchains,
    subchains.SUPPORTS,
    subchains.workspace,
    subchains.accelerations,
    lambda system: (
        f"O(n / p + p): {system.nu} degrees of freedom, subchains side by side, then the loads at the joints cut"
    ),
    acronyms=NAMES[1:],
    configured=_configured,
    judged=judged,
    cuts=True,
)
