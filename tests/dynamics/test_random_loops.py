"""Every algorithm that does loops, on random loops, against the reference of 50 digits.

``python tests/dynamics/test_random_loops.py 1000`` runs a thousand models and prints the worst error of each family.
"""

import sys

import numpy as np
import pytest

import whippletree as wt
from loop_reference import solve
from loop_zoo import FAMILIES, MECHANISMS, random_loops

LOOPS = [name for name, module in wt.ALGORITHMS.items() if "loops" in module.SUPPORTS]
pytestmark = pytest.mark.skipif(not LOOPS, reason="no algorithm does loops")
TOLERANCE = 1e-12  # of the largest acceleration, for each unit of conditioning; 3e-15 is the worst of 1,000 models


def able(system):
    return [name for name in LOOPS if system.features <= wt.ALGORITHMS[name].SUPPORTS]


def errors(system, q, u, tau):
    """Error over conditioning of every algorithm: relative to the largest acceleration, or to what tau would do."""
    answer = solve(system.model, system, q, u, tau)
    scale = max(np.abs(answer.udot).max(), 1e-12)
    for name in able(system):
        got = wt.forward_dynamics(system, q, u, tau, algorithm=name)
        yield name, np.abs(got - answer.udot).max() / scale / answer.conditioning


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_random_loops_agree_with_the_reference(family, seed):
    system, q, u, tau = random_loops(np.random.default_rng([seed, 77]), family)
    for name, error in errors(system, q, u, tau):
        assert error < TOLERANCE, name


@pytest.mark.parametrize("mechanism", [name for name in MECHANISMS if name not in ("andrews", "leg")])
def test_mechanisms_agree_with_the_reference(mechanism):
    """Those without forces of their own, which the reference does not know."""
    system, q, u = MECHANISMS[mechanism]()
    for name, error in errors(system, q, u, np.random.default_rng(5).normal(size=system.nu)):
        assert error < TOLERANCE, name


if __name__ == "__main__":
    count = int(sys.argv[1]) // len(FAMILIES)
    print(f"{count * len(FAMILIES)} models; worst relative error / conditioning")
    for family in FAMILIES:
        worst = dict.fromkeys(LOOPS, 0.0)
        for seed in range(count):
            for name, error in errors(*random_loops(np.random.default_rng([seed, 77]), family)):
                worst[name] = max(worst[name], error) if error == error else np.inf
        print(f"{family:16s}", ", ".join(f"{name} {error:.1e}" for name, error in worst.items()), flush=True)
