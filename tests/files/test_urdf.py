"""URDF robots: what is read, what is refused, and every robot of the example-robot-data wheel."""

import importlib.metadata
import warnings
from pathlib import Path

import numpy as np
import pytest

from whippletree import files
from whippletree.errors import ModelError, ModelWarning
from whippletree.files import toml, urdf, xml
from whippletree.model import Limits, Pose, Visual

INERTIAL = '<inertial>\n<mass value="2"/>\n<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
LINKS = f'<link name="a"/>\n<link name="b">{INERTIAL}</link>\n'
JOINT = '<joint name="j" type="revolute">\n<parent link="a"/>\n<child link="b"/>\n<axis xyz="0 0 2"/>\n</joint>\n'


INERTIA = "hint: inertia is about the centre of mass, in the axes of its <origin>, in kg m^2"


def robot(inside: str) -> str:
    return f'<?xml version="1.0"?>\n<robot name="r">\n{inside}\n</robot>\n'


def read(inside: str, **options):
    return urdf.loads(robot(inside), "r.urdf", **options)


def chain(kind: str, inside: str = "") -> str:
    return LINKS + JOINT.replace("revolute", kind).replace("</joint>", inside + "</joint>")


# ---- what is read


def test_links_and_joints():
    m = read(
        LINKS.replace("<inertial>", '<inertial><origin xyz="0 0 1"/>')
        + JOINT.replace("</joint>", '<origin xyz="1 2 3"/><dynamics damping="0.5" friction="0.25"/></joint>')
    )
    a, b, j = m.bodies["a"], m.bodies["b"], m.joints["j"]
    assert (m.name, m.gravity) == ("r", (0.0, 0.0, -9.81))
    assert (a.mass, a.idealized, b.mass, b.com, b.idealized) == (0.0, True, 2.0, (0.0, 0.0, 1.0), False)
    assert (j.kind, j.parent, j.child, j.axis, j.at) == ("revolute", "a", "b", (0.0, 0.0, 1.0), Pose((1.0, 2.0, 3.0)))
    assert (j.damping, j.friction, j.limits, j.where) == (0.5, 0.25, None, "r.urdf:7")
    assert (m.joints["base"].kind, m.joints["base"].parent, m.joints["base"].child) == ("fixed", "ground", "a")
    assert read(chain("revolute"), base="free").joints["base"].kind == "free"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ("revolute", "revolute"),
        ("continuous", "revolute"),
        ("prismatic", "prismatic"),
        ("fixed", "fixed"),
        ("floating", "free"),
        ("planar", "planar"),
    ],
)
def test_every_joint_type(given, kind):
    j = read(chain(given)).joints["j"]
    assert j.kind == kind
    assert read(chain(given).replace('<axis xyz="0 0 2"/>', "")).joints["j"].axis == (
        (0.0, 0.0, 1.0) if kind in ("fixed", "free") else (1.0, 0.0, 0.0)  # URDF's axis is x when it is left out
    )


def test_limits():
    limit = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
    assert read(chain("revolute", limit)).joints["j"].limits == Limits(-1.0, 2.0, 3.0, 4.0)
    assert read(chain("continuous", limit)).joints["j"].limits == Limits(None, None, 3.0, 4.0)
    assert read(chain("prismatic", '<limit effort="inf"/>')).joints["j"].limits == Limits()
    assert read(chain("fixed", limit)).joints["j"].limits is None


def test_mimic_is_a_coupling():
    links = LINKS + '<link name="c"/>'
    second = JOINT.replace('"j"', '"k"').replace('child link="b"', 'child link="c"')
    m = read(links + JOINT + second.replace("</joint>", '<mimic joint="j" multiplier="-2" offset="0.5"/></joint>'))
    c = m.couplings["k"]
    assert (c.joint, c.of, c.ratio, c.offset) == ("k", "j", -2.0, 0.5)
    still = second.replace("revolute", "fixed").replace("</joint>", '<mimic joint="j"/></joint>')
    assert not read(links + JOINT + still).couplings


