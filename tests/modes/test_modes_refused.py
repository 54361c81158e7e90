"""Every complaint about structures and modes, word for word."""

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

import whippletree as wt
from test_structures import MATERIAL, hermite_frame
from whippletree.errors import ModelError, ModelWarning
from whippletree.modes import Modes

M, K, R, _ = hermite_frame(n=2)
SHORT = wt.beam(1.0, section="circle", radius=0.01, elements=2, degree=3)
# four pins joined by six bars: nodes without rotations
PINS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
BARS = np.zeros((12, 12))
for i, j in combinations(range(4), 2):
    d = np.zeros((4, 3))
    d[i] = PINS[i] - PINS[j]
    d[j] = -d[i]
    BARS += np.outer(d, d)
PINNED = wt.structure(M=np.eye(12), K=BARS, r=PINS)
IN_PLANE = np.array([6 * k + c for k in range(3) for c in (0, 1, 5)])
FLAT, FLAT_M, FLAT_K = np.stack(np.divmod(IN_PLANE, 6), 1), M[np.ix_(IN_PLANE, IN_PLANE)], K[np.ix_(IN_PLANE, IN_PLANE)]
R3 = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0.5]])
PHI = np.zeros((3, 3, 2))
PHI[1, 1], PHI[2, 1] = (0.2, 0.5), (1.0, -1.0)


def nodal(**changes):
    given = {"r": R3, "mass": [1.0, 1, 1], "phi": PHI, "K": np.diag([1.0, 9.0])} | changes
    return Modes.from_nodes(given.pop("r"), given.pop("mass"), given.pop("phi"), given.pop("K"), **given)


def structure(**changes):
    return wt.structure(**({"M": M, "K": K, "r": R} | changes))


def changed(matrix, i, j, value):
    new = matrix.copy()
    new[i, j] = value
    return new


MOVED = PHI + 0.1
TWICE = np.concatenate([PHI, PHI[:, :, :1]], axis=2)

