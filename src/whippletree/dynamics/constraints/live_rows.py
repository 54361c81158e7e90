"""The rows of constraints that something can move.

A loop of parallel hinges holds two rotations and a displacement that no joint of it could ever change. Such rows are
true from the start, or never: checks, closure and reactions look at all rows, motion is solved without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...compiler.lanes import entry, get, put, scratch, take
from ...joints import FIRST_QUATERNION
from ...kernels.blocks import make_memory
from ...kernels.constraints import constrain
from ...kernels.kinematics import kinematics_rows, modal_columns, place_and_move, take_kinematics
from ...kernels.unpack import unpack, unpack_constraints
from ...layout.constraints import LENGTH, TURN_AXIS, TURN_COUNTS, TURN_NONE, Rows, pack_constraints
from ...system.constraints import SystemConstraints
from ...system.system import System
from ..dispatch import prepare
from ..tree.composite import mass_matrices, workspace

MOST_WEIGHED = 1000  # DOF: the mass matrix of more takes longer than the plan it is for
WIDE = 1e-2  # closure error, as multipliers.py
NOTHING = 1e-9  # of what a row could move by, at a pose that is nothing special


class LiveRows:
    """Those of :class:`SystemConstraints` that joints can move, with its names; ``kept``: which ones they are."""

    def __init__(self, system: System) -> None:
        c = system.constraints
        arrays = {name: array.copy() for name, array in c.arrays.items()}
        alive = np.ones(c.count, bool)
        if system.cut_joints and not system.flexible:  # modes move all there is
            alive = _movable(system)
        for e in range(len(system.cut_joints)):
            rows = slice(c.row[e], c.row[e + 1])
            turns = 2 if arrays["turn"][e] == TURN_AXIS else 0
            shifts = [n for n in range(3) if arrays["shift"][e] & (1 << n)]
            first = c.row[e] + TURN_COUNTS[arrays["turn"][e]]
            if turns and not alive[rows.start : rows.start + 2].any():
                arrays["turn"][e] = TURN_NONE
            else:
                alive[rows.start : first] = True  # they are computed together
            alive[first + len(shifts) : rows.stop] = True  # angles
            driven = arrays["drive"][e] != 0 or arrays["numbers"][e, LENGTH] != 0.0
            for n, row in zip(shifts, range(first, first + len(shifts)), strict=True):
                alive[row] = alive[row] or (driven and n == 2)
                if not alive[row]:
                    arrays["shift"][e] -= 1 << n
        self.kept = np.flatnonzero(alive)
        arrays["row"] = np.concatenate([[0], np.cumsum(alive)])[c.row].astype(int)
        arrays["element"] = arrays["element"][self.kept]
        self.count, self.size = len(self.kept), c.size
        self.body, self.to, self.row = arrays["body"], arrays["to"], arrays["row"]
        self.owner = [c.owner[r] for r in self.kept]
        self.arrays, self.packed = arrays, pack_constraints(arrays, c.size)


def live_rows(system: System) -> LiveRows:
    """Of a System; found once."""
    found = system.workspaces.found.get("live rows")
    if found is None:
        found = system.workspaces.found["live rows"] = LiveRows(system)
    return found


def _movable(system: System) -> np.ndarray:
    """(rows) Whether a joint moves a row at a pose that is nothing special: if not there, then nowhere."""
    c = system.constraints
    pose = loop_geometry(system, c, some_pose(system), np.zeros(1 + 3 * system.forces.signals))
    spans = Spans(system, pose, frozenset())
    alive = np.ones(c.count, bool)
    for e in range(len(system.cut_joints)):
        outer = 0 if c.body[e] > c.to[e] else 1
        inner, end = sorted((int(c.body[e]), int(c.to[e])))
        rows = pose.own[c.row[e] : c.row[e + 1], outer]
        moved = np.abs(rows @ spans.of(inner, end)).max(axis=1, initial=0.0)
        alive[c.row[e] : c.row[e + 1]] = moved > NOTHING * np.linalg.norm(rows, axis=1)
    return alive


def some_pose(system: System) -> np.ndarray:
    """A pose that is nothing special, always the same."""
    rng = np.random.default_rng(1)
    q = system.q0 + rng.uniform(-1.0, 1.0, system.nq)
    kind, position = system.arrays["kind"], system.arrays["position"]
    for i in range(1, system.nb):
        if kind[i] >= FIRST_QUATERNION:
            at = position[i + 1] - 4
            q[at : at + 4] /= np.linalg.norm(q[at : at + 4])
    return q


class LoopGeometry(NamedTuple):
    """DOF and rows at one pose. Choices are made about the origin of a body: far out, levers to the point that
    all share would drown what a loop is made of."""

    o: np.ndarray  # (nb, 3)    origin of each body, from the point of its component
    S: np.ndarray  # (nu, 6)    DOF, about that point; then those of modes at each node, see columns_of
    w: np.ndarray  # (nr, 2, 6) wrenches of rows on their first and second body, about that point
    own: np.ndarray  # (nr, 2, 6) the same, each about the origin of its body
    open_by: float  # closure error of the pose, in radians or against the size of the mechanism
    mass: np.ndarray  # (nu)    of each DOF, where there are modes to be compared with joints; else 1
    outward: np.ndarray  # (nb, 6, 6)  a motion about that point, seen from each body's origin
    inward: np.ndarray  # (nb, 6, 6)   one about the origin of what carries the body, seen from its own

    def seen(self, dofs: Sequence[int], i: int) -> np.ndarray:
        """(n, 6) DOF of body i's component about its origin."""
        return self.S[dofs] @ self.outward[i].T

    def carried(self, rows: np.ndarray, i: int, to: int) -> np.ndarray:
        """Rows on a motion about the origin of body i, as rows on the same motion about that of body ``to``."""
        return rows @ shifts(self.o[i] - self.o[to])


