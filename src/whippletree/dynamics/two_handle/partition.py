"""A tree cut into subchains: subchains that are solved side by side.

From every child of ground, and from every branch heavy enough to be worth it, a *family* goes outward along the
heaviest children. Its path is cut into subchains; lighter branches are folded into the subchain that they hang on. A
family ends in a free tip, so it can be closed before the subchain that carries it is swept: however many branches meet
at a body, no subchain has more than two handles. A branch that starts a family weighs at most half of what it hangs on,
so families nest no deeper than log2 of the number of bodies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import ModelError
from ...joints import CODES, FIRST_CARRIED, KINDS
from ...system.system import System
from ..accuracy.unevenness import carried_over_own
from ..constraints.live_rows import live_rows
from ..divide.options import Division

WITH_NUMBERS = [code for name, code in CODES.items() if KINDS[name].numbers is not None]
TERMINAL = 0.5  # share of the O(n) subsystem of DCAt
LOSSY = 1e6  # of mass_grading, from which on no run is begun
BLUNT = (
    1e-6  # a body's least moment of inertia over its largest, from which on it may be the tip of a subchain anywhere
)


@dataclass(slots=True)
class Subchain:
    """Bodies of the System: the path outward, then what hangs off it, parents first."""

    path: list[int]
    aside: list[int]
    carrier: int  # the body that it stands on
    carried_by: Subchain | None = None
    goes_on: bool = False  # from the tip of the subchain that carries it
    has_next: bool = False
    family: int = 0
    holds: set[int] = field(default_factory=set)  # bodies that carry something beside the path
    block: int = -1
    lane: int = -1
    clusters: list[Any] = field(default_factory=list)  # loops inside, see divide/loop_clusters.py
    first_row: int = 0  # of theirs among all such rows

    @property
    def bodies(self) -> list[int]:
        return self.path + self.aside


@dataclass(slots=True)
class Family:
    subchains: list[Subchain]
    level: int = 0  # 0: carries no other family


def codes(system: System) -> np.ndarray:
    """What must be equal for two joints to be computed side by side."""
    kind, sign = system.arrays["kind"], system.arrays["sign"]
    alone = np.isin(kind, WITH_NUMBERS) * np.arange(1, len(kind) + 1)  # it reads numbers that no other joint has
    return np.where((kind >= FIRST_CARRIED) & (sign < 0), -1 - kind, kind) + 2 * len(KINDS) * alone


def tips(system: System) -> np.ndarray:
    """For every body: 2 if it may be a subchain's tip anywhere, 1 if it has mass, 0 if it has none.

    Seen alone, a subchain has no motion without inertia if its tip has inertia against all motions.
    """
    a = system.arrays
    xx, xy, xz, yy, yz, zz = a["inertia"].reshape(-1, 6).T
    moments = np.linalg.eigvalsh(np.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz], axis=-1).reshape(-1, 3, 3))
    solid = moments[:, 0] > BLUNT * moments[:, 2]
    return np.where(a["mass"] > 0.0, np.where(solid, 2, 1), 0)


def lightness(system: System) -> np.ndarray:
    """For every body: 0, or by how many thousands it is lighter than the heaviest one that it carries."""
    return np.floor(np.log10(np.clip(carried_over_own(system), 1.0, 1e15)) / 3.0).astype(int)


def partition(system: System, choice: Division, pieces: int, share: float) -> list[Family]:
    """Families in the order from ground outward. The last subchain of a family weighs ``share`` times an ordinary
    one.
    """
    parent, nb = system.arrays["parent"].tolist(), system.nb
    own = 0.5 * (1.0 + np.diff(system.arrays["dof"]))
    weight = own.copy()
    weight[0] = 0.0
    children: list[list[int]] = [[] for _ in range(nb)]
    for i in range(nb - 1, 0, -1):
        weight[parent[i]] += weight[i]
        children[parent[i]].append(i)
    grain = 0.0 if choice.leaves == "bodies" else weight[0] / max(1, pieces)
    fit, crossed, light = tips(system), crossings(system), lightness(system)
    families: list[Family] = []
    held: dict[int, Subchain] = {}  # which subchain a body is in
    waiting = list(children[0])
    while waiting:
        root = waiting.pop()
        path, sides = [root], []
        while children[path[-1]]:
            first, *others = sorted(children[path[-1]], key=lambda c: -weight[c])
            sides += others
            path.append(first)
        heavy = {c for c in sides if weight[c] > grain}
        load = _folded(path, children, heavy, own)
        subchains = _cut(path, load, fit, crossed, light, choice, grain, share)
        if choice.leaves != "subchains":
            _require_mass(system, subchains[:-1], fit)
        _settle(subchains, root, parent, children, heavy, held, len(families))
        families.append(Family(subchains))
        waiting += sorted(heavy)
    _nest(families)
    return families


def _folded(path: list[int], children: list[list[int]], heavy: set[int], own: np.ndarray) -> np.ndarray:
    """Weight of every body of a path with what is folded into it."""
    load = own[path].copy()
    on = set(path)
    for n, i in enumerate(path):
        waiting = [c for c in children[i] if c not in on and c not in heavy]
        while waiting:
            c = waiting.pop()
            load[n] += own[c]
            waiting += children[c]
    return load


def _cut(
    path: list[int],
    load: np.ndarray,
    fit: np.ndarray,
    crossed: np.ndarray,
    light: np.ndarray,
    choice: Division,
    grain: float,
    share: float,
) -> list[Subchain]:
    """The path in subchains, cut behind bodies that are fit to be tips."""
    done = np.cumsum(load)
    if choice.leaves == "bodies":
        ends: list[int | None] = list(range(1, len(path)))
    elif choice.leaves == "terminal":
        last = TERMINAL if choice.terminal is None else choice.terminal
        ends = list(range(1, int(np.searchsorted(done, done[-1] * (1.0 - last) * (1.0 + 1e-9), side="right")) + 1))
    else:
        count = max(1, round(done[-1] / grain))
        if choice.terminal is not None and count > 1:
            share = choice.terminal * (count - 1) / (1.0 - choice.terminal)
        wanted = done[-1] / (count - 1 + share) * np.arange(1, count)
        reach = max(1, len(path) // (4 * count))
        near = np.searchsorted(done, wanted * (1.0 - 1e-9)) + 1
        ends = [nearest_fit(path, fit, crossed, light, int(e), reach) for e in near]
    cuts = sorted({e for e in ends if e is not None and 0 < e < len(path)})
    return [Subchain(path[a:b], [], 0) for a, b in zip([0, *cuts], [*cuts, len(path)], strict=True)]


def _require_mass(system: System, subchains: list[Subchain], fit: np.ndarray) -> None:
    """A body that is a leaf moves by its own inertia."""
    for subchain in subchains:
        if fit[subchain.path[-1]] == 0:
            raise ModelError(
                f"'{system.name}' cannot be divided into single bodies: one has no mass",
                where=system.mechanical(subchain.path[-1]),
                hint="subchains of several bodies are cut where bodies have mass: leave out efficient=False",
            )


def nearest_fit(
    path: list[int], fit: np.ndarray, crossed: np.ndarray, light: np.ndarray, end: int, reach: int
) -> int | None:
    """A number of bodies near ``end`` whose last one is fit to be a tip, and a cut behind it crosses few loops.

    A force at a light tip that carries heavy bodies moves it far, and digits are lost: heavy ones are taken first.
    """
    near = [e for away in range(reach + 1) for e in (end - away, end + away) if 0 < e < len(path)]
    able = [e for e in near if fit[path[e - 1]]]
    return min(able, key=lambda e: (crossed[path[e]], light[path[e - 1]], -fit[path[e - 1]]), default=None)


def crossings(system: System) -> np.ndarray:
    """For every body: how many loops pass through its inboard joint."""
    live, parent, found = live_rows(system), system.arrays["parent"], np.zeros(system.nb, int)
    for e in range(len(live.body)):
        a, b = int(live.body[e]), int(live.to[e])
        while a != b and live.row[e] < live.row[e + 1]:
            a, b = max(a, b), min(a, b)
            found[a] += 1
            a = int(parent[a])
    return found


def _settle(
    subchains: list[Subchain],
    root: int,
    parent: list[int],
    children: list[list[int]],
    heavy: set[int],
    held: dict[int, Subchain],
    family: int,
) -> None:
    """What subchains of one family carry, and what carries them."""
    for n, subchain in enumerate(subchains):
        on = set(subchain.path)
        following = subchains[n + 1].path[0] if n + 1 < len(subchains) else -1
        subchain.family, subchain.has_next = family, following >= 0
        subchain.carrier = parent[subchain.path[0]]
        subchain.carried_by = subchains[n - 1] if n else held.get(parent[root])
        subchain.goes_on = n > 0
        for i in subchain.path:
            beside = [c for c in children[i] if c not in on and c != following]
            if beside:
                subchain.holds.add(i)
            waiting = [c for c in beside if c not in heavy]
            while waiting:
                c = waiting.pop()
                subchain.aside.append(c)
                if children[c]:
                    subchain.holds.add(c)
                waiting += children[c]
        subchain.aside.sort()
        for i in subchain.bodies:
            held[i] = subchain


def _nest(families: list[Family]) -> None:
    """The level of every family: above those that it carries."""
    for family in reversed(families):
        on = family.subchains[0].carried_by
        if on is not None:
            families[on.family].level = max(families[on.family].level, family.level + 1)


def blocks(system: System, families: list[Family], lanes: int) -> list[list[Subchain]]:
    """Subchains that are computed together, families of low level first. Subchains of a level with equal joints
    share.
    """
    code, found = codes(system), []
    for level in range(max(f.level for f in families) + 1):
        alike: dict[object, list[Subchain]] = {}
        for subchain in (s for f in families if f.level == level for s in f.subchains):
            alike.setdefault(_form(system, subchain, code), []).append(subchain)
        for subchains in alike.values():
            subchains.sort(key=lambda s: -len(s.path) if not s.aside else 0)
            for n in range(0, len(subchains), lanes):
                found.append(subchains[n : n + lanes])
    for n, block in enumerate(found):
        for lane, subchain in enumerate(block):
            subchain.block, subchain.lane = n, lane
    return found


def _form(system: System, subchain: Subchain, code: np.ndarray) -> object:
    """Subchains of one form can be computed side by side: behind the first joint rows of one kind of any length, or
    equal trees."""
    if subchain.clusters:
        return id(subchain)  # alone
    kinds = code[subchain.path]
    if not subchain.aside and (kinds[1:] == kinds[-1]).all():
        return int(kinds[0]), int(kinds[-1])
    local = {b: n for n, b in enumerate(subchain.bodies)}
    parent = system.arrays["parent"]
    return tuple(kinds.tolist()), tuple((local[int(parent[b])], int(code[b])) for b in subchain.aside)
