"""The command that redoes the papers and the validation. Parse, call the library, print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from .cli import app
from .cli_progress import compiling, notes, say


@app.command(short_help="Redo a paper's examples, tables and figures.")
def reproduce(
    what: Annotated[
        list[str],
        typer.Argument(metavar="WHAT...", help="grcr, hybrid, constrained, flexible, dcae, validation, or all"),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="write pages and pictures into this folder")
    ] = Path("reproduced"),
    quick: Annotated[bool, typer.Option("--quick", help="counts and trajectories only: nothing is timed")] = False,
) -> None:
    """Redo the examples, tables and figures of the papers from this code, beside what the papers state.

    \b
    whippletree reproduce grcr
    whippletree reproduce all -o docs
    """
    from . import reproduce as again

    with compiling("reproduction"), notes():
        written = again.run(what, output, quick=quick, progress=say if sys.stderr.isatty() else None)
    say("wrote " + ", ".join(str(path) for path in written if path.suffix == ".md"))
