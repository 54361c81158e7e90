"""Forward dynamics with constraints: against dense solves, also in 50 digits, each other, and laws.

A dense solve of [M C'; C 0] in doubles loses the conditioning of the reduced system times 1e-16; the models here are
conditioned to about 1e5 and tolerances are 1e-10, of 1e-9 where two algorithms with such errors are compared.
"""

import mpmath
import numpy as np
import pytest

import whippletree as wt
from closing import close, closed_chain, consistent_velocities
from whippletree.dynamics.constraints import nullspace
from whippletree.dynamics.constraints.jacobian import rows_of
from whippletree.dynamics.functions import tree_forces
from whippletree.model import JOINT_KINDS, Model
from zoo import LOOPS, MOVING, four_bar, random_model, random_state

BOTH = ("multipliers", "nullspace")


def dense(system, q, u, tau, t=0.0):
    """u' by least squares on the whole system of equations; of prescribed motions they are what is given."""
    rows, n = rows_of(system, q, u, t), system.nu
    M, f = wt.mass_matrix(system, q), tau - wt.bias_force(system, q, u, t=t)
    K = np.block([[M, rows.C.T], [rows.C, np.zeros((len(rows.g), len(rows.g)))]])
    return np.linalg.lstsq(K, np.concatenate([f, rows.gamma]), rcond=1e-12)[0][:n]


def error(a, b):
    return np.abs(a - b).max() / max(1.0, np.abs(b).max())


