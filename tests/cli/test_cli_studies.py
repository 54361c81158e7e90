"""The commands equilibrium, linearize and modes: tables, JSON, files, wrong input."""

import json
import shlex

import numpy as np
import pytest

import whippletree as wt
from test_cli import PENDULUM, ROOT

DOUBLE = str(ROOT / "models" / "double_pendulum.toml")
FOUR_BAR = str(ROOT / "models" / "four_bar.toml")
SATELLITE = str(ROOT / "models" / "satellite.toml")


def table(text):
    """Words of a table's lines, by their first word."""
    return {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.strip()}


def test_equilibrium_prints_pose_forces_and_firmness(command):
    code, out, err = command("equilibrium", DOUBLE, "--tau", "elbow=2", "--fix", "shoulder")
    assert (code, err) == (0, "")
    rows = table(out)
    assert rows["shoulder.q"] == ["0", "rad"]
    assert float(rows["elbow.q"][0]) == pytest.approx(np.arcsin(2 / (0.5 * 9.81)), rel=1e-8)
    assert float(rows["shoulder.tau"][0]) == pytest.approx(2.0)  # the lower rod's weight, handed on
    assert rows["elbow.tau"] == ["2", "N", "m"]
    assert rows["stable"] == ["yes"]
    assert "no, 12 directions are neutral" in command("equilibrium", SATELLITE)[1]


def test_modes_prints_a_line_for_each(command):
    code, out, err = command("modes", DOUBLE)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].split() == ["mode", "kind", "rad/s", "Hz", "damping", "growth", "(1/s)", "moves", "most"]
    assert [line.split()[1] for line in lines[1:]] == ["oscillates", "oscillates"]
    assert "grows" in command("modes", PENDULUM, "--q", "hinge=3")[1]


def test_assemble_prints_a_state_that_run_takes(command):
    code, out, err = command("assemble", FOUR_BAR, "--q", "shaft=0.5", "--u", "shaft=3")
    assert (code, err) == (0, "")
    rows = table(out)
    assert rows["shaft.q"] == ["0.5", "rad"]
    assert rows["shaft.u"] == ["3", "rad/s"]
    assert rows["DOF"] == ["1"]
    options = shlex.split(out.splitlines()[-1].removeprefix("run with"))
    code, out, err = command("run", FOUR_BAR, "--until", "0.01", "--json", *options)
    assert (code, err) == (0, "")
    both = command("run", FOUR_BAR, "--until", "0.01", "--json", "--assemble", "--q", "shaft=0.5", "--u", "shaft=3")
    reported = json.loads(out)
    assert reported["stabilization"] == "projection"
    assert reported["closure"] < 1e-12
    ends = [json.loads(text)["q"] for text in (both[1], out)]
    assert ends[0]["pin"] == pytest.approx(ends[1]["pin"], abs=1e-10)  # options have 12 digits
    read = json.loads(command("assemble", FOUR_BAR, "--q", "shaft=0.5", "--json")[1])
    assert (read["q"]["shaft"], read["dof"]) == ([0.5], 1)


def test_a_run_that_starts_open_says_what_to_type(command):
    code, out, err = command("run", FOUR_BAR, "--until", "1")
    assert (code, out) == (2, "")
    assert "got: 'rock' by 0.6 m" in err
    assert f"hint: start where it closes: whippletree run {FOUR_BAR} --until 1 --assemble" in err


def test_studies_of_loops(command):
    bricard = str(ROOT / "models" / "bricard.toml")
    assert "oscillates  1.2413" in command("modes", bricard)[1]
    assert table(command("equilibrium", FOUR_BAR)[1])["stable"] == ["yes"]
    code, out, _ = command("linearize", FOUR_BAR, "--assemble", "--hold", "--q", "shaft=0.5")
    assert code == 0
    assert "independent: pin.q; the other joints follow from loops and constraints" in out


def test_a_locked_mechanism_is_noted(command, tmp_path):
    from test_loop_studies import truss

    wt.save(truss(), tmp_path / "truss.toml")
    code, _, err = command("run", "truss.toml", "--until", "0.1", "--assemble", "--q", "left=-1")
    assert code == 0
    assert "note: 'truss' is locked: its loops and constraints ('right') leave no degree of freedom" in err
    assert "DOF       0: it is locked, and nothing can move" in command("assemble", "truss.toml", "--q", "left=-1")[1]


