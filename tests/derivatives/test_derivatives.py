"""Derivatives of forward and inverse dynamics, and exact linear models, against differences in 256 bits and laws."""

import numpy as np
import pytest

import derivative_reference as reference
import extended_reference
import loop_zoo
import whippletree as wt
import zoo
from random_systems import draw
from test_flexible import flexible_tree
from test_flexible import state as flexible_state
from whippletree.derivatives.evaluate import states_of, tangents_of
from whippletree.derivatives.recursion import is_recursive
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.errors import ModelError
from zoo import random_model, random_solid, random_state

EXACT = 1e-9  # times conditioning, relative to the largest: what is asked
RECURSIVE = ("revolute", "prismatic", "screw", "cylindrical", "spherical", "free")
TREES = {
    "every kind, reversed": zoo.reversed_kinds,
    "welds": zoo.welds,
    "two arms": zoo.two_arms,
    "armature": zoo.armature,
    "far from the origin": zoo.far_base,
    "floating pair": zoo.floating_pair,
    **{kind: lambda kind=kind: zoo.one_kind(kind) for kind in zoo.MOVING},
    **{f"{kind}, reversed": lambda kind=kind: zoo.one_kind(kind, True, False) for kind in zoo.MOVING},
}


def directions(system, seed):
    """A direction of q, u and a third argument; prescribed motions stay."""
    d = np.random.default_rng(seed).normal(size=(3, system.nu))
    d[:2, list(system.forces.motions)] = 0.0
    return d


def conditioning(system, q):
    """Of the mass matrix with unit diagonal, at least 1."""
    M = wt.mass_matrix(system, q)
    root = 1 / np.sqrt(np.diag(M))
    return float(np.linalg.cond(M * root * root[:, None]))


def product(d, direction):
    return sum(np.einsum("...ij,...j", a, b) for a, b in zip(d[:3], direction, strict=True))


def exact(system, **more):
    """u' in 256 bits; of curves, which that reference does not have, by the library."""
    if any(j.kind == "curve" for j in system.model.joints.values()):
        return lambda q, u, tau: wt.forward_dynamics(system, q, u, tau, **more)
    return lambda q, u, tau: extended_reference.solve(system, q, u, tau, readings=False, **more).udot


def off(found, expected):
    return np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-3)


# ---------------------------------------------------------------- trees, against 256 bits


@pytest.mark.parametrize("name", TREES)
def test_trees_against_extended_precision(name):
    system = TREES[name]().compile()
    state = random_state(system, np.random.default_rng(7))
    direction = directions(system, 3)
    step = 2.0**-13 if "curve" in {j.kind for j in system.model.joints.values()} else 2.0**-9  # its pieces are short
    expected = reference.along(exact(system), system, state, direction, step)
    found = wt.forward_dynamics_derivatives(system, *state)
    allowed = EXACT * conditioning(system, state[0])
    assert off(product(found, direction), expected) < allowed
    along = dict(zip(("dq", "du", "dx"), direction, strict=True))
    assert off(wt.jvp(wt.forward_dynamics, system, *state, **along), expected) < allowed
    back = wt.inverse_dynamics_derivatives(system, *state[:2], found.udot)
    change = product(back, (*direction[:2], expected))  # the chain rule: tau changes by what it was changed by
    assert off(change, direction[2]) < allowed * max(1.0, np.abs(back.dudot).max())


@pytest.mark.parametrize("seed", range(6))
def test_random_trees_against_extended_precision(seed):
    """All kinds of joints but curves, branching, some of them written towards ground, with armature."""
    rng = np.random.default_rng(seed)
    kinds = tuple(kind for kind in zoo.MOVING if kind != "curve")
    system = random_model(rng, 5, kinds, armature=seed % 2 == 0).compile()
    state, direction = random_state(system, rng), directions(system, seed)
    expected = reference.along(exact(system), system, state, direction, 2.0**-9)
    found = wt.forward_dynamics_derivatives(system, *state)
    assert off(product(found, direction), expected) < EXACT * conditioning(system, state[0])


def test_the_reference_would_find_a_wrong_sign():
    system = zoo.tree().compile()
    state, direction = random_state(system, np.random.default_rng(1)), directions(system, 2)
    expected = reference.along(lambda *x: wt.forward_dynamics(system, *x), system, state, direction)
    found = wt.forward_dynamics_derivatives(system, *state)
    assert off(product(found, direction), expected) < EXACT
    assert off(product(found, direction * [[1], [-1], [1]]), expected) > 1e-3


# ---------------------------------------------------------------- the two ways of trees, batches, out


