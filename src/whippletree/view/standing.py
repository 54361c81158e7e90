"""Where system bodies stand in the world: compiled where that is loaded, else by NumPy alone.

To load what is compiled takes a window as long as all else until its first picture, so that one is drawn without it
(docs/decisions/0023-viewer.md).
"""

from __future__ import annotations

import sys
from importlib import import_module
from threading import Event, Thread
from typing import NamedTuple

import numpy as np

from ..dynamics.inputs import require_finite, require_unit, states
from ..joints import KINDS
from ..joints.kind import REVERSIBLE, matrices
from ..layout.system import UNIT
from ..modes import Modes
from ..system.system import System

COMPILED = "whippletree.dynamics.kinematics"
MANY = 500  # bodies: NumPy takes them 8 ms, a quarter of a frame

_loading = Event()  # set while kernels are loaded, or compiled, for a window that goes on


class Standing(NamedTuple):
    """Rotations (..., nb, 3, 3) and origins (..., nb, 3), m, of all system bodies in world axes."""

    R: np.ndarray
    o: np.ndarray


def standing(system: System, q: np.ndarray) -> Standing:
    """In configurations q (..., nq)."""
    compiled = getattr(sys.modules.get(COMPILED), "kinematics", None)  # None too while another thread imports it
    if compiled is None or _loading.is_set():
        return stand(system, q)
    k = compiled(system, q)
    return Standing(k._R, k._o)


def quicken(system: System) -> None:
    """Load what is compiled meanwhile, where a frame of so many bodies would take too long without it."""

    def load() -> None:
        try:
            import_module(COMPILED).kinematics(system, system.q0)
        finally:
            _loading.clear()

    if system.nb > MANY and COMPILED not in sys.modules:
        _loading.set()
        Thread(target=load, name="whippletree kinematics", daemon=True).start()


def stand(system: System, q: np.ndarray) -> Standing:
    """The same, in the order of bodies, for all configurations at once; refuses what is no configuration."""
    (q,) = states(system, ("q", q, system.nq))
    require_finite(system, [q], ["q"])
    require_unit(system, q, UNIT)
    arrays, lead = system.arrays, q.shape[:-1]
    position = arrays["position"].tolist()
    R, o = np.zeros((*lead, system.nb, 3, 3)), np.zeros((*lead, system.nb, 3))
    R[..., 0, :, :] = np.eye(3)
    for i, edge in enumerate(system.topology.edges, start=1):
        p, at, kind = int(arrays["parent"][i]), position[i], edge.joint.kind
        turn, place = R[..., p, :, :], o[..., p, :]
        if kind == "node":
            assert edge.modes is not None
            joint, shift = deformed(edge.modes, edge.node, q[..., position[p] : position[p + 1]])
        else:
            place = place + _times(turn, arrays["pt"][i] if p else arrays["base"][arrays["component"][i]])
            turn = turn @ arrays["Rt"][i].reshape(3, 3)
            joint, shift = np.eye(3), np.zeros((*lead, 3))  # of a flexible body, which stands in its carrier
            if kind in KINDS:
                joint, shift = KINDS[kind].pose(q[..., at : position[i + 1]], edge.joint)
            if kind in KINDS and KINDS[kind].group != REVERSIBLE and arrays["sign"][i] < 0.0:
                joint = joint.swapaxes(-1, -2)
                shift = -_times(joint, shift)
        R[..., i, :, :], o[..., i, :] = turn @ joint, place + _times(turn, shift)
    return Standing(R, o)


def deformed(modes: Modes, node: str, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation and position of a node in the frame of its flexible body, with modal coordinates eta (..., nm).

    If the frame is fixed to a node that moves in the frame of the modes, both nodes are placed there first.
    """
    k, field = modes.node(node), modes.field
    if field is None or not field.carried:
        turn, shift = _second_order(k, eta, modes.phi, modes.psi, modes.Q, modes.psi2)
        return turn, modes.r[k] + shift
    own = field.node_phi, field.node_psi, field.node_Q, field.node_psi2
    base = modes.node(modes.inboard)
    turn, shift = _second_order(k, eta, *own)
    turn0, shift0 = _second_order(base, eta, *own)
    back = turn0.swapaxes(-1, -2)
    arm = modes.r[k] - modes.r[base] + shift - shift0
    return back @ turn, modes.r[base] + _times(back, arm)


def _second_order(
    k: int, eta: np.ndarray, phi: np.ndarray, psi: np.ndarray, Q: np.ndarray, psi2: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Cayley rotation and displacement of node k in the frame of the arrays."""
    shift, theta = (
        eta @ first[k].T + 0.5 * np.einsum("iab,...a,...b->...i", second[k], eta, eta)
        for first, second in ((phi, Q), (psi, psi2))
    )
    return matrices(np.concatenate([np.ones_like(theta[..., :1]), 0.5 * theta], axis=-1)), shift


def _times(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (R @ x[..., None])[..., 0]
