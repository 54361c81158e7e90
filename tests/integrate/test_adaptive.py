"""Adaptive integration: what the tolerances promise, dense output, chunks, and how a run fails."""

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError, SimulationError
from whippletree.integrate import simulate
from whippletree.integrate.methods import adaptive
from whippletree.integrate.run.task import make_task
from whippletree_lab.reproduce.problems import flying_tree, heavy_top

TIGHT = {"rtol": 1e-11, "atol": 1e-13}
TIGHTEST = {"rtol": 1e-13, "atol": 1e-15}


ADAPTIVE = ["dopri5", "dop853"]
CASES = {"heavy_top": heavy_top, "flying_tree": flying_tree}


def pendulums(n=2, **tip):
    model, near = wt.Model("pendulums"), "ground"
    for i in range(n):
        model.body(f"rod{i}", **(tip if tip and i == n - 1 else wt.rod(mass=1.0, length=0.5, axis="-z", radius=0.02)))
        model.joint(f"hinge{i}", "revolute", near, f"rod{i}", axis="y", at=(0, 0, -0.5 if i else 0))
        near = f"rod{i}"
    return model.compile()


def distance(a, b):
    return max(np.abs(a.q - b.q).max(), np.abs(a.u - b.u).max())


# ---------------------------------------------------------------- accuracy


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("tolerances", "most"), [({}, 1e-7), (TIGHT, 1e-10)], ids=["default", "tight"])
@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_energy_stays_for_ten_seconds(integrator, case, tolerances, most):
    """Nothing dissipates; 1e-7 and 1e-10 are ten times rtol."""
    system, q, u = CASES[case]()
    energy = wt.simulate(system, 10.0, q=q, u=u, integrator=integrator, **tolerances)["energy"]
    assert np.abs(energy - energy[0]).max() < most * abs(energy[0])


def test_scipy_finds_the_same_motion():
    """Another method, written by others, around single evaluations."""
    system, q, u = flying_tree()
    mine = wt.simulate(system, 2.0, q=q, u=u, **TIGHTEST)
    theirs = wt.simulate(system, 2.0, q=q, u=u, integrator="scipy-DOP853", rtol=1e-13, atol=1e-15)
    assert distance(mine, theirs) < 1e-11  # of numbers about 1, in some hundred steps of each


@pytest.mark.parametrize("name", [n for n in wt.INTEGRATORS if n.startswith("scipy-")])
def test_scipy_methods_go_by_name(name):
    system, q, u = flying_tree()
    run = wt.simulate(system, 0.5, q=q, u=u, integrator=name, rtol=1e-7, atol=1e-9)
    assert distance(run, wt.simulate(system, 0.5, q=q, u=u)) < 1e-6  # ten times their tolerance
    assert run.attrs["integrator"] == name
    assert run.attrs["evaluations"] > 10
    flight = run["flight.q"][:, 3:]
    assert np.abs(np.linalg.norm(flight, axis=1) - 1).max() < 1e-15


@pytest.mark.parametrize("integrator", ADAPTIVE)
@pytest.mark.parametrize("case", CASES)
def test_between_steps_the_motion_is_as_good_as_at_them(case, integrator):
    """Dense output: twenty rows to a step, each within some tolerances of the truth, and unit quaternions."""
    system, q, u = CASES[case]()
    errors = []
    for rtol in (1e-7, 1e-9):
        tolerances = {"rtol": rtol, "atol": rtol / 100, "integrator": integrator}
        steps = wt.simulate(system, 0.2, q=q, u=u, **tolerances).attrs["accepted"]
        grid = {"output_step": 0.2 / (20 * steps)}
        dense = wt.simulate(system, 0.2, q=q, u=u, **tolerances, **grid)
        assert dense.attrs["accepted"] == steps  # rows do not bind steps
        exact = wt.simulate(system, 0.2, q=q, u=u, **TIGHTEST, **grid)
        errors.append(distance(dense, exact) / max(1.0, np.abs(u).max()))
        joint = system.joints[0]
        assert np.abs(np.linalg.norm(dense[f"{joint}.q"][:, -4:], axis=1) - 1).max() < 1e-15
    assert errors[0] < 1e-5  # of some ten to hundred steps of 1e-7 each
    assert errors[1] < errors[0] / 30  # a hundredth, had both runs the same luck


def test_the_largest_step_is_kept():
    system = pendulums()
    run = wt.simulate(system, 1.0, q=[0.1, 0.1], rtol=1e-3, atol=1e-3, step=0.005)
    assert run.attrs["accepted"] >= 200
    assert wt.simulate(system, 1.0, q=[0.1, 0.1], rtol=1e-3, atol=1e-3).attrs["accepted"] < 100


