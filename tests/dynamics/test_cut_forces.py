"""Motors, springs, dampers, friction and limits of joints that close loops: the same as of any other joint.

Which joint of a loop is cut depends on the order in which they are written, and nothing else may depend on it.
"""

import warnings

import numpy as np
import pytest

import whippletree as wt
from closing import closed_chain
from loop_zoo import four_bar as four_bar_state
from whippletree.dynamics.constraints.cut_joints import cut_coordinates, cut_velocities
from whippletree.dynamics.loads.applied import loads
from whippletree.errors import ModelWarning
from whippletree.model import JOINT_KINDS
from zoo import four_bar

KINDS = [kind for kind in JOINT_KINDS if kind not in ("fixed", "curve")]  # a curve is never cut
LIMITS = wt.Limits(lower=-0.2, upper=0.3, stiffness=40.0, damping=0.3)
# two solves of one mechanism in other coordinates, each to 1e-15 of its conditioning, which is up to 1e5 here
SAME = 1e-9


def load_joint(model, name, rng):
    """All that may act in a joint."""
    joint = model.joints[name]
    dofs = JOINT_KINDS[joint.kind][1]
    joint.damping, joint.friction, joint.friction_speed = tuple(rng.uniform(0.1, 1, dofs)), 0.5, 0.1
    if joint.kind != "free":
        joint.stiffness = 5.0
    if joint.kind not in ("free", "spherical"):
        joint.rest, joint.limits = 0.1, LIMITS
    for n in range(dofs):
        servo = {"position": wt.Sine(0.4, 0.5), "kp": 3.0} if joint.kind not in ("free", "spherical") else {}
        model.force(f"{name}_motor{n}", "motor", joint=name, dof=n, torque=wt.Ramp(2.0), kd=0.4, **servo)


def loop_of(kind):
    """A chain closed by this kind, whose end joints are turned by less than the half turn that angles are known to."""
    for seed in range(100):
        system, q, u = closed_chain(kind, np.random.default_rng([5, seed]))
        joints = system.model.joints.values()
        ends = ["cut", *(j.name for j in joints if "ground" in (j.parent, j.child) and j.name != "cut")]
        own = cut_coordinates(wt.kinematics(system, q), system.model.joints["cut"])
        if np.abs([*own, *q[system.q_index(ends[1])]]).max() < 2.3:
            return system, q, u, ends
    raise AssertionError("no such loop")


def first(model, name):
    """The model with a joint written before all others."""
    model.joints = {name: model.joints[name]} | model.joints
    return model


def carried_over(system, q, u, other):
    """A state in the coordinates of another tree of the same mechanism."""
    k = wt.kinematics(system, q, u)
    Q, U = other.q0.copy(), np.zeros(other.nu)
    for name in other.joints:
        if name in system.joints:
            Q[other.q_index(name)], U[other.u_index(name)] = q[system.q_index(name)], u[system.u_index(name)]
        else:
            joint = system.model.joints[name]
            Q[other.q_index(name)], U[other.u_index(name)] = cut_coordinates(k, joint), cut_velocities(k, joint)
    return Q, U


@pytest.mark.parametrize("kind", KINDS)
def test_forces_of_a_joint_do_not_depend_on_where_the_loop_is_cut(kind):
    system, q, u, ends = loop_of(kind)
    model = system.model
    for name in ends:
        load_joint(model, name, np.random.default_rng(6))
    one = model.compile()
    assert one.cut_joints == ("cut",)
    two = first(model, "cut").compile()
    assert "cut" in two.joints
    Q, U = carried_over(one, q, u, two)
    for t in (0.0, 0.7):
        a, b = wt.forward_dynamics(one, q, u, t=t), wt.forward_dynamics(two, Q, U, t=t)
        shared = [name for name in one.joints if name in two.joints]
        assert len(shared) == 7
        for name in shared:
            mine, other = a[one.u_index(name)], b[two.u_index(name)]
            np.testing.assert_allclose(mine, other, rtol=0, atol=SAME * max(1, np.abs(a).max(), np.abs(b).max()))
        mine, other = loads(one, q, u, t), loads(two, Q, U, t)
        np.testing.assert_allclose([mine.energy, mine.power], [other.energy, other.power], rtol=1e-11)
        named = slice(len(model.forces))
        size = 1e-10 * np.abs(mine.ledger).max()
        np.testing.assert_allclose(mine.ledger[named], other.ledger[named], rtol=0, atol=size)


def bar_with_everything():
    """The four-bar of the zoo with a motor, a spring, a damper, friction and stops in each joint on ground."""
    model = four_bar()
    for name, rest in (("shaft", 1.0), ("pivot", -2.2)):
        joint = model.joints[name]
        joint.stiffness, joint.rest, joint.damping, joint.friction, joint.friction_speed = 2.0, rest, 0.05, 0.1, 0.2
        servo = {"position": wt.Sine(0.3, 1.0, offset=rest), "kp": 1.0, "kd": 0.1, "limit": 0.5}
        model.force(f"{name}_motor", "motor", joint=name, torque=wt.Sine(0.5, 0.7), **servo)
    model.joints["shaft"].limits = wt.Limits(lower=0.3, upper=1.3, stiffness=30.0, damping=0.2)
    model.joints["pivot"].limits = wt.Limits(lower=-2.35, stiffness=30.0, damping=0.2)
    return model


