"""Loops of flexible bodies: accurate where they bend out of their plane, and at a cost that grows with their length."""

import numpy as np
import pytest

import whippletree as wt
from flexible_zoo import flexible_loop, linkage
from random_systems import compare, draw
from whippletree.analysis.random_states import random_states
from whippletree.dynamics.accuracy.conditioning import conditioning
from whippletree.dynamics.reduction.passes import plan_at


@pytest.mark.parametrize("seed", [0, 4, 7, 10, 12, 19, 23, 37])
def test_reduction_is_as_exact_as_the_others(seed):
    """Modes that move the rows better than joints went into joints, and lost up to eight digits."""
    rng = np.random.default_rng(seed)
    system = flexible_loop(rng).compile()
    for q, u in zip(*random_states(system, 3, rng), strict=True):
        names = ("reduction", "multipliers", "nullspace")
        ours, *others = (wt.forward_dynamics(system, q, u, algorithm=name) for name in names)
        off = max(np.abs(ours - other).max() for other in others) / np.abs(ours).max()
        assert off < 1e-14 * conditioning(system, q, u)  # some 50 roundings for each unit; it was up to 5e-7


def test_joints_wait_for_modes_that_are_still_to_come():
    """A hinge that moved a row by 1e-8 of what the modes inboard do was made to depend on it: two digits were left."""
    found = compare(draw(12031))
    assert found.kind == "flexible loops"
    assert found.worst < 1e-14


def arch(links, **kind):
    """Equal beams, hinged to each other and to ground at both ends"""
    angles = np.linspace(0.3, np.pi - 0.3, links + 1)
    corners = np.column_stack([-np.cos(angles), np.sin(angles)]) * links / 3
    length = float(np.linalg.norm(corners[1] - corners[0]))
    beam = wt.beam(length=length, section="rectangle", height=0.02, width=0.01, E=7e10, rho=2700.0, elements=1)
    return linkage(corners, ["revolute"] * (links + 1), [beam.modes(**kind)] * links).compile()


@pytest.mark.parametrize("kind", [{"kind": "craig-bampton", "outboard": "tip", "count": 0}, {"count": 4}])
@pytest.mark.parametrize("deformed", [0.0, 1e-5])
def test_fronts_of_long_loops_stay_narrow(kind, deformed):
    """Modes depend on the rows as soon as they feel all: kept to the end of the loop they made the cost cubic."""
    plans = []
    for links in (8, 32):
        system, rng = arch(links, **kind), np.random.default_rng(0)
        q = system.q0.copy()
        for name in system.model.flexibles:
            rows = system.q_index(name)
            q[rows] = deformed * rng.normal(size=rows.stop - rows.start)
        plans.append(plan_at(system, q, np.zeros(1)))
    short, long = (max(plan.steps[:, 3]) for plan in plans)  # variables of the widest front
    assert max(short, long) <= 10  # six and ten: coordinates wait where the loop has better ones farther in
    assert plans[1].size < 4 * plans[0].size


def test_a_body_that_is_deformed_far_keeps_a_positive_mass():
    """Its mass matrix was not positive, and multipliers stopped."""
    system = arch(3, kind="craig-bampton", outboard="tip", count=0, fidelity="stiffened")
    q = system.q0.copy()
    q[system.q_index("link1")] = 0.02
    start = wt.assemble(system, q).q
    assert np.linalg.eigvalsh(wt.mass_matrix(system, start))[0] > 0.0
    found = [wt.forward_dynamics(system, start, np.zeros(system.nu), algorithm=a) for a in ("multipliers", "nullspace")]
    np.testing.assert_allclose(*found, atol=1e-8 * abs(found[0]).max())
