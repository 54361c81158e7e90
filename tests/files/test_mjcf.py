"""MJCF models: what is read and how it agrees with MuJoCo itself, what is left out, what is refused."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from against_mujoco import Peer
from bridge import error, solve_tolerance
from whippletree import files
from whippletree.errors import ModelError, ModelWarning
from whippletree.files import mjcf, mjcf_source, toml, xml
from whippletree.model import Limits, Pose, Visual
from zoo import random_state

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom size="0.1" mass="2" contype="0" conaffinity="0"/>'


def model(inside: str, before: str = "") -> str:
    return f'<mujoco model="m">\n{before}<worldbody>\n{inside}\n</worldbody>\n</mujoco>\n'


def body(inside: str = "", name: str = "a", before: str = "", **attributes: str) -> str:
    written = "".join(f' {k}="{v}"' for k, v in attributes.items())
    return model(f'<body name="{name}"{written}>\n{inside}\n{GEOM}\n</body>', before)


def read(text: str, notes: bool = False, **options):
    """The model of ``text``; without ``notes`` nothing may be noted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if notes else "error", ModelWarning)
        return mjcf.loads(text, "m.xml", **options)


# ---- what is read

HUMANOID = """<mujoco model="walker">
<compiler angle="degree" eulerseq="zyx" autolimits="true" boundmass="0.01"/>
<option gravity="0.1 0.2 -9.8"/>
<default>
  <joint armature="0.02" damping="0.3" frictionloss="0.05"/>
  <geom type="capsule" density="900" contype="0" conaffinity="0"/>
  <default class="arm"><joint range="-70 80" pos="0 0 0.01"/><geom rgba="0.2 0.4 0.6 1"/></default>
</default>
<worldbody>
  <body name="torso" pos="0.3 -0.2 1.3" euler="10 20 30">
    <freejoint name="root"/>
    <geom fromto="0 -.07 0 0 .07 0" size=".07"/>
    <geom type="sphere" pos="0 0 .19" size=".09"/>
    <site name="imu" pos="0 0 0.1" quat="0.5 0.5 0.5 0.5"/>
    <body name="waist" pos="-.01 0 -.26" quat="1 0 -.2 .1">
      <geom fromto="0 -.06 0 0 .06 0" size=".06"/>
      <joint name="abdomen_z" axis="0 0 1" pos="0 0 .065" range="-45 45"/>
      <joint name="abdomen_y" axis="0 1 0.2" pos="0 0.01 .065" range="-75 30" ref="15"/>
      <joint name="abdomen_slide" type="slide" axis="1 1 0" pos="9 9 9" ref="0.1" range="-0.3 0.4"/>
      <body name="pelvis" pos="0 0 -.165">
        <joint name="abdomen_x" axis="1 0 0" pos="0 0 .1"/>
        <geom type="box" size=".08 .1 .05" euler="0 30 0"/>
        <body name="thigh" pos="0 -.1 -.04">
          <joint name="hip_slide" type="slide" axis="0 0 1"/>
          <joint name="hip" type="ball" pos="0.02 0.03 0"/>
          <geom fromto="0 0 0 0 .01 -.34" size=".06"/>
          <body pos="0 .01 -.403">
            <joint axis="0 -1 0" pos="0 0 .02"/>
            <geom fromto="0 0 0 0 0 -.3" size=".049"/>
            <body name="foot" pos="0 0 -.39" axisangle="0 0 1 40">
              <geom type="ellipsoid" size=".05 .1 .03"/>
              <inertial pos="0.1 0.02 0" mass="3" fullinertia="0.03 0.02 0.025 0.001 -0.002 0.003"/>
            </body>
          </body>
        </body>
      </body>
    </body>
    <frame euler="0 90 0"><body name="arm" pos="0 -.17 .06" childclass="arm">
      <joint axis="2 1 1"/>
      <joint name="shoulder" axis="0 -1 1"/>
      <geom fromto="0 0 0 .16 -.16 -.16" size=".04 .16"/>
    </body></frame>
  </body>
</worldbody>
</mujoco>
"""
# one joint of every kind, each with an offset of its own, and two trees
JOINTS = model(
    '<body pos="1 2 3" quat="1 2 3 4"><joint pos="0.1 0.2 0.3" axis="1 2 3" ref="0.4" armature="0.2"/>'
    '<inertial pos="0.2 0.1 0" quat="1 1 0 2" mass="2" diaginertia="0.1 0.2 0.25"/>'
    '<body pos="0 0 1"><joint type="ball" pos="0.3 0 0.1" armature="0.1"/><geom size="0.2"/>'
    '<body pos="0 1 0"><joint type="slide" axis="0 3 4" pos="1 1 1" ref="2"/><geom type="box" size="0.1 0.2 0.3"/>'
    '</body></body></body><body quat="0 1 1 0" pos="-1 0 0"><freejoint/>'
    '<geom type="cylinder" size="0.1 0.3" pos="1 1 0"/>'
    '<body pos="1 0 0"><geom size="0.1"/></body></body>',
    '<compiler angle="radian"/><option gravity="1 -2 3"/>',
)


