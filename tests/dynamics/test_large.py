"""What surrounds the kernels grows with the mechanism, counted, not timed; its O(n + m) ways agree with dense ones."""

import cProfile
import pstats
import tracemalloc

import numpy as np
import pytest

import whippletree as wt
from loop_zoo import FAMILIES, MECHANISMS, random_loops
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.dynamics.constraints.live_rows import live_rows, loop_geometry
from whippletree.dynamics.loads.applied import signals
from whippletree.dynamics.reduction.plan import make_plan
from whippletree.integrate import assemble as assembling
from whippletree.integrate import project as projecting
from whippletree.integrate.assemble import difference
from whippletree.model import Model
from whippletree.system.ancestors import Ancestors
from whippletree_lab.bench.loop_families import ladder, start, tower

MORE = 4  # times as many loops or bodies
SLOPE = 1.1  # of what is counted, at most: 1 is linear
WITH_MORE_STEPS = 1.5  # the same, where larger mechanisms take a few more corrections: 2 is a dense matrix


def counted(work):
    """Calls of functions, and the largest memory held, while something is done."""
    profile = cProfile.Profile()
    tracemalloc.start()
    profile.enable()
    work()
    profile.disable()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return np.array([pstats.Stats(profile).total_calls, peak])


def slopes(work, size):
    """Of calls and of memory, from a size to MORE times as much."""
    work(size)()  # kernels, and what is found out once
    few, many = counted(work(size)), counted(work(MORE * size))
    return np.log(many / few) / np.log(MORE)


