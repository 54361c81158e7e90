"""Flexible bodies in models and in TOML: names of nodes, round trips, and what is wrong with line and key."""

import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import whippletree as wt
from whippletree import files
from whippletree.errors import ModelError, ModelWarning
from whippletree.files import toml
from whippletree.integrate.run.strain import StrainWatch
from whippletree.model import check

TUBE = {"section": "tube", "radius": 0.02, "wall": 0.002, "elements": 2, "degree": 3}


@pytest.fixture(scope="module")
def modes():
    return wt.beam(1.0, **TUBE).modes(count=2)


def arm(modes) -> wt.Model:
    """A flexible arm on a hinge, with a hand on its tip."""
    m = wt.Model("arm")
    m.flexible("arm", modes)
    m.body("hand", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    m.joint("shoulder", "revolute", "ground", "arm", axis="y")
    m.joint("wrist", "fixed", "arm/tip", "hand")
    return m


def test_nodes_are_names_of_bodies(modes):
    m = arm(modes)
    m.frame("tool", "arm/tip", (0.1, 0, 0))
    m.force("pull", "spring", body="arm/n1", to="ground", to_at=(0, 0, 1), stiffness=10.0)
    m.force("stay", "spring", body="arm/tip", to="arm", stiffness=10.0)  # between two nodes of one body
    m.constraint("rest", "point_on_plane", body="arm/tip", to="ground")
    check.whole(m)
    assert m.flexibles["arm"].node_names == {"arm/base": 0, "arm/n1": 1, "arm/tip": 2}
    part = m.flexible("leg", modes)
    m.joint("hip", "revolute", "arm/tip", part)
    check.whole(m)
    assert m.size == 3  # arm, hand and leg: nodes are not counted
    assert repr(m.compile()).startswith("System('arm': 3 bodies, ")


WRONG = [
    (lambda m: m.frame("f", "arm/tp"), "frame 'f': body 'arm/tp' is not known", "did you mean 'arm/tip'?"),
    (lambda m: m.joint("j", "revolute", "arm/end", "hand"), "joint 'j': parent 'arm/end' is not known", None),
    (
        lambda m: m.force("s", "spring", body="arm/nn", stiffness=1.0),
        "force 's': body 'arm/nn' is not known",
        "did you mean 'arm/n1'?",
    ),
    (
        lambda m: m.force("s", "spring", body="arm/base", to="arm", stiffness=1.0),
        "force 's' acts between 'arm/base' and 'arm', which are on one body",
        "body and to are two bodies",
    ),
    (
        lambda m: m.joint("j", "revolute", "arm/base", "arm"),
        "joint 'j' joins 'arm/base' to itself",
        "parent and child are two bodies",
    ),
    (
        lambda m: m.body("arm/tip", mass=1.0),
        "body 'arm/tip' has the name of a node of 'arm'",
        "give each a name of its own",
    ),
    (
        lambda m: m.flexible("leg", m.flexibles["arm"].modes),
        "body 'leg' is joined to nothing",
        "let it float: joint('leg_free', 'free', 'ground', 'leg')",
    ),
    (lambda m: m.force("arm", "drag", body="hand", linear=1.0), "force 'arm' has the name of a body", None),
]


@pytest.mark.parametrize(("add", "what", "hint"), WRONG)
def test_what_is_wrong_with_the_whole(modes, add, what, hint):
    m = arm(modes)
    add(m)
    with pytest.raises(ModelError) as caught:
        check.whole(m)
    assert caught.value.what == what
    assert hint is None or caught.value.hint == hint


def test_what_is_wrong_with_a_part(modes):
    m = arm(modes)
    for call, what in (
        (lambda: m.flexible("arm", modes), "body 'arm' is defined twice"),
        (lambda: m.flexible("hand", modes), "body 'hand' is defined twice"),
        (lambda: m.body("arm", mass=1.0), "body 'arm' is defined twice"),
        (lambda: m.frame("arm", "hand"), "frame 'arm' is defined twice"),
        (lambda: m.flexible("leg", wt.beam(1.0, **TUBE)), "flexible body 'leg': modes are missing"),
        (lambda: m.flexible("ground", modes), "body 'ground' is defined twice"),
    ):
        with pytest.raises(ModelError) as caught:
            call()
        assert caught.value.what == what
    from dataclasses import replace

    with pytest.raises(ModelError, match="flexible body 'leg': the frame of the modes floats"):
        m.flexible("leg", replace(modes, inboard=""))


# ---- TOML

BEAM = """[flexible.arm]
shape = "beam"
length = 1.0
section = "tube"
radius = [0.02, 0.015]
wall = 0.002
E = 70e9
rho = 2700.0
elements = 2
stations = {mid = 0.4}
count = 3
damping = 0.01
fidelity = "stiffened"
"""
JOINT = """
[joints.shoulder]
kind = "revolute"
parent = "ground"
child = "arm"

[frames.hand]
body = "arm/tip"
"""


def written(tmp_path, text):
    (tmp_path / "m.toml").write_text(text)
    return files.load(tmp_path / "m.toml")


def test_a_beam_in_toml_is_the_beam_in_python(tmp_path):
    m = written(tmp_path, BEAM + JOINT)
    beam = wt.beam(1.0, section="tube", radius=[0.02, 0.015], wall=0.002, E=70e9, rho=2700.0, elements=2,
                   stations={"mid": 0.4})  # fmt: skip
    assert m.flexibles["arm"].modes == beam.modes(count=3, damping=0.01, fidelity="stiffened")


@pytest.mark.parametrize("kind", ["cantilever", "free", "craig-bampton"])
def test_round_trip_of_beams(kind):
    beam = wt.beam(2.0, section="rectangle", width=np.array([0.03, 0.02]), height=0.01, axis=(1, 1, 0), up="z",
                   theory="timoshenko", elements=2, degree=4, deforms=["bending_y", "torsion"], nu=0.2)  # fmt: skip
    count = {"count": np.int64(2)} if kind != "free" else {"frequency": 2000.0}
    m = wt.Model("m")
    m.flexible("a b", beam.modes(kind, inboard="tip", outboard=["base"], damping=[0.01] * 2 if kind != "free" and
                                 kind != "craig-bampton" else 0.02, **count))  # fmt: skip
    text = toml.dumps(m)
    assert 'shape = "beam"' in text
    back = toml.loads(text, "/models/m.toml")
    assert back == m
    assert toml.dumps(back) == text


def test_round_trip_of_modes_made_in_python(tmp_path, modes):
    """What no recipe makes again is written as it is: in the file of the model."""
    m = arm(modes.referenced("tip"))
    files.save(m, tmp_path / "m.toml")
    back = files.load(tmp_path / "m.toml")
    assert back == m
    assert "data = " in (tmp_path / "m.toml").read_text()
    files.save(back, tmp_path / "again.toml")
    assert (tmp_path / "again.toml").read_text() == (tmp_path / "m.toml").read_text()


def test_round_trip_of_files(tmp_path, modes):
    modes.save(tmp_path / "arm.npz")
    m = written(tmp_path, '[flexible.arm]\nfile = "arm.npz"\n' + JOINT)
    assert m.flexibles["arm"].modes == modes
    files.save(m, tmp_path / "copy.toml")
    assert 'file = "arm.npz"' in (tmp_path / "copy.toml").read_text()
    assert files.load(tmp_path / "copy.toml") == m


def test_matrices_in_a_file_take_a_choice(tmp_path):
    from test_structures import hermite_frame

    M, K, r, _ = hermite_frame()
    names = ["base", *(f"p{k}" for k in range(1, 6)), "tip"]
    np.savez(tmp_path / "mat.npz", M=M, K=K, r=r, names=names)
    m = written(tmp_path, '[flexible.arm]\nfile = "mat.npz"\nkind = "craig-bampton"\ncount = 1\n' + JOINT)
    got = m.flexibles["arm"].modes
    assert got == wt.structure(M=M, K=K, r=r, names=names).modes("craig-bampton", count=1)
    files.save(m, tmp_path / "copy.toml")
    assert files.load(tmp_path / "copy.toml") == m


def test_a_saved_model_leads_to_no_other_file(tmp_path, modes):
    """As results keep it: the modes themselves in place of the path."""
    from whippletree.result.netcdf import _without_meshes

    modes.save(tmp_path / "arm.npz")
    m = written(tmp_path, '[flexible.arm]\nfile = "arm.npz"\n' + JOINT)
    text = toml.dumps(_without_meshes(m))
    assert "arm.npz" not in text
    assert toml.loads(text, "run.nc") == m


ARM = "flexible body 'arm'"
LINES = [
    ("length = 1.0\n", "", 1, f"{ARM}: key 'length' is missing"),
    ('shape = "beam"', 'shape = "bream"', 2, f"{ARM}: shape 'bream' is not known"),
    ('shape = "beam"\n', "", 1, f"{ARM}: one key says what it is"),
    ('shape = "beam"\n', 'shape = "beam"\nfile = "a.npz"\n', 1, f"{ARM}: one key says what it is"),
    ("wall = 0.002", "wal = 0.002", 6, f"{ARM}: key 'wal' is not known"),
    ("wall = 0.002", "wall = -1", 6, f"{ARM}: beam: wall must be positive"),
    ("wall = 0.002", 'wall = "thin"', 6, f"{ARM}: beam: wall is not a number"),
    ("wall = 0.002", "width = 1", 1, f"{ARM}: beam: wall of the tube is missing"),
    ("count = 3", "count = 3.5", 11, f"{ARM}: modes: count is not a count"),
    ("count = 3", 'inboard = "root"', 1, f"{ARM}: node 'root' is not known"),
    ("count = 3", "outboard = 7", 11, f"{ARM}: modes: outboard nodes are not names"),
    ("count = 3", "nodes = [1]", 11, f"{ARM}: modes: nodes are not names"),
    ("count = 3", "participation = true", 11, f"{ARM}: modes: participation: not numbers"),
    ("stations = {mid = 0.4}", "stations = 4", 10, f"{ARM}: beam: stations are not places by name"),
    ("stations = {mid = 0.4}", "deforms = 4", 10, f"{ARM}: beam: deforms are not names"),
    ("stations = {mid = 0.4}", "rotary = 1", 10, f"{ARM}: beam: rotary is not true or false"),
    ('fidelity = "stiffened"', 'fidelity = "stiff"', 13, f"{ARM}: fidelity 'stiff' is not known"),
    (BEAM, '[flexible.arm]\nfile = "../a.npz"\n', 1, f"{ARM}: the modes path leads out of the model's folder"),
    (BEAM, '[flexible.arm]\nfile = "a.npz"\n', None, f"{ARM}: 'a.npz': there is no such file"),
    (BEAM, '[flexible.arm]\nfile = 3\n', 2, f"{ARM}: 'file' has the wrong type"),
    (BEAM, '[flexible.arm]\ndata = "no base64"\n', 2, f"{ARM}: data is no base64 text"),
    (BEAM, '[flexible.arm]\ndata = "aGVsbG8="\n', None, f"{ARM}: the file cannot be read as .npz"),
    (BEAM, '[flexible.arm]\ndata = "aGVsbG8="\ncount = 3\n', 3, f"{ARM}: key 'count' is not known"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "what"), LINES)
def test_what_is_wrong_and_on_which_line(tmp_path, old, new, line, what):
    text = BEAM + JOINT
    assert text.count(old) == 1
    with pytest.raises(ModelError) as caught:
        written(tmp_path, text.replace(old, new))
    assert caught.value.what == what
    where = str(caught.value.where)
    assert line is None or where == f"{tmp_path / 'm.toml'}:{line}"
    assert len(str(caught.value)) < 700


def test_a_file_of_modes_takes_no_choice(tmp_path, modes):
    modes.save(tmp_path / "arm.npz")
    with pytest.raises(ModelError, match="flexible body 'arm': a file of modes takes no count"):
        written(tmp_path, '[flexible.arm]\nfile = "arm.npz"\ncount = 3\n' + JOINT)


# ---- models

MODELS = Path(__file__).parents[2] / "models"
SIZES = {  # coordinates of joints, then of modes
    "rotating_beam": (1, 5),
    "flexible_arm": (2, 14),
    "flexible_slider_crank": (3, 4),
    "flexible_four_bar": (3, 18),
    "spacecraft": (9, 8),
    "flexible_chain": (10, 50),
}


@pytest.mark.parametrize(("name", "sizes"), SIZES.items())
def test_our_models_compile(name, sizes):
    system = files.load(MODELS / f"{name}.toml").compile()
    assert system.nq == sum(sizes)


@pytest.mark.parametrize("name", ["flexible_slider_crank", "flexible_four_bar"])
def test_our_loops_are_closed_where_nothing_is_deformed(name):
    """Both ends of the joint that is cut are at one place at q = 0: by poses of rigid links of the same lengths."""
    model = files.load(MODELS / f"{name}.toml")
    rigid = wt.Model(name, gravity=model.gravity)
    length = {f"{x}/tip": float(f.modes.r[-1, 0]) for x, f in model.flexibles.items()}
    for body in (*model.bodies, *model.flexibles):
        rigid.body(body, mass=1.0, inertia=(1.0, 1.0, 1.0))
    for j in model.joints.values():
        poses = {}
        for key, end in (("at", j.parent), ("child_at", j.child)):
            pose = getattr(j, key)
            x, y, z = pose.position
            poses[key] = wt.pose((x + length.get(end, 0.0), y, z), quaternion=pose.quaternion)
        rigid.joint(j.name, j.kind, j.parent.split("/")[0], j.child.split("/")[0], axis=j.axis, **poses)
    system = rigid.compile()
    gap = wt.assemble(system, np.zeros(system.nq)).q
    np.testing.assert_allclose(gap, 0.0, atol=1e-9)


def test_a_strain_that_is_not_small_is_reported_once(modes):
    """With body, time and strain, as rows come."""
    system = arm(modes).compile()
    t, q = np.linspace(0, 2, 5), np.zeros((5, 3))
    rows = system.q_index("arm")
    q[3:, rows.start] = 0.012 / modes.strain[0], 0.05 / modes.strain[0]
    watch = StrainWatch(SimpleNamespace(system=system, t=t, Q=q))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch.look(3)
    with pytest.warns(ModelWarning) as reported:
        watch.look(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        watch.look(5)
    assert len(reported) == 1
    assert str(reported[0].message) == (
        "flexible body 'arm' is strained by 0.012 at t = 1.5 s, by more than 0.01: "
        "its modes are linear, and hold for small strain and rotation"
    )


def test_a_result_is_read_back_with_its_modes(tmp_path, modes):
    """Modes from a file: the result holds them itself, and needs the file no more."""
    (tmp_path / "model").mkdir()
    modes.save(tmp_path / "model" / "arm.npz")
    m = written(tmp_path / "model", '[flexible.arm]\nfile = "arm.npz"\n' + JOINT)
    t = np.linspace(0, 1, 4)
    q = np.outer(t, [1.0, 0.01, 0.02])
    wt.Result(m.compile(), t, q, 0 * q, attrs={"algorithm": "articulated"}).save(tmp_path / "run.nc")
    (tmp_path / "model" / "arm.npz").unlink()
    back = wt.load_result(tmp_path / "run.nc")
    assert back.system.model.flexibles["arm"].modes == modes
    np.testing.assert_array_equal(back["arm.q"], q[:, 1:])
    np.testing.assert_array_equal(back.q, q)
