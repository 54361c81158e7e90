"""Friction that sticks and slips, and impacts with it, against what is known of them in closed form."""

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError, SimulationError
from whippletree.gallery import gallery
from whippletree.integrate.contacts.impact import impact

G = 9.81
FINE = {"rtol": 1e-10, "atol": 1e-12}


def ball(mu=0.2, gravity=(0.0, 0.0, -G), **options):
    m = wt.Model("ball", gravity=gravity)
    m.body("ball", **wt.sphere(mass=3.0, radius=0.1))
    m.joint("flight", "free", "ground", "ball")
    m.constraint("lane", "roll", body="ball", radius=0.1)
    m.temporary("lane", unilateral=True, friction=mu, **options)
    return m.compile()


def thrown(system, u, until, height=0.1, **options):
    return wt.simulate(system, until, q={"flight": (0, 0, height, 1, 0, 0, 0)}, u={"flight": u}, **FINE | options)


def block(mu=0.3, slope=0.0, **options):
    """A box on its feet, on a slope that goes down along x."""
    m = wt.Model("block", gravity=(G * np.sin(slope), 0.0, -G * np.cos(slope)))
    m.body("block", **wt.box(mass=2.0, size=(0.4, 0.3, 0.2)))
    m.joint("flight", "free", "ground", "block")
    for n, (x, y) in enumerate([(0.2, 0.15), (0.2, -0.15), (-0.2, -0.15), (-0.2, 0.15)]):
        m.constraint(f"foot{n}", "point_on_plane", body="block", at=(x, y, -0.1))
        m.temporary(f"foot{n}", unilateral=True, friction=mu, begins="active", **options)
    return m.compile()


# ---- sliding and coming to rest


def test_a_bowling_ball_slides_and_then_rolls():
    """It rolls from t = 2 v / (7 mu g) on, at 5/7 v."""
    run = thrown(ball(), (0, 0, 0, 6.0, 0, 0), 1.2)
    made, sticks = run.changes
    assert (made.what, made.toward, sticks.what) == ("activated", (1.0, 0.0, 0.0), "sticks")
    assert abs(sticks.t - 2 * 6.0 / (7 * 0.2 * G)) < 1e-10
    speed = np.linalg.norm(run["ball.velocity"][-1, 3:])
    assert abs(speed - 5 / 7 * 6.0) < 1e-10
    assert np.abs(run["energy.balance"]).max() < 1e-10 * 54.0
    assert run["lane.reaction"][1, 3:] == pytest.approx([-0.2 * 3 * G, 0.0, 3 * G], rel=1e-9)
    assert np.abs(run["lane.reaction"][-1, 3:5]).max() < 1e-9


def test_a_ball_that_spins_backwards_comes_back():
    """Slip r w + v dies at its rate 7/2 mu g; back spin of more than 5/2 v turns it round."""
    v, w = 2.0, -80.0  # about y: the lowest point moves at v - r w
    run = thrown(ball(), (0, w, 0, v, 0, 0), 2.0)
    assert abs(run.changes[-1].t - (v - 0.1 * w) / (3.5 * 0.2 * G)) < 1e-10
    assert run["ball.velocity"][-1, 3] == pytest.approx(5 / 7 * v + 2 / 7 * 0.1 * w, abs=1e-9)


def test_a_ball_thrown_across_its_spin_slips_straight():
    """The slip of a ball keeps its direction, wherever the ball goes; the path is a parabola meanwhile."""
    run = thrown(ball(), (40.0, 0, 0, 2.0, 0, 0), 2.0)
    slip = np.array([2.0, 0.1 * 40.0])
    end = np.linalg.norm(slip) / (3.5 * 0.2 * G)
    assert [c.what for c in run.changes] == ["activated", "sticks"]
    assert abs(run.changes[1].t - end) < 1e-10
    row = np.searchsorted(run.t, end) - 1
    t = run.t[row]
    expected = np.array([2.0, 0.0]) * t - 0.5 * 0.2 * G * t * t * slip / np.linalg.norm(slip)
    assert np.abs(run["ball.position"][row, :2] - expected).max() < 1e-9


