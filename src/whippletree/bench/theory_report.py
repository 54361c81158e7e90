"""The papers' curves as a table and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .picture import picture, plain
from .result import BenchResult, Row
from .theory import FEW

STYLES = {
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


def cells(result: BenchResult, digits: Callable[[float], str]) -> tuple[list[str], list[list[str]]]:
    """Operations against processors; shares and growth are in the picture and in the file. Whole numbers, in full."""
    rows = [r for r in result.rows if r.question == "processors"]
    names = list(rows[0].operations) if rows else []
    return ["bodies", "processors", *names], [
        [str(r.bodies), str(r.threads), *(f"{r.operations[n]:,.0f}" for n in names)] for r in rows
    ]


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """Four panels: all processors, few processors, the terminal share, and growth; writes .svg and .png."""
    longest = max(r.bodies for r in result.rows if r.question == "processors")
    chain = [r for r in result.rows if r.question == "processors" and r.bodies == longest]
    shortest = min(r.bodies for r in result.rows if r.question == "processors")
    small = [r for r in result.rows if r.question == "processors" and r.bodies == shortest and r.threads in FEW]
    with picture(path, (9.6, 7.2)) as (figure, files):
        panels = figure.subplots(2, 2).ravel()
        curves(panels[0], [r for r in chain if r.threads & (r.threads - 1) == 0])
        panels[0].set(xscale="log", yscale="log", xlabel="processors", ylabel="operations in turn")
        panels[0].set_title(f"a chain of {longest} (figures 3 and 5)", loc="left")
        curves(panels[1], sorted(small, key=lambda r: r.threads))
        panels[1].set(xlabel="processors", ylabel="operations in turn", yscale="log")
        panels[1].set_title(f"few processors, {shortest} bodies (figures 4, 6, 8)", loc="left")
        shares(panels[2], [r for r in result.rows if r.question == "share"])
        growth(panels[3], [r for r in result.rows if r.question == "bodies"])
        for panel in panels:
            plain(panel)
            panel.legend(frameon=False, fontsize=7)
    return files


def curves(panel: Any, rows: list[Row], names: Iterable[str] = tuple(STYLES)) -> None:
    """Formulas as lines, schedules as dots."""
    x = [r.threads for r in rows]
    for name, (colour, style) in STYLES.items():
        if rows and name in rows[0].operations and name in names:
            panel.plot(x, [r.operations[name] for r in rows], style, color=colour, label=name, linewidth=1.2)
            dots = [r.operations[f"{name} simulated"] for r in rows if f"{name} simulated" in r.operations]
            panel.plot(x[: len(dots)], dots, "o", color=colour, markersize=3.5)


def shares(panel: Any, rows: list[Row]) -> None:
    """Schedules of DCAe by the terminal share."""
    for p, style in ((2, "-"), (4, "--")):
        for n, colour in zip((128, 256, 1024), ("#E69F00", "#009E73", "#0072B2"), strict=True):
            some = [r for r in rows if (r.bodies, r.threads) == (n, p)]
            share = [float(r.label.rpartition(" ")[2].removesuffix("%")) for r in some]
            times = [r.operations["DCAe simulated"] / n for r in some]
            panel.plot(share, times, style, color=colour, label=f"{n} bodies, {p} processors", linewidth=1.2)
    panel.set(xlabel="share of the terminal subsystem (%)", ylabel="operations in turn, a body")
    panel.set_title("load balancing (figure 7)", loc="left")


def growth(panel: Any, rows: list[Row]) -> None:
    """All approaches against the number of bodies."""
    for name, (colour, style) in STYLES.items():
        known = [(r.bodies, r.operations[name]) for r in rows if name in r.operations]
        if known:
            panel.plot(*zip(*known, strict=True), style, color=colour, label=name, linewidth=1.2)
    panel.set(xscale="log", yscale="log", xlabel="bodies", ylabel="operations in turn")
    panel.set_ylim(1e3, 1e9)
    panel.set_title("growth (figure 6 of 1999)", loc="left")
