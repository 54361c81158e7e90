"""A batch stepped in compiled loops takes the same path as simulate, one by one, and as a loop in Python."""

from pathlib import Path

import numba
import numpy as np
import pytest

import whippletree as wt
from test_allocation import allocations, compare
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.dynamics.dispatch import spread
from whippletree.dynamics.registry import in_lanes
from whippletree.dynamics.stepping.calls import code_of_lanes
from whippletree.errors import ModelError, SimulationError
from whippletree.integrate import rollout as room
from whippletree.integrate.rollout_kernel import march_states
from zoo import MOVING, ZOO, chain, four_bar, one_kind, random_state, tree

# lanes and floats are the same source; a compiler may fuse differently, and 20 steps carry that rounding on
MODELS = Path(__file__).parents[2] / "models"
ROUNDING = {"rtol": 1e-10, "atol": 1e-11}
STEP = 1e-3


@numba.njit
def damped(t, q, u, tau):
    for j in range(tau.size):
        tau[j] = 0.5 * np.sin(7.0 * t + j) - 0.3 * u[j] - 0.1 * q[j]


@numba.njit
def late_failure(t, q, u, tau):
    if t > 2.5e-3 and q[0] > 0.5:
        raise ValueError("no idea what to do")


@numba.njit
def late_nan(t, q, u, tau):
    if t > 2.5e-3 and q[0] > 0.5:
        tau[1] = np.nan


@pytest.fixture(scope="module")
def system():
    return tree().compile()


@pytest.fixture(scope="module")
def pair():
    return chain(2).compile()


def start(system, count, seed=0):
    return random_state(system, np.random.default_rng(seed), count)


def both(run):
    return np.concatenate(run, axis=-1)


# ---------------------------------------------------------------- the same path


@pytest.mark.parametrize("name", [*(f"{kind}_row_reversed" for kind in MOVING), "tree_5", "floating_tree", "welds"])
def test_rollout_equals_simulate(name):
    system = ZOO[name]().compile()
    q, u, tau = start(system, wt.LANES + 1)
    Q, U = wt.rollout(system, q, u, 0.1 * tau, STEP, 20, every=5)
    for s in (0, wt.LANES):
        run = wt.simulate(
            system, 20 * STEP, q=q[s], u=u[s], tau=0.1 * tau[s], integrator="rk4", step=STEP, output_step=5 * STEP
        )
        np.testing.assert_allclose(Q[s], run.q, **ROUNDING)
        np.testing.assert_allclose(U[s], run.u, **ROUNDING)


@pytest.mark.parametrize("count", sorted({1, wt.LANES - 1 or 1, wt.LANES, wt.LANES + 1, 3 * wt.LANES + 2}))
@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_a_batch_is_its_states_one_by_one(system, count, integrator):
    """Each state has a lane of its own, so nothing but its own numbers enters: equal to the last bit."""
    q, u, tau = start(system, count, seed=count)
    Q, U = wt.rollout(system, q, u, tau, STEP, 7, integrator, tau_rows="states")
    assert Q.shape == (count, 8, system.nq)
    assert U.shape == (count, 8, system.nu)
    for s in range(count):
        one_q, one_u = wt.rollout(system, q[s], u[s], tau[s], STEP, 7, integrator)
        assert one_q.shape == (8, system.nq)
        assert np.array_equal(one_q, Q[s])
        assert np.array_equal(one_u, U[s])


def euler_by_hand(system, q, u, tau, h):
    u = u + h * wt.forward_dynamics(system, q, u, tau)
    return wt.advance(system, q, u, h), u


@pytest.mark.parametrize("kind", ["free", "universal"])
def test_euler_is_semi_implicit(kind):
    system = one_kind(kind).compile()
    q, u, tau = start(system, 3)
    Q, U = wt.rollout(system, q, u, tau, STEP, 10, "euler")
    for i in range(10):
        q, u = euler_by_hand(system, q, u, tau, STEP)
        np.testing.assert_allclose(Q[:, i + 1], q, **ROUNDING)
        np.testing.assert_allclose(U[:, i + 1], u, **ROUNDING)


def test_every_keeps_every_kth(system):
    q, u, tau = start(system, 3)
    whole, part = (both(wt.rollout(system, q, u, tau, STEP, 12, every=k)) for k in (1, 4))
    assert np.array_equal(whole[:, ::4], part)


