"""Forces of a model by the textbook, slowly: world wrenches and J', springs from gradients of their energies.

Shares no line with the kernels: positions and Jacobians come from wt.kinematics (proved elsewhere), rotations from
SciPy, functions of time are written as their sentences say.
"""

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial.transform import Rotation

import whippletree as wt
from whippletree.model import forces as kinds
from whippletree.model.pose import Pose


def value(f, t):
    """A function of time at t."""
    match f:
        case wt.Ramp():
            end = np.inf if f.end is None else f.end
            return f.value + f.rate * (np.clip(t, f.start, end) - f.start)
        case wt.Step():
            x = float(t >= f.start) if f.rise == 0 else np.clip((t - f.start) / f.rise, 0, 1)
            return f.before + (f.after - f.before) * (6 * x**5 - 15 * x**4 + 10 * x**3)
        case wt.Sine():
            return f.offset + f.amplitude * np.sin(2 * np.pi * f.frequency * t + f.phase)
        case wt.Table():
            at = np.clip(t, f.times[0], f.times[-1])
            if f.smooth:
                return float(CubicSpline(f.times, f.values, bc_type=((1, 0.0), (1, 0.0)))(at))
            return float(np.interp(at, f.times, f.values))
    return f


def rate(f, t, h=1e-5):
    return (value(f, t + h) - value(f, t - h)) / (2 * h)


class Place:
    """A pose on a body: where it is, how it moves, and J of it."""

    def __init__(self, system, k, name, at):
        pose = at if isinstance(at, Pose) else Pose(tuple(at))
        p, R = np.array(pose.position), pose.rotation()
        self.J = k.jacobian(name, p)
        self.position = k.position(name) + k.rotation(name) @ p
        self.R = k.rotation(name) @ R

    def moves(self, u):
        return self.J @ u


def energy_of(force, system, q):
    k = wt.kinematics(system, q)
    a, b = Place(system, k, force.body, force.at), Place(system, k, force.to, force.to_at)
    if isinstance(force, kinds.Spring):
        return 0.5 * force.stiffness * (np.linalg.norm(a.position - b.position) - force.length) ** 2
    d = b.R.T @ (a.position - b.position)
    e = 2 * Rotation.from_matrix(b.R.T @ a.R).as_quat()[:3]
    return 0.5 * (np.array(force.stiffness) @ d**2 + np.array(force.rotational_stiffness) @ e**2)


def gradient(V, system, q, h=2e-5):
    """dV along each DOF, by differences of fourth order."""
    g = np.zeros(system.nu)
    for j in range(system.nu):
        d = np.zeros(system.nu)
        d[j] = h
        f = [V(wt.advance(system, q, s * d)) for s in (-2, -1, 1, 2)]
        g[j] = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
    return g


def joint_force(system, force, q, u, t):
    row, at = system.u_index(force.joint).start + force.dof, system.q_index(force.joint).start + force.dof
    target = 0.0 if force.position is None else value(force.position, t)
    speed = value(force.velocity, t) if force.velocity is not None else 0.0
    if force.velocity is None and force.position is not None:
        speed = rate(force.position, t)
    x = value(force.torque, t) + (force.kp * (target - q[at]) if force.kp else 0.0) + force.kd * (speed - u[row])
    x = x if force.limit is None else np.clip(x, -force.limit, force.limit)
    return np.eye(system.nu)[row] * x


def damping_force(force, system, k, u):
    a, b = Place(system, k, force.body, force.at), Place(system, k, force.to, force.to_at)
    if isinstance(force, kinds.Spring):
        n = (a.position - b.position) / np.linalg.norm(a.position - b.position)
        J = n @ (a.J[3:] - b.J[3:])
        return -force.damping * (J @ u) * J
    there = Place(system, k, force.to, Pose(tuple(k.rotation(force.to).T @ (a.position - k.position(force.to)))))
    J = np.vstack([b.R.T @ (a.J[:3] - b.J[:3]), b.R.T @ (a.J[3:] - there.J[3:])])
    c = np.array([*force.rotational_damping, *force.damping])
    return -J.T @ (c * (J @ u))


def wrench_force(force, system, k, u, t):
    a = Place(system, k, force.body, force.at)
    v = a.moves(u)
    if isinstance(force, kinds.Wrench):
        R = a.R if force.axes == "body" else np.eye(3)
        return a.J.T @ (value(force.factor, t) * np.concatenate([R @ force.torque, R @ force.force]))
    if isinstance(force, kinds.Drag):
        return a.J[3:].T @ (-(force.linear + force.quadratic * np.linalg.norm(v[3:])) * v[3:])
    w = np.zeros(6)
    force.function(t, a.position, a.R, v, w)
    return a.J.T @ w


def applied(system, q, u, t):
    """Generalized force of all forces of a model but prescribed motions."""
    k, total = wt.kinematics(system, q, u), np.zeros(system.nu)
    for force in system.model.forces.values():
        if isinstance(force, kinds.Motor):
            total += joint_force(system, force, q, u, t)
        elif isinstance(force, kinds.Spring | kinds.Bushing):
            total -= gradient(lambda x, force=force: energy_of(force, system, x), system, q)
            total += damping_force(force, system, k, u)
        elif not isinstance(force, kinds.Motion):
            total += wrench_force(force, system, k, u, t)
    return total + (passive(system, q, u) if system.model.passive else 0.0)


def passive(system, q, u):
    """Springs, dampers, friction and limits of joints."""
    total = np.zeros(system.nu)
    for name in system.joints:
        joint, rows = system.model.joints[name], system.u_index(name)
        x, v = q[system.q_index(name)], u[rows]
        total[rows] -= np.multiply(joint.damping, v)
        total[rows] -= np.multiply(joint.friction, v / np.hypot(v, joint.friction_speed))
        if joint.kind == "spherical":
            turn = 2 * x[0] * x[1:]  # sin(angle) axis: the gradient of 2 (1 - cos(angle)) / 2
            total[rows] -= np.multiply(joint.stiffness, turn)
        elif joint.kind != "free":
            total[rows] -= np.multiply(joint.stiffness, x - joint.rest)
            limits = joint.limits
            for n in range(len(v)) if limits else ():
                if limits.upper is not None and x[n] > limits.upper:
                    d = x[n] - limits.upper
                    total[rows.start + n] -= limits.stiffness * d * (1 + limits.damping * v[n])
                if limits.lower is not None and x[n] < limits.lower:
                    d = limits.lower - x[n]
                    total[rows.start + n] += limits.stiffness * d * (1 - limits.damping * v[n])
    return total


def accelerations(system, q, u, t, tau=0.0):
    """u' by a dense solve; prescribed motions are rows that are known."""
    M = wt.mass_matrix(system, q)
    bare = wt.inverse_dynamics(system, q, u, np.zeros(system.nu), t=t) + wt.applied_force(system, q, u, t=t)
    rhs = applied(system, q, u, t) + tau - bare
    udot, driven = np.zeros(system.nu), []
    for force in system.model.forces.values():
        if isinstance(force, kinds.Motion):
            row = system.u_index(force.joint).start + force.dof
            h = 1e-4
            f = [value(force.position, t + s * h) for s in (-2, -1, 0, 1, 2)]
            udot[row] = (-f[0] + 16 * f[1] - 30 * f[2] + 16 * f[3] - f[4]) / (12 * h * h)
            driven.append(row)
    free = np.setdiff1d(np.arange(system.nu), driven)
    udot[free] = np.linalg.solve(M[np.ix_(free, free)], (rhs - M @ udot)[free])
    return udot
