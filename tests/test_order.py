"""The measured order of the integrators, on joints whose coordinates do not add: spherical, free, universal."""

from itertools import pairwise

import numpy as np
import pytest

import whippletree as wt
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


def end_state(system, integrator, step, algorithm="auto"):
    start = {"free": [0.4, -0.3, 0.6, 0.2, 0.1, -0.3], "spherical": [0.5, 0.4, -0.6], "universal": [0.7, -0.5]}
    run = wt.simulate(system, 0.5, u=start, integrator=integrator, step=step, algorithm=algorithm)
    last = [np.atleast_1d(np.asarray(run[f"{name}.{x}"])[-1]).ravel() for name in system.joints for x in ("q", "u")]
    return np.concatenate(last)


@pytest.mark.parametrize(("integrator", "order"), [("rk4", 4)])
def test_order_of_the_integrator(integrator, order):
    system = mobile()
    ends = [end_state(system, integrator, 0.5 / 2**k) for k in range(5, 10)]
    jumps = [np.linalg.norm(a - b) for a, b in pairwise(ends)]
    orders = np.log2(np.divide(jumps[:-1], jumps[1:]))
    assert jumps[-1] > 1e-12  # still error of the method, not rounding
    assert abs(orders[-1] - order) < 0.1, orders


@pytest.mark.parametrize("algorithm", wt.ALGORITHMS)
def test_every_algorithm_takes_the_same_path(algorithm):
    system = mobile()
    assert np.abs(end_state(system, "rk4", 0.01, algorithm) - end_state(system, "rk4", 0.01)).max() < 1e-11
