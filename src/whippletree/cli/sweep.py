"""The command that runs a model many times. Parse, call the library, print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ModelError
from .app import Assemble, Base, Json, ModelPath, Passive, Q, Tau, U, _picture, _system, _values, app, option
from .progress import Bar, compiling, notes, print_json, say, terminated_in_order

if TYPE_CHECKING:
    from ..sweeps.study import Sweep

MOST_REPORTED = 10  # failures; the file has them all


@app.command(short_help="Run a model many times with other numbers.")
def sweep(
    model: ModelPath,
    until: Annotated[float, option("SECONDS", "end of each run")],
    set_: Annotated[list[str], option("PATH=VALUES", "as bodies.rod.mass=0.5:2:64; may be repeated", "--set")],
    design: Annotated[str, option("NAME", "grid, together, latin, sobol or random")] = "grid",
    samples: Annotated[int | None, option("N", "runs of a random design")] = None,
    seed: Annotated[int, option("N", "of a random design")] = 0,
    end: Annotated[list[str], option("NAME", "kept at the end, as hinge.q")] = [],  # noqa: B006
    extremes: Annotated[list[str], option("NAME", "kept: least and largest")] = [],  # noqa: B006
    paths: Annotated[list[str], option("NAME", "kept over time", "--path")] = [],  # noqa: B006
    output: Annotated[
        Path | None, option("FILE", "write the dataset (.nc), and runs as they come", "--output", "-o")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="make the runs that are missing in the output")] = False,
    plot: Annotated[Path | None, option("FILE", "write a picture of what is kept first")] = None,
    on: Annotated[str | None, option("PLACE", "'dask', or a scheduler as tcp://host:8786")] = None,
    workers: Annotated[int | None, option("N", "processes; default: the cores")] = None,
    output_step: Annotated[float | None, option("SECONDS", "time between kept states")] = None,
    q: Q = [],  # noqa: B006
    u: U = [],  # noqa: B006
    tau: Tau = [],  # noqa: B006
    assemble: Assemble = False,
    algorithm: Annotated[str | None, option("NAME", "'auto' or the name of an algorithm")] = None,
    integrator: Annotated[str | None, option("NAME", "the time integrator")] = None,
    rtol: Annotated[float | None, option("NUMBER", "relative tolerance of a step")] = None,
    atol: Annotated[float | None, option("NUMBER", "absolute tolerance of a step")] = None,
    step: Annotated[float | None, option("SECONDS", "fixed step, or the largest")] = None,
    stabilization: Annotated[str | None, option("HOW", "how loops stay closed")] = None,
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
    settings: dict[str, Any] = {"algorithm": algorithm, "integrator": integrator, "stabilization": stabilization}
    settings |= {"rtol": rtol, "atol": atol, "step": step}
    options |= {name: value for name, value in settings.items() if value is not None}
    system = _system(model, base, passive)
    kind = f"sweep by {integrator or 'dopri5'}" + " with loops" * bool(system.constraints.count)
    with compiling(kind), notes(), terminated_in_order(), RunsBar(f"sweeping {system.name}", 1.0) as bar:
        study = wt.sweep(system, parameters, until, progress=bar, **options)
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
    if plot is not None:
        study.plot(path=plot)
    written = [str(path) for path in (output, plot) if path is not None]
    if json:
        failures = [failure._asdict() for failure in study.failures]
        attrs = study.dataset.attrs
        known = {"model": attrs["title"], "runs": study.runs, "done": attrs["done"], "complete": study.complete}
        warned = [noted._asdict() for noted in study.warnings]
        print_json(known | {"failures": failures, "warnings": warned, "files": written})
    elif output is None:
        _print_runs(study)
    if written:
        say(f"wrote {', '.join(written)}")
    for failure in study.failures[:MOST_REPORTED]:
        at = ", ".join(f"{name} = {_short(value)}" for name, value in failure.parameters.items())
        say(f"failed at {at}: {failure.message}")
    if study.failures:
        more = "" if study.complete else "; --resume tries those again that were never finished"
        say(f"{len(study.failures)} of {study.runs} runs failed{more}")
        raise typer.Exit(1)


def _print_runs(study: Sweep) -> None:
    """Parameters and numbers of each run, as comma-separated values that read back to the same bits."""
    import csv

    from ..sweeps.study import variables

    data = study.dataset[variables(study.dataset)]
    frame = data.stack(at=list(data.dims)) if "run" not in data.dims else data
    names = [*(str(name) for name in data.coords if name != "run"), *map(str, data)]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(names)
    out.writerows(zip(*(frame[name].values.tolist() for name in names), strict=True))


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
