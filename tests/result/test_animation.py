"""Animations: a page that is complete in itself and holds the motion it shows, and a GIF."""

import base64
import json
import re

import numpy as np
import pytest
from PIL import Image

import whippletree as wt
from whippletree.result.pictures.gif import MOST_FRAMES, frame_samples


@pytest.fixture(scope="module")
def run():
    model = wt.Model("two </script><b>rods")
    upper = model.body("upper", **wt.rod(mass=1.0, length=1.0, axis="-z"))
    lower = model.body("lower", **wt.rod(mass=0.5, length=0.8, axis="-z"))
    model.joint("a", "revolute", model.ground, upper, axis="y")
    model.joint("b", "revolute", upper, lower, axis="y", at=(0, 0, -1))
    return wt.simulate(model.compile(), 0.5, q={"a": 1.0}, integrator="rk4", step=0.01)


def scene(page):
    return json.loads(re.search(r"const data = (.*);\n", page).group(1))


def numbers(text):
    return np.frombuffer(base64.b64decode(text), "<f4")


def test_the_page_holds_the_motion(run, tmp_path):
    run.animate(tmp_path / "two.html")
    data = scene((tmp_path / "two.html").read_text())
    times = numbers(data["times"])
    np.testing.assert_allclose(times, run.t, atol=1e-6)  # single precision
    dots = numbers(data["dots"]).reshape(len(times), 2, 3)
    centre = run["lower.position"] + run["lower.rotation"] @ [0, 0, -0.4]
    np.testing.assert_allclose(dots[:, 1], centre, atol=1e-6)
    sticks = numbers(data["sticks"]).reshape(len(times), -1, 2, 3)
    lengths = np.linalg.norm(sticks[:, :, 1] - sticks[:, :, 0], axis=2)
    np.testing.assert_allclose(lengths, np.broadcast_to(lengths[0], lengths.shape), atol=1e-6)  # sticks are rigid
    assert data["up"] == 2
    assert len(data["sizes"]) == 2


def test_the_page_needs_nothing_else_and_no_name_gets_out_of_its_place(run, tmp_path):
    run.animate(tmp_path / "two.html")
    page = (tmp_path / "two.html").read_text()
    assert "http" not in page
    assert "src=" not in page
    assert page.count("</script>") == 1
    assert "<b>rods" not in page


def test_long_runs_are_thinned_evenly(run, tmp_path, monkeypatch):
    monkeypatch.setattr("whippletree.result.pictures.animation.MOST_NUMBERS", 12 * 2 * 10)
    run.animate(tmp_path / "two.html")
    times = numbers(scene((tmp_path / "two.html").read_text())["times"])
    assert len(times) == 10
    assert (times[0], times[-1]) == (run.t[0], run.t[-1])


def test_a_single_moment_is_no_motion(run, tmp_path):
    still = wt.Result(run.system, run.t[:1], run.q[:1], run.u[:1])
    with pytest.raises(wt.ModelError) as caught:
        still.animate(tmp_path / "still.html")
    assert str(caught.value) == "an animation needs a motion\n  expected: at least 2 moments\n  got: 1"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("span", "rows", "frames", "speed"),
    [(4.0, 501, 100, 1.0), (8.0, 501, 200, 1.0), (20.0, 501, 200, 1.0), (100.0, 501, 200, 5.0), (0.5, 501, 50, 0.25),
     (4.0, 11, 11, 4.0 / 1.1)],
    ids=["usual", "longest smooth", "slowest", "long", "short", "few moments"],
)  # fmt: skip
def test_a_gif_runs_in_real_time_where_it_can(span, rows, frames, speed):
    t = np.linspace(1.0, 1.0 + span, rows)
    moments, frame_time, reported = frame_samples(t)
    assert len(moments) == frames <= MOST_FRAMES
    assert (moments[0], moments[-1]) == (0, rows - 1)
    assert reported == pytest.approx(speed)
    assert frames * frame_time * reported == pytest.approx(span)


