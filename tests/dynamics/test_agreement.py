"""Every algorithm and every public quantity equals the reference, for one state and for a batch.

Tolerance 1e-10 relative; where a linear system is solved the condition of the mass matrix may ask for more.
"""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whippletree as wt
from bridge import case_of, error, make_case, solve_tolerance
from reference import Reference
from zoo import LOOPS, ZOO, models

TOL = 1e-10
SEARCH = settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

PAIRS = [(name, algorithm) for name in ZOO for algorithm, module in wt.ALGORITHMS.items() if "trees" in module.SUPPORTS]


@pytest.fixture(params=ZOO)
def case(request):
    return case_of(request.param)


def expected_udot(case, bias):
    return np.linalg.solve(case.M, (case.tau - bias)[..., None])[..., 0]


@pytest.mark.parametrize(("name", "algorithm"), PAIRS)
def test_forward_dynamics_equals_reference(name, algorithm):
    case = case_of(name)
    expected = expected_udot(case, case.bias)
    batch = wt.forward_dynamics(case.system, case.q, case.u, case.tau, algorithm=algorithm)
    one = wt.forward_dynamics(case.system, case.q[0], case.u[0], case.tau[0], algorithm=algorithm)
    assert error(batch, expected) < case.tolerance
    assert error(one, expected[0]) < case.tolerance
    assert error(one, batch[0]) < case.tolerance


@pytest.mark.parametrize(("name", "algorithm"), PAIRS)
def test_forward_dynamics_with_wrenches_equals_reference(name, algorithm):
    case = case_of(name)
    expected = expected_udot(case, case.bias_with_wrenches)
    batch = wt.forward_dynamics(case.system, case.q, case.u, case.tau, wrenches=case.wrenches, algorithm=algorithm)
    first = {body: w[0] for body, w in case.wrenches.items()}
    one = wt.forward_dynamics(case.system, case.q[0], case.u[0], case.tau[0], wrenches=first, algorithm=algorithm)
    assert error(batch, expected) < case.tolerance
    assert error(one, expected[0]) < case.tolerance


@pytest.mark.parametrize("name", ZOO)
def test_algorithms_equal_each_other(name):
    case = case_of(name)
    answers = [
        wt.forward_dynamics(case.system, case.q, case.u, case.tau, algorithm=algorithm)
        for algorithm in ("auto", *(a for n, a in PAIRS if n == name))
    ]
    for answer in answers[1:]:
        assert error(answer, answers[0]) < case.tolerance


def test_forces_left_out_are_zero(case):
    zero = wt.forward_dynamics(case.system, case.q, case.u, np.zeros_like(case.tau))
    assert np.array_equal(wt.forward_dynamics(case.system, case.q, case.u), zero)


def test_threads_change_nothing(case):
    one = wt.forward_dynamics(case.system, case.q, case.u, case.tau, threads=1)
    assert np.array_equal(wt.forward_dynamics(case.system, case.q, case.u, case.tau, threads=2), one)


def test_inverse_dynamics_equals_reference(case):
    expected = (case.M @ case.udot[..., None])[..., 0] + case.bias
    assert error(wt.inverse_dynamics(case.system, case.q, case.u, case.udot), expected) < TOL
    assert error(wt.inverse_dynamics(case.system, case.q[0], case.u[0], case.udot[0]), expected[0]) < TOL


def test_inverse_dynamics_with_wrenches_equals_reference(case):
    expected = (case.M @ case.udot[..., None])[..., 0] + case.bias_with_wrenches
    got = wt.inverse_dynamics(case.system, case.q, case.u, case.udot, wrenches=case.wrenches)
    first = {body: w[0] for body, w in case.wrenches.items()}
    one = wt.inverse_dynamics(case.system, case.q[0], case.u[0], case.udot[0], wrenches=first)
    assert error(got, expected) < TOL
    assert error(one, expected[0]) < TOL


def test_bias_force_equals_reference(case):
    assert error(wt.bias_force(case.system, case.q, case.u), case.bias) < TOL
    assert error(wt.bias_force(case.system, case.q[0], case.u[0]), case.bias[0]) < TOL


def test_mass_matrix_equals_reference(case):
    assert error(wt.mass_matrix(case.system, case.q), case.M) < TOL
    assert error(wt.mass_matrix(case.system, case.q[0]), case.M[0]) < TOL