def test_inertia_is_turned_into_body_axes():
    turned = INERTIAL.replace('ixx="1"', 'ixx="1.5"').replace("<mass", '<origin xyz="1 0 0" rpy="0.3 -0.4 1.2"/><mass')
    b = read(f'<link name="b">{turned}</link>').bodies["b"]

    def rotation(axis, angle):
        k = np.cross(np.eye(3), axis)
        return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k

    R = rotation([0, 0, 1], 1.2) @ rotation([0, 1, 0], -0.4) @ rotation([1, 0, 0], 0.3)  # roll first, about fixed axes
    assert np.array(b.inertia) == pytest.approx(R @ np.diag([1.5, 1, 1]) @ R.T, abs=1e-15)
    assert b.com == (1.0, 0.0, 0.0)


def test_visuals(tmp_path):
    shapes = [
        '<box size="1 2 3"/>',
        '<sphere radius="1"/>',
        '<cylinder radius="1" length="2"/>',
        '<mesh filename="a.stl"/>',
    ]
    shapes.append('<mesh filename="a.stl" scale="1 2 3"/>')
    visuals = "".join(f"<visual><geometry>{s}</geometry><material name='red'/></visual>" for s in shapes)
    own = visuals.replace(
        "<material name='red'/>", '<origin xyz="1 0 0"/><material name=""><color rgba="0 1 0 1"/></material>'
    )
    file = tmp_path / "r.urdf"
    file.write_text(
        robot(
            f'<material name="red"><color rgba="1 0 0 0.5"/></material><link name="a">{visuals}{own}</link>'
            '<transmission/><gazebo><link name="a"/></gazebo><sensor/><other/>'
        )
    )
    drawn = files.load(file).bodies["a"].visuals
    sizes = [("box", (1.0, 2.0, 3.0)), ("sphere", (1.0,)), ("cylinder", (1.0, 2.0)), ("mesh", (1.0, 1.0, 1.0))]
    sizes.append(("mesh", (1.0, 2.0, 3.0)))
    for i, (shape, size) in enumerate(sizes):
        path = str(tmp_path / "a.stl") if shape == "mesh" else None  # kept, though there is no such file
        assert drawn[i] == Visual(shape, size, color=(1.0, 0.0, 0.0, 0.5), path=path)
        assert drawn[i + 5] == Visual(shape, size, Pose((1.0, 0.0, 0.0)), (0.0, 1.0, 0.0, 1.0), path)


def test_names_that_are_taken():
    m = read(chain("revolute").replace('"j"', '"base"'))
    assert m.joints["base_"].parent == "ground"
    with pytest.warns(ModelWarning, match="renamed, because 'ground' is the fixed world: 'ground_link'"):
        m = read(chain("revolute").replace('"b"', '"ground"'))
    assert m.joints["j"].child == "ground_link"
    assert urdf.loads(robot(LINKS + JOINT).replace(' name="r"', ""), "x/arm.urdf").name == "arm"


def test_xml_suffix_is_read_by_its_content(tmp_path):
    file = tmp_path / "r.xml"
    file.write_text(robot(LINKS + JOINT))
    assert list(files.load(file).bodies) == ["a", "b"]
    file.write_text("<html/>")
    with pytest.raises(ModelError, match="the file is not a robot, but <html>"):
        files.load(file)


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        (
            'ixx="1"',
            'ixx="5"',
            "inertia that breaks the triangle inequality, taken as it is: 'b' (line 6)\n  " + INERTIA,
        ),
        ('value="2"', 'value="0"', "inertia without mass, taken as it is: 'b' (line 6)\n  " + INERTIA),
        (
            '<link name="a"/>',
            '<link name="a"><visual><geometry><capsule/></geometry></visual></link>',
            "a visual <capsule>, which will not be drawn: 'a'",
        ),
        (
            '<link name="a"/>',
            '<link name="a"><visual><geometry><mesh filename="package://p/x"/></geometry></visual></link>',
            "mesh files not found: 1; packages=[...] takes the folder of 'p'",
        ),
    ],
)
def test_what_is_accepted_with_a_note(old, new, note):
    with pytest.warns(ModelWarning) as caught:
        m = read((LINKS + JOINT).replace(old, new))
    assert [str(w.message) for w in caught] == [f"r.urdf\n  {note}"]
    assert list(m.bodies) == ["a", "b"]


