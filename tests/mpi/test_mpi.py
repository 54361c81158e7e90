"""One mechanism on several MPI ranks: real ones, started by the mpiexec that belongs to this Python."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import whippletree as wt
from whippletree.errors import ModelError
from whippletree.mpi import messages as mpi_messages
from whippletree.mpi import start as mpi_start
from whippletree_lab.bench.mpi import mpiexec

pytest.importorskip("mpi4py")
PROGRAM = [sys.executable, "-m", "whippletree"]
LINKS = 24


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """A short chain on hinges aslant, with damping, as a file."""
    path = tmp_path_factory.mktemp("mpi") / "chain.toml"
    m = wt.Model("chain", gravity=(0, 0, -9.81))
    inner = m.ground
    for i in range(LINKS):
        link = m.body(f"link{i}", **wt.rod(mass=0.1, length=0.1, radius=0.01, axis="x"))
        at = (0.103, 0.011, -0.017) if i else (1.31, -2.27, 0.73)  # roundings of places show in the bits
        m.joint(f"hinge{i}", "revolute", inner, link, axis=(0, 1, 1 - 2 * (i % 2)), at=at, damping=1e-3)
        inner = link
    wt.save(m, path)
    return path


def start(ranks, *arguments):
    """Ranks at work on one command."""
    command = [mpiexec(), "-n", str(ranks), *PROGRAM, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def run(ranks, *arguments):
    """Exit code, stdout and stderr of ranks that are done."""
    with start(ranks, *arguments) as ranks_at_work:
        out, err = ranks_at_work.communicate(timeout=300)
    assert "Traceback" not in err, err
    return ranks_at_work.returncode, out, err


FORM = "subchains(pieces=8, lanes=False)"


def chain_run(chain, *more, form=FORM):
    return ("run", chain, "--until", 0.1, "--output-step", 0.01, "--algorithm", form, *more)


def same_motion(one, other):
    """To the last bit; work is summed rank by rank, so it has roundings of its own."""
    a, b = wt.load_result(one), wt.load_result(other)
    assert np.allclose(a.work, b.work, rtol=1e-12, atol=1e-15)
    return all(np.array_equal(x, y) for x, y in ((a.t, b.t), (a.q, b.q), (a.u, b.u)))


# ---------------------------------------------------------------- the same motion


@pytest.fixture(scope="module")
def one_rank(chain, tmp_path_factory):
    """The run on one rank that no mpiexec started; it also compiles what the others load."""
    path = tmp_path_factory.mktemp("one") / "one.nc"
    given = [*PROGRAM, *map(str, chain_run(chain, "--on", "mpi", "-o", path))]
    done = subprocess.run(given, capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return path


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_compute_the_bits_of_one(ranks, chain, one_rank, tmp_path):
    code, out, err = run(ranks, *chain_run(chain, "--on", "mpi", "-o", tmp_path / "run.nc"))
    assert (code, out) == (0, ""), err
    assert err.count("wrote") == 1
    assert same_motion(one_rank, tmp_path / "run.nc")
    attrs = wt.load_result(tmp_path / "run.nc").attrs
    assert attrs["ranks"] == ranks
    only_the_messages_of_table_3_cross(ranks, attrs, err)


def only_the_messages_of_table_3_cross(ranks, attrs, err):
    reported, evaluations = json.loads(attrs["messages"]), attrs["evaluations"]
    assert set(reported) == {"II", "VII", "VIII", "X", "results"}
    neighbours = 1 if ranks == 2 else 2
    for step in ("II", "VII"):
        assert reported[step][:2] == [evaluations, neighbours * evaluations]  # one to each, as in the table
        assert mpi_messages.table_3(step, ranks)[0] == 1
    rounds = mpi_messages.table_3("VIII", ranks)[0]
    # to the other side of each cut, and two of log2 p rounds; the table has three of these
    assert reported["VIII"][:2] == [3 * evaluations, evaluations * (neighbours + 2 * rounds // 3)]
    assert err.count(f"messages of {ranks} ranks") == 1
    numbers = 10 * neighbours
    assert re.search(rf"VII +assembling +1 +{neighbours} +\(1\) +{numbers} +\(70\)", err)


def test_subchains_that_share_lanes_are_equal_to_rounding(chain, one_rank, tmp_path):
    """Which of them do depends on the ranks; 1e-11: roundings of velocities of 10 rad/s, over 60 steps."""
    code, _, err = run(2, *chain_run(chain, "--on", "mpi", "-o", tmp_path / "run.nc", form="subchains(pieces=8)"))
    assert code == 0, err
    a, b = wt.load_result(one_rank), wt.load_result(tmp_path / "run.nc")
    assert np.array_equal(a.t, b.t)
    assert max(np.abs(a.q - b.q).max(), np.abs(a.u - b.u).max()) < 1e-11


def test_one_rank_computes_what_other_algorithms_do(chain, one_rank):
    """To 1e-7: the tolerance of a step is 1e-8, and there are some sixty of them."""
    system = wt.load(chain).compile()
    other = wt.simulate(system, 0.1, output_step=0.01)
    assert np.abs(wt.load_result(one_rank).q - other.q).max() < 1e-7
    same = wt.simulate(system, 0.1, output_step=0.01, algorithm=FORM)
    assert np.abs(wt.load_result(one_rank).q - same.q).max() < 1e-12  # forces are summed in another order
    assert np.abs(wt.load_result(one_rank).work - same.work).max() < 1e-12


# ---------------------------------------------------------------- ranks that differ, and bad input


def in_turn(ranks, commands):
    """Exit codes and stderr of all ranks, for each of several commands that are given to one start of them."""
    given = json.dumps([[list(map(str, one)) for one in command] for command in commands])
    program = [sys.executable, str(Path(__file__).parents[1] / "support" / "mpi_commands.py"), given]
    started = [mpiexec(), "-n", str(ranks), *program] if ranks > 1 else program
    done = subprocess.run(started, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    for codes, errors in json.loads(done.stdout):
        assert "Traceback" not in "".join(errors)
        yield set(codes), "".join(errors)


@pytest.fixture(scope="module")
def refused(chain, tmp_path_factory):
    """What four ranks say to commands that they must not begin, and where the first of them would write."""
    folder = tmp_path_factory.mktemp("refused")
    heavier, path = folder / "other.toml", folder / "run.nc"
    heavier.write_text(chain.read_text("utf-8").replace("mass = 0.1", "mass = 0.2", 1), "utf-8")
    few = ("run", chain, "--until", 0.1, "--algorithm", "subchains(pieces=2)", "--on", "mpi")
    commands = {
        "models": [chain_run(model, "--on", "mpi", "-o", path) for model in (chain, chain, heavier, chain)],
        "settings": [chain_run(chain, "--on", "mpi", "--rtol", rtol) for rtol in (1e-8, 1e-7, 1e-8, 1e-7)],
        "none": [chain_run(model, "--on", "mpi") for model in (chain, folder / "none.toml", chain, chain)],
        "few": [few] * 4,
    }
    return dict(zip(commands, in_turn(4, commands.values()), strict=True)) | {"path": path}


def test_ranks_that_read_different_models_are_refused_once(refused):
    codes, err = refused["models"]
    assert codes == {2}
    assert err.count("error:") == 1
    assert "the ranks have read different models" in err
    assert re.search(r"got: ranks 0, 1, 3: .*; rank 2: ", err)
    assert not refused["path"].exists()


def test_ranks_with_different_settings_are_refused(refused):
    codes, err = refused["settings"]
    assert codes == {2}
    assert "different settings: rtol differs" in err
    assert "ranks 0, 2: 1e-08; ranks 1, 3: 1e-07" in err


def test_a_rank_without_its_model_ends_all(refused):
    codes, err = refused["none"]
    assert codes == {2}
    assert err.count("error:") == 1
    assert "not every rank can start" in err
    assert "ranks 0, 2, 3: no complaint; rank 1: " in err


def test_more_ranks_than_subchains_are_refused(refused):
    codes, err = refused["few"]
    assert codes == {2}
    assert err.count("error:") == 1
    assert "more ranks than subchains" in err


def test_an_error_of_all_ranks_is_reported_once(chain):
    code, out, err = run(2, *chain_run(chain, "--on", "mpi", "--integrator", "rk5"))
    assert (code, out) == (2, "")
    assert err.count("error:") == 1
    assert "integrator 'rk5' is not known" in err


def test_mpi_without_mpi4py_names_what_to_install(command, chain, monkeypatch):
    monkeypatch.setitem(sys.modules, "mpi4py", None)
    code, _, err = command(*chain_run(chain, "--on", "mpi"))
    assert code == 2
    assert "needs the package 'mpi4py', which is not installed" in err
    assert "pip install 'whippletree[cluster]'" in err


def test_mpi4py_without_a_library_is_reported(monkeypatch):
    class Broken:
        def __getattr__(self, name):
            raise RuntimeError("cannot load MPI library\nlibmpi.so.12: not found")

    monkeypatch.setitem(sys.modules, "mpi4py", Broken())
    with pytest.raises(ModelError, match="finds no MPI library") as reported:
        mpi_start.connect()
    assert reported.value.got == "cannot load MPI library"


def test_what_ranks_do_not_share_is_refused(chain, tmp_path):
    text = chain.read_text("utf-8")
    pulled = tmp_path / "pulled.toml"
    pulled.write_text(text + '\n[forces.wind]\nkind = "drag"\nbody = "link3"\nlinear = 0.1\n', "utf-8")
    cases = {
        "events are not watched on ranks": chain_run(chain, "--on", "mpi", "--stop", "hinge0.q > 1"),
        "force 'wind' (drag) acts on bodies": chain_run(pulled, "--on", "mpi"),
        "algorithm 'articulated' does not run on ranks": chain_run(chain, "--on", "mpi", form="articulated"),
    }
    for words, (codes, err) in zip(cases, in_turn(1, [[given] for given in cases.values()]), strict=True):
        assert codes == {2}
        assert words in err


def test_another_place_is_refused(command, chain):
    code, _, err = command("run", chain, "--until", 1, "--on", "cluster")
    assert code == 2
    assert "a run on 'cluster' is not known" in err


# ---------------------------------------------------------------- ranks that die


def rank_process(launched, rank):
    """The process of a rank: a child of a child of mpiexec."""
    parents, ranks = {}, []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text, words = stat.read_text(), (stat.parent / "environ").read_bytes()
        except OSError:  # gone, or of another user
            continue
        pid = int(stat.parent.name)
        parents[pid] = int(text.rpartition(")")[2].split()[1])
        if f"PMI_RANK={rank}\0".encode() in words:
            ranks.append(pid)
    (pid,) = (p for p in ranks if parents.get(parents[p]) == launched.pid)
    return pid


def when_written(path, launched):
    """Wait until a run has kept something."""
    for _ in range(20000):
        if path.exists():
            return
        assert launched.poll() is None, launched.communicate()
        time.sleep(0.005)
    raise AssertionError("nothing was kept")


LONG = ("--until", 1.5, "--output-step", 0.02, "--algorithm", FORM, "--on", "mpi", "--save-every", 0.1)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="finds ranks by what Linux tells")
def test_a_rank_that_is_killed_ends_the_run_which_resumes(chain, one_rank, tmp_path):
    path = tmp_path / "run.nc"
    with start(2, "run", chain, *LONG, "-o", path) as launched:
        when_written(path, launched)
        os.kill(rank_process(launched, 1), signal.SIGKILL)
        _, err = launched.communicate(timeout=60)
    assert launched.returncode != 0
    assert f"error: a rank has died; {path} holds what was kept, and --resume goes on from there" in err
    assert not wt.load_result(path).attrs["complete"]
    code, _, err = run(2, "run", chain, *LONG, "-o", path, "--resume")
    assert code == 0, err
    code, _, err = run(1, "run", chain, *LONG, "-o", tmp_path / "whole.nc")
    assert code == 0, err
    assert same_motion(tmp_path / "whole.nc", path)


def test_ctrl_c_keeps_what_was_computed(chain, one_rank, tmp_path):
    path = tmp_path / "run.nc"
    with start(2, "run", chain, "--until", 20.0, *LONG[2:], "-o", path) as launched:  # not done before the signal
        when_written(path, launched)
        launched.send_signal(signal.SIGINT)
        _, err = launched.communicate(timeout=60)
    assert launched.returncode == 130
    assert err.count("stopped; kept: ") == 1
    assert not wt.load_result(path).attrs["complete"]
