"""Runs look at their own accuracy: the worst step of each output interval, a warning, and an end where it is lost.

Bounds are compared by orders of magnitude: a certificate probes rounding with random signs.
"""

import warnings

import numpy as np
import pytest

import whippletree as wt
from adversary_classes import hinge_loop
from contradictions import arm_file
from sketch import Sketch
from test_multipliers import error
from whippletree.dynamics.accuracy import certificate
from whippletree.dynamics.stepping.samples import LOSS, TIME
from whippletree.errors import ModelWarning, SimulationError


def two_links(inner=1e-8):
    """Two links with the mass of a point at the tip: near the stretched pose almost nothing resists the first joint."""
    m = wt.Model("thread", gravity=(0, 0, 0))
    m.body("inner", mass=inner, com=(0.5, 0, 0), inertia=(inner, inner, inner))
    m.body("outer", mass=1.0, com=(1, 0, 0), inertia=(1e-9, 1e-9, 1e-9))
    m.joint("first", "revolute", m.ground, "inner", axis="z")
    m.joint("second", "revolute", "inner", "outer", axis="z", at=(1, 0, 0))
    return m.compile()


def four_bar(rocker=1.0):
    m = wt.Model("four-bar", gravity=(0, -9.81, 0))
    for name, length, mass in (("crank", 0.3, 1.0), ("coupler", 1.0, 2.0), ("rocker", 0.8, rocker)):
        m.body(name, **wt.rod(mass=mass, length=length, axis="x"))
    m.joint("shaft", "revolute", m.ground, "crank", axis="z")
    m.joint("pin", "revolute", "crank", "coupler", axis="z", at=(0.3, 0, 0))
    m.joint("wrist", "revolute", "coupler", "rocker", axis="z", at=(1, 0, 0))
    m.joint("pivot", "revolute", "rocker", m.ground, axis="z", at=(0.8, 0, 0), child_at=(1, 0, 0))
    return m.compile()


@pytest.mark.parametrize("integrator", ["dopri5", "dop853", "rk4", "euler"])
def test_the_worst_step_of_an_interval_is_kept(integrator):
    """Losses of a run with few outputs are the largest of one with many, which takes the same steps."""
    system = two_links(0.1)
    options = {"q": [0.0, -1.0], "u": [0.0, 2.0], "integrator": integrator, "step": 5e-3}
    coarse, fine = (wt.simulate(system, 1.0, output_step=h, **options) for h in (0.25, 0.005))
    t, loss = fine.samples.rows[1:, TIME], fine.samples.rows[1:, LOSS]
    for row, stop in enumerate(coarse.t[1:], start=1):
        inside, near = ((stop - 0.25 - h < t) & (t < stop + h) for h in (-0.005, 0.01))  # a step may lie in two
        assert (1 - 1e-6) * loss[inside].max() <= coarse.samples.rows[row, LOSS] <= (1 + 1e-6) * loss[near].max()
    assert coarse["residual"].max() > 0.1 * fine["residual"].max()


def test_a_sample_is_a_state_of_the_run():
    system = four_bar()
    start = wt.assemble(system, q={"shaft": 1.0}, u={"shaft": 3.0})
    run = wt.simulate(system, 0.5, q=start.q, u=start.u, tau={"shaft": 0.5}, algorithm="multipliers", output_step=0.1)
    loss, t, q, u, udot = np.split(run.samples.rows[1:], np.cumsum([1, 1, 3, 3]), axis=1)
    tau = np.tile(run.samples.tau, (5, 1))
    assert (loss > 0).all()
    assert ((run.t[:-1] < t[:, 0]) & (t[:, 0] < run.t[1:] + 0.1)).all()
    assert (tau == [0.5, 0.0, 0.0]).all()
    assert error(wt.forward_dynamics(system, q, u, tau), udot) < 1e-12
    assert run["residual"].max() < 1e-11


def test_a_run_that_loses_digits_warns_once():
    system = two_links()
    with pytest.warns(ModelWarning) as caught:
        run = wt.simulate(system, 0.2, q=[0.0, -1e-5], u=[0.0, 1e-4], rtol=1e-12, atol=1e-14)
    (reported,) = [str(w.message) for w in caught]
    assert "accelerations of 'thread' by 'articulated' are exact to" in reported
    assert "at t = " in reported
    assert "joint '" in reported
    assert "rtol = 1e-12" in reported
    assert run.attrs["complete"]
    assert run["residual"].max() > 1e-12


