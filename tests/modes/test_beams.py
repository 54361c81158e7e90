"""Beams against exact roots (problem P10), closed forms, and rods integrated as they bend."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.special import iv, jv, kv, yv

import whippletree as wt
from whippletree_lab.reproduce.problems import case

P10 = case("P10")
REF = P10["reference"]
# EI = 14000, EA = 2.8e7, rho A = 1.2 as the problem has them; I follows from a radius of gyration near zero
THIN = {"A": 1.0, "Iy": 5e-4, "Iz": 5e-4, "E": 2.8e7, "rho": 1.2, "rotary": False}
ROUND = {"section": "circle", "radius": 0.02, "E": 70e9, "nu": 0.3, "rho": 2700.0}


@pytest.fixture(scope="module")
def plane():
    """The beam of P10, which bends in one plane."""
    return wt.beam(10.0, **THIN, deforms=["bending_y"]).modes(count=10)


# ---- P10


def test_cantilever_frequencies(plane):
    exact = np.array(REF["clamped_free"]["omega"], dtype=float)
    np.testing.assert_allclose(plane.frequencies[:5], exact, rtol=P10["tolerance"]["modes_rel"])


@pytest.mark.parametrize("mode", range(5))
def test_cantilever_integrals(plane, mode):
    want = REF["mass_normalised_clamped_modes"][mode]
    sign = np.sign(plane.phi[-1, 1, mode]) * np.sign(want["phi_tip"])
    got = sign * np.array([plane.Cr0[2, mode], plane.Ct0[1, mode], plane.phi[-1, 1, mode]])
    exact = [want["int_rhoA_x_phi"], want["int_rhoA_phi"], want["phi_tip"]]
    np.testing.assert_allclose(got, exact, rtol=P10["tolerance"]["modes_rel"])
    np.testing.assert_allclose(plane.Mff, np.eye(10), atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("tip", [0, 5])
def test_frequencies_of_a_hub_with_so_many_modes(plane, count, tip):
    """Mass matrix of the hub's angle and the modes, with the data that a system takes."""
    k = plane.node("tip")
    reach = np.concatenate([[10.0], plane.phi[k, 1, :count]])
    M = np.block(
        [[50.0 + plane.J0[2, 2], plane.Cr0[2, :count]], [plane.Cr0[2, :count, None], plane.Mff[:count, :count]]]
    )
    K = np.diag([0.0, *np.diag(plane.K)[:count]])
    squares = eigh(K, M + tip * np.outer(reach, reach), eigvals_only=True)[1:]
    want = REF["truncated_clamped_modes"][f"galerkin_Jh50_mt{tip}_n{count}"]
    # the axial inertia of a section of the beam, 1.2e-3 kg m, is in J0 about x only
    np.testing.assert_allclose(np.sqrt(squares), want, rtol=P10["tolerance"]["truncated_rel"])


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_static_tip_load_with_so_many_modes(plane, count):
    tip = plane.phi[plane.node("tip"), 1, :count]
    got = 10.0 * (tip**2 / np.diag(plane.K)[:count]).sum()
    np.testing.assert_allclose(got, REF["static_tip_load_10N"]["n_modes"][str(count)], rtol=1e-8)


def test_static_tip_load_of_craig_bampton_modes_is_exact():
    m = wt.beam(10.0, **THIN, deforms=["bending_y"]).modes("craig-bampton", outboard="tip", count=0)
    tip = m.phi[m.node("tip"), 1]
    np.testing.assert_allclose(10.0 * tip @ np.linalg.solve(m.K, tip), REF["static_tip_load_10N"]["exact"], rtol=1e-9)
    assert m.count == 2  # deflection and turn of the tip