def columns_of(system: System) -> list[range]:
    """Rows of S of a :class:`LoopGeometry` that move each body and not the one that carries it."""
    dof, count = system.arrays["dof"].tolist(), system.nu
    found = [range(0)]
    for i, edge in enumerate(system.topology.edges, start=1):
        found.append(range(0) if edge.flexible else range(dof[i], dof[i + 1]))
        if edge.joint.kind == "node" and edge.modes is not None:
            found[i] = range(count, count + edge.modes.count)
            count += edge.modes.count
    return found


def shifts(by: np.ndarray) -> np.ndarray:
    """(..., 6, 6) A motion about a point, seen from another one that lies ``by`` (..., 3) away: v + w x by."""
    X = np.zeros((*by.shape[:-1], 6, 6))
    X[..., range(6), range(6)] = 1.0
    X[..., (4, 5, 3), (2, 0, 1)] = by
    X[..., (5, 3, 4), (1, 2, 0)] = -by
    return X


class Spans:
    """What degrees of freedom can do together, found once for each base and body."""

    def __init__(self, system: System, pose: LoopGeometry, driven: frozenset[int]) -> None:
        self.parent, self.columns = system.arrays["parent"].tolist(), columns_of(system)
        self.pose, self.driven = pose, driven
        self.found: dict[tuple[int, int], np.ndarray] = {}

    def of(self, base: int, i: int) -> np.ndarray:
        """(6, r) All that degrees of freedom of i and farther inboard, but outboard of the base, can do, at i."""
        todo = []
        while i > base and (base, i) not in self.found:
            todo.append(i)
            i = self.parent[i]
        span = self.found.get((base, i), np.zeros((6, 0)))
        for body in reversed(todo):
            span = self.pose.inward[body] @ span
            own = [j for j in self.columns[body] if j not in self.driven]
            span = self.joined(span, self.pose.seen(own, body))
            self.found[base, body] = span
        return span

    def joined(self, span: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Orthonormal directions: which motions there are, however small."""
        if 0 < span.shape[1] < 6:
            span = np.linalg.qr(span)[0]
        for column in S if span.shape[1] < 6 else ():
            rest = column - span @ (span.T @ column)
            rest = rest - span @ (span.T @ rest)
            if span.shape[1] < 6 and rest @ rest > 1e-18 * (column @ column):
                span = np.column_stack([span, rest / np.sqrt(rest @ rest)])
        return span if span.shape[1] < 6 else np.eye(6)


class Effects(Spans):
    """The same with sizes: rows move by ``norm(rows @ of(base, i))`` under unit velocities, in the mean square."""

    def joined(self, span: np.ndarray, S: np.ndarray) -> np.ndarray:
        """A root of the sum of S S'."""
        if not len(S):
            return span
        root = np.linalg.qr(np.vstack([span.T, S]), mode="r")
        return np.asarray(root).T


@entry
def geometry(memory, q, u, signals, w, S, o, g, modal):
    """w (nr, 12), S (nu, 6), o (nb, 3) and the closure errors g (nr) of one state, and columns of flexible bodies"""
    m, end = unpack(memory)
    E, end = unpack_constraints(memory, end)
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    rate, n = take(buffer, n, E.nr)
    prescribed, n = take(buffer, n, E.nr)
    gamma, n = take(buffer, n, E.nr)
    place_and_move(m, q, u, k)
    constrain(m, E, k, signals, q, u, Rows(g, rate, prescribed, gamma, w))
    for j in range(6 * m.nu):
        put(S, j, get(k.S, j))
    for i in range(3 * m.nb):
        put(o, i, get(k.o, i))
    columns, _ = modal_columns(m, k)
    for n in range(modal.shape[0]):
        put(modal, n, get(columns, n))


def loop_geometry(
    system: System, rows: LiveRows | SystemConstraints, q: np.ndarray, signals: np.ndarray
) -> LoopGeometry:
    """DOF, and the wrenches of rows, at a pose."""
    memory = make_memory(system, kinematics_rows(system) + 4 * rows.count, 1, rows.packed)
    o, S, w = np.zeros((system.nb, 3)), np.zeros((system.nu, 6)), np.zeros((rows.count, 2, 6))
    g, modal = np.zeros(rows.count), np.zeros(system.flexible.motion if system.flexible else 0)
    places = w.ravel(), S.ravel(), o.ravel(), g, modal
    geometry(memory, np.ascontiguousarray(q), np.zeros(system.nu), signals, *places)
    open_by = min(float(np.abs(g).max(initial=0.0)) * max(1.0, 1.0 / rows.size), WIDE)
    for i, edge in enumerate(system.topology.edges, start=1) if system.flexible else ():
        if edge.joint.kind == "node" and system.flexible and edge.modes is not None:
            at = system.flexible.column[i]
            S = np.vstack([S, modal[at : at + 6 * edge.modes.count].reshape(-1, 6)])
    ends = np.stack([rows.body, rows.to], axis=1)[rows.arrays["element"]]
    own = np.concatenate([w[..., :3] - np.cross(o[ends], w[..., 3:]), w[..., 3:]], axis=-1)
    outward, inward = shifts(o), shifts(o - o[system.arrays["parent"]])
    return LoopGeometry(o, S, w, own, open_by, _mass(system, q), outward, inward)


def _mass(system: System, q: np.ndarray) -> np.ndarray:
    """(nu) The diagonal of M, by the kernel: q may be that of a run that fails, which others will tell."""
    mass = np.ones(system.nu)  # as modes have it mostly, and joints often
    if system.flexible and system.nu <= MOST_WEIGHED:
        prepare(mass_matrices, 1, 1)
        M = np.zeros(system.nu * system.nu)
        mass_matrices(workspace(system), np.array(q), M, 0, 1)  # it may be read-only
        mass = np.abs(M[:: system.nu + 1])
    return np.where(mass > 0.0, mass, 1.0)
