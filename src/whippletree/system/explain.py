"""What a System is, in words and as plain values."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import Model, constraint_kind, force_kind

if TYPE_CHECKING:
    from .system import System


MOST = 8  # constraints that are listed


def explain(system: System, measure: bool = False) -> str:
    """Bodies, DOF, tree, loops and what they leave, and what solves it at what cost."""
    from ..analysis import algorithm_words, loop_words

    parent = system.arrays["parent"]
    depth = [0] * system.nb
    for i in range(1, system.nb):
        depth[i] = depth[parent[i]] + 1
    kinds = Counter(edge.joint.kind for edge in system.topology.edges if not edge.flexible)
    welded, bodies = len(system.topology.welds), len(system.model.bodies) + len(system.model.flexibles)
    loops, left = loop_words.describe(system)
    solved = algorithm_words.describe(system, measure)
    lines = [
        f"system     {system.name}",
        f"bodies     {bodies}" + (f", {welded} of them welded to others" if welded else ""),
        f"DOF        {system.nu} velocities u, {system.nq} coordinates q",
        "joints     " + (", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "none that move"),
        *_flexible(system),
        f"tree       {system.nc} component{'s' if system.nc != 1 else ''}, depth {max(depth)}",
        *loops,
    ]
    for coupling in system.model.couplings.values():
        lines.append(f"coupling   {coupling.joint} = {coupling.ratio:g} {coupling.of} + {coupling.offset:g}")
    if system.model.constraints:
        kinds_of = {name: constraint_kind(c).name for name, c in system.model.constraints.items()}
        held = [f"{name} ({kind}{_comes_and_goes(system, name)})" for name, kind in kinds_of.items()]
        lines.append("also holds " + ", ".join(held[:MOST]) + (f" and {len(held) - MOST} more" * (len(held) > MOST)))
    return "\n".join(lines + left + _forces(system.model) + _passive(system.model) + solved)


def _comes_and_goes(system: System, name: str) -> str:
    """Whether a constraint is open when a run begins, and how far friction holds it."""
    x, words = system.model.temporaries.get(name), [] if name in system.held else ["open"]
    if x and x.friction is not None:
        limit = x.static_friction or x.friction
        words.append(
            f"sticks up to {limit:g} of its normal force" + f", slips at {x.friction:g}" * (limit > x.friction)
        )
    if x and x.slips_at is not None:
        words.append(f"slips beyond {x.slips_at:g}")
    return "".join(f", {word}" for word in words)


def _flexible(system: System) -> list[str]:
    """Modes, frequencies and nodes of each flexible body."""
    lines = []
    for body in system.flexible.bodies.values() if system.flexible else ():
        x, nodes = body.modes, ", ".join(body.nodes) or "none outboard"
        span = f"{x.frequencies[0]:.4g} to {x.frequencies[-1]:.4g} rad/s" if x.count else "none"
        reported = f"{x.count} {x.kind} modes, {span}, {x.fidelity}; held at {x.inboard}, nodes {nodes}"
        lines.append(f"flexible   {body.name}: {reported}")
    return lines


def counts(system: System) -> dict[str, Any]:
    """The name, and how many there are of what."""
    joints, loops = len(system.model.joints), len(system.cut_joints)
    numbers = {"bodies": len(system.model.bodies) + len(system.model.flexibles), "joints": joints, "loops": loops}
    return {"name": system.name, **numbers, "dof": system.nu, "coordinates": system.nq}


def as_dict(system: System, measure: bool = False) -> dict[str, Any]:
    """What ``explain`` says, for a program to read; rows of q and u are first and past the last."""
    from ..analysis import algorithm_words, loop_words

    model, edges = system.model, system.topology.edges
    tree: dict[str, dict[str, Any]] = {}
    for joint in (edge.joint for edge in edges if not edge.flexible):
        q, u = system.q_index(joint.name), system.u_index(joint.name)
        tree[joint.name] = {"kind": joint.kind, "parent": joint.parent, "child": joint.child}
        tree[joint.name] |= {"q": [q.start, q.stop], "u": [u.start, u.stop]}
    flexible: dict[str, dict[str, Any]] = {}
    for body in system.flexible.bodies.values() if system.flexible else ():
        q, u, x = system.q_index(body.name), system.u_index(body.name), body.modes
        flexible[body.name] = {"kind": x.kind, "fidelity": x.fidelity, "modes": x.count, "inboard": x.inboard}
        flexible[body.name] |= {"frequencies": x.frequencies.tolist(), "nodes": list(body.nodes)}
        flexible[body.name] |= {"q": [q.start, q.stop], "u": [u.start, u.stop]}
    return counts(system) | {
        "tree": tree,
        "flexible": flexible,
        "cut_joints": list(system.cut_joints),
        "forces": {name: force_kind(f).name for name, f in model.forces.items()},
        "constraints": {name: constraint_kind(c).name for name, c in model.constraints.items()},
        "mobility": loop_words.as_dict(system),
        "passive": model.passive,
        **algorithm_words.as_dict(system, measure),
    }


def _forces(model: Model) -> list[str]:
    kinds = Counter(force_kind(f).name for f in model.forces.values())
    named = [f"{n} {kind}" + ("es" if kind.endswith("ch") else "s") * (n > 1) for kind, n in kinds.items()]
    return ["forces     " + ", ".join(named)] if named else []


def _passive(model: Model) -> list[str]:
    """What the joints resist with, and whether it acts: better said than silently ignored."""
    joints = list(model.joints.values())
    stops = [j.name for j in joints if j.limits is not None and j.limits.stiffness]
    bounds = [j.name for j in joints if j.limits is not None and not j.limits.stiffness]
    having = {
        what: [j.name for j in joints if np.any(getattr(j, what))] for what in ("stiffness", "damping", "friction")
    }
    lines = []
    for what, names in (*having.items(), ("stops", stops)):
        if names:
            acts, not_at_all = ("act", "do not act") if what == "stops" else ("acts", "does not act")
            verb = acts if model.passive else f"{not_at_all}: load with passive=True (--passive)"
            lines.append(f"passive    {what} of {_some(names)} {verb}")
    if bounds:
        lines.append(f"limits     of {_some(bounds)}: data, no stop without a stiffness")
    return lines


def _some(names: list[str]) -> str:
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    return f"{len(names)} joint{'s' if len(names) > 1 else ''} ({shown})"