@pytest.mark.parametrize("text", [HUMANOID, JOINTS, body("<joint/>"), body("<freejoint/>", pos="1 2 3")])
def test_dynamics_are_those_of_mujoco(text):
    system = read(text, notes=True).compile()
    agrees(mujoco.MjModel.from_xml_string(text), system)


def agrees(m, system):
    peer = Peer(m, system)
    for q, u, tau in zip(*random_state(system, np.random.default_rng(3), 4), strict=True):
        M, bias, udot, poses = peer.answers(q, u, tau)
        # both sides round in float64; 1e-10 leaves them five digits, and a solve loses what the condition says
        assert error(wt.mass_matrix(system, q), M) < 1e-10
        assert error(wt.bias_force(system, q, u), bias) < 1e-10
        assert error(wt.forward_dynamics(system, q, u, tau), udot) < solve_tolerance(M)
        k = wt.kinematics(system, q)
        for name, (position, rotation) in poses.items():
            assert k.position(name) == pytest.approx(position, abs=1e-12)
            assert k.rotation(name) == pytest.approx(rotation, abs=1e-12)


WHEEL = sorted((Path(mujoco.__file__).parent / "testdata").glob("model*.xml"))


@pytest.mark.parametrize("path", WHEEL, ids=lambda p: p.stem)
def test_models_of_the_mujoco_wheel(path):
    with pytest.warns(ModelWarning, match="not imported: "):
        read_model = files.load(path)
    system = read_model.compile()
    agrees(mujoco.MjModel.from_xml_path(str(path)), system)
    assert toml.loads(toml.dumps(read_model, Path("/")), "m.toml") == read_model


def test_bodies_joints_and_names_of_the_humanoid():
    m = read(HUMANOID, notes=True)
    assert (m.name, m.gravity, m.where) == ("walker", (0.1, 0.2, -9.8), "m.xml:1")
    assert list(m.bodies) == [
        "torso",
        "waist_abdomen_z",
        "waist_abdomen_y",
        "waist",
        "pelvis",
        "thigh_hip_slide",
        "thigh",
        "body5",
        "foot",
        "arm_joint8",
        "arm",
    ]
    kinds = {j.name: j.kind for j in m.joints.values()}
    assert kinds == {
        "root": "free",
        "abdomen_z": "revolute",
        "abdomen_y": "revolute",
        "abdomen_slide": "prismatic",
        "abdomen_x": "revolute",
        "hip_slide": "prismatic",
        "hip": "spherical",
        "joint7": "revolute",
        "foot_weld": "fixed",
        "joint8": "revolute",
        "shoulder": "revolute",
    }
    between, y = m.bodies["waist_abdomen_z"], m.joints["abdomen_y"]
    assert (between.mass, between.idealized, between.where) == (0.0, True, "m.xml:17")
    assert (y.parent, y.child, y.at, y.child_at) == (
        between.name,
        "waist_abdomen_y",
        y.child_at,
        Pose((0, 0.01, 0.065)),
    )
    assert (y.armature, y.damping, y.friction, y.where) == (0.02, 0.3, 0.05, "m.xml:18")
    assert m.frames["imu"].body == "torso"
    assert m.frames["imu"].at == Pose((0.0, 0.0, 0.1), (0.5, 0.5, 0.5, 0.5))
    assert (m.bodies["foot"].mass, m.bodies["foot"].com, m.bodies["foot"].where) == (3.0, (0.1, 0.02, 0.0), "m.xml:30")
    # MuJoCo keeps principal moments and axes, which its older versions found to 1e-6
    assert np.array(m.bodies["foot"].inertia) == pytest.approx(
        np.array([[0.03, 0.001, -0.002], [0.001, 0.02, 0.003], [-0.002, 0.003, 0.025]]), abs=1e-8
    )


