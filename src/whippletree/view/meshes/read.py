"""Mesh files of robots as triangles: read once each, and what cannot be read is noted."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import MissingExtra, ModelError, ModelWarning
from ...model import Model, Visual
from ...model.shapes import LARGEST_MESH
from ..pieces import Color, Piece
from . import collada
from .solids import Surface

FORMATS = (".stl", ".obj", ".ply", ".glb", ".dae")
Key = tuple[str, int]  # a file and a part of it


class Surfaces:
    """The triangles behind mesh pieces."""

    def __init__(self) -> None:
        self._files: dict[str, list[tuple[Surface, Color | None]]] = {}
        self._missing: dict[str, str] = {}  # file -> why

    def __getitem__(self, key: Key) -> Surface:
        path, part = key
        return self._files[path][part][0]

    def drawable(self, model: Model, visuals: Mapping[str, Sequence[Visual]] | None) -> dict[str, tuple[Visual, ...]]:
        """The shapes of each body, ``visuals`` before those of the model, without meshes that cannot be read."""
        if visuals is not None and not visuals.keys() & model.bodies.keys():
            expected = ", ".join([*model.bodies][:4])
            raise ModelError(f"there are no shapes for the bodies of '{model.name}'", expected=expected)
        given = {name: (visuals or {}).get(name, body.visuals) for name, body in model.bodies.items()}
        return {name: tuple(v for v in some if v.shape != "mesh" or self._load(v.path)) for name, some in given.items()}

    def parts(self, piece: Piece) -> Iterator[tuple[Key, Piece]]:
        """The parts of a mesh, each of one colour. A file that cannot be read has none."""
        path = piece.path or ""
        for n, (_, color) in enumerate(self._load(path)):
            yield (path, n), replace(piece, color=piece.color or color)

    def bounds(self, piece: Piece) -> np.ndarray:
        """(n, 3) Vertices of a mesh as they stand in its body, a few of them."""
        points = [self[key][0] for key, _ in self.parts(piece)]
        if not points:
            return np.zeros((0, 3))
        all_ = np.concatenate(points) * np.array(piece.size)
        ends = np.concatenate([all_[all_.argmin(axis=0)], all_[all_.argmax(axis=0)]])
        return ends @ piece.at.rotation().T + np.array(piece.at.position)

    def warn(self) -> None:
        """Tell what could not be read, once."""
        if self._missing:
            first, why = next(iter(self._missing.items()))
            more = f" and {len(self._missing) - 1} more" if len(self._missing) > 1 else ""
            warnings.warn(f"meshes not drawn: {first} ({why}){more}", ModelWarning, stacklevel=3)
            self._missing = {}

    def _load(self, path: str | None) -> list[tuple[Surface, Color | None]]:
        name = path or ""
        if name not in self._files:
            self._files[name] = self._read(name)
        return self._files[name]

    def _read(self, name: str) -> list[tuple[Surface, Color | None]]:
        path = Path(name)
        suffix = path.suffix.lower()
        why = "no triangles in it"
        if suffix not in FORMATS:
            why = "the format is not read"
        elif not path.is_file():
            why = "there is no such file"
        elif path.stat().st_size > LARGEST_MESH:
            why = "too large"
        else:
            try:
                if found := _triangles(path, suffix):
                    return found
            except MissingExtra:
                raise
            except Exception as error:  # the readers of meshes raise whatever they trip over
                why = f"damaged: {type(error).__name__}"
        self._missing[path.name] = why
        return []


def _triangles(path: Path, suffix: str) -> list[tuple[Surface, Color | None]]:
    if suffix == ".dae":
        return collada.read(path.read_bytes())
    try:
        import trimesh
    except ImportError:
        raise MissingExtra("trimesh", "robots", "drawing meshes") from None
    options: Any = {"skip_materials": True} if suffix == ".obj" else {}
    with path.open("rb") as file:  # an open file has no folder, so the mesh cannot name other files to read
        scene = trimesh.load_scene(file, file_type=suffix[1:], **options)
    found = []
    for mesh in scene.dump():
        if isinstance(mesh, trimesh.Trimesh) and len(mesh.faces):
            surface = mesh.vertices.astype(np.float32), mesh.faces.astype(np.uint32)
            found.append((surface, _color(mesh.visual, bool(options))))
    return found


def _color(visual: Any, skipped: bool) -> Color | None:
    """That of the faces, or of the material unless it was skipped; None where a file has neither."""
    painted = visual if visual.kind in ("face", "vertex") else getattr(visual, "material", None)
    if painted is None or (skipped and painted is not visual):
        return None
    r, g, b, _ = (int(c) for c in painted.main_color)
    return (r, g, b)
