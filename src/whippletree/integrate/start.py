"""The state that a run begins with."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from ..dynamics.accuracy.certificate import Unreliable
from ..dynamics.functions import forward_dynamics
from ..dynamics.inputs import one_state
from ..dynamics.loads.applied import prescribed_motion
from ..errors import warn
from ..system.system import System
from .assemble import consistent_start, locked
from .contacts.friction import free_to_slip


def start_of(system: System, q: Any, u: Any, tau: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, u and constant joint forces as a user passes them; refuses what does not hold its constraints."""
    q_now, u_now, force = one_state(system, q, u, tau, "simulate")
    prescribed_motion(system, 0.0, q_now, u_now)
    partial = u is None or isinstance(u, Mapping)
    consistent_start(free_to_slip(system), q_now, u_now, partial, u if isinstance(u, Mapping) else {})
    if note := locked(free_to_slip(system), q_now):
        warn(note)
    return q_now, u_now, force


def require_consistent_accelerations(system: System, y: np.ndarray, tau: np.ndarray) -> None:
    """Refuse to begin where constraints beside loops contradict each other in the accelerations that they ask for."""
    if system.features & {"constraints", "couplings"} and not system.model.temporaries:
        with suppress(Unreliable):
            forward_dynamics(system, y[: system.nq], y[system.nq : -1], tau, certificate=True)