def test_limits_count_from_the_reference():
    m = read(HUMANOID, notes=True)
    y, slide = m.joints["abdomen_y"].limits, m.joints["abdomen_slide"].limits
    assert (y.lower, y.upper) == pytest.approx((np.radians(-90), np.radians(15)))
    assert (slide.lower, slide.upper) == pytest.approx((-0.4, 0.3))
    assert m.joints["abdomen_x"].limits is None
    assert read(body('<joint range="-inf 90"/>')).joints["joint0"].limits == Limits(None, np.radians(90))


def test_the_reference_pose_is_zero():
    """At q0 every body stands where MuJoCo has it at qpos0."""
    m, system = mujoco.MjModel.from_xml_string(JOINTS), read(JOINTS, notes=True).compile()
    d, k = mujoco.MjData(m), wt.kinematics(system, system.q0)
    mujoco.mj_kinematics(m, d)
    for i in range(1, m.nbody):
        assert k.position(f"body{i}") == pytest.approx(d.xpos[i], abs=1e-14)


def test_flags_switch_off():
    inside = '<joint damping="1" frictionloss="2" range="-1 1" stiffness="3"/>'
    passive = ["damper", "spring"] if hasattr(mujoco.mjtDisableBit, "mjDSBL_DAMPER") else ["passive"]
    flags = " ".join(f'{name}="disable"' for name in ("gravity", "frictionloss", "limit", *passive))
    m = read(body(inside, before=f"<option><flag {flags}/></option>"))
    j = m.joints["joint0"]
    assert (m.gravity, j.damping, j.friction, j.limits) == ((0.0, 0.0, 0.0), 0.0, 0.0, None)
    assert (j.stiffness, j.rest) == (0.0, 0.0)


def test_springs_of_joints():
    inside = """<joint name="hinge" stiffness="3" ref="20" springref="50"/>
<joint name="slide" type="slide" stiffness="4"/>
<body name="b"><joint name="ball" type="ball" stiffness="5" damping="1"/><geom size="1"/></body>"""
    m = read(body(inside), notes=True)
    hinge, slide, ball = (m.joints[name] for name in ("hinge", "slide", "ball"))
    assert (hinge.stiffness, hinge.rest) == (3.0, pytest.approx(np.radians(30)))
    assert (slide.stiffness, slide.rest) == (4.0, 0.0)
    assert (ball.stiffness, ball.rest, ball.damping) == (5.0, 0.0, 1.0)
    assert not m.passive


def test_compiler_options_are_mujocos():
    heavy = "<compiler settotalmass='10' angle='radian' inertiafromgeom='true'/>"
    inside = '<inertial pos="0 0 0" mass="9" diaginertia="1 1 1"/><joint axis="0 0 2" range="-1 1"/>'
    m = read(body(inside, before=heavy), notes=True)
    assert m.bodies["a"].mass == pytest.approx(10.0)
    assert m.joints["joint0"].limits == Limits(-1.0, 1.0)
    wrong = inside.replace("1 1 1", "1 1 5")
    with pytest.raises(ModelError, match=r"A \+ B >= C"):
        read(body(wrong))
    m = read(body(wrong, before='<compiler balanceinertia="true"/>'))
    assert np.trace(m.bodies["a"].inertia) == pytest.approx(7.0)