def test_no_states_and_no_dofs(system):
    Q, U = wt.rollout(system, np.empty((0, system.nq)), np.empty((0, system.nu)), None, STEP, 3)
    assert Q.shape == (0, 4, system.nq)
    still = wt.Model("block")
    still.body("block", mass=1.0, inertia=(1, 1, 1))
    still.joint("glue", "fixed", "ground", "block")
    Q, U = wt.rollout(still.compile(), np.empty((2, 0)), None, None, STEP, 3)
    assert Q.shape == U.shape == (2, 4, 0)


def test_neutral_start_and_no_force(system):
    Q, U = wt.rollout(system, None, None, None, STEP, 2)
    assert np.array_equal(Q[0], system.q0)
    assert not U[0].any()
    assert np.isfinite(both((Q, U))).all()


# ---------------------------------------------------------------- joint forces


def test_shapes_of_tau_mean_the_same(system):
    B, steps, nu = 5, 4, system.nu
    q, u, tau = start(system, B)
    sequence = np.random.default_rng(1).normal(size=(steps, nu))

    def run(forces, **options):
        return both(wt.rollout(system, q, u, forces, STEP, steps, **options))

    assert np.array_equal(run(None), run(np.zeros(nu)))
    assert np.array_equal(run(tau[0]), run(np.tile(tau[0], (B, 1))))
    assert np.array_equal(run(tau), run(np.tile(tau[:, None], (1, steps, 1))))
    assert np.array_equal(run(sequence), run(np.tile(sequence, (B, 1, 1))))
    assert np.array_equal(run(sequence), run(sequence, tau_rows="steps"))
    assert not np.array_equal(run(tau), run(None))


def test_a_keyword_decides_when_states_and_steps_are_as_many(system):
    q, u, tau = start(system, 4)
    states, steps = (both(wt.rollout(system, q, u, tau, STEP, 4, tau_rows=rows)) for rows in ("states", "steps"))
    assert np.array_equal(states, both(wt.rollout(system, q, u, np.repeat(tau[:, None], 4, axis=1), STEP, 4)))
    assert np.array_equal(steps, both(wt.rollout(system, q, u, np.repeat(tau[None], 4, axis=0), STEP, 4)))


def test_a_sequence_is_held_over_each_step(system):
    """Step by step in Python, each step a rollout of one with a constant force."""
    q, u, _ = start(system, 2)
    tau = np.random.default_rng(2).normal(size=(2, 6, system.nu))
    Q, U = wt.rollout(system, q, u, tau, STEP, 6)
    for i in range(6):
        one = wt.rollout(system, q, u, tau[:, i], STEP, 1)
        q, u = one[0][:, 1], one[1][:, 1]
        assert np.array_equal(Q[:, i + 1], q)
        assert np.array_equal(U[:, i + 1], u)


@pytest.mark.parametrize("count", [None, wt.LANES + 1])
def test_a_policy_acts_as_a_loop_in_python(system, count):
    q, u, _ = start(system, count or 1)
    if count is None:
        q, u = q[0], u[0]
    Q, U = wt.rollout(system, q, u, damped, STEP, 6)
    for i in range(6):
        tau = np.zeros_like(u)
        for one_q, one_u, one_tau in zip(*(np.atleast_2d(x) for x in (q, u, tau)), strict=True):
            damped.py_func(i * STEP, one_q, one_u, one_tau)
        one = wt.rollout(system, q, u, tau, STEP, 1)
        q, u = one[0][..., 1, :], one[1][..., 1, :]
        np.testing.assert_allclose(Q[..., i + 1, :], q, **ROUNDING)
        np.testing.assert_allclose(U[..., i + 1, :], u, **ROUNDING)


@pytest.mark.parametrize("tau", [None, damped])
def test_threads_change_no_bit(system, tau, monkeypatch):
    q, u, _ = start(system, 9 * wt.LANES + 1)
    runs = [both(wt.rollout(system, q, u, tau, STEP, 5, threads=n)) for n in (None, 1, 2, 3, 0)]
    monkeypatch.setattr(room, "LONGEST_CALL", 1)  # a compiled call for each block
    runs.append(both(wt.rollout(system, q, u, tau, STEP, 5, threads=2)))
    assert all(np.array_equal(runs[0], x) for x in runs[1:])


