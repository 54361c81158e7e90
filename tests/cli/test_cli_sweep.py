"""The command sweep: data on stdout, words on stderr, exit codes."""

import json
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt

MODELS = Path(__file__).parents[2] / "models"
PENDULUM = str(MODELS / "pendulum.toml")
GRID = ("--set", "q.hinge=0.5:2:4", "--set", "gravity=1.62,9.81")


def test_numbers_are_printed_and_read_back_to_the_same_bits(command):
    code, out, err = command("sweep", PENDULUM, "--until", 0.5, *GRID, "--end", "hinge.q", "--extremes", "energy")
    assert (code, err) == (0, "")
    head, *rows = out.splitlines()
    assert head == "q.hinge,gravity,hinge.q.end,energy.min,energy.max"
    numbers = np.array([[float(x) for x in row.split(",")] for row in rows])
    assert numbers.shape == (8, 5)
    model = wt.load(PENDULUM)
    model.gravity = (0.0, 0.0, -1.62)
    run = wt.simulate(model.compile(), 0.5, q={"hinge": 1.0})
    assert numbers[2].tolist() == [1.0, 1.62, run["hinge.q"][-1], run["energy"].min(), run["energy"].max()]


def test_a_random_design_is_printed(command):
    given = ("--set", "q.hinge=0:1", "--set", "u.hinge=-1:1", "--design", "latin", "--samples", 3, "--seed", 4)
    code, out, _ = command("sweep", PENDULUM, "--until", 0.2, *given, "--end", "hinge.q")
    assert code == 0
    assert out.splitlines()[0] == "q.hinge,u.hinge,hinge.q.end"
    assert len(out.splitlines()) == 4
    assert command("sweep", PENDULUM, "--until", 0.2, *given, "--end", "hinge.q")[1] == out


def test_files_are_written_and_gone_on_with(command, tmp_path):
    options = ("sweep", PENDULUM, "--until", 0.5, *GRID, "--path", "hinge.q", "--output-step", 0.1, "-o", "s.nc")
    settings = ("--integrator", "rk4", "--step", 0.01, "--u", "hinge=0.1", "--tau", "hinge=0.2")
    code, out, err = command(*options, *settings, "--plot", "s.png", "--json")
    assert code == 0
    assert err == "wrote s.nc, s.png\n"
    reported = json.loads(out)
    assert reported == {
        "model": "pendulum", "runs": 8, "done": 8, "complete": True, "failures": [], "warnings": [],
        "files": ["s.nc", "s.png"],
    }  # fmt: skip
    data = wt.Sweep.load(tmp_path / "s.nc")["hinge.q.path"]
    start = {"q": {"hinge": 0.5}, "u": {"hinge": 0.1}, "tau": {"hinge": 0.2}}
    alone = wt.simulate(wt.load(PENDULUM).compile(), 0.5, integrator="rk4", step=0.01, output_step=0.1, **start)
    assert np.array_equal(data[0, 1], alone["hinge.q"])
    assert command(*options, *settings, "--resume")[0] == 0
    code, _, err = command(*options, "--resume")
    assert code == 2
    assert "it is of another sweep: start, settings differ" in err


def test_warnings_are_printed_once_and_are_in_the_data(command, tmp_path):
    m = wt.load(MODELS / "four_bar.toml")
    m.joints[m.compile().cut_joints[0]].armature = 0.1
    wt.save(m, tmp_path / "m.toml")
    options = ("sweep", "m.toml", "--until", 0.1, "--set", "u.shaft=2,3", "--assemble", "--end", "rock.q", "--json")
    code, out, err = command(*options)
    assert code == 0
    assert [noted["run"] for noted in json.loads(out)["warnings"]] == [0, 1]
    assert err.count("note: 2 of 2 runs of the sweep of 'four bar' warned; the first, at u.shaft = 2") == 1
    assert err.count("armature") == 2  # of the model, and of the first run


def test_failures_are_reported_and_make_the_exit_code(command):
    code, out, err = command(
        "sweep",
        MODELS / "four_bar.toml",
        "--until",
        0.1,
        "--assemble",
        "--set",
        "joints.pin.at.x=0.3,3",
        "--end",
        "rock.q",
    )
    assert code == 1
    assert out.splitlines()[2] == "3.0,nan"
    assert "failed at joints.pin.at.x = 3: the loop that joint" in err
    assert err.endswith("1 of 2 runs failed\n")


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--set", "bodies.rod.mas=1"), "'mas' is no number of bodies.rod"),
        (("--set", "q.hinge"), "--set 'q.hinge' cannot be read\n  expected: path=values"),
        (("--set", "q.hinge=1", "--set", "q.hinge=2"), "--set names 'q.hinge' twice"),
        (("--set", "q.hinge=1", "--path", "hinge.q"), "--path needs a file to write to"),
        (("--set", "q.hinge=1", "--resume"), "resume needs the file to go on from"),
        (("--set", "q.hinge=1", "--plot", "p.txt"), "'p.txt' is not the name of a picture"),
        (("--set", "bodies.rod.mass=-1:1:3"), "body 'rod': mass must be positive"),
        (("--set", "q.hinge=1", "--on", "somewhere"), "there is no such place to sweep on"),
    ],
)
def test_wrong_input(command, arguments, reported):
    code, out, err = command("sweep", PENDULUM, "--until", 1, *arguments)
    assert (code, out) == (2, "")
    assert reported in err


def test_a_bar_shows_runs_and_failures():
    from whippletree.cli.sweep import RunsBar

    class Reached(float):
        runs, failed = 60, 2

    bar = RunsBar("sweeping", 1.0)
    bar(Reached(7))
    assert bar.total == 60
    assert bar.details(Reached(7)) == "7 of 60 runs, 2 failed, time left"
