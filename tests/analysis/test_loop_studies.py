"""Studies of systems with loops and constraints: closed forms, energies of assembled poses, linear models, messages."""

import numpy as np
import pytest

import loop_zoo as loops
import whippletree as wt
from test_assemble import too_long
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.integrate.assemble import closed_pose
from zoo import four_bar

G = 9.81
# four-point differences of forces leave some 1e-12, closing and elimination of dependents take a few digits off
DIFFERENCES = 1e-8


def parallelogram(angle):
    return loops.n_four_bar(1, angle, 0.0)


# ---------------------------------------------------------------- closed forms


@pytest.mark.parametrize("n", [1, 5])
def test_a_ladder_swings_about_its_lower_pose(n):
    """Inertia (n + 1) / 3 + n and stiffness ((n + 1) / 2 + n) g: their ratio is 3 (3 n + 1) g / 2 (4 n + 1)."""
    system, q, _ = loops.n_four_bar(n, 2.9, 0.0)
    modes = wt.eigenmodes(system, q)
    assert modes.frequencies == pytest.approx([np.sqrt(3 * (3 * n + 1) * G / (2 * (4 * n + 1)))], rel=1e-9)
    assert modes.kinds == ["oscillates"]
    turn = {"foot": 1.0, "left": -1.0, "righ": 1.0}  # all cranks alike, couplers level
    shape = modes.shape(0)
    for joint in system.joints:
        assert shape[joint] / shape["foot0"] == pytest.approx([turn[joint[:4]]], abs=1e-9)
    assert modes.q[0] == pytest.approx(np.pi, abs=1e-9)
    upright = wt.eigenmodes(system, loops.n_four_bar(n, 0.1, 0.0)[1])
    assert upright.growth == pytest.approx(modes.frequencies, rel=1e-9)


def test_coupled_pendulums_swing_as_one():
    """q2 = r q1: (m1 l1 + r^2 m2 l2) g over I1 + r^2 I2."""
    model = wt.Model("geared")
    for k, (mass, long) in enumerate([(2.0, 0.5), (3.0, 0.8)], 1):
        model.body(f"bob{k}", mass=mass, com=(0, 0, -long), inertia=(0.01, 0.01, 0.01))
        model.joint(f"hinge{k}", "revolute", "ground", f"bob{k}", axis="y", at=(k, 0, 0))
    ratio = -0.5
    model.constraint("gears", "gear", joint="hinge2", of="hinge1", ratio=ratio)
    modes = wt.eigenmodes(model.compile())
    stiff = (2.0 * 0.5 + ratio**2 * 3.0 * 0.8) * G
    inertia = 2.0 * 0.25 + 0.01 + ratio**2 * (3.0 * 0.64 + 0.01)
    assert modes.frequencies == pytest.approx([np.sqrt(stiff / inertia)], rel=1e-9)
    assert modes.shape(0)["hinge2"] / modes.shape(0)["hinge1"] == pytest.approx([ratio], rel=1e-9)


def test_a_point_on_a_rod_without_mass_is_a_pendulum():
    model = wt.Model("rod")
    model.body("carriage", mass=1e-9, inertia=(0, 0, 0), idealized=True)
    model.body("bob", mass=1.3, inertia=(0, 0, 0), idealized=True)
    model.joint("across", "prismatic", "ground", "carriage", axis="x")
    model.joint("down", "prismatic", "carriage", "bob", axis="z", damping=0.0)
    model.constraint("rod", "distance", body="bob", to_at=(0, 0, 0), length=0.7)
    found = wt.equilibrium(model.compile(), {"across": 0.1, "down": -0.5})
    assert found.q == pytest.approx([0.0, -0.7], abs=1e-9)
    assert found.stable
    modes = wt.eigenmodes(found.system, found.q)
    assert modes.frequencies == pytest.approx([np.sqrt(G / 0.7)], rel=1e-6)  # the carriage weighs 1e-9


def energies(system, q, joint, h=2e-3):
    """V'' and 2 T / u^2 of a mechanism with one DOF, from energies of poses that were assembled."""
    kept = np.zeros(system.nu, bool)
    kept[system.u_index(joint)] = True
    poses = [closed_pose(system, q + k * h * kept, kept) for k in range(-2, 3)]
    V = [wt.energy(system, pose, np.zeros(system.nu)).total for pose in poses]
    moving = wt.assemble(system, q, {joint: 1.0})
    curvature = (-V[0] + 16 * V[1] - 30 * V[2] + 16 * V[3] - V[4]) / (12 * h * h)
    return curvature, 2 * wt.energy(system, moving.q, moving.u).kinetic


