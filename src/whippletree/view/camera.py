"""How a mechanism is seen first: which way is up, where the floor is, a camera with the whole motion in view."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .poses import quaternions

FIELD = np.deg2rad(40.0)  # of view, vertical
ELEVATION = np.deg2rad(18.0)
OFF_FLAT, OFF_ROUND = np.deg2rad(20.0), np.deg2rad(40.0)  # turned away from the thin side: of flat motions, of others
FLAT = 0.35  # thin to wide
ASPECT = 1.3  # width to height of the narrowest window that holds all
MARGIN = 1.25


@dataclass(frozen=True)
class View:
    """What points in the world, (n, 3) m, want to be seen with."""

    up: np.ndarray  # (3) unit
    centre: np.ndarray  # (3) m
    reach: float  # m: radius of a ball around all
    floor: float  # m along up
    eye: np.ndarray  # (3) m

    def wxyz(self) -> np.ndarray:
        """(4,) The turn of the camera: its z looks ahead, its y down."""
        ahead = (self.centre - self.eye) / np.linalg.norm(self.centre - self.eye)
        right = np.cross(ahead, self.up) / np.linalg.norm(np.cross(ahead, self.up))
        return quaternions(np.column_stack([right, np.cross(ahead, right), ahead]))


def view_of(points: np.ndarray, gravity: np.ndarray) -> View:
    """A view of all points, with up against gravity."""
    strength = float(np.linalg.norm(gravity))
    up = -np.asarray(gravity, float) / strength if strength > 0.0 else np.array([0.0, 0.0, 1.0])
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    reach = max(float(np.linalg.norm(points - centre, axis=1).max()), 1e-6)
    lowest = float((points @ up).min())
    # what stands on the ground, or just above it, gets its floor there; what hangs gets one below
    floor = 0.0 if -0.02 * reach <= lowest <= 0.5 * reach else lowest - 0.08 * reach
    thin, wide, flat = _sides(points - centre, up)
    turn = OFF_FLAT if flat else OFF_ROUND
    level = np.cos(turn) * thin + np.sin(turn) * wide
    away = np.cos(ELEVATION) * level + np.sin(ELEVATION) * up
    return View(up, centre, reach, floor, centre + away * MARGIN * _distance(points - centre, away, up))


def _distance(points: np.ndarray, away: np.ndarray, up: np.ndarray) -> float:
    """How far off a camera in this direction has all points in view, m."""
    right = np.cross(up, away) / np.linalg.norm(np.cross(up, away))
    high, wide = np.abs(points @ np.cross(away, right)), np.abs(points @ right)
    tangent = np.tan(FIELD / 2)
    return max(float((points @ away + np.maximum(high, wide / ASPECT) / tangent).max()), 1e-6)


def _sides(points: np.ndarray, up: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Level directions in which the motion is thinnest and widest, and whether it is flat."""
    aid = np.eye(3)[int(np.argmin(np.abs(up)))]
    a = np.cross(aid, up) / np.linalg.norm(np.cross(aid, up))
    b = np.cross(up, a)
    level = np.column_stack([points @ a, points @ b])
    spread, axes = np.linalg.eigh(level.T @ level)
    thin, wide = (axes[0, n] * a + axes[1, n] * b for n in range(2))
    # seen from the side of -y and +x, as drawings have it: x goes to the right
    thin = thin if thin @ np.array([0.3, -1.0, 0.1]) >= 0 else -thin
    wide = wide if wide @ np.array([1.0, 0.3, 0.1]) >= 0 else -wide
    return thin, wide, bool(spread[0] < (FLAT**2) * spread[1])


def grid_cell(reach: float) -> float:
    """A round number of metres between lines of the floor: 1, 2 or 5 of some decade."""
    decade = 10.0 ** np.floor(np.log10(reach / 4))
    return float(next(decade * n for n in (1, 2, 5, 10) if decade * n >= reach / 4))
