"""TOML models: round trip, and one message with file and line for everything that is wrong."""

import math
import os
import runpy
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whippletree import files
from whippletree.errors import ModelError, SimulationError
from whippletree.files import lines, toml
from whippletree.model import JOINT_KINDS, Limits, Model, Visual, pose, shapes

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.toml"))

# ---- round trip

number = st.floats(-1e6, 1e6, allow_nan=False)
positive = st.floats(1e-3, 1e3)
vector = st.tuples(number, number, number)
name = st.text(min_size=1, max_size=12).filter(lambda s: s.isprintable() and s.strip() and s != "ground")


@st.composite
def direction(draw, length):
    v = draw(st.lists(st.floats(-1, 1), min_size=length, max_size=length).filter(lambda v: math.hypot(*v) > 1e-3))
    return tuple(x / math.hypot(*v) for x in v)


def perpendicular(a):
    least = min(range(3), key=lambda i: abs(a[i]))
    return a, tuple(np.cross(a, np.eye(3)[least]).tolist())


places = st.one_of(vector, st.builds(lambda p, q: pose(p, quaternion=q), vector, direction(4)))
colors = st.none() | st.tuples(*[st.floats(0, 1)] * 4)
visuals = st.one_of(
    st.builds(lambda s, p, c: Visual("box", s, pose(p), c), st.tuples(positive, positive, positive), vector, colors),
    st.builds(lambda r, q: Visual("sphere", (r,), pose(quaternion=q)), positive, direction(4)),
    st.builds(lambda p: Visual("mesh", (1.0, 2.0, 3.0), path=f"/models/{p}.stl"), st.sampled_from(["a", "é 'x\"\x7f"])),
)


@st.composite
def models(draw):
    """Any joint kind, pose, name and number; not always joined into one."""
    m = Model(draw(name), gravity=draw(vector))
    for b in draw(st.lists(name, min_size=1, max_size=4, unique=True)):
        shape = draw(st.sampled_from(["rod", "idealized", "moments"]))
        if shape == "rod":
            m.body(b, **shapes.rod(draw(positive), draw(positive), axis=draw(direction(3))))
        else:
            moments = tuple(draw(positive) for _ in range(3)) if shape == "idealized" else (2.0, 3.0, 4.0)
            m.body(
                b,
                mass=draw(positive),
                com=draw(vector),
                inertia=moments,
                idealized=shape == "idealized",
                visuals=draw(st.lists(visuals, max_size=2)),
            )
    bodies = ["ground", *m.bodies]
    for j in draw(st.lists(name, max_size=4, unique=True)):
        kind, limit = draw(st.sampled_from(sorted(JOINT_KINDS))), draw(st.none() | positive)
        first, second = perpendicular(draw(direction(3)))
        m.joint(
            j,
            kind,
            draw(st.sampled_from(bodies[:-1])),
            bodies[-1],
            axis=None if kind in ("fixed", "spherical", "free", "curve") else first,
            axis2=second if kind == "universal" else None,
            at=draw(places),
            child_at=draw(places),
            pitch=draw(number) if kind == "screw" else None,
            armature=draw(positive),
            damping=draw(st.sampled_from([0.0, 0.1])),
            friction=draw(st.sampled_from([0.0, 0.1])),
            limits=None if limit is None else Limits(lower=-limit, effort=limit),
            **({"points": [(0, 0, 0), draw(st.sampled_from([(1, 0, 0), (1, 2, 0)]))]} if kind == "curve" else {}),
        )
    if m.joints:
        m.couple(next(iter(m.joints)), "another", ratio=draw(number), offset=draw(number))
    m.frame("tool", bodies[-1], draw(places))
    return m


@settings(max_examples=60, deadline=None)
@given(models())
def test_round_trip_of_random_models(model):
    text = toml.dumps(model)
    back = toml.loads(text, "/models/m.toml")
    assert back == model
    assert toml.dumps(back) == text


@pytest.mark.parametrize("path", MODELS, ids=lambda p: p.stem)
def test_round_trip_of_our_models(path, tmp_path):
    model = files.load(path)
    files.save(model, tmp_path / "copy.toml")
    assert files.load(tmp_path / "copy.toml") == model
    assert list(model.joints) == list(files.load(tmp_path / "copy.toml").joints)  # the order is that of q
    assert os.listdir(tmp_path) == ["copy.toml"]


