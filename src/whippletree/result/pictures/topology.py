"""The model as a drawing: who hangs on whom by which joint, what is welded, where loops close, which forces act."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...system.system import System
from .topology_layout import (
    ELSEWHERE,
    FORCE,
    HELD,
    INK,
    KIND_COLORS,
    NAMED,
    PALE,
    Layout,
    force_ends,
    held_ends,
    joint_words,
    layout,
    parents_of,
    shortened,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def topology_figure(system: System) -> Figure:
    """Draw the tree of a system with its loops and forces."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    place = layout(system)
    with rc_context({"text.parse_math": False}):
        figure = Figure()
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, place.width)
        axes.axis("off")
        _draw_boxes(axes, place)
        _draw_joints(axes, system, place)
        top, bottom = _draw_arcs(axes, system, place)
        _draw_words(axes, system, place)
    figure.set_size_inches(place.width, bottom - top)
    axes.set_ylim(bottom, top)
    return figure


def _draw_boxes(axes: Axes, place: Layout) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = place.style
    for i in place.drawn:
        x, tall, fill = place.x[i], place.tall(i), "#e8e8e8" if i == 0 else "#f7fafc"
        corner, shape = (x, place.y[i] - tall / 2), f"round,pad=0,rounding_size={0.4 * style.line}"
        edge: dict[str, Any] = {"facecolor": fill, "edgecolor": INK, "linewidth": 0.8 if place.named else 0.5}
        axes.add_patch(FancyBboxPatch(corner, place.box, tall, boxstyle=shape, zorder=3, **edge))
        for k, name in enumerate(place.names[i]):
            y = place.y[i] + (k - (len(place.names[i]) - 1) / 2) * style.line
            _write(axes, x + place.box / 2, y, name, style.text, zorder=4)
        for k, (note, color) in enumerate(place.notes[i]):
            _write(axes, x + place.box / 2, place.low(i) + (k + 0.6) * style.line, note, 0.88 * style.text, color)


def _draw_joints(axes: Axes, system: System, place: Layout) -> None:
    from matplotlib.collections import LineCollection

    lines, colors, parents = [], [], parents_of(system)
    small, leaving = 0.88 * place.style.text, dict[int, list[int]]()
    for i in place.drawn[1:]:
        p, y, end = parents[i], place.y[i], place.x[i]
        start, bend = place.x[p] + place.box, end - place.gap + 0.5 * place.style.gap
        if place.depth[i] % place.columns:
            lines.append([(start, place.y[p]), (bend, place.y[p]), (bend, y), (end, y)])
        else:  # comes from the band above: each end names the other
            lines.append([(bend, y), (end, y)])
            leaving.setdefault(p, []).append(i)
            _write(axes, bend - 0.03, y, shortened(place.names[p][0], ELSEWHERE), small, PALE, ha="right")
        colors.append(KIND_COLORS[system.topology.edges[i - 1].joint.kind])
        for k, (word, ink) in enumerate(joint_words(system, i) if place.named else ()):
            _write(axes, (bend + end) / 2, y + (k - 0.45) * place.style.line, word, small, ink)
    for p, onward in leaving.items():
        start, y = place.x[p] + place.box, place.y[p]
        lines.append([(start, y), (start + 0.12, y)])
        colors.append(KIND_COLORS[system.topology.edges[onward[0] - 1].joint.kind])
        text = shortened(place.names[onward[0]][0], ELSEWHERE) if len(onward) == 1 else f"{len(onward)} below"
        _write(axes, start + 0.15, y, text, small, PALE, ha="left")
    axes.add_collection(LineCollection(lines, colors=colors, linewidths=1.3 if place.named else 0.9, zorder=2))


def _draw_arcs(axes: Axes, system: System, place: Layout) -> tuple[float, float]:
    """What closes loops and holds otherwise below the boxes, dashed; forces between bodies above; how far each way."""
    arcs = [
        (*system.topology.ends(j), f"{j.name} ({j.kind})", KIND_COLORS[j.kind], "--", 1) for j in system.topology.cuts
    ]
    arcs += [(a, b, text, HELD, "--", 1) for a, b, text in held_ends(system)]
    for force in system.model.forces.values():
        ends = force_ends(system, force)
        if len(set(ends)) == 2:
            arcs.append((ends[0], ends[1], force.name, FORCE, "-", -1))
    reached, drawn = [0.0, place.height], dict[tuple[int, ...], int]()
    for a, b, text, color, dash, side in arcs:
        if a in place.x and b in place.x:
            pair = (min(a, b), max(a, b), side)
            drawn[pair] = drawn.get(pair, -1) + 1
            reached += _arc(axes, place, (a, b), text, (color, dash), side * (1 + 0.6 * drawn[pair]))
    return min(reached), max(reached)


