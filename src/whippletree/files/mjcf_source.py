"""What MuJoCo gets to see of an MJCF file: its tree, and nothing that names a file or loads code.

Includes are written out, sections that do not become part of a Model are left out and counted, mesh files are found
inside the allowed folders and handed over as bytes. Every element is written on a line of its own, so that the line in
a message of MuJoCo leads back to the file and line the element came from.
"""

from __future__ import annotations

import math
import os
import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

from ..errors import ModelError
from ..model import check
from .paths import Roots
from .text import text_of
from .xml import NUMBER, Element, parse

DEEPEST = 256  # elements inside elements; bodies stand inside bodies, so this is how long a chain can be
MOST_BODIES = 5_000  # MuJoCo's compiler takes seconds from here on, and its time grows with the square
MOST_COPIES = 5_000  # elements that <replicate> makes
LARGEST_MESH = 256 * 2**20  # bytes
FINEST = 200.0  # number of segments, or whatever else the parameters of a builtin mesh count

# left out: the section, and what its children are called in the note
SECTIONS = {
    "contact": "contact pairs and exclusions",
    "tendon": "tendons",
    "actuator": "actuators",
    "sensor": "sensors",
    "keyframe": "keyframes",
    "deformable": "flexes and skins",
    "custom": "custom fields",
    "size": "",
    "visual": "",
    "statistic": "",
}
# left out inside other sections, and what they are called in the note
PARTS = {
    ("body", "camera"): "cameras",
    ("body", "light"): "lights",
    ("body", "flexcomp"): "flexes and skins",
    ("asset", "texture"): "textures",
    ("asset", "hfield"): "",
    ("asset", "skin"): "flexes and skins",
    ("compiler", "lengthrange"): "",
    ("material", "layer"): "",
}
EQUALITIES = ("connect", "weld", "tendon", "flex", "flexvert", "flexstrain", "distance")
PARTS |= {("equality", kind): "equality constraints" for kind in EQUALITIES}
IN_BODIES = ("worldbody", "body", "frame", "replicate")
IN_DEFAULTS = ("default", "joint", "geom", "site", "mesh", "material", "equality")
# attributes that name files and folders, or that only make names and drawings disappear
NOT_PASSED = {
    "compiler": ("meshdir", "texturedir", "assetdir", "strippath", "fusestatic", "discardvisual"),
    "material": ("texture",),
}
NAMES = ("name", "class", "childclass", "mesh", "material", "joint1", "joint2", "model", "prefix", "file", "dclass")
KEPT = ("name", "class", "scale", "refpos", "refquat")
TETRAHEDRON = "0 0 0 1 0 0 0 1 0 0 0 1"  # stands for a mesh file that is not there


@dataclass
class Source:
    """The text for MuJoCo, and what it was made from."""

    text: str = ""
    elements: list[Element] = field(default_factory=list)  # of line 1, line 2 ...
    assets: dict[str, bytes] = field(default_factory=dict)  # what MuJoCo asks for, and its bytes
    meshes: dict[str, str] = field(default_factory=dict)  # name of the mesh, and its file
    missing: dict[str, Element] = field(default_factory=dict)  # name of the mesh whose file is not there
    left_out: Counter[str] = field(default_factory=Counter)
    bodies: int = 0  # with the copies that <replicate> makes

    def where(self, info: str) -> str | None:
        """The file and line that "line 12" of MuJoCo means."""
        found = self.element(info)
        return None if found is None else found.where

    def element(self, info: str) -> Element | None:
        line = re.search(r"[Ll]ine (?:number=)?(\d+)", info)
        return self.elements[int(line[1]) - 1] if line and 0 < int(line[1]) <= len(self.elements) else None


def prepare(text: str, source: str, packages: Sequence[str | os.PathLike[str]]) -> Source:
    """Check ``text`` and everything it includes, and write what MuJoCo may see of it."""
    root = parse(text, source, DEEPEST)
    if root.tag != "mujoco":
        raise ModelError(f"the file is not MJCF, but <{root.tag}>", expected="<mujoco>", where=root.where)
    return _Writer(root, source, Roots(Path(source).parent, packages)).source


