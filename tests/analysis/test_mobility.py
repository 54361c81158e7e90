"""Mobility by rank, against singular values of the rows of the 50-digit reference; and what is said about it."""

import numpy as np
import pytest

import whippletree as wt
from loop_reference import constraint_rows
from loop_zoo import FAMILIES, MECHANISMS, random_loops
from whippletree.analysis import mobility as module
from whippletree.analysis.loop_words import as_dict, describe
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.dynamics.reduction import passes as reduction
from whippletree_lab.reproduce.loop_problems import n_four_bar, n_four_bar_model

RANK = 1e-9  # models of the zoo have singular values above 1e-5 or below 1e-11 of the largest


def rank_of(C):
    size = np.linalg.norm(C, axis=1)
    return np.linalg.matrix_rank(C / np.where(size > RANK, size, 1.0)[:, None], tol=RANK) if C.size else 0


def reference(system, q):
    """Names and rows of C, without prescribed motions."""
    names, C, _, _ = constraint_rows(system.model, system, q, np.zeros(system.nu))
    kept = [n for n, name in enumerate(names) if name in system.constraints.owner]
    return np.array(names)[kept], C[kept]


def assert_as_reference(system, q):
    found = wt.mobility(system, q)
    names, C = reference(system, q)
    assert not found.moved
    np.testing.assert_array_equal(found.q, q)
    assert found.rank == rank_of(C)
    assert found.mobility == system.nu - found.rank == len(found.independent)
    assert found.counted == system.nu - len(C)
    for loop in found.loops:
        assert (loop.rows, loop.rank) == ((names == loop.name).sum(), rank_of(C[names == loop.name])), loop.name
    return found


def without(system, found):
    """Rows of C that are not called redundant."""
    rows = list(zip(system.constraints.owner, (module.direction(system, r) for r in range(found.rows)), strict=True))
    left = list(found.redundant)
    kept = []
    for r, row in enumerate(rows):
        if row in left:
            left.remove(row)
        else:
            kept.append(r)
    assert not left
    return kept


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_have_the_rank_of_the_reference(name):
    system, q, _ = MECHANISMS[name]()
    found = assert_as_reference(system, q)
    assert sum(len(loop.dependent) for loop in found.loops) == len(found.dependent) == found.rank
    assert found.nearby == found.mobility
    assert not found.weak


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(4))
def test_random_loops_have_the_rank_of_the_reference(family, seed):
    system, q, _, _ = random_loops(np.random.default_rng([seed, 77]), family)
    found = assert_as_reference(system, q)
    assert len(found.redundant) == found.rows - found.rank
    C, kept = rows_of(system, q, np.zeros(system.nu)).C, without(system, found)
    assert rank_of(C[kept]) == len(kept) == found.rank


@pytest.mark.parametrize("family", FAMILIES)
def test_groups_share_joints(family):
    """By sets of joints on the two sides of each element."""
    system, q, _, _ = random_loops(np.random.default_rng([2, 78]), family, loops=3)
    found, c, parent = wt.mobility(system, q), system.constraints, system.arrays["parent"]

    def way(i):
        return {i} | way(int(parent[i])) if i else set()

    joints = {}
    for e in range(len(c.kind)):
        ends = int(c.body[e]), int(c.to[e])
        joints.setdefault(c.owner[c.row[e]], set()).update(
            ends if c.kind[e] == 2 else way(ends[0]) ^ way(ends[1])  # 2: a coupling of two DOF
        )
    groups = [{name} for name in joints]
    for a in joints:
        for b in joints:
            if joints[a] & joints[b]:
                first, second = (next(g for g in groups if x in g) for x in (a, b))
                if first is not second:
                    groups.remove(second)
                    first |= second
    assert {frozenset(g) for g in found.groups} == {frozenset(g) for g in groups if len(g) > 1}
    over, joint = found.overlap
    counts = {j: sum(system.joint_body(j) in way for way in joints.values()) for j in system.joints}
    assert over == max(counts.values()) == counts[joint]


@pytest.mark.parametrize("name", ["andrews", "stewart", "n_four_bar_5"])
def test_large_groups_have_their_rank_from_the_plan(name, monkeypatch):
    system, q, _ = MECHANISMS[name]()
    small = wt.mobility(system, q)
    monkeypatch.setattr(module, "DENSE", 0)
    large = wt.mobility(system, q)
    assert (large.rank, large.mobility, large.redundant) == (small.rank, small.mobility, small.redundant)
    assert large.unnamed == 0


