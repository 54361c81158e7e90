"""Compiling: the spanning tree, welds, loops, numbering, and the packed layout."""

import copy
import inspect
import pickle
import time
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.compiler.lanes import entry
from whippletree.kernels.unpack import unpack
from whippletree.layout.system import Arrays, lengths
from whippletree.model import Visual
from whippletree.system.joint_frames import in_plane_axes

MODELS = Path(__file__).parents[2] / "models"
BODY = {"mass": 1.0, "inertia": (0.1, 0.1, 0.1)}


def linkage(*joints):
    """A model from (name, kind, parent, child) rows; bodies are made as they are named."""
    model = wt.Model("linkage")
    for name, kind, parent, child in joints:
        for body in (parent, child):
            if body != "ground" and body not in model.bodies:
                model.body(body, **BODY)
        model.joint(name, kind, parent, child, at=(0.1, 0.2, 0.3))
    return model


@entry
def sums_of_arrays(packed, out):
    m, end = unpack(packed)
    out[23] = end - packed.shape[0]
    out[0], out[1], out[2], out[3] = m.nb, m.nu, m.nq, m.nc
    out[4], out[5], out[6], out[7] = m.parent.sum(), m.kind.sum(), m.position.sum(), m.dof.sum()
    out[8], out[9], out[10] = m.component.sum(), m.up.sum(), m.first.sum()
    out[11], out[12], out[13], out[14] = m.Rt.sum(), m.pt.sum(), m.base.sum(), m.mass.sum()
    out[15], out[16], out[17], out[18] = m.com.sum(), m.inertia.sum(), m.parameter.sum(), m.sign.sum()
    out[19], out[20], out[21] = m.armature.sum(), m.resist.sum(), m.gravity.sum()
    out[22] = m.numbers.sum()


def test_kernels_unpack_what_was_packed():
    model = linkage(("a", "revolute", "ground", "A"), ("b", "free", "ground", "B"), ("c", "planar", "B", "C"))
    model.joint("d", "screw", "C", model.body("D", **BODY), pitch=0.2, armature=0.7)
    model.joint("e", "curve", "ground", model.body("E", **BODY), points=[(0, 0, 0), (1, 0, 0.5), (2, 1, 0)])
    system = model.compile()
    out = np.ones(24)
    sums_of_arrays(system.packed, out)
    np.testing.assert_array_equal(out[:4], [system.nb, system.nu, system.nq, system.nc])
    assert out[23] == 0
    for got, name in zip(out[4:23], Arrays._fields[4:-1], strict=True):
        np.testing.assert_allclose(got, system.arrays[name].sum(), atol=1e-14, err_msg=name)
    assert set(lengths(1, 1, 1)) == set(Arrays._fields[4:-1])  # the last are the counts


def test_bodies_are_numbered_outward_and_depth_first():
    system = linkage(
        ("j1", "revolute", "ground", "A"),
        ("j2", "revolute", "A", "B"),
        ("j3", "revolute", "A", "C"),
        ("j4", "revolute", "B", "D"),
    ).compile()
    assert system.joints == ("j1", "j2", "j4", "j3")
    assert system.arrays["parent"].tolist() == [0, 0, 1, 2, 1]
    assert system.arrays["up"].tolist() == [-1, 0, 1, 0]
    assert system.arrays["first"].tolist() == [0, 1, 0, 1, 1]  # D before... going inward j3's body is met first


def test_joints_may_be_written_in_any_order_and_direction():
    system = linkage(("last", "revolute", "B", "A"), ("root", "revolute", "A", "ground")).compile()
    assert system.joints == ("root", "last")
    assert system.arrays["sign"].tolist() == [1.0, -1.0, -1.0]


def test_a_left_over_joint_joins_a_body_to_its_ancestor():
    system = linkage(
        ("a", "revolute", "ground", "A"),
        ("b", "revolute", "A", "B"),
        ("c", "revolute", "B", "C"),
        ("d", "revolute", "C", "ground"),
        ("e", "revolute", "A", "D"),
        ("f", "revolute", "D", "C"),
    ).compile()
    assert set(system.features) == {"trees", "loops"}
    parent = system.arrays["parent"]
    for joint in system.topology.cuts:
        base, path = system.topology.loop(joint)
        ends = set(system.topology.ends(joint))
        assert base in ends
        assert parent[path[0]] == base
        assert (path[-1] in ends) or base == path[-1]
    assert len(system.cut_joints) == 2
    assert "closes the loop" in system.explain()


