"""Loads of all joints and constraints in a state whose accelerations are known: Newton and Euler body by body, O(n).

From the tips to ground, a joint carries what all bodies beyond it need for their accelerations and do not get from
elsewhere. Model bodies are taken one by one, so that welds have loads too. Joints that close loops and constraints are
such an elsewhere: their multipliers come first (constraint_forces.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ..kernels.force_layout import SHIFT
from ..model import Joint
from ..model.constraints import Distance, PointOnLine, PointOnPlane
from ..model.forces import Bushing, Motion, Motor, Spring
from ..system.freedoms import FREEDOMS
from ..system.system import System
from .constraint_forces import Held
from .cut_joints import Ends, ends_of, freedom_axes
from .evaluate import evaluate
from .functions import Kinematics, kinematics
from .loads import loads
from .newton_euler import body_accelerations, motion_workspace


class Load(NamedTuple):
    """Of one joint or constraint, on its second body; of one state, or of B states in front."""

    wrench: np.ndarray  # (6)   [torque; force] in world axes at the point, without what acts along freedoms
    along: np.ndarray  # (n)    the rest: what acts along each freedom
    point: np.ndarray  # (3)    origin of the joint's frame on the second body, in the world
    axes: np.ndarray  # (3, 3)  of that frame
    change: np.ndarray  # (k, 6)  of the wrench, for each multiplier that moves nothing


def joint_loads(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    udot: np.ndarray,
    held: Held,
    wrenches: Mapping[str, Any] | None = None,
    t: float | np.ndarray = 0.0,
    *,
    changes: bool = False,
) -> dict[str, Load]:
    """Of checked states and how constraints hold them, by name. With ``changes``, also those of each Load."""
    lam = held.lam[..., None]
    if changes:
        lam = np.concatenate([lam, held.null], axis=-1)
    k = kinematics(system, q, u)
    bodies = Bodies(system, k, lam.shape[-1])
    bodies.need(evaluate(body_accelerations, motion_workspace, system, [q, u, udot], 6 * system.nb))
    for name, value in (wrenches or {}).items():
        given = np.broadcast_to(np.asarray(value, float), (*q.shape[:-1], 6))
        bodies.act(name, k.position(name), given[..., :3], given[..., 3:])
    ledger = loads(system, q, u, t).ledger if system.forces.any else np.zeros((*q.shape[:-1], 0, 8))
    _named_forces(system, k, ledger, bodies)
    found = _links(system, k, ledger, held, lam, bodies)
    for joint, on_child in bodies.carried():
        ends = ends_of(k, joint)
        found[joint.name] = _split(joint, ends, k, bodies.about(joint.child, ends.point, on_child))
    return _in_order(system, found)


class Bodies:
    """What each model body lacks, (…, columns, 6) about the point of its component; ground comes first."""

    def __init__(self, system: System, k: Kinematics, columns: int) -> None:
        self.system, self.k = system, k
        self.row = {name: n for n, name in enumerate(system.bodies)}
        self.row |= {frame.name: self.row[frame.body] for frame in system.model.frames.values()}
        self.group = np.array([system.topology.group[name] for name in system.bodies])
        component = np.where(self.group > 0, system.arrays["component"][self.group], 0)
        lead = k._o.shape[:-2]
        moving = k._point[..., component, :] if system.nc else np.zeros((*lead, len(self.group), 3))
        self.point = np.where((self.group > 0)[:, None], moving, 0.0)
        self.lacks = np.zeros((len(self.group), *lead, columns, 6))

    def need(self, accelerations: np.ndarray) -> None:
        """Mass times acceleration, and the rate of spin, of every body in its own motion."""
        system, group, models = self.system, self.group[1:], list(self.system.model.bodies.values())
        a = accelerations.reshape(*accelerations.shape[:-1], system.nb, 6)[..., group, :]
        v, turn = self.k._v[..., group, :], self.k._R[..., group, :, :]
        places = [system.place(body.name) for body in models]
        R = turn @ np.array([R for _, R, _ in places]).reshape(-1, 3, 3)
        local = [R @ np.array(body.com) + p for body, (_, R, p) in zip(models, places, strict=True)]
        c = self.k._o[..., group, :] + _times(turn, np.array(local).reshape(-1, 3)) - self.point[..., 1:, :]
        J = R @ np.array([body.inertia for body in models]).reshape(-1, 3, 3) @ np.swapaxes(R, -1, -2)
        w, rate = v[..., :3], a[..., :3]
        F = a[..., 3:] + np.cross(w, v[..., 3:]) + np.cross(rate, c) + np.cross(w, np.cross(w, c))
        F = F * np.array([body.mass for body in models])[:, None]
        T = _times(J, rate) + np.cross(w, _times(J, w)) + np.cross(c, F)
        self.lacks[1:, ..., 0, :] = np.moveaxis(np.concatenate([T, F], axis=-1), -2, 0)

    def act(self, name: str, at: np.ndarray, torque: Any, force: np.ndarray, column: Any = 0) -> None:
        """A torque, and a force at a point of the world, on a body or frame."""
        n = self.row[name]
        lever = at - self.point[..., n, :]
        if not isinstance(column, int):
            lever = lever[..., None, :]
        self.lacks[n, ..., column, :3] -= torque + np.cross(lever, force)
        self.lacks[n, ..., column, 3:] -= force

    def between(self, first: str, second: str, at: np.ndarray, wrench: np.ndarray) -> None:
        """A wrench (…, columns, 6) at a point of the world on the second body, and its opposite on the first."""
        for name, sign in ((first, -1.0), (second, 1.0)):
            self.act(name, at, sign * wrench[..., :3], sign * wrench[..., 3:], np.s_[:])

    def carried(self) -> Iterator[tuple[Joint, np.ndarray]]:
        """Joints of the tree and welds, from the tips to ground, with the load on the child about its point."""
        for joint, inner, outer in reversed(self._walk()):
            load = shifted = self.lacks[outer]
            if not self.group[inner]:  # ground has a point of its own
                shifted = _shift(load, self.point[..., outer, None, :])
            if inner:
                self.lacks[inner] += shifted
            yield joint, load if self.row[joint.child] == outer else -shifted

    def _walk(self) -> list[tuple[Joint, int, int]]:
        """From ground to the tips: each joint that carries a body, the rows of the body before it and of its own."""
        at: dict[int, list[tuple[Joint, int]]] = {}
        topology = self.system.topology
        for joint in (*(weld for weld, _ in topology.welds), *(edge.joint for edge in topology.edges)):
            a, b = self.row[joint.parent], self.row[joint.child]
            at.setdefault(a, []).append((joint, b))
            at.setdefault(b, []).append((joint, a))
        found, seen = [], {0}
        waiting = [0]
        while waiting:
            inner = waiting.pop()
            for joint, outer in at.get(inner, ()):
                if outer not in seen:
                    seen.add(outer)
                    found.append((joint, inner, outer))
                    waiting.append(outer)
        return found

    def about(self, name: str, at: np.ndarray, wrench: np.ndarray) -> np.ndarray:
        """A wrench about a body's point, moved to a point of the world."""
        return _shift(wrench, (self.point[..., self.row[name], :] - at)[..., None, :])


