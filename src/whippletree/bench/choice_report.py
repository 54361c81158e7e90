"""What was found about choices: a line for each case, and a picture of times against size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .choice import AUTO, ratio
from .picture import legend, picture, plain
from .result import BenchResult

SHOWN = ("chain", "tree", "ladder", "flexible chain")
COLOURS = {
    "articulated": "#D55E00", "divide": "#0072B2", "reduction": "#009E73", "multipliers": "#CC79A7",
    "composite": "#E69F00", "nullspace": "#56B4E9",
}  # fmt: skip


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    names = list(dict.fromkeys(name for r in result.rows for name in r.seconds if name != AUTO))
    head = ["what", "model", "auto takes", "of the best", *names]
    rows = []
    for r in result.rows:
        times = [digits(r.seconds[n] * 1e6) if n in r.seconds else "-" for n in names]
        rows.append([r.question, r.label, r.taken, f"{ratio(r):.2f}x", *times])
    return head, rows


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """Measured times over bodies, predictions as lines, a ring around what auto takes; writes .svg and .png."""
    families = [f for f in SHOWN if any(r.question == f for r in result.rows)]
    with picture(path, (1.0 + 2.8 * len(families), 3.6)) as (figure, files):
        panels = figure.subplots(1, len(families), squeeze=False)[0]
        for panel, family in zip(panels, families, strict=True):
            _panel(panel, [r for r in result.rows if r.question == family])
            panel.set_title(family, loc="left")
        panels[0].set_ylabel("time of one state (µs)\ndots measured, lines predicted")
        legend(figure, panels, 7)
    return files


def _panel(panel: Any, rows: list[Any]) -> None:
    rows = [r for r in rows if r.label.endswith(rows[0].label.rpartition(" x ")[2]) or " x " not in r.label]
    for name, colour in COLOURS.items():
        known = [(r.bodies, r.seconds[name] * 1e6) for r in rows if name in r.seconds]
        if known:
            panel.plot(*zip(*known, strict=True), "o", color=colour, markersize=4, label=name)
            line = [(r.bodies, r.predicted[name] * 1e6) for r in rows if name in r.seconds and name in r.predicted]
            panel.plot(*zip(*line, strict=True), color=colour, linewidth=1.0)
    taken = [(r.bodies, r.seconds[r.taken] * 1e6) for r in rows]
    ring = {"markerfacecolor": "none", "markeredgecolor": "black", "markersize": 8, "linestyle": "none"}
    panel.plot(*zip(*taken, strict=True), "o", label=f"taken by {AUTO}", **ring)
    panel.set(xscale="log", yscale="log", xlabel="bodies")
    plain(panel)
