"""Equilibrium, linear models and natural modes: closed forms, laws, motions that were simulated, every message."""

import json
from itertools import pairwise

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh, expm

import whippletree as wt
from test_pinocchio import robot_of
from whippletree.analysis import balance as search
from whippletree.analysis.chart import Chart
from whippletree.analysis.differences import units
from whippletree.analysis.eigen import Eigenmodes
from whippletree.analysis.modal import Small, poles_and_shapes
from whippletree.analysis.reduced import stiffness as reduced_stiffness
from whippletree_lab.reproduce.problems import puma560
from zoo import ZOO, chain, floating_pair, free_body, models, pendulum, random_model, random_state
from zoo import welds as welded

G = 9.81
# four-point differences of functions of size one leave some 1e-12; sums over bodies and inverses of M take digits off
DIFFERENCES = 1e-9


def arm7():
    return wt.load("models/arm7.toml").compile()


@pytest.fixture(autouse=True)
def at_the_root(request, monkeypatch):
    monkeypatch.chdir(request.config.rootpath)


def stiffness(system, q):
    """Of a tree, all of it"""
    return reduced_stiffness(Chart(system, q, np.arange(system.nu)), np.zeros(system.nu))


def close(value, expected, tolerance):
    """Largest error relative to the largest expected number."""
    value, expected = np.asarray(value), np.asarray(expected)
    assert value.shape == expected.shape
    scale = np.abs(expected).max(initial=0.0) or 1.0
    assert np.abs(value - expected).max(initial=0.0) <= tolerance * scale


# ---------------------------------------------------------------- equilibrium


def test_a_pendulum_under_a_torque_leans_by_the_arc_sine():
    found = wt.equilibrium(pendulum().compile(), tau={"hinge": 5.0})
    # +y turns the bob, below, towards -x: the weight turns it back
    assert found.q[0] == pytest.approx(np.arcsin(5.0 / (1.5 * G * 0.8)), rel=1e-14)
    assert found.stable
    assert (found.tau, found.neutral) == (5.0, 0)
    assert found.residual < 1e-12


def test_a_pose_that_is_one_is_kept_as_it_is():
    found = wt.equilibrium(pendulum().compile(), [0.0])
    assert (found.q[0], found.iterations, found.residual) == (0.0, 0, 0.0)


@pytest.mark.parametrize(("start", "angle", "stable"), [(0.4, 0.0, True), (3.0, np.pi, False), (np.pi / 2, 0.0, True)])
def test_a_pendulum_rests_down_or_up_and_falls_where_its_weight_pulls_most(start, angle, stable):
    found = wt.equilibrium(pendulum().compile(), {"hinge": start})
    assert abs(found.q[0] - angle) < 1e-14
    assert found.stable is stable


@pytest.mark.parametrize("n", [2, 7, 30])
def test_level_rods_fall_until_they_hang(n):
    found = wt.equilibrium(chain(n).compile())
    expected = np.zeros(n)
    expected[0] = np.pi / 2
    off = (found.q - expected + np.pi) % (2 * np.pi) - np.pi  # a rod may have turned over
    assert np.abs(off).max() < 1e-9  # the tip carries 1/(2n) of the weight that sets the scale
    assert found.stable


@pytest.mark.parametrize("make", [arm7, lambda: puma560().compile()])
def test_gravity_compensation_is_an_equilibrium(make):
    system = make()
    q = np.linspace(-0.6, 0.9, system.nq)
    tau = wt.bias_force(system, q, np.zeros(system.nu))
    found = wt.equilibrium(system, q, tau)
    assert found.iterations == 0
    assert np.array_equal(found.q, q)
    slack = wt.equilibrium(system, q + 0.05, tau, fixed=system.joints[:1])  # it finds its way back, or to another pose
    assert slack.residual < 1e-10
    assert slack.q[0] == q[0] + 0.05


