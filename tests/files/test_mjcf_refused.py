"""MJCF files that are refused, each with one message; files that a model names, found inside its folders only."""

import random
import struct
import sys

import numpy as np
import pytest

from whippletree import files
from whippletree.cli import app as cli
from whippletree.errors import MissingExtra, ModelError, ModelWarning
from whippletree.files import mjcf, mjcf_source, text, xml

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom size="0.1" contype="0" conaffinity="0"/>'
GOOD = f'<mujoco>\n<worldbody>\n<body name="a">\n<joint name="j"/>\n{GEOM}\n</body>\n</worldbody>\n</mujoco>\n'


def refusal(given: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        mjcf.loads(given, "m.xml")
    return caught.value


PLUGINS = "plugins are not loaded: a model file may not bring code with it"
ENTITIES = "the file has a document type or entities, which are refused"
MUJOCO = "MuJoCo refuses the model: "
EXTENSION = '<extension>\n<plugin plugin="mujoco.elasticity.cable"/></extension>'
NESTED = '<replicate count="100">' * 5 + "<body/>" + "</replicate>" * 5


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("<mujoco>", '<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><mujoco>', 1, ENTITIES),
        ("</body>", "", 7, "the file is not well-formed XML: mismatched tag"),
        ("<worldbody>", f"{EXTENSION}<worldbody>", 2, PLUGINS),
        ("</body>", '<plugin plugin="x"/></body>', 6, PLUGINS),
        (
            "</body>",
            '<attach model="x" prefix="y"/></body>',
            6,
            "<attach> is not read: models inside models are not put together here",
        ),
        (
            "<worldbody>",
            '<asset><model file="/etc/passwd"/></asset><worldbody>',
            2,
            "<model> is not read: models inside models are not put together here",
        ),
        ('name="j"', 'pos="0 0 nan"', 4, "joint: pos is not finite"),
        ('name="j"', 'pos="0 0 inf"', 4, "joint: pos is not finite"),
        ('name="j"', 'pos="0 0 1e400"', 4, "joint: pos is not finite"),
        ('name="j"', 'pos="0 0 -1e200"', 4, "joint: pos is too large to compute with"),
        ("<worldbody>", '<option gravity="0 0 NaN"/><worldbody>', 2, "option: gravity is not finite"),
        ('name="j"', 'armature="-1"', 4, "joint 'joint0': armature is too small"),
        ('name="j"', 'class="thi%s%nn"', 4, "joint: class has a percent sign"),  # it ended the process
        ('name="j"', 'foo="1"', 4, f"{MUJOCO}unrecognized attribute: 'foo'"),
        ('name="j"', 'type="screw"', 4, f"{MUJOCO}invalid keyword: 'screw'"),
        ('name="j"', 'pos="0 0"', 4, f"{MUJOCO}attribute 'pos' does not have enough data"),
        ('name="j"', 'axis="0 0 0"', 4, f"{MUJOCO}axis too small in joint"),
        ("<worldbody>", "<wrold/><worldbody>", 2, f"{MUJOCO}unrecognized element"),
        ('size="0.1"', 'size="-1"', 5, f"{MUJOCO}size 0 must be positive in geom"),
        (GEOM, "", 3, f"{MUJOCO}mass and inertia of moving bodies must be larger than mjMINVAL"),
        (GEOM, f"{GEOM}<body>\n<freejoint/>{GEOM}</body>", 5, f"{MUJOCO}free joint can only be used on top level"),
        (GEOM, f'{GEOM}<geom mesh="x"/>', 5, None),
        ("</body>", f"{NESTED}</body>", 6, "the model has too many copies"),
        (
            "</body>",
            '<replicate count="999999999"><geom size="1"/></replicate></body>',
            6,
            "the model has too many copies",
        ),
        ("</body>", '<replicate count="1e9"><geom/></replicate></body>', 6, "replicate: count is not a whole number"),
        ("</body>", "<replicate><geom/></replicate></body>", 6, "replicate: <replicate> has no attribute 'count'"),
        ("</body>", '<composite count="90 90 90"/></body>', 6, "the model has too many bodies"),
        (
            "<worldbody>",
            '<asset><mesh name="m" builtin="supersphere" params="99999 1 1"/></asset><worldbody>',
            2,
            "mesh: params are too large",
        ),
        ("</body>", "<body>" * 300 + "</body>" * 300 + "</body>", 6, "the file is nested too deep"),
        ("</mujoco>", '<equality><joint joint1="j" joint2="k"/></equality></mujoco>', 8, None),
    ],
)
def test_refused_with_file_and_line(old, new, line, what, capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert GOOD.count(old) == 1 or old == "<mujoco>"
    error = refusal(GOOD.replace(old, new, 1))
    assert what is None or error.what == what
    assert what is not None or error.what.startswith(MUJOCO)
    assert str(error.where).split(",")[0] == f"m.xml:{line}"
    assert "passwd" not in str(error)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


def test_messages_word_for_word():
    assert str(refusal("<mujoco/>")) == (
        "the model has no bodies\n  expected: <body> inside <worldbody>\n  got: none\n  where: m.xml:1"
    )
    assert str(refusal("<robot/>")) == "the file is not MJCF, but <robot>\n  expected: <mujoco>\n  where: m.xml:1"
    assert str(refusal(GOOD.replace("<worldbody>", f"{EXTENSION}<worldbody>"))) == (
        f"{PLUGINS}\n  got: <extension>\n  where: m.xml:2\n  hint: remove the plugin, and what needs it"
    )
    assert str(refusal(GOOD.replace("</body>", "<attach/></body>"))) == (
        "<attach> is not read: models inside models are not put together here\n  where: m.xml:6\n"
        "  hint: write the whole with MuJoCo as one file: mujoco.MjSpec.from_file(...).to_xml()"
    )
    assert str(refusal(GOOD.replace('name="j"', 'name="j" axis="0 0 0"'))) == (
        f"{MUJOCO}axis too small in joint\n  got: <joint> 'j'\n  where: m.xml:4\n"
        "  hint: an axis is 3 numbers that are not all zero"
    )
    assert str(refusal(GOOD.replace("</body>", '<replicate count="9999"><body/></replicate></body>'))) == (
        "the model has too many bodies\n  expected: at most 5000\n  got: 10000\n  where: m.xml:6"
    )
    assert str(refusal(GOOD.replace("</body>", '<replicate count="-1"/></body>'))) == (
        "replicate: count is not a whole number\n  got: '-1'\n  where: m.xml:6"
    )


def test_base_is_refused(tmp_path):
    file = tmp_path / "m.xml"
    file.write_text(GOOD)
    with pytest.raises(ModelError) as caught:
        files.load(file, base="free")
    assert str(caught.value) == (
        "base is for URDF; MJCF says itself how it is joined to the ground\n  got: base='free'\n"
        f"  where: {file}\n  hint: add <freejoint/> to the body in the file"
    )


def test_without_mujoco(monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(MissingExtra) as caught:
        mjcf.loads(GOOD, "m.xml")
    assert str(caught.value) == (
        "reading MJCF needs the package 'mujoco', which is not installed\n  hint: pip install 'whippletree[robots]'"
    )
    assert refusal(f"<!DOCTYPE m>{GOOD}").what == ENTITIES  # refused before MuJoCo is asked


@pytest.mark.filterwarnings("ignore::whippletree.errors.ModelWarning")
def test_broken_files_give_one_message_or_a_model(capfd, tmp_path, monkeypatch):
    """Words of a good file are dropped, doubled and exchanged; nothing but a ModelError may come of it."""
    monkeypatch.chdir(tmp_path)
    rng, good = (
        random.Random(5),
        GOOD.replace("</body>", '<body pos="0 0 1" euler="1 2 3"><joint range="0 1"/>' + GEOM + "</body></body>"),
    )
    words = good.replace("=", " = ").split(" ")
    odd = [
        "-1",
        "0",
        "1e99",
        "nan",
        '""',
        '"',
        "<body>",
        "</body>",
        "/>",
        "&x;",
        "\n",
        "é",
        "9" * 400,
        "type",
        '"ball"',
    ]
    outcomes = set()
    for _ in range(300):
        changed = list(words)
        for _ in range(rng.randint(1, 2)):
            changed[rng.randrange(len(changed))] = rng.choice([*odd, rng.choice(words)])
        try:
            mjcf.loads(" ".join(changed).replace(" = ", "="), "m.xml")
            outcomes.add("read")
        except ModelError as error:
            outcomes.add(str(error.where).split(":")[0])
    assert outcomes == {"read", "m.xml"}
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


# ---- files that a model names


@pytest.fixture
def folders(tmp_path):
    """robot/{parts/arm.xml, meshes/cube.stl, out -> elsewhere}, share/cube.stl, elsewhere/{cube.stl, arm.xml}"""
    for path in ("robot/meshes", "robot/parts", "share", "elsewhere"):
        (tmp_path / path).mkdir(parents=True)
    for path in ("robot/meshes/cube.stl", "share/other.stl", "elsewhere/cube.stl"):
        (tmp_path / path).write_bytes(cube())
    for path in ("robot/parts/arm.xml", "elsewhere/arm.xml"):
        (tmp_path / path).write_text(
            f'<mujocoinclude>\n<body name="arm">\n<joint name="k"/>\n{GEOM}</body></mujocoinclude>'
        )
    (tmp_path / "robot/out").symlink_to(tmp_path / "elsewhere")
    return tmp_path


def corners() -> np.ndarray:
    """The 8 corners of a block that stands off the origin."""
    return np.array([[x, y, z] for x in (0.1, 0.5) for y in (0.2, 0.5) for z in (0.3, 0.5)])


def cube() -> bytes:
    """A block as binary STL."""
    v = corners()
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in sides for t in ((a, b, c), (a, c, d))]
    data = b"".join(struct.pack("<12fH", 0, 0, 0, *v[list(t)].ravel(), 0) for t in triangles)
    return bytes(80) + struct.pack("<I", len(triangles)) + data


def load(folders, inside, packages=()):
    file = folders / "robot/m.xml"
    file.write_text(inside)
    return files.load(file, packages=[folders / p for p in packages])


def with_mesh(name, attributes="", geom="", body="", compiler=""):
    mesh = name.split("/")[-1].split(".")[0]
    return (
        f"<mujoco><compiler {compiler}/>\n<asset>\n<mesh {attributes} file='{name}'/></asset><worldbody>"
        f"<body name='a'>\n<joint/>{body}<geom type='mesh' mesh='{mesh}' contype='0' conaffinity='0' {geom}/>"
        "</body></worldbody></mujoco>"
    )


def test_include(folders):
    m = load(folders, GOOD.replace("</worldbody>", "<include file='parts/arm.xml'/></worldbody>"))
    assert list(m.bodies) == ["a", "arm"]
    assert m.joints["k"].where == f"{folders / 'robot/parts/arm.xml'}:3"
    (folders / "robot/parts/arm.xml").write_text("<mujoco>\n\n<body><joint type='x'/></body></mujoco>")
    with pytest.raises(ModelError) as caught:
        load(folders, GOOD.replace("</worldbody>", "<include file='parts/arm.xml'/></worldbody>"))
    assert (caught.value.what, caught.value.where) == (
        f"{MUJOCO}invalid keyword: 'x'",
        f"{folders / 'robot/parts/arm.xml'}:3",
    )


OUT = "include: the file path leads out of the model's folder"


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("../elsewhere/arm.xml", OUT),
        ("out/arm.xml", OUT),
        ("/etc/passwd", OUT),
        ("file:///etc/passwd", OUT),
        ("https://host/arm.xml", OUT),
        ("none.xml", "the included file 'none.xml' is not there"),
        ("package://none/arm.xml", "the included file 'package://none/arm.xml' is not there"),
        ("x" * 3000, f"the included file '{'x' * 120}' is not there"),
        ("parts", "the included file 'parts' is not there"),
        ("m.xml", "the file 'm.xml' is included twice"),
        ("parts/self.xml", "the file 'parts/self.xml' is included twice"),
        ("parts/bomb.xml", ENTITIES),
        ("parts/binary.xml", "the file is binary"),
    ],
)
def test_includes_that_are_refused(folders, name, what):
    (folders / "robot/parts/self.xml").write_text("<a><include file='parts/self.xml'/></a>")
    (folders / "robot/parts/bomb.xml").write_text("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>")
    (folders / "robot/parts/binary.xml").write_bytes(b"<a>\0</a>")
    with pytest.raises(ModelError) as caught:
        load(folders, GOOD.replace("</worldbody>", f"<include file='{name}'/></worldbody>"))
    assert caught.value.what == what
    assert len(str(caught.value)) < 700


