"""What joints and constraints carry: the wrenches that hold a mechanism together, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.constraints.forces import Held, motion_force, multipliers_of
from ..dynamics.functions import forward_dynamics
from ..dynamics.inputs import require_finite, states
from ..dynamics.loads.indeterminate import open_reactions
from ..dynamics.loads.joints import Load, joint_reactions
from ..errors import ModelError, nearest
from ..model.forces import Motion
from ..system.system import System
from .tables import columns

SPREAD = 1e-7  # of the largest change that redundant constraints leave open: less is rounding
LABELS = ("Tx", "Ty", "Tz", "Fx", "Fy", "Fz")


def reactions(
    system: System,
    q: ArrayLike,
    u: ArrayLike,
    tau: ArrayLike | None = None,
    *,
    wrenches: Mapping[str, ArrayLike] | None = None,
    t: ArrayLike = 0.0,
    algorithm: str = "auto",
) -> Reactions:
    """Loads of all joints and constraints in a state, or in a batch of states, that moves as forces make it.

    Arguments are those of :func:`forward_dynamics`, whose accelerations they belong to. See :class:`Reactions`.
    """
    udot = forward_dynamics(system, q, u, tau, wrenches=wrenches, t=t, algorithm=algorithm)
    given = (("q", q, system.nq), ("u", u, system.nu), ("udot", udot, system.nu), ("tau", tau, system.nu))
    Q, U, A, T = states(system, *given)
    require_finite(system, (Q, U, T), ("q", "u", "tau"))
    at = np.asarray(t, float)
    held = multipliers_of(system, Q, U, A, T, wrenches, at)
    found = joint_reactions(system, Q, U, A, held, wrenches, at)
    motions = {
        f.name: motion_force(system, held, U, f)[0] for f in system.forces.elements.values() if isinstance(f, Motion)
    }
    return Reactions(system, found, motions, "world", lambda: _unique(system, Q, U, held, found))


class Reactions(Mapping[str, np.ndarray]):
    """The loads that hold each joint and constraint, by name: [torque; force], (6,) or (B, 6), N m and N.

    ``loads["pin"]`` is what the joint does to its child, at the origin of the joint's frame on the child
    (``child_at``), in world axes; the parent gets the opposite at the same point. It is the part that holds: what acts
    along the joint's DOF, by motors, springs, dampers, friction, joint limits, prescribed motions, ``tau`` and
    couplings, is not in it, but is ``along(name)``: a torque about the axis (a screw's too) or a force along it. Welds
    have loads.

    Of a constraint between two bodies (``distance``, ``roll``, ...) it is what it does to ``body`` at the point ``at``;
    of a ``gear``, ``rack``, ``relative``, ``speed`` or coupling (``"<joint>.coupling"``) what it does to the child of
    ``joint``, along its DOF. The joint ``of`` feels -ratio times as much.

    Where constraints are redundant, rigid bodies do not tell how they share their load. It is then the shortest of
    all multipliers of joints that close loops and of constraints, and ``unique`` says which components are sure. With
    more than 600 rows of loops that something moves, some of them redundant, the multipliers hold as well but may not
    be the shortest, and ``unique`` knows only of those rows that nothing could ever move.

    Attributes
    ----------
    axes : "world", or "joint" after :meth:`in_joint_axes`.
    motions : the force along the DOF that each prescribed motion takes, by name.
    """

    def __init__(self, system: System, loads: dict[str, Load], motions: dict[str, np.ndarray], axes: str, sure: Any):
        self.system, self.axes, self.motions = system, axes, motions
        self._loads, self._sure = loads, sure

    def __getitem__(self, name: str) -> np.ndarray:
        load = self._load(name)
        return load.wrench if self.axes == "world" else _turned(load.axes, load.wrench)

    def _load(self, name: str) -> Load:
        if name not in self._loads:
            raise ModelError(
                f"'{self.system.name}' has no joint or constraint '{name}'", hint=nearest(str(name), self._loads)
            )
        return self._loads[name]

    def __contains__(self, name: object) -> bool:
        return name in self._loads

    def __iter__(self) -> Iterator[str]:
        return iter(self._loads)

    def __len__(self) -> int:
        return len(self._loads)

    def along(self, name: str) -> np.ndarray:
        """What acts on the child along each DOF of a joint, all together, (n,) or (B, n), N m and N.

        A rotor (armature) takes its share before: a motor's torque less armature times acceleration arrives.
        """
        return self._load(name).along

    def point(self, name: str) -> np.ndarray:
        """Where the load acts, in the world, (3,) or (B, 3), m."""
        return self._load(name).point

    def in_joint_axes(self) -> Reactions:
        """The same along the axes of each joint's frame on the child.

        Those of a point on a line or plane are those of ``to_at``, of a distance those of ``body``.
        """
        return Reactions(self.system, self._loads, self.motions, "joint", self._sure)

    @cached_property
    def unique(self) -> dict[str, np.ndarray]:
        """Which components follow from the motion, (6,) or (B, 6), True or False, in the same axes as the loads."""
        return {name: both[self.axes != "world"] for name, both in self._sure().items()}

    def __str__(self) -> str:
        where = "world axes" if self.axes == "world" else "the axes of the joint there"
        head = f"loads of '{self.system.name}' on the child of each joint, at its frame there, in {where}, N m and N"
        if any(load.wrench.ndim > 1 for load in self._loads.values()):
            return f"{head}\n{len(self)} of a batch of states: {', '.join(self)}"
        rows = [["", *LABELS]]
        for name, load in self.items():
            rows.append([name, *(_reported(x, sure) for x, sure in zip(load, self.unique[name], strict=True))])
        open_ = [name for name, sure in self.unique.items() if not sure.all()]
        note = "\n~ is not unique: redundant constraints share the load, here with the shortest multipliers"
        return f"{head}\n{columns(rows)}" + (note if open_ else "")

    __repr__ = __str__


def _reported(x: float, sure: bool) -> str:
    return f"{'' if sure else '~'}{0.0 if abs(x) < 1e-12 else x:.5g}"


def _turned(axes: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """A wrench (…, 6) in other axes, whose columns are given in the world."""
    two = wrench.reshape(*wrench.shape[:-1], 2, 3) @ axes
    return np.asarray(two.reshape(wrench.shape))


def _unique(
    system: System, q: np.ndarray, u: np.ndarray, held: Held, found: dict[str, Load]
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Which components no idle multiplier changes, in world and in joint axes."""
    if q.ndim == 1:
        return _sure(open_reactions(system, q, u, held), {name: load.axes for name, load in found.items()})
    each = []
    for s in range(len(q)):
        here = held._replace(rows=type(held.rows)(*(x[s] for x in held.rows)), null=held.null[s])
        axes = {name: load.axes[s] for name, load in found.items()}
        each.append(_sure(open_reactions(system, q[s], u[s], here), axes))
    return {name: tuple(np.array([one[name][n] for one in each]) for n in (0, 1)) for name in found}  # type: ignore[misc]


def _sure(changes: dict[str, np.ndarray], axes: dict[str, np.ndarray]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    sizes = {
        name: [np.linalg.norm(x, axis=0) for x in (changes[name], _turned(turn, changes[name]))]
        for name, turn in axes.items()
    }
    largest = max((x.max() for both in sizes.values() for x in both), default=0.0)
    return {name: (both[0] <= SPREAD * largest, both[1] <= SPREAD * largest) for name, both in sizes.items()}
