"""What was found about a chain on several ranks: a line for each size and number of ranks, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .picture import picture, plain
from .result import OURS, BenchResult, Row

HEAD = ["bodies", "ranks", "microseconds", "one rank", "times as fast", "difference", "messages", "numbers"]
COLOURS = ("#0072B2", "#D55E00", "#009E73")


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    found = []
    for r in result.rows:
        for way in (w for w in r.seconds if w != OURS):
            alone = r.seconds.get(OURS)
            found.append(
                [
                    r.label,
                    way,
                    digits(r.seconds[way] * 1e6),
                    "-" if alone is None else digits(alone * 1e6),
                    "-" if alone is None else f"{alone / r.seconds[way]:.2f}x",
                    f"{r.differences[way]:.0e}" if way in r.differences else "-",
                    *(_counted(r, what) for what in ("messages", "numbers")),
                ]
            )
    return HEAD, found


def _counted(row: Row, what: str) -> str:
    """In all steps of an evaluation; in brackets the paper's."""
    ours, paper = (sum(n for k, n in row.operations.items() if k.endswith(end)) for end in (what, f"{what}, table 3"))
    return f"{ours:g} ({paper:g})" if row.operations else "-"


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """How many times as fast as one rank, against bodies; writes ``path`` as .svg and as .png."""
    rows = [r for r in result.rows if r.question == "forward" and r.threads > 1]
    with picture(path, (5.2, 3.8)) as (figure, files):
        panel = figure.subplots()
        for ranks, colour in zip(sorted({r.threads for r in rows}), COLOURS, strict=False):
            way = f"{ranks} ranks"
            some = sorted((r.bodies, r.seconds[OURS] / r.seconds[way]) for r in rows if r.threads == ranks)
            panel.plot(*zip(*some, strict=True), label=way, color=colour, marker="o", markersize=4.5)
        panel.axhline(1.0, color="#888888", linewidth=0.8)
        panel.set(xscale="log", xlabel="bodies of the chain", ylabel="times as fast as one rank")
        panel.legend(frameon=False)
        plain(panel)
    return files
