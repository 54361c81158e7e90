"""The benchmark of the first picture."""

from pathlib import Path

import pytest

import whippletree as wt
from whippletree.view.export import find_browser
from whippletree_lab import bench
from whippletree_lab.bench import view
from whippletree_lab.bench.result import OURS
from whippletree_lab.report import report

ROOT = Path(__file__).parents[2]


def test_moments_follow_each_other(monkeypatch, tmp_path):
    pytest.importorskip("viser", reason="viser is not installed")
    pytest.importorskip("playwright.sync_api", reason="no browser test: playwright is not installed")
    try:
        find_browser()
    except wt.ModelError:
        pytest.skip("no browser test: there is no chromium on this machine")
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(view, "SIZE", {"width": 700, "height": 400})  # which is drawn sooner
    result = bench.run("view", sizes=(1,), rounds=1)
    assert [row.question for row in result.rows] == list(view.MOMENTS)
    seconds = [row.seconds[OURS] for row in result.rows]
    assert seconds == sorted(seconds)
    assert "its colours are in the picture" in report.text(result)
    assert all(path.stat().st_size > 1000 for path in report.plot(result, tmp_path / "view"))


def test_outside_a_clone_there_is_no_model(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(wt.ModelError, match="is not here"):
        bench.run("view", rounds=1)


def test_a_command_that_ends_at_once_is_reported(tmp_path):
    class Page:
        def add_init_script(self, text):
            pass

        def close(self):
            pass

    browser = type("Browser", (), {"new_page": lambda self, **options: Page()})()
    with pytest.raises(wt.SimulationError, match="did not open its port"):
        view._first_picture(browser, tmp_path / "none.nc")
