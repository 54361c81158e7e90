"""The step of an algorithm without a compiled one: the loop calls back, and Python calls ``accelerations``.

This is the default for ``stepper`` of an :class:`~whippletree.dynamics.algorithm.Algorithm`. Every algorithm runs by
it, at the price of a Python call for each evaluation. States go back onto the constraints as the algorithm that
``projects`` does it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...errors import SimulationError
from ...kernels.kinematics import kinematics_rows
from ...layout.system import MODAL_MOTION
from ...system.system import System
from ..constraints.jacobian import rows_at
from ..constraints.nullspace import rank_tolerance, shortest
from ..dispatch import evaluate
from ..loads.applied import signals
from ..registry import find, projecting
from ..tree.newton_euler import torques
from ..tree.newton_euler import workspace as torque_workspace
from .samples import LOSS, TIME, WANTED
from .stepper import Stepper

_numbers, _count = ctypes.POINTER(ctypes.c_double), ctypes.c_int64
_SOLVER = ctypes.CFUNCTYPE(
    ctypes.c_double, _numbers, _count, _numbers, _count, ctypes.c_double, _numbers, _count, _numbers, _count, _numbers
)


def stepper_of(system: System, algorithm: str) -> Stepper:
    """How an algorithm, with its options, steps in a run of a System."""
    found = find(algorithm)
    assert found is not None
    if found.stepper:
        return found.stepper(system, algorithm)
    calls = Calls(system, algorithm)
    by: Any = projecting()
    back: Stepper = by.stepper(system, by.name)
    held = system.constraints.count > 0
    return Stepper(
        calls.address, back.closer if held else None, back.work, mark=back.mark, at_work=calls.at_work, kept=calls
    )


class Places:
    """Where the buffer of a Mechanism holds what a solver takes: as ``open_parts`` of mechanism.py lays it out."""

    def __init__(self, system: System) -> None:
        _, _, _, driven, acting, _ = system.forces.packed[:6].view(np.int64)
        bodies = 6 * system.nb * bool(driven + acting)
        motions = bool(driven or system.packed[MODAL_MOTION : MODAL_MOTION + 1].view(np.int64)[0])
        self.driven = bool(driven)
        first = kinematics_rows(system)
        self.tau = slice(first, first + system.nu)
        self.forces = slice(first, first + system.nu + bodies)  # wrenches lie behind
        spare = self.forces.stop + 1 + 3 * system.forces.signals
        self.health = spare + 24 + (12 * system.nb + system.nu) * motions
        self.sample = self.health + 1


class Calls:
    """A solver that compiled code may call at ``address`` for as long as this is held, within ``at_work``."""

    def __init__(self, system: System, algorithm: str) -> None:
        found: Any = find(algorithm)
        self.system, self.places, self.takes_time = system, Places(system), found.handles_loops
        solver, _ = found.configured(system, algorithm, None, True) if found.configured else (found, None)
        self.memory, self.accelerations = solver.workspace(system, 1), solver.accelerations
        self.error: BaseException | None = None
        self._held = _SOLVER(self._called)
        self.address = int(ctypes.cast(self._held, ctypes.c_void_p).value or 0)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """What the algorithm raises within a compiled loop is raised behind it: an interrupt, or an error in it.

        A state that it cannot solve ends the run as with every algorithm, at its time.
        """
        yield
        error, self.error = self.error, None
        if error is not None and not isinstance(error, SimulationError):
            raise error

    def _called(
        self, memory: Any, size: int, buffer: Any, room: int, t: float, q: Any, nq: int, u: Any, nu: int, udot: Any
    ) -> float:
        out = np.ctypeslib.as_array(udot, (nu,))
        try:
            rows = np.ctypeslib.as_array(buffer, (room,))
            return self._solve(
                rows, t, np.ctypeslib.as_array(q, (nq,)).copy(), np.ctypeslib.as_array(u, (nu,)).copy(), out
            )
        except BaseException as error:  # an interrupt too must not be lost in compiled code
            self.error = error
            out[:] = np.nan
            return np.nan

    def _solve(self, rows: np.ndarray, t: float, q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> float:
        system, places = self.system, self.places
        now, forces, found = signals(system, t), rows[places.forces].copy(), np.zeros(system.nu)
        inputs = [q, u, forces, now] if self.takes_time else [q, u, forces]
        loss = self.accelerations(self.memory, *inputs, found, 0, 1)
        udot[:] = found
        rows[places.health] = 1.0
        if rows[places.sample + LOSS] < 0.0:
            rows[places.sample + LOSS], rows[places.sample + TIME] = loss, WANTED
        if not (system.constraints.count and system.forces.signals):
            return 0.0
        return self._hold(rows, q, u, now, forces, found)

    def _hold(
        self, rows: np.ndarray, q: np.ndarray, u: np.ndarray, now: np.ndarray, forces: np.ndarray, udot: np.ndarray
    ) -> float:
        """Constraints that move by functions of time: their power, and their forces beside those of motions."""
        system = self.system
        motion = np.concatenate([udot, forces[system.nu :]])
        needed = evaluate(torques, torque_workspace, system, [q, u, motion], system.nu)
        rest = np.delete(needed - forces[: system.nu], list(system.forces.motions))
        equations = rows_at(system, q, u, now)
        free = np.delete(equations.C, list(system.forces.motions), axis=1)
        lam = shortest(free, rest[:, None], rank_tolerance(system, equations))[0][:, 0]
        if self.places.driven:
            rows[self.places.tau] += equations.C.T @ lam
        return float(lam @ equations.prescribed)
