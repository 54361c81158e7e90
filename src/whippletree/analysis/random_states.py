"""States at random in which a system may be: all over its joints, closed where it has loops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

from ..dynamics.accuracy.conditioning import singular
from ..errors import ModelError
from ..integrate.assemble import assemble
from ..integrate.motion import advance
from ..modes import Modes
from ..system.system import System

FAR = (1.0, 0.3, 0.1, 0.03)  # rad or m, from where the loops close, until they close again
NEARER = 100.0  # times as near to a singular pose as the start: too near
SMALL = 2e-5  # strain, turn (rad) and displacement (of the body's size) by each mode: bodies stay what they are
ARM = 2.0  # rad or m, along each joint of a tree


def random_states(
    system: System, count: int, rng: np.random.Generator, tell: Callable[[float], None] = lambda share: None
) -> tuple[np.ndarray, np.ndarray]:
    """q (count, nq) and u (count, nu); the first is the neutral one, or the nearest that closes, at rest."""
    start = assemble(system)
    Q, U = np.empty((count, system.nq)), np.empty((count, system.nu))
    Q[0], U[0] = start.q, start.u
    for n in range(1, count):
        Q[n], U[n] = _state(system, start.q, rng)
        tell(n / count)
    return Q, U


def _state(system: System, q: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Joints first, as if all were rigid: flexible bodies would bend to close a loop that is far from closed.

    Poses from afar may also come to lie where a mechanism branches: then nearer ones are tried.
    """
    modes = np.zeros(system.nu)
    for name, flexible in system.model.flexibles.items():
        modes[system.u_index(name)] = _small(flexible.modes)
    turn, speed = rng.normal(size=(2, system.nu))
    bend, bending = modes * turn, modes * speed
    turn, speed = np.where(modes, 0.0, turn), np.where(modes, 0.0, ARM * speed)
    for far in FAR if system.constraints.count else (ARM,):
        with suppress(ModelError):
            rigid = assemble(system, advance(system, q, far * turn), speed)
            stiff = _strain(system, rigid.q) <= _strain(system, q) + SMALL
            if stiff and singular(system, rigid.q, rigid.u) < NEARER * singular(system, q, rigid.u):
                break
    else:
        rigid = assemble(system, q, speed)
    deformed = assemble(system, advance(system, rigid.q, bend), rigid.u + bending)
    return deformed.q, deformed.u


def _strain(system: System, q: np.ndarray) -> float:
    """The largest of all flexible bodies."""
    bodies = system.model.flexibles.items()
    return max((float(x.modes.largest_strain(q[system.q_index(name)])) for name, x in bodies), default=0.0)


def _small(modes: Modes) -> np.ndarray:
    """eta (nm) of a small deformation by each mode, whatever the modes are scaled to."""
    moved = np.abs(modes.phi).max(axis=(0, 1)) / max(np.ptp(modes.r, axis=0).max(), 1e-300)
    turned = np.abs(modes.psi).max(axis=(0, 1))
    return SMALL / np.maximum.reduce([moved, turned, modes.strain, np.full(modes.count, SMALL)])