def test_an_error_in_one_share_comes_out_and_the_threads_stay():
    begun = []

    def run(begin, end):
        begun.append((begin, end))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        spread(100 * wt.LANES, 2, run)
    assert len(begun) <= 2  # one for each thread
    begun.clear()
    spread(3 * wt.LANES + 1, 2, lambda begin, end: begun.append((begin, end)))
    assert sorted(begun) == [(n * wt.LANES, min((n + 1) * wt.LANES, 3 * wt.LANES + 1)) for n in range(4)]


# ---------------------------------------------------------------- loops


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_loops_stay_closed_and_equal_simulate(integrator):
    """The same steps, closed in the same way: lanes share a plan, so that rounding differs, and is carried on."""
    system = four_bar().compile()
    angles = np.linspace(0.4, 0.6, wt.LANES + 1)  # more than one block
    starts = [wt.assemble(system, {"shaft": angle}, {"shaft": 3.0}) for angle in angles]
    tau = np.array([0.1, 0.0, -0.2])
    Q, U = wt.rollout(
        system, [s.q for s in starts], [s.u for s in starts], tau, STEP, 20, integrator=integrator, threads=2
    )
    for k, state in enumerate(starts):
        run = wt.simulate(
            system, 20 * STEP, q=state.q, u=state.u, tau=tau, integrator=integrator, step=STEP, output_step=STEP,
            algorithm="multipliers",
        )  # fmt: skip
        np.testing.assert_allclose(Q[k], run.q, **ROUNDING)
        np.testing.assert_allclose(U[k], run.u, **ROUNDING)
        assert violation(system, Q[k], U[k]) < 1e-13
    one = wt.rollout(system, starts[1].q, starts[1].u, tau, STEP, 20, integrator=integrator)
    np.testing.assert_allclose(one[0], Q[1], **ROUNDING)


def violation(system, q, u):
    """The largest of all rows of constraints in states, of positions and velocities."""
    rows = [rows_of(system, *state, 0.0, matrix=False) for state in zip(q, u, strict=True)]
    return max(np.abs(np.concatenate([r.g, r.rate])).max() for r in rows)


@pytest.fixture
def alone(monkeypatch):
    """How many states each call of the kernel that steps one by one was given."""
    counts, march = [], room._march_by

    def counting(by, lanes, system, order, Q, U, notes, some, *rest):
        if lanes == 1:
            counts.append(len(some))
        return march(by, lanes, system, order, Q, U, notes, some, *rest)

    monkeypatch.setattr(room, "_march_by", counting)
    return counts


def test_states_of_one_plan_stay_in_lanes(alone):
    system = four_bar().compile()
    state = wt.assemble(system, {"shaft": 0.5}, {"shaft": 3.0})
    wt.rollout(system, np.tile(state.q, (9, 1)), np.outer(np.linspace(0, 1, 9), state.u), None, STEP, 20)
    assert alone == []


@pytest.mark.parametrize(("worth", "lone"), [(1, [3]), (10**6, [10])])
def test_states_that_the_plan_does_not_serve_go_on_by_others_or_alone(worth, lone, alone, monkeypatch):
    """From the last row that is kept, beside states of their blocks that stay; each takes the path it takes alone."""
    system = wt.load(MODELS / "five_bar.toml").compile()
    joint = system.joints[0]
    slow, fast = (wt.assemble(system, {joint: 0.8}, {joint: speed}) for speed in (0.0, 6.0))
    q, u = np.tile(slow.q, (10, 1)), np.tile(slow.u, (10, 1))
    u[1], u[2], u[8] = fast.u, 0.8 * fast.u, 0.9 * fast.u
    tau = np.zeros((10, 300, system.nu))
    monkeypatch.setattr(room, "WORTH", worth)
    Q, U = wt.rollout(system, q, u, tau, STEP, 300, every=4, threads=2)
    assert alone[:1] == lone  # later calls look at poses where a motion bends
    monkeypatch.setattr(room, "LANES", 1)
    for found, right in zip((Q, U), wt.rollout(system, q, u, tau, STEP, 300, every=4), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-9, atol=1e-10)  # near singular poses rounding is carried on


