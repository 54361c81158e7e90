"""From the joint graph to a tree: welds, a depth-first spanning tree, and the joints that close loops.

Depth first, every joint that is left over joins a body to one of its ancestors: the base of its
loop (DESIGN: loops by fronts). Bodies are numbered as they are met, so that ``parent[i] < i``. A
flexible body is met at one of its nodes; it and all its other nodes that are used come next.
The bases of loops that pass over a body are its *keys*; reduction's work on a body grows with
the square of their number (docs/decisions/0011-which-joints-are-cut.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import ModelError
from ..joints import KINDS, WELD
from ..model import GROUND, Joint, Model
from ..model.check_flexible import body_names, one_place
from ..modes import Modes

GAIN = 1.5  # less work by this much, or joints are taken in the order they were written


@dataclass
class Edge:
    """A joint of the tree, from the body nearer to ground to the one farther away."""

    joint: Joint
    parent: int
    turned: bool  # the user's child is the one nearer to ground
    # of a flexible body (kind "modes") and of its nodes (kind "node"), which no joint carries
    flexible: str = ""
    node: str = ""  # the node itself, or the one where the tree enters the body
    modes: Modes | None = None


@dataclass
class Topology:
    """Who hangs on whom. System body 0 is ground; edges[i - 1] carries system body i."""

    group: dict[str, int]  # model body -> weld group, then -> system body
    welds: list[tuple[Joint, bool]] = field(default_factory=list)  # in walking order; True if walked child to parent
    edges: list[Edge] = field(default_factory=list)
    cuts: list[Joint] = field(default_factory=list)
    sideways: list[Joint] = field(default_factory=list)  # cuts between two branches, each of a node of one body

    def ends(self, joint: Joint) -> tuple[int, int]:
        """System bodies of a joint's parent and child."""
        return self.group[joint.parent], self.group[joint.child]

    def loop(self, joint: Joint) -> tuple[int, list[int]]:
        """Base of the loop that a cut joint closes, and the system bodies on it from the base outward."""
        a, b = sorted(self.ends(joint))
        path = []
        while b > a:
            path.append(b)
            b = self.edges[b - 1].parent
        return b, path[::-1]


def find_topology(model: Model) -> Topology:
    """Weld fixed joints, then span what is left."""
    for name in model.flexibles:
        if name in model.joints:
            raise ModelError(
                f"joint '{name}' has the name of a flexible body, whose modes are coordinates of that name too",
                where=model.joints[name].where,
                hint="give each a name of its own",
            )
    topology = _weld(model)
    _span(model, topology)
    for edge in topology.edges:
        if edge.flexible:
            modes = model.flexibles[edge.flexible].modes
            entered = edge.node if edge.joint.kind == "modes" else topology.edges[edge.parent - 1].node
            edge.modes = modes if entered == modes.inboard else modes.referenced(to=entered)
    for joint in topology.cuts if model.flexibles else ():
        base, end = sorted(topology.ends(joint))
        while end > base:
            end = topology.edges[end - 1].parent
        if end != base:
            topology.sideways.append(joint)
    return topology


def rigid_names(model: Model) -> list[str]:
    """Ground, bodies, the frames of flexible bodies, and those of their nodes that something names."""
    parts = (*model.joints.values(), *model.frames.values(), *model.forces.values(), *model.constraints.values())
    named = {getattr(part, end, None) for part in parts for end in ("parent", "child", "body", "to")}
    moving = [name for name in body_names(model) if "/" in name and one_place(model, name) == name]
    nodes = [name for name in moving if name in named and name not in model.bodies]
    return [GROUND, *model.bodies, *model.flexibles, *nodes]


def _neighbours(model: Model, names: list[str], joints: list[Joint]) -> dict[str, list[Joint]]:
    at: dict[str, list[Joint]] = {name: [] for name in names}
    for joint in joints:
        at[one_place(model, joint.parent)].append(joint)
        at[one_place(model, joint.child)].append(joint)
    return at


