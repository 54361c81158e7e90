"""Which joints of loops are cut: as they are written, unless others cost much less."""

import numpy as np
import pytest

import loop_zoo as zoo
import whippletree as wt
from whippletree import files
from whippletree.dynamics.loads.applied import signals
from whippletree.dynamics.reduction import passes as reduction
from whippletree.system.topology import find_topology
from whippletree_lab.reproduce import loop_problems

MADE = {
    "five_bar": loop_problems.five_bar_model,
    "andrews": loop_problems.andrews_model,
    "bricard": loop_problems.bricard_model,
    "ladder": lambda: loop_problems.n_four_bar_model(40),
    "stewart": zoo.stewart_model,
    "leg": zoo.leg_model,
}
BAD = (5, 3)  # size and seed of a lattice that is written badly


def lattice(n, seed=None, tree="chosen"):
    """n x n plates, each hinged to its neighbours, one corner on ground; joints row by row, or shuffled."""
    model = wt.Model(f"lattice of {n} x {n}", tree=tree)
    joints = [("corner", "ground", "p0_0", (0, 0, 0))]
    for r in range(n):
        for c in range(n):
            joints += [(f"across{r}_{c}", f"p{r}_{c - 1}", f"p{r}_{c}", (0.5, 0, 0))] if c else []
            joints += [(f"up{r}_{c}", f"p{r - 1}_{c}", f"p{r}_{c}", (0, 0.5, 0))] if r else []
            model.body(f"p{r}_{c}", mass=1.0, inertia=(0.1, 0.1, 0.1))
    for k in np.random.default_rng(seed).permutation(len(joints)) if seed is not None else range(len(joints)):
        name, parent, child, at = joints[k]
        back = {} if parent == "ground" else {"child_at": tuple(-x for x in at)}
        model.joint(name, "revolute", parent, child, at=at, **back)
    return model


def planned(system):
    plan = reduction.Planned(system, 1)
    plan.choose(np.array(system.q0), signals(system, 0.0))
    return plan.plan


def work(system):
    return sum((1 + len(keys)) ** 2 for keys in planned(system).keys[1:])


@pytest.mark.parametrize("name", MADE)
def test_the_written_order_stays_where_it_is_good(name):
    model = MADE[name]()
    chosen = find_topology(model).cuts
    model.tree = "as written"
    assert find_topology(model).cuts == chosen


@pytest.mark.parametrize(("n", "seed"), [BAD, (4, 0), (6, 3)])
def test_a_badly_written_lattice_is_cut_elsewhere(n, seed):
    """The work that the topology estimates is that of the plan's keys."""
    written, chosen = (lattice(n, seed, tree).compile() for tree in ("as written", "chosen"))
    assert work(chosen) <= work(written)
    if set(chosen.cut_joints) != set(written.cut_joints):
        assert 1.5 * work(chosen) < work(written)
    assert len(chosen.cut_joints) == len(written.cut_joints)


def test_one_of_these_lattices_is_cut_elsewhere():
    chosen, written = (find_topology(lattice(*BAD, tree)).cuts for tree in ("chosen", "as written"))
    assert {j.name for j in chosen} != {j.name for j in written}


def test_the_estimate_is_that_of_the_plan():
    from whippletree.system import topology

    for seed in range(3):
        model = lattice(4, seed)
        found = find_topology(model)
        ends = [tuple(sorted(found.ends(j))) for j in found.cuts]
        assert topology.Span({}, found.edges, found.cuts, ends).work() == work(model.compile())


def test_motion_does_not_depend_on_the_tree():
    """A lattice of parallelograms turns as one body about its corner: any tree must give the same accelerations."""
    answers = []
    for tree in ("as written", "chosen"):
        system = lattice(*BAD, tree).compile()
        udot = wt.forward_dynamics(system, system.q0, np.zeros(system.nu), algorithm="multipliers")
        answers.append({name: udot[system.u_index(name)][0] for name in system.joints})
    both = answers[0].keys() & answers[1].keys()
    assert len(both) > 8
    scale = max(map(abs, answers[0].values()))
    assert all(abs(answers[0][j] - answers[1][j]) < 1e-9 * scale + 1e-12 for j in both)


def test_joints_that_others_name_are_not_cut():
    """Every joint that the chosen tree cuts is named by a motor: then the written tree stays."""
    free, held = lattice(*BAD), lattice(*BAD)
    written = {j.name for j in find_topology(lattice(*BAD, "as written")).cuts}
    for k, joint in enumerate(sorted({j.name for j in find_topology(free).cuts} - written)):
        held.force(f"motor{k}", "motor", joint=joint, torque=1.0)
    assert not {f.joint for f in held.forces.values()} & {j.name for j in find_topology(held).cuts}


def test_the_choice_is_the_same_every_time():
    first = [j.name for j in find_topology(lattice(6, 3)).cuts]
    assert all([j.name for j in find_topology(lattice(6, 3)).cuts] == first for _ in range(3))


def test_files_keep_the_wish(tmp_path):
    model = lattice(2, tree="as written")
    files.save(model, tmp_path / "lattice.toml")
    assert 'tree = "as written"' in (tmp_path / "lattice.toml").read_text("utf-8")
    assert files.load(tmp_path / "lattice.toml") == model
    files.save(lattice(2), tmp_path / "lattice.toml")
    assert "tree =" not in (tmp_path / "lattice.toml").read_text("utf-8")


def test_an_unknown_wish_is_refused(tmp_path):
    with pytest.raises(wt.ModelError, match="tree 'written' is not known"):
        wt.Model("x", tree="written")
    path = tmp_path / "x.toml"
    path.write_text('name = "x"\ngravity = [0, 0, -9.81]\ntree = "deepest"\n', "utf-8")
    with pytest.raises(wt.ModelError, match="tree 'deepest' is not known") as caught:
        files.load(path)
    assert caught.value.where.endswith("x.toml:3")
