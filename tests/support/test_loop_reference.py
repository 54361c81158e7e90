"""The reference for loops is judged before it judges: against the tree's, closed forms, papers and differences."""

from collections import Counter
from decimal import localcontext

import numpy as np
import pytest

import whippletree as wt
from loop_reference import (
    DIGITS,
    Answer,
    LoopReference,
    accelerations,
    constraint_rows,
    floats,
    joint_coordinate,
    joint_rows,
    solve,
)
from loop_zoo import FAMILIES, MECHANISMS, four_bar, leg_model, random_loops, slider_crank, stewart_model
from reference import Reference
from whippletree_lab.reproduce.loop_problems import (
    ANDREWS,
    andrews_angles,
    andrews_model,
    bricard,
    five_bar,
    n_four_bar,
    start,
)
from whippletree_lab.reproduce.problems import case
from zoo import MOVING, ZOO, one_kind, random_state

EPS = np.finfo(float).eps
G = 9.81


def close(got, expected, tol):
    np.testing.assert_allclose(got, expected, rtol=0, atol=tol * max(np.abs(expected).max(initial=0.0), 1e-300))


# ---- trees


@pytest.mark.parametrize("name", ZOO)
def test_of_a_tree_it_is_the_other_reference(name):
    model = ZOO[name]()
    system, other = model.compile(), Reference(model)
    q, u, tau = random_state(system, np.random.default_rng(3))
    parts = {j: (q[system.q_index(j)], u[system.u_index(j)], tau[system.u_index(j)]) for j in system.joints}
    x, v, f = ({j: p[k] for j, p in parts.items()} for k in range(3))
    known = other.split(other.forward(x, v, other.vector(f)))
    # the other one solves in double precision: it loses cond(M), and 1e2 for the growth along the tree
    tol = 1e2 * EPS * np.linalg.cond(other.mass_matrix(x))
    close(accelerations(model, system, q, u, tau), np.concatenate([known[j] for j in system.joints]), tol)


# ---- closed forms


def test_the_five_bar_starts_as_computed_by_hand():
    for variant, exact in (("A", (0, 9 / 8, -9 / 8, 1 / 8, 1)), ("B", (-15 / 14, 15 / 14, 0, 1 / 14, 1))):
        system, q, u = five_bar(variant)
        udot = accelerations(system.model, system, q, u)
        rows = {name: x * G / np.sqrt(2) for name, x in zip(("q1", "q2", "q3", "q4", "q5"), exact, strict=True)}
        for name in system.joints:
            assert udot[system.u_index(name)] == pytest.approx(rows[name], abs=1e-14)


@pytest.mark.parametrize("n", [1, 2, 6])
def test_four_bars_in_a_row_fall_as_one_pendulum(n):
    """P04: theta'' = k sin(theta) at any angle and speed."""
    k = 3 * (3 * n + 1) * G / (2 * (4 * n + 1))
    for angle, speed in ((0.3, -1.0), (2.0, 3.0), (-1.5, 0.5)):
        system, q, u = n_four_bar(n, angle, speed)
        answer = solve(system.model, system, q, u)
        assert answer.rank == 2 * n  # 5 rows each, of which a plane leaves 3, and the couplers stay level
        assert answer.udot[0] == pytest.approx(k * np.sin(angle), rel=1e-14)


def test_bricard_has_one_dof_and_starts_as_computed_elsewhere():
    system, q, u = bricard()
    answer = solve(system.model, system, q, u)
    assert (len(answer.names), answer.rank, system.nu) == (5, 4, 5)
    # printed to 9 digits
    close(answer.udot, case("P03")["reference"]["initial_joint_accelerations"], 3e-9)


def andrews_forces(system, q):
    """The motor and the spring of P02, by hand: tau from the spring's force at a point of K3."""
    p, tau = case("P02")["model"]["parameters"], np.zeros(system.nu)
    tau[system.u_index("beta")] = p["mom"]
    k = wt.kinematics(system, q)
    here = k.position("K3") + k.rotation("K3") @ (p["sd"], -p["sc"], 0)
    pull = np.array([p["xC"], p["yC"], 0]) - here
    long = np.linalg.norm(pull)
    return tau + k.jacobian("K3", (p["sd"], -p["sc"], 0))[3:].T @ (p["c0"] * (long - p["l0"]) * pull / long)


