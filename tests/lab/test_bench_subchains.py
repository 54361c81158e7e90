"""The bench of a chain in subchains: what it measures is there, agrees, and can be kept and drawn."""

import pytest

from whippletree_lab import bench
from whippletree_lab.bench import subchains
from whippletree_lab.bench.result import OURS
from whippletree_lab.report import report


@pytest.fixture(scope="module")
def result():
    return bench.run("subchains", sizes="40", rounds=1)


def test_every_solver_is_timed_in_every_number_of_pieces(result):
    whole, *rows = (r for r in result.rows if r.question == "forward")
    assert set(whole.seconds) == {OURS, *subchains.OTHERS}
    assert [r.pieces for r in rows] == [p for p in subchains.PIECES if p <= 40]
    for row in rows:
        assert set(row.seconds) == set(row.differences) == set(subchains.SOLVERS)
        assert max(row.differences.values()) < 1e-10  # of a short chain; a way that is wrong has 1
        assert 0 < row.operations["warm"] <= row.operations["cold"]
    assert sum(r.operations["warm"] for r in rows) < sum(r.operations["cold"] for r in rows)


def test_a_run_meets_its_residual(result):
    (row,) = (r for r in result.rows if r.question == "run")
    assert 0 < row.operations["mean"] <= row.operations["most"]
    assert row.differences["residual"] <= subchains.RTOL


def test_numbers_and_picture_are_written(result, tmp_path):
    again = report.load(report.save(result, tmp_path / "subchains.json"))
    assert again.rows == result.rows
    text = report.text(again)
    assert "iterations cold" in text
    assert "whippletree bench subchains --bodies 40 --rounds 1" in text
    assert all(p.stat().st_size > 0 for p in report.plot(again, tmp_path / "subchains.svg"))
