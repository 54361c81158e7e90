"""Digits that divide and subchains keep: redundant loops across subchains, light bodies that carry heavy ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import whippletree as wt
from loop_reference import accelerations
from loop_zoo import four_bar_angles, start
from scissors import cranks, posed, scissor
from whippletree.dynamics.accuracy.unevenness import GRADED, mass_grading
from whippletree.dynamics.auto.choose import decide
from whippletree.dynamics.divide.algorithm import Planned
from whippletree.dynamics.divide.options import division
from whippletree.dynamics.functions import tree_forces
from whippletree.dynamics.subchains.algorithm import Pieces
from whippletree.dynamics.subchains.cut import cut_of
from whippletree.dynamics.subchains.options import Cutting
from whippletree.dynamics.two_handle.partition import partition
from whippletree.errors import ModelError
from whippletree.model import Model, Pose
from whippletree_lab.bench import families
from zoo import four_bar

LOOPS = ("divide", "divide(pieces=1)", "divide(pieces=2)", "divide(pieces=3)", "divide(lanes=False)", "dca", "dcat")
TREES = (
    "divide", "divide(pieces=2)", "divide(pieces=4)", "divide(lanes=False, pieces=3)", "divide(efficient=False)",
    "divide(threads=2)", "dcat", "subchains", "subchains(pieces=3)", "subchains(pieces=4, solver='pcg')",
)  # fmt: skip


def relative(got, expected):
    return np.linalg.norm(got - expected) / np.linalg.norm(expected)


def check_loops(system, q, u, tau, forms=LOOPS):
    """1e-9, or a hundred times what nullspace and multipliers differ by: at singular poses that is all there is."""
    best = wt.forward_dynamics(system, q, u, tau, algorithm="nullspace")
    limit = max(1e-9, 100 * relative(wt.forward_dynamics(system, q, u, tau, algorithm="multipliers"), best))
    for form in forms:
        if "pieces=3" in form and system.nb < 4:
            continue
        assert relative(wt.forward_dynamics(system, q, u, tau, algorithm=form), best) < limit, form


# ---------------------------------------------------------------- loops across subchains


@pytest.mark.parametrize("loose", [0.0, 0.5])
@pytest.mark.parametrize("stages", [1, 2, 3, 5, 10])
def test_scissors(stages, loose):
    """Shared rows that rows inside subchains determine are redundant, also if the loops are open by a little."""
    rng = np.random.default_rng(stages)
    for _ in range(6):
        system = scissor(stages, rng, loose).compile()
        for n in range(4):
            folded = rng.choice(stages, size=stages // 2, replace=False) if n % 2 else ()
            q, u = posed(system, rng.uniform(0.1, 1.4), rng.normal(), folded)
            if n > 1 and not loose:
                q += 1e-11 * rng.normal(size=system.nq)
            check_loops(system, q, u, rng.normal(size=system.nu))


@pytest.mark.parametrize("stages", [20, 50])
def test_tall_scissors(stages):
    system = scissor(stages).compile()
    rng = np.random.default_rng(stages)
    for angle in (0.3, 0.9):
        check_loops(system, *posed(system, angle, 0.1), rng.normal(size=system.nu), LOOPS[:4])


@pytest.mark.parametrize("angle", [0.0, 1e-12, 1e-4, np.pi / 2])
def test_flat_and_upright_scissors(angle):
    """Poses in which rows are lost."""
    rng = np.random.default_rng(1)
    for _ in range(4):
        system = scissor(3, rng).compile()
        check_loops(system, *posed(system, angle), rng.normal(size=system.nu))


@pytest.mark.parametrize("open_by", [0.0, 1e-13, 1e-11])
@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_parallel_cranks(count, open_by):
    rng = np.random.default_rng(count)
    for _ in range(6):
        system = cranks(count, rng).compile()
        q, u = posed(system, rng.uniform(0.2, 1.3), rng.normal())
        check_loops(system, q + open_by * rng.normal(size=system.nq), u, rng.normal(size=system.nu))


def test_multipliers_balance_the_tree():
    """Loads of rows inside subchains and of shared ones together: M u' + bias - C' lam = tau, by its virtual work."""
    rng = np.random.default_rng(3)
    system = scissor(4, rng).compile()
    q, u = posed(system, 0.7, 0.4)
    tau = rng.normal(size=system.nu)
    for form in ("divide(pieces=2)", "divide(pieces=3)"):
        udot = wt.forward_dynamics(system, q, u, tau, algorithm=form)
        left = tree_forces(system, q, u, udot) - tau
        _, free = posed(system, 0.7, 1.0)  # the one motion that all loops allow
        assert abs(left @ free) < 1e-11 * np.linalg.norm(left) * np.linalg.norm(free)


@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 1e6, 1e12])
def test_light_and_heavy_links_of_loops(ratio):
    rng = np.random.default_rng(7)
    for n in range(4):
        model = scissor(2, rng) if n % 2 else cranks(2, rng)
        for k, (name, body) in enumerate(model.bodies.items()):
            f = ratio if (k + n) % 2 else 1.0
            model.bodies[name] = replace(body, mass=body.mass * f, inertia=np.asarray(body.inertia) * f)
        system = model.compile()
        q, u = posed(system, rng.uniform(0.3, 1.2), rng.normal())
        tau = rng.normal(size=system.nu)
        best = wt.forward_dynamics(system, q, u, tau, algorithm="nullspace")
        for form in LOOPS:
            if "pieces=3" not in form or system.nb > 3:
                assert relative(wt.forward_dynamics(system, q, u, tau, algorithm=form), best) < 1e-9, form


def massless_four_bar():
    model = four_bar()
    model.bodies["rocker"] = replace(model.bodies["rocker"], mass=0.0, inertia=np.zeros((3, 3)))
    system = model.compile()
    coupler, rocker = four_bar_angles(0.2, 0.6, 0.5, 0.7, 1.0)
    q, _ = start(system, {"shaft": 1.0, "pin": coupler - 1.0, "wrist": rocker - coupler, "pivot": rocker})
    return system, q


def test_a_loop_holds_a_last_link_without_mass():
    system, q = massless_four_bar()
    u, tau = np.zeros(system.nu), np.arange(1.0, 1.0 + system.nu)
    best = wt.forward_dynamics(system, q, u, tau, algorithm="reduction")
    for form in ("divide", "divide(pieces=2)", "dca"):
        assert relative(wt.forward_dynamics(system, q, u, tau, algorithm=form), best) < 1e-12
    runs = [wt.simulate(system, 0.1, q=q, algorithm=name) for name in ("divide", "reduction")]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-9


# ---------------------------------------------------------------- light bodies that carry heavy ones


def graded(parents, masses, kinds, rng):
    model = Model("graded")
    for k, (p, mass) in enumerate(zip(parents, masses, strict=True)):
        a = rng.uniform(0.05, 0.2, 3) ** 2
        inertia = mass / 12 * np.array([a[1] + a[2], a[0] + a[2], a[0] + a[1]])
        model.body(f"body{k}", mass=float(mass), com=tuple(rng.uniform(-0.1, 0.1, 3)), inertia=tuple(inertia))
        kind = str(rng.choice(kinds))
        along = {} if kind == "spherical" else {"axis": tuple(rng.normal(size=3))}
        turn = tuple(Rotation.random(random_state=int(rng.integers(1 << 30))).as_quat(scalar_first=True))
        at = Pose(tuple(rng.uniform(-0.3, 0.3, 3)), turn)
        model.joint(f"joint{k}", kind, "ground" if p < 0 else f"body{p}", f"body{k}", at=at, **along)
    return model


def any_state(system, rng):
    q = system.q0.copy()
    for name in system.joints:
        rows = system.q_index(name)
        if system.model.joints[name].kind == "spherical":
            q[rows] = Rotation.random(random_state=int(rng.integers(1 << 30))).as_quat(scalar_first=True)
        else:
            q[rows] = rng.uniform(-3, 3)
    return q, rng.normal(size=system.nu), rng.normal(size=system.nu)


@pytest.mark.parametrize("ratio", [1e-12, 1e-6, 1e3, 1e6, 1e9, 1e12])
@pytest.mark.parametrize("shape", ["chain", "tree"])
def test_graded_masses(shape, ratio):
    """Against 50 digits. Even articulated loses up to 0.1, where balls hold a light body between heavy ones."""
    rng = np.random.default_rng(5)
    for n in range(3):
        size = 8
        parents = [-1, *(k if shape == "chain" else int(rng.integers(max(0, k - 2), k + 1)) for k in range(size - 1))]
        masses = [1.0 if k % 2 else ratio for k in range(size)]
        if n == 2:
            masses = np.exp(rng.uniform(-0.5, 0.5, size) * abs(np.log(ratio)))
        kinds = ("revolute",) if n == 0 else ("revolute", "prismatic", "spherical")
        model = graded(parents, masses, kinds, rng)
        system = model.compile()
        q, u, tau = any_state(system, rng)
        best = np.array(accelerations(model, system, q, u, tau), float)
        for form in TREES:
            assert relative(wt.forward_dynamics(system, q, u, tau, algorithm=form), best) < 1e-9, form


def alternating(count, ratio):
    model = Model("alternating")
    for k in range(count):
        mass = ratio if k % 2 else 1.0
        model.body(f"body{k}", mass=mass, com=(0.05, 0, 0), inertia=(1e-3 * mass, 2e-3 * mass, 2e-3 * mass))
        inner = f"body{k - 1}" if k else "ground"
        model.joint(f"joint{k}", "revolute", inner, f"body{k}", axis="yz"[k % 2], at=(0.1 if k else 0.0, 0, 0))
    return model


@pytest.mark.parametrize("ratio", [1e9, 1e12])
def test_long_chains_of_alternating_masses(ratio):
    system = alternating(601, ratio).compile()
    rng = np.random.default_rng(2)
    q, u, tau = rng.uniform(-0.5, 0.5, system.nq), 0.1 * rng.normal(size=system.nu), np.zeros(system.nu)
    best = wt.forward_dynamics(system, q, u, tau, algorithm="articulated")
    for form in ("auto", "divide", "divide(pieces=7)", "subchains", "subchains(pieces=12)"):
        assert relative(wt.forward_dynamics(system, q, u, tau, algorithm=form), best) < 1e-9, form
    assert decide(system).algorithm == "articulated"
    batch = wt.forward_dynamics(
        system, np.stack([q, q]), np.stack([u, u]), np.zeros((2, system.nu)), algorithm="divide"
    )
    assert relative(batch[1], best) < 1e-9


def test_wrenches_and_prescribed_motions_are_refined_too():
    model = alternating(14, 1e6)
    model.force("drive", "motion", joint="joint3", position=wt.Sine(0.4, 2.0))
    system = model.compile()
    rng = np.random.default_rng(4)
    q, u, tau = rng.uniform(-0.5, 0.5, system.nq), rng.normal(size=system.nu), rng.normal(size=system.nu)
    wrenches = {"body5": rng.normal(size=6), "body12": rng.normal(size=6)}
    best = wt.forward_dynamics(system, q, u, tau, wrenches=wrenches, t=0.3, algorithm="articulated")
    for form in ("divide(pieces=4)", "dca", "subchains(pieces=4)"):
        found = wt.forward_dynamics(system, q, u, tau, wrenches=wrenches, t=0.3, algorithm=form)
        assert relative(found, best) < 1e-11, form


def test_subchains_end_in_heavy_bodies():
    system = alternating(101, 1e9).compile()
    for family in partition(system, division("divide(pieces=6)"), 6, 1.0):
        assert all(system.arrays["mass"][s.path[-1]] == 1e9 for s in family.subchains[:-1])


def test_joins_report_their_growth():
    """Where every body is a leaf, joins behind light ones cannot be avoided; plain passes then say that digits go."""
    heavy, plain = alternating(12, 1e9).compile(), alternating(12, 1.0).compile()
    for system, well in ((heavy, 1.0), (plain, 0.0)):
        planned = Planned(system, division("dca"))
        udot = np.zeros(system.nu)
        assert planned.solve(system.q0 + 0.1, np.zeros(system.nu), np.zeros(system.nu), udot) == well
        assert (planned.growth() > 1e5) == bool(well)
    assert mass_grading(heavy)[0] == 1e9
    assert mass_grading(plain)[0] < GRADED


def test_eliminations_report_their_growth():
    for ratio in (1.0, 1e9):
        system = alternating(12, ratio).compile()
        choice = Cutting(pieces=3)
        pieces = Pieces(cut_of(system, choice), choice)
        udot, none = np.zeros(system.nu), np.zeros(system.nu)
        assert pieces.evaluate(system.q0 + 0.1, none, none, udot) == 0.0
        assert (pieces.growth() > 1e5) == (ratio > 1.0)


def test_benchmark_families_are_not_graded():
    assert mass_grading(families.chain(256).compile())[0] < GRADED / 10


def test_runs_that_would_lose_digits_are_refused():
    system = alternating(12, 1e9).compile()
    with pytest.raises(ModelError, match=r"by 'dca' would lose digits[\s\S]*1.0e\+09 times as heavy"):
        wt.simulate(system, 0.01, algorithm="dca")
    with pytest.raises(ModelError, match=r"in subchains would lose digits[\s\S]*1.0e\+09 times as heavy"):
        wt.simulate(system, 0.01, algorithm="subchains")
    assert wt.simulate(system, 0.01, algorithm="divide(pieces=2)").t[-1] == 0.01  # cut behind a heavy body


# ---------------------------------------------------------------- the same answer whatever was asked before


@pytest.mark.parametrize("solver", ["thomas", "cyclic", "pcg", "gmres"])
def test_a_call_does_not_depend_on_calls_before(solver):
    model = families.chain(60)
    system = model.compile()
    states = [[x[n] for x in families.states(model, system, 3)[:3]] for n in range(3)]
    form = f"subchains(pieces=8, solver='{solver}', rtol=1e-4)"
    first = wt.forward_dynamics(system, *states[0], algorithm=form)
    for state in states[1:]:
        wt.forward_dynamics(system, *state, algorithm=form)
        assert np.array_equal(wt.forward_dynamics(system, *states[0], algorithm=form), first)
    assert np.array_equal(wt.forward_dynamics(model.compile(), *states[0], algorithm=form), first)
