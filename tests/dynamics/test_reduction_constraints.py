"""Reduction of loops together with what is no loop: rolling, blades, distances, gears, ties between branches."""

import numpy as np
import pytest

import whippletree as wt
from loop_reference import solve
from loop_zoo import random_loops
from rolling_loops import MEETINGS, cart_model, geared_ladder_model, onto, rolling_five_bar_model
from test_rolling import on_surface, rolling_zoo
from whippletree.dynamics.accuracy.conditioning import AGREE, conditioning
from whippletree.dynamics.auto.choose import decide
from whippletree.dynamics.auto.loop_operations import of_reduction
from whippletree.dynamics.constraints.forces import multipliers_of
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.dynamics.constraints.live_rows import live_rows
from whippletree.dynamics.loads.applied import signals
from whippletree.dynamics.reduction import passes as reduction
from whippletree.dynamics.reduction.reactions import reactions_of

OTHERS = ("multipliers", "nullspace", "divide")


def apart(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


def in_lanes(system, q, u, tau):
    """The same state in all lanes, and with slower ones beside it."""
    slow = np.array([1.0, 0.5, 0.0, 1.0, -1.0])[:, None]
    tiled = (np.tile(q, (5, 1)), slow * u, np.tile(tau, (5, 1)))
    return wt.forward_dynamics(system, *tiled, algorithm="reduction"), tiled


@pytest.mark.parametrize("name", MEETINGS)
def test_reduction_agrees_where_loops_and_rolling_meet(name):
    system, q, u = MEETINGS[name]()
    tau = np.random.default_rng(11).normal(size=system.nu)
    allowed = AGREE * conditioning(system, q, u)
    found = wt.forward_dynamics(system, q, u, tau, algorithm="reduction")
    for other in OTHERS:
        assert apart(found, wt.forward_dynamics(system, q, u, tau, algorithm=other)) < min(allowed, 1e-10), other
    batch, tiled = in_lanes(system, q, u, tau)
    assert apart(batch, wt.forward_dynamics(system, *tiled, algorithm="multipliers")) < 1e-10


@pytest.mark.parametrize("seed", range(10))
def test_random_ties_agree_with_the_reference(seed):
    """Distances, points on lines and planes, gears and given differences, on ancestors and between branches."""
    system, q, u, tau = random_loops(np.random.default_rng([seed, 78]), "constrained")
    answer = solve(system.model, system, q, u, tau)
    found = wt.forward_dynamics(system, q, u, tau, algorithm="reduction")
    assert apart(found, answer.udot) < 1e-12 * answer.conditioning


@pytest.mark.parametrize("dof", [0, 1])
@pytest.mark.parametrize("kind", ["screw", "cylindrical", "universal", "planar"])
def test_a_tie_of_branches_whose_base_is_coupled_to_one_of_them(kind, dof):
    """Both meet at one body, the rows of the tie before its joint and the coupling after it."""
    dof = 0 if kind == "screw" else dof
    m = wt.Model("tied")
    for name in ("base", "left", "right"):
        m.body(name, mass=1.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.2, 0.25))
    m.joint("root", kind, "ground", "base", **({"pitch": 0.3} if kind == "screw" else {}))
    m.joint("hip", "universal", "base", "left", at=(0.2, 0.0, 0.1))
    m.joint("elbow", "revolute", "base", "right", axis=(0.3, 1.0, 0.2), at=(-0.2, 0.1, 0.0))
    m.constraint("tie", "point_on_plane", body="right", to="left", at=(0.4, 0.3, 0.2))
    m.constraint("follow", "relative", joint="elbow", of="root", of_dof=dof, position=0.2)
    system, q, u = onto(m, 3)
    tau = np.linspace(-1.0, 1.0, system.nu)
    found = wt.forward_dynamics(system, q, u, tau, algorithm="reduction")
    assert apart(found, wt.forward_dynamics(system, q, u, tau, algorithm="multipliers")) < 1e-11


@pytest.mark.parametrize("seed", range(6))
def test_what_rolls_on_bodies_that_move(seed):
    system, rng = rolling_zoo(seed)
    q, u = on_surface(system, rng)
    tau = rng.normal(size=system.nu)
    answer = solve(system.model, system, q, u, tau)
    found = wt.forward_dynamics(system, q, u, tau, algorithm="reduction")
    assert apart(found, answer.udot) < 1e-12 * answer.conditioning