def test_large_and_deep_includes_are_refused(folders, monkeypatch):
    deep = "<body>" * 200
    (folders / "robot/parts/deep.xml").write_text(f"<a>{deep}{'</body>' * 200}</a>")
    inside = GOOD.replace("</body>", f"{deep}<include file='parts/deep.xml'/>{'</body>' * 201}")
    with pytest.raises(ModelError, match="the file is nested too deep"):
        load(folders, inside)
    monkeypatch.setattr(text, "LARGEST_FILE", 300)
    with pytest.raises(ModelError, match="the file is too large"):
        load(folders, GOOD.replace("</worldbody>", "<include file='parts/deep.xml'/></worldbody>"))
    monkeypatch.setattr(xml, "MOST_ELEMENTS", 3)
    with pytest.raises(ModelError, match="the file has too many elements"):
        load(folders, GOOD)


@pytest.mark.parametrize(
    ("name", "compiler", "packages", "found"),
    [
        ("meshes/cube.stl", "", [], "robot/meshes/cube.stl"),
        ("cube.stl", "meshdir='meshes'", [], "robot/meshes/cube.stl"),
        ("cube.stl", "assetdir='meshes/'", [], "robot/meshes/cube.stl"),
        ("C:/far/away/cube.stl", "meshdir='meshes' strippath='true'", [], "robot/meshes/cube.stl"),
        ("package://robot/meshes/cube.stl", "", [], "robot/meshes/cube.stl"),
        ("../elsewhere/cube.stl", "", ["elsewhere"], "elsewhere/cube.stl"),
        ("other.stl", "meshdir='meshes'", ["share"], "share/other.stl"),
    ],
)
def test_mesh_files(folders, name, compiler, packages, found):
    m = load(folders, with_mesh(name, compiler=compiler), packages)
    a = m.bodies["a"]
    assert (a.visuals[0].shape, a.visuals[0].path) == ("mesh", str(folders / found))
    assert a.mass == pytest.approx(1000 * 0.4 * 0.3 * 0.2, rel=1e-6)  # STL holds single precision
    assert a.com == pytest.approx((0.3, 0.35, 0.4), rel=1e-6)


