"""The command line: parse, call the library, print. Data goes to stdout, the rest to stderr."""

from __future__ import annotations

import shlex
import sys
import time
from contextlib import nullcontext
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from . import __version__
from .cli_mpi import on_ranks
from .cli_progress import Bar, Terminated, compiling, notes, say, terminated_in_order
from .errors import ModelError, OffConstraints, WhippletreeError

if TYPE_CHECKING:
    from .system.system import System


class Commands(typer.core.TyperGroup):
    """Turns what the library complains about into one message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as e:
            say("; ".join(["stopped", *getattr(e, "__notes__", ())]))
            raise typer.Exit(143 if isinstance(e, Terminated) else 130) from None
        except WhippletreeError as e:
            told = _with_command(e) if isinstance(e, OffConstraints) else e
            say("\n  ".join([f"error: {told}", *getattr(e, "__notes__", ())]))
            raise typer.Exit(2 if isinstance(e, ModelError) else 1) from None
        except BrokenPipeError:  # the reader of our output has gone, as in `| head`
            raise
        except (OSError, MemoryError) as e:
            say(f"error: {e or 'out of memory'}")
            raise typer.Exit(1) from None


def _with_command(e: OffConstraints) -> OffConstraints:
    """The same complaint, with the command to type."""
    again = shlex.join(["whippletree", *sys.argv[1:], "--assemble"])
    return OffConstraints(e.what, expected=e.expected, got=e.got, hint=f"start where it closes: {again}")


app = typer.Typer(
    name="whippletree",
    cls=Commands,
    help="Multibody dynamics: one model, many algorithms, the same answer.",
    epilog="Exit codes: 0 done, 1 the simulation failed, 2 the input is wrong.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="model file: .toml, .urdf or MJCF .xml")]
Base = Annotated[str | None, typer.Option(metavar="KIND", help="'free' lets the base of a robot float")]
Passive = Annotated[bool, typer.Option("--passive", help="let springs, damping, friction and stops of joints act")]
Algorithm = Annotated[str, typer.Option(metavar="NAME", help="'auto' or the name of an algorithm")]
Integrator = Annotated[str, typer.Option(metavar="NAME", help="the time integrator")]
Assemble = Annotated[bool, typer.Option("--assemble", help="at the nearest state in which all loops close")]
Json = Annotated[bool, typer.Option("--json", help="print JSON, for a program to read")]


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="print the version and stop", is_eager=True)] = False,
) -> None:
    if version:
        print(f"whippletree {__version__}")
        raise typer.Exit


@app.command()
@on_ranks
def run(
    model: ModelPath,
    until: Annotated[float, typer.Option(metavar="SECONDS", help="end of the run")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="write the result (.nc), while it is computed")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on from the output file, if it is there")] = False,
    save_every: Annotated[float, typer.Option(metavar="SECONDS", help="of computing between two writings")] = 5.0,
    plot: Annotated[list[Path], typer.Option(metavar="FILE", help="write a picture; may be repeated")] = [],  # noqa: B006
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="write a page about the run (.html)")] = None,
    animate: Annotated[Path | None, typer.Option(metavar="FILE", help="write the motion (.html or .gif)")] = None,
    rtol: Annotated[float, typer.Option(metavar="NUMBER", help="relative tolerance of a step")] = 1e-8,
    atol: Annotated[float, typer.Option(metavar="NUMBER", help="absolute tolerance of a step")] = 1e-10,
    step: Annotated[float | None, typer.Option(metavar="SECONDS", help="fixed, or the largest if adaptive")] = None,
    output_step: Annotated[float | None, typer.Option(metavar="SECONDS", help="time between kept states")] = None,
    algorithm: Algorithm = "auto",
    integrator: Integrator = "dopri5",
    stabilization: Annotated[
        str, typer.Option(metavar="HOW", help="how loops stay closed: projection, baumgarte or none")
    ] = "projection",
    alpha: Annotated[float | None, typer.Option(metavar="RATE", help="of baumgarte, 1/s")] = None,
    beta: Annotated[float | None, typer.Option(metavar="RATE", help="of baumgarte, 1/s")] = None,
    quasi_static: Annotated[
        float | None, typer.Option(metavar="RAD/S", help="faster modes of flexible bodies follow their loads at once")
    ] = None,
    assemble: Assemble = False,
    q: Annotated[list[str], typer.Option("--q", metavar="JOINT=VALUE[,VALUE]", help="starting coordinates")] = [],  # noqa: B006
    u: Annotated[list[str], typer.Option("--u", metavar="JOINT=VALUE[,VALUE]", help="starting speeds")] = [],  # noqa: B006
    check: Annotated[int, typer.Option(metavar="K", help="solve every K-th kept state by a second algorithm")] = 0,
    stop: Annotated[list[str], typer.Option(metavar="CONDITION", help="end there, as 'hinge.q < 0'")] = [],  # noqa: B006
    on: Annotated[str | None, typer.Option(metavar="PLACE", help="'mpi': on all ranks that mpiexec started")] = None,
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Simulate a model.

    \b
    whippletree run models/pendulum.toml --until 2 --q hinge=2 --plot run.svg
    whippletree run models/pendulum.toml --until 1e4 -o long.nc    and after a stop again with --resume
    whippletree run models/four_bar.toml --until 2 --assemble --u shaft=3    with loops
    mpiexec -n 4 whippletree run models/long_chain.toml --until 1 --algorithm subchains --on mpi -o chain.nc

    Without an output file the state at the end is printed.
    """
    from .files.whole_file import writable
    from .result.animation import animation_path
    from .result.netcdf import result_path
    from .result.plot import picture_path

    if output is not None:
        result_path(output)
    elif resume:
        raise ModelError("--resume needs the file to go on from", hint="name it with -o")
    for path, what in ((report, "the report"), (animate, "the animation"), *((p, "the picture") for p in plot)):
        if path is not None:
            writable(path, what)
    for picture in plot:
        picture_path(picture)
    if animate is not None:
        animation_path(animate)
    options: dict[str, Any] = {"q": _values(q, "--q"), "u": _values(u, "--u"), "step": step, "output_step": output_step}
    options |= {"algorithm": algorithm, "integrator": integrator, "rtol": rtol, "atol": atol, "check": check}
    options |= {"stabilization": stabilization, "alpha": alpha, "beta": beta, "quasi_static": quasi_static}
    from .integrate.events import Event

    options["events"] = [Event.parse(condition) for condition in stop]
    system = _system(model, base, passive)
    options |= {"output": output, "resume": resume, "save_every": save_every}
    complete = output is not None and resume and _already_complete(output)
    if assemble:
        options |= _assembled(system, options["q"], options["u"])
    begun = time.perf_counter()
    result = _simulate(system, until, on, **options)
    if result is None:  # rank 0 has it
        return
    if on is not None:
        from .cluster.mpi import message_table

        say(message_table(result))
    spent = time.perf_counter() - begun
    for picture in plot:
        result.plot(path=picture)
    if report is not None:
        result.report(report)
    if animate is not None:
        with Bar(f"drawing {system.name}", 1.0) as bar:
            result.animate(animate, progress=bar)
    if complete:
        say(f"{output} was complete already")
    written = [str(p) for p in (None if complete else output, *plot, report, animate) if p is not None]
    if "stopped" in result.attrs:
        say(f"stopped at t = {result.t[-1]:.9g} s: {result.attrs['stopped']}")
    if written:
        say(f"wrote {', '.join(written)}")
    if json:
        from .result.summary import summary

        _print_json(summary(result) | {"seconds": spent, "files": written})
    elif not written:
        from .result.report import end_state

        _print_table([("time", f"{result.t[-1]:.9g} s"), *end_state(result, most=sys.maxsize)])


