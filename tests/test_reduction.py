"""Recursive coordinate reduction beyond agreement (test_random_loops.py): cost, lanes, and choosing again."""

import numpy as np
import pytest

import whippletree as wt
from loop_zoo import FAMILIES, random_loops
from whippletree.dynamics import reduction
from whippletree.dynamics.loads import signals


def parallelograms(n):
    """n equal four-bars side by side on ground: one freedom, every bar at the same angle."""
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
    assert all(len(freedoms) == 2 for freedoms in plans[0].dependents.values())
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


def test_runs_say_that_reduction_is_not_for_them_yet():
    system = parallelograms(2)
    with pytest.raises(wt.ModelError, match="reduction") as caught:
        wt.simulate(system, 0.1, algorithm="reduction")
    assert "multipliers" in str(caught.value)