MESSAGES = [
    # modes from nodal data
    (lambda: nodal(K=[[1.0, 2], [3, 9]]), "stiffness is not symmetric", "got: 2 at (0, 1), 3 at (1, 0)"),
    (lambda: nodal(K=np.diag([1.0, -9])), "stiffness is not positive semi-definite", "an eigenvalue -1 beside 1"),
    (lambda: nodal(K=np.eye(3)), "stiffness has the wrong shape", "expected: 2 x 2 finite numbers", "got: 3 x 3"),
    (lambda: nodal(K=[[np.nan, 0], [0, 1]]), "stiffness is not finite"),
    (lambda: nodal(K="stiff"), "stiffness: not numbers", "got: 'stiff'"),
    (lambda: nodal(D=[[0, 1], [0, 0]]), "damping is not symmetric"),
    (lambda: nodal(mass=[1.0, -1, 1]), "mass is not positive", "got: -1 at node 1"),
    (lambda: nodal(mass=[0.0, 0, 0]), "mass is not positive", "expected: masses >= 0, not all zero"),
    (lambda: nodal(mass=[1.0]), "mass has the wrong shape", "expected: 3 finite numbers"),
    (lambda: nodal(inertia=np.tile(-np.eye(3), (3, 1, 1))), "inertia of node 0 is not positive"),
    (lambda: nodal(phi=TWICE, K=np.diag([1.0, 9, 1])), "modes are linearly dependent", "leave out modes that repeat"),
    (lambda: nodal(K=np.diag([0.0, 9])), "modes contain rigid motion", "a frequency 0 beside", "leave out the rigid"),
    (lambda: nodal(phi=MOVED), "inboard node 'n0' moves in cantilever modes", "0.1 in mode 0", "'free' may move it"),
    (lambda: nodal(psi=MOVED), "inboard node 'n0' turns in cantilever modes"),
    (lambda: nodal(inboard="root"), "inboard node 'root' is not known", "known: n0, n1, n2"),
    (lambda: nodal(nodes=["a", "b"]), "node names: the wrong number", "expected: 3, one for each node", "got: 2"),
    (lambda: nodal(nodes=["a", "b", "a"]), "node 'a' is defined twice"),
    (lambda: nodal(nodes=["a", "b", "a/b"]), "node name cannot be used", "expected: printable characters without '/'"),
    (lambda: nodal(kind="clamped"), "kind of modes 'clamped' is not known", "known: cantilever, free, craig-bampton"),
    (lambda: nodal(fidelity="ful"), "fidelity 'ful' is not known", "did you mean 'full'?"),
    (lambda: nodal(fidelity="stiffened"), "fidelity 'stiffened' needs the geometric", "nodal data have no Q"),
    # structures
    (lambda: structure(K=changed(K, 0, 6, 5.0)), "stiffness is not symmetric"),
    (lambda: structure(K=-K), "stiffness is not positive semi-definite"),
    (lambda: structure(K=sparse.csr_array(changed(K, 0, 6, 5.0))), "stiffness is not symmetric"),
    (lambda: structure(M=-M), "mass is not positive"),
    (lambda: structure(M=0 * M), "mass is not positive"),
    (lambda: structure(M=None), "structure: M is missing", "expected: M, K and r"),
    (lambda: structure(M=M[:6, :6]), "stiffness has the wrong shape", "expected: 6 x 6, as mass", "got: 18 rows"),
    (lambda: structure(M=M[:6]), "mass has the wrong shape", "expected: a square matrix", "got: 6 x 18"),
    (lambda: structure(M=sparse.csr_array(M[:6])), "mass is no square matrix of finite numbers", "got: 6 x 18"),
    (lambda: structure(r=R[:2]), "structure: rows of the matrices do not fit the nodes", "3 or 6 for each of 2 nodes"),
    (lambda: structure(dofs=np.zeros((18, 2))), "structure: dofs are defined twice"),
    (lambda: structure(dofs=np.full((18, 2), 9)), "structure: dofs of row 0 are not known", "a node 0 to 2"),
    (lambda: structure(M=FLAT_M, K=FLAT_K, dofs=FLAT), "node 0 has mass along x and y only", "rows along x, y and z"),
    (lambda: structure(K=K + 1e3 * np.eye(18)).modes(), "stiffness resists rigid motion along x", "take supports out"),
    (lambda: structure(K=0 * K).modes(), "the structure can move without being deformed when its inboard node is held"),
    (lambda: structure().modes(inboard="bse"), "node 'bse' is not known", "known: n0, n1, n2"),
    (lambda: structure().modes(outboard=["tip"]), "node 'tip' is not known"),
    (lambda: structure().modes(fidelity="stiffened"), "fidelity 'stiffened' needs the geometric stiffness"),
    (lambda: structure().gather("end", [0]).gather("end", [1]), "node 'end' is defined twice"),
    (lambda: structure().gather("end", []), "node 'end' is not held by the nodes it gathers", "got: 0 nodes"),
    (lambda: structure().gather("end", ["n9"]), "node 'n9' is not known"),
    (lambda: PINNED.gather("end", [1, 2, 3]).modes(inboard="n1"), "node 'n1' cannot be held"),
    (lambda: PINNED.modes(), "the structure can move without being deformed", "gather several nodes into one"),
    # choice
    (lambda: SHORT.modes(count=1, frequency=3.0), "modes are chosen twice", "got: count, frequency"),
    (lambda: SHORT.modes(count=0), "modes: count is not a count", "expected: 1 to 2000", "got: 0"),
    (lambda: SHORT.modes(count=2.5), "modes: count is not a count", "got: 2.5"),
    (lambda: SHORT.modes(count=1000), "modes: there are not so many"),
    (lambda: SHORT.modes(frequency=-1.0), "modes: frequency must be positive"),
    (lambda: SHORT.modes(frequency=1e-3), "modes: none is below the frequency", "expected: at least the first: "),
    (lambda: SHORT.modes(participation=2.0), "modes: participation is a share of the mass"),
    (lambda: SHORT.modes(participation=0.9999), "modes: participation cannot be reached in", "more elements move more"),
    (lambda: SHORT.modes("free", participation=0.9), "modes: participation is not for free modes"),
    (lambda: SHORT.modes(damping=-0.1), "modes: damping is negative", "got: -0.1"),
    (lambda: SHORT.modes(count=2, damping=[0.1]), "modes: damping has the wrong shape", "expected: 2 finite numbers"),
    (lambda: SHORT.modes(kind="cantiliver"), "kind of modes 'cantiliver' is not known", "did you mean 'cantilever'?"),
    # beams
    (lambda: wt.beam(0.0, section="circle", radius=1), "beam: length must be positive", "expected: a number > 0"),
    (lambda: wt.beam("1", section="circle", radius=1), "beam: length is not a number", "got: '1'"),
    (lambda: wt.beam(1e-320, section="circle", radius=1), "beam: its mass or stiffness is beyond all numbers"),
    (lambda: wt.beam(1.0, section="circl", radius=1), "beam: section 'circl' is not known", "did you mean 'circle'?"),
    (lambda: wt.beam(1.0, section="circle"), "beam: radius of the circle is missing"),
    (lambda: wt.beam(1.0, section="circle", radius=1, width=2), "beam: a circle takes no width", "expected: radius"),
    (lambda: wt.beam(1.0, section="circle", radius=[]), "beam: radius has the wrong length"),
    (lambda: wt.beam(1.0, section="circle", radius=[1, -1]), "beam: radius must be positive"),
    (lambda: wt.beam(1.0, section="tube", radius=1, wall=2), "beam: wall of the tube is thicker than its radius"),
    (lambda: wt.beam(1.0, section="circle", radius=1, G=1, nu=0.3), "beam: G and nu say the same"),
    (lambda: wt.beam(1.0, section="circle", radius=1, nu=0.6), "beam: nu is no Poisson ratio"),
    (lambda: wt.beam(1.0, section="circle", radius=1, theory="euler"), "beam: theory 'euler' is not known"),
    (lambda: wt.beam(1.0, section="circle", radius=1, axis="w"), "beam: axis 'w' is not known"),
    (lambda: wt.beam(1.0, section="circle", radius=1, axis=(0, 0, 0)), "beam: axis has no direction"),
    (lambda: wt.beam(1.0, section="circle", radius=1, up="x"), "beam: up lies along the axis"),
    (lambda: wt.beam(1.0, section="circle", radius=1, deforms=["bend"]), "beam: deformation 'bend' is not known"),
    (lambda: wt.beam(1.0, section="circle", radius=1, deforms=[]), "beam: it deforms in no way"),
    (lambda: wt.beam(1.0, section="circle", radius=1, elements=0), "beam: elements is no such number", "1 to 500"),
    (lambda: wt.beam(1.0, section="circle", radius=1, degree=2), "beam: degree is no such number", "expected: 3 to 12"),
    (lambda: wt.beam(1.0, section="circle", radius=1, stations={"a": 2}), "beam: station 'a' is not between the ends"),
    (lambda: wt.beam(1.0, section="circle", radius=1, stations={"tip": 0.5}), "node 'tip' is defined twice"),
    (lambda: wt.beam(1.0, A=1, Iy=1, Iz=1, theory="timoshenko"), "beam: shear factors are missing"),
    (lambda: wt.beam(1.0, A=1, Iy=1, Iz=1).modes().stresses(np.ones(6)), "stresses: the outer fibre", "cy, cz and ct"),
    (lambda: SHORT.modes().stresses(np.ones(6), at=2.0), "stresses: a place is not on the beam", "expected: 0 to 1 m"),
    (lambda: nodal().displacements([1.0, 1.0, 1.0]), "eta has the wrong length", "expected: 2, one for each mode"),
    (lambda: nodal().stresses([1.0, 1.0]), "stresses are recovered for beams only"),
    # solids
    (lambda: wt.solid(3, **MATERIAL, attach={"a": [0]}), "solid: no mesh of solid elements", "got: 3"),
    (lambda: wt.solid("no.msh", **MATERIAL, attach={"a": [0]}), "solid: there is no file 'no.msh'"),
    (lambda: wt.solid(3, **MATERIAL, attach={}), "solid: it is attached nowhere"),
    (lambda: wt.solid(3, **MATERIAL | {"nu": 0.5}, attach={"a": [0]}), "solid: nu is no Poisson ratio"),
    (lambda: wt.solid(3, **MATERIAL | {"E": -1}, attach={"a": [0]}), "solid: E must be positive"),
    (lambda: wt.nastran("no.bdf"), "nastran: there is no file 'no.bdf'"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "what", "lines"), [(c, w, l) for c, w, *l in MESSAGES])
