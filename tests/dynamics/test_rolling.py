"""Constraints on velocities: what rolls, glides on a blade, or has a speed given.

Against the reference in 50 digits, against solutions known in closed form, and against laws.
"""

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import whippletree as wt
from loop_reference import solve
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.errors import ModelError
from whippletree_lab.reproduce.problems import sleigh
from zoo import random_model, random_pose, random_solid, random_state

BALL = 0.4  # moment of inertia of a solid ball, against m r^2


def disc_model(mass=1.3, radius=0.25, **options):
    """A thin disc that is free to move, on the ground."""
    m = wt.Model("disc")
    A = mass * radius**2 / 4
    m.body("disc", mass=mass, inertia=(A, 2 * A, A))
    m.joint("flight", "free", "ground", "disc")
    m.constraint("floor", "roll", body="disc", radius=radius, axis="y", **options)
    return m


def leaning(system, theta, radius, spin, rate, lean_rate=0.0):
    """q and u of a disc whose axle stands at theta to the vertical, with w1 = lean rate, w2 = rate, w3 = spin."""
    turn = Rotation.from_euler("x", np.pi / 2 - theta)  # the axle y, lifted
    e3 = turn.apply([0.0, 1.0, 0.0])
    e1 = np.cross([0.0, 0.0, 1.0], e3)  # horizontal, along which it heads
    e1 /= np.linalg.norm(e1)
    e2 = np.cross(e3, e1)
    w = lean_rate * e1 + rate * e2 + spin * e3
    x, y, z, s = turn.as_quat()
    q = np.array([0.0, 0.0, radius * np.sin(theta), s, x, y, z])
    v = -np.cross(w, -radius * e2)
    return q, np.concatenate([turn.inv().apply(w), turn.inv().apply(v)])


def rolling_zoo(seed):
    """A random tree, of which a wheel and a ball roll on a body that moves, a blade glides, and velocities are tied."""
    rng = np.random.default_rng([71, seed])
    m = random_model(rng, 4, ("revolute", "universal", "planar", "spherical"))
    names = list(m.bodies)
    for name in ("wheel", "ball", "sled"):
        m.body(name, **random_solid(rng))
        m.joint(f"{name}_flight", "free", "ground", name)
    table = {"to": names[int(rng.integers(4))], "to_at": random_pose(rng)}
    at = tuple(rng.uniform(-0.2, 0.2, 3))
    axis = rng.normal(size=3)
    m.constraint(
        "wheel_on", "roll", body="wheel", at=at, radius=0.3, tyre=float(rng.choice([0.0, 0.1, 0.3])), axis=tuple(axis),
        on="line" if seed % 4 == 2 else "plane", slip=["none", "side", "none", "all"][seed % 4], pivots=seed % 5 != 0,
        **table,
    )  # fmt: skip
    on = ["plane", "sphere", "sphere"][seed % 3]
    round_ = {"to_radius": [0.0, 0.7, -0.9][seed % 3]} if on == "sphere" else {}
    m.constraint("ball_on", "roll", body="ball", radius=0.2, on=on, pivots=seed % 2 == 0, **round_, **table)
    m.constraint("blade", "knife_edge", body="sled", at=random_pose(rng), to=names[0])
    joints = [j for j in m.joints if not j.endswith("flight")]
    m.constraint(
        "tied", "speed", joint=joints[0], of=joints[1], ratio=-0.7, speed=wt.Sine(amplitude=0.5, frequency=0.3)
    )
    return m.compile(), rng


def on_surface(system, rng):
    """A random state that all constraints allow."""
    q, u, _ = random_state(system, rng)
    start = wt.assemble(system, q, u)
    return start.q, start.u


# ---- rows and algorithms


@pytest.mark.parametrize("seed", range(12))
def test_all_ways_agree_with_the_reference(seed):
    """1e-9 relative: the conditioning of these random systems is below 1e6."""
    system, rng = rolling_zoo(seed)
    q, u = on_surface(system, rng)
    t, tau = float(rng.uniform(0, 2)), rng.normal(size=system.nu)
    u = project_velocities(system, q, u, t)
    expected = solve(system.model, system, q, u, tau, t)
    assert np.abs(expected.speed).max() < 1e-10 * (1 + np.abs(u).max())
    for algorithm in ("multipliers", "nullspace"):
        udot = wt.forward_dynamics(system, q, u, tau, t=t, algorithm=algorithm)
        assert np.abs(udot - expected.udot).max() < 1e-9 * (1 + np.abs(expected.udot).max()), algorithm
    rows = rows_of(system, q, u, t)
    assert np.abs(rows.C @ expected.udot - rows.gamma).max() < 1e-9 * (1 + np.abs(rows.gamma).max())


