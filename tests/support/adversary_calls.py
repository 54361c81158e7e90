"""What calls other than forward dynamics make of a hard system: they state no bound, so each has an allowance here.

Each judge gives the largest error against the reference in extended precision, relative to the largest of the terms
that the answer is a sum of, for the state alone and in a batch.
"""

import numpy as np
from flint import arb, ctx

import whippletree as wt
from extended_mechanism import Mechanism
from extended_poses import parts
from extended_reference import row_sizes
from sketch import WIDE, bend_axes
from whippletree.errors import ModelError, SimulationError
from whippletree.joints import KINDS
from whippletree.model import Pose

BITS = 512
H = 1e-4  # of the time in which velocities or poses change by their own size: a step
SLOW = 1e-3  # rad/s and m/s: the same of what is at rest
STILL = 1e-12  # rad/s and m/s: less is what rounding left of velocities that constraints do not allow
ROUNDINGS = 1e-6  # of M u^2, that C u is compared with at least: 1e-9 of it is some roundings
SHARPEST = 1e8  # 1/s: faster ones change within a rounding of the velocities
QUIET = 1e-5  # of the accelerations: more jitter hides what a step shows
SOUND = 5e-2  # least singular value, relative: with less, motions change within a step
ORIGIN = (0.0, 0.0, 0.0)


class Judged:
    """A drawn system with its exact accelerations, and what the reference says of its bodies."""

    def __init__(self, drawn, answer):
        self.drawn, self.udot, self.least = drawn, answer.udot, answer.least
        self.system, self.q, self.u, self.tau = drawn.state
        kept, ctx.prec = ctx.prec, BITS
        try:
            m, still = (Mechanism(self.system, self.q, u) for u in (self.u, 0.0 * self.u))
            self.names = [n for n in m.up if n != "ground"]
            self.origin = {n: m.acceleration(n, self.udot, ORIGIN) for n in self.names}
            self.centre = {n: m.acceleration(n, self.udot) for n in self.names}
            self.places = {n: np.array([float(x) for x in parts(m.path[n].T[0])[1]]) for n in self.names}
            M, b = m.equations()
            rates = [x - y for x, y in zip(b, still.equations()[1], strict=True)]
            self.inertia = max((abs(float(M[i, i])) for i in range(self.system.nu)), default=0.0)
            self.rates = np.array([float(x) for x in rates])
            columns = [[M[i, k] * arb(float(a)) for k, a in enumerate(self.udot)] for i in range(self.system.nu)]
            self.needed = np.array([float(sum(line, x)) for line, x in zip(columns, b, strict=True)])
            rows = m.rows()
            C = (
                np.array([[float(x) for x in line] for line in m.jacobian(rows)[0]])
                if rows
                else np.zeros((0, self.system.nu))
            )
            lengths = np.linalg.norm(C, axis=1)  # near a singular pose a row is what its terms leave
            self.sharpness = 1.0 / min(1.0, float(lengths[lengths > 1e-14].min(initial=1.0)))
            self.held = (C / row_sizes(C, 1e-14)[:, None]).T  # what constraints can carry
            terms = [[abs(float(x)) for x in line] for line in columns]
            self.terms = max((sum(line) + abs(float(x)) for line, x in zip(terms, b, strict=True)), default=0.0)
        finally:
            ctx.prec = kept
        where = np.array(list(self.places.values()))
        self.span = float(np.linalg.norm(where - where[0], axis=1).max()) + max(
            float(np.linalg.norm(self.system.model.bodies[n].com)) for n in self.names
        )

    def batch(self, *arrays):
        """Three copies of each array."""
        return [np.tile(x, (3, 1)) for x in arrays]