@pytest.mark.parametrize(("name", "joint"), [("bricard", "q1"), ("four_bar", "shaft"), ("slider_crank", "shaft")])
def test_one_dof_swings_by_its_energies(name, joint):
    """omega^2 = V'' / (2 T / u^2); second differences of V leave about 1e-9 / h^2 of rounding."""
    system, q, _ = loops.MECHANISMS[name]()
    rest = wt.equilibrium(system, q)
    assert rest.stable
    modes = wt.eigenmodes(system, rest.q)
    curvature, inertia = energies(system, rest.q, joint)
    assert modes.frequencies == pytest.approx([np.sqrt(curvature / inertia)], rel=1e-5)


# ---------------------------------------------------------------- equilibrium


def test_a_held_joint_bears_what_the_weight_wants():
    """dV/dangle by poses that were assembled."""
    system = four_bar().compile()
    held = wt.equilibrium(system, {"shaft": 0.5}, fixed=["shaft"])
    h = 1e-4
    V = [wt.energy(system, wt.assemble(system, {"shaft": 0.5 + k * h}).q, np.zeros(3)).potential for k in (-1, 1)]
    assert held.q[0] == 0.5
    assert held.tau[0] == pytest.approx((V[1] - V[0]) / (2 * h), rel=1e-6)
    assert np.abs(held.tau[1:]).max() == 0.0
    assert wt.equilibrium(system, held.q, held.tau).iterations == 0
    udot = wt.forward_dynamics(system, held.q, np.zeros(3), held.tau)
    assert np.abs(udot).max() < 1e-9


def test_an_open_start_is_closed_and_redundant_joints_change_nothing():
    model = four_bar()
    once = wt.equilibrium(model.compile())  # q = 0 is open
    assert once.stable
    assert np.abs(rows_of(once.system, once.q, np.zeros(3)).g).max() < 1e-12
    model.joint("pivot_again", "revolute", "ground", "rocker", axis="y", at=(0.7, 0, 0))
    twice = model.compile()
    assert wt.equilibrium(twice).q == pytest.approx(once.q, abs=1e-9)
    frequencies = [wt.eigenmodes(s, once.q).frequencies[0] for s in (once.system, twice)]
    assert frequencies[1] == pytest.approx(frequencies[0], rel=1e-9)


def test_joints_that_are_named_are_where_the_search_starts_if_they_can():
    system = four_bar().compile()
    other = wt.equilibrium(system, {"shaft": -2.0})
    assert other.residual < 1e-10
    far = wt.equilibrium(system, {"wrist": 3.0})  # farther than the rocker swings
    assert far.residual < 1e-10
    assert np.abs(rows_of(system, far.q, np.zeros(3)).g).max() < 1e-12


def test_modes_of_many_dofs_are_the_poles_of_the_linear_model():
    system, q, _ = loops.leg()  # springs, motors, a loop with a ball and a universal joint on a body that moves
    modes = wt.eigenmodes(system, q)
    poles = wt.linearize(system, modes.q).poles
    assert len(modes) == 4
    assert np.sort_complex(poles[poles.imag > 0]) == pytest.approx(np.sort_complex(modes.poles), rel=1e-7)
    C = rows_of(system, modes.q, np.zeros(system.nu)).C
    for shape in modes.shapes:
        assert np.abs(C @ shape).max() < 1e-10


# ---------------------------------------------------------------- linear models


@pytest.mark.parametrize("name", ["four_bar", "slider_crank"])
def test_A_is_the_slope_of_accelerations_of_assembled_states(name):
    """About a state that moves and is not steady; two-point differences of 1e-5 leave some 1e-8 of udot / h."""
    system, q, u = loops.MECHANISMS[name]()
    linear = wt.linearize(system, q, u)
    joints = [state.removesuffix(".q") for state in linear.names.states[:1]]
    assert linear.names.states == (f"{joints[0]}.q", f"{joints[0]}.u")
    assert linear.A[0].tolist() == [0.0, 1.0]
    h = 1e-5

    def near(x):
        q_, u_ = q + linear.motion[:3] @ x, u + linear.motion[3:] @ x
        state = wt.assemble(system, q_, u_)
        off = np.array([state.q - q, state.u - u])[:, system.u_index(joints[0])].ravel()
        return off, wt.forward_dynamics(system, state.q, state.u)[system.u_index(joints[0])]

    for k in range(2):
        (ahead, up), (behind, down) = near(h * np.eye(2)[k]), near(-h * np.eye(2)[k])
        assert ahead - behind == pytest.approx(2 * h * np.eye(2)[k], abs=1e-8 * (1 + np.abs(u).max()))
        assert (up - down) / (2 * h) == pytest.approx(linear.A[1:, k], rel=1e-3, abs=1e-4 * np.abs(linear.A).max())