def coupled_loops(rng, bodies=14, cuts=3):
    """A branched tree with loops from bodies to their ancestors, of any kind and with any base."""
    model = random_model(rng, bodies, MOVING[:-1])
    tree = model.compile()
    q, parent = random_state(tree, rng)[0], tree.arrays["parent"]
    names = {tree.place(name)[0]: name for name in tree.bodies}
    kinds = [k for k in JOINT_KINDS if k not in ("fixed", "free", "curve")]
    for n in range(cuts):
        i = int(rng.integers(tree.nb // 2, tree.nb))
        above = [i]
        while above[-1]:
            above.append(int(parent[above[-1]]))
        base = above[int(rng.integers(min(2, len(above) - 1), len(above)))]
        close(model, q, f"cut{n}", str(rng.choice(kinds)), names[base], names[i], rng)
    system = model.compile()
    q = np.concatenate([q[tree.q_index(name)] for name in system.joints])
    return system, q, consistent_velocities(system, q, rng), 10 * rng.normal(size=system.nu)


@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("kind", [kind for kind in JOINT_KINDS if kind not in ("free", "curve")])
def test_a_loop_closed_by_any_kind_equals_the_dense_solve(kind, algorithm):
    rng = np.random.default_rng(61)
    system, q, u = closed_chain(kind, rng)
    tau = rng.normal(size=system.nu)
    got = wt.forward_dynamics(system, q, u, tau, algorithm=algorithm)
    assert error(got, dense(system, q, u, tau)) < 1e-10


@pytest.mark.parametrize("seed", range(12))
def test_coupled_loops_equal_the_dense_solve(seed):
    system, q, u, tau = coupled_loops(np.random.default_rng([67, seed]))
    expected = dense(system, q, u, tau)
    for algorithm in BOTH:
        assert error(wt.forward_dynamics(system, q, u, tau, algorithm=algorithm), expected) < 1e-9


@pytest.mark.parametrize("kind", ["revolute", "screw", "universal"])
def test_solution_in_50_digits(kind):
    """Of the equations as they are in doubles."""
    rng = np.random.default_rng(71)
    system, q, u = closed_chain(kind, rng)
    tau = rng.normal(size=system.nu)
    rows, n = rows_of(system, q, u), system.nu
    M, f = wt.mass_matrix(system, q), tau - wt.bias_force(system, q, u)
    K = np.block([[M, rows.C.T], [rows.C, np.zeros((len(rows.g), len(rows.g)))]])
    with mpmath.workdps(50):
        x = mpmath.lu_solve(mpmath.matrix(K.tolist()), mpmath.matrix(np.concatenate([f, rows.gamma]).tolist()))
        expected = np.array([float(v) for v in x[:n]])
    for algorithm in BOTH:
        assert error(wt.forward_dynamics(system, q, u, tau, algorithm=algorithm), expected) < 1e-10


@pytest.mark.parametrize("name", LOOPS)
def test_algorithms_agree_on_the_zoo(name):
    rng = np.random.default_rng(73)
    system = LOOPS[name]().compile()
    q = wt.assemble(system, 0.3 * rng.normal(size=system.nq)).q
    u, tau = consistent_velocities(system, q, rng), rng.normal(size=system.nu)
    a, b = (wt.forward_dynamics(system, q, u, tau, algorithm=algorithm) for algorithm in BOTH)
    assert error(a, b) < 1e-9
    assert error(a, dense(system, q, u, tau)) < 1e-9
    batch = wt.forward_dynamics(system, np.tile(q, (5, 1)), np.tile(u, (5, 1)), np.tile(tau, (5, 1)), threads=2)
    np.testing.assert_allclose(batch, np.tile(a, (5, 1)), rtol=1e-12, atol=1e-12 * np.abs(a).max())  # by reduction


def test_null_space_by_singular_values_and_by_qr_are_one():
    system, q, u, _ = coupled_loops(np.random.default_rng(79))
    rows = rows_of(system, q, u)
    spaces = [nullspace.split_space(rows.C, 1e-9, method) for method in ("qr", "svd")]
    assert spaces[0][0].shape == spaces[1][0].shape
    for Z, Y in spaces:
        assert np.abs(rows.C @ Z).max() < 1e-12
        assert np.allclose(np.hstack([Z, Y]).T @ np.hstack([Z, Y]), np.eye(system.nu), atol=1e-12)
    (Z1, _), (Z2, _) = spaces
    assert np.allclose(Z1 @ (Z1.T @ Z2), Z2, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_constraint_forces_do_no_work(seed):
    """u . (M u' + bias) = u . tau"""
    system, q, u, tau = coupled_loops(np.random.default_rng([83, seed]))
    udot = wt.forward_dynamics(system, q, u, tau)
    needed = tree_forces(system, q, u, udot)
    size = np.abs(u) @ np.abs(needed) + np.abs(u) @ np.abs(tau)
    assert abs(u @ needed - u @ tau) < 1e-11 * size
    rows = rows_of(system, q, u)
    assert np.abs(rows.C @ udot - rows.gamma).max() < 1e-9 * (1 + np.abs(udot).max())


def test_redundant_rows_need_no_switch():
    """A planar four-bar in space: 5 rows of rank 2. Twice the same joint changes nothing."""
    model = four_bar()
    system = model.compile()
    state = wt.assemble(system, {"shaft": 0.7}, {"shaft": 2.0})
    once = wt.forward_dynamics(system, state.q, state.u)
    model.joint("pivot_again", "revolute", "ground", "rocker", axis="y", at=(0.7, 0, 0))
    twice = model.compile()
    assert twice.constraints.count == 10
    for algorithm in BOTH:
        assert error(wt.forward_dynamics(twice, state.q, state.u, algorithm=algorithm), once) < 1e-11


def test_a_flat_four_bar_is_solved_and_near_it_too():
    """A parallelogram of bars 1 and 1 m that lies flat: the loop loses rank there, and no number is lost."""
    model = Model("parallelogram")
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (1e-3, 1 / 12, 1 / 12)}
    for name in ("left", "top", "right"):
        model.body(name, **bar)
    model.joint("a", "revolute", "ground", "left", axis="y")
    model.joint("b", "revolute", "left", "top", axis="y", at=(1, 0, 0))
    model.joint("c", "revolute", "top", "right", axis="y", at=(1, 0, 0), child_at=(1, 0, 0))
    model.joint("d", "revolute", "ground", "right", axis="y", at=(1, 0, 0))
    system = model.compile()
    for angle in (0.0, 1e-12, 1e-6, 1e-3):
        q = np.array([angle, -angle, angle])
        udot = wt.forward_dynamics(system, q, np.array([1.0, -1.0, 1.0]))
        assert np.isfinite(udot).all()
        if angle >= 1e-6:  # I a'' = 2 (m g l/2) + m g l, I = 2/3 + 1
            expected = 9.81 * 2 * np.cos(angle) / (2 / 3 + 1)
            assert np.allclose(udot, [expected, -expected, expected], rtol=1e-16 / angle**2 * 10 + 1e-9)


@pytest.mark.parametrize("algorithm", BOTH)
def test_prescribed_motion_of_a_joint_on_the_loop(algorithm):
    model = four_bar()
    f = wt.Sine(amplitude=0.3, frequency=0.5, offset=0.7)
    model.force("drive", "motion", joint="shaft", position=f)
    system = model.compile()
    state = wt.assemble(system)
    t = 0.0
    udot = wt.forward_dynamics(system, state.q, state.u, t=t, algorithm=algorithm)
    rows = rows_of(system, state.q, state.u, t)
    assert abs(state.q[0] - 0.7) < 1e-14
    assert abs(state.u[0] - 0.3 * np.pi) < 1e-12
    assert abs(udot[0]) < 1e-12  # -amplitude w^2 sin 0
    assert np.abs(rows.C @ udot - rows.gamma).max() < 1e-9


def test_driven_tree_joint_cut_joint_and_constraint_move_alike():
    """The same crank, driven as a joint of the tree, by a row for its coordinate, and as the joint that is cut."""
    f = wt.Sine(amplitude=0.3, frequency=0.5, offset=0.7, phase=0.2)
    by_motion, by_row, by_cut = four_bar(), four_bar(), Model("four bar")
    by_motion.force("drive", "motion", joint="shaft", position=f)
    by_row.constraint("drive", "relative", joint="shaft", position=f)
    source = four_bar()
    for body in source.bodies.values():
        by_cut.body(body.name, mass=body.mass, com=body.com, inertia=body.inertia)
    for name in ("pivot", "wrist", "pin", "shaft"):
        j = source.joints[name]
        by_cut.joint(name, j.kind, j.parent, j.child, axis=j.axis, at=j.at, child_at=j.child_at)
    by_cut.force("drive", "motion", joint="shaft", position=f)
    runs = []
    for model in (by_motion, by_row, by_cut):
        system = model.compile()
        state = wt.assemble(system, {"pin": 0.2} if "pin" in system.joints else None)
        runs.append(wt.simulate(system, 1.0, q=state.q, u=state.u, integrator="dopri5", output_step=0.1))
    assert runs[2].system.cut_joints == ("shaft",)
    for run in runs:
        assert run["closure"].max() < 1e-12
        assert np.abs(run["energy.balance"]).max() < 1e-6  # rtol 1e-8 of 5 J, over some hundred steps
    for run in runs[1:]:
        assert np.abs(run["coupler.position"] - runs[0]["coupler.position"]).max() < 1e-7


def test_forces_of_the_model_act():
    plain = four_bar()
    system = plain.compile()
    state = wt.assemble(system, {"shaft": 0.7}, {"shaft": 2.0})
    model = four_bar()
    model.force("push", "motor", joint="shaft", torque=1.5)
    model.joints["pin"].damping = 0.3
    loaded = model.compile()
    tau = np.zeros(3)
    tau[system.u_index("shaft")], tau[system.u_index("pin")] = 1.5, -0.3 * state.u[system.u_index("pin")]
    for algorithm in BOTH:
        got = wt.forward_dynamics(loaded, state.q, state.u, algorithm=algorithm)
        assert error(got, wt.forward_dynamics(system, state.q, state.u, tau, algorithm=algorithm)) < 1e-12


def test_couplings_hold():
    """Two wheels with a ratio: the inertia felt is I1 + ratio^2 I2, with a torque on the first alone."""
    model = Model("gears", gravity=(0, 0, 0))
    for name in ("small", "large"):
        model.body(name, mass=1.0, inertia=(1.0, 1.0, 2.0 if name == "large" else 0.5))
        model.joint(f"{name}_axle", "revolute", "ground", name)
    model.couple("large_axle", "small_axle", ratio=-0.25)
    system = model.compile()
    for algorithm in BOTH:
        udot = wt.forward_dynamics(system, np.zeros(2), np.zeros(2), np.array([3.0, 0.0]), algorithm=algorithm)
        a = 3.0 / (0.5 + 2.0 / 16)
        assert np.allclose(udot, [a, -a / 4], rtol=1e-14)


def test_refusals_name_the_algorithms_for_loops():
    system = four_bar().compile()
    with pytest.raises(wt.ModelError, match="these can: reduction, multipliers, nullspace"):
        wt.forward_dynamics(system, np.zeros(3), np.zeros(3), algorithm="articulated")
    assert "algorithm  reduction" in system.explain()


def test_an_algorithm_without_a_compiled_step_runs_by_calls():
    """The default of the interface: the loop calls back into Python."""
    system = four_bar().compile()
    start = wt.assemble(system, u={"crank": 2.0} if "crank" in system.joints else None)
    runs = [wt.simulate(system, 0.2, q=start.q, u=start.u, algorithm=a) for a in ("multipliers", "nullspace")]
    assert np.allclose(runs[0].q, runs[1].q, rtol=0, atol=1e-9)  # steps differ by rounding; rtol is 1e-8
