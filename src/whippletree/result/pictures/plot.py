"""Pictures of a run: names over time, and the mechanism as sticks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, path_of
from ...files.whole_file import whole_file
from ..deformation import exaggerated, scaled_in_words
from ..result import Result
from .sticks import mass_centres, masses, stick_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".svg", ".png", ".pdf")
MOST_LINES = 12  # more lines in one picture cannot be distinguished
MOST_STICKS = 300  # bodies and frames; more are a blot
ANGLES = {"rad": "angle", "rad/s": "angular velocity", "rad/s^2": "angular acceleration"}
MEANING = ANGLES | {
    "m": "length",
    "m/s": "velocity",
    "m/s^2": "acceleration",
    "J": "energy",
    "1": "component",
    "s": "time",
    "kg m^2/s": "angular momentum",
    "kg m/s": "momentum",
    "N": "force",
    "N m": "torque",
    "N m or N": "force",
    "W": "power",
}
LINES = ("-", "--", "-.", ":")
PLAIN_TEXT: Any = {"text.parse_math": False}  # a dollar in a name is a dollar
Lines = list[tuple[str, np.ndarray]]


def picture_path(path: str | os.PathLike[str]) -> Path:
    """The path, if its ending is one we can draw."""
    target = path_of(path, "the picture")
    if target.suffix.lower() not in FORMATS:
        raise ModelError(f"'{path}' is not the name of a picture", expected="a name ending in " + ", ".join(FORMATS))
    return target


def plot(
    run: Result,
    names: Sequence[str] = (),
    path: str | os.PathLike[str] | None = None,
    *,
    scale: float = 1.0,
    shown: bool = True,
) -> Figure:
    """Draw ``names`` over time; without names the mechanism beside its coordinates and energies.

    ``scale`` makes the deformation of flexible bodies larger.
    Without a path the figure is one of pyplot, unless it is not to be shown.
    """
    if path is not None:
        picture_path(path)
    panels = panels_of(run, list(names) or [*first_names(run), *energy_names(run)])
    figure = draw_panels(run, panels, mechanism=not names, shown=shown and path is None, scale=scale)
    figure.suptitle(run.system.name, parse_math=False)
    if path is not None:
        save_figure(figure, path)
    return figure


def draw_panels(
    run: Result, panels: list[tuple[str, Lines]], *, mechanism: bool, shown: bool, scale: float = 1.0
) -> Figure:
    """Axes (unit, lines) one below the other, with one time; the mechanism beside them, if it is not too large."""
    from matplotlib import rc_context

    sticks = mechanism and len(run.places) <= MOST_STICKS
    size = (11, max(4.0, 2.1 * len(panels))) if sticks else (7, max(3.0, 2.1 * len(panels)))
    with rc_context(PLAIN_TEXT):
        figure = new_figure(size, shown=shown)
        grid = figure.add_gridspec(len(panels), 2 if sticks else 1, width_ratios=[1.15, 1] if sticks else None)
        first: Any = None
        for row, (unit, lines) in enumerate(panels):
            axes = figure.add_subplot(grid[row, -1], sharex=first)
            first = first or axes
            _lines(axes, run.t, unit, lines)
            axes.tick_params(labelbottom=row == len(panels) - 1)
        axes.set_xlabel("time (s)")
        if sticks:
            _draw(exaggerated(run, scale), figure.add_subplot(grid[:, 0]), scaled_in_words(run, scale))
    return figure


def first_names(run: Result) -> list[str]:
    """The coordinates of the first joints, and the first forces that are one number each."""
    few, columns = [], 0
    for joint in run.system.joints:
        index = run.system.q_index(joint)
        columns += index.stop - index.start
        if columns > MOST_LINES:
            break
        few.append(f"{joint}.q")
    forces = [f"{force}.force" for force in run.system.model.forces]
    scalar = [name for name in forces if len(run.quantity(name).labels) == 1]
    return few + scalar[:MOST_LINES]


def energy_names(run: Result) -> list[str]:
    """The energies that a run has; the total comes last, over the others."""
    extra = [name for name in ("energy.elastic", "energy.work") if run[name].any()]
    return ["energy.kinetic", "energy.potential", *extra, "energy"]


def panels_of(run: Result, names: Sequence[str]) -> list[tuple[str, Lines]]:
    """Units, each with its lines (label, values), in the order they were asked for."""
    panels: dict[str, Lines] = {}
    for name in names:
        quantity = run.quantity(name)
        values = run[name].reshape(len(run), -1)
        labels = quantity.labels or tuple(f"{i}{j}" for i in "xyz" for j in "xyz")
        units = quantity.units * (len(labels) // len(quantity.units))
        for k, (label, unit) in enumerate(zip(labels, units, strict=True)):
            shown = f"{name} {label}" if label else name
            panels.setdefault(unit, []).append((shown, values[:, k]))
    return list(panels.items())


def _lines(axes: Axes, t: np.ndarray, unit: str, lines: Lines) -> None:
    drawn = []
    for k, (label, values) in enumerate(lines):
        # a cycle of ten colours, then another dash: lines stay apart in print and for every eye
        dash, color = LINES[(k // 10) % len(LINES)], f"C{k % 10}"
        if label == "energy":  # often lies on another line: at rest, or without gravity
            dash, color = "--", "black"
        drawn += axes.plot(t, values, dash, color=color, linewidth=1.3, label=label)
    known = MEANING.get(unit)
    axes.set_ylabel(f"{known} ({unit})" if known else f"({unit})")
    axes.grid(alpha=0.3)
    axes.margins(x=0)
    if len(lines) <= 2 * MOST_LINES:
        # beside the axes, so that it never hides a line; by name, lest one that begins with "_" is left out
        beside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.02), "borderaxespad": 0.2}
        axes.legend(drawn, [label for label, _ in lines], fontsize="x-small", frameon=False, **beside)


def _draw(run: Result, axes: Axes, scaled: str) -> None:
    """The mechanism as sticks at evenly spaced times, pale to dark, seen along the axis it moves least in."""
    bodies = len(run.system.bodies) - 1
    pictures = max(4, min(10, 70 // bodies))  # the more sticks, the fewer pictures of them
    samples = np.unique(np.linspace(0, len(run) - 1, min(pictures, len(run))).astype(int))
    ends, _ = stick_ends(run, samples)  # (sticks, 2, moments, 3)
    across, up = _view(ends.reshape(-1, 3), run.system.gravity)
    centres = mass_centres(run, samples)
    weights = masses(run.system)
    sizes = 60.0 * (weights / weights.max()) ** (2 / 3) if weights.any() else weights  # of spheres of equal density
    for m in range(samples.size):
        share = (m + 1) / samples.size
        shade: dict[str, Any] = {"color": "#1f4e79", "alpha": 0.12 + 0.88 * share**3, "zorder": m}
        x, y = ends[:, :, m, across].T, ends[:, :, m, up].T
        axes.plot(x, y, "-", linewidth=1.0 + 1.5 * (m == samples.size - 1), solid_capstyle="round", **shade)
        axes.scatter(centres[:, m, across], centres[:, m, up], s=sizes, linewidths=0, **shade)
    last = list(run.places)[-1]
    tip = run[f"{last}.position"]
    axes.plot(tip[:, across], tip[:, up], color="#d1495b", linewidth=0.9, alpha=0.8, label=f"path of {last}")
    axes.legend(fontsize="x-small", loc="best", frameon=False)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel(f"{'xyz'[across]} (m)")
    axes.set_ylabel(f"{'xyz'[up]} (m)")
    axes.grid(alpha=0.3)
    axes.set_title(f"{run.t[samples[0]]:g} s (pale) to {run.t[samples[-1]]:g} s (dark){scaled}", fontsize="small")


def _view(points: np.ndarray, gravity: np.ndarray) -> tuple[int, int]:
    """World axes for across and up: against gravity if there is any, and the widest of the others."""
    spread = np.ptp(points, axis=0) if len(points) else np.ones(3)
    up = int(np.argmax(np.abs(gravity))) if np.any(gravity) else int(np.argsort(spread)[1])
    spread[up] = -1.0
    return int(np.argmax(spread)), up


def new_figure(size: tuple[float, float], *, shown: bool) -> Figure:
    """A figure of pyplot when someone may look at it on screen, else one that needs no display."""
    if shown:
        from matplotlib import pyplot

        return pyplot.figure(figsize=size, layout="constrained")
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a picture whole."""
    target = picture_path(path)
    with whole_file(target, "the picture") as part:
        write_figure(figure, part, target.suffix.lower()[1:])


def write_figure(figure: Figure, target: Any, form: str, salt: str = "whippletree") -> None:
    """Write a picture to a path or stream; SVG keeps its text as text, and the same picture is the same file."""
    from matplotlib import rc_context

    with rc_context({"svg.fonttype": "none", "svg.hashsalt": salt}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a letter that the font lacks is drawn as a box
        figure.savefig(target, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
