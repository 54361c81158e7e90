"""A slow reference for tree systems: Kane's equations with explicit Jacobians, in plain NumPy.

It reads the plain fields of a Model and shares nothing else with the library. Coordinates come as dicts
joint name -> numbers, so it has no numbering in common with a System either; its own vectors and matrices are
ordered as the joints stand in the model (``columns``).

For every body, with u_r the generalized speed number r (Kane and Levinson, Dynamics, ch. 2-6):

    omega = sum_r omega_r u_r        omega_r = column r of Jw   partial angular velocity
    v     = sum_r v_r u_r            v_r     = column r of Jv   partial velocity of a point
    alpha = Jw udot + alpha_t        alpha_t, a_t: remainders, what is left at udot = 0
    a     = Jv udot + a_t

    generalized active force    F_r  = sum_bodies  v_r . (m g + f) + omega_r . n  + tau_r
    generalized inertia force   F*_r = sum_bodies -v_r . m a - omega_r . (I alpha + omega x I omega) - A_r udot_r
    Kane's equations            F_r + F*_r = 0         so  M udot + b = tau

with the velocities v of mass centres, and A_r the armature of the DOF.
"""

from dataclasses import dataclass

import numpy as np

import curves

SIZES = {  # joint kind: lengths of q and u
    "fixed": (0, 0),
    "revolute": (1, 1),
    "prismatic": (1, 1),
    "screw": (1, 1),
    "cylindrical": (2, 2),
    "universal": (2, 2),
    "planar": (3, 3),
    "homokinetic": (2, 2),
    "curve": (1, 1),
    "spherical": (4, 3),
    "free": (7, 6),
}


def skew(a):
    """The matrix of a x."""
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def cross(a, b):
    return skew(a) @ b