def test_counts_add_up():
    more = wt.simulate(pendulums(), 3.0, q=[2.0, 1.0], integrator="dop853").attrs
    tried = more["accepted"] + more["rejected"]
    assert 2 + 12 * tried < more["evaluations"] <= 2 + 12 * tried + 3 * more["accepted"]  # three for steps with rows
    few = wt.simulate(pendulums(), 3.0, q=[2.0, 1.0], integrator="dop853", output_step=3.0).attrs
    assert few["evaluations"] == 2 + 12 * tried + 3  # only the last step has a row
    attrs = wt.simulate(pendulums(), 3.0, q=[2.0, 1.0]).attrs
    assert attrs["evaluations"] == 2 + 6 * (attrs["accepted"] + attrs["rejected"])
    assert attrs["rejected"] > 0
    assert (attrs["rtol"], attrs["atol"]) == (1e-8, 1e-10)
    assert attrs["integrator"] == "dopri5"


def test_a_system_at_rest_stays_at_rest():
    run = wt.simulate(pendulums(), 100.0)
    assert not run.q.any()
    assert run.attrs["accepted"] < 50


@pytest.mark.parametrize("integrator", wt.INTEGRATORS)
def test_a_system_without_dofs_runs(integrator):
    model = wt.Model("still")
    model.body("block", mass=1.0, inertia=(1, 1, 1))
    model.joint("weld", "fixed", "ground", "block")
    run = wt.simulate(model.compile(), 1.0, integrator=integrator)
    assert run.q.shape == (501, 0)


# ---------------------------------------------------------------- chunks


def task_of(integrator, rows=40):
    system, q, u = flying_tree()
    t = np.linspace(0.0, 0.5, rows + 1)
    adaptive = wt.INTEGRATORS[integrator].ADAPTIVE
    return make_task(system, "articulated", integrator, t, q, u, step=0.5 if adaptive else 1e-3)


def finish(run, steps, **limits):
    calls = 0
    while run.row < run.task.t.size:
        assert run.proceed(steps, **limits) is None
        calls += 1
    return calls


COMPILED = [name for name, module in wt.INTEGRATORS.items() if getattr(module, "RESUMES", True)]


@pytest.mark.parametrize("integrator", COMPILED)
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_where_a_run_is_cut_changes_no_bit(integrator, steps):
    whole, cut = (wt.INTEGRATORS[integrator].begin(task_of(integrator)) for _ in range(2))
    assert finish(whole, 10**6) == 1
    assert finish(cut, steps) > 1
    np.testing.assert_array_equal(cut.task.Q, whole.task.Q)
    np.testing.assert_array_equal(cut.task.U, whole.task.U)
    np.testing.assert_array_equal(cut.state, whole.state)


@pytest.mark.parametrize("integrator", ADAPTIVE)
@pytest.mark.parametrize("rows", [1, 3, 100])
def test_a_run_cut_in_the_middle_of_a_step_changes_no_bit(rows, integrator):
    whole, cut = (wt.INTEGRATORS[integrator].begin(task_of(integrator)) for _ in range(2))
    finish(whole, 10**6)
    finish(cut, 10**6, rows=rows)
    np.testing.assert_array_equal(cut.task.Q, whole.task.Q)
    np.testing.assert_array_equal(cut.state, whole.state)


@pytest.mark.parametrize("integrator", COMPILED)
def test_the_state_is_all_there_is(integrator):
    """A run that starts from another's state, with fresh memory, goes on bit for bit."""
    first, second = (wt.INTEGRATORS[integrator].begin(task_of(integrator)) for _ in range(2))
    first.proceed(9)
    second.state[:] = first.state
    filled = first.row
    finish(first, 10**6)
    finish(second, 3)
    np.testing.assert_array_equal(second.task.Q[filled:], first.task.Q[filled:])
    np.testing.assert_array_equal(second.task.U[filled:], first.task.U[filled:])


