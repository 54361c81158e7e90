"""What was found about a divided chain: a line for each way and size, and pictures of speed and terminal share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .picture import legend, picture, plain
from .result import OURS, BenchResult

HEAD = ["bodies", "way", "microseconds", "times as fast", "error", "/ articulated"]
STYLES = {
    "lanes": ("#0072B2", "s"),
    "2 threads": ("#009E73", "^"),
    "lanes, 2 threads": ("#D55E00", "o"),
    "dcat": ("#E69F00", "v"),
    "dca": ("#CC79A7", "v"),
    "dca in lanes": ("#CC79A7", "^"),
}


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    found = []
    for r in result.rows:
        for way in dict.fromkeys([*r.seconds, *r.differences]):
            seconds, error, ratio = r.seconds.get(way), r.differences.get(way), r.ratio(way)
            usual = r.differences.get(OURS)
            found.append(
                [
                    r.label,
                    f"{OURS} articulated" if way == OURS else way,
                    "-" if seconds is None else digits(seconds * 1e6),
                    "-" if ratio is None else f"{1.0 / ratio:.2f}x",
                    "-" if error is None else f"{error:.0e}",
                    "-" if error is None or not usual else digits(error / usual),
                ]
            )
    return HEAD, found


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """How many times as fast, against bodies and terminal share; writes ``path`` as .svg and as .png."""
    with picture(path, (8.6, 4.0)) as (figure, files):
        sizes, shares = figure.subplots(1, 2)
        _sizes(sizes, result)
        _shares(shares, result)
        for panel in (sizes, shares):
            panel.axhline(1.0, color="#888888", linewidth=0.8)
            panel.set_ylabel("times as fast as the articulated sweep")
            plain(panel)
        legend(figure, [sizes], 6)
    return files


def _sizes(panel: Any, result: BenchResult) -> None:
    rows = [r for r in result.rows if r.question == "forward"]
    for way, (colour, marker) in STYLES.items():
        known = [(r.bodies, r.seconds[OURS] / r.seconds[way]) for r in rows if way in r.seconds]
        if known:
            panel.plot(*zip(*known, strict=True), label=way, color=colour, marker=marker, markersize=4.5)
    panel.set(xscale="log", yscale="log", xlabel="bodies of the chain")
    panel.set_yticks([0.1, 0.2, 0.5, 1, 2, 3], ["0.1", "0.2", "0.5", "1", "2", "3"])
    panel.set_yticks([], minor=True)
    panel.set_title("ways to divide", loc="left")


def _shares(panel: Any, result: BenchResult) -> None:
    for r in (r for r in result.rows if r.question == "share"):
        ways = [way for way in r.seconds if way != OURS]
        share = [float(way.removeprefix("terminal ").removesuffix("%")) for way in ways]
        times = [r.seconds[OURS] / r.seconds[way] for way in ways]
        panel.plot(share, times, color=STYLES["2 threads"][0], marker="^", markersize=4.5)
        panel.set_title(f"{r.bodies} bodies, 2 threads without lanes", loc="left")
    panel.set_xlabel("share of the terminal subchain (%)")