def test_runs_of_well_conditioned_mechanisms_are_silent_and_certify_nothing(monkeypatch):
    from whippletree.integrate.run import accuracy

    seen = []
    monkeypatch.setattr(accuracy, "errors_of", lambda *given: seen.append(given) or np.zeros(1))
    arm, loop = wt.load("models/arm7.toml").compile(), four_bar()
    start = wt.assemble(loop, q={"shaft": 1.0}, u={"shaft": 3.0})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wt.simulate(arm, 0.5)
        wt.simulate(loop, 0.5, q=start.q, u=start.u, algorithm="multipliers")
        assert not seen
        for _ in range(3):
            wt.simulate(loop, 0.5, q=start.q, u=start.u, algorithm="reduction")
    assert len(seen) == 1  # a plan of a System, once


@pytest.mark.parametrize("algorithm", ["multipliers", "reduction"])
def test_a_run_ends_where_constraints_begin_to_contradict(algorithm, tmp_path):
    m = wt.Model("two minds")
    m.body("a", **wt.rod(mass=1.0, length=1.0, axis="x"))
    m.joint("hinge", "revolute", m.ground, "a", axis="z")
    m.constraint("one", "speed", joint="hinge", speed=wt.Step(1.0, 0.2, rise=0.6))
    m.constraint("other", "speed", joint="hinge", speed=wt.Step(2.0, 0.2, rise=0.6))
    path = tmp_path / "run.nc"
    with pytest.raises(SimulationError, match="contradict") as caught:
        wt.simulate(m.compile(), 1.0, algorithm=algorithm, output_step=0.05, output=path)
    assert "'one'" in str(caught.value)
    assert "t = " in str(caught.value)
    partial = caught.value.partial
    assert 0.15 <= partial.t[-1] <= 0.3
    assert not partial.attrs["complete"]
    assert wt.load_result(path).t[-1] == partial.t[-1]


def test_the_command_exits_with_1_where_constraints_contradict(command, tmp_path):
    steps = [f'{{ kind = "step", start = 0.2, after = {after}, rise = 0.6 }}' for after in (1.0, 2.0)]
    arm_file(tmp_path / "minds.toml", *(f'kind = "speed"\nspeed = {x}' for x in steps))
    code, _, err = command("run", "minds.toml", "--until", 1.0)
    assert code == 1
    assert "contradict each other" in err


def test_a_run_ends_where_accelerations_are_lost(monkeypatch):
    monkeypatch.setattr(certificate, "LOST", 0.0)
    system = four_bar()
    start = wt.assemble(system, q={"shaft": 1.0}, u={"shaft": 3.0})
    with pytest.raises(SimulationError, match=r"ends at t = [\s\S]*lost to rounding") as caught:
        wt.simulate(system, 0.2, q=start.q, u=start.u)
    assert "joint '" in caught.value.where
    assert isinstance(caught.value.partial, wt.Result)


def test_large_systems_keep_no_samples_below_the_limit():
    from whippletree.dynamics.auto.timing import chain

    system = chain(401).compile()
    run = wt.simulate(system, 0.002, output_step=0.001)
    assert not run.samples.rows[1:, LOSS].any() or run.samples.rows[1:, LOSS].min() > 1e5


@pytest.mark.parametrize(
    ("seed", "tilt", "count"),
    [(620, 1e-5, 25), (593, 1e-6, 40), (84, 0.0, 25), (825, 1e-14, 10)],
    ids=["pivots fall", "pivots fall far", "parallel while closed", "parallel to rounding"],
)
def test_nearly_parallel_hinges_take_no_shorter_steps(seed, tilt, count):
    """Reduction took 1.3 to 700 times the evaluations of `multipliers`."""
    sketch = Sketch(np.random.default_rng([seed, 77]))
    sketch.model.gravity = (0.0, 0.0, -9.81)
    hinge_loop(sketch, [tilt] * count, floating=False)
    system = sketch.model.compile()
    start = wt.assemble(system)
    taken = [
        wt.simulate(system, until=0.3, q=start.q, u=start.u, algorithm=name).attrs["evaluations"]
        for name in ("auto", "multipliers")
    ]
    assert taken[0] <= 1.2 * taken[1]
