"""A command on several processes: rank 0 speaks and writes for all, and what one of them finds wrong ends all."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from .cli_progress import quiet
from .errors import ModelError

WRITES: dict[str, Any] = {"output": None, "resume": False, "plot": (), "report": None, "animate": None, "json": False}


def on_ranks(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which is given the Meeting of its ranks in the place of ``--on mpi``."""

    @wraps(command)
    def call(**options: Any) -> None:
        if options["on"] is None:
            return command(**options)
        if options["on"] != "mpi":
            raise ModelError(f"a run on '{options['on']}' is not known", expected="--on mpi")
        from .cluster.mpi_start import connect, meeting, place

        quiet[0] = place() > 0
        ranks = connect()
        quiet[0] = ranks.rank > 0
        if ranks.rank > 0:
            options |= WRITES
        with meeting(ranks) as met:
            return command(**options | {"on": met})

    return call
