"""What was found about the first picture: when each thing was there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .picture import picture, plain
from .result import OURS, BenchResult

HEAD = ["moment", "file", "seconds", "what"]
WHAT = {
    "listens": "the server takes connections",
    "page": "the browser has its first bytes",
    "canvas": "the page has something to draw with",
    "drawn": "the mechanism is handed to the graphics",
    "seen": "its colours are in the picture",
}


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    return HEAD, [[r.question, r.label, digits(r.seconds[OURS]), WHAT[r.question]] for r in result.rows]


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """The moments one after another; writes ``path`` as .svg and as .png."""
    with picture(path, (5.2, 2.6)) as (figure, files):
        panel = figure.subplots()
        names = [f"{r.question}, {r.label}" for r in reversed(result.rows)]
        panel.barh(names, [r.seconds[OURS] for r in reversed(result.rows)], color="#D55E00")
        panel.set(xlabel="seconds from the start of the command")
        plain(panel)
    return files
