"""The measured order of the integrators, on joints whose coordinates do not add: spherical, free, universal."""

from itertools import pairwise

import numpy as np
import pytest

import whippletree as wt
from whippletree.integrate import dopri5
from whippletree.integrate.task import make_task
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


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4), ("euler", 1)])
def test_order_of_the_integrator(integrator, order):
    system = mobile()
    ends = [end_state(system, integrator, 0.5 / 2**k) for k in range(5, 10)]
    jumps = [np.linalg.norm(a - b) for a, b in pairwise(ends)]
    orders = np.log2(np.divide(jumps[:-1], jumps[1:]))
    assert jumps[-1] > 1e-12  # still error of the method, not rounding
    assert abs(orders[-1] - order) < 0.1, orders


def fixed_dopri5(system, steps):
    """The state after 0.5 s in equal steps: no error is too large, and the largest step is the step."""
    h = 0.5 / steps
    times, u = np.array([0, 0.5]), np.linspace(3.0, -2.0, system.nu)
    run = dopri5.begin(make_task(system, "articulated", "dopri5", times, system.q0, u, rtol=0.9, atol=1e12, step=h))
    run.proceed(0)
    run.state[dopri5.STEP] = h
    run.proceed(10 * steps)
    assert run.attrs()["accepted"] == steps
    return np.concatenate([run.task.Q[1], run.task.U[1]])


def test_order_of_dopri5_in_fixed_steps():
    system = mobile()
    ends = [fixed_dopri5(system, 2**k) for k in range(5, 10)]
    jumps = [np.linalg.norm(a - b) for a, b in pairwise(ends)]
    orders = np.log2(np.divide(jumps[:-1], jumps[1:]))
    assert jumps[-1] > 1e-12  # still error of the method, not rounding
    assert abs(orders[-1] - dopri5.ORDER) < 0.1, orders


def test_error_of_dopri5_is_proportional_to_the_tolerance():
    """The estimate of a step, of order h^5, is held at the tolerance; the global error is of order h^5 too."""
    system, tolerances = mobile(), 10.0 ** -np.arange(5, 11)
    exact = end_state(system, "dopri5", None, rtol=1e-13, atol=1e-13)
    errors = [np.linalg.norm(end_state(system, "dopri5", None, rtol=x, atol=x) - exact) for x in tolerances]
    slope = np.polyfit(np.log10(tolerances), np.log10(errors), 1)[0]
    assert abs(slope - 1) < 0.1, errors
    assert errors[-1] < 10 * tolerances[-1]


@pytest.mark.parametrize("algorithm", wt.ALGORITHMS)
def test_every_algorithm_takes_the_same_path(algorithm):
    system = mobile()
    assert np.abs(end_state(system, "rk4", 0.01, algorithm) - end_state(system, "rk4", 0.01)).max() < 1e-11
