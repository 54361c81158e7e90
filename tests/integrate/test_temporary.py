"""Constraints that are activated and released: docking, bounces, ropes and locks, against what is known of them in
closed form.
"""

import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError, ModelWarning
from whippletree_lab.reproduce.problems import case, docking, docking_start

MODELS = Path(__file__).parents[2] / "models"

P11 = case("P11")


def docked(m, until, **options):
    return wt.simulate(m.compile(), until, **docking_start(), rtol=1e-12, atol=1e-13, output_step=0.5, **options)


def velocities(run, row, name):
    """Angular velocity and that of the origin, in world axes."""
    v = run[f"{name}.velocity"][row]
    return v[:3], v[3:]


def test_docking_conserves_momentum_and_is_let_go():
    """P11: weld in the pose found, free motion of the pair, release, two free bodies."""
    run, known = docked(docking(), 7.0), P11["reference"]
    made, broken = run.changes
    assert (made.name, made.what, made.t, broken.what, broken.t) == ("latch", "activated", 0.0, "released", 5.0)
    assert made.lost == pytest.approx(known["weld"]["kinetic_before"] - known["weld"]["kinetic_after"], rel=1e-12)
    # what A loses B gains
    assert np.abs(made.impulse[3:] - 4.0 * (np.array(known["weld"]["vB_plus"]) - P11["initial"]["vB"])).max() < 1e-12
    p = run["momentum"]
    expected = np.concatenate([known["angular_momentum_about_origin"], known["linear_momentum"]])
    assert np.abs(p - expected).max() < 1e-12 * 5
    assert np.abs(run["energy.balance"]).max() < 1e-10 * 0.679
    for row, key in ((10, "t5"), (14, "t7")):
        for body in "AB":
            assert np.abs(run[f"{body}.position"][row] - known[key][f"r{body}"]).max() < 1e-8
    assert run["closure"].max() < 1e-9
    assert np.abs(run["latch.reaction"][11:]).max() == 0.0
    assert np.abs(run["latch.reaction"][1:10]).max() > 1e-3


def test_a_ball_joint_docks_too():
    known = P11["reference"]["spherical"]
    made = docked(docking("spherical"), 0.5).changes[0]
    run = docked(docking("spherical"), 1e-6)
    for body in "AB":
        w, v = velocities(run, -1, body)
        assert np.abs(v - known[f"v{body}"]).max() < 1e-6  # after a microsecond
        assert np.abs(w - known[f"w{body}"]).max() < 1e-6
    assert made.what == "activated"


def ball(restitution=0.0, height=1.0, **options):
    m = wt.Model("ball")
    m.body("ball", mass=2.0, inertia=(0.01, 0.01, 0.01))
    m.joint("fall", "prismatic", "ground", "ball", axis="z")
    m.constraint("floor", "point_on_plane", body="ball")
    m.temporary("floor", unilateral=True, restitution=restitution, **options)
    return m.compile(), {"fall": height}


def test_a_ball_bounces_at_known_times_and_comes_to_rest():
    """Impacts at t0 (1 + 2 e + 2 e^2 ...); it lies still at t0 (1 + e) / (1 - e), endless though they are."""
    e, g = 0.5, 9.81
    system, q = ball(e)
    run = wt.simulate(system, 2.0, q=q, output_step=0.01)
    first = np.sqrt(2 / g)
    times = first * (1 + 2 * np.cumsum(e ** np.arange(1, 6)))
    bounces = [c.t for c in run.changes if c.what == "bounced"]
    assert abs(bounces[0] - first) < 1e-10
    assert np.abs(np.array(bounces[1:6]) - times).max() < 1e-9
    assert run.changes[-1].what == "activated"
    assert abs(run.changes[-1].t - first * (1 + e) / (1 - e)) < 1e-4
    assert run["fall.q"].min() > -1e-9
    assert np.abs(run["energy.balance"]).max() < 1e-10 * 2 * g
    assert run["floor.reaction"][-1, 5] == pytest.approx(2 * g, rel=1e-9)
    assert sum(c.lost for c in run.changes) == pytest.approx(2 * g, rel=1e-6)


