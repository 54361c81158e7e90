"""The commands that look at a result: plot, report, animate, view. Parse, call the library, print."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ModelError
from . import app as shared
from . import progress

if TYPE_CHECKING:
    from ..result import Result

Scale = Annotated[float, shared.option("TIMES", "draw flexible bodies deformed so many times as much")]
ResultPath = Annotated[Path, typer.Argument(metavar="RESULT", help="a file that 'run -o' wrote")]


@shared.app.command(short_help="Draw a result over time.")
def plot(
    result: ResultPath,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="as hinge.q arm.position energy")
    ] = None,
    output: Annotated[Path | None, shared.option("FILE", ".svg, .png or .pdf", "--output", "-o")] = None,
    scale: Scale = 1.0,
) -> None:
    """Draw names of a result over time; without names the mechanism, its coordinates and energies.

    \b
    whippletree plot run.nc hinge.q energy -o hinge.png
    """
    from ..files.whole_file import writable
    from ..result import load_result
    from ..result.pictures.plot import picture_path

    path = writable(picture_path(output or result.with_suffix(".svg")), "the picture")
    load_result(result).plot(*(names or ()), path=path, scale=scale)
    progress.say(f"wrote {path}")


@shared.app.command(short_help="Write a page about a result.")
def report(
    result: ResultPath,
    output: Annotated[Path | None, shared.option("FILE", "the page (.html)", "--output", "-o")] = None,
    scale: Scale = 1.0,
) -> None:
    """Write one HTML page about a result: motion, energy balance, model, method, references.

    \b
    whippletree report run.nc -o run.html
    """
    from ..files.whole_file import writable
    from ..result import load_result

    path = writable(output or result.with_suffix(".html"), "the report")
    load_result(result).report(path, scale=scale)
    progress.say(f"wrote {path}")


@shared.app.command(short_help="Write the mechanism in motion.")
def animate(
    result: ResultPath,
    output: Annotated[Path | None, shared.option("FILE", ".html or .gif", "--output", "-o")] = None,
    scale: Scale = 1.0,
) -> None:
    """Write the mechanism in motion: a page to turn and to scrub, or a GIF.

    \b
    whippletree animate run.nc -o run.gif
    """
    from ..files.whole_file import writable
    from ..result import load_result
    from ..result.pictures.animation import animation_path

    path = writable(animation_path(output or result.with_suffix(".animation.html")), "the animation")
    with progress.Bar(f"drawing {result.stem}", 1.0) as bar:
        load_result(result).animate(path, scale=scale, progress=bar)
    progress.say(f"wrote {path}")


@shared.app.command(short_help="Show a result or a model in the browser.")
def view(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="a result (.nc), or a model: .toml, .urdf or MJCF .xml")],
    host: Annotated[str, shared.option("ADDRESS", "0.0.0.0 lets other machines look")] = "127.0.0.1",
    port: Annotated[int | None, shared.option("NUMBER", "the first free one from 8080 on")] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="do not open a browser, only say the address")] = False,
    follow: Annotated[str | None, shared.option("BODY", "the camera goes with this body")] = None,
    speed: Annotated[float, shared.option("TIMES", "as fast as the clock")] = 1.0,
    scale: Scale = 1.0,
    html: Annotated[Path | None, shared.option("FILE", "write a page that plays alone, and end")] = None,
    screenshot: Annotated[Path | None, shared.option("FILE", "write a picture (.png), and end")] = None,
    at: Annotated[float | None, shared.option("SECONDS", "the moment of the picture")] = None,
    model: Annotated[Path | None, shared.option("MODEL", "take shapes and meshes from this model")] = None,
    packages: Annotated[list[Path], shared.option("FOLDER", "of ROS packages; may be repeated")] = [],  # noqa: B006
    base: shared.Base = None,
) -> None:
    """Show a result or a model in the browser, until Ctrl-C; or write it as a page or a picture.

    \b
    whippletree view run.nc
    whippletree view run.nc --html run.html --screenshot run.png --at 1.5
    whippletree view models/four_bar.toml
    """
    run = partial(_shown, file, base, packages)
    if html is not None or screenshot is not None:
        _write(run, html, screenshot, at, speed, scale=scale, visuals=_visuals(model, packages))
        return
    if not _openable(file):
        run()  # complains
    from ..view.window import view as show

    options: dict[str, Any] = {"scale": scale, "visuals": _visuals(model, packages), "follow": follow, "speed": speed}
    with progress.notes():
        replay = show(run, host=host, port=port, open_browser=not no_open, wait=False, say=progress.say, **options)
    with progress.terminated_in_order():
        replay.wait(progress.say)


def _write(run: Any, html: Path | None, screenshot: Path | None, at: Any, speed: float, **options: Any) -> None:
    from ..files.whole_file import writable
    from ..view.export import named, write_page, write_picture

    for path, ending, what in ((html, ".html", "a page"), (screenshot, ".png", "a picture")):
        if path is not None:
            writable(named(path, ending, what), what)
    with progress.notes():
        result = run()
        if html is not None:
            with progress.Bar(f"drawing {html.stem}", 1.0) as bar:
                write_page(result, html, speed=speed, progress=bar, **options)
        if screenshot is not None:
            write_picture(result, screenshot, at=at, **options)
    progress.say(f"wrote {', '.join(str(path) for path in (html, screenshot) if path is not None)}")


def _openable(file: Path) -> bool:
    """Whether it looks like something to show: a window opens before it is read, and before models are imported."""
    if not file.is_file():
        return False
    from ..files.text import HDF5, SUFFIXES

    with file.open("rb") as content:
        if content.read(len(HDF5)) == HDF5:
            return True
    return file.suffix.lower() in SUFFIXES


def _shown(file: Path, base: str | None, packages: list[Path]) -> Result:
    """The result in a file; of a model, where it begins, with its loops closed."""
    import whippletree as wt

    from ..files.text import SUFFIXES

    if file.suffix.lower() not in SUFFIXES:
        return wt.load_result(file)
    with progress.notes():
        system = wt.load(file, base=base, packages=packages).compile()
    q, u = system.q0, [0.0] * system.nu
    if system.constraints.count:
        try:
            with progress.compiling("assembly"):
                q = wt.assemble(system).q
        except ModelError as refusal:
            progress.say(f"note: shown as it is written, with open loops: {refusal.what}")
    return wt.Result(system, [0.0], [q], [u])


def _visuals(model: Path | None, packages: list[Path]) -> Any:
    """What another model draws on its bodies."""
    if model is None:
        return None
    import whippletree as wt

    with progress.notes():
        bodies = wt.load(model, packages=packages).bodies
    return {name: body.visuals for name, body in bodies.items() if body.visuals}
