"""Every validation case, comparison by comparison, and what its page says of them."""

import numpy as np
import pytest

from whippletree_lab.reproduce import comparison, validation
from whippletree_lab.reproduce.checks import Outcome
from whippletree_lab.reproduce.page import Page


@pytest.mark.parametrize("name", validation.CASES)
def test_case_is_within_its_tolerances(name):
    outcome = validation.CASES[name].run()
    assert len(outcome.checks) > 3
    assert outcome.seconds > 0
    off = [check for check in outcome.checks if not check.holds]
    assert not off


def test_a_comparison_shows_the_worst_and_can_fail():
    out = Outcome()
    out.compare("numbers", [1.0, 2.1, 3.0], [1.0, 2.0, 3.0], 0.2)
    out.compare("relative", [1.0, 2.1], [1.0, 2.0], 0.01, relative=True)
    out.compare("nothing", [np.nan, 1.0], [1.0, 1.0], 1.0)
    out.bound("zero", [1e-3, -2e-3], 1e-3)
    worst = out.checks[0]
    assert (worst.reference, worst.ours, worst.holds) == (2.0, 2.1, True)
    assert worst.difference == pytest.approx(0.1)
    assert [check.holds for check in out.checks[1:]] == [False, False, False]


def test_numbers_of_an_engine_that_is_not_asked_are_kept(tmp_path):
    """The page shows an earlier run's, and says so; without one it says that there is none."""
    (tmp_path / "validation").mkdir()
    kept = comparison.Kept(tmp_path / "validation" / "engines.json")
    kept.rows["mujoco"] = [comparison.Compared("mujoco", "a chain", "forward dynamics", 1e-15, 1e-6, 2e-6)]
    kept.versions["mujoco"], kept.machines["mujoco"] = "3.0", "some processor"
    kept.save()
    page = Page(tmp_path, "validation", "Validation", "whippletree reproduce validation", "validation")
    validation._engines(page, True, print)
    text = page.write().read_text("utf-8")
    assert "| a chain | forward dynamics | 1e-15 | 1.00 µs | 2.00 µs | - | - |" in text
    assert "some processor. Numbers of an earlier run" in text
    assert text.count("Not compared") == 2
    assert comparison.Kept(kept.path).rows == kept.rows


def test_engines_agree_with_ours_on_a_validation_model():
    """Pinocchio and MuJoCo are extras of the tests. Rounding of a handful of bodies."""
    for engine in ("pinocchio", "mujoco"):
        rows = list(comparison._evaluations(engine, ("P05 heavy top", "P08 floating tree"), rounds=1))
        assert len(rows) == 6
        assert max(row.difference for row in rows) < 1e-13
