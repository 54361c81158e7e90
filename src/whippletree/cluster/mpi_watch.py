"""A word when a rank dies: mpiexec then ends all others at once, and no rank is left to say what was kept."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

DONE = "done"
# waits for the end of its input, which comes when rank 0 is done, or has died
WATCH = f"""
import os, sys
told = sys.stdin.read()
if told != {DONE!r}:
    sys.stderr.write(sys.argv[1] + chr(10))
"""


@contextmanager
def watched(message: str) -> Iterator[None]:
    """While this lasts, a small process of its own says so if this one dies."""
    begun = [sys.executable, "-S", "-E", "-c", WATCH, message]
    with subprocess.Popen(begun, stdin=subprocess.PIPE, text=True, start_new_session=True) as watch:
        assert watch.stdin is not None
        try:
            yield
        finally:
            watch.stdin.write(DONE)
            watch.stdin.close()
