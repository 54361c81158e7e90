"""A page of Markdown with its pictures: what a reproduction writes, so that every number in it comes from a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from whippletree.files.whole_file import whole_file

from ..bench.result import Row, Statement, machine, versions
from ..report.picture import picture


class Page:
    """Grows from top to bottom; pictures stand beside it in the folder, named after it."""

    def __init__(self, folder: Path, name: str, title: str, command: str, pictures: str = "") -> None:
        self.folder, self.name = folder, name
        self.pictures = folder / pictures
        self.parts = [f"# {title}"]
        self.written: list[Path] = []
        self.command = command

    def text(self, *paragraphs: str) -> None:
        """Paragraphs, or headings, as they are."""
        self.parts += paragraphs

    def table(self, head: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> None:
        """The first columns are ``words``, to the left; numbers are to the right."""
        marks = ["---" if k < words else "--:" for k in range(len(head))]
        lines = ["| " + " | ".join(cells) + " |" for cells in (head, marks, *rows)]
        self.parts.append("\n".join(lines))

    def statements(self, found: Iterable[Statement]) -> None:
        """A section of what the paper says beside what comes out."""
        self.text("## What agrees")
        rows = [[s.where, s.paper, s.here, f"**{s.agrees}**: {s.why}" if s.why else s.agrees] for s in found]
        self.table(["where", "the paper", "here", "agrees"], rows, 4)

    @contextmanager
    def figure(self, name: str, caption: str, size: tuple[float, float]) -> Iterator[Any]:
        """A figure (inches) to draw into; written as .svg and .png, and shown with its caption."""
        with picture(self.pictures / name, size) as (figure, files):
            yield figure
        self.written += files
        shown = files[1].relative_to(self.folder).as_posix()
        self.parts.append(f"![{caption}]({shown})\n\n*{caption}* ([SVG]({shown.removesuffix('.png')}.svg))")

    def measured(self) -> str:
        """Where measured times are from: one sentence."""
        m, v = machine(), versions({"numpy": "numpy", "numba": "numba"})
        tools = ", ".join(f"{k} {v[k]}" for k in v)
        return f"Times are of {m['processor']}, {m['cores']} cores, {m['lanes']} lanes ({tools})."

    def write(self) -> Path:
        """Put the page on the disk, whole or not at all."""
        target = self.folder / f"{self.name}.md"
        end = f"This page is written by `{self.command}`: all numbers in it come from that run."
        with whole_file(target, "the page") as part:
            part.write_text("\n\n".join([*self.parts, "---", end]) + "\n", encoding="utf-8")
        self.written.insert(0, target)
        return target


def digits(x: float, count: int = 3) -> str:
    """A number with so many digits, thousands apart, and an exponent only where it is very small or large."""
    if x == 0.0 or not math.isfinite(x):
        return f"{x:g}"
    if not 1e-3 <= abs(x) < 1e9:
        return _short(f"{x:.{count - 1}e}")
    return f"{x:,.{max(0, count - 1 - math.floor(math.log10(abs(x))))}f}"


def microseconds(row: Row, ways: Iterable[str]) -> list[str]:
    """Times of some ways, a dash where one was not timed."""
    return [digits(row.seconds[way] * 1e6) if way in row.seconds else "-" for way in ways]


def whole(x: float) -> str:
    """A count, thousands apart."""
    return f"{x:,.0f}"


def small(x: float) -> str:
    """A difference: one digit and its power of ten."""
    return "0" if x == 0.0 else _short(f"{x:.0e}")


def _short(number: str) -> str:
    """1e+05 as 1e5."""
    mantissa, _, power = number.partition("e")
    return f"{mantissa}e{int(power)}"
