"""The papers made again: what they state holds where it is said to, pages and pictures are written, and the command."""

import numpy as np
import pytest

from whippletree.cli.app import main
from whippletree.errors import ModelError
from whippletree_lab import reproduce
from whippletree_lab.bench import theory
from whippletree_lab.reproduce import constrained, dcae, flexible, grcr, hybrid
from whippletree_lab.reproduce.page import Page, digits, small


def agreed(statements):
    """Each as (place, whether it agrees), after a look at what every row must have."""
    for s in statements:
        assert s.agrees in ("yes", "no", "in part", "not comparable")
        assert s.agrees == "yes" or s.why, f"{s.where} does not agree, and nothing says why"
    return [(s.where, s.agrees) for s in statements]


# ---- Critchley and Anderson 2003


def test_dependent_sets_of_the_five_bar_are_those_of_the_case():
    """P01: which sets are singular at the start; (k, 4, 5) always are."""
    singular = {v: {s for s, value in grcr.dependent_sets(v).items() if value < grcr.SINGULAR} for v in "AB"}
    always = {(1, 4, 5), (2, 4, 5), (3, 4, 5)}
    assert singular == {"A": always | {(2, 3, 4), (2, 3, 5)}, "B": always | {(1, 2, 4), (1, 2, 5)}}


def test_five_bar_both_ways():
    """Tolerances of the runs are 1e-10; variant A passes near a singular pose, which amplifies them."""
    for variant, most in (("A", 1e-6), ("B", 1e-10)):
        runs = grcr.five_bar_runs(variant, grcr.FINE)
        first = runs.pop("reduction")
        assert max(np.abs(run.q - first.q).max() for run in runs.values()) < most
        assert first["closure"].max() < 1e-12


def test_reduction_grows_with_loops_and_multipliers_with_their_cube():
    counts = {family: grcr.operations(family, grcr.GROWING[family][:3]) for family in ("ladder", "tower", "lattice")}
    assert grcr.growth(counts["ladder"], "reduction") == pytest.approx(1, abs=0.05)
    assert grcr.growth(counts["tower"], "reduction") == pytest.approx(1, abs=0.1)
    assert 2.2 < grcr.growth(counts["ladder"], "multipliers") < 3
    assert 1.3 < grcr.growth(counts["lattice"], "reduction") < 2


# ---- Anderson and Duan 1999


def test_the_coefficient_matrix_is_block_tridiagonal_and_definite():
    found, loads = hybrid.gamma(12, 4)
    assert loads == [5, 5, 5]
    assert hybrid.outside_blocks(found, loads) == 0.0
    assert np.linalg.eigvalsh(found).min() > 0


def test_iterations_hardly_grow_with_the_chain_but_do_with_its_pieces():
    growing, dividing = hybrid.iterations(quick=True)
    assert hybrid.power(growing) < 0.5
    assert hybrid.power(dividing[128]) > 1
    reported = dict(agreed(hybrid.statements(growing, dividing)))
    assert reported["fig. 5, sec. 6"] == "yes"
    assert reported["fig. 1, eqs (3a) and (3b)"] == "yes"


# ---- Kelly 1987


def test_equations_of_constrained_motion():
    run = constrained.motion()
    at = constrained.equations(run)
    assert (at.rows, at.dofs) == (3, 8)
    assert max(abs(x) for x in at[2:]) < 1e-11
    assert [change.what for change in run.changes] == ["activated", "released"]
    assert np.abs(run["momentum"] - run["momentum"][0]).max() < 1e-9
    _, force, known = constrained.blade_force()
    assert np.abs(force - known).max() < 1e-9


def test_where_the_sweep_wins():
    assert 8 <= constrained.crossing() <= constrained.CROSSING


# ---- Jain and Rodriguez 1992


def test_operators_of_flexible_bodies():
    assert dict(agreed(flexible.statements(flexible.lemmas())))["eq. (54), lemma 2"] == "yes"


# ---- Critchley, Anderson and Binani 2007


def test_what_is_reported_of_divide_and_conquer(monkeypatch):
    reported = agreed(dcae.statements())
    assert reported[0] == ("theoretical DCA performance", "yes")
    assert reported[1] == ("terminal subsystems, fig. 6", "yes")
    assert 1.2 < dcae.two_handles() < 1.6
    agreed(theory.hybrid_statements())


# ---- pages


@pytest.mark.parametrize("paper", ["constrained", "flexible"])
def test_a_page_is_written(paper, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["whippletree", "reproduce", paper, "-o", str(tmp_path), "--quick"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    page = (tmp_path / "papers" / f"{paper}.md").read_text("utf-8")
    assert "## What agrees" in page
    assert f"`whippletree reproduce {paper} --quick`" in page
    for line in page.splitlines():
        if line.startswith("!["):
            assert (tmp_path / "papers" / line.split("(")[-1].rstrip(")")).stat().st_size > 1000
    assert "nan" not in page.lower().split()


def test_names_that_are_not_known_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(ModelError, match="reproduction 'gcrc' is not known"):
        reproduce.run(["flexible", "gcrc"], tmp_path / "there")
    assert not (tmp_path / "there").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelError, match="cannot be made"):
        reproduce.run(["flexible"], tmp_path / "file", quick=True)


def test_a_page_is_whole_with_its_pictures(tmp_path):
    page = Page(tmp_path, "name", "Title", "whippletree reproduce name")
    page.table(["a", "b"], [["x", "1"]])
    with page.figure("picture", "a line", (2, 2)) as figure:
        figure.subplots().plot([0, 1])
    page.write()
    assert [path.name for path in page.written] == ["name.md", "picture.svg", "picture.png"]
    assert "| x | 1 |" in (tmp_path / "name.md").read_text("utf-8")


def test_numbers_in_words():
    assert [digits(x) for x in (0.0, 1234567.0, 12.345, 0.01234, 1.5e-7, 2e10)] == [
        "0", "1,234,567", "12.3", "0.0123", "1.50e-7", "2.00e10",
    ]  # fmt: skip
    assert [small(x) for x in (0.0, 1.2e-10, 3e-5, 2.0)] == ["0", "1e-10", "3e-5", "2e0"]