def project_velocities(system, q, u, t):
    rows = rows_of(system, q, u, t)
    return u - np.linalg.pinv(rows.C, rcond=1e-9) @ rows.rate


@pytest.mark.parametrize("seed", range(6))
def test_gamma_is_the_rate_of_slips(seed):
    """By differences along a motion, which lose 1e-7 of what they are taken of."""
    system, rng = rolling_zoo(seed)
    q, u = on_surface(system, rng)
    a, h, rows = rng.normal(size=system.nu), 1e-5, rows_of(system, q, u)
    after, before = (
        rows_of(system, wt.advance(system, q, s * h * u + h * h / 2 * a), u + s * h * a, s * h).rate for s in (1, -1)
    )
    size = 1 + np.abs(u).max() ** 2
    assert np.abs((after - before) / (2 * h) - (rows.C @ a - rows.gamma)).max() < 1e-6 * size


def test_a_wheel_touches_with_its_lowest_point():
    system = disc_model(radius=0.25, tyre=0.05).compile()
    rng = np.random.default_rng(3)
    q, _, _ = random_state(system, rng)
    rows, k = rows_of(system, q, np.zeros(6)), wt.kinematics(system, q)
    around = np.linspace(0, 2 * np.pi, 20001)
    rim = 0.2 * np.column_stack([np.cos(around), 0 * around, np.sin(around)])
    lowest = (k.position("disc") + rim @ k.rotation("disc").T)[:, 2].min() - 0.05
    assert abs(rows.g[0] - lowest) < 1e-8  # rim / 2 (2 pi / 20000)^2


# ---- solutions in closed form


def glide(until, **options):
    system, q, u = sleigh()
    return wt.simulate(system, until, q=q, u=u, **options)


def test_the_sleigh_for_100_seconds():
    """Energy to 1e-8, the constraint to 1e-9."""
    run = glide(100.0)
    assert np.abs(run["energy.balance"]).max() < 1e-8 * 2.36
    assert np.abs(rows_of(run.system, run.q, run.u, run.t).rate).max() < 1e-9


def disc_by_hand(t, theta, w, mass, r):
    """theta and (w1, w2, w3) of a thin rolling disc: momentum about its centre, in axes of axle and heading."""
    A, C = mass * r * r / 4, mass * r * r / 2

    def rates(_, y):
        th, w1, w2, w3 = y
        W3 = w2 / np.tan(th)
        w1_ = (A * W3 * w2 - C * w2 * w3 - mass * r * r * w2 * w3 - mass * 9.81 * r * np.cos(th)) / (A + mass * r * r)
        return [w1, w1_, (C * w1 * w3 - A * W3 * w1) / A, mass * r * r * w1 * w2 / (C + mass * r * r)]

    return solve_ivp(rates, (0, t[-1]), [theta, *w], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=t).y


def test_a_disc_rolls_as_by_hand():
    system = disc_model().compile()
    theta, w = 1.3, (0.2, 1.0, -5.0)
    q, u = leaning(system, theta, 0.25, w[2], w[1], w[0])
    run = wt.simulate(system, 5.0, q=q, u=u, rtol=1e-10, atol=1e-12)
    axle = run["disc.rotation"][:, :, 1]
    expected = disc_by_hand(run.t, theta, w, 1.3, 0.25)
    assert np.abs(np.arccos(axle[:, 2]) - expected[0]).max() < 1e-7
    assert np.abs(run["flight.u"][:, 1] - expected[3]).max() < 1e-7  # spin about the axle


def test_a_disc_for_100_seconds():
    """Energy to 1e-8, the constraint to 1e-9."""
    system = disc_model().compile()
    q, u = leaning(system, 1.2, 0.25, -8.0, 1.5)
    run = wt.simulate(system, 100.0, q=q, u=u, rtol=1e-10, atol=1e-12)
    total = np.abs(run["energy"]).max()
    assert np.abs(run["energy.balance"]).max() < 1e-8 * total
    rows = rows_of(system, run.q, run.u, run.t)
    assert np.abs(rows.g).max() < 1e-9
    assert np.abs(rows.rate).max() < 1e-9


