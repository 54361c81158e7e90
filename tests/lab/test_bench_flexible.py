"""The benchmark of flexible bodies: the paper's counts, its chains, Exudyn beside ours, and what is said of them."""

import numpy as np
import pytest

import whippletree as wt
from whippletree import ModelError
from whippletree.dynamics.auto import flexible_operations as flexible_cost
from whippletree_lab import bench
from whippletree_lab.bench import flexible, flexible_families, flexible_motion
from whippletree_lab.bench.flexible import COMPOSITE, DENSE
from whippletree_lab.bench.result import OURS, BenchResult, Row
from whippletree_lab.engines import peers
from whippletree_lab.report import report

EXUDYN = peers.installed("exudyn") is not None


# ---- counts


def test_figure_2_by_counts():
    """Sec. VII: with 10 bodies articulated is faster by over 3 times for 5 modes, and by over 7 for 10."""
    ratio = {n: flexible_cost.composite([n] * 10) / flexible_cost.articulated([n] * 10) for n in (5, 10)}
    assert 3.0 < ratio[5] < 4.0
    assert 7.0 < ratio[10] < 8.0


def test_inverting_pays_up_to_seven_modes():
    better = [n for n in range(1, 40) if flexible_cost.explicit(n) < flexible_cost.indirect(n)]
    assert better == list(range(1, flexible_cost.EXPLICIT + 1))


def test_orders_of_growth():
    """Bodies 1 and 3, modes 2 and 3: exponents between sizes where lower powers are lost to within 3 %."""
    few, many = [12] * 1000, [12] * 2000
    assert flexible_cost.articulated(many) == pytest.approx(2 * flexible_cost.articulated(few))
    assert np.log2(flexible_cost.composite(many) / flexible_cost.composite(few)) == pytest.approx(3.0, rel=0.03)
    growth = [f([2000] * 4) / f([1000] * 4) for f in (flexible_cost.articulated, flexible_cost.composite)]
    assert np.log2(growth) == pytest.approx([2.0, 3.0], rel=0.03)


def test_counts_at_one_body():
    """By hand from the polynomials, one mode: composite with N = 2, articulated by 1a)."""
    assert flexible_cost.composite([1]) == pytest.approx(
        2 + (8 / 6 + 6 - 4 / 3) + (8 / 6 + 4 - 14 / 6) + (138 + 165.5) + (59 + 48) + (262 + 195)
    )
    assert flexible_cost.articulated([1]) == pytest.approx(
        (5 / 6 + 12.5 + 764 / 3 + 180) + (5 / 6 + 10.5 + 548 / 3 + 164) + (75 + 75) + (70 + 61)
    )


# ---- chains


def test_points_weigh_what_the_strip_does():
    strip, made = flexible_families.strip(4, "full"), flexible_families.points(4)
    assert made.modes.mass == pytest.approx(strip.mass, rel=1e-12)
    assert made.mass.sum() == pytest.approx(strip.mass, rel=1e-12)
    # the lowest frequencies: by 8 lumps instead of a line of mass, which err by some 1/8^2
    assert made.modes.frequencies[:2] == pytest.approx(strip.frequencies[:2], rel=0.02)
    corners = made.modes.r[made.tip]
    assert np.ptp(corners, axis=0) == pytest.approx([flexible_families.ACROSS_X, flexible_families.ACROSS_Y, 0.0])
    assert corners.mean(axis=0) == pytest.approx([0.0, 0.0, -flexible_families.LENGTH])


def test_chains_hang_from_tip_to_tip():
    system = flexible_families.chain(3, flexible_families.strip(2, "ruthless")).compile()
    there = wt.kinematics(system, np.zeros(system.nq))
    for k in range(3):
        down = -flexible_families.LENGTH * (k + 1)
        assert there.position(f"b{k}/tip") == pytest.approx([0.0, 0.0, down], abs=1e-15)
    assert system.nu == 9


@pytest.mark.skipif(not EXUDYN, reason="Exudyn is not installed")
def test_exudyn_has_the_same_body():
    """Modal accelerations at the start: rounding, of stiffnesses that are 1e6 of the masses."""
    assert flexible_motion.Motion(2, 3).apart_at_start() < 1e-11


# ---- what is said


