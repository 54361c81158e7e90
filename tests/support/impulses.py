"""Moments at which velocities jump: random mechanisms that meet, and what the slow references say of them before and
after.

Momentum and energy are summed body by body from the fields of the model; nothing here asks the library for them.
"""

from typing import NamedTuple

import numpy as np

import reference
import reference_flexible
import whippletree as wt
from closing import quaternion
from whippletree.integrate.contacts.activation import make
from whippletree.integrate.contacts.constraint_state import ConstraintState
from whippletree.model import Pose
from zoo import random_model, random_solid, random_state, unit

KINDS = ("fixed", "revolute", "prismatic", "cylindrical", "universal", "planar", "spherical")


class Account(NamedTuple):
    momentum: np.ndarray  # (6)  angular about the world origin, linear
    size: np.ndarray  # (6)      sum of what bodies have of it, each as large as it may be
    energy: float
    kinetic: float


class Moment(NamedTuple):
    """What has happened, with the state before and after."""

    system: wt.System
    before: Account
    after: Account
    u: np.ndarray
    changes: list
    work: float

    def of(self, name):
        return next(c for c in self.changes if c.name == name)


def account(system, q, u):
    """Of rigid and flexible bodies, by their references."""
    model = system.model
    parts = _flexible(model, system, q, u) if model.flexibles else _rigid(model, system, q, u)
    momentum, size, kinetic, stored = np.zeros(6), np.zeros(6), 0.0, 0.0
    for r, angular, linear, T, V in parts:
        momentum += [*(angular + np.cross(r, linear)), *linear]
        whole = np.linalg.norm(linear)
        size += np.repeat([np.linalg.norm(angular) + np.linalg.norm(r) * whole, whole], 3)
        kinetic, stored = kinetic + T, stored + V
    for joint in model.joints.values():
        if joint.kind != "fixed":
            kinetic += 0.5 * joint.armature * float(u[system.u_index(joint.name)] @ u[system.u_index(joint.name)])
    return Account(momentum, size, kinetic + stored, kinetic)


def _rigid(model, system, q, u):
    slow = reference.Reference(model)
    moving = [j.name for j in model.joints.values() if j.kind != "fixed"]
    at, rate = ({n: x[i(n)] for n in moving} for x, i in ((q, system.q_index), (u, system.u_index)))
    for b, I, c in slow._solids(slow.motion(at, rate)):
        T = 0.5 * (b.mass * c.v @ c.v + c.w @ I @ c.w)
        yield c.r, I @ c.w, b.mass * c.v, T, -b.mass * np.array(model.gravity) @ c.r


def _flexible(model, system, q, u):
    slow = reference_flexible.Reference(model, system)
    frames = slow.motion(q, u)
    for name in (*model.bodies, *model.flexibles):
        y, eta = slow.state(name, frames, q, u)
        R, M = frames[name].R, slow.mass(name, eta)
        p, stored = M @ y, 0.5 * eta @ model.flexibles[name].modes.K @ eta if name in model.flexibles else 0.0
        # weight: M times an acceleration of all that the body is made of, and how far that has come
        centre = M[:3, 3:6] / M[3, 3]
        com = np.array([centre[2, 1], centre[0, 2], centre[1, 0]])
        height = frames[name].p + R @ com
        yield frames[name].p, R @ p[:3], R @ p[3:6], 0.5 * y @ p, stored - M[3, 3] * np.array(model.gravity) @ height


def happen(system, q, u, *names, settle=False):
    """These are made, one after the other; then whatever follows."""
    b = ConstraintState(system, lambda t, q, u: np.zeros(system.nu), "auto", lambda s: s)
    y = np.concatenate([q, u, [0.0]])
    before = account(system, q, u)
    b.now = y
    for name in names:
        if not b.temporaries[name].unilateral or b._reached(name, 0.0, *b.split(y)):
            make(b, name, 0.0, y)
    if settle:
        b.settle(0.0, y)
    q, u = b.split(y)
    return Moment(system, before, account(system, q, u), u.copy(), b.changes, y[-1])


