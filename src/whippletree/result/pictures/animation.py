"""The mechanism in motion: an HTML page that opens without a server (turn it, scrub it, slow it down), or a GIF."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict, dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import ModelError, path_of
from ...files.whole_file import whole_file
from ..deformation import exaggerated, scaled_in_words
from ..result import Result
from .sticks import mass_centres, masses, stick_ends

FORMATS = (".html", ".gif")
MOST_NUMBERS = 3_000_000  # of stick ends, 4 bytes each; more moments than fit are thinned out evenly
YAW, PITCH, FROM_ABOVE = 0.5, 0.3, 0.75  # rad: how a mechanism is seen, and one that moves on the level


def animation_path(path: str | os.PathLike[str]) -> Path:
    """The path, if its ending is one we can animate."""
    target = path_of(path, "the animation")
    if target.suffix.lower() not in FORMATS:
        expected = "a name ending in " + " or ".join(FORMATS)
        raise ModelError(f"'{path}' is not the name of an animation", expected=expected)
    return target


def animate(
    run: Result, path: str | os.PathLike[str], progress: Callable[[float], None] | None = None, scale: float = 1.0
) -> None:
    """Write the moving mechanism: sticks from joint to joint, discs at mass centres, the path of the last body.

    ``progress`` is called with the share that is done; ``scale`` makes the deformation of flexible bodies larger.
    """
    title, run = run.system.name + scaled_in_words(run, scale), exaggerated(run, scale)
    target = animation_path(path)
    if len(run) < 2:
        raise ModelError("an animation needs a motion", expected="at least 2 moments", got=len(run))
    if target.suffix.lower() == ".gif":
        from .gif import write_gif

        write_gif(run, target, progress or (lambda share: None), title)
        return
    parts = {"__TITLE__": escape(title), "__DATA__": json.dumps(_scene(run)).replace("</", "<\\/")}  # ends no script
    page = files(__package__).joinpath("animation.html").read_text("utf-8")
    page = re.sub("|".join(parts), lambda mark: parts[mark[0]], page)  # at once: a title may be named as a mark
    with whole_file(target, "the animation") as part:
        part.write_text(page, "utf-8")


def _scene(run: Result) -> dict[str, Any]:
    model = run.system.model
    parts = len(model.bodies) + sum(len(flexible.modes.nodes) for flexible in model.flexibles.values())
    fit = max(2, MOST_NUMBERS // max(1, 12 * parts))
    samples = np.unique(np.linspace(0, len(run) - 1, min(len(run), fit)).astype(int))
    (ends, _), centres = stick_ends(run, samples), mass_centres(run, samples)  # (sticks, 2, T, 3), (bodies, T, 3)
    points = np.concatenate([ends.reshape(-1, 3), centres.reshape(-1, 3)])
    low, high = points.min(axis=0), points.max(axis=0)
    view, weights = view_of(points, run.system.gravity), masses(run.system)
    return {
        "times": _packed(run.t[samples]),
        "sticks": _packed(ends.transpose(2, 0, 1, 3)),
        "dots": _packed(centres.transpose(1, 0, 2)),
        "sizes": (6.0 * np.cbrt(weights / (weights.max() or 1.0))).round(2).tolist(),  # as spheres of equal density
        "centre": ((low + high) / 2).tolist(),
        **asdict(view),
        "floor": floor_lines(low, high, view.up, view.sign < 0) if run.system.gravity.any() else [],
    }


@dataclass(frozen=True)
class View:
    """How a mechanism is seen: its upward axis and the sign of it, turn and tilt (rad), half its size (m)."""

    up: int
    sign: int
    yaw: float
    pitch: float
    reach: float

    def seen(self, points: np.ndarray) -> np.ndarray:
        """Points (..., 3) of the world as (across, up, near): turned about the vertical, tilted, no perspective."""
        east, north = points[..., (self.up + 1) % 3], points[..., (self.up + 2) % 3]
        across = east * np.cos(self.yaw) - north * np.sin(self.yaw)
        deep = east * np.sin(self.yaw) + north * np.cos(self.yaw)
        high = self.sign * points[..., self.up]
        cos, sin = np.cos(self.pitch), np.sin(self.pitch)
        return np.stack([across, high * cos + deep * sin, high * sin - deep * cos], axis=-1)


def view_of(points: np.ndarray, gravity: np.ndarray) -> View:
    """A view in which the widest direction runs across, from above where little happens in height.

    Without gravity the axis of least extent is looked along.
    """
    points = points if len(points) else np.zeros((1, 3))
    spread = np.ptp(points, axis=0)
    up = int(np.argmax(np.abs(gravity))) if gravity.any() else int(np.argsort(spread, kind="stable")[1])
    level = points[:, [(up + 1) % 3, (up + 2) % 3]]
    sizes, axes = np.linalg.eigh(np.cov(level.T)) if len(points) > 1 else (np.zeros(2), np.eye(2))
    depth, width = np.sqrt(np.maximum(sizes, 0.0))
    turn = 0.0
    if depth < 0.75 * width:
        east, north = axes[:, 1] * np.copysign(1.0, axes[0, 1] or axes[1, 1])
        turn = -float(np.arctan2(north, east))
    flat = gravity.any() and points[:, up].std() < 0.25 * depth
    reach = max(float(np.linalg.norm(spread)) / 2, 1e-9)
    return View(up, -1 if gravity[up] > 0 else 1, YAW + turn, FROM_ABOVE if flat else PITCH, reach)


def _packed(values: np.ndarray) -> str:
    return b64encode(np.ascontiguousarray(values, "<f4").tobytes()).decode("ascii")


def floor_lines(low: np.ndarray, high: np.ndarray, up: int, falls_up: bool) -> list[list[list[float]]]:
    """Lines of a grid below the motion, about ten across, a round number of metres apart."""
    across = [axis for axis in range(3) if axis != up]
    size = max(float((high - low).max()), 1e-9)
    decade = 10.0 ** np.floor(np.log10(size / 8))
    cell = next(decade * n for n in (1, 2, 5, 10) if decade * n >= size / 8)
    middle = np.round((low + high) / 2 / cell) * cell
    half = np.ceil(size / 2 / cell + 1) * cell
    level = high[up] if falls_up else low[up]
    lines = []
    for along, over in (across, across[::-1]):
        for step in np.arange(-half, half + cell / 2, cell):
            ends = np.tile(middle, (2, 1))
            ends[:, up] = level
            ends[:, along] += (-half, half)
            ends[:, over] += step
            lines.append([[round(c, 6) for c in end] for end in ends.tolist()])
    return lines
