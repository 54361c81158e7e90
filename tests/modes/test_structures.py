"""Structures from matrices, meshes and Nastran files: the same modes by every way, and files that say what is wrong."""

import struct
import sys

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import whippletree as wt
from deformed import Deformed
from test_modes import assert_second_order
from whippletree.errors import MissingExtra, ModelError
from whippletree.modes.mass import MatrixMass, NodalMass

COUNT = 4


def hermite_frame(n=6, L=2.0, EA=1e6, EI=50.0, GJ=40.0, m=3.0, I=1e-3):
    """Textbook matrices (12 x 12 elements) of a beam along x, six components at each node; and Kgeo of axial forces."""
    l, size = L / n, 6 * (n + 1)
    K, M = np.zeros((size, size)), np.zeros((size, size))
    bend = EI / l**3 * np.array([[12, 6 * l, -12, 6 * l], [6 * l, 4 * l * l, -6 * l, 2 * l * l],
                                 [-12, -6 * l, 12, -6 * l], [6 * l, 2 * l * l, -6 * l, 4 * l * l]])  # fmt: skip
    mass = m * l / 420 * np.array([[156, 22 * l, 54, -13 * l], [22 * l, 4 * l * l, 13 * l, -3 * l * l],
                                   [54, 13 * l, 156, -22 * l], [-13 * l, -3 * l * l, -22 * l, 4 * l * l]])  # fmt: skip
    pull = 1 / (30 * l) * np.array([[36, 3 * l, -36, 3 * l], [3 * l, 4 * l * l, -3 * l, -l * l],
                                    [-36, -3 * l, 36, -3 * l], [3 * l, -l * l, -3 * l, 4 * l * l]])  # fmt: skip
    flip = np.diag([1, -1, 1, -1])
    line, both = np.array([[1, -1], [-1, 1]]), np.array([[2, 1], [1, 2]]) / 6
    planes = []
    for e in range(n):
        a, b = 6 * e, 6 * e + 6
        xy, xz = [a + 1, a + 5, b + 1, b + 5], [a + 2, a + 4, b + 2, b + 4]
        planes.append((a, b, xy, xz))
        for rows, k, w in (([a, b], EA / l, m * l), ([a + 3, b + 3], GJ / l, I * l)):
            K[np.ix_(rows, rows)] += k * line
            M[np.ix_(rows, rows)] += w * both
        for rows, turn in ((xy, np.eye(4)), (xz, flip)):
            K[np.ix_(rows, rows)] += turn @ bend @ turn
            M[np.ix_(rows, rows)] += turn @ mass @ turn

    def geometric(u):
        G = np.zeros((size, size))
        for a, b, xy, xz in planes:
            force = EA / l * (u[b] - u[a])
            G[np.ix_(xy, xy)] += force * pull
            G[np.ix_(xz, xz)] += force * flip @ pull @ flip
        return G

    return M, K, np.linspace(0, L, n + 1)[:, None] * [1.0, 0, 0], geometric


# ---- matrices


def test_textbook_matrices_are_the_beam_of_the_same_degree():
    M, K, r, _ = hermite_frame(I=3.0 * 1e-4)
    got = wt.structure(M=M, K=K, r=r).modes(count=6)
    beam = wt.beam(2.0, A=1.0, Iy=5e-5, Iz=5e-5, J=8e-5, E=1e6, G=0.5e6, rho=3.0, elements=6, degree=3, rotary=False,
                   deforms=["bending_y", "bending_z"])  # fmt: skip
    want = beam.modes(count=6)
    np.testing.assert_allclose(got.frequencies, want.frequencies, rtol=1e-9)
    np.testing.assert_allclose(abs(got.phi[-1]).sum(), abs(want.phi[-1]).sum(), rtol=1e-6)
    np.testing.assert_allclose(got.mass, 6.0)
    np.testing.assert_allclose(got.h0, [6.0, 0, 0], atol=1e-12)