@pytest.mark.parametrize("bending", ["flap", "chord"])
@pytest.mark.parametrize("speed", ["2", "6", "12"])
def test_rotating_cantilever_stiffens(bending, speed):
    """Steady spin about z: K - (w J2 w) / 2 is the stiffness of the modes, and their gyroscopic term is zero."""
    thin = THIN | {"Iy": 5e-6, "Iz": 5e-6, "E": 2.8e9}  # the sections' own inertia about the axis is left out there
    beam = wt.beam(10.0, **thin, deforms=["bending_z" if bending == "flap" else "bending_y"])
    unit = np.sqrt(1.2 * 10.0**4 / 14000.0)
    w = np.array([0.0, 0.0, float(speed) / unit])
    exact = np.array(REF["rotating_cantilever"][bending][speed])
    got = {}
    for fidelity in ("full", "stiffened"):
        m = beam.modes(count=16, fidelity=fidelity)
        K = m.K - 0.5 * np.einsum("i,abij,j->ab", w, m.J2, w)
        got[fidelity] = np.linalg.eigvalsh(K)[:3] * unit**2
    np.testing.assert_allclose(np.sqrt(got["stiffened"]), exact, rtol=P10["tolerance"]["rotating_rel"])
    # without second-order displacements spin does not stiffen: flap stays as it is, chord even softens by the spin
    softer = 0.0 if bending == "flap" else float(speed) ** 2
    # (to the sections' own inertia, a radius of gyration of 1/3000 of the length, times the square of the speed)
    np.testing.assert_allclose(got["full"], np.diag(m.K)[:3] * unit**2 - softer, rtol=1e-4)


# ---- closed forms

ROOTS = {"cantilever": 1.8751040687119611, "free": 4.7300407448627040}


@pytest.mark.parametrize(("kind", "root"), ROOTS.items())
@pytest.mark.parametrize("axis", ["x", "-z", (1.0, 2.0, -2.0)])
def test_bending_stretch_and_twist_of_a_round_beam(kind, root, axis):
    """Euler-Bernoulli beams, and rods in stretch and twist: Blevins, Formulas for natural frequency (1979)."""
    L = 2.0
    m = wt.beam(L, **ROUND, axis=axis, rotary=False).modes(kind, frequency=1e4)
    E, G, rho, r = 70e9, 70e9 / 2.6, 2700.0, 0.02
    bend = root**2 * np.sqrt(E * (np.pi * r**4 / 4) / (rho * np.pi * r**2)) / L**2
    part = 0.5 if kind == "cantilever" else 1.0
    twist, stretch = (part * np.pi / L * np.sqrt(x / rho) for x in (G, E))
    for exact, times in ((bend, 2), (twist, 1), (stretch, 1)):
        assert (abs(m.frequencies / exact - 1) < 1e-9).sum() == times, exact


def test_frequencies_converge_from_above():
    """With elements, and as the degree grows; rounding is 1e-13 of them."""
    exact = np.array(REF["clamped_free"]["omega"], dtype=float)[:4]
    before = np.full(4, np.inf)
    for elements, degree in ((2, 3), (3, 3), (4, 3), (8, 3), (8, 4), (8, 5), (8, 6)):
        got = wt.beam(10.0, **THIN, deforms=["bending_y"], elements=elements, degree=degree).modes(count=4).frequencies
        assert (got > exact * (1 - 1e-12)).all()
        assert (got <= before * (1 + 1e-12)).all()
        before = got
    assert abs(before / exact - 1).max() < 1e-7


def test_frequencies_of_a_hub_converge_from_above_with_modes(plane):
    exact = np.array(REF["hub_pivot_free"]["Jh50_tip0"]["omega"], dtype=float)
    before = np.inf
    for n in range(1, 11):
        M = np.block([[50.0 + plane.J0[2, 2], plane.Cr0[2, :n]], [plane.Cr0[2, :n, None], np.eye(n)]])
        first = np.sqrt(eigh(np.diag([0.0, *np.diag(plane.K)[:n]]), M, eigvals_only=True)[1])
        assert exact[0] * (1 - 1e-9) < first < before
        before = first
    assert before / exact[0] - 1 < 1e-7