def test_rows_that_loops_have_in_common_are_counted_where_they_are_not_named(monkeypatch):
    """A bar that two others hold at the same place: the second closure says all that the first does."""
    system, q, _, _ = random_loops(np.random.default_rng([1, 77]), "doubled", loops=3)
    small = wt.mobility(system, q)
    monkeypatch.setattr(module, "DENSE", 0)
    large = wt.mobility(system, q)
    assert large.rank == small.rank
    assert large.unnamed + len(large.redundant) == len(small.redundant)


def test_hundreds_of_loops_have_their_rank_from_the_plan():
    system, q, _ = n_four_bar(300, 0.3)
    found = wt.mobility(system, q)
    assert (found.rank, found.mobility, len(found.redundant)) == (600, 1, 900)
    assert found.keys == (0, 0.0)
    assert found.operations["reduction"] < 1e-3 * found.operations["multipliers"]


# ---------------------------------------------------------------- poses


@pytest.mark.parametrize("n", [1, 3])
def test_flat_four_bars_are_singular(n):
    system, q, _ = n_four_bar(n, np.pi / 2)
    found = wt.mobility(system, q)
    assert (found.mobility, found.nearby) == (n + 1, 1)
    assert found.weak == tuple(f"foot{i}" for i in range(1, n + 1))


def test_nearly_singular_is_reported():
    near, far = (wt.mobility(*n_four_bar(2, np.pi / 2 - away)[:2]) for away in (1e-4, 0.1))
    assert (near.mobility, near.nearby, near.weak) == (1, 1, ("foot1", "foot2"))
    assert far.weak == ()


def truss(apart):
    """Two bars of 1 m, in a plane, between feet."""
    model = wt.Model("truss")
    for name in ("a", "b"):
        model.body(name, **wt.rod(mass=1.0, length=1.0))
    model.joint("left", "revolute", "ground", "a", axis="y")
    model.joint("top", "revolute", "a", "b", axis="y", at=(1, 0, 0))
    model.joint("right", "revolute", "b", "ground", axis="y", at=(1, 0, 0), child_at=(apart, 0, 0))
    return model.compile()


def reported(system):
    return "\n".join(line for part in describe(system) for line in part)


def test_locked_is_reported():
    found = wt.mobility(truss(1.2))
    assert (found.mobility, found.moved, found.independent) == (0, True, ())
    assert "mobility   0 at the closed pose nearest to q = 0: 2 velocities less rank 2" in reported(truss(1.2))
    assert "           locked: no degree of freedom is left" in reported(truss(1.2))


def test_a_motion_that_cannot_go_on_is_locked():
    """Bars in one line between their feet: the middle moves across, to first order."""
    found = wt.mobility(truss(2.0))
    assert (found.mobility, found.stuck) == (1, True)
    assert "locked: a small motion is possible here, but it cannot go on" in reported(truss(2.0))


def test_what_cannot_close_is_named():
    with pytest.raises(wt.ModelError, match="the loop that joint 'right' closes cannot be closed"):
        wt.mobility(truss(3.0))
    lines = reported(truss(3.0))
    assert "mobility   not known: the loop that joint 'right' closes cannot be closed" in lines
    assert "at best, open is 'right' by 1" in lines
    assert as_dict(truss(3.0))["refused"] == "the loop that joint 'right' closes cannot be closed"


def tied(*lengths):
    model = wt.Model("tied")
    for name in ("seat", "kite"):
        model.body(name, mass=1.0, inertia=(1, 1, 1))
        model.joint(f"{name}_free", "free", "ground", name)
    model.constraint("string", "distance", body="kite", to_at=(0, 3, 0), length=0.5)
    for n, length in enumerate(lengths):
        model.constraint(f"rope{n}", "distance", body="seat", to_at=(1, 0, 0), length=length)
    return model.compile()


def test_constraints_that_contradict_each_other_are_named():
    lines = reported(tied(0.2, 0.5))
    assert "the constraints of 'tied' contradict each other" in lines
    assert "'rope0' by 0.15 m" in lines
    assert "'rope1' by 0.15 m" in lines
    assert "string" not in lines


