"""Loads of joints and constraints: Newton's law for every body, closed forms, published numbers, what is not unique."""

from decimal import localcontext
from itertools import count

import numpy as np
import pytest

import reference_forces
import whippletree as wt
from loop_reference import DIGITS, LoopReference, exact, floats, solve, vee
from loop_zoo import FAMILIES, MECHANISMS, random_loops
from test_forces import loaded
from whippletree.dynamics.constraints.forces import multipliers_of
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.errors import ModelError
from whippletree.model import JOINT_KINDS, Motion
from whippletree.model.forces import Motor
from whippletree_lab.reproduce.loop_problems import andrews, n_four_bar
from whippletree_lab.reproduce.problems import case
from zoo import random_state

G = 9.81
LOOPS = [name for name, module in wt.ALGORITHMS.items() if "loops" in module.SUPPORTS]


# ---------------------------------------------------------------- Newton's law


def dofs(joint, k):
    """Whether it turns, and the axis in the world, of every DOF of a joint, as docs/notation.md says."""
    A, B = k.rotation(joint.parent) @ joint.at.rotation(), k.rotation(joint.child) @ joint.child_at.rotation()
    axis = A @ joint.axis
    if joint.kind == "universal":
        second = np.array(joint.axis2) - np.array(joint.axis) * np.dot(joint.axis, joint.axis2)
        return [(True, axis), (True, B @ (second / np.linalg.norm(second)))]
    if joint.kind == "planar":
        from whippletree.system.joint_frames import in_plane_axes

        x, y, z = (A @ in_plane_axes(joint.axis)).T
        return [(False, x), (False, y), (True, z)]
    turning = {"revolute": [True], "prismatic": [False], "screw": [True], "cylindrical": [True, False], "fixed": []}
    if joint.kind in turning:
        return [(turns, axis) for turns in turning[joint.kind]]
    both = [(True, B[:, n]) for n in range(3)] + [(False, B[:, n]) for n in range(3)]
    return both[: JOINT_KINDS[joint.kind][1]]


def whole(joint, k, loads):
    """All that a joint does to its child: what holds it, and what acts along its DOF."""
    total = loads[joint.name].copy()
    for (turns, axis), force in zip(dofs(joint, k), loads.along(joint.name), strict=True):
        total += force * np.concatenate([axis, 0 * axis] if turns else [0 * axis, axis])
    return total


def with_plain_axes(family, *seed):
    """Random loops whose joints have axes that :func:`dofs` knows: not those of curves and homokinetic joints."""
    for n in count():
        try:
            drawn = random_loops(np.random.default_rng([*seed, n]), family)
        except wt.ModelError:  # a curve would close the loop
            continue
        if not {joint.kind for joint in drawn[0].model.joints.values()} & {"curve", "homokinetic"}:
            return drawn


def lacking(system, q, u, loads, udot):
    """(bodies, 6) rate of momentum about the centre of mass, less all forces; each with the size of what is summed."""
    model, k = system.model, wt.kinematics(system, q, u)
    acting = [(j.parent, j.child, whole(j, k, loads), loads.point(j.name)) for j in model.joints.values()]
    for c in model.constraints.values():
        if hasattr(c, "body"):
            acting.append((c.to, c.body, loads[c.name], loads.point(c.name)))
    with localcontext(prec=DIGITS):
        reference = LoopReference(model, system, q, u)
        rates = exact(udot)
        for body in model.bodies.values():
            R, r = reference.places[body.name]
            c, spin = r + R @ exact(body.com), vee(R.d @ R.x.T)
            J, w = R.x @ exact(body.inertia) @ R.x.T, spin[-1]
            alpha = vee(R.dd @ R.x.T) + spin[:-1].T @ rates
            force = body.mass * (floats(c.dd + c.d[:-1].T @ rates) - np.array(model.gravity))
            torque = floats(J @ alpha) + np.cross(floats(w), floats(J @ w))
            left, size = np.concatenate([torque, force]), np.abs([*torque, *force]).max()
            for first, second, wrench, at in acting:
                for name, sign in ((first, -1.0), (second, 1.0)):
                    if name == body.name:
                        lever = np.cross(at - floats(c.x), wrench[3:])
                        left -= sign * np.concatenate([wrench[:3] + lever, wrench[3:]])
                        size = max(size, np.abs(wrench).max())
            yield body.name, left, size


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_every_body_moves_as_its_loads_say(family, seed):
    """Mass times acceleration of each, in 50 digits, is the sum of what acts on it; for given joint accelerations."""
    system, q, u, tau = with_plain_axes(family, seed, 78)
    udot = wt.forward_dynamics(system, q, u, tau)
    loads = wt.reactions(system, q, u, tau)
    for name, left, size in lacking(system, q, u, loads, udot):
        assert np.abs(left).max() < 1e-9 * (1 + size), name


