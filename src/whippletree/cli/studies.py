"""The commands of studies: assemble, equilibrium, linearize, modes, verify. Parse, call the library, print."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ModelError
from . import progress
from .app import Assemble, Base, Json, ModelPath, Passive, Q, Tau, U, _assembled, _system, _values, app, option

if TYPE_CHECKING:
    from ..system.system import System

Held = Annotated[list[str], option("JOINT", "a joint that is held; may be repeated", "--fix")]


@app.command(short_help="Find the nearest state in which all loops close.")
def assemble(
    model: ModelPath,
    q: Q = [],  # noqa: B006
    u: U = [],  # noqa: B006
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Find the state nearest to --q and --u in which all loops close, and print it, with options for run.

    \b
    whippletree assemble models/four_bar.toml --q shaft=0.5 --u shaft=3

    Joints that are named stay where they are, if the loops allow it.
    """
    from ..analysis.tables import assembly

    given = _values(q, "--q"), _values(u, "--u")
    system = _system(model, base, passive)
    state = _assembled(system, *given)
    found = assembly(system, state["q"], state["u"])
    if json:
        progress.print_json(found.as_dict())
    else:
        print(found.table())


@app.command(short_help="Find a pose in which a model stays at rest.")
def equilibrium(
    model: ModelPath,
    q: Q = [],  # noqa: B006
    tau: Tau = [],  # noqa: B006
    fix: Held = [],  # noqa: B006
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Find a pose in which a model stays at rest, starting at --q, and the forces at joints that are held.

    \b
    whippletree equilibrium models/double_pendulum.toml --tau elbow=2
    """
    import whippletree as wt

    given = _values(q, "--q"), _values(tau, "--tau")
    system = _system(model, base, passive)
    with _computing("equilibrium", system):
        found = wt.equilibrium(system, *given, fixed=fix)
    _print_study(found, json, "equilibrium_table")


@app.command(short_help="Print the linear model of small deviations.")
def linearize(
    model: ModelPath,
    q: Q = [],  # noqa: B006
    u: U = [],  # noqa: B006
    tau: Tau = [],  # noqa: B006
    hold: Annotated[bool, typer.Option("--hold", help="with the joint forces that hold the velocities")] = False,
    drive: Annotated[list[str], option("JOINT", "an input; default: all joints")] = [],  # noqa: B006
    see: Annotated[list[str], option("NAME", "an output, as tip.position")] = [],  # noqa: B006
    output: Annotated[Path | None, option("FILE", ".npz or .json", "--output", "-o")] = None,
    assemble: Assemble = False,
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Print the matrices A, B, C, D and the poles of small deviations from a state.

    \b
    whippletree linearize models/pendulum.toml --q hinge=3.14159265 --see tip.position -o upright.npz
    """
    import whippletree as wt

    if output is not None:
        from ..analysis.linearize import linear_path
        from ..files.whole_file import writable

        writable(linear_path(output), "the linear model")
    if hold and tau:
        raise ModelError("--hold and --tau exclude each other", hint="--hold finds the joint forces itself")
    pose, velocities, forces = (_values(given, option) for given, option in ((q, "--q"), (u, "--u"), (tau, "--tau")))
    point: dict[str, Any] = {"q": pose, "u": velocities}
    system = _system(model, base, passive)
    if assemble:
        point = _assembled(system, pose, velocities)
    with _computing("linear model", system):
        linear = wt.linearize(system, **point, tau=forces or None, outputs=see, inputs=drive or None, hold=hold)
    if output is not None:
        linear.save(output)
        progress.say(f"wrote {output}")
    if output is None or json:
        _print_study(linear, json, "linear_table")


@app.command(short_help="Print natural frequencies and damping.")
def modes(
    model: ModelPath,
    q: Q = [],  # noqa: B006
    tau: Tau = [],  # noqa: B006
    fix: Held = [],  # noqa: B006
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Print natural frequencies, damping and growth about the equilibrium that is found from --q.

    \b
    whippletree modes models/double_pendulum.toml
    """
    import whippletree as wt

    given = _values(q, "--q"), _values(tau, "--tau")
    system = _system(model, base, passive)
    with _computing("set of modes", system):
        found = wt.eigenmodes(system, *given, fixed=fix)
    _print_study(found, json, "modes_table")


@app.command(short_help="Check every algorithm against the others, and against laws.")
def verify(
    model: ModelPath,
    states: Annotated[int, option("COUNT", "random states to solve")] = 20,
    until: Annotated[float, option("SECONDS", "of a run by each algorithm; 0: none")] = 0.2,
    seed: Annotated[int, option("NUMBER", "of the random states")] = 0,
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Solve a model by every algorithm that can, at random states and along a short run, and compare.

    \b
    whippletree verify models/four_bar.toml

    Prints the worst difference of each, where it is, what is allowed, and the conditioning that explains it. Exit code
    1 where they do not agree.
    """
    import whippletree as wt

    system = _system(model, base, passive)
    with _computing("check by every algorithm", system), progress.Bar(f"verifying {system.name}", 1.0) as bar:
        found = wt.verify(system, states=states, until=until, seed=seed, progress=bar)
    _print_study(found, json)
    if not found.holds:
        raise typer.Exit(1)


def _print_study(study: Any, as_json: bool, table: str = "") -> None:
    from ..analysis import tables

    if as_json:
        progress.print_json(study.as_dict())
    else:
        print(getattr(tables, table)(study) if table else study)


def _computing(what: str, system: System) -> AbstractContextManager[None]:
    return progress.compiling(what + " with loops" * bool(system.constraints.count))
