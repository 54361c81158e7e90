"""``simulate(..., check=k)``: rows of a run solved once more by another algorithm."""

import json
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from loop_zoo import four_bar
from whippletree.dynamics.tree import articulated
from whippletree.errors import ModelError, ModelWarning, SimulationError
from whippletree.integrate.run import cross_check
from zoo import chain

MODELS = Path(__file__).parents[2] / "models"


def quietly(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return wt.simulate(*args, **options)


@pytest.mark.parametrize(
    ("algorithm", "by"), [("auto", "composite"), ("composite", "articulated"), ("divide(pieces=2)", "articulated")]
)
def test_trees_are_checked(algorithm, by):
    run = quietly(chain(3).compile(), 1.0, algorithm=algorithm, check=10)
    assert (run.attrs["checked"], run.attrs["checked_by"], run.attrs["check_disagreed"]) == (51, by, 0)
    assert 0.0 < run.attrs["check_worst"] < 1e-13


@pytest.mark.parametrize(("algorithm", "by"), [("reduction", "multipliers"), ("multipliers", "reduction")])
def test_loops_are_checked(algorithm, by):
    system, q, u = four_bar()
    run = quietly(system, 1.0, q=q, u=u, algorithm=algorithm, check=7)
    assert (run.attrs["checked"], run.attrs["checked_by"]) == (72, by)
    assert run.attrs["check_worst"] < 1e-13


def test_nothing_is_checked_unasked():
    assert "checked" not in quietly(chain(2).compile(), 0.1).attrs


def test_rest_is_no_disagreement():
    """Where forces cancel, accelerations are rounding, and no two roundings are alike."""
    model = wt.Model("seesaw")
    model.body("beam", mass=3.0, inertia=(0.1, 1.0, 1.0))
    model.body("bob", mass=1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.1))
    model.joint("pivot", "revolute", "ground", "beam", axis="y")
    model.joint("hook", "revolute", "beam", "bob", axis="y", at=(0, 0, 0.1))
    run = quietly(model.compile(), 1.0, tau={"pivot": 1e-17}, check=1)
    assert run.attrs["check_disagreed"] == 0


def test_constraints_that_be_temporary_are_checked():
    system = wt.load(MODELS / "docking.toml").compile()
    run = quietly(system, 12.0, u={"to_b": (0.02, 0, 0.01, -0.1, 0, 0)}, check=50)
    assert len(run.changes) == 2
    assert (run.attrs["checked"], run.attrs["check_disagreed"]) == (11, 0)


@pytest.fixture
def wrong(monkeypatch):
    """An algorithm that loses a little of the third DOF from the fourth call on."""
    calls = []

    def forward(system, q, u, *args, algorithm, **options):
        udot = wt.forward_dynamics(system, q, u, *args, algorithm=algorithm, **options)
        calls.append(algorithm)
        if algorithm == "articulated" and calls.count("articulated") >= 4:
            udot = udot.copy()
            udot[2] *= 1 - 1e-4
        return udot

    monkeypatch.setattr(cross_check, "forward_dynamics", forward)


def test_a_wrong_algorithm_is_named_once(wrong):
    with pytest.warns(ModelWarning) as reported:
        run = wt.simulate(chain(3).compile(), 1.0, check=50)
    assert len(reported) == 1
    text = str(reported[0].message)
    assert "algorithms 'articulated' and 'composite' disagree" in text
    assert "at t = 0.3 s" in text
    assert f"'{run.system.joints[2]}'" in text
    assert (run.attrs["checked"], run.attrs["check_disagreed"]) == (11, 8)
    assert run.attrs["check_worst"] > 1e-9


def test_a_wrong_algorithm_stops_a_run(wrong):
    with pytest.raises(SimulationError, match="disagree about") as caught:
        wt.simulate(chain(3).compile(), 1.0, check=50, check_action="stop")
    assert len(caught.value.partial) > 150  # rows up to where it was found out


def test_a_wrong_kernel_is_found(monkeypatch):
    """Not only in a copy of the call: the compiled recursion itself."""
    right = articulated.accelerations

    def shifted(*args):
        total = right(*args)
        args[-3][..., 0] += 1e-3
        return total

    system = chain(2).compile()
    row = wt.ALGORITHMS["articulated"]
    monkeypatch.setitem(wt.ALGORITHMS, row.name, replace(row, accelerations=shifted))
    with pytest.warns(ModelWarning, match="disagree"):
        run = wt.simulate(system, 0.5, u=np.ones(system.nu), check=100)
    assert run.attrs["check_disagreed"] == run.attrs["checked"]


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"check": -1}, "check is not a count of rows"),
        ({"check": 2.5}, "check is not a count of rows"),
        ({"check": True}, "check is not a count of rows"),
        ({"check": 5, "check_action": "shout"}, "check_action 'shout' is not known"),
    ],
)
def test_what_makes_no_sense_is_refused(options, reported):
    with pytest.raises(ModelError, match=reported):
        wt.simulate(chain(2).compile(), 1.0, **options)


def test_from_the_command_line(command):
    code, out, _ = command("run", MODELS / "pendulum.toml", "--until", "0.5", "--check", "10", "--json")
    assert code == 0
    reported = json.loads(out)
    assert (reported["checked"], reported["checked_by"], reported["check_disagreed"]) == (51, "composite", 0)
