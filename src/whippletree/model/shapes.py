"""Bodies of plain shapes: mass, centre of mass, inertia about it, and what to draw.

Each function returns the keywords of :meth:`Model.body`::

    model.body("crank", **rod(mass=1.0, length=0.2))

Lengths in metres, masses in kilograms, densities in kilograms per cubic metre.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtra, ModelError, nearest, path_of
from . import check
from .parts import Visual
from .pose import IDENTITY, Pose, Vector

WATER = 1000.0  # kg/m^3; a point is drawn as a drop of water of its mass
THIN = 0.02  # a rod without radius is drawn this thick, as a part of its length
MESH_FORMATS = (".stl", ".obj", ".ply", ".glb")
LARGEST_MESH = 256 * 2**20  # bytes

Axis = str | Sequence[float]


def point(mass: float, at: Sequence[float] = (0.0, 0.0, 0.0)) -> dict[str, Any]:
    """A point of ``mass`` (kg) at ``at`` (m): no inertia about itself."""
    mass = _positive(mass, "point: mass")
    place = check.vector(at, "point: at")
    radius = math.cbrt(3.0 * mass / (4.0 * math.pi * WATER))
    return _body(mass, np.zeros((3, 3)), place, Visual("sphere", (radius,), Pose(place)))


def rod(mass: float, length: float, axis: Axis = "x", radius: float = 0.0) -> dict[str, Any]:
    """A rod of ``mass`` (kg) and ``length`` (m) from the body's origin along ``axis``, a letter as "-z" or a vector.

    Its inertia is m l^2/12 across it, or with a ``radius`` (m) that of a solid cylinder.
    """
    mass, length = _positive(mass, "rod: mass"), _positive(length, "rod: length")
    radius = check.number(radius, "rod: radius", low=0.0)
    a = check.axis(axis, "rod: axis")
    centre: Vector = (0.5 * length * a[0], 0.5 * length * a[1], 0.5 * length * a[2])
    drawn = Visual("cylinder", (radius or THIN * length, length), Pose(centre, _from_z(a)))
    return _body(mass, _cylinder_inertia(mass, radius, length, a), centre, drawn)


def cylinder(mass: float, radius: float, length: float, axis: Axis = "z") -> dict[str, Any]:
    """A solid cylinder of ``mass`` (kg), ``radius`` and ``length`` (m) along ``axis``, centred on the body's origin."""
    mass, radius = _positive(mass, "cylinder: mass"), _positive(radius, "cylinder: radius")
    length = _positive(length, "cylinder: length")
    a = check.axis(axis, "cylinder: axis")
    drawn = Visual("cylinder", (radius, length), Pose(quaternion=_from_z(a)))
    return _body(mass, _cylinder_inertia(mass, radius, length, a), IDENTITY.position, drawn)


def box(mass: float, size: Sequence[float]) -> dict[str, Any]:
    """A solid box of ``mass`` (kg) and edges ``size`` = (x, y, z) (m), centred on the body's origin."""
    mass = _positive(mass, "box: mass")
    x, y, z = (_positive(s, "box: size") for s in check.vector(size, "box: size"))
    moments = np.array([y * y + z * z, z * z + x * x, x * x + y * y])
    return _body(mass, np.diag(mass / 12.0 * moments), IDENTITY.position, Visual("box", (x, y, z)))


def sphere(mass: float, radius: float) -> dict[str, Any]:
    """A solid sphere of ``mass`` (kg) and ``radius`` (m), centred on the body's origin."""
    mass, radius = _positive(mass, "sphere: mass"), _positive(radius, "sphere: radius")
    return _body(mass, 0.4 * mass * radius**2 * np.eye(3), IDENTITY.position, Visual("sphere", (radius,)))


