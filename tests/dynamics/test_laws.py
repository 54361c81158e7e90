"""Laws of mechanics that hold whatever the algorithm: each test is one law, over the whole zoo."""

import numpy as np
import pytest

import whippletree as wt
from bridge import case_of, error
from zoo import ZOO

TREES = [a for a, module in wt.ALGORITHMS.items() if "trees" in module.SUPPORTS]


@pytest.fixture(params=ZOO)
def case(request):
    return case_of(request.param)


def floats(name, outward=False):
    """Does the whole mechanism hang on ground by one free joint (written from ground to body)?"""
    roots = [j for j in ZOO[name]().joints.values() if "ground" in (j.parent, j.child)]
    return len(roots) == 1 and roots[0].kind == "free" and (not outward or roots[0].parent == "ground")


def derivative(f, h):
    """Sixth-order central difference of f at 0; its error is near (rounding of f) / h + h^6."""
    weights = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    return sum(w * (f(k * h) - f(-k * h)) for k, w in weights) / h


@pytest.mark.parametrize("algorithm", TREES)
@pytest.mark.parametrize("name", ZOO)
def test_power_equals_energy_rate(name, algorithm):
    case = case_of(name)
    system, q, u, tau = case.system, case.q, case.u, case.tau
    udot = wt.forward_dynamics(system, q, u, tau, algorithm=algorithm)

    def energy(t):  # q(t) is right to first order in t, which is all that the slope sees
        return wt.energy(system, wt.advance(system, q, u, t), u + t * udot).total

    scale = np.abs(energy(0.0)) + np.abs(u) @ np.abs(tau).T.max(axis=1)
    power = (u * tau).sum(axis=1)
    assert (np.abs(derivative(energy, 1e-3) - power) / scale).max() < 1e-8


def test_mass_matrix_is_the_hessian_of_kinetic_energy(case):
    n = case.system.nu
    q, e = np.tile(case.q[0], (n * n, 1)), np.eye(n)
    pairs = (e[:, None, :] + e[None, :, :]).reshape(n * n, n)
    K = wt.energy(case.system, q, pairs).kinetic.reshape(n, n)
    k = wt.energy(case.system, q[:n], e).kinetic
    assert error(K - k[:, None] - k[None, :], wt.mass_matrix(case.system, case.q[0])) < 1e-12 * n


def test_mass_matrix_is_symmetric_and_positive_definite(case):
    M = wt.mass_matrix(case.system, case.q)
    assert np.array_equal(M, M.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(M) > 0).all()


def test_kinetic_energy_is_half_u_M_u(case):
    M = wt.mass_matrix(case.system, case.q)
    expected = 0.5 * np.einsum("bi,bij,bj->b", case.u, M, case.u)
    assert error(wt.energy(case.system, case.q, case.u).kinetic, expected) < 1e-12


@pytest.mark.parametrize("algorithm", TREES)
@pytest.mark.parametrize("name", ZOO)
def test_inverse_after_forward_is_identity(name, algorithm):
    case = case_of(name)
    udot = wt.forward_dynamics(case.system, case.q, case.u, case.tau, wrenches=case.wrenches, algorithm=algorithm)
    tau = wt.inverse_dynamics(case.system, case.q, case.u, udot, wrenches=case.wrenches)
    scale = np.abs(case.M).sum(axis=2).max() * np.abs(udot).max()  # backward error: tau may be small beside M udot
    assert np.abs(tau - case.tau).max() < 1e-12 * scale


@pytest.mark.parametrize("algorithm", TREES)
@pytest.mark.parametrize("name", ZOO)
def test_forward_after_inverse_is_identity(name, algorithm):
    case = case_of(name)
    tau = wt.inverse_dynamics(case.system, case.q, case.u, case.udot)
    udot = wt.forward_dynamics(case.system, case.q, case.u, tau, algorithm=algorithm)
    # the part of tau that is not M udot, the bias, comes back through M^-1
    amplified = 1 + np.abs(case.bias).max() / np.abs(case.M @ case.udot[..., None]).max()
    assert error(udot, case.udot) < case.tolerance * amplified


def test_gravity_force_is_the_gradient_of_the_potential(case):
    n, q = case.system.nu, case.q[0]
    states, rest = np.tile(q, (n, 1)), np.zeros((n, n))

    def potential(t):
        return wt.energy(case.system, wt.advance(case.system, states, np.eye(n), t), rest).potential

    gravity = wt.bias_force(case.system, q, np.zeros(n))
    scale = np.abs(potential(0.0)).max() + np.abs(gravity).max()
    assert np.abs(derivative(potential, 1e-2) - gravity).max() <= 1e-9 * scale


