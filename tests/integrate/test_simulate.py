"""From a state to a motion: right, on time, and what is said when it cannot be."""

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import whippletree as wt
from whippletree.dynamics.registry import stepping
from zoo import tree


def rk4(system, until, **options):
    return wt.simulate(system, until, integrator="rk4", **options)


@pytest.fixture(scope="module")
def pendulum():
    model = wt.Model("pendulum")
    bob = model.body("bob", **wt.point(mass=2.0, at=(0, 0, -1.5)))
    model.joint("hinge", "revolute", model.ground, bob, axis="y")
    return model.compile()


@pytest.fixture(scope="module")
def top():
    model = wt.Model("top")
    model.joint(
        "tip", "spherical", model.ground, model.body("top", mass=1.0, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.02))
    )
    return model.compile()


def test_a_pendulum_swings_by_the_elliptic_functions(pendulum):
    start, w = 2.0, np.sqrt(9.81 / 1.5)
    run = rk4(pendulum, 5.0, q={"hinge": start}, step=1e-3)
    k = np.sin(start / 2)
    sn = ellipj(w * run.t + ellipk(k**2), k**2)[0]
    # 5000 steps of order 4: the error is (w h)^4 times the phase, some 1e-10
    np.testing.assert_allclose(run["hinge.q"], 2 * np.arcsin(k * sn), atol=1e-9)
    np.testing.assert_allclose(run["energy"], run["energy"][0], atol=1e-9)


def test_outputs_stand_where_they_were_asked_for(pendulum):
    run = rk4(pendulum, 1.0, step=0.003, output_step=0.25)
    np.testing.assert_allclose(run.t, [0, 0.25, 0.5, 0.75, 1.0], atol=1e-15)
    assert run.attrs["step"] <= 0.003
    assert rk4(pendulum, 0.7, step=0.3).t[-1] == pytest.approx(0.7, abs=1e-15)


def test_a_constant_force_is_in_the_accelerations(pendulum):
    run = rk4(pendulum, 0.1, tau=[3.0])
    np.testing.assert_allclose(run["hinge.udot"][0], 3.0 / (2.0 * 1.5**2), rtol=1e-12)
    assert run["hinge.u"][-1] > 0.06


@pytest.mark.parametrize("algorithm", [*stepping()])
def test_every_algorithm_gives_the_same_motion(algorithm):
    system = tree(5).compile()
    u = np.linspace(-0.5, 0.5, system.nu)
    expected = rk4(system, 0.1, u=u, step=1e-2, algorithm="articulated")
    run = rk4(system, 0.1, u=u, step=1e-2, algorithm=algorithm)
    np.testing.assert_allclose(run.q, expected.q, atol=1e-10)
    np.testing.assert_allclose(run.u, expected.u, atol=1e-9)


def test_quaternions_stay_unit(top):
    run = rk4(top, 1.0, u={"tip": [1.0, 2.0, 30.0]}, step=2e-3)
    np.testing.assert_allclose(np.linalg.norm(run["tip.q"], axis=1), 1.0, atol=1e-15)


def test_progress_tells_the_time_reached(pendulum):
    times = []
    rk4(pendulum, 2.0, progress=times.append)
    assert times == sorted(times)
    assert times[-1] == pytest.approx(2.0)


def test_an_interruption_keeps_what_was_computed(pendulum):
    def stop(t):
        if t > 0.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        rk4(pendulum, 1e3, output_step=1e-2, progress=stop)
    partial = caught.value.partial
    assert 0.5 < partial.t[-1] < 1e3
    np.testing.assert_array_equal(partial.q, rk4(pendulum, partial.t[-1], output_step=1e-2).q)


def test_a_motion_that_blows_up_is_stopped_and_named(pendulum):
    with pytest.raises(wt.SimulationError, match="ceased to be finite at t = ") as caught:
        rk4(pendulum, 1.0, u={"hinge": 1e160}, step=0.01)  # its square is more than a double holds
    assert caught.value.where == "joint 'hinge' (revolute) of body 'bob'"
    assert len(caught.value.partial) >= 1


MISTAKES = {
    "until": (
        lambda p, t: wt.simulate(p, 0.0),
        "until must lie after the start\n  expected: a time > 0 (s)\n  got: 0.0",
    ),
    "until nan": (lambda p, t: wt.simulate(p, np.nan), "until is not finite\n  expected: a finite number\n  got: nan"),
    "integrator": (
        lambda p, t: wt.simulate(p, 1.0, integrator="rk5"),
        "integrator 'rk5' is not known\n  hint: did you mean 'rk4'?",
    ),
    "step": (lambda p, t: rk4(p, 1.0, step=-1.0), "step must be positive\n  expected: a time > 0 (s)\n  got: -1.0"),
    "output_step": (
        lambda p, t: rk4(p, 1.0, output_step=0.0),
        "output_step must be positive\n  expected: a time > 0 (s)\n  got: 0.0",
    ),
    "memory": (
        lambda p, t: rk4(p, 3e5, output_step=1e-3),
        "the result would not fit in memory\n  expected: at most 4 GB\n"
        "  got: 300000000 rows of 2 numbers, 7.2 GB\n  hint: a larger output_step",
    ),
    "batch": (
        lambda p, t: rk4(p, 1.0, q=np.zeros((3, 1))),
        "simulate takes one state\n  expected: q of shape (1,)\n  got: a batch (3, 1)",
    ),
    "values": (
        lambda p, t: rk4(p, 1.0, q={"hinge": [1, 2]}),
        "joint 'hinge': wrong number of values\n  expected: 1\n  got: 2",
    ),
    "joint": (lambda p, t: rk4(p, 1.0, u={"hing": 1}), "joint 'hing' is not known\n  hint: did you mean 'hinge'?"),
    "nan": (
        lambda p, t: rk4(p, 1.0, u=[np.nan]),
        "u is not finite\n  expected: finite numbers\n  got: nan at u[0], joint 'hinge' (revolute) of body 'bob'\n"
        "  hint: nan and inf come from a division by zero, an overflow or a value never set: see what made it",
    ),
    "quaternion": (
        lambda p, t: rk4(t, 1.0, q=[1.0, 0.01, 0.0, 0.0]),
        "joint 'tip': the quaternion in q is not unit\n  expected: [w, x, y, z] of length 1\n"
        "  got: [1.0, 0.01, 0.0, 0.0] of length 1.00005",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_answered_before_the_first_step(pendulum, top, mistake):
    call, expected = MISTAKES[mistake]
    with pytest.raises(wt.ModelError) as caught:
        call(pendulum, top)
    assert str(caught.value) == expected