def test_held_joints_show_their_reactions():
    system = arm7()
    q = np.linspace(-0.6, 0.9, system.nq)
    found = wt.equilibrium(system, q, fixed=[j for j in system.joints if j != "joint6"])
    moved = system.q_index("joint6").start
    assert np.array_equal(np.delete(found.q, moved), np.delete(q, moved))
    close(found.tau, wt.bias_force(system, found.q, np.zeros(7)), 1e-12)
    assert found.tau[moved] == 0.0
    everything = wt.equilibrium(system, q, fixed=system.joints)
    assert (everything.residual, everything.stable) == (0.0, True)
    close(everything.tau, wt.bias_force(system, q, np.zeros(7)), 1e-15)


def test_nothing_resists_in_space_or_a_whippletree_in_balance():
    found = wt.equilibrium(floating_pair().compile())
    assert (found.stable, found.neutral, found.iterations) == (False, 7, 0)
    found = wt.equilibrium(wt.load("models/whippletree.toml").compile(), {"hook": 0.3, "left_pin": 0.7})
    assert (found.stable, found.neutral) == (False, 3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_trees_that_only_turn_always_find_a_pose(seed):
    rng = np.random.default_rng(seed)
    kinds = ("revolute", "spherical", "universal")
    system = random_model(rng, int(rng.integers(1, 8)), kinds, welds=0.1, armature=True).compile()
    found = wt.equilibrium(system)
    udot = wt.forward_dynamics(system, found.q, np.zeros(system.nu))
    assert np.abs(wt.mass_matrix(system, found.q) @ udot).max() < 1e-7  # N m, of some 100: tolerance 1e-10, and slack
    K = stiffness(system, found.q)
    close(K, K.T, 1e-8)  # forces of a potential, where they vanish


def test_a_body_without_mass_does_not_hide_the_rest():
    model = pendulum()
    model.body("vane", mass=0.0, idealized=True)
    model.joint("swivel", "revolute", "bob", "vane", axis="z")
    found = wt.equilibrium(model.compile(), {"hinge": 0.2})
    assert abs(found.q[0]) < 1e-12
    assert found.neutral == 1


# ---------------------------------------------------------------- modes


def test_frequency_of_a_pendulum_and_growth_of_an_inverted_one():
    system = pendulum().compile()
    omega = np.sqrt(1.5 * G * 0.8 / (0.03 + 1.5 * 0.8**2))
    hanging, upright = wt.eigenmodes(system), wt.eigenmodes(system, {"hinge": 3.0})
    assert hanging.frequencies[0] == pytest.approx(omega, rel=1e-11)
    assert hanging.hz[0] == pytest.approx(omega / (2 * np.pi), rel=1e-11)
    assert (hanging.kinds, hanging.damping[0], hanging.growth[0]) == (["oscillates"], 0.0, 0.0)
    assert upright.growth[0] == pytest.approx(omega, rel=1e-11)
    assert (upright.kinds, upright.frequencies[0], upright.damping[0]) == (["grows"], 0.0, -1.0)


def test_frequencies_of_two_equal_rods():
    modes = wt.eigenmodes(wt.load("models/double_pendulum.toml").compile())
    close(modes.frequencies, np.sqrt(3 * G * (1 + np.array([-2, 2]) / np.sqrt(7))), 1e-11)
    # K x = omega^2 M x at the angles from the vertical: the ratio of the rods is (2 sqrt 7 -+ 1) / 3 (first mode +)
    upper, lower = modes.shape(0)["shoulder"][0], modes.shape(0)["shoulder"][0] + modes.shape(0)["elbow"][0]
    assert lower / upper == pytest.approx((2 * np.sqrt(7) - 1) / 3, rel=1e-9)


@pytest.mark.parametrize("n", [3, 12, 40])
def test_a_hanging_chain_of_rods(n):
    system = chain(n).compile()
    modes = wt.eigenmodes(system, {"hinge0": np.pi / 2})
    below = n - 1 - np.arange(n)  # rods under each; angles are from the vertical
    M = 0.5 + np.minimum.outer(below, below) - np.diag(np.full(n, 1 / 6))
    squares, shapes = eigh(np.diag(G * (0.5 + below)), M)
    close(modes.frequencies, np.sqrt(squares), 1e-10)
    angles = np.cumsum(modes.shapes, axis=1)  # joint angles to angles from the vertical
    for mine, theirs in zip(angles, shapes.T, strict=True):
        assert abs(mine @ M @ theirs) / np.sqrt((mine @ M @ mine) * (theirs @ M @ theirs)) == pytest.approx(
            1, abs=1e-10
        )


def test_a_spherical_pendulum_swings_both_ways_and_spins_freely():
    model = wt.Model("bell")
    model.body("bell", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.05))
    model.joint("ball", "spherical", model.ground, "bell")
    modes = wt.eigenmodes(model.compile())
    omega = np.sqrt(2.0 * G * 0.5 / (0.1 + 2.0 * 0.25))
    close(modes.frequencies, [0.0, omega, omega], 1e-11)
    assert modes.kinds == ["neutral", "oscillates", "oscillates"]
    assert np.array_equal(np.abs(modes.shape(0)["ball"]), [0, 0, 1])
    low = wt.eigenmodes(model.compile(), {"ball": [0.0, 1.0, 0.0, 0.0]})  # upside down
    close(low.growth, [omega, omega, 0.0], 1e-11)


