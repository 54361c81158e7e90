"""Contacts that are closed within rounding: at the start of a run, and where bounces and rocking accumulate. A floor
never pulls, no impact gains energy, and runs go on.
"""

import numpy as np
import pytest

import whippletree as wt

NO_PULL = 1e-9  # N s
NO_GAIN = 1e-9  # J
CORNERS = [(x, y, -0.1) for x in (-0.2, 0.2) for y in (-0.15, 0.15)]


def ball(restitution=0.0):
    m = wt.Model("ball")
    m.body("ball", **wt.sphere(mass=0.3, radius=0.05))
    m.joint("fall", "prismatic", m.ground, "ball", axis="z")
    m.constraint("floor", "roll", body="ball", radius=0.05)
    m.temporary("floor", unilateral=True, restitution=restitution)
    return m.compile()


@pytest.mark.parametrize("gap", [-1e-7, -1e-9, -1e-12, 0.0, 1e-12, 1e-10, 9e-10, 1e-9, 2e-9, 1e-7])
@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_a_ball_at_rest_next_to_the_floor_comes_to_lie_on_it(gap, integrator):
    tight = {"rtol": 1e-10, "atol": 1e-12} if integrator == "dopri5" else {}
    run = wt.simulate(ball(), 0.1, q={"fall": 0.05 + gap}, integrator=integrator, **tight)
    assert [c.what for c in run.changes] == ["activated"]
    assert abs(run.changes[0].t - np.sqrt(2.0 * max(gap, 0.0) / 9.81)) < 1.5e-5
    assert abs(run["fall.q"][-1] - 0.05) < 1e-13
    assert abs(run["energy.balance"]).max() < 1e-12
    assert (run.changes[0].q_after == 0.05).all()


@pytest.mark.parametrize("speed", [1e-5, 1e-3, 1.0])
def test_a_ball_below_the_floor_that_rises_too_slowly_does_not_fall_through(speed):
    """From 1e-7 m below: at 1 mm/s it turns back below the floor."""
    run = wt.simulate(ball(0.5), 1.0, q={"fall": 0.05 - 1e-7}, u={"fall": [speed]})
    assert run.changes[-1].what == "activated"
    assert abs(run["fall.q"][-1] - 0.05) < 1e-13


def dropped(seed, friction, restitution):
    """A box that falls onto its corners or an edge."""
    m = wt.Model("box")
    m.body("box", **wt.box(mass=2.0, size=(0.4, 0.3, 0.2)))
    m.joint("flight", "free", m.ground, "box")
    for n, at in enumerate(CORNERS):
        m.constraint(f"corner{n}", "point_on_plane", body="box", at=at)
        m.temporary(f"corner{n}", unilateral=True, restitution=restitution, friction=friction)
    draw = np.random.default_rng(seed)
    turn = np.array([0.0, draw.uniform(-0.5, 0.5), draw.normal()]) if seed % 5 == 0 else draw.normal(size=3) * 0.2
    angle = np.linalg.norm(turn)
    q = (0, 0, 0.25, np.cos(angle / 2), *(np.sin(angle / 2) * turn / angle))
    u = np.concatenate([draw.normal(size=3) * (seed % 5 > 0), 0.5 * draw.normal(size=3)])
    run = wt.simulate(m.compile(), 0.35, q={"flight": q}, u={"flight": u}, rtol=1e-10, atol=1e-12, output_step=0.01)
    return run


@pytest.mark.parametrize("seed", range(12))
def test_a_box_comes_to_rest_on_its_corners(seed):
    """Bounces from corner to corner accumulate: the run goes on, the floor does not pull, no impact gains energy."""
    run = dropped(seed, (None, 0.3, 0.1)[seed % 3], (0.0, 0.3)[seed % 2])
    for c in run.changes:
        assert c.impulse[5] > -NO_PULL, c
        assert c.lost > -NO_GAIN, c
    assert abs(run["energy.balance"]).max() < 1e-7
    chain = zip(run.changes, run.changes[1:], strict=False)
    assert all(np.array_equal(a.q_after, b.q_before) for a, b in chain if a.t == b.t)
