"""Cards of Nastran bulk files: read as pyyeti reads them, and refused by card and line where they are wrong."""

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError
from whippletree.modes.readers.bulk import cards, dmig, matrices_of
from whippletree.modes.readers.grid import KINDS, grid


def written(tmp_path, text):
    path = tmp_path / "a.bdf"
    path.write_text(text, "utf-8")
    return path


def small(name, *fields):
    """Fields of 8 characters, eight to a line."""
    texts = [f"{x:8.5g}" if isinstance(x, float) else f"{x:>8}" for x in fields]
    lines = ["".join(texts[k : k + 8]) for k in range(0, len(texts), 8)]
    return "\n".join(f"{name if k == 0 else '+':<8}{line}" for k, line in enumerate(lines)) + "\n"


def large(name, *fields):
    texts = [f"{x:16.9E}".replace("E", "D") if isinstance(x, float) else f"{x:>16}" for x in fields]
    lines = ["".join(texts[k : k + 4]) for k in range(0, len(texts), 4)]
    return "\n".join(f"{name + '*' if k == 0 else '*':<8}{line}" for k, line in enumerate(lines)) + "\n"


def free(name, *fields):
    lines = [",".join(map(str, fields[k : k + 8])) for k in range(0, len(fields), 8)]
    return "\n".join((name if k == 0 else "") + "," + line for k, line in enumerate(lines)) + "\n"


def chained_systems(rng, form):
    """Systems of all kinds, each told in one before it, and grid points that use them."""
    text, numbers = "$ systems\n", [0]
    for n, name in enumerate(rng.permutation(list(KINDS) * 2)):
        points = np.round(rng.uniform(0.5, 60.0, 9), 3)  # angles of 60 degrees at most: no three on a line
        text = form(name, 10 + n, int(rng.choice(numbers)), *map(float, points)) + text  # later ones come first
        numbers.append(10 + n)
    for k in range(12):
        x = map(float, np.round(rng.uniform(0.5, 80.0, 3), 3))
        text += form("GRID", 100 - k, int(rng.choice(numbers)), *x, int(rng.choice(numbers)))
    return text


@pytest.mark.parametrize("form", [small, large, free])
@pytest.mark.parametrize("seed", range(4))
def test_grid_points_are_where_pyyeti_has_them(tmp_path, form, seed):
    bulk, n2p = pytest.importorskip("pyyeti.nastran.bulk"), pytest.importorskip("pyyeti.nastran.n2p")
    path = written(tmp_path, chained_systems(np.random.default_rng([seed, 5]), form))
    numbers, r, turns = grid(path)
    table = bulk.bulk2uset(str(path))[0]
    np.testing.assert_array_equal(numbers, np.unique(table.index.get_level_values("id")))
    for k, g in enumerate(numbers):  # to roundings of places of some 100 m
        np.testing.assert_allclose(r[k], table.loc[(g, 1), "x":"z"].to_numpy(float), atol=1e-11)
        np.testing.assert_allclose(turns[k], n2p.rbgeom_uset(table.loc[[g]], r[k]).T, atol=1e-11)


def test_a_point_on_the_axis_of_a_cylinder(tmp_path):
    path = written(tmp_path, "CORD2C,3,,0.,0.,0.,0.,0.,1.\n,1.,0.,0.\nGRID,1,3,0.,70.,2.,3\n")
    _, r, turns = grid(path)
    np.testing.assert_array_equal(r, [[0.0, 0.0, 2.0]])
    np.testing.assert_array_equal(turns[0], np.eye(6))


def test_what_grid_points_leave_out_is_reported_once(tmp_path):
    text = "GRDSET,,7,,,,7\nCORD2R,7,0,1.,0.,0.,1.,0.,1.\n,1.,1.,0.\nGRID,1,,1.,0.,0.\nGRID,2,0,1.,0.,0.,0\n"
    _, r, turns = grid(written(tmp_path, text))
    np.testing.assert_allclose(r, [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]], atol=1e-16)
    np.testing.assert_allclose(turns[0][:3, 0], [0.0, 1.0, 0.0], atol=1e-16)
    np.testing.assert_array_equal(turns[1], np.eye(6))


