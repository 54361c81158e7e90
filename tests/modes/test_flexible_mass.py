"""The mass of deformed flexible bodies: positive at any deformation, and that of points at their deformed places."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whippletree as wt
from deformed import Deformed
from reference_flexible import Nodal, skew
from whippletree.modes import Modes
from whippletree.modes.choose import Choice
from whippletree.modes.make import Held

STRIP = {"section": "rectangle", "height": 0.01, "width": 0.02, "E": 70e9, "rho": 2700.0}
CASES = int(os.environ.get("WHIPPLETREE_MASS_CASES", "40"))  # more on request
BASES = {"hinge": {"axis": "y"}, "hinge along": {"axis": "x"}, "free": {}, "moved": {"axis": "y"}}


def on_base(modes, base="hinge", gravity=(0.0, 0.0, -9.81)):
    model = wt.Model("body", gravity=gravity)
    model.flexible("body", modes)
    kind = "free" if base == "free" else "revolute"
    model.joint("joint", kind, model.ground, "body", **BASES[base])
    if base == "moved":
        model.force("drive", "motion", joint="joint", position=wt.Table([0.0, 1.0, 2.0], [0.0, 1.0, 1.5], smooth=True))
    model.frame("end", f"body/{modes.nodes[-1]}")
    return model.compile()


def scaled_least(M):
    """The least eigenvalue, each coordinate scaled by its own mass"""
    root = 1.0 / np.sqrt(np.diag(M))
    return np.linalg.eigvalsh(root[:, None] * M * root)[0]


def test_a_deformed_strip_on_a_hinge_follows_a_torque():
    """Deformed by 5 % of its length, a torque of +1 N m gave -31,912 rad/s^2."""
    modes = wt.beam(1.0, **STRIP, deforms=["bending_z"]).modes(count=6, fidelity="stiffened")
    system = on_base(modes)
    for deflection in (0.05, 0.2, 0.5):
        q = system.q0.copy()
        q[1] = deflection / modes.phi[-1, 2, 0]
        tau = np.zeros(system.nu)
        still = wt.forward_dynamics(system, q, 0.0 * tau, tau)
        tau[0] = 1.0
        for algorithm in ("articulated", "composite"):
            pushed = wt.forward_dynamics(system, q, 0.0 * tau, tau, algorithm=algorithm)
            assert 0.0 < pushed[0] - still[0] < 1e6
        assert np.linalg.eigvalsh(wt.mass_matrix(system, q))[0] > 0.0


# ---------------------------------------------------------------- positive


@st.composite
def bodies(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(("cantilever", "free", "craig-bampton")))
    fidelity = draw(st.sampled_from(("ruthless", "full", "stiffened")))
    ways = draw(
        st.sampled_from((["bending_z"], ["bending_y", "bending_z"], ["axial", "torsion", "bending_y", "bending_z"]))
    )
    thick, wide = 10 ** rng.uniform(-3, -1.3, 2)
    beam = wt.beam(1.0, section="rectangle", height=thick, width=wide, E=7e10, rho=2700.0, deforms=ways, elements=4)
    modes = beam.modes(kind, count=draw(st.integers(1, 20)), fidelity=fidelity)
    return rng, modes.referenced("tip") if draw(st.booleans()) else modes, draw(st.sampled_from(tuple(BASES)))


def at_strain(rng, modes, most=0.01):
    """A random deformation of so much strain; modes take part by their flexibility, or one alone"""
    eta = rng.normal(size=modes.count) / modes.frequencies**2
    if rng.random() < 0.3:
        eta = eta * (np.arange(modes.count) == rng.integers(modes.count))
    return eta * most / modes.largest_strain(eta)


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(bodies())
def test_the_mass_matrix_is_positive_up_to_the_limit_of_strain(drawn):
    rng, modes, base = drawn
    system = on_base(modes, base)
    for _ in range(5):
        q = system.q0.copy()
        q[system.q_index("body")] = at_strain(rng, modes)
        M = wt.mass_matrix(system, q)
        assert scaled_least(M) > 0.0


@pytest.mark.parametrize("count", [2, 10])
@pytest.mark.parametrize("kind", ["cantilever", "craig-bampton", "free"])
def test_the_mass_matrix_is_positive_far_beyond(kind, count):
    """At a tenth of strain: mass points are where they are, whatever it means for the material."""
    rng = np.random.default_rng(1)
    modes = wt.beam(1.0, **STRIP).modes(kind, count=count, fidelity="stiffened")
    system = on_base(modes, "free")
    for _ in range(10):
        q = system.q0.copy()
        q[system.q_index("body")] = at_strain(rng, modes, 0.1)
        assert scaled_least(wt.mass_matrix(system, q)) > 0.0


# ---------------------------------------------------------------- exact


def random_eta(rng, count, size):
    return size * rng.normal(size=count)


@pytest.mark.parametrize("kind", ["cantilever", "free"])
@pytest.mark.parametrize("fidelity", ["full", "stiffened"])
def test_energy_is_that_of_the_deformed_nodes(kind, fidelity):
    """Rotary inertia, offsets of the frame and large deformations; free modes were 0.5 to 14 % off."""
    rng = np.random.default_rng(2)
    body = Deformed.random(rng, points=6, modes=4, size=0.3)
    if fidelity == "full":
        body.Q = 0.0 * body.Q
    psi2 = 0.2 * body.Q[::-1] + 0.0
    if kind == "cantilever":
        for x in (body.phi, body.psi, body.Q, psi2):
            x[1] = 0.0
    K = np.diag(1.0 + np.arange(4.0))
    data = {"inertia": body.inertia, "psi": body.psi, "Q": body.Q, "psi2": psi2}
    modes = Modes.from_nodes(body.r, body.mass, body.phi, K, **data, inboard="n1", kind=kind, fidelity=fidelity)
    nodal = Nodal(body.r, body.mass, body.inertia, body.phi, body.psi, body.Q, psi2, inboard=1)
    system = on_base(modes, "free", gravity=(0, 0, 0))
    for size in (0.0, 0.01, 0.3):
        q = system.q0.copy()
        q[system.q_index("body")] = eta = random_eta(rng, 4, size)
        want = nodal.mass(eta)
        M = wt.mass_matrix(system, q)
        np.testing.assert_allclose(M, want, atol=1e-12 * abs(want).max())
        u = rng.normal(size=system.nu)
        assert wt.energy(system, q, u).kinetic == pytest.approx(0.5 * u @ want @ u, rel=1e-12)
        displaced = np.array([nodal.node(k, eta)[0] for k in range(6)]) - body.r
        np.testing.assert_allclose(modes.displacements(eta), displaced, atol=1e-13)


def beam_points(beam, kind, count):
    """Mass points of a beam and how the modes move them, to second order: what the modes are made of"""
    held = Held(beam, 0)
    _, V, _ = held.chosen(kind, Choice.of(kind, count, None, None), [len(beam.names) - 1])
    Q, _ = beam.line.second_order(V, beam.r[0]).points
    p = beam.mass
    return p.r, p.mass, p.N @ V, Q


@pytest.mark.parametrize("kind", ["cantilever", "craig-bampton"])
@pytest.mark.parametrize("ways", [["bending_z"], ["axial", "bending_y", "bending_z"]])
def test_energy_of_a_stiffened_beam_is_that_of_its_mass_points(kind, ways):
    """Few generalized points take the place of all: the same mass, to rounding, up to the limit of strain."""
    rng = np.random.default_rng(3)
    beam = wt.beam(1.0, **STRIP, deforms=ways, rotary=False)
    if "torsion" not in ways:  # sections have no inertia about any axis then
        beam.mass.inertia[:] = 0.0
    modes = beam.modes(kind, count=5, fidelity="stiffened")
    r, m, phi, Q = beam_points(beam, kind, 5)
    system = on_base(modes, "free")
    for _ in range(5):
        eta = at_strain(rng, modes)
        q = system.q0.copy()
        q[system.q_index("body")] = eta
        rho = r + phi @ eta + 0.5 * np.einsum("niab,a,b->ni", Q, eta, eta)
        D = phi + np.einsum("niab,a->nib", Q, eta)
        J = np.concatenate([np.array([-skew(x) for x in rho]), np.tile(np.eye(3), (len(m), 1, 1)), D], axis=2)
        want = np.einsum("n,nia,nib->ab", m, J, J)
        M, root = wt.mass_matrix(system, q), 1.0 / np.sqrt(np.diag(want))
        np.testing.assert_allclose(root[:, None] * M * root, root[:, None] * want * root, atol=1e-10)
    assert len(modes.field.one) < len(m)


def test_energy_of_sections_is_that_of_rotated_ones_to_second_order():
    """Of the second order of sections the mass has what their places see, so moments of inertia are off by third order:
    half of the deformation leaves an eighth; and what couples them to the modes by second order: it leaves a quarter.
    """
    rng = np.random.default_rng(5)
    modes = wt.beam(0.1, **STRIP, deforms=["torsion", "bending_y"]).modes(count=6, fidelity="stiffened")
    twists = abs(modes.psi[-1, 0]) > 1e-6
    assert set(twists) == {True, False}
    system, direction = on_base(modes, "free"), twists * at_strain(rng, modes)  # then the centre line is at rest

    def off(scale):
        eta, q = scale * direction, system.q0.copy()
        q[system.q_index("body")] = eta
        M = wt.mass_matrix(system, q)
        J = modes.J0 + np.einsum("aij,a->ij", modes.J1, eta) + 0.5 * np.einsum("abij,a,b->ij", modes.J2, eta, eta)
        return abs(M[:3, :3] - J).max(), abs(M[:3, 6:] - modes.Cr0 - np.einsum("aib,a->ib", modes.Cr1, eta)).max()

    (moments, coupled), (less, fewer) = off(1.0), off(0.5)
    assert moments / less > 7.0  # 4 and 2 without the second order of sections
    assert coupled / fewer > 3.5


def slope(f, x, d):
    """Fourth-order difference"""
    return (8 * (f(x + d) - f(x - d)) - (f(x + 2 * d) - f(x - 2 * d))) / 12


@pytest.mark.parametrize("carried", ["free", "stiffened"])
def test_forces_are_the_derivatives_of_that_energy(carried):
    """Lagrange's equations of a body on a hinge, by differences of its energy."""
    rng, beam = np.random.default_rng(4), wt.beam(1.0, **STRIP)
    modes = beam.modes("free", count=4) if carried == "free" else beam.modes(count=4, fidelity="stiffened")
    modes = modes.referenced("n3" if carried == "free" else "tip")
    system = on_base(modes, "hinge along", gravity=(0, 0, 0))
    n = system.nu
    q, u, a = np.append(0.3, at_strain(rng, modes)), rng.normal(size=n), rng.normal(size=n)
    u[1:] *= 20 * abs(q[1:])
    steps = np.diag(np.append(1e-3, 1e-3 * abs(q[1:]).max() * np.ones(n - 1)))
    M, h = wt.mass_matrix(system, q), 5e-5
    rate = slope(lambda t: wt.mass_matrix(system, q + t * u), 0.0, h) / h
    kinetic = [slope(lambda x: wt.energy(system, x, u).kinetic, q, d) / d.max() for d in steps]
    want = M @ a + rate @ u - np.array(kinetic)
    want[1:] += modes.K @ q[1:] + modes.D @ u[1:]
    tau = wt.inverse_dynamics(system, q, u, a)
    size = np.sqrt(np.diag(M)) * np.sqrt(u @ M @ u + a @ M @ a)
    size[1:] += abs(modes.K @ q[1:])
    assert (abs(tau - want) < 1e-7 * size.max()).all()