def test_a_body_in_space_has_six_zero_modes():
    model = free_body()
    model.gravity = (0.0, 0.0, 0.0)
    modes = wt.eigenmodes(model.compile())
    assert modes.kinds == ["neutral"] * 6
    assert np.array_equal(modes.poles, np.zeros(6))


def test_modes_solve_the_linear_model():
    system = arm7()
    q = np.linspace(-0.6, 0.9, system.nq)
    tau = wt.bias_force(system, q, np.zeros(7))
    modes, linear = wt.eigenmodes(system, q, tau), wt.linearize(system, q, tau=tau)
    for pole, shape in zip(modes.poles, modes.shapes, strict=True):
        x = np.concatenate([shape, pole * shape])
        assert np.abs(linear.A @ x - pole * x).max() < 1e-7 * np.abs(linear.A).max()  # poles near 0 are roots of noise


def test_held_joints_stay_out_of_the_modes():
    system = wt.load("models/double_pendulum.toml").compile()
    modes = wt.eigenmodes(system, fixed=["shoulder"])
    close(modes.frequencies, [np.sqrt(1.5 * G)], 1e-11)
    assert modes.shape(0)["shoulder"][0] == 0.0


def test_a_torque_that_turns_with_the_body_is_not_a_potential():
    model = wt.Model("follower")
    model.body("top", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.12, 0.2))
    model.joint("ball", "spherical", model.ground, "top", armature=0.01)
    system = model.compile()
    q = wt.advance(system, system.q0, [0.3, -0.2, 0.0])
    tau = wt.bias_force(system, q, np.zeros(3))  # gravity held by a torque in the top's own axes
    modes, linear = wt.eigenmodes(system, q, tau), wt.linearize(system, q, tau=tau)
    K = stiffness(system, q)
    assert np.abs(K - K.T).max() > 0.1
    squares = np.sort_complex(modes.poles**2)
    expected = np.sort_complex(-np.linalg.eigvals(np.linalg.solve(wt.mass_matrix(system, q), K)))
    close(squares, expected, 1e-9)
    assert linear.poles.real.max() == pytest.approx(modes.growth.max(), abs=1e-5)


def test_flutter_and_damping():
    ones = np.ones(2)
    flutter = Small(np.eye(2), np.array([[4.0, 1.0], [-1.0, 4.0]]), np.zeros((2, 2)), ones, ones)
    poles, _ = poles_and_shapes(flutter)
    root = np.sqrt(-4 + 1j)  # squares of the poles are -4 +- i
    close(poles, [root, -root.conj()], 1e-14)
    damped = Small(np.eye(2), np.diag([4.0, 1.0]), np.diag([0.4, 5.0]), ones, ones)
    poles, shapes = poles_and_shapes(damped)
    close(np.sort_complex(poles), [-(5 + np.sqrt(21)) / 2, -(5 - np.sqrt(21)) / 2, -0.2 + 1j * np.sqrt(3.96)], 1e-14)
    assert shapes.shape == (3, 2)
    modes = Eigenmodes(chain(2).compile(), np.zeros(2), np.zeros(2), poles, shapes)
    assert sorted(modes.kinds) == ["decays", "decays", "oscillates"]
    assert min(modes.damping) == pytest.approx(0.1, rel=1e-12)


