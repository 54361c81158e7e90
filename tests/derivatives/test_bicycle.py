"""Linear models of what rolls: the benchmark bicycle [meijaard2007], whose numbers are published to 15 digits."""

import numpy as np
import pytest
from scipy.optimize import brentq

import bicycle
import derivative_reference as reference
import extended_reference
import whippletree as wt

WEAVE, CAPSIZE = 4.29238253634111, 6.02426201538837  # m/s: where each is neither stable nor unstable
LEAN = ("flight.q.rx", "steer.q", "flight.u.wx", "steer.u")  # independent of place, heading and wheels
# at 5 m/s: castering, capsize and weave, table 2 of the paper
AT_5 = (-14.07838969279822, -0.32286642900409, -0.77534188219585 + 4.46486771378823j)


@pytest.fixture(scope="module")
def system():
    return bicycle.model().compile()


def block(system, speed):
    """The rows and columns of A for lean and steer, which are a system of their own."""
    linear = bicycle.linear(system, speed)
    rows = [linear.names.states.index(name) for name in LEAN]
    others = np.setdiff1d(np.arange(len(linear.A)), rows)
    assert np.abs(linear.A[np.ix_(rows, others)]).max() < 1e-12 * np.abs(linear.A).max()
    return linear.A[np.ix_(rows, rows)]


def test_poles_at_5_m_per_s(system):
    poles = np.linalg.eigvals(block(system, 5.0))
    for expected in AT_5:
        assert np.abs(poles - expected).min() < 1e-12 * abs(AT_5[0])


def test_weave_and_capsize_velocities(system):
    def weave(speed):
        poles = np.linalg.eigvals(block(system, speed))
        return poles[np.abs(poles.imag) > 0.1].real.max()

    found = brentq(weave, 4.0, 4.5, xtol=1e-14), brentq(lambda v: np.linalg.det(block(system, v)), 5.8, 6.2, xtol=1e-14)
    assert found[0] == pytest.approx(WEAVE, rel=1e-12)
    assert found[1] == pytest.approx(CAPSIZE, rel=1e-12)


def test_a_state_that_leans_and_turns(system):
    """A along a curve of rolling states, against accelerations in 256 bits."""
    turned = np.array([0.99, 0.1, 0.02, 0.05])
    q = {"flight": (0, 0, 0, *(turned / np.linalg.norm(turned))), "steer": 0.3}
    start = wt.assemble(system, q, {"flight": (0, 0, 0, 4, 0, 0)})
    tau = np.random.default_rng(1).normal(size=system.nu)
    linear = wt.linearize(system, start.q, start.u, tau)
    chart, x, state = reference.on_constraints(system, start.q, start.u, 5)
    expected = reference.slope(lambda s: extended_reference.solve(system, *state(s), tau, readings=False).udot)
    found = linear.A[chart.rows.size :] @ x
    assert np.abs(found - expected[chart.moving]).max() < 1e-9 * np.abs(expected).max()
    poses = reference.slope(lambda s: state(s)[1])[chart.rows] - (linear.motion @ x)[system.nu :][chart.rows]
    assert np.abs(poses).max() < 1e-9


def test_response_of_the_bicycle_is_that_of_a_run(system):
    """A small push, for a second: linear and full motion agree to the square of the push."""
    linear, push = bicycle.linear(system, 5.0), 1e-5
    t, row = np.linspace(0.0, 1.0, 51), linear.names.states.index("flight.u.wx")
    x0 = np.eye(len(linear.A))[row] * push
    u = linear.u + (linear.motion @ x0)[system.nu :]
    run = wt.simulate(system, 1.0, q=linear.q, u=u, output_step=0.02, rtol=1e-11, atol=1e-14)
    steer = linear.response(t, x0=x0)[:, linear.names.states.index("steer.q")]
    assert np.abs(run["steer.q"] - steer).max() < 20 * push**2
    assert np.abs(steer).max() > 0.1 * push


def test_a_motor_without_a_limit_has_slopes():
    m = wt.Model("pendulum")
    m.body("bob", mass=1.0, com=(0, 0, -1))
    m.joint("hinge", "revolute", m.ground, "bob", axis="y")
    m.force("drive", "motor", joint="hinge", torque=2.0, kp=3.0, position=0.1, kd=0.5, velocity=0.0)
    slopes = wt.forward_dynamics_derivatives(m.compile(), [0.3], [0.1])
    assert slopes.dq[0, 0] == pytest.approx(-9.81 * np.cos(0.3) - 3.0, rel=1e-12)
    assert slopes.du[0, 0] == pytest.approx(-0.5, rel=1e-12)


def test_flexible_bodies_under_forces_and_a_constraint_have_slopes():
    m = wt.Model("strip")
    m.flexible(
        "strip", wt.beam(1.0, section="tube", radius=0.02, wall=0.002, E=70e9, rho=2700.0, elements=3).modes(count=2)
    )
    m.joint("root", "revolute", m.ground, "strip", axis="y", stiffness=2.0)
    m.body("hub", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.joint("tip", "revolute", "strip/tip", "hub", axis="y")
    m.constraint("rope", "distance", body="hub", to_at=(0, 0, 1.0), at=(0, 0, 0.1), length=1.5)
    system = m.compile()
    start = wt.assemble(system)
    one = wt.forward_dynamics_derivatives(system, start.q, start.u)
    many = wt.forward_dynamics_derivatives(system, start.q[None], start.u[None])
    assert np.abs(one.dq - many.dq[0]).max() <= 1e-9 * np.abs(one.dq).max()