@pytest.mark.parametrize("name", ["cart on wishbones", "geared ladder"])
def test_prescribed_motions_go_through_gears_and_wheels(name):
    """A DOF whose motion is prescribed is no variable of its coupling; what it does is."""
    model = cart_model() if name.startswith("cart") else geared_ladder_model()
    driven = "axle0" if name.startswith("cart") else "fan"
    model.force("drive", "motion", joint=driven, position=wt.Sine(0.4, 0.7))
    system = model.compile()
    start = wt.assemble(system, system.q0)
    tau = np.random.default_rng(5).normal(size=system.nu)
    first, other = (
        wt.forward_dynamics(system, start.q, start.u, tau, t=0.3, algorithm=a) for a in ("reduction", "multipliers")
    )
    assert apart(first, other) < 1e-10
    runs = [wt.simulate(system, 0.5, q=start.q, u=start.u, algorithm=a) for a in ("reduction", "multipliers")]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-6
    assert apart(runs[0]["energy.work"], runs[1]["energy.work"]) < 1e-6


@pytest.mark.parametrize("name", MEETINGS)
def test_ten_seconds(name):
    system, q, u = MEETINGS[name]()
    # a ladder swings, in chaos, through poses where all its loops lose rank: rounding there is near 1e-9
    rtol, account, open_by = (1e-7, 1e-7, 1e-9) if name == "geared ladder" else (1e-9, 1e-8, 1e-12)
    tight = {"rtol": rtol, "atol": 0.01 * rtol, "output_step": 0.05}
    run = wt.simulate(system, 10.0, q=q, u=u, algorithm="reduction", **tight)
    assert run["closure"].max() < open_by
    assert np.abs(run["energy.balance"]).max() < account * run["energy.kinetic"].max()
    if name != "geared ladder":
        other = wt.simulate(system, 10.0, q=q, u=u, algorithm="multipliers", **tight)
        assert np.abs(run.q - other.q).max() < 1e-5


@pytest.mark.parametrize("name", MEETINGS)
def test_reactions_are_those_of_the_others(name):
    """lam of rows that are redundant too: the shortest, whoever solves."""
    system, q, u = MEETINGS[name]()
    held = [
        multipliers_of(system, q, u, wt.forward_dynamics(system, q, u, algorithm=a))
        for a in ("reduction", "multipliers", "nullspace")
    ]
    assert max(h.misfit for h in held) < 1e-10
    for h in held[1:]:
        assert apart(h.lam, held[0].lam) < 1e-9


def test_swept_forces_balance():
    """Of independent rows the sweep alone gives lam: C' lam is all that the motion needs."""
    model = rolling_five_bar_model()
    for name in ("tread1", "tread2"):
        model.constraints[name].slip = "side"  # which the plane holds already
    system, q, u = onto(model, 3)
    rest = np.random.default_rng(3).normal(size=system.nu)
    live, C = live_rows(system).kept, rows_of(system, q, u).C
    rest = C[live].T @ np.linalg.lstsq(C[live].T, rest, rcond=None)[0]
    lam, left, badly = reactions_of(system, q, u, rest, signals(system, 0.0))
    assert badly == 0
    np.testing.assert_allclose(C.T @ lam, rest, atol=1e-11)
    assert np.abs(left).max() < 1e-11


def test_cost_grows_with_rungs_and_wheels():
    counts = []
    for rungs in (10, 20, 40):
        system = geared_ladder_model(rungs).compile()
        counts.append(of_reduction(reduction.plan_at(system, system.q0, signals(system, 0.0))))
    assert (counts[2] - counts[1]) / (counts[1] - counts[0]) == pytest.approx(2.0, rel=0.02)


def test_auto_takes_it_where_it_is_faster():
    assert decide(MEETINGS["rolling five-bar"]()[0]).algorithm == "multipliers"
    long = decide(geared_ladder_model(24).compile())
    assert long.algorithm == "reduction"
    assert long.seconds["reduction"] < long.seconds["multipliers"]


def test_temporary_constraints_beside_loops():
    """A seat that is clamped for a while, on a cart that rolls: each part of the run has a plan of its own."""
    model = cart_model(rigid=True)
    model.constraint("clamp", "latch", body="seat", to="chassis")
    model.temporary("clamp", here=True, activate_at=0.3, release_at=0.7)
    system, q, u = onto(model, 2, spread=0.02)
    runs = [wt.simulate(system, 1.0, q=q, u=u, algorithm=a, output_step=0.01) for a in ("reduction", "multipliers")]
    for run in runs:
        assert [c.what for c in run.changes] == ["activated", "released"]
        assert run["closure"].max() < 1e-10
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-6
    assert apart(runs[0]["clamp.reaction"], runs[1]["clamp.reaction"]) < 1e-6