def from_ground(moment, q):
    """(6) Momentum that ground has given by what was made and by what held, about the world origin."""
    total, k = np.zeros(6), wt.kinematics(moment.system, q)
    for name, impulse in (pair for c in moment.changes for pair in [(c.name, c.impulse), *c.besides.items()]):
        x = moment.system.model.constraints[name]
        if getattr(x, "to", None) == "ground":
            at = x.at.position if isinstance(x.at, Pose) else x.at
            p = k.position(x.body) + k.rotation(x.body) @ np.array(at)
            total += [*(impulse[:3] + np.cross(p, impulse[3:])), *impulse[3:]]
    return total


def check(moment, given=0.0, tight=1e-12):
    """The balance of momentum, to rounding; and that of energy, with what is recorded as lost."""
    off = moment.after.momentum - moment.before.momentum - given
    assert np.abs(off / np.maximum(moment.before.size, moment.after.size)).max() < tight
    lost = sum(c.lost for c in moment.changes)
    scale = max(moment.before.kinetic, moment.after.kinetic)
    assert abs(moment.before.energy - moment.after.energy - lost) < 1e-10 * scale
    assert abs(moment.work + lost) < 1e-12 * scale


# ---------------------------------------------------------------- mechanisms that float, and what they meet with


def floating(rng, bodies):
    """Random trees that no joint holds to ground, and a free body besides."""
    model = random_model(rng, bodies, welds=0.1, armature=rng.random() < 0.3)
    for joint in model.joints.values():
        if "ground" in (joint.parent, joint.child):
            joint.kind, joint.armature = "free", 0.0
    model.body("guest", **random_solid(rng))
    model.joint("flight", "free", "ground", "guest")
    return model


def two_bodies(model, rng):
    """Of the trees or the guest, but not twice the same."""
    names = list(model.bodies)
    a, b = rng.choice(len(names), 2, replace=False)
    return names[a], names[b]


def pose_in(k, body, R, p):
    """A pose of the world, in axes of a body."""
    Rb = k.rotation(body)
    return Pose(tuple(Rb.T @ (p - k.position(body))), tuple(quaternion(Rb.T @ R)))


def turn_to(n, rng):
    """A rotation whose z axis is n."""
    x = np.cross(n, unit(rng, 3))
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(n, x), n])


def touching(model, rng, kind, restitution=0.0, friction=None, to=None):
    """``meet``, unilateral, which is reached just now by two bodies of a tree: system, q, u."""
    tree = model.compile()
    q, u, _ = random_state(tree, rng)
    k = wt.kinematics(tree, q)
    a, b = two_bodies(model, rng)
    b = to or b
    at = rng.uniform(-0.4, 0.4, 3)
    p, n = k.position(a) + k.rotation(a) @ at, unit(rng, 3)
    options = {"body": a, "to": b, "at": at}
    if kind == "rope":
        to_at = rng.uniform(-0.4, 0.4, 3)
        length = np.linalg.norm(p - k.position(b) - k.rotation(b) @ to_at)
        model.constraint("meet", "distance", **options, to_at=to_at, length=length)
    elif kind == "point":
        model.constraint("meet", "point_on_plane", **options, to_at=pose_in(k, b, turn_to(n, rng), p))
    elif kind == "sphere":
        r, R = rng.uniform(0.05, 0.4, 2)
        slip = "none" if friction or rng.random() < 0.5 else "all"
        to_at = pose_in(k, b, np.eye(3), p - (r + R) * n)
        model.constraint("meet", "roll", **options, radius=r, on="sphere", to_radius=R, to_at=to_at, slip=slip)
    else:
        r, slip = rng.uniform(0.05, 0.4), "none" if friction or rng.random() < 0.5 else "all"
        to_at = pose_in(k, b, turn_to(n, rng), p - r * n)
        model.constraint("meet", "roll", **options, radius=r, to_at=to_at, slip=slip)
    model.temporary("meet", unilateral=True, restitution=restitution, friction=friction)
    system = model.compile()
    b = ConstraintState(system, lambda t, q, u: np.zeros(system.nu), "auto", lambda s: s)
    gap, rate = b.approach("meet", 0.0, q, u)
    assert abs(gap) < 1e-9
    return system, q, u if rate < 0.0 else -u