# ---------------------------------------------------------------- linear models


def deviations(system, q, q_ref):
    """dq with q = advance(q_ref, dq), to first order and up to even terms, which central differences drop."""
    d = []
    for joint in system.joints:
        a, b, kind = q_ref[system.q_index(joint)], q[system.q_index(joint)], system.model.joints[joint].kind
        if kind not in ("spherical", "free"):
            d.append(b - a)
            continue
        w, v = a[-4], a[-3:]
        turn = 2 * (w * b[-3:] - b[-4] * v - np.cross(v, b[-3:]))
        d.append(turn)
        if kind == "free":
            R = (2 * w * w - 1) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * np.cross(np.eye(3), v)
            d.append(R.T @ (b[:3] - a[:3]))
    return np.concatenate(d)


def transition(system, q, u, tau, t, h=1e-5):
    """How deviations at 0 become deviations at each time of t, by simulating each of them."""
    nu = system.nu

    def run(d):
        start = {"q": wt.advance(system, q, d[:nu]), "u": u + d[nu:], "tau": tau}
        result = wt.simulate(system, t[-1], step=t[0] / 4, output_step=t[0], **start)
        rows = np.round(np.asarray(t) / t[0]).astype(int)
        return result.q[rows], result.u[rows]

    reference = run(np.zeros(2 * nu))[0]
    columns = []
    for d in h * np.eye(2 * nu):
        (qp, up), (qm, um) = run(d), run(-d)
        dq = [deviations(system, a, r) - deviations(system, b, r) for a, b, r in zip(qp, qm, reference, strict=True)]
        columns.append(np.hstack([np.array(dq), up - um]) / (2 * h))
    return np.moveaxis(np.array(columns), 0, -1)  # (times, 2 nu, 2 nu)


def ball_on_a_hinge(reverse):
    rng = np.random.default_rng(41)
    model = random_model(rng, 3, ("spherical", "revolute", "free"), reversed_joints=False, branching=False)
    if reverse:
        model = random_model(rng, 3, ("spherical", "universal", "free"), reversed_joints=True)
    return model


@pytest.mark.parametrize("make", [free_body, lambda: ball_on_a_hinge(False), lambda: ball_on_a_hinge(True), welded])
def test_A_is_how_simulated_deviations_begin(make):
    system = make().compile()
    q, u, tau = random_state(system, np.random.default_rng(43))
    t = np.array([1.0, 2.0, 4.0, 8.0]) * 2.5e-4
    slopes = list((transition(system, q, u, tau, t) - np.eye(2 * system.nu)) / t[:, None, None])
    for k in (1, 2, 3):  # extrapolated to t = 0
        slopes = [(2**k * a - b) / (2**k - 1) for a, b in pairwise(slopes)]
    A = wt.linearize(system, q, u, tau).A
    # left over: t^4 A^5, and rounding 1e-16 / (1e-5 x 2.5e-4), both some 1e-7 of A
    close(slopes[0], A, 3e-6)


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("name", ["panda_description/urdf/panda.urdf", "talos_data/robots/talos_reduced.urdf"])
def test_slopes_equal_the_analytic_ones_of_pinocchio(name, free):
    robot = robot_of(name, free)
    system, part = robot.system, np.ix_(robot.order, robot.order)
    q, u, tau = random_state(system, np.random.default_rng(3))
    by_q, by_u = pin.computeABADerivatives(robot.pin, robot.data, robot.q(q), robot.v(u), robot.v(tau))[:2]
    A = wt.linearize(system, q, u, tau).A
    # udot is rounded at some 1e-14 of its largest entry, and divided by a step of 2^-14
    close(A[system.nu :], np.hstack([by_q[part], by_u[part]]), DIFFERENCES)
    gravity = pin.computeGeneralizedGravityDerivatives(robot.pin, robot.data, robot.q(q))
    close(stiffness(system, q), gravity[part], 1e-11)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_spinning_body_is_linear_for_as_long_as_it_spins(axis):
    I, w = np.array([1.0, 2.0, 2.5]), 2.0
    model = wt.Model("stone", gravity=(0, 0, 0))
    model.body("stone", mass=2.0, inertia=I)
    model.joint("flight", "free", model.ground, "stone")
    system = model.compile()
    u = np.zeros(6)
    u[axis], u[3:] = w, 0.3 * np.eye(3)[axis]  # and moves along its axis: steady in its own axes
    linear = wt.linearize(system, system.q0, u)
    a, b = np.delete(I, axis)
    nutation = w * np.sqrt(complex(-(I[axis] - a) * (I[axis] - b) / (a * b)))  # Euler: grows about the middle axis
    expected = np.array([nutation, -nutation, *[1j * w, -1j * w] * 3, *[0] * 4])
    found = linear.poles.copy()
    for pole in expected:  # zeros and turns are defective: eigenvalues there are known to a root of rounding
        k = np.abs(found - pole).argmin()
        assert abs(found[k] - pole) < (1e-10 if pole in (nutation, -nutation) else 1e-4)
        found = np.delete(found, k)
    t = np.array([0.01, 1.0])
    after = transition(system, system.q0, u, np.zeros(6), t)[-1]
    close(after, expm(linear.A * t[-1]), 1e-7)  # central differences of a motion at 1e-5, rounding 1e-11, order-4 steps