@pytest.mark.parametrize("family", FAMILIES)
def test_multipliers_equal_the_reference(family):
    """What all constraints do along each DOF, against the solve in 50 digits, for each unit of conditioning."""
    system, q, u, tau = random_loops(np.random.default_rng([4, 78]), family)
    answer = solve(system.model, system, q, u, tau)
    held = multipliers_of(system, q, u, wt.forward_dynamics(system, q, u, tau), tau)
    size = 1 + np.abs(answer.force).max() + np.abs(held.rest).max()
    assert np.abs(held.lam @ rows_of(system, q, u).C - answer.force).max() < 1e-12 * size * answer.conditioning
    assert held.idle.size + held.null.shape[1] == system.constraints.count - answer.rank


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_but_joint_forces_acts_along_dofs(family):
    """Constraint forces do no work: what arrives along a DOF is tau less what its rotor takes."""
    system, q, u, tau = with_plain_axes(family, 11, 78)
    loads, udot = wt.reactions(system, q, u, tau), wt.forward_dynamics(system, q, u, tau)
    k, size = wt.kinematics(system, q, u), 1 + max(np.abs(x).max() for x in loads.values())
    tied = {getattr(c, key, None) for c in system.model.constraints.values() for key in ("joint", "of")}
    for name, joint in system.model.joints.items():
        if name in system.joints and name not in tied:
            rows = system.u_index(name)
            assert np.abs(loads.along(name) - tau[rows] + joint.armature * udot[rows]).max() < 1e-9 * size
        if name in system.cut_joints:
            assert np.abs(loads.along(name)).max(initial=0.0) < 1e-9 * size
        for turns, axis in dofs(joint, k):
            load = loads[name][:3] if turns else loads[name][3:]
            pitch = joint.pitch * loads[name][3:] @ axis if joint.kind == "screw" else 0.0
            assert abs(load @ axis + pitch) < 1e-10 * size


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_algorithms_agree_on_loads(mechanism):
    system, q, u = MECHANISMS[mechanism]()
    able = [name for name in LOOPS if system.features <= wt.ALGORITHMS[name].SUPPORTS]
    first, *others = [wt.reactions(system, q, u, algorithm=name) for name in able]
    size = max(np.abs(x).max() for x in first.values())
    assert len(others) == (2 if "flexible" in system.features else 3)
    for other in others:
        for name in first:  # accelerations agree to 1e-9
            assert np.abs(first[name] - other[name]).max() < 1e-8 * size


# ---------------------------------------------------------------- forces of the model


@pytest.mark.parametrize("seed", range(4))
def test_loads_know_all_forces_of_the_model(seed):
    """Trees with welds and a force of every kind: what acts along each DOF is what drives it."""
    system, rng = loaded(seed)
    q, u, tau = random_state(system, rng)
    given = {"body2": rng.normal(size=6)}
    t = 0.25
    udot = wt.forward_dynamics(system, q, u, tau, wrenches=given, t=t)
    loads = wt.reactions(system, q, u, tau, wrenches=given, t=t)
    expected = tau + reference_forces.passive(system, q, u)
    for force in system.model.forces.values():
        if isinstance(force, Motor):
            expected += reference_forces.joint_force(system, force, q, u, t)
        if isinstance(force, Motion):
            expected[system.u_index(force.joint).start + force.dof] += loads.motions[force.name]
    for name in system.joints:
        rows = system.u_index(name)
        arrives = expected[rows] - system.model.joints[name].armature * udot[rows]
        # the rate of a motor's position is a difference in the reference
        np.testing.assert_allclose(loads.along(name), arrives, rtol=0, atol=1e-7 * (1 + np.abs(expected).max()))


