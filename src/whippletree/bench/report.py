"""A benchmark's result as a table, as a file, and as a plot.

``table(result, file=None)`` prints (rich on a terminal, plain text when piped), ``text(result)`` is the plain text,
``save(result, path)`` and ``load(path)`` write and read JSON, ``plot(result, path)`` draws SVG and PNG.
"""

from __future__ import annotations

import json
import math
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from ..errors import ModelError
from ..files.whole_file import whole_file
from . import (
    choice_report,
    divided_report,
    flexible_report,
    live_report,
    loop_report,
    mpi_report,
    subchains_report,
    theory_report,
    view_report,
)
from .loop_families import LOOPS
from .measure import AGREE
from .picture import legend, picture, plain
from .result import OURS, BenchResult, Row

# families whose tables and pictures are their own
REPORTS: dict[str, Any] = dict.fromkeys(LOOPS, loop_report) | {
    "divide": divided_report,
    "subchains": subchains_report,
    "mpi": mpi_report,
    "flexible": flexible_report,
    "choose": choice_report,
    "theory": theory_report,
    "live": live_report,
    "view": view_report,
}

QUESTIONS = {
    "forward": "forward dynamics",
    "inverse": "inverse dynamics",
    "mass": "mass matrix",
    "rollout": "rollout",
    "simulate": "simulation",
}
PER = {"rollout": "step of a state", "live": "step", "simulate": "run", "flexible": "state or motion"}  # else: state

# Okabe and Ito's colours, told apart by all; ours is the strongest
STYLES = {
    OURS: ("#D55E00", "o"),
    "pinocchio local": ("#0072B2", "s"),
    "pinocchio world": ("#56B4E9", "D"),
    "pinocchio loop": ("#0072B2", "s"),
    "pinocchio parallel": ("#56B4E9", "D"),
    "pinocchio RK45": ("#0072B2", "s"),
    "pinocchio DOP853": ("#56B4E9", "D"),
    "mujoco": ("#009E73", "^"),
    "drake": ("#CC79A7", "v"),
}


