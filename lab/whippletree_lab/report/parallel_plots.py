"""Pictures of benches of parallel algorithms: chains that are divided, cut or on ranks, and the papers' counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..bench.result import OURS, BenchResult, Row
from ..bench.theory import FEW
from .picture import legend, plain, ticks
from .tables import whole_chains

ONE: dict[str, Any] = {"color": "#888888", "linewidth": 0.8}  # the line where both are as fast
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9")
WAYS = {
    "lanes": ("#0072B2", "s"),
    "2 threads": ("#009E73", "^"),
    "lanes, 2 threads": ("#D55E00", "o"),
    "dcat": ("#E69F00", "v"),
    "dca": ("#CC79A7", "v"),
    "dca in lanes": ("#CC79A7", "^"),
}
THEORY_STYLES = {
    "O(n)": ("#000000", "-"),
    "DCA": ("#CC79A7", "-"),
    "DCAt": ("#E69F00", "-"),
    "DCAe": ("#0072B2", "-"),
    "hybrid": ("#009E73", "-"),
    "hybrid with messages": ("#009E73", ":"),
    "O(n^3)": ("#CC79A7", "--"),
    "O(n^1.12)": ("#E69F00", "--"),
    "O(log n), n processors": ("#0072B2", "--"),
    "hybrid, 4 processors": ("#009E73", ":"),
    "hybrid, 16 processors": ("#009E73", "-."),
    "hybrid, 64 processors": ("#009E73", "--"),
}


def plot_divided(figure: Any, result: BenchResult) -> None:
    """How many times as fast, against bodies and terminal share."""
    figure.set_size_inches(8.6, 4.0)
    sizes, shares = figure.subplots(1, 2)
    for way, (colour, marker) in WAYS.items():
        known = [r for r in result.asked("forward") if way in r.seconds]
        points = [(r.bodies, r.seconds[OURS] / r.seconds[way]) for r in known]
        sizes.plot(*zip(*points, strict=True), label=way, color=colour, marker=marker, markersize=4.5)
    sizes.set(xscale="log", yscale="log", xlabel="bodies of the chain")
    sizes.set_yticks([0.1, 0.2, 0.5, 1, 2, 3], ["0.1", "0.2", "0.5", "1", "2", "3"])
    sizes.set_yticks([], minor=True)
    sizes.set_title("ways to divide", loc="left")
    for r in result.asked("share"):
        ways = [way for way in r.seconds if way != OURS]
        share = [float(way.removeprefix("terminal ").removesuffix("%")) for way in ways]
        colour, marker = WAYS["2 threads"]
        times = [r.seconds[OURS] / r.seconds[way] for way in ways]
        shares.plot(share, times, color=colour, marker=marker, markersize=4.5)
        shares.set_title(f"{r.bodies} bodies, 2 threads without lanes", loc="left")
    shares.set_xlabel("share of the terminal subchain (%)")
    for panel in (sizes, shares):
        panel.axhline(1.0, **ONE)
        plain(panel, ylabel="times as fast as the articulated recursion")
    legend(figure, [sizes], 6)


def plot_subchains(figure: Any, result: BenchResult) -> None:
    """How many times as fast, and iterations, against the number of subchains."""
    rows, whole = [r for r in result.asked("forward") if r.pieces > 1], whole_chains(result)
    sizes = sorted({r.bodies for r in rows})
    figure.set_size_inches(8.6, 4.0)
    speed, iterations = figure.subplots(1, 2)
    for size, colour in zip(sizes, COLOURS * len(sizes), strict=False):
        mine = [r for r in rows if r.bodies == size]
        pieces = [r.pieces for r in mine]
        for way, line in (("thomas", "-"), ("pcg", "--")):
            label = f"{size} bodies" if line == "-" else None
            times = [whole[size] / r.seconds[way] for r in mine]
            speed.plot(pieces, times, line, color=colour, marker="o", markersize=4, label=label)
        for kind, line in (("warm", "-"), ("cold", ":")):
            counts = [r.operations[kind] for r in mine]
            iterations.plot(pieces, counts, line, color=colour, marker="o", markersize=4)
    speed.axhline(1.0, **ONE)
    words = "times as fast as the articulated recursion", "iterations to a residual of 1e-10"
    plain(speed, "by elimination, and (dashed) by iteration", ylabel=words[0], ylim=(0, None))
    plain(iterations, "from the last loads, and (dotted) from none", ylabel=words[1], yscale="symlog")
    for panel in (speed, iterations):
        panel.set(xscale="log", xlabel="subchains")
        ticks(panel, {r.pieces for r in rows})
    legend(figure, [speed], 6)


def plot_ranks(figure: Any, result: BenchResult) -> None:
    """How many times as fast as one rank, against bodies."""
    rows = [r for r in result.asked("forward") if r.threads > 1]
    figure.set_size_inches(5.2, 3.8)
    panel = figure.subplots()
    for ranks, colour in zip(sorted({r.threads for r in rows}), ("#0072B2", "#D55E00", "#009E73"), strict=False):
        way = f"{ranks} ranks"
        points = sorted((r.bodies, r.seconds[OURS] / r.seconds[way]) for r in rows if r.threads == ranks)
        panel.plot(*zip(*points, strict=True), label=way, color=colour, marker="o", markersize=4.5)
    panel.axhline(1.0, **ONE)
    plain(panel, key=9, xscale="log", xlabel="bodies of the chain", ylabel="times as fast as one rank")


def plot_theory(figure: Any, result: BenchResult) -> None:
    """Four panels: all processors, few processors, the terminal share, and growth."""
    rows = result.asked("processors")
    shortest, longest = min(r.bodies for r in rows), max(r.bodies for r in rows)
    chain = [r for r in rows if r.bodies == longest and r.threads & (r.threads - 1) == 0]
    small = [r for r in rows if r.bodies == shortest and r.threads in FEW]
    figure.set_size_inches(9.6, 7.2)
    panels = figure.subplots(2, 2).ravel()
    curves(panels[0], chain)
    curves(panels[1], sorted(small, key=lambda r: r.threads))
    for panel in panels[:2]:
        panel.set(yscale="log", xlabel="processors", ylabel="operations in turn")
    plain(panels[0], f"a chain of {longest} (figures 3 and 5)", 7, xscale="log")
    plain(panels[1], f"few processors, {shortest} bodies (figures 4, 6, 8)", 7)
    shares(panels[2], result.asked("share"), 7)
    growth(panels[3], result.asked("bodies"), 7)


def curves(panel: Any, rows: list[Row], names: Iterable[str] = tuple(THEORY_STYLES)) -> None:
    """Formulas as lines, schedules as dots."""
    x = [r.threads for r in rows]
    for name, (colour, style) in THEORY_STYLES.items():
        if rows and name in rows[0].operations and name in names:
            panel.plot(x, [r.operations[name] for r in rows], style, color=colour, label=name, linewidth=1.2)
            dots = [r.operations[f"{name} simulated"] for r in rows if f"{name} simulated" in r.operations]
            panel.plot(x[: len(dots)], dots, "o", color=colour, markersize=3.5)


def shares(panel: Any, rows: list[Row], key: float = 8) -> None:
    """Schedules of DCAe by the terminal share."""
    for p, style in ((2, "-"), (4, "--")):
        for n, colour in zip((128, 256, 1024), ("#E69F00", "#009E73", "#0072B2"), strict=True):
            some = [r for r in rows if (r.bodies, r.threads) == (n, p)]
            share = [float(r.label.rpartition(" ")[2].removesuffix("%")) for r in some]
            times = [r.operations["DCAe simulated"] / n for r in some]
            panel.plot(share, times, style, color=colour, label=f"{n} bodies, {p} processors", linewidth=1.2)
    axes = {"xlabel": "share of the terminal subsystem (%)", "ylabel": "operations in turn, a body"}
    plain(panel, "load balancing (figure 7)", key, **axes)


def growth(panel: Any, rows: list[Row], key: float) -> None:
    """All approaches against the number of bodies."""
    for name, (colour, style) in THEORY_STYLES.items():
        known = [(r.bodies, r.operations[name]) for r in rows if name in r.operations]
        panel.plot(*zip(*known, strict=True), linestyle=style, color=colour, label=name, linewidth=1.2)
    axes = {"xlabel": "bodies", "ylabel": "operations in turn", "ylim": (1e3, 1e9)}
    plain(panel, "growth (figure 6 of 1999)", key, xscale="log", yscale="log", **axes)
