"""A real Chromium without a window and without a network of its own, and what is to be seen in it."""

import base64
import io
import os
from contextlib import contextmanager

import numpy as np
import pytest

import whippletree as wt
from waiting import eventually
from whippletree.view.export import QUIET, find_browser

SIZE = {"width": 760, "height": 420}  # small: it is drawn without a graphics card
PATIENCE = 150.0  # s, on a busy machine
# what the page draws in: viser keeps the picture, so it can be read at any time; a small copy is read quickly
COPY = """() => {
  const all = [...document.querySelectorAll('canvas')].filter(c => c.width > 300);
  if (!all.length) return null;
  const from = all[0], copy = document.createElement('canvas'), place = from.getBoundingClientRect();
  copy.width = 300; copy.height = Math.round(300 * from.height / from.width);
  const pen = copy.getContext('2d');
  pen.fillStyle = 'white'; pen.fillRect(0, 0, copy.width, copy.height);
  pen.drawImage(from, 0, 0, copy.width, copy.height);
  return [copy.toDataURL('image/png'), place.x, place.y, place.width];
}"""


@contextmanager
def chromium():
    """A browser; what needs one is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="no browser test: playwright is not installed")
    try:
        path = find_browser()
    except wt.ModelError:
        pytest.skip("no browser test: there is no chromium on this machine")
    alone = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=path, args=[*QUIET[1:], *alone])
        yield opened
        opened.close()


def open_page(browser, url, **options):
    """A page of a browser of its own, as soon as the mechanism is in the picture."""
    page = browser.new_context(viewport=SIZE, **options).new_page()
    page.goto(url, wait_until="commit", timeout=1e3 * PATIENCE)
    assert eventually(lambda: Picture(page).painted() > 300, PATIENCE), "the mechanism is not in the picture"
    return page


class Picture:
    """What the page shows of the mechanism, 300 pixels wide, without panel and notes."""

    def __init__(self, page):
        from PIL import Image

        found = page.evaluate(COPY)
        url, self.x, self.y, width = found or (None, 0.0, 0.0, 300.0)
        self.scale = width / 300.0
        blank = np.full((2, 2, 3), 255)
        content = None if url is None else base64.b64decode(url.partition(",")[2])
        rgb = blank if content is None else np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
        self.rgb = rgb.astype(int)

    def painted(self):
        """Pixels with a colour; floor and shadows are grey."""
        return int((self.rgb.max(axis=-1) - self.rgb.min(axis=-1) > 40).sum())

    def place(self, color):
        """Middle of what is "blue", "orange" or "green" (the first three bodies), in pixels of the page; how many."""
        r, g, b = (self.rgb[..., n] for n in range(3))
        mask = {
            "blue": (b > r + 40) & (b > g),
            "orange": (r > b + 60) & (r > g + 20),
            "green": (g > r + 20) & (g > b + 20),
        }[color]
        rows, columns = np.nonzero(mask)
        if not len(rows):
            return 0.0, 0.0, 0
        return self.x + self.scale * columns.mean(), self.y + self.scale * rows.mean(), len(rows)