@pytest.mark.parametrize("form", [1, 6])
@pytest.mark.parametrize("write", [small, large, free])
def test_dmig_is_what_pyyeti_reads(tmp_path, form, write):
    bulk = pytest.importorskip("pyyeti.nastran.bulk")
    rng = np.random.default_rng(form)
    text, dofs = write("DMIG", "KAAX", 0, form, 2, 0, "", "", ""), [(3, 1), (3, 5), (12, 2)]
    for n, column in enumerate(dofs):
        rows = [(*row, float(np.round(rng.normal(), 4)), "") for row in dofs[n:]]
        text += write("DMIG", "KAAX", *column, "", *(x for row in rows for x in row))
    path = written(tmp_path, text)
    (K,), rows = matrices_of(dmig(path).values(), "")
    want = bulk.rddmig(str(path), square=True)["kaax"].to_numpy(float)
    np.testing.assert_array_equal(rows, dofs)
    np.testing.assert_array_equal(K.toarray(), np.where(want == 0.0, want.T, want))


def test_numbers_as_nastran_writes_them(tmp_path):
    numbers = {"1.5-3": 1.5e-3, "-2.+4": -2e4, "7": 7.0, ".5": 0.5, "1.D2": 100.0, "1e-2": 0.01, "": 0.0}
    text = "BEGIN BULK\n" + "".join(f"grid,{n},,{text}  $ x\n" for n, text in enumerate(numbers)) + "ENDDATA\nGRID,9\n"
    assert [card.number(2) for card in cards(written(tmp_path, text), ["GRID"])] == list(numbers.values())


POINTS = "GRID,1,,0.,0.,0.\nGRID,2,,1.,0.,0.\n"
HEAD = "DMIG,KAAX,0,6,2\nDMIG,MAAX,0,6,2\n"


@pytest.mark.parametrize(
    ("text", "message", "line"),
    [
        ("GRID,1,,x", "field 4 of a card GRID is wrong", 1),
        ("$\nGRID,one", "field 2 of a card GRID is wrong", 2),
        ("GRID,-1", "field 2 of a card GRID is wrong", 1),
        ("GRID,99999999999", "field 2 of a card GRID is wrong", 1),
        (POINTS + "GRID,2,,2.,0.,0.", "GRID 2 is there twice", 3),
        (POINTS + "GRID,3,5", "the system of coordinates 5 is not known", 3),
        (
            "GRID,1,5\nCORD2R,5,6,0.,0.,0.,0.,0.,1.\n,1.\nCORD2R,6,5",
            "the system of coordinates 5 is defined in terms of itself",
            4,
        ),
        ("GRID,1,5\nCORD2R,5,,0.,0.,0.,0.,0.,1.\n,0.,0.,2.", "CORD2R 5 has no axes: its points are on a line", 2),
        (POINTS + "DMIG,KAAX,1,1", "DMIG 'KAAX' has no card that says its form", 3),
        (POINTS + "DMIG,KAAX,0,9,2", "field 4 of a card DMIG is wrong", 3),
        (POINTS + "DMIG,KAAX,0,6,4", "field 5 of a card DMIG is wrong", 3),
        (POINTS + HEAD + "DMIG,KAAX,1,1,,1,1,?", "field 8 of a card DMIG is wrong", 5),
        (POINTS + HEAD, "too few or too many rows of DMIG", None),
    ],
)
def test_wrong_cards_are_refused_with_their_line(tmp_path, text, message, line):
    path = written(tmp_path, text)
    with pytest.raises(ModelError, match=f"nastran: {message}") as reported:
        wt.nastran(path)
    assert reported.value.where == (f"{path}, line {line}" if line else str(path))
