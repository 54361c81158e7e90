"""Derivatives by central differences on the manifold, all displaced states in one batch.

Four points, f' = (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h: the error is h^4 f'''''/30 + 1.5 eps f/h, least near
h = eps^(1/5) and then some 1e-12, where two points at eps^(1/3) leave 1e-10. Steps are powers of two, so that
q + h is exact unless it crosses one itself.
"""

from __future__ import annotations

import numpy as np

from ..system.system import System
from .point import rotational

STEP = 2.0**-11  # rad, and of the length of the mechanism
SPEED_STEP = 2.0**-14  # of max(1, |u|): shorter, because friction may bend within millimetres per second
ROUNDING = 1e-11  # of a difference, relative to force / displacement: eps / STEP, and what long sums add to it
FACTORS = np.array([1.0, -1.0, 2.0, -2.0])
WEIGHTS = np.array([8.0, -8.0, -1.0, 1.0]) / 12.0


def reach(system: System) -> float:
    """A length (m) that is natural to the mechanism: its largest link, lever or radius of gyration; 1 if none."""
    arrays = system.arrays
    mass = np.where(arrays["mass"] > 0, arrays["mass"], np.inf)
    gyration = np.sqrt(arrays["inertia"][:, [0, 3, 5]].max(axis=1) / mass)
    levers = np.linalg.norm(np.concatenate([arrays["pt"], arrays["com"]]), axis=1)
    length = max(levers.max(), gyration.max())
    return float(power_of_two(length)) if length > 0 else 1.0


def units(system: System) -> np.ndarray:
    """(nu) A displacement of natural size for each DOF: 1 rad, or the length of the mechanism (m).

    That of a mode turns the node that it moves or turns most by as much.
    """
    if "units" not in system.workspaces.found:
        sizes = _units(system)
        sizes.setflags(write=False)
        system.workspaces.found["units"] = sizes
    known: np.ndarray = system.workspaces.found["units"]
    return known


def _units(system: System) -> np.ndarray:
    sizes = np.where(rotational(system), 1.0, reach(system))
    for body in system.flexible.bodies.values() if system.flexible else ():
        x = body.modes
        moved = np.linalg.norm(x.phi, axis=1).max(axis=0) / reach(system)
        most = np.maximum(moved, np.linalg.norm(x.psi, axis=1).max(axis=0))
        sizes[system.u_index(body.name)] = power_of_two(1.0 / np.where(most > 0, most, 1.0))
    return sizes


def weights(system: System) -> np.ndarray:
    """(nu) The force (N m, N) that the weight of all a DOF carries can put on it, in size."""
    arrays = system.arrays
    carried = np.array(arrays["mass"])
    for i in range(system.nb - 1, 0, -1):
        carried[arrays["parent"][i]] += carried[i]
    force = np.repeat(carried, np.diff(arrays["dof"])) * np.linalg.norm(system.gravity)
    return force * reach(system) / units(system)


def power_of_two(x: np.ndarray | float) -> np.ndarray:
    return np.exp2(np.round(np.log2(x)))


def offsets(steps: np.ndarray) -> np.ndarray:
    """(4 n, n) One displacement for each of the four points and each of n DOF."""
    return (FACTORS[:, None, None] * np.diag(steps)).reshape(-1, steps.size)


def slopes(values: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """(m, n) The derivative of values (4 n, m), taken at :func:`offsets`."""
    return (np.tensordot(WEIGHTS, values.reshape(4, steps.size, -1), axes=1) / steps[:, None]).T


def speed_steps(u: np.ndarray) -> np.ndarray:
    """(n) Steps for velocities."""
    return SPEED_STEP * power_of_two(np.maximum(1.0, np.abs(u)))
