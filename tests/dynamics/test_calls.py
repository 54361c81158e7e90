"""Quantities of plain calls: Jacobians, accelerations, the centroid and the Coriolis matrix, by finite differences and
Pinocchio; what callers may pass; and what is said while kernels are compiled."""

import logging

import numpy as np
import pytest

import whippletree as wt
from bridge import columns, coordinates
from pin_model import PinModel
from reference import Reference
from whippletree.compiler import notice
from whippletree.model import Model
from zoo import MOVING, ZOO, random_model, random_state

STEP = 1e-5  # s; central differences: 1e-10 of the third derivative, and 1e-11 of rounding
RELATIVE = 1e-7


def near(found, expected, tolerance=RELATIVE):
    size = max(1.0, float(np.abs(expected).max(initial=0.0)))
    assert np.abs(np.asarray(found) - expected).max(initial=0.0) < tolerance * size


def all_kinds(seed=3):
    """Every joint kind, written both ways round, with branches."""
    model = random_model(np.random.default_rng(seed), bodies=2 * len(MOVING), reversed_joints=True)
    system = model.compile()
    return model, system, random_state(system, np.random.default_rng(seed + 1))[:2]


def along(system, q, u, udot, t):
    """The state after a time t of a motion with these accelerations, exact to second order."""
    return wt.advance(system, q, u + 0.5 * t * udot, t), u + t * udot


@pytest.mark.parametrize("seed", range(3))
def test_accelerations_are_rates_of_velocities(seed):
    _, system, (q, u) = all_kinds(seed)
    udot = np.random.default_rng(9).normal(size=system.nu)
    k = wt.kinematics(system, q, u, udot)
    before, after = (wt.kinematics(system, *along(system, q, u, udot, t)) for t in (-STEP, STEP))
    for name in (*system.bodies, *system.model.frames):
        near(k.acceleration(name), (after.velocity(name) - before.velocity(name)) / (2 * STEP), 1e-6)


@pytest.mark.parametrize("far", [1e2, 1e3, 1e4, 1e5])
def test_a_small_wheel_far_from_the_first_joint_keeps_its_inertia(far):
    """By hand: its hinge passes through its centre of mass. m D^2 is up to 1e14 times its inertia."""
    inertia, m = 1e-4, Model("a wheel on a long carriage", gravity=(0, 0, 0))
    m.body("carriage", mass=1.0)
    m.joint("rail", "prismatic", m.ground, "carriage", axis="x")
    m.body("wheel", mass=1.0, inertia=(inertia,) * 3)
    m.joint("hinge", "revolute", "carriage", "wheel", axis="z", at=(0.3 * far, 0.7 * far, 0.1 * far))
    system, q, u = m.compile(), np.array([0.1, 0.4]), np.array([0.2, 0.3])
    rounding = 1e2 * np.finfo(float).eps * far / 0.01  # of its place, over its radius
    for states in (1, 9):  # a batch is solved in lanes
        Q, U, A = (np.tile(x, (states, 1)) for x in (q, u, np.array([0.0, 1.0])))
        assert np.abs(wt.inverse_dynamics(system, Q, U, A)[:, 1] / inertia - 1.0).max() < rounding
        kinetic = wt.energy(system, Q, np.tile([0.0, 1.0], (states, 1))).kinetic
        assert np.abs(kinetic / (0.5 * inertia) - 1.0).max() < rounding


def test_accelerations_need_udot():
    system = ZOO["pendulum"]().compile()
    with pytest.raises(wt.ModelError, match="no accelerations"):
        wt.kinematics(system, [0.1], [0.2]).acceleration(system.bodies[-1])


