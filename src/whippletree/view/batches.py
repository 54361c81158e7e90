"""Instances of solids and meshes that move with bodies: one message to the browser moves all of one shape."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .meshes.read import Surfaces
from .meshes.solids import UNITS, Surface
from .pieces import Piece
from .poses import quaternions

if TYPE_CHECKING:
    import viser

GREY = (150, 155, 165)  # of meshes without a colour


class Batch:
    """Instances of one surface, each at its own place on a body."""

    def __init__(self, scene: viser.SceneApi, name: str, surface: Any, pieces: Sequence[Piece], order: dict[str, int]):
        self.bodies = tuple(piece.body for piece in pieces)
        self._row = np.array([order[body] for body in self.bodies])
        self._turn = np.array([piece.at.rotation() for piece in pieces])
        self._shift = np.array([piece.at.position for piece in pieces], float)
        opacities = np.array([piece.opacity for piece in pieces], np.float32)
        sizes = np.array([piece.size for piece in pieces])
        colors = np.array([piece.color or GREY for piece in pieces], np.uint8)
        seen = None if (opacities == 1.0).all() else opacities
        side = "double" if pieces[0].shape == "mesh" else "front"
        self.handle = instances(scene, name, surface, sizes, colors, side=side, batched_opacities=seen)

    def place(self, R: np.ndarray, p: np.ndarray) -> None:
        """Move all instances, with rotations (bodies, 3, 3) and positions (bodies, 3)."""
        turn = R[self._row]
        self.handle.batched_wxyzs = quaternions(turn @ self._turn).astype(np.float32)
        self.handle.batched_positions = (p[self._row] + (turn @ self._shift[..., None])[..., 0]).astype(np.float32)

    def on_click(self, reported: Callable[[str, Any], None]) -> None:
        """Call with the body and viser's event."""
        self.handle.on_click(lambda event: reported(self.bodies[event.instance_index or 0], event))

    def on_drag(self, reported: Callable[[str, Any], None]) -> None:
        """Call with the body and viser's event, from its start to its end."""
        self.handle.on_drag("left")(lambda event: reported(self.bodies[event.instance_index or 0], event))


def instances(
    scene: viser.SceneApi, name: str, surface: Surface, scales: np.ndarray, colors: np.ndarray, **more: Any
) -> Any:
    """viser's handle of one surface drawn many times, each stretched by its scales (n, 3), to be placed."""
    return scene.add_batched_meshes_simple(
        name,
        *surface,
        batched_wxyzs=np.tile([1.0, 0.0, 0.0, 0.0], (len(scales), 1)),
        batched_positions=np.zeros((len(scales), 3)),
        batched_scales=scales.astype(np.float32),
        batched_colors=colors,
        lod="off",
        **more,
    )


def batches_of(
    scene: viser.SceneApi, pieces: Iterable[Piece], order: dict[str, int], surfaces: Surfaces
) -> list[Batch]:
    """One batch for each solid and each mesh."""
    groups: dict[Any, list[Piece]] = {}
    for piece in pieces:
        for key, part in surfaces.parts(piece) if piece.shape == "mesh" else [(piece.shape, piece)]:
            groups.setdefault(key, []).append(part)
    found = []
    for n, (key, group) in enumerate(groups.items()):
        surface = UNITS[key]() if key in UNITS else surfaces[key]
        found.append(Batch(scene, f"/bodies/{n}", surface, group, order))
    return found
