"""Published and independently computed numbers: cases P06, P07 and P08 of the validation set, copied to tests/data."""

import numpy as np
import pytest

import whippletree as wt
from bridge import solve_tolerance
from whippletree.reproduce.problems import case, chain3d, flying_tree, puma560, rod_chain

# nullspace solves with the whole mass matrix, and so loses its conditioning: chains of 1,024, links of no mass
TREES = [a for a, module in wt.ALGORITHMS.items() if "trees" in module.SUPPORTS and a != "nullspace"]

P06 = case("P06")
P07 = case("P07")
P08 = case("P08")


def close(got, expected, tol):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol)


def test_puma560_equals_the_recomputed_values():
    bare, geared = puma560(rotors=False).compile(), puma560().compile()
    known, s, tol = P06["reference"]["recomputed"], P06["states"], P06["tolerance"]["recomputed"]
    qn, q1, v1, a1 = (np.array(s[k]) for k in ("qn", "q1", "v1", "a1"))
    v, zero = np.array([1.0, 2, 3, 1, 2, 3]), np.zeros(6)
    close(wt.bias_force(bare, qn, zero), known["gravity_torque_qn"], tol)
    close(wt.mass_matrix(bare, qn), known["M_qn_without_rotor"], tol)
    close(wt.mass_matrix(bare, q1), known["M_q1_without_rotor"], tol)
    close(wt.mass_matrix(geared, qn) - wt.mass_matrix(bare, qn), np.diag(known["rotor_diag"]), tol)
    close(wt.bias_force(bare, qn, v) - wt.bias_force(bare, qn, zero), known["velocity_torque_qn_v123123"], tol)
    close(wt.inverse_dynamics(bare, q1, v1, a1), known["tau_q1_v1_a1_without_rotor"], tol)


@pytest.mark.parametrize("algorithm", TREES)
def test_puma560_accelerations_equal_the_recomputed_values(algorithm):
    known, s = P06["reference"]["recomputed"]["forward_qdd_q1_v1_with_rotor"], P06["states"]
    udot = wt.forward_dynamics(
        puma560().compile(), np.array(s["q1"]), np.array(s["v1"]), known["tau"], algorithm=algorithm
    )
    close(udot, known["qdd"], P06["tolerance"]["recomputed"])


def test_puma560_equals_the_published_digits():
    system, known, tol = puma560().compile(), P06["reference"]["published_4_digits"], P06["tolerance"]["published"]
    qn, zero = np.array(P06["states"]["qn"]), np.zeros(6)
    close(wt.bias_force(system, qn, zero), known["gravload_qn"], tol)
    close(wt.inverse_dynamics(system, qn, zero, np.ones(6)), known["rne_qn_0_ones_with_rotor"], tol)
    close(wt.mass_matrix(system, qn), known["inertia_qn_with_rotor"], tol)


def fits(n, algorithm):
    """The dense matrix of 1024 freedoms has a condition that leaves no digit to compare."""
    return algorithm != "composite" or n <= 128


def falling_rods(n):
    """Angular accelerations of n level rods at rest, by the closed form of P07.

    The joints fall with a_i = g (1 + A lam^i + C lam^(n-i)), a_0 = 0, a_(n-1) + 2 a_n = 3 g.
    """
    g, lam, i = 9.81, np.sqrt(3) - 2, np.arange(n + 1)
    A, C = np.linalg.solve([[1.0, lam**n], [lam ** (n - 1) + 2 * lam**n, lam + 2]], [-1.0, 0.0])
    return np.diff(g * (1 + A * lam**i + C * lam ** (n - i)))


