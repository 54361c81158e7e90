"""States at random in which a system may be: all over its joints, closed where it has loops."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from ..dynamics.loads import given_motion
from ..errors import ModelError
from ..integrate.assemble import assemble
from ..integrate.motion import advance
from ..system.system import System

FAR = (1.0, 0.3, 0.1, 0.03)  # rad or m, from where the loops close, until they close again
DEFORMED = 1e-3  # modes: about a thousandth, so that bodies stay what they are
ARM = 2.0  # rad or m, along each joint of a tree


def random_states(system: System, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """q (count, nq) and u (count, nu); the first is the neutral one, or the nearest that closes, at rest."""
    start = assemble(system)
    Q, U = np.empty((count, system.nq)), np.empty((count, system.nu))
    Q[0], U[0] = start.q, start.u
    size = np.full(system.nu, ARM)
    for name in system.model.flexibles:
        size[system.u_index(name)] = DEFORMED
    for n in range(1, count):
        Q[n], U[n] = _state(system, start.q, size, rng)
    return Q, U


def _state(system: System, q: np.ndarray, size: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    turn, speed = size * rng.normal(size=system.nu), size * rng.normal(size=system.nu)
    if not system.constraints.count:
        there = advance(system, q, turn)
        given_motion(system, 0.0, there, speed)
        return there, speed
    for far in FAR:
        with suppress(ModelError):
            found = assemble(system, advance(system, q, far / ARM * turn), speed)
            return found.q, found.u
    found = assemble(system, q, speed)
    return found.q, found.u
