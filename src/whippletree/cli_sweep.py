"""The command that runs a model many times. Parse, call the library, print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .cli import Assemble, Base, Json, ModelPath, Passive, Q, Tau, U, _picture, _print_json, _system, _values, app
from .cli_progress import Bar, compiling, notes, say, terminated_in_order
from .errors import ModelError

if TYPE_CHECKING:
    from .cluster.study import Sweep

MOST_TOLD = 10  # failures; the file has them all


@app.command(short_help="Run a model many times with other numbers.")
def sweep(
    model: ModelPath,
    until: Annotated[float, typer.Option(metavar="SECONDS", help="end of each run")],
    set_: Annotated[
        list[str], typer.Option("--set", metavar="PATH=VALUES", help="as bodies.rod.mass=0.5:2:64; may be repeated")
    ],
    design: Annotated[str, typer.Option(metavar="NAME", help="grid, together, latin, sobol or random")] = "grid",
    samples: Annotated[int | None, typer.Option(metavar="N", help="runs of a random design")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="of a random design")] = 0,
    end: Annotated[list[str], typer.Option(metavar="NAME", help="kept at the end, as hinge.q")] = [],  # noqa: B006
    extremes: Annotated[list[str], typer.Option(metavar="NAME", help="kept: least and largest")] = [],  # noqa: B006
    paths: Annotated[list[str], typer.Option("--path", metavar="NAME", help="kept over time")] = [],  # noqa: B006
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="write the dataset (.nc), and runs as they come"),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="make the runs that are missing in the output")] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="write a picture of what is kept first")] = None,
    on: Annotated[str | None, typer.Option(metavar="PLACE", help="'dask', or a scheduler as tcp://host:8786")] = None,
    workers: Annotated[int | None, typer.Option(metavar="N", help="processes; default: the cores")] = None,
    output_step: Annotated[float | None, typer.Option(metavar="SECONDS", help="time between kept states")] = None,
    q: Q = [],  # noqa: B006
    u: U = [],  # noqa: B006
    tau: Tau = [],  # noqa: B006
    assemble: Assemble = False,
    algorithm: Annotated[str | None, typer.Option(metavar="NAME", help="'auto' or the name of an algorithm")] = None,
    integrator: Annotated[str | None, typer.Option(metavar="NAME", help="the time integrator")] = None,
    rtol: Annotated[float | None, typer.Option(metavar="NUMBER", help="relative tolerance of a step")] = None,
    atol: Annotated[float | None, typer.Option(metavar="NUMBER", help="absolute tolerance of a step")] = None,
    step: Annotated[float | None, typer.Option(metavar="SECONDS", help="fixed step, or the largest")] = None,
    stabilization: Annotated[str | None, typer.Option(metavar="HOW", help="how loops stay closed")] = None,
    json: Json = False,
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Run a model many times with other numbers, and keep what is asked of each run in one dataset.

    \b
    whippletree sweep models/pendulum.toml --until 2 --set bodies.rod.mass=0.5:2:64 --end hinge.q -o mass.nc
    whippletree sweep models/pendulum.toml --until 2 --set q.hinge=0.1:3:20 --set gravity=1.62,9.81 --plot map.svg
    whippletree sweep models/pendulum.toml --until 2 --set q.hinge=0:3 --set u.hinge=-1:1 --design latin --samples 100

    Without an output file the numbers are printed, with commas.
    """
    import whippletree as wt

    _picture(plot)
    if output is None and paths:
        raise ModelError("--path needs a file to write to", hint="name it with -o")
    parameters = _parameters(set_)
    options: dict[str, Any] = {"design": design, "samples": samples, "seed": seed, "assemble": assemble}
    options |= {"end": end or None, "extremes": extremes, "paths": paths, "output_step": output_step}
    options |= {"q": _values(q, "--q"), "u": _values(u, "--u"), "tau": _values(tau, "--tau") or None}
    options |= {"on": on, "workers": workers, "output": output, "resume": resume}
    settings = {"algorithm": algorithm, "integrator": integrator, "rtol": rtol, "atol": atol, "step": step}
    settings |= {"stabilization": stabilization}
    options |= {name: value for name, value in settings.items() if value is not None}
    system = _system(model, base, passive)
    kind = f"sweep by {integrator or 'dopri5'}" + " with loops" * bool(system.constraints.count)
    with compiling(kind), notes(), terminated_in_order(), RunsBar(f"sweeping {system.name}", 1.0) as bar:
        study = wt.sweep(system, parameters, until, progress=bar, **options)
    if plot is not None:
        study.plot(path=plot)
    _tell(study, output, plot, json)


class RunsBar(Bar):
    """Runs made, of all."""

    def __call__(self, reached: Any) -> None:
        self.total = reached.runs
        super().__call__(reached)

    def details(self, reached: Any) -> str:
        failed = f", {reached.failed} failed" if reached.failed else ""
        return f"{int(reached)} of {reached.runs} runs{failed}, time left"


def _parameters(given: list[str]) -> dict[str, str]:
    parameters: dict[str, str] = {}
    for text in given:
        name, equals, values = text.rpartition("=")
        if not (name and equals and values):
            raise ModelError(f"--set '{text}' cannot be read", expected="path=values, as bodies.rod.mass=0.5:2:64")
        if name in parameters:
            raise ModelError(f"--set names '{name}' twice", hint="list all its values in one")
        parameters[name] = values
    return parameters


def _tell(study: Sweep, output: Path | None, plot: Path | None, json: bool) -> None:
    """What was made: files, numbers, and the failures, which make the exit code 1."""
    written = [str(path) for path in (output, plot) if path is not None]
    if json:
        failures = [{"run": f.run, "parameters": f.parameters, "message": f.message} for f in study.failures]
        attrs = study.dataset.attrs
        known = {"model": attrs["title"], "runs": study.runs, "done": attrs["done"], "complete": study.complete}
        _print_json(known | {"failures": failures, "files": written})
    elif output is None:
        _print_runs(study)
    if written:
        say(f"wrote {', '.join(written)}")
    for failure in study.failures[:MOST_TOLD]:
        at = ", ".join(f"{name} = {_short(value)}" for name, value in failure.parameters.items())
        say(f"failed at {at}: {failure.message}")
    if study.failures:
        more = "" if study.complete else "; --resume tries those again that were never finished"
        say(f"{len(study.failures)} of {study.runs} runs failed{more}")
        raise typer.Exit(1)


def _print_runs(study: Sweep) -> None:
    """Parameters and numbers of each run, as comma-separated values that read back to the same bits."""
    import csv

    data = study.dataset[[str(name) for name in study.dataset if not str(name).startswith("failure_")]]
    frame = data.stack(at=list(data.dims)) if "run" not in data.dims else data
    names = [*(str(name) for name in data.coords if name != "run"), *map(str, data)]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(names)
    out.writerows(zip(*(frame[name].values.tolist() for name in names), strict=True))


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
