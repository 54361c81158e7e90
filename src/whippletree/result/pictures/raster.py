"""Dots of a picture from bars and faces: what is nearest to the eye is seen, lit from above, with its outline drawn.

Points are (across, up, near) in dots, up downwards as rows are; no perspective.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

LIGHT = np.array([-0.42, -0.72, 0.55])  # where it comes from: left, above, before the picture
DARKEST, LIGHTEST = 0.66, 1.18  # of a colour, where no light falls and where all of it does
EDGE = 0.55  # of a colour, on an outline
FAR = -1e9  # dots; behind all that is drawn


class Raster:
    """A picture that solids are put into, each dot keeping the nearest."""

    def __init__(self, width: int, height: int) -> None:
        self.near = np.full((height, width), FAR, np.float32)
        self.color = np.zeros((height, width, 3), np.uint8)
        self.owner = np.zeros((height, width), np.int32)  # 0 where nothing is

    def bar(self, start: np.ndarray, end: np.ndarray, radius: float, color: np.ndarray, owner: int) -> None:
        """A bar with round ends; a ball if both ends are one point."""
        along = end - start
        length = max(float(along[:2] @ along[:2]), 1e-12)
        cuts = np.linspace(0.0, 1.0, 2 + int(np.abs(along[:2]).min() / (6 * radius)))  # a slanting bar in short pieces
        for a, b in pairwise(start + cuts[:, None] * along):
            here = self._patch(np.minimum(a, b)[:2] - radius, np.maximum(a, b)[:2] + radius)
            if here is None:
                continue
            window, x, y = here
            share = np.clip(((x - start[0]) * along[0] + (y - start[1]) * along[1]) / length, 0.0, 1.0)
            dx, dy = x - start[0] - share * along[0], y - start[1] - share * along[1]
            rise = 1.0 - (dx * dx + dy * dy) / radius**2
            height = np.sqrt(np.maximum(rise, 0.0))
            light = (dx * LIGHT[0] + dy * LIGHT[1]) / radius + height * LIGHT[2]
            near = start[2] + share * along[2] + radius * height
            self._put(window, near, rise > 0, light, color, owner)

    def face(self, corners: np.ndarray, color: np.ndarray, owner: int) -> None:
        """A flat convex face (n, 3), seen from either side."""
        normal = np.cross(corners - corners[0], np.roll(corners, -1, axis=0) - corners[0]).sum(axis=0)
        normal *= np.copysign(1.0, normal[2]) / max(float(np.linalg.norm(normal)), 1e-12)
        here = self._patch(corners[:, :2].min(axis=0), corners[:, :2].max(axis=0))
        if here is None or normal[2] < 1e-6:
            return
        window, x, y = here
        left = np.ones(np.broadcast_shapes(x.shape, y.shape), bool)
        right = left.copy()
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            side = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
            left &= side >= 0
            right &= side <= 0
        near = corners[0, 2] - ((x - corners[0, 0]) * normal[0] + (y - corners[0, 1]) * normal[1]) / normal[2]
        self._put(window, near, left | right, normal @ LIGHT, color, owner)

    def _patch(self, low: np.ndarray, high: np.ndarray) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray] | None:
        """The window of dots between two corners, and the middles of its columns and rows."""
        rows, columns = self.near.shape
        x0, y0 = np.maximum(np.floor(low).astype(int), 0)
        x1, y1 = np.minimum(np.ceil(high).astype(int), (columns, rows))
        if x0 >= x1 or y0 >= y1:
            return None
        return (slice(y0, y1), slice(x0, x1)), np.arange(x0, x1)[None, :] + 0.5, np.arange(y0, y1)[:, None] + 0.5

    def _put(
        self,
        window: tuple[slice, slice],
        near: np.ndarray,
        inside: np.ndarray,
        light: np.ndarray | float,
        color: np.ndarray,
        owner: int,
    ) -> None:
        seen = inside & (near > self.near[window])
        self.near[window][seen] = near[seen]
        self.owner[window][seen] = owner
        shade = np.broadcast_to(DARKEST + (LIGHTEST - DARKEST) * np.clip(light, 0.0, 1.0), seen.shape)
        self.color[window][seen] = np.minimum(shade[seen][:, None] * color, 255.0)

    def over(self, background: np.ndarray, step: float) -> np.ndarray:
        """The picture on a background; outlines run where the owner changes or the depth jumps by ``step``."""
        picture = background.copy()
        rows, columns = np.flatnonzero(self.owner.any(axis=1)), np.flatnonzero(self.owner.any(axis=0))
        if rows.size == 0:
            return picture
        window = slice(max(rows[0] - 1, 0), rows[-1] + 2), slice(max(columns[0] - 1, 0), columns[-1] + 2)
        owner, near = self.owner[window], self.near[window]
        edge = np.zeros(owner.shape, bool)
        for axis in (0, 1):
            before = tuple(slice(None, -1) if k == axis else slice(None) for k in (0, 1))
            after = tuple(slice(1, None) if k == axis else slice(None) for k in (0, 1))
            jump = (owner[before] != owner[after]) | (np.abs(near[before] - near[after]) > step)
            edge[before] |= jump & (near[before] >= near[after])
            edge[after] |= jump & (near[after] > near[before])
        seen = owner > 0
        picture[window][seen] = self.color[window][seen]
        edge &= seen
        picture[window][edge] = EDGE * self.color[window][edge]
        return picture