def test_steps_are_counted_over_all_parts():
    """Every part between two bounces takes a step at least, and asks for accelerations in it."""
    system, q = ball(0.5)
    run = wt.simulate(system, 2.0, q=q)
    parts = 1 + len({c.t for c in run.changes})
    assert parts > 5
    assert run.attrs["accepted"] >= parts
    assert run.attrs["evaluations"] > 6 * parts  # stages of dopri5


def test_a_contact_lets_go_when_it_would_pull():
    """A platform that swings down faster than things fall: they part where its acceleration is that of gravity."""
    m = wt.Model("shaker")
    m.body("platform", mass=1.0, inertia=(1, 1, 1))
    m.joint("shake", "prismatic", "ground", "platform", axis="z")
    m.force("drive", "motion", joint="shake", position=wt.Sine(amplitude=0.2, frequency=2.0))
    m.body("box", mass=0.5, inertia=(0.1, 0.1, 0.1))
    m.joint("ride", "prismatic", "ground", "box", axis="z")
    m.constraint("rest", "point_on_plane", body="box", to="platform")
    m.temporary("rest", unilateral=True, begins="active")
    system = m.compile()
    w = 4 * np.pi
    run = wt.simulate(system, 0.12, u={"ride": 0.2 * w, "shake": 0.2 * w}, rtol=1e-10, atol=1e-12)
    (parted,) = run.changes
    assert parted.what == "released"
    assert abs(parted.t - np.arcsin(9.81 / (0.2 * w * w)) / w) < 1e-8


def test_a_rope_goes_taut():
    """A stone on a rope of 1 m, thrown up from 0.5 m below its hook: it is caught, with what speed it had across."""
    m = wt.Model("rope", gravity=(0, 0, 0))
    m.body("stone", mass=1.0, inertia=(0.01, 0.01, 0.01))
    m.joint("flight", "free", "ground", "stone")
    m.constraint("rope", "distance", body="stone", length=1.0)
    m.temporary("rope", unilateral=True)
    run = wt.simulate(m.compile(), 2.0, q={"flight": (0.6, 0, 0, 1, 0, 0, 0)}, u={"flight": (0, 0, 0, 0, 0, 1.0)})
    (caught,) = run.changes
    assert abs(caught.t - 0.8) < 1e-10
    assert caught.lost == pytest.approx(0.5 * 0.8**2, rel=1e-9)  # the speed along the rope
    assert np.linalg.norm(run["stone.velocity"][-1, 3:]) == pytest.approx(0.6, rel=1e-7)
    assert np.linalg.norm(run["rope.reaction"][-1, 3:]) == pytest.approx(0.36, rel=1e-6)


