"""The reference is judged before it judges: against Pinocchio, numerical differentiation and energy."""

import numpy as np
import pytest

from pin_model import PinModel
from reference import SIZES, Reference
from zoo import ZOO, random_coordinates, random_model

SEEDS = (0, 1)


def close(got, expected, tol=1e-11):
    """Relative to the largest entry: single entries may cancel to nothing."""
    scale = max(np.abs(expected).max(initial=0.0), 1e-300)
    assert np.abs(np.asarray(got) - expected).max(initial=0.0) / scale < tol


@pytest.fixture(params=ZOO)
def case(request):
    model = ZOO[request.param]()
    q, u = random_coordinates(model, np.random.default_rng(len(request.param)))
    return Reference(model), q, u


def derivative(f, h):
    """Sixth-order central difference of f at 0."""
    weights = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    return sum(w * (f(k * h) - f(-k * h)) for k, w in weights) / h


def test_reference_equals_pinocchio(case):
    ref, q, u = case
    peer = PinModel(ref.model, ref)
    rng = np.random.default_rng(7)
    velocities, udot, tau = ref.vector(u), rng.normal(size=ref.nu), rng.normal(size=ref.nu)
    M = ref.mass_matrix(q)
    close(M, peer.mass_matrix(q))
    close(ref.bias(q, u), peer.bias(q, velocities))
    close(ref.inverse(q, u, udot), peer.inverse(q, velocities, udot))
    # a dense solve of M loses cond(M) of the digits; 1e3 covers the growth along the tree
    close(
        ref.forward(q, u, tau),
        peer.forward(q, velocities, tau),
        max(1e-11, 1e3 * np.finfo(float).eps * np.linalg.cond(M)),
    )
    close(ref.momentum(q, u), peer.momentum(q, velocities))
    kinetic, potential = peer.energies(q, velocities)
    close(ref.kinetic(q, u) - 0.5 * ref.armature @ velocities**2, kinetic)
    home, _ = random_coordinates(ref.model, rng)  # differences: Pinocchio leaves out what is welded to ground
    close(ref.potential(q) - ref.potential(home), potential - peer.energies(home, velocities)[1])


def test_reference_places_and_jacobians_equal_pinocchio(case):
    ref, q, _ = case
    peer = PinModel(ref.model, ref)
    for name, k in ref.motion(q).items():
        if name != "ground":
            position, rotation = peer.place(q, name)
            close(k.r, position)
            close(k.R, rotation)
            close(ref.jacobian(q, name), peer.jacobian(q, name))


def places(ref, q, u):
    """R and r of every body along constant u, as a function of time."""

    def at(t):
        motions = ref.motion(ref.advance(q, u, t)).values()
        return np.array([np.column_stack([k.R, k.r]) for k in motions])

    return at


def test_velocity_is_the_derivative_of_the_place(case):
    ref, q, u = case
    velocities, now = ref.vector(u), ref.motion(q, u)
    rates = derivative(places(ref, q, u), 5e-3)
    for k, rate in zip(now.values(), rates, strict=True):
        spin = rate[:, :3] @ k.R.T
        omega = np.array([spin[2, 1] - spin[1, 2], spin[0, 2] - spin[2, 0], spin[1, 0] - spin[0, 1]]) / 2
        scale = 1 + np.abs(k.r).max()  # cancellation in differences of places far away
        np.testing.assert_allclose(k.v, rate[:, 3], atol=1e-8 * scale)
        np.testing.assert_allclose(k.w, omega, atol=1e-8)
        np.testing.assert_allclose(k.Jv @ velocities, k.v, atol=1e-11 * scale)
        np.testing.assert_allclose(k.Jw @ velocities, k.w, atol=1e-11)


def test_partial_velocities_are_derivatives_of_the_place(case):
    ref, q, _ = case
    now = ref.motion(q)
    for r in range(ref.nu):
        rates = derivative(places(ref, q, ref.split(np.eye(ref.nu)[r])), 1e-2)
        for k, rate in zip(now.values(), rates, strict=True):
            np.testing.assert_allclose(k.Jv[:, r], rate[:, 3], atol=1e-9 * (1 + np.abs(k.r).max()))


def test_acceleration_remainder_is_the_derivative_of_velocity(case):
    ref, q, u = case

    def velocities(t):
        return np.array([np.concatenate([k.w, k.v]) for k in ref.motion(ref.advance(q, u, t), u).values()])

    rates = derivative(velocities, 5e-3)
    remainders = [np.concatenate([k.alpha, k.a]) for k in ref.motion(q, u).values()]
    np.testing.assert_allclose(remainders, rates, atol=1e-7 * (1 + np.abs(rates).max()))


def test_energy_rate_is_power(case):
    ref, q, u = case
    velocities, rng = ref.vector(u), np.random.default_rng(5)
    tau = rng.normal(size=ref.nu)
    udot = ref.forward(q, u, tau)

    def energy(t):
        later = ref.advance(q, u, t)  # q(t) to first order in t, which is all that the slope sees
        return ref.kinetic(later, ref.split(velocities + t * udot)) + ref.potential(later)

    scale = abs(energy(0.0)) + abs(tau @ velocities)
    assert abs(derivative(energy, 1e-3) - tau @ velocities) < 1e-6 * scale


@pytest.mark.parametrize("seed", SEEDS)
def test_wrench_enters_by_its_power(seed):
    """A wrench on any body changes b by minus its power, divided by the velocities."""
    rng = np.random.default_rng(seed)
    ref = Reference(random_model(rng, 9))
    q, u = random_coordinates(ref.model, rng)
    for name in ref.model.bodies:
        wrench = rng.normal(size=6)
        change = ref.bias(q, u, {name: wrench}) - ref.bias(q, u)
        k = ref.motion(q, u)[name]
        assert np.isclose(change @ ref.vector(u), -(wrench[:3] @ k.w + wrench[3:] @ k.v), rtol=1e-10, atol=1e-10)


def test_sizes_follow_the_definition_of_kinds():
    from whippletree.model import JOINT_KINDS

    assert SIZES == JOINT_KINDS