def test_timoshenko_free_beam():
    """A free beam: Timoshenko's equations solved by exponentials, no element; a stout beam, so that shear counts."""
    L, h, w, E, nu, rho = 1.0, 0.2, 0.1, 210e9, 0.3, 7850.0
    A, I, G = w * h, w * h**3 / 12, E / (2 * (1 + nu))
    k = 10 * (1 + nu) / (12 + 11 * nu)  # Cowper

    def determinant(omega):
        """Of the ends' shear and moment, of the four solutions v = e^(l x), turn = c e^(l x)."""
        p = np.array([k * G * A * E * I, 0, rho * omega**2 * (E * I * A + k * G * A * I), 0,
                      rho * A * omega**2 * (rho * I * omega**2 - k * G * A)])  # fmt: skip
        l = np.roots(p / p[0]).astype(complex)
        c = (k * G * A * l**2 + rho * A * omega**2) / (k * G * A * l)
        rows = [f(x) for x in (0.0, L) for f in (lambda x: c * l * np.exp(l * x), lambda x: (l - c) * np.exp(l * x))]
        D = np.linalg.det(np.array(rows) / np.exp(abs(l.real) * L))
        return (D / np.prod(np.subtract.outer(l, l)[np.triu_indices(4, 1)])).real

    got = wt.beam(L, section="rectangle", height=h, width=w, E=E, nu=nu, rho=rho, theory="timoshenko",
                  deforms=["bending_y"]).modes("free", count=3).frequencies  # fmt: skip
    for omega in got:
        exact = brentq(determinant, 0.99 * omega, 1.01 * omega, xtol=1e-9 * omega, rtol=1e-14)
        np.testing.assert_allclose(omega, exact, rtol=1e-7)
    thin = 4.7300407448627040**2 * np.sqrt(E * I / (rho * A))
    assert 0.8 < got[0] / thin < 0.95  # shear and rotary inertia lower the first by a tenth


def test_slender_timoshenko_is_euler_bernoulli():
    """With a radius of gyration of 1/2000 of the length, shear and rotary inertia lower the first by 1e-6 or so."""
    slender = {"section": "rectangle", "height": 0.00173, "width": 0.00173}
    one, two = (wt.beam(1.0, **slender, theory=t).modes(count=2).frequencies for t in ("timoshenko", "euler-bernoulli"))
    assert (one < two).all()
    np.testing.assert_allclose(one, two, rtol=1e-5)


def test_timoshenko_without_rotary_inertia():
    """Then only shear lowers the frequencies; turns have no mass, and no mode is lost or made up by that."""
    stout = {"section": "rectangle", "height": 0.2, "width": 0.1, "theory": "timoshenko", "deforms": ["bending_y"]}
    for kind in ("cantilever", "free"):
        with_, without = (wt.beam(1.0, **stout, rotary=r).modes(kind, count=3).frequencies for r in (True, False))
        assert (with_ < without).all()
        np.testing.assert_allclose(with_, without, rtol=0.1)