@pytest.mark.parametrize("seed", range(4))
def test_recursion_agrees_with_dual_numbers(seed):
    rng = np.random.default_rng(seed)
    model = random_model(rng, 8, RECURSIVE, armature=True)
    joint = next(j for j in model.joints.values() if j.kind == "revolute")
    model.force("servo", "motor", joint=joint.name, kp=30.0, kd=2.0, position=wt.Sine(0.3, 2.0), limit=15.0)
    system = model.compile()
    assert is_recursive(system)
    Q, U, T = random_state(system, rng, count=11)
    nu, d = system.nu, wt.inverse_dynamics_derivatives(system, Q, U, T, t=0.4)
    duals = tangents_of(system, states_of(system, Q, U, T, None, 0.4)).needed
    assert off(d.tau, duals[..., 0]) < 1e-13
    assert off(d.dq, duals[..., 1 : nu + 1]) < 1e-12
    assert off(d.du, duals[..., nu + 1 :]) < 1e-12
    f = wt.forward_dynamics_derivatives(system, Q, U, T, t=0.4)
    for n in (0, 7, 10):  # lanes and one state
        for one, many in zip(wt.forward_dynamics_derivatives(system, Q[n], U[n], T[n], t=0.4), f, strict=True):
            if isinstance(one, np.ndarray):
                assert off(many[n], one) < 1e-10
    assert off(f.udot, wt.forward_dynamics(system, Q, U, T, t=0.4)) < 1e-11
    assert off(f.dtau, wt.mass_matrix_inverse(system, Q)) < 1e-12


def test_results_are_written_where_they_are_asked_for():
    system = zoo.tree().compile()
    state = random_state(system, np.random.default_rng(2), count=3)
    out = tuple(np.zeros((3, system.nu, system.nu)) for _ in range(3))
    d = wt.forward_dynamics_derivatives(system, *state, out=out)
    assert all(a is b for a, b in zip(d[:3], out, strict=True))
    assert np.array_equal(out[1], wt.forward_dynamics_derivatives(system, *state).du)
    with pytest.raises(ModelError, match="out does not fit derivatives"):
        wt.forward_dynamics_derivatives(system, *state, out=out[:2])


@pytest.mark.parametrize("function", [wt.forward_dynamics, wt.inverse_dynamics])
def test_products_with_vectors(function):
    system = zoo.reversed_kinds().compile()
    state, rng = random_state(system, np.random.default_rng(4)), np.random.default_rng(5)
    of = {wt.forward_dynamics: wt.forward_dynamics_derivatives, wt.inverse_dynamics: wt.inverse_dynamics_derivatives}
    d, w = of[function](system, *state), rng.normal(size=system.nu)
    for gradient, matrix in zip(wt.vjp(function, system, *state, w), d[:3], strict=True):
        assert off(gradient, w @ matrix) < 1e-12
    direction = rng.normal(size=(3, system.nu))
    found = wt.jvp(function, system, *state, dq=direction[0], du=direction[1], dx=direction[2])
    assert off(found, product(d, direction)) < 1e-11


# ---------------------------------------------------------------- forces, wrenches, motions


def hard(t, position, rotation, velocity, wrench):
    """A wall that pushes harder the deeper and the faster something is, and a swirl"""
    wrench[3:] = -30.0 * position - 2.0 * velocity[3:] * (1 + position @ position)
    wrench[:3] = 0.3 * np.cross(rotation[0], velocity[:3]) * np.cos(3 * t)


def pushed(user=False):
    """A chain with every kind of force that acts on bodies and in joints, a prescribed motion, or a user's force."""
    m, near, rng = wt.Model("pushed"), "ground", np.random.default_rng(3)
    for i, kind in enumerate(("revolute", "universal", "prismatic", "spherical", "homokinetic")):
        m.body(f"b{i}", **random_solid(rng))
        more = {"stiffness": 5.0} if kind == "spherical" else {"damping": 0.3, "friction": 0.2, "stiffness": 2.0}
        m.joint(f"j{i}", kind, near, f"b{i}", at=(0.3, 0.1, 0.2), **more)
        near = f"b{i}"
    m.force("spring", "spring", body="b1", to="b4", stiffness=40.0, damping=3.0, length=0.2, at=(0.1, 0, 0))
    m.force(
        "bushing",
        "bushing",
        body="b3",
        stiffness=(9, 8, 7),
        rotational_stiffness=(1, 2, 3),
        rotational_damping=(1, 1, 1),
    )
    m.force("wind", "drag", body="b4", linear=0.5, quadratic=0.2, at=(0, 0.1, 0))
    m.force("push", "wrench", body="b2", force=(1, 2, 3), torque=(0.1, 0, 0.2), axes="body", factor=wt.Sine(1.0, 2.0))
    m.force("servo", "motor", joint="j1", dof=1, kp=7.0, kd=1.0, position=wt.Sine(0.5, 1.0), limit=20.0)
    m.force("crank", "motion", joint="j0", position=wt.Sine(0.5, 3.0))
    if user:
        m.force("wall", "function", body="b4", function=hard, at=(0.1, 0, 0))
    return m


