"""Runs that stay on their constraints by Baumgarte's terms, or not at all; and what is refused."""

import numpy as np
import pytest

import whippletree as wt
from zoo import four_bar, pendulum


@pytest.fixture(scope="module")
def start():
    system = four_bar().compile()
    return system, wt.assemble(system, {"shaft": 0.5}, {"shaft": 3.0})


def run(start, until=2.0, **options):
    system, state = start
    return wt.simulate(system, until, q=state.q, u=state.u, rtol=1e-5, atol=1e-7, **options)


def test_gaps_are_held_small_by_baumgarte_and_grow_without(start):
    """Projection leaves rounding; Baumgarte what his terms have not yet pulled back; nothing the drift of the steps."""
    gaps = {how: run(start, stabilization=how)["closure"].max() for how in ("projection", "baumgarte", "none")}
    assert gaps["projection"] < 1e-12
    assert 1e-12 < gaps["baumgarte"] < 0.2 * gaps["none"]
    assert gaps["none"] < 1e-3


def test_a_gap_dies_out_as_the_paper_says(start):
    """g'' + 2 a g' + a^2 g = 0 from g' = 0: g = g0 (1 + a t) exp(-a t). The bars' speed adds a little g'."""

    def open_it(t, q, u):
        q[2] += 1e-5
        opened.append(t)

    for alpha in (10.0, 25.0):
        opened = []
        crossing = wt.Event("open", lambda t, q, u: t, 0.1, "rising", open_it)
        result = run(start, 1.0, stabilization="baumgarte", alpha=alpha, beta=alpha, events=[crossing])
        (t0,) = opened
        after = result.t > t0
        x = alpha * (result.t[after] - t0)
        g = result["closure"][after]
        law = (1 + x) * np.exp(-x)
        assert g[0] > 1e-6
        assert np.abs(g / g[0] - law / law[0]).max() < 0.1


def test_a_file_of_another_stabilization_is_not_gone_on_with(start, tmp_path):
    path = tmp_path / "run.nc"
    kept = run(start, 0.1, stabilization="baumgarte", output=path)
    assert kept.attrs["stabilization"] == "baumgarte"
    with pytest.raises(wt.ModelError, match="stabilization differs"):
        run(start, 0.1, output=path, resume=True, algorithm="multipliers")


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"stabilization": "baumgart"}, "stabilization 'baumgart' is not known"),
        ({"alpha": 5.0}, "alpha belongs to Baumgarte's stabilization"),
        ({"stabilization": "none", "beta": 5.0}, "beta belongs to Baumgarte's stabilization"),
        ({"stabilization": "baumgarte", "beta": -1.0}, "beta must not be negative: gaps would grow"),
        ({"stabilization": "baumgarte", "alpha": "much"}, "alpha"),
        ({"stabilization": "baumgarte", "algorithm": "reduction"}, "algorithm 'reduction' runs with projection only"),
    ],
)
def test_refusals(start, options, reported):
    with pytest.raises(wt.ModelError, match=reported):
        run(start, **options)


def test_a_tree_has_nothing_to_stabilize():
    with pytest.raises(wt.ModelError, match="'pendulum' has no loops or constraints to stabilize"):
        wt.simulate(pendulum().compile(), 1.0, stabilization="baumgarte")
