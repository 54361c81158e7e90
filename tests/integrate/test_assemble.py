"""wt.assemble, starts that are not consistent, and runs that keep loops closed."""

import numpy as np
import pytest

import whippletree as wt
from closing import closed_chain, consistent_velocities
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.integrate.assemble import difference
from whippletree.integrate.project import project
from whippletree.model import Model
from zoo import LOOPS, four_bar, random_state

KINDS = ("revolute", "prismatic", "screw", "universal", "planar", "spherical", "cylindrical")


def gaps(system, state):
    rows = rows_of(system, state.q, state.u)
    return np.abs(rows.g).max(), np.abs(rows.rate).max()


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_is_closed_from_nearby(kind):
    rng = np.random.default_rng(89)
    system, q, _ = closed_chain(kind, rng)
    off = 0.2 * rng.normal(size=system.nu)
    state = wt.assemble(system, wt.advance(system, q, off), rng.normal(size=system.nu))
    closure, rate = gaps(system, state)
    assert closure < 1e-12
    assert rate < 1e-12
    assert np.linalg.norm(difference(system, wt.advance(system, q, off), state.q)) <= np.linalg.norm(off) * (1 + 1e-6)


def test_the_nearest_pose_is_found():
    """No pose on the constraints nearby is nearer: the way back is across all motions that they allow."""
    system = LOOPS["ladder_3"]().compile()
    rng = np.random.default_rng(97)
    start = wt.assemble(system).q + 0.1 * rng.normal(size=system.nq)
    q = wt.assemble(system, start).q
    C = rows_of(system, q, np.zeros(system.nu)).C
    back = start - q
    along = back - np.linalg.pinv(C, rcond=1e-9) @ (C @ back)
    assert np.linalg.norm(back) > 0.05
    assert np.linalg.norm(along) < 1e-5


def test_joints_that_are_named_stay():
    system = four_bar().compile()
    state = wt.assemble(system, {"shaft": 0.5}, {"shaft": 3.0})
    assert abs(state.q[0] - 0.5) < 1e-14
    assert abs(state.u[0] - 3.0) < 1e-13
    assert max(gaps(system, state)) < 1e-12
    assert state.t == 0.0


def test_a_joint_that_cannot_stay_goes_as_near_as_it_can():
    """The rocker swings between the poses where crank and coupler are in line; the nearest to pi / 2 is taken."""
    model = four_bar()
    system = model.compile()
    state = wt.assemble(system, {"wrist": 3.0})
    assert gaps(system, state)[0] < 1e-12
    angles = [wt.assemble(system, {"shaft": a}).q[2] for a in np.linspace(0, 2 * np.pi, 60)]
    assert abs(state.q[2]) <= max(np.abs(angles)) + 1e-2


def test_difference_and_advance_are_inverse():
    rng = np.random.default_rng(101)
    system, *_ = closed_chain("revolute", rng)
    q, u, _ = random_state(system, rng)
    free = [n for n, e in enumerate(system.topology.edges) if e.joint.kind == "free"]
    step = 0.3 * u
    for n in free:  # turn and shift mix: only one at a time is the same both ways
        step[system.u_index(system.joints[n])][3:] = 0.0
    assert np.allclose(difference(system, q, wt.advance(system, q, step)), step, atol=1e-12)


def test_a_tree_needs_nothing():
    model = Model("free")
    model.body("a", mass=1.0, inertia=(1, 1, 1))
    model.joint("hinge", "revolute", "ground", "a")
    state = wt.assemble(model.compile(), {"hinge": 0.3}, {"hinge": 2.0})
    assert (state.q[0], state.u[0]) == (0.3, 2.0)


def too_long():
    model = four_bar()
    model.joints["pivot"].at = type(model.joints["pivot"].at)((5.0, 0.0, 0.0))
    return model


def test_a_loop_that_cannot_close_is_named_with_its_gap():
    with pytest.raises(wt.ModelError) as caught:
        wt.assemble(too_long().compile())
    reported = str(caught.value)
    assert "the loop that joint 'pivot' closes cannot be closed" in reported
    assert "'pivot' by 3.7 m" in reported  # 5 m less 0.2 + 0.6 + 0.5


def test_a_tiny_gap_that_stays_is_named_too():
    model = Model("nearly")  # its size, against which gaps are judged, is 1 cm
    for name, near, place in (("a", "ground", 0.0), ("b", "a", 1e-2)):
        model.body(name, mass=1.0, inertia=(1, 1, 1))
        model.joint(f"hinge_{name}", "revolute", near, name, at=(place, 0, 0))
    model.constraint("rope", "distance", body="b", at=(1e-3, 0, 0), length=1.1e-2 + 5e-10)
    with pytest.raises(wt.ModelError, match="constraint 'rope' cannot be met") as caught:
        wt.assemble(model.compile())
    assert "'rope' by 5e-10 m" in str(caught.value)


