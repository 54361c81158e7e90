"""What was found about a chain in subchains: a line for each way, size and number of pieces, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .picture import legend, picture, plain
from .result import OURS, BenchResult, Row

HEAD = ["bodies", "way", "subchains", "microseconds", "times as fast", "iterations cold", "warm", "error"]
COLOURS = ("#0072B2", "#009E73", "#D55E00", "#CC79A7", "#E69F00", "#56B4E9")


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    found = []
    for r in result.rows:
        if r.question == "run":
            counts = f"mean {r.operations['mean']:.1f}", f"most {r.operations['most']:.0f}"
            residual = f"{r.differences['residual']:.0e}"
            found.append([r.label, "run, residual", str(r.pieces), "-", "-", *counts, residual])
            continue
        for way, seconds in r.seconds.items():
            whole, error = _articulated(result, r), r.differences.get(way)
            iterations = [f"{r.operations[k]:.0f}" if way == "pcg" else "-" for k in ("cold", "warm") if way == "pcg"]
            found.append(
                [
                    r.label,
                    f"{OURS} articulated" if way == OURS else way,
                    "-" if r.pieces == 1 else str(r.pieces),
                    digits(seconds * 1e6),
                    f"{whole / seconds:.2f}x",
                    *(iterations or ["-", "-"]),
                    "-" if error is None else f"{error:.0e}",
                ]
            )
    return HEAD, found


def _articulated(result: BenchResult, row: Row) -> float:
    return next(r.seconds[OURS] for r in result.rows if r.bodies == row.bodies and OURS in r.seconds)


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """How many times as fast, and iterations, against the number of subchains; writes ``path`` as .svg and as .png."""
    rows = [r for r in result.rows if r.question == "forward" and r.pieces > 1]
    sizes = sorted({r.bodies for r in rows})
    with picture(path, (8.6, 4.0)) as (figure, files):
        speed, iterations = figure.subplots(1, 2)
        for size, colour in zip(sizes, COLOURS * len(sizes), strict=False):
            mine = [r for r in rows if r.bodies == size]
            pieces = [r.pieces for r in mine]
            for way, line in (("thomas", "-"), ("pcg", "--")):
                times = [_articulated(result, r) / r.seconds[way] for r in mine]
                label = f"{size} bodies" if line == "-" else None
                speed.plot(pieces, times, line, color=colour, marker="o", markersize=4, label=label)
            for kind, line in (("warm", "-"), ("cold", ":")):
                iterations.plot(
                    pieces, [r.operations[kind] for r in mine], line, color=colour, marker="o", markersize=4
                )
        speed.axhline(1.0, color="#888888", linewidth=0.8)
        speed.set(ylabel="times as fast as the articulated sweep", ylim=(0, None))
        speed.set_title("by elimination, and (dashed) by iteration", loc="left")
        iterations.set(ylabel="iterations to a residual of 1e-10", yscale="symlog")
        iterations.set_title("from the last loads, and (dotted) from none", loc="left")
        for panel in (speed, iterations):
            panel.set(xscale="log", xlabel="subchains")
            panel.set_xticks(sorted({r.pieces for r in rows}), [str(p) for p in sorted({r.pieces for r in rows})])
            panel.set_xticks([], minor=True)
            plain(panel)
        legend(figure, [speed], 6)
    return files