def test_tapered_wedge():
    """A truncated wedge, clamped at its thick end, by its Bessel functions.

    Width constant, height h (1 - x (1 - t) / L): (x^3 v'')'' = k^4 x v has v = Z1(2 k sqrt x) / sqrt x for the Bessel
    functions J, Y, I, K (Kirchhoff 1882; Naguleswaran, J. Sound Vib. 172 (1994)).
    """
    L, h, w, E, rho, t = 1.0, 0.02, 0.01, 70e9, 2700.0, 0.25
    far = L / (1 - t)  # the tip of the whole wedge is so far from the base
    a, b = far - L, far  # free end and clamped end, from the sharp tip

    def basis(s, omega):
        """v, v', x^3 v'', (x^3 v'')' of the four solutions."""
        q = (12 * rho * omega**2 * far**2 / (E * h**2)) ** 0.25
        z, out = 2 * q * np.sqrt(s), []
        for f, sign in (
            (lambda n: jv(n, z), -1),
            (lambda n: yv(n, z), -1),
            (lambda n: iv(n, z), 1),
            (lambda n: kv(n, z), 0),
        ):
            down = {-1: -1.0, 1: 1.0, 0: -1.0}[sign]  # d/ds (s^-n/2 Z_n) = down q s^-(n+1)/2 Z_(n+1)
            up = {-1: 1.0, 1: 1.0, 0: -1.0}[sign]  # d/ds (s^n/2 Z_n) = up q s^(n-1)/2 Z_(n-1)
            out.append([f(1) / s**0.5, down * q * f(2) / s, down**2 * q**2 * f(3) * s**1.5,
                        down**2 * up * q**3 * s * f(2)])  # fmt: skip
        return np.array(out).T

    def determinant(omega):
        clamped, free = basis(b, omega), basis(a, omega)
        D = np.vstack([clamped[:2], free[2:]])
        return np.linalg.det(D / abs(D).max(axis=0))

    got = wt.beam(L, section="rectangle", height=[h, t * h], width=w, E=E, rho=rho, rotary=False,
                  deforms=["bending_y"]).modes(count=3).frequencies  # fmt: skip
    for omega in got:
        exact = brentq(determinant, 0.99 * omega, 1.01 * omega, xtol=1e-10 * omega, rtol=1e-14)
        np.testing.assert_allclose(omega, exact, rtol=1e-8)


def test_sections():
    """Roark's table for torsion of a square: J = 2.25 (a/2)^4, stress 0.601 T / (a/2)^3; Cowper's shear factors."""
    p = wt.beam(1.0, section="rectangle", width=0.1, height=0.1, nu=0.3).line.section.at(np.array([0.0, 1.0]))
    np.testing.assert_allclose(p.J, 2.249 * 0.05**4, rtol=1e-3)
    np.testing.assert_allclose(p.ct / p.J, 0.6009 / 0.05**3, rtol=1e-3)
    thin = wt.beam(1.0, section="rectangle", width=0.001, height=0.1).line.section.at(np.zeros(1))
    np.testing.assert_allclose(thin.J, 0.1 * 0.001**3 / 3, rtol=0.01)
    tube = wt.beam(1.0, section="tube", radius=0.02, wall=0.02, nu=0.3).line.section.at(np.zeros(1))
    solid = wt.beam(1.0, section="circle", radius=0.02, nu=0.3).line.section.at(np.zeros(1))
    for name in ("A", "Iy", "Iz", "J", "ky", "kz"):
        np.testing.assert_allclose(getattr(tube, name), getattr(solid, name))
    np.testing.assert_allclose(solid.ky, 6 * 1.3 / (7 + 6 * 0.3))
    np.testing.assert_allclose(p.ky, 13 / (12 + 3.3))


def test_rigid_integrals_of_a_tapered_beam_are_those_of_the_solid():
    """A cone: volume, centre and inertia by its own integrals."""
    L, a, b, rho = 2.0, 0.3, 0.1, 1000.0
    m = wt.beam(L, section="circle", radius=[a, b], rho=rho, axis="z").modes(count=1)

    def moment(power, n):
        return rho * np.pi * quad(lambda s: (a + (b - a) * s / L) ** power * s**n, 0, L)[0]

    mass, first, second, own = moment(2, 0), moment(2, 1), moment(2, 2), moment(4, 0) / 4
    np.testing.assert_allclose(m.mass, mass)
    np.testing.assert_allclose(m.h0, [0, 0, first], atol=1e-9)
    np.testing.assert_allclose(m.J0, np.diag([second + own, second + own, 2 * own]), atol=1e-9)


# ---- second order


