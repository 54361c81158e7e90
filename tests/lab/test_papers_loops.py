"""Mechanisms with loops where test_validation.py does not look: long runs, and close to singular poses."""

import numpy as np
import pytest

import whippletree as wt
from whippletree_lab.reproduce.loop_problems import bricard, five_bar, n_four_bar
from whippletree_lab.reproduce.validate_loops import energy_drift


def test_what_depends_on_what_changes_in_the_five_bar():
    for variant in "AB":
        system, q, u = five_bar(variant)
        assert wt.simulate(system, 1.0, q=q, u=u).switches


def test_bricard_for_100_seconds():
    system, q, u = bricard()
    run = wt.simulate(system, 100.0, q=q, u=u, output_step=0.1)
    assert run["closure"].max() < 1e-9
    assert energy_drift(run) < 1e-7


@pytest.mark.parametrize("n", [1, 4, 16])
def test_ladder_close_to_the_flat_pose(n):
    """1e-3 rad from there; roundings of the pose itself cost some 1e-16 / 1e-6."""
    system, q, u = n_four_bar(n, angle=-(np.pi / 2 - 1e-3), speed=-1.0)
    k = 3 * (3 * n + 1) * 9.81 / (2 * (4 * n + 1))
    udot = wt.forward_dynamics(system, q, u)
    assert abs(udot[0] / (-k * np.sin(np.pi / 2 - 1e-3)) - 1) < 1e-9