def test_there_are_models():
    assert {p.stem for p in MODELS} >= {"pendulum", "double_pendulum", "four_bar", "arm7", "satellite", "ten_link"}


def test_the_long_chain_is_what_its_program_writes():
    made = runpy.run_path(str(Path(__file__).parents[2] / "models" / "make_long_chain.py"))
    (path,) = (p for p in MODELS if p.stem == "long_chain")
    assert path.read_text("utf-8") == made["text"]()
    system = files.load(path).compile()
    assert (system.nb, system.nu) == (made["LINKS"] + 1, made["LINKS"])


def test_a_file_says_what_python_says():
    m = Model("crank", gravity=(0, 0, -1))
    m.body("crank", **shapes.rod(1.0, 0.2))
    m.body("block", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    m.joint("shaft", "revolute", "ground", "crank", axis="y")
    m.joint("pin", "revolute", "crank", "block", axis="-y", at=pose((0.2, 0, 0), rpy=(0, 0, 1)), damping=0.1)
    m.frame("tip", "crank", (0.2, 0, 0))
    m.couple("pin", "shaft", ratio=-2)
    text = """
        name = "crank"
        gravity = [0, 0, -1]
        frames.tip = {body = "crank", at = [0.2, 0, 0]}
        couplings.pin = {of = "shaft", ratio = -2}
        [bodies]
        crank = {shape = "rod", mass = 1, length = 0.2}
        block.mass = 0.5
        block.inertia = [1e-3, 1e-3, 1e-3]
        [joints.shaft]
        kind = "revolute"
        parent = "ground"
        child = "crank"
        axis = "y"
        [joints.pin]
        kind = "revolute"
        parent = "crank"
        child = "block"
        axis = [0, -2, 0]
        at.position = [0.2, 0, 0]
        at.rpy = [0, 0, 1]
        damping = 0.1
    """
    assert toml.loads(text, "m.toml") == m
    assert toml.loads(text, "m.toml").joints["pin"].where == "m.toml:15"


# ---- mesh files


def test_mesh_paths_move_with_the_folder(tmp_path):
    for place in ("one", "two"):
        (tmp_path / place / "meshes").mkdir(parents=True)
    m = Model("m")
    m.body("a", mass=1.0, visuals=[Visual("mesh", (1.0,) * 3, path=str(tmp_path / "one/meshes/a.stl"))])
    m.joint("j", "free", "ground", "a")
    files.save(m, tmp_path / "one/m.toml")
    assert 'path = "meshes/a.stl"' in (tmp_path / "one/m.toml").read_text()
    assert files.load(tmp_path / "one/m.toml") == m
    (tmp_path / "one/m.toml").rename(tmp_path / "two/m.toml")
    assert files.load(tmp_path / "two/m.toml").bodies["a"].visuals[0].path == str(tmp_path / "two/meshes/a.stl")
    files.save(m, tmp_path / "two/m.toml")
    with pytest.raises(ModelError, match="the mesh path leads out of the model's folder"):
        files.load(tmp_path / "two/m.toml")
    assert files.load(tmp_path / "two/m.toml", packages=[tmp_path / "one"]) == m


# ---- what is wrong, and on which line

BODY = "[bodies.rod]\nmass = 1.0\ninertia = [1, 1, 1]\n"
JOINT = '[joints.pin]\nkind = "revolute"\nparent = "ground"\nchild = "rod"\n'
VISUAL = "[[bodies.rod.visuals]]\n"
OUTSIDE = "body 'rod': visual: the mesh path leads out of the model's folder"
DEEP = "the file is nested too deep"
SYNTAX = toml.SYNTAX

WRONG = [
    ("mass = 1.0", "masss = 1.0", 2, "body 'rod': key 'masss' is not known", "did you mean 'mass'?"),
    ("mass = 1.0\n", "", 1, "body 'rod': key 'mass' is missing", "known: mass, com, inertia, idealized, visuals"),
    ("mass = 1.0", 'mass = "1.0"', 2, "body 'rod': mass is not a number", None),
    ("mass = 1.0", "mass = true", 2, "body 'rod': mass is not a number", None),
    ("mass = 1.0", "mass = 2020-01-01", 2, "body 'rod': mass is not a number", None),
    ("mass = 1.0", "mass = nan", 2, "body 'rod': mass is not finite", None),
    ("mass = 1.0", "mass = 1e400", 2, "body 'rod': mass is not finite", None),
    ("mass = 1.0", "mass = 0x" + "f" * 5000, 2, "body 'rod': mass is not a number", None),
    ("mass = 1.0", "mass = " + "9" * 5000, 2, "the file has an integer of too many digits", None),
    ("mass = 1.0", "mass = -1.0", 2, "body 'rod': mass must be positive", None),
    ("[1, 1, 1]", "[1,\n1]", 3, "body 'rod': inertia has the wrong shape", None),
    ("[1, 1, 1]", '[1, 1, "1"]', 3, "body 'rod': inertia is not a number", None),
    ("[1, 1, 1]", '[1, 1, 1]\nidealized = "yes"', 4, "body 'rod': 'idealized' has the wrong type", None),
    ("rod]\nmass", "rod]\nshape = 'rodd'\nmass", 2, "body 'rod': shape 'rodd' is not known", "did you mean 'rod'?"),
    (
        "inertia = [1, 1, 1]",
        "shape = 'rod'",
        1,
        "body 'rod': key 'length' is missing",
        "known: shape, mass, length, axis, radius",
    ),
    ("inertia = [1, 1, 1]", "shape = 'rod'\nlength = -1", 4, "body 'rod': rod: length must be positive", None),
    (
        "inertia = [1, 1, 1]",
        "shape = 'rod'\nlenght = 1",
        4,
        "body 'rod': key 'lenght' is not known",
        "did you mean 'length'?",
    ),
    ("inertia = [1, 1, 1]", "shape = 'mesh'\npath = '../a.stl'", 4, f"{OUTSIDE.replace(' visual:', '')}", None),
    ("inertia = [1, 1, 1]", "shape = 'mesh'\npath = 3", 4, "body 'rod': path is not a name", None),
    (
        "bodies.rod",
        "bodies.ground",
        1,
        "body 'ground' is defined twice",
        "'ground' is the fixed world, and is always there",
    ),
    (BODY, "bodies = 3\n", 1, "the file: 'bodies' has the wrong type", None),
    (BODY, "[[bodies]]\nname = 'rod'\n", 1, "the file: 'bodies' has the wrong type", None),
    (BODY, "[bodies]\nrod = 3\n", 2, "the file: 'bodies.rod' has the wrong type", None),
    (BODY, "[bodis.rod]\nmass = 1\n", 1, "the file: key 'bodis' is not known", "did you mean 'bodies'?"),
    (BODY, "name = 3\n", 1, "the file: 'name' has the wrong type", None),
    (BODY, "# a\ngravity = 9.81\n", 2, "gravity is not a list of numbers", None),
    (BODY, "a = " + "[" * 5000 + "]" * 5000, 0, DEEP, None),
    (BODY, "\n" + "a." * 5000 + "a = 1\n", 2, DEEP, None),
    (BODY, "\n[" + "'a' . " * 5000 + "a]\n", 2, DEEP, None),
    ('"revolute"', '"revolut"', 5, "joint 'pin': kind 'revolut' is not known", "did you mean 'revolute'?"),
    ('"revolute"', "3", 5, "joint 'pin': 'kind' has the wrong type", None),
    ('child = "rod"', 'child = "rodd"', 4, "joint 'pin': child 'rodd' is not known", "did you mean 'rod'?"),
    ('child = "rod"', 'child = "ground"', 4, "joint 'pin' joins 'ground' to itself", "parent and child are two bodies"),
    ('"rod"\n', '"rod"\naxis = [0, 0, 0]', 8, "joint 'pin': axis has no direction", None),
    ('"rod"\n', '"rod"\nat = [0, 0]', 8, "joint 'pin': at has the wrong length", None),
    ('"rod"\n', '"rod"\nat = {rpy = 3}', 8, "joint 'pin': at: rpy is not a list of numbers", None),
    (
        '"rod"\n',
        '"rod"\n[joints.pin.at]\nrpi = 3',
        8,
        "joint 'pin': at: entry 'rpi' is not known",
        "did you mean 'rpy'?",
    ),
    ('"rod"\n', '"rod"\npitch = 1', 8, "joint 'pin': a revolute joint takes no pitch", "only a screw has one"),
    ('"rod"\n', '"rod"\nlimits = 3', 8, "joint 'pin': 'limits' has the wrong type", None),
    (
        '"rod"\n',
        '"rod"\nlimits.upper = 1\nlimits.low = 1',
        9,
        "joint 'pin': key 'limits.low' is not known",
        "did you mean 'lower'?",
    ),
    ('"rod"\n', '"rod"\nlimits = {lower = 1, upper = 0}', 8, "joint 'pin': limits: lower is above upper", None),
    ('"rod"\n', '"rod"\n[frames.tip]\nbody = 3', 9, "frame 'tip': 'body' has the wrong type", None),
    (
        '"rod"\n',
        '"rod"\n[couplings.pin]\nof = "pi"',
        8,
        "coupling of 'pin': joint 'pi' is not known",
        "did you mean 'pin'?",
    ),
    ('"rod"\n', f'"rod"\n{VISUAL}shape = "box"', 8, "body 'rod': visual: key 'size' is missing", None),
    ('"rod"\n', f'"rod"\n{VISUAL}shape = "box"\nsize = [1]', 8, "body 'rod': visual: size has the wrong length", None),
    ('"rod"\n', f'"rod"\n{VISUAL}shape = "mesh"', 8, "body 'rod': visual: a mesh needs the path of its file", None),
    (
        '"rod"\n',
        f'"rod"\n{VISUAL}shape = "box"\npath = "a"',
        8,
        "body 'rod': visual: a box takes no path",
        None,
    ),
    (
        '"rod"\n',
        f'"rod"\n{VISUAL}shape = "bx"',
        8,
        "body 'rod': visual: shape 'bx' is not known",
        "did you mean 'box'?",
    ),
    (
        '"rod"\n',
        f'"rod"\n{VISUAL}shape = "box"\nsiz = 1',
        10,
        "body 'rod': key 'visuals.0.siz' is not known",
        "did you mean 'size'?",
    ),
    *[
        ('"rod"\n', f'"rod"\n{VISUAL}shape = "mesh"\npath = "{path}"', 8, OUTSIDE, None)
        for path in (
            "../a.stl",
            "/etc/a.stl",
            "http://a/b.stl",
            "file:///etc/a.stl",
            "a\\u0000b",
            "package://p/../../a",
        )
    ],
    (
        "mass = 1.0",
        "mass = one",
        2,
        "the file is not valid TOML: Invalid value",
        "a text needs quotes, and a list needs brackets",
    ),
    (
        "mass = 1.0",
        "mass = 1.0\nmass = 2",
        3,
        "the file is not valid TOML: Cannot overwrite a value",
        "the key is defined twice",
    ),
    ("mass = 1.0", "mass 1.0", 2, "the file is not valid TOML: Expected '=' after a key in a key/value pair", SYNTAX),
    ('"rod"\n', '"rod"\naxis = [0', 8, "the file is not valid TOML: Unclosed array", SYNTAX),
    (JOINT, "", 1, "body 'rod' is joined to nothing", "let it float: joint('rod_free', 'free', 'ground', 'rod')"),
]


@pytest.mark.parametrize(("old", "new", "line", "what", "hint"), WRONG)
def test_what_is_wrong_and_on_which_line(tmp_path, old, new, line, what, hint):
    file = tmp_path / "m.toml"
    text = BODY + JOINT
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    with pytest.raises(ModelError) as caught:
        files.load(file)
    error = caught.value
    assert (error.what, error.hint) == (what, hint)
    where = str(error.where).removeprefix(str(file))
    assert where.split(",")[0] == (f":{line}" if line else "")
    assert len(str(error)) < 700


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n\t\n", "the file is empty"),
        (b"name = '\0'", "the file is binary\n  expected: text in UTF-8"),
        (b"\x7fELF\0\0", "the file is binary\n  expected: text in UTF-8"),
        (b"\nname = 'caf\xe9'", "the file is not UTF-8 text\n  got: byte 0xe9"),
        (b"# nothing", "model 'model' has no bodies"),
    ],
)
def test_files_without_a_model(tmp_path, content, message):
    file = tmp_path / "m.toml"
    file.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        files.load(file)
    assert str(caught.value).startswith(f"{message}\n  where: {file}")


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    (tmp_path / "crank.toml").write_text("#")
    (tmp_path / "crank.yaml").write_text("#")
    (tmp_path / "crank.xacro").write_text("#")
    kinds = "\n  expected: a file .toml or .urdf or .xml\n  got: "
    for path, message in {
        "crnk.toml": "there is no file 'crnk.toml'\n  where: {}\n  hint: did you mean 'crank.toml'?",
        "no/crank.toml": f"there is no folder '{tmp_path / 'no'}'\n  where: {{}}",
        ".": f"'{tmp_path.name}' is a folder\n  expected: a file .toml, .urdf or .xml\n  where: {{}}",
        "crank.yaml": f"'crank.yaml' is of no known format{kinds}.yaml\n  where: {{}}",
        "crank.xacro": f"'crank.xacro' is of no known format{kinds}.xacro\n  where: {{}}\n"
        "  hint: run xacro on it first, and load the URDF it prints",
        f"{'x' * 300}.toml": f"'{'x' * 300}.toml' cannot be read: File name too long\n  where: {{}}",
    }.items():
        with pytest.raises(ModelError) as caught:
            files.load(tmp_path / path)
        assert str(caught.value) == message.format(tmp_path / path)
    monkeypatch.setattr(files.text, "LARGEST_FILE", 0)
    with pytest.raises(ModelError, match="the file is too large\n  expected: at most 0 bytes\n  got: 1"):
        files.load(tmp_path / "crank.toml")


