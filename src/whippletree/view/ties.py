"""Lines between bodies: springs as coils, rods without mass, and the gaps of joints that close loops."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..model import Pose, constraint_kind, force_kind
from ..system.system import System
from .poses import Poses
from .standing import Standing

if TYPE_CHECKING:
    import viser

TURNS, PER_TURN = 9, 14
STEEL, ROD, VIOLATION = (96, 104, 118), (60, 60, 60), (220, 30, 40)


class Ties:
    """Springs and rods without mass, each between two points."""

    def __init__(self, scene: viser.SceneApi, system: System, length: float) -> None:
        forces = [f for f in system.model.forces.values() if force_kind(f).line]
        rods = [c for c in system.held.values() if constraint_kind(c).line]
        both: list[Any] = [*forces, *rods]
        self._ends = Poses(system, [(t.body, Pose(t.at)) for t in both] + [(t.to, Pose(t.to_at)) for t in both])
        self._springs, self._radius = len(forces), 0.05 * length
        self._coils = _lines(scene, "/springs", STEEL, 0.012 * length, bool(forces))
        self._rods = _lines(scene, "/rods", ROD, 0.02 * length, bool(rods))

    def place(self, k: Standing) -> None:
        """Stretch them, as bodies stand."""
        p = self._ends.at(k)[1]
        a, b = p[: len(p) // 2], p[len(p) // 2 :]
        n = self._springs
        if n:
            self._coils.points = coils(a[:n], b[:n], self._radius)
        if len(a) > n:
            self._rods.points = np.stack([a[n:], b[n:]], axis=1).astype(np.float32)


class Violations:
    """Where joints close loops: a line from the place on one body to the same place on the other."""

    def __init__(self, scene: viser.SceneApi, system: System, length: float) -> None:
        cuts = system.topology.cuts
        self.names, self.shown = tuple(joint.name for joint in cuts), False
        places = [(joint.parent, joint.at) for joint in cuts] + [(joint.child, joint.child_at) for joint in cuts]
        self._ends = Poses(system, places)
        self._lines = _lines(scene, "/gaps", VIOLATION, 0.03 * length, False)
        self._marks = scene.add_point_cloud(
            "/closing joints",
            np.zeros((len(cuts), 3), np.float32),
            colors=VIOLATION,
            point_size=0.12 * length,
            point_shape="circle",
            visible=False,
        )

    def show(self, on: bool) -> None:
        """Whether they are seen."""
        self.shown = on
        self._lines.visible = self._marks.visible = bool(on and self.names)

    def place(self, k: Standing) -> np.ndarray:
        """Draw them; how wide each is, m."""
        p = self._ends.at(k)[1]
        a, b = p[: len(self.names)], p[len(self.names) :]
        if self._marks.visible:
            self._lines.points = np.stack([a, b], axis=1).astype(np.float32)
            self._marks.points = a.astype(np.float32)
        return np.linalg.norm(b - a, axis=1)


def coils(a: np.ndarray, b: np.ndarray, radius: float) -> np.ndarray:
    """(n, 2, 3) Line segments of helices from points a (m, 3) to points b."""
    along = b - a
    length = np.maximum(np.linalg.norm(along, axis=1), 1e-300)[:, None]
    z = along / length
    aid = np.where(np.abs(z[:, :1]) < 0.9, [[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]])
    x = np.cross(aid, z)
    x /= np.maximum(np.linalg.norm(x, axis=1), 1e-300)[:, None]
    y = np.cross(z, x)
    share = np.linspace(0.0, 1.0, TURNS * PER_TURN + 1)
    wide = radius * np.minimum(1.0, np.minimum(share, 1.0 - share) * 12)  # straight at both ends
    angle = 2.0 * np.pi * TURNS * share
    path = (
        a[:, None]
        + share[:, None] * along[:, None]
        + (wide * np.cos(angle))[:, None] * x[:, None]
        + (wide * np.sin(angle))[:, None] * y[:, None]
    )
    return np.stack([path[:, :-1], path[:, 1:]], axis=2).reshape(-1, 2, 3).astype(np.float32)


def _lines(scene: viser.SceneApi, name: str, color: Any, thickness: float, visible: bool) -> Any:
    points = np.zeros((1, 2, 3), np.float32)
    return scene.add_line_segments(name, points, color, thickness=thickness, visible=visible)