@pytest.mark.parametrize(("n", "algorithm"), [(n, a) for n in (1, 2, 4, 16, 128, 1024) for a in TREES if fits(n, a)])
def test_level_rods_fall_by_the_closed_form(n, algorithm):
    system = rod_chain(n).compile()
    udot = wt.forward_dynamics(system, np.zeros(n), np.zeros(n), algorithm=algorithm)
    absolute, tol = np.cumsum(udot), P07["tolerance"]["part_a"]
    if algorithm == "composite":  # a solve with the matrix itself, whose condition grows with the fourth power of n
        tol = max(tol, solve_tolerance(wt.mass_matrix(system, np.zeros(n))))
    close(absolute, falling_rods(n), tol)
    listed = P07["part_a"]["relative_joint_acc_first"][str(n)]
    close(udot[: len(listed)], listed, tol)
    close(absolute.sum(), P07["part_a"]["tip_acc"][str(n)], tol * n)


LONGER = ((6, 1e-11), (16, 1e-11), (64, 1e-8), (128, 1e-8), (1024, 1e-6))


@pytest.mark.parametrize(("n", "tol", "algorithm"), [(n, t, a) for n, t in LONGER for a in TREES if fits(n, a)])
def test_chain_of_turning_axes_equals_the_table(n, tol, algorithm):
    table = np.genfromtxt(DATA / "p07_chain3d.csv", delimiter=",", names=True)
    expected, i = table[f"udot_N{n}"][:n], np.arange(1, n + 1)
    system = chain3d(n).compile()
    q, u, tau = 0.3 * np.sin(1.7 * i), 0.4 * np.cos(0.9 * i), 0.1 * np.sin(0.5 * i)
    for states in (np.s_[:], np.s_[None, :]):
        udot = wt.forward_dynamics(system, q[states], u[states], tau[states], algorithm=algorithm)
        close(np.ravel(udot), expected, tol * np.abs(expected).max())


@pytest.fixture(scope="module")
def flight():
    """P08: ten seconds of the floating tree, with a spring of 4 N m/rad in every arm joint. t, q, u of every sample."""
    system, q, u = flying_tree()
    table = np.genfromtxt(DATA / "p08_tree.csv", delimiter=",", names=True)
    step = table["t"][1] - table["t"][0]
    run = wt.simulate(system, 10.0, q=q, u=u, rtol=1e-10, atol=1e-12, output_step=step)
    np.testing.assert_allclose(run.t, table["t"], atol=1e-12)
    return system, table, run.q, run.u


def arms(system, x, index):
    return np.column_stack([x[:, index(f"joint{k}")][:, 0] for k in range(1, 7)])


def test_floating_tree_follows_the_table(flight):
    system, table, q, u = flight
    base = q[:, system.q_index("flight")]
    close(base[:, :3], np.column_stack([table[k] for k in "xyz"]), P08["tolerance"]["position"])
    attitude = np.column_stack([table[k] for k in ("qw", "qx", "qy", "qz")])
    same = np.sign((attitude * base[:, 3:]).sum(axis=1))[:, None]  # a quaternion and its opposite are one rotation
    close(same * base[:, 3:], attitude, P08["tolerance"]["q"])
    close(
        arms(system, q, system.q_index), np.column_stack([table[f"q{k}"] for k in range(1, 7)]), P08["tolerance"]["q"]
    )
    close(arms(system, u, system.u_index), np.column_stack([table[f"u{k}"] for k in range(1, 7)]), 1e-5)


def test_floating_tree_keeps_momentum_and_energy(flight):
    system, _, q, u = flight
    known, tol = P08["reference"], P08["tolerance"]
    mass = sum(b.mass for b in system.model.bodies.values())
    k, h, com = wt.kinematics(system, q), wt.momentum(system, q, u), np.zeros((len(q), 3))
    for b in system.model.bodies.values():
        com += b.mass / mass * (k.position(b.name) + k.rotation(b.name) @ np.array(b.com))
    close(com[0], known["com_t0"], 1e-12)
    close(h[:, 3:], np.tile(known["linear_momentum"], (len(q), 1)), tol["momentum"])
    about_com = h[:, :3] - np.cross(com, h[:, 3:])
    close(about_com, np.tile(known["angular_momentum_about_com"], (len(q), 1)), tol["momentum"])
    close(wt.energy(system, q, u).total, np.full(len(q), known["energy"]), tol["energy"])
