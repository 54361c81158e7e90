"""From the joint graph to a tree: welds, a depth-first spanning tree, and the joints that close loops.

Depth first, every joint that is left over joins a body to one of its ancestors: the base of its
loop (DESIGN: loops by fronts). Bodies are numbered as they are met, so that ``parent[i] < i``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..model import GROUND, Joint, Model


@dataclass
class Edge:
    """A joint of the tree, from the body nearer to ground to the one farther away."""

    joint: Joint
    parent: int
    turned: bool  # the user's child is the one nearer to ground


@dataclass
class Topology:
    """Who hangs on whom. System body 0 is ground; edges[i - 1] carries system body i."""

    group: dict[str, int]  # model body -> weld group, then -> system body
    welds: list[tuple[Joint, bool]] = field(default_factory=list)  # in walking order; True if walked child to parent
    edges: list[Edge] = field(default_factory=list)
    cuts: list[Joint] = field(default_factory=list)

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
    topology = _weld(model)
    _span(model, topology)
    return topology


def _neighbours(names: list[str], joints: list[Joint]) -> dict[str, list[Joint]]:
    at: dict[str, list[Joint]] = {name: [] for name in names}
    for joint in joints:
        at[joint.parent].append(joint)
        at[joint.child].append(joint)
    return at


def _weld(model: Model) -> Topology:
    """Bodies that fixed joints hold together form one group; a fixed joint too many is a cut."""
    names = [GROUND, *model.bodies]
    at = _neighbours(names, [j for j in model.joints.values() if j.kind == "fixed"])
    topology = Topology({})
    used: set[str] = set()
    for number, root in enumerate(names):
        if root in topology.group:
            continue
        topology.group[root] = number
        waiting = [root]
        while waiting:
            body = waiting.pop()
            for joint in at[body]:
                if joint.name in used:
                    continue
                used.add(joint.name)
                other = joint.child if joint.parent == body else joint.parent
                if other in topology.group:
                    topology.cuts.append(joint)
                    continue
                topology.group[other] = number
                topology.welds.append((joint, joint.child == body))
                waiting.append(other)
    return topology


def _span(model: Model, topology: Topology) -> None:
    """Depth-first from ground, joints in the order they were written; renumbers groups as system bodies."""
    at: dict[int, list[Joint]] = {}
    for joint in model.joints.values():
        if joint.kind != "fixed":
            for end in topology.ends(joint):
                at.setdefault(end, []).append(joint)
    ground = topology.group[GROUND]
    number = {ground: 0}
    used: set[str] = set()
    stack = [(ground, iter(at.get(ground, [])))]
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
        if other in number:
            topology.cuts.append(joint)
            continue
        number[other] = len(number)
        topology.edges.append(Edge(joint, number[group], turned))
        stack.append((other, iter(at[other])))
    topology.group = {name: number[group] for name, group in topology.group.items()}
