"""The mechanism in motion as a GIF, which plays wherever pictures are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...files.whole_file import whole_file
from ..result import Result
from .animation import View, floor_lines, view_of
from .raster import Raster
from .solids import Solids, solids
from .sticks import mass_centres

MOST_FRAMES = 200
FASTEST, SLOWEST = 25.0, 10.0  # frames in a second: smooth, and still a motion
SHORTEST = 2.0  # s; a shorter motion is slowed down to this
SIZE = 480  # dots
FINER = 2  # dots drawn for one that is shown, each way
PAPER, FLOOR, SHADOW, TRAIL, INK = "#ffffff", "#e6e8eb", "#d9dce0", "#d1495b", "#202428"
INKS = 64  # colours in a file
MARGIN, HEAD = 0.06, 0.075  # of the size: kept free at the edges, and above for the words


def write_gif(
    run: Result,
    path: Path,
    progress: Callable[[float], None],
    title: str,
    size: int = SIZE,
    most_frames: int = MOST_FRAMES,
) -> None:
    """Draw the frames and write them, in real time if the run is neither very short nor very long."""
    samples, frame_time, speed = frame_samples(run.t, most_frames)
    pictures: list[Any] = []
    for k, picture in enumerate(_frames(run, samples, speed, title, size)):
        pictures.append(picture)
        progress((k + 1) / len(samples))
    colors = palette(pictures, INKS)
    pictures = [picture.quantize(palette=colors, dither=0) for picture in pictures]
    with whole_file(path, "the animation") as part:
        options: Any = {"save_all": True, "append_images": pictures[1:], "loop": 0, "duration": round(1e3 * frame_time)}
        pictures[0].save(part, format="GIF", **options)


def palette(pictures: list[Any], count: int) -> Any:
    """So many colours, which serve some of the frames best."""
    from PIL import Image

    few = pictures[:: max(1, len(pictures) // 6)]
    together = Image.new("RGB", (few[0].width, few[0].height * len(few)))
    for k, picture in enumerate(few):
        together.paste(picture, (0, k * picture.height))
    return together.quantize(count)


def frame_samples(t: np.ndarray, most_frames: int = MOST_FRAMES) -> tuple[np.ndarray, float, float]:
    """Which moments are frames, how long (s) each is shown, and how many times as fast as real time that is."""
    span = float(t[-1] - t[0])
    length = max(span, SHORTEST)
    count = int(min(most_frames, max(2, np.ceil(length * FASTEST)), len(t)))
    frame_time = min(length / count, 1.0 / SLOWEST)
    frame_time = max(round(100 * frame_time), 2) / 100  # a GIF counts hundredths, and players take 1 for 10
    samples = np.interp(np.linspace(t[0], t[-1], count), t, np.arange(len(t))).round().astype(int)  # the nearest
    return samples, frame_time, span / (count * frame_time)


class Camera:
    """Turns points of the world into dots of a picture in which all of a motion fits."""

    def __init__(self, view: View, points: np.ndarray, reach: float, size: int) -> None:
        seen = view.seen(points)[..., :2].reshape(-1, 2)
        low, high = (seen - reach).min(axis=0), (seen + reach).max(axis=0)
        room = size * np.array([1 - 2 * MARGIN, 1 - MARGIN - HEAD - 0.02])
        self.view, self.scale = view, float((room / np.maximum(high - low, 1e-9)).min())
        middle = np.array([0.5, HEAD + (1 - HEAD - MARGIN) / 2]) * size
        self.shift = middle - np.array([1, -1]) * self.scale * (low + high) / 2

    def __call__(self, points: np.ndarray) -> np.ndarray:
        seen = self.view.seen(points) * self.scale * np.array([1, -1, 1])
        seen[..., :2] += self.shift
        return seen


def _frames(run: Result, samples: np.ndarray, speed: float, title: str, size: int) -> Any:
    """Pictures, one after the other: the mechanism seen as the page shows it first."""
    from PIL import Image, ImageDraw

    drawn = solids(run, samples)
    points = drawn.points
    view = view_of(points.reshape(-1, 3), run.system.gravity)
    fine = size * FINER
    camera = Camera(view, points, float(drawn.radii.max(initial=0.0)), fine)
    path = camera(_trail(run))[:, :2]
    ground = _Ground(run, drawn, view) if run.system.gravity.any() else None
    words = _Words(title, speed, fine)
    for k, moment in enumerate(samples):
        paper = Image.new("RGB", (fine, fine), PAPER)
        draw = ImageDraw.Draw(paper)
        if ground is not None:
            ground.draw(draw, camera, k)
        if moment:
            draw.line([tuple(p) for p in path[: moment + 1]], fill=TRAIL, width=FINER, joint="curve")
        words.draw(draw, run.t[moment])
        raster = Raster(fine, fine)
        _put(raster, drawn, camera, k)
        yield Image.fromarray(raster.over(np.asarray(paper), 0.02 * fine)).reduce(FINER)


def _trail(run: Result) -> np.ndarray:
    """The path (T, 3) of the last frame, or of the last body's mass centre if there is no frame."""
    frames = list(run.system.model.frames)
    return run[f"{frames[-1]}.position"] if frames else mass_centres(run, np.arange(len(run)))[-1]


