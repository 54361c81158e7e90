"""The reference in extended precision is right: closed forms, the library on benign systems, two other formulas."""

import mpmath
import numpy as np
import pytest
from flint import arb, arb_mat, ctx

import extended_reference as extended
import whippletree as wt
from extended_mechanism import Mechanism
from extended_poses import SIZES, ZERO, closing_rows, inverse, minus, vector
from extended_reference import solve
from loop_reference import solve as solve_by_series
from loop_zoo import FAMILIES, random_loops, slider_crank
from random_systems import draw as draw_benign
from test_rolling import on_surface, rolling_zoo
from zoo import pendulum, random_model, random_state


def relative(a, b):
    return np.abs(a - b).max() / np.abs(b).max()


# ---- closed forms


def test_pendulum():
    system = pendulum().compile()
    q, m, l, I = 0.7, 1.5, 0.8, 0.03
    found = extended.accelerations(system, [q], [2.0], [0.3])
    assert found[0] == pytest.approx((0.3 - m * 9.81 * l * np.sin(q)) / (I + m * l * l), rel=1e-15)


def test_slider_crank():
    """I(a) a'' + I'(a) a'^2 / 2 = -V'(a) of the crank's angle, with derivatives by 40 digits of differences."""
    system, q, u = slider_crank(angle=0.7, speed=5.0)
    bodies = {name: (b.mass, b.com[0], b.inertia[1][1]) for name, b in system.model.bodies.items()}

    def places(a):
        lean = mpmath.asin(mpmath.mpf("0.2") * mpmath.sin(a) / mpmath.mpf("0.6"))
        x, z = mpmath.cos(a) / 5, -mpmath.sin(a) / 5
        along, rod = bodies["crank"][1], bodies["rod"][1]
        centre = x + rod * mpmath.cos(lean), z + rod * mpmath.sin(lean)
        block = x + mpmath.mpf("0.6") * mpmath.cos(lean), mpmath.mpf(0)
        return {
            "crank": (along * mpmath.cos(a), -along * mpmath.sin(a), a),
            "rod": (*centre, lean),
            "block": (*block, mpmath.mpf(0)),
        }

    def inertia(a):
        total = mpmath.mpf(0)
        for name, (m, _, I) in bodies.items():
            x, z, turn = (mpmath.diff(lambda s, n=name, k=k: places(s)[n][k], a) for k in range(3))
            total += m * (x * x + z * z) + I * turn * turn
        return total

    with mpmath.workdps(60):
        a = mpmath.mpf(0.7)
        push = -mpmath.diff(lambda s: 9.81 * sum(bodies[n][0] * p[1] for n, p in places(s).items()), a)
        expected = float((push - mpmath.diff(inertia, a) * 25 / 2) / inertia(a))
    assert solve(system, q, u).udot[system.u_index("shaft")][0] == pytest.approx(expected, rel=1e-13)


# ---- the library, and a reference by series in decimals, on benign systems


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_agrees_with_the_library_on_benign_systems(seed):
    drawn = draw_benign(seed)
    if drawn.kind not in ("tree", "loops"):
        pytest.skip("flexible, or rolls on what the reference leaves out")
    answer = solve(*drawn[1:])
    assert not answer.ambiguous
    assert not answer.contradicting
    assert relative(wt.forward_dynamics(*drawn[1:], algorithm="multipliers"), answer.udot) < 1e-12


@pytest.mark.parametrize("family", FAMILIES)
def test_agrees_with_series_in_decimals(family):
    system, q, u, tau = random_loops(np.random.default_rng(5), family, bodies=5, loops=2)
    slow = solve_by_series(system.model, system, q, u, tau)
    found = solve(system, q, u, tau)
    assert relative(found.udot, slow.udot) < 1e-13
    assert (found.rank, found.rows) == (slow.rank, len(slow.names))


@pytest.mark.parametrize("seed", [0, 3, 9, 12])
def test_agrees_on_wheels_balls_blades_and_velocities(seed):
    system, rng = rolling_zoo(seed)  # of these seeds all surfaces are planes
    q, u = on_surface(system, rng)
    tau = rng.normal(size=system.nu)
    assert relative(solve(system, q, u, tau).udot, solve_by_series(system.model, system, q, u, tau).udot) < 1e-12


def test_prescribed_motions():
    model = wt.Model("driven")
    model.body("one", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.2, 0.3))
    model.body("two", mass=2.0, com=(0.3, 0.1, 0), inertia=(0.1, 0.2, 0.3))
    model.joint("a", "revolute", "ground", "one", axis="y")
    model.joint("b", "universal", "one", "two", axis="x", axis2="y", at=(1, 0, 0))
    model.force("drive", "motion", joint="a", position=wt.Sine(0.4, 1.1, 0.3))
    system = model.compile()
    rate = 0.4 * 2 * np.pi * 1.1 * np.cos(0.3)
    q, u = [0.4 * np.sin(0.3), 0.2, -0.4], [rate, 0.5, 0.7]
    assert relative(wt.forward_dynamics(system, q, u), extended.accelerations(system, q, u)) < 1e-13


# ---- maximal coordinates: six accelerations for every body, rows for every joint, one dense solve


def bias(m, name):
    """Rate of a body's twist at u' = 0, about the world origin."""
    T, rate, second = m.path[name].T
    Y = inverse(T)
    V = rate * Y
    A = (second * Y - V * V).entries()
    return [A[9], A[2], A[4], A[3], A[7], A[11]]