@pytest.mark.parametrize("name", ["../elsewhere/cube.stl", "out/cube.stl", "/etc/passwd", "https://host/cube.stl"])
def test_meshes_outside_are_refused(folders, name):
    with pytest.raises(ModelError) as caught:
        load(folders, with_mesh(name, "name='cube'"))
    assert caught.value.what == "mesh 'cube': the mesh path leads out of the model's folder"
    assert caught.value.where == f"{folders / 'robot/m.xml'}:3"


@pytest.mark.parametrize(
    "changed",
    [
        "",
        "scale='1 2 -3'",
        "scale='1 2 3' refpos='0.1 0.2 0.3'",
        "scale='2 2 2' refpos='0.1 0.2 0.3' refquat='1 2 0 1'",
        "refquat='0 0 3 0' scale='1 2 3'",
    ],
)
def test_the_mesh_stands_where_mujoco_has_it(folders, changed):
    """MuJoCo moves the vertices of a mesh; the pose of the visual takes those of the file to the same places."""
    text = with_mesh("meshes/cube.stl", changed, "pos='1 2 3' euler='10 20 30'")
    v = load(folders, text).bodies["a"].visuals[0]
    m = mujoco.MjModel.from_xml_string(text.replace("meshes/", ""), {"cube.stl": cube()})
    R = rotation(m.geom_quat[0])
    theirs = m.mesh_vert @ R.T + m.geom_pos[0]
    ours = (corners() * v.size) @ v.at.rotation().T + v.at.position
    gaps = np.linalg.norm(ours[:, None] - theirs[None], axis=2).min(axis=1)
    assert gaps.max() < 1e-6  # MuJoCo keeps vertices in single precision


