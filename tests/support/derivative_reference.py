"""Derivatives without any line of src/whippletree/derivatives: central differences along a curve through a state.

    f'(0) = sum of w_k (f(k h) - f(-k h)) / h,   k = 1 ... 4

of eighth order: its error is h^8 f^(9) / 630, and 2.5 roundings of f over h. With h = 2^-9 and accelerations that are
right to the last digit of a double, as those of ``extended_reference`` in 256 bits are, both are below 1e-12 of f where
f changes over angles of 1 rad; where it changes faster, h has to be smaller. Configurations are displaced by quaternion
products written here: q(s) has the tangent N(q) dq at s = 0, which is all that a derivative needs.
"""

import numpy as np

from whippletree.analysis.chart import Chart

WEIGHTS = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
STEP = 2.0**-9


def product(a, b):
    w = a[0] * b[0] - a[1:] @ b[1:]
    return np.concatenate([[w], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def displaced(system, q, step):
    """q moved by step (nu), spherical and free joints in the child's axes."""
    out = np.empty(system.nq)
    for joint in system.joints:
        rows, d = system.q_index(joint), step[system.u_index(joint)]
        kind = system.joint_kind(joint)
        if kind not in ("spherical", "free"):
            out[rows] = q[rows] + d
            continue
        a, angle = q[rows][-4:], np.linalg.norm(d[:3])
        turn = np.concatenate([[np.cos(angle / 2)], np.sinc(angle / (2 * np.pi)) / 2 * d[:3]])
        out[rows.stop - 4 : rows.stop] = product(a, turn)
        if kind == "free":
            w, v = a[0], a[1:]
            out[rows.start : rows.start + 3] = q[rows][:3] + d[3:] + 2 * np.cross(v, np.cross(v, d[3:]) + w * d[3:])
    return out


def slope(f, step=STEP):
    """f'(0) of f(s)."""
    return sum(w * (f(k * step) - f(-k * step)) for k, w in enumerate(WEIGHTS, 1)) / step


def along(function, system, state, direction, step=STEP):
    """Derivative of function(q, u, x) along a direction (dq, du, dx)."""
    (q, u, x), (dq, du, dx) = state, direction
    return slope(lambda s: function(displaced(system, q, s * dq), u + s * du, x + s * dx), step)


def on_constraints(system, q, u, seed):
    """The chart at a closed state, a direction (z, w), and a curve state(s) that keeps the constraints."""
    chart, rng = Chart(system, q, np.arange(system.nu)), np.random.default_rng(seed)
    z, w = rng.normal(size=chart.rows.size) * chart.units[chart.rows], rng.normal(size=chart.moving.size)

    def state(s):
        here, velocities = chart.displaced(s * z[None])[0], u.copy()
        velocities[chart.moving] += s * w
        return here, chart.velocities(here, velocities)

    return chart, np.concatenate([z, w]), state
