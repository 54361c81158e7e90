"""A run in a window of the browser. Light to import: the window opens while the rest is loaded."""

from __future__ import annotations

import gc
import sys
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .server import HOST, address, serve, show, stop

if TYPE_CHECKING:
    from ..result.result import Result
    from .replay import Replay


def view(
    run: Result | Callable[[], Result],
    *,
    host: str = HOST,
    port: int | None = None,
    open_browser: bool = True,
    wait: bool = True,
    play: bool = True,
    say: Callable[[str], None] | None = None,
    **options: Any,
) -> Replay:
    """Show a run in the browser; with ``wait`` until Ctrl-C, without it the :class:`Replay` is there to be stopped.

    ``run`` may be a function that loads it: the window opens meanwhile. Only this machine can look, unless ``host``
    says otherwise; without a ``port`` it is the first free one from 8080 on. ``say`` gets the address, which else
    goes to stderr. ``play`` starts the motion. ``options`` are those of :class:`Replay`: ``follow`` a body, ``speed``,
    ``scale`` of deformations, and ``visuals``.
    """
    with _no_garbage():
        server = serve(host, port)
        try:
            (say or _say)(f"view: {address(server)}")
            if open_browser:
                webbrowser.open(address(server))
            from .replay import Replay
            from .standing import quicken

            replay = Replay(server, run() if callable(run) else run, **options)
        except BaseException:
            stop(server)
            raise
        replay.scene.shade_later()
        show(server)
    quicken(replay.run.system)
    replay.play(play)  # only now, since icons are searched in an archive of thousands
    if wait:
        replay.wait()
    return replay


@contextmanager
def _no_garbage() -> Iterator[None]:
    """All that is imported and made stays: looking for garbage among it takes a tenth of the time."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)