def test_B_and_outputs_are_those_of_small_forces_and_motions():
    system, q, _ = loops.MECHANISMS["stewart"]()
    q = system.q0.copy()
    linear = wt.linearize(
        system, q, outputs=["platform.position", "slide0.udot", "slide0.q"], inputs=["slide0"], hold=True
    )
    assert linear.A.shape == (12, 12)
    assert linear.motion.shape == (2 * system.nu, 12)
    assert np.abs(linear.udot).max() < 1e-9
    push = np.zeros(system.nu)
    push[system.u_index("slide0")] = 1e-3
    udot = wt.forward_dynamics(system, q, np.zeros(system.nu), linear.tau + push) - linear.udot
    row = linear.names.outputs.index("slide0.udot")
    assert linear.D[row, 0] == pytest.approx(udot[system.u_index("slide0")][0] / 1e-3, rel=1e-8)
    velocities = linear.motion[: system.nu, 0].copy()  # the motion that belongs to the first coordinate
    assert np.abs(rows_of(system, q, velocities).rate).max() < 1e-10
    velocity = wt.kinematics(system, q, velocities).velocity("platform")[3:]
    assert linear.C[:3, 0] == pytest.approx(velocity, abs=DIFFERENCES)
    assert linear.C[-1, :6] == pytest.approx(linear.motion[system.u_index("slide0"), :6][0], abs=1e-12)


def test_velocities_that_are_not_named_follow():
    system, q, u = loops.four_bar(1.0, 3.0)
    linear = wt.linearize(system, q, {"shaft": 3.0}, hold=True)
    assert linear.u == pytest.approx(u, abs=1e-9)
    independent = linear.names.states[0].removesuffix(".q")
    assert linear.udot[system.u_index(independent)] == pytest.approx([0.0], abs=1e-9)  # its speed is held


# ---------------------------------------------------------------- messages


def truss():
    """Three bars, hinged to a triangle on ground: nothing moves."""
    model = wt.Model("truss")
    for name in ("a", "b"):
        model.body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    model.joint("left", "revolute", "ground", "a", axis="y")
    model.joint("top", "revolute", "a", "b", axis="y", at=(1.0, 0, 0))
    model.joint("right", "revolute", "ground", "b", axis="y", at=(1.0, 0, 0), child_at=(1.0, 0, 0))
    return model


def test_a_locked_mechanism_says_so():
    system = truss().compile()
    state = wt.assemble(system, {"left": -1.0})
    for study in (wt.eigenmodes, wt.linearize):
        with pytest.raises(wt.ModelError, match="'truss' has no degree of freedom left"):
            study(system, state.q)
    assert wt.equilibrium(system, state.q).stable
    with pytest.warns(match="'truss' is locked: its loops and constraints \\('right'\\) leave no degree of freedom"):
        run = wt.simulate(system, 0.1, q=state.q, output_step=0.05)
    assert np.ptp(run.q, axis=0).max() < 1e-12


@pytest.mark.parametrize(
    ("call", "kind", "reported"),
    [
        (lambda: wt.equilibrium(too_long().compile()), wt.ModelError, "the loop that joint 'pivot' closes cannot be"),
        (
            lambda: wt.equilibrium(four_bar().compile(), {"shaft": 0.1, "pin": 3.0}, fixed=["shaft", "pin"]),
            wt.ModelError,
            "cannot be closed with 'shaft', 'pin' held",
        ),
        (
            lambda: wt.equilibrium(four_bar().compile(), tau={"shaft": 100.0}),
            wt.WhippletreeError,
            "equilibrium",
        ),
        (lambda: wt.linearize(four_bar().compile()), wt.ModelError, "the start of 'four bar' is not closed"),
        (
            lambda: wt.linearize(four_bar().compile(), tau=[1.0, 0, 0], hold=True),
            wt.ModelError,
            "hold and tau exclude each other",
        ),
        (
            lambda: wt.linearize(parallelogram(np.pi / 2)[0], parallelogram(np.pi / 2)[1]),
            wt.SimulationError,
            "lose rank at this pose: its motions branch there",
        ),
    ],
)
def test_what_cannot_be_is_reported(call, kind, reported):
    with pytest.raises(kind, match=reported):
        call()
