"""Recursive coordinate reduction beyond agreement (test_random_loops.py): cost, lanes, and choosing again."""

import numpy as np
import pytest

import whippletree as wt
from loop_zoo import FAMILIES, random_loops
from whippletree.dynamics.loads.applied import signals
from whippletree.dynamics.reduction import passes as reduction
from whippletree_lab.reproduce.loop_problems import five_bar


def parallelograms(n):
    """n equal four-bars side by side on ground: one DOF, every bar at the same angle."""
    model = wt.Model(f"{n} parallelograms")
    model.body("bar0", **wt.rod(mass=1.0, length=1.0, axis="z"))
    model.joint("foot0", "revolute", "ground", "bar0", axis="y")
    for i in range(1, n + 1):
        model.body(f"top{i}", **wt.rod(mass=0.5, length=1.0, axis="x"))
        model.body(f"bar{i}", **wt.rod(mass=1.0, length=1.0, axis="-z"))
        at = (0, 0, 1) if i == 1 else (0, 0, 0)
        model.joint(f"left{i}", "revolute", f"bar{i - 1}", f"top{i}", axis="y", at=at)
        model.joint(f"right{i}", "revolute", f"top{i}", f"bar{i}", axis="y", at=(1, 0, 0))
        model.joint(f"foot{i}", "revolute", f"bar{i}", "ground", axis="y", at=(0, 0, -1), child_at=(float(i), 0, 0))
    return model.compile()


def leaning(system, angle, speed):
    """q and u of all bars at an angle."""
    signs = np.array([-1.0 if name.startswith("left") else 1.0 for name in system.joints])
    return signs * angle, signs * speed


def exact(n, angle, speed):
    """u' of the angle: tops only shift, on a circle of radius 1; bars turn about their feet."""
    bars, tops = (n + 1) * 1.0, n * 0.5
    return 9.81 * np.sin(angle) * (bars / 2 + tops) / (bars / 3 + tops) + 0.0 * speed


@pytest.mark.parametrize("angle", [0.3, 1.0, -1.2])
@pytest.mark.parametrize("n", [1, 3, 20])
def test_parallelograms_have_a_closed_form(n, angle):
    system = parallelograms(n)
    q, u = leaning(system, angle, 0.7)
    udot = wt.forward_dynamics(system, q, u, algorithm="reduction")
    np.testing.assert_allclose(udot[0], exact(n, angle, 0.7), rtol=1e-11)
    signs, _ = leaning(system, 1.0, 0.0)
    np.testing.assert_allclose(udot, signs * udot[0], rtol=1e-10)


def test_near_the_flat_pose():
    """Every loop loses rank where all bars lie level: here 1e-3 rad from there."""
    system, angle = parallelograms(16), np.pi / 2 - 1e-3
    q, u = leaning(system, angle, 0.2)
    udot = wt.forward_dynamics(system, q, u, algorithm="rcr")
    # rows of gamma cancel by the square of the distance from the pose: 1e-16 / 1e-6, times a few
    np.testing.assert_allclose(udot[0], exact(16, angle, 0.2), rtol=1e-8)


def test_work_grows_with_the_number_of_loops():
    def plan_of(n):
        system = parallelograms(n)
        planned = reduction.Planned(system, 1)
        planned.choose(leaning(system, 0.3, 0.0)[0], signals(system, 0.0))
        return planned.plan

    plans = [plan_of(n) for n in (8, 16, 32)]
    for what in ([p.size for p in plans], [len(p.steps) for p in plans]):
        assert what[2] - what[1] == 2 * (what[1] - what[0])
    assert all(len(dofs) == 2 for dofs in plans[0].dependents.values())
    assert not plans[0].kept
    assert all(keys == () for keys in plans[0].keys)  # all loops are based on ground


@pytest.mark.parametrize("family", FAMILIES)
def test_a_batch_in_lanes_equals_single_states(family):
    system, q, u, tau = random_loops(np.random.default_rng([5, 77]), family)
    if not system.features <= reduction.SUPPORTS:
        pytest.skip("not by reduction")
    one = wt.forward_dynamics(system, q, u, tau, algorithm="reduction")
    many = wt.forward_dynamics(system, *(np.tile(x, (7, 1)) for x in (q, u, tau)), algorithm="reduction")
    np.testing.assert_allclose(many, np.tile(one, (7, 1)), rtol=1e-9, atol=1e-9 * (1 + np.abs(one).max()))


