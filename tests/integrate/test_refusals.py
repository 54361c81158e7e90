"""What cannot be made at a moment is refused, by name, and nothing has changed."""

import warnings

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError, ModelWarning
from whippletree.integrate.contacts.impulse import impulse
from whippletree.integrate.contacts.run import Switching
from whippletree.integrate.methods import dopri5
from whippletree.integrate.run.task import make_task
from whippletree.integrate.simulate import A_RUN


def cart():
    """A cart at a given pace on a rail, with a stop, a hook that is too far, and a floor that is not below it."""
    m = wt.Model("cart", gravity=(0, 0, 0))
    m.body("cart", mass=1.0, inertia=(1, 1, 1))
    m.joint("rail", "prismatic", "ground", "cart", axis="x")
    m.constraint("pace", "speed", joint="rail", speed=1.0)
    m.constraint("stop", "relative", joint="rail")
    m.temporary("stop", here=True)
    m.constraint("hook", "latch", body="cart", to_at=(0.0, 0.5, 0.0))
    m.temporary("hook")
    m.constraint("rope", "distance", body="cart", length=9.0)
    m.temporary("rope", unilateral=True)
    return m.compile()


def under_way(system, u):
    t = np.linspace(0.0, 5.0, 51)
    task = make_task(system, "multipliers", "dopri5", t, system.q0, np.array(u, float), step=1.0)
    run = Switching(task, dopri5.begin, None, (), "auto", A_RUN)
    run.proceed(4)
    return run


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("stop", "it contradicts 'pace'"),
        ("hook", "it stays violated by 0.5 m at best: the joints do not reach it from here"),
        ("rope", "its two sides do not meet: they are"),
    ],
)
def test_a_command_that_is_refused_is_answered_and_changes_nothing(name, why):
    run = under_way(cart(), [1.0])
    t, y = run.time, run.watch.run.at(run.time)
    with pytest.warns(ModelWarning, match=f"temporary '{name}' is not activated at t = .*: {why}"):
        (answer,) = run.change(name, "activate")
    assert (answer.name, answer.what, answer.t, answer.lost) == (name, "refused", t, 0.0)
    assert answer.why.startswith(why)
    assert name not in run.constraint_state.system.held
    np.testing.assert_array_equal(run.watch.run.at(run.time), y)
    assert run.proceed(10**6) is None
    assert abs(run.task.Q[-1, 0] - 5.0) < 1e-9


def test_a_command_that_is_obeyed_is_answered():
    m = wt.Model("arm", gravity=(0, 0, 0))
    m.body("arm", **wt.rod(mass=1.0, length=1.0))
    m.joint("hinge", "revolute", "ground", "arm", axis="z")
    m.constraint("lock", "relative", joint="hinge")
    m.temporary("lock", here=True)
    run = under_way(m.compile(), [2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [c.what for c in run.change("lock", "activate")] == ["activated"]
        assert run.change("lock", "activate") == []
        assert [c.what for c in run.change("lock", "release")] == ["released"]
    with pytest.raises(ModelError, match="temporary constraint 'lok' is not known"):
        run.change("lok", "activate")
    with pytest.raises(ModelError, match="a temporary constraint has no action 'open'"):
        run.change("lock", "open")


def test_redundant_constraints_share_an_impulse():
    """Two latches that say the same: momentum balances to rounding, and the account closes."""
    m = wt.Model("twice", gravity=(0, 0, 0))
    for name, mass in (("A", 5.0), ("B", 2.0)):
        m.body(name, **wt.box(mass=mass, size=(1, 0.5, 0.5)))
        m.joint(f"flight_{name}", "free", "ground", name)
    for n, y in enumerate((0.2, -0.2)):
        m.constraint(f"latch{n}", "latch", body="B", to="A", at=(-0.5, y, 0), to_at=(0.5, y, 0))
        m.temporary(f"latch{n}", activate_at=0.5 * n)
    q = {"flight_B": (1.0, 0, 0, 1, 0, 0, 0)}
    run = wt.simulate(m.compile(), 1.0, q=q, u={"flight_B": (0.1, 0.3, -0.2, 0.4, 0.5, -0.3)}, rtol=1e-10, atol=1e-12)
    assert [c.what for c in run.changes] == ["activated", "activated"]
    assert run.changes[0].lost > 0.05
    assert abs(run.changes[1].lost) < 1e-12  # nothing was left to do
    p = run["momentum"]
    assert np.abs(p[1] - p[0]).max() < 1e-12 * 5
    assert np.abs(run["energy.balance"]).max() < 1e-10
    both = m.compile().holding(m.constraints)
    rng, start = np.random.default_rng(2), run.q[0]
    found = impulse(both, start, rng.normal(size=12), 0.0)
    assert np.abs(found.rows.C @ found.u).max() < 1e-12
    assert found.lam[:6] == pytest.approx(found.lam[6:], abs=np.abs(found.lam).max())  # both take part
    assert np.abs(found.lam[6:]).max() > 0.0


def test_motions_that_contradict_a_contact_are_named():
    """A body that is driven through a floor goes on; the floor is refused."""
    m = wt.Model("driven")
    m.body("ram", mass=1.0, inertia=(1, 1, 1))
    m.joint("guide", "prismatic", "ground", "ram", axis="z", at=(0, 0, 1.0))
    m.force("drive", "motion", joint="guide", position=wt.Ramp(rate=-1.0))
    m.constraint("floor", "point_on_plane", body="ram")
    m.temporary("floor", unilateral=True, friction=0.5)
    with pytest.warns(
        ModelWarning, match="'floor' is not activated at t = 1 s: it contradicts prescribed motion 'drive'"
    ):
        run = wt.simulate(m.compile(), 1.5)
    assert run.changes[0].what == "refused"
    assert run["guide.q"][-1] == pytest.approx(-1.5)
