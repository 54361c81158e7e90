"""Ranks that start together: they compare what they are about to compute, and all go on or none does.

Later, when one dies, mpiexec ends all others at once, and no rank is left to say what was kept: a watch says it.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import MissingExtra, ModelError, SimulationError, WhippletreeError
from ..sweeps.python import python
from .messages import Ranks

# what starters of processes say about their place, before MPI is asked
PLACES = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "MPI_LOCALRANKID")
DONE = "done"
# waits for the end of its input, which comes when rank 0 is done, or has died
WATCH = f"""
import os, sys
told = sys.stdin.read()
if told != {DONE!r}:
    sys.stderr.write(sys.argv[1] + chr(10))
"""
HINT = "start all ranks with the same files and options, in the same version"


def place() -> int:
    """The rank that this process was started as; 0 if by hand."""
    for name in PLACES:
        if os.environ.get(name, "").isdecimal():
            return int(os.environ[name])
    return 0


def connect() -> Ranks:
    """All ranks of this run; one, where the process was not started by mpiexec."""
    try:
        from mpi4py import MPI
    except ImportError:
        raise MissingExtra("mpi4py", "cluster", "a run on MPI") from None
    except RuntimeError as e:  # the package is there, the library is not
        words = str(e).strip().splitlines()[0]
        raise ModelError(
            "mpi4py finds no MPI library on this machine",
            got=words,
            hint="pip install 'whippletree[cluster]' brings one",
        ) from None
    return Ranks(MPI.COMM_WORLD)


def alone() -> Ranks:
    """This process, as one rank of its own."""
    from mpi4py import MPI

    return Ranks(MPI.COMM_SELF)


class Meeting:
    """Before the first step every rank comes here once, with what it is about to compute or what it found wrong."""

    def __init__(self, ranks: Ranks) -> None:
        self.ranks, self.over = ranks, False

    def agree(self, facts: Mapping[str, str]) -> None:
        """Compare facts that must be the same everywhere, by name; refuses all ranks where one differs or fails."""
        reported = self._meet(None, facts)
        for name in reported[0][1]:
            values = [known.get(name, "nothing") for _, known in reported]
            if len(set(values)) > 1:
                raise _different(name, values)

    def fail(self, error: Exception) -> Exception:
        """What to raise here, where this rank cannot start: its own error if it speaks for all."""
        try:
            self._meet(error, {})
        except WhippletreeError as e:
            return e
        return error

    def _meet(self, error: Exception | None, facts: Mapping[str, str]) -> list[tuple[Any, dict[str, str]]]:
        """What all ranks have to say. Rank 0 alone looks at files that are written: its errors are those of all."""
        self.over = True
        mine = None if error is None else (str(error) or type(error).__name__, isinstance(error, ModelError))
        reported = self.ranks.comm.allgather((mine, dict(facts)))
        errors = [words for words, _ in reported]
        if any(errors):
            if errors[0] and set(errors[1:]) <= {errors[0], None}:
                if mine == errors[0]:
                    return reported
                raise (ModelError if errors[0][1] else SimulationError)(errors[0][0])
            words = [e[0].splitlines()[0] if e else "no complaint" for e in errors]
            raise ModelError("not every rank can start", got=_by_ranks(words), hint=HINT)
        return reported


@contextmanager
def meeting(ranks: Ranks) -> Iterator[Meeting]:
    """What goes wrong in here on any rank, before they have agreed, ends all of them with the same error."""
    meeting = Meeting(ranks)
    try:
        yield meeting
    except Exception as error:
        if meeting.over:
            raise
        raise meeting.fail(error) from None


def _different(name: str, values: list[str]) -> ModelError:
    what = "have read different models" if name == "model" else f"have been given different settings: {name} differs"
    return ModelError(f"the ranks {what}", expected="the same on every rank", got=_by_ranks(values), hint=HINT)


def _by_ranks(values: list[Any]) -> str:
    """As "ranks 0, 2: this; rank 1: that"."""
    groups: dict[Any, list[int]] = {}
    for rank, value in enumerate(values):
        groups.setdefault(value, []).append(rank)
    return "; ".join(f"rank{'s' * (len(r) > 1)} {', '.join(map(str, r))}: {value}" for value, r in groups.items())


@contextmanager
def watched(message: str) -> Iterator[None]:
    """While this lasts, a small process of its own says so if this one dies."""
    begun = python("-I", "-S", "-c", WATCH, message)
    with subprocess.Popen(begun, stdin=subprocess.PIPE, text=True, start_new_session=True) as watch:
        assert watch.stdin is not None
        try:
            yield
        finally:
            watch.stdin.write(DONE)
            watch.stdin.close()
