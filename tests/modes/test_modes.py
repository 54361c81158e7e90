"""Modal integrals, re-referencing and files of modes, against a deformed body by brute force."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whippletree as wt
from deformed import Deformed, cayley
from whippletree.errors import ModelError
from whippletree.modes import Modes, Points
from whippletree.modes.reference import referenced

SEEDS = st.integers(0, 2**32 - 1)
# eta of this size: errors of third order are h^3 times numbers up to a thousand, a term of second order is h^2
SMALL = 1e-5


def polynomials(m, eta):
    """h, J, Ct, Cr, Mff that modes (or a dict of integrals) give at eta."""
    get = m.__getitem__ if isinstance(m, dict) else lambda name: getattr(m, name)
    h = get("h0") + get("h1") @ eta + 0.5 * np.einsum("iab,a,b", get("h2"), eta, eta)
    J = get("J0") + np.einsum("aij,a", get("J1"), eta) + 0.5 * np.einsum("abij,a,b", get("J2"), eta, eta)
    Ct, Cr = (get(c + "0") + np.einsum("aib,a->ib", get(c + "1"), eta) for c in ("Ct", "Cr"))
    return h, J, Ct, Cr, get("Mff")


def assert_second_order(m, body, seen_from=None, seed=0):
    """Zero order exact; the error of h and J is of third order in eta, of Ct and Cr of second, of Mff of first."""
    rng = np.random.default_rng(seed)
    zero = np.zeros(body.count)
    for got, exact in zip(polynomials(m, zero), body.integrals(zero, seen_from), strict=True):
        np.testing.assert_allclose(got, exact, rtol=0, atol=1e-11 * (1 + abs(exact).max()))
    for _ in range(3):
        eta = SMALL * rng.normal(size=body.count)
        exact = body.integrals(eta, seen_from)
        for got, want, order in zip(polynomials(m, eta), exact, (3, 3, 2, 2, 1), strict=True):
            bound = 1e3 * SMALL**order * (1 + abs(want).max()) + 1e-13 * abs(want).max()
            assert abs(got - want).max() < bound


def modes_of(body, **more):
    K = np.diag(1.0 + np.arange(body.count))
    parts = {"inertia": body.inertia, "psi": body.psi, "Q": body.Q} | more
    return Modes.from_nodes(body.r, body.mass, body.phi, K, **parts)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_integrals_are_those_of_the_deformed_body_to_second_order(seed):
    body = Deformed.random(np.random.default_rng(seed))
    points = Points.make(body.r, body.mass, body.phi, inertia=body.inertia, psi=body.psi, Q=body.Q)
    assert_second_order(points.integrals(), body, seed=seed)


@pytest.mark.parametrize("part", ["J1", "J2", "Cr1"])
def test_integrals_are_derivatives(part):
    """Central differences of the brute force: h^2 of error, and rounding by h or h^2."""
    body, h = Deformed.random(np.random.default_rng(3)), 1e-4
    got = Points.make(body.r, body.mass, body.phi, inertia=body.inertia, psi=body.psi, Q=body.Q).integrals()[part]
    which = {"J1": 1, "J2": 1, "Cr1": 3}[part]

    def at(*steps):
        return body.integrals(sum(h * s * np.eye(body.count)[a] for s, a in steps))[which]

    for a in range(body.count):
        if part != "J2":
            np.testing.assert_allclose(got[a], (at((1, a)) - at((-1, a))) / (2 * h), atol=1e-4)
            continue
        for b in range(body.count):
            corners = [s * t * at((s, a), (t, b)) for s in (1, -1) for t in (1, -1)]
            np.testing.assert_allclose(got[a, b], sum(corners) / (4 * h * h), atol=1e-4)


@settings(max_examples=25, deadline=None)
@given(SEEDS)
def test_referenced_integrals_are_those_seen_from_the_node(seed):
    body = Deformed.random(np.random.default_rng(seed))
    free = modes_of(body, kind="free", inboard="n0")
    assert_second_order(free, body, seen_from=0, seed=seed)


def test_referenced_nodes_are_where_the_node_sees_them():
    body = Deformed.random(np.random.default_rng(5))
    m = modes_of(body, kind="free", inboard="n2")
    eta = SMALL * np.array([1.0, -2.0, 0.5])
    rho0, _, R0, _ = body.node(2, eta)
    for k in range(len(body.r)):
        rho, _, R, _ = body.node(k, eta)
        seen = body.r[2] + R0.T @ (rho - rho0)
        got = m.r[k] + m.displacements(eta)[k]
        np.testing.assert_allclose(got, seen, atol=1e4 * SMALL**3)
        turned = cayley(m.psi[k] @ eta + 0.5 * np.einsum("iab,a,b", m.psi2[k], eta, eta))
        np.testing.assert_allclose(turned, R0.T @ R, atol=1e4 * SMALL**3)
    assert not m.phi[2].any()
    assert not m.Q[2].any()


def test_referencing_there_and_back_is_the_same():
    first = modes_of(Deformed.random(np.random.default_rng(7)), kind="free", inboard="n1")
    back = first.referenced("n4").referenced("n1")
    for name in ("h0", "h1", "h2", "J0", "J1", "J2", "Ct0", "Ct1", "Cr0", "Cr1", "Mff", "phi", "psi", "Q", "psi2"):
        want = getattr(first, name)
        np.testing.assert_allclose(getattr(back, name), want, atol=1e-11 * abs(want).max(), err_msg=name)
    assert first.referenced("n1") is first


def test_ruthless_keeps_the_zero_order_only_and_can_be_referenced():
    body = Deformed.random(np.random.default_rng(11))
    m = modes_of(body, kind="free", inboard="n0", fidelity="ruthless")
    full = modes_of(body, kind="free", inboard="n0")
    other = m.referenced("n3")
    for name in ("h2", "J2", "Ct1", "Cr1", "Q", "psi2"):
        assert not getattr(m, name).any()
        assert not getattr(other, name).any()
    for name in ("h0", "h1", "J0", "J1", "Ct0", "Cr0", "Mff", "phi", "psi"):
        np.testing.assert_array_equal(getattr(m, name), getattr(full, name))
        np.testing.assert_allclose(getattr(other, name), getattr(full.referenced("n3"), name), atol=1e-11)
    assert m.fidelity == other.fidelity == "ruthless"


@pytest.mark.parametrize("kind", ["cantilever", "free", "craig-bampton"])
def test_kinetic_energy_is_the_same_from_any_node(kind):
    """T of a motion that is given in space: the velocity of one frame and eta' fix that of the other."""
    beam = wt.beam(1.0, section="rectangle", width=0.02, height=0.03, elements=3, degree=4)
    m = beam.modes(kind, count=3)
    k = m.node("tip")
    other = m.referenced("tip")
    v, rate = np.array([0.3, -0.2, 0.5, 1.0, 2.0, -1.0]), np.linspace(0.01, 0.05, m.count)  # at eta = 0

    def energy(modes, v):
        omega, speed = v[:3], v[3:]
        T = 0.5 * omega @ modes.J0 @ omega + 0.5 * modes.mass * speed @ speed + speed @ np.cross(omega, modes.h0)
        return T + omega @ modes.Cr0 @ rate + speed @ modes.Ct0 @ rate + 0.5 * rate @ modes.Mff @ rate

    omega = v[:3] + m.psi[k] @ rate
    at_tip = v[3:] + np.cross(v[:3], m.r[k]) + m.phi[k] @ rate
    carried = np.concatenate([omega, at_tip - np.cross(omega, m.r[k])])
    np.testing.assert_allclose(energy(other, carried), energy(m, v), rtol=1e-12)