def chain(n):
    m = Model("chain")
    for i in range(n):
        m.body(f"b{i}", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
        m.joint(f"j{i}", "revolute", f"b{i - 1}" if i else "ground", f"b{i}", axis="y", at=(0, 0, -1.0 if i else 0))
    return m


def test_building_compiling_and_files_grow_linearly(tmp_path):
    def again(n):
        def work():
            file = tmp_path / f"{n}.toml"
            wt.save(chain(n), file)
            wt.load(file).compile()

        return work

    assert (slopes(again, 500) < SLOPE).all()


def at_start(family, n):
    it = family(n)
    system = it.model.compile()
    return (system, *start(system, it.q, it.u))


@pytest.mark.parametrize("family", [ladder, tower])
def test_assembling_grows_linearly(family):
    def off(n):
        system, q, u = at_start(family, n)
        q = q + 1e-3 * np.sin(np.arange(system.nq))
        return lambda: wt.assemble(system, q, u)

    assert (slopes(off, 80) < WITH_MORE_STEPS).all()


def test_the_start_of_a_run_grows_linearly():
    def begun(n):
        system, q, u = at_start(ladder, n)
        return lambda: assembling.consistent_start(system, q, u, False, {})

    assert (slopes(begun, 100) < SLOPE).all()


@pytest.mark.parametrize("nodes", [1, 2, 60, 500])
def test_branches_meet_where_a_walk_finds_it(nodes):
    rng = np.random.default_rng(nodes)
    parent = [0] + [int(rng.integers(max(0, i - 4), i)) for i in range(1, nodes)]
    tree = Ancestors(parent)
    for a, b in rng.integers(0, nodes, (200, 2)).tolist():
        x, y = a, b
        while x != y:
            x, y = (parent[x], y) if x > y else (x, parent[y])
        assert tree.meet(a, b) == x


# ---------------------------------------------------------------- the O(n + m) ways and the dense ones


CLOSED = [f"{family} {seed}" for family in FAMILIES for seed in range(4)] + list(MECHANISMS)


def mechanism(name):
    family, _, seed = name.partition(" ")
    if seed:
        system, q, *_ = random_loops(np.random.default_rng(100 + int(seed)), family)
        return system, q
    system, q, *_ = MECHANISMS[name]()
    return system, q


@pytest.mark.parametrize("name", CLOSED)
def test_displacements_by_reduction_are_those_by_the_matrix(name):
    """Those that close rows, and those along them, with weights, and with degrees of freedom that are held."""
    system, q = mechanism(name)
    if system.flexible or not system.constraints.of_poses.all():
        pytest.skip("by the matrix alone")
    rng = np.random.default_rng(7)
    for held in (0.0, 0.2):
        root = np.where(rng.random(system.nu) < held, 0.0, rng.uniform(0.3, 1.0, system.nu))
        root[list(system.forces.motions)] = 0.0
        dense, sparse = assembling._ByMatrix(system, root), assembling._ByReduction(system, root)
        C = rows_of(system, q, np.zeros(system.nu)).C
        moved, any_way = C @ (root * rng.normal(size=system.nu)), rng.normal(size=system.nu)
        s = np.linalg.svd(C * root, compute_uv=False)
        kept = s[s > assembling.RANK * s.max(initial=0.0)]
        if kept.size and kept.min() < 1e-5 * kept.max():
            continue  # which rows hold is a matter of taste
        pairs = [
            (dense.towards(q, moved), sparse.towards(q, moved)),
            (dense.along(q, any_way), sparse.along(q, any_way)),
        ]
        for a, b in pairs:
            # roundings of C, magnified by its conditioning, squared
            assert np.abs(a - b).max() < 1e-14 * (kept.max() / kept.min() if kept.size else 1.0) ** 2 + 1e-11


@pytest.mark.parametrize("name", CLOSED)
def test_projection_by_reduction_is_that_by_multipliers(name, monkeypatch):
    system, q = mechanism(name)
    rng = np.random.default_rng(8)
    off = 1e-7 * rng.normal(size=system.nu)
    u = rng.normal(size=system.nu)
    found = []
    for most in (0, 10**6):
        monkeypatch.setattr(projecting, "MOST_ROWS", most)
        near, velocities = wt.advance(system, q, off), u.copy()
        assert projecting.violation_left(system, near, velocities, 0.0) < 1e-9
        found.append((near, velocities))
    # the metric of M differs by 1e-7 from pose to pose, and conditioning magnifies it. Loops that are redundant only
    # where they are closed, as Bricard's, lead multipliers along their motion: there reduction must stay as near
    way = [np.linalg.norm(difference(system, wt.advance(system, q, off), near)) for near, _ in found]
    assert np.abs(found[0][0] - found[1][0]).max() < 1e-10 or way[0] < way[1]
    assert np.abs(found[0][1] - found[1][1]).max() < 1e-5


@pytest.mark.parametrize("family", [ladder, tower])
def test_assembling_by_reduction_is_that_by_the_matrix(family, monkeypatch):
    system, q, u = at_start(family, 6)
    rng = np.random.default_rng(9)
    off, given = q + 0.05 * rng.normal(size=system.nq), u + 0.3 * rng.normal(size=system.nu)
    first = system.joints[0]
    for some in (off, {first: float(q[system.q_index(first)][0]) + 0.05}):
        found = []
        for dense in (0, 10**9):
            monkeypatch.setattr(assembling, "DENSE", dense)
            found.append(wt.assemble(system, some, given))
        assert np.abs(found[0].q - found[1].q).max() < 1e-7  # steps towards the start end at 1e-10
        assert np.abs(found[0].u - found[1].u).max() < 1e-6


def test_a_plan_holds_still_what_is_held():
    """The rank that is left to the others is that of their columns."""
    system, q, _ = at_start(ladder, 5)
    held = [0]
    plan = make_plan(system, loop_geometry(system, live_rows(system), q, signals(system, 0.0)), held)
    C = rows_of(system, q, np.zeros(system.nu)).C[:, 1:]
    rank = np.linalg.matrix_rank(C, 1e-9)
    assert sum(map(len, plan.dependents.values())) == rank
    assert not {0} & {j for js in plan.dependents.values() for j in js}