@app.command()
def check(model: ModelPath, json: Json = False, base: Base = None, passive: Passive = False) -> None:
    """Say whether a model is right, and what it has."""
    from .system.explain import counts

    system = _system(model, base, passive)
    left = _mobility(system)
    if json:
        _print_json({"ok": True, "mobility": left} | counts(system))
        return
    loops = len(system.cut_joints)
    closed = f" ({loops} of them closing {'loops' if loops > 1 else 'a loop'})" if loops else ""
    bodies, joints = system.model.size, len(system.model.joints)
    constrained = left is not None and system.constraints.count > 0
    some = f"{left} {'is' if left == 1 else 'are'} left" if left else "none are left: locked"
    leave = f", of which {some}" if constrained else ""
    print(f"ok: {system.name}: {bodies} bodies, {joints} joints{closed}, {system.nu} freedoms{leave}")


@app.command(short_help="Show how a model is understood.")
def explain(
    model: ModelPath,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="draw the tree of bodies and joints")] = None,
    measure: Annotated[bool, typer.Option("--measure", help="time every algorithm that can, on this host")] = False,
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Show how a model is understood: topology, freedoms, forces, what algorithms cost, which is chosen and why."""
    from .system.explain import as_dict

    if plot is not None:
        from .files.whole_file import writable
        from .result.plot import picture_path

        writable(picture_path(plot), "the picture")
    system = _system(model, base, passive)
    what = "explain --measure" if measure else "explain"
    with compiling(what) if system.constraints.count or measure else nullcontext():
        told: Any = as_dict(system, measure) if json else system.explain(measure)
    if json:
        _print_json(told)
    else:
        print(told)
    if plot is not None:
        from .result.plot import save_figure
        from .result.topology import topology_figure

        save_figure(topology_figure(system), plot)
        say(f"wrote {plot}")


@app.command()
def cite(
    model: ModelPath,
    algorithm: Algorithm = "auto",
    integrator: Integrator = "dopri5",
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Print the references (BibTeX) of what a run of this model uses."""
    from .result import cite as references

    print("\n\n".join(references.used(_system(model, base, passive), algorithm, integrator)))