# ---- files


def test_modes_are_the_same_after_saving(tmp_path):
    m = wt.beam(1.0, section="tube", radius=[0.02, 0.01], wall=0.002, elements=2).modes(
        "craig-bampton", count=2, fidelity="stiffened", damping=0.02
    )
    m.save(tmp_path / "arm.npz")
    back = Modes.load(tmp_path / "arm.npz")
    assert back == m
    assert str(back.report) == str(m.report)
    eta = np.linspace(1e-3, 2e-3, m.count)
    for name, want in m.stresses(eta, at=[0.0, 0.3]).items():
        np.testing.assert_array_equal(back.stresses(eta, at=[0.0, 0.3])[name], want, err_msg=name)
    assert [p.name for p in tmp_path.iterdir()] == ["arm.npz"]


def test_modes_differ_when_a_number_does():
    one, two = (wt.beam(1.0, section="circle", radius=r, elements=1).modes(count=1) for r in (0.01, 0.011))
    assert one != two
    assert one == wt.beam(1.0, section="circle", radius=0.01, elements=1).modes(count=1)
    assert one != "modes"


def test_hostile_files_are_refused(tmp_path):
    class Bad:
        def __reduce__(self):
            return (open, (str(tmp_path / "was here"), "w"))

    def refused(name, message):
        with pytest.raises(ModelError, match=message) as caught:
            Modes.load(tmp_path / name)
        assert len(str(caught.value)) < 600

    np.savez(tmp_path / "pickle.npz", about=np.array(Bad(), dtype=object))
    refused("pickle.npz", "'about.npy' holds no numbers")
    assert not (tmp_path / "was here").exists()
    (tmp_path / "text.npz").write_text("not a zip")
    refused("text.npz", "the file cannot be read as .npz")
    refused("none.npz", "'none.npz': there is no such file")
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    refused("other.npz", "the file holds no modes")

    import zipfile

    header = b"\x93NUMPY\x01\x00v\x00" + (
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 1000000), }".ljust(117) + b"\n"
    )
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("Mff.npy", header)
    refused("huge.npz", "'Mff.npy' is cut short")

    good = wt.beam(1.0, section="circle", radius=0.01, elements=1).modes(count=2)
    good.save(tmp_path / "good.npz")
    parts = dict(np.load(tmp_path / "good.npz"))
    for change, message in (
        ({"phi": np.zeros((2, 3, 7))}, "phi has the wrong shape"),
        ({"K": -parts["K"]}, "stiffness is not positive semi-definite"),
        ({"Mff": np.zeros((2, 2))}, "modes are linearly dependent"),
        ({"J2": parts["J2"] * np.nan}, "J2 is not finite"),
        ({"r": np.zeros((9, 3))}, "r has the wrong shape"),
        ({"beam_ends": np.zeros(0)}, "beam_strains has the wrong shape"),
    ):
        np.savez(tmp_path / "bad.npz", **(parts | change))
        refused("bad.npz", message)
    np.savez(tmp_path / "bad.npz", **{k: v for k, v in parts.items() if k != "Cr1"})
    refused("bad.npz", "the file of modes is damaged")
    with pytest.raises(ModelError, match=r"'arm.txt' is not the name of a file of modes"):
        good.save(tmp_path / "arm.txt")
    with pytest.raises(ModelError, match="modes cannot be written"):
        good.save(tmp_path / "no folder" / "arm.npz")


def test_referenced_is_the_public_method():
    m = wt.beam(1.0, section="circle", radius=0.01, elements=1).modes(count=2)
    assert m.referenced("tip") == referenced(m, "tip")
    with pytest.raises(ModelError, match=r"node 'tp' is not known\n  hint: did you mean 'tip'"):
        m.referenced("tp")
