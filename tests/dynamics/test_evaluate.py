"""How arrays go in and come out: shapes, types, batches, threads, and what is said when they do not fit."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import whippletree as wt
from whippletree.dynamics import dispatch as evaluate
from whippletree.dynamics import functions


@pytest.fixture(scope="module")
def arm():
    model = wt.Model("arm")
    upper = model.body("upper", **wt.rod(mass=1.0, length=1.0, radius=0.05))
    lower = model.body("lower", **wt.rod(mass=0.5, length=0.7, radius=0.05))
    model.joint("shoulder", "spherical", model.ground, upper)
    model.joint("elbow", "revolute", upper, lower, axis="y", at=(1, 0, 0))
    return model.compile()


@pytest.fixture(scope="module")
def state(arm):
    rng = np.random.default_rng(1)
    q = np.array(arm.q0)
    q[-1] = 0.5
    return q, rng.normal(size=arm.nu), rng.normal(size=arm.nu)


def test_lists_integers_and_strided_arrays_are_taken(arm, state):
    q, u, tau = state
    expected = wt.forward_dynamics(arm, q, u, tau)
    np.testing.assert_array_equal(wt.forward_dynamics(arm, list(q), list(u), list(tau)), expected)
    strided = np.zeros((arm.nu, 2))
    strided[:, 0] = u
    np.testing.assert_array_equal(wt.forward_dynamics(arm, q, strided[:, 0], tau), expected)
    frozen = q.copy()
    frozen.setflags(write=False)
    np.testing.assert_array_equal(wt.forward_dynamics(arm, frozen, u, tau), expected)
    np.testing.assert_allclose(wt.forward_dynamics(arm, q.astype(np.float32), u, tau), expected, rtol=1e-6)
    zeros = np.zeros(arm.nu, int)
    np.testing.assert_array_equal(
        wt.forward_dynamics(arm, q, zeros), wt.forward_dynamics(arm, q, zeros.astype(float), zeros.astype(float))
    )


def test_what_kernels_do_not_take_as_it_is_still_goes_the_short_way(arm, state, monkeypatch):
    """A read-only array such as ``system.q0``, or a list, costs a copy, and not the checks of the long way."""
    q, u, tau = state
    frozen = q.copy()
    frozen.setflags(write=False)
    batch = np.tile(q, (3, 1))
    calls = (
        lambda q: wt.forward_dynamics(arm, q, u, tau),
        lambda q: wt.inverse_dynamics(arm, q, u, tau),
        lambda q: wt.mass_matrix(arm, q),
    )
    expected = [(call(q), call(batch)) for call in calls]
    went = []
    evaluate = functions.evaluate
    monkeypatch.setattr(functions, "evaluate", lambda *a, **k: went.append(a) or evaluate(*a, **k))
    for call, (one, many) in zip(calls, expected, strict=True):
        for given in (arm.q0, frozen, list(q), np.repeat(q, 2)[::2]):
            call(given)
        assert went == []
        np.testing.assert_array_equal(call(frozen), one)
        np.testing.assert_array_equal(call(batch), many)
        assert len(went) == 1
        went.clear()


def test_one_result_is_not_overwritten_by_the_next(arm, state):
    q, u, tau = state
    first = wt.forward_dynamics(arm, q, u, tau)
    kept = first.copy()
    wt.forward_dynamics(arm, q, 2 * u, tau)
    np.testing.assert_array_equal(first, kept)


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 0])
@pytest.mark.parametrize("count", [0, 1, 3, 2 * wt.LANES, 37])
def test_a_batch_gives_each_state_its_own_answer(arm, state, count, threads):
    q = state[0]
    rng = np.random.default_rng(count)
    U, T = rng.normal(size=(count, arm.nu)), rng.normal(size=(count, arm.nu))
    Q = np.tile(q, (count, 1))
    batch = wt.forward_dynamics(arm, Q, U, T, threads=threads)
    one = np.array([wt.forward_dynamics(arm, *row) for row in zip(Q, U, T, strict=True)]).reshape(count, arm.nu)
    np.testing.assert_allclose(batch, one, rtol=1e-12, atol=1e-12)
    assert wt.mass_matrix(arm, Q, threads=threads).shape == (count, arm.nu, arm.nu)
    np.testing.assert_array_equal(wt.forward_dynamics(arm, Q, U, T), batch)  # the same bits for any number of threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_threads_work_in_a_forked_process(arm, state):
    q, u, tau = state
    Q = np.tile(q, (40, 1))
    expected = wt.forward_dynamics(arm, Q, u, tau, threads=2)
    child = os.fork()
    if child == 0:
        same = np.array_equal(wt.forward_dynamics(arm, Q, u, tau, threads=2), expected)
        os._exit(0 if same else 1)
    for _ in range(200):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the forked process hangs")


def test_many_python_threads_may_call_at_once(arm, state):
    q, u, tau = state
    expected = [wt.forward_dynamics(arm, q, k * u, tau) for k in range(50)]
    with ThreadPoolExecutor(4) as pool:
        got = list(pool.map(lambda k: wt.forward_dynamics(arm, q, k * u, tau), range(50)))
    np.testing.assert_array_equal(got, expected)


class Slow:
    """An entry as Numba makes them, whose compiler takes its time and refuses once compiling is switched off."""

    def __init__(self):
        self.may_compile, self.made = False, []

    def disable_compile(self, off):
        self.may_compile = not off

    def compile(self, signature):
        for _ in range(20):
            assert self.may_compile, "another thread has switched it off"
            time.sleep(0.001)
        self.made.append(signature[1].ndim)


def test_threads_that_prepare_one_kernel_at_once_wait_for_each_other():
    entry = Slow()
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda ndim: evaluate.prepare(entry, 2, ndim), [1, 2, 1, 2, 1, 2]))
    assert set(entry.made) == {1, 2}
    assert not entry.may_compile
    made = len(entry.made)
    evaluate.prepare(entry, 2, 1)
    assert len(entry.made) == made


def test_one_state_is_spread_over_a_batch(arm, state):
    q, u, tau = state
    T = np.stack([tau, 2 * tau, 3 * tau])
    batch = wt.forward_dynamics(arm, q, u, T)
    np.testing.assert_allclose(batch[2], wt.forward_dynamics(arm, q, u, 3 * tau), rtol=1e-12)


def message(call):
    with pytest.raises(wt.WhippletreeError) as caught:
        call()
    return str(caught.value)


def test_a_wrong_length_names_what_the_vector_should_hold(arm, state):
    q, u, tau = state
    assert message(lambda: wt.forward_dynamics(arm, q[:3], u, tau)) == (
        "q has the wrong shape for 'arm'\n  expected: (5,) or (B, 5): shoulder 4, elbow 1\n  got: (3,)"
    )
    assert message(lambda: wt.forward_dynamics(arm, q, u, np.zeros(9))).startswith("tau has the wrong shape")
    assert message(lambda: wt.inverse_dynamics(arm, q, np.zeros((2, 2, 4)), u)).endswith("got: (2, 2, 4)")


def test_numbers_that_are_none_are_named(arm, state):
    q, u, tau = state
    bad = u.copy()
    bad[3] = np.nan
    assert message(lambda: wt.forward_dynamics(arm, q, bad, tau)) == (
        "u is not finite\n  expected: finite numbers\n  got: nan at u[3], joint 'elbow' (revolute) of body 'lower'\n"
        "  hint: nan and inf come from a division by zero, an overflow or a value never set: see what made it"
    )
    Q = np.tile(q, (3, 1))
    Q[2, 1] = np.inf
    assert "got: inf at q[2, 1], joint 'shoulder' (spherical) of body 'upper'" in message(
        lambda: wt.mass_matrix(arm, Q)
    )
    assert message(lambda: wt.forward_dynamics(arm, "q", u, tau)).startswith("q is not an array of numbers")


def test_a_quaternion_that_is_not_unit_is_named(arm, state):
    q, u, tau = state
    bad = q.copy()
    bad[:4] = [1.0, 1.0, 0.0, 0.0]
    expected = (
        "joint 'shoulder': the quaternion in q is not unit\n  expected: [w, x, y, z] of length 1\n"
        "  got: [1.0, 1.0, 0.0, 0.0] of length 1.41421356"
    )
    calls = (
        lambda q: wt.forward_dynamics(arm, q, u, tau),
        lambda q: wt.forward_dynamics(arm, q, u, tau, algorithm="composite"),
        lambda q: wt.inverse_dynamics(arm, q, u, tau),
        lambda q: wt.mass_matrix(arm, q),
        lambda q: wt.mass_matrix_inverse(arm, q),
        lambda q: wt.kinematics(arm, q),
    )
    for call in calls:
        call(q)
        assert message(lambda call=call: call(bad)) == expected
        assert "in state 2 of the batch" in message(lambda call=call: call(np.stack([q, q, bad])))
    assert message(lambda: wt.forward_dynamics(arm, np.zeros(5), u, tau)).endswith("of length 0")
    drifted = q.copy()
    drifted[:4] *= 1.0005  # as integrators leave them: taken as the rotation they mean
    np.testing.assert_allclose(
        wt.forward_dynamics(arm, drifted, u, tau), wt.forward_dynamics(arm, q, u, tau), rtol=1e-12
    )


def test_numbers_too_large_to_multiply_are_reported_to_be(arm, state):
    q, u, tau = state
    assert message(lambda: wt.forward_dynamics(arm, q, 1e200 * u, tau)).startswith("the motion of 'arm' is too large")


def test_batches_of_different_sizes_are_refused(arm, state):
    q, u, tau = state
    got = message(lambda: wt.forward_dynamics(arm, np.tile(q, (2, 1)), np.tile(u, (3, 1)), tau))
    assert got == (
        "batches differ in their number of states\n"
        "  expected: the same first length\n"
        "  got: q (2, 5), u (3, 4), tau (4,)"
    )


def test_unknown_names_get_the_nearest(arm, state):
    q, u, tau = state
    assert message(lambda: wt.forward_dynamics(arm, q, u, tau, algorithm="articulate")) == (
        "algorithm 'articulate' is not known\n  hint: did you mean 'articulated'?"
    )
    assert message(lambda: wt.kinematics(arm, q).position("uper")) == (
        "body or frame 'uper' is not known\n  hint: did you mean 'upper'?"
    )
    assert message(lambda: arm.q_index("elbo")) == "joint 'elbo' is not known\n  hint: did you mean 'elbow'?"
    assert message(lambda: wt.forward_dynamics(arm, q, u, tau, wrenches={"lowe": np.zeros(6)})).startswith(
        "body or frame 'lowe'"
    )


def test_wrenches_threads_and_points_are_checked(arm, state):
    q, u, tau = state
    assert message(lambda: wt.forward_dynamics(arm, q, u, tau, wrenches={"lower": np.zeros(3)})) == (
        "the wrench on 'lower' is invalid\n  expected: 6 finite numbers [torque; force]\n  got: array([0., 0., 0.])"
    )
    assert message(lambda: wt.forward_dynamics(arm, q, u, tau, wrenches=[1])).startswith("wrenches is not a mapping")
    assert message(lambda: wt.forward_dynamics(arm, np.tile(q, (2, 1)), u, tau, threads=-1)) == (
        "threads is not a count\n  expected: a whole number, 0 for all cores\n  got: -1"
    )
    assert message(lambda: wt.jacobian(arm, q, "lower", (1, 2))).startswith("point is not a point of the body")
    assert message(lambda: wt.solve_mass(arm, q, np.zeros(3))) == (
        "rhs has the wrong shape\n  expected: (4,) or (4, k)\n  got: (3,)"
    )
    assert message(lambda: wt.solve_mass(arm, q, np.full(4, np.nan))) == (
        "rhs is not finite\n  expected: finite numbers\n  got: nan"
    )


def test_a_dof_that_moves_no_mass_is_named():
    model = wt.Model("pencil")
    model.joint("spin", "revolute", model.ground, model.body("pencil", **wt.rod(mass=1.0, length=1.0)), axis="x")
    system = model.compile()
    assert message(lambda: wt.forward_dynamics(system, [0.0], [0.0], [1.0])) == (
        "the mass matrix of 'pencil' is singular\n"
        "  where: joint 'spin' (revolute) of body 'pencil'\n"
        "  hint: a DOF moves no mass: give the outermost bodies mass and inertia about that axis, or armature"
    )
    assert "in state 0 of the batch" in message(lambda: wt.forward_dynamics(system, [[0.0]], [[0.0]], [[1.0]]))


def test_trees_only_algorithms_refuse_loops_and_couplings_by_name():
    model = wt.Model("loop")
    for name in "ab":
        model.body(name, mass=1.0, inertia=(1, 1, 1))
    model.joint("p", "revolute", model.ground, "a")
    model.joint("q", "revolute", "a", "b", at=(1, 0, 0))
    model.joint("r", "revolute", "b", model.ground, at=(1, 0, 0))
    system = model.compile()
    zero = np.zeros(2)
    assert message(lambda: wt.forward_dynamics(system, zero, zero, zero, algorithm="aba")) == (
        "algorithm 'articulated' cannot solve 'loop'\n  got: closed loops ('r')\n"
        "  hint: these can: reduction, multipliers, nullspace, divide"
    )
    assert message(lambda: system.q_index("r")).startswith("joint 'r' closes a loop")
    assert wt.mass_matrix(system, zero).shape == (2, 2)
    del model.joints["r"]
    model.couple("q", "p", ratio=2.0)
    assert "joint couplings ('q')" in message(lambda: wt.simulate(model.compile(), 1.0, algorithm="aba"))
    del model.couplings["q"]
    model.constraint("tie", "distance", body="b", length=1.0)
    assert "constraints ('tie')" in message(lambda: wt.simulate(model.compile(), 1.0, algorithm="crba"))