def test_base_and_packages_are_checked(tmp_path):
    file = tmp_path / "m.toml"
    file.write_text(BODY + JOINT)
    for options, message in {
        ("base", "float"): "base 'float' is not known",
        ("base", "free"): "base is for URDF; a TOML model says itself how it is joined to the ground",
        ("packages", "nowhere"): "package folder is not a folder",
    }.items():
        with pytest.raises(ModelError) as caught:
            files.load(file, **dict([options]))
        assert caught.value.what == message


def test_saving_is_whole_or_not_at_all(tmp_path, monkeypatch):
    m = Model("m")
    m.body("a", mass=1.0)
    file = tmp_path / "m.toml"
    file.write_text("before")
    file.chmod(0o640)

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(SimulationError, match=r"'m.toml' cannot be written: No space left on device"):
            files.save(m, file)
    m.body("b", mass=1.0, visuals=[Visual("mesh", (1.0,) * 3, path="\ud800")])
    with pytest.raises(ModelError, match=r"'m.toml' cannot be written: a name or path in it is not valid text"):
        files.save(m, file)
    assert (file.read_text(), os.listdir(tmp_path)) == ("before", ["m.toml"])
    del m.bodies["b"]
    files.save(m, file)
    assert file.stat().st_mode & 0o777 == 0o640
    assert toml.loads(file.read_text(), str(file)) == m
    for name, message in {
        "m.urdf": "'m.urdf' cannot be written",
        "no/m.toml": "'m.toml' cannot be written: there is no folder",
    }.items():
        with pytest.raises(ModelError, match=message):
            files.save(m, tmp_path / name)