# ---- mesh paths


@pytest.fixture
def folders(tmp_path):
    """robots/arm/{arm.urdf, meshes/a.stl, out -> elsewhere}, share/hand/meshes/b.stl, elsewhere/c.stl"""
    for path in ("robots/arm/meshes/a.stl", "share/hand/meshes/b.stl", "elsewhere/c.stl"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("solid")
    (tmp_path / "robots/arm/out").symlink_to(tmp_path / "elsewhere")
    return tmp_path


def mesh_path(folders, name, packages=()):
    file = folders / "robots/arm/arm.urdf"
    file.write_text(robot(f'<link name="a"><visual><geometry>\n<mesh filename="{name}"/></geometry></visual></link>'))
    return files.load(file, packages=packages).bodies["a"].visuals[0].path


@pytest.mark.parametrize(
    ("name", "packages", "found"),
    [
        ("meshes/a.stl", [], "robots/arm/meshes/a.stl"),
        ("meshes/../meshes/a.stl", [], "robots/arm/meshes/a.stl"),
        ("meshes/none.stl", [], "robots/arm/meshes/none.stl"),
        ("file://meshes/a.stl", [], "robots/arm/meshes/a.stl"),
        ("package://arm/meshes/a.stl", [], "robots/arm/meshes/a.stl"),
        ("package://hand/meshes/b.stl", ["share"], "share/hand/meshes/b.stl"),
        ("package://hand/meshes/b.stl", ["share/hand"], "share/hand/meshes/b.stl"),
        ("package:///hand/meshes/b.stl", ["elsewhere", "share"], "share/hand/meshes/b.stl"),
        ("model://hand/meshes/b.stl", ["share"], "share/hand/meshes/b.stl"),
        ("../../share/hand/meshes/b.stl", ["share"], "share/hand/meshes/b.stl"),
        ("out/c.stl", ["elsewhere"], "elsewhere/c.stl"),
    ],
)
def test_meshes_are_found_inside_the_given_folders(folders, name, packages, found):
    assert mesh_path(folders, name, [folders / p for p in packages]) == str((folders / found).resolve())
    assert mesh_path(folders, (folders / "robots/arm/meshes/a.stl").as_uri()).endswith("robots/arm/meshes/a.stl")


@pytest.mark.parametrize(
    "name",
    [
        "../../share/hand/meshes/b.stl",
        "/etc/passwd",
        "file:///etc/passwd",
        "file://%2e%2e/x.stl",
        "http://host/x.stl",
        "https://host/x.stl",
        "ftp://host/x.stl",
        "package://arm/../../elsewhere/c.stl",
        "package://../elsewhere/c.stl",
        "package://none/../../x.stl",
        "package://arm/out/c.stl",
        "out/c.stl",
        "x" * 5000 + "/../../../a.stl",
    ],
)
def test_meshes_outside_are_refused(folders, name):
    with pytest.raises(ModelError) as caught:
        mesh_path(folders, name)
    assert caught.value.what == "body 'a': visual: the mesh path leads out of the model's folder"
    assert caught.value.where == f"{folders / 'robots/arm/arm.urdf'}:4"
    assert len(str(caught.value)) < 700


# ---- what is refused

BOMB = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {b} "{f"&{a};" * 10}">' for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)
ENTITIES = "the file has a document type or entities, which are refused"
NOT_XML = "the file is not well-formed XML: "


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        (f'{BOMB}]>\n<robot name="&i;"/>', ENTITIES, 1),
        ('\n<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<robot name="r">&x;</robot>', ENTITIES, 2),
        ('<!DOCTYPE r SYSTEM "http://host/r.dtd"><robot name="r"/>', ENTITIES, 1),
        ('<!DOCTYPE r [<!ENTITY % x SYSTEM "file:///etc/passwd">%x;]><robot name="r"/>', ENTITIES, 1),
        ("<!DOCTYPE robot><robot/>", ENTITIES, 1),
        ('<robot name="&x;"/>', f"{NOT_XML}undefined entity", 1),
        (robot(LINKS + JOINT)[:150], f"{NOT_XML}unclosed token", 6),
        (robot(LINKS + JOINT).replace("</joint>", "</joit>"), f"{NOT_XML}mismatched tag", 11),
        ("<robot>\n<robot/>", f"{NOT_XML}no element found", 2),
        ("hello", f"{NOT_XML}syntax error", 1),
        ("<robot/><robot/>", f"{NOT_XML}junk after document element", 1),
        ("<robot>" + "<a>" * 100_000, "the file is nested too deep", 1),
        ("<html/>", "the file is not a robot, but <html>", 1),
        ("<mujoco/>", "the file is not URDF, but MJCF", 1),
        (robot(""), "robot 'r' has no links", 2),
        (robot('<xacro:macro name="x"/>'), "the file is a xacro template, not a robot yet", 3),
    ],
)
def test_files_that_are_no_robot(text, what, line):
    with pytest.raises(ModelError) as caught:
        urdf.loads(text, "r.urdf")
    assert caught.value.what == what
    assert str(caught.value.where).split(",")[0] == f"r.urdf:{line}"
    assert "passwd" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01", "<robot name='é'/>".encode("latin-1"), "<robot/>".encode("utf-16")]
)
def test_files_that_are_no_text(tmp_path, content):
    file = tmp_path / "r.urdf"
    file.write_bytes(content)
    with pytest.raises(ModelError, match=r"the file is (empty|binary|not UTF-8 text)"):
        files.load(file)


