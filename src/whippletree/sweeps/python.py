"""Python programs that are started from here: none imports a file only because it lies in the current folder."""

from __future__ import annotations

import os
import sys

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def python(*given: str) -> list[str]:
    """The command: ``-m`` and ``-c`` alone would look for modules in the current folder first."""
    return [sys.executable, "-P", *given]


def environment() -> dict[str, str]:
    """Variables with which a program finds the same modules as this one, and so do those that it starts."""
    paths = os.pathsep.join(dict.fromkeys(path for path in sys.path if path))
    return {**os.environ, "PYTHONSAFEPATH": "1", "PYTHONPATH": paths}


def one_thread() -> dict[str, str]:
    """The same for a worker, which leaves the other cores to the other workers."""
    return environment() | dict.fromkeys(ONE_THREAD, "1")


def user_paths() -> list[str]:
    """Where a notebook finds the user's modules: in the current folder, as ``""``.

    A worker adds it after its own paths when all else has been imported: in PYTHONPATH it would come before them.
    """
    return [os.getcwd()] if "" in sys.path else []