@pytest.mark.parametrize("theory", ["euler-bernoulli", "timoshenko"])
def test_second_order_displacement_is_that_of_the_deformed_rod(theory):
    """The rod of the modes' strains, integrated: r' = R (e + strain), R' = R curvature~. The rest is of third order."""
    beam = wt.beam(1.0, section="rectangle", width=0.05, height=0.08, theory=theory, elements=3, axis=(1, 1, 0))
    m = beam.modes("craig-bampton", count=2, fidelity="stiffened")
    axes = beam.line.axes

    def rod(eta):
        def rates(s, y):
            R = y[3:].reshape(3, 3)
            strain = m.beam.strain(np.array([s]))[0] @ eta
            k = strain[3:]
            curl = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
            return np.concatenate([R @ (np.array([1.0, 0, 0]) + strain[:3]), (R @ curl).ravel()])

        y, place = np.concatenate([np.zeros(3), np.eye(3).ravel()]), []
        for a, b in zip(beam.line.ends, beam.line.ends[1:], strict=False):
            y = solve_ivp(rates, (a, b), y, rtol=1e-12, atol=1e-14, method="DOP853").y[:, -1]
            place.append(axes @ y[:3])
        return np.array(place)

    direction = np.random.default_rng(0).normal(size=m.count) / abs(m.phi[-1]).max()
    errors = []
    for size in (0.02, 0.01):
        eta = size * direction
        errors.append(abs(m.r[1:] + m.displacements(eta)[1:] - rod(eta)).max())
    second = abs(0.5 * np.einsum("kiab,a,b", m.Q, eta, eta)).max()
    assert errors[1] < 0.05 * second
    assert 6.0 < errors[0] / errors[1] < 10.0  # 8 when halved: third order


@pytest.mark.parametrize("inboard", ["n2", "tip"])
def test_stiffened_modes_are_the_same_motion_from_any_node(inboard):
    """Free modes with the frame at another node directly, and by re-referencing to it."""
    beam = wt.beam(1.0, section="rectangle", width=0.05, height=0.08, elements=4)
    direct = beam.modes("free", count=4, inboard=inboard, fidelity="stiffened")
    around = beam.modes("free", count=4, inboard="base", fidelity="stiffened").referenced(inboard)
    for name in ("h1", "h2", "J1", "J2", "Ct0", "Ct1", "Cr0", "Cr1", "Mff", "phi", "psi", "Q", "psi2"):
        want = getattr(direct, name)
        np.testing.assert_allclose(getattr(around, name), want, atol=1e-9 * abs(want).max(), err_msg=name)


def test_foreshortening_is_the_integral_of_slopes():
    stiff = wt.beam(10.0, **THIN, deforms=["bending_y"]).modes(count=3, fidelity="stiffened")
    s = np.polynomial.legendre.leggauss(60)
    x, w = 5.0 * (s[0] + 1), 5.0 * s[1]
    # slopes are psi at nodes: a beam with a node at every point of the quadrature
    fine = wt.beam(10.0, **THIN, deforms=["bending_y"], stations={f"s{k}": v for k, v in enumerate(x)}).modes(count=3)
    slopes = np.array([fine.psi[fine.node(f"s{k}"), 2] for k in range(60)])
    signs = np.sign(fine.phi[fine.node("tip"), 1] * stiff.phi[stiff.node("tip"), 1])
    want = -np.einsum("k,ka,kb->ab", w, slopes * signs, slopes * signs)
    np.testing.assert_allclose(stiff.Q[stiff.node("tip"), 0], want, rtol=1e-8)


def test_free_modes_carry_no_momentum():
    """Before the frame is fixed to a node, free modes are orthogonal to rigid motion."""
    beam = wt.beam(1.0, section="rectangle", width=0.05, height=0.08, axis=(1, 2, 3))
    m = beam.modes("free", count=5)
    k = m.node("base")
    # undo the frame: what a motion of the frame by -(phi, psi) of the free mode takes away is in Ct0 and Cr0
    free = wt.modes.make.Held(beam, 0)
    squares, V = free._free(wt.modes.choose.Choice(5, None, None))
    got = beam.mass.integrals(V[:, :5], beam.shapes(V[:, :5]), None)
    size = np.sqrt(m.mass)
    assert abs(got["Ct0"]).max() < 1e-8 * size
    assert abs(got["Cr0"]).max() < 1e-8 * size
    np.testing.assert_allclose(np.sqrt(squares[:5]), m.frequencies)
    assert not m.phi[k].any()


