"""Published and independently computed numbers, by every algorithm: cases P06 and P07 of the validation set."""

import numpy as np
import pytest

import whippletree as wt
from bridge import solve_tolerance
from whippletree_lab.reproduce.problems import case, chain3d, chain3d_state, falling_rods, puma560, rod_chain, table

# nullspace solves with the whole mass matrix, and so loses its conditioning: chains of 1,024, links of no mass
TREES = [a for a, module in wt.ALGORITHMS.items() if "trees" in module.SUPPORTS and a != "nullspace"]

P06 = case("P06")
P07 = case("P07")


def close(got, expected, tol):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol)


@pytest.mark.parametrize("algorithm", TREES)
def test_puma560_accelerations_equal_the_recomputed_values(algorithm):
    known, s = P06["reference"]["recomputed"]["forward_qdd_q1_v1_with_rotor"], P06["states"]
    udot = wt.forward_dynamics(
        puma560().compile(), np.array(s["q1"]), np.array(s["v1"]), known["tau"], algorithm=algorithm
    )
    close(udot, known["qdd"], P06["tolerance"]["recomputed"])


def fits(n, algorithm):
    """The dense matrix of 1024 DOF has a condition that leaves no digit to compare."""
    return algorithm != "composite" or n <= 128


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
    expected, system = table("p07_chain3d")[f"udot_N{n}"][:n], chain3d(n).compile()
    q, u, tau = chain3d_state(n)
    for states in (np.s_[:], np.s_[None, :]):
        udot = wt.forward_dynamics(system, q[states], u[states], tau[states], algorithm=algorithm)
        close(np.ravel(udot), expected, tol * np.abs(expected).max())