# ---------------------------------------------------------------- runs


def energy_drift(run):
    total = run["energy"]
    return np.abs(total - total[0]).max() / max(np.abs(total).max(), np.ptp(run["energy.kinetic"]))


def test_a_strip_let_go_from_a_deflection_of_five_percent_keeps_its_energy():
    modes = wt.beam(1.0, **STRIP, deforms=["bending_z"]).modes(count=6, fidelity="stiffened")
    system = on_base(modes)
    q = system.q0.copy()
    q[1] = 0.05 / modes.phi[-1, 2, 0]
    run = wt.simulate(system, 10.0 if CASES > 40 else 0.05, q=q, rtol=1e-11, atol=1e-13)
    assert energy_drift(run) < 1e-7


def test_a_double_pendulum_of_tubes_keeps_its_energy():
    tube = wt.beam(1.0, section="tube", radius=0.01, wall=0.001, E=70e9, rho=2700.0)
    modes = tube.modes(count=4, fidelity="stiffened")
    model = wt.Model("double pendulum")
    for name, place, axis in (("upper", "ground", "y"), ("lower", "upper/tip", "y")):
        model.flexible(name, modes)
        model.joint(f"joint of {name}", "revolute", place, name, axis=axis)
    system = model.compile()
    q = system.q0.copy()
    for name in ("upper", "lower"):
        eta = np.zeros(modes.count)
        eta[:2] = 0.05 / np.abs(modes.phi[-1, 1:, :2]).max()
        q[system.q_index(name)] = eta
    run = wt.simulate(system, 10.0 if CASES > 40 else 0.5, q=q, rtol=1e-10, atol=1e-12)
    assert energy_drift(run) < 1e-7