def test_linearize_prints_matrices_and_poles(command):
    code, out, err = command("linearize", PENDULUM, "--q", "hinge=3", "--hold", "--see", "tip.position")
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.split("\n\n")] == ["A", "B", "C", "D", "poles"]
    assert "tip.position.x" in out
    wide = command("linearize", SATELLITE, "--drive", "left_elbow")[1]
    assert "A  24 x 24, not shown" in wide
    assert "left_elbow.tau" in wide


@pytest.mark.parametrize("name", ["equilibrium", "linearize", "modes"])
def test_json_is_one_line_for_a_program(command, name):
    code, out, err = command(name, DOUBLE, "--q", "shoulder=0.1", "--json")
    assert (code, err) == (0, "")
    read = json.loads(out)
    assert read["system"] == "double pendulum"
    key = {"equilibrium": "joints", "linearize": "A", "modes": "modes"}[name]
    assert len(read[key]) == (4 if name == "linearize" else 2)


@pytest.mark.parametrize("path", ["a.npz", "a.json"])
def test_linearize_writes_a_file(command, tmp_path, path):
    code, out, err = command("linearize", PENDULUM, "-o", path)
    assert (code, out, err) == (0, "", f"wrote {path}\n")
    file = tmp_path / path
    read = np.load(file, allow_pickle=False) if path == "a.npz" else json.loads(file.read_text())
    assert np.shape(read["A"]) == (2, 2)
    assert [p.name for p in tmp_path.iterdir()] == [path]


@pytest.mark.parametrize("name", ["equilibrium", "linearize", "modes"])
def test_every_command_has_help(command, name):
    code, out, _ = command(name, "--help")
    assert code == 0
    assert "Usage: whippletree " + name in out


@pytest.mark.parametrize(
    ("arguments", "code", "reported"),
    [
        (["equilibrium", "missing.toml"], 2, "there is no file 'missing.toml'"),
        (["equilibrium", PENDULUM, "--q", "hing=1"], 2, "joint 'hing' is not known"),
        (["equilibrium", PENDULUM, "--tau", "hinge"], 2, "--tau 'hinge' cannot be read"),
        (["equilibrium", PENDULUM, "--fix", "knee"], 2, "joint 'knee' is not known"),
        (["equilibrium", PENDULUM, "--tau", "hinge=100"], 1, "no equilibrium of 'pendulum' was found"),
        (["linearize", FOUR_BAR], 2, f"start where it closes: whippletree linearize {FOUR_BAR} --assemble"),
        (["assemble", FOUR_BAR, "--q", "shafft=1"], 2, "did you mean 'shaft'?"),
        (["assemble", "missing.toml"], 2, "there is no file 'missing.toml'"),
        (["linearize", PENDULUM, "--u", "hinge=1,2"], 2, "joint 'hinge': wrong number of values"),
        (["linearize", PENDULUM, "--see", "tip.speed"], 2, "has no 'tip.speed'"),
        (["linearize", PENDULUM, "--drive", "knee"], 2, "joint 'knee' is not known"),
        (["linearize", PENDULUM, "--hold", "--tau", "hinge=1"], 2, "--hold and --tau exclude each other"),
        (["linearize", PENDULUM, "-o", "a.mat"], 2, "'a.mat' is not the name of a linear model"),
        (["linearize", PENDULUM, "-o", "no/a.npz"], 2, "there is no folder 'no'"),
        (["modes", PENDULUM, "--fix", "hinge"], 2, "all joints of 'pendulum' are held"),
        (["modes", PENDULUM, "--q", "hinge=nan"], 2, "q is not finite"),
    ],
)
def test_wrong_input_is_one_message(command, tmp_path, arguments, code, reported):
    got, out, err = command(*arguments)
    assert (got, out) == (code, "")
    assert err.startswith("error: ")
    assert reported in err
    assert not list(tmp_path.iterdir())
