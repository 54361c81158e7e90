"""Pictures of benches: what the panels of each family show. Those of parallel algorithms are in parallel_plots.py."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..bench.choice import AUTO
from ..bench.flexible import COMPOSITE, DENSE
from ..bench.flexible import growth as flexible_growth
from ..bench.loop_families import LOOPS
from ..bench.loops import SLOPE_FROM
from ..bench.loops import growth as loop_growth
from ..bench.result import OURS, BenchResult, Row
from .parallel_plots import plot_divided, plot_ranks, plot_subchains, plot_theory
from .picture import Files, legend, picture, plain, ticks
from .tables import LOOP_NAMES, QUESTIONS, per

# Okabe and Ito's colours, told apart by all; ours are warm, and one of them is the strongest
STYLES = {
    OURS: ("#D55E00", "o", "-"),
    f"{OURS} lanes": ("#D55E00", "o", ":"),
    f"{OURS} multipliers": ("#E69F00", "s", "-"),
    f"{OURS} nullspace": ("#E69F00", "D", "--"),
    COMPOSITE: ("#E69F00", "s", "-"),
    DENSE: ("#8C6D1F", "D", "-"),
    "pinocchio local": ("#0072B2", "s", "-"),
    "pinocchio world": ("#56B4E9", "D", "-"),
    "pinocchio loop": ("#0072B2", "s", "-"),
    "pinocchio parallel": ("#56B4E9", "D", "-"),
    "pinocchio RK45": ("#0072B2", "s", "-"),
    "pinocchio DOP853": ("#56B4E9", "D", "-"),
    "pinocchio lcaba, deep tree": ("#0072B2", "s", "-"),
    "pinocchio lcaba": ("#0072B2", "s", ":"),
    "pinocchio constraintDynamics": ("#56B4E9", "D", "-"),
    "mujoco": ("#009E73", "^", "-"),
    "drake": ("#CC79A7", "v", "-"),
    "exudyn": ("#CC79A7", "v", "-"),
}
CHOICES = ("chain", "tree", "ladder", "flexible chain")  # families that are drawn
CHOICE_COLOURS = {
    "articulated": "#D55E00", "divide": "#0072B2", "reduction": "#009E73", "multipliers": "#CC79A7",
    "composite": "#E69F00", "nullspace": "#56B4E9",
}  # fmt: skip


def plot(result: BenchResult, path: str | Path) -> Files:
    """Draw a result as its family is drawn; writes ``path`` as .svg and as .png."""
    with picture(path) as (figure, files):
        PLOTS.get(result.family, _questions)(figure, result)
    return files


def _style(engine: str, **more: Any) -> dict[str, Any]:
    colour, marker, line = STYLES.get(engine, ("#000000", "x", "-"))
    return {"color": colour, "marker": marker, "linestyle": line, "markersize": 4.5} | more


def _questions(figure: Any, result: BenchResult) -> None:
    """Cost against size, log-log, one panel for each question."""
    questions = [q for q in QUESTIONS if result.asked(q)]
    figure.set_size_inches(1.0 + 3.6 * len(questions), 3.8)
    panels = figure.subplots(1, len(questions), squeeze=False)[0]
    for panel, question in zip(panels, questions, strict=True):
        _question(panel, result, question)
    panels[0].set_ylabel(f"time per {per(result)} (µs)")
    legend(figure, panels, 5)


def _question(panel: Any, result: BenchResult, question: str) -> None:
    rows = result.asked(question)
    for engine in result.engines():
        for threads in sorted({r.threads for r in rows}):
            some = [r for r in rows if r.threads == threads and engine in r.seconds]
            points = sorted((r.dofs, r.seconds[engine] * 1e6) for r in some)
            label = engine if threads == 1 else f"{engine}, {threads} threads"
            style = {"linestyle": "-" if threads == 1 else "--", "linewidth": 2.2 if engine == OURS else 1.3}
            panel.plot(*zip(*points, strict=True), label=label, **_style(engine, **style))
    panel.set(xscale="log", yscale="log", xlabel="dofs")
    sizes = {r.dofs for r in rows}
    ticks(panel, sizes, lambda n: str(n) if n < 10000 else f"{n:.0e}".replace("e+0", "e"), rotation=45)
    plain(panel, QUESTIONS[question])


def _choices(figure: Any, result: BenchResult) -> None:
    """Measured times over bodies, predictions as lines, a ring around what auto takes."""
    families = [f for f in CHOICES if result.asked(f)]
    figure.set_size_inches(1.0 + 2.8 * len(families), 3.6)
    panels = figure.subplots(1, len(families), squeeze=False)[0]
    for panel, family in zip(panels, families, strict=True):
        _choice(panel, result.asked(family))
        plain(panel, family, xscale="log", yscale="log", xlabel="bodies")
    panels[0].set_ylabel("time of one state (µs)\ndots measured, lines predicted")
    legend(figure, panels, 7)


def _choice(panel: Any, rows: list[Row]) -> None:
    rows = [r for r in rows if r.label.endswith(rows[0].label.rpartition(" x ")[2]) or " x " not in r.label]
    for name, colour in CHOICE_COLOURS.items():
        known = [r for r in rows if name in r.seconds]
        points = [(r.bodies, r.seconds[name] * 1e6) for r in known]
        panel.plot(*zip(*points, strict=True), color=colour, marker="o", linestyle="none", markersize=4, label=name)
        points = [(r.bodies, r.predicted[name] * 1e6) for r in known if name in r.predicted]
        panel.plot(*zip(*points, strict=True), color=colour, linewidth=1.0)
    ring = {"markerfacecolor": "none", "markeredgecolor": "black", "markersize": 8, "linestyle": "none"}
    taken = [r.seconds[r.taken] * 1e6 for r in rows]
    panel.plot([r.bodies for r in rows], taken, "o", label=f"taken by {AUTO}", **ring)


def _loops(figure: Any, result: BenchResult) -> None:
    """Time and error against the number of loops, log-log, with fitted slopes."""
    figure.set_size_inches(8.6, 4.6)
    time, error = figure.subplots(1, 2)
    for engine in result.engines():
        timed = [r for r in result.rows if engine in r.seconds]
        fitted = loop_growth(result, engine, SLOPE_FROM) or loop_growth(result, engine, 1)
        label = LOOP_NAMES.get(engine, engine) + (f": slope {fitted[2]:.2f}" if fitted else "")
        times = [r.seconds[engine] * 1e6 for r in timed]
        time.plot([r.loops for r in timed], times, label=label, **_style(engine))
        known = [(r.loops, r.differences[engine]) for r in timed if r.differences.get(engine, 0.0) > 0.0]
        error.plot(*zip(*known, strict=True), **_style(engine))
    axes: dict[str, Any] = {"xscale": "log", "yscale": "log", "xlabel": "loops"}
    plain(time, f"{result.family}: forward dynamics", ylabel="time per state (µs)", **axes)
    plain(error, "error of accelerations", ylabel="error, relative", **axes)
    legend(figure, [time], 3)


def _flexible(figure: Any, result: BenchResult) -> None:
    """Figure 2 of the paper with theory and measurement, growth, and time for accuracy."""
    from matplotlib.ticker import NullFormatter

    moved = result.asked("motion")
    figure.set_size_inches(12.4 if moved else 8.6, 4.2)
    panels = figure.subplots(1, 3 if moved else 2)
    for panel in panels:
        panel.set(xscale="log", yscale="log")
        panel.yaxis.set_minor_formatter(NullFormatter())
    _figure_2(panels[0], result)
    _growth(panels[1], result)
    if moved:
        _motion(panels[2], moved)


def _figure_2(panel: Any, result: BenchResult) -> None:
    """Times, and the paper's operations at the rate at which articulated did them at the largest size."""
    rows = result.asked("modes")
    rows = sorted((r for r in rows if r.bodies == rows[0].bodies), key=lambda r: r.modes)
    modes = [r.modes for r in rows]
    for engine, name in ((OURS, "articulated"), (COMPOSITE, "composite"), (DENSE, "composite, LAPACK")):
        panel.plot(modes, [r.seconds[engine] * 1e6 for r in rows], label=name, **_style(engine, markersize=3.5))
    rate = sum(r.operations[OURS] for r in rows) / sum(r.seconds[OURS] for r in rows)
    for engine, name in ((OURS, "articulated, counted"), (COMPOSITE, "composite, counted")):
        counted = [r.operations[engine] / rate * 1e6 for r in rows]
        panel.plot(modes, counted, color=STYLES[engine][0], linestyle="--", linewidth=1.1, label=name)
    ticks(panel, [m for m in (1, 2, 5, 10, 20, 50, 100) if m <= modes[-1]])
    title = f"{rows[0].bodies} bodies (counts at {rate / 1e9:.2g} Gflop/s)"
    plain(panel, title, 8, xlabel="modes of each body", ylabel="time per state (µs)")