def test_a_ball_on_a_turntable_goes_round_at_two_sevenths():
    """On a table that turns at W a solid ball moves on circles at 2/7 W, wherever it is."""
    m = wt.Model("turntable")
    m.body("table", mass=1.0, inertia=(1.0, 1.0, 1.0))
    m.joint("spindle", "revolute", "ground", "table", axis="z")
    m.force("drive", "motion", joint="spindle", position=wt.Ramp(rate=3.0))
    m.body("ball", mass=0.5, inertia=(BALL * 0.5 * 0.01,) * 3)
    m.joint("flight", "free", "ground", "ball")
    m.constraint("contact", "roll", body="ball", radius=0.1, to="table")
    system = m.compile()
    w = 2 / 7 * 3.0
    q = {"flight": (1.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0)}
    v = np.array([0.0, 0.3, 0.0])
    # no slip: v + spin x (-r z) = W x position
    spin = np.array([-(v[1] - 3.0 * 1.0) / 0.1, v[0] / 0.1, 0.0])
    run = wt.simulate(system, 5.0, q=q, u={"flight": (*spin, *v), "spindle": 3.0}, rtol=1e-10, atol=1e-12)
    centre = np.array([1.0 - 0.3 / w, 0.0])
    angle = w * run.t
    expected = centre + 0.3 / w * np.column_stack([np.cos(angle), np.sin(angle)])
    assert np.abs(run["ball.position"][:, :2] - expected).max() < 1e-7


@pytest.mark.parametrize("inside", [True, False])
def test_a_ball_on_a_sphere(inside):
    """In a bowl it swings at 5 g / 7 (R - r); on top of a ball it falls away at the rate of 5 g / 7 (R + r)."""
    R, r = 1.0, 0.1
    m = wt.Model("bowl")
    m.body("ball", mass=2.0, inertia=(BALL * 2.0 * r * r,) * 3)
    m.joint("flight", "free", "ground", "ball")
    m.constraint("contact", "roll", body="ball", radius=r, on="sphere", to_radius=-R if inside else R)
    system, reach = m.compile(), R - r if inside else R + r
    angle, rate = 1e-4, np.sqrt(5 * 9.81 / 7 / reach)
    place = reach * np.array([np.sin(angle), 0.0, -np.cos(angle) if inside else np.cos(angle)])
    run = wt.simulate(system, 2.0, q={"flight": (*place, 1.0, 0.0, 0.0, 0.0)}, rtol=1e-11, atol=1e-14)
    shape = np.cos(rate * run.t) if inside else np.cosh(rate * run.t)
    x = run["ball.position"][:, 0] / reach
    assert np.abs(x - angle * shape).max() < (1e-10 if inside else 1e-6)  # the cube of the largest angle
    assert np.abs(run["energy.balance"]).max() < 1e-9


def test_a_wheel_on_a_line_rolls_down_a_slope():
    """g sin(slope) / (1 + I / m r^2), and it stays on its rail though it is pushed."""
    m = wt.Model("rail", gravity=(9.81 * np.sin(0.2), 1.0, -9.81 * np.cos(0.2)))
    m.body("wheel", mass=3.0, inertia=(0.1, 0.05, 0.1))
    m.joint("axle", "free", "ground", "wheel")
    m.constraint("rail", "roll", body="wheel", radius=0.2, axis="y", on="line", pivots=False)
    system = m.compile()
    q = wt.assemble(system, {"axle": (0, 0, 0.2, 1, 0, 0, 0)}).q
    udot = wt.forward_dynamics(system, q, np.zeros(6))
    assert udot[3] == pytest.approx(9.81 * np.sin(0.2) / (1 + 0.05 / (3.0 * 0.04)), rel=1e-12)
    assert abs(udot[4]) < 1e-12


