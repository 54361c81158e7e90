"""Runs that once went wrong without a word: hops too low to see, kicks against what holds, poses without rank."""

import warnings

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError, ModelWarning, SimulationError


def falling(acceleration, restitution):
    m = wt.Model("ball", gravity=(0, 0, -acceleration))
    m.body("ball", **wt.point(mass=1.0))
    m.joint("fall", "prismatic", m.ground, "ball", axis="z")
    m.constraint("floor", "point_on_plane", body="ball")
    m.temporary("floor", unilateral=True, restitution=restitution)
    return m.compile()


@pytest.mark.parametrize("integrator", ["dopri5", "dop853", "rk4"])
@pytest.mark.parametrize("acceleration", [10.0, 1e3, 1e5])
def test_hops_below_rounding_end_on_the_floor(acceleration, integrator):
    """After so many bounces that v^2 / 2a is rounding while v is still above 0.1 mm/s."""
    fall = np.sqrt(0.2 / acceleration)
    step = {"step": fall / 50} if integrator == "rk4" else {}
    run = wt.simulate(falling(acceleration, 0.5), 4.5 * fall, q={"fall": 0.1}, integrator=integrator, **step)
    assert run["fall.q"].min() > -1e-9
    assert run.changes[-1].what == "activated"
    assert abs(run["fall.q"][-1]) < 1e-9


@pytest.mark.parametrize("speed", [1.0, 1000.0])
def test_a_rope_does_not_let_go_after_many_bounces(speed):
    m = wt.Model("tether", gravity=(0, 0, 0))
    m.body("body", **wt.sphere(mass=1.0, radius=0.05))
    m.joint("flight", "free", m.ground, "body")
    m.constraint("rope", "distance", body="body", length=1.0)
    m.temporary("rope", unilateral=True, restitution=0.5)
    start = {"q": {"flight": (0.3, 0, 0, 1, 0, 0, 0)}, "u": {"flight": (0, 0, 0, 0, speed, 0)}}
    run = wt.simulate(m.compile(), 20.0 / speed, **start)
    assert np.linalg.norm(run["flight.q"][:, :3], axis=1).max() < 1.0 + 1e-8


@pytest.mark.parametrize("integrator", ["dopri5", "rk4", "scipy-RK45"])
def test_a_kick_opens_a_contact(integrator):
    def kick(t, q, u):
        u[0] = 3.0

    event = wt.Event("kick", lambda t, q, u: t - 0.1, then=kick)
    run = wt.simulate(falling(9.81, 0.0), 0.6, output_step=0.1, events=event, integrator=integrator)
    assert run["fall.q"][-1] == pytest.approx(3.0 * 0.5 - 0.5 * 9.81 * 0.25, abs=1e-8)
    assert np.abs(run["energy.balance"]).max() < 1e-7


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_an_event_cannot_put_a_state_off_constraints_that_stay(integrator):
    m = wt.Model("gears", gravity=(0, 0, 0))
    for name in ("a", "b"):
        m.body(name, **wt.cylinder(mass=1.0, radius=0.1, length=0.1))
        m.joint(f"axle_{name}", "revolute", m.ground, name, axis="z")
    m.constraint("gear", "gear", joint="axle_a", of="axle_b", ratio=1.0)

    def spin(t, q, u):
        u[0] = 2.0

    with pytest.raises(ModelError, match=r"an event has set(?s:.*)'gear'"):
        wt.simulate(
            m.compile(), 1.0, events=[wt.Event("spin", lambda t, q, u: t - 0.3, then=spin)], integrator=integrator
        )


def test_a_run_does_not_begin_below_the_floor():
    with pytest.raises(SimulationError, match=r"'floor' of 'ball' is violated by 0\.1 m"):
        wt.simulate(falling(9.81, 0.5), 1.0, q={"fall": -0.1})


@pytest.mark.parametrize("then", ["make flor", "make ", "break fall"])
def test_events_name_temporary_constraints(then):
    with pytest.raises(ModelError, match="is no temporary constraint"):
        wt.simulate(falling(9.81, 0.5), 1.0, q={"fall": 1.0}, events=[wt.Event("e", "fall.q", 0.5, then=then)])


def parallelogram():
    m = wt.Model("parallelogram")
    for name, length in (("crank", 0.5), ("coupler", 1.0), ("rocker", 0.5)):
        m.body(name, **wt.rod(mass=1.0, length=length, axis="x"))
    m.joint("j1", "revolute", m.ground, "crank", axis="y")
    m.joint("j2", "revolute", "crank", "coupler", at=(0.5, 0, 0), axis="y")
    m.joint("j3", "revolute", m.ground, "rocker", at=(1, 0, 0), axis="y")
    m.joint("j4", "revolute", "coupler", "rocker", at=(1, 0, 0), child_at=(0.5, 0, 0), axis="y")
    return m.compile()


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_a_run_begins_in_a_singular_pose_along_its_velocities(integrator):
    run = wt.simulate(parallelogram(), 0.5, u={"j1": 3.0, "j2": -3.0, "j4": 3.0}, integrator=integrator)
    assert np.abs(run["j1.q"] + run["j2.q"]).max() < 1e-7  # the coupler stays parallel
    assert np.abs(run["energy.balance"]).max() < 1e-6


@pytest.mark.parametrize("stabilization", ["baumgarte", "none"])
@pytest.mark.parametrize("integrator", ["dopri5", "dop853", "rk4"])
def test_runs_without_projection_warn_where_they_may_leave_their_branch(stabilization, integrator):
    """They went from one branch into the other without a word. Where no rank is lost there is no warning."""
    start = {"q": {"j1": -0.5, "j2": 0.5, "j4": -0.5}, "u": {"j1": 8.0, "j2": -8.0, "j4": 8.0}}
    how = {"stabilization": stabilization, "integrator": integrator}
    with pytest.warns(
        ModelWarning, match=r"loses? rank near t = 0\.0[56](?s:.*) the run may go on along another branch"
    ):
        wt.simulate(parallelogram(), 0.3, **start, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wt.simulate(parallelogram(), 0.04, **start, **how)


def test_libraries_warn_where_they_may_leave_their_branch():
    system = parallelogram()
    start = {"q": {"j1": -0.5, "j2": 0.5, "j4": -0.5}, "u": {"j1": 8.0, "j2": -8.0, "j4": 8.0}}
    with pytest.warns(ModelWarning, match=r"loses? rank near t = (?s:.*)'scipy-RK45' may go on along another branch"):
        wt.simulate(system, 0.3, **start, integrator="scipy-RK45")