def test_two_joints_between_the_same_bodies_make_a_loop():
    system = linkage(("a", "revolute", "ground", "A"), ("b", "prismatic", "A", "ground")).compile()
    assert system.cut_joints == ("b",)


def test_welded_bodies_ride_on_one_system_body():
    model = linkage(("a", "revolute", "ground", "A"), ("w", "fixed", "A", "B"), ("v", "fixed", "C", "B"))
    system = model.compile()
    assert (system.nb, system.nu) == (2, 1)
    assert system.q_index("w") == slice(0, 0)
    k = wt.kinematics(system, [0.4])
    np.testing.assert_allclose(k.position("B"), k.position("A") + k.rotation("A") @ [0.1, 0.2, 0.3], atol=1e-15)
    np.testing.assert_allclose(k.position("B"), k.position("C") + k.rotation("C") @ [0.1, 0.2, 0.3], atol=1e-15)
    assert system.arrays["mass"].tolist() == [0.0, 3.0]


def test_bodies_welded_to_ground_do_not_move():
    system = linkage(("w", "fixed", "ground", "A"), ("a", "revolute", "A", "B")).compile()
    assert system.nb == 2
    np.testing.assert_allclose(wt.kinematics(system, [1.0]).position("A"), [0.1, 0.2, 0.3])


def test_a_fixed_joint_too_many_is_a_cut():
    system = linkage(("a", "revolute", "ground", "A"), ("w", "fixed", "A", "B"), ("v", "fixed", "B", "A")).compile()
    assert system.cut_joints == ("v",)


def test_a_system_of_welds_only_has_no_dofs():
    system = linkage(("w", "fixed", "ground", "A")).compile()
    assert (system.nu, system.nq) == (0, 0)
    assert wt.forward_dynamics(system, [], []).shape == (0,)
    assert wt.mass_matrix(system, []).shape == (0, 0)


@pytest.mark.parametrize("axis", [(1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0), (-1.0, 0, 0), (0, -1.0, 0), (0, 0, -1.0)])
def test_planes_of_principal_axes_are_cyclic(axis):
    frame = in_plane_axes(tuple(float(a) for a in axis))
    np.testing.assert_array_equal(frame[:, 2], axis)
    assert np.linalg.det(frame) == 1.0
    k = int(np.argmax(np.abs(axis)))
    np.testing.assert_array_equal(frame[:, 0], np.eye(3)[(k + 1) % 3])


def test_planes_of_any_axis_are_rotations():
    rng = np.random.default_rng(0)
    for axis in [*rng.normal(size=(50, 3)), [1e-9, 0, -1], [0, 1e-12, -1]]:
        axis = np.array(axis) / np.linalg.norm(axis)
        frame = in_plane_axes(tuple(axis.tolist()))
        np.testing.assert_allclose(frame.T @ frame, np.eye(3), atol=1e-15)
        np.testing.assert_allclose(frame[:, 2], axis, atol=1e-15)
        np.testing.assert_allclose(np.linalg.det(frame), 1.0, atol=1e-14)


def test_a_system_cannot_be_changed_and_can_be_pickled():
    system = linkage(("a", "spherical", "ground", "A"), ("b", "free", "A", "B")).compile()
    with pytest.raises(ValueError, match="read-only"):
        system.arrays["mass"][1] = 5.0
    q = np.array(system.q0)
    before = wt.forward_dynamics(system, q, np.ones(9), np.zeros(9))
    copy = pickle.loads(pickle.dumps(system))
    np.testing.assert_array_equal(wt.forward_dynamics(copy, q, np.ones(9), np.zeros(9)), before)


def test_neutral_coordinates_are_identity_quaternions():
    system = linkage(("a", "spherical", "ground", "A"), ("b", "free", "A", "B"), ("c", "planar", "B", "C")).compile()
    assert system.q0.tolist() == [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]
    assert system.q_index("b") == slice(4, 11)
    assert system.u_index("b") == slice(3, 9)


