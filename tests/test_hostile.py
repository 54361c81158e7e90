"""Files, folders and peers that mean harm: each is refused by name, or does nothing. Classes are drawn from a seed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import whippletree as wt
from whippletree.cluster.python import environment, python, user_paths

MODELS = Path(__file__).parent.parent / "models"


# ---------------------------------------------------------------- programs that are started


# names that a program of ours, of Dask or of Python itself imports sooner or later
SHADOWS = ("whippletree", "numpy", "numba", "signal", "pickle", "runpy", "distributed", "multiprocessing", "click")
SHADOWS += ("sitecustomize", "usercustomize", "json", "os", "cupy", "tornado", "viser", "websockets")


TRACE = "import os\nif os.getpid() != {1}:\n    open({0!r}, 'a').write({2!r} + chr(10))\n"


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """A current folder full of modules that leave a trace when they are run, as a notebook has it in its path."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text(TRACE.format(str(tmp_path / "ran"), os.getpid(), name))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, ""])  # last here, since this process goes on importing
    yield
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


@pytest.mark.parametrize("place", [{"workers": 1}, {"on": "dask", "workers": 1}], ids=str)
def test_workers_run_nothing_of_the_current_folder(trap, place):
    if "on" in place:
        pytest.importorskip("distributed")
    study = wt.sweep(wt.load(MODELS / "pendulum.toml"), {"q.hinge": [0.1, 0.2]}, 0.1, **place)
    assert study.complete


def test_a_live_run_starts_nothing_of_the_current_folder(trap):
    system = wt.load(MODELS / "pendulum.toml").compile()
    assert wt.live(system, port=0, until=0.05, ready=lambda about: None).ended == "until"


def test_workers_still_find_modules_of_the_user(tmp_path, monkeypatch):
    """A function of a module beside the notebook goes to workers by its name."""
    (tmp_path / "beside_the_notebook.py").write_text("def mass(run):\n    return 1.0\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, ""])
    code = "import sys; sys.path += sys.argv[1:]; import beside_the_notebook; print(sys.path[-1])"
    done = subprocess.run(python("-c", code, *user_paths()), env=environment(), capture_output=True, text=True)
    assert done.stdout.strip() == str(tmp_path), done.stderr


def test_every_program_is_started_by_one_function():
    """No other file names the interpreter: it would have to think of the current folder as well."""
    sources = Path(wt.__file__).parent.rglob("*.py")
    naming = {path.name for path in sources if "sys.executable" in path.read_text("utf-8")}
    assert naming <= {"python.py", "mpi.py"}  # the latter looks for mpiexec beside it