# ---- line numbers


def test_lines_of_every_way_to_write_a_key():
    text = '''# comment with [brackets] and "quotes
name = "x # not a comment" # a comment
list = [0, # one
  0, 1]
[bodies.crank]
mass = 1.0
"odd key".'b' = """two
lines " and quotes""""
visuals = [
  {shape = "box", size = [1,
   2, 3]},
  {shape = "box", at = {position = [1, 2, 3], rpy = [1, 2, 3]}},
]
[[bodies.rod.visuals]]
shape = "a"
[[bodies.rod.visuals]]
shape = \'\'\'it's\'\'\'
[bodies.rod.visuals.at]
position = [1]
[bodies]
x.mass = 2'''
    found = lines.Lines(text)
    crank, rod = ("bodies", "crank"), ("bodies", "rod")
    for path, line in {
        (): 1,
        ("name",): 2,
        ("list",): 3,
        crank: 5,
        (*crank, "mass"): 6,
        (*crank, "none"): 5,
        (*crank, "odd key", "b"): 7,
        (*crank, "visuals", 0, "size"): 10,
        (*crank, "visuals", 1, "at", "rpy"): 12,
        (*rod, "visuals", 0, "shape"): 15,
        (*rod, "visuals", 1, "shape"): 17,
        (*rod, "visuals", 1, "at", "position"): 19,
        ("bodies",): 20,
        ("bodies", "x", "mass"): 21,
    }.items():
        assert found.of(path) == line, path
