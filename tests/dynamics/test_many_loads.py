"""Loads of many joints: swept at a cost that grows as the mechanism does, the same as from all constraints at once."""

import tracemalloc

import numpy as np
import pytest

import whippletree as wt
from loop_zoo import FAMILIES, MECHANISMS, random_loops
from whippletree.analysis.reactions import SPREAD
from whippletree.dynamics.constraints import forces as constraint_forces
from whippletree.dynamics.constraints.forces import multipliers_of
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.dynamics.loads.indeterminate import open_reactions
from whippletree.dynamics.reduction import passes as reduction
from whippletree_lab.bench.loop_families import ACROSS, CRANKS, GRAVITY, TURNING, ladder


def posed(n):
    it = ladder(n)
    system = it.model.compile()
    return it, system, *(np.array([x[name] for name in system.joints]) for x in (it.q, it.u))


def test_a_ladder_of_200_loops_obeys_newtons_law():
    """Bodies move by the closed form: cranks turn alike, couplers stay level. Each feels the pins at its ends alone."""
    n = 200
    it, system, q, u = posed(n)
    loads = wt.reactions(system, q, u)
    spin, rate = it.u["foot0"], it.udot["foot0"]
    assert (it.q["foot0"], spin) == (CRANKS, TURNING)
    out, across = np.array([-np.sin(CRANKS), np.cos(CRANKS)]), np.array([-np.cos(CRANKS), -np.sin(CRANKS)])
    tip = rate * across - spin**2 * out  # of all cranks, which are 1 m long; so do all points of couplers accelerate
    pins = {body: [] for body in system.bodies}
    for name, joint in it.model.joints.items():
        pins[joint.child].append((1.0, name))
        pins[joint.parent].append((-1.0, name))
    # loads follow from moments about the first foot, of up to n loads n metres away
    close = 10 * np.finfo(float).eps * n**2 * max(np.abs(loads[name][3:]).max() for name in loads)
    for i in range(2 * n + 1):
        crank, k = i <= n, i if i <= n else i - n
        body = f"crank{k}" if crank else f"coupler{k}"
        centre = np.array([k, 0.0]) + 0.5 * out if crank else np.array([k - 0.5, 0.0]) + out
        motion = 0.5 * tip if crank else tip
        force, torque = np.array([0.0, -GRAVITY]), 0.0
        for sign, name in pins[body]:
            F, lever = sign * loads[name][3:5], loads.point(name)[:2] - centre
            force, torque = force + F, torque + lever[0] * F[1] - lever[1] * F[0]
        np.testing.assert_allclose(force, motion, rtol=0, atol=close)
        assert abs(torque - (ACROSS * rate if crank else 0.0)) < close
    assert all(np.abs(loads[name][[0, 1, 2, 5]]).max() < close for name in loads)  # nothing pushes out of the plane
    assert all(loads.unique[name].tolist() == [False, False, True, True, True, False] for name in loads)


def test_memory_grows_as_the_loops_do():
    """Four times as many: a matrix of rows and DOF would take 16 times as much."""
    peaks = []
    for n in (100, 400):
        _, system, q, u = posed(n)
        _ = wt.reactions(system, q, u).unique  # what is found once
        tracemalloc.start()
        _ = wt.reactions(system, q, u).unique
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 5 * peaks[0]


def brackets():
    """A four-bar between posts welded to ground; its last hinge is on a bracket that is welded to the rocker's foot."""
    model = wt.Model("four bar on brackets", gravity=(1.0, 2.0, -9.81))
    for name in ("post", "plate", "crank", "coupler", "lug", "rocker", "shoe"):
        model.body(name, mass=1.0, com=(0.2, 0.1, 0.3), inertia=(0.1, 0.2, 0.2))
    model.joint("base", "fixed", "ground", "post", at=(0, 0, 5.0))
    model.joint("more", "fixed", "post", "plate", at=(0.3, 0, 0))
    model.joint("shaft", "revolute", "post", "crank", axis="y")
    model.joint("pin", "revolute", "crank", "coupler", axis="y", at=(1, 0, 0))
    model.joint("weld", "fixed", "lug", "coupler", child_at=(2, 0, 0))
    model.joint("wrist", "revolute", "lug", "rocker", axis="y")
    model.joint("sole", "fixed", "rocker", "shoe", at=(0.5, 0, 0))
    model.joint("pivot", "revolute", "plate", "shoe", axis="y", at=(1.2, 0, 0.1), child_at=(0.5, 0.0, 0.0))
    system = model.compile()
    state = wt.assemble(system, {"shaft": -1.2, "pin": 1.5, "wrist": 1.0}, {"shaft": 1.0})
    return system, state.q, state.u


def systems():
    yield from MECHANISMS.items()
    for family in FAMILIES:
        for seed in range(4):
            yield f"{family}-{seed}", lambda f=family, s=seed: random_loops(np.random.default_rng([s, 91]), f)[:3]
    yield "brackets", brackets


@pytest.mark.parametrize(("name", "make"), list(systems()), ids=[name for name, _ in systems()])
def test_the_sweep_finds_the_shortest_multipliers_and_all_that_may_be_added(name, make):
    system, q, u = make()
    if not system.features <= reduction.SUPPORTS:
        pytest.skip("constraints that are not joints are not swept")
    held = multipliers_of(system, q, u, wt.forward_dynamics(system, q, u))
    C = rows_of(system, q, u).C
    U, s, Vt = np.linalg.svd(C)
    rank = int((s > 1e-7 * s[0]).sum())
    shortest = U[:, :rank] @ (Vt[:rank] @ held.rest / s[:rank])
    # accelerations that are known to 1e-9 by rounding, for each unit of conditioning
    assert np.abs(held.lam - shortest).max() < 1e-9 * (1 + np.abs(shortest).max()) * s[0] / s[rank - 1]
    assert np.abs(held.left - (held.rest - held.lam @ C)).max() < 1e-11 * (1 + np.abs(held.rest).max())
    swept = open_reactions(system, q, u, held)
    dense = open_reactions(system, q, u, held._replace(idle=np.zeros(0, int), null=U[:, rank:]))
    sizes = {joint: [np.linalg.norm(x[joint], axis=0) for x in (swept, dense)] for joint in dense}
    largest = max(both[1].max() for both in sizes.values())
    for joint, (one, other) in sizes.items():
        np.testing.assert_allclose(one, other, rtol=0, atol=0.01 * SPREAD * largest, err_msg=joint)


def test_beyond_so_many_rows_the_sweep_decides(monkeypatch):
    """Redundant rows that are too many for singular values keep the multipliers of the sweep: they hold as well.

    Here a hinge is there twice, and one of the two takes all: longer by the root of 2 than half in each.
    """
    system, q, u = MECHANISMS["four_bar"]()
    model = system.model
    model.joint("again", "revolute", "ground", "rocker", **_ends(model.joints["pivot"]))
    twice = model.compile()
    q, u = (np.array([x[system.joints.index(name)] for name in twice.joints]) for x in (q, u))
    udot = wt.forward_dynamics(twice, q, u)
    both = multipliers_of(twice, q, u, udot)
    assert both.null.shape[1] == 2
    monkeypatch.setattr(constraint_forces, "DENSE", 1)
    swept = multipliers_of(twice, q, u, udot)
    assert swept.null.shape[1] == 0
    assert swept.misfit < 1e-12
    assert np.linalg.norm(swept.lam) == pytest.approx(np.sqrt(2) * np.linalg.norm(both.lam), rel=1e-9)


def _ends(joint):
    return {"axis": joint.axis, "at": joint.at, "child_at": joint.child_at}
