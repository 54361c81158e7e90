"""Compile now what a model will need later."""

from __future__ import annotations

import numpy as np

from ..compiler import notice
from ..dynamics.functions import (
    bias_force,
    forward_dynamics,
    inverse_dynamics,
    mass_matrix,
    mass_matrix_inverse,
    solve_mass,
)
from ..dynamics.kinematics import energy, jacobian, kinematics
from ..system.system import System, require_system
from .assemble import assemble
from .simulate import simulate

SHORT = 1e-4  # s of motion


def warm_up(system: System) -> int:
    """Compile the kernels that calls and runs of a model need, of one state and of batches; returns how many.

    Kernels that are on disk are loaded, and not counted.

    Parameters
    ----------
    system : the compiled model. It must have a consistent state near its neutral one.

    Raises
    ------
    ModelError, SimulationError
        if it cannot be assembled or moved.

    Examples
    --------
    >>> import whippletree as wt
    >>> wt.warm_up(wt.load("models/pendulum.toml").compile())  # doctest: +SKIP
    """
    require_system(system)
    before = notice.compiled()
    state = assemble(system)
    one = state.q, state.u
    for q, u in (one, tuple(np.tile(x, (2, 1)) for x in one)):
        udot = forward_dynamics(system, q, u)
        bias_force(system, q, u)
        if not system.constraints.count:
            inverse_dynamics(system, q, u, udot)
        kinematics(system, q, u)
        jacobian(system, q, system.bodies[-1])
        energy(system, q, u)
        mass_matrix(system, q)
        if np.linalg.matrix_rank(mass_matrix(system, state.q)) == system.nu:
            mass_matrix_inverse(system, q)
            solve_mass(system, q, u)
    simulate(system, until=SHORT, q=state.q, u=state.u)
    return notice.compiled() - before
