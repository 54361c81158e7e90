"""The command demo: motions worth seeing. Parse, call the library, print."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .cli import _print_table, app
from .cli_progress import Bar, compiling, notes, say


@app.command(short_help="List motions worth seeing, and run one.")
def demo(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="without it they are listed")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="where its files go")] = Path("demo"),
    view: Annotated[bool, typer.Option("--view", help="open the moving picture in the browser")] = False,
) -> None:
    """List the motions of the gallery; run one and leave its numbers, plot, report and moving picture.

    \b
    whippletree demo
    whippletree demo four_bar -o demo --view
    """
    from .gallery import gallery, motion

    if name is None:
        _print_table([(m.name, m.says) for m in gallery().values()])
        return
    from .files.whole_file import writable

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
    result.animate(files["moving picture"], scale=chosen.scale)
    _print_table([(kind, str(path)) for kind, path in files.items()])
    if view:
        typer.launch(files["moving picture"].resolve().as_uri())


ENDINGS = {"moving picture": "_moving.html", "report": ".html", "plot": ".svg", "numbers": ".nc"}
