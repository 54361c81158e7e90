"""Modes that follow their loads at once, without inertia: K eta = f. A run need not take steps as short as they swing.

Their DOF resist acceleration without end, as those of prescribed motions do; accelerate.py finds where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..dynamics.functions import forward_dynamics, inverse_dynamics
from ..errors import ModelError, SimulationError, nearest
from ..model.check import number
from ..system.system import System

SETTLED = 1e-13  # of the largest coordinate: some roundings
SEEN = 1e-3  # a strain: of modes that are deformed less, it is this that the roundings are compared with
MOST_ROUNDS = 50


def quasi_static_system(system: System, above: float | Mapping[str, float] | None) -> System:
    """The same system, whose modes faster than ``above`` (rad/s; one number, or one for each body by name) follow."""
    if above is None:
        return system
    if not system.flexible:
        raise ModelError(f"'{system.name}' has no flexible body: nothing is quasi-static")
    if system.constraints.count:
        raise ModelError(
            f"quasi_static: '{system.name}' has loops or constraints, whose forces on modes are not known beforehand",
            hint="leave quasi_static out, and take fewer modes",
        )
    bodies = system.flexible.bodies
    each = above if isinstance(above, Mapping) else dict.fromkeys(bodies, above)
    resist = np.array(system.arrays["resist"])
    for name, limit in each.items():
        if name not in bodies:
            raise ModelError(f"quasi_static: there is no flexible body '{name}'", hint=nearest(name, bodies))
        least, modes = number(limit, f"quasi_static of '{name}' (rad/s)", low=0.0), bodies[name].modes
        fast = np.diag(modes.K) > least**2 * np.diag(modes.Mff)
        resist[system.u_index(name)] = np.where(fast, np.inf, 0.0)
    return System(system.model, system.topology, dict(system.arrays) | {"resist": resist}, system._turn, system._shift)


def quasi_static_rows(system: System) -> np.ndarray:
    """Rows of u that are quasi-static modes."""
    endless = np.isinf(system.arrays["resist"])
    if not system.flexible or not endless.any():
        return np.zeros(0, int)
    modal = np.zeros(system.nu, bool)
    for name in system.flexible.bodies:
        modal[system.u_index(name)] = True
    return np.flatnonzero(endless & modal)


def settle(
    system: System, t: np.ndarray, Q: np.ndarray, U: np.ndarray, force: Callable[[], np.ndarray], algorithm: str
) -> None:
    """Puts quasi-static modes, in rows of Q and U, where their loads hold them; ``force()`` are joint forces there."""
    rows = quasi_static_rows(system)
    if not rows.size or not len(t):
        return
    assert system.flexible
    U[:, rows] = 0.0
    for _ in range(MOST_ROUNDS):
        tau = force()
        udot = forward_dynamics(system, Q, U, tau, t=t, algorithm=algorithm)
        left = inverse_dynamics(system, Q, U, udot, t=t) - tau
        most = 0.0
        for name, body in system.flexible.bodies.items():
            first, at = system.u_index(name).start, system.q_index(name).start
            own = rows[(rows >= first) & (rows < system.u_index(name).stop)] - first
            move = np.linalg.solve(body.modes.K[np.ix_(own, own)], left[:, first + own].T).T
            Q[:, at + own] -= move
            size = np.abs(Q[:, at + own]).max(initial=0.0) + SEEN / max(body.modes.strain.max(), SEEN)
            most = max(most, np.abs(move).max(initial=0.0) / size)
        if most <= SETTLED:
            return
        if not np.isfinite(Q).all():
            break
    raise SimulationError(
        f"quasi-static modes of '{system.name}' do not settle under their loads",
        expected="modes that are much faster than the motion",
        got=f"coordinates that change by {most:.2g} of themselves when they are solved for again",
        hint="raise quasi_static, so that fewer modes follow",
    )


def rows_named(system: System) -> dict[str, Any]:
    """For the settings of a run: the rows, if there are any."""
    rows = quasi_static_rows(system)
    return {"quasi_static": rows.tolist()} if rows.size else {}
