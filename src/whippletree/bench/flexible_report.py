"""What was found about flexible bodies: a line for each size; figure 2 of the paper with times, growth, and motions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .flexible import COMPOSITE, DENSE, growth
from .picture import picture, plain
from .result import OURS, BenchResult, Row

HEAD = ["what", "bodies x modes", "articulated", "composite", "LAPACK", "exudyn", "ratio", "counted", "error"]
WHAT = {"modes": "forward dynamics"}  # other questions are called as they are

# Okabe and Ito's colours; ours are warm
STYLES = {
    OURS: ("#D55E00", "o", "articulated"),
    COMPOSITE: ("#E69F00", "s", "composite"),
    DENSE: ("#8C6D1F", "D", "composite, LAPACK"),
    "exudyn": ("#CC79A7", "v", "exudyn"),
}


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    return HEAD, [_cells(row, digits) for row in result.rows]


def _cells(row: Row, digits: Any) -> list[str]:
    times = [digits(row.seconds[e] * 1e6) if e in row.seconds else "-" for e in (OURS, COMPOSITE, DENSE, "exudyn")]
    ratio = row.ratio(COMPOSITE) or row.ratio("exudyn")
    counted = row.operations[COMPOSITE] / row.operations[OURS] if COMPOSITE in row.operations else None
    worst = row.worst_difference()
    shown = ["-" if x is None else f"{x:.2f}x" for x in (ratio, counted)]
    return [WHAT.get(row.question, row.question), row.label, *times, *shown, "-" if worst is None else f"{worst:.0e}"]


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """Figure 2 with theory and measurement, growth, and time for accuracy; writes ``path`` as .svg and as .png."""
    from matplotlib.ticker import NullFormatter

    moved = [r for r in result.rows if r.question == "motion"]
    with picture(path, (12.4 if moved else 8.6, 4.2)) as (figure, files):
        panels = figure.subplots(1, 3 if moved else 2)
        for panel in panels:
            panel.set(xscale="log", yscale="log")
        _figure_2(panels[0], result)
        _growth(panels[1], result)
        if moved:
            _motion(panels[2], moved)
        for panel in panels:
            panel.yaxis.set_minor_formatter(NullFormatter())
            plain(panel)
            panel.legend(frameon=False, fontsize=8)
    return files


def _figure_2(panel: Any, result: BenchResult) -> None:
    """Times, and the paper's operations at the rate at which articulated did them at the largest size."""
    rows = [r for r in result.rows if r.question == "modes"]
    first = rows[0].bodies
    rows = sorted((r for r in rows if r.bodies == first), key=lambda r: r.modes)
    modes = [r.modes for r in rows]
    for engine in (OURS, COMPOSITE, DENSE):
        colour, marker, name = STYLES[engine]
        panel.plot(
            modes, [r.seconds[engine] * 1e6 for r in rows], color=colour, marker=marker, markersize=3.5, label=name
        )
    rate = sum(r.operations[OURS] for r in rows) / sum(r.seconds[OURS] for r in rows)
    for engine in (OURS, COMPOSITE):
        counted = [r.operations[engine] / rate * 1e6 for r in rows]
        name = f"{STYLES[engine][2]}, counted"
        panel.plot(modes, counted, color=STYLES[engine][0], linestyle="--", linewidth=1.1, label=name)
    panel.set(xlabel="modes of each body", ylabel="time per state (µs)")
    _ticks(panel, [m for m in (1, 2, 5, 10, 20, 50, 100) if m <= modes[-1]])
    panel.set_title(f"{first} bodies (counts at {rate / 1e9:.2g} Gflop/s)", loc="left")


def _growth(panel: Any, result: BenchResult) -> None:
    colours = {"growth with modes": ("#0072B2", "^", "modes"), "growth with bodies": ("#D55E00", "o", "bodies")}
    for question, (colour, marker, along) in colours.items():
        rows = [r for r in result.rows if r.question == question]
        found = growth(result, question)
        if not found:
            continue
        x = [r.modes if along == "modes" else r.bodies for r in rows]
        held = f"{rows[0].bodies} bodies" if along == "modes" else f"{rows[0].modes} modes"
        label = f"{along}, with {held}: slope {found[2]:.2f}"
        panel.plot(x, [r.seconds[OURS] * 1e6 for r in rows], color=colour, marker=marker, markersize=4.5, label=label)
    panel.set(xlabel="modes or bodies", ylabel="time per state (µs)")
    _ticks(panel, [8, 16, 32, 64, 128, 256])
    panel.set_title("articulated: growth", loc="left")


def _motion(panel: Any, rows: list[Row]) -> None:
    for count, line in zip(sorted({r.bodies for r in rows}), ("--", "-", ":", "-."), strict=False):
        for engine in (OURS, "exudyn"):
            colour, marker, name = STYLES[engine]
            name = f"{OURS if engine == OURS else name}, {count} bod{'y' if count == 1 else 'ies'}"
            found = sorted((r.differences[engine], r.seconds[engine]) for r in rows if r.bodies == count)
            style = {"color": colour, "marker": marker, "markersize": 4.5, "linestyle": line}
            panel.plot(*zip(*found, strict=True), label=name, **style)
    panel.invert_xaxis()
    panel.set(xlabel="error of tips at the end (m)", ylabel="wall time of the motion (s)")
    panel.set_title(f"motion, {rows[0].modes} modes: time for accuracy", loc="left")


def _ticks(panel: Any, ticks: list[int]) -> None:
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    panel.xaxis.set_major_locator(FixedLocator(ticks))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    panel.xaxis.set_minor_locator(NullLocator())