@settings(max_examples=25, deadline=None)
@given(models(most_bodies=6), st.integers(0, 2**32 - 1))
def test_linear_models_of_random_trees_obey_power_and_kinematics(model, seed):
    system = model.compile()
    q, u, tau = random_state(system, np.random.default_rng(seed))
    body = system.bodies[-1]
    names = ("energy", f"{body}.velocity", f"{body}.position", "tip.velocity", f"{system.joints[0]}.udot")
    linear = wt.linearize(system, q, u, tau, outputs=names)
    nu, labels = system.nu, linear.names.outputs
    udot = wt.forward_dynamics(system, q, u, tau)
    close(linear.udot, udot, 1e-10)
    # along the motion itself dq' = u and du' = udot: power is the rate of energy
    rate = linear.C[0] @ np.concatenate([u, udot])
    E = wt.energy(system, q, u)
    size = abs(E.kinetic) + abs(E.potential) + np.abs(linear.C[0]) @ np.abs(np.concatenate([u, udot]))
    assert abs(rate - u @ tau) <= DIFFERENCES * size
    close(linear.C[0, nu:], wt.mass_matrix(system, q) @ u, 1e-8)
    J = wt.jacobian(system, q, body)
    v = slice(1, 7)
    close(linear.C[v, nu:], J, DIFFERENCES)
    close(linear.C[7:10, :nu], J[3:], 1e-8)  # positions may be some 10 m from where they are measured
    assert np.abs(linear.C[7:10, nu:]).max(initial=0.0) < 1e-9  # differences of places that are rounded
    assert labels[:3] == ("energy", f"{body}.velocity.wx", f"{body}.velocity.wy")
    inverse = wt.mass_matrix_inverse(system, q)
    close(linear.B[nu:], inverse, 1e-10)  # by other factors of the same matrix
    assert not linear.B[:nu].any()
    rows = system.u_index(system.joints[0])
    assert np.array_equal(linear.D[-(rows.stop - rows.start) :], linear.B[nu:][rows])
    assert np.array_equal(linear.C[-(rows.stop - rows.start) :], linear.A[nu:][rows])


def test_outputs_of_joints():
    system = ball_on_a_hinge(False).compile()
    q, u, tau = random_state(system, np.random.default_rng(47))
    nu = system.nu
    ball, hinge = (next(j for j in system.joints if j.startswith(kind)) for kind in ("spherical", "revolute"))
    linear = wt.linearize(system, q, u, tau, outputs=(f"{hinge}.q", f"{hinge}.u", f"{ball}.u", f"{ball}.q"))
    eye = np.eye(2 * nu)
    h, b = system.u_index(hinge), system.u_index(ball)
    assert np.array_equal(linear.C[:5], np.vstack([eye[h], eye[nu:][h], eye[nu:][b]]))
    rates = wt.coordinate_rates(system, np.tile(q, (nu, 1)), np.eye(nu))[:, system.q_index(ball)].T
    close(linear.C[5:, :nu], rates, DIFFERENCES)
    assert linear.names.outputs == (
        f"{hinge}.q", f"{hinge}.u", *(f"{ball}.u.{w}" for w in ("wx", "wy", "wz")),
        *(f"{ball}.q.{c}" for c in ("qw", "qx", "qy", "qz")),
    )  # fmt: skip