def test_newtons_cradle():
    """Five balls that touch: one comes in, one goes out."""
    m = wt.Model("cradle", gravity=(0, 0, 0))
    for n in range(5):
        m.body(f"ball{n}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        m.joint(f"x{n}", "prismatic", "ground", f"ball{n}", axis="x")
        if n:
            name = f"hit{n}"
            m.constraint(
                name, "roll", body=f"ball{n}", to=f"ball{n - 1}", radius=0.05, on="sphere", to_radius=0.05, slip="all"
            )
            m.temporary(name, unilateral=True, restitution=1.0)
    q = {f"x{n}": 0.1 * n if n else -0.3 for n in range(5)}
    run = wt.simulate(m.compile(), 1.0, q=q, u={"x0": 1.0}, output_step=0.1)
    assert np.abs(run.u[-1] - [0, 0, 0, 0, 1.0]).max() < 1e-9
    assert [c.name for c in run.changes] == ["hit1", "hit2", "hit3", "hit4"]
    assert abs(run.changes[0].t - 0.3) < 1e-10
    assert np.abs(run["energy.balance"]).max() < 1e-12


def arm(**options):
    m = wt.Model("lock", gravity=(0, 0, 0))
    m.body("arm", **wt.rod(mass=1.0, length=1.0))
    m.joint("hinge", "revolute", "ground", "arm", axis="z")
    m.constraint("lock", "relative", joint="hinge")
    m.temporary("lock", here=True, **options)
    return m


def test_a_hinge_locks_where_it_is_and_breaks_by_torque():
    m = arm(activate_at=0.5, release_torque=3.0)
    m.force("push", "motor", joint="hinge", torque=wt.Ramp(rate=2.0))
    run = wt.simulate(m.compile(), 3.0, u={"hinge": 0.1}, rtol=1e-10, atol=1e-12)
    locked, broken = run.changes
    assert (locked.t, locked.what, broken.what) == (0.5, "activated", "released")
    assert abs(broken.t - 1.5) < 1e-9  # 2 t = 3
    during = (run.t > 0.5) & (run.t < 1.5)
    assert np.ptp(run["hinge.q"][during]) < 1e-12
    assert run["hinge.q"][-1] > run["hinge.q"][during][0] + 0.1


def test_events_make_and_break():
    m = arm()
    events = [
        wt.Event("far", "hinge.q", 0.2, "rising", then="make lock"),
        wt.Event("late", lambda t, q, u: t - 1.0, 0.0, "rising", then="break lock"),
    ]
    run = wt.simulate(m.compile(), 1.5, u={"hinge": 1.0}, events=events)
    assert [(c.name, c.what) for c in run.changes] == [("lock", "activated"), ("lock", "released")]
    assert abs(run.changes[0].t - 0.2) < 1e-10
    assert abs(run.u[-1, 0]) < 1e-12


def approach(speed, **options):
    m = wt.Model("berth", gravity=(0, 0, 0))
    m.body("ship", mass=3.0, inertia=(1, 1, 1))
    m.joint("flight", "free", "ground", "ship")
    m.constraint("berth", "latch", body="ship")
    m.temporary("berth", activate_within=0.05, activate_below=0.2, **options)
    return wt.simulate(
        m.compile(), 3.0, q={"flight": (-0.3, 0, 0, 1, 0, 0, 0)}, u={"flight": (0, 0, 0, speed, 0, 0)}, output_step=0.1
    )


def test_a_berth_takes_what_is_near_and_slow():
    run = approach(0.15)
    (made,) = run.changes
    assert abs(made.t - 0.25 / 0.15) < 1e-10
    assert np.abs(run["ship.position"][-1]).max() < 1e-12  # what was left is closed
    assert made.lost == pytest.approx(0.5 * 3 * 0.15**2, rel=1e-12)
    assert not approach(0.5).changes


def test_what_contradicts_is_refused_and_the_motion_goes_on():
    m = wt.Model("held", gravity=(0, 0, 0))
    m.body("cart", mass=1.0, inertia=(1, 1, 1))
    m.joint("rail", "prismatic", "ground", "cart", axis="x")
    m.constraint("pace", "speed", joint="rail", speed=1.0)
    m.constraint("stop", "relative", joint="rail")
    m.temporary("stop", activate_at=0.5, here=True)
    with pytest.warns(
        ModelWarning, match=re.escape("temporary 'stop' is not activated at t = 0.5 s: it contradicts 'pace'")
    ):
        run = wt.simulate(m.compile(), 1.0, u={"rail": 1.0})
    assert [c.what for c in run.changes] == ["refused"]
    assert np.abs(run["rail.q"] - run.t).max() < 1e-9


def test_results_come_back_from_files(tmp_path):
    run = docked(docking(), 6.0)
    run.save(tmp_path / "dock.nc")
    again = wt.load_result(tmp_path / "dock.nc")
    assert [c[:3] for c in again.changes] == [c[:3] for c in run.changes]
    assert np.array_equal(again["latch.reaction"], run["latch.reaction"])
    assert again["closure"].max() < 1e-9
    wt.save(run.system.model, tmp_path / "dock.toml")
    assert wt.load(tmp_path / "dock.toml").temporaries == run.system.model.temporaries


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"restitution": 0.5}, "temporary 'c': restitution is for what is unilateral"),
        ({"unilateral": True, "restitution": 1.5}, "temporary 'c': restitution is invalid"),
        ({"activate_below": 1.0}, "temporary 'c': activate_below needs activate_within"),
        (
            {"unilateral": True, "activate_within": 1.0},
            "temporary 'c': a unilateral constraint is activated when it is reached",
        ),
        ({"begins": "shut"}, "temporary 'c': begins 'shut' is not known"),
        ({"release_force": -1.0}, "temporary 'c': release_force"),
    ],
)
def test_what_cannot_be_temporary_is_reported(given, reported):
    with pytest.raises(ModelError) as e:
        wt.Model("m").temporary("c", **given)
    assert e.value.what.startswith(reported)