def _put(raster: Raster, drawn: Solids, camera: Camera, k: int) -> None:
    ends = camera(drawn.bars[:, :, k])
    for owner, ((start, end), radius, color) in enumerate(zip(ends, drawn.radii, drawn.bar_colors, strict=True), 1):
        raster.bar(start, end, max(radius * camera.scale, 0.6 * FINER), color, owner)
    for face, color, owner in zip(drawn.faces, drawn.face_colors, drawn.face_owners, strict=True):
        raster.face(camera(face[:, k]), color, owner + len(ends))


class _Ground:
    """A grid below the motion, and on it the shadows of what is above."""

    def __init__(self, run: Result, drawn: Solids, view: View) -> None:
        points = drawn.points.reshape(-1, 3)
        low, high = points.min(axis=0), points.max(axis=0)
        self.lines = np.array(floor_lines(low, high, view.up, view.sign < 0))
        self.drawn, self.up, self.level = drawn, view.up, self.lines[0, 0, view.up]

    def draw(self, draw: Any, camera: Camera, k: int) -> None:
        for start, end in camera(self.lines)[..., :2]:
            draw.line([*start, *end], fill=FLOOR, width=FINER)
        for face in self.drawn.faces:
            draw.polygon([tuple(p) for p in self._below(camera, face[:, k])], fill=SHADOW)
        for ends, radius in zip(self.drawn.bars[:, :, k], self.drawn.radii, strict=True):
            (x0, y0), (x1, y1) = self._below(camera, ends)
            wide = radius * camera.scale
            high = wide * np.sin(camera.view.pitch)
            draw.line([x0, y0, x1, y1], fill=SHADOW, width=max(1, round(2 * high)))
            for x, y in ((x0, y0), (x1, y1)):
                draw.ellipse([x - wide, y - high, x + wide, y + high], fill=SHADOW)

    def _below(self, camera: Camera, points: np.ndarray) -> np.ndarray:
        shadow = points.copy()
        shadow[..., self.up] = self.level
        return camera(shadow)[..., :2]


class _Words:
    """The title, and the time that a frame shows."""

    def __init__(self, title: str, speed: float, fine: int) -> None:
        from matplotlib import get_data_path
        from PIL import ImageFont

        fonts = Path(get_data_path()) / "fonts" / "ttf"
        self.title, self.pace = title[:80], "" if abs(speed - 1) < 0.05 else f" ({speed:.2g}x)"
        size = fine * (0.032 if len(title) <= 36 else 0.02)
        self.font = ImageFont.truetype(fonts / "DejaVuSans.ttf", size)
        self.digits = ImageFont.truetype(fonts / "DejaVuSansMono.ttf", fine * 0.028)
        self.edge, self.line = 0.03 * fine, 0.035 * fine
        self.right = fine - self.edge

    def draw(self, draw: Any, t: float) -> None:
        draw.text((self.edge, self.line), self.title, fill=INK, font=self.font, anchor="lm")
        draw.text((self.right, self.line), f"{t:.2f} s{self.pace}", fill=INK, font=self.digits, anchor="rm")