def _values(given: list[str], option: str) -> dict[str, list[float]]:
    """Joint names and numbers from ``joint=1`` or ``joint=1,0,0``."""
    values: dict[str, list[float]] = {}
    for text in given:
        joint, equals, numbers = text.rpartition("=")
        try:
            values[joint] = [float(x) for x in numbers.split(",")]
        except ValueError:
            equals = ""
        if not equals or not joint:
            raise ModelError(f"{option} '{text}' cannot be read", expected="joint=number or joint=number,number,...")
    return values


def _system(model: Path, base: str | None, passive: bool) -> System:
    import whippletree as wt

    with notes():
        return wt.load(model, base=base, passive=passive).compile()


def _assembled(system: System, q: Any, u: Any) -> dict[str, Any]:
    import whippletree as wt

    with compiling("assembly"):
        state = wt.assemble(system, q, u)
    return {"q": state.q, "u": state.u}


def _mobility(system: System) -> int | None:
    """Freedoms that loops and constraints leave; complains where they cannot close. None where they are too many."""
    if system.constraints.count == 0:
        return system.nu
    from .analysis.mobility import MOST_OPEN, mobility

    try:
        with compiling("check"):
            return mobility(system).mobility
    except ModelError as refusal:
        if system.constraints.count <= MOST_OPEN:
            raise
        say(f"note: {refusal}")
        return None


def _simulate(system: System, until: float, on: Any, **options: Any) -> Any:
    import whippletree as wt

    simulate: Any = wt.simulate
    if on is not None:
        from .cluster.mpi import simulate_on_ranks

        simulate = partial(simulate_on_ranks, met=on)
    loops = " with loops" if system.constraints.count else ""
    with (
        compiling(f"run by {options['integrator']}{loops}"),
        notes(),
        terminated_in_order(),
        Bar(f"simulating {system.name}", until) as bar,
    ):
        return simulate(system, until, progress=bar, **options)


def _already_complete(output: Path) -> bool:
    """Whether there is nothing left to compute; if there is, say where that begins."""
    from .result.netcdf import read

    if not output.exists():
        say(f"there is no {output} yet: starting anew")
        return False
    kept = read(output)
    if not kept.attrs.get("complete"):
        say(f"going on from {output}, t = {kept.arrays['time'][-1]:.6g} s")
    return bool(kept.attrs.get("complete"))


def _print_json(values: dict[str, Any]) -> None:
    from json import dumps

    print(dumps(values, allow_nan=False))


def _print_table(rows: list[tuple[str, str]]) -> None:
    width = max(len(key) for key, _ in rows)
    for key, value in rows:
        print(f"{key:<{width}}  {value}")


def main() -> None:
    """The entry point ``whippletree``."""
    for stream in (sys.stdout, sys.stderr):  # a name that the terminal cannot show is no reason to fail
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # their commands add themselves
    from . import cli_bench, cli_gallery, cli_live, cli_reproduce, cli_results, cli_studies, cli_sweep  # noqa: F401

    app(prog_name="whippletree")
