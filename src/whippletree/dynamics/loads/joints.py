"""Loads of all joints and constraints in a state whose accelerations are known: Newton and Euler body by body, O(n).

From the tips to ground, a joint carries what all bodies beyond it need for their accelerations and do not get from
elsewhere. Model bodies are taken one by one, so that welds have loads too. Joints that close loops and constraints are
such an elsewhere: their multipliers come first (constraints/forces.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ...joints import KINDS
from ...layout.forces import SHIFT
from ...model import Between, Drive, Joint, Pose, force_kind
from ...system.system import System
from ..constraints.cut_joints import dof_axes, ends_of
from ..constraints.forces import Held
from ..dispatch import evaluate
from ..kinematics import Kinematics, kinematics
from ..tree.newton_euler import body_accelerations, motion_workspace
from . import joint_arrays
from .applied import loads
from .flexible import force_needed


class Load(NamedTuple):
    """Of one joint or constraint, on its second body; of one state, or of B states in front."""

    wrench: np.ndarray  # (6)   [torque; force] in world axes at the point, without what acts along DOF
    along: np.ndarray  # (n)    the rest: what acts along each DOF
    point: np.ndarray  # (3)    origin of the joint's frame on the second body, in the world
    axes: np.ndarray  # (3, 3)  of that frame


class Link(NamedTuple):
    """What a coupling or constraint does to its second body."""

    wrench: np.ndarray  # (columns, 6)
    point: np.ndarray  # (3)
    axes: np.ndarray  # (3, 3)


def joint_reactions(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    udot: np.ndarray,
    held: Held,
    wrenches: Mapping[str, Any] | None = None,
    t: float | np.ndarray = 0.0,
) -> dict[str, Load]:
    """Of checked states and how constraints hold them: joints as they were written, then couplings and constraints."""
    k = kinematics(system, q, u)
    bodies = Bodies(system, k, 1)
    accelerations = evaluate(body_accelerations, motion_workspace, system, [q, u, udot], 6 * system.nb)
    bodies.need(accelerations)
    for flexible in system.flexible.bodies.values() if system.flexible else ():
        a = accelerations[..., 6 * flexible.body : 6 * flexible.body + 6]
        row = bodies.table.entered[flexible.name]
        bodies.lacks[..., row, 0, :] += force_needed(system, k, flexible, a, q, udot)
    for name, value in (wrenches or {}).items():
        given = np.broadcast_to(np.asarray(value, float), (*q.shape[:-1], 6))
        bodies.act(name, k.position(name), given[..., :3], given[..., 3:])
    ledger = loads(system, q, u, t).ledger if system.forces.any else np.zeros((*q.shape[:-1], 0, 8))
    _named_forces(system, k, ledger, bodies)
    own = _forces_of_cuts(system, k, ledger)
    wrench, links = bodies.transmitted(held.rows.wrenches, held.lam[..., None], own)
    ends, table = bodies.ends, bodies.table
    along = split(table, ends, wrench)
    found = {
        name: Load(wrench[..., n, 0, :], along[..., n, :count], ends.point[..., n, :], ends.axes[..., n, :, :])
        for (name, n), count in zip(table.joint.items(), table.count, strict=True)
    }
    for name, link in links.items():
        found[name] = Load(link.wrench[..., 0, :], link.wrench[..., 0, :0], link.point, link.axes)
    return found


class Bodies:
    """What each model body lacks, (…, bodies, columns, 6) about the point of its component; ground comes first."""

    def __init__(self, system: System, k: Kinematics, columns: int) -> None:
        self.system, self.k, self.table = system, k, joint_arrays.joint_table(system)
        self.group, self.ends = self.table.group, self.table.ends(k)
        component = np.where(self.group > 0, system.arrays["component"][self.group], 0)
        lead = k._o.shape[:-2]
        moving = k._point[..., component, :] if system.nc else np.zeros((*lead, len(self.group), 3))
        self.point = np.where((self.group > 0)[:, None], moving, 0.0)
        self.lacks = np.zeros((*lead, len(self.group), columns, 6))

    def need(self, accelerations: np.ndarray) -> None:
        """Mass times acceleration, and the rate of spin, of every body in its own motion."""
        group, table = self.group, self.table
        a = accelerations.reshape(*accelerations.shape[:-1], self.system.nb, 6)[..., group, :]
        v, R = self.k._v[..., group, :], self.k._R[..., group, :, :]
        c = self.k._near[..., group, :] + joint_arrays.times(R, table.com)
        J = R @ table.inertia @ np.swapaxes(R, -1, -2)
        w, rate = v[..., :3], a[..., :3]
        F = a[..., 3:] + np.cross(w, v[..., 3:]) + np.cross(rate, c) + np.cross(w, np.cross(w, c))
        F = F * table.mass[:, None]
        T = joint_arrays.times(J, rate) + np.cross(w, joint_arrays.times(J, w)) + np.cross(c, F)
        self.lacks[..., 0, :] = np.concatenate([T, F], axis=-1)

    def act(self, name: str, at: np.ndarray, torque: Any, force: np.ndarray, column: Any = 0) -> None:
        """A torque, and a force at a point of the world, on a body or frame."""
        n = self.table.row[name]
        lever = at - self.point[..., n, :]
        if not isinstance(column, int):
            lever = lever[..., None, :]
        self.lacks[..., n, column, :3] -= torque + np.cross(lever, force)
        self.lacks[..., n, column, 3:] -= force

    def between(self, first: str, second: str, at: np.ndarray, wrench: np.ndarray) -> None:
        """A wrench (…, columns, 6) at a point of the world on the second body, and its opposite on the first."""
        for name, sign in ((first, -1.0), (second, 1.0)):
            self.act(name, at, sign * wrench[..., :3], sign * wrench[..., 3:], np.s_[:])

    def transmitted(
        self, wrenches: np.ndarray, lam: np.ndarray, own: Mapping[str, np.ndarray]
    ) -> tuple[np.ndarray, dict[str, Link]]:
        """All that each joint does to its child, (…, joints, columns, 6) at its point; and links by name.

        From the wrenches of rows (…, nr, 2, 6), multipliers (…, nr, columns), and what forces in cut joints do.
        """
        table, points = self.table, self.ends.point
        links = _links(self, wrenches, lam)
        out = np.zeros((*self.lacks.shape[:-3], len(table.count), *self.lacks.shape[-2:]))
        out[..., table.cuts, :, :] = self._cuts(wrenches, lam, own)
        each = np.moveaxis(self.lacks, -3, 0)
        for inner, outer in zip(table.inner[::-1].tolist(), table.outer[::-1].tolist(), strict=True):
            if self.group[inner]:
                each[inner] += each[outer]
            elif inner:  # what is welded to ground has a point of its own
                each[inner] += shift(each[outer], self.point[..., outer, None, :])
        real = table.carriers >= 0
        carriers, outer_rows = table.carriers[real], table.outer[real]
        lever = self.point[..., outer_rows, :] - points[..., carriers, :]
        sign = np.where(table.child[carriers] == outer_rows, 1.0, -1.0)[:, None, None]
        carried = shift(self.lacks[..., outer_rows, :, :], lever[..., None, :])
        out[..., carriers, :, :] = sign * carried
        return out, links

    def _cuts(self, wrenches: np.ndarray, lam: np.ndarray, own: Mapping[str, np.ndarray]) -> np.ndarray:
        """(…, cuts, columns, 6) What joints that close loops do to their children, put on both their bodies."""
        table = self.table
        cuts, row = table.cuts, self.system.constraints.row[: len(table.cuts) + 1]
        parent, child, at = table.parent[cuts], table.child[cuts], self.ends.point[..., cuts, :]
        wrench = np.zeros((*lam.shape[:-2], len(cuts), lam.shape[-1], 6))
        filled = np.flatnonzero(np.diff(row))
        if filled.size:
            rows = lam[..., : row[-1], :, None] * wrenches[..., : row[-1], 1, None, :]
            wrench[..., filled, :, :] = np.add.reduceat(rows, row[filled], axis=-3)
        wrench = shift(wrench, (self.point[..., child, :] - at)[..., None, :])
        place = {name: n for n, name in enumerate(self.system.cut_joints)}
        for name, force in own.items():
            wrench[..., place[name], 0, :] += force
        each = np.moveaxis(self.lacks, -3, 0)
        for body, sign in ((parent, 1.0), (child, -1.0)):
            moved = shift(wrench, (at - self.point[..., body, :])[..., None, :])
            np.add.at(each, body, np.moveaxis(sign * moved, -3, 0))
        return wrench

    def about(self, name: str, at: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """A wrench about a body's point, moved to a point of the world."""
        return shift(wrench, (self.point[..., self.table.row[name], :] - at)[..., None, :])