def turn(axis, angle):
    """Rotation matrix about a unit axis (Rodrigues)."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * (K @ K)


def matrix(quaternion):
    """Rotation matrix of a quaternion [w, x, y, z]: v -> w^2 v + 2 w (p x v) + 2 p (p . v) - p^2 v, normalized."""
    w, p = quaternion[0], np.asarray(quaternion[1:], float)
    return ((w * w - p @ p) * np.eye(3) + 2 * w * skew(p) + 2 * np.outer(p, p)) / (w * w + p @ p)


def plane(normal):
    """Two directions in the plane of a normal, right-handed with it.

    Of the principal axes: x has (y, z), y has (z, x), z has (x, y). Any other normal that points up takes x and y
    along when z is turned to it the shortest way. An opposite normal keeps the first direction.
    """
    n, z = np.asarray(normal, float), np.array([0.0, 0.0, 1.0])
    k = int(np.argmax(np.abs(n)))
    if abs(n[k]) == 1.0:
        first = np.eye(3)[(k + 1) % 3]
    else:
        up = n if n[2] >= 0 else -n
        about = cross(z, up)
        first = turn(about / np.linalg.norm(about), np.arctan2(np.linalg.norm(about), up[2]))[:, 0]
    return first, cross(n, first)


@dataclass
class Relative:
    """Motion of a joint's child frame G in its parent frame F, all in the axes of F.

    E, p: rotation and position. W, V: angular velocity and velocity of G's origin are W u, V u.
    Wt, Vt: what is left of their time derivatives in F when udot = 0.
    """

    E: np.ndarray
    p: np.ndarray
    W: np.ndarray
    V: np.ndarray
    Wt: np.ndarray
    Vt: np.ndarray


def relative(joint, q, u):
    """The definition of each joint kind."""
    a, b = np.array(joint.axis), np.array(joint.axis2)
    n = SIZES[joint.kind][1]
    E, p, W, V = np.eye(3), np.zeros(3), np.zeros((3, n)), np.zeros((3, n))
    Wt, Vt = np.zeros(3), np.zeros(3)
    match joint.kind:
        case "fixed":
            pass
        case "revolute":
            E = turn(a, q[0])
            W[:, 0] = a
        case "prismatic":
            p = a * q[0]
            V[:, 0] = a
        case "screw":
            E, p = turn(a, q[0]), a * joint.pitch * q[0]
            W[:, 0], V[:, 0] = a, a * joint.pitch
        case "cylindrical":
            E, p = turn(a, q[0]), a * q[1]
            W[:, 0], V[:, 1] = a, a
        case "universal":
            first = turn(a, q[0])
            E = first @ turn(b, q[1])
            W[:, 0], W[:, 1] = a, first @ b
            Wt = cross(a * u[0], W[:, 1] * u[1])
        case "planar":
            e1, e2 = plane(a)
            E, p = turn(a, q[2]), e1 * q[0] + e2 * q[1]
            V[:, 0], V[:, 1], W[:, 2] = e1, e2, a
        case "homokinetic":  # the unit quaternion (w, p), p across the shaft: omega = 2 (w p' - w' p + p x p')
            (c0, s0), (c1, s1) = ((np.cos(x / 2), np.sin(x / 2)) for x in q)
            e1, e2 = plane(a)
            w, p4 = c0 * c1, s0 * c1 * e1 + s1 * e2
            dw, dp = (-s0 * c1 / 2, -c0 * s1 / 2), (c0 * c1 * e1 / 2, -s0 * s1 * e1 / 2 + c1 * e2 / 2)
            E = matrix([w, *p4])
            for k in range(2):
                W[:, k] = 2 * (w * dp[k] - dw[k] * p4 + cross(p4, dp[k]))
            mixed = u[0] * u[1] / 2
            ddw = -w * (u[0] ** 2 + u[1] ** 2) / 4 + s0 * s1 * mixed
            ddp = -(s0 * c1 * e1) * (u[0] ** 2 + u[1] ** 2) / 4 - c0 * s1 * e1 * mixed - s1 * e2 * u[1] ** 2 / 4
            Wt = 2 * (w * ddp - ddw * p4 + cross(p4, ddp))
        case "curve":
            E, p, W[:, 0], V[:, 0], Wt, Vt = curves.along(joint.own, q[0])
            Wt, Vt = Wt * u[0] ** 2, Vt * u[0] ** 2
        case "spherical":
            E = matrix(q)
            W[:] = E  # and d(E u)/dt = E (u x u) = 0
        case "free":
            E, p = matrix(q[3:]), np.array(q[:3], float)
            W[:, :3], V[:, 3:] = E, E
            Vt = cross(E @ u[:3], E @ u[3:])
        case kind:
            raise ValueError(kind)
    return Relative(E, p, W, V, Wt, Vt)


@dataclass
class Motion:
    """A body frame: place, velocity and acceleration remainder of its origin, world axes, with Jacobians (3 x nu)."""

    R: np.ndarray
    r: np.ndarray
    Jw: np.ndarray
    Jv: np.ndarray
    w: np.ndarray
    v: np.ndarray
    alpha: np.ndarray
    a: np.ndarray

    def at(self, offset):
        """Jacobian, velocity and acceleration remainder of the point at a world offset from the origin."""
        Jv = self.Jv - skew(offset) @ self.Jw  # omega_r x offset
        v = self.v + cross(self.w, offset)
        a = self.a + cross(self.alpha, offset) + cross(self.w, cross(self.w, offset))
        return Jv, v, a

    def moved(self, offset, R):
        """The frame of axes R fixed in the same body at a world offset."""
        Jv, v, a = self.at(offset)
        return Motion(R, self.r + offset, self.Jw, Jv, self.w, v, self.alpha, a)


class Reference:
    """Kane's equations of one tree Model."""

    def __init__(self, model):
        self.model = model
        self.columns, self.nu = {}, 0
        for joint in model.joints.values():
            n = SIZES[joint.kind][1]
            self.columns[joint.name] = slice(self.nu, self.nu + n)
            self.nu += n
        self.walk = self._walk()
        self.armature = np.zeros(self.nu)
        for name, columns in self.columns.items():
            self.armature[columns] = model.joints[name].armature

    def _walk(self):
        """Joints depth first from ground, each with True if its child is the new body."""
        touching = {name: [] for name in ("ground", *self.model.bodies)}
        for joint in self.model.joints.values():
            touching[joint.parent].append((joint, True))
            touching[joint.child].append((joint, False))
        reached, waiting, walk = {"ground"}, list(touching["ground"]), []
        while waiting:
            joint, outward = waiting.pop()
            far = joint.child if outward else joint.parent
            if far in reached:
                raise ValueError(f"joint {joint.name} closes a loop")
            reached.add(far)
            walk.append((joint, outward))
            waiting += [step for step in touching[far] if step[0] is not joint]
        return walk

    def vector(self, parts):
        """One vector from a dict joint name -> numbers; what is missing is zero."""
        out = np.zeros(self.nu)
        for name, value in parts.items():
            out[self.columns[name]] = value
        return out

    def split(self, vector):
        return {name: np.asarray(vector)[columns] for name, columns in self.columns.items()}

    def motion(self, q, u=None):
        """Motion of every body: dict name -> Motion."""
        u = u or {}
        zero = np.zeros(3)
        rest = Motion(np.eye(3), zero, np.zeros((3, self.nu)), np.zeros((3, self.nu)), zero, zero, zero, zero)
        motions = {"ground": rest}
        for joint, outward in self.walk:
            n = SIZES[joint.kind][1]
            rate = np.atleast_1d(np.asarray(u.get(joint.name, np.zeros(n)), float))
            rel = relative(joint, np.atleast_1d(np.asarray(q.get(joint.name, ()), float)), rate)
            if outward:
                motions[joint.child] = self._outward(joint, rel, rate, motions[joint.parent])
            else:
                motions[joint.parent] = self._inward(joint, rel, rate, motions[joint.child])
        return motions

    def _outward(self, joint, rel, u, parent):
        """Child from parent: relative motion added to the motion of the parent's frame."""
        RF = parent.R @ matrix(joint.at.quaternion)
        offset = parent.R @ np.array(joint.at.position) + RF @ rel.p  # from the parent's origin to that of G
        carried = parent.moved(offset, RF @ rel.E)  # the point of the parent under G
        Jw, Jv = parent.Jw.copy(), carried.Jv.copy()
        Jw[:, self.columns[joint.name]] += RF @ rel.W
        Jv[:, self.columns[joint.name]] += RF @ rel.V
        w, v = RF @ rel.W @ u, RF @ rel.V @ u
        alpha = parent.alpha + cross(parent.w, w) + RF @ rel.Wt
        a = carried.a + 2 * cross(parent.w, v) + RF @ rel.Vt  # Coriolis and relative acceleration
        G = Motion(carried.R, carried.r, Jw, Jv, parent.w + w, carried.v + v, alpha, a)
        RC = G.R @ matrix(joint.child_at.quaternion).T
        return G.moved(-RC @ np.array(joint.child_at.position), RC)

    def _inward(self, joint, rel, u, child):
        """Parent from child: the same relations, solved for the parent."""
        RG = child.R @ matrix(joint.child_at.quaternion)
        G = child.moved(child.R @ np.array(joint.child_at.position), RG)
        RF = RG @ rel.E.T
        RP = RF @ matrix(joint.at.quaternion).T
        Jw, Jv = G.Jw.copy(), G.Jv.copy()
        Jw[:, self.columns[joint.name]] -= RF @ rel.W
        Jv[:, self.columns[joint.name]] -= RF @ rel.V
        w, v = RF @ rel.W @ u, RF @ rel.V @ u
        wP = G.w - w
        alpha = G.alpha - cross(wP, w) - RF @ rel.Wt
        a = G.a - 2 * cross(wP, v) - RF @ rel.Vt
        carried = Motion(RP, G.r, Jw, Jv, wP, G.v - v, alpha, a)  # the parent's point under G
        return carried.moved(-RF @ rel.p - RP @ np.array(joint.at.position), RP)

    def _solids(self, motions):
        """Every body with mass: mass, inertia in world axes, and the motion of its centre of mass."""
        for body in self.model.bodies.values():
            k = motions[body.name]
            yield body, k.R @ np.array(body.inertia) @ k.R.T, k.moved(k.R @ np.array(body.com), k.R)

    def mass_matrix(self, q):
        M = np.diag(self.armature)
        for body, I, c in self._solids(self.motion(q)):
            M += body.mass * c.Jv.T @ c.Jv + c.Jw.T @ I @ c.Jw
        return M

    def bias(self, q, u, wrenches=None):
        """b of M udot + b = tau: minus the active forces but tau, plus the inertia forces at udot = 0."""
        b, g = np.zeros(self.nu), np.array(self.model.gravity)
        motions = self.motion(q, u)
        for body, I, c in self._solids(motions):
            b += body.mass * c.Jv.T @ (c.a - g)
            b += c.Jw.T @ (I @ c.alpha + cross(c.w, I @ c.w))
        for name, wrench in (wrenches or {}).items():
            b -= motions[name].Jw.T @ wrench[:3] + motions[name].Jv.T @ wrench[3:]
        return b

    def forward(self, q, u, tau, wrenches=None):
        """udot from tau, both in the reference's own order."""
        return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, u, wrenches))

    def inverse(self, q, u, udot, wrenches=None):
        """tau from udot, both in the reference's own order."""
        return self.mass_matrix(q) @ udot + self.bias(q, u, wrenches)

    def jacobian(self, q, body, point=(0.0, 0.0, 0.0)):
        """(6 x nu) angular, then linear partial velocities of a point given in body axes."""
        k = self.motion(q)[body]
        return np.vstack([k.Jw, k.at(k.R @ np.array(point))[0]])

    def kinetic(self, q, u):
        solids = self._solids(self.motion(q, u))
        rotors = 0.5 * self.armature @ self.vector(u) ** 2
        return rotors + sum(0.5 * (b.mass * c.v @ c.v + c.w @ I @ c.w) for b, I, c in solids)

    def potential(self, q, without=()):
        solids = [(b, c) for b, _, c in self._solids(self.motion(q)) if b.name not in without]
        return -sum(b.mass * np.array(self.model.gravity) @ c.r for b, c in solids)

    def momentum(self, q, u):
        """[angular about the world origin; linear] of all bodies."""
        angular, linear = np.zeros(3), np.zeros(3)
        for b, I, c in self._solids(self.motion(q, u)):
            linear += b.mass * c.v
            angular += I @ c.w + b.mass * cross(c.r, c.v)
        return np.concatenate([angular, linear])

    def advance(self, q, u, h):
        """q after a time h of constant joint velocities u, exactly: the joint frame turns and moves steadily."""
        out = {}
        for joint in self.model.joints.values():
            if not SIZES[joint.kind][0]:
                continue
            x, y = np.atleast_1d(np.asarray(q[joint.name], float)), np.atleast_1d(np.asarray(u[joint.name], float))
            if joint.kind == "spherical":
                out[joint.name] = turned(x, y * h)
            elif joint.kind == "free":
                way = matrix(x[3:]) @ swept(y[:3] * h) @ y[3:] * h
                out[joint.name] = np.concatenate([x[:3] + way, turned(x[3:], y[:3] * h)])
            else:
                out[joint.name] = x + y * h
        return out


def turned(quaternion, angle):
    """quaternion * exp(angle / 2): a further turn by the rotation vector, in the turned axes."""
    w, p = quaternion[0], quaternion[1:]
    size = np.linalg.norm(angle)
    c, s = np.cos(size / 2), 0.5 * np.sinc(size / (2 * np.pi)) * angle
    return np.concatenate([[w * c - p @ s], w * s + c * p + cross(p, s)])


def swept(angle):
    """Mean of the rotation exp(s angle) over 0 < s < 1, by its power series."""
    K = skew(angle)
    term, total = np.eye(3), np.eye(3)
    for k in range(2, 40):
        term = term @ K / k
        total = total + term
    return total
