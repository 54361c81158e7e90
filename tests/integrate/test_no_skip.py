"""No event is skipped: windows, contacts, ropes and grazes at any speed, on every integrator, against closed forms."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from event_cases import KINDS, can, problem_of
from whippletree.errors import ModelError
from whippletree.integrate.run.crossings import COARSE, FINE, nodes, pieces, shape_of, shapes_of, spans
from whippletree.integrate.run.events import Probe

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "temporary-constraints.md"


def test_the_first_program_of_the_guide_docks():
    found = {}
    program = re.search(r"```python\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL).group(1)
    exec(program, found)
    made, broken = found["run"].changes
    assert (made.what, broken.what, broken.t) == ("activated", "released", 8.0)
    assert abs(made.t - 2.9) < 1e-10  # 0.6 m less 0.02 m, at 0.2 m/s


@pytest.mark.parametrize("integrator", wt.INTEGRATORS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_random_meetings(kind, integrator):
    """A share of ``soak_events.py``, which draws thousands."""
    for seed in range(3):
        case = kind(np.random.default_rng([7, seed]))
        if can(case, integrator):
            assert problem_of(case, integrator) is None


def test_two_balls_never_pass_through_each_other():
    """Thirty runs at 1 m/s from different distances, most of which went through."""
    for away in np.linspace(0.5, 5.0, 30):
        m = wt.Model("pair", gravity=(0, 0, 0))
        for name in "ab":
            m.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1))
            m.joint(f"{name}_x", "prismatic", m.ground, name, axis="x")
        m.constraint("hit", "roll", body="b", to="a", radius=0.05, on="sphere", to_radius=0.05, slip="all")
        m.temporary("hit", unilateral=True)
        run = wt.simulate(m.compile(), 10.0, q={"b_x": away}, u={"a_x": 1.0})
        assert [c.what for c in run.changes] == ["activated"]
        assert abs(run.changes[0].t - (away - 0.1)) < 1e-10


def test_a_flight_shorter_than_a_step_ends_on_the_floor():
    """With a fixed step of 50 ms, bounces that last less are all found."""
    m = wt.Model("ball")
    m.body("ball", mass=2.0, inertia=(0.01, 0.01, 0.01))
    m.joint("fall", "prismatic", m.ground, "ball", axis="z")
    m.constraint("floor", "point_on_plane", body="ball")
    m.temporary("floor", unilateral=True, restitution=0.5)
    run = wt.simulate(m.compile(), 2.0, q={"fall": 1.0}, integrator="rk4", step=0.05)
    first = np.sqrt(2 / 9.81)
    bounces = [c.t for c in run.changes if c.what == "bounced"]
    expected = first * (1 + 2 * np.cumsum([0.0, *0.5 ** np.arange(1, len(bounces))]))
    assert len(bounces) > 10
    np.testing.assert_allclose(bounces, expected, atol=1e-9)
    assert run["fall.q"].min() > -1e-9


def test_events_need_no_more_evaluations():
    """Isolation takes states of the interpolant, which needs no forces: a run with events takes the same steps."""
    m = wt.Model("swing")
    m.body("bob", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    m.joint("hinge", "revolute", "ground", "bob", axis="y")
    system, event = m.compile(), wt.Event("through", "hinge.q")
    plain, watched = (wt.simulate(system, 5.0, q={"hinge": 1.0}, events=e) for e in ((), [event]))
    assert watched.attrs["evaluations"] == plain.attrs["evaluations"]


def test_a_narrow_dip_is_found_where_its_rate_is_declared():
    """A step function is not smooth: where it dips for a microsecond, only a bound of the rate finds it."""
    m = wt.Model("cart", gravity=(0, 0, 0))
    m.body("cart", mass=1.0, inertia=(1, 1, 1))
    m.joint("rail", "prismatic", "ground", "cart", axis="x")

    def dip(t, q, u):
        return min(abs(q[0] - 0.737) - 1e-6, 1e-3)  # flat but for 2 mm

    event = wt.Event("dip", dip, 0.0, "falling", rate=1.0)
    run = wt.simulate(m.compile(), 1.0, u={"rail": 1.0}, events=[event])
    assert [e.name for e in run.events] == ["dip"]
    assert abs(run.events[0].t - (0.737 - 1e-6)) < 1e-10
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(ModelError, match="rate"):
            wt.Event("dip", dip, rate=wrong)


@pytest.mark.parametrize("seed", range(40))
def test_pieces_tell_all_zeros(seed):
    """Of drawn sums of waves, kinks and parabolas every zero of a fine grid lies in a piece whose ends tell it."""
    draw = np.random.default_rng(seed)
    a, b, c = draw.normal(size=3), draw.uniform(0, 1, 3), draw.uniform(1, 40, 3)
    level = draw.normal()

    def f(t):
        waves = (a[:, None] * np.sin(c[:, None] * (t - b[:, None]))).sum(axis=0)
        return waves + 3.0 * np.abs(t - b[0]) - 2.0 * (t - b[1]) ** 2 + level

    none = np.array([np.nan])

    def sample(t):
        return f(t)[:, None]

    def settled(shape):
        return bool((shape.above | shape.below | shape.simple).all())

    found = 0
    for piece in pieces(sample, 0.0, 1.0, lambda t: np.array([1e-14]), none, settled):
        if not settled(shape_of(t := nodes(piece.a, piece.b, FINE), sample(t), np.array([1e-14]), none)):
            continue
        found += piece.at_a[0] * piece.at_b[0] < 0.0
    values = f(np.linspace(0.0, 1.0, 200_001))
    assert found == (values[:-1] * values[1:] < 0.0).sum()


def test_shafts_may_turn_far_in_a_step_of_a_clutch(monkeypatch):
    """Slip and times depend on no pose, and how far joints turn is known within a step: few states are examined."""
    taken, kept = [], Probe.__call__

    def counted(self, t, y):
        taken.append(t.size)
        return kept(self, t, y)

    monkeypatch.setattr(Probe, "__call__", counted)
    run = wt.simulate(wt.load(GUIDE.parents[2] / "models" / "clutch.toml").compile(), 10.0, u={"motor_shaft": 60.0})
    assert [c.what for c in run.changes] == ["activated", "sticks", "slips", "released"]
    np.testing.assert_allclose([c.t for c in run.changes], [1.0, 1.0 + 6 / 11, 23 / 3, 8.0], atol=1e-9)
    assert sum(taken) < 2000  # 8,500 with pieces as long as the fastest instant of a step allows
    assert len(taken) < 120  # 240 with a kink where the slip ends


def test_parts_of_a_step_are_short_where_it_is_fast():
    t = np.linspace(1.0, 3.0, 33)
    speed = 50.0 * (t - 1.0) ** 4
    ends = spans(t, speed, 2.0)
    assert (ends[0], ends[-1]) == (1.0, 3.0)
    turned = 10.0 * (ends - 1.0) ** 5
    assert np.diff(turned).max() <= 2.0
    assert len(ends) < 1.5 * turned[-1] / 2.0
    assert spans(t, 0.0 * t, 2.0).tolist() == [1.0, 3.0]


def test_many_parts_are_judged_as_each_alone():
    draw = np.random.default_rng(5)
    t = np.array([nodes(a, a + 0.3, COARSE) for a in draw.uniform(0.0, 1.0, 20)])
    values = np.stack([np.sin(9.0 * t), t - 0.7, 0.0 * t + 1e-15], axis=-1)
    noise, rate = np.array([1e-14, 0.0, 1e-12]), np.array([np.nan, 1.0, np.nan])
    together = shapes_of(t, values, noise, rate)
    for n in range(len(t)):
        for whole, own in zip(together, shape_of(t[n], values[n], noise, rate), strict=True):
            assert whole[n].tolist() == own.tolist()


def test_what_leaves_its_value_slowly_takes_few_pieces():
    """Like t^2, as a slip that begins: beyond an eighth of a piece it is free of zeros."""

    def sample(t):
        return (t * t)[:, None]

    def settled(shape):
        return bool((shape.above | shape.below | shape.simple).all())

    found = list(pieces(sample, 0.0, 1.0, lambda t: np.array([1e-11]), np.array([np.nan]), settled))
    assert len(found) < 10  # 18 by halves
    assert found[0].a == 0.0
    assert all(x.b == y.a for x, y in pairwise(found))
