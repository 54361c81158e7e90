"""Flexible bodies of a System: the constants of their modes as the numbers that kernels take.

Where a body of constant modal mass has more modes than its frame and nodes can see, its modes are turned into interface
modes, which they see, and the rest: (B4) of [jain1992], see dynamics/flexible.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.modal_layout import LOADED, PER_BODY, RUTHLESS, SECOND, pack_modal
from ..modes import Modes

if TYPE_CHECKING:
    from .topology import Topology

UPPER = np.triu_indices(3)
SEEN = 1e-13  # of a column: what is less is rounding


@dataclass
class FlexibleBody:
    """One of them: its system body, its modes as they are in the tree, and the system bodies of its nodes."""

    name: str
    body: int
    modes: Modes
    nodes: dict[str, int] = field(default_factory=dict)
    interface: int = 0  # number of interface modes; 0 where modes are eliminated as they are


class SystemFlexible:
    """The flexible bodies of a System.

    Attributes
    ----------
    bodies : by name.
    packed : what kernels unpack.
    motion, work : how many numbers they take of Kinematics and of Work.
    column : (nb) where the columns of a body or node start in those of Kinematics.
    """

    def __init__(self, topology: Topology, arrays: Mapping[str, np.ndarray]) -> None:
        self.bodies: dict[str, FlexibleBody] = {}
        nb, carriers = len(arrays["parent"]), set(arrays["parent"].tolist())
        integers = {name: np.zeros(nb, int) for name in PER_BODY}
        self.motion = self.work = count = 0
        numbers: list[np.ndarray] = []
        known: dict[tuple[Any, ...], int] = {}  # bodies of the same modes share constants: these then stay in cache
        for i, edge in enumerate(topology.edges, start=1):
            if edge.modes is None:
                continue
            owner = edge.flexible
            if edge.joint.kind == "modes":
                nodes = [e.node for e in takewhile(lambda e: e.joint.kind == "node", topology.edges[i:])]
                body = self.bodies[owner] = FlexibleBody(owner, i, edge.modes)
                held = np.isinf(arrays["resist"][arrays["dof"][i] : arrays["dof"][i + 1]]).any()
                parts, inner = _constants(edge.modes, nodes, turned=not held)
                n, r = edge.modes.count, len(inner[0]) if inner else 0
                body.interface = r
                second = edge.modes.Ct1.any() or any(
                    edge.modes.Q[k].any() or edge.modes.psi2[k].any() for k in map(edge.modes.node, nodes)
                )
                ruthless = edge.modes.fidelity == "ruthless"
                integers["flags"][i] = RUTHLESS if ruthless else SECOND if second else 0
                integers["nodes"][i], integers["rank"][i] = len(nodes), r
                integers["work"][i], motion = self.work, 7 * n + 6 + 6 * r
                self.work += n * n + 2 * n
            else:
                body = self.bodies[owner]
                body.nodes[edge.node] = i
                n, r = body.modes.count, body.interface
                at = len(body.nodes) - 1
                parts = _node(
                    body.modes, edge.node, inner[at] if inner else None, bool(integers["flags"][body.body] & SECOND)
                )
                integers["flags"][i] = LOADED if arrays["mass"][i] > 0 or i in carriers else 0
                motion = 6 * n + 6 * r
            integers["column"][i] = self.motion
            self.motion += motion
            key = (id(edge.modes), *nodes, "", edge.node)
            if key not in known:
                known[key] = count
                count += sum(part.size for part in parts)
                numbers += parts
            integers["data"][i] = known[key]
        self.column: list[int] = integers["column"].tolist()
        self.packed = pack_modal(integers, numbers)

    def address(self, lanes: int) -> int:
        """Of the compiled function that solves flexible bodies, for one state or in lanes."""
        from ..dynamics.flexible_calls import address

        return address(lanes)


def _six(J: np.ndarray) -> np.ndarray:
    return J[..., UPPER[0], UPPER[1]]


def _constants(modes: Modes, nodes: list[str], turned: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """As :class:`whippletree.kernels.modal_layout.Constants`; and T of each node, if there are interface modes.

    Not ``turned``: modes stay as they are, because some of them are held.
    """
    Ct, Cr = np.asarray(modes.Ct0).T, np.asarray(modes.Cr0).T
    parts = [modes.K, modes.D, modes.Mff, Ct, Cr, _six(modes.J1), modes.h0, _six(modes.J0)]
    if modes.fidelity != "ruthless":
        G1 = np.transpose(modes.Cr1, (2, 0, 1))  # [a, b]: Cr1[b][:, a]
        G2 = G1 - np.transpose(modes.Cr1, (0, 2, 1))
        parts += [_six(modes.J2), G1, G2, np.transpose(modes.Ct1, (2, 0, 1))]
        return [np.ascontiguousarray(part, float) for part in parts], []
    n, seen = modes.count, np.hstack([Cr, Ct])
    ends = [np.hstack([modes.psi[k].T, modes.phi[k].T]) for k in map(modes.node, nodes)]
    A = np.linalg.inv(np.linalg.cholesky(modes.Mff)).T  # Mff^-1 = A A'
    V = A.T @ np.hstack([*ends, seen])
    Q = _span(V)
    if Q.shape[1] >= n or not turned:
        return [np.ascontiguousarray(part, float) for part in parts], []
    L, Y = A @ (np.eye(n) - Q @ Q.T) @ A.T, A @ Q
    parts += [L, Y, Y.T @ seen]
    return [np.ascontiguousarray(part, float) for part in parts], [Y.T @ end for end in ends]


def _span(V: np.ndarray) -> np.ndarray:
    """Orthonormal columns that span those of V."""
    size = np.linalg.norm(V, axis=0)
    U, s, _ = np.linalg.svd(V[:, size > 0] / size[size > 0], full_matrices=False)
    return U[:, s > SEEN * s.max(initial=0.0)]


def _node(modes: Modes, node: str, T: np.ndarray | None, second: bool) -> list[np.ndarray]:
    k = modes.node(node)
    parts = [modes.r[k], modes.phi[k].T, modes.psi[k].T, np.zeros(0) if T is None else T]
    if second:
        parts += [np.transpose(modes.Q[k], (1, 2, 0)), np.transpose(modes.psi2[k], (1, 2, 0))]
    return [np.ascontiguousarray(part, float) for part in parts]
