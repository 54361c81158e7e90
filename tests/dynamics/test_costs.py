"""Counts of the papers on parallel algorithms, against what they state, and schedules against their formulas."""

from math import log2

import numpy as np
import pytest

from whippletree.dynamics.auto import chain_operations as costs
from whippletree.dynamics.auto.chain_operations import Count, Messages
from whippletree_lab import bench
from whippletree_lab.bench import theory
from whippletree_lab.bench.theory import Task, binary_assembly, makespan
from whippletree_lab.report import report

N = 1024


def test_dca_needs_four_processors():
    """The "theoretical minimum number of processors required to demonstrate any sort of speed increase" there."""
    assert theory.fewest(lambda n, p: costs.dca(n, p).total, N) == 4
    assert theory.fewest(theory.simulated_dca, N) == 4


def test_dcae_gains_with_two_processors():
    assert theory.fewest(lambda n, p: costs.dcae_balanced(n, p).total, N) == 2
    assert theory.fewest(theory.simulated_dcae, N) == 2
    assert theory.fewest(lambda n, p: costs.dcat(n, p).total, N) == 2


def test_counts_that_are_quoted():
    assert costs.linear(1) == Count(300, 279)
    assert costs.dca(N, 1) == Count(1150 * N, 937 * N)
    assert costs.dca(N, N) == Count(928 * log2(N / 2) + 109, 812 * log2(N / 2) + 92)  # eq. (43)
    assert costs.dcae(N, 4) == Count(928 + 637 * 256 - 495, 812 + 548 * 256 - 446)  # eq. (72)
    for serial in (costs.dcat, costs.dcae, costs.dcae_balanced):  # "the O(n) solution is retrieved"
        assert serial(N, 1) == costs.linear(N)


def test_ratios_that_are_reported():
    """Two to one anticipated for load balancing; a sequential DCA would give about four to one."""
    assert costs.DCAE_BODY.total / costs.BODY.total == pytest.approx(2, rel=0.05)
    assert costs.DCA_BODY.total / costs.BODY.total == pytest.approx(4, rel=0.11)
    assert theory.best_share(2, N) == pytest.approx(2 / 3, abs=0.02)
    assert theory.best_share(4, N) == pytest.approx(2 / 5, abs=0.02)


def test_dcae_widely_outperforms_dca_up_to_many_processors():
    for p in (2, 4, 8, 16, 32, 64, 128, 256):
        assert costs.dcae_balanced(N, p).total < costs.dcat(N, p).total < costs.dca(N, p).total


@pytest.mark.parametrize(("N", "N_sub"), [(128, 4), (1024, 16), (20, 3)])
def test_table_3_adds_up_to_its_last_line(N, N_sub):
    """As printed, but for 1 / N_sub^2 where step VI has 1 / N_sub."""
    each, cut, square = N / N_sub, (N_sub - 1) / N_sub, N / N_sub**2
    m = 615 * each + 484 * cut - 59 * square - 20 / N_sub + 162
    a = 489 * each + 323 * cut - 35 * square - 16 / N_sub + 150 + 3 * log2(N_sub)
    assert costs.hybrid(N, N_sub).m == pytest.approx(m, rel=1e-13)
    assert costs.hybrid(N, N_sub).a == pytest.approx(a, rel=1e-13)
    sent = costs.hybrid_messages(N, N_sub)
    assert sent == pytest.approx(Messages(2 + 3 * log2(N_sub), 6 * log2(N_sub) + 86))
    assert costs.hybrid_messages(N, 1) == Messages(0, 0)


def test_parts_of_table_3_are_its_steps():
    """A body, a cut joint and an iteration, taken together, are the table with the sign of the sequential one."""
    together = costs.HYBRID_BODY + costs.ANSWER_BODY
    assert together == Count(615, 489)
    assert Count(484, 323) == costs.CUT + costs.ANSWER_CUT
    sequential = costs.hybrid_sequential(100, 5)
    assert sequential.m == 490 * 100 + 484 * 4 - 129 * 20 - 20
    assert costs.uncut(10).m == 125 * 10 + 351 * 10 - 215


