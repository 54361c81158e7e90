"""The bench of a divided chain: what it measures is there, agrees, and can be kept and drawn."""

import numpy as np
import pytest

import whippletree as wt
from bridge import error
from whippletree_lab import bench
from whippletree_lab.bench import divided, families, plain_dca
from whippletree_lab.bench.loop_families import Posed
from whippletree_lab.bench.result import OURS
from whippletree_lab.report import report


@pytest.fixture(scope="module")
def result():
    return bench.run("divide", sizes="24,40", rounds=1, against="pinocchio")


def test_every_way_is_timed_and_its_error_known(result):
    rows = [r for r in result.rows if r.question == "forward"]
    assert [r.bodies for r in rows] == [24, 40]
    for row in rows:
        assert set(row.seconds) == {OURS, *divided.WAYS}
        assert set(row.differences) == {OURS, *divided.WAYS, divided.PLAIN}
        assert max(row.differences.values()) < 1e-10  # of a short chain; a way that is wrong has 1
        assert min(row.seconds.values()) > 0.0
    assert not any("pinocchio" in note for note in result.notes)


def test_shares_of_the_terminal_subchain_are_timed(result):
    (row,) = (r for r in result.rows if r.question == "share")
    assert set(row.seconds) == {OURS, *(f"terminal {share:.0%}" for share in divided.TERMINAL)}
    assert any("the default terminal share, 52%" in note for note in result.notes)


def test_the_table_says_how_many_times_as_fast(result):
    text = report.text(result)
    row = result.rows[0]
    assert f"{row.seconds[OURS] / row.seconds['lanes']:.2f}x" in text
    assert "dca, not pivoted" in text
    assert "whippletree bench divide --bodies 24,40 --rounds 1" in text


def test_the_result_is_kept_and_drawn(result, tmp_path):
    again = report.load(report.save(result, tmp_path / "divide.json"))
    assert again.rows == result.rows
    svg, png = report.plot(result, tmp_path / "divide.svg")
    assert svg.stat().st_size > 1000
    assert png.stat().st_size > 1000


def test_the_papers_own_form_equals_ours():
    """Of 16 bodies, without pivoting: 1e-10, a condition of 1e4 squared."""
    model = families.chain(16)
    system = model.compile()
    q, u, _, _ = (x[0] for x in families.states(model, system, 1))
    posed = Posed(model, dict(zip(system.joints, q, strict=True)), dict(zip(system.joints, u, strict=True)))
    assert error(plain_dca.accelerations(posed), wt.forward_dynamics(system, q, u, np.zeros(16))) < 1e-10