@pytest.mark.parametrize("integrator", ["dopri5", "rk4", "generalized_alpha", "scipy-RK45", "cvode"])
def test_a_stop_keeps_what_was_computed(integrator):
    def stop(reached):
        if reached > 0.05:
            raise KeyboardInterrupt

    system, q, u = flying_tree()
    options = {"q": q, "u": u, "integrator": integrator}
    with pytest.raises(KeyboardInterrupt) as caught:
        wt.simulate(system, 20.0, output_step=0.01, progress=stop, **options)
    part = caught.value.partial
    assert 5 < len(part) < 2000
    whole = wt.simulate(system, 20.0, output_step=0.01, **options)
    np.testing.assert_array_equal(part.q, whole.q[: len(part)])


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_looking_into_a_step_changes_no_bit_of_the_motion(integrator):
    """at() gives what a row there would hold, between any two rows and where no row asked for it."""
    whole, looked = (wt.INTEGRATORS[integrator].begin(task_of(integrator, rows)) for rows in (400, 1))
    finish(whole, 10**6)
    seen = {}
    while looked.row < 2:
        looked.proceed(1)
        for row in np.flatnonzero((whole.task.t > looked.since) & (whole.task.t <= looked.time)):
            seen[row] = looked.at(whole.task.t[row])
    assert len(seen) == 400
    rows = np.hstack([whole.task.Q, whole.task.U, whole.task.W[:, None]])
    np.testing.assert_array_equal([seen[n] for n in sorted(seen)], rows[1:])


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize("integrator", wt.INTEGRATORS)
def test_a_dof_without_mass_is_named(integrator):
    system = pendulums(mass=1.0, com=(0, 0, 0), inertia=(0, 0, 0))
    with pytest.raises(SimulationError) as caught:
        wt.simulate(system, 1.0, integrator=integrator)
    assert caught.value.where == "joint 'hinge1' (revolute) of body 'rod1'"
    assert "outermost bodies" in caught.value.hint
    assert "t = 0" in caught.value.what
    assert len(caught.value.partial) == 1


def test_numbers_that_overflow_are_caught_in_time():
    system = pendulums(n=3)
    with pytest.raises(SimulationError, match="ceases to be finite at t = ") as caught:
        wt.simulate(system, 1.0, u=[0.0, 1e155, 0.0])
    assert caught.value.where.startswith("joint 'hinge")


def test_steps_that_get_too_small_are_named():
    with pytest.raises(SimulationError, match=r"needs steps below .* at t = 0 s") as caught:
        wt.simulate(pendulums(), 1.0, q=[0.0, 1.0], u=[1e30, 0.0])
    assert "loosen rtol" in caught.value.hint
    assert "joint 'hinge" in caught.value.where


def test_too_many_steps_are_named(monkeypatch):
    monkeypatch.setattr(adaptive, "MOST_STEPS", 50)
    with pytest.raises(SimulationError, match="takes more than 50 steps to the next output at t = ") as caught:
        wt.simulate(pendulums(), 100.0, q=[2.0, 1.0], output_step=0.5, rtol=1e-10)
    assert "stiff" in caught.value.hint
    assert len(caught.value.partial) >= 1
    assert len(caught.value.partial.q) == len(caught.value.partial.t)


def test_a_fixed_step_that_blows_up_says_when():
    with pytest.raises(SimulationError, match="ceased to be finite at t = 0") as caught:
        wt.simulate(pendulums(), 20.0, q=[2.0, 1.0], u=[900.0, -900.0], integrator="euler", step=0.05)
    assert "a smaller step" in caught.value.hint
    assert np.isfinite(caught.value.partial.u).all()


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"rtol": 0.0}, "rtol is not a tolerance"),
        ({"rtol": -1e-8}, "rtol is not a tolerance"),
        ({"rtol": 1.0}, "less than 1"),
        ({"rtol": 1e-16}, "at least 1e-14"),
        ({"rtol": float("nan")}, "rtol is not finite"),
        ({"rtol": "small"}, "rtol is not a number"),
        ({"atol": 0.0}, "atol is not a tolerance"),
        ({"atol": -1.0}, "atol is not a tolerance"),
        ({"integrator": "rk4", "rtol": 1e-6}, "integrator 'rk4' has a fixed step and no tolerances"),
        ({"integrator": "euler", "atol": 1e-6}, "give step instead"),
        ({"step": 0.0}, "step must be positive"),
        ({"step": -1.0}, "step must be positive"),
        ({"output_step": 0.0}, "output_step must be positive"),
        ({"integrator": "dopri"}, "did you mean 'dopri5'?"),
        ({"integrator": "scipy-BDF"}, "is not known"),
        ({"output_step": 1e-12}, "would not fit in memory"),
    ],
)
def test_wrong_settings_are_refused(options, reported):
    with pytest.raises(ModelError) as caught:
        wt.simulate(pendulums(), 1.0, **options)
    assert reported in str(caught.value)


@pytest.mark.parametrize("name", wt.INTEGRATORS)
def test_integrators_are_interchangeable(name):
    module = simulate.INTEGRATORS[name]
    assert isinstance(module.ADAPTIVE, bool)
    assert callable(module.begin)
