"""Accelerations near balance: terms cancel, and what is left is compared with what they would cause alone."""

import warnings

import numpy as np
import pytest

import whippletree as wt


def belt(friction, speed, drive):
    """A block on a belt, held by a spring: it sticks, and begins to slip where spring and friction are in balance."""
    m = wt.Model("belt")
    m.body("belt", **wt.box(mass=1.0, size=(1, 1, 1)))
    m.joint("drive", "prismatic", m.ground, "belt", axis="x")
    if drive == "motion":
        m.force("go", "motion", joint="drive", position=wt.Ramp(speed))
    else:
        m.constraint("go", "relative", joint="drive", position=wt.Ramp(speed))
    m.body("block", **wt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
    m.joint("p", "planar", m.ground, "block", axis="y")
    m.constraint("c", "point_on_plane", body="block", to="belt")
    m.temporary("c", unilateral=True, friction=friction)
    m.force("k", "bushing", body="block", stiffness=(10.0, 0, 0))
    return m.compile()


@pytest.mark.parametrize("drive", ["motion", "relative"])
@pytest.mark.parametrize(("friction", "speed"), [(0.3, 0.5), (0.2, 0.4)])
def test_a_block_begins_to_slip_on_a_belt(friction, speed, drive):
    """It slips at k x = mu g, then swings about that place: x = c + v / w sin(w (t - t1))."""
    start = {"drive": speed} if drive == "relative" else None
    with warnings.catch_warnings():
        warnings.simplefilter("error", wt.ModelWarning)
        run = wt.simulate(belt(friction, speed, drive), 3.0, u=start)
    (slips,) = (c.t for c in run.changes if c.what == "slips")
    c, w = friction * 9.81 / 10.0, np.sqrt(10.0)
    swings = run.t > slips
    exact = c + speed / w * np.sin(w * (run.t[swings] - slips))
    # the tolerance of 1e-8 over 2.5 s
    np.testing.assert_allclose(run["p.q"][swings, 1], exact, atol=1e-7)


def sliding(offset):
    """The block slides, off the place of balance: its acceleration is -10 offset, exact to the rounding of 0.2943."""
    m = wt.Model("sliding")
    m.body("block", **wt.box(mass=1.0, size=(0.1, 0.1, 0.1)))
    m.joint("p", "planar", m.ground, "block", axis="y")
    m.constraint("c", "point_on_plane", body="block")
    m.temporary("c", unilateral=True, friction=0.3, begins="active")
    m.force("k", "bushing", body="block", stiffness=(10.0, 0, 0))
    system = m.compile()
    found = system.holding(system.model.constraints, {"c": (-1.0, 0.0, 0.0)})
    q = np.zeros(system.nq)
    q[1] = 0.3 * 9.81 / 10.0 + offset
    return found, q


@pytest.mark.parametrize("offset", [0.0, 1e-15, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-6])
def test_bounds_are_true_where_friction_and_a_spring_are_in_balance(offset):
    system, q = sliding(offset)
    for algorithm in ("multipliers", "nullspace"):
        udot, proof = wt.forward_dynamics(system, q, np.array([0.0, -0.5, 0.0]), certificate=True, algorithm=algorithm)
        exact = 0.3 * 9.81 - 10.0 * q[1]  # to the rounding of its terms
        assert abs(udot[1] - exact) <= proof.error[1] + 4e-16 * 2.943
        assert proof.error.max() < 1e-11
        largest = np.abs(udot).max()
        assert proof.bound * (largest if proof.error.max() < largest else 9.81) >= 0.99 * proof.error.max()


@pytest.mark.parametrize("force", [20.0, 1e-3])
def test_what_is_held_entirely_does_not_warn_of_digits(force):
    """All accelerations are 0: of no largest one is anything exact."""
    m = wt.Model("held", gravity=(0, 0, 0))
    m.body("b", **wt.sphere(mass=1.0, radius=0.1))
    m.joint("x", "free", m.ground, "b")
    m.constraint("l", "latch", body="b")
    m.force("f", "wrench", body="b", force=(force, 3.0, 1.0), torque=(1.0, 2.0, 3.0))
    system = m.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error", wt.ModelWarning)
        for algorithm in ("auto", "multipliers", "nullspace", "reduction"):
            assert np.abs(wt.forward_dynamics(system, system.q0, np.zeros(6), algorithm=algorithm)).max() < 1e-13
        with pytest.raises(wt.ModelWarning, match="is locked"):
            wt.simulate(system, 0.1)


def braked(joint, speed, after):
    """A parallelogram that passes its flat pose at t = 1.42 s, where a brake comes on; without gravity."""
    m = wt.Model("p", gravity=(0, 0, 0))
    for name, length in (("A", 1.0), ("C", 2.0), ("B", 1.0)):
        m.body(name, **wt.rod(mass=1.0, length=length))
    m.joint("ja", "revolute", m.ground, "A", axis="-y")
    m.joint("jc", "revolute", "A", "C", axis="-y", at=(1, 0, 0))
    m.joint("jb", "revolute", m.ground, "B", axis="-y", at=(2, 0, 0))
    m.joint("cut", "revolute", "B", "C", axis="-y", at=(1, 0, 0), child_at=(2, 0, 0))
    m.constraint("brake", "speed", joint=joint, speed=speed)
    m.temporary("brake", activate_at=(np.pi - 0.3) / 2 + after, release_after=0.5)
    system = m.compile()
    return system, {"q": {"ja": 0.3, "jc": -0.3, "cut": -0.3}, "u": {"ja": 2.0, "jc": -2.0, "cut": -2.0}}


@pytest.mark.parametrize("after", [0.0, 1e-7, 1e-3])
def test_a_mechanism_at_rest_does_not_warn_of_digits(after):
    """The brake holds all of it: accelerations are rounding, by which nothing moves."""
    system, start = braked("jc", 0.0, after)
    for options in ({}, {"integrator": "rk4", "step": 3e-3}):
        run = wt.simulate(system, 3.0, **start, **options)
        assert run.attrs["warnings"] == []
        assert abs(run["jc.u"][-1]) < 1e-10


def test_a_brake_in_a_singular_pose_is_told_to_come_elsewhere():
    system, start = braked("ja", 1.0, 0.0)
    with pytest.raises(wt.SimulationError, match=r"where 'jb' loses rank at t = 1\.4208 s") as caught:
        wt.simulate(system, 3.0, **start)
    assert caught.value.hint == "let 'brake' change a little before or behind that pose"