def _weld(model: Model) -> Topology:
    """Bodies that fixed joints hold together form one group; a fixed joint too many is a cut."""
    names, owner = rigid_names(model), body_names(model)
    at = _neighbours(model, names, [j for j in model.joints.values() if j.kind == WELD])
    topology = Topology({})
    used: set[str] = set()
    for number, root in enumerate(names):
        if root in topology.group:
            continue
        topology.group[root] = number
        deformed = {owner[root]} & model.flexibles.keys()  # flexible bodies with a node in the group
        waiting = [root]
        while waiting:
            body = waiting.pop()
            for joint in at[body]:
                if joint.name in used:
                    continue
                used.add(joint.name)
                ends = one_place(model, joint.parent), one_place(model, joint.child)
                other = ends[1] if ends[0] == body else ends[0]
                if other in topology.group or owner[other] in deformed:  # two nodes of one body move apart
                    topology.cuts.append(joint)
                    continue
                topology.group[other] = number
                deformed |= {owner[other]} & model.flexibles.keys()
                topology.welds.append((joint, ends[1] == body))
                waiting.append(other)
    for name, flexible in model.flexibles.items():
        topology.group[f"{name}/{flexible.modes.inboard}"] = topology.group[name]
    return topology


def _span(model: Model, topology: Topology) -> None:
    """Depth-first from ground; renumbers groups as system bodies.

    Joints are taken in the order they were written, unless another order makes the loops overlap much less.
    """
    at: dict[int, list[Joint]] = {topology.group[GROUND]: []}
    for joint in model.joints.values():
        if joint.kind != WELD:
            for end in topology.ends(joint):
                at.setdefault(end, []).append(joint)
    for joints in at.values():
        joints.sort(key=_closes)  # a joint that cannot close a loop is entered first
    nodes = Nodes(model, topology)
    span = written = _walk(topology, at, nodes)
    if model.tree == "chosen" and not model.flexibles and written.work() > GAIN * len(written.edges):
        held = moved_by_name(model)
        least = written.work() / GAIN
        for order in _orders(topology, at):
            other = _walk(topology, order, nodes)
            if held & {j.name for j in other.cuts} <= {j.name for j in written.cuts} and other.work(least) < least:
                span, least = other, other.work()
    _all_close(span)
    topology.edges = span.edges
    topology.cuts += span.cuts
    topology.group = {name: span.number[group] for name, group in topology.group.items()}


def _closes(joint: Joint) -> bool:
    return KINDS[joint.kind].holds is not None


def _all_close(span: Span) -> None:
    """Complain about a joint that the tree does not reach and whose kind cannot close a loop."""
    for joint in span.cuts:
        if not _closes(joint):
            raise ModelError(
                f"joint '{joint.name}' ({joint.kind}) closes a loop, which its kind cannot",
                expected="a loop that leaves its base, or returns to it, by a joint of another kind, which is cut",
                where=joint.where,
                hint="of the two joints of a loop on one body, often ground, only one may be of this kind",
            )


@dataclass
class Span:
    """One depth-first spanning tree."""

    number: dict[int, int]  # weld group -> system body
    edges: list[Edge] = field(default_factory=list)
    cuts: list[Joint] = field(default_factory=list)
    ends: list[tuple[int, int]] = field(default_factory=list)  # of each cut: the base, and the body farther out
    entered: set[str] = field(default_factory=set)  # flexible bodies

    def keys(self) -> Iterator[int]:
        """Every body once for each base, ground apart, of loops that pass over it."""
        outer: dict[int, list[int]] = {}
        for base, i in self.ends:
            if base:
                outer.setdefault(base, []).append(i)
        for base, ends in outer.items():
            met = {base}
            for end in ends:
                i = end
                while i not in met:
                    met.add(i)
                    yield i
                    i = self.edges[i - 1].parent

    def work(self, most: float = float("inf")) -> float:
        """Of reduction, about: the square of one and its keys, for every body. Counting stops at ``most``."""
        keys, work = [0] * (len(self.edges) + 1), float(len(self.edges))
        for i in self.keys():
            work += 2 * keys[i] + 3  # (k + 2)^2 - (k + 1)^2
            keys[i] += 1
            if work > most:
                break
        return work


