"""Forces, motions and stops that act for less than a step: none is passed over."""

import numpy as np
import pytest

import whippletree as wt

ADAPTIVE = ["dopri5", "dop853", "scipy-RK45", "scipy-Radau", "scipy-LSODA"]
BEGIN, WIDTH = 5.0, 0.1  # s, of a pulse of 1 N s in the middle of a run that needs eight steps


def cart(**joint):
    m = wt.Model("cart", gravity=(0, 0, 0))
    m.body("cart", **wt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
    m.joint("rail", "prismatic", m.ground, "cart", axis="x", **joint)
    return m


def triangle(begin, width, area):
    return wt.Table((begin, begin + width / 2, begin + width), (0.0, 2.0 * area / width, 0.0))


def rectangle(begin, width, area):
    """Two steps, of which the second takes off what the first brings."""
    return wt.Step(area / width, begin), wt.Step(-area / width, begin + width)


@pytest.mark.parametrize("integrator", ADAPTIVE)
@pytest.mark.parametrize("width", [1e-4, 1e-2, 1.0])
def test_a_pulse_of_a_motor_gives_its_impulse(integrator, width):
    m = cart()
    m.force("push", "motor", joint="rail", torque=triangle(BEGIN, width, 1.0))
    run = wt.simulate(m.compile(), 10.0, integrator=integrator)
    assert run["rail.u"][-1] == pytest.approx(1.0, rel=1e-6)
    assert run["rail.q"][-1] == pytest.approx(5.0 - width / 2, rel=1e-6)


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
@pytest.mark.parametrize("seed", range(20))
def test_pulses_that_jump_give_their_impulse(integrator, seed):
    rng = np.random.default_rng(seed)
    begin, width = rng.uniform(0.1, 9.0), 10.0 ** rng.uniform(-6, -0.5)
    m = cart()
    for n, jump in enumerate(rectangle(begin, width, 1.0)):
        m.force(f"push{n}", "motor", joint="rail", torque=jump)
    run = wt.simulate(m.compile(), 10.0, integrator=integrator)
    assert run["rail.u"][-1] == pytest.approx(1.0, rel=1e-7)
    assert run["rail.q"][-1] == pytest.approx(10.0 - begin - width / 2, rel=1e-7)
    assert np.abs(run["energy.balance"]).max() < 1e-7


@pytest.mark.parametrize("integrator", ["dopri5", "dop853", "cvode"])
def test_a_prescribed_motion_is_followed_through_its_rise(integrator):
    pytest.importorskip("sksundae") if integrator == "cvode" else None
    m = cart()
    m.body("bob", mass=1.0, com=(0, 0, -1.0))
    m.joint("hinge", "revolute", "cart", "bob", axis="y")
    m.gravity = (0.0, 0.0, -9.81)
    m.force("carry", "motion", joint="rail", position=wt.Step(1.0, BEGIN, rise=0.05))
    system = m.compile()
    run, fine = (wt.simulate(system, 6.0, integrator=by, **more) for by, more in (
        (integrator, {}), ("rk4", {"step": 1e-4}),
    ))  # fmt: skip
    assert np.ptp(fine["hinge.q"]) > 1.0
    assert run["hinge.q"][-1] == pytest.approx(fine["hinge.q"][-1], abs=1e-4)


@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
@pytest.mark.parametrize("depth", [1e-6, 1e-3, 0.01])
def test_a_joint_stop_just_before_the_turning_point_is_met(integrator, depth):
    """Thrown up by 10 m against a stop of 1e6 N/m that is a little lower: energy is kept, and it turns there."""
    m = cart(limits=wt.Limits(lower=-100.0, upper=10.0 - depth, stiffness=1e6))
    m.gravity = (-9.81, 0.0, 0.0)
    run = wt.simulate(m.compile(), 4.0, u={"rail": np.sqrt(2 * 9.81 * 10.0)}, integrator=integrator, output_step=1e-3)
    speed = np.sqrt(2 * 9.81 * depth)
    most = 10.0 - depth + (-9.81 + np.sqrt(9.81**2 + 1e6 * speed**2)) / 1e6  # m g x = m v^2 / 2 - k x^2 / 2
    assert run["rail.q"].max() == pytest.approx(most, abs=6e-5)  # between rows: 430 m/s^2 (1 ms)^2 / 8
    assert np.abs(run["energy.balance"]).max() < 1e-5


@pytest.mark.parametrize("output", ["hinge.q", "energy.kinetic", lambda t, q, u: t - 0.013])
def test_events_of_flexible_bodies(output):
    m = wt.Model("strip")
    m.flexible("strip", wt.beam(1.0, section="rectangle", width=0.02, height=0.01, E=70e9, rho=2700.0).modes(count=2))
    m.joint("hinge", "revolute", m.ground, "strip", axis="y")
    value = 0.0 if callable(output) else 1e-4
    run = wt.simulate(m.compile(), 0.05, events=[wt.Event("met", output, value)])
    assert [e.name for e in run.events] == ["met"]