def test_mass_matrix_inverse_equals_reference(case):
    expected = np.linalg.inv(case.M)
    assert error(wt.mass_matrix_inverse(case.system, case.q), expected) < case.tolerance
    assert error(wt.mass_matrix_inverse(case.system, case.q[0]), expected[0]) < case.tolerance


def test_solve_mass_equals_reference(case):
    rng = np.random.default_rng(2)
    count, n = case.u.shape
    for k in (1, 4):
        rhs = rng.normal(size=(count, n, k))
        expected = np.linalg.solve(case.M, rhs)
        assert error(wt.solve_mass(case.system, case.q, rhs), expected) < case.tolerance
        assert error(wt.solve_mass(case.system, case.q[0], rhs[0]), expected[0]) < case.tolerance
    flat = wt.solve_mass(case.system, case.q, rhs[..., 0])
    assert error(flat, expected[..., 0]) < case.tolerance
    assert error(wt.solve_mass(case.system, case.q[0], rhs[0, :, 0]), expected[0, :, 0]) < case.tolerance


def related(case):
    """(nu, nu): True where two DOF move a body in common, that is, lie on one path from ground."""
    q = {n: case.q[0][case.system.q_index(n)] for n in case.system.joints}
    moves = np.array([np.any(np.vstack([k.Jw, k.Jv]), axis=0) for k in case.reference.motion(q).values()])
    return (moves.T.astype(int) @ moves.astype(int) > 0)[np.ix_(case.columns, case.columns)]


def test_mass_factors_multiply_to_the_mass_matrix(case):
    L, D = wt.mass_factors(case.system, case.q)
    one = wt.mass_factors(case.system, case.q[0])
    assert (D > 0).all()
    assert error((L * D[:, None, :]) @ L.transpose(0, 2, 1), case.M) < TOL
    assert error((one[0] * one[1]) @ one[0].T, case.M[0]) < TOL


def test_mass_factors_are_unit_triangular_along_the_tree(case):
    L, _ = wt.mass_factors(case.system, case.q)
    n = case.system.nu
    assert np.array_equal(np.diagonal(L, axis1=1, axis2=2), np.ones((len(L), n)))
    assert not np.triu(L, 1).any() or not np.tril(L, -1).any()
    assert not L[:, ~related(case)].any()


def test_scratch_of_one_call_leaves_no_trace_in_the_next(case):
    """As many numbers in and out as the factors have: calls that may be given the same memory."""
    before = wt.mass_factors(case.system, case.q)
    wt.solve_mass(case.system, case.q, np.ones((*case.u.shape, case.system.nu + 1)))
    after = wt.mass_factors(case.system, case.q)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


def test_kinematics_equal_reference(case):
    system = case.system
    motions = [
        case.reference.motion(
            {n: q[system.q_index(n)] for n in system.joints}, {n: u[system.u_index(n)] for n in system.joints}
        )
        for q, u in zip(case.q, case.u, strict=True)
    ]
    batch, one = wt.kinematics(system, case.q, case.u), wt.kinematics(system, case.q[0], case.u[0])
    for name in ("ground", *system.model.bodies):
        r, R = np.array([m[name].r for m in motions]), np.array([m[name].R for m in motions])
        v = np.array([np.concatenate([m[name].w, m[name].v]) for m in motions])
        assert error(batch.position(name), r) < TOL
        assert error(batch.rotation(name), R) < TOL
        assert error(batch.velocity(name), v) < TOL
        assert error(one.position(name), r[0]) < TOL
        assert error(one.rotation(name), R[0]) < TOL
        assert error(one.velocity(name), v[0]) < TOL


@pytest.mark.parametrize("name", [n for n in ZOO if ZOO[n]().frames])
def test_frames_ride_on_their_bodies(name):
    from reference import matrix

    case = case_of(name)
    k = wt.kinematics(case.system, case.q, case.u)
    for frame in case.system.model.frames.values():
        offset = k.rotation(frame.body) @ np.array(frame.at.position)
        v = k.velocity(frame.body)
        moved = np.concatenate([v[:, :3], v[:, 3:] + np.cross(v[:, :3], offset)], axis=1)
        assert error(k.position(frame.name), k.position(frame.body) + offset) < TOL
        assert error(k.rotation(frame.name), k.rotation(frame.body) @ matrix(frame.at.quaternion)) < TOL
        assert error(k.velocity(frame.name), moved) < TOL


