"""The bench of ranks: it starts them itself, and what it measures is there, agrees, and can be kept and drawn."""

import subprocess

import pytest

from whippletree.errors import MissingExtra, SimulationError
from whippletree_lab import bench
from whippletree_lab.bench import mpi
from whippletree_lab.bench.result import OURS
from whippletree_lab.report import report

pytest.importorskip("mpi4py")


@pytest.fixture(scope="module")
def result():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mpi, "RANKS", (1, 2))
        return bench.run("mpi", sizes="40", rounds=1)


def test_ranks_are_timed_beside_one_and_agree(result):
    one, two = (r for r in result.rows if r.question == "forward")
    assert set(one.seconds) == {OURS, "1 rank"}
    assert set(two.seconds) == {OURS, "2 ranks"}
    assert two.differences["2 ranks"] < 1e-10  # of a short chain; a way that is wrong has 1
    assert two.operations["VII: messages"] == two.operations["VII: messages, table 3"] == 1
    assert two.operations["VIII: messages"] == two.operations["VIII: messages, table 3"] == 3


def test_latencies_are_reported(result):
    _, row = (r for r in result.rows if r.question == "latency")
    assert set(row.seconds) == {"allreduce of 6", "exchange of 70"}
    assert min(row.seconds.values()) > 0.0


def test_numbers_and_picture_are_written(result, tmp_path):
    again = report.load(report.save(result, tmp_path / "mpi.json"))
    assert again.rows == result.rows
    text = report.text(again)
    assert "5 (5)" in text  # messages of an evaluation, and those of table 3
    assert all(p.stat().st_size > 0 for p in report.plot(again, tmp_path / "mpi.svg"))


def test_ranks_that_fail_are_reported(monkeypatch):
    failed = subprocess.CompletedProcess([], 1, stdout="", stderr="no such rank\nmore")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(SimulationError, match="the bench on 1 ranks failed") as reported:
        bench.run("mpi", sizes="40", rounds=1)
    assert reported.value.got == "no such rank"


def test_without_mpiexec_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(mpi.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(mpi.shutil, "which", lambda _: None)
    with pytest.raises(MissingExtra, match="mpich"):
        mpi.mpiexec()
