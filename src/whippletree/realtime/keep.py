"""A Result from the rows of a live run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dynamics.functions import forward_dynamics
from ..result.records import Change
from ..result.result import Result
from ..result.spans import parts
from ..system.system import System


def result_of(system: System, rows: tuple[np.ndarray, ...], attrs: dict[str, Any]) -> Result:
    """Rows t, q, u, work and udot; accelerations of rows before anyone steered follow from the model alone."""
    t, q, u, work, udot = rows
    if np.isnan(udot).all():
        return Result(system, t, q, u, work, attrs=attrs)
    udot, plain = udot.copy(), np.isnan(udot).any(axis=1)
    for n, part in parts(system, t, tuple(Change.parse(attrs["changes"], system.model))):
        own = np.flatnonzero(plain[n]) + n.start
        if own.size:
            udot[own] = forward_dynamics(part, q[own], u[own], t=t[own])
    return Result(system, t, q, u, work, udot=udot, attrs=attrs)
