"""The command line: parse, call the library, print. Data goes to stdout, the rest to stderr."""

from __future__ import annotations

import gc
import shlex
import sys
from contextlib import nullcontext
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from .. import __version__, errors
from ..errors import ModelError
from . import progress

if TYPE_CHECKING:
    from ..system.system import System


class Commands(typer.core.TyperGroup):
    """Turns what the library complains about into one message and an exit code."""

    def list_commands(self, ctx: Any) -> list[str]:
        """``run`` before the others."""
        return sorted(super().list_commands(ctx), key=lambda name: name != "run")

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as e:
            progress.say("; ".join(["stopped", *getattr(e, "__notes__", ())]))
            raise typer.Exit(143 if isinstance(e, progress.Terminated) else 130) from None
        except errors.WhippletreeError as e:
            reported = _with_command(e) if isinstance(e, errors.OffConstraints) else e
            progress.say("\n  ".join([f"error: {reported}", *getattr(e, "__notes__", ())]))
            raise typer.Exit(2 if isinstance(e, ModelError) else 1) from None
        except BrokenPipeError:  # the reader of our output has gone, as in `| head`
            raise
        except (OSError, MemoryError) as e:
            progress.say(f"error: {e or 'out of memory'}")
            raise typer.Exit(1) from None


def _with_command(e: errors.OffConstraints) -> errors.OffConstraints:
    """The same complaint, with the command to type."""
    again = shlex.join(["whippletree", *sys.argv[1:], "--assemble"])
    return errors.OffConstraints(e.what, expected=e.expected, got=e.got, hint=f"start where it closes: {again}")


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


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option with a value; its name follows from the argument where none is given."""
    return typer.Option(*names, metavar=metavar, help=help, **more)


ModelPath = Annotated[Path, typer.Argument(metavar="MODEL", help="model file: .toml, .urdf or MJCF .xml")]
VALUES = "JOINT=VALUE[,VALUE]"
Q = Annotated[list[str], option(VALUES, "coordinates, at the start; may be repeated", "--q")]
U = Annotated[list[str], option(VALUES, "velocities, at the start", "--u")]
Tau = Annotated[list[str], option(VALUES, "constant joint forces", "--tau")]
Base = Annotated[str | None, option("KIND", "'free' lets the base of a robot float")]
Passive = Annotated[bool, typer.Option("--passive", help="let springs, damping, friction and limits of joints act")]
Algorithm = Annotated[str, option("NAME", "'auto' or the name of an algorithm")]
Integrator = Annotated[str, option("NAME", "the time integrator")]
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
def check(model: ModelPath, json: Json = False, base: Base = None, passive: Passive = False) -> None:
    """Say whether a model is right, and what it has."""
    from ..system.explain import counts

    system = _system(model, base, passive)
    left = _mobility(system)
    if json:
        progress.print_json({"ok": True, "mobility": left} | counts(system))
        return
    loops = len(system.cut_joints)
    closed = f" ({loops} of them closing {'loops' if loops > 1 else 'a loop'})" if loops else ""
    bodies, joints = system.model.size, len(system.model.joints)
    constrained = left is not None and system.constraints.count > 0
    some = f"{left} {'is' if left == 1 else 'are'} left" if left else "none are left: locked"
    leave = f", of which {some}" if constrained else ""
    print(f"ok: {system.name}: {bodies} bodies, {joints} joints{closed}, {system.nu} degrees of freedom{leave}")


@app.command("warm-up", short_help="Compile what a model will need.")
def warm_up(
    model: Annotated[Path | None, typer.Argument(help="model file; an arm of 7 joints without it")] = None,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Compile the kernels that calls and runs of a model need, so that the first of them starts at once."""
    from time import monotonic

    import whippletree as wt

    begun = monotonic()
    system = _system(model, base, passive) if model else _arm().compile()
    with progress.compiling(f"work on '{system.name}'"), progress.notes():
        count = wt.warm_up(system)
    print(f"compiled {count} kernels in {monotonic() - begun:.0f} s" if count else "all kernels are on disk")


def _arm() -> Any:
    """Rods on hinges."""
    import whippletree as wt

    from ..joints import HINGE

    m = wt.Model("arm of 7")
    for n in range(7):
        m.body(f"b{n}", **wt.rod(mass=1.0, length=0.3, axis="x"))
        parent, at = (f"b{n - 1}", (0.3, 0, 0)) if n else (m.ground, (0, 0, 0))
        m.joint(f"j{n}", HINGE, parent, f"b{n}", axis="zy"[n % 2], at=at)
    return m


@app.command(short_help="Show how a model is understood.")
def explain(
    model: ModelPath,
    plot: Annotated[Path | None, option("FILE", "draw the tree of bodies and joints")] = None,
    measure: Annotated[bool, typer.Option("--measure", help="time every algorithm that can, on this host")] = False,
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Show how a model is understood: topology, DOF, forces, what algorithms cost, which is chosen and why."""
    from ..system.explain import as_dict

    _picture(plot)
    system = _system(model, base, passive)
    what = "explain --measure" if measure else "explain"
    with progress.compiling(what) if system.constraints.count or measure else nullcontext():
        reported: Any = as_dict(system, measure) if json else system.explain(measure)
    if json:
        progress.print_json(reported)
    else:
        print(reported)
    if plot is not None:
        from ..result.pictures.plot import save_figure
        from ..result.pictures.topology import topology_figure

        save_figure(topology_figure(system), plot)
        progress.say(f"wrote {plot}")


@app.command()
def cite(
    model: ModelPath,
    algorithm: Algorithm = "auto",
    integrator: Integrator = "dopri5",
    stabilization: Annotated[str, option("HOW", "how loops stay closed: projection, baumgarte or none")] = "projection",
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Print the references (BibTeX) of all that a run of this model uses."""
    from ..result import cite as references

    print("\n\n".join(references.used(_system(model, base, passive), algorithm, integrator, stabilization)))


def _picture(path: Path | None) -> None:
    """Complain now about a picture that could not be written in the end."""
    if path is not None:
        from ..files.whole_file import writable
        from ..result.pictures.plot import picture_path

        writable(picture_path(path), "the picture")


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

    with progress.notes():
        return wt.load(model, base=base, passive=passive).compile()


def _assembled(system: System, q: Any, u: Any) -> dict[str, Any]:
    import whippletree as wt

    with progress.compiling("assembly"):
        state = wt.assemble(system, q, u)
    return {"q": state.q, "u": state.u}


def _mobility(system: System) -> int | None:
    """DOF that loops and constraints leave; complains where they cannot close. None where they are too many."""
    if system.constraints.count == 0:
        return system.nu
    from ..analysis.mobility import MOST_OPEN, mobility
    from ..integrate.assemble import consistent_velocities

    try:
        with progress.compiling("check"):
            found = mobility(system)
            consistent_velocities(system, found.q)
            return found.mobility
    except ModelError as refusal:
        if system.constraints.count <= MOST_OPEN:
            raise
        progress.say(f"note: {refusal}")
        return None


def main() -> None:
    """The entry point ``whippletree``."""
    for stream in (s for s in (sys.stdout, sys.stderr) if isinstance(s, TextIOWrapper)):
        stream.reconfigure(errors="backslashreplace")  # a name that the terminal cannot show is no reason to fail
    gc.set_threshold(200_000)  # a model of 100,000 bodies is millions of objects, and all of them stay
    from . import lab, live, results, run, studies, sweep  # noqa: F401, their commands add themselves

    app(prog_name="whippletree")