def joint_force(m, j, tau):
    """The wrench on the outer body that does the work of tau, whatever else the joint carries."""
    rows = range(m.system.nu)[m.system.u_index(j.name)]
    S = arb_mat([m.columns[k] for k in rows])
    weight = (S * S.transpose()).solve(arb_mat(len(rows), 1, [arb(float(tau[k])) for k in rows]))
    return m.mover[rows[0]], (S.transpose() * weight).entries()


def maximal(system, q, u, tau):
    """u' by the equations of all bodies and all joints together, closing or not."""
    kept, ctx.prec = ctx.prec, 512
    try:
        m = Mechanism(system, q, u)
        names = [n for n in m.up if n != "ground"]
        row = {n: 6 * i for i, n in enumerate(names)}
        size = 6 * len(names)
        K, right = arb_mat(size, size).tolist(), [ZERO] * size
        gravity = vector(system.model.gravity)
        rates = {n: bias(m, n) for n in names} | {"ground": [ZERO] * 6}
        for n in names:
            I, load = m._solid(n, gravity)
            block, held = I.tolist(), (I * arb_mat(6, 1, rates[n])).entries()
            for i in range(6):
                right[row[n] + i] = held[i] - load.entries()[i]
                for k in range(6):
                    K[row[n] + i][row[n] + k] = block[i][k]
        for j in system.model.joints.values():
            if j.name in system.joints and SIZES[j.kind]:
                body, wrench = joint_force(m, j, tau)
                for end, sign in ((body, 1), (m.up[body], -1)):
                    for i in range(6) if end != "ground" else ():
                        right[row[end] + i] += sign * wrench[i]
        G, gamma = [], []
        for j in system.model.joints.values():
            meeting = m.meet(j.parent, j.at, j.child, j.child_at)
            for w, (_, _, second) in closing_rows(j, meeting):
                line = [ZERO] * size
                rest = second
                for end, sign in ((meeting.b, 1), (meeting.a, -1)):
                    rest -= sign * sum((x * y for x, y in zip(w, rates[end], strict=True)), ZERO)
                    for i in range(6) if end != "ground" else ():
                        line[row[end] + i] += sign * w[i]
                G.append(line)
                gamma.append(-rest)
        plain = np.array([[float(x) for x in line] for line in G]).reshape(len(G), size)
        own = extended.fair_readings(plain, readings=False)[0][0][0]
        A = extended.constrained(arb_mat(K), right, [G[i] for i in own], [gamma[i] for i in own])
        return recovered(m, {n: A[row[n] : row[n] + 6] for n in names} | {"ground": [ZERO] * 6}, rates)
    finally:
        ctx.prec = kept


def recovered(m, A, rates):
    """u' of tree joints from the rates of twists on both sides."""
    udot = np.zeros(m.system.nu)
    for body, own in m.own.items():
        if own:
            moved = minus(minus(A[body], A[m.up[body]]), minus(rates[body], rates[m.up[body]]))
            S = arb_mat([m.columns[k] for k in own])
            udot[list(own)] = [float(x) for x in (S * S.transpose()).solve(S * arb_mat(6, 1, moved)).entries()]
    return udot


def curveless(draw):
    """The first model that is drawn without a curve, since a curve closes no loop and has no rows."""
    found = draw()
    while any(joint.kind == "curve" for joint in found.joints.values()):
        found = draw()
    return found


@pytest.mark.parametrize("seed", range(8))
def test_agrees_with_maximal_coordinates_on_trees(seed):
    rng = np.random.default_rng([seed, 3])
    system = curveless(lambda: random_model(rng, 6, welds=0.1)).compile()
    q, u, tau = random_state(system, rng)
    assert relative(maximal(system, q, u, tau), extended.accelerations(system, q, u, tau)) < 1e-14


def test_recursion_for_large_trees_agrees_with_the_mass_matrix(monkeypatch):
    rng = np.random.default_rng(8)
    system = random_model(rng, 12, armature=True, welds=0.1).compile()
    state = system, *random_state(system, rng)
    dense = extended.accelerations(*state)
    monkeypatch.setattr(extended, "LARGE_TREE", 0)
    assert relative(extended.accelerations(*state), dense) < 1e-15


@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "constrained"])
def test_agrees_with_maximal_coordinates_on_loops(family):
    rng, drawn = np.random.default_rng(11), []

    def draw():
        drawn[:] = random_loops(rng, family, bodies=5, loops=2)
        return drawn[0].model

    curveless(draw)
    system, q, u, tau = drawn
    for joint in system.model.joints.values():
        joint.armature = 0.0
    assert relative(maximal(system, q, u, tau), extended.accelerations(system, q, u, tau)) < 1e-12


# ---- what it says besides


def test_rank_and_contradictions_are_reported():
    model = wt.Model("two velocities")
    model.body("rotor", mass=1.0, inertia=(1, 1, 1))
    model.joint("axle", "revolute", "ground", "rotor", axis="z")
    model.constraint("one", "speed", joint="axle", speed=1.0)
    model.constraint("other", "speed", joint="axle", speed=wt.Ramp(rate=2.0, value=1.0))
    assert solve(model.compile(), [0.0], [1.0]).contradicting
    system, q, u = slider_crank()
    answer = solve(system, q, u)
    assert (answer.rank, answer.rows, answer.ambiguous, answer.contradicting) == (2, 5, False, False)
    assert answer.violation < 1e-15


def test_body_accelerations():
    system, q, u = slider_crank()
    found = extended.body_accelerations(system, q, u, extended.accelerations(system, q, u))
    assert found["block"][:5] == pytest.approx([0, 0, 0, found["block"][3], 0], abs=1e-12)