def test_wheels_steer_a_cart():
    """Two driven wheels: the speed is their mean, the turn their difference, at velocities that are given."""
    m = wt.Model("cart")
    m.body("cart", mass=5.0, inertia=(0.1, 0.1, 0.2))
    m.joint("floor", "planar", "ground", "cart", axis="z")
    for side, y in (("left", 0.3), ("right", -0.3)):
        m.body(side, mass=0.5, inertia=(1e-3, 2e-3, 1e-3))
        m.joint(f"{side}_axle", "revolute", "cart", side, axis="y", at=(0.0, y, 0.0))
        slip = "none" if side == "left" else "side"
        m.constraint(
            f"{side}_tread", "roll", body=side, radius=0.1, axis="y", to_at=(0.0, 0.0, -0.1), slip=slip
        )  # fmt: skip
    m.constraint("left_speed", "speed", joint="left_axle", speed=4.0)
    m.constraint("right_speed", "speed", joint="right_axle", speed=wt.Ramp(value=4.0, rate=1.0))
    system = m.compile()
    run = wt.simulate(system, 2.0, u={"left_axle": 4.0, "right_axle": 4.0}, rtol=1e-10, atol=1e-12)
    turn = 0.1 * run.t / 0.6
    assert np.abs(run["floor.u"][:, 2] - turn).max() < 1e-9
    heading = run["floor.q"][:, 2]
    assert np.abs(heading - 0.1 * run.t**2 / 1.2).max() < 1e-8
    speed = 0.1 * (8.0 + run.t) / 2
    along = run["floor.u"][:, 0] * np.cos(heading) + run["floor.u"][:, 1] * np.sin(heading)
    assert np.abs(along - speed).max() < 1e-9


def test_without_friction_a_ball_slides():
    m = wt.Model("ice", gravity=(1.0, 0.0, -9.81))
    m.body("ball", mass=2.0, inertia=(0.008,) * 3)
    m.joint("flight", "free", "ground", "ball")
    m.constraint("ice", "roll", body="ball", radius=0.1, slip="all")
    udot = wt.forward_dynamics(m.compile(), [0, 0, 0.1, 1, 0, 0, 0], np.zeros(6))
    assert np.abs(udot - [0, 0, 0, 1.0, 0, 0]).max() < 1e-12


# ---- forces, poses and refusals


def test_friction_of_a_rolling_ball():
    """Rolling down a slope takes a force of 2/7 of the weight along it, and the normal holds the rest."""
    m = wt.Model("slope", gravity=(7.0, 0.0, -9.0))
    m.body("ball", mass=2.0, inertia=(BALL * 2.0 * 0.01,) * 3)
    m.joint("flight", "free", "ground", "ball")
    m.constraint("slope", "roll", body="ball", radius=0.1)
    system = m.compile()
    found = wt.reactions(system, [0, 0, 0.1, 1, 0, 0, 0], np.zeros(6))["slope"]
    assert np.abs(found - [0.0, 0.4, 0.0, -4.0, 0.0, 18.0]).max() < 1e-11  # torque about the centre
    # a spin that is given is a torque about its axis
    m.constraint("spin", "speed", joint="flight", dof=1)
    loads = wt.reactions(m.compile(), [0, 0, 0.1, 1, 0, 0, 0], np.zeros(6))
    assert np.abs(loads["slope"] - [0.0, 1.4, 0.0, -14.0, 0.0, 18.0]).max() < 1e-11
    assert np.abs(loads["spin"] - [0.0, -1.4, 0.0, 0.0, 0.0, 0.0]).max() < 1e-11


def test_assembling_lifts_a_wheel_onto_its_floor_and_leaves_the_rest():
    system = disc_model().compile()
    q = wt.assemble(system, {"flight": (0.3, -0.2, 0.9, 1, 0, 0, 0)}).q
    assert np.abs(q[:3] - [0.3, -0.2, 0.25]).max() < 1e-9


def test_mobility_counts_velocities():
    found = wt.mobility(disc_model().compile(), {"flight": (0, 0, 0.25, 1, 0, 0, 0)})
    assert (found.mobility, found.rank) == (3, 3)


def test_studies_of_rest_refuse_constraints_on_velocities():
    system = disc_model().compile()
    with pytest.raises(ModelError, match="has constraints on velocities, which leave its poses free") as e:
        wt.equilibrium(system, {"flight": (0, 0, 0.25, 1, 0, 0, 0)})
    assert e.value.got == "'floor'"