def test_a_block_slides_to_rest():
    """v / (mu g) and v^2 / (2 mu g), on four feet of which rigid bodies cannot tell who carries what."""
    run = wt.simulate(block(), 1.5, q={"flight": (0, 0, 0.1, 1, 0, 0, 0)}, u={"flight": (0, 0, 0, 2.0, 0, 0)}, **FINE)
    end, sticks = 2.0 / (0.3 * G), [c for c in run.changes if c.what == "sticks"]
    assert {c.name for c in sticks} == {f"foot{n}" for n in range(4)}
    assert max(abs(c.t - end) for c in sticks) < 1e-10
    assert run["block.position"][-1, 0] == pytest.approx(2.0**2 / (2 * 0.3 * G), abs=1e-10)
    assert np.abs(run["energy.balance"]).max() < 1e-10 * 4.0
    assert np.abs(run.u[-1]).max() < 1e-12
    loads = sum(run[f"foot{n}.reaction"] for n in range(4))
    assert loads[10, 3:] == pytest.approx([-0.3 * 2 * G, 0.0, 2 * G], abs=1e-9)


@pytest.mark.parametrize("mu", [0.3, 0.34])
def test_a_slope_holds_up_to_its_angle(mu):
    """tan(0.32) = 0.3314: below it slides, above it stays."""
    run = wt.simulate(block(mu, 0.32), 1.0, q={"flight": (0, 0, 0.1, 1, 0, 0, 0)}, **FINE)
    if mu < np.tan(0.32):
        a = G * (np.sin(0.32) - mu * np.cos(0.32))
        assert {(c.what, c.t) for c in run.changes} == {("slips", 0.0)}
        assert run["block.position"][-1, 0] == pytest.approx(0.5 * a, abs=1e-9)
    else:
        assert not run.changes
        assert np.abs(run.u).max() < 1e-12


def test_a_block_pushed_up_a_slope_comes_back_or_stays():
    """Up with v it stops after v / g(sin + mu cos); it slides back only where the slope is steep."""
    for mu, back in ((0.3, True), (0.5, False)):
        system = block(mu, 0.4)
        run = wt.simulate(
            system, 1.0, q={"flight": (0, 0, 0.1, 1, 0, 0, 0)}, u={"flight": (0, 0, 0, -3.0, 0, 0)}, **FINE
        )
        end = 3.0 / (G * (np.sin(0.4) + mu * np.cos(0.4)))
        later = [c for c in run.changes if c.t > 0]
        assert max(abs(c.t - end) for c in later) < 1e-10
        assert later[-1].what == ("slips" if back else "sticks")
        rest = 0.5 * G * (np.sin(0.4) - mu * np.cos(0.4)) * (1.0 - end) ** 2 if back else 0.0
        assert run["block.position"][-1, 0] == pytest.approx(-3.0 * end / 2 + rest, abs=1e-9)
        assert np.abs(run["energy.balance"]).max() < 1e-10 * 9.0