def test_one_body_costs_what_one_body_costs():
    """Read as a minus twice, the scanned sign of the first makes one body nearly free, as in the others."""
    assert costs.SEQUENTIAL["ABI"](1) == Count(1, 1)
    assert costs.SEQUENTIAL["Kane, with shifting"](1) == Count(53, 47)
    assert costs.SEQUENTIAL["Kane, without shifting"](1) == Count(53, 47)


def test_growth_is_as_named():
    assert costs.cubic(2048) / costs.cubic(1024) == pytest.approx(8, rel=0.03)
    assert costs.logarithmic(2048).total - costs.logarithmic(1024).total == pytest.approx(34 + 732 + 76 + 653)


# ---------------------------------------------------------------- schedules


def test_a_schedule_waits_for_what_it_needs():
    chain = [Task(1.0), Task(2.0, ((0, 0.0),)), Task(3.0, ((1, 0.5),))]
    assert makespan(chain, 5) == 6.5
    side_by_side = [Task(1.0)] * 7
    assert [makespan(side_by_side, p) for p in (1, 2, 3, 7, 9)] == [7, 4, 3, 1, 1]


def test_the_longest_way_goes_first():
    """Two processors: the long chain is begun at once, short tasks fill the other."""
    tasks = [Task(1.0), Task(1.0), Task(1.0), Task(3.0), Task(3.0, ((3, 0.0),))]
    assert makespan(tasks, 2) == 6.0


def test_an_assembly_does_all_its_work():
    rng = np.random.default_rng(0)
    leaves = rng.uniform(1.0, 2.0, 13).tolist()
    tasks = binary_assembly(leaves, 5.0)
    assert makespan(tasks, 1) == pytest.approx(sum(leaves) + 5.0 * (13 - 2))  # the last of 12 joins is free
    times = [makespan(tasks, p) for p in (1, 2, 4, 8, 16)]
    assert times == sorted(times, reverse=True)
    assert makespan(binary_assembly([2.0], 5.0), 1) == 2.0


@pytest.mark.parametrize("p", [2, 4, 16, 64])
def test_schedules_confirm_the_formulas(p):
    """On powers of two of processors: DCA to a leaf's part; DCAe to what is trivial at its ends, some joins of it."""
    assert theory.simulated_dca(256, p) == pytest.approx(costs.dca(256, p).total, abs=150)
    assert theory.simulated_dcae(256, p) == pytest.approx(costs.dcae_balanced(256, p).total, rel=0.06, abs=1200)
    assert theory.simulated_hybrid(256, p) == pytest.approx(costs.hybrid(256, p).total, rel=0.05)
    messages = costs.hybrid_messages(256, p)
    more = theory.simulated_hybrid(256, p, 1000.0, 10.0) - theory.simulated_hybrid(256, p)
    assert more == pytest.approx(1000.0 * messages.alpha + 10.0 * messages.beta)


def test_more_processors_are_never_slower():
    for cost in (theory.simulated_dca, theory.simulated_dcae, theory.simulated_hybrid):
        times = [cost(128, p) for p in (1, 2, 4, 8, 16)]
        assert times == sorted(times, reverse=True)


def test_the_bench_tells_and_draws(tmp_path, monkeypatch):
    monkeypatch.setattr(theory, "GROWING", (4, 64, 1024))
    result = bench.run("theory", sizes="16,32")
    rows = [r for r in result.rows if r.question == "processors"]
    assert [(r.bodies, r.threads) for r in rows][-1] == (32, 32)
    assert {r.threads for r in rows if r.bodies == 16} == {1, 2, 3, 4, 5, 6, 7, 8, 16}
    text = report.text(result)
    assert "DCA gains over O(n), 1024 bodies: 4; here: formula 4, simulated 4" in text
    assert "theory: operations one after the other" in text
    again = report.load(report.save(result, tmp_path / "theory.json"))
    assert again.rows == result.rows
    assert all(path.stat().st_size > 1000 for path in report.plot(result, tmp_path / "theory.svg"))


def test_the_share_of_work_on_the_way_in_does_not_matter_where_trees_are_even(monkeypatch):
    before = theory.simulated_dca(64, 8)
    monkeypatch.setattr(theory, "INWARD", 0.75)
    assert theory.simulated_dca(64, 8) == pytest.approx(before)
