"""Mechanisms with loops of ../shared/validation, as a user runs them: no algorithm named, nothing to tune.

Tolerances are those of the cases: looser than the agreement of the two computations behind each.
"""

import csv

import numpy as np
import pytest

import loop_zoo
import whippletree as wt
from whippletree.reproduce.problems import case


def table(name):
    with open(DATA / name) as file:
        return np.array(list(csv.reader(file))[1:], float)


def drift(run):
    energy = run["energy"]
    return np.abs(energy - energy[0]).max() / np.abs(energy).max()


@pytest.mark.parametrize("variant", "AB")
def test_five_bar(variant):
    """P01, whose accelerations at the start are exact; what depends on what has to change on the way."""
    system, q, u = loop_zoo.five_bar(variant)
    case, rows = case("P01"), table(f"p01_fivebar_{variant}.csv")
    expected = case["reference"]["initial_accelerations"][variant]["udot"]
    np.testing.assert_allclose(wt.forward_dynamics(system, q, u), expected[:4], atol=1e-12)
    run = wt.simulate(system, 3.0, q=q, u=u, rtol=1e-10, atol=1e-12, output_step=rows[1, 0])
    for i in range(1, 6):
        assert np.abs(run[f"q{i}.q"] - rows[:, i]).max() < case["tolerance"]["q"]
        assert np.abs(run[f"q{i}.u"] - rows[:, 5 + i]).max() < case["tolerance"]["u"]
    assert drift(run) < case["tolerance"]["energy_drift"]
    assert run.switches


def test_andrews():
    """P02 against the published end state."""
    system, q, u = loop_zoo.andrews()
    case = case("P02")
    run = wt.simulate(system, 0.03, q=q, u=u, output_step=1e-3)
    end = {name: loop_zoo.andrews_angles(case["reference"][f"published_{name}"]) for name in ("q", "qd", "qdd")}
    for joint in loop_zoo.ANDREWS:
        assert abs(run[f"{joint}.q"][-1] - end["q"][joint]) < case["tolerance"]["q"]
        assert abs(run[f"{joint}.u"][-1] / end["qd"][joint] - 1) < case["tolerance"]["qd_rel"]
        if joint in system.joints:
            assert abs(run[f"{joint}.udot"][-1] / end["qdd"][joint] - 1) < case["tolerance"]["qdd_rel"]


def test_bricard_for_100_seconds():
    """P03: five rows of six would do, and which one is idle no count of freedoms tells."""
    system, q, u = loop_zoo.bricard()
    rows = table("p03_bricard.csv")
    run = wt.simulate(system, 100.0, q=q, u=u, output_step=rows[1, 0])
    k = wt.kinematics(system, run.q[: len(rows)])
    corner = k.position("bar3") + k.rotation("bar3")[:, :, 2]
    assert np.abs(corner - rows[:, 1:4]).max() < case("P03")["tolerance"]["P3"]
    assert run["closure"].max() < 1e-9
    assert drift(run) < 1e-7


@pytest.mark.parametrize("n", [1, 2, 10])
def test_ladder_for_100_seconds(n):
    """P04: some hundred times through the pose where all loops lose rank, and never off its branch."""
    system, q, u = loop_zoo.n_four_bar(n)
    run = wt.simulate(system, 100.0, q=q, u=u, output_step=0.25)
    k = wt.kinematics(system, run.q)
    tip = k.position("crank0") + k.rotation("crank0")[:, :, 1]
    for _, _, _, t, x, y, _ in (row for row in table("p04_nfourbar.csv") if row[0] == n):
        assert np.abs(tip[round(t / 0.25), :2] - (x, y)).max() < case("P04")["tolerance"]["B0"]
    assert run["closure"].max() < 1e-9
    assert drift(run) < 1e-7


@pytest.mark.parametrize("n", [1, 4, 16])
def test_ladder_close_to_the_flat_pose(n):
    """1e-3 rad from there; roundings of the pose itself cost some 1e-16 / 1e-6."""
    system, q, u = loop_zoo.n_four_bar(n, angle=-(np.pi / 2 - 1e-3), speed=-1.0)
    k = 3 * (3 * n + 1) * 9.81 / (2 * (4 * n + 1))
    udot = wt.forward_dynamics(system, q, u)
    assert abs(udot[0] / (-k * np.sin(np.pi / 2 - 1e-3)) - 1) < 1e-9