@pytest.mark.parametrize("seed", range(3))
def test_the_centroid_moves_as_its_jacobian_says(seed):
    _, system, (q, u) = all_kinds(seed)
    c = wt.centroid(system, q, u)
    ends = [wt.centroid(system, wt.advance(system, q, u, t)).position for t in (-STEP, STEP)]
    near(c.velocity, (ends[1] - ends[0]) / (2 * STEP), 1e-7)
    near(c.jacobian @ u, c.velocity, 1e-12)
    p = wt.momentum(system, q, u)
    near(c.momentum_matrix @ u, np.concatenate([p[:3] - np.cross(c.position, p[3:]), p[3:]]), 1e-12)
    assert c.mass == pytest.approx(sum(b.mass for n, b in system.model.bodies.items() if system.place(n)[0]), rel=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_the_coriolis_matrix_belongs_to_the_mass_matrix(seed):
    """C u is the bias without gravity, and dM/dt - 2 C is skew-symmetric."""
    _, system, (q, u) = all_kinds(seed)
    C = wt.coriolis_matrix(system, q, u)
    near(C @ u, wt.bias_force(system, q, u) - wt.bias_force(system, q, 0.0 * u), 1e-11)
    ends = [wt.mass_matrix(system, wt.advance(system, q, u, t)) for t in (-STEP, STEP)]
    twice = (ends[1] - ends[0]) / (2 * STEP) - 2.0 * C
    near(twice + twice.T, np.zeros_like(C), 1e-6)


def test_pinocchio_finds_the_same_centroid_and_coriolis_matrix():
    import pinocchio as pin

    model = random_model(np.random.default_rng(4), bodies=9, kinds=("revolute", "prismatic"), reversed_joints=False)
    system, reference = model.compile(), Reference(model)
    other, order = PinModel(model, reference), columns(system, reference)
    q, u = random_state(system, np.random.default_rng(5))[:2]
    where, data = other.q(coordinates(system, q, u)[0]), other.data
    T = other.T(coordinates(system, q, u)[0])[:, order]
    A = pin.computeCentroidalMap(other.pin, data, where) @ T
    c = wt.centroid(system, q, u)
    near(c.momentum_matrix, A[[3, 4, 5, 0, 1, 2]], 1e-11)
    near(c.jacobian, pin.jacobianCenterOfMass(other.pin, data, where) @ T, 1e-11)
    near(c.position, data.com[0], 1e-11)
    C = pin.computeCoriolisMatrix(other.pin, data, where, T @ u)
    near(wt.coriolis_matrix(system, q, u), T.T @ C @ T, 1e-11)


@pytest.mark.parametrize("call", [wt.centroid, wt.coriolis_matrix])
def test_batches_are_rows_of_single_calls(call):
    _, system, _ = all_kinds()
    q, u = random_state(system, np.random.default_rng(6), 13)[:2]
    many, one = call(system, q, u, threads=2), [call(system, *s) for s in zip(q, u, strict=True)]
    for n, part in enumerate(one):
        found = [x[n] for x in many] if isinstance(part, tuple) else [many[n]]
        for a, b in zip(found, part if isinstance(part, tuple) else [part], strict=True):
            near(a, np.asarray(b), 1e-13)


def test_flexible_bodies_are_refused_by_name():
    system = wt.load("models/flexible_arm.toml").compile()
    for call in (wt.centroid, wt.coriolis_matrix):
        with pytest.raises(wt.ModelError, match="rigid bodies only"):
            call(system, system.q0, np.zeros(system.nu))


def test_a_ground_without_moving_mass_has_no_centroid():
    model = Model("rotor")
    model.body("shaft", mass=0.0, idealized=True)
    model.joint("hinge", "revolute", model.ground, "shaft", axis="z", armature=1.0)
    with pytest.raises(wt.ModelError, match="no mass moves"):
        wt.centroid(model.compile(), [0.0])


@pytest.mark.parametrize("name", sorted(ZOO))
def test_compiled_jacobians_are_those_of_kinematics(name):
    system = ZOO[name]().compile()
    q, u = random_state(system, np.random.default_rng(2))[:2]
    k, point = wt.kinematics(system, q, u), (0.1, -0.2, 0.3)
    for number, body in enumerate(system.bodies):
        near(wt.jacobian(system, q, body, point), k.jacobian(body, point), 1e-14)
        near(wt.jacobian(system, q, number) @ u, k.velocity(body), 1e-12)
        near(k.velocity(number), k.velocity(body), 1e-15)


def test_arrays_of_any_kind_are_taken():
    """Lists, float32, slices and read-only arrays give what contiguous doubles do, on the first call and later ones."""
    _, system, (q, u) = all_kinds()
    q, u = q.astype(np.float32).astype(float), u.astype(np.float32).astype(float)
    wide = np.zeros((2, 2 * system.nq))
    wide[1, ::2] = q
    frozen = q.copy()
    frozen.setflags(write=False)
    body = system.bodies[-1]
    calls = {
        "kinematics": lambda q, u: wt.kinematics(system, q, u).velocity(body),
        "jacobian": lambda q, u: wt.jacobian(system, q, body),
        "energy": lambda q, u: np.array(wt.energy(system, q, u)),
        "momentum": lambda q, u: wt.momentum(system, q, u),
        "inverse": lambda q, u: wt.mass_matrix_inverse(system, q),
        "bias": lambda q, u: wt.bias_force(system, q, u),
        "forward": lambda q, u: wt.forward_dynamics(system, q, u),
    }
    for call in calls.values():
        expected = call(q, u)
        for given in (q.tolist(), wide[1, ::2], frozen):
            near(call(given, u.tolist()), expected, 1e-13)
        near(call(q.astype(np.float32), u.astype(np.float32)), expected, 1e-13)


def test_results_go_where_the_caller_says():
    _, system, (q, u) = all_kinds()
    body, k = system.bodies[-1], wt.kinematics(system, q, u)
    J, expected = np.zeros((6, system.nu)), wt.jacobian(system, q, body)
    for _ in range(2):
        assert wt.jacobian(system, q, body, out=J) is J
        near(J, expected, 1e-15)
        other = wt.kinematics(system, q, 2.0 * u, out=k)
        near(other.velocity(body), 2.0 * expected @ u, 1e-12)
    many = np.tile(q, (5, 1))
    found = wt.jacobian(system, many, body, out=np.zeros((5, 6, system.nu)))
    near(found[4], expected, 1e-14)
    for wrong in (np.zeros((6, system.nu + 1)), np.zeros((6, system.nu), np.float32), J.T.copy().T, [1.0]):
        with pytest.raises(wt.ModelError, match="out does not fit jacobian"):
            wt.jacobian(system, q, body, out=wrong)


def test_wrong_places_and_numbers_are_named():
    _, system, (q, u) = all_kinds()
    with pytest.raises(wt.ModelError, match="there is no body 99"):
        wt.jacobian(system, q, 99)
    bad = q.copy()
    bad[-1] = np.nan
    for call in (wt.energy, wt.momentum, wt.kinematics, wt.coriolis_matrix, wt.centroid):
        for _ in range(2):
            with pytest.raises(wt.ModelError, match="q is not finite"):
                call(system, bad, u)
    for _ in range(2):
        with pytest.raises(wt.ModelError, match="q is not finite"):
            wt.jacobian(system, bad, system.bodies[-1])


def driven():
    """A tree under forces of every kind that is no function of the user's."""
    model = random_model(np.random.default_rng(8), bodies=7, kinds=("revolute", "prismatic"), reversed_joints=False)
    first, second, third = list(model.joints)[:3]
    model.joints[second].damping, model.joints[third].stiffness = 0.7, 3.0
    body, other = list(model.bodies)[2], list(model.bodies)[-1]
    model.force("motor", "motor", joint=first, position=wt.Sine(0.3, 2.0), kp=8.0, kd=0.4, limit=5.0)
    model.force("strut", "spring", body=body, to=other, stiffness=30.0, damping=2.0, length=0.4)
    model.force("push", "wrench", body=other, force=(1.0, 2.0, 3.0), factor=wt.Ramp(2.0, 0.1), axes="body")
    model.force("air", "drag", body=other, linear=0.3, quadratic=0.2)
    return model, third


@pytest.mark.parametrize("prescribed", [False, True])
def test_forces_inside_the_pass_are_those_of_the_model(prescribed):
    """Against the forces on their own, by another kernel, and the same tree without them."""
    model, joint = driven()
    bare, _ = driven()
    bare.forces.clear()
    bare.passive = False
    if prescribed:
        model.force("crank", "motion", joint=joint, position=wt.Sine(0.2, 1.0))
        bare.force("crank", "motion", joint=joint, position=wt.Sine(0.2, 1.0))
    system, plain = model.compile(), bare.compile()
    q, u = random_state(system, np.random.default_rng(3))[:2]
    tau, t = np.random.default_rng(4).normal(size=system.nu), 0.37
    acting = wt.applied_force(system, q, u, t=t)
    assert np.abs(acting).max() > 1.0
    expected = wt.forward_dynamics(plain, q, u, tau + acting, t=t)
    needed = wt.inverse_dynamics(plain, q, u, tau, t=t) - acting
    found = [wt.forward_dynamics(system, q, u, tau, t=t) for _ in range(3)]
    near(found[0], expected, 1e-10)
    assert all((x == found[0]).all() for x in found)
    near(wt.forward_dynamics(system, np.tile(q, (3, 1)), u, tau, t=t)[2], expected, 1e-10)
    near(wt.forward_dynamics(system, q, u, tau, t=t, algorithm="composite"), expected, 1e-10)
    for _ in range(2):
        near(wt.inverse_dynamics(system, q, u, tau, t=t), needed, 1e-11)
        near(wt.bias_force(system, q, u, t=t), wt.bias_force(plain, q, u, t=t) - acting, 1e-11)


def test_a_certificate_before_the_first_call_does_not_disturb_it():
    model, _ = driven()
    system = model.compile()
    q, u = random_state(system, np.random.default_rng(3))[:2]
    right, _ = wt.forward_dynamics(system, q, u, certificate=True)
    for _ in range(3):
        near(wt.forward_dynamics(system, q, u), right, 1e-11)


def test_compiling_is_recorded_and_nothing_else(caplog, monkeypatch):
    monkeypatch.setattr(notice, "_counted", [0])
    caplog.set_level(logging.INFO, "whippletree")
    notice.begin("accelerations")
    notice.end()
    notice.begin("torques")
    assert [r.levelname for r in caplog.records] == ["INFO"]
    assert "accelerations" in caplog.text
    wt.energy(ZOO["pendulum"]().compile(), [0.1], [0.2])  # may compile
    before = notice.compiled()
    wt.energy(ZOO["pendulum"]().compile(), [0.1], [0.2])
    assert notice.compiled() == before


def test_a_terminal_sees_one_line_that_goes_away(monkeypatch, capsys):
    monkeypatch.setattr(notice, "_shown", lambda: True)
    notice.begin("torques")
    notice.end()
    reported = capsys.readouterr().err
    assert "compiling kernel" in reported
    assert "torques" in reported
    assert reported.endswith("\r\x1b[K")


def test_the_benchmark_of_calls_agrees_with_pinocchio():
    """With and without forces, for one state and for a batch."""
    from whippletree_lab import bench
    from whippletree_lab.bench.measure import AGREE

    result = bench.run("calls", sizes="4", against="pinocchio", rounds=1)
    assert not result.notes
    assert {row.states for row in result.rows} == {1, 4096}
    assert all(row.differences["pinocchio"] < AGREE for row in result.rows)
    assert {row.question for row in result.rows} >= {"forward", "kinematics", "jacobian", "energy"}


@pytest.mark.parametrize("call", [wt.forward_dynamics, wt.bias_force, wt.applied_force])
@pytest.mark.parametrize(("states", "times"), [(3, 2), (1, 3), (3, 5), (0, 3)])
def test_times_that_do_not_fit_the_states_are_refused(call, states, times):
    """No states: one, without the axis of a batch."""
    m = wt.Model("pendulum")
    m.body("bob", mass=1.0, com=(0, 0, -1))
    m.joint("hinge", "revolute", m.ground, "bob", axis="y")
    m.force("drive", "motor", joint="hinge", torque=wt.Ramp(1.0))
    x = np.zeros((states, 1)) if states else np.zeros(1)
    with pytest.raises(wt.ModelError, match="t does not fit the states"):
        call(m.compile(), x, x, t=np.linspace(0.1, 0.3, times))