def test_a_mesh_stretched_along_turned_axes_is_not_drawn(folders):
    with pytest.warns(ModelWarning, match=r"not imported: geoms that are not drawn \(1\)"):
        m = load(folders, with_mesh("meshes/cube.stl", "scale='1 2 3' refquat='1 2 0 1'"))
    assert m.bodies["a"].visuals == ()


def rotation(quaternion):
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, quaternion)
    return R.reshape(3, 3)


INERTIAL = "<inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/>"


@pytest.mark.parametrize(
    ("geom", "body", "compiler"),
    [
        ("", INERTIAL, ""),
        ("mass='0'", GEOM, ""),
        ("density='0'", GEOM, ""),
        ("group='2'", GEOM, "inertiagrouprange='0 1'"),
        ("", INERTIAL, "inertiafromgeom='false'"),
    ],
)
def test_a_mesh_that_is_only_drawn_may_be_missing(folders, geom, body, compiler):
    with pytest.warns(ModelWarning) as caught:
        m = load(folders, with_mesh("none.stl", "scale='1 2 3'", geom + " pos='1 0 0'", body, compiler))
    path = str(folders / "robot/none.stl")
    note = f"mesh files not found: 1, '{path}'; packages=[...] takes their folder"
    assert [str(w.message) for w in caught] == [f"{folders / 'robot/m.xml'}\n  {note}"]
    drawn = m.bodies["a"].visuals[-1]
    assert (drawn.shape, drawn.path, drawn.size) == ("mesh", path, (1.0, 2.0, 3.0))
    assert drawn.at.position == pytest.approx((1.0, 0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize(("body", "compiler"), [("", ""), (GEOM, ""), (INERTIAL, "inertiafromgeom='true'")])
def test_a_mesh_that_gives_inertia_may_not_be_missing(folders, body, compiler):
    with pytest.raises(ModelError) as caught:
        load(folders, with_mesh("none.stl", body=body, compiler=compiler))
    assert str(caught.value) == (
        "body 'a' takes its inertia from mesh 'none', whose file is missing\n"
        f"  expected: {folders / 'robot/none.stl'}\n  where: {folders / 'robot/m.xml'}:3\n"
        "  hint: packages=[...] takes the folder of the mesh files; or give the body an <inertial>"
    )


def test_mesh_files_that_mujoco_cannot_read(folders, monkeypatch):
    (folders / "robot/bad.stl").write_bytes(b"solid nothing")
    with pytest.raises(ModelError) as caught:
        load(folders, with_mesh("bad.stl"))
    assert caught.value.what.startswith(MUJOCO)
    assert f"'{folders / 'robot/bad.stl'}'" in caught.value.what
    assert caught.value.where == f"{folders / 'robot/m.xml'}:3"
    monkeypatch.setattr(mjcf_source, "LARGEST_MESH", 100)
    with pytest.raises(ModelError, match=r"^mesh 'cube': the file is too large\n  expected: at most 100 bytes"):
        load(folders, with_mesh("meshes/cube.stl"))


ROBOT = '<robot name="m"><link name="ground"/></robot>'


@pytest.mark.parametrize(
    ("name", "inside", "counts", "note"),
    [
        (
            "m.xml",
            GOOD.replace("</mujoco>", "<actuator><motor/></actuator></mujoco>"),
            "1 bodies, 1 joints, 1 degrees of freedom",
            "not imported: actuators (1)",
        ),
        (
            "m.urdf",
            ROBOT,
            "1 bodies, 1 joints, 0 degrees of freedom",
            "renamed, because 'ground' is the fixed world: 'ground_link'",
        ),
    ],
)
def test_check_prints_the_notes(tmp_path, monkeypatch, capsys, name, inside, counts, note):
    file = tmp_path / name
    file.write_text(inside)
    monkeypatch.setattr("sys.argv", ["whippletree", "check", str(file)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert not stop.value.code
    out, err = capsys.readouterr()
    assert out == f"ok: m: {counts}\n"
    assert err == f"note: {file}\n  {note}\n"