def test_a_four_bar_moves_the_same_wherever_it_is_cut():
    """Motor, spring, damper, friction and stop of the joint that is cut, in one order and in the other."""
    one, two = bar_with_everything().compile(), first(bar_with_everything(), "pivot").compile()
    assert (one.cut_joints, two.cut_joints) == (("pivot",), ("shaft",))
    _, q, u = four_bar_state(1.0, 4.0)
    Q, U = carried_over(one, q, u, two)
    # 1e-9 of angles of 1 rad: both runs are integrated to 1e-12 a step, over some hundreds of steps
    settings = {"rtol": 1e-12, "atol": 1e-13, "output_step": 0.05}
    a, b = wt.simulate(one, 1.0, q=q, u=u, **settings), wt.simulate(two, 1.0, q=Q, u=U, **settings)
    for name in one.model.joints:
        for what in (f"{name}.q", f"{name}.u"):
            np.testing.assert_allclose(a[what], b[what], rtol=0, atol=1e-9 * np.abs(a[what]).max())
    for name in ("shaft_motor.force", "pivot_motor.force", "shaft_motor.power", "energy.elastic", "energy.work"):
        np.testing.assert_allclose(a[name], b[name], rtol=0, atol=1e-8 * np.abs(a[name]).max())
    assert a["shaft.q"].max() > 1.3  # into a stop
    assert a["pivot.q"].min() < -2.35
    for run in (a, b):  # what is stored and what is lost is all there is
        assert np.abs(run["energy.balance"]).max() < 1e-9 * np.ptp(run["energy"])


def test_lanes_and_single_states_have_the_same_forces():
    system = bar_with_everything().compile()
    rng = np.random.default_rng(3)
    q, u = rng.uniform(-3, 3, (11, system.nq)), rng.normal(size=(11, system.nu))
    batch = loads(system, q, u, 0.4)
    for n in (0, 7, 10):
        one = loads(system, q[n], u[n], 0.4)
        np.testing.assert_allclose(batch.tau[n], one.tau, rtol=0, atol=1e-12 * np.abs(one.tau).max())
        np.testing.assert_allclose(batch.ledger[n], one.ledger, rtol=0, atol=1e-12 * np.abs(one.ledger).max())


@pytest.mark.parametrize("turns", [-1, 0, 2])
def test_angles_are_taken_next_to_what_a_force_pulls_them_to(turns):
    """A hinge that is cut does not count its turns, so a servo may ask for any: it pulls the short way."""
    model = wt.Model("wheel", gravity=(0, 0, 0))
    model.body("wheel", mass=1.0, inertia=(1, 1, 1))
    model.joint("axle", "revolute", "ground", "wheel")
    hinge = model.joint("again", "revolute", "ground", "wheel", stiffness=2.0, rest=3.0 + 2 * np.pi * turns)
    model.force("servo", "motor", joint="again", position=3.1 + 2 * np.pi * turns, kp=10.0)
    system = model.compile()
    for angle in (2.9, 2.9 - 2 * np.pi, -3.1):  # the last is beyond half a turn from zero, but near 3.1
        short = angle if angle > 0 else angle + 2 * np.pi
        expected = 2.0 * (3.0 - short) + 10.0 * (3.1 - short)
        np.testing.assert_allclose(wt.applied_force(system, [angle], [0.0]), [expected], atol=1e-13)
    hinge.stiffness, hinge.limits = 0.0, wt.Limits(lower=2.0, upper=4.0, stiffness=5.0)
    model.forces.clear()
    stopped = model.compile()
    for angle, expected in ((3.5, 0.0), (3.5 - 2 * np.pi, 0.0), (1.9, 0.5), (4.2 - 2 * np.pi, -1.0)):
        np.testing.assert_allclose(wt.applied_force(stopped, [angle], [0.0]), [expected], atol=1e-13)


def test_robot_files_do_not_let_cut_joints_resist_unasked():
    model = bar_with_everything()
    model.forces.clear()
    model.passive = False
    system = model.compile()
    assert not system.forces.any


def test_what_needs_a_joint_of_the_tree_says_so():
    model = four_bar()
    model.constraint("mesh", "gear", joint="pivot", of="pin", ratio=2.0)
    with pytest.raises(wt.ModelError, match=r"constraint 'mesh': joint 'pivot' \(revolute\) closes a loop") as caught:
        model.compile()
    assert caught.value.expected == "joints of the tree, whose turns are counted"
    assert caught.value.hint == "write this joint before the others of its loop, so that another one is cut"
    first(model, "pivot").compile()


def test_a_rotor_on_a_cut_joint_is_warned_about():
    model = four_bar()
    model.joints["pivot"].armature = 0.1
    with pytest.warns(ModelWarning, match="the armature of 'pivot', where loops are cut, does not act; write"):
        model.compile()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first(model, "pivot").compile()
