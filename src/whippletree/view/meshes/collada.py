"""COLLADA files (.dae), as robots have them: triangles and plain colours, in metres, z up.

Textures, skins, lights and animations are left out; nothing outside the file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

import numpy as np

from ...errors import ModelError
from ..pieces import Color, color_of
from .solids import Surface

DEEPEST = 200  # nodes inside nodes, and instances of instances
UP = {  # what the file calls x, y and z, in axes with z up
    "X_UP": np.array([[0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 0.0]]),
    "Y_UP": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
    "Z_UP": np.eye(3),
}


def read(data: bytes) -> list[tuple[Surface, Color | None]]:
    """The surfaces of the file's scene, each of one colour."""
    root = _tree(data)
    known = {e.get("id"): e for e in root.iter() if e.get("id")}
    scene = root.find("scene/instance_visual_scene")
    top = known.get(_target(scene)) if scene is not None else root.find("library_visual_scenes/visual_scene")
    if top is None:
        return []
    unit = root.find("asset/unit")
    metre = float(unit.get("meter", "1")) if unit is not None else 1.0
    up = UP.get((root.findtext("asset/up_axis") or "Y_UP").strip(), UP["Y_UP"])
    start = np.eye(4)
    start[:3, :3] = metre * up
    found = []
    for matrix, geometry, colors in _shapes(top, start, known, 0):
        for symbol, points, faces in _triangles(geometry, known):
            placed = points @ matrix[:3, :3].T + matrix[:3, 3]
            turned = faces[:, ::-1] if np.linalg.det(matrix[:3, :3]) < 0.0 else faces  # mirrored: the other way round
            found.append(((placed.astype(np.float32), turned.astype(np.uint32)), colors.get(symbol)))
    return found


def _shapes(
    node: Element, matrix: np.ndarray, known: dict[Any, Element], depth: int
) -> Iterator[tuple[np.ndarray, Element, dict[str | None, Color]]]:
    """Places, geometries and colours by symbol of all that a node holds."""
    if depth > DEEPEST:
        raise ModelError("the file is nested too deep", expected=f"at most {DEEPEST} levels")
    here = matrix @ _place(node)
    for child in node:
        if child.tag == "node":
            yield from _shapes(child, here, known, depth + 1)
        elif child.tag == "instance_node" and _target(child) in known:
            yield from _shapes(known[_target(child)], here, known, depth + 1)
        elif child.tag == "instance_geometry" and _target(child) in known:
            bound = {m.get("symbol"): known.get(_target(m, "target")) for m in child.iter("instance_material")}
            bound_colors = {symbol: _color(material, known) for symbol, material in bound.items()}
            yield here, known[_target(child)], {symbol: color for symbol, color in bound_colors.items() if color}


def _place(node: Element) -> np.ndarray:
    """Where a node stands in the one that holds it."""
    whole = np.eye(4)
    for child in node:
        step = np.eye(4)
        if child.tag == "matrix":
            step = _numbers(child).reshape(4, 4)
        elif child.tag == "translate":
            step[:3, 3] = _numbers(child)
        elif child.tag == "scale":
            step[:3, :3] = np.diag(_numbers(child))
        elif child.tag == "rotate":
            step[:3, :3] = _about(_numbers(child))
        whole = whole @ step
    return whole


def _about(values: np.ndarray) -> np.ndarray:
    """Axis and degrees as a rotation (Rodrigues)."""
    x, y, z = values[:3] / max(float(np.linalg.norm(values[:3])), 1e-300)
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = np.deg2rad(values[3])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def _triangles(geometry: Element, known: dict[Any, Element]) -> Iterator[tuple[str | None, np.ndarray, np.ndarray]]:
    """Material symbols, points and triangles of a geometry."""
    for part in geometry.iterfind("mesh/*"):
        if part.tag not in ("triangles", "polylist", "polygons"):
            continue
        inputs = part.findall("input")
        vertices = next((i for i in inputs if i.get("semantic") == "VERTEX"), None)
        if vertices is None:
            continue
        stride = 1 + max(int(i.get("offset", "0")) for i in inputs)
        offset = int(vertices.get("offset", "0"))
        rows = [_numbers(p).astype(int).reshape(-1, stride)[:, offset] for p in part.iter("p")]
        if not rows:
            continue
        points = _positions(known[_target(vertices, "source")], known)
        counts = [3] * (sum(map(len, rows)) // 3) if part.tag == "triangles" else [len(r) for r in rows]
        if part.tag == "polylist":
            counts = _numbers(part.find("vcount")).astype(int).tolist()
        yield part.get("material"), points, _fans(np.concatenate(rows), np.array(counts))


def _fans(corners: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Polygons of so many corners each, as triangles about their first corners."""
    starts = np.cumsum(counts) - counts
    each = np.maximum(counts - 2, 0)
    first = np.repeat(starts, each)
    step = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
    return corners[np.column_stack([first, first + step + 1, first + step + 2])]


def _positions(vertices: Element, known: dict[Any, Element]) -> np.ndarray:
    given = next(i for i in vertices.findall("input") if i.get("semantic") == "POSITION")
    source = known[_target(given, "source")]
    accessor = source.find("technique_common/accessor")
    stride = int(accessor.get("stride", "3")) if accessor is not None else 3
    return _numbers(source.find("float_array")).reshape(-1, stride)[:, :3]


def _color(material: Element | None, known: dict[Any, Element]) -> Color | None:
    instance = None if material is None else material.find("instance_effect")
    effect = None if instance is None else known.get(_target(instance))
    text = None if effect is None else next((e.text for e in effect.iterfind(".//diffuse/color")), None)
    return None if text is None else color_of([float(x) for x in text.split()[:3]])


def _numbers(element: Element | None) -> np.ndarray:
    return np.array((element.text if element is not None and element.text else "").split(), float)


def _target(element: Element, key: str = "url") -> str:
    return element.get(key, "").removeprefix("#")


def _tree(data: bytes) -> Element:
    """The elements of the file, without namespaces; a document type is refused, so there are no entities."""
    builder = TreeBuilder()
    parser = expat.ParserCreate(namespace_separator="}")
    parser.buffer_text = True

    def refuse(*ignored: Any) -> None:
        raise ModelError("the file has a document type, which is refused")

    parser.StartElementHandler = lambda tag, attributes: builder.start(tag.rpartition("}")[2], attributes)
    parser.EndElementHandler = lambda tag: builder.end(tag.rpartition("}")[2])
    parser.CharacterDataHandler = builder.data
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    parser.Parse(data, True)
    return builder.close()
