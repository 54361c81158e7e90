"""The equations of motion and of the constraints at one state: residuals, and what roundings do to them.

Of rigid bodies residuals have twice the digits (residual.py), so that their own rounding plays no part. What is left is
the rounding of the System's numbers when its model was compiled: residuals of systems that are off by one rounding. Of
flexible bodies residuals are made of doubles, and roundings are those of the terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numba import types

from ...compiler.twice import room
from ...layout.constraints import FRAMES
from ...layout.system import COUNTS, lengths
from ...model import Model
from ...system.system import System
from ..constraints.jacobian import rows_at
from ..dispatch import evaluate, prepare
from ..kinematics import kinematics
from ..tree.composite import mass_matrices
from ..tree.composite import workspace as mass_workspace
from ..tree.innovations import pivots
from ..tree.innovations import workspace as pivot_workspace
from ..tree.newton_euler import torques
from ..tree.newton_euler import workspace as torque_workspace
from .residual import exact_matrices, exact_pivots, residuals, workspace

ROUNDING = 2.0**-53
UNMOVED = 1e150  # kg m^2 or kg
_NUMBERS, _TWICE = types.Array(types.float64, 1, "C"), types.Array(types.float64, 3, "C")


@cache
def _compiled(entry: Any, inputs: int) -> Any:
    """An entry, compiled for what it takes and for nothing else."""
    entry.compile((_NUMBERS, _TWICE, *[_NUMBERS] * inputs))
    return entry


class Residual(NamedTuple):
    """Of the equations of motion (nu) or (nu, k), and of the constraint equations (nr) or (nr, k)."""

    motion: np.ndarray
    rows: np.ndarray


class Equations:
    """The equations of one state: q, u, forces (tau, then wrenches on bodies if any) and functions of time."""

    def __init__(self, system: System, q: np.ndarray, u: np.ndarray, forces: np.ndarray, signals: np.ndarray) -> None:
        self.system, self.state = system, [np.ascontiguousarray(x) for x in (q, u, forces, signals)]
        if system.flexible:
            self._by_matrices()
        else:
            self.memory, self.buffer = workspace(system)

    def residual(self, udot: np.ndarray, lam: np.ndarray) -> Residual:
        """At accelerations and multipliers."""
        return self._split(self._residual(None if self.system.flexible else self.memory, udot, lam))

    def roundings(self, udot: np.ndarray, lam: np.ndarray, count: int) -> Residual:
        """(nu, count) and (nr, count): how residuals change if numbers of the System are off by one rounding."""
        rng = np.random.default_rng(count)
        if self.system.flexible:
            C = np.abs(self.rows.C)
            motion = np.abs(self.M) @ np.abs(udot) + np.abs(self.bias) + np.abs(self.forces) + np.abs(lam) @ C
            terms = ROUNDING * np.concatenate([motion, C @ np.abs(udot) + np.abs(self.rows.gamma)])
            return self._split(terms[:, None] * rng.choice([-1.0, 1.0], (terms.size, count)))
        sizes, forces = _sizes(self.system, self.memory.size), self.state[2]
        computed, wrenches = np.flatnonzero(sizes), self._wrench_sizes(forces[self.system.nu :])
        exact, out = self._residual(self.memory, udot, lam), []
        for _ in range(count):
            memory, self.state[2] = self.memory.copy(), forces.copy()
            memory[computed] += ROUNDING * sizes[computed] * rng.choice([-1.0, 1.0], computed.size)
            self.state[2][self.system.nu :] += ROUNDING * wrenches * rng.choice([-1.0, 1.0], wrenches.size)
            out.append(self._residual(memory, udot, lam) - exact)
        self.state[2] = forces
        return self._split(np.array(out).T)

    def _wrench_sizes(self, wrenches: np.ndarray) -> np.ndarray:
        """The sizes of the terms of wrenches on bodies, which were moved to the points of their components."""
        if not wrenches.size:
            return wrenches
        q, u, _, _ = self.state
        torque, force = np.split(np.abs(wrenches.reshape(-1, 6)), 2, axis=1)
        levers = (
            np.linalg.norm(kinematics(self.system, q, u)._near, axis=1, keepdims=True) + self.system.constraints.size
        )
        most = force.max(axis=1, keepdims=True)
        return np.hstack([torque + levers * most, force]).ravel()

    def matrices(self) -> tuple[np.ndarray, np.ndarray]:
        """M (nu, nu) and C (nr, nu)."""
        if self.system.flexible:
            return self.M, self.rows.C
        nu, nr = self.system.nu, self.system.constraints.count
        M, C, (q, u, _, signals) = np.zeros((nu, nu)), np.zeros((nr, nu)), self.state
        buffer = room(self.buffer.shape[0] + nu * (nu + nr))
        _compiled(exact_matrices, 5)(self.memory, buffer, q, u, signals, M.ravel(), C.ravel())
        return M, C

    def pivot_loss(self) -> float:
        """The largest relative error of an articulated-body pivot in doubles; inf where one is not positive."""
        D, exact = np.zeros((2, self.system.nu))
        memory = pivot_workspace(self.system)
        prescribe(self.system, memory)
        prepare(pivots, 1, 1)
        pivots(memory, self.state[0], D, 0, 1)
        if self.system.flexible:
            loss = ROUNDING * np.abs(np.diag(self.M)) / D
            return float(loss.max(initial=0.0)) if (D > 0.0).all() else np.inf
        _compiled(exact_pivots, 2)(memory, self.buffer, self.state[0], exact)
        if not ((D > 0.0) & (exact > 0.0)).all():
            return np.inf
        return float(np.abs(D / exact - 1.0).max(initial=0.0))

    def _residual(self, memory: Any, udot: np.ndarray, lam: np.ndarray) -> np.ndarray:
        if self.system.flexible:
            motion = self.forces - self._needed(udot) + lam @ self.rows.C
            return np.concatenate([motion, self.rows.gamma - self.rows.C @ udot])
        out = np.empty(self.system.nu + self.system.constraints.count)
        _compiled(residuals, 7)(memory, self.buffer, *self.state, udot, lam, out)
        return out

    def _by_matrices(self) -> None:
        """What residuals of flexible bodies are made of."""
        system, (q, u, forces, signals) = self.system, self.state
        self.forces, self.rows = forces[: system.nu], rows_at(system, q, u, signals)
        self.M = evaluate(mass_matrices, mass_workspace, system, [q], system.nu**2).reshape(system.nu, system.nu)
        self.bias = self._needed(np.zeros(system.nu))

    def _needed(self, udot: np.ndarray) -> np.ndarray:
        """M u' + bias, less wrenches."""
        q, u, forces, _ = self.state
        motion = np.concatenate([udot, forces[self.system.nu :]])
        return evaluate(torques, torque_workspace, self.system, [q, u, motion], self.system.nu)

    def _split(self, both: np.ndarray) -> Residual:
        return Residual(both[: self.system.nu], both[self.system.nu :])


