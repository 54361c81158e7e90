"""The command that runs a model in real time. Parse, call the library, print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ModelError
from .app import Algorithm, Base, ModelPath, Passive, Q, U, _system, _values, app, option
from .progress import compiling, say


@app.command(short_help="Run a model in real time, and steer it.")
def live(
    model: ModelPath,
    rate: Annotated[float, option("NUMBER", "steps for a second of motion")] = 1000.0,
    until: Annotated[float | None, option("SECONDS", "end of the run; else Ctrl-C")] = None,
    time_scale: Annotated[float, option("NUMBER", "seconds of motion in a second")] = 1.0,
    overrun: Annotated[str, option("WHAT", "where a step is late: slow, 'catch up' or stop")] = "slow",
    no_window: Annotated[bool, typer.Option("--no-window", "--headless", help="serve no window for browsers")] = False,
    window_port: Annotated[int | None, option("PORT", "of the window; else from 8080 on")] = None,
    port: Annotated[int | None, option("PORT", "serve lines of JSON over TCP; 0: any")] = None,
    websocket: Annotated[int | None, option("PORT", "the same over WebSocket")] = None,
    host: Annotated[str, option("ADDRESS", "who may connect")] = "127.0.0.1",
    token: Annotated[str | None, option("TEXT", "what connections must give; else made up")] = None,
    folder: Annotated[Path, option("FOLDER", "where saving writes files")] = Path(),
    output: Annotated[Path | None, option("FILE", "write the rows in the end (.nc)", "--output", "-o")] = None,
    report_json: Annotated[Path | None, option("FILE", "write lateness in the end")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="do not wait for the clock")] = False,
    paused: Annotated[bool, typer.Option("--paused", help="begin paused")] = False,
    integrator: Annotated[str, option("NAME", "euler, or rk4 for accuracy")] = "euler",
    algorithm: Algorithm = "auto",
    output_step: Annotated[float, option("SECONDS", "between rows that are kept")] = 0.01,
    q: Q = [],  # noqa: B006
    u: U = [],  # noqa: B006
    base: Base = None,
    passive: Passive = False,
) -> None:
    """Run a model in real time, and steer it from a browser or another program.

    \b
    whippletree live models/space_manipulator.toml --u drift=0,0,0.01,-0.06,0,0
    whippletree live models/cart.toml --port 7777 --no-window --until 60
    whippletree live models/space_manipulator.toml --no-window --fast --until 60    as fast as it goes

    The window has sliders for motors, buttons that latch and release, and bodies can be dragged. In the end it tells
    how many steps were on time.
    """
    from ..files.whole_file import writable
    from ..realtime.live import live as run
    from ..result.netcdf import result_path

    if output is not None:
        result_path(output)
    if report_json is not None:
        writable(report_json, "the numbers")
    if not folder.is_dir():
        raise ModelError(f"folder '{folder}' is not there")
    if fast and until is None and no_window and port is None and websocket is None:
        raise ModelError("a run that does not wait would never end", hint="give --until")
    system = _system(model, base, passive)
    options: dict[str, Any] = {"q": _values(q, "--q"), "u": _values(u, "--u"), "rate": rate, "until": until}
    options |= {"time_scale": time_scale, "overrun": overrun, "realtime": not fast, "viewer": not no_window}
    options |= {"window_port": window_port, "port": port, "websocket": websocket, "host": host, "token": token}
    options |= {"folder": folder, "integrator": integrator, "algorithm": algorithm, "output_step": output_step}
    with compiling(f"live {system.name}"):
        ended = run(system, paused=paused, ready=_reported, **options)
    _keep(ended, output, report_json)


def _keep(ended: Any, output: Path | None, report_json: Path | None) -> None:
    """Write what was asked for, and say how it ended."""
    if output is not None:
        ended.result.save(output)
        say(f"wrote {output}")
    if report_json is not None:
        report_json.write_text(json.dumps(ended.statistics | {"ended": ended.ended}, indent=2) + "\n", "utf-8")
        say(f"wrote {report_json}")
    say(f"ended: {ended.ended}")
    for line in in_words(ended.statistics):
        print(line)


def _reported(about: dict[str, Any]) -> None:
    if "url" in about:
        say(f"window: {about['url']}")
    for key in ("port", "websocket"):
        if key in about:
            say(f"{key}: {about[key]}, token {about['token']}")


def in_words(statistics: dict[str, Any]) -> list[str]:
    """Steps and lateness for people."""
    s = statistics
    lines = [f"{s['steps']} steps in {s['seconds']:.3f} s: {s['steps_per_second']:.0f} a second, "
             f"{s['times_real_time']:.3g} times real time"]  # fmt: skip
    if "on_time" in s:
        lines.append(f"{100 * s['on_time']:.3f} % on time, {s['late_steps']} late, worst by "
                     f"{1e3 * s['worst_lateness']:.3f} ms; {s['slipped']:.3f} s slipped")  # fmt: skip
        most = max(s["histogram"].values(), default=0) or 1
        for label, count in s["histogram"].items():
            if count:
                lines.append(f"  {label:>16}  {count:8d}  {'#' * round(30 * count / most)}")
    return lines
