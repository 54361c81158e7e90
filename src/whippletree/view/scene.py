"""One mechanism in a browser window: bodies, floor, light and camera; it moves with ``place(q)``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, nearest
from ..model import Visual
from ..model.check import number
from ..model.pose import IDENTITY
from ..system.system import System
from . import pieces
from .batches import Batch, batches_of
from .camera import FIELD, grid_cell, view_of
from .flexible import FlexibleBodies
from .meshes.read import Surfaces
from .poses import Poses, from_z, quaternions
from .standing import standing
from .ties import Ties, Violations
from .track import some_rows

if TYPE_CHECKING:
    import viser

MOMENTS = 64  # of a motion, that the camera and the floor are chosen for
MOST_NAMES = 200  # labels are one message each
FIRST_PICTURE = 1.0  # s that a browser takes for it, without a graphics card
TRAIL: pieces.Color = (209, 73, 91)


class Scene:
    """Everything that shows ``system`` in the windows of a viser ``server``.

    ``q``, (nq,) or (T, nq), is what the first view takes in; the neutral configuration if not given. The scene stands
    at its first row. Bodies are drawn as the model says, or as bars between their joints and boxes of their inertia;
    ``visuals``, by body, take the place of the model's own: results keep no mesh files.

    ``scale`` (1) makes the deformation of flexible bodies that many times as large; ``place`` heeds it.
    ``colors`` are those of bodies by name, 0 to 255; ``view`` is how it is seen first; ``length`` is the usual size of
    a body, m. ``batches`` hold viser's handles of all instances of one shape, with the body of each instance.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        system: System,
        q: ArrayLike | None = None,
        *,
        visuals: Mapping[str, Sequence[Visual]] | None = None,
    ) -> None:
        self.server, self.system = server, system
        self.scale = 1.0
        self.colors = pieces.body_colors(system)
        self.length = pieces.usual_length(system)
        self._order = {name: n for n, name in enumerate(system.bodies)}
        self._poses = Poses.of(system, system.bodies)
        self._middles = Poses(system, pieces.middles(system))
        self._q = np.array(system.q0)
        self._surfaces = Surfaces()
        self.pieces = pieces.pieces_of(system, self.length, self._surfaces.drawable(system.model, visuals))
        motion = np.atleast_2d(np.asarray(system.q0 if q is None else q, float))
        self.view = view_of(self._extent(motion), system.gravity)
        api = server.scene
        with server.atomic():
            self._light_and_floor()
            self.batches: list[Batch] = batches_of(api, self.pieces, self._order, self._surfaces)
            self._flexible = FlexibleBodies(api, system) if system.model.flexibles else None
            self._ties, self.violations = Ties(api, system, self.length), Violations(api, system, self.length)
            self._arrows: dict[str, Any] = {}
            self._names: dict[str, Any] = {}
            self._axes: tuple[Any, Poses] | None = None
            self._trail = api.add_line_segments(
                "/trail", np.zeros((1, 2, 3)), TRAIL, thickness=0.012 * self.length, visible=False
            )
        self._surfaces.warn()
        self.place(motion[0])

    def place(self, q: ArrayLike) -> None:
        """Move everything to one configuration q (nq,)."""
        self._q = np.array(q, float)
        shown = self.exaggerated(self._q)
        k = standing(self.system, shown)
        self._R, self._p = self._poses.at(k)
        with self.server.atomic():
            for batch in self.batches:
                batch.place(self._R, self._p)
            if self._flexible is not None:
                rows = [self._order[name] for name in self._flexible.names]
                self._flexible.place(shown, self._R[rows], self._p[rows])
            self._ties.place(k)
            self.violation = float(self.violations.place(k).max(initial=0.0))
            for label, place in zip(self._names.values(), self._middles.at(k)[1], strict=False):
                label.position = place
            if self._axes is not None:
                handle, poses = self._axes
                R, p = poses.at(k)
                handle.batched_wxyzs, handle.batched_positions = quaternions(R), p.astype(np.float32)

    def exaggerated(self, q: np.ndarray) -> np.ndarray:
        """The configurations (..., nq) with flexible bodies deformed ``scale`` times as much."""
        if self.system.flexible is None or self.scale == 1.0:
            return q
        larger = np.array(q)
        for name in self.system.flexible.bodies:
            larger[..., self.system.q_index(name)] *= self.scale
        return larger

    def deform(self, scale: float) -> None:
        """Draw flexible bodies deformed ``scale`` times as much as they are."""
        self.scale = number(scale, "scale of the deformation", low=0.0)
        self.place(self._q)

    def position(self, body: str) -> np.ndarray:
        """(3,) Where the origin of a body was placed last, m."""
        return np.array(self._p[self.row(body)])

    def rotation(self, body: str) -> np.ndarray:
        """(3, 3) Axes of a body as it was placed last."""
        return np.array(self._R[self.row(body)])

    def row(self, body: str) -> int:
        """The place of a body in ``system.bodies``; complains about unknown ones."""
        if body not in self._order:
            raise ModelError(f"body '{body}' is not known", hint=nearest(str(body), self._order))
        return self._order[body]

    def paths(self, body: str, q: np.ndarray) -> np.ndarray:
        """(T, 3) Where the origin of a body is in configurations q (T, nq), m."""
        self.row(body)
        return Poses.of(self.system, [body])(self.exaggerated(q))[1][:, 0]

    def on_click(self, reported: Callable[[str, Any], None]) -> None:
        """Call ``reported(body, event)`` when a rigid body is clicked; viser's event has ``client`` and the ray."""
        for batch in self.batches:
            batch.on_click(reported)

    def on_drag(self, reported: Callable[[str, Any], None]) -> None:
        """Call ``reported(body, event)`` while a rigid body is dragged: ``event.phase`` is start, update, or end."""
        for batch in self.batches:
            batch.on_drag(reported)

    def arrows(
        self,
        given: Mapping[str, tuple[ArrayLike, ArrayLike]],
        *,
        group: str = "forces",
        color: pieces.Color = (40, 150, 60),
        per_metre: float = 1.0,
    ) -> None:
        """Draw arrows, name to (tail, vector) in world axes; they take the place of those of the same group.

        ``per_metre`` is the size of a vector that is drawn one metre long: N/m for forces.
        """
        pairs = [(np.asarray(tail, float), np.asarray(vector, float) / per_metre) for tail, vector in given.values()]
        points = np.array([[tail, tail + vector] for tail, vector in pairs if np.linalg.norm(vector) > 0.0])
        if group not in self._arrows:
            size = self.length
            self._arrows[group] = self.server.scene.add_arrows(
                f"/arrows/{group}",
                np.zeros((1, 2, 3), np.float32),
                color,
                shaft_radius=0.014 * size,
                head_radius=0.038 * size,
                head_length=0.09 * size,
                visible=False,
            )
        handle = self._arrows[group]
        if len(points):
            handle.points = points.astype(np.float32)
        handle.visible = bool(len(points))

    def trail(self, points: ArrayLike | None) -> None:
        """Draw a line through points (n, 3); None takes it away."""
        path = np.zeros((0, 3)) if points is None else np.asarray(points, float)
        if len(path) > 1:
            self._trail.points = np.stack([path[:-1], path[1:]], axis=1).astype(np.float32)
        self._trail.visible = len(path) > 1

    def show_names(self, on: bool) -> None:
        """Names of bodies at their middles."""
        for label in self._names.values():
            label.remove()
        model = self.system.model
        names = [*model.bodies, *model.flexibles] if on else []
        self._names = {
            name: self.server.scene.add_label(f"/names/{n}", name, anchor="center-center")
            for n, name in enumerate(names[:MOST_NAMES])
        }
        self.place(self._q)

    def show_axes(self, of: str | None) -> None:
        """Axes (x red, y green, z blue) of "bodies", of "joints", of "frames", or of nothing."""
        model = self.system.model
        kinds: dict[str | None, Sequence[Any]] = {
            None: (),
            "bodies": [(name, IDENTITY) for name in (*model.bodies, *model.flexibles)],
            "frames": [(name, IDENTITY) for name in model.frames],
            "joints": [(joint.child, joint.child_at) for joint in model.joints.values()],
        }
        if of not in kinds:
            raise ModelError(f"axes of '{of}' are not known", expected="bodies, joints, frames or None")
        if self._axes is not None:
            self._axes[0].remove()
            self._axes = None
        if kinds[of]:
            poses = Poses(self.system, kinds[of])
            R, p = poses(self.exaggerated(self._q))
            handle = self.server.scene.add_batched_axes(
                "/axes", quaternions(R), p, axes_length=0.3 * self.length, axes_radius=0.012 * self.length
            )
            self._axes = handle, poses

    def show_closure(self, on: bool) -> None:
        """Mark the joints that close loops, and the gaps that they have left."""
        self.violations.show(on)
        self.place(self._q)

    def _extent(self, motion: np.ndarray) -> np.ndarray:
        """(n, 3) World points that hold all of the mechanism at moments of a motion (T, nq)."""
        R, p = self._poses(motion[some_rows(len(motion), MOMENTS)])
        found = [p[:, 1:].reshape(-1, 3)]
        bounds = [(x.body, self._surfaces.bounds(x) if x.shape == "mesh" else pieces.corners(x)) for x in self.pieces]
        bounds += [(flexible.name, flexible.modes.r) for flexible in self.system.model.flexibles.values()]
        for name, local in bounds:
            n = self._order[name]
            found.append((p[:, None, n] + local @ R[:, n].swapaxes(-1, -2)).reshape(-1, 3))
        points = np.concatenate(found)
        return points if len(points) else np.zeros((1, 3))

    def _light_and_floor(self) -> None:
        view = self.view
        api, camera = self.server.scene, self.server.initial_camera
        api.set_up_direction(tuple(view.up))
        self._lamps()
        cell = grid_cell(view.reach)
        width = 40.0 * cell
        foot = view.centre + (view.floor - view.centre @ view.up) * view.up
        foot = foot - np.remainder(foot, cell) * (np.abs(view.up) < 0.5)  # lines on round numbers of metres
        api.add_grid(
            "/floor",
            width,
            width,
            wxyz=from_z(view.up),
            position=foot,
            cell_size=cell,
            section_size=5 * cell,
            cell_color=(214, 218, 224),
            section_color=(176, 182, 192),
            plane_color=(246, 247, 249),
            plane_opacity=0.9,
            shadow_opacity=0.25,
            infinite_grid=True,
            fade_distance=16.0 * view.reach,
            fade_strength=1.2,
            fade_from="origin",
        )
        camera.fov = float(FIELD)
        camera.near, camera.far = 0.01 * view.reach, 200.0 * view.reach
        camera.look_at, camera.position = tuple(view.centre), tuple(view.eye)

    def _lamps(self) -> None:
        """A sun that casts shadows, a weaker lamp against it, and the sky."""
        view, api = self.view, self.server.scene
        api.configure_environment_map(None)
        api.configure_default_lights(False)
        across = (view.eye - view.centre) / np.linalg.norm(view.eye - view.centre)
        side = np.cross(view.up, across)
        sun, fill = 2.0 * view.up + 0.9 * across - 0.8 * side, 0.3 * view.up + across + side
        place = tuple(view.centre + 10.0 * sun)
        self._sun = api.add_light_directional("/sun", position=place, intensity=1.6, cast_shadow=True)
        place = tuple(view.centre + 10.0 * fill)
        api.add_light_directional("/fill", position=place, intensity=0.5, cast_shadow=False)
        api.add_light_hemisphere("/sky", ground_color=(190, 188, 184), intensity=1.1)

    def shade_later(self) -> None:
        """Shadows only after the first picture: without a graphics card they take as long as all the rest of it."""

        def shade(client: int) -> None:
            if client in self.server.get_clients():  # and has not gone, or the server with it
                self._sun.cast_shadow = True

        def begin(client: Any) -> None:
            later = threading.Timer(FIRST_PICTURE, shade, (client.client_id,))
            later.daemon = True
            later.start()

        self._sun.cast_shadow = False
        self.server.on_client_connect(begin)
