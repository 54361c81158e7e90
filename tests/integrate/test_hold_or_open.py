"""Contacts that would pull while they hold and close again when they are released, and what stands while constraints
change: such runs slip, hold another set of contacts, or end by a named error. Changes cost a run in proportion to their
number.
"""

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import SimulationError
from whippletree.integrate.contacts.hold_or_open import MOST_CHANGES, Standstill
from whippletree.integrate.contacts.stopped_at import stopped_at
from whippletree.result.records import Change

TILT = 0.5  # rad
RADIUS = 0.012  # m


def coin(**options):
    m = wt.Model("coin")
    m.body("coin", **wt.cylinder(mass=0.01, radius=RADIUS, length=0.001, axis="y"))
    m.joint("flight", "free", m.ground, "coin")
    m.constraint("floor", "roll", body="coin", radius=RADIUS, axis="y")
    if options:
        m.temporary("floor", **options)
    return m.compile()


def tilted(angle=TILT):
    return {"flight": (0, 0, RADIUS * np.cos(angle), np.cos(angle / 2), np.sin(angle / 2), 0, 0)}


@pytest.mark.parametrize("integrator", ["dopri5", "dop853", "rk4"])
def test_a_coin_that_rolls_and_would_pull_is_reported(integrator):
    """Held it pulls from t = 0.0625973 s on; released its rim falls: rolling without slipping has no solution."""
    step = 1e-4 if integrator == "rk4" else None
    with pytest.raises(SimulationError, match=r"'floor' of 'coin' can neither hold nor open at t = 0\.0625973 s") as e:
        wt.simulate(coin(unilateral=True), 0.2, q=tilted(), integrator=integrator, step=step)
    assert "pass friction" in e.value.hint
    assert len(e.value.partial.changes) < 5
    held = wt.simulate(coin(), 0.0625, q=tilted(), output_step=1e-3)
    assert (held["floor.reaction"][:, 5] > 0.0).all()  # up to there it pushes


def test_a_coin_that_would_pull_while_it_sticks_slips():
    """The same pose, with friction: there is a motion, in which it slips and is pressed."""
    there = wt.simulate(coin(), 0.064, q=tilted(), output_step=1e-3)
    assert there["floor.reaction"][-1, 5] < 0.0
    run = wt.simulate(coin(unilateral=True, friction=5.0), 1e-3, q=there.q[-1], u=there.u[-1], output_step=1e-4)
    assert [c.what for c in run.changes][-1] == "slips"
    assert len(run.changes) < 6
    assert (run["floor.reaction"][1:, 5] > 0.0).all()


def change(t, what="activated", u=1.0, after=None):
    q, before, after = np.zeros(1), np.array([u]), np.array([u if after is None else after])
    return Change("grip", what, t, np.zeros(6), 0.0, None)._replace(
        q_before=q, u_before=before, q_after=q, u_after=after
    )


def test_changes_without_end_are_reported():
    stands = Standstill("hand")
    for n in range(MOST_CHANGES):
        stands.look(change(2.0 + 1e-12 * n, "activated" if n % 2 else "released"))
    with pytest.raises(SimulationError, match=r"'grip' of 'hand' change without end at t = 2 s"):
        stands.look(change(2.0))


@pytest.mark.parametrize("moves", ["time", "velocity", "jump"])
def test_changes_of_what_moves_are_not(moves):
    stands = Standstill("hand")
    for n in range(10 * MOST_CHANGES):
        t = 2.0 + 1e-6 * n * (moves == "time")
        stands.look(change(t, u=n if moves == "velocity" else 1.0, after=n if moves == "jump" else None))


def test_the_text_of_changes_is_written_once(monkeypatch):
    """Not at each report of progress, which would cost the square of their number."""
    written = []
    text = Change.text.__func__
    monkeypatch.setattr(Change, "text", classmethod(lambda cls, changes: written.append(1) or text(cls, changes)))
    m = wt.Model("between walls", gravity=(0, 0, 0))
    m.body("ball", mass=1.0, inertia=(1, 1, 1))
    m.joint("slide", "prismatic", m.ground, "ball", axis="z")
    m.constraint("low", "point_on_plane", body="ball", to_at=(0, 0, -0.1))
    m.constraint("high", "point_on_plane", body="ball", to_at=wt.pose((0, 0, 0.1), rpy=(np.pi, 0, 0)))
    for name in ("low", "high"):
        m.temporary(name, unilateral=True, restitution=1.0)
    reported = []
    run = wt.simulate(m.compile(), 2.0, u={"slide": [4.1]}, progress=lambda t: reported.append(t.steps))
    assert len(run.changes) == 41
    assert len(reported) > 41
    assert len(written) == 1
    assert reported == sorted(reported)
    assert run.attrs["accepted"] == reported[-1]


@pytest.mark.parametrize("options", [{}, {"unilateral": True, "friction": 5.0}])
def test_a_coin_that_falls_flat_is_named(options):
    """Its lowest point runs around the rim ever faster."""
    with pytest.raises(SimulationError, match=r"at t = 0\.074\d* s: 'floor' has no point of contact there") as e:
        wt.simulate(coin(**options), 0.2, q=tilted())
    assert "the wheel of 'coin' lies flat but for" in e.value.got


def test_changes_that_accumulate_are_named():
    """Where a run stops for short steps, those of late are in the message."""
    late = [change(1.0 - 1e-5 * 0.5**n) for n in range(12)]
    upright = np.array([0, 0, RADIUS, 1.0, 0, 0, 0])
    found = stopped_at(coin(), late, 1.0, upright, "stops")
    assert "stops at t = 1 s, where changes accumulate: 'grip'" in found.what
    assert stopped_at(coin(), late[:5], 1.0, upright, "stops") is None