def test_jacobian_equals_reference(case):
    point = (0.3, -0.2, 0.1)
    for name in case.system.model.bodies:
        for p in ((0.0, 0.0, 0.0), point):
            expected = case.rows(lambda q, u, k, name=name, p=p: case.reference.jacobian(q, name, p)[:, case.columns])
            assert error(wt.jacobian(case.system, case.q, name, p), expected) < TOL
            assert error(wt.jacobian(case.system, case.q[0], name, p), expected[0]) < TOL


def grounded(model):
    """Names of the bodies that fixed joints hold to ground."""
    held, before = {"ground"}, 0
    while len(held) > before:
        before = len(held)
        ends = [{j.parent, j.child} for j in model.joints.values() if j.kind == "fixed"]
        held |= set().union(*(pair for pair in ends if pair & held))
    return held


def test_energy_equals_reference(case):
    kinetic = case.rows(lambda q, u, k: case.reference.kinetic(q, u))
    got, one = wt.energy(case.system, case.q, case.u), wt.energy(case.system, case.q[0], case.u[0])
    # what is welded to ground is ground, and its potential no part of the sum
    held = grounded(case.system.model)
    potential = case.rows(lambda q, u, k: case.reference.potential(q, without=held))
    assert error(got.kinetic, kinetic) < TOL
    assert error(got.potential, potential) < TOL
    assert error(got.total, kinetic + potential) < TOL
    assert error(one.kinetic, kinetic[0]) < TOL
    assert error(one.potential, potential[0]) < TOL


def test_momentum_equals_reference(case):
    expected = case.rows(lambda q, u, k: case.reference.momentum(q, u))
    for part in (slice(0, 3), slice(3, 6)):
        assert error(wt.momentum(case.system, case.q, case.u)[:, part], expected[:, part]) < TOL
        assert error(wt.momentum(case.system, case.q[0], case.u[0])[part], expected[0, part]) < TOL


@SEARCH
@given(models(), st.integers(0, 2**32 - 1))
def test_random_trees_equal_reference(model, seed):
    case = make_case(model, seed, count=3)
    system, q, u = case.system, case.q, case.u
    assert error(wt.mass_matrix(system, q), case.M) < TOL
    assert error(wt.bias_force(system, q, u), case.bias) < TOL
    torque = (case.M @ case.udot[..., None])[..., 0] + case.bias_with_wrenches
    assert error(wt.inverse_dynamics(system, q, u, case.udot, wrenches=case.wrenches), torque) < TOL
    # rows may differ in size by cond(M): judge each by its own
    for k in range(len(q)):
        expected = np.linalg.solve(case.M[k], case.tau[k] - case.bias[k])
        for algorithm, module in wt.ALGORITHMS.items():
            if system.features <= module.SUPPORTS:
                got = wt.forward_dynamics(system, q, u, case.tau, algorithm=algorithm)[k]
                assert error(got, expected) < solve_tolerance(case.M[k])


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("algorithm", [a for a, module in wt.ALGORITHMS.items() if "loops" not in module.SUPPORTS])
def test_loops_are_refused_by_algorithms_for_trees(name, algorithm):
    system = LOOPS[name]().compile()
    with pytest.raises(wt.ModelError, match=algorithm):
        wt.forward_dynamics(system, system.q0, np.zeros(system.nu), algorithm=algorithm)


@pytest.mark.parametrize("name", LOOPS)
def test_loops_compile_to_a_spanning_tree_and_cut_joints(name):
    model = LOOPS[name]()
    system = model.compile()
    assert "loops" in system.features
    moving = [j.name for j in model.joints.values() if j.kind != "fixed"]
    assert sorted([*system.joints, *system.cut_joints]) == sorted(moving)
    assert len(system.cut_joints) == len(model.joints) - len(model.bodies)
    kept = LOOPS[name]()
    for joint in system.cut_joints:
        del kept.joints[joint]
    assert Reference(kept).nu == system.nu  # the walk reaches every body once


def test_public_functions_stay_what_they_are_in_any_order_of_use():
    """A package of the same name must not take a public name's place once it is imported."""
    lines = [
        "import whippletree as wt",
        "wt.simulate, wt.forward_dynamics, wt.load, wt.Result",
        "assert callable(wt.advance)",
    ]
    run = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
