"""MuJoCo, built from our Model."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import numpy as np

from whippletree.model import JOINT_KINDS, Model
from whippletree.model.pose import quaternion_from_matrix

from ..bench.measure import Call
from .links import CannotHold, Coordinates, Held, Link, links, rotation, same_sign

LARGEST_FACTOR = 5e8  # multiplications that factoring the mass matrix may take: about half a second


class Mujoco:
    """``mj_forward``, ``mj_inverse``, ``mj_makeM`` with ``mj_fullM``, and ``mujoco.rollout``.

    Contacts, limits, damping and sensors are off.
    """

    name, package = "mujoco", "mujoco"
    on = frozenset({"mjDSBL_GRAVITY"})

    def __init__(
        self, model: Model, system: Any, tree: list[Link] | None = None, close: Callable[..., None] | None = None
    ) -> None:
        """``close(spec, bodies)`` may add to the tree before it is compiled."""
        import mujoco

        self.ours, self.system, tree = model, system, links(model) if tree is None else tree
        depth: list[int] = []
        for x in tree:
            depth.append(JOINT_KINDS[x.kind][1] + (depth[x.parent] if x.parent >= 0 else 0))
            if x.kind == "free" and x.parent >= 0:
                raise CannotHold("free joint that does not stand on ground")
        if sum(JOINT_KINDS[x.kind][1] * d * d for x, d in zip(tree, depth, strict=True)) > LARGEST_FACTOR:
            raise CannotHold("its factorization of the mass matrix would take seconds")
        self.mj, spec = mujoco, mujoco.MjSpec()
        bodies: list[Any] = []
        spec.option.gravity = model.gravity
        for x in tree:
            on = bodies[x.parent] if x.parent >= 0 else spec.worldbody
            bodies.append(self._add(on, x))
        if close is not None:
            close(spec, bodies)
        off = {name for name in dir(mujoco.mjtDisableBit) if name.startswith("mjDSBL_")} - self.on
        try:
            self.model = spec.compile()
        except ValueError as refusal:
            raise CannotHold(str(refusal).splitlines()[0].removeprefix("Error: ")) from None
        self.model.opt.disableflags = sum(int(getattr(mujoco.mjtDisableBit, name)) for name in off)
        joints = [self.model.joint(x.joint) for x in tree]
        self.to = Coordinates(tree, system, [(int(j.qposadr[0]), int(j.dofadr[0])) for j in joints], self._hold)

    def _add(self, on: Any, x: Link) -> Any:
        types, align = self.mj.mjtJoint, self.mj.mjtAlignFree.mjALIGNFREE_FALSE
        kinds = {"revolute": types.mjJNT_HINGE, "prismatic": types.mjJNT_SLIDE, "spherical": types.mjJNT_BALL}
        moments, turn = np.linalg.eigh(x.inertia)
        turn[:, 2] *= np.sign(np.linalg.det(turn))
        body = on.add_body(pos=x.at.p, quat=quaternion_from_matrix(x.at.R), explicitinertial=True, mass=x.mass)
        body.ipos, body.inertia, body.iquat = x.com, moments, quaternion_from_matrix(turn)
        kind = kinds.get(x.kind, types.mjJNT_FREE)
        body.add_joint(name=x.joint, type=kind, axis=(0, 0, 1), armature=x.armature, align=align)
        return body

    @staticmethod
    def _hold(link: Link, q: np.ndarray) -> Held:
        """A free joint has its pose in the world, and its velocities are [linear in world axes; angular in body
        axes].
        """
        if link.kind == "spherical":
            return Held(q, np.eye(3))
        R, T = link.at.R @ rotation(q[3:]), np.zeros((6, 6))
        T[:3, 3:], T[3:, :3] = R, np.eye(3)
        return Held(np.concatenate((link.at.R @ q[:3] + link.at.p, quaternion_from_matrix(R))), T, still=True)

    def forward(self, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> list[Call]:
        d, to = self.mj.MjData(self.model), self.to
        d.qpos[:], d.qvel[:], d.qfrc_applied[:] = to.q(q), to.turn(q, u), to.turn(q, tau)
        run = partial(self.mj.mj_forward, self.model, d)
        return [Call("mujoco", run, lambda: to.back_udot(q, u, (run(), d.qacc.copy())[1]))]

    def inverse(self, q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> list[Call]:
        d, to = self.mj.MjData(self.model), self.to
        d.qpos[:], d.qvel[:], d.qacc[:] = to.q(q), to.turn(q, u), to.turn_udot(q, u, udot)
        run = partial(self.mj.mj_inverse, self.model, d)
        return [Call("mujoco", run, lambda: to.back(q, (run(), d.qfrc_inverse.copy())[1]))]

    def rollout(self, q: np.ndarray, u: np.ndarray, h: float, steps: int, threads: int) -> list[Call]:
        """``mujoco.rollout`` with its pool kept, its output given and its checks skipped."""
        from mujoco.rollout import Rollout

        mj, m, to = self.mj, copy(self.model), self.to
        m.opt.timestep, m.opt.integrator = h, mj.mjtIntegrator.mjINT_RK4
        size = mj.mj_stateSize(m, mj.mjtState.mjSTATE_FULLPHYSICS)  # time, qpos, qvel
        first, out = np.zeros((len(q), size)), np.empty((len(q), steps, size))
        first[:, 1:] = [np.concatenate((to.q(a), to.turn(a, b))) for a, b in zip(q, u, strict=True)]
        pool = Rollout(nthread=threads if threads > 1 else 0)
        data, sensors = [mj.MjData(m) for _ in range(threads)], np.empty((len(q), steps, m.nsensordata))
        keep = {"nstep": steps, "state": out, "sensordata": sensors, "skip_checks": True}
        run = partial(pool.rollout, [m] * len(q), data, first, **keep)

        def value() -> np.ndarray:
            run()
            q_end = np.array([self._back_q(x) for x in out[:, -1, 1 : 1 + m.nq]])
            u_end = np.array([to.back(a, x) for a, x in zip(q_end, out[:, -1, 1 + m.nq :], strict=True)])
            return np.hstack((same_sign(self.ours, self.system, q_end), u_end))

        return [Call("mujoco", run, value)]

    def _back_q(self, x: np.ndarray) -> np.ndarray:
        """Our configuration from its own."""
        to = self.to
        q = np.zeros(self.system.nq)  # with loops, of more joints than its tree has
        q[to.q_ours] = x[to.q_peer]
        for link, qs, _, start, _ in to.many:
            held = x[start : start + qs.stop - qs.start]
            if link.kind == "free":
                R, p = link.at.R.T, held[:3]
                held = np.concatenate((R @ (p - link.at.p), quaternion_from_matrix(R @ rotation(held[3:]))))
            q[qs] = held
        return q

    def mass(self, q: np.ndarray) -> list[Call]:
        mj, m, d, to = self.mj, self.model, self.mj.MjData(self.model), self.to
        d.qpos[:], M = to.q(q), np.zeros((m.nv, m.nv))

        def run() -> np.ndarray:
            mj.mj_kinematics(m, d)
            mj.mj_comPos(m, d)
            mj.mj_makeM(m, d)
            mj.mj_fullM(m, d, M)
            return M

        return [Call("mujoco", run, lambda: to.back_mass(q, run().copy()))]
