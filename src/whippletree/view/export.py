"""A run without a server: one HTML page that plays by itself, and a picture from a browser without a window."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, SimulationError, path_of
from ..files.whole_file import whole_file
from ..model.check import number
from ..result.result import Result
from .camera import FIELD
from .client import page_of
from .scene import Scene
from .server import address, served
from .track import Track

if TYPE_CHECKING:
    import viser

PAGE_FRAMES, MOST_FRAMES = 30.0, 900  # a second, and in all
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PATIENCE = 120.0  # s, for a browser that draws without a graphics card
LARGEST = 4096  # pixels a side
QUIET = (
    "--headless=new",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-quic",
    "--disable-sync",
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
)


def write_page(
    run: Result,
    path: str | os.PathLike[str],
    *,
    speed: float = 1.0,
    scale: float = 1.0,
    visuals: Any = None,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Write one page that plays the run: no server, no network. ``speed`` is that of its clock."""
    target = named(path, ".html", "a page")
    speed = number(speed, "speed", low=1e-6)
    track = Track(run.system, run.t, run.q)
    seconds = (track.end - track.begin) / speed
    count = int(np.clip(np.ceil(seconds * PAGE_FRAMES), 1, MOST_FRAMES)) + 1 if len(run) > 1 else 1
    with served(title=run.system.name) as server:
        scene = Scene(server, run.system, run.q, visuals=visuals)
        scene.deform(scale)
        recorder = server.get_scene_serializer()
        for n, t in enumerate(np.linspace(track.begin, track.end, count)):
            scene.place(track.at(float(t)))
            recorder.insert_sleep(seconds / (count - 1) if count > 1 else 0.0)
            if progress is not None:
                progress((n + 1) / count)
        page = page_of(recorder.as_html(), run.system.name)
    with whole_file(target, "the page") as part:
        part.write_text(page, "utf-8")


def write_picture(
    run: Result,
    path: str | os.PathLike[str],
    *,
    at: float | None = None,
    size: tuple[int, int] = (1200, 800),
    scale: float = 1.0,
    visuals: Any = None,
    prepare: Callable[[Scene], None] | None = None,
) -> None:
    """Write a PNG of the moment ``at`` (s; the start), ``size`` pixels wide and high, drawn by Chromium or Chrome."""
    target = named(path, ".png", "a picture")
    track = Track(run.system, run.t, run.q)
    moment = track.begin if at is None else number(at, "the time of the picture")
    if not track.begin <= moment <= track.end:
        expected = f"{track.begin:g} to {track.end:g} s"
        raise ModelError("the run has no such moment", expected=expected, got=f"{moment:g} s")
    width, height = size
    if not (16 <= width <= LARGEST and 16 <= height <= LARGEST):
        raise ModelError("no such size of a picture", expected=f"16 to {LARGEST} pixels a side", got=f"{size}")
    browser = find_browser()
    with served(title=run.system.name) as server:
        scene = Scene(server, run.system, run.q, visuals=visuals)
        scene.deform(scale)
        scene.place(track.at(moment))
        if prepare is not None:
            prepare(scene)
        with window(browser, address(server), size):
            seen: Any = {"wxyz": scene.view.wxyz(), "position": scene.view.eye, "fov": float(FIELD)}
            pixels = _client(server).get_render(height=height, width=width, timeout=PATIENCE, **seen)
    from matplotlib.image import imsave

    with whole_file(target, "the picture") as part:
        imsave(part, pixels[..., :3], format="png")


def find_browser() -> str:
    """Chromium or Chrome on this machine; ``WHIPPLETREE_BROWSER`` names another."""
    given = os.environ.get("WHIPPLETREE_BROWSER")
    for name in (given,) if given else BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    raise ModelError(
        "there is no browser to draw a picture with",
        expected=given or "chromium or google-chrome",
        hint="install one (Debian: apt-get install chromium), or write a page with --html",
    )


def named(path: str | os.PathLike[str], ending: str, what: str) -> Path:
    """The path, if its ending is right."""
    target = path_of(path, what)
    if target.suffix.lower() != ending:
        raise ModelError(f"'{path}' is not the name of {what}", expected=f"a name ending in {ending}")
    return target


@contextmanager
def window(browser: str, url: str, size: tuple[int, int]) -> Iterator[None]:
    """A browser without a window, at a page, with a profile of its own."""
    alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # root has no sandbox
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [browser, *QUIET, *alone, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}", url]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _client(server: viser.ViserServer) -> Any:
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE:
        clients = server.get_clients()
        if clients:
            return next(iter(clients.values()))
        time.sleep(0.02)
    raise SimulationError("the browser did not open the page", got=f"nothing in {PATIENCE:g} s")
