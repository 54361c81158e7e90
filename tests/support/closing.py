"""Trees with joints that close loops added at the current pose, so that every loop is closed by construction."""

import numpy as np

import whippletree as wt
from whippletree.model import Model, Pose
from zoo import random_axes, random_joint_q, random_pose, random_state


def quaternion(R):
    """[w, x, y, z] of a rotation matrix, by the eigenvector that belongs to 1."""
    K = np.array(
        [
            [R[0, 0] + R[1, 1] + R[2, 2], R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0]],
            [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], R[1, 2] + R[2, 1]],
            [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1]],
        ]
    )
    return np.linalg.eigh(K)[1][:, -1]


def joint_motion(kind, axes, q):
    """Rotation and displacement of a joint at q, by a model of that joint alone."""
    model = Model("one joint")
    model.body("child", mass=1.0, inertia=(1, 1, 1))
    model.joint("joint", kind, "ground", "child", **axes)
    system = model.compile()
    k = wt.kinematics(system, q if kind != "fixed" else np.zeros(0))
    return k.rotation("child"), k.position("child")


def pose_of(k, name):
    return (np.eye(3), np.zeros(3)) if name == "ground" else (k.rotation(name), k.position(name))


def close(model, q, name, kind, parent, child, rng):
    """Join two bodies of a tree by a random joint of this kind that fits the pose q; returns its own coordinates."""
    k, axes, at = wt.kinematics(model.compile(), q), random_axes(kind, rng), random_pose(rng)
    own = random_joint_q(kind, rng) if kind != "fixed" else np.zeros(0)
    (Rp, pp), (Rc, pc), (RJ, pJ) = pose_of(k, parent), pose_of(k, child), joint_motion(kind, axes, own)
    RA, pA = Rp @ at.rotation(), Rp @ np.array(at.position) + pp
    R, p = RA @ RJ, RA @ pJ + pA
    child_at = Pose(tuple(Rc.T @ (p - pc)), tuple(quaternion(Rc.T @ R)))
    model.joint(name, kind, parent, child, at=at, child_at=child_at, **axes)
    return own


def consistent_velocities(system, q, rng, t=0.0):
    """Random velocities that all constraints allow."""
    from whippletree.dynamics.constraints.jacobian import rows_of

    u = rng.normal(size=system.nu)
    rows = rows_of(system, q, u, t)
    return u - np.linalg.lstsq(rows.C, rows.rate, rcond=1e-9)[0]


def closed_chain(kind, rng, length=8, reverse=False, base=None, kinds=None):
    """A chain, every joint of another kind, whose last body is joined to ground or to ``base``: system, q, u."""
    from zoo import MOVING, random_model

    model = random_model(rng, length, kinds or MOVING, branching=False)
    tree = model.compile()
    q = random_state(tree, rng)[0]
    last, near = f"body{length - 1}", base or "ground"
    ends = (last, near) if reverse else (near, last)
    close(model, q, "cut", kind, *ends, rng)
    system = model.compile()
    q = np.concatenate([q[tree.q_index(name)] for name in system.joints])  # a weld makes another joint the cut
    return system, q, consistent_velocities(system, q, rng)
