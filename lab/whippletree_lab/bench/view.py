"""How long a person waits for the first picture: from the command ``whippletree view`` to a canvas with the mechanism.

A browser that is already open asks for the page as soon as somebody listens. The page itself notes when it has
something to draw with, when it first draws instances, which all bodies are, and when their colours can be read.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from whippletree.errors import MissingExtra, SimulationError
from whippletree.result.result import Result
from whippletree.sweeps.python import environment, python
from whippletree.system.system import System
from whippletree.view.export import QUIET, find_browser

from ..report.tables import MOMENTS
from .live import manipulator
from .result import OURS, BenchResult, Row

SIZE = {"width": 1280, "height": 720}
PATIENCE = 120.0  # s
EYE = """(() => {
  const gl = WebGL2RenderingContext.prototype, canvas = HTMLCanvasElement.prototype, context = canvas.getContext;
  const small = document.createElement('canvas'), at = window.noted = {};
  small.width = 120; small.height = 80;
  const pen = context.call(small, '2d', {willReadFrequently: true});
  at.page = performance.timeOrigin + performance.getEntriesByType('navigation')[0].responseStart;
  let fresh = null;
  canvas.getContext = function (kind, ...more) {
    if (kind.startsWith('webgl')) at.canvas ??= Date.now();
    return context.call(this, kind, ...more);
  };
  for (const name of ['drawElementsInstanced', 'drawArraysInstanced']) {
    const draw = gl[name];
    gl[name] = function (...given) { at.drawn ??= Date.now(); fresh = this.canvas; return draw.apply(this, given); };
  }
  function look() {
    if (fresh && !at.seen) {
      pen.drawImage(fresh, 0, 0, 120, 80);
      fresh = null;
      const data = pen.getImageData(0, 0, 120, 80).data;
      let coloured = 0;
      for (let i = 0; i < data.length; i += 4) {
        const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
        coloured += data[i + 3] > 200 && Math.max(r, g, b) - Math.min(r, g, b) > 40;
      }
      if (coloured > 60) at.seen = Date.now();
    }
    requestAnimationFrame(look);
  }
  requestAnimationFrame(look);
})();"""


def measure(result: BenchResult, megabytes: Iterable[int], progress: Callable[[str], None]) -> None:
    """The moments of the best of some rounds, for results of so many megabytes."""
    system = manipulator()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise MissingExtra("playwright", "test", "a browser that is watched") from None
    result.note(f"seconds from the start of the command, {SIZE['width']} x {SIZE['height']} pixels, best of the rounds")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as p:
        browser = p.chromium.launch(executable_path=find_browser(), args=[*QUIET[1:], "--no-sandbox"])
        for size in megabytes:
            file = Path(folder) / f"{size}.nc"
            _save(system, file, size)
            found = []
            for n in range(min(result.rounds, 10)):
                progress(f"{size} MB, round {n + 1}")
                found.append(_first_picture(browser, file))
            best = min(found, key=lambda moments: moments["seen"])
            label = f"{file.stat().st_size / 1e6:.1f} MB"
            seen = sorted(moments["seen"] for moments in found)
            result.note(f"{label}: seen in {median(seen):.2f} s in the median, {seen[-1]:.2f} s at most")
            for name in MOMENTS:
                result.rows.append(Row(name, label, system.nb - 1, system.nu, seconds={OURS: best[name]}))
        browser.close()


def _save(system: System, file: Path, megabytes: int) -> None:
    """A motion of about that size on disk: all joints sway."""
    rows = 1000
    while True:
        t = np.linspace(0.0, 60.0, rows)
        q = np.tile(system.q0, (rows, 1))
        for n, joint in enumerate(j for j in system.joints if system.joint_kind(j) == "revolute"):
            q[:, system.q_index(joint)] += 0.3 * np.sin((0.3 + 0.1 * n) * t)[:, None]
        still = np.zeros((rows, system.nu))
        Result(system, t, q, still, udot=still).save(file)
        share = megabytes * 1e6 / file.stat().st_size
        if share <= 1.0:
            return
        rows = int(rows * share) + 10


def _first_picture(browser: Any, file: Path) -> dict[str, float]:
    """The moments of one round, s."""
    page = browser.new_page(viewport=SIZE)
    page.add_init_script(EYE)
    command = python("-m", "whippletree", "view", str(file), "--no-open")
    begun = time.time()
    usual = environment()
    usual.pop("PYTHONDONTWRITEBYTECODE", None)  # as pip installs
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=usual)
    try:
        assert process.stderr is not None
        reported = process.stderr.readline()  # the address, with its token, as soon as it listens
        if not reported.startswith("view: "):
            raise SimulationError("the command did not open its port", got=reported or " ".join(command))
        moments = {"listens": time.time() - begun}
        page.goto(reported.split()[-1], wait_until="commit")
        page.wait_for_function("window.noted.seen", timeout=1e3 * PATIENCE, polling=100)
        return moments | {name: at / 1e3 - begun for name, at in page.evaluate("window.noted").items()}
    finally:
        process.terminate()
        process.wait()
        page.close()