def prescribe(system: System, memory: np.ndarray) -> None:
    """Give prescribed motions so much armature in a memory that nothing moves them."""
    counts = lengths(system.nb, system.nu, system.nc)
    start = COUNTS + sum(list(counts.values())[: list(counts).index("armature")])
    memory[start + np.array(list(system.forces.motions), int)] = UNMOVED


# ---------------------------------------------------------------- numbers that rounding has touched

COMPUTED = {"Rt": 9, "pt": 3, "base": 3, "com": 3, "inertia": 6}  # and how many are one rotation, vector, tensor


AXES = np.array([0.0, 1.0])  # the only exact numbers of a rotation: an axis as it is typed is seldom of unit length


def _sizes(system: System, count: int) -> np.ndarray:
    """Of each number in the memory that compiling the model may have rounded, the size of its terms; 0 of others."""
    if "sizes" not in system.workspaces.found:
        system.workspaces.found["sizes"] = _found_sizes(system, count)
    return system.workspaces.found["sizes"]


def _found_sizes(system: System, count: int) -> np.ndarray:
    sizes, n, c, typed = np.zeros(count), COUNTS, system.constraints, _typed(system.model)
    places = _exact_places(system)
    of_joints = [(places[max(parent, 0)],) for parent in system.arrays["parent"]]
    for name, length in lengths(system.nb, system.nu, system.nc).items():
        if name in COMPUTED:
            rows = system.arrays[name].reshape(-1, COMPUTED[name])
            if name == "pt":
                known = _on_bodies(rows, of_joints)
            elif name == "com":
                known = _on_bodies(rows, [(own,) for own in places])
            else:
                known = np.isin(np.abs(rows), AXES if name == "Rt" else typed)
            sizes[n : n + length] = _term_sizes(rows, known).ravel()
        n += length
    numbers = c.arrays["numbers"]  # they come last
    within, start = np.zeros_like(numbers), system.packed.size + c.packed.size - numbers.size
    ends = [(places[max(i, 0)], places[max(k, 0)]) for i, k in zip(c.body, c.to, strict=True)]
    for part in (slice(0, 9), slice(9, 18)):
        within[:, part] = _term_sizes(numbers[:, part], np.isin(np.abs(numbers[:, part]), AXES))
    for part in (slice(18, 21), slice(21, FRAMES)):
        within[:, part] = _term_sizes(numbers[:, part], _on_bodies(numbers[:, part], ends))
    sizes[start : start + within.size] = within.ravel()
    return sizes


