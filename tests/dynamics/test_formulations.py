"""All formulations on all constrained models: the same accelerations, and the same loads of every part."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.dynamics.auto.choose import able_to_solve
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.errors import ModelWarning

MODELS = sorted((Path(__file__).parents[2] / "models").glob("*.toml"))
FORMULATIONS = ("multipliers", "nullspace", "reduction", "divide")


def constrained():
    """Models with loops, couplings or constraints; those that are temporary hold, and rub where they know friction."""
    for path in MODELS:
        model = wt.load(path)
        if model.flexibles or path.stem == "long_chain":
            continue
        system = model.compile()
        if system.constraints.count or model.temporaries:
            yield path.stem


def closed_state(system):
    """Near the neutral pose, on all constraints, in motion."""
    rng = np.random.default_rng(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        state = wt.assemble(system, system.q0, 0.3 * rng.normal(size=system.nu))
    return state.q, state.u


@pytest.mark.parametrize("name", constrained())
def test_accelerations_and_loads_are_equal(name):
    """To 1e-9 of the largest."""
    system = wt.load(next(p for p in MODELS if p.stem == name)).compile()
    if system.model.temporaries:
        system = system.holding(system.model.constraints)
    q, u = closed_state(system)
    assert np.abs(rows_of(system, q, u).g).max() < 1e-8
    tau = np.random.default_rng(5).normal(size=system.nu)
    able = [a for a in FORMULATIONS if a in able_to_solve(system)]
    assert {"multipliers", "nullspace"} <= set(able)
    expected = wt.reactions(system, q, u, tau, algorithm="nullspace")
    udot = wt.forward_dynamics(system, q, u, tau, algorithm="nullspace")
    size, most = 1.0 + np.abs(udot).max(), 1.0 + max(np.abs(load).max() for load in expected.values())
    for algorithm in able:
        assert np.abs(wt.forward_dynamics(system, q, u, tau, algorithm=algorithm) - udot).max() < 1e-9 * size
        found = wt.reactions(system, q, u, tau, algorithm=algorithm)
        assert list(found) == list(expected)
        for joint, load in expected.items():
            assert np.abs(found[joint] - load).max() < 1e-9 * most, (algorithm, joint)