def test_velocities_that_contradict_each_other_are_named():
    m = disc_model()
    m.constraint("spin", "speed", joint="flight", dof=1, speed=2.0)
    m.constraint("still", "speed", joint="flight", dof=3, speed=0.1)
    with pytest.raises(ModelError, match="contradict each other in speed") as e:
        wt.simulate(m.compile(), 1.0, q={"flight": (0, 0, 0.25, 1, 0, 0, 0)})
    assert "'still'" in e.value.got or "'spin'" in e.value.got


@pytest.mark.parametrize(
    ("given", "reported"),
    [
        ({"radius": -1.0}, "constraint 'c': radius"),
        ({"radius": 0.1, "tyre": 0.01}, "constraint 'c': a ball has no tyre"),
        ({"radius": 0.1, "axis": "y", "tyre": 0.2}, "constraint 'c': the tyre is larger than the wheel"),
        ({"radius": 0.1, "slip": "side"}, "constraint 'c': slip = 'side' is for wheels on a plane"),
        ({"radius": 0.1, "slip": "some"}, "constraint 'c': slip"),
        ({"radius": 0.1, "on": "sphere"}, "constraint 'c': to_radius is invalid"),
        ({"radius": 0.1, "to_radius": 1.0}, "constraint 'c': to_radius is invalid"),
        ({"radius": 0.1, "on": "sphere", "to_radius": -0.05}, "constraint 'c': the bowl is too small"),
        (
            {"radius": 0.1, "on": "sphere", "to_radius": 1.0, "axis": "x"},
            "constraint 'c': only a ball rolls on a sphere",
        ),
        ({"radius": 0.1, "pivots": "no"}, "constraint 'c': pivots is neither true nor false"),
        ({"radius": 0.1, "to": "ball"}, "constraint 'c' acts between 'ball' and itself"),
    ],
)
def test_what_cannot_roll_is_reported(given, reported):
    m = wt.Model("m")
    with pytest.raises(ModelError) as e:
        m.constraint("c", "roll", body="ball", **given)
    assert e.value.what.startswith(reported)


def test_a_speed_that_jumps_is_reported():
    m = wt.Model("m")
    with pytest.raises(ModelError, match="constraint 'c': speed jumps"):
        m.constraint("c", "speed", joint="a", speed=wt.Step(after=1.0))
    with pytest.raises(ModelError, match="constraint 'c': of_dof needs a joint 'of'"):
        m.constraint("c", "speed", joint="a", of_dof=1)


def test_files_hold_them(tmp_path):
    m = disc_model(tyre=0.01, slip="side", pivots=False)
    m.constraint("edge", "knife_edge", body="disc", at=(0.1, 0, 0))
    m.constraint("pace", "speed", joint="flight", dof=1, speed=wt.Ramp(rate=1.0))
    wt.save(m, tmp_path / "disc.toml")
    again = wt.load(tmp_path / "disc.toml")
    assert again.constraints == m.constraints
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.compile()


@pytest.mark.parametrize("slip", ["none", "side"])
def test_a_rim_that_is_all_tyre_keeps_its_heading(slip):
    """As the tyre grows to the whole radius nothing jumps: a wheel is no ball."""
    found = []
    for tyre in (0.3 * (1 - 1e-9), 0.3):
        m = wt.Model("wheel")
        m.body("wheel", mass=1.0, inertia=(0.02, 0.03, 0.02))
        m.joint("flight", "free", m.ground, "wheel")
        m.constraint("floor", "roll", body="wheel", radius=0.3, axis="y", tyre=tyre, slip=slip)
        system = m.compile()
        yaw, lean = 0.4, 0.15  # halves
        turn = np.array([np.cos(yaw) * np.cos(lean), np.cos(yaw) * np.sin(lean), np.sin(yaw) * np.sin(lean), 0.0])
        turn[3] = np.sin(yaw) * np.cos(lean)
        start = wt.assemble(system, {"flight": [0, 0, 0.3, *turn]}, [1.0, 2.0, 3.0, 0.5, -0.7, 0.2])
        found.append((start.u, wt.forward_dynamics(system, start.q, start.u)))
    for limit, whole in zip(*found, strict=True):
        assert np.abs(limit - whole).max() < 1e-6 * np.abs(whole).max()