def test_whole_models_are_checked():
    m = arm(activate_at=1.0)
    m.constraint("gear", "knife_edge", body="arm")
    m.temporary("gear", unilateral=True)
    with pytest.raises(ModelError, match="temporary 'gear': its constraint has no two sides"):
        m.compile()
    m.temporaries.pop("gear")
    m.temporary("lok", activate_at=1.0)
    with pytest.raises(ModelError, match="temporary 'lok': constraint 'lok' is not known"):
        m.compile()


def test_nothing_is_reported_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wt.simulate(arm(activate_at=0.1, release_at=0.2).compile(), 0.3, u={"hinge": 1.0})


@pytest.mark.parametrize("name", ["docking", "newtons_cradle"])
def test_our_models(name):
    system = wt.load(Path(__file__).parents[2] / "models" / f"{name}.toml").compile()
    if name == "docking":
        run = wt.simulate(system, 10.0, u={"to_b": (0.02, 0, 0.01, -0.1, 0, 0)})
        assert [c.what for c in run.changes] == ["activated", "released"]
    else:
        run = wt.simulate(system, 1.5, q={"string1": 0.6})
        assert {c.what for c in run.changes} == {"bounced"}
    assert np.abs(run["energy.balance"]).max() < 1e-9


def test_an_arm_captures_a_satellite_and_berths_it():
    """Nothing is held to ground: momentum stays, whatever is gripped and let go; motors work in the account."""
    system = wt.load(Path(__file__).parents[2] / "models" / "space_manipulator.toml").compile()
    run = wt.simulate(system, 62.0, u={"drift": (0.0, 0.0, 0.01, -0.06, 0, 0)}, rtol=1e-6, atol=1e-8)
    assert [(c.name, c.what) for c in run.changes] == [
        ("grip", "activated"),
        ("berth", "activated"),
        ("grip", "released"),
    ]
    p = run["momentum"]
    assert np.abs(p - p[0]).max() < 1e-7 * np.abs(p[0]).max()  # of integration, at this tolerance
    assert np.abs(run["energy.balance"]).max() < 1e-6 * run["energy.kinetic"].max()
    assert run["closure"].max() < 1e-9


@pytest.mark.parametrize("file", ["space_manipulator", "docking", "clutch"])
def test_a_system_that_holds_others_is_as_one_made_anew(file):
    """It shares what they do not change; a System that comes out of pickle is made from its model."""
    whole = wt.load(MODELS / f"{file}.toml").compile()
    for held in ({}, whole.model.constraints, *({name: c} for name, c in whole.model.constraints.items())):
        shared = whole.holding(held)
        anew = pickle.loads(pickle.dumps(shared))
        assert shared.features == anew.features
        assert shared.constraints.owner == anew.constraints.owner
        for part, other in ((shared, anew), (shared.forces, anew.forces), (shared.constraints, anew.constraints)):
            np.testing.assert_array_equal(part.packed.view(np.int64), other.packed.view(np.int64))