def test_what_is_wrong(call, what, lines):
    pytest.importorskip("skfem")
    with pytest.raises(ModelError) as caught:
        call()
    assert caught.value.what.startswith(what)
    for line in lines:
        assert line in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(("scale", "printed"), [(1e-18, "1e-09"), (1e20, "1e+10")])
def test_an_absurd_first_frequency_is_reported(scale, printed):
    with pytest.warns(
        ModelWarning, match=r"the first frequency is .* rad/s: are lengths in m, masses in kg"
    ) as reported:
        nodal(K=scale * np.diag([2.0, 9.0]))
    assert printed[1:] in str(reported[0].message)


def test_an_absurd_beam_is_reported():
    with pytest.warns(ModelWarning, match="the first frequency is"):
        wt.beam(1e-3, section="circle", radius=1e-3, E=210e15, elements=1).modes(count=1)


def test_a_structure_that_falls_apart():
    """Two beams that are not joined: free modes see more rigid motion than one body has."""
    two = wt.structure(M=np.kron(np.eye(2), M), K=np.kron(np.eye(2), K), r=np.concatenate([R, R + 1.0]))
    with pytest.raises(ModelError, match="the structure can move without being deformed"):
        two.modes("free")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.npz", b"PK\x03\x04 nothing", "the file cannot be read as .npz"),
        ("a.txt", b"", "'a.txt' is not read as a structure"),
    ],
)
def test_files_that_are_no_structures(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ModelError, match=message) as caught:
        wt.structure(tmp_path / name)
    assert caught.value.where == str(tmp_path / name)


