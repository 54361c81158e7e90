"""The state that a study is made about: given as arrays or by joint names, checked, and its DOF by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ..dynamics.inputs import one_state
from ..dynamics.loads.applied import prescribed_motion
from ..errors import ModelError
from ..joints import QUATERNIONS
from ..result.columns import joint_quantity
from ..system.system import System

# what turns and shifts along the axes of a child are called before x, y, z: displacements, velocities, forces
LETTERS = {"q": ("r", ""), "u": ("w", "v"), "tau": ("t", "f")}


def operating_point(system: System, q: Any, u: Any, tau: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, u and tau of one state as new arrays; each may be None (neutral, zero), an array or a dict by joint.

    Where a motion is prescribed, q and u are those of t = 0.
    """
    if system.nu == 0:
        raise ModelError(
            f"'{system.name}' has no degrees of freedom: there is nothing to study", expected="a joint that moves"
        )
    Q, U, T = one_state(system, q, u, tau, "a study")
    prescribed_motion(system, 0.0, Q, U)
    return Q, U, T


def free_rows(system: System, fixed: Iterable[str]) -> np.ndarray:
    """Rows of u that may move: neither of the joints named in ``fixed`` nor of a prescribed motion."""
    held = np.concatenate([joint_rows(system, fixed, "fixed"), np.array(list(system.forces.motions), int)])
    return np.setdiff1d(np.arange(system.nu), held)


def joint_rows(system: System, joints: Iterable[str], what: str) -> np.ndarray:
    """Rows of u, in order, of the joints named; ``what`` says for whom, in the message."""
    if isinstance(joints, str):
        raise ModelError(f"{what} is not a list of joints", expected=f"['{joints}'], with brackets", got=repr(joints))
    rows: list[int] = []
    for joint in joints:
        index = system.u_index(joint)
        rows += range(index.start, index.stop)
    return np.array(rows, int)


def joints_of(system: System, rows: Iterable[int]) -> str:
    """The joints that rows of u belong to, in words."""
    bodies = np.searchsorted(system.arrays["dof"], np.array(list(rows), int), side="right") - 1
    return ", ".join(f"'{system.carriers[i - 1]}'" for i in np.unique(bodies))


def dofs_of(system: System, joint: str, letter: str = "q") -> list[tuple[str, bool]]:
    """(label, turns) of each DOF of a joint; modes of a flexible body are numbered."""
    velocities = joint_quantity(system, joint, "u")
    found = [(label, unit == "rad/s") for label, unit in zip(velocities.labels, velocities.units, strict=True)]
    if system.joint_kind(joint) in QUATERNIONS:
        return [(LETTERS[letter][0 if turns else 1] + label[-1], turns) for label, turns in found]
    return found


def dof_names(system: System, letter: str) -> tuple[str, ...]:
    """Names of the DOF as small displacements ("q"), velocities ("u") or forces ("tau"): ``ball.q.rx``, ``hinge.tau``.

    The DOF of spherical and free joints are turns rx, ry, rz (velocities w, torques t) and shifts x, y, z
    (velocities v, forces f), along the child's axes.
    """
    found = system.workspaces.found
    if ("dof", letter) not in found:
        dofs = ((joint, label) for joint in system.joints for label, _ in dofs_of(system, joint, letter))
        names = tuple(f"{joint}.{letter}" + (f".{label}" if label else "") for joint, label in dofs)
        found["dof", letter] = names
    known: tuple[str, ...] = found["dof", letter]
    return known


def rotational(system: System) -> np.ndarray:
    """(nu) True for the DOF that turn, False for those that shift."""
    return np.array([turns for joint in system.joints for _, turns in dofs_of(system, joint)], bool)