@pytest.mark.parametrize("user", [False, True])
def test_forces_of_the_model(user):
    """Against differences of forward dynamics, whose forces have references of their own."""
    system, t = pushed(user).compile(), 0.3
    state, direction = random_state(system, np.random.default_rng(9)), directions(system, 1)
    d = wt.forward_dynamics_derivatives(system, *state, t=t)
    expected = reference.along(lambda *x: wt.forward_dynamics(system, *x, t=t), system, state, direction, 2.0**-8)
    assert off(product(d, direction), expected) < EXACT
    assert d.differences == (("wall",) if user else ())
    assert not d.dq[0].any()  # the row of a prescribed motion
    assert not d.dtau[0].any()


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_joint_limits_and_saturated_motors(sign):
    m = wt.Model("stops")
    m.body("arm", **wt.rod(mass=1.0, length=0.5, axis="x"))
    limits = wt.Limits(lower=-0.5, upper=0.5, stiffness=50.0, damping=0.2)
    m.joint("hinge", "revolute", "ground", "arm", axis="y", limits=limits, friction=0.1)
    m.force("servo", "motor", joint="hinge", kp=3.0, kd=0.1, position=0.0, limit=1.0)
    system = m.compile()
    assert is_recursive(system)
    for q, u in ((0.1, 0.3), (0.2, -0.3), (0.9, 0.4), (0.9, -0.4), (0.7, -7.0), (0.9, 7.0)):
        state = (np.array([sign * q]), np.array([sign * u]), np.zeros(1))
        d = wt.forward_dynamics_derivatives(system, *state)
        expected = [
            reference.along(lambda *x: wt.forward_dynamics(system, *x), system, state, direction)[0]
            for direction in np.eye(3)[:, :, None]
        ]
        assert off(np.ravel(d[:3]), np.array(expected)) < EXACT


def test_a_wrench_keeps_its_direction_and_its_point_moves_along():
    system = zoo.reversed_kinds().compile()
    state, direction = random_state(system, np.random.default_rng(1)), directions(system, 4)
    wrenches = {"link3": (1.0, -2.0, 3.0, 4.0, -5.0, 6.0), "link8": np.arange(6.0)}
    expected = reference.along(exact(system, wrenches=wrenches), system, state, direction, 2.0**-13)
    found = wt.forward_dynamics_derivatives(system, *state, wrenches=wrenches)
    assert off(product(found, direction), expected) < EXACT * conditioning(system, state[0])
    assert off(product(wt.forward_dynamics_derivatives(system, *state), direction), expected) > 1e-6
    with pytest.raises(ModelError, match="wrench on 'link3'"):
        wt.inverse_dynamics_derivatives(system, *state, wrenches={"link3": (1.0, 2.0)})


# ---------------------------------------------------------------- laws


def test_stiffness_of_gravity_and_springs_is_symmetric():
    """Along coordinates with q' = u the force that holds a system at rest has a potential."""
    rng = np.random.default_rng(6)
    model = random_model(rng, 9, ("revolute", "prismatic", "screw", "cylindrical"))
    model.force("spring", "spring", body="b0" if "b0" in model.bodies else next(iter(model.bodies)), stiffness=30.0)
    system = model.compile()
    q, still = random_state(system, rng)[0], np.zeros(system.nu)
    K = wt.inverse_dynamics_derivatives(system, q, still, still).dq
    assert off(K, K.T) < 1e-12
    assert np.abs(K - np.diag(np.diag(K))).max() > 0.1


def test_velocity_slopes_agree_with_the_coriolis_matrix():
    """bias = C u + g with C linear in u: the slope along u itself is 2 C u."""
    system = zoo.tree().compile()
    q, u, _ = random_state(system, np.random.default_rng(3))
    d = wt.inverse_dynamics_derivatives(system, q, u, np.zeros(system.nu))
    assert off(d.du @ u, 2 * wt.coriolis_matrix(system, q, u) @ u) < 1e-12


# ---------------------------------------------------------------- loops


LOOPS = {
    "four bar": loop_zoo.four_bar,
    "slider crank": loop_zoo.slider_crank,
    "stewart": loop_zoo.stewart,
    "leg": loop_zoo.leg,
}


def by_null_space(system, tau):
    """u' of a state: M and C as the library has them, the equations solved by singular values."""

    def accelerations(q, u):
        rows = rows_of(system, q, u)
        U, d, Vt = np.linalg.svd(rows.C)
        rank = int((d > 1e-8 * d[0]).sum())
        Z, M = Vt[rank:].T, wt.mass_matrix(system, q)
        part = Vt[:rank].T @ ((U[:, :rank].T @ rows.gamma) / d[:rank])
        return part + Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ (tau - wt.bias_force(system, q, u) - M @ part))

    return accelerations