def test_equality_of_joints_is_a_coupling():
    two = body('<joint name="j" ref="20"/>' + GEOM + '</body><body><joint name="k" ref="10"/>')
    both = '<equality><joint joint1="{}" {}/></equality></mujoco>'

    def couplings(*args, **options):
        return read(two.replace("</mujoco>", both.format(*args)), **options).couplings

    (c,) = couplings("k", 'joint2="j" polycoef="0.5 -2 0 0 0"').values()
    assert (c.joint, c.of, c.ratio, c.offset, c.where) == ("k", "j", -2.0, 0.5, "m.xml:8")
    for given in ('joint2="j" polycoef="0 1 1 0 0"', 'polycoef="0 1 0 0 0"', 'joint2="j" active="false"'):
        with pytest.warns(ModelWarning, match=r"not imported: equality constraints \(1\)"):
            assert not mjcf.loads(two.replace("</mujoco>", both.format("k", given)), "m.xml").couplings


def test_names_do_not_collide():
    inside = (
        '<joint name="joint1"/><joint axis="1 0 0"/><site name="a"/><site/>'
        + GEOM
        + '</body><body name="ground">'
        + GEOM
    )
    m = read(body(inside + '</body><body name="body4"><joint name="x_weld"/>' + GEOM + "</body><body>"), notes=True)
    assert list(m.bodies) == ["a_joint1", "a", "ground_body", "body4", "body4_"]
    assert list(m.joints) == ["joint1", "joint1_", "ground_body_weld", "x_weld", "body4__weld"]
    assert list(m.frames) == ["a_site", "site1"]
    assert mjcf.loads(body("<joint/>").replace(' model="m"', ""), "x/arm.xml").name == "arm"


def test_shapes_are_drawn():
    rgba, colour = 'rgba="1 0 0 0.5"', (1.0, 0.0, 0.0, 0.5)
    shapes = f'<geom type="box" size="1 2 3" pos="1 0 0" {rgba}/><geom size="1" {rgba}/>'
    shapes += f'<geom type="cylinder" size="1 2" {rgba}/><geom type="capsule" size="0.1 2" {rgba}/>'
    shapes += f'<geom size="1" material="blue"/><geom size="3" group="3"/><geom type="ellipsoid" size="1 2 3" {rgba}/>'
    blue = '<asset><material name="blue" rgba="0 0 1 1" texture="none"/></asset>'
    text = model(f'<body name="a">{shapes}</body>', blue)
    assert read(text, notes=True).bodies["a"].visuals == (
        Visual("box", (2.0, 4.0, 6.0), Pose((1.0, 0.0, 0.0)), colour),
        Visual("sphere", (1.0,), Pose(), colour),
        Visual("cylinder", (1.0, 4.0), Pose(), colour),
        Visual("cylinder", (0.1, 4.0), Pose(), colour),
        Visual("sphere", (0.1,), Pose((0.0, 0.0, -2.0)), colour),
        Visual("sphere", (0.1,), Pose((0.0, 0.0, 2.0)), colour),
        Visual("sphere", (1.0,), Pose(), (0.0, 0.0, 1.0, 1.0)),
    )


def test_xml_is_read_by_its_root(tmp_path):
    file = tmp_path / "m.xml"
    file.write_text('<?xml version="1.0"?>\n<!-- <robot> -->\n' + body("<joint/>"))
    assert list(files.load(file).joints) == ["joint0"]
    assert [xml.root_tag(t) for t in ("", "x", "<!DOCTYPE a><a/>", "<a/><b", "<!-- <b/> --><a>")] == [
        "",
        "",
        "",
        "a",
        "a",
    ]


# ---- what is noted


