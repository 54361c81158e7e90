"""What was found about real time: steps per second, and how late they were."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .picture import picture, plain
from .result import OURS, BenchResult

HEAD = ["question", "method", "microseconds", "per second", "times real time", "on time", "worst (ms)"]
RATE = 1000.0  # steps for a second of motion


def cells(result: BenchResult, digits: Any) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table; ``digits`` writes a number."""
    found = []
    for r in result.rows:
        s = r.seconds[OURS]
        found.append([r.question, r.label, digits(s * 1e6), f"{1 / s:.0f}", f"{1 / s / RATE:.1f}", "-", "-"])
    for length, s in (result.paced or {}).items():
        share, worst = f"{100 * s['on_time']:.3f} %", f"{1e3 * s['worst_lateness']:.2f}"
        times = f"{s['times_real_time']:.3f}"
        found.append([f"paced, {length} s", "euler", "-", f"{s['steps_per_second']:.0f}", times, share, worst])
    return HEAD, found


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """How long paced steps took; writes ``path`` as .svg and as .png."""
    paced = list((result.paced or {}).values())
    counts: dict[str, int] = paced[0]["histogram"] if paced else {}
    with picture(path, (5.2, 3.4)) as (figure, files):
        panel = figure.subplots()
        panel.barh(list(counts), [max(n, 0) for n in counts.values()], color="#D55E00")
        panel.set(xscale="log", xlabel="steps")
        plain(panel)
    return files
