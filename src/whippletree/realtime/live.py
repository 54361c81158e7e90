"""The public face: a system in real time, with its controls."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import ArrayLike

from ..errors import ModelError, SimulationError
from ..model.check import number
from ..result.result import Result
from ..system.system import System, require_system
from .keep import result_of
from .link import Front
from .loop import Loop, NoControls, controls_of
from .memory import MOST_ROWS, Memory
from .messages import FASTEST, Catalogue, parse
from .pace import Pacer
from .stepper import Stepper
from .warm import warm

ROW = 0.01  # s between two rows that are kept
METHOD = "euler"  # with a latch that holds, a third of the time of rk4: docs/decisions/0021-live.md
SLOWEST, QUICKEST = 1.0, 1e6  # steps per second


@dataclass(frozen=True)
class Live:
    """What a live run leaves.

    Attributes
    ----------
    result : the rows that were kept, the last ``rows`` of them; its ``attrs["commands"]`` are all that was asked for.
    statistics : steps, their rate per second of the clock, and how late they were: ``on_time`` is the share of steps
        done before the next was due, ``worst_lateness`` in s, ``histogram`` counts the times that steps took.
    ended : "until", "stopped", "interrupted" or "late".
    answers : to the messages of ``commands``, in their order.
    """

    result: Result
    statistics: dict[str, Any]
    ended: str
    answers: list[dict[str, Any]] = field(default_factory=list)


def live(
    system: System,
    *,
    controller: Callable[..., Any] | None = None,
    every: int | None = None,
    rate: float = 1000.0,
    until: float | None = None,
    q: ArrayLike | Mapping[str, Any] | None = None,
    u: ArrayLike | Mapping[str, Any] | None = None,
    time_scale: float = 1.0,
    overrun: str = "slow",
    realtime: bool = True,
    commands: Iterable[tuple[float, Mapping[str, Any]]] = (),
    viewer: bool = False,
    window_port: int | None = None,
    port: int | None = None,
    websocket: int | None = None,
    host: str = "127.0.0.1",
    token: str | None = None,
    folder: str | os.PathLike[str] = ".",
    integrator: str = METHOD,
    algorithm: str = "auto",
    output_step: float = ROW,
    rows: int = MOST_ROWS,
    paused: bool = False,
    ready: Callable[[dict[str, Any]], None] | None = None,
) -> Live:
    """Motion that keeps pace with the clock, steered while it goes; returns when it has ended.

    ``rate`` steps are taken for a second of motion, by "euler" or, for three times the cost and errors of order four,
    "rk4", from ``q`` and ``u`` as :func:`simulate` takes them. A second of motion takes
    ``1 / time_scale`` seconds. A step that is not done when the next is due lets time slip with ``overrun`` "slow", is
    caught up with (at most 0.25 s of it) with "catch up", and ends the run with "stop". Without ``realtime`` steps
    follow each other as fast as they can. The run ends at ``until`` (s of motion), by a "stop" command or by Ctrl-C.

    ``controller(t, q, u)`` returns joint forces (nu,) (N m or N), or ``controller(t, q, u, tau)`` writes them; it is
    asked before every ``every``-th step and its answer holds until the next. One compiled by ``numba.njit`` that
    writes tau stays in the compiled loop if ``every`` is not given, and is then asked in every stage, as in
    :func:`simulate`.

    ``commands`` are messages as docs/reference/live.md lists them, each with its time (s of motion):
    ``(1.0, {"do": "motor", "name": "elbow_motor", "position": 0.3})``. ``viewer`` opens a window for browsers,
    ``port`` one for lines of JSON over TCP, ``websocket`` the same over WebSocket (0: any that is free). They serve
    ``host``, this machine unless told otherwise, and a client of a port gives the ``token``, which is made up
    if it is not given. ``ready`` is called with a dict of "url", "port", "websocket" and "token" before the first step;
    without it they are printed. The save command writes into ``folder``.

    Every ``output_step`` (s) a row is kept, and of these the last ``rows``. With ``paused`` the run waits for a resume
    command. A motion that fails ends with a SimulationError that has the ``partial`` Result; with a window or a
    port it stands still instead until a reset.
    """
    require_system(system)
    rate = number(rate, "rate")
    if not SLOWEST <= rate <= QUICKEST:
        raise ModelError("rate is out of bounds", expected=f"{SLOWEST:g} to {QUICKEST:g} steps per second", got=rate)
    if until is not None and number(until, "until") <= 0:
        raise ModelError("until must lie after the start", expected="a time > 0 (s)", got=until)
    scale = number(time_scale, "time_scale")
    if not 0.0 < scale <= FASTEST:
        raise ModelError("time_scale is out of bounds", expected=f"more than 0, at most {FASTEST:g}", got=scale)
    if every is not None and (not isinstance(every, int) or every < 1):
        raise ModelError("every is not a count", expected="a whole number of steps, at least 1", got=every)
    step = 1.0 / rate
    spacing = max(1, round(number(output_step, "output_step") * rate))
    pacer = Pacer(step, scale, overrun)  # which checks what it is given
    catalogue = Catalogue(system)
    script = [(number(t, "time of a command"), dict(message)) for t, message in commands]
    for _, message in script:
        parse(message, catalogue)
    memory = Memory(system, len(controls_of(catalogue)), rows)
    stepper = Stepper(system, q, u, step, integrator, algorithm, controller, every, spacing, memory.keep)
    warm(stepper)
    memory.q[:], memory.u[:] = stepper.q0, stepper.u0  # there before anybody looks
    front = None
    if viewer or port is not None or websocket is not None:
        made = token or secrets.token_urlsafe(12)
        options = {"rate": rate, "host": host, "port": port, "websocket": websocket, "token": made}
        options |= {"window": viewer, "window_port": window_port, "folder": os.fspath(folder), "time_scale": scale}
        front = Front(system, memory, options)
        (ready or _print)(front.about | {"token": made})
    loop = Loop(stepper, memory, pacer if realtime else None, front or NoControls(), until, script, front is not None)
    loop.paused = paused
    try:
        loop.run()
    except SimulationError as e:
        e.partial = result_of(system, memory.recent(), loop.journal())  # type: ignore[attr-defined]
        raise
    finally:
        if front:
            front.close()
    result = result_of(system, memory.recent(), loop.journal())
    return Live(result, loop.statistics(), loop.ended, loop.answers)


def _print(about: dict[str, Any]) -> None:
    reported = [f"{key} {about[key]}" for key in ("url", "port", "websocket", "token") if about.get(key) is not None]
    print("live: " + ", ".join(reported), file=sys.stderr)
