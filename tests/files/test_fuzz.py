"""Wrong files for every reader: each is read, or refused in words. ``make fuzz`` tries a million of each."""

import io
import struct
import time

import numpy as np
import pytest
import scipy.io
import scipy.sparse

import fuzz
from fuzz_readers import READERS, Reader, folder, matrices
from whippletree import errors
from whippletree.modes.readers.market import market
from whippletree.modes.readers.op2 import op2
from whippletree.modes.readers.op4 import op4
from whippletree.result.heaps import HEAP, sound_heaps

pytest.importorskip("mujoco")
pytest.importorskip("pyyeti")  # writes the valid files that wrong ones are made of
pytest.importorskip("trimesh")
MANY = 5000


@pytest.mark.parametrize("name", READERS)
def test_wrong_files_are_refused_in_words(name):
    reached, findings = fuzz.campaign(name, 0, MANY)
    assert not findings, "\n".join(map(str, findings))
    assert reached == MANY


def crash(data: bytes) -> None:
    import ctypes

    ctypes.string_at(0)


def stray(data: bytes) -> None:
    raise KeyError("a")


def refuse(data: bytes) -> None:
    raise errors.ModelError("it is wrong")


def compute(data: bytes) -> None:
    while True:
        pass


def wait(data: bytes) -> None:
    time.sleep(60.0)


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (crash, "the process died of SIGSEGV"),
        (stray, "KeyError: 'a'"),
        (compute, "more than 0.2 s"),
        (wait, "waited for more than 0.4 s"),
        (refuse, None),
    ],
)
def test_the_driver_sees_what_it_should(monkeypatch, read, found):
    """The test above must be able to fail."""
    if read in (compute, wait):  # others end at once, but for what a tracer of coverage writes in the end
        monkeypatch.setattr(fuzz, "LONGEST", 0.2)
        monkeypatch.setattr(fuzz, "STILL", 0.4)
    bad = Reader(lambda data: read(data) if data != b"seed" else None, lambda: [b"seed"], lambda data, *_: b"wrong")
    monkeypatch.setitem(READERS, "bad", bad)
    reached, findings = fuzz.campaign("bad", 0, 2)
    assert reached == 2
    assert [f.what[: len(found)] for f in findings] == [found] * 2 if found else not findings


def test_the_same_number_is_the_same_case():
    assert READERS["toml"].case(7) == READERS["toml"].case(7) != READERS["toml"].case(8)


# ---- readers that are ours because others crash, hang or take all memory


@pytest.mark.parametrize("make", [np.asarray, scipy.sparse.coo_array])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_matrix_market_is_read_as_scipy_does(tmp_path, make, symmetry):
    given = matrices()["K"]
    scipy.io.mmwrite(tmp_path / "a.mtx", make(given), symmetry=symmetry, precision=17)
    read = market(tmp_path / "a.mtx", "K")
    np.testing.assert_array_equal(read.toarray() if scipy.sparse.issparse(read) else read, given)


def test_output4_is_read_in_all_its_forms():
    for data in READERS["op4"].seeds:
        path = folder() / "forms.op4"
        path.write_bytes(data)
        found = op4(str(path))
        for name, letter in (("KGG", "K"), ("MGG", "M")):
            np.testing.assert_allclose(found[name].matrix().toarray(), matrices()[letter], rtol=1e-15)


def test_output2_is_read_past_header_and_tables(tmp_path):
    def record(data):
        return struct.pack("<i", len(data)) + data + struct.pack("<i", len(data))

    def keys(*numbers):
        return b"".join(record(struct.pack("<i", n)) for n in numbers)

    label, seven = record(b"GEOM1   "), record(struct.pack("<7i", *range(7)))
    table = keys(2) + label + keys(-1, 7) + seven + keys(-2, 1, 0, 2) + label + keys(-3, 1, 0)
    table += keys(3) + record(b"0" * 12) + keys(-4, 1, 0, 0)
    head = keys(3) + record(b"1" * 12) + keys(7) + record(b"NASTRAN") + keys(2) + record(b"XXXXXXXX") + keys(-1, 0)
    (whole,) = READERS["op2"].seeds
    (tmp_path / "a.op2").write_bytes(head + table + whole)
    found = op2(str(tmp_path / "a.op2"))
    assert list(found) == ["KAA", "MAA"]
    np.testing.assert_array_equal(found["KAA"].matrix().toarray(), matrices()["K"])


def test_heaps_that_lead_nowhere(tmp_path):
    def heap(*objects):
        body = b"".join(struct.pack("<HHIQ", n, 1, 0, size) + b"\0" * room for n, size, room in objects)
        return HEAP + struct.pack("<Q", 16 + len(body)) + body

    cases = [(heap((1, 5, 8), (0, 16, 0)), True), (heap((1, 5, 8), (0, 0, 0)), False), (heap((1, 99, 8)), False)]
    cases += [(b"", True), (b"text", True), (heap()[:12], False), (heap((1, 2**64 - 9, 8)), False)]
    for content, sound in cases:
        (tmp_path / "a.nc").write_bytes(b"\x89HDF" * bool(content) + content)
        assert sound_heaps(tmp_path / "a.nc") is sound
    for whole in READERS["result"].seeds:
        (tmp_path / "a.nc").write_bytes(whole)
        assert sound_heaps(tmp_path / "a.nc")
        assert HEAP in io.BytesIO(whole).getvalue()


def test_empty_chunks_are_not_looked_into():
    """HDF5 looked for the checksum of nothing, and the process died."""
    tree, whole = b"TREE\x01\x00\x01\x00", READERS["result"].seeds[1]  # of chunks: a leaf with one
    places = [n for n in range(len(whole)) if whole.startswith(tree, n)]
    assert len(places) >= 4
    for n in places:
        wrong = bytearray(whole)
        wrong[n + 24 : n + 28] = bytes(4)  # the size of the first
        with pytest.raises(errors.ModelError, match="is damaged"):
            READERS["result"].read(bytes(wrong))
