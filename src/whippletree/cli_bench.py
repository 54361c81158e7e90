"""The command that times the library. Parse, call the library, print."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from .cli import app
from .cli_progress import compiling, say


@app.command(short_help="Time the dynamics beside other engines.")
def bench(
    family: Annotated[
        str,
        typer.Argument(
            metavar="FAMILY",
            help="chain, tree, robot, batch, rollout, simulate, scaling, divide, subchains, mpi, flexible, choose, "
            "theory, live, view; of loops: ladder, tower, lattice, stewart",
        ),
    ],
    sizes: Annotated[
        str | None,
        typer.Option("--sizes", "--bodies", metavar="SIZES", help="as 8:4096 or 7,30,128; names for robots"),
    ] = None,
    against: Annotated[str, typer.Option(metavar="ENGINES", help="as pinocchio,mujoco,drake,exudyn")] = "",
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="take the best of so many")] = 40,
    modes: Annotated[
        str | None, typer.Option(metavar="NUMBERS", help="flexible: modes of a body, as 1:20 (all of them) or 1,5,10")
    ] = None,
    fidelity: Annotated[
        str, typer.Option(metavar="NAME", help="flexible: ruthless, full or stiffened bodies")
    ] = "ruthless",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="write the numbers (.json)")
    ] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="write a picture of cost against size")] = None,
) -> None:
    """Time the dynamics side by side with other engines, after checking that they agree.

    \b
    whippletree bench chain --bodies 8:128 --against pinocchio,mujoco
    whippletree bench ladder --sizes 4:256 --against pinocchio,mujoco --plot growth.svg
    whippletree bench flexible --bodies 10 --modes 1:20 --against exudyn
    """
    from . import bench as measure
    from .bench import report
    from .files.whole_file import writable
    from .result.plot import picture_path

    if output is not None:
        writable(output, "the numbers")
    if plot is not None:
        writable(picture_path(plot), "the picture")
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
