"""Inverse dynamics with loops: round trips, least norm, joints that are actuated, and every refusal."""

import numpy as np
import pytest

import loop_zoo as loops
import whippletree as wt
from whippletree.dynamics.constraints.jacobian import rows_of
from zoo import chain, random_state


def close(a, b, tolerance):
    """Relative to the largest number; the tolerance grows with what elimination by rank cancels."""
    assert np.abs(np.asarray(a) - b).max() <= tolerance * max(1.0, np.abs(b).max())


@pytest.mark.parametrize("name", loops.MECHANISMS)
def test_forces_of_least_norm_give_the_motion(name):
    system, q, u = loops.MECHANISMS[name]()
    tau = np.random.default_rng(5).normal(size=system.nu)
    udot = wt.forward_dynamics(system, q, u, tau, algorithm="multipliers")
    found = wt.inverse_dynamics(system, q, u, udot)
    close(wt.forward_dynamics(system, q, u, found, algorithm="multipliers"), udot, 1e-9)
    assert np.linalg.norm(found) <= np.linalg.norm(tau) * (1 + 1e-6)
    work = [rows_of(system, q, u).C @ force for force in (found,)]  # nothing of it is lost on the constraints
    assert np.abs(work).max() < 1e-8 * max(1.0, np.abs(found).max())


DRIVES = {"four_bar": ["shaft"], "slider_crank": ["shaft"], "stewart": [f"slide{k}" for k in range(6)]}


@pytest.mark.parametrize("name", DRIVES)
def test_forces_at_actuated_joints_give_the_motion(name):
    system, q, u = loops.MECHANISMS[name]()
    drives = [joint for joint in DRIVES[name] if joint in system.joints]
    udot = wt.forward_dynamics(system, q, u, np.random.default_rng(7).normal(size=system.nu))
    if len(drives) < len(DRIVES[name]):  # a slide that closes a loop has no row: then another joint must help
        drives += ["foot0"]
    tau = wt.inverse_dynamics(system, q, u, udot, actuated=drives)
    silent = np.setdiff1d(np.arange(system.nu), np.concatenate([np.r_[system.u_index(joint)] for joint in drives]))
    assert not tau[silent].any()
    close(wt.forward_dynamics(system, q, u, tau), udot, 1e-9)


def test_more_actuators_than_dofs_share():
    system, q, u = loops.four_bar()
    udot = wt.forward_dynamics(system, q, u, [1.0, 0.5, -0.2])
    both = wt.inverse_dynamics(system, q, u, udot, actuated=["shaft", "wrist"])
    for one in ("shaft", "wrist"):
        alone = wt.inverse_dynamics(system, q, u, udot, actuated=[one])
        assert np.linalg.norm(both) < np.linalg.norm(alone)
        close(wt.forward_dynamics(system, q, u, alone), udot, 1e-9)
    close(wt.forward_dynamics(system, q, u, both), udot, 1e-9)


def test_a_batch_is_its_states_one_by_one_with_wrenches_and_time():
    system, q, u = loops.leg()
    tau = np.random.default_rng(9).normal(size=(3, system.nu))
    Q, U = np.tile(q, (3, 1)), np.array([0.0, 0.5, 1.0])[:, None] * u
    wrenches, t = {"shank": [0.1, 0, 0, 1.0, 2.0, 3.0]}, np.array([0.0, 0.1, 0.2])
    udot = wt.forward_dynamics(system, Q, U, tau, wrenches=wrenches, t=t)
    found = wt.inverse_dynamics(system, Q, U, udot, wrenches=wrenches, t=t)
    close(wt.forward_dynamics(system, Q, U, found, wrenches=wrenches, t=t), udot, 1e-9)
    for s in range(3):
        one = wt.inverse_dynamics(system, Q[s], U[s], udot[s], wrenches=wrenches, t=t[s])
        close(one, found[s], 1e-12)


def test_bias_and_applied_forces_are_those_of_the_spanning_tree():
    """The same tree, without the joint that closes it."""
    model = loops.four_bar_model()
    system, q, u = loops.four_bar()
    del model.joints[system.cut_joints[0]]
    tree = model.compile()
    assert tree.joints == system.joints
    close(wt.bias_force(system, q, u), wt.bias_force(tree, q, u), 1e-14)
    assert not wt.applied_force(system, q, u).any()


def test_joints_of_a_tree_can_be_actuated():
    system = chain(2).compile()
    q, u, tau = random_state(system, np.random.default_rng(11))
    udot = wt.forward_dynamics(system, q, u, tau)
    close(wt.inverse_dynamics(system, q, u, udot, actuated=["hinge1", "hinge0"]), tau, 1e-11)
    close(wt.inverse_dynamics(system, q, u, wt.forward_dynamics(system, q, u, [tau[0], 0.0]), actuated=["hinge0"]),
          [tau[0], 0.0], 1e-11)  # fmt: skip
    with pytest.raises(wt.ModelError, match="cannot drive the motion of 'chain 2'") as refusal:
        wt.inverse_dynamics(system, q, u, udot, actuated=["hinge0"])
    assert "'hinge0', which reach 1; not actuated is a motion that takes" in refusal.value.got
    assert "at 'hinge1'" in refusal.value.got


def test_refusals():
    system, q, u = loops.five_bar()
    udot = wt.forward_dynamics(system, q, u, [0.3, 0.1, 0.2, 0.5])

    def reported(*state, **options):
        with pytest.raises(wt.ModelError) as refusal:
            wt.inverse_dynamics(system, *state, **options)
        return str(refusal.value)

    off = np.zeros(system.nu)
    off[0] = 1.0
    cut = system.cut_joints[0]
    message = reported(q, u, udot + off)
    assert message.startswith("udot of 'five bar A' opens loops or constraints\n")
    assert f"off are '{cut}' by " in message
    assert "m/s^2" in message
    assert "is not closed" in reported(q + 1e-3 * off, u, udot)
    assert "opens" in reported(q, u + off, udot)
    several = np.tile(q, (3, 1)), np.tile(u, (3, 1)), np.array([udot, udot, udot + off])
    assert "in state 2 of the batch" in reported(*several)
    assert "expected: joints that reach all 2 directions" in reported(q, u, udot, actuated=[system.joints[0]])
    assert "actuated is not a list of joints" in reported(q, u, udot, actuated="q1")
    assert "closes a loop" in reported(q, u, udot, actuated=[cut])
    assert "udot is not finite" in reported(q, u, udot * np.nan)