def test_lanes_with_loops_meet_prescribed_motions(monkeypatch):
    model = four_bar()
    model.force("drive", "motion", joint="shaft", position=wt.Sine(0.3, 2.0, offset=0.5))
    system = model.compile()
    start = wt.assemble(system, {"shaft": 0.5}, {"shaft": 0.3 * 2.0 * np.pi * 2.0})
    q, u = np.tile(start.q, (3, 1)), np.tile(start.u, (3, 1))
    Q, U = wt.rollout(system, q, u, None, STEP, 20)
    monkeypatch.setattr(room, "LANES", 1)
    for found, right in zip((Q, U), wt.rollout(system, q, u, None, STEP, 20), strict=True):
        np.testing.assert_allclose(found, right, **ROUNDING)


def test_a_start_off_the_loops_is_refused_with_its_number():
    system = four_bar().compile()
    state = wt.assemble(system, {"shaft": 0.5}, {"shaft": 3.0})
    Q, U = np.tile(state.q, (4, 1)), np.tile(state.u, (4, 1))
    Q[2, 1] += 1e-3
    reported = message(ModelError, system, Q, U, None, STEP, 4)
    assert reported.startswith("the start of 'four bar' is not closed in state 2 of the batch\n")
    assert "'pivot' by " in reported
    U[1, 0] += 1.0
    Q[2] = state.q
    assert message(ModelError, system, Q, U, None, STEP, 4).startswith(
        "the start of 'four bar' opens in state 1 of the batch\n"
    )


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_a_host_without_registers_steps_one_state_at_a_time(integrator, monkeypatch):
    q, u, tau = start(tree().compile(), 5)
    in_lanes = both(wt.rollout(tree().compile(), q, u, tau, STEP, 20, tau_rows="states", integrator=integrator))
    monkeypatch.setattr(room, "LANES", 1)
    alone = both(wt.rollout(tree().compile(), q, u, tau, STEP, 20, tau_rows="states", integrator=integrator))
    np.testing.assert_allclose(alone, in_lanes, **ROUNDING)


@pytest.mark.parametrize("integrator", ["rk4", "euler"])
def test_a_prescribed_motion_is_met_in_every_state_that_is_kept(integrator):
    m = chain(3)
    joint = next(iter(m.joints))
    m.force("drive", "motion", joint=joint, position=wt.Sine(0.3, 5.0))
    system = m.compile()
    q, u, tau = start(system, wt.LANES + 1)
    Q, U = wt.rollout(system, q, u, tau, STEP, 10, tau_rows="states", integrator=integrator)
    rate = 2.0 * np.pi * 5.0
    phase = rate * STEP * np.arange(1, 11)
    assert np.abs(Q[:, 1:, system.q_index(joint)][..., 0] - 0.3 * np.sin(phase)).max() < 1e-15  # rounding of 0.3
    assert np.abs(U[:, 1:, system.u_index(joint)][..., 0] - 0.3 * rate * np.cos(phase)).max() < 1e-14  # and of 9


# ---------------------------------------------------------------- numbers of the model, for each state


def built(model, paths, values):
    """The model with other numbers, by hand."""
    for path, value in zip(paths, values, strict=True):
        room_, name, field = path.split(".")
        setattr(getattr(model, room_)[name], field, value)
    return model.compile()


def test_each_state_has_numbers_of_its_own():
    """As a model of its own moves, whether states share numbers or not, and on threads."""
    model = chain(3)
    paths = ["bodies.rod0.mass", "bodies.rod2.mass", "joints.hinge1.damping"]
    rng = np.random.default_rng(3)
    values = rng.uniform(0.5, 2.0, (7, 3))
    values[5] = values[2]
    model.passive = True
    system = model.compile()
    q, u, tau = start(system, 7)
    given = dict(zip(paths, values.T, strict=True))
    Q, U = wt.rollout(system, q, u, tau, STEP, 9, tau_rows="states", parameters=given, threads=2)
    for k in range(7):
        one = chain(3)
        one.passive = True
        right = wt.rollout(built(one, paths, values[k]), q[k], u[k], tau[k], STEP, 9)
        assert np.array_equal(Q[k], right[0])
        assert np.array_equal(U[k], right[1])
    assert not np.array_equal(U, wt.rollout(system, q, u, tau, STEP, 9, tau_rows="states")[1])
    same = wt.rollout(system, q[0], u[0], tau[0], STEP, 9, parameters={paths[0]: values[:, 0]})
    assert same[0].shape == (7, 10, system.nq)
    alike = wt.rollout(system, q, u, tau, STEP, 9, tau_rows="states", parameters={paths[0]: 1.7})
    assert np.array_equal(alike[1][3], wt.rollout(built(chain(3), paths[:1], [1.7]), q[3], u[3], tau[3], STEP, 9)[1])


