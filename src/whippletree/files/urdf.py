"""URDF robots. Strict about what is computed with, patient with what is only drawn."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, warn
from ..model import GROUND, Limits, Model, Pose, Visual, check
from ..model.check_sense import radians
from ..model.pose import IDENTITY, quaternion_from_rpy
from .paths import Roots
from .xml import Element, parse

# URDF's joint types and ours
KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "floating": "free",
    "planar": "planar",
}
RGBA = tuple[float, float, float, float]


def loads(text: str, source: str, base: str | None = None, packages: Sequence[str | os.PathLike[str]] = ()) -> Model:
    """The robot that ``text`` describes, its root link fixed to the ground or, with ``base="free"``, floating."""
    root = parse(text, source)
    if root.tag != "robot":
        mjcf = root.tag == "mujoco"
        raise ModelError(
            "the file is not URDF, but MJCF" if mjcf else f"the file is not a robot, but <{root.tag}>",
            expected="<robot>, as URDF has it",
            where=root.where,
            hint="give the file the suffix .xml" if mjcf else None,
        )
    return _Robot(root, source, Roots(Path(source).parent, packages)).model(base)


class _Robot:
    def __init__(self, root: Element, source: str, roots: Roots) -> None:
        self.root, self.source, self.roots = root, source, roots
        self.notes: dict[str, list[str]] = {}  # what was noted, and of which links
        self.colors = {m.attributes.get("name", ""): _color(m) for m in root.all("material")}

    def model(self, base: str | None) -> Model:
        macro = next((e for e in self.root.children if e.tag.startswith("xacro:")), None)
        if macro is not None:
            raise ModelError(
                "the file is a xacro template, not a robot yet",
                got=f"<{macro.tag}>",
                where=macro.where,
                hint="run xacro on it first, and load the URDF it prints",
            )
        name = self.root.attributes.get("name", "").strip() or Path(self.source).stem
        model = Model(name, passive=False, where=self.root.where)
        for link in self.root.all("link"):
            self._link(model, link)
        if not model.bodies:
            raise ModelError(f"robot '{name}' has no links", where=self.root.where)
        top = _root_link(model, self.root.all("joint"))
        joint = "base"
        while any(j.attributes["name"] == joint for j in self.root.all("joint")):
            joint += "_"
        model.joint(joint, "free" if base == "free" else "fixed", GROUND, top, where=model.bodies[top].where)
        for element in self.root.all("joint"):
            _joint(model, element)
        self._report()
        return model

    def _link(self, model: Model, link: Element) -> None:
        name = _body(link.text("name", "link"))
        if name != link.attributes["name"]:
            self._note("renamed, because 'ground' is the fixed world", name)
        label = f"body '{name}'"
        visuals = tuple(v for e in link.all("visual") if (v := self._visual(e, name)) is not None)
        inertial = link.first("inertial")
        if inertial is None:
            model.body(name, mass=0.0, idealized=True, visuals=visuals, where=link.where)
            return
        mass = inertial.child("mass", label).number("value", label)
        matrix = inertial.child("inertia", label)
        xx, xy, xz, yy, yz, zz = (matrix.number(key, label) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        at = _origin(inertial, label)
        if at.quaternion != IDENTITY.quaternion:
            R = at.rotation()
            inertia = R @ inertia @ R.T  # from the axes of the inertial origin to those of the body
            inertia = 0.5 * (inertia + inertia.T)
        model.body(
            name,
            mass=mass,
            com=at.position,
            inertia=inertia.tolist(),
            idealized=self._idealized(name, mass, inertia, matrix.where),
            visuals=visuals,
            where=inertial.where,
        )

    def _idealized(self, name: str, mass: float, inertia: np.ndarray, where: str) -> bool:
        """Whether the link has what no solid has, but robots in use do; noted, and taken as it is."""
        low, middle, high = np.linalg.eigvalsh(inertia)
        if mass == 0.0:
            if high > 0.0:
                self._note("inertia without mass, taken as it is", name, where)
            return True
        if high > low + middle + 1e-9 * high + 1e-12 * mass:  # as model/check.py has it
            self._note("inertia that breaks the triangle inequality, taken as it is", name, where)
            return True
        return False

    def _visual(self, visual: Element, link: str) -> Visual | None:
        label = f"body '{link}': visual"
        geometry = visual.child("geometry", label)
        if not geometry.children:
            raise ModelError(
                f"{label}: <geometry> is empty", expected="<box>, <sphere>, <cylinder> or <mesh>", where=geometry.where
            )
        shape, at, material = geometry.children[0], _origin(visual, label), visual.first("material")
        color = None
        if material is not None:
            color = _color(material) or self.colors.get(material.attributes.get("name", ""))
        if shape.tag == "box":
            return Visual("box", shape.vector("size", label), at, color)
        if shape.tag == "sphere":
            return Visual("sphere", (shape.number("radius", label),), at, color)
        if shape.tag == "cylinder":
            return Visual("cylinder", (shape.number("radius", label), shape.number("length", label)), at, color)
        if shape.tag == "mesh":
            scale = shape.vector("scale", label, (1.0, 1.0, 1.0))
            return Visual("mesh", scale, at, color, self.roots.find(shape.text("filename", label), label, shape.where))
        self._note(f"a visual <{shape.tag}>, which will not be drawn", link)
        return None

    def _note(self, what: str, name: str, where: str | None = None) -> None:
        """Of a link, and the line of what is noted."""
        line = "" if where is None else f" (line {where.rpartition(':')[2]})"
        self.notes.setdefault(what, []).append(f"'{name}'{line}")

    def _report(self) -> None:
        """One warning that holds all notes."""
        notes = [f"{what}: {check.some(names)}" for what, names in self.notes.items()]
        if any(what.startswith("inertia") for what in self.notes):
            notes.append("hint: inertia is about the centre of mass, in the axes of its <origin>, in kg m^2")
        if self.roots.missing:
            packages = {path.partition("://")[2].strip("/").split("/")[0] for path in self.roots.missing}
            names = check.some([f"'{name}'" for name in sorted(packages)])
            notes.append(f"mesh files not found: {len(self.roots.missing)}; packages=[...] takes the folder of {names}")
        if notes:
            warn("\n  ".join([self.source, *notes]))


def _joint(model: Model, element: Element) -> None:
    name = element.attributes["name"]
    label = f"joint '{name}'"
    given = check.known(element.text("type", label), KINDS, f"{label}: type", element.where)
    kind = KINDS[given]
    axis = None if kind in ("fixed", "free") else (1.0, 0.0, 0.0)
    written = element.first("axis")
    if written is not None and axis is not None:
        axis = check.axis(written.vector("xyz", label), f"{label}: axis", written.where)
    dynamics, limit, mimic = element.first("dynamics"), element.first("limit"), element.first("mimic")
    model.joint(
        name,
        kind,
        _body(element.child("parent", label).attributes["link"]),
        _body(element.child("child", label).attributes["link"]),
        axis=axis,
        at=_origin(element, label),
        damping=0.0 if dynamics is None else dynamics.number("damping", label, 0.0),
        friction=0.0 if dynamics is None else dynamics.number("friction", label, 0.0),
        limits=None if limit is None or kind not in ("revolute", "prismatic") else _limits(limit, given, label),
        where=element.where,
    )
    if mimic is not None and kind != "fixed":  # robots with a hand held still keep its mimic elements
        model.couple(
            name,
            mimic.text("joint", label),
            ratio=mimic.number("multiplier", label, 1.0),
            offset=mimic.number("offset", label, 0.0),
            where=mimic.where,
        )


def _limits(limit: Element, kind: str, label: str) -> Limits:
    """What the limit element says. A bound that is left out or infinite is none, and a continuous joint has none."""
    values: dict[str, Any] = {}
    for key in ("velocity", "effort") if kind == "continuous" else ("lower", "upper", "velocity", "effort"):
        x = limit.numbers(key, 1, label, finite=False)[0] if key in limit.attributes else math.inf
        values[key] = None if math.isinf(x) else x
    return Limits(**values)


def _color(material: Element) -> RGBA | None:
    color = material.first("color")
    if color is None:
        return None
    r, g, b, a = color.numbers("rgba", 4, f"material '{material.attributes.get('name', '')}'")
    return (r, g, b, a)


def _origin(element: Element, label: str) -> Pose:
    origin = element.first("origin")
    if origin is None:
        return IDENTITY
    xyz, rpy = (origin.vector(key, label, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy"))
    radians(rpy, f"{label}: rpy", origin.where)
    return Pose(xyz, quaternion_from_rpy(rpy)) if any(rpy) else Pose(xyz)


def _body(link: str) -> str:
    """The body of a link. A link may be called "ground", a body may not."""
    return "ground_link" if link == GROUND else link


def _root_link(model: Model, joints: Iterable[Element]) -> str:
    """The one link that is no joint's child, once it is sure that the joints make a tree."""
    parent: dict[str, str] = {}
    for element in joints:
        label = f"joint '{element.text('name', 'joint')}'"
        above, below = (_body(element.child(end, label).text("link", label)) for end in ("parent", "child"))
        for end, link in (("parent", above), ("child", below)):
            check.known(link, model.bodies, f"{label}: {end} link", element.child(end, label).where)
        if below in parent:
            raise ModelError(
                f"link '{below}' has two parents",
                got=f"'{parent[below]}' and '{above}'",
                where=element.where,
                hint="URDF is a tree; write closed loops as TOML",
            )
        parent[below] = above
    tops = [name for name in model.bodies if name not in parent]
    if len(tops) > 1:
        raise ModelError(
            f"the robot has {len(tops)} root links",
            expected="one link that is no joint's child",
            got=check.some([f"'{name}'" for name in tops]),
            where=model.bodies[tops[1]].where,
            hint="join them, or remove the links that are in no joint",
        )
    _no_cycle(model, parent, set(tops))
    return tops[0]


def _no_cycle(model: Model, parent: dict[str, str], reached: set[str]) -> None:
    for name in model.bodies:
        path: list[str] = []
        while name not in reached:
            if name in path:
                cycle = path[path.index(name) :]
                raise ModelError(
                    "the joints go in a circle",
                    got=" <- ".join([*cycle[:6], name] if len(cycle) <= 6 else [*cycle[:6], "..."]),
                    where=model.bodies[name].where,
                    hint="URDF is a tree; write closed loops as TOML",
                )
            path.append(name)
            name = parent[name]
        reached.update(path)