@pytest.mark.parametrize("name", LOOPS)
def test_loops_along_their_motions(name):
    """Linear models of closed states, redundant or not, and the derivatives that they are made of."""
    system, q, u, *_ = LOOPS[name]()
    tau = np.random.default_rng(2).normal(size=system.nu)
    linear = wt.linearize(system, q, u, tau)
    chart, x, state = reference.on_constraints(system, q, linear.u, 5)
    accelerations = by_null_space(system, tau)
    expected = reference.slope(lambda s: accelerations(*state(s)), 2.0**-8)
    assert off(linear.A[chart.rows.size :] @ x, expected[chart.moving]) < EXACT
    d, moved = wt.forward_dynamics_derivatives(system, q, linear.u, tau), linear.motion @ x
    assert off(d.dq @ moved[: system.nu] + d.du @ moved[system.nu :], expected) < EXACT


def test_loops_off_their_constraints_are_differentiated_as_the_equations_say():
    """The plain extension: u' as the equations have it at any state."""
    system, q, u, *_ = loop_zoo.stewart()
    tau, direction = np.ones(system.nu), directions(system, 8)
    direction[2] = 0.0
    accelerations = by_null_space(system, tau)
    expected = reference.along(lambda q, u, tau: accelerations(q, u), system, (q, u, tau), direction)
    assert off(product(wt.forward_dynamics_derivatives(system, q, u, tau), direction), expected) < EXACT


def test_inverse_dynamics_of_loops():
    """The smallest tau, along a motion that keeps the constraints."""
    system, q, u, *_ = loop_zoo.stewart()
    tau = np.random.default_rng(2).normal(size=system.nu)
    linear = wt.linearize(system, q, u, tau)
    _, x, state = reference.on_constraints(system, q, linear.u, 5)
    rate = reference.slope(lambda s: wt.forward_dynamics(system, *state(s), tau), 2.0**-8)
    expected = reference.slope(
        lambda s: wt.inverse_dynamics(system, *state(s), wt.forward_dynamics(system, *state(s), tau)), 2.0**-8
    )
    d, moved = wt.inverse_dynamics_derivatives(system, q, linear.u, linear.udot), linear.motion @ x
    assert off(product(d, (moved[: system.nu], moved[system.nu :], rate)), expected) < 1e-7


# ---------------------------------------------------------------- flexible bodies


@pytest.mark.parametrize("fidelity", ["ruthless", "full", "stiffened"])
@pytest.mark.parametrize("seed", [0, 1])
def test_flexible_trees(fidelity, seed):
    rng = np.random.default_rng(seed)
    system = flexible_tree(rng, 3, (fidelity,), 3).compile()
    state = flexible_state(system, rng)
    d, direction = wt.forward_dynamics_derivatives(system, *state), directions(system, 4)
    direction[0, [j for n in system.model.flexibles for j in range(*system.u_index(n).indices(system.nu))]] *= 1e-2
    expected = reference.along(lambda *x: wt.forward_dynamics(system, *x), system, state, direction, 2.0**-9)
    assert off(product(d, direction), expected) < EXACT * conditioning(system, state[0])


def test_flexible_loops():
    drawn = next(d for d in map(draw, range(200)) if d.kind == "flexible loops")
    system, q, u, tau = drawn[1:]
    linear = wt.linearize(system, q, u, tau)
    chart, x, state = reference.on_constraints(system, q, linear.u, 5)
    expected = reference.slope(lambda s: wt.forward_dynamics(system, *state(s), tau), 2.0**-12)
    assert off(linear.A[chart.rows.size :] @ x, expected[chart.moving]) < 1e-6


# ---------------------------------------------------------------- bad input


def test_what_has_no_derivative_is_refused():
    system = zoo.tree().compile()
    state = random_state(system, np.random.default_rng(0))
    with pytest.raises(ModelError, match="jvp does not differentiate this function"):
        wt.jvp(wt.energy, system, *state)
    with pytest.raises(ModelError, match="vjp does not differentiate this function"):
        wt.vjp(wt.energy, system, *state, np.zeros(system.nu))
    with pytest.raises(ModelError, match="this is no System"):
        wt.forward_dynamics_derivatives(zoo.tree, *state)
    bad = state[0].copy()
    bad[0] = np.nan
    with pytest.raises(ModelError, match="q is not finite"):
        wt.inverse_dynamics_derivatives(system, bad, *state[1:])
    with pytest.raises(ModelError, match="q is not finite"):
        wt.forward_dynamics_derivatives(system, bad, *state[1:])