def shift(wrench: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """A wrench about a point, seen from another one; the lever goes from the other to the first."""
    moved = wrench.copy()
    moved[..., :3] += np.cross(lever, wrench[..., 3:])
    return moved


def _named_forces(system: System, k: Kinematics, ledger: np.ndarray, bodies: Bodies) -> None:
    """Forces of the model that act on bodies."""
    for n, force in enumerate(system.forces.elements.values()):
        if isinstance(force, Drive):
            continue
        at = _place(k, force.body, force.at)
        torque, push = ledger[..., n, :3], ledger[..., n, 3:6]
        if force_kind(force).line:
            d = at - _place(k, force.to, force.to_at)
            push, torque = -torque[..., :1] * d / np.linalg.norm(d, axis=-1, keepdims=True), 0.0 * d
        bodies.act(force.body, at, torque, push)
        if hasattr(force, "to"):
            bodies.act(force.to, at, -torque, -push)


def _place(k: Kinematics, name: str, at: Any) -> np.ndarray:
    """A point, or the origin of a pose, of a body or frame in the world."""
    return k.position(name) + k.rotation(name) @ np.array(at if isinstance(at, tuple) else at.position)


def wrenches_of(
    system: System, q: np.ndarray, u: np.ndarray, rows: np.ndarray, lam: np.ndarray
) -> dict[str, np.ndarray]:
    """(..., 6) What multipliers ``lam`` (..., nr) of rows with these wrenches do, forces or impulses, by constraint."""
    bodies = Bodies(system, kinematics(system, q, u), 1)
    return {name: link.wrench[..., 0, :] for name, link in _links(bodies, rows, lam[..., None]).items()}


def _links(bodies: Bodies, wrenches: np.ndarray, lam: np.ndarray) -> dict[str, Link]:
    """What couplings and constraints do, put on the bodies they act on."""
    system, k = bodies.system, bodies.k
    model, rows = system.model, system.constraints.row[len(system.cut_joints) :]
    tied = [(f"{c.joint}.coupling", c) for c in model.couplings.values()]
    elements: list[tuple[str, Any]] = [*tied, *system.held.items()]
    found: dict[str, Link] = {}
    for (name, element), first, last in zip(elements, rows[:-1], rows[1:], strict=True):
        if isinstance(element, Between):
            at = _place(k, element.body, element.at)
            # (…, columns, 6) on the second body, about the point of its component
            wrench = np.einsum("...rc,...rw->...cw", lam[..., first:last, :], wrenches[..., first:last, 1, :])
            wrench = bodies.about(element.body, at, wrench)
            bodies.between(element.to, element.body, at, wrench)
            there = getattr(element, "to_at", None)  # axes are those of a pose, the second body's before the first's
            frame, pose = (element.to, there) if isinstance(there, Pose) else (element.body, element.at)
            axes = k.rotation(frame) @ pose.rotation() if isinstance(pose, Pose) else k.rotation(frame)
            found[name] = Link(wrench, at, axes)
        else:
            joint, dof = model.joints[element.joint], getattr(element, "dof", 0)
            push = _unit(k, joint, dof)[..., None, :] * lam[..., first, :, None]
            n = bodies.table.joint[joint.name]
            found[name] = Link(push, bodies.ends.point[..., n, :], bodies.ends.axes[..., n, :, :])
    return found


def _unit(k: Kinematics, joint: Joint, dof: int) -> np.ndarray:
    """(…, 6) A unit torque about the axis of a DOF that turns, a unit force along that of one that shifts."""
    kind, ends = KINDS[joint.kind], ends_of(k, joint)
    if not kind.coded:
        return joint_arrays.unit_wrench(
            joint_arrays.joint_motions(k, joint, ends.A, ends.B)[dof], kind.dofs[dof][0] < SHIFT
        )
    axis = dof_axes(ends, joint)[dof]
    turns = KINDS[joint.kind].dofs[dof][0] < SHIFT
    return np.concatenate([axis, np.zeros_like(axis)] if turns else [np.zeros_like(axis), axis], axis=-1)


def _forces_of_cuts(system: System, k: Kinematics, ledger: np.ndarray) -> dict[str, np.ndarray]:
    """(…, 6) What motors, springs, dampers, friction and joint limits of a joint that closes a loop do to its child."""
    found: dict[str, np.ndarray] = {}
    for name, forces in system.forces.at_cuts.items():
        joint = system.model.joints[name]
        found[name] = np.zeros((*ledger.shape[:-2], 6))
        for row, dof in forces:
            whole = dof < 0
            found[name] += ledger[..., row, :6] if whole else ledger[..., row, :1] * _unit(k, joint, dof)
    return found


def split(table: joint_arrays.JointTable, ends: joint_arrays.Ends, wrench: np.ndarray) -> np.ndarray:
    """Takes what acts along DOF off wrenches (…, joints, columns, 6); returns that of the first column."""
    along = np.zeros((*wrench.shape[:-2], 6))
    for n, dofs in enumerate(table.dofs):
        own = dofs.joints
        frame = np.where(dofs.on_child[:, None, None], ends.B[..., own, :, :], ends.A[..., own, :, :])
        axis, turns = joint_arrays.times(frame, dofs.pick), dofs.turns[:, None]
        unit = np.concatenate([turns * axis, (1.0 - turns) * axis], axis=-1)
        motion = unit.copy()
        motion[..., 3:] += dofs.pitch[:, None] * unit[..., :3]
        part = wrench[..., own, :, :]
        force = (motion[..., None, :] * part).sum(axis=-1)
        wrench[..., own, :, :] = part - force[..., None] * unit[..., None, :]
        if wrench.shape[-2]:
            along[..., own, n] = force[..., 0]
    for j, joint in table.special:
        for n, motion in enumerate(ends.motions[j]):
            unit = joint_arrays.unit_wrench(motion, KINDS[joint.kind].dofs[n][0] < SHIFT)
            force = (motion[..., None, :] * wrench[..., j, :, :]).sum(axis=-1)
            wrench[..., j, :, :] -= force[..., None] * unit[..., None, :]
            if wrench.shape[-2]:
                along[..., j, n] = force[..., 0]
    return along