def body_motion(j):
    """Accelerations of the origins of bodies."""
    worst, largest = 0.0, max(float(np.linalg.norm(j.system.gravity)), 1e-300)  # which bodies fall with
    one = wt.kinematics(j.system, j.q, j.u, j.udot)
    several = wt.kinematics(j.system, *j.batch(j.q, j.u, j.udot))
    for name in j.names:
        right = j.origin[name]
        turning = np.linalg.norm(right[:3]) + np.square(one.velocity(name)[:3]).sum()
        largest = max(largest, np.abs(right[3:]).max(), turning * max(j.span, 1.0))
        for found in (one.acceleration(name), several.acceleration(name)[1]):
            worst = max(worst, float(np.abs(found - right).max()))
    return worst / largest


def coriolis(j):
    """C u, against what velocities add to the bias."""
    if not np.abs(j.u).max(initial=0.0) > STILL:
        return None
    C = wt.coriolis_matrix(j.system, j.q, j.u)
    several = wt.coriolis_matrix(j.system, *j.batch(j.q, j.u))[2]
    largest = float(np.abs(C).max() * np.abs(j.u).max())  # where what moves meets zeros, C u is rounding
    largest = max(largest, ROUNDINGS * j.inertia * float(np.square(j.u).max()), 1e-300)
    return max(float(np.abs(X @ j.u - j.rates).max(initial=0.0)) for X in (C, several)) / largest


def inverse(j):
    """Forces that give the accelerations: of a tree M u' + b; of loops up to what their constraints carry."""
    worst, wrenches = 0.0, j.drawn.wrenches
    if wrenches or j.system.forces.any:
        return None
    several = j.batch(j.q, j.u, j.udot)
    for found in (wt.inverse_dynamics(j.system, j.q, j.u, j.udot), wt.inverse_dynamics(j.system, *several)[1]):
        left = j.needed - found
        terms = j.terms
        if j.system.constraints.count:
            carried = np.linalg.lstsq(j.held, left, rcond=1e-13)[0]
            left = left - j.held @ carried
            terms = max(terms, float((np.abs(j.held) @ np.abs(carried)).max(initial=0.0)))
        worst = max(worst, float(np.abs(left).max(initial=0.0)) / max(terms, 1e-300))
    return worst


def reactions(j):
    """Newton and Euler for every body under its joints' loads."""
    model = j.system.model
    plain = all(x.kind in PLAIN for x in model.joints.values())
    sound = not j.system.constraints.count or j.least > SOUND
    if model.constraints or model.forces or model.couplings or j.drawn.wrenches or not (plain and sound):
        return None
    loads = wt.reactions(j.system, *j.batch(j.q, j.u, j.tau))
    k = wt.kinematics(j.system, j.q, j.u)
    left = {n: needed(model.bodies[n], k, n, j.centre[n], model.gravity) for n in j.names} | {"ground": np.zeros(6)}
    weight = float(np.linalg.norm(model.gravity))  # of bodies that fall together, joints carry nothing
    largest = max(model.bodies[n].mass * (weight + float(np.linalg.norm(j.centre[n][3:]))) for n in j.names)
    turned = max((float(np.linalg.norm(x[:3])) for x in left.values()), default=0.0)
    for name, joint in model.joints.items():
        wrench = loads[name][1] + free_part(joint, k, loads.along(name)[1])
        largest, turned = max(largest, np.linalg.norm(wrench[3:])), max(turned, np.linalg.norm(wrench[:3]))
        for body, sign in ((joint.child, -1.0), (joint.parent, 1.0)):
            if body != "ground":
                arm = loads.point(name)[1] - com_of(model.bodies[body], k, body)
                left[body] = left[body] + sign * (wrench + np.append(np.cross(arm, wrench[3:]), np.zeros(3)))
    forces = max((float(np.abs(left[n][3:]).max()) for n in j.names), default=0.0)
    torques = max((float(np.abs(left[n][:3]).max()) for n in j.names), default=0.0)
    return max(forces / max(largest, 1e-300), torques / max(turned, largest * j.span, 1e-300))


def com_of(body, k, name):
    return k.position(name) + k.rotation(name) @ np.asarray(body.com, float)


