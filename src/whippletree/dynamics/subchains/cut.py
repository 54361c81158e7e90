"""A tree with some joints cut: subchains that float, each with a base and a tip, and what was cut between them. Step I.

A subchain is a path of bodies with what hangs off it folded in. Joints are cut only behind its last body, the tip, be
it one or several: so it is held at two places, whatever the tree. The cut system is a forest: bodies in the order of
subchains, those that were cut on free joints to ground, the others on the joint that they have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compiler.lanes import LANES
from ...errors import ModelError
from ...joints import CODES, FLOAT, KINDS
from ...layout.system import pack
from ...system.system import NO_FLEXIBLE, System
from ..two_handle.partition import BLUNT, Subchain, nearest_fit, tips
from .options import Cutting

GROWTH, TRIES = 1.15, 20  # of the least weight of a branch that is cut, to come near the number of subchains asked for


class Lent(NamedTuple):
    """Inertia that a base borrows where it has none of its own, and gives back as a load that is solved for."""

    inertia: float  # kg m^2, or kg
    along: np.ndarray  # (6)  what its acceleration is measured by: about an axis, or along one at the centre of mass


class CutJoint(NamedTuple):
    inner: int  # the subchain on whose tip
    outer: int  # this one's base was
    body: int  # of the System: that base
    held: int  # rows of what the joint holds: the complement of its DOF, and DOF with armature
    lent: tuple[Lent, ...]

    @property
    def rows(self) -> int:
        return self.held + len(self.lent)


class Forest(NamedTuple):
    """The cut system, in the form of a System as far as kernels and plans look at one."""

    name: str
    nb: int
    nq: int
    nu: int
    arrays: dict[str, np.ndarray]
    q0: np.ndarray
    gravity: np.ndarray
    packed: np.ndarray
    flexible: None = None


def into_subchains(system: System, pieces: int) -> list[Subchain]:
    """At most so many subchains, or one for each body on ground; each behind the one that carries it."""
    own = 0.5 * (1.0 + np.diff(system.arrays["dof"]))
    parent = system.arrays["parent"].tolist()
    weight = own.copy()
    children: list[list[int]] = [[] for _ in range(system.nb)]
    weight[0] = 0.0
    for i in range(system.nb - 1, 0, -1):
        weight[parent[i]] += weight[i]
        children[parent[i]].append(i)
    fit = tips(system)
    grain, most = weight[0] / pieces * (1.0 - 1e-9), max(pieces, len(children[0]))
    found = _grown(children, weight, own, fit, grain)
    tried = {len(found): found}
    for way in (1.0 / GROWTH, GROWTH):  # branches that part make fewer, or more
        for n in range(1, TRIES):
            if len(found) == most or (way > 1.0) == (len(found) < most):
                break
            found = _grown(children, weight, own, fit, grain * way**n)
            tried[len(found)] = found
    return tried[max(count for count in tried if count <= most)]


def _grown(children: Any, weight: np.ndarray, own: np.ndarray, fit: np.ndarray, grain: float) -> list[Subchain]:
    """Paths from ground outward along the heaviest children; where two heavy branches part, all of them are cut."""
    found: list[Subchain] = []
    waiting: list[tuple[int, Subchain | None]] = [(root, None) for root in reversed(children[0])]
    while waiting:
        root, on = waiting.pop()
        path: list[int] = [root]
        parted: list[int] = []
        while children[path[-1]] and not parted:
            heavy = [c for c in children[path[-1]] if weight[c] > grain and fit[c] > 0]
            if len(heavy) > 1 and fit[path[-1]] > 0:
                parted = heavy
            else:
                path.append(max(children[path[-1]], key=lambda c: weight[c]))
        subchains = _pieces_of(path, set(parted), children, own, fit, grain)
        for subchain in subchains:
            subchain.carried_by, on = on, subchain
        found += subchains
        waiting += [(c, subchains[-1]) for c in reversed(parted)]
    return found


def _pieces_of(
    path: list[int], parted: set[int], children: Any, own: np.ndarray, fit: np.ndarray, grain: float
) -> list[Subchain]:
    """A path in subchains of about one grain, cut between bodies that are fit to be tip and base."""
    aside = [_beside(i, {*path, *parted}, children) for i in path]
    done = np.cumsum([own[i] + own[more].sum() for i, more in zip(path, aside, strict=True)])
    count = max(1, round(done[-1] / grain))
    near = np.searchsorted(done, done[-1] / count * np.arange(1, count) * (1.0 - 1e-9)) + 1
    both = np.minimum(fit[path[:-1]], fit[path[1:]])
    reach, places = max(1, len(path) // (4 * count)), list(range(len(path)))
    none = np.zeros(len(path), int)  # a light body is either the tip of one or the base of the other
    ends = {nearest_fit(places, both, none, none, int(e), reach) for e in near}
    cuts = sorted(e for e in ends if e is not None)
    found = []
    for a, b in zip([0, *cuts], [*cuts, len(path)], strict=True):
        subchain = Subchain(path[a:b], sorted(c for more in aside[a:b] for c in more), 0)
        subchain.holds = {i for i, more in zip(path[a:b], aside[a:b], strict=True) if more}
        subchain.holds |= {c for c in subchain.aside if children[c]}
        found.append(subchain)
    return found


def _beside(body: int, not_these: set[int], children: Any) -> list[int]:
    """All that hangs on a body of the path beside it."""
    found, waiting = [], [c for c in children[body] if c not in not_these]
    while waiting:
        c = waiting.pop()
        found.append(c)
        waiting += children[c]
    return found


def lent_to(system: System, body: int) -> tuple[Lent, ...]:
    """What a body lacks to be a base: inertia about its thin axes, and mass."""
    a = system.arrays
    xx, xy, xz, yy, yz, zz = a["inertia"].reshape(-1, 6)[body]
    moments, axes = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    typical = max(moments[2], float(a["inertia"].reshape(-1, 6)[1:, [0, 3, 5]].mean()))
    found = [
        Lent(typical, np.concatenate([axis, np.zeros(3)]))
        for moment, axis in zip(moments, axes.T, strict=True)
        if moment <= BLUNT * moments[2]
    ]
    if a["mass"][body] == 0.0:
        com, mass = a["com"].reshape(-1, 3)[body], float(a["mass"][1:].mean())
        found += [Lent(mass, np.concatenate([np.cross(com, axis), axis])) for axis in np.eye(3)]
    return tuple(found)


class Cut:
    """A System cut into subchains: ``subchains`` in the forest's numbers, ``joints`` that were cut, and the forest.

    ``q_rows, u_rows`` are rows of the System that the forest has too, and ``q_here, u_here`` where: all joints but
    those that were cut. ``base_q, base_u`` are where each subchain's floating base starts, -1 where it is on ground:
    [x y z, qw qx qy qz] in the world, and [angular; linear] velocity in its own axes.
    """

    def __init__(self, system: System, pieces: int) -> None:
        if pieces > system.nb - 1:
            raise ModelError(
                f"'{system.name}' cannot be cut into so many subchains",
                expected=f"at most {system.nb - 1}, one for each body that moves",
                got=pieces,
            )
        self.system = system
        subchains = into_subchains(system, pieces)
        number = {id(s): n for n, s in enumerate(subchains)}
        self.bodies = np.array([0] + [b for s in subchains for b in s.bodies])
        self.here = np.zeros(system.nb, int)  # where in the forest a body of the System is
        self.here[self.bodies] = np.arange(system.nb)
        carried = [-1 if s.carried_by is None else number[id(s.carried_by)] for s in subchains]
        pairs = sorted((inner, outer) for outer, inner in enumerate(carried) if inner >= 0)
        self.joints = [self._joint(inner, outer, subchains[outer].path[0]) for inner, outer in pairs]
        self.base_cut = np.full(len(subchains), -1)
        self.tip_cuts: list[list[int]] = [[] for _ in subchains]
        for c, joint in enumerate(self.joints):
            self.base_cut[joint.outer] = c
            self.tip_cuts[joint.inner].append(c)
        self.first = np.cumsum([0] + [joint.rows for joint in self.joints])  # rows of loads of each cut
        self.forest = self._forest(subchains)
        self.subchains = [self._moved(n, s) for n, s in enumerate(subchains)]
        self._map()

    @property
    def rows(self) -> int:
        return int(self.first[-1])

    @property
    def is_chain(self) -> bool:
        return all(len(cuts) < 2 for cuts in self.tip_cuts)

    def _joint(self, inner: int, outer: int, body: int) -> CutJoint:
        a = self.system.arrays
        resist = a["resist"][a["dof"][body] : a["dof"][body + 1]]
        return CutJoint(inner, outer, body, 6 - resist.size + int((resist > 0).sum()), lent_to(self.system, body))

    def _forest(self, subchains: list[Subchain]) -> Forest:
        system, order = self.system, self.bodies
        a, nb = system.arrays, system.nb
        floating = np.isin(order, [joint.body for joint in self.joints])
        sizes = {name: np.diff(a[name])[order] for name in ("position", "dof")}
        for name, size in zip(("position", "dof"), (KINDS[FLOAT].nq, KINDS[FLOAT].nu), strict=True):
            sizes[name][floating] = size
        arrays: dict[str, Any] = {name: np.concatenate([[0], np.cumsum(n)]) for name, n in sizes.items()}
        arrays["parent"] = np.where(floating, 0, self.here[a["parent"][order]])
        arrays["kind"] = np.where(floating, CODES[FLOAT], a["kind"][order])
        arrays["sign"] = np.where(floating, 1.0, a["sign"][order])
        for name, shape in (("Rt", (nb, 9)), ("pt", (nb, 3)), ("com", (nb, 3)), ("inertia", (nb, 6))):
            arrays[name] = a[name].reshape(shape)[order].copy()
        arrays["Rt"][floating], arrays["pt"][floating] = np.eye(3).ravel(), 0.0
        arrays |= {name: a[name][order].copy() for name in ("mass", "parameter")}
        arrays["resist"] = np.zeros(arrays["dof"][-1])
        q0 = np.zeros(arrays["position"][-1])
        for i in range(1, nb):
            to, rows = slice(*arrays["dof"][i : i + 2]), slice(*a["dof"][order[i] : order[i] + 2])
            at, there = slice(*arrays["position"][i : i + 2]), slice(*a["position"][order[i] : order[i] + 2])
            if floating[i]:
                q0[at] = 0, 0, 0, 1, 0, 0, 0
            else:
                arrays["resist"][to], q0[at] = a["resist"][rows], system.q0[there]
        arrays["component"] = np.repeat(np.arange(-1, len(subchains)), [1] + [len(s.bodies) for s in subchains])
        arrays["component"][0] = 0
        bases = [
            np.zeros(3) if s.carried_by else a["base"].reshape(-1, 3)[a["component"][s.path[0]]] for s in subchains
        ]
        arrays["base"] = np.array(bases)
        for joint in self.joints:
            self._lend(arrays, int(self.here[joint.body]), joint.lent)
        nu = len(arrays["resist"])
        unused = {"first": np.zeros(nb, int), "up": np.zeros(nu, int), "armature": np.zeros(nu)}
        packed, views = pack(
            arrays | unused | {"gravity": system.gravity, "numbers": a["numbers"]},
            nb,
            nu,
            len(q0),
            len(subchains),
            NO_FLEXIBLE,
        )
        return Forest(system.name, nb, len(q0), nu, views, q0, system.gravity, packed)

    @staticmethod
    def _lend(arrays: dict[str, np.ndarray], i: int, lent: tuple[Lent, ...]) -> None:
        for inertia, along in lent:
            if along[3:].any():
                arrays["mass"][i] = inertia
            else:
                upper = np.triu_indices(3)
                arrays["inertia"][i] += inertia * np.outer(along[:3], along[:3])[upper]

    def _moved(self, n: int, subchain: Subchain) -> Subchain:
        """A subchain with the bodies of the forest."""
        at = lambda bodies: [int(self.here[b]) for b in bodies]  # noqa: E731
        moved = Subchain(at(subchain.path), at(subchain.aside), 0, has_next=bool(self.tip_cuts[n]), family=n)
        moved.holds = set(at(subchain.holds))
        return moved

    def _map(self) -> None:
        a, f = self.system.arrays, self.forest.arrays
        cut = {joint.body for joint in self.joints}
        rows: dict[str, list[np.ndarray]] = {"position": [], "dof": []}
        here: dict[str, list[np.ndarray]] = {"position": [], "dof": []}
        for i, b in enumerate(self.bodies.tolist()):
            if i and b not in cut:
                for name in rows:
                    rows[name].append(np.arange(a[name][b], a[name][b + 1]))
                    here[name].append(np.arange(f[name][i], f[name][i + 1]))
        none = [np.zeros(0, int)]
        self.q_rows, self.u_rows = (np.concatenate(rows[name] + none) for name in ("position", "dof"))
        self.q_here, self.u_here = (np.concatenate(here[name] + none) for name in ("position", "dof"))
        floats = self.base_cut >= 0
        first = np.array([s.path[0] for s in self.subchains], int)
        self.base_q = np.where(floats, f["position"][first], -1)
        self.base_u = np.where(floats, f["dof"][first], -1)


def cut_of(system: System, choice: Cutting) -> Cut:
    """A System cut as asked for; refuses what cannot be."""
    pieces = choice.pieces or max(1, min(1 + LANES, (system.nb - 1) // 2))
    found = Cut(system, pieces)
    if choice.solver == "cyclic" and not found.is_chain:
        raise ModelError(
            f"solver 'cyclic' is for chains, and subchains of '{system.name}' branch",
            where=system.mechanical(found.joints[next(c[0] for c in found.tip_cuts if len(c) > 1)].body),
            hint="solver='thomas' eliminates trees without fill",
        )
    return found