def test_constraints_that_contradict_each_other_are_named():
    model = four_bar()
    model.constraint("stay", "distance", body="coupler", at=(0.6, 0, 0), to_at=(0.7, 0, 0), length=0.8)
    with pytest.raises(wt.ModelError) as caught:
        wt.assemble(model.compile())
    reported = str(caught.value)
    assert "contradict each other" in reported
    assert "'pivot'" in reported
    assert "'stay'" in reported


def test_a_constraint_that_cannot_be_met_is_named():
    model = Model("short")
    model.body("a", mass=1.0, inertia=(1, 1, 1))
    model.joint("hinge", "revolute", "ground", "a")
    model.constraint("rope", "distance", body="a", at=(1, 0, 0), to_at=(5, 0, 0), length=1.0)
    with pytest.raises(wt.ModelError, match="constraint 'rope' cannot be met") as caught:
        wt.assemble(model.compile())
    assert "'rope' by 3 m" in str(caught.value)


def test_velocities_that_contradict_are_named():
    model = four_bar()
    model.force("drive", "motion", joint="shaft", position=wt.Ramp(1.0, value=0.7))
    model.constraint("rock", "relative", joint="wrist", position=wt.assemble(four_bar().compile(), {"shaft": 0.7}).q[2])
    with pytest.raises(wt.ModelError, match="contradict each other in speed"):
        wt.assemble(model.compile())


def test_a_start_off_the_constraints_is_refused():
    system = four_bar().compile()
    state = wt.assemble(system, {"shaft": 0.5}, {"shaft": 3.0})
    with pytest.raises(wt.ModelError) as caught:
        wt.simulate(system, 1.0, q=state.q + 1e-3, u=state.u)
    reported = str(caught.value)
    assert "is not closed" in reported
    assert "'pivot' by" in reported
    assert "wt.assemble" in reported
    assert "'whippletree assemble'" in reported
    with pytest.raises(wt.ModelError, match="opens") as caught:
        wt.simulate(system, 1.0, q=state.q, u=np.array([1.0, 0.0, 0.0]))
    assert "m/s" in str(caught.value)


def test_velocities_that_a_dict_leaves_out_follow():
    system = four_bar().compile()
    state = wt.assemble(system, {"shaft": 0.5}, {"shaft": 3.0})
    run = wt.simulate(system, 0.1, q=state.q, u={"shaft": 3.0})
    assert np.allclose(run.u[0], state.u, atol=1e-10)
    with pytest.raises(wt.ModelError, match="cannot be so"):
        wt.simulate(system, 0.1, q=state.q, u={"shaft": 3.0, "pin": 3.0})


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_a_four_bar_keeps_its_energy_and_stays_closed(integrator):
    """Over some 40 turns; the tolerances are those of the integrators: 1e-8 per step, and 1 ms at order 4."""
    system = four_bar().compile()
    state = wt.assemble(system, {"shaft": 0.5}, {"shaft": 30.0})
    run = wt.simulate(system, 10.0, q=state.q, u=state.u, integrator=integrator)
    assert run["closure"].max() < 1e-12
    size = run["energy.kinetic"].max()
    assert np.ptp(run["energy"]) < 2e-6 * size
    assert run["shaft.q"][-1] > 60.0
    assert "closure" in run.names()


def test_projection_is_idempotent_and_small():
    rng = np.random.default_rng(103)
    system, q, u = closed_chain("screw", rng)
    off = wt.advance(system, q, 1e-4 * rng.normal(size=system.nu))
    velocities = u + 1e-4 * rng.normal(size=system.nu)
    assert project(system, off, velocities) < 1e-12
    again = off.copy(), velocities.copy()
    project(system, *again)
    assert np.abs(again[0] - off).max() < 1e-12
    assert np.abs(again[1] - velocities).max() < 1e-11
    assert np.abs(rows_of(system, off, velocities).rate).max() < 1e-11


def test_integrators_that_cannot_keep_loops_are_refused():
    system = four_bar().compile()
    q = wt.assemble(system, {"shaft": 0.5}).q
    with pytest.raises(wt.ModelError, match="'generalized_alpha' cannot keep the loops") as caught:
        wt.simulate(system, 1.0, q=q, integrator="generalized_alpha")
    assert "dopri5" in str(caught.value)


def test_random_loops_run_closed():
    rng = np.random.default_rng(107)
    system, q, _ = closed_chain("universal", rng)
    u = 0.3 * consistent_velocities(system, q, rng)
    run = wt.simulate(system, 0.5, q=q, u=u, output_step=0.05)
    assert run["closure"].max() < 1e-11
    assert np.abs(run["energy.balance"]).max() < 1e-5 * np.abs(run["energy.kinetic"]).max()