class Nodes:
    """Nodes of flexible bodies: those in each group, (body, node), and those of each body, (group, node)."""

    def __init__(self, model: Model, topology: Topology) -> None:
        self.of_group: dict[int, list[tuple[str, str]]] = {}
        self.of_body: dict[str, list[tuple[int, str]]] = {}
        for name in rigid_names(model)[1 + len(model.bodies) :]:
            body, _, node = name.rpartition("/")
            if name in model.flexibles:
                body, node = name, model.flexibles[name].modes.inboard
            group = topology.group[name]
            self.of_group.setdefault(group, []).append((body, node))
            self.of_body.setdefault(body, []).append((group, node))


def _enter(span: Span, group: int, nodes: Nodes, at: dict[int, list[Joint]], stack: list[Any]) -> None:
    """Go on at a group, once the flexible bodies that it carries and their other nodes have their numbers."""
    stack.append((group, iter(at.get(group, ()))))
    for body, entered in nodes.of_group.get(group, ()):
        if body in span.entered:
            continue
        span.entered.add(body)
        others = [(other, node) for other, node in nodes.of_body[body] if node != entered]
        span.edges.append(Edge(Joint(body, "modes", body, body), span.number[group], False, body, entered))
        carrier = len(span.edges)
        for other, node in others:
            name = f"{body}/{node}"
            if other in span.number:
                raise ModelError(
                    f"flexible body '{body}': nodes '{entered}' and '{node}' are welded to what the tree has reached",
                    expected="welds that form a tree, or end at one body",
                    hint=f"join '{name}' by a joint that moves, which can be cut",
                )
            span.edges.append(Edge(Joint(name, "node", body, name), carrier, False, body, node))
            span.number[other] = len(span.edges)
        for other, _ in reversed(others):
            _enter(span, other, nodes, at, stack)


def _walk(topology: Topology, at: dict[int, list[Joint]], nodes: Nodes) -> Span:
    """Depth first, at each group its joints in the order given."""
    ground = topology.group[GROUND]
    span, used = Span({ground: 0}), set[str]()
    stack: list[tuple[int, Iterator[Joint]]] = []
    _enter(span, ground, nodes, at, stack)
    while stack:
        group, joints = stack[-1]
        for joint in joints:
            if joint.name not in used:
                break
        else:
            stack.pop()
            continue
        used.add(joint.name)
        a, b = topology.ends(joint)
        turned = b == group and a != group
        other = a if turned else b
        if other in span.number:
            span.cuts.append(joint)
            span.ends.append((min(span.number[a], span.number[b]), max(span.number[a], span.number[b])))
            continue
        span.edges.append(Edge(joint, span.number[group], turned))
        span.number[other] = len(span.edges)
        _enter(span, other, nodes, at, stack)
    return span


def _orders(topology: Topology, at: dict[int, list[Joint]]) -> Iterator[dict[int, list[Joint]]]:
    """Other orders to take the joints in: back to front, and each way with those first that lead nearer to ground."""
    backwards = {group: joints[::-1] for group, joints in at.items()}
    for joints in backwards.values():
        joints.sort(key=_closes)
    yield backwards
    ground = topology.group[GROUND]
    distance, waiting = {ground: 0}, [ground]
    for group in waiting:
        for joint in at[group]:
            for end in topology.ends(joint):
                if end not in distance:
                    distance[end] = distance[group] + 1
                    waiting.append(end)

    def nearest(group: int, joints: list[Joint]) -> list[Joint]:
        ends = {j.name: topology.ends(j) for j in joints}
        return sorted(joints, key=lambda j: (_closes(j), distance[ends[j.name][ends[j.name][0] == group]]))

    for order in (at, backwards):
        yield {group: nearest(group, joints) for group, joints in order.items()}


def moved_by_name(model: Model) -> set[str]:
    """Joints that motors, motions, couplings or constraints name: no other order may cut them."""
    parts = (*model.forces.values(), *model.constraints.values(), *model.couplings.values())
    named = (getattr(part, end, None) for part in parts for end in ("joint", "of"))
    return {name for name in named if name}
