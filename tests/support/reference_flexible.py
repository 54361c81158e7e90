"""Trees of flexible and rigid bodies, slowly: twists by recursion, momenta of the kinetic energy, node by node as the
body is deformed, and their rates by complex steps. Plain NumPy; shares no line with the library.

Of every body in its own axes, p = dT/dv, F = p' + v x* p; of its modes d/dt dT/deta' - dT/deta + K eta + D eta'. Then
tau = J' F, with the columns of J from unit velocities.
"""

import numpy as np

STEP = 1e-30


def skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def rotation(axis, angle):
    K = skew(np.asarray(axis, float))
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def of_quaternion(q):
    w, v = q[0], np.asarray(q[1:])
    return ((w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * skew(v)) / (w * w + v @ v)


def cayley(t):
    return np.eye(3) + (skew(t) + skew(t) @ skew(t) / 2) / (1 + t @ t / 4)


def quaternion_rate(q, w):
    return 0.5 * np.concatenate([[-(q[1:] @ w)], q[0] * w + np.cross(q[1:], w)])


def cross_force(v, p):
    """v x* p, for [angular; linear]"""
    return np.concatenate([np.cross(v[:3], p[:3]) + np.cross(v[3:], p[3:]), np.cross(v[:3], p[3:])])


def seen_from(R, p, V):
    """A twist at a frame (R, p) of the body, in the axes of that frame"""
    return np.concatenate([R.T @ V[:3], R.T @ (V[3:] + np.cross(V[:3], p))])


class Nodal:
    """Rigid bodies at nodes, at r + phi eta + eta Q eta / 2, rotated by the Cayley rotation of psi eta +
    eta psi2 eta / 2, and seen from the frame that one of them carries."""

    def __init__(self, r, mass, inertia, phi, psi, Q, psi2, inboard=0):
        self.r, self.m, self.I, self.phi, self.psi, self.Q, self.psi2 = r, mass, inertia, phi, psi, Q, psi2
        self.inboard = inboard

    def alone(self, k, eta):
        """Place, its derivative, rotation, and angular velocity for a unit of each eta', in the frame of the data"""
        rho = self.r[k] + self.phi[k] @ eta + 0.5 * np.einsum("iab,a,b->i", self.Q[k], eta, eta)
        t = self.psi[k] @ eta + 0.5 * np.einsum("iab,a,b->i", self.psi2[k], eta, eta)
        dt = self.psi[k] + np.einsum("iab,a->ib", self.psi2[k], eta)
        spin = (dt + skew(t) @ dt / 2) / (1 + t @ t / 4)
        return rho, self.phi[k] + np.einsum("iab,a->ib", self.Q[k], eta), cayley(t), spin

    def node(self, k, eta):
        """The same in the frame of the body"""
        rho0, D0, R0, G = self.alone(self.inboard, eta)
        arm = R0 @ self.r[self.inboard]
        origin, moved = rho0 - arm, D0 + skew(arm) @ G
        rho, D, R, spin = self.alone(k, eta)
        x = rho - origin
        return R0.T @ x, R0.T @ (D - moved + skew(x) @ G), R0.T @ R, R0.T @ (spin - G)

    def mass(self, eta):
        """M over [omega; velocity of the origin; eta']"""
        n = len(eta)
        M = np.zeros((6 + n, 6 + n), np.result_type(eta, float))
        for k, m in enumerate(self.m):
            x, D, R, spin = self.node(k, eta)
            speed = np.concatenate([-skew(x), np.eye(3), D], axis=1)
            turn = np.concatenate([np.eye(3), np.zeros((3, 3)), spin], axis=1)
            M = M + m * speed.T @ speed + turn.T @ (R @ self.I[k] @ R.T) @ turn
        return M


class Frame:
    def __init__(self, R, p, V):
        self.R, self.p, self.V = R, p, V

    def at(self, R, p):
        return Frame(self.R @ R, self.p + self.R @ p, seen_from(R, p, self.V))


def joint_motion(joint, q, u):
    """Rotation, displacement and relative twist in the axes of the moved frame"""
    none = np.zeros(3)
    axis = np.array(joint.axis)
    if joint.kind == "revolute":
        return rotation(axis, q[0]), none, np.concatenate([axis * u[0], none])
    if joint.kind == "prismatic":
        return np.eye(3), axis * q[0], np.concatenate([none, axis * u[0]])
    if joint.kind == "spherical":
        return of_quaternion(q), none, np.concatenate([u, none])
    if joint.kind == "free":
        return of_quaternion(q[3:]), q[:3], u
    return np.eye(3), none, np.zeros(6)


class Reference:
    """Of a model whose joints all lead away from ground, each flexible body entered at its inboard node."""

    def __init__(self, model, system):
        self.model, self.system = model, system

    def rates(self, q, u):
        """q' = N(q) u"""
        out = np.zeros(len(q), np.result_type(q, u))
        for name, joint in self.model.joints.items():
            if joint.kind == "fixed":
                continue
            a, b = self.system.q_index(name), self.system.u_index(name)
            if joint.kind == "spherical":
                out[a] = quaternion_rate(q[a], u[b])
            elif joint.kind == "free":
                out[a] = np.concatenate([of_quaternion(q[a][3:]) @ u[b][3:], quaternion_rate(q[a][3:], u[b][:3])])
            else:
                out[a] = u[b]
        for name in self.model.flexibles:
            out[self.system.q_index(name)] = u[self.system.u_index(name)]
        return out

    def motion(self, q, u):
        """Frame of every body and node by name"""
        found = {"ground": Frame(np.eye(3), np.zeros(3), np.zeros(6))}
        waiting = list(self.model.joints.values())
        while waiting:
            joint = next(j for j in waiting if j.parent in found)
            waiting.remove(joint)
            fixed = joint.kind == "fixed"
            x, y = ([], []) if fixed else (q[self.system.q_index(joint.name)], u[self.system.u_index(joint.name)])
            R, p, V = joint_motion(joint, x, y)
            there = found[joint.parent].at(joint.at.rotation(), np.array(joint.at.position)).at(R, p)
            there = Frame(there.R, there.p, there.V + V)
            Rc, pc = joint.child_at.rotation(), np.array(joint.child_at.position)
            found[joint.child] = there.at(Rc.T, -Rc.T @ pc)
            if joint.child in self.model.flexibles:
                self.nodes(joint.child, found, q, u)
        return found

    def nodes(self, name, found, q, u):
        modes, frame = self.model.flexibles[name].modes, found[name]
        eta, rate = q[self.system.q_index(name)], u[self.system.u_index(name)]
        nodal = getattr(modes, "nodal", None) if modes.fidelity != "ruthless" else None
        for k, node in enumerate(modes.nodes):
            if nodal is not None:
                place, D, turn, spin = nodal.node(k, eta)
                there = frame.at(np.eye(3), place)
                there = Frame(there.R, there.p, there.V + np.concatenate([spin @ rate, D @ rate]))
                found[f"{name}/{node}"] = there.at(turn, np.zeros(3))
                continue
            place = modes.r[k] + modes.phi[k] @ eta + 0.5 * np.einsum("iab,a,b->i", modes.Q[k], eta, eta)
            moved = modes.phi[k] @ rate + np.einsum("iab,a,b->i", modes.Q[k], eta, rate)
            t = modes.psi[k] @ eta + 0.5 * np.einsum("iab,a,b->i", modes.psi2[k], eta, eta)
            dt = modes.psi[k] @ rate + np.einsum("iab,a,b->i", modes.psi2[k], eta, rate)
            s = 1 / (1 + t @ t / 4)
            turn, w = cayley(t), s * (dt + np.cross(t, dt) / 2)
            if modes.fidelity == "ruthless":  # constant columns: it turns by psi eta', which cayley(t) follows nearly
                turn, w = cayley(t.real) + 1j * skew(t.imag) @ cayley(t.real), dt
                turn = turn if np.iscomplexobj(t) else turn.real
            there = frame.at(np.eye(3), place)
            there = Frame(there.R, there.p, there.V + np.concatenate([w, moved]))
            found[f"{name}/{node}"] = there.at(turn, np.zeros(3))

    # ------------------------------------------------------------ one body

    def mass(self, name, eta):
        """M over [v; eta'] of a body, at a deformation"""
        if name in self.model.bodies:
            b = self.model.bodies[name]
            C, I = skew(np.array(b.com)), np.array(b.inertia)
            return np.block([[I - b.mass * C @ C, b.mass * C], [-b.mass * C, b.mass * np.eye(3)]])
        x = self.model.flexibles[name].modes
        if x.fidelity != "ruthless":
            return x.nodal.mass(eta)
        eta = 0 * eta
        h = x.h0 + x.h1 @ eta + 0.5 * np.einsum("iab,a,b->i", x.h2, eta, eta)
        J = x.J0 + np.einsum("aij,a->ij", x.J1, eta) + 0.5 * np.einsum("abij,a,b->ij", x.J2, eta, eta)
        Ct, Cr = x.Ct0 + np.einsum("aib,a->ib", x.Ct1, eta), x.Cr0 + np.einsum("aib,a->ib", x.Cr1, eta)
        H = skew(h)
        return np.block([[J, H, Cr], [-H, x.mass * np.eye(3), Ct], [Cr.T, Ct.T, x.Mff]])

    def state(self, name, frames, q, u):
        V = frames[name].V
        if name in self.model.bodies:
            return V, np.zeros(0)
        return np.concatenate([V, u[self.system.u_index(name)]]), q[self.system.q_index(name)]

    def energy_slope(self, name, y, eta):
        """dT/deta at fixed velocities"""
        out = np.zeros(len(eta))
        for a in range(len(eta)):
            moved = eta.astype(complex)
            moved[a] += 1j * STEP
            out[a] = (0.5 * y @ self.mass(name, moved) @ y).imag / STEP
        return out

    def needed(self, name, frames, ahead, q, u, udot):
        """Force (6 + n) that the motion of a body takes, with gravity; ``ahead`` is a complex step later"""
        y, eta = self.state(name, frames, q, u)
        later, deformed = ahead
        g = np.concatenate([np.zeros(3), frames[name].R.T @ np.array(self.model.gravity), np.zeros(len(eta))])
        modes = self.model.flexibles[name].modes if name in self.model.flexibles else None
        if modes is not None and modes.fidelity == "ruthless":  # (B1): no eta, no eta'
            M = self.mass(name, eta)
            V, a = y[:6], (later[:6]).imag / STEP
            F = M @ np.concatenate([a, udot[self.system.u_index(name)]])
            F[:6] += cross_force(V, M[:6, :6] @ V)
            F[6:] += M[6:, 3:6] @ np.cross(V[:3], V[3:])
            F[6:] -= 0.5 * np.einsum("aij,i,j->a", modes.J1, V[:3], V[:3])
        else:
            M = self.mass(name, eta)
            p = M @ y
            F = (self.mass(name, deformed) @ later).imag / STEP
            F[:6] += cross_force(y[:6], p[:6])
            F[6:] -= self.energy_slope(name, y, eta)
        F -= M @ g
        if modes is not None:
            F[6:] += modes.K @ eta + modes.D @ u[self.system.u_index(name)]
        return F

    # ------------------------------------------------------------ all of them

    def columns(self, q):
        """(6 + n, nu) of every body, and (6, nu) of every frame, from unit velocities"""
        nu = self.system.nu
        moved = [self.motion(q, e) for e in np.eye(nu)]
        names = [*self.model.bodies, *self.model.flexibles]
        bodies = {
            b: np.array([self.state(b, f, q, e)[0] for f, e in zip(moved, np.eye(nu), strict=True)]).T for b in names
        }
        return bodies, {name: np.array([f[name].V for f in moved]).T for name in moved[0]}

    def torques(self, q, u, udot, wrenches=None):
        """tau that gives udot; wrenches by body in world axes, at its origin"""
        qc, uc = q + 1j * STEP * self.rates(q, u), u + 1j * STEP * udot
        frames, ahead = self.motion(q, u), self.motion(qc, uc)
        bodies, every = self.columns(q)
        tau = np.zeros(self.system.nu)
        for joint in self.model.joints.values():
            if joint.kind != "fixed":
                rows = self.system.u_index(joint.name)
                tau[rows] += joint.armature * udot[rows]
        for name, J in bodies.items():
            tau += J.T @ self.needed(name, frames, self.state(name, ahead, qc, uc), q, u, udot)
        for name, w in (wrenches or {}).items():
            R = frames[name].R
            tau -= every[name].T @ np.concatenate([R.T @ w[:3], R.T @ w[3:]])
        return tau

    def mass_matrix(self, q):
        M = np.zeros((self.system.nu,) * 2)
        for name, J in self.columns(q)[0].items():
            eta = q[self.system.q_index(name)] if name in self.model.flexibles else np.zeros(0)
            M += J.T @ self.mass(name, eta) @ J
        for joint in self.model.joints.values():
            if joint.kind != "fixed":
                for n in range(*self.system.u_index(joint.name).indices(self.system.nu)):
                    M[n, n] += joint.armature
        return M
