"""What auto takes of models with forces, held against what calls take. Ranks are compared, never times.

Calls take turns, and the fastest of each counts. Two that differ by less than 1.3 times may change places: the tests of
other processes run beside.
"""

import numpy as np
import pytest

import whippletree as wt
from whippletree.dynamics.auto import calibrate, timing
from whippletree.dynamics.auto import cost_model as predict
from whippletree.dynamics.auto.choose import able_to_solve, decide
from whippletree.model import Model
from whippletree_lab.bench import choice
from zoo import four_bar

NOISE = 1.3
FORCES = ("none", "motor", "springs")


def slider_crank():
    m = Model("slider crank")
    m.body("crank", **wt.rod(mass=1.0, length=0.2, axis="x"))
    m.body("rod", **wt.rod(mass=2.0, length=0.6, axis="x"))
    m.body("block", mass=0.5, inertia=(1e-3, 1e-3, 1e-3))
    m.joint("shaft", "revolute", m.ground, "crank", axis="y")
    m.joint("pin", "revolute", "crank", "rod", axis="y", at=(0.2, 0, 0))
    m.joint("wrist", "revolute", "rod", "block", axis="y", at=(0.6, 0, 0))
    m.joint("slider", "prismatic", m.ground, "block", axis="x")
    return m


MAKERS = {
    "slider-crank": slider_crank,
    "four-bar": four_bar,
    "stewart": lambda: wt.load("models/stewart.toml"),
    "chain": lambda: timing.chain(30),
}


def with_forces(model, forces):
    model.forces.clear()
    if forces == "motor":
        joint = next(name for name, j in model.joints.items() if j.kind in ("revolute", "prismatic"))
        model.force("motor", "motor", joint=joint, torque=1.0)
    elif forces == "springs":
        for n, body in enumerate(list(model.bodies)[:3]):
            model.force(f"s{n}", "spring", body=body, to_at=(1.0, 2.0, 0.5), stiffness=100.0, damping=1.0)
    return model.compile()


def timed(system, names):
    """Seconds of the fastest call of each."""
    start, zero = wt.assemble(system), np.zeros(system.nu)
    calls = {n: (lambda n=n: wt.forward_dynamics(system, start.q, start.u, zero, algorithm=n)) for n in names}
    found = dict.fromkeys(names, np.inf)
    for _ in range(15):
        found = {n: min(found[n], timing.best(call, 0.002)) for n, call in calls.items()}
    return found


@pytest.mark.parametrize("forces", FORCES)
@pytest.mark.parametrize("name", MAKERS)
def test_auto_takes_what_is_fastest_or_near(name, forces):
    system = with_forces(MAKERS[name](), forces)
    took = timed(system, [n for n in able_to_solve(system) if n != "nullspace"])
    assert took[decide(system).algorithm] < NOISE * min(took.values())


@pytest.mark.parametrize("name", MAKERS)
def test_predictions_with_forces_rank_as_calls_do(name):
    """Where they predict a difference that noise does not hide."""
    system = with_forces(MAKERS[name](), "motor")
    reported = {n: predict.seconds(system, n, predict.Use(), predict.TYPICAL) for n in able_to_solve(system)}
    reported = {n: s for n, s in reported.items() if s is not None}
    took = timed(system, list(reported))
    for a in reported:
        for b in reported:
            if reported[a] * 1.5 < reported[b]:
                assert took[a] < took[b], (a, b)


def test_forces_make_quick_calls_slower_by_more():
    bare, driven = (with_forces(slider_crank(), forces) for forces in ("none", "motor"))
    quick, other = predict.TYPICAL[predict.WITH_FORCES]
    for name, more in (("reduction", quick), ("multipliers", other)):
        alone, both = (predict.seconds(s, name, predict.Use(), predict.TYPICAL) for s in (bare, driven))
        assert (both - alone == pytest.approx(more)) == (name == "reduction")
        assert both - alone >= 0.999 * more  # the other has a pass more
    a_run = predict.Use(among=("reduction",))
    alone, both = (predict.seconds(s, "reduction", a_run, predict.TYPICAL) for s in (bare, driven))
    assert both == pytest.approx(alone)


def test_another_is_taken_where_forces_make_the_first_slow(monkeypatch):
    rates = dict(predict.TYPICAL) | {predict.WITH_FORCES: (1e-4, 1e-5)}
    monkeypatch.setattr(calibrate, "known", lambda: rates)
    system = with_forces(slider_crank(), "motor")
    assert decide(system).algorithm == "multipliers"
    assert "times as fast as reduction" in decide(system).why
    assert decide(with_forces(slider_crank(), "none")).algorithm == "reduction"


def test_explain_predicts_with_forces():
    text = with_forces(slider_crank(), "motor").explain()
    assert "with forces of the model" in text


def test_a_chain_with_forces_keeps_its_sweep():
    """Divide evaluates forces in a pass of its own, which costs more than lanes save."""
    plain, driven = (m.compile() for m in (choice.families.chain(256), choice.acted_on(choice.families.chain(256))))
    for system, first in ((plain, "divide"), (driven, "articulated")):
        reported = {n: predict.seconds(system, n, predict.Use(), predict.TYPICAL) for n in ("articulated", "divide")}
        assert min(reported, key=reported.__getitem__) == first


@pytest.mark.parametrize("t", [0.0, 0.4])
def test_forces_within_reduction_are_those_of_a_pass_of_their_own(t):
    """Springs, dampers, motors that follow a function of time: calls after the first go straight into the sweep."""
    posed = choice.loop_families.ladder(3)
    system = choice.acted_on(posed.model).compile()
    q, u = choice.loop_families.start(system, posed.q, posed.u)
    tau = np.linspace(-1.0, 1.0, system.nu)
    right = wt.forward_dynamics(system, q, u, tau, t=t, algorithm="multipliers")
    for _ in range(3):
        found = wt.forward_dynamics(system, q, u, tau, t=t, algorithm="reduction")
        np.testing.assert_allclose(found, right, rtol=0, atol=1e-12 * np.abs(right).max())  # rounding of both
    call = system.workspaces.quick["reduction", None]
    assert np.array_equal(call(q, u, tau, t), found)
    assert np.array_equal(call(list(q), list(u), list(tau), t), found)
    assert call(np.nan * q, u, tau, t) is None