def test_each_state_of_a_loop_has_numbers_of_its_own():
    model = four_bar()
    system = model.compile()
    body = next(iter(model.bodies))
    state = wt.assemble(system, {"shaft": 0.5}, {"shaft": 3.0})
    masses = np.array([0.5, 1.0, 0.5, 3.0])
    Q, U = wt.rollout(system, state.q, state.u, None, STEP, 20, parameters={f"bodies.{body}.mass": masses})
    for k, mass in enumerate(masses):
        run = wt.simulate(
            built(four_bar(), [f"bodies.{body}.mass"], [mass]), 20 * STEP, q=state.q, u=state.u, integrator="rk4",
            step=STEP, output_step=STEP,
        )  # fmt: skip
        np.testing.assert_allclose(Q[k], run.q, **ROUNDING)
        np.testing.assert_allclose(U[k], run.u, **ROUNDING)


@pytest.mark.parametrize(
    ("parameters", "reported"),
    [
        ([1.0], "parameters is not a mapping\n  expected: {path: numbers (B,)}\n  got: [1.0]"),
        ({"bodies.rod0.mas": 1.0}, "parameter 'bodies.rod0.mas': 'mas' is no number of bodies.rod0\n"),
        ({"rod0.mass": 1.0}, "parameter 'rod0.mass' is not known\n  expected: a path as bodies.NAME.mass"),
        ({"bodies.rod0.mass": [1.0, np.nan]}, "parameter 'bodies.rod0.mass' has no number for each state\n"),
        ({"bodies.rod0.mass": "heavy"}, "parameter 'bodies.rod0.mass' has no number for each state\n"),
        ({"bodies.rod0.mass": [1.0, 2.0]}, "parameters and starts differ in their number of states\n"),
        ({"bodies.rod0.mass": -1.0}, "body 'rod0': "),
    ],
)
def test_parameters_that_do_not_fit(pair, parameters, reported):
    assert message(ModelError, pair, np.zeros((3, 2)), None, None, STEP, 2, parameters=parameters).startswith(reported)


def test_temporary_constraints_are_refused():
    model = wt.load(MODELS / "docking.toml")
    names = ", ".join(model.temporaries)
    reported = message(ModelError, model.compile(), None, None, None, STEP, 2)
    assert reported.startswith("rollout does not take temporary constraints\n")
    assert f"got: {names}\n" in reported


def test_a_start_that_is_open_with_its_numbers_is_named():
    system = four_bar().compile()
    state = wt.assemble(system, {"shaft": 0.5}, {"shaft": 3.0})
    place = next(j for j in four_bar().joints.values() if any(j.at.position))
    lengths = np.array([1.0, 1.0, 1.05]) * place.at.position[0]
    reported = message(
        ModelError, system, state.q, state.u, None, STEP, 2, parameters={f"joints.{place.name}.at.x": lengths}
    )
    assert reported.startswith("start 2 of the batch, of 'four bar' is not closed\n")


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("policy", [0, 1])
@pytest.mark.parametrize("method", [0, 1])
def test_steps_allocate_nothing(system, method, policy):
    from whippletree.integrate.rollout_kernel import workspace
    from whippletree.system.callbacks import compiled_joint_forces

    q, u, tau = start(system, wt.LANES)
    by = in_lanes(system)
    stepper = by.stepper(system, by.name)
    address, memory = compiled_joint_forces(damped).address if policy else 0, workspace(system, stepper)
    Q, U = (np.repeat(x[:, None], 2, axis=1) for x in (q, u))
    trouble, block, code = np.zeros((wt.LANES, 3), np.int64), np.zeros((0, 0)), code_of_lanes(stepper)
    notes = trouble, np.zeros((wt.LANES, 3))
    order, since = (1e-5, method, address, True), np.zeros(wt.LANES, np.int64)

    def march(steps):
        h, *rest = order
        given = memory, tau[:, None], h, steps, *rest, code, block
        march_states(*given, Q, U, since, notes, 0, wt.LANES)

    compare(allocations(lambda: march(1)), allocations(lambda: march(100)))
    assert not trouble.any()
    assert march_states.targetoptions["_nrt"] is False