def test_too_many_elements_are_refused(monkeypatch):
    monkeypatch.setattr(xml, "MOST_ELEMENTS", 3)
    with pytest.raises(ModelError, match="the file has too many elements"):
        read(LINKS)


C = '<link name="c"/>'


def other(name: str, parent: str, child: str) -> str:
    return f'<joint name="{name}" type="fixed"><parent link="{parent}"/><child link="{child}"/></joint>'


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ('<link name="a"/>', '<link name="a"/><link name="a"/>', 3, "body 'a' is defined twice"),
        ('<link name="a"/>', "<link/>", 3, "link: <link> has no attribute 'name'"),
        ('value="2"', 'value="nan"', 5, "body 'b': mass value is not finite"),
        ('value="2"', 'value="1e400"', 5, "body 'b': mass value is not finite"),
        ('value="2"', 'value="1e200"', 5, "body 'b': mass value is too large to compute with"),
        ('value="2"', 'value="1_0"', 5, "body 'b': mass value is not a number"),
        ('value="2"', 'value="${m}"', 5, "body 'b': mass value is not a number"),
        ('value="2"', 'value=""', 5, "body 'b': mass value has the wrong length"),
        ('value="2"', 'val="2"', 5, "body 'b': <mass> has no attribute 'value'"),
        ('value="2"', 'value="-2"', 4, "body 'b': mass must be positive"),
        ('<mass value="2"/>', "", 4, "body 'b': <inertial> has no <mass>"),
        ('ixx="1"', "", 6, "body 'b': <inertia> has no attribute 'ixx'"),
        ('ixx="1"', 'ixx="-1"', 4, "body 'b': inertia is not positive definite"),
        ('ixx="1"', 'ixx="inf"', 6, "body 'b': inertia ixx is not finite"),
        ('type="revolute"', 'type="hinge"', 7, "joint 'j': type 'hinge' is not known"),
        ('type="revolute"', "", 7, "joint 'j': <joint> has no attribute 'type'"),
        ('name="j"', "", 7, "joint: <joint> has no attribute 'name'"),
        ('<parent link="a"/>', "", 7, "joint 'j': <joint> has no <parent>"),
        ('<child link="b"/>', '<child link="bb"/>', 9, "joint 'j': child link 'bb' is not known"),
        ('<child link="b"/>', "<child/>", 9, "joint 'j': <child> has no attribute 'link'"),
        ("0 0 2", "0 0 0", 10, "joint 'j': axis has no direction"),
        ("0 0 2", "0 2", 10, "joint 'j': axis xyz has the wrong length"),
        ("</joint>", '<limit lower="1" upper="0"/></joint>', 7, "joint 'j': limits: lower is above upper"),
        ("</joint>", '<limit effort="nan"/></joint>', 11, "joint 'j': limit effort is not finite"),
        ("</joint>", '<dynamics damping="-1"/></joint>', 7, "joint 'j': damping is too small"),
        ("</joint>", '<origin rpy="0 0 x"/></joint>', 11, "joint 'j': origin rpy is not a number"),
        ("</joint>", "<mimic/></joint>", 11, "joint 'j': <mimic> has no attribute 'joint'"),
        ("</joint>", '<mimic joint="jj"/></joint>', 11, "coupling of 'j': joint 'jj' is not known"),
        ("</joint>", f"</joint>{C}{other('j', 'a', 'c')}", 11, "joint 'j' is defined twice"),
        ("</joint>", f"</joint>\n{C}", 12, "the robot has 2 root links"),
        ("</joint>", f"</joint>\n{C}{other('k', 'c', 'b')}", 12, "link 'b' has two parents"),
        ("</joint>", f"</joint>{other('k', 'b', 'a')}", 3, "the joints go in a circle"),
        ("</joint>", f"</joint>\n{C}{other('k', 'c', 'c')}", 12, "the joints go in a circle"),
        ("<inertial>", "<visual/><inertial>", 4, "body 'b': visual: <visual> has no <geometry>"),
        ("<inertial>", "<visual><geometry/></visual><inertial>", 4, "body 'b': visual: <geometry> is empty"),
        (
            "<inertial>",
            '<visual><geometry><box size="1 1"/></geometry></visual><inertial>',
            4,
            "body 'b': visual: box size has the wrong length",
        ),
        (
            '<link name="a"/>',
            '<material name="m"><color rgba="1"/></material><link name="a"/>',
            3,
            "material 'm': color rgba has the wrong length",
        ),
    ],
)
def test_what_is_wrong_and_on_which_line(tmp_path, old, new, line, what):
    file = tmp_path / "r.urdf"
    text = robot(LINKS + JOINT)
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))
    with pytest.raises(ModelError) as caught:
        files.load(file)
    assert (caught.value.what, caught.value.where) == (what, f"{file}:{line}")


