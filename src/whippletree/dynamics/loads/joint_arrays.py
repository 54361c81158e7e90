"""The joints and bodies of a model as arrays, found once: loads of all joints then take a few array operations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...joints import KINDS
from ...layout.forces import ON_CHILD, SHIFT
from ...model import Joint
from ...system.joint_frames import joint_frame
from ...system.system import System
from ..kinematics import Kinematics


class Dofs(NamedTuple):
    """The first DOF of all joints that have one, or the second, and so on."""

    joints: np.ndarray  # (n)
    on_child: np.ndarray  # (n)  whether its axis is one of the child's frame
    pick: np.ndarray  # (n, 3)   the axis in that frame
    turns: np.ndarray  # (n)     1 for a rotation, 0 for a displacement
    pitch: np.ndarray  # (n)     of a screw


class Ends(NamedTuple):
    """Where joints are, in one state or in B states in front."""

    A: np.ndarray  # (nj, 3, 3)  axes of the frame on the parent
    B: np.ndarray  # (nj, 3, 3)  and on the child; the joint's axis is z
    point: np.ndarray  # (nj, 3) the origin of the one on the child
    axes: np.ndarray  # (nj, 3, 3)  as the user wrote that one
    motions: dict[int, list[np.ndarray]]  # (6) of each DOF of joints whose axes are none of A and B, at the point


class JointTable:
    """Rows of bodies are those of ``system.bodies``, rows of joints those of the model."""

    def __init__(self, system: System) -> None:
        model = system.model
        joints = list(model.joints.values())
        self.row = {name: n for n, name in enumerate(system.bodies)}
        for flexible in model.flexibles.values():
            self.row[f"{flexible.name}/{flexible.modes.inboard}"] = self.row[flexible.name]
        self.row |= {frame.name: self.row[frame.body] for frame in model.frames.values()}
        self.group = np.array([system.topology.group[name] for name in system.bodies])
        self.mass = np.zeros(len(system.bodies))  # of rigid ones
        self.mass[1 : 1 + len(model.bodies)] = [body.mass for body in model.bodies.values()]
        self.com, self.inertia = np.zeros((len(self.mass), 3)), np.zeros((len(self.mass), 3, 3))
        for n, body in enumerate(model.bodies.values(), start=1):  # in the axes of the system's body
            _, R, p = system.place(body.name)
            self.com[n] = R @ np.array(body.com) + p
            self.inertia[n] = R @ np.array(body.inertia) @ R.T
        self.joint = {joint.name: n for n, joint in enumerate(joints)}
        self.parent = np.array([self.row[joint.parent] for joint in joints], int)
        self.child = np.array([self.row[joint.child] for joint in joints], int)
        self.A, self.B, self.axes = (np.zeros((len(joints), 3, 3)) for _ in range(3))
        self.at = np.zeros((len(joints), 3))
        for n, joint in enumerate(joints):
            frame = joint_frame(joint, False)
            self.A[n] = system.place(joint.parent)[1] @ joint.at.rotation() @ frame
            _, R, p = system.place(joint.child)
            self.axes[n] = R @ joint.child_at.rotation()
            self.B[n] = self.axes[n] @ frame
            self.at[n] = R @ np.array(joint.child_at.position) + p
        self.dofs = self._dofs([(joint.kind, joint.pitch) for joint in joints])
        self.special = [(n, joint) for n, joint in enumerate(joints) if not KINDS[joint.kind].coded]
        self.count = [KINDS[joint.kind].nu for joint in joints]
        self.cuts = np.array([self.joint[name] for name in system.cut_joints], int)
        self.carriers, self.inner, self.outer = self._walk(system)

    @staticmethod
    def _dofs(kinds: list[tuple[str, float]]) -> list[Dofs]:
        found = []
        for n in range(6):
            own = [j for j, (kind, _) in enumerate(kinds) if KINDS[kind].nu > n and KINDS[kind].coded]
            codes = np.array([KINDS[kinds[j][0]].dofs[n][0] for j in own], int)
            pitch = np.array([kinds[j][1] for j in own])
            turns = (codes < SHIFT).astype(float)
            if own:
                found.append(Dofs(np.array(own), codes % SHIFT >= ON_CHILD, np.eye(3)[codes % 3], turns, pitch))
        return found

    def _walk(self, system: System) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """From ground to the tips: each joint that carries a body, the rows of the body before it and of its own.

        A node is carried by the node where the tree enters its body, and by no joint, -1.
        """
        at: dict[int, list[tuple[int, int]]] = {}
        topology = system.topology
        links = [(self.joint[j.name], j.parent, j.child) for j in (weld for weld, _ in topology.welds)]
        self.entered: dict[str, int] = {}  # row of the node that carries a flexible body
        for edge in topology.edges:
            own = f"{edge.flexible}/{edge.node}"
            if not edge.flexible:
                links.append((self.joint[edge.joint.name], edge.joint.parent, edge.joint.child))
            elif edge.joint.kind == "modes":
                self.entered[edge.flexible], carrier = self.row[own], own
            else:
                links.append((-1, carrier, own))
        for n, a, b in ((n, self.row[inner], self.row[outer]) for n, inner, outer in links):
            at.setdefault(a, []).append((n, b))
            at.setdefault(b, []).append((n, a))
        found, seen = [], {0}
        waiting = [0]
        while waiting:
            inner = waiting.pop()
            for n, outer in at.get(inner, ()):
                if outer not in seen:
                    seen.add(outer)
                    found.append((n, inner, outer))
                    waiting.append(outer)
        carriers, inner_rows, outer_rows = np.array(found, int).reshape(-1, 3).T
        return carriers, inner_rows, outer_rows

    def ends(self, k: Kinematics) -> Ends:
        """Where all joints are."""
        a, b = self.group[self.parent], self.group[self.child]
        R = k._R[..., b, :, :]
        A, B, point = k._R[..., a, :, :] @ self.A, R @ self.B, k._o[..., b, :] + times(R, self.at)
        motions = {n: joint_motions(k, joint, A[..., n, :, :], B[..., n, :, :]) for n, joint in self.special}
        return Ends(A, B, point, R @ self.axes, motions)


def joint_motions(k: Kinematics, joint: Joint, A: np.ndarray, B: np.ndarray) -> list[np.ndarray]:
    """(..., 6) The motion of the child against the parent for a unit of each speed, at the child's frame."""
    system, kind = k.system, KINDS[joint.kind]
    if joint.name in system.cut_joints:  # axes of rotation that are at right angles
        axes = [e / (e * e).sum(axis=-1, keepdims=True) for e in kind.dof_axes(A, B)]
        return [np.concatenate([e, np.zeros_like(e)], axis=-1) for e in axes]
    found, sign = [], system.arrays["sign"][system.joint_body(joint.name)]
    lever = k.lever(joint.child, joint.child_at.position)
    for j in range(*system.u_index(joint.name).indices(system.nu)):
        S = sign * k._S[..., j, :]
        found.append(np.concatenate([S[..., :3], S[..., 3:] + np.cross(S[..., :3], lever)], axis=-1))
    return found


def unit_wrench(motion: np.ndarray, turns: bool) -> np.ndarray:
    """(..., 6) The torque, or the force, alone along a motion that has unit power in it."""
    part = motion[..., :3] if turns else motion[..., 3:]
    part = part / (part * part).sum(axis=-1, keepdims=True)
    return np.concatenate([part, np.zeros_like(part)] if turns else [np.zeros_like(part), part], axis=-1)


def times(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Matrices (…, 3, 3) times vectors (…, 3)."""
    return np.asarray((R @ x[..., None])[..., 0])


def joint_table(system: System) -> JointTable:
    """Of a System; found once."""
    found = system.workspaces.of_tree.get("joints")
    if found is None:
        found = system.workspaces.of_tree["joints"] = JointTable(system)
    return found
