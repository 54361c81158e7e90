"""Problem P10 in systems and runs: beams on hubs against exact roots and published tables."""

import numpy as np
import pytest

import whippletree as wt
from whippletree_lab.reproduce.flexible_problems import hub_and_beam, p10
from whippletree_lab.reproduce.problems import case
from whippletree_lab.reproduce.validate_flexible import turning_frequencies

P10 = case("P10")
REF, TOLERANCE = P10["reference"], P10["tolerance"]


# the error of the first frequency with 5 modes, by P10's own values
@pytest.mark.parametrize(("tip", "first"), [(0, 5e-7), (5, 2.2e-4)])
def test_a_hub_and_its_beam_swing_as_galerkin_has_it_and_tend_to_exact_roots_from_above(tip, first):
    exact = np.array(REF["hub_pivot_free"][f"Jh50_tip{tip}"]["omega"], float)
    before = np.full(5, np.inf)
    for count in (1, 2, 3, 5):
        modes = wt.eigenmodes(hub_and_beam(count, tip=tip).compile())
        assert modes.kinds[0] == "neutral"
        found = modes.frequencies[1:]
        want = REF["truncated_clamped_modes"][f"galerkin_Jh50_mt{tip}_n{count}"]
        np.testing.assert_allclose(found, want, rtol=TOLERANCE["truncated_rel"])
        assert (found > exact[:count]).all()
        assert (found < before[:count]).all()
        before[:count] = found
    assert abs(found[0] / exact[0] - 1) < first
    turned = wt.eigenmodes(modes.system, q={"pivot": 0.7}).frequencies[1:]  # no pose of the hub is better than another
    np.testing.assert_allclose(turned, found, rtol=1e-9)


def test_static_tip_load():
    for count, want in REF["static_tip_load_10N"]["n_modes"].items():
        m = hub_and_beam(int(count))
        m.force("pull", "wrench", body="arm/tip", force=(0, 10.0, 0))
        system = m.compile()
        rest = wt.equilibrium(system, fixed=["pivot"])
        assert wt.kinematics(system, rest.q).position("end")[1] == pytest.approx(want, rel=TOLERANCE["truncated_rel"])
        assert rest.tau[0] == pytest.approx(-100.0, rel=1e-12)  # what holds the pivot: 10 N at 10 m
        assert rest.stable


def test_step_torque_on_the_hub():
    """With three modes, simulated; the tip's y is that of P10's linear theory up to some theta squared, 1e-5"""
    run = wt.simulate(hub_and_beam(3).compile(), 5.0, tau={"pivot": 0.1}, output_step=0.5, rtol=1e-10, atol=1e-14)
    for t, (theta, y) in REF["hub_step_torque_0p1Nm"]["three_clamped_modes_theta_and_tip_y"].items():
        k = round(2 * float(t))
        assert run["pivot.q"][k] == pytest.approx(theta, rel=TOLERANCE["step_rel"])
        assert run["end.position.y"][k] == pytest.approx(y, rel=TOLERANCE["step_rel"] + theta**2)
    assert np.abs(run["energy.balance"]).max() < 1e-9 * run["energy"].max()
    assert run["energy.elastic"][-1] == pytest.approx(0.5 * (run["arm.q"][-1] ** 2) @ p10(3).frequencies ** 2, rel=1e-6)


# ---- a beam that turns


def test_without_stiffening_a_beam_that_turns_is_too_soft():
    still = REF["rotating_cantilever"]["flap"]["0"][0]
    for fidelity in ("ruthless", "full"):  # flapping, they know nothing of the rotation
        assert turning_frequencies(4.0, fidelity, "bending_z", 5)[0][0] == pytest.approx(still, rel=1e-3)
    assert turning_frequencies(4.0, "ruthless", "bending_y", 5)[0][0] == pytest.approx(still, rel=1e-3)
    softer, growth = turning_frequencies(3.0, "full", "bending_y", 5)
    assert softer[0] == pytest.approx(np.sqrt(still**2 - 9.0), rel=1e-3)  # omega^2 - Omega^2
    assert growth < 1e-6
    _, growth = turning_frequencies(4.0, "full", "bending_y", 5)
    assert growth == pytest.approx(np.sqrt(16.0 - still**2), rel=1e-3)  # it bends without end