# ---- robots in use

BROKEN = {
    "alex_psyonic_hands.urdf": "coupling of 'Left_index_q2': joint 'index_q1' is not known",
    "romeo_laas_small.urdf": "body 'torso': visual: the mesh path leads out of the model's folder",
    "tiago.urdf": "body 'base_antenna_left_link': inertia is not positive definite",
    "tiago_dual.urdf": "body 'base_antenna_left_link': inertia is not positive definite",
    "tiago_no_hand.urdf": "body 'base_antenna_left_link': inertia is not positive definite",
    "ur3.urdf": "robot 'ur3' has no links",
}


def wheel() -> list[Path]:
    try:
        listed = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return []
    return sorted(Path(str(f.locate())) for f in listed if str(f).endswith(".urdf"))


@pytest.mark.skipif(not wheel(), reason="example-robot-data is not installed")
def test_every_robot_of_the_wheel_loads():
    """All of them, with and without their package folder, but the few that are broken; and back through TOML."""
    share = next(p for p in wheel()[0].parents if p.name == "share")
    refused = {}
    for file in wheel():
        for packages in ([], [share]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)
                try:
                    model = files.load(file, base="free", packages=packages)
                except ModelError as error:
                    refused[file.name] = error.what
                    continue
            if packages:
                assert toml.loads(toml.dumps(model), str(file), packages) == model
                assert all(Path(v.path).exists() for b in model.bodies.values() for v in b.visuals if v.path), file
    assert refused == BROKEN
