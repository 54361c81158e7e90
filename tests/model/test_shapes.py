"""Shapes: their masses and inertias against integrals, and what they refuse."""

import sys

import numpy as np
import pytest

from whippletree.errors import MissingExtra, ModelError
from whippletree.model import Model, shapes

AXES = ["x", "y", "z", "-x", "-y", "-z", (1.0, 2.0, -2.0), (-1.0, 1.0, 0.0)]
SHAPES = [
    shapes.point(2.0, at=(1, 2, 3)),
    shapes.rod(2.0, 0.5),
    shapes.rod(2.0, 0.5, radius=0.1, axis=(1, 1, 1)),
    shapes.box(3.0, (1, 2, 3)),
    shapes.sphere(3.0, 0.2),
    shapes.cylinder(3.0, 0.2, 0.6),
]


def test_a_point_has_no_inertia_about_itself():
    point = shapes.point(2.0, at=(1, 2, 3))
    assert (point["mass"], point["com"]) == (2.0, (1.0, 2.0, 3.0))
    assert not np.any(point["inertia"])


def test_a_thin_rod_is_exact():
    rod = shapes.rod(mass=3.0, length=2.0)
    assert rod["com"] == (1.0, 0.0, 0.0)
    assert rod["inertia"] == ((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  # m l^2 / 12


@pytest.mark.parametrize("axis", AXES)
def test_a_rod_lies_along_its_axis(axis):
    rod = shapes.rod(2.0, 0.6, axis=axis, radius=0.1)
    a = np.array(rod["com"]) / 0.3
    inertia = np.array(rod["inertia"])
    assert np.linalg.norm(a) == pytest.approx(1.0, abs=1e-15)
    assert inertia @ a == pytest.approx(0.5 * 2.0 * 0.1**2 * a, abs=1e-15)
    across = np.cross(a, [0.3, -0.5, 0.8])
    assert inertia @ across == pytest.approx(2.0 * (3 * 0.1**2 + 0.6**2) / 12 * across, abs=1e-15)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("make", [lambda a: shapes.rod(1.0, 1.0, axis=a), lambda a: shapes.cylinder(1.0, 0.1, 1.0, a)])
def test_the_drawn_cylinder_lies_along_the_axis(make, axis):
    body = make(axis)
    (drawn,) = body["visuals"]
    along = drawn.at.rotation()[:, 2]  # a cylinder is drawn along its own z
    inertia = np.array(body["inertia"])
    assert along @ inertia @ along == pytest.approx(np.linalg.eigvalsh(inertia)[0], abs=1e-15)
    assert drawn.at.position == body["com"]


def test_solids_against_a_sum_over_many_small_cubes():
    n = 60
    grid = (np.arange(n) + 0.5) / n - 0.5
    x = np.stack(np.meshgrid(grid, grid, grid, indexing="ij"), -1).reshape(-1, 3)
    inside = {
        "box": (shapes.box(2.0, (1, 0.6, 0.2)), np.all(np.abs(x) <= (0.5, 0.3, 0.1), axis=1)),
        "sphere": (shapes.sphere(2.0, 0.5), np.sum(x**2, axis=1) <= 0.25),
        "cylinder": (shapes.cylinder(2.0, 0.5, 0.8), (x[:, 0] ** 2 + x[:, 1] ** 2 <= 0.25) & (np.abs(x[:, 2]) <= 0.4)),
    }
    for name, (body, mask) in inside.items():
        r = x[mask]
        inertia = 2.0 / len(r) * (np.sum(r**2) * np.eye(3) - r.T @ r)
        assert np.array(body["inertia"]) == pytest.approx(inertia, rel=0.01, abs=1e-12), name  # cubes of 1/60


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_makes_a_body(shape):
    body = Model("m").body("a", **shape)
    assert body.mass > 0
    assert len(body.visuals) == 1


@pytest.fixture
def cube(tmp_path):
    """A closed box of 1 x 2 x 3 about (1, 0, 0), written in every format that is read."""
    trimesh = pytest.importorskip("trimesh")
    surface = trimesh.creation.box((1, 2, 3))
    surface.apply_translation((1, 0, 0))
    for suffix in shapes.MESH_FORMATS:
        surface.export(tmp_path / f"cube{suffix}")
    surface.invert()
    surface.export(tmp_path / "inverted.stl")
    surface.update_faces(np.arange(len(surface.faces)) > 0)
    surface.export(tmp_path / "open.stl")
    (tmp_path / "cube.dae").write_text("x")
    (tmp_path / "bad.ply").write_text("x")
    (tmp_path / "none.obj").write_text("v 0 0 0\n")
    (tmp_path / "flat.obj").write_text("v 0 0\nv 1 0\nv 0 1\nv 1 1\nf 1 2 3\nf 2 1 4\nf 3 2 4\nf 1 3 4\n")
    return tmp_path


@pytest.mark.parametrize("name", ["cube.stl", "cube.obj", "cube.ply", "cube.glb", "inverted.stl"])
def test_a_mesh_is_the_solid_inside(cube, name):
    box = shapes.box(12.0, (1, 2, 3))
    for body in (shapes.mesh(cube / name, density=2.0), shapes.mesh(cube / name, mass=12.0)):
        assert body["mass"] == pytest.approx(12.0)
        assert body["com"] == pytest.approx((1, 0, 0))
        assert np.array(body["inertia"]) == pytest.approx(np.array(box["inertia"]), abs=1e-12)
    small = shapes.mesh(cube / name, density=2.0, scale=0.1)
    assert small["mass"] == pytest.approx(12e-3)
    assert np.array(small["inertia"]) == pytest.approx(1e-5 * np.array(box["inertia"]), abs=1e-12)
    assert small["visuals"][0].size == (0.1, 0.1, 0.1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cub.stl", "mesh 'cub.stl': there is no such file"),
        ("cube.dae", "mesh 'cube.dae': the format is not read"),
        ("cube", "mesh 'cube': the format is not read"),
        ("bad.ply", "mesh 'bad.ply': the file cannot be read as PLY"),
        ("flat.obj", "mesh 'flat.obj': the file cannot be read as OBJ"),
        ("open.stl", "mesh 'open.stl': the surface is not closed, so it encloses no volume"),
        ("none.obj", "mesh 'none.obj': the surface is not closed, so it encloses no volume"),
    ],
)
def test_a_mesh_that_is_no_solid_is_refused(cube, name, message):
    with pytest.raises(ModelError) as caught:
        shapes.mesh(cube / name, mass=1.0)
    assert caught.value.what == message
    if name == "cub.stl":
        assert caught.value.hint == "did you mean 'cube.stl'?"


def test_a_mesh_too_large_is_not_opened(cube, monkeypatch):
    monkeypatch.setattr(shapes, "LARGEST_MESH", 10)
    with pytest.raises(ModelError, match=r"cube.stl': the file is too large"):
        shapes.mesh(cube / "cube.stl", mass=1.0)


def test_a_mesh_cannot_make_us_read_other_files(cube):
    obj = (cube / "cube.obj").read_text()
    (cube / "cube.obj").write_text("mtllib ../secret.mtl\nusemtl m\n" + obj)
    assert shapes.mesh(cube / "cube.obj", density=2.0)["mass"] == pytest.approx(12.0)


def test_without_trimesh_the_extra_is_named(cube, monkeypatch):
    monkeypatch.setitem(sys.modules, "trimesh", None)
    with pytest.raises(MissingExtra, match="the inertia of a mesh needs the package 'trimesh'"):
        shapes.mesh(cube / "cube.stl", mass=1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: shapes.point(0), "point: mass must be positive\n  expected: a number > 0\n  got: 0.0"),
        (lambda: shapes.point(1, at=1), "point: at is not a list of numbers\n  expected: 3 numbers\n  got: 1"),
        (lambda: shapes.rod(1, -2), "rod: length must be positive\n  expected: a number > 0\n  got: -2.0"),
        (lambda: shapes.rod("1", 2), "rod: mass is not a number\n  expected: a finite number\n  got: '1'"),
        (
            lambda: shapes.rod(1, 2, radius=-1),
            "rod: radius is too small\n  expected: a finite number >= 0\n  got: -1.0",
        ),
        (
            lambda: shapes.rod(1, 2, axis=(0, 0, 0)),
            "rod: axis has no direction\n  expected: 3 numbers that are not all zero\n  got: [0.0, 0.0, 0.0]",
        ),
        (lambda: shapes.box(1, (1, 2)), "box: size has the wrong length\n  expected: 3 numbers\n  got: 2"),
        (lambda: shapes.box(1, (1, 2, 0)), "box: size must be positive\n  expected: a number > 0\n  got: 0.0"),
        (
            lambda: shapes.sphere(1, float("nan")),
            "sphere: radius is not finite\n  expected: a finite number\n  got: nan",
        ),
        (lambda: shapes.cylinder(1, 0, 1), "cylinder: radius must be positive\n  expected: a number > 0\n  got: 0.0"),
        (
            lambda: shapes.mesh("a.stl"),
            "mesh: one of density and mass is needed\n  expected: density=... or mass=...\n  got: none",
        ),
        (
            lambda: shapes.mesh("a.stl", mass=1, density=1),
            "mesh: one of density and mass is needed\n  expected: density=... or mass=...\n  got: both",
        ),
    ],
)
def test_bad_numbers_name_the_shape_and_the_argument(make, message):
    with pytest.raises(ModelError) as caught:
        make()
    assert str(caught.value) == message
