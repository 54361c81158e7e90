"""The measured order of the integrators, on joints whose coordinates do not add: spherical, free, universal."""

from itertools import pairwise

import numpy as np
import pytest

import whippletree as wt
from whippletree.dynamics.registry import stepping
from whippletree.integrate.methods import adaptive, dop853, dopri5
from whippletree.integrate.run.task import make_task
from zoo import random_axes, random_pose, random_solid


def mobile():
    rng = np.random.default_rng(41)
    model = wt.Model("mobile", gravity=(0.3, -0.2, -9.81))
    near = "ground"
    for i, kind in enumerate(("free", "spherical", "universal", "revolute")):
        model.body(f"link{i}", **random_solid(rng))
        places = {"at": random_pose(rng), "child_at": random_pose(rng)}
        model.joint(kind, kind, near, f"link{i}", **places, **random_axes(kind, rng))
        near = f"link{i}"
    return model.compile()


def end_state(system, integrator, step, algorithm="auto", **tolerances):
    start = {"free": [0.4, -0.3, 0.6, 0.2, 0.1, -0.3], "spherical": [0.5, 0.4, -0.6], "universal": [0.7, -0.5]}
    options = {"algorithm": algorithm, "integrator": integrator, "step": step, **tolerances}
    run = wt.simulate(system, 0.5, u=start, output_step=0.5, **options)  # one row, so that no row shortens a step
    last = [np.atleast_1d(np.asarray(run[f"{name}.{x}"])[-1]).ravel() for name in system.joints for x in ("q", "u")]
    return np.concatenate(last)


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("euler", 1), ("generalized_alpha", 2)])
def test_order_of_the_integrator(integrator, order):
    system = mobile()
    ends = [end_state(system, integrator, 0.5 / 2**k) for k in range(5, 10)]
    jumps = [np.linalg.norm(a - b) for a, b in pairwise(ends)]
    orders = np.log2(np.divide(jumps[:-1], jumps[1:]))
    assert jumps[-1] > 1e-12  # still error of the method, not rounding
    assert abs(orders[-1] - order) < 0.1, orders


def tumbling():
    """A body in flight that turns about no axis of symmetry. Of order 8, errors fall below rounding early: this one's
    follow the order from the first step on."""
    model = wt.Model("tumbling", gravity=(0, 0, 0))
    model.body("block", mass=1.0, com=(0.1, 0.2, -0.3), inertia=(0.1, 0.15, 0.2))
    model.joint("flight", "free", "ground", "block")
    return model.compile(), np.array([6.0, 10.0, 4.0, 1.0, 1.0, 1.0])


def moving_mobile():
    system = mobile()
    return system, np.linspace(3.0, -2.0, system.nu)


def equal_steps(method, system, u, steps):
    """The state after 0.5 s in equal steps: no error is too large, and the largest step is the step."""
    h = 0.5 / steps
    times = np.array([0, 0.5])
    run = method.begin(make_task(system, "articulated", "dopri5", times, system.q0, u, rtol=0.9, atol=1e12, step=h))
    run.proceed(0)
    run.state[adaptive.step_size.STEP] = h
    run.proceed(10 * steps)
    assert run.attrs()["accepted"] == steps
    return np.concatenate([run.task.Q[1], run.task.U[1]])


@pytest.mark.parametrize(
    ("method", "case", "powers"), [(dopri5, moving_mobile, range(5, 10)), (dop853, tumbling, range(2, 7))]
)
def test_order_of_adaptive_methods_in_equal_steps(method, case, powers):
    ends = [equal_steps(method, *case(), 2**k) for k in powers]
    jumps = [np.linalg.norm(a - b) for a, b in pairwise(ends)]
    orders = np.log2(np.divide(jumps[:-1], jumps[1:]))
    assert jumps[-1] > 1e-12  # still error of the method, not rounding
    assert abs(orders[-1] - method.ORDER) < 0.1, orders


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
def test_error_is_proportional_to_the_tolerance(integrator):
    """The estimate of a step, of order h^p, is held at the tolerance; the global error is of order h^p too."""
    system, tolerances = mobile(), 10.0 ** -np.arange(5, 11 if integrator == "dopri5" else 9)  # above rounding
    exact = end_state(system, "dopri5", None, rtol=1e-13, atol=1e-13)
    errors = [np.linalg.norm(end_state(system, integrator, None, rtol=x, atol=x) - exact) for x in tolerances]
    assert all(e < 10 * x for e, x in zip(errors, tolerances, strict=True)), errors
    assert all(a > b for a, b in pairwise(errors)), errors
    if integrator == "dopri5":  # dop853 takes too few steps in this time for a slope to mean much
        slope = np.polyfit(np.log10(tolerances), np.log10(errors), 1)[0]
        assert abs(slope - 1) < 0.1, errors


@pytest.mark.parametrize("method", [dopri5, dop853])
def test_numbers_of_the_method_fulfil_the_order_conditions(method):
    """sum_j a_ij = c_i; sum_i b_i c_i^k = 1/(k+1), the bushy trees; and the estimates know no constant y'."""
    x = method.TABLEAU
    count = x.stages + x.extra
    A, D, E = x.A.reshape(count, count), x.D.reshape(-1, count), x.E.reshape(2, x.stages)
    np.testing.assert_allclose(A.sum(axis=1), x.C, atol=2e-14)  # a dozen terms of size 50, rounded
    b, c = A[x.stages - 1], x.C
    np.testing.assert_allclose([b @ c**k for k in range(method.ORDER)], 1 / (1 + np.arange(method.ORDER)), atol=1e-14)
    np.testing.assert_allclose(A @ c, np.where(c > c[1], c**2 / 2, A @ c), atol=2e-13)
    assert np.abs(E.sum(axis=1)).max() < 1e-14
    assert np.abs(D.sum(axis=1)).max() < 1e-12  # a straight line is interpolated by the first rows alone


@pytest.mark.parametrize("algorithm", [*stepping()])
def test_every_algorithm_takes_the_same_path(algorithm):
    system = mobile()
    assert np.abs(end_state(system, "rk4", 0.01, algorithm) - end_state(system, "rk4", 0.01)).max() < 1e-11


def test_every_order_is_measured():
    """What says its order is in the tests above."""
    named = {name for name, module in wt.INTEGRATORS.items() if hasattr(module, "ORDER")}
    assert named == {"rk4", "euler", "generalized_alpha", "dopri5", "dop853"}
