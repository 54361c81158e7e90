"""The state that a study is made about: given as arrays or by joint names, checked, and its freedoms by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ..dynamics.choose import choose
from ..dynamics.evaluate import require_finite, states
from ..errors import ModelError
from ..system.system import System

UNIT_LENGTH = 1e-6  # of a quaternion: what a state may be off before it is taken for a mistake

# (label, turns) of each freedom of a joint kind, as a small displacement
_TURN, _SHIFT = (("rx", True), ("ry", True), ("rz", True)), (("x", False), ("y", False), ("z", False))
FREEDOMS: dict[str, tuple[tuple[str, bool], ...]] = {
    "revolute": (("", True),),
    "prismatic": (("", False),),
    "screw": (("", True),),
    "cylindrical": (("angle", True), ("displacement", False)),
    "universal": (("angle1", True), ("angle2", True)),
    "planar": (("x", False), ("y", False), ("angle", True)),
    "spherical": _TURN,
    "free": _TURN + _SHIFT,
}


def operating_point(system: System, q: Any, u: Any, tau: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, u and tau of one state as new arrays; each may be None (neutral, zero), an array or a dict by joint."""
    choose(system)  # refuses what no algorithm can do, by name
    if system.nu == 0:
        raise ModelError(f"'{system.name}' has no freedoms: there is nothing to study", expected="a joint that moves")
    q = system.q0 if q is None else _by_joint(system, q, system.q0, system.q_index)
    u, tau = (_by_joint(system, x, np.zeros(system.nu), system.u_index) for x in (u, tau))
    arrays = states(system, ("q", q, system.nq), ("u", u, system.nu), ("tau", tau, system.nu))
    if arrays[0].ndim > 1:
        shape = arrays[0].shape
        raise ModelError("a study takes one state", expected=f"q of shape ({system.nq},)", got=f"a batch {shape}")
    require_finite(system, arrays, ("q", "u", "tau"))
    for joint in system.joints:
        if system.model.joints[joint].kind in ("spherical", "free"):
            turn = arrays[0][system.q_index(joint)][-4:]
            length = float(np.linalg.norm(turn))
            if abs(length - 1.0) > UNIT_LENGTH:
                raise ModelError(
                    f"joint '{joint}': the quaternion in q is not unit",
                    expected="[w, x, y, z] of length 1",
                    got=f"{turn.tolist()} of length {length:.9g}",
                )
    q, u, tau = (a.copy() for a in arrays)
    return q, u, tau


def _by_joint(system: System, given: Any, values: np.ndarray, index: Callable[[str], slice]) -> Any:
    if not isinstance(given, Mapping):
        return given
    values = np.array(values)
    for joint, value in given.items():
        rows = index(joint)
        part = np.atleast_1d(np.asarray(value, float))
        if part.shape != (rows.stop - rows.start,):
            raise ModelError(f"joint '{joint}': wrong number of values", expected=rows.stop - rows.start, got=part.size)
        values[rows] = part
    return values


def joint_rows(system: System, joints: Iterable[str], what: str) -> np.ndarray:
    """Rows of u, in order, of the joints named; ``what`` says for whom, in the message."""
    if isinstance(joints, str):
        raise ModelError(f"{what} is not a list of joints", expected=f"['{joints}'], with brackets", got=repr(joints))
    rows: list[int] = []
    for joint in joints:
        index = system.u_index(joint)
        rows += range(index.start, index.stop)
    return np.array(rows, int)


def freedom_names(system: System, letter: str) -> tuple[str, ...]:
    """Names of the freedoms as small displacements ("q"), speeds ("u") or forces ("tau"): ``ball.q.rx``, ``hinge.tau``.

    The freedoms of spherical and free joints are turns rx, ry, rz (speeds w, torques t) and shifts x, y, z
    (speeds v, forces f), along the child's axes.
    """
    names = []
    for joint in system.joints:
        kind = system.model.joints[joint].kind
        for label, turns in FREEDOMS[kind]:
            if kind in ("spherical", "free") and letter != "q":
                first = {"u": "wv", "tau": "tf"}[letter][0 if turns else 1]
                label = first + label[-1]
            names.append(f"{joint}.{letter}" + (f".{label}" if label else ""))
    return tuple(names)


def turning(system: System) -> np.ndarray:
    """(nu) True for the freedoms that turn, False for those that shift."""
    kinds = (system.model.joints[joint].kind for joint in system.joints)
    return np.array([turns for kind in kinds for _, turns in FREEDOMS[kind]], bool)
