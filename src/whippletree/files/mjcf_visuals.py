"""What MuJoCo's geoms look like: shapes, sizes, places and colours of a compiled body."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..model import Pose, Visual
from ..model.pose import quaternion_from_matrix
from .mjcf_source import Source

DRAWN_GROUPS = 3  # MuJoCo draws the groups 0, 1 and 2 unless asked; 3 and on are usually for contact
GREY = (0.5, 0.5, 0.5, 1.0)  # the colour of a geom that says nothing; its material's then counts


def visuals(mujoco: Any, spec: Any, m: Any, body: int, given: Source, left_out: Counter[str]) -> tuple[Visual, ...]:
    """The drawn geoms of body number ``body``; a shape that we do not draw is counted in ``left_out``."""
    first = int(m.body_geomadr[body])
    geoms = range(first, first + int(m.body_geomnum[body]))
    drawn: list[Visual] = []
    for g in geoms:
        if m.geom_group[g] < DRAWN_GROUPS:
            shapes = _shapes(mujoco, spec, m, g, given)
            left_out["geoms that are not drawn"] += not shapes
            drawn += shapes
    return tuple(drawn)


def _shapes(mujoco: Any, spec: Any, m: Any, g: int, given: Source) -> list[Visual]:
    kinds, kind, color = mujoco.mjtGeom, m.geom_type[g], _color(m, g)
    x, y, z = (float(s) for s in m.geom_size[g])
    at = pose_of(m.geom_pos[g], m.geom_quat[g])
    mesh = mujoco.mj_id2name(m, mujoco.mjtObj.mjOBJ_MESH, m.geom_dataid[g]) if m.geom_dataid[g] >= 0 else ""
    if kind == kinds.mjGEOM_MESH:
        return _mesh(m, g, spec.mesh(mesh), given.meshes.get(mesh), color)
    if mesh in given.missing:
        return []  # a shape that would be fitted to the mesh
    if kind == kinds.mjGEOM_BOX:
        return [Visual("box", (2 * x, 2 * y, 2 * z), at, color)]
    if kind == kinds.mjGEOM_SPHERE:
        return [Visual("sphere", (x,), at, color)]
    if kind == kinds.mjGEOM_CYLINDER:
        return [Visual("cylinder", (x, 2 * y), at, color)]
    if kind == kinds.mjGEOM_CAPSULE:
        along = at.rotation()[:, 2] * y
        ends = [Visual("sphere", (x,), pose_of(m.geom_pos[g] + end, m.geom_quat[g]), color) for end in (-along, along)]
        return [Visual("cylinder", (x, 2 * y), at, color), *ends]
    return []


def _mesh(m: Any, g: int, mesh: Any, path: str | None, color: Any) -> list[Visual]:
    """The mesh file as it stands in the body.

    MuJoCo has a vertex v of the file at X S R^T (v - p), with refpos p, refquat R and scale S; X takes back that it
    moves each mesh to its centre of mass and principal axes. A Visual can say X R^T S (v - p), which is the same where
    S and R commute.
    """
    n, scale = m.geom_dataid[g], np.array(m.mesh_scale[m.geom_dataid[g]], float)
    R, p = pose_of(mesh.refpos, mesh.refquat / np.linalg.norm(mesh.refquat)).rotation(), np.array(mesh.refpos)
    if path is None or not np.allclose(R * scale, scale[:, None] * R, atol=1e-12 * abs(scale).max()):
        return []  # written out in the file, made by MuJoCo, or stretched along turned axes
    moved = pose_of(m.mesh_pos[n], m.mesh_quat[n])
    X = pose_of(m.geom_pos[g], m.geom_quat[g]).rotation() @ moved.rotation().T
    at = m.geom_pos[g] - X @ (moved.position + R.T @ (scale * p))
    return [Visual("mesh", floats(scale), Pose(floats(at), quaternion_from_matrix(X @ R.T)), color, path)]


def _color(m: Any, g: int) -> Any:
    color, material = tuple(float(np.float32(c)) for c in m.geom_rgba[g]), m.geom_matid[g]
    chosen = m.mat_rgba[material] if color == GREY and material >= 0 else color
    return tuple(round(float(c), 7) for c in chosen)  # MuJoCo keeps colours in single precision


def pose_of(position: Any, quaternion: Any) -> Pose:
    return Pose(floats(position), floats(quaternion))


def floats(values: Any) -> Any:
    return tuple(float(x) for x in values)