def _growth(panel: Any, result: BenchResult) -> None:
    for along, colour, marker in (("modes", "#0072B2", "^"), ("bodies", "#D55E00", "o")):
        rows, found = result.asked(f"growth with {along}"), flexible_growth(result, f"growth with {along}")
        if found:
            held = f"{rows[0].bodies} bodies" if along == "modes" else f"{rows[0].modes} modes"
            style = {"color": colour, "marker": marker, "markersize": 4.5}
            label = f"{along}, with {held}: slope {found[2]:.2f}"
            panel.plot([getattr(r, along) for r in rows], [r.seconds[OURS] * 1e6 for r in rows], label=label, **style)
    ticks(panel, [8, 16, 32, 64, 128, 256])
    plain(panel, "articulated: growth", 8, xlabel="modes or bodies", ylabel="time per state (µs)")


def _motion(panel: Any, rows: list[Row]) -> None:
    for count, line in zip(sorted({r.bodies for r in rows}), ("--", "-", ":", "-."), strict=False):
        for engine in (OURS, "exudyn"):
            found = sorted((r.differences[engine], r.seconds[engine]) for r in rows if r.bodies == count)
            name = f"{engine}, {count} bod{'y' if count == 1 else 'ies'}"
            panel.plot(*zip(*found, strict=True), label=name, **_style(engine, linestyle=line))
    panel.invert_xaxis()
    axes = {"xlabel": "error of tips at the end (m)", "ylabel": "wall time of the motion (s)"}
    plain(panel, f"motion, {rows[0].modes} modes: time for accuracy", 8, **axes)


def _bars(figure: Any, height: float, names: list[str], lengths: list[float], **axes: Any) -> None:
    figure.set_size_inches(5.2, height)
    panel = figure.subplots()
    panel.barh(names, lengths, color="#D55E00")
    plain(panel, **axes)


def _live(figure: Any, result: BenchResult) -> None:
    """How long paced steps took."""
    counts: dict[str, int] = next((run["histogram"] for run in (result.paced or {}).values()), {})
    _bars(figure, 3.4, list(counts), [max(n, 0) for n in counts.values()], xscale="log", xlabel="steps")


def _moments(figure: Any, result: BenchResult) -> None:
    """The moments one after another."""
    rows = result.rows[::-1]
    names, moments = [f"{r.question}, {r.label}" for r in rows], [r.seconds[OURS] for r in rows]
    _bars(figure, 2.6, names, moments, xlabel="seconds from the start of the command")


PLOTS: dict[str, Callable[[Any, BenchResult], None]] = {
    **dict.fromkeys(LOOPS, _loops),
    "divide": plot_divided,
    "subchains": plot_subchains,
    "mpi": plot_ranks,
    "flexible": _flexible,
    "choose": _choices,
    "theory": plot_theory,
    "live": _live,
    "view": _moments,
}