def test_a_failed_rollout_leaves_nothing_behind(system):
    """Memory is used again; numbers that are none must not stay in it."""
    q, u, tau = start(system, 5)
    before = both(wt.rollout(system, q, u, tau, STEP, 6))
    wt.rollout(system, q, 1e200 * u, tau, STEP, 6, check=False)
    assert np.array_equal(before, both(wt.rollout(system, q, u, tau, STEP, 6)))


# ---------------------------------------------------------------- messages


def message(kind, *args, **options):
    with pytest.raises(kind) as caught:
        wt.rollout(*args, **options)
    return str(caught.value)


def test_a_state_that_ceases_to_be_finite_is_named(pair):
    q, u = np.zeros((7, 2)), np.zeros((7, 2))
    u[5], u[3] = 1e120, 1e10  # the latter fails a step later
    reported = message(SimulationError, pair, q, u, None, STEP, 10, threads=2)
    assert reported == (
        "the motion of 'chain 2' ceased to be finite in state 5 of the batch, at step 1 (t = 0 to 0.001 s)\n"
        "  where: joint 'hinge0' (revolute) of body 'rod0'\n"
        "  hint: a smaller step, or mass and inertia for the outermost bodies; check=False lets it through as NaN"
    )
    reported = message(SimulationError, pair, q[0], u[5], None, STEP, 10)
    assert reported.startswith("the motion of 'chain 2' ceased to be finite at step 1 (t = 0 to 0.001 s)\n")
    Q, U = wt.rollout(pair, q, u, None, STEP, 10, check=False)
    assert not np.isfinite(U[5]).all()
    assert np.isfinite(both((Q, U))[[0, 1, 2, 4, 6]]).all()


@pytest.mark.parametrize(("every", "threads"), [(1, None), (2, None), (8, 2)])
def test_a_policy_that_raises_is_named_with_its_reason(pair, every, threads):
    q = np.zeros((9 * wt.LANES, 2))
    q[8 * wt.LANES, 0] = 1.0
    q[4, 0] = 1.0
    with pytest.raises(SimulationError) as caught:
        wt.rollout(pair, q, None, late_failure, STEP, 8, every=every, threads=threads)
    assert str(caught.value) == (
        "the policy 'late_failure' raised an error in state 4 of the batch, at step 4 (t = 0.003 to 0.004 s)"
    )
    assert str(caught.value.__cause__) == "no idea what to do"


def test_a_policy_that_gives_no_number_is_named(pair):
    q = np.zeros((6, 2))
    q[4, 0] = 1.0
    assert message(SimulationError, pair, q, None, late_nan, STEP, 8) == (
        "the policy 'late_nan' gave a joint force that is not finite in state 4 of the batch, "
        "at step 4 (t = 0.003 to 0.004 s)\n  where: joint 'hinge1' (revolute) of body 'rod1'"
    )


def plain(t, q, u, tau):
    tau[:] = 0.0


@numba.njit
def too_few(t, q):
    pass


def test_a_policy_must_be_compiled(pair):
    assert message(ModelError, pair, None, None, plain, STEP, 8) == (
        "the policy is not compiled\n"
        "  expected: a function policy(t, q, u, tau) compiled by numba.njit, which writes tau\n"
        "  got: plain\n"
        "  hint: decorate it: @numba.njit"
    )
    assert message(ModelError, pair, None, None, numba.jit(forceobj=True)(plain), STEP, 8).startswith(
        "the policy is not compiled\n"
    )
    reported = message(ModelError, pair, None, None, too_few, STEP, 8)
    assert reported.startswith("the policy 'too_few' does not compile\n  expected: a function policy(t, q, u, tau)")


