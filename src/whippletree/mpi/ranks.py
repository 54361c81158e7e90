"""One run on several MPI ranks: each owns subchains that follow each other, their state, forces and integration."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from hashlib import sha256
from typing import Any

import numpy as np

from .. import __version__
from ..compiler.lanes import LANES
from ..dynamics.auto.choose import require_algorithm_name
from ..dynamics.registry import AUTO
from ..dynamics.subchains.cut import Cut, cut_of
from ..dynamics.subchains.options import NAMES, Cutting, cutting, is_cutting
from ..errors import ModelError
from ..integrate.march import Elsewhere
from ..integrate.methods import dopri5
from ..integrate.run import subchains as subchain_run
from ..integrate.run.checkpoint import settings_of
from ..integrate.run.task import Task
from ..integrate.simulate import simulate
from ..result.netcdf import header
from ..result.result import Result
from ..system.system import System, require_system
from . import share, start
from .messages import Ranks, Together, table
from .run import OwnRows, Part, Spread, all_or_none, compile_first, places_of


def simulate_on_ranks(
    system: System,
    until: float,
    *,
    algorithm: str = NAMES[0],
    output: str | os.PathLike[str] | None = None,
    met: start.Meeting | None = None,
    **options: Any,
) -> Result | None:
    """As :func:`simulate`, on all ranks that ``mpiexec`` has started: call it on each, with the same arguments.

    ``algorithm`` is "subchains" with its options; without ``pieces`` there are as many for each rank as this machine
    has lanes. Rank 0 gets the Result and writes ``output``; the others get None. ``attrs`` of the Result hold the
    number of ``ranks`` and the ``messages``: for each step of the algorithm calls, messages and numbers that left the
    rank that sent most (JSON). Forces are those of joints; events are not watched.
    """
    require_system(system)
    if met is None:
        with start.meeting(start.connect()) as made:
            return simulate_on_ranks(system, until, algorithm=algorithm, output=output, met=made, **options)
    if options.get("events"):
        raise ModelError("events are not watched on ranks", hint="run it on one process, without --on mpi")
    if met.ranks.rank > 0:
        output, options["resume"], options["progress"] = None, False, None
    with ExitStack() as stack:
        shared = Shared(met, stack, output)
        try:
            return simulate(
                system, until, algorithm=_sized(algorithm, system, met.ranks.size), output=output, on=shared, **options
            )
        except Elsewhere:
            return None


def _sized(algorithm: str, system: System, ranks: int) -> str:
    """The algorithm with its number of subchains, which must not depend on who asks."""
    require_algorithm_name(algorithm)
    if algorithm == AUTO:
        algorithm = NAMES[0]
    if not is_cutting(algorithm):
        raise ModelError(
            f"algorithm '{algorithm}' does not run on ranks", expected="subchains, which each rank has some of"
        )
    choice = cutting(algorithm)
    if choice.pieces is None:
        choice = choice._replace(pieces=share.pieces_for(system, ranks))
    given = {name: value for name, value in choice._asdict().items() if value != Cutting._field_defaults[name]}
    return f"{NAMES[0]}(" + ", ".join(f"{name}={value!r}" for name, value in given.items()) + ")"


class Shared:
    """Where :func:`simulate` begins a run of all ranks."""

    def __init__(self, met: start.Meeting, stack: ExitStack, output: Any) -> None:
        self.met, self.stack, self.output = met, stack, output

    def begin(self, task: Task, tau: Any) -> Spread:
        """On rank 0 the run; the others serve it to its end, and then raise Elsewhere."""
        ranks = self.met.ranks
        subchain_run.check(task)
        share.refuse_forces(task)
        cut = cut_of(task.system, cutting(task.algorithm))
        if len(cut.subchains) < ranks.size:
            raise ModelError(
                f"'{task.system.name}' has more ranks than subchains",
                expected=f"at most {len(cut.subchains)} ranks",
                got=ranks.size,
                hint=f"fewer ranks, or more subchains: algorithm='{NAMES[0]}(pieces=16)'",
            )
        self.met.agree(_facts(task, tau))
        with all_or_none(ranks):
            compile_first(ranks, f"ranks by {task.integrator}", lambda: _try_out(task, cut))
            part = _part(task, cut, ranks)
        if ranks.rank > 0:
            part.serve()
            raise Elsewhere
        handlers = self.stack.enter_context(part.deferred())
        self.stack.enter_context(start.watched(_last_words(self.output)))
        spread = Spread(part, handlers)
        self.stack.callback(spread.close)
        spread.proceed(0)
        return spread


def _part(task: Task, cut: Cut, ranks: Ranks) -> Part:
    """What this rank computes, and where that is in the whole."""
    comm = Together(cut, ranks)
    motion = share.SharedMotion(task, cut, comm)
    stages = 4 if task.integrator == "rk4" else dopri5.TABLEAU.stages + 1
    places = [
        places_of(task, share.Share(cut, a, b), cut.forest, stages, a, b)
        for a, b in zip(comm.bounds[:-1], comm.bounds[1:], strict=True)
    ]
    if ranks.rank > 0:
        mine = places[ranks.rank]
        task = task._replace(Q=OwnRows(task.t.size, mine.q), U=OwnRows(task.t.size, mine.u))  # type: ignore[arg-type]
    run = subchain_run.begin(task, motion)
    ranks.counts.clear()
    whole = subchain_run.HEAD + motion.kept_size + (2 + stages) * (cut.forest.nq + cut.forest.nu + 1)
    return Part(ranks, run, places, whole)


def _try_out(task: Task, cut: Cut) -> None:
    """A step on one process, for its kernels."""
    rows = task._replace(Q=np.empty_like(task.Q), U=np.empty_like(task.U), W=np.empty_like(task.W))
    run: Any = subchain_run.begin(rows, share.SharedMotion(rows, cut, Together(cut, start.alone())))
    run.proceed(1)


def _facts(task: Task, tau: Any) -> dict[str, str]:
    """What all ranks must have alike."""
    system = task.system
    packed = sha256(system.packed.tobytes() + system.forces.packed.tobytes()).hexdigest()[:12]
    text = header(system)["model_sha256"][:12]
    return {
        "version": __version__,
        "model": f"'{system.name}', {system.nb - 1} bodies, {text}-{packed}",
        **{name: json.dumps(value) for name, value in settings_of(task, tau, ()).items()},
        "start": sha256(task.y.tobytes()).hexdigest()[:12],
        "lanes": str(LANES),
    }


def _last_words(output: Any) -> str:
    if output is None:
        return "error: a rank has died, and nothing was kept; with -o a run is, and --resume goes on with it"
    return f"error: a rank has died; {output} holds what was kept, and --resume goes on from there"


def message_table(result: Result) -> str:
    """What crossed between ranks, as lines for a person."""
    attrs = result.attrs
    return table(json.loads(attrs["messages"]), attrs["evaluations"], attrs["ranks"])
