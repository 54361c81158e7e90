"""Changes at one moment: all of them are made, in any order of declaration, in simulate, live and resumed runs."""

import itertools

import numpy as np
import pytest

import whippletree as wt
from whippletree.realtime.stepper import Stepper

ADAPTIVE = [name for name, method in wt.INTEGRATORS.items() if getattr(method, "LOOPS", True)]


def wheels(count=3, order=None, **temporary):
    m = wt.Model("wheels", gravity=(0, 0, 0))
    for n in range(count):
        m.body(f"wheel{n}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        m.joint(f"axle{n}", "revolute", m.ground, f"wheel{n}", axis="z")
    for n in order or range(count):
        m.constraint(f"brake{n}", "speed", joint=f"axle{n}")
        m.temporary(f"brake{n}", **(temporary or {"activate_at": 0.5}))
    return m, {f"axle{n}": 1.0 + n for n in range(count)}


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_three_brakes_stop_three_wheels(integrator):
    m, u = wheels()
    run = wt.simulate(m.compile(), 1.0, u=u, integrator=integrator)
    assert [(c.name, c.what, c.t) for c in run.changes] == [(f"brake{n}", "activated", 0.5) for n in range(3)]
    assert np.abs(run.u[-1]).max() < 1e-12
    for n, c in enumerate(run.changes):
        assert c.lost == pytest.approx(0.05 * (1 + n) ** 2, rel=1e-6)
        assert abs(c.impulse).max() == pytest.approx(0.1 * (1 + n), rel=1e-6) or not abs(c.impulse).any()
        np.testing.assert_allclose(c.u_before, [1.0, 2.0, 3.0], rtol=1e-6)
        np.testing.assert_allclose(c.u_after, 0.0, atol=1e-12)
        assert c.q_before.shape == (3,)
    assert abs(run["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("count", [2, 5, 8])
def test_releases_of_one_moment(count):
    m, _ = wheels(count, begins="active", release_at=0.5)
    for n in range(count):
        m.force(f"drive{n}", "motor", joint=f"axle{n}", torque=0.1 * (1 + n))
    run = wt.simulate(m.compile(), 1.0)
    assert [(c.what, c.t) for c in run.changes] == [("released", 0.5)] * count
    np.testing.assert_allclose(run.u[-1], 0.5 * (1 + np.arange(count)), rtol=1e-8)


def test_an_activation_at_the_moment_of_a_release():
    m, _ = wheels(2)
    m.temporaries.clear()
    m.temporary("brake0", begins="active", release_at=0.5)
    m.temporary("brake1", activate_at=0.5)
    run = wt.simulate(m.compile(), 1.0, u={"axle1": 2.0})
    assert [(c.name, c.what, c.t) for c in run.changes] == [("brake0", "released", 0.5), ("brake1", "activated", 0.5)]
    assert abs(run.u[-1]).max() < 1e-12


def test_made_and_broken_at_the_same_time():
    """The impulse acts, and the constraint is gone; and the other way around, where it begins made."""
    m, u = wheels(1, activate_at=0.5, release_at=0.5)
    run = wt.simulate(m.compile(), 1.0, u=u)
    assert [(c.what, c.t) for c in run.changes] == [("activated", 0.5), ("released", 0.5)]
    assert abs(run.u[-1]).max() < 1e-12
    m, u = wheels(1, begins="active", activate_at=0.5, release_at=0.5)
    run = wt.simulate(m.compile(), 1.0)
    assert [(c.what, c.t) for c in run.changes] == [("released", 0.5), ("activated", 0.5)]
    m, u = wheels(1, activate_at=0.0, release_at=0.0)
    run = wt.simulate(m.compile(), 1.0, u=u)
    assert [(c.what, c.t) for c in run.changes] == [("activated", 0.0), ("released", 0.0)]


def test_symmetric_latches():
    """Three ships reach three berths at once."""
    m = wt.Model("ships", gravity=(0, 0, 0))
    q, u = {}, {}
    for n in range(3):
        m.body(f"ship{n}", mass=1.0 + n, inertia=(1, 1, 1))
        m.joint(f"flight{n}", "free", m.ground, f"ship{n}")
        m.constraint(f"berth{n}", "latch", body=f"ship{n}", to_at=(0, 3.0 * n, 0))
        m.temporary(f"berth{n}", activate_within=0.05)
        q[f"flight{n}"], u[f"flight{n}"] = (-0.3, 3.0 * n, 0, 1, 0, 0, 0), (0, 0, 0, 0.1, 0, 0)
    run = wt.simulate(m.compile(), 4.0, q=q, u=u)
    assert sorted(c.name for c in run.changes) == ["berth0", "berth1", "berth2"]
    assert np.abs(np.array([c.t for c in run.changes]) - 2.5).max() < 1e-10
    assert abs(run.u[-1]).max() < 1e-12


def ball_and_wheel(order):
    """At 1 s a ball hits the floor, a brake is made, a lock let go, and events record, change and stop nothing."""
    m = wt.Model("all", gravity=(0, 0, 0))
    m.body("ball", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.joint("fall", "prismatic", m.ground, "ball", axis="z")
    for n in range(3):
        m.body(f"wheel{n}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        m.joint(f"axle{n}", "revolute", m.ground, f"wheel{n}", axis="z")
    m.force("drive", "motor", joint="axle1", torque=0.1)
    parts = {
        "floor": lambda: m.constraint("floor", "point_on_plane", body="ball"),
        "brake": lambda: m.constraint("brake", "speed", joint="axle0"),
        "lock": lambda: m.constraint("lock", "relative", joint="axle1"),
        "clutch": lambda: m.constraint("clutch", "speed", joint="axle2"),
    }
    how = {
        "floor": {"unilateral": True, "restitution": 0.5},
        "brake": {"activate_at": 1.0},
        "lock": {"begins": "active", "release_at": 1.0},
        "clutch": {},
    }
    for name in order:
        parts[name]()
        m.temporary(name, **how[name])
    return m.compile(), {"q": {"fall": 0.5}, "u": {"fall": -0.5, "axle0": 2.0, "axle2": 3.0}}


def coinciding(calls):
    def faster(t, q, u):
        calls.append(t)

    return [
        wt.Event("low", "ball.position.z", 0.0, "falling"),
        wt.Event("grip", "ball.position.z", 0.0, "falling", then="make clutch"),
        wt.Event("call", "fall.q", 0.0, "falling", then=faster),
        wt.Event("clock", lambda t, q, u: t - 1.0, 0.0, "rising"),
    ]


@pytest.mark.parametrize("order", list(itertools.permutations(["floor", "brake", "lock", "clutch"]))[::5])
@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_all_kinds_in_any_order(order, integrator):
    calls = []
    system, start = ball_and_wheel(order)
    run = wt.simulate(system, 2.0, events=coinciding(calls), integrator=integrator, **start)
    assert {(c.name, c.what) for c in run.changes} == {
        ("floor", "bounced"), ("brake", "activated"), ("lock", "released"), ("clutch", "activated"),
    }  # fmt: skip
    assert len(run.changes) == 4
    assert np.abs(np.array([c.t for c in run.changes]) - 1.0).max() < 1e-10
    assert [e.name for e in run.events] == ["low", "grip", "call", "clock"]
    assert len(calls) == 1
    named = {name: run[f"{name}.u"][-1] for name in ("fall", "axle0", "axle1", "axle2")}
    assert named == pytest.approx({"fall": 0.25, "axle0": 0.0, "axle1": 1.0, "axle2": 0.0}, abs=1e-8)
    assert abs(run["energy.balance"]).max() < 1e-7


def test_two_functions_of_one_moment_are_both_called():
    m, u = wheels(2, begins="open")
    m.constraints.clear(), m.temporaries.clear()

    def stop(n):
        def change(t, q, u):
            u[n] = 0.0

        return change

    events = [wt.Event(f"stop{n}", lambda t, q, u: t - 0.5, 0.0, "rising", then=stop(n)) for n in range(2)]
    run = wt.simulate(m.compile(), 1.0, u=u, events=[*events, wt.Event("late", lambda t, q, u: t, 0.5, "rising")])
    assert abs(run.u[-1]).max() == 0.0
    assert [e.name for e in run.events] == ["stop0", "stop1", "late"]


def test_impulses_of_one_moment_do_not_depend_on_their_order():
    """Two brakes on wheels that a gear couples: each takes the same impulse whichever is declared first."""
    found = []
    for order in ((0, 1), (1, 0)):
        m, _ = wheels(2, order)
        m.constraint("couple", "speed", joint="axle0", of="axle1", ratio=1.0)
        run = wt.simulate(m.compile(), 1.0, u={"axle0": 1.0, "axle1": 1.0})
        found.append({c.name: (c.lost, *c.impulse) for c in run.changes if c.what == "activated"})
    assert found[0].keys() == found[1].keys() == {"brake0", "brake1"}
    for name in found[0]:
        np.testing.assert_allclose(found[0][name], found[1][name], atol=1e-12)


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_live_runs_make_all_of_them(integrator):
    m, u = wheels(3)
    stepper = Stepper(m.compile(), None, u, 1e-3, integrator=integrator)
    stepper.advance(700)
    assert [(c.name, c.what, c.t) for c in stepper.changes] == [(f"brake{n}", "activated", 0.5) for n in range(3)]
    assert abs(stepper.y[3:6]).max() < 1e-12
    system, start = ball_and_wheel(["floor", "brake", "lock", "clutch"])
    stepper = Stepper(system, start["q"], start["u"], 1e-3, integrator=integrator)
    stepper.advance(1500)
    assert [(c.name, c.what) for c in stepper.changes] == [
        ("lock", "released"),
        ("brake", "activated"),
        ("floor", "bounced"),
    ]


def test_released_a_while_after_each_activation():
    m, u = wheels(1, activate_at=0.25, release_after=0.5)
    m.force("drive", "motor", joint="axle0", torque=0.1)
    again = wt.Event("again", lambda t, q, u: t - 1.0, 0.0, "rising", then="make brake0")
    run = wt.simulate(m.compile(), 2.0, u=u, events=[again])
    assert [(c.what, c.t) for c in run.changes] == [
        ("activated", 0.25),
        ("released", 0.75),
        ("activated", 1.0),
        ("released", 1.5),
    ]
    assert run.u[-1, 0] == pytest.approx(0.5, rel=1e-9)
    m, u = wheels(1, begins="active", release_after=0.5)
    assert [(c.what, c.t) for c in wt.simulate(m.compile(), 1.0).changes] == [("released", 0.5)]


def test_a_time_is_kept_though_nearness_has_made_it_before():
    m, u = wheels(1, activate_at=0.7, release_at=0.5)
    first = wt.Event("first", lambda t, q, u: t - 0.2, 0.0, "rising", then="make brake0")
    run = wt.simulate(m.compile(), 1.0, u=u, events=[first])
    assert [(c.what, c.t) for c in run.changes][1:] == [("released", 0.5), ("activated", 0.7)]


def test_a_load_that_an_activation_puts_beyond_its_limit_breaks():
    """A hinge held by a weak lock while a motor turns up at once: the limit is passed by a jump, not by a crossing."""
    m, _ = wheels(2, begins="active", release_at=0.5)
    m.force("drive", "motor", joint="axle0", torque=1.0)
    m.constraint("weak", "speed", joint="axle0")
    m.temporary("weak", begins="active", release_torque=0.7)
    run = wt.simulate(m.compile(), 1.0)
    assert ("weak", "released", 0.5) in [(c.name, c.what, c.t) for c in run.changes]


def test_a_quantity_that_a_constraint_holds_does_not_fire():
    m = wt.Model("held")
    for n, (name, parent) in enumerate((("upper", "ground"), ("lower", "upper"))):
        m.body(name, **wt.rod(mass=1.0, length=0.5))
        m.joint(f"hinge{n}", "revolute", parent, name, axis="y", at=(0.5 * n, 0, 0))
    m.constraint("lock", "relative", joint="hinge1", position=0.3)
    for temporary in (False, True):
        if temporary:
            m.temporary("lock", begins="active")
        events = [wt.Event("speed", "hinge1.u"), wt.Event("angle", "hinge1.q", 0.3), wt.Event("swing", "hinge0.u")]
        run = wt.simulate(m.compile(), 5.0, q={"hinge1": 0.3}, events=events)
        assert {e.name for e in run.events} == {"swing"}


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_resumed_at_a_moment_with_several(tmp_path, integrator):
    how = {"output_step": 0.01, "save_every": 1e-9, "integrator": integrator}
    system, start = ball_and_wheel(["floor", "brake", "lock", "clutch"])
    alone = wt.simulate(system, 2.0, events=coinciding([]), **start, **how)
    for stop in (0.5, 1.0, 1.5):

        def interrupt(t, stop=stop):
            if t >= stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            wt.simulate(
                system, 2.0, events=coinciding([]), output=tmp_path / "run.nc", resume=True, progress=interrupt,
                **start, **how,
            )  # fmt: skip
    run = wt.simulate(system, 2.0, events=coinciding([]), output=tmp_path / "run.nc", resume=True, **start, **how)
    np.testing.assert_array_equal(run.q, alone.q)
    assert run.attrs["changes"] == alone.attrs["changes"]
    assert [e.t for e in run.events] == [e.t for e in alone.events]
    kept = wt.load_result(tmp_path / "run.nc").changes
    np.testing.assert_array_equal(kept[0].u_before, alone.changes[0].u_before)


def mixture(draw):
    """2 to 8 wheels, each with something that happens at 0.5 s; their velocities at the end, and what changes."""
    m, events, u, changes = wt.Model("mixture", gravity=(0, 0, 0)), [], {}, set()
    ends = {}
    for n in range(draw.integers(2, 9)):
        m.body(f"wheel{n}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        m.joint(f"axle{n}", "revolute", m.ground, f"wheel{n}", axis="z")
    for n in draw.permutation(len(m.bodies)).tolist():
        kind, name = (
            draw.choice(["activate_at", "release_at", "both", "after", "activate", "release", "function"]),
            f"hold{n}",
        )
        made = kind in ("release_at", "after", "release")
        if kind != "function":
            m.constraint(name, "speed", joint=f"axle{n}")
            times = {
                "activate_at": ("activate_at",),
                "release_at": ("release_at",),
                "both": ("activate_at", "release_at"),
            }
            given = dict.fromkeys(times.get(kind, ()), 0.5) | ({"release_after": 0.5} if kind == "after" else {})
            m.temporary(name, begins="active" if made else "open", **given)
        if made:
            m.force(f"drive{n}", "motor", joint=f"axle{n}", torque=0.1)
            ends[f"axle{n}"] = 0.5
        else:
            u[f"axle{n}"], ends[f"axle{n}"] = 1.0 + n, 0.0
        changes |= {(name, "released")} if made else set() if kind == "function" else {(name, "activated")}
        changes |= {(name, "released")} if kind == "both" else set()
        if kind in ("activate", "release", "function"):

            def stop(t, q, u, n=n):
                u[n] = 0.0

            then = stop if kind == "function" else f"{kind} {name}"
            events.append(wt.Event(f"event{n}", lambda t, q, u: t, 0.5, "rising", then=then))
    return m, events, u, ends, changes


@pytest.mark.parametrize("seed", range(20))
def test_drawn_mixtures(seed):
    m, events, u, ends, changes = mixture(np.random.default_rng(seed))
    integrator = ADAPTIVE[seed % len(ADAPTIVE)]
    run = wt.simulate(m.compile(), 1.0, u=u, events=events, integrator=integrator)
    assert {(c.name, c.what) for c in run.changes} == changes
    assert len(run.changes) == len(changes)
    assert {c.t for c in run.changes} <= {0.5}
    assert len(run.events) == len(events)
    assert {name: run[f"{name}.u"][-1] for name in ends} == pytest.approx(ends, abs=1e-6)