def table(result: BenchResult, file: TextIO | None = None) -> None:
    """Print the table and the notes to ``file`` (standard output)."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    file = file or sys.stdout
    console = Console(file=file)
    if not console.is_terminal:
        file.write(text(result))
        return
    head, rows = _cells(result)
    shown = Table(title=_title(result), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for k, name in enumerate(head):
        shown.add_column(name, justify="left" if k < 2 else "right", style="bold" if name == OURS else "")
    for row, previous in zip(rows, [None, *rows], strict=False):
        if previous and previous[0] != row[0]:
            shown.add_row()
        shown.add_row(*row)
    console.print(shown)
    for line in _below(result):
        console.print(Text(line, style="dim"))


def text(result: BenchResult) -> str:
    """The table and the notes as plain text."""
    head, rows = _cells(result)
    widths = [max(len(r[k]) for r in (head, *rows)) for k in range(len(head))]

    def line(cells: list[str]) -> str:
        aligned = (c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return "  ".join(aligned).rstrip()

    lines = [_title(result), "", line(head), *(line(r) for r in rows), "", *_below(result)]
    return "\n".join(lines) + "\n"


def _title(result: BenchResult) -> str:
    if result.family == "theory":
        return "theory: operations one after the other, by the counts of the papers"
    m, per = result.machine, PER.get(result.family, "state")
    if result.family == "view":
        return f"view: seconds to the first picture, best of {result.rounds} ({m['processor']})"
    return f"{result.family}: microseconds per {per}, best of {result.rounds} ({m['processor']}, {m['lanes']} lanes)"


def _cells(result: BenchResult) -> tuple[list[str], list[list[str]]]:
    if result.family in REPORTS:
        return REPORTS[result.family].cells(result, three_digits)
    engines = result.engines()
    head = ["what", "model", *engines, "fastest peer / ours", "error" if result.family == "simulate" else "difference"]
    rows = []
    for r in sorted(result.rows, key=lambda r: list(QUESTIONS).index(r.question)):
        peer = r.fastest_peer()
        ratio, worst = r.ratio(peer) if peer else None, r.worst_difference()
        rows.append(
            [QUESTIONS[r.question], r.label]
            + [_time(r, e) for e in engines]
            + ["-" if ratio is None else f"{ratio:.2f}x", "-" if worst is None else f"{worst:.0e}"]
        )
    return head, rows


def _time(row: Row, engine: str) -> str:
    if engine not in row.seconds:
        return "differs" if row.differences.get(engine, 0.0) >= AGREE else "-"
    ratio = row.ratio(engine)
    behind = "" if engine == OURS or ratio is None else f" ({ratio:.1f}x)"
    return three_digits(row.seconds[engine] * 1e6) + behind


def three_digits(x: float) -> str:
    """A number with three digits and no exponent: 0.302, 12.4, 1240."""
    return f"{x:.{max(0, 2 - math.floor(math.log10(x))) if x > 0 else 0}f}"


def _below(result: BenchResult) -> list[str]:
    lines = [f"note: {n}" for n in result.notes]
    if result.scaling:
        s = result.scaling
        lines.append(f"slope of log time against log bodies: {s['slope']:.3f}; {s['bytes_per_body']:.0f} bytes a body")
    versions = ", ".join(f"{k} {v}" for k, v in result.versions.items())
    return [*lines, f"versions: {versions}", f"command: {result.command}"]


def save(result: BenchResult, path: str | Path) -> Path:
    """Write the result as JSON, whole or not at all; gives the path."""
    content = json.dumps(_finite(asdict(result)), indent=1, allow_nan=False) + "\n"
    with whole_file(path, "the numbers") as part:
        part.write_text(content, encoding="utf-8")
    return Path(path)


def load(path: str | Path) -> BenchResult:
    """Read what :func:`save` wrote."""
    try:
        read = json.loads(Path(path).read_text(encoding="utf-8"))
        read["rows"] = [Row(**row) for row in read["rows"]]
        for row in read["rows"]:
            row.differences = {e: math.inf if d is None else d for e, d in row.differences.items()}
        return BenchResult(**read)
    except OSError as error:
        raise ModelError(f"cannot read '{path}'", got=error.strerror) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ModelError(f"'{path}' is not a benchmark result", hint="whippletree bench --output writes one") from None


def _finite(x: Any) -> Any:
    """The same data with None for numbers that JSON does not have."""
    if isinstance(x, dict):
        return {k: _finite(v) for k, v in x.items()}
    if isinstance(x, list):
        return [_finite(v) for v in x]
    return None if isinstance(x, float) and not math.isfinite(x) else x


def plot(result: BenchResult, path: str | Path) -> tuple[Path, Path]:
    """Draw cost against size, log-log, one panel for each question; writes ``path`` as .svg and as .png."""
    if result.family in REPORTS:
        return REPORTS[result.family].plot(result, path)
    questions = [q for q in QUESTIONS if any(r.question == q for r in result.rows)]
    with picture(path, (1.0 + 3.6 * len(questions), 3.8)) as (figure, files):
        panels = figure.subplots(1, len(questions), squeeze=False)[0]
        for panel, question in zip(panels, questions, strict=True):
            _panel(panel, result, question)
        panels[0].set_ylabel(f"time per {PER.get(result.family, 'state')} (µs)")
        legend(figure, panels, 5)
    return files


def _panel(panel: Any, result: BenchResult, question: str) -> None:
    rows = [r for r in result.rows if r.question == question]
    for engine in result.engines():
        for threads in sorted({r.threads for r in rows}):
            line = sorted(
                (r.freedoms, r.seconds[engine] * 1e6) for r in rows if r.threads == threads and engine in r.seconds
            )
            if not line:
                continue
            colour, marker = STYLES.get(engine, ("#000000", "x"))
            label = engine if threads == 1 else f"{engine}, {threads} threads"
            style = {"color": colour, "marker": marker, "markersize": 4.5, "linewidth": 2.2 if engine == OURS else 1.3}
            panel.plot(*zip(*line, strict=True), label=label, linestyle="-" if threads == 1 else "--", **style)
    panel.set_xscale("log", base=10)
    panel.set_yscale("log", base=10)
    ticks = sorted({r.freedoms for r in rows})
    panel.set_xticks(ticks, [str(n) if n < 10000 else f"{n:.0e}".replace("e+0", "e") for n in ticks], rotation=45)
    panel.set_xticks([], minor=True)
    panel.set_xlabel("freedoms")
    panel.set_title(QUESTIONS[question], loc="left")
    plain(panel)