class _Writer:
    def __init__(self, root: Element, source: str, roots: Roots) -> None:
        self.source, self.roots = Source(), roots
        self.included = {Path(source).resolve()}
        self._write_out_includes(root)
        settings = {k: v for e in root.all("compiler") for k, v in e.attributes.items()}
        self.folder = settings.get("meshdir", settings.get("assetdir", ""))
        self.strip = settings.get("strippath") == "true"
        self.lines: list[str] = []
        self.copies = 0
        self._element(root, "", 1, 1)
        self.source.text = "\n".join(self.lines)

    def _write_out_includes(self, root: Element) -> None:
        waiting = [root]
        while waiting:
            element = waiting.pop()
            inside, element.children = deque(element.children), []
            while inside:
                child = inside.popleft()
                if child.tag == "include":
                    inside.extendleft(reversed(self._included(child)))
                else:
                    element.children.append(child)
            waiting += element.children

    def _included(self, element: Element) -> list[Element]:
        name = element.text("file", "include")
        path = self._find(name, "", "include", element, "file")
        if path is None or not os.path.isfile(path):
            hint = "paths begin in the folder of the model"
            raise ModelError(f"the included file '{name[:120]}' is not there", where=element.where, hint=hint)
        if path in self.included:
            raise ModelError(
                f"the file '{name[:120]}' is included twice", where=element.where, hint="MJCF includes a file only once"
            )
        self.included.add(path)
        return parse(text_of(path, element.where), str(path), DEEPEST).children

    def _find(self, name: str, folder: str, label: str, element: Element, what: str) -> Path | None:
        """The file, in the model's folder, that of the file which names it, or a package; None for no such package."""
        if "://" in name:
            found = self.roots.find(name, label, element.where, what)
            return Path(found) if "://" not in found else None
        name = name.replace("\\", "/")
        main = Path(self.roots.find(os.path.join(folder, name), label, element.where, what))
        if not os.path.exists(main):
            beside = Path(element.where.rpartition(":")[0]).parent / folder / name
            packaged = [p / s for p in self.roots.folders[1:] for s in (folder + "/" + name, name)]
            for other in (beside, *packaged):
                if os.path.exists(other):
                    return Path(self.roots.find(str(other.resolve()), label, element.where, what))
        return main

    def _element(self, element: Element, parent: str, depth: int, copies: int) -> None:
        """Write the element and what stands inside it; ``copies`` is how often <replicate> repeats it."""
        if depth > DEEPEST:
            raise ModelError("the file is nested too deep", expected=f"at most {DEEPEST} levels", where=element.where)
        if self._left_out(element, parent):
            return
        attributes = {k: v for k, v in element.attributes.items() if k not in NOT_PASSED.get(element.tag, ())}
        _check_numbers(element)
        for key, value in attributes.items():
            if "%" in value:  # MuJoCo would format it with numbers that are not there, and "%n" ends the process
                raise ModelError(
                    f"{element.tag}: {key} has a percent sign",
                    got=value[:60],
                    where=element.where,
                    hint="MuJoCo takes it for a place where a number goes: write it in another way",
                )
        if element.tag == "mesh" and parent == "asset":
            attributes = self._mesh(element, attributes)
        inside = self._counted(element, parent, copies)
        open_tag = f"<{element.tag}" + "".join(f" {k}={quoteattr(v)}" for k, v in attributes.items())
        self.source.elements.append(element)
        self.lines.append(open_tag + (">" if element.children else "/>"))
        for child in element.children:
            self._element(child, element.tag, depth + 1, inside)
        if element.children:
            self.lines[-1] += f"</{element.tag}>"

    def _left_out(self, element: Element, parent: str) -> bool:
        tag, place = element.tag, "body" if parent in IN_BODIES else parent
        if tag in ("extension", "plugin"):
            raise ModelError(
                "plugins are not loaded: a model file may not bring code with it",
                got=f"<{tag}>",
                where=element.where,
                hint="remove the plugin, and what needs it",
            )
        if tag == "attach" or (tag == "model" and place == "asset"):
            raise ModelError(
                f"<{tag}> is not read: models inside models are not put together here",
                where=element.where,
                hint="write the whole with MuJoCo as one file: mujoco.MjSpec.from_file(...).to_xml()",
            )
        if place == "mujoco" and tag in SECTIONS:
            self.source.left_out[SECTIONS[tag]] += len(element.children)
            return True
        if (place, tag) in PARTS:
            self.source.left_out[PARTS[place, tag]] += 1
            return True
        if tag == "geom" and "hfield" in element.attributes:
            self.source.left_out["height fields"] += place == "body"
            return True
        return parent == "default" and tag not in IN_DEFAULTS

    def _counted(self, element: Element, parent: str, copies: int) -> int:
        """How often the children of the element are repeated, once it is sure that this is not too often."""
        self.source.bodies += copies * (element.tag == "body")
        self.copies += copies * (copies > 1)
        if element.tag in ("replicate", "composite"):
            words = element.text("count", element.tag).split()
            if not words or not all(w.isascii() and w.isdigit() and len(w) < 10 for w in words):
                raise ModelError(
                    f"{element.tag}: count is not a whole number",
                    got=repr(element.attributes["count"][:80]),
                    where=element.where,
                )
            copies *= math.prod(map(int, words))
            self.source.bodies += copies * (element.tag == "composite")
        for count, most, what in ((self.source.bodies, MOST_BODIES, "bodies"), (self.copies, MOST_COPIES, "copies")):
            if count > most:
                raise ModelError(
                    f"the model has too many {what}", expected=f"at most {most}", got=count, where=element.where
                )
        return copies

    def _mesh(self, element: Element, attributes: dict[str, str]) -> dict[str, str]:
        file = attributes.pop("file", None)
        if file is None:
            if "builtin" in attributes and any(abs(x) > FINEST for x in _numbers(attributes.get("params", ""))):
                raise ModelError(
                    "mesh: params are too large",
                    expected=f"at most {FINEST:g}",
                    got=attributes["params"],
                    where=element.where,
                )
            return attributes
        if self.strip:
            file = re.split(r"[/\\]", file)[-1]
        name = attributes.setdefault("name", Path(re.split(r"[/\\]", file)[-1]).stem)
        path = self._find(file, self.folder, f"mesh '{name}'", element, "mesh")
        self.source.meshes[name] = file if path is None else str(path)
        if path is None or not os.path.isfile(path):
            self.source.missing[name] = element
            return {k: v for k, v in attributes.items() if k in KEPT} | {"vertex": TETRAHEDRON}
        try:
            if path.stat().st_size > LARGEST_MESH:
                expected = f"at most {LARGEST_MESH} bytes"
                raise ModelError(f"mesh '{name}': the file is too large", expected=expected, where=element.where)
            data = path.read_bytes()
        except OSError as error:
            raise ModelError(f"mesh '{name}' cannot be read: {error.strerror}", where=element.where) from None
        asked = f"mesh{len(self.source.assets)}{path.suffix.lower()}"
        self.source.assets[asked] = data
        return attributes | {"file": asked}


def _check_numbers(element: Element) -> None:
    """No NaN, and nothing beyond what can be computed with, reaches MuJoCo; a range may be infinite."""
    for key, value in element.attributes.items():
        if key in NAMES:
            continue
        for x in _numbers(value):
            if not (math.isinf(x) and key.endswith("range")):
                check.number(x, f"{element.tag}: {key}", where=element.where)


def _numbers(value: str) -> list[float]:
    return [float(word) for word in value.split() if NUMBER.fullmatch(word)]
