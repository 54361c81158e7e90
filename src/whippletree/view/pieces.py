"""What is drawn of rigid bodies: their own shapes, or shapes that follow from their joints and inertias."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from ..joints import KINDS
from ..model import Body, Joint, Model, Visual
from ..model.pose import Pose, Vector, quaternion_from_matrix
from ..system.joint_frames import in_plane_axes
from ..system.system import System

Color = tuple[int, int, int]

# the colours of plots, in their order (matplotlib's C0, C1, ...)
COLORS: tuple[Color, ...] = (
    (31, 119, 180),
    (255, 127, 14),
    (44, 160, 44),
    (214, 39, 40),
    (148, 103, 189),
    (140, 86, 75),
    (227, 119, 194),
    (127, 127, 127),
    (188, 189, 34),
    (23, 190, 207),
)
PIN: Color = (70, 74, 82)
THICK = 0.035  # radius of a derived link, as a part of the mechanism's usual distance between joints
HALVES = {"box": (0.5, 0.5, 0.5), "cylinder": (1.0, 1.0, 0.5), "sphere": (1.0, 1.0, 1.0)}  # of pieces of size 1
NEAR = 0.05  # a mass centre this near to a link, as a part of its length, is on it


@dataclass(frozen=True)
class Piece:
    """A shape on a body: one of unit size, stretched by ``size`` along its own axes, or the mesh of a file."""

    body: str
    shape: str  # "box" of edges 1, "cylinder" of radius 1 and height 1 along z, "sphere" of radius 1, or "mesh"
    size: Vector
    at: Pose
    color: Color | None  # None: as the mesh file has it
    opacity: float = 1.0
    path: str | None = None


def body_colors(system: System) -> dict[str, Color]:
    """A colour for each body and flexible body, in the order of the model."""
    model = system.model
    return {name: COLORS[n % len(COLORS)] for n, name in enumerate([*model.bodies, *model.flexibles])}


def pieces_of(system: System, length: float, visuals: Mapping[str, Sequence[Visual]]) -> list[Piece]:
    """All that is drawn of rigid bodies and joints; ``length`` is the usual distance between joints, m.

    ``visuals`` are the shapes of bodies, by name. A body without any is derived, unless others have meshes: the bodies
    of robots that have none are frames and sensors, and their joints are inside the meshes.
    """
    model, colors, radius = system.model, body_colors(system), THICK * length
    meshes = any(v.shape == "mesh" for given in visuals.values() for v in given)
    places = _places(model)
    found: list[Piece] = []
    for name, body in model.bodies.items():
        if visuals.get(name):
            found += [_shown(name, v, colors[name]) for v in visuals[name]]
        elif not meshes:
            found += _derived(body, places[name], colors[name], radius)
    if meshes:
        return found
    bars = [piece.size[0] for piece in found if piece.shape == "cylinder"]
    pin = min(radius, 1.1 * float(np.median(bars))) if bars else radius
    return found + [p for joint in model.joints.values() for p in _pin(joint, pin)]


def usual_length(system: System) -> float:
    """The median distance between joints, frames and mass centres of one body, m; 1 where nothing is apart."""
    apart: list[float] = []
    for name, points in _places(system.model).items():
        body = system.model.bodies[name]
        sizes = [max(v.size) for v in body.visuals if v.shape != "mesh"]
        ends = np.array([*points, body.com])
        largest = max([float(np.linalg.norm(ends[:, None] - ends[None], axis=-1).max()), *sizes])
        if largest > 0.0:
            apart.append(largest)
    for flexible in system.model.flexibles.values():
        apart.append(float(np.linalg.norm(np.ptp(flexible.modes.r, axis=0))))
    return float(np.median(apart)) if apart else 1.0


def middles(system: System) -> list[tuple[str, Pose]]:
    """Where the name of each body stands: at its mass centre, of flexible bodies as they are undeformed."""
    model = system.model
    rigid = [(body.name, Pose(body.com)) for body in model.bodies.values()]
    return rigid + [(f.name, Pose(_point(f.modes.h0 / f.modes.mass))) for f in model.flexibles.values()]


def corners(piece: Piece) -> np.ndarray:
    """(8, 3) Corners of a box around a piece that is no mesh, in the axes of its body."""
    half = np.array(HALVES[piece.shape]) * piece.size
    signs = np.array(list(product((-1, 1), repeat=3)))
    return (signs * half) @ piece.at.rotation().T + np.array(piece.at.position)


def _places(model: Model) -> dict[str, list[Vector]]:
    """Where joints are on each body; where it hangs comes first."""
    places: dict[str, list[Vector]] = {name: [] for name in model.bodies}
    for joint in model.joints.values():
        if joint.child in places:
            places[joint.child].insert(0, joint.child_at.position)
    for joint in model.joints.values():
        if joint.parent in places:
            places[joint.parent].append(joint.at.position)
    return places


def _shown(body: str, visual: Visual, color: Color) -> Piece:
    given = visual.color
    own = None if given is None else color_of(given[:3])
    opacity = 1.0 if given is None else float(given[3])
    size = visual.size
    if visual.shape == "mesh":
        return Piece(body, "mesh", (size[0], size[1], size[2]), visual.at, own, opacity, visual.path)
    stretch = {"sphere": size * 3, "cylinder": (size[0], size[0], size[-1]), "box": size}[visual.shape]
    return Piece(body, visual.shape, stretch, visual.at, own or color, opacity)  # type: ignore[arg-type]


def color_of(values: Sequence[float]) -> Color:
    """Red, green and blue that are 0 to 1."""
    r, g, b = (round(255 * min(max(x, 0.0), 1.0)) for x in values)
    return (r, g, b)


def _derived(body: Body, places: list[Vector], color: Color, radius: float) -> list[Piece]:
    """Links from where the body hangs to its other joints; its mass as a box of the same inertia off them."""
    start = np.array(places[0] if places else (0.0, 0.0, 0.0))
    ends = [end for end in dict.fromkeys(places[1:]) if not np.allclose(end, start, atol=1e-9)]
    com, found = np.array(body.com), list[Piece]()
    for end in ends:
        found += _link(body.name, start, np.array(end), radius, color)
    on_link = any(_distance(com, start, np.array(end)) < NEAR * np.linalg.norm(end - start) for end in ends)
    if on_link:
        return found
    if np.linalg.norm(com - start) > 1e-9 and body.mass > 0.0:
        found += _link(body.name, start, com, 0.6 * radius, color)
    return [*found, _lump(body, color, radius)]


def _lump(body: Body, color: Color, radius: float) -> Piece:
    """A box of the same mass and inertia, or a small ball where that has no extent."""
    if body.mass > 0.0:
        moments, axes = np.linalg.eigh(np.array(body.inertia))
        if np.linalg.det(axes) < 0:
            axes[:, 0] *= -1.0
        # m (y^2 + z^2)/12 = Ix and so on
        square = 6.0 / body.mass * (moments.sum() - 2.0 * moments)
        edges = np.sqrt(np.maximum(square, 0.0))
        if edges.max() > 0.5 * radius:
            x, y, z = np.maximum(edges, 0.3 * radius).tolist()
            return Piece(body.name, "box", (x, y, z), Pose(body.com, quaternion_from_matrix(axes)), color)
    return Piece(body.name, "sphere", (1.6 * radius,) * 3, Pose(body.com), color)


def _link(body: str, start: np.ndarray, end: np.ndarray, radius: float, color: Color) -> Iterator[Piece]:
    """A bar with round ends."""
    length = float(np.linalg.norm(end - start))
    x, y, z = ((end - start) / length).tolist()
    turn = quaternion_from_matrix(in_plane_axes((x, y, z)))
    yield Piece(body, "cylinder", (radius, radius, length), Pose(_point((start + end) / 2), turn), color)
    for place in (start, end):
        yield Piece(body, "sphere", (radius,) * 3, Pose(_point(place)), color)


def _pin(joint: Joint, radius: float) -> list[Piece]:
    """What a joint looks like, on its child."""
    body, at = joint.child, joint.child_at
    picture = KINDS[joint.kind].picture
    if picture == "none":
        return []
    if picture == "ball":
        return [Piece(body, "sphere", (1.5 * radius,) * 3, at, PIN)]
    turned = Pose(at.position, quaternion_from_matrix(at.rotation() @ in_plane_axes(joint.axis)))
    if picture == "slide":
        return [Piece(body, "box", (2.6 * radius, 2.6 * radius, 3.6 * radius), turned, PIN)]
    return [Piece(body, "cylinder", (1.2 * radius, 1.2 * radius, 3.2 * radius), turned, PIN)]


def _distance(point: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
    """From a point to the line from start to end."""
    along = end - start
    share = min(max(float((point - start) @ along / (along @ along)), 0.0), 1.0)
    return float(np.linalg.norm(point - start - share * along))


def _point(values: np.ndarray) -> Vector:
    x, y, z = values.tolist()
    return (x, y, z)