def test_names_and_inputs():
    system = floating_pair().compile()
    linear = wt.linearize(system, outputs=("two.rotation",), inputs=("hinge", "flight"))
    turn, shift = ("rx", "ry", "rz"), ("x", "y", "z")
    assert linear.names.states[:7] == (*(f"flight.q.{a}" for a in turn + shift), "hinge.q")
    assert linear.names.states[7:] == (*(f"flight.u.{a}" for a in ("wx", "wy", "wz", "vx", "vy", "vz")), "hinge.u")
    assert linear.names.inputs == ("hinge.tau", *(f"flight.tau.{a}" for a in ("tx", "ty", "tz", "fx", "fy", "fz")))
    assert linear.names.outputs[:2] == ("two.rotation.xx", "two.rotation.xy")
    assert np.array_equal(linear.B[7:, 0], wt.mass_matrix_inverse(system, system.q0)[:, 6])
    plain = wt.linearize(system)
    assert np.array_equal(plain.C, np.eye(14))
    assert plain.names.outputs == plain.names.states
    assert (plain.D.shape, plain.D.any()) == ((14, 7), False)


@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_steps_fit_mechanisms_of_any_size(size):
    """A pendulum on a cart, a millimetre or a kilometre long: frequencies go with the root of size."""
    model = wt.Model("cart")
    model.body("cart", mass=2.0, inertia=np.full(3, size**2))
    model.body("bob", mass=1.0, com=(0, 0, -size), inertia=np.full(3, 1e-3 * size**2))
    model.joint("rail", "prismatic", model.ground, "cart", axis="x")
    model.joint("hinge", "revolute", "cart", "bob", axis="y")
    model.joint("slide", "prismatic", "bob", model.body("bead", mass=0.1, inertia=np.full(3, 1e-4 * size**2)), axis="x")
    system = model.compile()
    q, u = {"hinge": 0.4, "slide": 0.3 * size}, {"hinge": 1.0 / np.sqrt(size)}
    linear = wt.linearize(system, q, u)
    h = 1e-5 * units(system)  # two points, with a step of another size: the same up to their own error, 1e-10
    columns = []
    for k, d in enumerate(np.diag(h)):
        ends = (wt.forward_dynamics(system, linear.q + s * d, linear.u) for s in (1, -1))
        columns.append((next(ends) - next(ends)) / (2 * h[k]))
    close(linear.A[3:, :3] * units(system), np.array(columns).T * units(system), 1e-8)


def test_response_to_a_step_of_torque():
    system = pendulum().compile()
    linear = wt.linearize(system, outputs=("hinge.q",))
    inertia, omega = 0.03 + 1.5 * 0.8**2, wt.eigenmodes(system).frequencies[0]
    t = np.linspace(0, 3, 301)
    y = linear.response(t, [0.01])
    close(y[:, 0], 0.01 / (inertia * omega**2) * (1 - np.cos(omega * t)), 1e-10)
    close(linear.response(t, np.full((301, 1), 0.01)), y, 1e-12)
    swing = linear.response(t + 5.0, x0=[1e-3, 0.0])
    close(swing[:, 0], 1e-3 * np.cos(omega * t), 1e-10)
    run = wt.simulate(system, 3.0, tau=[0.01], output_step=0.01)
    close(run["hinge.q"][:, None], y, 1e-5)  # the sine of 0.0017 rad bends by 1e-6
    alone = wt.linearize(system, inputs=())
    assert alone.B.shape == (2, 0)
    close(alone.response(t, x0=[1e-3, 0.0])[:, 0], 1e-3 * np.cos(omega * t), 1e-10)


