"""Accelerations of a mechanism to the last digits, slowly: all joints are rows, and residuals have extended precision.

Unknown are the angular acceleration and that of the centre of mass of every body, and a multiplier for every row,

    M x - C' lam = h,    C x = gamma

The matrix is factored in doubles, sparse, with REGULAR on the diagonal for redundant rows, and the solution is refined
by residuals in long doubles (64 bits of mantissa on x86) until its changes vanish. It shares nothing with the dynamics
of whippletree, nor with the peers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import bmat, bsr_matrix, coo_matrix, csr_matrix, identity
from scipy.sparse.linalg import splu

from whippletree.errors import SimulationError
from whippletree.model import Joint, Model

from ..bench.loop_families import Posed

REGULAR = 1e-9  # in kg^-1, as C M^-1 C'
ROUNDS = 60  # of refinement
# changes, relative to the largest acceleration, that say it has converged, or has settled if they shrink no more
ENOUGH, SETTLED = 1e-16, 1e-13
Long = np.longdouble
# which of [turning; sliding] along the joint's x, y, z are its DOF; its axis is z
FREE = {"revolute": [2], "prismatic": [5], "spherical": [0, 1, 2]}


class Motion(NamedTuple):
    """A body: rotation, and position, angular and linear velocity of its centre of mass."""

    R: np.ndarray
    p: np.ndarray
    w: np.ndarray
    v: np.ndarray


class Side(NamedTuple):
    """A joint's frame on one of its bodies: rotation, lever from the centre of mass, place and velocity."""

    R: np.ndarray
    lever: np.ndarray
    p: np.ndarray
    v: np.ndarray


def of_chain(model: Model, joints: Sequence[str], q: np.ndarray, u: np.ndarray) -> tuple[Posed, np.ndarray]:
    """Joints of one DOF each at q and u, and udot of them without joint forces."""
    posed = Posed(model, dict(zip(joints, q, strict=True)), dict(zip(joints, u, strict=True)))
    found = accelerations(posed)
    return posed, np.array([found[j][0] for j in joints])


def accelerations(posed: Posed) -> dict[str, Any]:
    """udot of every joint."""
    motions = body_motions(posed)
    rates = relative_rates(posed.model, motions)
    rows = [(joint, J[r], bias[r]) for joint, J, bias in rates for r in range(6) if r not in FREE[joint.kind]]
    C = _sparse(rows, {name: 6 * k for k, name in enumerate(posed.model.bodies)})
    M, h = _mass(posed.model, motions)
    return joint_accelerations(posed.model, rates, _refined(M, C, h, -np.array([bias for *_, bias in rows])))


def relative_rates(model: Model, motions: dict[str, Motion]) -> list[tuple[Joint, np.ndarray, np.ndarray]]:
    """For every joint, J and bias of :func:`_relative`."""
    return [(joint, *_relative(joint, model, motions)) for joint in model.joints.values()]


def joint_accelerations(model: Model, rates: list[Any], x: np.ndarray) -> dict[str, Any]:
    """udot of every joint from x, [angular; of the centre of mass] of every body in the order of the model."""
    each = dict(zip(model.bodies, x.reshape(-1, 6), strict=True)) | {"ground": np.zeros(6)}
    return {
        joint.name: (J @ np.concatenate([each[joint.parent], each[joint.child]]) + bias)[FREE[joint.kind]].astype(float)
        for joint, J, bias in rates
    }


def _refined(M: csr_matrix, C: csr_matrix, h: np.ndarray, gamma: np.ndarray) -> np.ndarray:
    n, m = M.shape[0], C.shape[0]
    factor = splu(bmat([[M, -C.T], [C, REGULAR * identity(m)]], format="csc").astype(float))
    x, lam = np.zeros(n, Long), np.zeros(m, Long)
    last = np.inf
    for _ in range(ROUNDS):
        left = np.concatenate([h - M @ x + C.T @ lam, gamma - C @ x])
        step = factor.solve(left.astype(float))
        x, lam = x + step[:n], lam + step[n:]
        change = float(np.abs(step[:n]).max() / np.abs(x).max())
        if change < ENOUGH or (last / 2.0 < change < SETTLED):
            return x
        if change > 2.0 * last:
            break
        last = change
    raise SimulationError("the exact accelerations were not found", got=f"changes of {change:.0e} at last")


def _sparse(rows: list[Any], order: dict[str, int]) -> csr_matrix:
    values: list[np.ndarray] = []
    at: list[int] = []
    to: list[int] = []
    for r, (joint, J, _) in enumerate(rows):
        for k, body in enumerate((joint.parent, joint.child)):
            if body in order:
                values.append(J[6 * k : 6 * k + 6])
                at += [r] * 6
                to += range(order[body], order[body] + 6)
    return coo_matrix((np.concatenate(values), (at, to)), shape=(len(rows), 6 * len(order))).tocsr()


