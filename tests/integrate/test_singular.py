"""Motion through poses where loops lose rank, against the smooth motion of one angle: singular_mechanisms.py.

soak_singular.py draws any number of such runs.
"""

import contextlib
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from singular_mechanisms import branches, compared
from whippletree.integrate.methods import adaptive
from whippletree.integrate.run import passage, passages

ANGLE, ENERGY = 1e-6, 1e-7  # rad, and of the largest kinetic energy: what default tolerances must hold
ALL = list(branches())


@pytest.mark.parametrize("algorithm", ["reduction", "multipliers"])
@pytest.mark.parametrize("name", ALL)
def test_default_runs_stay_on_their_branch(name, algorithm):
    branch, speed = branches()[name]
    for x, v in ((0.9, speed), (2.1, -1.1 * speed)):
        got = compared(branch, x, v, 2.0, algorithm=algorithm)
        assert got.stopped is None
        assert got.angle < ANGLE
        assert got.energy < ENERGY


@pytest.mark.parametrize("name", ["antiparallelogram", "kite at 9", "scissors 2"])
@pytest.mark.parametrize("integrator", ["dopri5", "dop853"])
def test_errors_fall_with_the_tolerance_or_the_pose_is_named(name, integrator):
    branch, speed = branches()[name]
    for rtol, allowed in ((1e-6, 1e-5), (1e-9, 1e-7), (1e-11, 1e-8)):
        got = compared(
            branch, 1.0, speed, 1.5, algorithm="multipliers", integrator=integrator, rtol=rtol, atol=rtol / 10
        )
        assert got.angle < allowed
        if got.stopped is not None:
            assert "rank at t = " in got.stopped


@pytest.mark.parametrize("name", ["antiparallelogram", "kite at 6", "kite at 9", "change point", "scissors 2"])
@pytest.mark.parametrize("rtol", [1e-8, 1e-10])
def test_long_steps_go_nearer_before_they_pass(name, rtol):
    """From where steps of dop853 first see the pose, only polynomials reach it that are too long: all these stopped."""
    branch, speed = branches()[name]
    got = compared(branch, 0.9, speed, 1.5, algorithm="reduction", integrator="dop853", rtol=rtol)
    assert got.stopped is None
    assert got.angle < 1e-7
    assert got.energy < 1e-8


def test_going_nearer_ends_where_it_does_not_help(monkeypatch):
    """If all polynomials are equally bad, the second look is the last one."""
    looks, kept = [], passages.Passages.look

    def look(self, *given):
        found = kept(self, *given)
        looks.append(found is not None)
        return found and found._replace(error=50.0)

    monkeypatch.setattr(passages.Passages, "look", look)
    branch, speed = branches()["kite at 9"]
    got = compared(branch, 0.9, speed, 1.5, algorithm="reduction", integrator="dop853", rtol=1e-9)
    assert "rank at t = " in got.stopped
    assert sum(looks) == 2


def test_divided_trees_and_fixed_steps_pass_too():
    branch, speed = branches()["kite at 6"]
    got = compared(branch, 0.8, -speed, 1.5, algorithm="divide")
    assert got.stopped is None
    assert got.angle < ANGLE
    for algorithm in ("reduction", "multipliers"):
        got = compared(branch, 0.8, -speed, 1.5, algorithm=algorithm, integrator="rk4", step=5e-4)
        assert got.angle < ANGLE


@pytest.mark.parametrize(
    ("name", "x", "speed", "step"),
    [
        ("change point", 0.7824133144800772, -1.0166545970007634, 3.553944490743789e-4),
        ("antiparallelogram", 0.006349964061065799, 0.9284674928551635, 2.8427130818521655e-4),
    ],
)
def test_fixed_steps_look_ahead_from_where_singular_values_are_largest(name, x, speed, step):
    """Where they do not change, they were taken to stay: steps went over the pose and 25 and 48 rad off in 10 s."""
    branch, usual = branches()[name]
    got = compared(branch, x, speed * usual, 10.0, algorithm="multipliers", integrator="rk4", step=step)
    assert got.stopped is None
    assert got.angle < 1e-6
    assert got.energy < 1e-8


