"""The window in the browser: what is drawn, where it stands, what is refused."""

import signal
import socket
import subprocess
import sys
from urllib.parse import urlsplit

import numpy as np
import pytest

import whippletree as wt
from view_model import swinging
from waiting import eventually
from whippletree.errors import MissingExtra, ModelWarning
from whippletree.model import Visual
from whippletree.model.pose import Pose, quaternion_from_matrix
from whippletree.result.records import Occurrence
from whippletree.view import server
from whippletree.view.camera import FIELD, view_of
from whippletree.view.channels import happenings
from whippletree.view.export import write_page, write_picture
from whippletree.view.flexible import neighbours
from whippletree.view.meshes import collada
from whippletree.view.meshes import read as meshes
from whippletree.view.meshes.solids import UNITS
from whippletree.view.pieces import COLORS, pieces_of, usual_length
from whippletree.view.poses import Poses, from_z, quaternions
from whippletree.view.track import Track

pytest.importorskip("viser", reason="viser is not installed: pip install 'whippletree[view]'")
from whippletree.view.replay import Replay
from whippletree.view.scene import Scene
from whippletree.view.window import view

ROUNDING = 1e-6  # poses travel as single precision


@pytest.fixture(scope="module")
def run() -> wt.Result:
    return swinging()


@pytest.fixture(scope="module")
def serving():
    with server.served() as made:
        yield made


@pytest.fixture
def scene(serving, run):
    serving.scene.reset()
    return Scene(serving, run.system, run.q)


def volume(vertices, faces):
    a, b, c = (np.asarray(vertices, float)[faces[:, n]] for n in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0)


@pytest.mark.parametrize(("name", "exact"), [("box", 1.0), ("cylinder", np.pi), ("sphere", 4.0 / 3.0 * np.pi)])
def test_unit_solids_are_closed_and_look_outward(name, exact):
    vertices, faces = UNITS[name]()
    _, joined = np.unique(np.round(vertices, 6), axis=0, return_inverse=True)
    edges = np.concatenate([joined.ravel()[faces][:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))])
    assert {tuple(e) for e in edges.tolist()} == {(b, a) for a, b in edges.tolist()}
    assert volume(vertices, faces) == pytest.approx(exact, rel=0.03)  # polygons of 28 corners lie inside the circle


