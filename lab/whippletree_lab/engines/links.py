"""The same tree for every peer: welded bodies merged, joint axes along z, depth first; and the change of coordinates.

A link is what moves as one piece. Its frame is the child's side of its joint, turned so that the axis of a revolute
or prismatic joint is z (the fastest joint of every peer); then joint coordinates mean the same in all engines, except
for the order of quaternions and the axes in which spherical and free joints hold their velocities.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from whippletree.model import JOINT_KINDS, Body, Joint, Model, Pose
from whippletree.system.topology import find_topology

PEER_KINDS = ("revolute", "prismatic", "spherical", "free")


class CannotHold(Exception):
    """A peer cannot hold a model; the text is the note in the table."""


@dataclass(slots=True)
class Place:
    """Pose of a frame: rotation (3, 3) and position (3,) in m."""

    R: np.ndarray
    p: np.ndarray

    def __matmul__(self, other: Place) -> Place:
        return Place(self.R @ other.R, self.R @ other.p + self.p)

    def inverse(self) -> Place:
        return Place(self.R.T, -self.R.T @ self.p)


@dataclass(slots=True)
class Link:
    """One moving piece: its joint, its parent (index of a link, -1 is ground), where the joint stands in the parent,
    and mass (kg), centre of mass (m) and inertia about it (kg m^2) in the link's frame."""

    joint: str
    kind: str
    parent: int
    at: Place
    armature: float
    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros((3, 3)))

    def weld(self, body: Body, place: Place) -> None:
        """Add a body that stands at ``place`` in the link's frame."""
        com = place.R @ np.array(body.com) + place.p
        inertia = place.R @ np.array(body.inertia) @ place.R.T
        mass = self.mass + body.mass
        if mass > 0.0:
            d = com - self.com  # two masses about their common centre: m1 m2 / (m1 + m2) (d.d 1 - d d')
            inertia = inertia + self.mass * body.mass / mass * (d @ d * np.eye(3) - np.outer(d, d))
            self.com = (self.mass * self.com + body.mass * com) / mass
        self.mass, self.inertia = mass, self.inertia + inertia


@dataclass(slots=True)
class Closing:
    """A joint that closes a loop: for each of its sides the link, and where it stands there, z along its axis."""

    joint: str
    kind: str
    sides: list[tuple[int, Place]]


Steps = dict[str, list[tuple[Joint, bool]]]  # from each body outward; True where the joint points towards ground


def links(model: Model) -> list[Link]:
    """The links of a tree whose joints all point away from ground, depth first."""
    outward, over = _shallow(model)
    if over:
        raise CannotHold("closed loop")
    return _walk(model, outward)[0]


def links_and_closings(model: Model, deep: bool = False) -> tuple[list[Link], list[Closing]]:
    """The links of a spanning tree, depth first, and the joints left over.

    The tree is as shallow as can be, or as deep: ours, whose loops all close on an ancestor.
    """
    outward, over = _deep(model) if deep else _shallow(model)
    found, where = _walk(model, outward)
    closings = []
    for j in over:
        (a, in_a), (b, in_b), align = where[j.parent], where[j.child], _align(j)
        sides = [(a, in_a @ _place(j.at) @ align), (b, in_b @ _place(j.child_at) @ align)]
        closings.append(Closing(j.name, j.kind, sides))
    return found, closings


def _deep(model: Model) -> tuple[Steps, list[Joint]]:
    outward, topology = Steps(), find_topology(model)
    for edge in topology.edges:
        near = edge.joint.child if edge.turned else edge.joint.parent
        outward.setdefault(near, []).append((edge.joint, edge.turned))
    return outward, topology.cuts


def _shallow(model: Model) -> tuple[Steps, list[Joint]]:
    """Breadth first, along joints that point away from ground."""
    onward: dict[str, list[Joint]] = {}
    for j in model.joints.values():
        onward.setdefault(j.parent, []).append(j)
    seen, waiting = {"ground"}, deque(["ground"])
    outward, over = Steps(), []
    while waiting:
        body = waiting.popleft()
        for j in onward.get(body, []):
            if j.child in seen:
                over.append(j)
            else:
                outward.setdefault(body, []).append((j, False))
                seen.add(j.child)
                waiting.append(j.child)
    return outward, over


def _walk(model: Model, outward: Steps) -> tuple[list[Link], dict[str, tuple[int, Place]]]:
    """The links, and for each body its link and its place there."""
    found: list[Link] = []
    ground = Place(np.eye(3), np.zeros(3))
    where = {"ground": (-1, ground)}
    waiting = [(*step, -1, ground) for step in reversed(outward.get("ground", []))]
    while waiting:
        j, turned, link, place = waiting.pop()  # the last two of the body that it stands on
        body, near, far = (j.parent, j.child_at, j.at) if turned else (j.child, j.at, j.child_at)
        align = _align(j, turned)
        at, on = place @ _place(near) @ align, _place(far) @ align
        if j.kind == "fixed":
            place = at @ on.inverse()
        elif j.kind in PEER_KINDS:
            found.append(Link(j.name, j.kind, link, at, j.armature))
            link, place = len(found) - 1, on.inverse()
        else:
            raise CannotHold(f"{j.kind} joint")
        if link >= 0:
            found[link].weld(model.bodies[body], place)
        where[body] = link, place
        waiting += [(*step, link, place) for step in reversed(outward.get(body, []))]
    if len(where) <= len(model.bodies):
        raise CannotHold("joint that points towards ground")
    return found, where


