"""A Model of the tests built in Pinocchio, by hand and joint by joint.

Pinocchio knows no reversed joints, and its spherical and free joints turn quaternions [x, y, z, w] and list linear
before angular. ``T`` relates the velocities, v = T u; a joint written towards ground has the inverse motion:

    revolute, prismatic, screw, cylindrical   the same joint about the opposite axis
    universal, planar                         the simple joints it is made of, opposite and in opposite order
    spherical, free                           T = -Ad of the child frame in the parent frame

T changes with q, but T u does not while u is constant (V x V = 0), so that also vdot = T udot.
"""

import numpy as np
import pinocchio as pin
import pytest

from reference import SIZES, matrix, plane, skew


def placement(pose):
    return pin.SE3(matrix(pose.quaternion), np.array(pose.position))


def simple(kind, axis, pitch=0.0):
    if kind == "prismatic":
        return pin.JointModelPrismaticUnaligned(*map(float, axis))
    if kind == "screw":
        return pin.JointModelHelicalUnaligned(*map(float, axis), float(pitch))
    return pin.JointModelRevoluteUnaligned(*map(float, axis))


def composite(parts, sign):
    joint = pin.JointModelComposite()
    for kind, axis in parts[::sign]:
        joint.addJoint(simple(kind, sign * axis), pin.SE3.Identity())
    return joint


def pin_joint(joint, sign):
    a, b = np.array(joint.axis), np.array(joint.axis2)
    match joint.kind:
        case "spherical":
            return pin.JointModelSpherical()
        case "free":
            return pin.JointModelFreeFlyer()
        case "cylindrical":
            return composite([("revolute", a), ("prismatic", a)], sign)
        case "universal":
            return composite([("revolute", a), ("revolute", b)], sign)
        case "planar":
            e1, e2 = plane(a)
            return composite([("prismatic", e1), ("prismatic", e2), ("revolute", a)], sign)
        case "homokinetic" | "curve":
            pytest.skip("Pinocchio has no such joint")
        case kind:
            return simple(kind, sign * a, joint.pitch)


class PinModel:
    """Pinocchio's model of a tree; ``reference`` gives the walk from ground and the order of columns."""

    def __init__(self, model, reference):
        self.reference = reference
        self.pin = pin.Model()
        self.pin.gravity.linear = np.array(model.gravity)
        places = {"ground": (0, pin.SE3.Identity())}  # body: joint that carries it, placement on it
        self.ids = {}
        for joint, outward in reference.walk:
            near, far = (joint.parent, joint.child) if outward else (joint.child, joint.parent)
            first, last = (joint.at, joint.child_at) if outward else (joint.child_at, joint.at)
            carrier, offset = places[near]
            if joint.kind == "fixed":
                places[far] = carrier, offset * placement(first) * placement(last).inverse()
            else:
                sign = 1 if outward else -1
                made = pin_joint(joint, sign)
                k = self.pin.addJoint(carrier, made, offset * placement(first), joint.name)
                self.ids[joint.name] = k, sign
                places[far] = k, placement(last).inverse()
            self._add_body(model.bodies[far], *places[far])
        self.pin.armature = np.zeros(self.pin.nv)
        for name, (k, _) in self.ids.items():
            self.pin.armature[self._columns(k)] = model.joints[name].armature
        self.data = self.pin.createData()

    def _add_body(self, body, k, offset):
        inertia = pin.Inertia(body.mass, np.array(body.com), np.array(body.inertia))
        self.pin.appendBodyToJoint(k, inertia, offset)
        self.pin.addFrame(pin.Frame(body.name, k, 0, offset, pin.FrameType.BODY))

    def _columns(self, k):
        joint = self.pin.joints[k]
        return slice(joint.idx_v, joint.idx_v + joint.nv)

    def q(self, q):
        """Pinocchio's q from a dict joint name -> numbers."""
        out = np.empty(self.pin.nq)
        for name, (k, sign) in self.ids.items():
            joint, x = self.pin.joints[k], np.atleast_1d(np.asarray(q[name], float))
            kind = self.reference.model.joints[name].kind
            if kind in ("spherical", "free"):
                w, p = x[-4], sign * x[-3:]
                shift = x[:-4] if sign > 0 or kind == "spherical" else -matrix(x[-4:]).T @ x[:-4]
                x = np.concatenate([shift, p, [w]])
            elif kind in ("universal", "planar", "cylindrical"):
                x = x[::sign]
            out[joint.idx_q : joint.idx_q + joint.nq] = x
        return out

    def T(self, q):
        """v = T u, with the columns of the reference."""
        out = np.zeros((self.pin.nv, self.reference.nu))
        for name, (k, sign) in self.ids.items():
            kind = self.reference.model.joints[name].kind
            n = SIZES[kind][1]
            block = np.eye(n)
            if kind == "spherical" and sign < 0:
                block = -matrix(q[name])
            elif kind == "free":
                block = np.eye(6)[[3, 4, 5, 0, 1, 2]]  # linear first
                if sign < 0:
                    E, p = matrix(q[name][3:]), np.asarray(q[name][:3])
                    block = np.block([[skew(p) @ E, E], [E, np.zeros((3, 3))]]) * -1
            elif kind in ("universal", "planar", "cylindrical"):
                block = np.eye(n)[::sign]
            out[self._columns(k), self.reference.columns[name]] = block
        return out

    def mass_matrix(self, q):
        M = pin.crba(self.pin, self.data, self.q(q))
        M = np.triu(M) + np.triu(M, 1).T
        T = self.T(q)
        return T.T @ M @ T

    def inverse(self, q, u, udot):
        T = self.T(q)
        return T.T @ pin.rnea(self.pin, self.data, self.q(q), T @ u, T @ udot)

    def bias(self, q, u):
        return self.inverse(q, u, np.zeros(self.reference.nu))

    def forward(self, q, u, tau, convention=pin.Convention.LOCAL):
        T = self.T(q)
        force = np.linalg.solve(T.T, tau)
        return np.linalg.solve(T, pin.aba(self.pin, self.data, self.q(q), T @ u, force, convention=convention))

    def jacobian(self, q, body):
        """[angular; linear] of a body's origin, world axes."""
        k = self.pin.getFrameId(body, pin.FrameType.BODY)
        J = pin.computeFrameJacobian(self.pin, self.data, self.q(q), k, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        J = J.reshape(6, self.pin.nv)
        return np.vstack([J[3:], J[:3]]) @ self.T(q)

    def place(self, q, body):
        k = self.pin.getFrameId(body, pin.FrameType.BODY)
        pin.framesForwardKinematics(self.pin, self.data, self.q(q))
        return self.data.oMf[k].translation.copy(), self.data.oMf[k].rotation.copy()

    def energies(self, q, u):
        """Kinetic energy without rotors (Pinocchio counts them for some kinds only), and potential energy."""
        bare = self.pin.copy()
        bare.armature = np.zeros(bare.nv)
        kinetic = pin.computeKineticEnergy(bare, bare.createData(), self.q(q), self.T(q) @ u)
        return kinetic, pin.computePotentialEnergy(self.pin, self.data, self.q(q))

    def momentum(self, q, u):
        """[angular about the world origin; linear]."""
        pin.computeCentroidalMomentum(self.pin, self.data, self.q(q), self.T(q) @ u)
        linear = self.data.hg.linear.copy()
        com = pin.centerOfMass(self.pin, self.data, self.q(q))
        return np.concatenate([self.data.hg.angular + np.cross(com, linear), linear])