def test_geometric_stiffness_of_the_user_gives_the_foreshortening_of_the_beam():
    """Another way to the same: static loads and Kgeo of textbook elements, against the line of the beam."""
    M, K, r, geometric = hermite_frame(n=12)
    lumped = np.diag(np.where(np.arange(len(M)) % 6 < 3, np.where(np.arange(len(M)) // 6 % 12 == 0, 0.25, 0.5), 1e-6))
    given = wt.structure(M=M, K=K, r=r, geometric=geometric).modes(count=3, fidelity="stiffened")
    beam = wt.beam(2.0, A=1.0, Iy=5e-5, Iz=5e-5, E=1e6, rho=3.0, elements=12, degree=3, rotary=False)
    want = beam.modes(count=3, fidelity="stiffened")
    # bending in two planes of one frequency: sums over both are free of how they mix; third derivatives of cubic
    # elements make Kgeo, which takes no bending of the element with it, differ by some 1e-6
    for k in (6, 12):
        np.testing.assert_allclose(np.trace(given.Q[k, 0][:2, :2]), np.trace(want.Q[k, 0][:2, :2]), rtol=1e-5)
    # the force in an element is constant here: 1/12^2 of the length, and more for masses at the nodes only
    np.testing.assert_allclose(np.trace(given.h2[0][:2, :2]), np.trace(want.h2[0][:2, :2]), rtol=1 / 144)
    points = wt.structure(M=lumped, K=K, r=r, geometric=geometric).modes(count=2, fidelity="stiffened")
    np.testing.assert_allclose(np.trace(points.h2[0]), np.trace(want.h2[0][:2, :2]), rtol=0.02)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_random_lumped_structures(seed):
    """Rigid bodies at nodes, joined by random springs: integrals are those of the deformed body, to second order."""
    rng = np.random.default_rng(seed)
    n = 4
    r, offset = rng.normal(size=(n, 3)), 0.3 * rng.normal(size=(n, 3))
    mass, A = rng.uniform(0.5, 2.0, n), rng.normal(size=(n, 3, 3))
    inertia = A @ A.swapaxes(1, 2)
    tilde = lambda a: np.cross(a, np.eye(3))  # noqa: E731  # of a turn, times it: what moves at the distance a
    M, K = np.zeros((6 * n, 6 * n)), np.zeros((6 * n, 6 * n))
    for k in range(n):
        shift = np.block([[np.eye(3), tilde(offset[k])], [np.zeros((3, 3)), np.eye(3)]])
        both = np.zeros((6, 6))
        both[:3, :3], both[3:, 3:] = mass[k] * np.eye(3), inertia[k]
        M[6 * k : 6 * k + 6, 6 * k : 6 * k + 6] = shift.T @ both @ shift
    for i in range(n):
        for j in range(i):
            d = r[i] - r[j]
            B = np.zeros((6, 6 * n))  # motion of i beyond what j carries
            B[:, 6 * i : 6 * i + 6] = np.eye(6)
            B[:, 6 * j : 6 * j + 6] = -np.block([[np.eye(3), tilde(d)], [np.zeros((3, 3)), np.eye(3)]])
            C = rng.normal(size=(6, 6))
            K += B.T @ (C @ C.T + np.eye(6)) @ B
    s = wt.structure(M=M, K=K, r=r)
    assert isinstance(s.mass, NodalMass)
    for kind in ("cantilever", "free", "craig-bampton"):
        m = s.modes(kind, count=COUNT, inboard="n1")
        free = wt.modes.make.Held(s, 1)
        _, V, _ = free.chosen(kind, wt.modes.choose.Choice(COUNT, None, None), [3])
        shapes = s.shapes(V)
        phi, psi = shapes[:, :3], shapes[:, 3:]
        # the offset of the centre of mass turns with its node; to second order that is Q of the centre
        at = phi + np.cross(psi, offset[:, :, None], axis=1)
        Q = np.zeros((n, 3, V.shape[1], V.shape[1]))
        for a in range(V.shape[1]):
            for b in range(V.shape[1]):
                twice = np.cross(psi[..., a], np.cross(psi[..., b], offset))
                Q[..., a, b] += 0.5 * twice
                Q[..., b, a] += 0.5 * twice
        body = Deformed(r + offset, mass, inertia, at, psi, Q)
        if kind != "free":
            assert_second_order(m, body, seed=seed)
            np.testing.assert_allclose(m.Mff, np.eye(m.count), atol=1e-8)
        else:
            zero = np.zeros(m.count)
            coupling = body.integrals(zero)[2:4]
            assert max(abs(c).max() for c in coupling) < 1e-6  # free modes carry no momentum


def test_a_consistent_mass_matrix_is_that_of_points():
    """Any mass matrix of solid elements is N' m N: the same integrals as of points that move by N."""
    rng = np.random.default_rng(4)
    nn, points, nm = 5, 9, 3
    N, m = rng.uniform(size=(points, nn)), rng.uniform(0.5, 1.0, points)
    N /= N.sum(axis=1, keepdims=True)  # rigid motion is interpolated as it is
    scalar = N.T @ (m[:, None] * N)
    r, shapes = rng.normal(size=(nn, 3)), np.zeros((nn, 6, nm))
    shapes[:, :3] = rng.normal(size=(nn, 3, nm))
    full = sparse.kron(sparse.csr_array(scalar), sparse.diags_array([1.0, 1, 1, 0, 0, 0]), format="csr")
    got = MatrixMass(r, full).integrals(np.zeros((0, nm)), shapes, None)
    nothing = np.zeros((points, 3, nm))
    body = Deformed(
        N @ r, m, np.zeros((points, 3, 3)), np.einsum("pk,kia->pia", N, shapes[:, :3]), nothing,
        np.zeros((points, 3, nm, nm)),
    )  # fmt: skip
    assert_second_order(got, body)


def test_matrices_from_files(tmp_path):
    M, K, r, _ = hermite_frame()
    names = ["base", *(f"p{k}" for k in range(1, 6)), "tip"]
    want = wt.structure(M=M, K=K, r=r, names=names).modes(count=COUNT, outboard="tip")
    np.savez(tmp_path / "arm.npz", M=M, K=K, r=r, names=names)
    assert wt.structure(tmp_path / "arm.npz").modes(count=COUNT, outboard="tip") == want
    parts = {}
    for key, matrix in (("M", sparse.coo_array(M)), ("K", sparse.coo_array(K))):
        parts |= {f"{key}_row": matrix.coords[0], f"{key}_col": matrix.coords[1], f"{key}_data": matrix.data}
    np.savez(tmp_path / "sparse.npz", **parts, r=r, names=names)
    assert wt.structure(tmp_path / "sparse.npz").modes(count=COUNT, outboard="tip") == want
    scipy.io.mmwrite(tmp_path / "m.mtx", sparse.coo_array(M))
    scipy.io.mmwrite(tmp_path / "k.mtx", K)
    market = wt.structure(M=tmp_path / "m.mtx", K=tmp_path / "k.mtx", r=r, names=names).modes(count=COUNT)
    np.testing.assert_allclose(market.frequencies, want.frequencies, rtol=1e-12)  # the text has 16 digits


def test_rows_in_any_order():
    M, K, r, _ = hermite_frame()
    order = np.random.default_rng(0).permutation(len(M))
    dofs = np.stack([order // 6, order % 6], axis=1)
    shuffled = wt.structure(M=M[np.ix_(order, order)], K=K[np.ix_(order, order)], r=r, dofs=dofs)
    want = wt.structure(M=M, K=K, r=r)
    np.testing.assert_allclose(shuffled.modes(count=6).frequencies, want.modes(count=6).frequencies, rtol=1e-9)


def test_large_structures_are_solved_sparse():
    """More coordinates than are solved dense; the same beam by elements of degree three."""
    M, K, r, _ = hermite_frame(n=300)
    s = wt.structure(M=sparse.csr_array(M), K=sparse.csr_array(K), r=r)
    assert sparse.issparse(s.K)
    exact = 1.8751040687119611**2 * np.sqrt(50.0 / 3.0) / 4.0
    for kind, first in (("cantilever", exact), ("free", exact * (4.730040744862704 / 1.8751040687119611) ** 2)):
        m = s.modes(kind, count=4, nodes=["n300"])
        np.testing.assert_allclose(m.frequencies[:2], first, rtol=1e-6)
        assert m.nodes == ("n0", "n300")
    assert s.modes("craig-bampton", count=2, nodes=[]).count == 8
    limit = s.modes(count=130, nodes=[]).frequencies[-1]
    assert s.modes(frequency=limit * (1 + 1e-9), nodes=[]).count >= 130  # more than are looked at first


def test_supports_in_the_matrices_are_taken_for_the_inboard_node():
    """A cantilever whose base has no rows: the same modes as when it is held, but for the base's own mass."""
    M, K, r, _ = hermite_frame()
    dofs = np.stack(np.divmod(np.arange(6, 42), 6), axis=1)
    held = wt.structure(M=M[6:, 6:], K=K[6:, 6:], r=r, dofs=dofs).modes(count=4)
    want = wt.structure(M=M, K=K, r=r).modes(count=4)
    np.testing.assert_allclose(held.frequencies, want.frequencies, rtol=1e-9)
    with pytest.raises(ModelError, match="free modes need a structure that is free"):
        wt.structure(M=M[6:, 6:], K=K[6:, 6:], r=r, dofs=dofs).modes("free")


def test_gathered_nodes_move_as_one():
    """Two beams side by side, held together at each end: a frame that bends as two, and sways as a sandwich."""
    M, K, r, _ = hermite_frame()
    two = np.kron(np.eye(2), M), np.kron(np.eye(2), K)
    places = np.concatenate([r - [0, 0.1, 0], r + np.array([0, 0.1, 0])])
    s = wt.structure(M=two[0], K=two[1], r=places)
    frame = s.gather("base", ["n0", "n7"]).gather("tip", [6, 13])
    assert frame.names[-2:] == ("base", "tip")
    m = frame.modes(inboard="base", outboard="tip", count=6)
    phi, psi = m.phi, m.psi
    for a, b in ((6, 15), (13, 15), (0, 14), (7, 14)):  # members and their nodes
        np.testing.assert_allclose(psi[a], psi[b], atol=1e-9)
        arm = np.cross(psi[b], (m.r[a] - m.r[b])[:, None], axis=0)
        np.testing.assert_allclose(phi[a], phi[b] + arm, atol=1e-9)
    assert not phi[14].any()
    one = wt.structure(M=M, K=K, r=r).modes(count=1)
    assert (abs(m.frequencies / one.frequencies[0] - 1) < 1e-6).any()  # bending of both along z


# ---- choice of modes


def test_choice_by_frequency_count_and_participation():
    beam = wt.beam(1.0, section="rectangle", width=0.02, height=0.03)
    every = beam.modes(count=40)
    limit = every.frequencies[7] + 1.0
    np.testing.assert_array_equal(beam.modes(frequency=limit).frequencies, every.frequencies[:8])
    most = beam.modes(participation=0.9)
    assert (most.report.mass_left_out <= 0.1).all()
    for a in range(most.count):  # and none can be spared
        rest = np.delete(most.report.mass, a, axis=0).sum(axis=0)
        assert (rest < 0.9).any()
    assert most.count < 40
    assert beam.modes().count == 6


def test_what_is_left_out_is_reported():
    """Effective masses of a clamped beam in bending are 61.3, 18.8, 6.5 % (Blevins); flexibility from P10."""
    m = wt.beam(1.0, section="rectangle", width=0.02, height=0.03, deforms=["bending_z"], rotary=False).modes(count=3)
    np.testing.assert_allclose(m.report.mass[:, 2], [0.6131, 0.1883, 0.0647], atol=1e-4)
    np.testing.assert_allclose(m.report.mass_left_out[2], 1 - 0.6131 - 0.1883 - 0.0647, atol=1e-4)
    assert np.isnan(m.report.mass[:, [0, 1, 3, 5]]).all()
    one = wt.beam(1.0, section="rectangle", width=0.02, height=0.03, deforms=["bending_z"], rotary=False).modes(count=1)
    np.testing.assert_allclose(one.report.flexibility["tip"][2], 0.2311162333622392 / 0.2380952380952381, rtol=1e-6)
    assert m.report.next_frequency > m.frequencies[-1]
    text = str(m.report)
    assert "3 of " in text
    assert "effective mass left out: z 13.4 %" in text
    assert "static flexibility of 'tip' left out: z 0.144 %" in text


def test_damping_ratio():
    beam = wt.beam(1.0, section="circle", radius=0.01, elements=2)
    m = beam.modes(count=3, damping=[0.01, 0.02, 0.03])
    np.testing.assert_allclose(np.diag(m.D), 2 * np.array([0.01, 0.02, 0.03]) * m.frequencies)
    np.testing.assert_allclose(np.diag(beam.modes(count=3, damping=0.05).D), 0.1 * m.frequencies)


def test_nodes_kept_are_those_asked_for():
    beam = wt.beam(1.0, section="circle", radius=0.01, stations={"mid": 0.41})
    assert "mid" in beam.modes(count=1).nodes
    np.testing.assert_allclose(beam.modes(count=1).r[beam.node("mid")], [0.41, 0, 0])
    assert beam.modes(count=1, nodes=["mid"]).nodes == ("base", "mid", "tip")
    assert beam.modes(count=1, nodes="mid", outboard="mid").nodes == ("base", "mid")


# ---- solids


@pytest.fixture(scope="module")
def bar():
    skfem = pytest.importorskip("skfem")
    mesh = skfem.MeshHex.init_tensor(np.linspace(0, 1, 9), np.linspace(-0.025, 0.025, 2), np.linspace(-0.05, 0.05, 2))
    return mesh.with_boundaries({"left": lambda x: x[0] < 1e-9, "right": lambda x: x[0] > 1 - 1e-9})


MATERIAL = {"E": 70e9, "nu": 0.0, "rho": 2700.0}


def test_a_solid_bar_is_a_timoshenko_beam(bar):
    """nu = 0, so that a section keeps its form; 8 quadratic elements leave 1 % in the third mode."""
    s = wt.solid(bar, **MATERIAL, attach={"base": "left", "tip": "right"})
    got = s.modes(count=3, inboard="base", outboard="tip", fidelity="stiffened")
    beam = wt.beam(1.0, section="rectangle", height=0.05, width=0.1, theory="timoshenko", **MATERIAL)
    want = beam.modes(count=3, fidelity="stiffened")
    assert got.nodes == ("base", "tip")
    np.testing.assert_allclose(got.mass, want.mass, rtol=1e-12)
    np.testing.assert_allclose(got.J0, want.J0, atol=1e-9)
    np.testing.assert_allclose(got.frequencies, want.frequencies, rtol=0.01)
    for name, part in (("Q", (slice(-1, None), 0)), ("h2", (0,)), ("J2", (..., 1, 1)), ("J2", (..., 2, 2))):
        a, b = (abs(getattr(m, name)[part]) for m in (got, want))
        np.testing.assert_allclose(a, b, atol=0.015 * b.max(), err_msg=name)
    np.testing.assert_allclose(got.strain, want.strain, rtol=0.5)  # at points inside of elements, not at the surface


def test_a_solid_from_a_mesh_file(bar, tmp_path):
    pytest.importorskip("meshio")
    bar.save(tmp_path / "bar.vtk")
    at = {"base": lambda x: x[0] < 1e-6, "tip": lambda x: x[0] > 1 - 1e-6}
    read = wt.solid(tmp_path / "bar.vtk", **MATERIAL, attach=at, degree=1).modes(inboard="base", count=2)
    direct = wt.solid(bar, **MATERIAL, attach=at, degree=1).modes(inboard="base", count=2)
    np.testing.assert_allclose(read.frequencies, direct.frequencies, rtol=1e-6)
    half = wt.solid(tmp_path / "bar.vtk", **MATERIAL, degree=1, scale=0.5, attach={
        "base": lambda x: x[0] < 1e-6, "tip": lambda x: x[0] > 0.5 - 1e-6}).modes(inboard="base", count=2)  # fmt: skip
    np.testing.assert_allclose(half.frequencies, 2 * direct.frequencies, rtol=1e-6)


def test_tetrahedra(bar):
    skfem = pytest.importorskip("skfem")
    box = skfem.MeshTet.init_tensor(np.linspace(0, 1, 9), np.linspace(-0.025, 0.025, 2), np.linspace(-0.05, 0.05, 2))
    s = wt.solid(box, **MATERIAL, attach={"base": lambda x: x[0] < 1e-9})
    want = wt.solid(bar, **MATERIAL, attach={"base": "left"}).modes(inboard="base", count=1)
    np.testing.assert_allclose(s.modes(inboard="base", count=1).frequencies, want.frequencies, rtol=0.03)


# ---- Nastran


def record(data):
    return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))


def key(n):
    return record(struct.pack("<i", n))


def op2_matrix(name, A):
    """A matrix in output2 form: name, trailer, then each column as a row number and its values."""
    label, n = record(name.ljust(8).encode()), A.shape[1]
    out = key(2) + label + key(-1) + key(7) + record(struct.pack("<7i", 101, n, A.shape[0], 6, 2, 0, 0))
    out += key(-2) + key(1) + key(0) + key(2) + label + key(-3) + key(1) + key(1)
    for c in range(n):
        out += key(1 + 2 * A.shape[0]) + record(struct.pack("<i", 1) + A[:, c].astype("<f8").tobytes())
        out += key(-4 - c) + key(1) + key(int(c < n - 1))
    return out + key(0)


@pytest.fixture
def deck(tmp_path):
    bulk = pytest.importorskip("pyyeti.nastran.bulk")
    M, K, r, _ = hermite_frame()
    with open(tmp_path / "arm.bdf", "w") as f:
        bulk.wtgrids(f, 100 + np.arange(7), xyz=r)
    return tmp_path, M, K, r


def test_nastran_op4(deck):
    op4 = pytest.importorskip("pyyeti.nastran.op4")
    folder, M, K, r = deck
    want = wt.structure(M=M, K=K, r=r, names=["base", *map(str, range(101, 106)), "tip"]).modes(count=COUNT)
    op4.save(str(folder / "arm.op4"), {"kgg": K, "mgg": M})
    s = wt.nastran(folder / "arm.bdf", folder / "arm.op4", names={100: "base", 106: "tip"})
    got = s.modes(count=COUNT)
    assert got.nodes == want.nodes
    for name in ("frequencies", "r", "phi", "psi", "J0", "J2", "Cr1"):  # the cards have 8 characters for a number
        np.testing.assert_allclose(getattr(got, name), getattr(want, name), atol=1e-5, err_msg=name)
    op4.save(str(folder / "other.op4"), {"stiff": K, "heavy": M})
    other = wt.nastran(folder / "arm.bdf", folder / "other.op4", M="heavy", K="stiff")
    np.testing.assert_array_equal(other.modes(count=COUNT).frequencies, want.frequencies)
    assert other.names[0] == "100"


def test_nastran_op2(deck):
    folder, M, K, r = deck
    (folder / "arm.op2").write_bytes(op2_matrix("KAA", K) + op2_matrix("MAA", M) + key(0))
    got = wt.nastran(folder / "arm.bdf", folder / "arm.op2").modes(count=COUNT)
    np.testing.assert_array_equal(got.frequencies, wt.structure(M=M, K=K, r=r).modes(count=COUNT).frequencies)


def test_nastran_grid_points_with_their_own_axes(deck):
    """Displacements in a turned frame: matrices in its axes give the same modes in the basic one."""
    op4, bulk = pytest.importorskip("pyyeti.nastran.op4"), pytest.importorskip("pyyeti.nastran.bulk")
    folder, M, K, r = deck
    with open(folder / "turned.bdf", "w") as f:
        f.write("CORD2R,7,0,0.,0.,0.,0.,1.,0.\n,0.,0.,1.\n")  # z along y, x along z, so y along x
        bulk.wtgrids(f, 100 + np.arange(7), xyz=r, cd=7)
    own = np.kron(np.eye(14), np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
    op4.save(str(folder / "t.op4"), {"kgg": own.T @ K @ own, "mgg": own.T @ M @ own})
    got = wt.nastran(folder / "turned.bdf", folder / "t.op4").modes(count=COUNT)
    want = wt.structure(M=M, K=K, r=r).modes(count=COUNT)
    np.testing.assert_allclose(got.frequencies, want.frequencies, rtol=1e-9)
    np.testing.assert_allclose(got.J0, want.J0, atol=1e-9)
    np.testing.assert_allclose(abs(got.phi[-1, 0]), abs(want.phi[-1, 0]), atol=1e-6)


def test_nastran_dmig(deck):
    bulk = pytest.importorskip("pyyeti.nastran.bulk")
    import pandas as pd

    folder, M, K, r = deck
    index = pd.MultiIndex.from_tuples([(100 + k, c) for k in range(7) for c in range(1, 7)], names=["id", "dof"])
    with open(folder / "arm.bdf", "a") as f:
        bulk.wtdmig(f, {"KAAX": pd.DataFrame(K, index, index), "MAAX": pd.DataFrame(M, index, index)})
    got = wt.nastran(folder / "arm.bdf").modes(count=COUNT)
    np.testing.assert_allclose(got.frequencies, wt.structure(M=M, K=K, r=r).modes(count=COUNT).frequencies, rtol=1e-7)


def test_missing_packages_are_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "skfem", None)
    with pytest.raises(MissingExtra, match=r"pip install 'whippletree\[fem\]'"):
        wt.solid(tmp_path, **MATERIAL, attach={"a": [0]})