def _mass(model: Model, motions: dict[str, Motion]) -> tuple[csr_matrix, np.ndarray]:
    blocks, h, gravity = [], [], np.array(model.gravity, Long)
    for body in model.bodies.values():
        m = motions[body.name]
        I = m.R @ np.array(body.inertia, Long) @ m.R.T
        block = np.zeros((6, 6), Long)
        block[:3, :3], block[3:, 3:] = I, body.mass * np.eye(3, dtype=Long)
        blocks.append(block)
        h += [-_cross(m.w, I @ m.w), body.mass * gravity]
    n = len(blocks)
    return bsr_matrix((np.array(blocks), np.arange(n), np.arange(n + 1))).tocsr(), np.concatenate(h)


# ---------------------------------------------------------------- joints


def _relative(joint: Joint, model: Model, motions: dict[str, Motion]) -> tuple[np.ndarray, np.ndarray]:
    """Rate of [turning; sliding] of the child seen from the parent, as J [x parent; x child] + bias.

    In the parent's joint axes; those of a spherical joint in the child's, as its velocities are.
    """
    a, b = motions[joint.parent], motions[joint.child]
    A, B = side_of(joint, joint.parent, model, motions), side_of(joint, joint.child, model, motions)
    turning, d = b.w - a.w, B.p - A.p
    sliding = B.v - A.v - _cross(a.w, d)
    frame = B.R if joint.kind == "spherical" else A.R
    spin = b.w if joint.kind == "spherical" else a.w
    J = np.zeros((6, 12), Long)
    J[:3, 0:3], J[:3, 6:9] = -frame.T, frame.T
    J[3:, 3:6], J[3:, 9:12] = -A.R.T, A.R.T
    J[3:, 0:3] = A.R.T @ (skew(A.lever) + skew(d))  # - alpha x (lever + d)
    J[3:, 6:9] = -A.R.T @ skew(B.lever)
    turned = -frame.T @ _cross(spin, turning)
    whirl = _cross(b.w, _cross(b.w, B.lever)) - _cross(a.w, _cross(a.w, A.lever))
    slid = whirl - _cross(a.w, _cross(a.w, d)) - 2 * _cross(a.w, sliding)
    return J, np.concatenate([turned, A.R.T @ slid])


def side_of(joint: Joint, body: str, model: Model, motions: dict[str, Motion]) -> Side:
    """On one of the joint's bodies."""
    pose, m = joint.at if body == joint.parent else joint.child_at, motions[body]
    com = np.array(model.bodies[body].com, Long) if body in model.bodies else np.zeros(3, Long)
    lever = m.R @ (np.array(pose.position, Long) - com)
    return Side(m.R @ _rotation(pose.quaternion) @ _aligned(joint), lever, m.p + lever, m.v + _cross(m.w, lever))


def body_motions(posed: Posed) -> dict[str, Motion]:
    """Outward from ground, each body by the first joint that reaches it."""
    zero = np.zeros(3, Long)
    model, found = posed.model, {"ground": Motion(np.eye(3, dtype=Long), zero, zero, zero)}
    outward: dict[str, list[Joint]] = {}
    for joint in model.joints.values():
        outward.setdefault(joint.parent, []).append(joint)
    waiting = ["ground"]
    while waiting:
        for joint in outward.get(waiting.pop(), []):
            if joint.child not in found:
                found[joint.child] = _moved(joint, posed, found)
                waiting.append(joint.child)
    return found


def _moved(joint: Joint, posed: Posed, motions: dict[str, Motion]) -> Motion:
    A, a = side_of(joint, joint.parent, posed.model, motions), motions[joint.parent]
    q, u = np.array(posed.q[joint.name], Long), np.array(posed.u[joint.name], Long)
    z = A.R[:, 2]
    turn, slide, w, v = np.eye(3, dtype=Long), np.zeros(3, Long), np.zeros(3, Long), np.zeros(3, Long)
    if joint.kind == "revolute":
        c, s = np.cos(q), np.sin(q)
        turn, w = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], Long), u * z
    elif joint.kind == "spherical":
        turn = _rotation(q)
        w = A.R @ turn @ u
    else:
        slide, v = q * z, u * z
    pose, com = joint.child_at, np.array(posed.model.bodies[joint.child].com, Long)
    R = A.R @ turn @ (_rotation(pose.quaternion) @ _aligned(joint)).T
    p = A.p + slide
    spin = a.w + w
    to_com = R @ (com - np.array(pose.position, Long))
    return Motion(R, p + to_com, spin, A.v + _cross(a.w, slide) + v + _cross(spin, to_com))


def _aligned(joint: Joint) -> np.ndarray:
    """Axes whose third is the joint's."""
    if joint.kind == "spherical":
        return np.eye(3, dtype=Long)
    z = np.array(joint.axis, Long)
    z = z / np.sqrt(z @ z)
    x = _cross(np.eye(3, dtype=Long)[int(np.argmin(np.abs(z)))], z)
    x = x / np.sqrt(x @ x)
    return np.column_stack([x, _cross(z, x), z])


def _rotation(quaternion: Any) -> np.ndarray:
    q = np.array(quaternion, Long)
    w, p = q[0], q[1:]
    return ((w * w - p @ p) * np.eye(3, dtype=Long) + 2 * w * skew(p) + 2 * np.outer(p, p)) / (q @ q)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a x b; np.cross takes ten times as long for one pair."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def skew(a: np.ndarray) -> np.ndarray:
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]], Long)
