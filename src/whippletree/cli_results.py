"""The commands that look at a result: plot, report, animate. Parse, call the library, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .cli import app
from .cli_progress import Bar, say

ResultPath = Annotated[Path, typer.Argument(metavar="RESULT", help="a file that 'run -o' wrote")]


@app.command(short_help="Draw a result over time.")
def plot(
    result: ResultPath,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="as hinge.q arm.position energy")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=".svg, .png or .pdf")] = None,
) -> None:
    """Draw names of a result over time; without names the mechanism, its coordinates and energies.

    \b
    whippletree plot run.nc hinge.q energy -o hinge.png
    """
    from .files.whole_file import writable
    from .result import load_result
    from .result.plot import picture_path

    path = writable(picture_path(output or result.with_suffix(".svg")), "the picture")
    load_result(result).plot(*(names or ()), path=path)
    say(f"wrote {path}")


@app.command(short_help="Write a page about a result.")
def report(
    result: ResultPath,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="the page (.html)")] = None,
) -> None:
    """Write one HTML page about a result: motion, energy balance, model, method, references.

    \b
    whippletree report run.nc -o run.html
    """
    from .files.whole_file import writable
    from .result import load_result

    path = writable(output or result.with_suffix(".html"), "the report")
    load_result(result).report(path)
    say(f"wrote {path}")


@app.command(short_help="Write the mechanism in motion.")
def animate(
    result: ResultPath,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help=".html or .gif")] = None,
    scale: Annotated[float, typer.Option(help="of the deformation of flexible bodies, as drawn")] = 1.0,
) -> None:
    """Write the mechanism in motion: a page to turn and to scrub, or a GIF.

    \b
    whippletree animate run.nc -o run.gif
    """
    from .files.whole_file import writable
    from .result import load_result
    from .result.animation import animation_path

    path = writable(animation_path(output or result.with_suffix(".animation.html")), "the animation")
    with Bar(f"drawing {result.stem}", 1.0) as bar:
        load_result(result).animate(path, scale=scale, progress=bar)
    say(f"wrote {path}")