def test_a_plan_that_does_not_serve_is_made_again():
    """All round the circle with the plan of the first pose, one by one and in a batch."""
    system = parallelograms(3)
    angles = np.linspace(0.2, 1.5, 14)
    states = [leaning(system, angle, 0.5) for angle in angles]
    single = np.array([wt.forward_dynamics(system, q, u, algorithm="reduction")[0] for q, u in states])
    batch = wt.forward_dynamics(system, *(np.array(x) for x in zip(*states, strict=True)), algorithm="reduction")[:, 0]
    expected = np.array([exact(3, angle, 0.5) for angle in angles])
    np.testing.assert_allclose(single, expected, rtol=1e-9)
    np.testing.assert_allclose(batch, expected, rtol=1e-9)


def test_a_run_goes_through_the_flat_pose_on_its_branch():
    """Twice a turn every loop loses rank; bars stay parallel."""
    system = parallelograms(2)
    q, u = leaning(system, 0.0, 1.0)
    run = wt.simulate(system, 3.0, q=q, u=u)
    assert run.attrs["algorithm"] == "reduction"
    signs, _ = leaning(system, 1.0, 0.0)
    assert run.q[-1, 0] > 2 * np.pi
    np.testing.assert_allclose(run.q, run.q[:, :1] * signs, atol=1e-9)
    energy = run["energy"]
    assert np.abs(energy - energy[0]).max() < 1e-7 * run["energy.kinetic"].max()
    assert run["closure"].max() < 1e-12


@pytest.mark.parametrize("integrator", ["dop853", "rk4", "scipy-DOP853"])
def test_runs_by_reduction_equal_those_by_multipliers(integrator):
    system = parallelograms(2)
    q, u = leaning(system, 0.3, 0.4)
    step = {"step": 2e-3} if integrator == "rk4" else {}
    runs = [
        wt.simulate(system, 0.4, q=q, u=u, algorithm=algorithm, integrator=integrator, **step)
        for algorithm in ("reduction", "multipliers")
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, rtol=0, atol=2e-8)  # of the tolerance 1e-8


def test_a_run_that_was_stopped_goes_on_with_its_plan(tmp_path):
    """To the same bits, behind a pose where dependents were chosen anew, and with the same log of that."""
    (system, q, u), path = five_bar("A"), tmp_path / "run.nc"
    whole = wt.simulate(system, 3.0, q=q, u=u)
    first = whole.switches[0]
    assert set(first.was) != set(first.now)
    assert first.loop == "q5"

    def stop(reached):
        if reached > first.t:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wt.simulate(system, 3.0, q=q, u=u, output=path, progress=stop)
    rest = wt.simulate(system, 3.0, q=q, u=u, output=path, resume=True)
    assert np.array_equal(rest.q, whole.q)
    assert rest.switches == whole.switches


def test_a_plan_of_a_singular_pose_does_not_serve_others():
    """Rows that seem redundant where all bars lie level are not so elsewhere, and this is noticed."""
    system = parallelograms(3)
    wt.forward_dynamics(system, *leaning(system, np.pi / 2, 0.0), algorithm="reduction")
    q, u = leaning(system, 0.5, 0.3)
    udot = wt.forward_dynamics(system, q, u, algorithm="reduction")
    np.testing.assert_allclose(udot[0], exact(3, 0.5, 0.3), rtol=1e-9)


def test_rows_that_nothing_moves_are_left_out():
    from whippletree.dynamics.constraints.live_rows import live_rows

    system = parallelograms(3)
    live = live_rows(system)
    assert (system.constraints.count, live.count) == (15, 6)
    assert {system.constraints.what[r] for r in live.kept} == {"displacement along x", "displacement along y"}


def test_forces_of_loops_from_the_sweep():
    """C' lam is what the motion needs beside tau, for all families; the rows' lam of a single loop is the shortest."""
    from whippletree.dynamics.constraints.forces import multipliers_of

    for family in FAMILIES:
        system, q, u, tau = random_loops(np.random.default_rng([9, 5]), family)
        if system.features <= reduction.SUPPORTS:
            udot = wt.forward_dynamics(system, q, u, tau, algorithm="multipliers")
            held = multipliers_of(system, q, u, udot, tau)
            assert np.abs(held.left).max() < 1e-9 * (1 + np.abs(held.rest).max())
