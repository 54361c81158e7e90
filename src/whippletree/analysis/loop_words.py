"""What ``explain`` says about loops: where they close, what they leave free, what they say twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ModelError
from ..model.check import some
from ..system.system import System
from .mobility import Mobility, mobility

MOST = 8  # loops that are listed, and joints of each


def found_mobility(system: System) -> Mobility | ModelError | None:
    """What loops and constraints leave, or why that is not known; None where nothing is constrained."""
    if not (system.cut_joints or system.constraints.count):
        return None
    if "mobility" not in system.workspaces.found:
        try:
            system.workspaces.found["mobility"] = mobility(system)
        except ModelError as refusal:
            return refusal
    return system.workspaces.found["mobility"]


def describe(system: System) -> tuple[list[str], list[str]]:
    """Lines on where loops close, and lines on what they leave; none where nothing is constrained."""
    found = found_mobility(system)
    if found is None:
        return ["loops      none"], []
    if isinstance(found, ModelError):
        return _listed(system, {}), [f"mobility   not known: {found.what}", f"           {found.got}"]
    ranks = {loop.name: f", rank {loop.rank} of {loop.rows} rows" for loop in found.loops}
    return _listed(system, ranks), _left(found) + _reported_twice(found) + _coupled(found) + _reduced(found)


def as_dict(system: System) -> dict[str, Any] | None:
    """The same for a program to read; where no pose is closed, what is in the way."""
    found = found_mobility(system)
    if isinstance(found, ModelError):
        return {"refused": found.what, "got": found.got}
    return found.as_dict() if found else None


def _listed(system: System, ranks: dict[str, str]) -> list[str]:
    lines = [f"loops      {len(system.cut_joints) or 'none'}"]
    edges = system.topology.edges
    for joint in system.topology.cuts[:MOST]:
        base, path = system.topology.loop(joint)
        names = [edges[i - 1].joint.name for i in path]
        carrier = "ground" if base == 0 else f"the body carried by '{edges[base - 1].joint.name}'"
        around = " - ".join(names if len(names) <= MOST else [*names[:3], "...", *names[-3:]]) or "of welds"
        closed = f"'{joint.name}' ({joint.kind}) closes the loop {around}, based on {carrier}"
        lines.append(f"           {closed}{ranks.get(joint.name, '')}")
    if len(system.cut_joints) > MOST:
        lines.append(f"           and {len(system.cut_joints) - MOST} more, up to '{system.cut_joints[-1]}'")
    return lines


def _left(found: Mobility) -> list[str]:
    given = len(found.system.forces.motions)
    pose = "at the closed pose nearest to q = 0" if found.moved else "at q = 0"
    less = f"{found.system.nu} velocities less " + (f"{given} given and " * bool(given)) + f"rank {found.rank}"
    counted = f"; a count of rows would say {found.counted}" if found.counted != found.mobility else ""
    lines = [f"mobility   {found.mobility} {pose}: {less}{counted}"]
    if found.mobility == 0:
        lines.append("           locked: no degree of freedom is left")
    elif found.stuck:
        lines.append("           locked: a small motion is possible here, but it cannot go on")
    elif found.nearby not in (None, found.mobility):
        lines.append(f"           the pose is singular{_of(found.weak)}: nearby the mobility is {found.nearby}")
    elif found.weak:
        lines.append(f"           the pose is nearly singular{_of(found.weak)}")
    return lines


def _of(names: Sequence[str]) -> str:
    return f" for {_some(names)}" if names else ""


def _some(names: Sequence[str], most: int = MOST) -> str:
    return some([f"'{name}'" for name in names], most)


def _reported_twice(found: Mobility) -> list[str]:
    """Rows that say nothing new, those of equal joints together."""
    count = len(found.redundant) + found.unnamed
    if not count:
        return []
    directions: dict[str, dict[str, list[str]]] = {}
    for owner, what in found.redundant:
        words, _, axis = what.rpartition(" ")
        known = words in ("rotation about", "displacement along")
        directions.setdefault(owner, {}).setdefault(words if known else what, []).extend([axis] if known else [])
    alike: dict[str, list[str]] = {}
    for owner, parts in directions.items():
        reported = ", ".join(f"{words} {' and '.join(sorted(axes))}".rstrip() for words, axes in parts.items())
        alike.setdefault(reported, []).append(owner)
    phrases = [f"{reported} of {_some(owners, 4)}" for reported, owners in alike.items()]
    if len(phrases) > MOST:
        phrases = [*phrases[:MOST], f"{len(alike) - MOST} kinds more"]
    if found.unnamed:
        phrases.append(f"{found.unnamed} more in large groups of loops")
    lines = [f"redundant  {count} of {found.rows} rows: {phrases[0]}"]
    return lines + [f"           {more}" for more in phrases[1:]]


def _coupled(found: Mobility) -> list[str]:
    over, joint = found.overlap
    lines = [f"           {_some(group)} share joints" for group in found.groups[:MOST]]
    if len(found.groups) > MOST:
        lines.append(f"           and {len(found.groups) - MOST} groups more")
    if not lines:
        return []
    lines[-1] += f"; {over} run over '{joint}'" if len(found.groups) == 1 else f"; at most {over} run over one joint"
    return ["coupled    " + lines[0].lstrip(), *lines[1:]]


def _reduced(found: Mobility) -> list[str]:
    dependent, independent = (some(names, MOST) or "none" for names in (found.dependent, found.independent))
    lines = [f"dependent  {dependent}; independent: {independent}"]
    if found.keys is not None:
        most, mean = found.keys
        reported = f"at most {most} of a body, {mean:.2g} on average: bases of loops that pass over it"
        lines.append(f"keys       {reported if most else 'none: all loops are based on ground'}")
    return lines
