"""A flexible structure before modes are chosen: nodes, mass and stiffness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from . import check
from .beams.line import BeamLine
from .mass import MatrixMass, NodalMass, PointMass, rigid_motion
from .modes import Modes
from .solve import Matrix

Geometric = Callable[[np.ndarray], Matrix]  # the stiffness that the stresses of a displacement add


@dataclass(frozen=True, eq=False)
class Structure:
    """Nodes at ``r`` with ``names``; mass ``M`` and stiffness ``K`` in some coordinates.

    ``T`` (6 nn, n) gives the motion [x y z θx θy θz] of every node from the coordinates, and ``rigid`` (n, 6) the
    coordinates of motion along and about x, y, z. ``mass`` holds what modal integrals are made of. ``geometric(u)`` is
    the geometric stiffness of a displacement u, which "stiffened" modes need; beams have their ``line`` for it.
    ``strain(V)`` is the largest strain of each mode. Made by :func:`beam`, :func:`structure`, :func:`solid` and
    :func:`nastran`.
    """

    names: tuple[str, ...]
    r: np.ndarray
    M: Matrix
    K: Matrix
    T: Any  # sparse
    rigid: np.ndarray
    mass: NodalMass | PointMass | MatrixMass
    geometric: Geometric | None = None
    line: BeamLine | None = None
    strain: Callable[[np.ndarray], np.ndarray] | None = None
    second_loads: Callable[[np.ndarray], np.ndarray] | None = None  # see second.py: (n, nm, nm) of modes (n, nm)
    mesh: int = 0  # so many nodes, the first, belong to a mesh and are not kept in modes unless asked for
    recipe: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"Structure({len(self.names)} nodes, {self.K.shape[0]} coordinates)"

    def node(self, name: str) -> int:
        """The place of a node in ``names``."""
        return self.names.index(check.known(name, self.names, "node"))

    def shapes(self, V: np.ndarray) -> np.ndarray:
        """Motions of all nodes, (nn, 6, nm)."""
        return np.asarray(self.T @ V).reshape(len(self.r), 6, -1)

    def held(self, node: int) -> np.ndarray:
        """The coordinates that move a node."""
        rows = self.T[6 * node : 6 * node + 6]
        columns = np.unique(rows.nonzero()[1])
        if len(columns) and np.linalg.matrix_rank(rows[:, columns].toarray()) < len(columns):
            raise ModelError(
                f"node '{self.names[node]}' cannot be held",
                expected="a node that moves by coordinates of its own",
                got=f"{len(columns)} coordinates that move it",
            )
        return columns

    def rigid_about(self, node: int) -> np.ndarray:
        """Coordinates of unit motion along and about the axes through a node, (n, 6)."""
        at = rigid_motion(np.zeros((1, 3)), self.r[node])  # what the axes through the node move at the origin
        return self.rigid @ at

    def gather(self, name: str, members: Sequence[str | int], at: Any = None) -> Structure:
        """The same structure with some nodes held together rigidly by a new node, which has rotations too.

        It stands at the middle of its members, or ``at`` (m). Nodes without rotations, as those of solid elements, are
        joined to other bodies this way.
        """
        from .gather import gather

        return gather(self, name, members, at)

    def modes(
        self,
        kind: str = "cantilever",
        *,
        inboard: str | None = None,
        outboard: str | Sequence[str] | None = None,
        count: int | None = None,
        frequency: float | None = None,
        participation: float | None = None,
        fidelity: str = "full",
        damping: float | Sequence[float] = 0.0,
        nodes: str | Sequence[str] | None = None,
    ) -> Modes:
        """Modes of the structure, seen from its node ``inboard`` (the first, if left out).

        ``kind`` is "cantilever" (held at the inboard node), "free" (held nowhere; the motion is then seen from the
        inboard node) or "craig-bampton" (static shapes of the nodes ``outboard``, the last if left out, and modes with
        these held too). Taken are the lowest ``count`` (6), those up to a ``frequency`` (rad/s), or as many as hold a
        share ``participation`` of the mass in all directions. ``damping`` is a damping ratio, one number or one for
        each mode. ``fidelity`` is "ruthless" (no term depends on the deformation), "full", or "stiffened" (with
        second-order displacements, so that loads stiffen). ``nodes`` are kept in the modes beside the inboard and
        outboard ones: names or "all"; if left out, all of them, but of a solid mesh only those that were gathered.

        >>> from whippletree.modes import beam
        >>> modes = beam(length=2.0, section="circle", radius=0.01, E=70e9, rho=2700.0).modes(count=4, damping=0.01)
        >>> print(modes.report)
        4 of 208 modes, 22.38 to 140.2 rad/s; the next is at 392.6
        effective mass left out: x 100.0 %, y 19.9 %, z 19.9 %, about x 100.0 %, about y 0.5 %, about z 0.5 %
        static flexibility of 'tip' left out: x 100 %, y 0.459 %, z 0.459 %
        """
        from .choose import Choice
        from .make import modes

        given: dict[str, Any] = {"inboard": inboard, "outboard": outboard, "count": count, "frequency": frequency}
        given |= {"participation": participation, "fidelity": fidelity, "damping": damping, "nodes": nodes}
        return modes(self, kind, Choice.of(kind, count, frequency, participation), given)