def test_rollouts_name_states_that_may_have_changed_their_branch():
    """They have no passages. States that depend on the step were on two branches; a rollout that ends has said so."""
    rng, named_at_all = np.random.default_rng(3), 0
    for name in ("kite at 6", "antiparallelogram", "change point"):
        branch, usual = branches()[name]
        Q, U = np.zeros((30, branch.system.nq)), np.zeros((30, branch.system.nu))
        for n, x in enumerate(rng.uniform(0, 2 * np.pi, 30)):
            q, u = branch.start(x, usual * rng.choice([-1, 1]) * rng.uniform(0.8, 1.2))
            for joint in q:
                Q[n, branch.system.q_index(joint)], U[n, branch.system.u_index(joint)] = q[joint], u[joint]
        ends, reported = [], ""
        for step, steps in ((1e-3, 1500), (1.25e-3, 1200)):
            with warnings.catch_warnings(record=True) as caught, contextlib.suppress(wt.SimulationError):
                warnings.simplefilter("always")
                ends.append(wt.rollout(branch.system, Q, U, None, step, steps, every=steps)[0][:, -1])
            reported += "".join(str(w.message) for w in caught)
        assert "and others" not in reported
        named = {int(n) for n in re.findall(r"state (\d+) at", reported)}
        named_at_all += len(named)
        if len(ends) == 2:
            assert set(np.flatnonzero(np.abs(ends[0] - ends[1]).max(axis=1) > 0.5)) <= named
    assert 0 < named_at_all < 30


def test_a_run_may_begin_in_the_very_pose():
    """Velocities say which branch it is on."""
    branch, speed = branches()["parallelogram"]
    assert compared(branch, np.pi, speed, 1.0, algorithm="multipliers").angle < ANGLE


def test_error_control_is_the_same_behind_such_a_pose():
    """A torque that jumps behind it is resolved as well as one before which there is none."""
    branch, speed = branches()["parallelogram"]
    system = branch.system

    def late(t, q, u, tau):
        tau[0] = 5.0 if t > 0.8012345 else 0.0

    errors = []
    for jump in (False, True):
        options = {"tau": late} if jump else {}
        q, u = branch.start(2.0, speed)
        tight = wt.simulate(
            system, 1.0, q=q, u=u, integrator="dop853", rtol=1e-11, atol=1e-12, output_step=0.5, **options
        )
        other = wt.simulate(
            system, 1.0, q=q, u=u, integrator="dopri5", rtol=1e-10, atol=1e-12, output_step=0.5, **options
        )
        errors.append(np.abs(tight.u - other.u).max())
    assert max(errors) < 1e-6  # it was 1.8e-3 rad/s


@pytest.mark.parametrize("integrator", ["dopri5", "rk4"])
def test_what_cannot_be_followed_is_named(monkeypatch, integrator):
    """With no polynomial good enough, the pose, its loops and their rank are named, not jumps or tolerances."""
    monkeypatch.setattr(passage.Passage, "defect", lambda *_: np.inf)
    branch, speed = branches()["scissors 2"]
    got = compared(branch, 1.0, speed, 2.0, algorithm="multipliers", integrator=integrator)
    assert "cannot be followed through a pose where 'pin', 'left1' lose rank at t = 0.0" in got.stopped
    assert "2 of 4" in got.stopped
    assert got.angle < ANGLE  # up to there


def test_rows_within_a_passage_are_closed_and_repeat():
    branch, speed = branches()["kite at 6"]
    q, u = branch.start(0.4, -speed)
    whole = wt.simulate(branch.system, 0.5, q=q, u=u, algorithm="multipliers", output_step=0.001)
    states = []
    kept = adaptive.Run._pass

    def watched(run):
        kept(run)
        states.append((run.state.copy(), run.row))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive.Run, "_pass", watched)
        again = wt.simulate(branch.system, 0.5, q=q, u=u, algorithm="multipliers", output_step=0.001)
    assert states
    assert np.array_equal(whole.q, again.q)
    assert np.abs(whole["closure"]).max() < 1e-8


def test_events_within_a_passage_are_found():
    """The crank passes zero in the singular pose itself."""
    branch, speed = branches()["kite at 6"]
    q, u = branch.start(0.4, -speed)
    for integrator in ("dopri5", "rk4"):
        event = wt.Event("flat", lambda t, q, u: q[0])
        run = wt.simulate(branch.system, 0.2, q=q, u=u, algorithm="multipliers", integrator=integrator, events=[event])
        assert len(run.events) == 1
        truth = branch.truth(0.4, -speed, np.array([0.0, run.events[0].t]))
        assert abs(truth[-1, 0]) < 1e-7


def test_rows_of_velocities_alone_are_not_looked_at():
    """A clutch keeps its rank in every pose; a loop does not."""
    clutch = wt.load(Path(__file__).parents[2] / "models" / "clutch.toml").compile()
    assert not passages.vary(clutch.holding(clutch.model.constraints))
    assert passages.vary(branches()["kite at 6"][0].system)


def test_smooth_runs_never_look(monkeypatch):
    """A five-bar that keeps away from such poses: no polynomial is tried."""
    tried = []
    monkeypatch.setattr(passage.Passage, "attempt", lambda self, b: tried.append(b))
    branch, _ = branches()["change point"]
    q, u = branch.start(0.4, 1.0)
    wt.simulate(branch.system, 0.2, q=q, u=u)
    assert not tried