def test_arrays_that_are_no_structure(tmp_path):
    file = tmp_path / "a.npz"
    none = np.array([0x110000], "u4").view("U1")  # one more than the last of Unicode
    for arrays, message in (
        ({"M": M, "K": K, "r": R, "stiff": K}, "structure: 'stiff' is not known"),
        ({"M": M, "r": R}, "structure: K is missing"),
        ({"M": M, "K": -K, "r": R}, "stiffness is not positive semi-definite"),
        ({"M_row": [-1], "M_col": [0], "M_data": [1.0], "K": K, "r": R}, "structure: M is no sparse matrix"),
        ({"M_row": [10**9], "M_col": [0], "M_data": [1.0], "K": K, "r": R}, "structure: M is no sparse matrix"),
        ({"M": M, "K": K, "r": R, "names": none}, "'names.npy' holds characters that there are not"),
    ):
        np.savez(file, **arrays)
        with pytest.raises(ModelError, match=message) as caught:
            wt.structure(file)
        assert "K_" in message or caught.value.what


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file cannot be read as Matrix Market"),
        ("%%MatrixMarket matrix array real general\n2 3\n1\n", "no square matrix of at most"),
        ("%%MatrixMarket matrix coordinate real general\n9999999 9999999 1\n1 1 1.0\n", "no square matrix of at most"),
        ("%%MatrixMarket matrix array real general\n2 2\n1\nx\n", "the file cannot be read as Matrix Market"),
    ],
)  # fmt: skip
def test_files_that_are_no_matrices(tmp_path, text, message):
    (tmp_path / "m.mtx").write_text(text)
    with pytest.raises(ModelError, match=message):
        structure(M=tmp_path / "m.mtx")
    with pytest.raises(ModelError, match="mass: there is no such file"):
        structure(M=tmp_path / "none.mtx")


def test_solids_that_are_none(tmp_path):
    skfem = pytest.importorskip("skfem")
    box = skfem.MeshHex()
    with pytest.raises(ModelError, match="solid: boundary 'lft' of 'base' is not known"):
        wt.solid(box, **MATERIAL, attach={"base": "lft"})
    with pytest.raises(ModelError, match="solid: there is no node at 'base'"):
        wt.solid(box, **MATERIAL, attach={"base": lambda x: x[0] < -1})
    with pytest.raises(ModelError, match="node 'base' is not held by the nodes it gathers"):
        wt.solid(box, **MATERIAL, degree=1, attach={"base": [0, 1]})
    with pytest.raises(ModelError, match="solid: elements are not known"):
        wt.solid(box, **MATERIAL, degree=3, attach={"base": [0]})
    (tmp_path / "a.vtk").write_text("no mesh")
    with pytest.raises(ModelError, match="solid: the file cannot be read as a mesh"):
        wt.solid(tmp_path / "a.vtk", **MATERIAL, attach={"base": [0]})


@pytest.mark.filterwarnings("ignore:Output4 file has matrix name")
def test_nastran_files_that_are_none(tmp_path):
    op4 = pytest.importorskip("pyyeti.nastran.op4")
    grid = tmp_path / "a.bdf"
    grid.write_text("nothing\n")
    with pytest.raises(ModelError, match=r"nastran: (the file has no grid points|grid points cannot be read)"):
        wt.nastran(grid)
    grid.write_text("GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\n")
    with pytest.raises(ModelError, match="nastran: mass and stiffness are not there"):
        wt.nastran(grid)
    for name, content, message in (
        ("a.op4", b"\0" * 64, "nastran: matrices cannot be read|mass and stiffness are not there"),
        ("a.op2", b"\4\0\0\0 nothing of use", "nastran: matrices cannot be read|mass and stiffness are not there"),
        ("a.txt", b"", "nastran: 'a.txt' holds no matrices"),
    ):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ModelError, match=message):
            wt.nastran(grid, tmp_path / name)
    op4.save(str(tmp_path / "b.op4"), {"kgg": np.eye(6), "mgg": np.eye(6), "odd": np.ones((2, 3))})
    with pytest.raises(ModelError, match="nastran: rows of the matrices do not fit the grid points"):
        wt.nastran(grid, tmp_path / "b.op4")
    with pytest.raises(ModelError, match="nastran: matrix ODD has the wrong shape"):
        wt.nastran(grid, tmp_path / "b.op4", M="odd", K="kgg")
    with pytest.raises(ModelError, match="nastran: one matrix is named and the other is not"):
        wt.nastran(grid, tmp_path / "b.op4", M="mgg")
    with pytest.raises(ModelError, match="nastran: dofs of row 0 are not known"):
        wt.nastran(grid, tmp_path / "b.op4", dofs=np.full((6, 2), 9))