def test_a_chain_of_many_bodies_compiles_without_recursion():
    model = wt.Model("long")
    previous = model.ground
    for i in range(3000):
        body = model.body(f"b{i}", **BODY)
        model.joint(f"j{i}", "revolute", previous, body, axis="y", at=(1, 0, 0))
        previous = body
    system = model.compile()
    assert system.nb == 3001
    bytes_per_body = (system.packed.nbytes + wt.ALGORITHMS["articulated"].workspace(system).nbytes) / 3000
    assert bytes_per_body < 2000


# ---------------------------------------------------------------- a Model and its System


GIVEN = {"q": [0.1], "u": [0.1], "udot": [0.1], "until": 0.1, "rhs": [1.0], "body": "rod", "tau": [[0.0]], "step": 0.01,
         "steps": 1, "t": 0.1, "times": [0.1]}  # fmt: skip


def taking_a_system():
    functions = ((name, getattr(wt, name)) for name in wt.__all__)
    for name, function in functions:
        if inspect.isfunction(function) and next(iter(inspect.signature(function).parameters), "") == "system":
            yield pytest.param(function, id=name)


@pytest.mark.parametrize("function", [*taking_a_system()])
def test_a_model_in_the_place_of_a_system_is_refused_by_name(function):
    needed = [p for p in list(inspect.signature(function).parameters.values())[1:] if p.default is p.empty]
    given = {p.name: GIVEN.get(p.name, 0.1) for p in needed if p.kind is not p.VAR_KEYWORD}
    with pytest.raises(wt.ModelError, match=r"got: Model 'pendulum'\n  hint: compile it first: model\.compile\(\)"):
        function(wt.load(MODELS / "pendulum.toml"), **given)


def test_a_misspelt_name_of_a_model_is_an_attribute_error():
    m = wt.Model("m")
    assert not hasattr(m, "boddy")
    with pytest.raises(AttributeError, match="has no 'boddy'"):
        m.boddy("a")
    assert pickle.loads(pickle.dumps(m)) == copy.deepcopy(m) == m


def test_what_is_changed_after_compile_does_not_reach_the_system(tmp_path):
    m = wt.load(MODELS / "pendulum.toml")
    m.body("box", mass=1.0, inertia=(1, 1, 1), visuals=[Visual("box", (1.0, 1.0, 1.0))])
    limits = wt.Limits(lower=-9.0, upper=9.0)
    m.joint("slide", "prismatic", m.ground, "box", axis="x", limits=limits)
    m.force("push", "wrench", body="box", force=(1, 0, 0))
    system, before = m.compile(), copy.deepcopy(m)
    run = wt.simulate(system, 0.1)
    m.force("late", "motor", joint="hinge", torque=1.0)
    m.body("later", mass=1.0, inertia=(1, 1, 1))
    m.joint("more", "revolute", "rod", "later")
    m.frame("place", "rod")
    m.bodies["rod"].mass, m.bodies["box"].visuals[0].shape, limits.upper = 5.0, "sphere", 1.0
    m.forces["push"].force, m.gravity, m.name = (9.0, 0.0, 0.0), (0.0, 0.0, 0.0), "other"
    assert system.model == before
    run.save(tmp_path / "run.nc")
    again = wt.load_result(tmp_path / "run.nc")
    assert again.names() == run.names()
    assert np.array_equal(again.q, run.q)
    assert "late.force" not in again.names()
    assert m.compile().nu == system.nu + 1


def test_a_model_is_copied_in_little_time():
    m = wt.Model("chain")
    for n in range(10_000):
        m.body(f"b{n}", mass=1.0, inertia=(1, 1, 1))
        m.joint(f"j{n}", "revolute", f"b{n - 1}" if n else "ground", f"b{n}", at=(1, 0, 0))
    begun = time.process_time()
    m._copy()
    assert time.process_time() - begun < 1.0


def test_adding_bodies_takes_linear_time():
    """Ten times as many take about ten times as long; a look at all names for each would take a hundred."""

    def seconds(count):
        m, begun = wt.Model("many"), time.process_time()
        for n in range(count):
            m.body(f"b{n}", mass=1.0, inertia=(1, 1, 1))
            m.frame(f"f{n}", f"b{n}")
        return time.process_time() - begun

    seconds(100)
    few = min(seconds(1000) for _ in range(3))
    assert seconds(20_000) < 60 * few