def test_a_weld_carries_what_is_beyond_it():
    model = wt.Model("bracket")
    for name, mass in (("post", 3.0), ("arm", 2.0), ("tool", 1.0)):
        model.body(name, mass=mass, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    model.joint("base", "fixed", "post", "ground", child_at=(0.0, 0.0, 2.0))  # written towards ground
    model.joint("flange", "fixed", "post", "arm", at=(1, 0, 0))
    model.joint("wrist", "revolute", "arm", "tool", axis="y", at=(1, 0, 0))
    model.force("lamp", "wrench", body="arm", at=(1, 0, 0), force=(0, 0, -4.0))
    model.force("hold", "motion", joint="wrist")
    loads = wt.reactions(model.compile(), np.zeros(1), np.zeros(1))
    # the weights at 1.5 m and 2.5 m along x and the lamp at 2 m; a load down at x turns by +x F about y
    np.testing.assert_allclose(loads["flange"], [0, -(0.5 * 2 * G + 1.0 * 4 + 1.5 * G), 0, 0, 0, 3 * G + 4], atol=1e-12)
    np.testing.assert_allclose(loads["base"], [0, 1.5 * G + 3 * G + 8 + 2.5 * G, 0, 0, 0, -(6 * G + 4)], atol=1e-12)
    np.testing.assert_allclose(loads["wrist"], [0, 0, 0, 0, 0, G], atol=1e-12)
    np.testing.assert_allclose(loads.along("wrist"), [-0.5 * G], atol=1e-12)
    np.testing.assert_allclose(loads.motions["hold"], -0.5 * G, atol=1e-12)


def test_forces_of_a_cut_joint_are_not_in_its_reaction():
    """A wheel on two hinges, the second with a motor, a spring and a damper: all of it arrives along the axis."""
    model = wt.Model("wheel", gravity=(0, 0, 0))
    model.body("wheel", mass=1.0, inertia=(1, 1, 2))
    model.joint("axle", "revolute", "ground", "wheel", armature=0.5)
    model.joint("again", "revolute", "ground", "wheel", at=(0, 0, 1), child_at=(0, 0, 1), stiffness=3.0, damping=0.2)
    model.force("motor", "motor", joint="again", torque=5.0)
    loads = wt.reactions(model.compile(), [0.4], [1.5])
    torque = 5.0 - 3.0 * 0.4 - 0.2 * 1.5
    np.testing.assert_allclose(loads.along("again"), [torque], rtol=1e-13)
    np.testing.assert_allclose(loads.along("axle"), [-0.5 * torque / 2.5], rtol=1e-13)  # the rotor sits on the axle
    assert max(np.abs(loads[name]).max() for name in loads) < 1e-12


@pytest.mark.parametrize("joint", ["shaft", "pivot"])
def test_the_force_of_a_prescribed_motion_is_reported(joint):
    """On a joint of the tree and on the one that is cut: power in is the rate of the energy."""
    system, q, _ = MECHANISMS["four_bar"]()
    model = system.model
    value = {"shaft": 1.0, "pivot": -2.0}[joint]
    model.force("drive", "motion", joint=joint, position=wt.Sine(0.2, 0.6, 0.4, value))
    driven = model.compile()
    state = wt.assemble(driven, q)
    loads = wt.reactions(driven, state.q, state.u)
    h, rate = 1e-5, 0.2 * 1.2 * np.pi * np.cos(0.4)
    udot = wt.forward_dynamics(driven, state.q, state.u)
    energies = []
    for s in (-h, h):
        near = wt.advance(driven, state.q, s * state.u + s * s / 2 * udot)
        energies.append(wt.energy(driven, near, state.u + s * udot).total)
    # a difference of second order over 1e-5 s of energies of some J: 1e-10 / h
    assert loads.motions["drive"] * rate == pytest.approx((energies[1] - energies[0]) / (2 * h), abs=2e-5)
    np.testing.assert_allclose(loads.along(joint), [loads.motions["drive"]], atol=1e-9)


# ---------------------------------------------------------------- closed forms and published numbers


def test_a_hanging_chain_carries_the_links_below():
    model = wt.Model("chain")
    near = "ground"
    for i, kind in enumerate(("spherical", "revolute", "universal", "spherical")):
        model.body(f"link{i}", mass=1.0 + i, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        axes = {"revolute": {"axis": "x"}, "universal": {"axis": "x", "axis2": "y"}}.get(kind, {})
        model.joint(f"joint{i}", kind, near, f"link{i}", **axes, at=(0, 0, -1.0 if i else 0.0))
        near = f"link{i}"
    system = model.compile()
    loads = wt.reactions(system, system.q0, np.zeros(system.nu))
    for i, weight in enumerate(G * np.array([10.0, 9.0, 7.0, 4.0])):
        np.testing.assert_allclose(loads[f"joint{i}"], [0, 0, 0, 0, 0, weight], atol=1e-12)
        np.testing.assert_allclose(loads.point(f"joint{i}"), [0, 0, -i])
    assert all(sure.all() for sure in loads.unique.values())


def test_an_upright_four_bar_shares_its_weight():
    """Two cranks of 1 kg under a coupler of 1 kg, at rest: half of it stands on each; the plane is x-y."""
    system, q, u = n_four_bar(1, 0.0, 0.0)
    loads = wt.reactions(system, q, u)
    for name, force in (("left1", 0.5), ("right1", -0.5), ("foot0", 1.5), ("foot1", 1.5)):
        np.testing.assert_allclose(loads[name], [0, 0, 0, 0, force * G, 0], atol=1e-12)


def test_andrews_published_multipliers():
    """Of the test set: minus the force on K2 in the common pin, where the other two bars are idle."""
    system, q, u = andrews()
    loads = wt.reactions(system, q, u)
    published = np.array(case("P02")["initial"]["lambda_published"])
    np.testing.assert_allclose(loads["pin2"][3:5], -published[:2], rtol=1e-9)
    for name in ("pin4", "pin6"):
        np.testing.assert_allclose(loads[name][3:5], [0, 0], atol=1e-9 * published[0])


# ---------------------------------------------------------------- what is not unique


def test_a_planar_four_bar_in_space_does_not_determine_reactions_out_of_its_plane():
    system, q, u = MECHANISMS["four_bar"]()
    loads = wt.reactions(system, q, u)
    for seen in (loads, loads.in_joint_axes()):  # hinges about y in both
        for name in system.model.joints:
            assert seen.unique[name].tolist() == [False, True, False, True, False, True], name
    text = str(loads)
    assert "shaft" in text
    assert "~" in text
    assert "not unique" in text
    assert "world axes" in text
    assert "the axes of the joint" in str(loads.in_joint_axes())


def test_shortest_multipliers_and_what_may_be_added():
    """Lateral gravity on a four-bar: loads differ from another solution by null multipliers alone, and are shorter."""
    system, q, u = MECHANISMS["four_bar"]()
    system.model.gravity = (0.0, 3.0, -9.81)
    tilted = system.model.compile()
    loads = wt.reactions(tilted, q, u)
    lateral = [loads[name][4] for name in ("shaft", "pivot")]
    # what both carry out of the plane is the whole weight, and the shortest multipliers let each joint carry some
    masses = sum(body.mass for body in tilted.model.bodies.values())
    assert lateral[0] + lateral[1] == pytest.approx(-3.0 * masses, rel=1e-12)
    assert not any(loads.unique[name][4] for name in ("shaft", "pivot"))
    held = multipliers_of(tilted, q, u, wt.forward_dynamics(tilted, q, u))
    null = np.concatenate([held.null, np.eye(5)[:, held.idle]], axis=1)
    assert null.shape == (5, 3)
    assert np.abs(rows_of(tilted, q, u).C.T @ null).max() < 1e-12
    assert np.abs(null.T @ held.lam).max() < 1e-12 * np.abs(held.lam).max()
    assert held.misfit < 1e-12


def test_where_only_some_loads_are_shared_the_others_are_unique():
    """A shaft in two bearings that carries a pendulum: the bearings do not tell who holds what, the pendulum does."""
    model = wt.Model("shaft")
    model.body("shaft", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.2))
    model.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    model.joint("near", "revolute", "ground", "shaft", axis="x")
    model.joint("far", "cylindrical", "ground", "shaft", axis="x", at=(1, 0, 0), child_at=(1, 0, 0))
    model.joint("pin", "revolute", "shaft", "bob", axis="y", at=(0.5, 0, 0))
    system = model.compile()
    loads = wt.reactions(system, np.array([0.2, 0.3]), np.array([1.0, 2.0]))
    assert loads.unique["pin"].all()
    assert loads.unique["near"].tolist() == [True, False, False, True, False, False]
    assert loads.unique["far"].tolist() == [True, False, False, True, False, False]
    assert "~" in str(loads)


# ---------------------------------------------------------------- shapes, axes and names


def test_a_batch_equals_single_states():
    system, _, _ = MECHANISMS["slider_crank"]()
    states = [wt.assemble(system, {"shaft": a}, {"shaft": 5.0}) for a in (0.2, 0.7, 1.1)]
    Q, U = np.array([s.q for s in states]), np.array([s.u for s in states])
    tau, push = np.random.default_rng(2).normal(size=(3, system.nu)), {"block": [0, 0, 0, 3.0, 0, 1.0]}
    batch = wt.reactions(system, Q, U, tau, wrenches=push)
    for n in range(3):
        one = wt.reactions(system, Q[n], U[n], tau[n], wrenches=push)
        for name in one:
            size = 1 + np.abs(one[name]).max()
            np.testing.assert_allclose(batch[name][n], one[name], rtol=0, atol=1e-10 * size)
            assert batch.unique[name][n].tolist() == one.unique[name].tolist()
            np.testing.assert_allclose(
                batch.in_joint_axes()[name][n], one.in_joint_axes()[name], rtol=0, atol=1e-10 * size
            )
    assert "4 of a batch of states" in str(batch)


def test_joint_axes_turn_with_the_child():
    system, q, u = MECHANISMS["four_bar"]()
    loads, k = wt.reactions(system, q, u), wt.kinematics(system, q)
    R = k.rotation("rocker")
    seen = loads.in_joint_axes()
    assert (loads.axes, seen.axes) == ("world", "joint")
    np.testing.assert_allclose(seen["pivot"][3:], R.T @ loads["pivot"][3:], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(seen["wrist"]), np.linalg.norm(loads["wrist"]), rtol=1e-13)


def test_couplings_and_gears_have_loads():
    """Two wheels with a ratio and a torque on the first: the second is driven by the gear alone."""
    model = wt.Model("gears", gravity=(0, 0, 0))
    for name in ("small", "large"):
        model.body(name, mass=1.0, inertia=(1.0, 1.0, 2.0 if name == "large" else 0.5))
        model.joint(f"{name}_axle", "revolute", "ground", name)
    model.couple("large_axle", "small_axle", ratio=-0.25)
    loads = wt.reactions(model.compile(), np.zeros(2), np.zeros(2), np.array([3.0, 0.0]))
    a = 3.0 / (0.5 + 2.0 / 16)
    np.testing.assert_allclose(loads["large_axle.coupling"], [0, 0, 2.0 * -a / 4, 0, 0, 0], atol=1e-13)
    np.testing.assert_allclose(loads.along("large_axle"), [2.0 * -a / 4], rtol=1e-13)
    np.testing.assert_allclose(loads.along("small_axle"), [0.5 * a], rtol=1e-13)


def test_loads_are_asked_for_by_name():
    system, q, u = MECHANISMS["four_bar"]()
    loads = wt.reactions(system, q, u)
    assert list(loads) == ["shaft", "pin", "wrist", "pivot"]
    assert len(loads) == 4
    assert "pin" in loads
    assert "pen" not in loads
    with pytest.raises(ModelError, match="'four bar' has no joint or constraint 'pen'") as caught:
        loads["pen"]
    assert "pin" in caught.value.hint


# ---------------------------------------------------------------- in results


def test_results_have_reactions_and_coordinates_of_all_joints():
    system, q, u = MECHANISMS["four_bar"]()
    run = wt.simulate(system, 0.2, q=q, u=u, tau={"shaft": 1.0}, output_step=0.1)
    for n in range(3):
        loads = wt.reactions(system, run.q[n], run.u[n], [1.0, 0, 0])
        for name in loads:
            np.testing.assert_allclose(
                run[f"{name}.reaction"][n], loads[name], rtol=0, atol=1e-9 * np.abs(loads[name]).max()
            )
    assert run.quantity("pivot.reaction").units == ("N m",) * 3 + ("N",) * 3
    np.testing.assert_allclose(run["pivot.reaction.Fz"], run["pivot.reaction"][:, 5])
    assert {"pivot.q", "pivot.u", "pivot.reaction", "shaft.reaction"} <= set(run.names())
    assert "pivot.udot" not in run
    k = wt.kinematics(system, run.q[1])
    R = k.rotation("rocker")
    assert run["pivot.q"][1] == pytest.approx(np.arctan2(-R[2, 0], R[0, 0]), abs=1e-13)  # a turn about y
    np.testing.assert_allclose(run["pivot.u"][1], run["rocker.velocity"][1, 1], atol=1e-13)


def test_a_result_that_does_not_know_its_joint_forces_says_so():
    system, q, u = MECHANISMS["four_bar"]()

    def push(t, q, u, tau):
        tau[0] = 1.0

    run = wt.simulate(system, 0.02, q=q, u=u, tau=push, output_step=0.01)
    with pytest.raises(ModelError, match="does not know the joint forces that were given to the run") as caught:
        run["pin.reaction"]
    assert caught.value.hint == "wt.reactions(system, q, u, tau) takes them"


def test_motors_have_the_unit_of_their_dof():
    model = wt.Model("tube")
    model.body("tube", mass=1.0, inertia=(1, 1, 1))
    model.joint("guide", "cylindrical", "ground", "tube")
    model.force("turn", "motor", joint="guide", dof=0, torque=1.0)
    model.force("push", "motor", joint="guide", dof=1, torque=1.0)
    system = model.compile()
    run = wt.Result(system, [0.0], [[0.0, 0.0]], [[0.0, 0.0]])
    assert run.quantity("turn.force").units == ("N m",)
    assert run.quantity("push.force").units == ("N",)