# ---- loads and stresses


def test_stresses_under_a_tip_load_are_those_of_the_cantilever():
    """Static shapes of the tip hold the exact loads: M = F (L - x), stress M c / I; torsion T r / J; stretch N / A."""
    L, r = 1.5, 0.02
    m = wt.beam(L, **ROUND).modes("craig-bampton", outboard="tip", count=0)
    k = m.node("tip")
    push = np.array([100.0, 20.0, -30.0])
    twist = np.array([5.0, 0.0, 0.0])
    eta = np.linalg.solve(m.K, m.phi[k].T @ push + m.psi[k].T @ twist)
    at = np.array([0.0, 0.4, 1.1])
    got = m.stresses(eta, at)
    A, I = np.pi * r**2, np.pi * r**4 / 4
    moment = np.hypot(20.0, 30.0) * (L - at)
    np.testing.assert_allclose(got["bending_z"], 20.0 * (L - at), rtol=1e-7)
    np.testing.assert_allclose(got["bending_y"], 30.0 * (L - at), rtol=1e-7)
    np.testing.assert_allclose(got["axial_stress"], 100.0 / A, rtol=1e-7)
    np.testing.assert_allclose(got["bending_stress"], moment * r / I, rtol=1e-7)
    np.testing.assert_allclose(got["torsion_stress"], 5.0 * r / (2 * I), rtol=1e-7)
    normal = 100.0 / A + moment * r / I
    np.testing.assert_allclose(got["von_mises"], np.sqrt(normal**2 + 3 * (5.0 * r / (2 * I)) ** 2), rtol=1e-7)
    assert m.stresses(np.zeros((4, m.count)))["von_mises"].shape == (4, 9)
    np.testing.assert_allclose(m.displacements(eta)[k, 1], 20.0 * L**3 / (3 * 70e9 * I), rtol=1e-7)


def test_shear_load_of_a_timoshenko_beam():
    m = wt.beam(1.0, section="rectangle", width=0.05, height=0.1, theory="timoshenko").modes("craig-bampton", count=0)
    eta = np.linalg.solve(m.K, m.phi[m.node("tip")].T @ [0.0, 50.0, 10.0])
    got = m.stresses(eta, [0.2, 0.9])
    np.testing.assert_allclose(got["shear_y"], 50.0, rtol=1e-6)
    np.testing.assert_allclose(got["shear_z"], 10.0, rtol=1e-6)
    assert "shear_y" not in wt.beam(1.0, **ROUND).modes(count=1).stresses([0.1])


def test_a_single_mode_takes_its_coordinate_over_time_as_results_have_it():
    m = wt.beam(1.0, **ROUND, deforms=["bending_y"]).modes(count=1)
    eta = np.linspace(0.0, 0.1, 5)
    np.testing.assert_array_equal(m.displacements(eta), m.displacements(eta[:, None]))
    assert m.stresses(eta, at=[0.0, 0.5])["von_mises"].shape == (5, 2)
    assert m.displacements(0.1).shape == (9, 3)


def test_strain_of_modes_is_that_of_the_outer_fibre():
    m = wt.beam(1.0, **ROUND, deforms=["bending_y"]).modes(count=3)
    s = np.linspace(0, 1, 2001)
    deformed = abs(m.beam.strain(s)[:, 5]) * 0.02
    np.testing.assert_allclose(m.strain, deformed.max(axis=0), rtol=1e-3)
    eta = np.array([[0.1, 0.0, 0.0], [0.1, -0.05, 0.02]])
    want = abs(m.beam.strain(s)[:, 5] @ eta.T).max(axis=0) * 0.02
    np.testing.assert_allclose(m.largest_strain(eta), want, rtol=1e-3)
    assert m.largest_strain(eta)[1] <= abs(eta[1]) @ m.strain * (1 + 1e-12)
