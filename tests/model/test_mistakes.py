"""Seeded modelling mistakes: each is caught by ``whippletree check``, with its place and a cure.

The mistakes in files are data, in ``mistakes/``. Those that are made in Python, of studies and runs, stand below: their
place is the part that the message names.
"""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.cli import app as cli

HERE = Path(__file__).parent / "mistakes"
FILES = {base: group["mistakes"] for base, group in tomllib.loads((HERE / "mistakes.toml").read_text("utf-8")).items()}
CASES = [(base, case) for base, group in FILES.items() for case in group]
LEAST = 200  # mistakes in all
caught: list[bool] = []


def named(case):
    base, mistake = case
    return f"{base}-{mistake['line']}-{mistake['reported'][:40]}"


@pytest.mark.parametrize("base", FILES)
def test_the_files_are_right_before(command, base):
    code, out, err = command("check", HERE / base)
    assert (code, err) == (0, "")
    assert out.startswith("ok: ")


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_mistake_in_a_file(capsys, tmp_path, case):
    base, mistake = case
    caught.append(False)
    text = (HERE / base).read_text("utf-8")
    assert mistake["old"] in text
    wrong = text.replace(mistake["old"], mistake["new"], 1) if mistake["old"] else f"{text}\n{mistake['new']}"
    (tmp_path / base).write_text(wrong, "utf-8")
    try:
        cli.check(tmp_path / base)  # what the command calls: starting the command itself takes longer
        err = capsys.readouterr().err
        assert err.startswith("note: "), "nothing is said"
    except wt.ModelError as refused:
        err = str(refused)
    assert mistake["reported"] in err
    assert f"{base}:{mistake['line']}" in err or f"(line {mistake['line']})" in err, err
    assert re.search(r"^  (expected|hint): ", err, re.MULTILINE), f"no cure: {err}"
    caught[-1] = True


@pytest.fixture(scope="module")
def arm():
    return wt.load(HERE / "arm.toml").compile()


IN_PYTHON = {
    "a coordinate of an unknown joint": (lambda s: wt.simulate(s, 1.0, q={"sholder": 1.0}), "sholder"),
    "coordinates that are too few": (lambda s: wt.simulate(s, 1.0, q=[0.0]), "q has the wrong shape"),
    "a speed for each of two joints": (lambda s: wt.simulate(s, 1.0, u={"elbow": [1.0, 2.0]}), "elbow"),
    "a run that ends before it begins": (lambda s: wt.simulate(s, -1.0), "until"),
    "a step of zero": (lambda s: wt.simulate(s, 1.0, integrator="rk4", step=0.0), "step"),
    "an integrator that is misspelled": (lambda s: wt.simulate(s, 1.0, integrator="dopri"), "dopri"),
    "an algorithm that is misspelled": (lambda s: wt.simulate(s, 1.0, algorithm="articlated"), "articlated"),
    "a tolerance below zero": (lambda s: wt.simulate(s, 1.0, rtol=-1e-6), "rtol"),
    "an output that is too fine": (lambda s: wt.simulate(s, 1e6, output_step=1e-9), "memory"),
    "an output that is no result": (lambda s: wt.simulate(s, 1.0, output="run.csv"), "run.csv"),
    "an event on an unknown channel": (
        lambda s: wt.simulate(s, 1.0, events=[wt.Event("straight", "elbw.q", 0.0)]),
        "elbw",
    ),
    "a condition without a comparison": (lambda s: wt.Event.parse("elbow.q = 0"), "elbow.q = 0"),
    "torques of the wrong shape": (lambda s: wt.forward_dynamics(s, np.zeros(3), np.zeros(3), np.zeros(2)), "tau"),
    "a body that is not there": (lambda s: wt.jacobian(s, np.zeros(3), "hnd"), "hnd"),
    "a sweep of an unknown part": (lambda s: wt.sweep(s, {"bodies.uper.mass": [1.0, 2.0]}, 1.0), "uper"),
    "a sweep of an unknown field": (lambda s: wt.sweep(s, {"bodies.upper.mas": [1.0, 2.0]}, 1.0), "mas"),
    "a sweep over nothing": (lambda s: wt.sweep(s, {}, 1.0), "parameters"),
    "a sweep with values that cannot be read": (lambda s: wt.sweep(s, {"q.elbow": "0..1"}, 1.0), "q.elbow"),
    "a sweep of a mass below zero": (lambda s: wt.sweep(s, {"bodies.upper.mass": [1.0, -1.0]}, 1.0), "mass"),
    "a sweep that keeps what is not there": (lambda s: wt.sweep(s, {"q.elbow": [0.0]}, 1.0, end="elbw.q"), "elbw"),
    "a design that is misspelled": (lambda s: wt.sweep(s, {"q.elbow": [0.0]}, 1.0, design="gird"), "gird"),
    "a random design without samples": (lambda s: wt.sweep(s, {"q.elbow": (0, 1)}, 1.0, design="latin"), "latin"),
    "a function that is no force": (lambda s: wt.Model("m").force("f", "function", body="a", function=3), "function"),
    "modes that are none": (lambda s: wt.Model("m").flexible("f", 3), "modes"),
}


@pytest.mark.parametrize("what", IN_PYTHON)
def test_a_mistake_in_python(arm, what):
    caught.append(False)
    call, named = IN_PYTHON[what]
    with pytest.raises(wt.ModelError) as refused:
        call(arm)
    assert named in str(refused.value)
    assert refused.value.expected is not None or refused.value.hint is not None, f"no cure: {refused.value}"
    caught[-1] = True


def test_there_are_two_hundred_and_nearly_all_are_caught():
    assert len(CASES) + len(IN_PYTHON) >= LEAST
    if len(caught) == len(CASES) + len(IN_PYTHON):  # all were tried in this process
        assert sum(caught) >= 0.95 * len(caught)
