"""Flexible bodies of a System: the constants of their modes as the numbers that kernels take.

Where a body of constant modal mass has more modes than its frame and nodes can see, its modes are turned into interface
modes, which they see, and the rest: (B4) of [jain1992], see dynamics/flexible/elimination.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np

from ..layout.modes import CARRIED, LOADED, MANY, PER_BODY, RUTHLESS, SECOND, VARIES, pack_modal, scratch
from ..modes import Modes
from ..modes.field import MassField

if TYPE_CHECKING:
    from .topology import Topology

UPPER = np.triu_indices(3)
SEEN = 1e-13  # of a column: what is less is rounding
NONE = 1e-15  # of the largest second-order coefficient: likewise


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
        self.motion = self.work = count = room = 0
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
                second = _second_order(edge.modes, nodes)
                ruthless = edge.modes.fidelity == "ruthless"
                integers["flags"][i] = RUTHLESS if ruthless else SECOND if second else 0
                integers["nodes"][i], integers["rank"][i] = len(nodes), r
                integers["work"][i], motion = self.work, 7 * n + 6 + 6 * r
                if (field := edge.modes.field) is not None:
                    integers["flags"][i] |= VARIES | (CARRIED if field.carried else 0)
                    integers["mass"][i] = self.motion + motion
                    motion += n * n + 9 + (6 * n if field.carried else 0)
                    more, integers["points"][i], integers["entries"][i] = _beyond(edge.modes, field, second)
                    parts += more
                    integers["lumps"][i] = len(field.lump_mass)
                room = max(room, scratch(n, integers["points"][i]))
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
        integers["scratch"][:] = self.motion
        self.motion += room
        self.column: list[int] = integers["column"].tolist()
        self.packed = pack_modal(integers, numbers)

    def address(self, lanes: int, placing: bool = False) -> int:
        """Of the compiled function that solves flexible bodies, or places them, for one state or in lanes."""
        from ..dynamics.flexible.entry import address

        return address(lanes, placing)


def _six(J: np.ndarray) -> np.ndarray:
    return J[..., UPPER[0], UPPER[1]]


def _constants(modes: Modes, nodes: list[str], turned: bool) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """As :class:`whippletree.layout.modes.Constants`; and T of each node, if there are interface modes.

    Not ``turned``: modes stay as they are, because some of them are held.
    """
    x = modes if modes.field is None else modes.field
    Ct, Cr = np.asarray(x.h1).T, np.asarray(x.Cr0).T
    parts = [modes.K, modes.D, x.Mff, Ct, Cr, _six(x.J1), x.h0, _six(x.J0)]
    if modes.fidelity != "ruthless":
        Cr1 = np.transpose(x.Cr1, (0, 2, 1))  # [b, a]
        parts += [np.dstack([_six(x.J2), Cr1]), np.dstack([Cr1, Cr1 - Cr1.swapaxes(0, 1)])]
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
    return _motion(modes.r[k], [x[k] for x in _moves(modes)], second, np.zeros(0) if T is None else T)


def _moves(modes: Modes) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """phi, psi, Q and psi2 of the nodes, in the frame in which the energy is given."""
    field = modes.field
    if field is not None and field.carried:
        return field.node_phi, field.node_psi, field.node_Q, field.node_psi2
    return modes.phi, modes.psi, modes.Q, modes.psi2


def _motion(r: np.ndarray, moves: list[np.ndarray], second: bool, T: np.ndarray | None = None) -> list[np.ndarray]:
    """The constants of a node: its place, psi and phi, T of interface modes, psi2 and Q."""
    phi, psi, Q, psi2 = moves
    parts = [r, np.vstack([psi, phi]).T, *([] if T is None else [T])]
    parts += [np.concatenate([psi2, Q]).transpose(1, 2, 0)] if second else []
    return [np.ascontiguousarray(part, float) for part in parts]


def _second_order(modes: Modes, nodes: list[str]) -> bool:
    """Whether places or rotations of the nodes, of lumps or of the carrier have a second order."""
    _, _, Q, psi2 = _moves(modes)
    some = [modes.node(node) for node in {*nodes, modes.inboard}]
    field = modes.field
    lumps = field is not None and (field.lump_Q.any() or field.lump_psi2.any())
    return bool(lumps or Q[some].any() or psi2[some].any())


def _beyond(modes: Modes, field: MassField, second: bool) -> tuple[list[np.ndarray], int, int]:
    """What makes the modal mass vary, as kernels take it; numbers of points, and of second-order coefficients."""
    n, count = modes.count, len(field.one)
    G = -(-count // MANY) * MANY
    one, r, phi, Q = (
        np.concatenate([x, np.zeros((G - count, *x.shape[1:]))]) for x in (field.one, field.r, field.phi, field.Q)
    )
    values = Q.reshape(-1, MANY, 3, n, n).swapaxes(0, 1)
    entries = np.argwhere(np.abs(values).max(axis=0, initial=0.0) > NONE * np.abs(Q).max(initial=0.0))
    block, c, a, b = entries.T
    starts = np.searchsorted((3 * block + c) * n + a, np.arange(3 * n * (G // MANY) + 1))
    integers = np.concatenate([starts + starts.size, b]).astype(np.int64)
    parts = [one, r.T, phi.transpose(2, 1, 0), integers.view(float), values[:, block, c, a, b].T] if count else []
    for k, mass in enumerate(field.lump_mass):
        parts += [np.array([mass]), field.lump_com[k], _six(field.lump_inertia[k])]
        moves = [field.lump_phi[k], field.lump_psi[k], field.lump_Q[k], field.lump_psi2[k]]
        parts += _motion(field.lump_r[k], moves, second)
    if field.carried:
        k = modes.node(modes.inboard)
        parts += _motion(modes.r[k], [x[k] for x in _moves(modes)], second)
    return [np.ascontiguousarray(part, float) for part in parts], G, len(entries)
