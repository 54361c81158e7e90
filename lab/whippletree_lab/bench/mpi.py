"""One long chain on several MPI ranks, beside one of them: time of a right-hand side, messages, latencies.

mpiexec is called from here. Rank 0 alone and all ranks together take turns, so that noise hits both alike.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from whippletree.errors import MissingExtra, SimulationError
from whippletree.sweeps.python import environment, python

from .result import OURS, BenchResult, Row

RANKS = (1, 2, 4)
CROWDED = 2  # turns of ranks that have no core of their own
PATIENCE = 600.0  # s, for ranks to compile their kernels and to be timed


def mpiexec() -> str:
    """The program that starts ranks: that of this Python, or of the system."""
    beside = Path(sys.executable).parent / "mpiexec"
    found = str(beside) if beside.exists() else shutil.which("mpiexec")
    if found is None:
        raise MissingExtra("mpich", "cluster", "a run on several ranks")
    return found


def measure(result: BenchResult, sizes: Iterable[int], progress: Callable[[str], None]) -> None:
    """Every size on every number of ranks, then the latencies."""
    result.note(f"{OURS} is one rank; times are of the best single call, until the last rank is done")
    result.note("messages and numbers that leave a rank in one evaluation, in brackets what table 3 counts")
    latencies: dict[int, list[dict[str, float]]] = {}
    cores = result.machine["cores"]
    if max(RANKS) > cores:
        result.note(f"there are {cores} cores: more ranks wait for each other, and take {CROWDED} turns at most")
    for size in sizes:
        for ranks in RANKS:
            progress(f"chain of {size} on {ranks} ranks")
            reported = _ask(ranks, size, result.rounds if ranks <= cores else min(result.rounds, CROWDED))
            row = Row("forward", str(size), size, reported["dofs"], threads=ranks)
            row.seconds, row.differences, row.operations = (
                reported["seconds"],
                reported["differences"],
                reported["messages"],
            )
            result.rows.append(row)
            latencies.setdefault(ranks, []).append(reported["latencies"])
    for ranks, found in latencies.items():
        best = {name: min(times[name] for times in found) for name in found[0]}
        result.rows.append(Row("latency", f"{ranks} ranks", 0, 0, threads=ranks, seconds=best))


def _ask(ranks: int, size: int, rounds: int) -> dict[str, Any]:
    """What the ranks have measured."""
    command = [mpiexec(), "-n", str(ranks), *python("-m", "whippletree_lab.bench.mpi_rank", str(size), str(rounds))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment())
    if done.returncode:
        words = (done.stderr.strip().splitlines() or ["nothing"])[0]
        raise SimulationError(f"the bench on {ranks} ranks failed", got=words, where=" ".join(command[3:]))
    reported: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return reported
