"""What a picture shows of a mechanism: round bars and flat faces in world axes, over the moments of a run.

Bodies are drawn by their shapes. Where they have none that is a box, a ball or a cylinder they are bars from joint to
joint, with a ball at the mass centre; flexible bodies are lines through their nodes, as they deform.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from ...model import Visual
from ..result import Result
from .animation import view_of
from .sticks import mass_centres, masses, stick_ends

COLORS = ("#3d6fa3", "#e0893a", "#5b9a72", "#b8566c", "#8672ad", "#4b9fa6", "#bd9b35", "#73808c")
GROUND = "#9aa0a6"
MANY = 16  # bodies; more take turns in two colours, which shows a chain as one thing
BAR, BALL = 0.02, 0.05  # radii, as parts of half the size of what is shown
THICK = 0.1  # of the usual length of bars, beyond which they would be clumsy
SIDES = 28  # of a cylinder that is wide enough to show them
SLENDER, SMALL = 0.06, 0.015  # radius of a cylinder, of its length or of all shown, whose round ends do not show


@dataclass
class Solids:
    """Bars (B, 2, T, 3) with their radii, and flat convex faces, each (corners, T, 3); both with colours 0 to 255.

    Faces with the same owner are of one shape.
    """

    bars: np.ndarray
    radii: np.ndarray
    bar_colors: np.ndarray
    faces: list[np.ndarray]
    face_colors: np.ndarray
    face_owners: list[int]

    @property
    def points(self) -> np.ndarray:
        """All ends and corners, (T, n, 3)."""
        corners = [np.swapaxes(self.bars.reshape(-1, *self.bars.shape[2:]), 0, 1)]
        return np.concatenate([*corners, *(np.swapaxes(face, 0, 1) for face in self.faces)], axis=1)


def solids(run: Result, samples: np.ndarray) -> Solids:
    """All that is drawn of a run at some of its moments."""
    model = run.system.model
    names = [*model.bodies, *model.flexibles]
    inks = dict(zip(names, _inks(len(names)), strict=True))
    ends, owners = stick_ends(run, samples)
    reach = view_of(ends.reshape(-1, 3), run.system.gravity).reach
    lengths = np.linalg.norm(ends[:, 1, 0] - ends[:, 0, 0], axis=1)
    thick = min(BAR * reach, THICK * float(np.quantile(lengths, 0.8))) if len(lengths) else BAR * reach
    shaped = {name for name, body in model.bodies.items() if any(v.shape != "mesh" for v in body.visuals)}
    bars: list[tuple[np.ndarray, float, np.ndarray]] = []  # ends, radius and colour
    faces: list[tuple[np.ndarray, np.ndarray, int]] = []  # corners, colour and owner
    shapes = count(1)
    for pair, owner in zip(ends, owners, strict=True):
        ink = inks.get(owner.partition("/")[0], inks.get(owner, _rgb(GROUND)))
        bars.append((pair, 0.5 * thick if owner in shaped else thick, ink))
    weights, centres = masses(run.system), mass_centres(run, samples)
    for k, name in enumerate(model.bodies):
        if name not in shaped and weights[k] > 0:
            radius = max(thick, BALL * reach * np.cbrt(weights[k] / weights.max()) * thick / (BAR * reach))
            bars.append((np.array([centres[k], centres[k]]), radius, inks[name]))
    for name, body in model.bodies.items():
        place, turn = run[f"{name}.position"][samples], run[f"{name}.rotation"][samples]
        for visual in body.visuals:
            shape = next(shapes)
            ink = inks[name] if visual.color is None else 255 * np.array(visual.color[:3])
            for corners, radius in _pieces(visual, SMALL * reach):
                own = np.asarray(visual.at.position) + corners @ visual.at.rotation().T
                world = place + np.einsum("tij,nj->nti", turn, own)
                if radius is None:
                    faces.append((world, ink, shape))
                else:
                    bars.append((world, radius, ink))
    ends = np.array([pair for pair, _, _ in bars]) if bars else np.zeros((0, 2, len(samples), 3))
    bar_inks, face_inks = (
        np.array(c).reshape(-1, 3) for c in ([ink for *_, ink in bars], [ink for _, ink, _ in faces])
    )
    radii = np.array([radius for _, radius, _ in bars])
    return Solids(ends, radii, bar_inks, [face for face, *_ in faces], face_inks, [owner for *_, owner in faces])


def _pieces(visual: Visual, small: float) -> list[tuple[np.ndarray, float | None]]:
    """Corners of faces, or the ends of a round bar with its radius, in the axes of the shape."""
    if visual.shape == "sphere":
        return [(np.zeros((2, 3)), visual.size[0])]
    if visual.shape == "box":
        return [(face * np.array(visual.size) / 2, None) for face in _cube()]
    if visual.shape != "cylinder":
        return []
    radius, length = visual.size
    if radius <= max(SLENDER * length, min(small, length / 2)):
        return [(np.array([[0, 0, -length / 2], [0, 0, length / 2]]), radius)]
    angle = np.arange(SIDES) * 2 * np.pi / SIDES
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(SIDES, length / 2)], axis=1)
    low = ring * (1, 1, -1)
    following = np.roll(np.arange(SIDES), -1)
    sides = np.stack([ring, low, low[following], ring[following]], axis=1)
    return [(ring, None), (low[::-1], None), *((side, None) for side in sides)]


def _cube() -> list[np.ndarray]:
    square = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return [np.insert(square, axis, side, axis=1) for axis in range(3) for side in (-1, 1)]


def _inks(count: int) -> list[np.ndarray]:
    known = COLORS if count <= MANY else COLORS[:2]
    return [_rgb(known[k % len(known)]) for k in range(count)]


def _rgb(ink: str) -> Any:
    return np.array([int(ink[k : k + 2], 16) for k in (1, 3, 5)], float)