def _align(joint: Joint, turned: bool = False) -> Place:
    """z along the axis of a joint of one DOF; against it where that is turned, so that q and u are the same."""
    if joint.kind in ("revolute", "prismatic"):
        return Place(z_along(-np.array(joint.axis) if turned else joint.axis), np.zeros(3))
    if turned and joint.kind != "fixed":
        raise CannotHold(f"{joint.kind} joint that points towards ground")
    return Place(np.eye(3), np.zeros(3))


def _place(pose: Pose) -> Place:
    return Place(pose.rotation(), np.array(pose.position))


def z_along(axis: Any) -> np.ndarray:
    """A rotation whose third column is the unit vector ``axis``."""
    z = np.array(axis)
    if z[2] == 1.0:
        return np.eye(3)
    x = np.cross(np.eye(3)[np.argmin(np.abs(z))], z)
    x /= np.linalg.norm(x)
    return np.column_stack((x, np.cross(z, x), z))


def rotation(quaternion: np.ndarray) -> np.ndarray:
    """Rotation matrix of [w, x, y, z]."""
    w, x, y, z = quaternion
    return Pose(quaternion=(w, x, y, z)).rotation()


def same_sign(model: Model, system: Any, q: np.ndarray) -> np.ndarray:
    """Configurations (B, nq) whose quaternions have their largest number positive: one of two that mean the same."""
    q = q.copy()
    for name in system.joints:
        if model.joints[name].kind in ("spherical", "free"):
            last = system.q_index(name).stop
            turn = q[:, last - 4 : last]
            largest = np.take_along_axis(turn, np.abs(turn).argmax(axis=1)[:, None], axis=1)
            q[:, last - 4 : last] = turn * np.sign(largest)
    return q


@dataclass(slots=True)
class Held:
    """How a peer holds a spherical or free joint, at one configuration q.

    ``q``: the peer's coordinates. ``T``: orthogonal, u_peer = T u; so tau_peer = T tau, and M_peer = T M T'.
    ``still``: its linear velocity is in axes that do not turn with the body: udot_peer = T (udot + [0; w x v]).
    """

    q: np.ndarray
    T: np.ndarray
    still: bool = False


class Coordinates:
    """Our q, u, udot and tau to a peer's, and back.

    ``starts`` gives the peer's first index in q and in u of every link's joint; ``hold(link, q)`` a :class:`Held`.
    """

    def __init__(
        self, tree: list[Link], system: Any, starts: list[tuple[int, int]], hold: Callable[[Link, np.ndarray], Held]
    ) -> None:
        every = [(x, system.q_index(x.joint), system.u_index(x.joint), *s) for x, s in zip(tree, starts, strict=True)]
        single = [(qs.start, us.start, q, u) for x, qs, us, q, u in every if JOINT_KINDS[x.kind] == (1, 1)]
        self.q_ours, self.u_ours, self.q_peer, self.u_peer = np.array(single, int).reshape(-1, 4).T
        self.many = [joint for joint in every if JOINT_KINDS[joint[0].kind] != (1, 1)]
        self.nq = sum(JOINT_KINDS[x.kind][0] for x in tree)
        self.nu = sum(JOINT_KINDS[x.kind][1] for x in tree)
        self.nu_ours = int(system.nu)
        self.hold = hold

    def q(self, q: np.ndarray) -> np.ndarray:
        """The peer's configuration; a peer may need fewer numbers (roll-pitch-yaw), so its length is found here."""
        held = [(start, self.hold(x, q[qs]).q) for x, qs, _, start, _ in self.many]
        out = np.zeros(len(self.q_peer) + sum(len(h) for _, h in held))
        out[self.q_peer] = q[self.q_ours]
        for start, h in held:
            out[start : start + len(h)] = h
        return out

    def turn(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Velocities or forces (nu,) or (nu, k) to the peer's: T x."""
        out = np.zeros((self.nu, *x.shape[1:]))
        out[self.u_peer] = x[self.u_ours]
        for link, qs, us, _, start in self.many:
            T = self.hold(link, q[qs]).T
            out[start : start + len(T)] = T @ x[us]
        return out

    def back(self, q: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The peer's velocities or forces (nu,) or (nu, k) to ours: T' x."""
        out = np.zeros((self.nu_ours, *x.shape[1:]))
        out[self.u_ours] = x[self.u_peer]
        for link, qs, us, _, start in self.many:
            T = self.hold(link, q[qs]).T
            out[us] = T.T @ x[start : start + len(T)]
        return out

    def turn_udot(self, q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> np.ndarray:
        return self.turn(q, udot + self._turning(q, u))

    def back_udot(self, q: np.ndarray, u: np.ndarray, udot: np.ndarray) -> np.ndarray:
        return self.back(q, udot) - self._turning(q, u)

    def back_mass(self, q: np.ndarray, M: np.ndarray) -> np.ndarray:
        """T' M T."""
        return self.back(q, self.back(q, M).T).T

    def _turning(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        out = np.zeros_like(u)
        for link, qs, us, _, _ in self.many:
            if self.hold(link, q[qs]).still:
                w, v = u[us][:3], u[us][3:]
                out[us.start + 3 : us.stop] = np.cross(w, v)
        return out