@pytest.mark.parametrize(
    ("q", "u", "udot", "tol"),
    [
        ("initial q", "initial qd", "initial qdd_published", 1e-12),
        # the published end is exact to the digits of another program: 1.5e-9 in q, 1.4e-6 in qdd
        ("reference published_q", "reference published_qd", "reference published_qdd", 2e-6),
        ("reference recomputed_q", "reference recomputed_qd", "reference recomputed_qdd", 2e-6),
    ],
)
def test_andrews_accelerates_as_published(q, u, udot, tol):
    numbers = case("P02")
    q, u, udot = (np.array(numbers[part][key]) for part, key in (x.split() for x in (q, u, udot)))
    system = andrews_model().compile()
    x, v = start(system, andrews_angles(q), andrews_angles(u))
    answer = solve(system.model, system, x, v, andrews_forces(system, x))
    assert np.abs(answer.gap).max() < 1e-8  # m; published to 1e-9
    known = andrews_angles(udot)
    close(answer.udot, np.array([known[name] for name in system.joints]), tol)
    assert ANDREWS[0] in system.joints


def test_a_four_bar_keeps_its_energy():
    """Power of gravity is the rate of kinetic energy: the constraints do no work."""
    system, q, u = four_bar()
    answer = solve(system.model, system, q, u)
    M, b = wt.mass_matrix(system, q), wt.bias_force(system, q, u)
    assert answer.force @ u == pytest.approx(0.0, abs=1e-13 * np.abs(answer.force).max() * np.abs(u).max())
    close(M @ answer.udot + b, answer.force, 1e-12)
    assert (answer.rank, len(answer.names)) == (2, 5)


def test_a_slider_crank_by_its_own_equation():
    """One equation in the crank's angle, by differences of energies of the closed mechanism along that angle."""
    speed, angle, h = 5.0, 0.7, 1e-3

    def energies(a, s):
        system, q, u = slider_crank(a, s)
        e = wt.energy(system, q, u)
        return float(e.kinetic), float(e.potential)

    weights = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    slope = [
        sum(w * (energies(angle + k * h, 1.0)[i] - energies(angle - k * h, 1.0)[i]) for k, w in weights) / h
        for i in (0, 1)
    ]
    J = 2 * energies(angle, 1.0)[0]  # T = J(a) a'^2 / 2, so J a'' + J' a'^2 / 2 + V' = 0
    system, q, u = slider_crank(angle, speed)
    udot = accelerations(system.model, system, q, u)
    # rounding of the energies over the step: 1e-16 / 1e-3, and 25 of speed^2 on it
    assert udot[0] == pytest.approx(-(slope[0] * speed**2 + slope[1]) / J, abs=1e-10)


# ---- every row against differences of its own gap


def motion(system, q, u, f, h=2e-3):
    """Sixth-order difference of f(q(t), t) along constant velocities."""
    weights = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    at = {s: wt.advance(system, q, s * h * u) for k, _ in weights for s in (k, -k)}
    return sum(w * (f(at[k], k * h) - f(at[-k], -k * h)) for k, w in weights) / h


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_rows_are_rates_of_gaps_and_their_rates(family, seed):
    system, q, u, _ = random_loops(np.random.default_rng([seed, 21]), family)
    model = system.model
    u = u / max(np.abs(u).max(), 1.0)  # along any velocities, not only those that keep loops closed
    u = u + 0.3 * np.random.default_rng(seed).normal(size=system.nu)
    _, C, _, speed = constraint_rows(model, system, q, u)
    at_rest = constraint_rows(model, system, q, 0 * u)[3]  # what goes with time alone
    # seventh derivatives of a few thousands times h^6 = 6e-17, and rounding over h
    np.testing.assert_allclose(
        speed, motion(system, q, u, lambda x, t: constraint_rows(model, system, x, u, t)[2]), atol=1e-10
    )
    np.testing.assert_allclose(speed, C @ u + at_rest, atol=1e-13 * (1 + np.abs(speed).max()))


@pytest.mark.parametrize("family", FAMILIES)
def test_accelerations_keep_the_rows_at_rest(family):
    """C u' + d/dt(row's speed at constant u) = 0, for every row, redundant ones too."""
    system, q, u, tau = random_loops(np.random.default_rng([4, 21]), family)
    model, answer = system.model, solve(system.model, system, q, u, tau)
    _, C, _, _ = constraint_rows(model, system, q, u)
    drift = motion(system, q, u, lambda x, t: constraint_rows(model, system, x, u, t)[3])
    np.testing.assert_allclose(C @ answer.udot, -drift, atol=1e-9 * (1 + np.abs(drift).max()))
    M, b = wt.mass_matrix(system, q), wt.bias_force(system, q, u)
    close(M @ answer.udot + b - tau, answer.force, 1e-10)
    null = np.linalg.svd(C)[2][np.linalg.matrix_rank(C, rtol=1e-9) :]
    assert np.abs(null @ answer.force).max() < 1e-10 * (1 + np.abs(answer.force).max())  # normal to every motion


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_start_closed(name):
    system, q, u = MECHANISMS[name]()
    answer = solve(system.model, system, q, u)
    assert isinstance(answer, Answer)
    assert np.abs(answer.gap).max() < 1e-12
    assert np.abs(answer.speed).max() < 1e-12 * max(1.0, np.abs(u).max())
    assert answer.misfit < 1e-12


