"""The command ``run``: a model in motion, and what it leaves."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ModelError
from . import app as shared
from . import progress

if TYPE_CHECKING:
    from ..system.system import System


# what ranks other than 0, which speaks and writes for all, do not do
WRITES: dict[str, Any] = {"output": None, "resume": False, "plot": (), "report": None, "animate": None, "json": False}


def on_ranks(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which is given the Meeting of its ranks in the place of ``--on mpi``."""

    @wraps(command)
    def call(**options: Any) -> None:
        if options["on"] is None:
            return command(**options)
        if options["on"] != "mpi":
            raise ModelError(f"a run on '{options['on']}' is not known", expected="--on mpi")
        from ..mpi.start import connect, meeting, place

        progress.quiet[0] = place() > 0
        ranks = connect()
        progress.quiet[0] = ranks.rank > 0
        if ranks.rank > 0:
            options |= WRITES
        with meeting(ranks) as met:
            return command(**options | {"on": met})

    return call


@shared.app.command()
@on_ranks
def run(
    model: shared.ModelPath,
    until: Annotated[float, shared.option("SECONDS", "end of the run")],
    output: Annotated[
        Path | None, shared.option("FILE", "write the result (.nc), while it is computed", "--output", "-o")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the output file, if it is there")] = False,
    save_every: Annotated[float, shared.option("SECONDS", "of computing between two writings")] = 5.0,
    plot: Annotated[list[Path], shared.option("FILE", "write a picture; may be repeated")] = [],  # noqa: B006
    report: Annotated[Path | None, shared.option("FILE", "write a page about the run (.html)")] = None,
    animate: Annotated[Path | None, shared.option("FILE", "write the motion (.html or .gif)")] = None,
    rtol: Annotated[float, shared.option("NUMBER", "relative tolerance of a step")] = 1e-8,
    atol: Annotated[float, shared.option("NUMBER", "absolute tolerance of a step")] = 1e-10,
    step: Annotated[float | None, shared.option("SECONDS", "fixed step, or the largest if steps are adaptive")] = None,
    output_step: Annotated[float | None, shared.option("SECONDS", "time between kept states")] = None,
    algorithm: shared.Algorithm = "auto",
    integrator: shared.Integrator = "dopri5",
    stabilization: Annotated[
        str, shared.option("HOW", "how loops stay closed: projection, baumgarte or none")
    ] = "projection",
    alpha: Annotated[float | None, shared.option("RATE", "of baumgarte, 1/s")] = None,
    beta: Annotated[float | None, shared.option("RATE", "of baumgarte, 1/s")] = None,
    quasi_static: Annotated[
        float | None, shared.option("RAD/S", "faster modes of flexible bodies follow their loads at once")
    ] = None,
    assemble: shared.Assemble = False,
    q: shared.Q = [],  # noqa: B006
    u: shared.U = [],  # noqa: B006
    check: Annotated[int, shared.option("K", "solve every K-th kept state by a second algorithm")] = 0,
    stop: Annotated[list[str], shared.option("CONDITION", "end there, as 'hinge.q < 0'")] = [],  # noqa: B006
    on: Annotated[str | None, shared.option("PLACE", "'mpi': on all ranks that mpiexec started")] = None,
    json: shared.Json = False,
    base: shared.Base = None,
    passive: shared.Passive = False,
) -> None:
    """Simulate a model.

    \b
    whippletree run models/pendulum.toml --until 2 --q hinge=2 --plot run.svg
    whippletree run models/pendulum.toml --until 1e4 -o long.nc    and after a stop again with --resume
    whippletree run models/four_bar.toml --until 2 --assemble --u shaft=3    with loops
    mpiexec -n 4 whippletree run models/long_chain.toml --until 1 --algorithm subchains --on mpi -o chain.nc

    Events and changes of temporary constraints are printed, the first ten of them, and without an output file the state
    at the end.
    """
    from ..integrate.run.events import Event
    from ..result.netcdf import result_path

    if output is not None:
        result_path(output)
    elif resume:
        raise ModelError("--resume needs the file to go on from", hint="name it with -o")
    _writable(plot, report, animate)
    options: dict[str, Any] = {
        "q": shared._values(q, "--q"),
        "u": shared._values(u, "--u"),
        "step": step,
        "output_step": output_step,
    }
    options |= {"algorithm": algorithm, "integrator": integrator, "rtol": rtol, "atol": atol, "check": check}
    options |= {"stabilization": stabilization, "alpha": alpha, "beta": beta, "quasi_static": quasi_static}
    options["events"] = [Event.parse(condition) for condition in stop]
    system = shared._system(model, base, passive)
    options |= {"output": output, "resume": resume, "save_every": save_every}
    complete = output is not None and resume and _already_complete(output)
    if assemble:
        options |= shared._assembled(system, options["q"], options["u"])
    begun = time.perf_counter()
    result = _simulate(system, until, on, **options)
    if result is None:  # rank 0 has it
        return
    if on is not None:
        from ..mpi.ranks import message_table

        progress.say(message_table(result))
    spent = time.perf_counter() - begun
    if complete:
        progress.say(f"{output} was complete already")
    files = (None if complete else output, *_write(result, plot, report, animate))
    written = [str(path) for path in files if path is not None]
    if "stopped" in result.attrs:
        progress.say(f"stopped at t = {result.t[-1]:.9g} s: {result.attrs['stopped']}")
    if written:
        progress.say(f"wrote {', '.join(written)}")
    from ..result.summary import happenings, summary

    if json:
        progress.print_json(summary(result) | {"seconds": spent, "files": written})
        return
    if rows := happenings(result):
        progress.print_table(rows)
    if not written:
        from ..result.report import end_state

        progress.print_table([("time", f"{result.t[-1]:.9g} s"), *end_state(result, most=sys.maxsize)])


def _writable(plot: list[Path], report: Path | None, animate: Path | None) -> None:
    """Whether what is asked for can be written, before anything is computed."""
    from ..files.whole_file import writable
    from ..result.pictures.animation import animation_path
    from ..result.pictures.plot import picture_path

    for path, what in ((report, "the report"), (animate, "the animation"), *((p, "the picture") for p in plot)):
        if path is not None:
            writable(path, what)
    for picture in plot:
        picture_path(picture)
    if animate is not None:
        animation_path(animate)


def _write(result: Any, plot: list[Path], report: Path | None, animate: Path | None) -> list[Path | None]:
    """Pictures, report and animation of a result."""
    for picture in plot:
        result.plot(path=picture)
    if report is not None:
        result.report(report)
    if animate is not None:
        with progress.Bar(f"drawing {result.system.name}", 1.0) as bar:
            result.animate(animate, progress=bar)
    return [*plot, report, animate]


def _simulate(system: System, until: float, on: Any, **options: Any) -> Any:
    import whippletree as wt

    simulate: Any = wt.simulate
    if on is not None:
        from ..mpi.ranks import simulate_on_ranks

        simulate = partial(simulate_on_ranks, met=on)
    loops = " with loops" if system.constraints.count else ""
    with (
        progress.compiling(f"run by {options['integrator']}{loops}"),
        progress.notes() as noted,
        progress.terminated_in_order(),
        progress.Bar(f"simulating {system.name}", until) as bar,
    ):
        result = simulate(system, until, progress=bar, **options)
    for text in result.attrs["warnings"] if result is not None else ():
        if text not in noted:  # of the run before it was resumed
            progress.say(f"note: {text}")
    return result


def _already_complete(output: Path) -> bool:
    """Whether there is nothing left to compute; if there is, say where that begins."""
    from ..result.netcdf import read

    if not output.exists():
        progress.say(f"there is no {output} yet: starting anew")
        return False
    kept = read(output)
    if not kept.attrs.get("complete"):
        progress.say(f"going on from {output}, t = {kept.arrays['time'][-1]:.6g} s")
    return bool(kept.attrs.get("complete"))
