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

from whippletree.errors import ModelError
from whippletree.files.whole_file import whole_file

from ..bench.result import OURS, BenchResult, Row
from .plots import plot
from .tables import per, table_of

__all__ = ["load", "plot", "save", "table", "text"]


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
    head, rows = table_of(result)
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
    head, rows = table_of(result)
    widths = [max(len(r[k]) for r in (head, *rows)) for k in range(len(head))]

    def line(cells: list[str]) -> str:
        aligned = (c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(cells, widths, strict=True)))
        return "  ".join(aligned).rstrip()

    lines = [_title(result), "", line(head), *(line(r) for r in rows), "", *_below(result)]
    return "\n".join(lines) + "\n"


def _title(result: BenchResult) -> str:
    if result.family == "theory":
        return "theory: operations one after the other, by the counts of the papers"
    m = result.machine
    if result.family == "view":
        return f"view: seconds to the first picture, best of {result.rounds} ({m['processor']})"
    host = f"{m['processor']}, {m['lanes']} lanes"
    return f"{result.family}: microseconds per {per(result)}, best of {result.rounds} ({host})"


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