def needed(body, k, name, acceleration, gravity):
    """[torque about the centre of mass; force] that a body's motion takes."""
    R, w = k.rotation(name), k.velocity(name)[:3]
    I = R @ np.asarray(body.inertia, float) @ R.T
    force = body.mass * (acceleration[3:] - np.asarray(gravity, float))
    return np.concatenate([I @ acceleration[:3] + np.cross(w, I @ w), force])


def free_part(joint, k, along):
    """What acts along a joint's degrees of freedom, as a wrench at its point."""
    wrench = np.zeros(6)
    A, B = (frame(k, name, at) for name, at in ((joint.parent, joint.at), (joint.child, joint.child_at)))
    for axis, (_, unit), force in zip(free_axes(joint, A, B), KINDS[joint.kind].rates, along, strict=False):
        wrench[(0 if unit == "rad/s" else 3) :][:3] += force * axis
    return wrench


PLAIN = {"fixed", "revolute", "prismatic", "screw", "cylindrical", "planar", "spherical", "free"}


def free_axes(joint, A, B):
    """World axes of the degrees of freedom of a plain joint."""
    if joint.kind in ("spherical", "free"):
        return [*B.T, *B.T]
    a = np.asarray(joint.axis, float) / np.linalg.norm(joint.axis)
    turned = [A @ a.astype(float), A @ a.astype(float)]
    return [A @ x.astype(float) for x in bend_axes(a.astype(WIDE))] + turned[:1] if joint.kind == "planar" else turned


def frame(k, name, at):
    R = np.eye(3) if name == "ground" else k.rotation(name)
    return R @ Pose(at.position, at.quaternion).rotation()


def one_step(j):
    """Accelerations of a rollout's first step, from two lengths of it; of loops the second, as the first one also takes
    off what rounding left of velocities that constraints do not allow."""
    loops = j.system.constraints.count > 0
    if j.drawn.wrenches or j.system.forces.any or (loops and j.least < SOUND) or j.system.q0.size != j.system.nu:
        return None
    rates, speed = [], max(1.0, float(np.abs(j.u).max()))
    if loops and speed * max(1.0, j.span) > 10.0:
        return None
    speed_now = max(float(np.abs(j.u).max()), SLOW)
    pace = max(speed * j.sharpness, float(np.abs(j.udot).max()) / speed_now)  # 1/s, of near singular poses
    largest = max(float(np.abs(j.udot).max()), 0.1 * float(np.linalg.norm(j.system.gravity)), speed**2, 1e-300)
    jitter = np.finfo(float).eps * speed_now * j.sharpness * pace / H  # of velocities that are projected, over a step
    if pace > SHARPEST or (loops and jitter > QUIET * largest):
        return None
    for h in (H / pace, 0.5 * H / pace):
        Q, U, T = j.batch(j.q, j.u, j.tau)
        speeds = wt.rollout(j.system, Q, U, T, h, 1 + loops, "euler", tau_rows="states")[1][2]
        rates.append((speeds[-1] - speeds[-2]) / h)
    found = 2.0 * rates[1] - rates[0] if loops else rates[0]
    known = wt.forward_dynamics(j.system, j.q, j.u, j.tau, certificate=True)[1].error  # steps are not corrected
    return float(np.maximum(np.abs(found - j.udot) - known, 0.0).max()) / largest


CALLS = {
    "body motion": (body_motion, 1e-9),
    "coriolis": (coriolis, 1e-9),
    "inverse": (inverse, 1e-9),
    "reactions": (reactions, 1e-7),
    "one step": (one_step, 1e-4),
}


def judged_calls(drawn, answer):
    """(name, error, allowance, what went wrong) of each call that the system takes; errors by name are no answers."""
    state = Judged(drawn, answer)
    for name, (call, allowed) in CALLS.items():
        try:
            error = call(state)
        except (ModelError, SimulationError) as e:
            yield name, 0.0, allowed, e
            continue
        if error is not None:
            yield name, error, allowed, None