def test_a_gif_is_spaced_by_time_not_by_rows():
    t = np.concatenate([np.linspace(0, 1, 1000, endpoint=False), np.linspace(1, 3, 201)])
    moments, _, _ = frame_samples(t)
    np.testing.assert_allclose(np.diff(t[moments]), 3 / (len(moments) - 1), atol=0.011)  # half a row at each end


def test_the_gif_moves(run, tmp_path):
    done = []
    run.animate(tmp_path / "two.GIF", progress=done.append)
    with Image.open(tmp_path / "two.GIF") as gif:
        assert (gif.format, gif.n_frames, gif.info["loop"]) == ("GIF", 50, 0)
        assert gif.info["duration"] == 40  # ms: 0.5 s slowed down to 2
        first = np.asarray(gif.convert("RGB")).astype(int)
        gif.seek(gif.n_frames - 1)
        last = np.asarray(gif.convert("RGB")).astype(int)
    assert (np.abs(first - last).sum(axis=2) > 100).mean() > 0.005  # of all dots
    red = (last[:, :, 0] > 180) & (last[:, :, 1] < 120)
    assert red.sum() > 50  # the path of the last body
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert [p.name for p in tmp_path.iterdir()] == ["two.GIF"]


@pytest.mark.parametrize("name", ["two.mp4", "two", "two.html.bak"])
def test_other_endings_are_refused(run, tmp_path, name):
    with pytest.raises(wt.ModelError) as caught:
        run.animate(tmp_path / name)
    path = tmp_path / name
    assert str(caught.value) == f"'{path}' is not the name of an animation\n  expected: a name ending in .html or .gif"
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def bending():
    """A flexible arm that turns and bends as given, with a rigid hand on its tip."""
    modes = wt.beam(1.0, section="circle", radius=0.01, elements=2, degree=3, deforms=["bending_z"]).modes(count=2)
    model = wt.Model("arm")
    model.flexible("arm", modes)
    model.body("hand", mass=0.1, com=(0.1, 0, 0), inertia=(1e-4,) * 3)
    model.joint("shoulder", "revolute", "ground", "arm", axis="y")
    model.joint("wrist", "fixed", "arm/tip", "hand")
    t = np.linspace(0, 1, 5)
    q = np.stack([t, 0.05 * t, -0.01 * t**2], axis=1)
    return wt.Result(model.compile(), t, q, 0 * q), modes


def test_flexible_bodies_are_drawn_deformed(bending, tmp_path):
    run, modes = bending
    for scale in (1.0, 3.0):
        run.animate(tmp_path / "arm.html", scale=scale)
        data = scene((tmp_path / "arm.html").read_text())
        sticks = numbers(data["sticks"]).reshape(len(run), -1, 2, 3)[:, -2:]  # of the arm: base, middle, tip
        assert len(data["sizes"]) == 2  # the hand, and the arm
        eta = run["arm.q"]
        moved = modes.r + scale * modes.displacements(eta)
        world = np.einsum("tij,tkj->tki", run["arm.rotation"], moved)
        np.testing.assert_allclose(sticks[:, :, 0], world[:, :2], atol=1e-6)
        np.testing.assert_allclose(sticks[:, :, 1], world[:, 1:], atol=1e-6)
        if scale == 1.0:
            np.testing.assert_allclose(sticks[:, 1, 1], run["arm/tip.position"], atol=1e-6)


def test_flexible_bodies_are_in_pictures(bending, tmp_path):
    run, _ = bending
    run.plot(path=tmp_path / "arm.svg")
    run.animate(tmp_path / "arm.gif", scale=2.0)
    with Image.open(tmp_path / "arm.gif") as gif:
        assert gif.n_frames == len(run)
    with pytest.raises(wt.ModelError, match="scale of the deformation is too small"):
        run.animate(tmp_path / "arm.gif", scale=-1.0)