def _times(R: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (R @ x[..., None])[..., 0]


def _shift(wrench: np.ndarray, lever: np.ndarray) -> np.ndarray:
    """A wrench about a point, seen from another one; the lever goes from the other to the first."""
    moved = wrench.copy()
    moved[..., :3] += np.cross(lever, wrench[..., 3:])
    return moved


def _named_forces(system: System, k: Kinematics, ledger: np.ndarray, bodies: Bodies) -> None:
    """Forces of the model that act on bodies."""
    for n, force in enumerate(system.forces.elements.values()):
        if isinstance(force, Motor | Motion):
            continue
        at = _place(k, force.body, force.at)
        torque, push = ledger[..., n, :3], ledger[..., n, 3:6]
        if isinstance(force, Spring):
            d = at - _place(k, force.to, force.to_at)
            push, torque = -torque[..., :1] * d / np.linalg.norm(d, axis=-1, keepdims=True), 0.0 * d
        bodies.act(force.body, at, torque, push)
        if isinstance(force, Spring | Bushing):
            bodies.act(force.to, at, -torque, -push)


def _place(k: Kinematics, name: str, at: Any) -> np.ndarray:
    """A point, or the origin of a pose, of a body or frame in the world."""
    return k.position(name) + k.rotation(name) @ np.array(at if isinstance(at, tuple) else at.position)


def _links(
    system: System, k: Kinematics, ledger: np.ndarray, held: Held, lam: np.ndarray, bodies: Bodies
) -> dict[str, Load]:
    """Loads of joints that close loops, couplings and constraints, put on the bodies they act on."""
    model, rows = system.model, system.constraints.row
    tied = [(f"{c.joint}.coupling", c) for c in model.couplings.values()]
    elements: list[tuple[str, Any]] = [*((j.name, j) for j in system.topology.cuts), *tied, *model.constraints.items()]
    found: dict[str, Load] = {}
    for (name, element), first, last in zip(elements, rows[:-1], rows[1:], strict=True):
        # (…, columns, 6) on the second body, about the point of its component
        wrench = np.einsum("...rc,...rw->...cw", lam[..., first:last, :], held.rows.wrenches[..., first:last, 1, :])
        if isinstance(element, Joint):
            ends = ends_of(k, element)
            wrench = bodies.about(element.child, ends.point, wrench)
            wrench[..., 0, :] += _own(system, element, ends, ledger)
            bodies.between(element.parent, element.child, ends.point, wrench)
            found[name] = _split(element, ends, k, wrench)
        elif isinstance(element, Distance | PointOnLine | PointOnPlane):
            at = _place(k, element.body, element.at)
            wrench = bodies.about(element.body, at, wrench)
            bodies.between(element.to, element.body, at, wrench)
            axes = k.rotation(element.body if isinstance(element, Distance) else element.to)
            if not isinstance(element, Distance):
                axes = axes @ element.to_at.rotation()
            found[name] = Load(wrench[..., 0, :], wrench[..., 0, :0], at, axes, wrench[..., 1:, :])
        else:
            joint, freedom = model.joints[element.joint], getattr(element, "freedom", 0)
            ends = ends_of(k, joint)
            push = _unit(joint, ends, freedom)[..., None, :] * lam[..., first, :, None]
            none = push[..., 0, :0]
            found[name] = Load(push[..., 0, :], none, ends.point, _axes(k, joint), push[..., 1:, :])
    return found


def _unit(joint: Joint, ends: Ends, freedom: int) -> np.ndarray:
    """(…, 6) A unit torque about the axis of a freedom that turns, a unit force along that of one that shifts."""
    axis, none = freedom_axes(ends, joint)[freedom], np.zeros_like(ends.point)
    turns = FREEDOMS[joint.kind][freedom][0] < SHIFT
    return np.concatenate([axis, none] if turns else [none, axis], axis=-1)


def _axes(k: Kinematics, joint: Joint) -> np.ndarray:
    return k.rotation(joint.child) @ joint.child_at.rotation()


def _own(system: System, joint: Joint, ends: Ends, ledger: np.ndarray) -> np.ndarray:
    """(…, 6) What motors, springs, dampers, friction and stops of a joint that closes a loop do to its child."""
    total = np.zeros((*ends.point.shape[:-1], 6))
    for row, freedom in system.forces.at_cuts.get(joint.name, ()):
        whole = freedom < 0
        total += ledger[..., row, :6] if whole else ledger[..., row, :1] * _unit(joint, ends, freedom)
    return total


def _split(joint: Joint, ends: Ends, k: Kinematics, wrench: np.ndarray) -> Load:
    """The load of a joint, from all that it does to its child, (…, columns, 6), less what acts along its freedoms."""
    wrench, along = wrench.copy(), []
    for n in range(len(FREEDOMS[joint.kind])):
        unit = _unit(joint, ends, n)
        motion = unit.copy()
        if joint.kind == "screw":
            motion[..., 3:] = joint.pitch * unit[..., :3]
        force = (motion[..., None, :] * wrench).sum(axis=-1)
        wrench -= force[..., None] * unit[..., None, :]
        along.append(force[..., 0])
    forces = np.stack(along, axis=-1) if along else wrench[..., 0, :0]
    return Load(wrench[..., 0, :], forces, ends.point, _axes(k, joint), wrench[..., 1:, :])


def _in_order(system: System, found: dict[str, Load]) -> dict[str, Load]:
    """Joints as they were written, then couplings and constraints."""
    return {name: found[name] for name in (*system.model.joints, *found) if name in found}
