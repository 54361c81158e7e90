"""The animation page: complete in itself, and holding the motion it shows."""

import base64
import json
import re

import numpy as np
import pytest

import whippletree as wt


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
    monkeypatch.setattr("whippletree.result.animation.MOST_NUMBERS", 12 * 2 * 10)
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