@pytest.mark.parametrize("ending", ["npz", "json"])
def test_a_saved_linear_model_reads_back(tmp_path, ending):
    linear = wt.linearize(floating_pair().compile(), u={"hinge": 1.0}, outputs=("two.position",))
    path = tmp_path / f"pair.{ending}"
    linear.save(path)
    read = np.load(path, allow_pickle=False) if ending == "npz" else json.loads(path.read_text())
    for name in ("A", "B", "C", "D", "q", "u", "tau", "udot"):
        assert np.array_equal(np.array(read[name]), getattr(linear, name))
    assert tuple(map(str, read["states"])) == linear.names.states
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


# ---------------------------------------------------------------- messages


def lonely():
    model = wt.Model("post")
    model.body("post", mass=1.0)
    model.joint("weld", "fixed", model.ground, "post")
    return model


@pytest.mark.parametrize("study", [wt.equilibrium, wt.linearize, wt.eigenmodes])
@pytest.mark.parametrize(
    ("make", "q", "reported"),
    [
        (lonely, None, "'post' has no degrees of freedom: there is nothing to study"),
        (pendulum, [[0.0], [1.0]], "a study takes one state"),
        (pendulum, [0.0, 1.0], "q has the wrong shape for 'pendulum'"),
        (pendulum, {"hing": 1.0}, "joint 'hing' is not known"),
        (pendulum, {"hinge": [1.0, 2.0]}, "joint 'hinge': wrong number of values"),
        (pendulum, [np.nan], "q is not finite"),
        (free_body, {"flight": [0, 0, 0, 1, 1, 0, 0]}, "joint 'flight': the quaternion in q is not unit"),
    ],
)
def test_every_study_refuses_a_state_that_is_none(study, make, q, reported):
    with pytest.raises(wt.ModelError, match=reported):
        study(make().compile(), q)


@pytest.mark.parametrize(
    "name", ["free_body", "far_base", "planar_row_reversed", "cylindrical_row", "free_row_reversed"]
)
@pytest.mark.parametrize("study", [wt.equilibrium, wt.eigenmodes])
def test_a_system_that_nothing_holds_is_refused(study, name):
    with pytest.raises(wt.ModelError, match="has no equilibrium: nothing resists the force on joint '") as refusal:
        study(ZOO[name]().compile())
    assert "left over in every pose" in refusal.value.got
    assert "fixed: '" in refusal.value.hint


def test_velocities_are_held_beside_a_motion_that_accelerates():
    m = wt.Model("driven")
    for name in ("a", "b"):
        m.body(name, **wt.rod(mass=1.0, length=1.0, axis="x"))
    m.joint("p", "revolute", m.ground, "a", axis="y")
    m.joint("r", "revolute", "a", "b", axis="y", at=(1, 0, 0))
    m.force("drive", "motion", joint="p", position=wt.Sine(amplitude=0.3, frequency=2.0, phase=np.pi / 2))
    held = wt.linearize(m.compile(), [0.3, 0.4], [0.0, 0.2], hold=True)
    assert held.udot == pytest.approx([-0.3 * (4 * np.pi) ** 2, 0.0], abs=1e-10)  # rounding of 47 rad/s^2


def test_a_thrust_can_hold_a_free_body():
    system = free_body().compile()
    tau = wt.bias_force(system, system.q0, np.zeros(6))
    turned = wt.advance(system, system.q0, [0.1, 0.2, 0.0, 0, 0, 0])
    found = wt.equilibrium(system, turned, tau)
    assert found.residual < 1e-8
    assert found.neutral >= 3


def test_a_torque_that_nothing_can_balance_names_the_joint(monkeypatch):
    system = chain(2).compile()
    with pytest.raises(wt.SimulationError, match=r"no equilibrium of 'chain 2' was found in \d+ steps") as failure:
        wt.equilibrium(system, tau=[0.0, 15.0])  # the second rod can hold 4.9 N m
    assert "'hinge1' (revolute) of body 'rod1'" in failure.value.where
    assert "N m left over" in failure.value.got