def _arc(
    axes: Axes, place: Layout, ends: tuple[int, int], text: str, look: tuple[str, str], bulge: float
) -> list[float]:
    """From box to box along a cubic curve that bulges down or, if negative, up; how far up and down it reaches."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    side, (color, dash) = (1 if bulge > 0 else -1), look
    (xa, ya), (xb, yb) = ((place.x[i] + place.box / 2, place.y[i] + side * place.tall(i) / 2) for i in ends)
    deep = bulge * (1.5 * place.style.line + min(0.12 * abs(xb - xa), 0.8))
    across = shift = 0.0
    if ends[0] == ends[1]:
        xa, xb = xa - place.box / 4, xb + place.box / 4
    elif xa == xb:  # one above the other: a line behind the boxes between
        across, deep = 0.1 * place.box * (2 * abs(bulge) - 1), 0.0
        (ya, yb), shift = (place.y[i] for i in ends), (abs(bulge) - 1) * 2 * place.style.line
    points = [(xa, ya), (xa + across, ya + deep), (xb + across, yb + deep), (xb, yb)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4]
    style: dict[str, Any] = {"edgecolor": color, "linestyle": dash, "linewidth": 1.2 if place.named else 0.7}
    axes.add_patch(PathPatch(Path(points, codes), fill=False, zorder=2.5, **style))
    low = (ya + yb) / 2 + 0.75 * deep + shift  # the middle of the curve
    if place.named:
        text = shortened(text, 36)
        x, y = _clear_of_boxes(place, text, points)
        _write(axes, x, y + shift, text, 0.88 * place.style.text, color, zorder=5, ground=True)
    return [low - 1.5 * place.style.line, low + 1.5 * place.style.line]


def _clear_of_boxes(place: Layout, text: str, points: list[tuple[float, float]]) -> tuple[float, float]:
    """A point of a cubic curve, near its middle, at which a text does not lie on a box; the middle if there is none."""
    wide, high = 0.44 * place.style.letter * len(text) + place.box / 2, 0.5 * place.style.line
    spots = []
    for t in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74, 0.18, 0.82):
        weights = ((1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t * t, t**3)
        x, y = (sum(w * p[axis] for w, p in zip(weights, points, strict=True)) for axis in (0, 1))
        spots.append((x, y))
        across = (i for i in place.drawn if abs(x - place.x[i] - place.box / 2) < wide)
        if not any(abs(y - place.y[i]) < high + place.tall(i) / 2 for i in across):
            return x, y
    return spots[0]


def _draw_words(axes: Axes, system: System, place: Layout) -> None:
    """In a large model, what the colours mean, and how much is left out."""
    if place.named:
        return
    x = 0.15
    kinds = dict.fromkeys(system.topology.edges[i - 1].joint.kind for i in place.drawn[1:])
    for kind in kinds:
        axes.plot([x, x + 0.25], [0.2, 0.2], color=KIND_COLORS[kind], linewidth=1.5)
        _write(axes, x + 0.3, 0.2, kind, NAMED.text, ha="left")
        x += 0.45 + NAMED.letter * len(kind)
    if len(place.drawn) < system.nb:
        text = f"{len(place.drawn) - 1} of {system.nb - 1} bodies"
        _write(axes, x + 0.2, 0.2, text, NAMED.text, PALE, ha="left")


def _write(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    size: float,
    color: str = INK,
    *,
    ha: Any = "center",
    zorder: float = 4,
    ground: bool = False,
) -> None:
    behind: Any = {"facecolor": "white", "edgecolor": "none", "pad": 0.5} if ground else None
    axes.text(x, y, text, fontsize=size, color=color, ha=ha, va="center", zorder=zorder, bbox=behind)
