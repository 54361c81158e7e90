"""What the motion of a flexible body takes of force and torque in all, for the loads of joints: arrays over states."""

from __future__ import annotations

import numpy as np

from ...system.flexible import FlexibleBody
from ...system.system import System
from ..kinematics import Kinematics


def force_needed(
    system: System, k: Kinematics, body: FlexibleBody, a: np.ndarray, q: np.ndarray, udot: np.ndarray
) -> np.ndarray:
    """(…, 6) The rate of its momentum, less gravity, about the point of its component; ``a`` is that of its frame."""
    f, x = body.body, body.modes
    eta, rate = q[..., system.q_index(body.name)], udot[..., system.u_index(body.name)]
    assert system.flexible is not None
    at, n = system.flexible.column[f], x.count
    R, v = k._R[..., f, :, :], k._v[..., f, :]
    w, turn = v[..., :3], a[..., :3]
    if x.field is None:
        h, J = x.h0 + 0.0 * eta[..., :1], x.J0 + 0.0 * eta[..., :1, None]
        if x.fidelity != "ruthless":
            h = h + eta @ x.h1.T
            J = J + np.einsum("aij,...a->...ij", x.J1, eta) + 0.5 * np.einsum("abij,...a,...b->...ij", x.J2, eta, eta)
        h, J = (R @ h[..., None])[..., 0], R @ J @ np.swapaxes(R, -1, -2)
        o = k._near[..., f, :]
    else:  # as the kernels have them, about the point of the component
        held = at + 7 * n + 6 + n * n
        h, six = k._modal[..., held : held + 3], k._modal[..., held + 3 : held + 9]
        J, o = six[..., [0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(*six.shape[:-1], 3, 3), np.zeros(3)
    speed = v[..., 3:] + np.cross(w, o)
    shift = a[..., 3:] + np.cross(turn, o) + np.cross(w, speed)  # the ordinary acceleration of the origin
    F = x.mass * shift + np.cross(turn, h) + np.cross(w, np.cross(w, h))
    T = (J @ turn[..., None])[..., 0] + np.cross(w, (J @ w[..., None])[..., 0]) + np.cross(h, shift)
    columns = k._modal[..., at : at + 6 * n].reshape(*eta.shape, 6)
    bias = at + 6 * (n + body.interface) + n
    more = k._modal[..., bias : bias + 6] + np.einsum("...ai,...a->...i", columns, rate)
    return np.concatenate([T + np.cross(o, F), F], axis=-1) + more