@pytest.mark.parametrize("name", [n for n in ZOO if floats(n)])
def test_momentum_changes_by_gravity_and_wrenches_only(name):
    case = case_of(name)
    system, model, q, u = case.system, case.system.model, case.q, case.u
    tau = case.tau.copy()
    root = next(j.name for j in model.joints.values() if "ground" in (j.parent, j.child))
    tau[:, system.u_index(root)] = 0  # only forces between bodies
    udot = wt.forward_dynamics(system, q, u, tau, wrenches=case.wrenches)

    def momentum(t):
        return wt.momentum(system, wt.advance(system, q, u, t), u + t * udot)

    k = wt.kinematics(system, q)
    expected = np.zeros_like(momentum(0.0))
    for name, wrench in case.wrenches.items():
        expected[:, :3] += wrench[:, :3] + np.cross(k.position(name), wrench[:, 3:])
        expected[:, 3:] += wrench[:, 3:]
    for body in model.bodies.values():
        weight = body.mass * np.array(model.gravity)
        expected[:, :3] += np.cross(k.position(body.name) + k.rotation(body.name) @ np.array(body.com), weight)
        expected[:, 3:] += weight
    scale = np.abs(momentum(0.0)).max() + np.abs(expected).max()
    assert np.abs(derivative(momentum, 1e-3) - expected).max() < 1e-8 * scale


def test_jacobian_times_velocities_is_velocity(case):
    k = wt.kinematics(case.system, case.q, case.u)
    for name in case.system.model.bodies:
        J = wt.jacobian(case.system, case.q, name)
        assert error((J @ case.u[..., None])[..., 0], k.velocity(name)) < 1e-12


def test_velocity_is_the_rate_of_the_position(case):
    v = wt.kinematics(case.system, case.q, case.u)
    for name in case.system.model.bodies:

        def place(t, name=name):
            k = wt.kinematics(case.system, wt.advance(case.system, case.q, case.u, t))
            return np.concatenate([k.rotation(name), k.position(name)[..., None]], axis=2)

        rate, R = derivative(place, 5e-3), v.rotation(name)
        spin = rate[..., :3] @ R.transpose(0, 2, 1)
        omega = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=1)
        scale = 1 + np.abs(v.velocity(name)).max() + 1e-3 * np.abs(v.position(name)).max()
        assert np.abs(rate[..., 3] - v.velocity(name)[:, 3:]).max() < 1e-8 * scale
        assert np.abs(omega - v.velocity(name)[:, :3]).max() < 1e-8 * scale


def test_quaternions_stay_unit_under_integration(case):
    system = case.system
    q = wt.advance(system, case.q, case.u, 0.7)
    for name in system.joints:
        if system.model.joints[name].kind in ("spherical", "free"):
            length = np.linalg.norm(q[:, system.q_index(name)][:, -4:], axis=1)
            assert np.abs(length - 1).max() < 1e-14


def test_integration_along_constant_velocities_is_exact(case):
    """Joint frames that turn and move steadily: two half steps are one whole, and the reference knows where they go."""
    system, q, u = case.system, case.q, case.u
    halves = wt.advance(system, wt.advance(system, q, u, 0.4), u, 0.4)
    assert error(wt.advance(system, q, u, 0.8), halves) < 1e-13
    there = case.rows(lambda q, u, k: np.concatenate([case.reference.advance(q, u, 0.8)[n] for n in system.joints]))
    assert error(wt.advance(system, q, u, 0.8), there) < 1e-13


@pytest.mark.parametrize("name", [n for n in ZOO if floats(n, outward=True)])
def test_mass_matrix_does_not_feel_where_a_floating_system_is(name):
    """Velocities are in body axes: moving and turning the whole changes neither kinetic energy nor mass matrix."""
    case = case_of(name)
    system = case.system
    root = next(j.name for j in system.model.joints.values() if j.kind == "free" and j.parent == "ground")
    q = case.q.copy()
    q[:, system.q_index(root)] = np.roll(case.q[:, system.q_index(root)], 1, axis=0)
    assert error(wt.mass_matrix(system, q), wt.mass_matrix(system, case.q)) < 1e-12
    assert error(wt.energy(system, q, case.u).kinetic, wt.energy(system, case.q, case.u).kinetic) < 1e-12


def test_wrench_acts_through_the_transposed_jacobian(case):
    free = wt.inverse_dynamics(case.system, case.q, case.u, case.udot)
    loaded = wt.inverse_dynamics(case.system, case.q, case.u, case.udot, wrenches=case.wrenches)
    expected = sum(
        np.einsum("bri,br->bi", wt.jacobian(case.system, case.q, name), wrench)
        for name, wrench in case.wrenches.items()
    )
    scale = np.abs(free).max() + np.abs(expected).max()
    assert np.abs(free - loaded - expected).max() < 1e-12 * scale


def test_wrench_power_is_joint_power(case):
    k = wt.kinematics(case.system, case.q, case.u)
    for name, wrench in case.wrenches.items():
        J = wt.jacobian(case.system, case.q, name)
        joint_power = np.einsum("bri,br,bi->b", J, wrench, case.u)
        assert error(joint_power, (wrench * k.velocity(name)).sum(axis=1)) < 1e-12


@pytest.mark.parametrize("name", ["double_pendulum", "spherical_chain", "universal_row", "floating_pair"])
def test_simulation_keeps_energy(name):
    """Nothing dissipates: what drifts is the error of the integrator, and falls with the fourth power of the step."""
    case = case_of(name)
    drift = []
    for step in (2e-3, 1e-3):
        run = wt.simulate(case.system, 0.2, q=case.q[0], u=case.u[0], integrator="rk4", step=step)
        energy = np.asarray(run["energy"])
        drift.append(np.abs(energy - energy[0]).max())
    scale = np.abs(np.asarray(run["energy.kinetic"])).max()
    assert drift[1] < 1e-8 * scale
    assert drift[1] < drift[0] / 10 or drift[0] < 1e-13 * scale