def test_shapes_of_tau_that_do_not_fit(pair):
    reported = message(ModelError, pair, np.zeros((4, 2)), None, np.zeros((4, 2)), STEP, 4)
    assert reported == (
        "tau can be read in two ways\n"
        '  expected: tau_rows="states" (constant, for each state its own) or "steps" (a sequence for all)\n'
        "  got: (4, 2), and there are 4 states and 4 steps"
    )
    reported = message(ModelError, pair, np.zeros((4, 2)), None, np.zeros((5, 2)), STEP, 3)
    assert reported == (
        "tau has the wrong shape for 'chain 2'\n"
        "  expected: (2,), (steps, nu) = (3, 2), (B, nu) = (4, 2), (B, steps, nu) = (4, 3, 2), "
        "or a policy compiled by numba.njit\n"
        "  got: (5, 2)"
    )
    reported = message(ModelError, pair, np.zeros(2), None, np.zeros((1, 3, 2)), STEP, 3)
    assert "  expected: (2,), (steps, nu) = (3, 2), or a policy compiled by numba.njit\n  got: (1, 3, 2)" in reported
    reported = message(ModelError, pair, np.zeros((4, 2)), None, np.zeros((4, 2)), STEP, 3, tau_rows="steps")
    assert reported.endswith("got: (4, 2), tau_rows='steps'")
    reported = message(ModelError, pair, None, None, None, STEP, 3, tau_rows="step")
    assert reported == "tau_rows 'step' is not known\n  hint: did you mean 'steps'?"
    assert message(ModelError, pair, None, None, "fast", STEP, 3).startswith("tau is not an array of numbers\n")
    assert message(ModelError, pair, None, None, [0.0, np.inf], STEP, 3).startswith(
        "tau is not finite\n  expected: finite numbers\n  got: inf at tau[1], joint 'hinge1' (revolute) of body 'rod1'"
    )


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"step": 0.0}, "step must be positive\n  expected: a time > 0 (s)\n  got: 0.0"),
        ({"steps": 0}, "steps is not a count\n  expected: a whole number >= 1\n  got: 0"),
        ({"steps": 2.5}, "steps is not a count\n  expected: a whole number >= 1\n  got: 2.5"),
        ({"every": True}, "every is not a count\n  expected: a whole number >= 1\n  got: True"),
        (
            {"every": 3},
            "the last step would not be kept\n  expected: steps that are a multiple of every\n  got: 4 and 3",
        ),
        ({"integrator": "rk5"}, "integrator 'rk5' is not known to rollout\n  hint: did you mean 'rk4'?"),
        ({"threads": -1}, "threads is not a count\n  expected: a whole number, 0 for all cores\n  got: -1"),
        (
            {"steps": 10**9},
            "the result would not fit in memory\n  expected: at most 4 GB\n"
            "  got: 1 states, 1000000001 rows of 4 numbers each, 32.0 GB\n"
            "  hint: a larger every, or fewer states at a time",
        ),
    ],
)
def test_options_that_cannot_be(pair, options, reported):
    assert message(ModelError, pair, None, None, None, **({"step": STEP, "steps": 4} | options)) == reported


def test_states_that_cannot_be(pair):
    ball = one_kind("spherical").compile()
    q = np.tile(ball.q0, (3, 1))
    q[2, 1] = 0.5
    assert message(ModelError, ball, q, None, None, STEP, 4).startswith(
        f"joint '{ball.joints[0]}': the quaternion in q is not unit in state 2 of the batch\n"
    )
    assert message(ModelError, pair, [0.0, np.nan], None, None, STEP, 4).startswith(
        "q is not finite\n  expected: finite numbers\n  got: nan at q[1], joint 'hinge1' (revolute) of body 'rod1'"
    )


def test_methods_do_not_disturb_each_other(system):
    q, u, _ = start(system, wt.LANES + 1)
    fresh = both(wt.rollout(tree_again(system), q, u, None, STEP, 5))
    wt.rollout(system, q, u, None, STEP, 5, integrator="euler")
    assert np.array_equal(both(wt.rollout(system, q, u, None, STEP, 5)), fresh)


def tree_again(system):
    """The same system with memory of its own"""
    return system.model.compile()
