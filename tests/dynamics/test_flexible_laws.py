"""Flexible bodies: conservation laws, beams of P10, entering a body at any node, loops, limits, and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import eigh

import whippletree as wt
from test_flexible import CLOSE, random_modes, relative
from whippletree_lab.reproduce.problems import case

P10 = case("P10")
BEAM, KNOWN = P10["model"], P10["reference"]
LOOPS = ("reduction", "multipliers", "nullspace")


def planar_beam(plane="bending_y", elements=6):
    """The beam of P10: bending in one plane, along y or along z, without rotary inertia."""
    area = 1e-2
    E = 1e12  # so thin a section that its own inertia is nothing, as in the table
    I = BEAM["EI"] / E
    return wt.beam(
        BEAM["L"], A=area, Iy=I, Iz=I, J=2 * I, E=E, nu=0.3, rho=BEAM["rhoA"] / area, rotary=False, deforms=[plane],
        elements=elements, degree=7,
    )  # fmt: skip


def hub_and_beam(modes, hub=None, tip=0.0):
    model = wt.Model("hub and beam", gravity=(0, 0, 0))
    inertia = BEAM["hub_inertia"] if hub is None else hub
    model.body("hub", mass=1.0, inertia=(inertia, inertia, inertia))
    model.joint("pivot", "revolute", "ground", "hub", axis="z")
    model.flexible("beam", modes)
    model.joint("clamp", "fixed", "hub", "beam")
    if tip:
        model.body("payload", mass=tip)
        model.joint("grip", "fixed", "beam/tip", "payload")
    model.frame("end", "beam/tip")
    return model.compile()


@pytest.mark.parametrize("tip", BEAM["tip_mass_options"])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_coupled_frequencies_of_hub_and_beam(tip, count):
    system = hub_and_beam(planar_beam().modes(count=count), tip=tip)
    known = KNOWN["truncated_clamped_modes"][f"galerkin_Jh50_mt{tip}_n{count}"]
    K = np.zeros((system.nu, system.nu))
    K[1:, 1:] = system.flexible.bodies["beam"].modes.K
    found = np.sqrt(np.abs(eigh(K, wt.mass_matrix(system, system.q0), eigvals_only=True)[1:]))
    np.testing.assert_allclose(found, known, rtol=P10["tolerance"]["truncated_rel"])


def test_hub_turns_under_a_step_of_torque():
    system = hub_and_beam(planar_beam().modes(count=3))
    known = KNOWN["hub_step_torque_0p1Nm"]["three_clamped_modes_theta_and_tip_y"]
    run = wt.simulate(system, 5.0, tau={"pivot": 0.1}, output_step=0.5, rtol=1e-10, atol=1e-14)
    for t, (theta, y) in known.items():
        k = int(np.argmin(np.abs(run.t - float(t))))
        angle, moved = run["pivot.q"][k], run["end.position"][k, 1]
        turned = angle, moved + BEAM["L"] * (angle - np.sin(angle))  # the table is of small angles
        np.testing.assert_allclose(turned, (theta, y), rtol=P10["tolerance"]["step_rel"])


@pytest.mark.parametrize("plane", ["flap", "chord"])
def test_spin_stiffens_a_beam(plane):
    """About a steady spin the modes feel K + what centrifugal forces add, here as the slope of their bias force."""
    modes = planar_beam("bending_z" if plane == "flap" else "bending_y").modes(count=14, fidelity="stiffened")
    system = hub_and_beam(modes)
    rate = np.sqrt(BEAM["EI"] / BEAM["rhoA"]) / BEAM["L"] ** 2
    steps = 1e-4 * np.eye(system.nu)[1:]
    M = wt.mass_matrix(system, system.q0)[1:, 1:]
    for eta in ("2", "6", "12"):
        u = np.zeros(system.nu)
        u[0] = float(eta) * rate
        slope = [wt.bias_force(system, d, u)[1:] - wt.bias_force(system, -d, u)[1:] for d in steps]
        found = np.sqrt(eigh(np.array(slope) / 2e-4, M, eigvals_only=True)[:2]) / rate
        known = KNOWN["rotating_cantilever"][plane][eta][:2]
        np.testing.assert_allclose(found, known, rtol=P10["tolerance"]["rotating_rel"])


def test_without_stiffening_a_beam_softens_in_the_plane_of_spin():
    """The known error of "full": lambda^2 - eta^2 in the chord, and nothing in the flap."""
    rate = np.sqrt(BEAM["EI"] / BEAM["rhoA"]) / BEAM["L"] ** 2
    for plane, loss in (("bending_y", 1.0), ("bending_z", 0.0)):
        system = hub_and_beam(planar_beam(plane).modes(count=3))
        u = np.array([2 * rate, 0.0, 0.0, 0.0])
        steps = 1e-4 * np.eye(4)[1:]
        slope = [wt.bias_force(system, d, u)[1:] - wt.bias_force(system, -d, u)[1:] for d in steps]
        found = eigh(np.array(slope) / 2e-4, wt.mass_matrix(system, system.q0)[1:, 1:], eigvals_only=True)[0]
        still = KNOWN["rotating_cantilever"]["chord"]["0"][0]
        assert found / rate**2 == pytest.approx(still**2 - loss * 4.0, rel=1e-6)


def free_pair(rng, fidelity, damped=False):
    """Two flexible bodies and a rigid one, free in space."""
    model = wt.Model("free pair", gravity=(0, 0, 0))
    for name, count in (("a", 3), ("b", 2)):
        modes = random_modes(rng, count, fidelity)
        model.flexible(name, modes if damped else replace(modes, D=0 * modes.D))
    model.joint("root", "free", "ground", "a")
    model.joint("hinge", "revolute", "a/tip", "b", axis="y")
    model.body("load", mass=0.5, inertia=(0.1, 0.2, 0.15))
    model.joint("grip", "fixed", "b/n1", "load")
    return model.compile()


@pytest.mark.parametrize("fidelity", ["full", "stiffened"])
def test_free_flexible_bodies_keep_energy_and_momentum(fidelity):
    rng = np.random.default_rng(5)
    system = free_pair(rng, fidelity)
    q = system.q0.copy()
    q[system.q_index("a")], q[system.q_index("b")] = 0.1 * rng.normal(size=3), 0.1 * rng.normal(size=2)
    run = wt.simulate(system, 10.0, q=q, u=rng.normal(size=system.nu), rtol=1e-11, atol=1e-12)
    for name in ("energy", "momentum"):
        start = run[name][0]
        assert np.abs(run[name] - start).max() < 1e-8 * np.abs(start).max()
    assert run["energy.elastic"].max() > 0.01 * run["energy"][0]  # the modes took part


def test_damping_of_modes_is_in_the_account():
    rng = np.random.default_rng(6)
    system = free_pair(rng, "full", damped=True)
    run = wt.simulate(system, 2.0, u=rng.normal(size=system.nu), rtol=1e-9)
    assert run["energy"][-1] < 0.99 * run["energy"][0]
    assert np.abs(run["energy.balance"]).max() < 1e-7 * run["energy"][0]


@pytest.mark.parametrize("fidelity", ["ruthless", "full"])
def test_a_body_may_be_entered_at_any_node(fidelity):
    """The same free modes, seen from the node where the tree enters: by hand, and found by the topology."""
    beam = wt.beam(1.0, section="rectangle", width=0.02, height=0.03, elements=3, degree=4)
    systems = []
    for inboard in ("base", "tip"):
        model = wt.Model("entered")
        model.flexible("bar", beam.modes(kind="free", count=4, inboard=inboard, fidelity=fidelity))
        model.joint("hinge", "revolute", "ground", "bar/tip", axis="y")
        model.body("load", mass=0.3, inertia=(1e-3, 1e-3, 1e-3))
        model.joint("pin", "revolute", "bar/base", "load", axis="x")
        systems.append(model.compile())
    rng = np.random.default_rng(2)
    q, u, tau = 0.01 * rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)
    assert [s.flexible.bodies["bar"].modes.inboard for s in systems] == ["tip", "tip"]
    udot = [wt.forward_dynamics(s, q, u, tau) for s in systems]
    assert relative(udot[0], udot[1]) < 1e-8  # modes are scaled by what an eigenvalue solver leaves
    ends = [wt.kinematics(s, q).position("load") for s in systems]
    assert relative(ends[0], ends[1]) < 1e-8


def four_bar(fidelity, count=3):
    section = {"section": "rectangle", "width": 0.02, "height": 0.03, "deforms": ["axial", "bending_z"]}
    modes = wt.beam(1.0, **section, elements=3, degree=4).modes(count=count, fidelity=fidelity, damping=0.01)
    model = wt.Model("flexible four-bar")
    model.body("crank", mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    model.joint("a", "revolute", "ground", "crank", axis="y")
    model.flexible("coupler", modes)
    model.joint("b", "revolute", "crank", "coupler", axis="y", at=(0.4, 0, 0))
    model.flexible("rocker", modes)
    model.joint("c", "revolute", "coupler/tip", "rocker", axis="y")
    model.joint("d", "revolute", "rocker/tip", "ground", axis="y", child_at=(1.0, 0, 0))
    return model.compile()


@pytest.mark.parametrize("fidelity", ["ruthless", "full", "stiffened"])
def test_loops_of_flexible_bodies(fidelity):
    system = four_bar(fidelity)
    rng = np.random.default_rng(4)
    deformed = {"a": 0.8, "coupler": 2e-3 * rng.normal(size=3), "rocker": 2e-3 * rng.normal(size=3)}
    state = wt.assemble(system, q=deformed, u={"a": 1.0, "coupler": rng.normal(size=3)})
    np.testing.assert_allclose(state.q[system.q_index("coupler")], deformed["coupler"], atol=1e-12)
    tau = rng.normal(size=system.nu)
    found = {a: wt.forward_dynamics(system, state.q, state.u, tau, algorithm=a) for a in LOOPS}
    assert relative(found["reduction"], found["nullspace"]) < CLOSE
    assert relative(found["multipliers"], found["nullspace"]) < CLOSE
    lanes = (np.tile(x, (3, 1)) for x in (state.q, state.u, tau))
    assert relative(wt.forward_dynamics(system, *lanes, algorithm="reduction")[1], found["reduction"]) < CLOSE


def test_a_loop_of_flexible_bodies_moves():
    system = four_bar("full")
    start = wt.assemble(system, q={"a": 0.8}).q
    run = wt.simulate(system, 0.2, q=start)
    assert not start[system.q_index("coupler")].any()  # assembled by its joints
    assert run.attrs["algorithm"] == "reduction"
    assert run["closure"].max() < 1e-10
    scale = np.ptp(run["energy.potential"])
    assert (
        np.abs(run["energy.balance"]).max() < 1e-5 * scale
    )  # rtol 1e-8 over some hundred periods of the stiffest mode
    assert np.abs(run["coupler.q"]).max() > 1e-6


def test_loads_of_joints_hold_what_flexible_bodies_need():
    """Along its DOF a joint carries the force that drives it, whatever flexible bodies are beyond it."""
    rng = np.random.default_rng(8)
    model = wt.Model("arm")
    model.flexible("arm", random_modes(rng, 3, "stiffened"))
    model.joint("shoulder", "revolute", "ground", "arm", axis="y")
    model.body("load", mass=0.7, inertia=(0.1, 0.1, 0.1))
    model.joint("wrist", "revolute", "arm/tip", "load", axis="x")
    system = model.compile()
    q, u, tau = 0.1 * rng.normal(size=system.nu), rng.normal(size=system.nu), rng.normal(size=system.nu)
    loads = wt.reactions(system, q, u, tau)
    for joint in ("shoulder", "wrist"):
        assert loads.along(joint)[0] == pytest.approx(tau[system.u_index(joint)][0], rel=1e-9)


def test_stiff_bodies_move_as_rigid_ones():
    """The slowest frequency of a hinged beam in gravity tends to that of a rigid bar, as 1 / stiffness."""
    errors = []
    for E in (1e9, 1e10):
        beam = wt.beam(1.0, section="rectangle", width=0.02, height=0.02, E=E, rho=1000.0, elements=2, degree=4)
        model = wt.Model("bar")
        model.flexible("bar", beam.modes(count=4))
        model.joint("hinge", "revolute", "ground", "bar", axis="y")
        system = model.compile()
        hanging = np.concatenate([[np.pi / 2], np.zeros(4)])
        steps = 1e-5 * np.eye(5)
        slope = [
            wt.bias_force(system, hanging + d, np.zeros(5)) - wt.bias_force(system, hanging - d, np.zeros(5))
            for d in steps
        ]
        K, M = np.array(slope) / 2e-5, wt.mass_matrix(system, hanging)
        found, rigid = eigh(K, M, eigvals_only=True)[0], K[0, 0] / M[0, 0]
        errors.append(1.0 - found / rigid)
    assert 0.0 < errors[0] < 1e-3
    assert errors[1] == pytest.approx(0.1 * errors[0], rel=0.05)


# ---------------------------------------------------------------- what is refused, and what is said


def small_model():
    model = wt.Model("small")
    model.flexible("arm", random_modes(np.random.default_rng(1), 2, "full"))
    return model


def test_inverse_dynamics_says_when_modes_cannot_move_so():
    model = small_model()
    model.joint("hinge", "revolute", "ground", "arm", axis="y")
    system = model.compile()
    udot = wt.forward_dynamics(system, system.q0, np.zeros(3), [1.0, 0, 0])
    np.testing.assert_allclose(
        wt.inverse_dynamics(system, system.q0, np.zeros(3), udot, actuated=["hinge"]), [1.0, 0, 0], atol=1e-9
    )
    with pytest.raises(wt.ModelError, match="cannot drive the motion of 'small'") as caught:
        wt.inverse_dynamics(system, system.q0, np.zeros(3), [0.0, 1.0, 0.0], actuated=["hinge"])
    assert "at 'arm'" in caught.value.got


def test_nodes_that_nothing_names_are_left_out():
    model = small_model()
    model.joint("hinge", "revolute", "ground", "arm", axis="y")
    system = model.compile()
    with pytest.raises(wt.ModelError, match="node 'arm/tip' is not used in 'small'") as caught:
        wt.kinematics(system, system.q0).position("arm/tip")
    assert "m.frame" in caught.value.hint
    np.testing.assert_allclose(
        wt.kinematics(system, system.q0).position("arm/base"), model.flexibles["arm"].modes.r[0], atol=1e-15
    )


def test_a_joint_has_another_name_than_a_flexible_body():
    model = small_model()
    model.joint("arm", "revolute", "ground", "arm", axis="y")
    with pytest.raises(wt.ModelError, match="joint 'arm' has the name of a flexible body"):
        model.compile()


def test_welds_over_two_nodes_are_cut_or_refused():
    model = small_model()
    model.joint("left", "fixed", "ground", "arm")
    model.joint("right", "fixed", "ground", "arm/tip")
    system = model.compile()
    assert system.cut_joints == ("right",)
    model = small_model()
    model.flexible("other", random_modes(np.random.default_rng(2), 2, "full"))
    model.joint("hinge", "revolute", "ground", "arm", axis="y")
    model.joint("one", "fixed", "arm/tip", "other")
    model.joint("two", "fixed", "arm/n1", "other/tip")
    with pytest.raises(wt.ModelError, match="are welded to what the tree has reached") as caught:
        model.compile()
    assert "a joint that moves" in caught.value.hint


def test_loops_over_two_nodes_of_one_body_are_reduced():
    model = small_model()
    model.joint("hinge", "revolute", "ground", "arm", axis="y")
    for name, node in (("from", "arm/n1"), ("to", "arm/tip")):
        model.frame(name, node)
    at = wt.kinematics(model.compile(), [0.0, 0.0, 0.0])
    length = float(np.linalg.norm(at.position("to") - at.position("from")))
    model.body("strut", mass=0.2, com=(0.1, 0, 0), inertia=(1e-3, 1e-3, 1e-3))
    model.joint("ball", "spherical", "arm/n1", "strut")
    model.constraint("rod", "distance", body="strut", to="arm/tip", length=length)  # says nothing new
    model.joint("tie", "spherical", "strut", "arm/tip", at=(length, 0, 0))
    system = model.compile()
    assert "loops of nodes" in system.features
    state = wt.assemble(system)
    found = [wt.forward_dynamics(system, state.q, state.u, algorithm=name) for name in ("reduction", "multipliers")]
    np.testing.assert_allclose(*found, atol=1e-10)  # of some 10 rad/s^2; 6e-14 apart


def test_explain_tells_of_modes():
    text = hub_and_beam(planar_beam().modes(count=3)).explain()
    assert "flexible   beam: 3 cantilever modes, 3.798 to 66.64 rad/s, full; held at base, nodes tip" in text
    assert "joints     1 revolute" in text