def test_a_rope_twice_is_redundant():
    found = wt.mobility(tied(0.2, 0.2))
    assert (found.rank, found.mobility, found.redundant) == (2, 10, (("rope1", "distance"),))
    assert found.groups == (("rope0", "rope1"),)
    assert found.keys == (0, 0.0)  # bodies of two branches: neither is the base of the other
    assert found.operations["reduction"] < found.operations["multipliers"]


def test_prescribed_motions_are_no_dofs():
    model = n_four_bar_model(1)
    model.force("drive", "motion", joint="foot0", position=wt.Ramp(1.0, value=0.3))
    system = model.compile()
    found = wt.mobility(system)
    assert (found.rank, found.mobility) == (2, 0)
    assert "3 velocities less 1 given and rank 2" in reported(system)
    assert found.q[system.q_index("foot0")] == pytest.approx(0.3)


def test_a_tree_is_free():
    system = wt.Model("tree")
    system.body("a", mass=1.0, inertia=(1, 1, 1))
    system.joint("f", "free", "ground", "a")
    found = wt.mobility(system.compile())
    assert (found.rank, found.mobility, found.loops) == (0, 6, ())
    assert describe(system.compile()) == (["loops      none"], [])


def test_what_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 9)
    with pytest.raises(wt.ModelError, match="'truss' is too large for its mobility") as caught:
        wt.mobility(truss(1.2))
    assert "5 rows and 2 degrees of freedom" in str(caught.value)
    monkeypatch.undo()
    monkeypatch.setattr(module, "MOST_OPEN", 4)
    with pytest.raises(wt.ModelError, match="'truss' is not closed at this pose") as caught:
        wt.mobility(truss(1.2))
    assert "5 rows, open by 0.8 m or rad" in str(caught.value)


# ---------------------------------------------------------------- words


def test_rows_are_named_in_the_axes_of_the_model():
    """Hinges about y: what is redundant is turns about x and z, and the shift along y."""
    assert {what for _, what in wt.mobility(truss(1.2)).redundant} == {
        "rotation about x",
        "rotation about z",
        "displacement along y",
    }
    assert "redundant  3 of 5 rows: rotation about x and z, displacement along y of 'right'" in reported(truss(1.2))


def test_a_slanted_axis_is_written_out():
    model = wt.Model("slanted")
    axis = (0.6, 0.0, 0.8)
    for name, near in (("a", "ground"), ("b", "a")):
        model.body(name, mass=1.0, inertia=(1, 1, 1))
        model.joint(name, "revolute", near, name, axis=axis)
    model.joint("back", "revolute", "b", "ground", axis=axis)
    found = wt.mobility(model.compile())
    assert found.rank == 0
    assert ("back", "displacement along (0.6, 0, 0.8)") in found.redundant


def test_many_loops_are_reported_in_a_few_lines():
    loops, left = describe(n_four_bar(40)[0])
    assert len(loops) + len(left) < 20
    equal = "rotation about x and y, displacement along z of 'foot1', 'foot2', 'foot3', 'foot4' and 36 more"
    assert f"redundant  120 of 200 rows: {equal}" in left
    assert left[0] == "mobility   1 at q = 0: 81 velocities less rank 80; a count of rows would say -119"
    assert any(line.endswith("'foot8' and 32 more share joints; 40 run over 'foot0'") for line in left)
    assert any("independent: foot0" in line for line in left)
    assert "keys       none: all loops are based on ground" in left


def test_programs_read_the_same():
    system = MECHANISMS["leg"]()[0]
    read = as_dict(system)
    assert read["loops"]["knee"]["base"] == "thigh_motor"
    assert (read["mobility"], read["rank"], read["keys"]) == (4, 5, {"most": 1, "mean": 0.5})
    assert read["operations"].keys() == {"reduction", "multipliers", "nullspace"}
    assert "keys       at most 1 of a body, 0.5 on average: bases of loops that pass over it" in reported(system)


def test_dependents_are_those_of_reduction():
    system, q, _ = MECHANISMS["five_bar_A"]()
    planned = reduction.Planned(system, 1)
    planned.choose(q, np.zeros(1))
    assert {system.joints[j] for j in planned.plan.dependents["q5"]} == set(wt.mobility(system, q).dependent)