@pytest.fixture(scope="module")
def measured():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flexible, "GROWTH_MODES", (2, 4))
        patch.setattr(flexible, "GROWTH_BODIES", (2, 4))
        patch.setattr(flexible, "MANY", 4)
        patch.setattr(flexible_motion, "UNTIL", 0.02)
        patch.setattr(flexible_motion, "MODES", 3)
        patch.setattr(flexible_motion, "PEER_STEPS", (2e-3, 1e-3))
        patch.setattr(flexible_motion, "STEPS", (1e-3,))
        patch.setattr(flexible_motion, "TOLERANCES", (1e-4,))
        return bench.run("flexible", sizes="2", modes="1:2,8", against="exudyn", rounds=1)


def test_rows_hold_times_counts_and_errors(measured):
    rows = [r for r in measured.rows if r.question != "motion"]
    assert [r.label for r in rows] == ["2 x 1", "2 x 2", "2 x 8", "2 x 2", "2 x 4", "2 x 10", "4 x 10", "4 x 10"]
    for row in rows:
        assert row.operations[OURS] == flexible_cost.articulated([row.modes] * row.bodies)
        assert set(row.seconds) == set(row.differences)
        assert row.worst_difference() < 1e-11  # some 1e5 roundings
    assert all(set(r.seconds) == {OURS, COMPOSITE, DENSE} for r in rows if r.question in ("modes", "many bodies"))
    assert any("slope of log time against log bodies" in n and "from 2 to 4 bodies" in n for n in measured.notes)
    assert any(n.startswith("composite against articulated, 4 x 10: counted ") for n in measured.notes)


@pytest.mark.skipif(not EXUDYN, reason="Exudyn is not installed")
def test_ours_is_never_the_less_accurate(measured):
    rows = [r for r in measured.rows if r.question == "motion"]
    assert [r.bodies for r in rows] == [1, 1, 2, 2]
    for row in rows:
        assert set(row.seconds) == {OURS, "exudyn"}
        assert row.differences[OURS] <= row.differences["exudyn"]
    assert any("first accelerations differ by" in n for n in measured.notes)


def test_table_file_and_picture(measured, tmp_path):
    lines = report.text(measured).splitlines()
    assert lines[2].split()[:4] == ["what", "bodies", "x", "modes"]
    assert sum(line.startswith("forward dynamics") for line in lines) == 3
    command = "whippletree bench flexible --bodies 2 --modes 1:2,8 --fidelity ruthless --against exudyn --rounds 1"
    assert lines[-1] == f"command: {command}"
    assert report.load(report.save(measured, tmp_path / "flexible.json")) == measured
    svg, png = report.plot(measured, tmp_path / "flexible.svg")
    text = svg.read_text()
    assert "modes of each body" in text
    assert "composite, counted" in text
    assert png.read_bytes().startswith(b"\x89PNG")


def test_errors_are_seen():
    system = flexible_families.chain(2, flexible_families.strip(2, "ruthless")).compile()
    q, u, tau = flexible_families.state(system)
    balance, udot = flexible.Balance(system, q, u, tau), wt.forward_dynamics(system, q, u, tau)
    assert balance.error(udot) < 1e-13
    assert balance.error(udot * (1 + 1e-6)) > 1e-8
    assert balance.error(udot * np.nan) == np.inf


def test_slopes_are_fitted():
    result = BenchResult("flexible", "", "", 1, {}, {})
    for n in (8, 16, 64):
        result.rows.append(Row("growth with modes", "", 10, n, modes=n, seconds={OURS: n**1.5}))
    assert flexible.growth(result, "growth with modes") == (8, 64, pytest.approx(1.5))
    assert flexible.growth(result, "growth with bodies") is None


def test_a_peer_with_another_model_is_not_timed(monkeypatch):
    result = BenchResult("flexible", "", "", 1, {}, {})
    monkeypatch.setattr(flexible_motion.Motion, "apart_at_start", lambda self: 1e-3)
    flexible_motion.measure(result, [1], lambda line: None)
    assert result.notes[-1] == "exudyn: modal accelerations of 1 bodies are 1e-03 from ours, not timed"
    assert result.rows == []


def test_what_cannot_be_measured_is_reported():
    assert flexible.mode_numbers("1:3,8") == (1, 2, 3, 8)
    assert flexible.mode_numbers(None) == tuple(range(1, 21))
    for bad in ("0", "5:2", "many", "1:1000"):
        with pytest.raises(ModelError, match="the numbers of modes cannot be read"):
            flexible.mode_numbers(bad)
    with pytest.raises(ModelError, match="did you mean 'ruthless'"):
        bench.run("flexible", fidelity="ruthles")
    with pytest.raises(ModelError, match="modes are for the family flexible"):
        bench.run("chain", modes="1:4")