def test_quaternions_of_many_rotations_at_once():
    rng = np.random.default_rng(1)
    axes = rng.normal(size=(200, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    angles = np.where(np.arange(200) % 4 == 0, np.pi, rng.uniform(0, 2 * np.pi, 200))  # half turns are the hard ones
    given = np.column_stack([np.cos(angles / 2), axes * np.sin(angles / 2)[:, None]])
    R = np.array([Pose(quaternion=tuple(q)).rotation() for q in given])
    found = quaternions(R)
    assert np.abs(np.abs(np.einsum("ni,ni->n", found, given)) - 1.0).max() < 1e-12
    assert abs(quaternions(R[7]) @ np.array(quaternion_from_matrix(R[7]))) == pytest.approx(1.0)
    directions = np.concatenate([axes, np.eye(3), -np.eye(3)])
    turned = np.array([Pose(quaternion=tuple(q)).rotation()[:, 2] for q in from_z(directions)])
    assert np.abs(turned - directions).max() < 1e-6


def test_poses_are_those_of_kinematics(run):
    places = Poses(run.system, [("fore/arm", Pose((0.1, 0.2, 0.3))), ("box", Pose())])
    R, p = places(run.q)
    k = wt.kinematics(run.system, run.q)
    assert R.shape == (41, 2, 3, 3)
    assert np.allclose(p[:, 0], k.position("fore/arm") + k.rotation("fore/arm") @ [0.1, 0.2, 0.3])
    assert np.allclose(R[:, 1], k.rotation("box"))


def test_bodies_without_shapes_are_bars_and_boxes_of_their_inertia(run):
    model = run.system.model
    pieces = pieces_of(run.system, usual_length(run.system), {name: b.visuals for name, b in model.bodies.items()})
    bar = next(p for p in pieces if p.body == "arm" and p.shape == "cylinder")
    assert bar.size[2] == pytest.approx(1.0)
    assert bar.at.position == pytest.approx((0, 0, -0.5))
    assert not [p for p in pieces if p.body == "arm" and p.shape == "box"], "its mass centre lies on the bar"
    lump = next(p for p in pieces if p.body == "fore/arm" and p.shape == "box")
    x, y, z = lump.size
    assert sorted(np.array([y * y + z * z, z * z + x * x, x * x + y * y]) / 12.0) == pytest.approx([0.03, 0.04, 0.05])
    assert [p.size for p in pieces if p.body == "box"] == [(0.3, 0.2, 0.1)]
    assert {p.color for p in pieces if p.body == "box"} == {COLORS[2]}


def test_place_moves_every_instance(scene, run):
    q = run.q[13]
    scene.place(q)
    k = wt.kinematics(run.system, q)
    seen = set()
    for batch in scene.batches:
        for body, shift, place in zip(batch.bodies, batch._shift, batch.handle.batched_positions, strict=True):
            assert np.abs(place - (k.position(body) + k.rotation(body) @ shift)).max() < ROUNDING
            seen.add(body)
    assert seen == {"arm", "fore/arm", "box"}
    assert np.allclose(scene.position("box"), k.position("box"))
    assert np.allclose(scene.rotation("fore/arm"), k.rotation("fore/arm"))


def test_a_click_knows_its_body(scene):
    reported = []
    scene.on_click(lambda body, event: reported.append(body))
    batch = next(b for b in scene.batches if "fore/arm" in b.bodies)
    index = batch.bodies.index("fore/arm")
    event = type("Event", (), {"instance_index": index})()
    for callback in batch.handle._impl.click_cb:
        callback.callback(event) if hasattr(callback, "callback") else callback(event)
    assert reported == ["fore/arm"]


def test_marks_be_temporary(scene, run):
    scene.show_names(True)
    assert set(scene._names) == {"arm", "fore/arm", "box"}
    scene.show_names(False)
    assert not scene._names
    for of in ("bodies", "joints", "frames", None):
        scene.show_axes(of)
    scene.arrows({"a": ((0, 0, 0), (3, 0, 0)), "none": ((1, 1, 1), (0, 0, 0))}, per_metre=2.0)
    assert scene._arrows["forces"].points.tolist() == [[[0, 0, 0], [1.5, 0, 0]]]
    scene.arrows({})
    assert not scene._arrows["forces"].visible
    path = scene.paths("box", run.q)
    scene.trail(path)
    assert path[:, 0] == pytest.approx(0.4 * run.t - 0.4)
    assert scene._trail.points.shape == (40, 2, 3)
    for call in (lambda: scene.position("bxo"), lambda: scene.show_axes("wheels"), lambda: scene.deform(-1.0)):
        with pytest.raises(wt.ModelError):
            call()


def test_the_first_view_holds_the_whole_motion(scene, run):
    points = scene._extent(run.q)
    wxyz = Pose(quaternion=tuple(scene.view.wxyz())).rotation()
    x, y, z = ((points - scene.view.eye) @ wxyz).T
    assert (z > 0).all()
    assert np.abs(y / z).max() < np.tan(FIELD / 2)
    assert np.abs(x / z).max() < 1.3 * np.tan(FIELD / 2)
    assert scene.view.floor <= points[:, 2].min()
    upside = view_of(points, np.array([0.0, 9.81, 0.0]))
    assert upside.up.tolist() == [0, -1, 0]
    standing = view_of(points - [0, 0, points[:, 2].min()], np.array([0.0, 0.0, -9.81]))
    assert standing.floor == 0.0


def test_flexible_bodies_bend(serving):
    serving.scene.reset()
    m = wt.Model("rod")
    made = wt.beam(length=2.0, section="tube", radius=0.02, wall=0.002, elements=4).modes(count=3)
    rod = m.flexible("rod", made)
    m.joint("hinge", "revolute", m.ground, rod, axis="y")
    system = m.compile()
    q = system.q0 + 0.0
    q[system.q_index("rod")] = [0.02, 0.01, 0.0]
    deformed = wt.Result(system, [0.0], [q], [np.zeros(system.nu)])
    scene = Scene(serving, system, q)
    nodes = np.array(scene._flexible.nodes.batched_positions)
    assert np.abs(nodes - deformed.node_positions("rod")[0]).max() < ROUNDING
    assert scene._flexible.bars.batched_scales[0].tolist() == pytest.approx([0.02, 0.02, 0.5], rel=1e-2)
    scene.deform(3.0)
    straight = np.array(made.r)
    linear = scene._flexible.nodes.batched_positions - straight
    assert np.abs(linear).max() == pytest.approx(3.0 * np.abs(nodes - straight).max(), rel=0.05)
    assert {tuple(sorted(p)) for p in neighbours(made.r).tolist()} == {(n, n + 1) for n in range(len(made.r) - 1)}


def test_between_rows_quaternions_go_the_shorter_way(run):
    system = run.system
    q = run.q[:3].copy()
    rows = slice(system.q_index("flight").start + 3, system.q_index("flight").stop)
    q[1, rows] *= -1.0  # the same rotation
    track = Track(system, run.t[:3], q)
    between = track.at(0.5 * (run.t[0] + run.t[1]))
    assert np.linalg.norm(between[rows]) == pytest.approx(1.0)
    assert abs(between[rows] @ run.q[0, rows]) == pytest.approx(np.cos(0.5 * run.t[1]), abs=1e-3)
    assert np.array_equal(track.at(run.t[2]), q[2])
    assert np.array_equal(track.at(99.0), q[2])
    assert track.row(-1.0) == 0


def test_replay_goes_plays_and_follows(serving, run):
    serving.scene.reset()
    serving.gui.reset()
    replay = Replay(serving, run, follow="box", speed=50.0)
    try:
        replay.go(1.0)
        assert np.allclose(replay.scene.position("box"), run["box.position"][20])
        assert replay._slider.max >= 2.0
        replay.loop = False
        replay.play()
        assert eventually(lambda: replay.time == 2.0 and not replay.playing)
        replay.play()  # from the start again
        assert eventually(lambda: replay.time > 0.0)
        replay._jump(0.5)
        assert replay.time == 0.5
        assert not replay.playing
        replay._trailing.value = True
        replay.follow("arm")
        replay._chart.show("shoulder.q")
        assert replay._chart._plot is not None
        replay._show_loads("reactions", True)
        assert replay.scene._arrows["reactions"].visible
    finally:
        replay._ended.set()
        replay._player.join()


def test_reactions_are_arrows_at_joints(run):
    """At rest and hanging, the shoulder carries 3 kg."""
    from whippletree.view.loads import RunLoads

    system = run.system
    rest = wt.Result(system, [0.0], [system.q0], [np.zeros(system.nu)], udot=[np.zeros(system.nu)])
    arrows = RunLoads(rest).at("reactions", 0, system.q0)
    tail, force = arrows["shoulder"]
    assert tail.tolist() == [0, 0, 0]
    assert force.tolist() == pytest.approx([0, 0, 3 * 9.81])
    assert RunLoads(rest).largest("reactions") == pytest.approx(3 * 9.81)


def test_events_are_reported_in_order(run):
    assert happenings(run) == {}
    two = [Occurrence("late", 1.5, run.q[0], run.u[0]), Occurrence("early", 0.25, run.q[0], run.u[0])]
    happened = wt.Result(run.system, run.t, run.q, run.u, events=two)
    assert happenings(happened) == {"0.25 s: early": 0.25, "1.5 s: late": 1.5}


# what is refused


def test_ports_that_cannot_be_had():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(wt.ModelError, match=f"port {port} of 127.0.0.1 is in use"):
            server.serve(port=port)
    for wrong in (0, 65536, -3, True, "80"):
        with pytest.raises(wt.ModelError, match="is no port"):
            server.serve(port=wrong)
    with pytest.raises(wt.ModelError, match=r"no address of this machine"):
        server.serve(host="203.0.113.7", port=9000)  # an address for documentation: nobody has it
    with pytest.raises(wt.ModelError, match="host 'no host' is not known"):
        server.serve(host="no host", port=9000)


def test_a_server_without_a_door_is_not_used(monkeypatch):
    import viser

    class Other:
        stopped = False

        def __init__(self, **options):
            pass

        def stop(self):
            Other.stopped = True

    monkeypatch.setattr(viser, "ViserServer", Other)
    with pytest.raises(wt.SimulationError, match="viser began its server in another way"):
        server.serve()
    assert Other.stopped


def test_without_viser_the_pip_line_is_reported(monkeypatch, run):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtra, match=r"pip install 'whippletree\[view\]'"):
        run.view(wait=False)


def test_bad_options_leave_no_server(run):
    for options, reported in (
        ({"follow": "bxo"}, "did you mean 'box'"),
        ({"speed": 0.0}, "speed"),
        ({"scale": -1}, "scale"),
    ):
        with pytest.raises(wt.ModelError, match=reported):
            view(run, wait=False, open_browser=False, say=lambda _: None, **options)
    with pytest.raises(wt.ModelError, match="no shapes for the bodies"):
        view(run, wait=False, open_browser=False, say=lambda _: None, visuals={"leg": ()})


def test_pictures_and_pages_that_cannot_be_made(run, tmp_path, monkeypatch):
    with pytest.raises(wt.ModelError, match="not the name of a page"):
        write_page(run, tmp_path / "page.png")
    with pytest.raises(wt.ModelError, match="not the name of a picture"):
        write_picture(run, tmp_path / "a.html")
    with pytest.raises(wt.ModelError, match="no such moment"):
        write_picture(run, tmp_path / "a.png", at=3.0)
    with pytest.raises(wt.ModelError, match="no such size"):
        write_picture(run, tmp_path / "a.png", size=(5, 100000))
    monkeypatch.setenv("WHIPPLETREE_BROWSER", "no-such-browser")
    with pytest.raises(wt.ModelError, match="no browser to draw a picture with"):
        write_picture(run, tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def command(*words):
    return [sys.executable, "-m", "whippletree", *map(str, words)]


def test_the_command_refuses_what_it_cannot_show(tmp_path, run):
    from typer.testing import CliRunner

    from whippletree.cli import app as cli
    from whippletree.cli import results as cli_results

    assert cli_results.shared.app is cli.app
    (tmp_path / "text.nc").write_text("no result")
    run.save(tmp_path / "run.nc")
    for words, reported in (
        (["none.nc"], "there is no result file"),
        ([tmp_path / "text.nc"], "not a NetCDF file of Whippletree"),
        ([tmp_path / "none.toml"], "there is no file 'none.toml'"),
        ([tmp_path / "run.nc", "--follow", "bxo", "--no-open"], "did you mean 'box'"),
        ([tmp_path / "run.nc", "--port", "70000", "--no-open"], "port 70000 is no port"),
        ([tmp_path / "run.nc", "--html", tmp_path / "a.png"], "not the name of a page"),
        ([tmp_path / "run.nc", "--screenshot", tmp_path / "no" / "a.png"], "there is no folder"),
    ):
        ended = CliRunner().invoke(cli.app, ["view", *map(str, words)])
        assert ended.exit_code == 2, ended.output
        assert reported in ended.output


def test_the_command_serves_until_it_is_interrupted(tmp_path, run):
    run.save(tmp_path / "run.nc")
    started = subprocess.Popen(
        command("view", tmp_path / "run.nc", "--no-open"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # which shells in the background ignore
    )
    try:
        line = started.stderr.readline()
        assert "http://127.0.0.1:" in line
        port = urlsplit(line.split()[-1]).port
        assert "Ctrl-C ends it" in started.stderr.readline()
        assert _answers(port)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=30)
        assert (out, err, started.returncode) == ("", "", 0)
    finally:
        started.kill()


def _answers(port):
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


# mesh files

DAE = """<?xml version="1.0"?>{doctype}
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.01"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="fx"><profile_COMMON><technique><phong>
<diffuse><color>1 0.5 0 1</color></diffuse></phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="mat"><instance_effect url="#fx"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array id="a" count="12">0 0 0 1 0 0 1 1 0 0 1 0</float_array>
<technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<polylist material="paint" count="1"><input semantic="VERTEX" source="#v" offset="1"/>
<input semantic="NORMAL" source="#s" offset="0"/><vcount>4</vcount><p>0 0 0 1 0 2 0 3</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="vs"><node><translate>0 0 10</translate>
<instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="paint" target="#mat"/>
</technique_common></bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#vs"/></scene></COLLADA>"""


def test_collada_in_metres_with_z_up():
    [((points, faces), color)] = collada.read(DAE.format(doctype="").encode())
    assert color == (255, 128, 0)
    assert faces.tolist() == [[0, 1, 2], [0, 2, 3]]
    assert np.allclose(points, [[0, -0.1, 0], [0.01, -0.1, 0], [0.01, -0.1, 0.01], [0, -0.1, 0.01]])
    with pytest.raises(wt.ModelError, match="document type"):
        collada.read(DAE.format(doctype='<!DOCTYPE a [<!ENTITY b "c">]>').encode())


def test_meshes_are_drawn_or_noted(serving, tmp_path):
    serving.scene.reset()
    (tmp_path / "part.dae").write_text(DAE.format(doctype=""))
    (tmp_path / "broken.stl").write_text("solid nothing at all")
    m = wt.Model("robot")
    for name, file in (("good", "part.dae"), ("bad", "broken.stl"), ("gone", "missing.obj")):
        mesh = Visual("mesh", (1.0, 1.0, 1.0), path=str(tmp_path / file))
        body = m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), visuals=(mesh,))
        m.joint(f"at {name}", "revolute", m.ground, body)
    with pytest.warns(ModelWarning, match=r"meshes not drawn: .* and 1 more"):
        scene = Scene(serving, m.compile())
    assert [b.bodies for b in scene.batches] == [("good",)], "of a robot with meshes, only meshes are drawn"


@pytest.mark.parametrize(("ending", "color"), [("glb", (200, 30, 40)), ("obj", None)])
def test_meshes_with_materials_are_drawn(tmp_path, ending, color):
    """Those of OBJ files are in other files, which are not read."""
    trimesh = pytest.importorskip("trimesh")
    box = trimesh.creation.box()
    material = trimesh.visual.material.PBRMaterial(baseColorFactor=[200, 30, 40, 255])
    box.visual = trimesh.visual.TextureVisuals(uv=np.zeros((len(box.vertices), 2)), material=material)
    file = tmp_path / f"box.{ending}"
    box.export(file)
    (((vertices, faces), found),) = meshes._triangles(file, file.suffix)
    assert (len(vertices), len(faces), found) == (8, 12, color)


def test_a_page_plays_alone(run, tmp_path):
    page = tmp_path / "swing.html"
    shares = []
    write_page(run, page, progress=shares.append)
    text = page.read_text("utf-8")
    assert "<title>swing</title>" in text
    assert "__VISER_EMBED_DATA__" in text
    assert 'src="http' not in text
    assert shares[-1] == 1.0
    assert len(shares) == 61  # 2 s at 30 a second
