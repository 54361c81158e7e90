"""What a model may say and seldom means: units that slipped, and joints that move nothing. Told, and taken as it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, warn
from ..joints import KINDS, WELD, JointKind
from ..joints.kind import Z
from ..layout.forces import ANGLE_Z

if TYPE_CHECKING:
    from .model import Model
    from .parts import Body, Joint

TURNS = 4.0  # limits of a joint: an angle of 30 degrees, read as radians, is more
ENDLESS = 1e4  # a limit that says that there is none
STRONG = 300.0  # m/s^2, more than on the sun; 9810 mm/s^2 is more
FAR = 200.0  # times the length that half of all others have: millimetres among metres are 1000
WIDE = 100.0  # radius of gyration over the largest length: kg mm^2 among kg m^2 make it 1000
FAST = 1e7  # rad/s of a spring and the mass it holds
NOTHING = 1e-12  # inertia over mass times length squared
MATERIALS = {"E": (1e5, 1e13, "Pa"), "G": (1e4, 1e13, "Pa"), "rho": (10.0, 1e5, "kg/m^3")}  # rubber foam to diamond


def note(what: str, **parts: Any) -> None:
    """A warning in the form of a complaint."""
    warn(str(ModelError(what, **parts)))


def radians(angles: Iterable[float], what: str, where: str | None, turns: float = 1.0) -> None:
    """Angles that are more than so many turns were mostly meant in degrees."""
    most = max((abs(x) for x in angles), default=0.0)
    if 2.0 * math.pi * turns + 0.1 < most < ENDLESS:
        note(
            f"{what} is more than {turns:g} turn{'s' * (turns > 1)}",
            got=f"{most:g} rad",
            where=where,
            hint=f"angles are in radians: {most:g} degrees are {math.radians(most):.6g}",
        )


def material(table: Mapping[str, Any], label: str, where: str | None) -> None:
    """Numbers of a beam that no material has, and a beam that is thicker than long."""
    for key, (low, high, unit) in MATERIALS.items():
        value = table.get(key)
        if isinstance(value, int | float) and not low <= value <= high:
            note(
                f"{label}: {key} is that of no solid",
                expected=f"{low:g} to {high:g} {unit}",
                got=value,
                where=where,
                hint=f"{key} is in {unit}",
            )
    sizes = [x for key in ("radius", "width", "height") for x in _numbers(table.get(key))]
    length = max(_numbers(table.get("length")), default=0.0)
    if max(sizes, default=0.0) > length:
        note(
            f"{label}: the beam is thicker than long",
            got=f"{max(sizes):g} m across, {length:g} m long",
            where=where,
            hint="lengths are in metres",
        )


def _numbers(value: Any) -> list[float]:
    return [x for x in (value if isinstance(value, list) else [value]) if isinstance(x, int | float)]


def principal_moments(b: Body) -> list[float]:
    """Those of its inertia, the least first. Most are written as such, and there may be a hundred thousand bodies."""
    (x, xy, xz), (yx, y, yz), (zx, zy, z) = b.inertia
    if not (xy or xz or yx or yz or zx or zy):
        return sorted((x, y, z))
    return [float(m) for m in np.linalg.eigvalsh(np.array(b.inertia))]


def sense(model: Model) -> None:
    """All notes about a model that is right in itself."""
    strength = math.hypot(*model.gravity)
    if strength > STRONG:
        note(
            "gravity is stronger than on the sun",
            expected="9.81 on the earth",
            got=f"{strength:g} m/s^2",
            where=model.where,
            hint="it is in m/s^2, and lengths are in metres",
        )
    for j in model.joints.values():
        if j.limits is not None and _is_angle(KINDS[j.kind]):
            bounds = [x for x in (j.limits.lower, j.limits.upper) if x is not None]
            radians(bounds, f"joint '{j.name}': a limit", j.where, TURNS)
    lengths = _lengths(model)
    _far(lengths)
    largest = max((length for length, _, _ in lengths), default=0.0)
    for b in model.bodies.values():
        _wide(b, largest)
    for j in model.joints.values():
        if j.child in model.bodies:
            _stiff(model.bodies[j.child], j)
    _leaves(model)


def _is_angle(kind: JointKind) -> bool:
    """Whether limits of a joint bound an angle."""
    return (
        not kind.quaternion and not kind.parameters and kind.coordinates[:1] != () and kind.coordinates[0][1] == "rad"
    )


def _stiff(b: Body, j: Joint) -> None:
    """A spring of a joint so stiff that the body it holds would ring faster than can be followed."""
    if b.mass <= 0.0 or not j.stiffness:
        return
    held = b.mass * (1.0 if KINDS[j.kind].slides_only else max(float(np.dot(b.com, b.com)), 1e-6))
    frequency = math.sqrt(float(np.max(j.stiffness)) / (held + float(np.abs(b.inertia).max())))
    if frequency > FAST:
        note(
            f"joint '{j.name}': stiffness lets body '{b.name}' ring at {frequency:.1g} rad/s",
            expected=f"less than {FAST:g} rad/s",
            got=f"{np.max(j.stiffness):g}",
            where=j.where,
            hint=f"stiffness is in N/m or N m/rad; a joint of kind '{WELD}' holds without a spring",
        )


def _lengths(model: Model) -> list[tuple[float, str, str | None]]:
    """Distances that say how large the mechanism is, what each is, and where it stands."""
    found = [(math.hypot(*b.com), f"body '{b.name}': com", b.where) for b in model.bodies.values()]
    for j in model.joints.values():
        found += [
            (math.hypot(*pose.position), f"joint '{j.name}': {key}", j.where)
            for key, pose in (("at", j.at), ("child_at", j.child_at))
        ]
    found += [(math.hypot(*f.at.position), f"frame '{f.name}': at", f.where) for f in model.frames.values()]
    return [one for one in found if one[0] > 0.0]


def _far(lengths: list[tuple[float, str, str | None]]) -> None:
    # the median of the others is the same for all lengths beyond it: that without the longest
    usual = float(np.median(sorted(length for length, _, _ in lengths)[:-1])) if len(lengths) > 2 else 0.0
    for length, what, where in lengths:
        if 0.0 < FAR * usual < length:
            note(
                f"{what} is far from all the rest",
                got=f"{length:g} m, where half of the other lengths are below {usual:.3g} m",
                where=where,
                hint="lengths are in metres",
            )
            return


def _wide(b: Body, largest: float) -> None:
    if b.mass > 0.0 and largest > 0.0:
        radius = math.sqrt(max(principal_moments(b)[-1], 0.0) / b.mass)
        if radius > WIDE * largest:
            note(
                f"body '{b.name}': inertia is that of a body much larger than the mechanism",
                got=f"a radius of gyration of {radius:.3g} m beside lengths up to {largest:.3g} m",
                where=b.where,
                hint="inertia is in kg m^2",
            )


# ---- joints at the ends of branches


def _leaves(model: Model) -> None:
    """A body that one joint alone holds must resist its motion, by mass or by the joint's armature."""
    held: dict[str, list[Joint]] = {name: [] for name in model.bodies}
    for j in model.joints.values():
        for name in (j.parent, j.child):
            held.setdefault(name, []).append(j)
    tied = {getattr(c, key, None) for c in model.constraints.values() for key in ("body", "to", "joint", "of")}
    tied |= {c.joint for c in model.couplings.values()} | {c.of for c in model.couplings.values()}
    on_frames = {f.body for f in model.frames.values() if f.name in tied}
    moved = tied | {getattr(f, "joint", None) for f in model.forces.values() if type(f).__name__ == "Motion"}
    for name, joints in held.items():
        if len(joints) != 1 or name not in model.bodies or name in tied or name in on_frames:
            continue
        (j,) = joints
        if j.kind != WELD and not j.armature and j.name not in moved:
            _resists(model.bodies[name], j)


def _resists(b: Body, j: Joint) -> None:
    kind, pose = KINDS[j.kind], j.child_at if j.child == b.name else j.at
    r, I = np.array(b.com) - np.array(pose.position), np.array(b.inertia)
    about = I + b.mass * (r @ r * np.eye(3) - np.outer(r, r))
    size = b.mass * (r @ r) + float(abs(I).max())
    axis = pose.rotation() @ np.array(j.axis)
    least = np.linalg.eigvalsh(about if kind.turns_only else I)[0]
    if b.mass == 0.0 and not I.any():
        lacks = "has neither mass nor inertia"
    elif kind.dofs[0] == (Z, ANGLE_Z) and not kind.parameters and axis @ about @ axis <= NOTHING * size:
        lacks = "has no inertia about its axis"
    elif kind.quaternion and least <= NOTHING * size:
        lacks = "has no inertia about one of the axes it turns about"
    elif not kind.turns_only and b.mass == 0.0:
        lacks = "has no mass to be pushed"
    else:
        return
    note(
        f"joint '{j.name}' moves body '{b.name}', which {lacks}",
        expected="something that resists: its acceleration is not determined",
        where=j.where,
        hint="give the body mass and inertia, or the joint an armature",
    )