@pytest.mark.parametrize("tolerance", [0.0, -1.0, 2.0, "small", np.nan])
def test_tolerance_has_a_range(tolerance):
    with pytest.raises(wt.ModelError, match="tolerance"):
        wt.equilibrium(pendulum().compile(), tolerance=tolerance)


def test_names_are_given_as_lists_and_exist():
    system = pendulum().compile()
    for call, reported in (
        (lambda: wt.equilibrium(system, fixed="hinge"), "fixed is not a list of joints"),
        (lambda: wt.eigenmodes(system, fixed="hinge"), "fixed is not a list of joints"),
        (lambda: wt.equilibrium(system, fixed=["hing"]), "joint 'hing' is not known"),
        (lambda: wt.eigenmodes(system, fixed=["hinge"]), "all joints of 'pendulum' are held"),
        (lambda: wt.eigenmodes(system).shape(1), "there is no mode 1"),
        (lambda: wt.linearize(system, inputs="hinge"), "inputs is not a list of joints"),
        (lambda: wt.linearize(system, inputs=["knee"]), "joint 'knee' is not known"),
        (lambda: wt.linearize(system, outputs="hinge.q"), "outputs is not a list of names"),
        (lambda: wt.linearize(system, outputs=["bob.speed"]), "result of 'pendulum' has no 'bob.speed'"),
        (lambda: wt.linearize(system, outputs=["time"]), "time is no output of a linear model"),
        (lambda: wt.linearize(system).save("a.mat"), "'a.mat' is not the name of a linear model"),
        (lambda: wt.linearize(system).save("no/a.npz"), "there is no folder 'no'"),
    ):
        with pytest.raises(wt.ModelError, match=reported):
            call()


@pytest.mark.parametrize(
    ("t", "input", "x0", "reported"),
    [
        ([0.0], None, None, "t is not a row of evenly spaced times"),
        ([0.0, 1.0, 3.0], None, None, "t is not a row of evenly spaced times"),
        ([1.0, 0.0], None, None, "t does not go forward"),
        ([0.0, 1.0], [1.0, 2.0], None, "input has the wrong shape or is not finite"),
        ([0.0, 1.0], [np.inf], None, "input has the wrong shape or is not finite"),
        ([0.0, 1.0], None, [0.0], "x0 has the wrong shape or is not finite"),
    ],
)
def test_a_response_to_nonsense_is_refused(t, input, x0, reported):
    with pytest.raises(wt.ModelError, match=reported):
        wt.linearize(pendulum().compile()).response(t, input, x0)


def test_modes_need_mass():
    model = pendulum()
    model.body("vane", mass=0.0, idealized=True)
    model.joint("swivel", "revolute", "bob", "vane", axis="z")
    with pytest.raises(wt.SimulationError, match="the mass matrix of 'pendulum' is singular") as failure:
        wt.eigenmodes(model.compile())
    assert "'swivel'" in failure.value.where


def test_a_search_stops(monkeypatch):
    monkeypatch.setattr(search, "ROUNDS", 1)
    monkeypatch.setattr(search, "NEWTON_STEPS", 1)
    monkeypatch.setattr(search, "FALL_STEPS", 1)
    with pytest.raises(wt.SimulationError, match="in 2 steps"):
        wt.equilibrium(pendulum().compile(), [1.5])


def test_springs_and_dampers_of_the_model_are_in_the_modes():
    """One hinge in closed form: omega^2 = (k + m g l) / I, damping ratio c / (2 I omega)."""
    model = wt.Model("door")
    model.body("door", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model.joint("hinge", "revolute", "ground", "door", axis="y", stiffness=3.0, damping=0.4)
    modes = wt.eigenmodes(model.compile())
    inertia = 0.1 + 2.0 * 0.25
    omega = np.sqrt((3.0 + 2.0 * 9.81 * 0.5) / inertia)
    assert modes.frequencies == pytest.approx([omega], rel=1e-9)
    assert modes.damping == pytest.approx([0.4 / (2 * inertia * omega)], rel=1e-9)
    linear = wt.linearize(model.compile())
    np.testing.assert_allclose(linear.A, [[0, 1], [-(omega**2), -0.4 / inertia]], rtol=1e-9)