def test_static_friction_holds_longer():
    """A push that grows lets it go at static_friction, and then friction is less."""
    m = wt.Model("pushed")
    m.body("block", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.joint("floor", "free", "ground", "block")
    m.constraint("foot", "point_on_plane", body="block")
    m.temporary("foot", unilateral=True, friction=0.2, static_friction=0.5, begins="active")
    m.force("push", "wrench", body="block", force=(1.0, 0.0, 0.0), factor=wt.Ramp(rate=4.0))
    run = wt.simulate(m.compile(), 4.0, **FINE)
    (slips,) = run.changes
    start = 0.5 * 2 * G / 4.0
    assert abs(slips.t - start) < 1e-10
    t = run.t[-1]
    speed = (2.0 * (t * t - start * start) - 0.2 * 2 * G * (t - start)) / 2.0
    assert run["block.velocity"][-1, 3] == pytest.approx(speed, rel=1e-9)


# ---- impacts


@pytest.mark.parametrize("mu", [0.1, 0.6])
def test_a_ball_bounces_with_spin(mu):
    """Slip of v in the impulse: mu (1 + e) v_n if it slides on, 2/7 v if it stops."""
    e, v, fall = 0.8, 2.0, np.sqrt(2 * G * 0.4)
    run = thrown(ball(mu, restitution=e), (0, 0, 0, v, 0, 0), 0.4, height=0.5)
    bounce = run.changes[0]
    assert (bounce.what, bounce.name) == ("bounced", "lane")
    assert abs(bounce.t - fall / G) < 1e-10
    across = min(mu * (1 + e) * fall, 2 / 7 * v)
    assert bounce.impulse[3:] == pytest.approx([-3 * across, 0.0, 3 * (1 + e) * fall], abs=1e-10)
    assert run["ball.velocity"][-1, 3] == pytest.approx(v - across, abs=1e-10)
    assert run["ball.velocity"][-1, 1] == pytest.approx(across * 3 * 0.1 / (0.4 * 3 * 0.01), abs=1e-8)
    assert np.abs(run["energy.balance"]).max() < 1e-10 * 20.0


def test_an_impact_of_a_rod_loses_energy_and_stays_in_its_cone():
    """Any G, any speed: the impulse lies in the cone, energy is lost, and what sticks has no slip."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        A = rng.normal(size=(3, 3))
        G3, mu, e = A @ A.T + 0.1 * np.eye(3), rng.uniform(0.05, 1.5), rng.uniform(0.0, 1.0)
        v = np.array([-rng.uniform(0.5, 2.0), *rng.normal(size=2)])
        p = impact(G3, v, mu, e)
        after = v + G3 @ p
        assert np.linalg.norm(p[1:]) <= mu * p[0] * (1 + 1e-9)
        assert p @ (v + after) / 2 < 0.0
        assert after[0] > -1e-9


def test_a_box_that_is_hit_slides():
    """Friction has no impulse where nothing presses: a box on the floor takes the blow as if it were on ice."""
    m = wt.Model("hit")
    m.body("box", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.joint("box_flight", "free", "ground", "box")
    m.constraint("foot", "point_on_plane", body="box")
    m.temporary("foot", unilateral=True, friction=0.3, begins="active")
    m.body("ball", mass=1.0, inertia=(0.01, 0.01, 0.01))
    m.joint("rail", "prismatic", "ground", "ball", axis="x", at=(-1.0, 0.0, 0.0))
    m.constraint("blow", "roll", body="box", to="ball", radius=0.2, on="sphere", to_radius=0.1, slip="all")
    m.temporary("blow", unilateral=True, restitution=0.5)
    run = wt.simulate(m.compile(), 1.5, u={"rail": 2.0}, **FINE)
    assert [c.what for c in run.changes] == ["slips", "bounced", "sticks"]
    assert abs(run.changes[1].t - 0.35) < 1e-10
    speed = 1.5 * 2.0 * 1.0 / 3.0  # (1 + e) v m / (m + M)
    assert abs(run.changes[2].t - run.changes[1].t - speed / (0.3 * G)) < 1e-10
    assert run["box.position"][-1, 0] == pytest.approx(speed**2 / (2 * 0.3 * G), abs=1e-9)


def in_a_plane(m, body):
    """Joints that let a body move along x and z and turn about y."""
    for name, axis, parent in (("x", "x", "ground"), ("z", "z", "along_x")):
        m.body(f"along_{name}", mass=0.0, inertia=(0.0, 0.0, 0.0), idealized=True)
        m.joint(name, "prismatic", parent, f"along_{name}", axis=axis)
    m.joint("turn", "revolute", "along_z", body, axis="y")


def test_a_block_rocks_from_edge_to_edge():
    """Housner: the edge that was down lets go, and the turn goes on 1 - 3/2 sin^2(a) times as fast."""
    h, b, tilt = 0.5, 0.15, 0.1
    m = wt.Model("rocking")
    m.body("block", **wt.box(mass=1.0, size=(2 * b, 1.0, 2 * h)))
    in_a_plane(m, "block")
    for name, x in (("left", -b), ("right", b)):
        m.constraint(name, "point_on_plane", body="block", at=(x, 0.0, -h))
        m.temporary(name, unilateral=True, friction=2.0)
    height = b * np.sin(tilt) + h * np.cos(tilt)
    q = {"x": b - b * np.cos(tilt) + h * np.sin(tilt), "z": height, "turn": tilt}
    run = wt.simulate(m.compile(), 0.8, q=q, **FINE)
    assert [(c.name, c.what) for c in run.changes[:3]] == [
        ("right", "activated"),
        ("right", "released"),
        ("left", "activated"),
    ]
    about = (b * b + h * h) * 4 / 3
    before = np.sqrt(2 * G * (height - h) / about)
    ratio = 1 - 1.5 * b * b / (b * b + h * h)
    hit = run.changes[2]
    assert hit.t == run.changes[1].t
    assert hit.lost == pytest.approx(0.5 * about * before**2 * (1 - ratio**2), rel=1e-9)
    row = np.searchsorted(run.t, hit.t)
    left = 0.5 * about * run["turn.u"][row] ** 2 + G * (run["block.position"][row, 2] - h)
    assert left == pytest.approx(0.5 * about * (before * ratio) ** 2, rel=1e-8)


# ---- clutches


def clutch(limit=5.0, **options):
    m = wt.Model("clutch", gravity=(0, 0, 0))
    for name, inertia in (("motor", 0.2), ("load", 0.6)):
        m.body(name, mass=1.0, inertia=(inertia,) * 3)
        m.joint(f"{name}_shaft", "revolute", "ground", name, axis="x")
    m.constraint("plates", "speed", joint="load_shaft", of="motor_shaft")
    m.temporary("plates", slips_at=limit, **options)
    return m


def test_a_clutch_slips_until_velocities_agree():
    """Torque L on both: t = w / (L / I1 + L / I2); then one speed, w I1 / (I1 + I2)."""
    m = clutch(activate_at=0.5, release_at=4.0)
    run = wt.simulate(m.compile(), 5.0, u={"motor_shaft": 30.0}, **FINE)
    made, sticks, broken = run.changes
    assert (made.what, made.t, sticks.what, broken.what) == ("activated", 0.5, "sticks", "released")
    assert abs(sticks.t - 0.5 - 30.0 / (5.0 / 0.2 + 5.0 / 0.6)) < 1e-10
    assert run.u[-1] == pytest.approx([7.5, 7.5], abs=1e-10)
    lost = 0.5 * 0.2 * 900 - 0.5 * 0.8 * 7.5**2
    assert run["energy.work"][-1] == pytest.approx(-lost, rel=1e-10)
    assert np.abs(run["energy.balance"]).max() < 1e-10 * 90
    slipping = (run.t > 0.5) & (run.t < sticks.t)
    assert np.abs(run["plates.reaction"][slipping, 0] - 5.0).max() < 1e-9


def test_a_clutch_slips_beyond_its_load():
    """A torque that grows on one shaft of two: half of it, or as inertias say, goes through the plates."""
    m = clutch(begins="active")
    m.force("drive", "motor", joint="motor_shaft", torque=wt.Ramp(rate=4.0))
    run = wt.simulate(m.compile(), 3.0, **FINE)
    (slips,) = run.changes
    assert abs(slips.t - 5.0 / (4.0 * 0.6 / 0.8)) < 1e-10
    t = 3.0
    at = slips.t
    speed = 2.0 * at * at / 0.8
    assert run["load_shaft.u"][-1] == pytest.approx(speed + 5.0 / 0.6 * (t - at), rel=1e-9)
    assert run["motor_shaft.u"][-1] == pytest.approx(speed + (2 * (t * t - at * at) - 5 * (t - at)) / 0.2, rel=1e-9)


def test_a_brake_stops_a_wheel():
    m = clutch()
    m.constraint("pads", "speed", joint="load_shaft")
    m.temporary("pads", slips_at=2.0, activate_at=1.0)
    run = wt.simulate(m.compile(), 5.0, u={"load_shaft": 6.0}, **FINE)
    assert [c.what for c in run.changes] == ["activated", "sticks"]
    assert abs(run.changes[1].t - 1.0 - 6.0 * 0.6 / 2.0) < 1e-10


def test_the_clutch_of_our_models():
    """Motor and flywheel of inertia m r^2 / 2: when plates stick, the one speed, and heat: the energy lost."""
    run = gallery()["clutch"].run()
    I, J, w, L = 8.0 * 0.1**2 / 2, 20.0 * 0.2**2 / 2, 60.0, 4.0
    made, sticks, slips, parts = run.changes
    assert [c.what for c in run.changes] == ["activated", "sticks", "slips", "released"]
    assert abs(sticks.t - 1.0 - w / (L / I + L / J)) < 1e-9
    common = I * w / (I + J)
    row = int(np.searchsorted(run.t, sticks.t))
    assert run["motor_shaft.u"][row] == pytest.approx(common, rel=1e-9)
    assert run["flywheel_shaft.u"][row] == pytest.approx(common, rel=1e-9)
    heat = 0.5 * I * w**2 - 0.5 * (I + J) * common**2
    assert heat == pytest.approx(0.5 * L * w * (sticks.t - 1.0), rel=1e-9)  # torque times mean slip
    assert run["energy.work"][row] == pytest.approx(-heat, rel=1e-8)
    # the brake is 12 (t - 4) on the flywheel; the plates pass on what turns the motor alike
    assert abs(slips.t - 4.0 - L / (12.0 * I / (I + J))) < 1e-8
    assert (made.t, parts.t) == (1.0, 8.0)


# ---- formulations, jams, refusals


@pytest.mark.parametrize("sliding", [0, 2, 4])
def test_formulations_agree_on_friction(sliding):
    """Accelerations and loads of feet that share what rigid bodies cannot tell: both take the shortest."""
    system = block()
    rng = np.random.default_rng(sliding)
    toward = {f"foot{n}": tuple(np.append(rng.normal(size=2), 0.0)) for n in range(sliding)}
    moving = system.holding(system.held, {n: tuple(np.array(d) / np.linalg.norm(d)) for n, d in toward.items()})
    q, tau = np.array([0, 0, 0.1, 1, 0, 0, 0.0]), rng.normal(size=6)
    u = np.array([0, 0, 0.7, 1.0, 0.2, 0]) if sliding == 4 else np.zeros(6)
    found = [wt.forward_dynamics(moving, q, u, tau, algorithm=name) for name in ("multipliers", "nullspace")]
    assert np.abs(found[0] - found[1]).max() < 1e-9
    loads = [wt.reactions(moving, q, u, tau, algorithm=name) for name in ("multipliers", "nullspace")]
    for name in loads[0]:
        assert np.abs(loads[0][name] - loads[1][name]).max() < 1e-9
    M, bias = wt.mass_matrix(system, q), wt.bias_force(system, q, u)
    needed = M @ found[0] + bias - tau
    total = sum(loads[0][f"foot{n}"][3:] for n in range(4))
    assert np.abs(needed[3:] - total).max() < 1e-9  # body axes are those of the world here
    for n in range(sliding):
        force = loads[0][f"foot{n}"][3:]
        assert np.hypot(*force[:2]) == pytest.approx(0.3 * abs(force[2]), rel=1e-9)


@pytest.mark.parametrize("algorithm", ["reduction", "divide"])
def test_algorithms_without_friction_say_so_before_the_run(algorithm):
    system = block()
    with pytest.raises(wt.ModelError) as refused:
        wt.simulate(system, 0.1, q={"flight": (0, 0, 0.1, 1, 0, 0, 0)}, algorithm=algorithm)
    names = ", ".join(f"'foot{n}'" for n in range(4))
    assert str(refused.value) == (
        f"algorithm '{algorithm}' cannot solve 'block'\n  got: friction ({names})\n"
        "  hint: these can: multipliers, nullspace"
    )
    assert "cannot: reduction, divide (friction)" in system.holding(system.held, {"foot0": (1, 0, 0)}).explain()


def rod(mu):
    """Painlevé's rod, its lower end on a rough floor."""
    m = wt.Model("rod")
    m.body("rod", **wt.rod(mass=1.0, length=1.0))
    in_a_plane(m, "rod")
    m.constraint("tip", "point_on_plane", body="rod")
    m.temporary("tip", unilateral=True, friction=mu, begins="active")
    return m.compile()


@pytest.mark.parametrize("way", [1.0, -1.0])
def test_a_rod_that_jams_is_reported(way):
    """1 + 3 cos^2 < 3 mu sin cos of its slope: pushed along, its friction presses it more than it gives way."""
    start = {"q": {"turn": -1.1}, "u": {"x": way}}  # up and along x
    if way < 0.0:
        with pytest.raises(SimulationError, match=r"contact 'tip' of 'rod' jams at t = 0 s"):
            wt.simulate(rod(2.0), 0.01, **start)
    else:
        run = wt.simulate(rod(2.0), 0.01, **start)
        assert run.changes[0].what == "slips"


@pytest.mark.parametrize(
    ("kind", "given", "reported"),
    [
        ("point_on_plane", {"friction": 0.3}, "friction is for what is unilateral"),
        ("point_on_plane", {"friction": -0.3, "unilateral": True}, "friction"),
        ("point_on_plane", {"friction": 0.0, "unilateral": True}, "friction"),
        ("point_on_plane", {"friction": float("nan"), "unilateral": True}, "friction"),
        ("point_on_plane", {"static_friction": 0.3, "unilateral": True}, "static_friction is invalid"),
        (
            "point_on_plane",
            {"friction": 0.4, "static_friction": 0.3, "unilateral": True},
            "static_friction is invalid",
        ),
        ("distance", {"friction": 0.3, "unilateral": True}, "its constraint cannot stick and slip"),
        ("slippery", {"friction": 0.3, "unilateral": True}, "its constraint cannot stick and slip"),
        ("point_on_plane", {"slips_at": 0.3, "unilateral": True}, "only what couples velocities slips at a load"),
        ("speed", {"slips_at": -1.0}, "slips_at"),
    ],
)
def test_what_friction_cannot_be_is_reported(kind, given, reported):
    m = wt.Model("m")
    m.body("ball", mass=1.0, inertia=(1, 1, 1))
    m.joint("flight", "free", "ground", "ball")
    more = {"distance": {"length": 1.0}, "slippery": {"radius": 0.1, "slip": "all"}, "speed": {}}.get(kind, {})
    where = {"joint": "flight"} if kind == "speed" else {"body": "ball"}
    m.constraint("c", "roll" if kind == "slippery" else kind, **where, **more)

    def compiled():
        m.temporary("c", **given)
        m.compile()

    with pytest.raises(ModelError) as e:
        compiled()
    assert e.value.what.startswith("temporary 'c'")
    assert reported in e.value.what


def test_an_algorithm_that_knows_no_friction_is_reported_at_once():
    with pytest.raises(ModelError, match="divide"):
        wt.simulate(ball(), 1.0, q={"flight": (0, 0, 1, 1, 0, 0, 0)}, algorithm="divide")


def test_files_hold_friction(tmp_path):
    m = clutch(begins="active")
    m.constraint("pads", "point_on_plane", body="load", at=(0, 0, -1), to_at=(0, 0, -2))
    m.temporary("pads", unilateral=True, friction=0.3, static_friction=0.4, restitution=0.1)
    wt.save(m, tmp_path / "clutch.toml")
    assert wt.load(tmp_path / "clutch.toml").temporaries == m.temporaries


def test_results_hold_friction(tmp_path):
    """Loads are found again from the file, part by part."""
    run = thrown(ball(), (0, 0, 0, 6.0, 0, 0), 1.2)
    run.save(tmp_path / "ball.nc")
    again = wt.load_result(tmp_path / "ball.nc")
    assert [(c.what, c.t, c.toward) for c in again.changes] == [(c.what, c.t, c.toward) for c in run.changes]
    assert np.array_equal(again["lane.reaction"], run["lane.reaction"])


def test_a_point_meets_a_sphere():
    """A bead that falls on the top of a ball of radius 1 m from 0.5 m above it."""
    m = wt.Model("bead")
    m.body("bead", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    m.joint("flight", "free", m.ground, "bead")
    m.constraint("ball", "roll", body="bead", radius=0.0, on="sphere", to_radius=1.0, slip="all")
    m.temporary("ball", unilateral=True)
    run = wt.simulate(m.compile(), 0.5, q={"flight": (0, 0, 1.5, 1, 0, 0, 0)})
    assert [c.what for c in run.changes] == ["activated"]
    assert run.changes[0].t == pytest.approx(np.sqrt(2 * 0.5 / 9.81), abs=1e-10)
    assert run.changes[0].impulse[5] == pytest.approx(np.sqrt(2 * 0.5 * 9.81), rel=1e-9)
    assert np.abs(run["bead.position.z"][-1] - 1.0) < 1e-9
