"""The same MJCF in MuJoCo itself: states, mass matrix, bias force and accelerations in our coordinates."""

import mujoco
import numpy as np

from whippletree.model import Pose
from whippletree.model.pose import quaternion_from_matrix


class Peer:
    """MuJoCo with nothing switched on but gravity: no contact, spring, damper, limit, actuator, fluid or constraint."""

    def __init__(self, m, system, names=None):
        self.m, self.system = m, system
        bits = [int(getattr(mujoco.mjtDisableBit, b)) for b in dir(mujoco.mjtDisableBit) if b.startswith("mjDSBL_")]
        gravity = int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        m.opt.disableflags = (sum(bits) & ~gravity) | (m.opt.disableflags & gravity)
        m.opt.density = m.opt.viscosity = 0.0
        m.body_gravcomp[:] = 0.0
        self.data = mujoco.MjData(m)
        self.joints = [m.joint(j).name or f"joint{j}" for j in range(m.njnt)]

    def _parts(self):
        for j, name in enumerate(self.joints):
            kind = self.system.model.joints[name].kind
            size = {"free": (7, 6), "spherical": (4, 3)}.get(kind, (1, 1))
            starts = self.m.jnt_qposadr[j], self.m.jnt_dofadr[j]
            rows, columns = (slice(s, s + n) for s, n in zip(starts, size, strict=True))
            yield name, kind, rows, columns, self.system.q_index(name), self.system.u_index(name)

    def state(self, q, u):
        """qpos; T with qvel = T u; and dT/dt u.

        A free joint has its pose in the world, linear speed in world axes and angular speed in body axes.
        """
        m = self.m
        qpos, T, rest = m.qpos0.copy(), np.zeros((m.nv, m.nv)), np.zeros(m.nv)
        for name, kind, rows, columns, mine, velocities in self._parts():
            T[columns, velocities] = np.eye(columns.stop - columns.start)
            if kind == "free":
                at = self.system.model.joints[name].at
                R = at.rotation() @ Pose(quaternion=tuple(q[mine][3:])).rotation()
                qpos[rows] = *(at.position + at.rotation() @ q[mine][:3]), *quaternion_from_matrix(R)
                T[columns, velocities] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
                rest[columns][:3] = R @ np.cross(u[velocities][:3], u[velocities][3:])
            else:
                qpos[rows] = q[mine] if kind == "spherical" else m.qpos0[rows] + q[mine]
        return qpos, T, rest

    def answers(self, q, u, tau):
        """Mass matrix, bias force, accelerations, and the positions and rotations of the bodies by name."""
        m, d = self.m, self.data
        qpos, T, rest = self.state(q, u)
        mujoco.mj_resetData(m, d)
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = qpos, T @ u, np.linalg.solve(T.T, tau)
        mujoco.mj_forward(m, d)
        M = np.zeros((m.nv, m.nv))
        mujoco.mj_fullM(m, d, M) if int(mujoco.__version__.split(".")[0]) > 3 else mujoco.mj_fullM(m, M, d.qM)
        poses = {m.body(i).name or f"body{i}": (d.xpos[i], d.xmat[i].reshape(3, 3)) for i in range(1, m.nbody)}
        udot = np.linalg.solve(T, d.qacc - rest)
        return T.T @ M @ T, T.T @ (d.qfrc_bias + M @ rest), udot, poses
