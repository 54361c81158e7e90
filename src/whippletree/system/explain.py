"""What a System is, in words."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .system import System


def explain(system: System) -> str:
    """Bodies, freedoms, tree, loops, and what solves it."""
    parent = system.arrays["parent"]
    depth = [0] * system.nb
    for i in range(1, system.nb):
        depth[i] = depth[parent[i]] + 1
    kinds = Counter(edge.joint.kind for edge in system.topology.edges)
    welded = len(system.bodies) - system.nb
    lines = [
        f"system     {system.name}",
        f"bodies     {len(system.bodies) - 1}" + (f", {welded} of them welded to others" if welded else ""),
        f"freedoms   {system.nu} speeds u, {system.nq} coordinates q",
        "joints     " + (", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "none that move"),
        f"tree       {system.nc} component{'s' if system.nc != 1 else ''}, depth {max(depth)}",
        f"loops      {len(system.cut_joints) or 'none'}",
    ]
    for joint in system.topology.cuts:
        base, path = system.topology.loop(joint)
        names = [system.topology.edges[i - 1].joint.name for i in path]
        carrier = "ground" if base == 0 else f"the body carried by '{system.topology.edges[base - 1].joint.name}'"
        around = " - ".join(names) or "of welds"
        lines.append(f"           '{joint.name}' ({joint.kind}) closes the loop {around}, based on {carrier}")
    for coupling in system.model.couplings.values():
        lines.append(f"coupling   {coupling.joint} = {coupling.ratio:g} {coupling.of} + {coupling.offset:g}")
    return "\n".join(lines + _unused(system) + _algorithm(system))


def _unused(system: System) -> list[str]:
    """What the model says and no algorithm reads yet: better said than silently ignored."""
    lines = []
    for what in ("damping", "friction", "limits"):
        joints = [j.name for j in system.model.joints.values() if getattr(j, what)]
        if joints:
            some = ", ".join(joints[:4]) + (", ..." if len(joints) > 4 else "")
            lines.append(f"not used   {what} of {len(joints)} joints ({some}): kept in the model, no force yet")
    return lines


def _algorithm(system: System) -> list[str]:
    from ..dynamics.choose import choose, reason
    from ..errors import ModelError

    try:
        name = choose(system)
    except ModelError as refusal:
        return [f"algorithm  none: {refusal.got} need solvers that are not there yet"]
    return [f"algorithm  {name}: {reason(system, name)}"]
