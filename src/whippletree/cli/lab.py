"""The commands that show what the library does: bench, demo, reproduce. Parse, call the library, print."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ModelError
from .app import _picture, app, option
from .progress import Bar, compiling, notes, print_table, say

ENDINGS = {"animation": "_moving.html", "report": ".html", "plot": ".svg", "numbers": ".nc"}


def _lab(name: str) -> Any:
    """A module of the laboratory, which comes with the sources and is not part of the installed library."""
    try:
        return import_module(f"whippletree_lab.{name}")
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "whippletree_lab":
            raise
        hint = "it is part of the sources: clone the repository, and in it: pip install --editable ."
        raise ModelError("this command is not installed with the library", hint=hint) from None


@app.command(short_help="Time the dynamics beside other engines.")
def bench(
    family: Annotated[
        str,
        typer.Argument(
            metavar="FAMILY",
            help="chain, tree, robot, batch, rollout, simulate, scaling, divide, subchains, mpi, flexible, choose, "
            "theory, live, view, calls, whole; of loops: ladder, tower, lattice, stewart",
        ),
    ],
    sizes: Annotated[
        str | None, option("SIZES", "as 8:4096 or 7,30,128; names for robots", "--sizes", "--bodies")
    ] = None,
    against: Annotated[str, option("ENGINES", "as pinocchio,mujoco,drake,exudyn")] = "",
    rounds: Annotated[int, option("N", "take the best of so many", min=1)] = 40,
    modes: Annotated[
        str | None, option("NUMBERS", "flexible: modes of a body, as 1:20 (all of them) or 1,5,10")
    ] = None,
    fidelity: Annotated[str, option("NAME", "flexible: ruthless, full or stiffened bodies")] = "ruthless",
    output: Annotated[Path | None, option("FILE", "write the numbers (.json)", "--output", "-o")] = None,
    plot: Annotated[Path | None, option("FILE", "write a picture of cost against size")] = None,
) -> None:
    """Time the dynamics side by side with other engines, after checking that they agree.

    \b
    whippletree bench chain --bodies 8:128 --against pinocchio,mujoco
    whippletree bench ladder --sizes 4:256 --against pinocchio,mujoco --plot growth.svg
    whippletree bench flexible --bodies 10 --modes 1:20 --against exudyn
    """
    from ..files.whole_file import writable

    measure, report = _lab("bench"), _lab("report.report")
    if output is not None:
        writable(output, "the numbers")
    _picture(plot)
    with nullcontext() if family == "theory" else compiling(f"bench {family}"):
        results = measure.run(
            family, sizes=sizes, against=against, rounds=rounds, modes=modes, fidelity=fidelity,
            progress=say if sys.stderr.isatty() else None,
        )  # fmt: skip
    report.table(results)
    written = [report.save(results, output)] if output is not None else []
    written += report.plot(results, plot) if plot is not None else []
    if written:
        say("wrote " + ", ".join(map(str, written)))


@app.command(short_help="List motions worth seeing, and run one.")
def demo(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="without it they are listed")] = None,
    output: Annotated[Path, option("FOLDER", "where its files go", "--output", "-o")] = Path("demo"),
    view: Annotated[bool, typer.Option("--view", help="open the animation in the browser")] = False,
) -> None:
    """List the motions of the gallery; run one and leave its numbers, plot, report and animation.

    \b
    whippletree demo
    whippletree demo four_bar -o demo --view
    """
    from ..gallery import gallery, motion

    if name is None:
        print_table([(m.name, m.says) for m in gallery().values()])
        return
    from ..files.whole_file import writable

    chosen = motion(name)
    files = {kind: output / f"{name}{end}" for kind, end in ENDINGS.items()}
    output.mkdir(parents=True, exist_ok=True)
    for path in files.values():
        writable(path, "the demo")
    say(f"{chosen.says}\nThe same as: whippletree run models/{name}.toml {chosen.options()}")
    with compiling(f"demo of {name}"), notes(), Bar(f"simulating {name}", chosen.until) as bar:
        result = chosen.run(bar)
    result.save(files["numbers"])
    result.plot(path=files["plot"], scale=chosen.scale)
    result.report(files["report"], scale=chosen.scale)
    result.animate(files["animation"], scale=chosen.scale)
    print_table([(kind, str(path)) for kind, path in files.items()])
    if view:
        typer.launch(files["animation"].resolve().as_uri())


@app.command(short_help="Redo a paper's examples, tables and figures.")
def reproduce(
    what: Annotated[
        list[str],
        typer.Argument(metavar="WHAT...", help="grcr, hybrid, constrained, flexible, dcae, validation, or all"),
    ],
    output: Annotated[Path, option("FOLDER", "write pages and pictures into this folder", "--output", "-o")] = Path(
        "reproduced"
    ),
    quick: Annotated[bool, typer.Option("--quick", help="counts and trajectories only: nothing is timed")] = False,
) -> None:
    """Redo the examples, tables and figures of the papers from this code, beside what the papers state.

    \b
    whippletree reproduce grcr
    whippletree reproduce all -o docs
    """
    again = _lab("reproduce")
    with compiling("reproduction"), notes():
        written = again.run(what, output, quick=quick, progress=say if sys.stderr.isatty() else None)
    say("wrote " + ", ".join(str(path) for path in written if path.suffix == ".md"))