def _on_bodies(rows: np.ndarray, exact: Sequence[tuple[set[float], ...]]) -> np.ndarray:
    """Which numbers have a size that is exact on one of the bodies of their row."""
    both = zip(np.abs(rows).tolist(), exact, strict=True)
    return np.array([[any(x in own for own in on) for x in row] for row, on in both], bool).reshape(rows.shape)


def _term_sizes(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The length of a row for each of its numbers but those that are known to be exact.

    A number that is less than a rounding of it is at most rounding altogether.
    """
    size = np.linalg.norm(rows, axis=1, keepdims=True) / (np.sqrt(3.0) if rows.shape[1] == 9 else 1.0)
    return np.where(known, 0.0, np.minimum(size, np.abs(rows) / ROUNDING))


def _exact_places(system: System) -> list[set[float]]:
    """Of each body the sizes of those coordinates of its points that no rounding has touched.

    A point of the model, less the origin of the joint that carries the body: where that difference is exact.
    """
    model, found = system.model, []
    on = {name: [body.com] for name, body in model.bodies.items()}
    for joint in model.joints.values():
        on.setdefault(joint.parent, []).append(joint.at.position)
        on.setdefault(joint.child, []).append(joint.child_at.position)
    others = [x for part in (model.frames, model.constraints) for x in _vectors(list(part.values()))]
    members: dict[int, list[str]] = {}
    for name, body in system.topology.group.items():
        members.setdefault(body, []).append(name)
    for body in range(system.nb):
        names, edge = members.get(body, []), system.topology.edges[body - 1] if body else None
        pose = None if edge is None or edge.flexible else (edge.joint.at if edge.turned else edge.joint.child_at)
        origin = (0.0, 0.0, 0.0) if pose is None else pose.position
        if len(names) != 1 or (pose is not None and sum(map(bool, pose.quaternion)) != 1):
            found.append({0.0})
            continue
        exact: set[float] = {0.0}
        swallowed: set[float] = set()
        for point in (*on.get(names[0], ()), *others):
            for x, o in zip(map(float, point), origin, strict=True):
                d = x - o
                (exact if d + o == x and x - d == o else swallowed).add(abs(d))
        found.append(exact - swallowed)
    return found


def _vectors(x: Any) -> list[Any]:
    """All that has three numbers in a nest of lists and dataclasses."""
    if isinstance(x, tuple | list | np.ndarray):
        if len(x) == 3 and all(isinstance(part, float | int) for part in x):
            return [x]
        return [v for part in x for v in _vectors(part)]
    return [v for part in fields(x) for v in _vectors(getattr(x, part.name))] if is_dataclass(x) else []


def _typed(model: Model) -> np.ndarray:
    """The sizes of all numbers of a model as they were typed."""
    found, names = {0.0, 1.0}, dict[type, list[str]]()
    sections = (model.bodies, model.joints, model.constraints, model.frames)
    waiting: list[Any] = [part for section in sections for part in section.values()]
    while waiting:
        x = waiting.pop()
        if isinstance(x, float | int):
            found.add(abs(float(x)))
        elif isinstance(x, tuple | list | np.ndarray):
            waiting.extend(x)
        elif is_dataclass(x):
            if type(x) not in names:
                names[type(x)] = [part.name for part in fields(x)]
            waiting += [getattr(x, name) for name in names[type(x)]]
    return np.array(sorted(found))