@pytest.mark.skipif(not hasattr(mujoco.MjModel, "dof_dampingpoly"), reason="this MuJoCo has only linear dampers")
def test_nonlinear_springs_and_dampers_are_listed():
    with pytest.warns(ModelWarning) as caught:
        m = mjcf.loads(body('<joint damping="1 2 3" stiffness="0 1"/>'), "m.xml")
    assert [str(w.message) for w in caught] == ["m.xml\n  not imported: nonlinear springs and dampers (2)"]
    assert m.joints["joint0"].damping == 1.0


def test_what_is_left_out_is_listed_once(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = """<option density="1"/><size memory="1G"/><statistic extent="1"/><visual><map znear="1"/></visual>
<default><motor gear="3"/><tendon width="1"/><default class="x"><camera fovy="3"/></default></default>
<asset><texture file="/etc/passwd" type="2d"/><hfield name="h" file="../h.png" size="1 1 1 1"/><skin file="/x"/></asset>
"""
    inside = """<joint name="j" stiffness="1"/><camera/><light/><geom type="hfield" hfield="h"/><flexcomp name="f"/>
<geom size="1"/><geom type="ellipsoid" size="1 1 1"/><body name="b" gravcomp="1">
<joint type="ball" range="0 1"/><geom size="1"/></body>
"""
    after = """<contact><exclude body1="a" body2="b"/></contact><tendon><fixed name="t"/></tendon>
<actuator><motor joint="nothing"/><muscle/></actuator><sensor><jointpos/></sensor><keyframe><key/><key/></keyframe>
<custom><numeric/></custom><deformable><flex/></deformable><equality><weld/><connect/><tendon/></equality></mujoco>"""
    world = """<body><joint type="free" stiffness="1"/><geom size="1" contype="0" conaffinity="0"/></body>
<body mocap="true"/><geom size="1" contype="0" conaffinity="0"/></worldbody>"""
    text = body(inside, before=before).replace("</worldbody>", world)
    text = text.replace("</mujoco>", after)
    shown = mjcf_source.prepare(text, "m.xml", ()).text
    assert not any(word in shown for word in ("file=", "passwd", "hfield", "memory"))  # MuJoCo is reported of no file
    with pytest.warns(ModelWarning) as caught:
        mjcf.loads(text, "m.xml")
    assert [str(w.message) for w in caught] == [
        "m.xml\n  not imported: actuators (2), bodies with gravity compensation (1), cameras (1), "
        "contact pairs and exclusions (1), custom fields (1), equality constraints (3), flexes and skins (3), "
        "forces of a fluid (1), geoms of the world (1), geoms that are not drawn (1), geoms with contact (3), "
        "height fields (1), keyframes (2), lights (1), limits of ball joints (1), mocap bodies, which stand still (1), "
        "sensors (1), springs of free joints (1), tendons (1), textures (1)"
    ]
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (body("<joint/>", name="ground"), "renamed, because 'ground' is the fixed world: 'ground_body'"),
        (body('<joint/><site name="a"/>'), "sites renamed, because a body has their name: 'a_site'"),
        (
            body('<joint type="free" name="f" armature="1"/>'),
            "armature of a free joint, which acts in body axes here: 'f'",
        ),
    ],
)
def test_what_is_read_with_a_note(text, note):
    with pytest.warns(ModelWarning) as caught:
        mjcf.loads(text, "m.xml")
    assert [str(w.message) for w in caught] == [f"m.xml\n  {note}"]


def test_what_mujoco_says_is_noted_and_not_printed(capfd, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mjcf_source, "_check_numbers", lambda element: None)  # which would refuse NaN before MuJoCo
    heard = []
    mujoco.set_mju_user_warning(heard.append)
    try:
        with pytest.warns(ModelWarning) as caught:
            mjcf.loads(body('<joint margin="nan"/>'), "m.xml")
        assert [str(w.message) for w in caught] == [
            "m.xml\n  MuJoCo says: XML contains a 'NaN'. Please check it carefully."
        ]
        assert heard == []
        mujoco.MjSpec.from_string(body('<joint margin="nan"/>'))
        assert len(heard) == 1  # the handler that was there before is back
    finally:
        mujoco.set_mju_user_warning(None)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())