def mesh(
    path: str | Path, *, density: float | None = None, mass: float | None = None, scale: float = 1.0
) -> dict[str, Any]:
    """The solid inside a closed surface (STL, OBJ, PLY or GLB), from its density (kg/m^3) or its mass (kg).

    ``scale`` turns the file's lengths into metres: 0.001 for a file in millimetres.
    """
    if (density is None) == (mass is None):
        given = "none" if density is None else "both"
        raise ModelError("mesh: one of density and mass is needed", expected="density=... or mass=...", got=given)
    weight = _positive(density, "mesh: density") if mass is None else _positive(mass, "mesh: mass")
    scale = _positive(scale, "mesh: scale")
    surface = _closed_surface(path_of(path, "the mesh"))
    surface.apply_scale(scale)
    surface.density = weight if mass is None else weight / surface.volume
    drawn = Visual("mesh", (scale,) * 3, path=str(path))
    x, y, z = surface.center_mass.tolist()
    return _body(_positive(surface.mass, "mesh: mass"), surface.moment_inertia, (x, y, z), drawn)


def _body(mass: float, inertia: np.ndarray, com: Vector, drawn: Visual) -> dict[str, Any]:
    symmetric = 0.5 * (inertia + inertia.T) + 0.0  # no -0.0
    return {"mass": mass, "com": com, "inertia": tuple(map(tuple, symmetric.tolist())), "visuals": (drawn,)}


def _positive(value: Any, what: str) -> float:
    x = check.number(value, what)
    if x <= 0.0:
        raise ModelError(f"{what} must be positive", expected="a number > 0", got=x)
    return x


def _cylinder_inertia(mass: float, radius: float, length: float, axis: Vector) -> np.ndarray:
    """I = m (3 r^2 + l^2)/12 (1 - a a') + m r^2/2 a a', with the axis a."""
    along = np.outer(axis, axis)
    across = mass * (3.0 * radius**2 + length**2) / 12.0
    return across * (np.eye(3) - along) + 0.5 * mass * radius**2 * along


def _from_z(axis: Vector) -> tuple[float, float, float, float]:
    """The shortest rotation that takes z, the axis of a drawn cylinder, to ``axis``."""
    x, y, z = axis
    sine = math.hypot(x, y)
    if sine == 0.0:
        return IDENTITY.quaternion if z > 0.0 else (0.0, 1.0, 0.0, 0.0)
    half = 0.5 * math.atan2(sine, z)
    turn, x, y = math.sin(half), x / sine, y / sine  # x and y may be of the smallest size there is
    return check.quaternion((math.cos(half), -turn * y, turn * x, 0.0), "axis")


def _closed_surface(path: Path) -> Any:
    """The triangles of a mesh file that enclose a volume, seen from outside."""
    suffix, label = path.suffix.lower(), f"mesh '{path.name}'"
    if suffix not in MESH_FORMATS:
        formats = ", ".join(MESH_FORMATS)
        raise ModelError(f"{label}: the format is not read", expected=f"a file {formats}", got=suffix or "no suffix")
    if not path.is_file():
        folder = path.parent.iterdir() if path.parent.is_dir() else ()
        files = sorted(p.name for p in folder if p.suffix.lower() in MESH_FORMATS)
        hint = nearest(path.name, files) or "paths begin in the folder of the model"
        raise ModelError(f"{label}: there is no such file", where=str(path), hint=hint)
    if path.stat().st_size > LARGEST_MESH:
        raise ModelError(f"{label}: the file is too large", expected=f"at most {LARGEST_MESH} bytes", where=str(path))
    try:
        import trimesh
    except ImportError:
        raise MissingExtra("trimesh", "robots", "the inertia of a mesh") from None
    options = {"skip_materials": True} if suffix == ".obj" else {}
    try:
        with path.open("rb") as file:  # an open file has no folder, so the mesh cannot name other files to read
            surface = trimesh.load_mesh(file, file_type=suffix[1:], **options)
        volume = surface.volume if surface.is_watertight and surface.is_winding_consistent else 0.0
    except Exception as error:  # the readers of trimesh raise whatever they trip over
        raise ModelError(f"{label}: the file cannot be read as {suffix[1:].upper()}", where=str(path)) from error
    if not math.isfinite(volume) or volume == 0.0:
        raise ModelError(
            f"{label}: the surface is not closed, so it encloses no volume",
            expected="a watertight mesh with faces all turned the same way",
            got=f"an open or twisted one of {len(surface.faces)} faces" if len(surface.faces) else "no faces at all",
            where=str(path),
            hint="close its holes, or give mass, com and inertia as numbers",
        )
    if volume < 0.0:
        surface.invert()
    return surface
