"""Words for the person at the command line, data for the next program, and long work that ends in order."""

from __future__ import annotations

import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..errors import ModelWarning, printable

quiet = [False]  # whether another process of the same run speaks for this one


def say(message: str) -> None:
    """A line for the person, not for the next program."""
    if not quiet[0]:
        print(printable(message), file=sys.stderr, flush=True)


def print_json(values: dict[str, Any]) -> None:
    """For the next program."""
    from json import dumps

    from ..model.renamed import beside

    print(dumps(beside(values), allow_nan=False))


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    """Rows of as many words each, in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(f"{word:<{width}}" for word, width in zip(row, widths, strict=True)).rstrip())


@contextmanager
def notes() -> Iterator[list[str]]:
    """What the library notes, as lines; the list has them at the end."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ModelWarning)
        warnings.filterwarnings("always", ".*' is now '", DeprecationWarning)
        try:
            yield said
        finally:
            said += [str(warning.message) for warning in caught]
            for text in said:
                say(f"note: {text}")


@contextmanager
def compiling(what: str) -> Iterator[None]:
    """Say so where work has its kernels compiled; on a terminal each of them has its line."""
    from ..compiler import notice

    begun: list[str] = []

    def tell(kernel: str) -> None:
        if not begun:
            say(f"the first {what} compiles its kernels: once, for a minute or two")
        begun.append(kernel)
        if sys.stderr.isatty() and not quiet[0]:
            print(f"\r  kernel {len(begun)}: {kernel}\x1b[K", end="", file=sys.stderr, flush=True)

    with notice.reported_by(tell):
        try:
            yield
        finally:
            if begun and sys.stderr.isatty() and not quiet[0]:
                print("\r\x1b[K", end="", file=sys.stderr, flush=True)


class Terminated(KeyboardInterrupt):
    """Asked to end (SIGTERM): as with Ctrl-C, what was computed is kept."""


@contextmanager
def terminated_in_order() -> Iterator[None]:
    """SIGTERM raises Terminated."""

    def stop(*_: Any) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


class Bar:
    """A progress bar on a terminal, from the second second on; called with how far the work has come.

    A run tells its simulated time and steps as well.
    """

    def __init__(self, title: str, total: float) -> None:
        self.title, self.total, self.start = title, total, time.monotonic()
        self.shown: Any = None

    def __enter__(self) -> Bar:
        return self

    def __call__(self, reached: float) -> None:
        if self.shown is None and sys.stderr.isatty() and time.monotonic() - self.start > 1.0:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

            words = [TextColumn(f"{{task.{what}}}", markup=False) for what in ("description", "fields[details]")]
            columns = words[0], BarColumn(), TaskProgressColumn(), words[1], TimeRemainingColumn()
            self.shown = Progress(*columns, console=Console(stderr=True), transient=True)
            self.shown.start()
            self.shown.add_task(self.title, total=self.total, completed=reached, details="")
        if self.shown is not None:
            self.shown.update(self.shown.task_ids[0], completed=reached, details=self.details(reached))

    def details(self, reached: float) -> str:
        steps = getattr(reached, "steps", None)
        return "" if steps is None else f"{reached:.4g} of {self.total:g} s, {steps} steps, time left"

    def __exit__(self, *_: object) -> None:
        if self.shown is not None:
            self.shown.stop()
