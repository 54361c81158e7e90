"""The mechanism in motion as a GIF, which plays wherever pictures are shown."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..files.whole_file import whole_file
from .animation import PITCH, YAW, disc_sizes, floor_lines, upward
from .plot import PLAIN_TEXT
from .result import Result
from .sticks import mass_centres, stick_ends

MOST_FRAMES = 200
FASTEST, SLOWEST = 25.0, 10.0  # frames in a second: smooth, and still a motion
SHORTEST = 2.0  # s; a shorter motion is slowed down to this
SIZE, DPI = 4.8, 100  # inches, and dots per inch
STICK, TRAIL, FLOOR, INK = "#1f4e79", "#d1495b", "#e4e4e4", "#000000"
SHADES = 32  # of each of these, to white


def write_gif(run: Result, path: Path, progress: Callable[[float], None], scale: float = 1.0) -> None:
    """Draw the frames and write them, in real time if the run is neither very short nor very long."""
    from matplotlib import rc_context
    from PIL import Image

    moments, frame_time, speed = frame_moments(run.t)
    pictures: list[Any] = []
    colors = Image.new("P", (1, 1))
    colors.putpalette(_palette())
    with rc_context(PLAIN_TEXT):
        for k, dots in enumerate(_frames(run, moments, speed, scale)):
            pictures.append(Image.fromarray(dots).quantize(palette=colors, dither=Image.Dither.NONE))
            progress((k + 1) / len(moments))
    with whole_file(path, "the animation") as part:
        options: Any = {"save_all": True, "append_images": pictures[1:], "loop": 0, "duration": round(1e3 * frame_time)}
        pictures[0].save(part, format="GIF", **options)


def _palette() -> list[int]:
    """Red, green, blue of all colours that are drawn, on white."""
    from matplotlib.colors import to_rgb

    shade = np.linspace(0.0, 1.0, SHADES)[:, None]
    colors = np.concatenate([1 - shade * (1 - np.array(to_rgb(ink))) for ink in (STICK, TRAIL, FLOOR, INK)])
    return np.rint(255 * colors).astype(int).ravel().tolist()


def frame_moments(t: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Which moments are frames, how long (s) each is shown, and how many times as fast as real time that is."""
    span = float(t[-1] - t[0])
    length = max(span, SHORTEST)
    count = int(min(MOST_FRAMES, max(2, np.ceil(length * FASTEST)), len(t)))
    frame_time = min(length / count, 1.0 / SLOWEST)
    frame_time = max(round(100 * frame_time), 2) / 100  # a GIF counts hundredths, and players take 1 for 10
    moments = np.interp(np.linspace(t[0], t[-1], count), t, np.arange(len(t))).round().astype(int)  # the nearest
    return moments, frame_time, span / (count * frame_time)


def _frames(run: Result, moments: np.ndarray, speed: float, scale: float) -> Any:
    """Arrays (height, width, 3) of dots, one after the other: the mechanism seen as the page shows it first."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    up, sign = upward(run)
    ends, centres = stick_ends(run, moments, scale), mass_centres(run, moments)
    points = np.concatenate([ends.reshape(-1, 3), centres.reshape(-1, 3)])
    low, high = points.min(axis=0), points.max(axis=0)
    floor = _seen(np.array(floor_lines(low, high, up, sign < 0)), up, sign)
    ends, centres = _seen(ends, up, sign), _seen(centres, up, sign)  # (sticks, 2, T, 2), (bodies, T, 2)
    points = np.concatenate([ends.reshape(-1, 2), centres.reshape(-1, 2)])
    middle, reach = (points.min(axis=0) + points.max(axis=0)) / 2, max(float(np.ptp(points, axis=0).max()) / 2, 1e-9)

    figure = Figure(figsize=(SIZE, SIZE), dpi=DPI)
    canvas = FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 0.93))
    axes.set(xlim=middle[0] + [-1.1 * reach, 1.1 * reach], ylim=middle[1] + [-1.1 * reach, 1.1 * reach], aspect="equal")
    axes.axis("off")
    figure.text(0.03, 0.955, run.system.name[:40], fontsize=10)
    clock = figure.text(0.97, 0.955, "", fontsize=9, ha="right", family="monospace")
    axes.add_collection(LineCollection(list(floor), colors=FLOOR, linewidths=0.8))
    sticks = LineCollection([], colors=STICK, linewidths=2.2, capstyle="round")
    axes.add_collection(sticks)
    (trail,) = axes.plot([], [], color=TRAIL, linewidth=0.9)
    areas = np.pi * (0.8 * disc_sizes(run)) ** 2
    discs = axes.scatter(centres[:, 0, 0], centres[:, 0, 1], s=areas, color=STICK, linewidths=0, zorder=3)
    pace = "" if abs(speed - 1) < 0.05 else f" ({speed:.2g}x)"
    for k, moment in enumerate(moments):
        sticks.set_segments(list(ends[:, :, k]))
        discs.set_offsets(centres[:, k])
        trail.set_data(*centres[-1, : k + 1].T)
        clock.set_text(f"{run.t[moment]:.3f} s{pace}")
        canvas.draw()
        yield np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def _seen(points: np.ndarray, up: int, sign: int) -> np.ndarray:
    """Points (..., 3) of the world as (..., 2) of the picture: turned about the vertical, tilted, no perspective."""
    east, north = points[..., (up + 1) % 3], points[..., (up + 2) % 3]
    across, deep = east * np.cos(YAW) - north * np.sin(YAW), east * np.sin(YAW) + north * np.cos(YAW)
    return np.stack([across, sign * points[..., up] * np.cos(PITCH) + deep * np.sin(PITCH)], axis=-1)