def test_mobility_by_rank():
    mobility = {}
    for name, make in MECHANISMS.items():
        system, q, u = make()
        mobility[name] = system.nu - solve(system.model, system, q, u).rank
    known = {"stewart": 6, "leg": 4, "five_bar_A": 2, "five_bar_B": 2}
    assert mobility == dict.fromkeys(MECHANISMS, 1) | known


def test_models_of_many_dofs_stand_as_files_say():
    assert stewart_model().compile().nu == 26
    assert leg_model().compile().cut_joints == ("knee",)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "screw", "cylindrical", "universal", "planar"])
def test_coordinates_of_a_cut_joint_are_those_that_made_its_pose(kind):
    """From q to the frames and back, with rates: and the joint's own rows are zero."""
    rng = np.random.default_rng(MOVING.index(kind))
    model = one_kind(kind, principal=False)
    system = model.compile()
    q, u = rng.uniform(-2.5, 2.5, system.nq), rng.normal(size=system.nu)
    with localcontext(prec=DIGITS):
        made = LoopReference(model, system, q, u)
        for name, known in made.coordinates.items():
            j = model.joints[name]
            pose = made.relative(j.child, j.child_at, j.parent, j.at)
            for n, x in enumerate(known):
                got = joint_coordinate(j, n, *pose)
                for a, b in ((got.x, x.x), (got.d, x.d), (got.dd, x.dd)):
                    assert np.abs(floats(a - b)).max() < 1e-40
            assert all(abs(float(row.x)) + np.abs(floats(row.d)).max() < 1e-40 for row in joint_rows(j, *pose))


# ---- the random ones are what they say


def test_random_loops_hold_what_they_promise():
    cuts, on_loops, bases, components, redundant = Counter(), Counter(), set(), set(), Counter()
    for seed in range(96):
        family = FAMILIES[seed % len(FAMILIES)]
        system, q, u, _ = random_loops(np.random.default_rng([seed, 5]), family)
        _, C, gap, speed = constraint_rows(system.model, system, q, u)
        assert np.abs(gap).max() < 1e-12
        assert np.abs(speed).max() < 1e-11
        assert np.linalg.matrix_rank(C, rtol=1e-9) < system.nu
        redundant[family] += np.linalg.matrix_rank(C, rtol=1e-9) < len(C)
        components.add(system.nc)
        for joint in system.topology.cuts:
            base, path = system.topology.loop(joint)
            cuts[joint.kind] += 1
            bases.add(base)
            on_loops.update(system.topology.edges[i - 1].joint.kind for i in path)
    assert set(cuts) >= {"fixed", "revolute", "prismatic", "screw", "cylindrical", "universal", "planar", "spherical"}
    assert set(on_loops) == {k for k in wt.model.JOINT_KINDS if k != "fixed"}
    assert len(bases) > 3
    assert len(components) > 2
    assert all(redundant[f] > 3 for f in ("planar", "turned_planar", "floating_planar", "spherical", "doubled"))


def test_a_seed_is_a_model():
    one, other = (random_loops(np.random.default_rng(11)) for _ in range(2))
    assert one[0].model == other[0].model
    for a, b in zip(one[1:], other[1:], strict=True):
        np.testing.assert_array_equal(a, b)


def test_rank_that_is_no_matter_of_fact_is_refused():
    """Three hinges, one of them 1e-9 rad from parallel."""
    model = wt.Model("nearly")
    model.body("door", mass=1.0, inertia=(1, 1, 1))
    model.body("knob", mass=1.0, inertia=(1, 1, 1))
    model.joint("hinge", "revolute", "ground", "door")
    model.joint("more", "revolute", "door", "knob", at=wt.pose((1, 0, 0), rpy=(1e-9, 0, 0)))
    model.joint("last", "revolute", "ground", "knob", at=(1, 1, 0), child_at=(0, 1, 0))
    system = model.compile()
    with pytest.raises(ValueError, match="the rank is not clear"):
        solve(model, system, *start(system, {}))
