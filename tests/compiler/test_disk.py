"""Compiled kernels on disk: a change of a source is seen by all that can be made of it, and by nothing else."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np
import pytest

import whippletree as wt
from whippletree.compiler import compile_lock as turns
from whippletree.compiler import disk_cache as disk
from whippletree.errors import ModelWarning

SRC = Path(wt.__file__).parent


def names(file):
    return {path.relative_to(SRC).as_posix() for path in disk.sources_of(SRC / file)}


def test_a_kernel_depends_on_what_it_calls():
    assert {"algebra/spatial.py", "algebra/rotation.py", "compiler/lanes.py"} <= names("dynamics/tree/articulated.py")
    assert {"dynamics/tree/articulated.py", "kernels/manifold.py"} <= names("integrate/methods/rk4.py")


def test_words_for_users_compile_nothing_anew():
    assert not {"integrate/run/events.py", "integrate/simulate.py", "dynamics/divide/algorithm.py"} & names(
        "dynamics/tree/articulated.py"
    )
    assert "dynamics/loads/joints.py" not in names("integrate/methods/rk4.py")


def test_the_same_sources_share_a_folder_wherever_they_are(tmp_path):
    there = tmp_path / "whippletree"
    shutil.copytree(SRC, there, ignore=shutil.ignore_patterns("__pycache__"))
    assert disk.folder_of(there / "dynamics/tree/articulated.py") == disk.folder_of(
        SRC / "dynamics/tree/articulated.py"
    )
    with (there / "algebra/spatial.py").open("a") as file:
        file.write("\n# changed\n")
    disk.folder_of.cache_clear()
    assert disk.folder_of(there / "dynamics/tree/articulated.py") != disk.folder_of(
        SRC / "dynamics/tree/articulated.py"
    )
    assert disk.folder_of(there / "algebra/rotation.py") == disk.folder_of(SRC / "algebra/rotation.py")


@pytest.mark.parametrize(
    ("imported", "called"),
    [("from .outer.inner.callee import scaled", "scaled"), ("from .outer.inner import callee as sp", "sp.scaled")],
)
def test_a_change_in_a_nested_folder_compiles_its_callers_anew(tmp_path, imported, called):
    """In processes of their own; Numba by itself looks at the caller's file alone and would run the old code."""
    deep = tmp_path / "pack" / "outer" / "inner"
    deep.mkdir(parents=True)
    for folder in (deep, deep.parent, deep.parent.parent):
        (folder / "__init__.py").touch()
    callee, lanes = deep / "callee.py", "from whippletree.compiler.lanes import"
    (tmp_path / "pack" / "caller.py").write_text(
        f"{lanes} entry\n{imported}\n\n@entry\ndef call(x):\n    return {called}(x)\n"
    )
    own = {"WHIPPLETREE_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(SRC.parent)}
    found, environment = [], os.environ | own | {"PYTHONDONTWRITEBYTECODE": "1"}  # stale within a second of an edit
    for factor in (2.0, 2.0, 3.0):
        callee.write_text(f"{lanes} kernel\n\n@kernel\ndef scaled(x):\n    return {factor} * x\n")
        program = "from pack.caller import call; print(call(7.0), sum(call.stats.cache_hits.values()))"
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        found.append(done.stdout.split())
    assert found == [["14.0", "0"], ["14.0", "1"], ["21.0", "0"]]


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(monkeypatch, tmp_path):
    from whippletree.compiler.lanes import entry

    (tmp_path / "file").touch()
    monkeypatch.setattr(disk, "_root", tmp_path / "file")
    disk.folder_of.cache_clear()
    try:
        double = entry(lambda x: x + x)
        assert double(np.float64(2.0)) == 4.0
    finally:
        disk.folder_of.cache_clear()


# ---- programs that need a kernel at once


def half(x):
    return 0.5 * x if x.is_integer else x  # floats have no such attribute in Numba


def plus_two(x):
    return x + 2


@pytest.fixture
def kept(monkeypatch, tmp_path):
    """Makes a function compiled in a cache of its own."""
    monkeypatch.setattr(disk, "_root", tmp_path)
    disk.folder_of.cache_clear()

    def make(function=plus_two):
        function.__code__ = function.__code__.replace(co_filename=disk.__file__)
        return disk.on_disk(function, lambda cache: numba.njit(cache=cache)(function))

    yield make
    disk.folder_of.cache_clear()


def turn_of(kernel, number=numba.int64):
    key = kernel._cache._index_key((number,), kernel.targetctx.codegen())
    return kernel._cache._cache_file._turn(key)


def times_compiled(make):
    """By another process, told as its exit code."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            kernel = make()
            assert kernel(1) == 3
            code = sum(kernel.stats.cache_misses.values())
        finally:
            os._exit(code)
    return pid


@pytest.mark.skipif(not hasattr(os, "fork"), reason="files are locked where processes fork")
def test_one_program_compiles_and_the_others_wait_for_it(kept):
    turn = turn_of(kept())
    assert not turns.wait_for(turn)
    others = [times_compiled(kept) for _ in range(3)]
    time.sleep(0.2)  # they are waiting, or will be
    turns.give_back(turn)
    assert sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in others) == [0, 0, 1]
    assert not list(turn.parent.glob("*.lock"))


def test_a_program_that_was_halted_is_not_waited_for(kept, monkeypatch):
    kernel = kept()
    with open(turn_of(kernel), "w") as halted:
        fcntl = pytest.importorskip("fcntl")
        fcntl.flock(halted, fcntl.LOCK_EX)
        monkeypatch.setattr(turns, "PATIENCE", 0.1)
        assert kernel(1) == 3
    assert not turns._held


def test_a_kernel_that_does_not_compile_gives_its_turn_back(kept):
    kernel = kept(half)
    with pytest.raises(numba.TypingError):
        kernel(1.0)
    assert not turns._held
    assert not turn_of(kernel, numba.float64).exists()


# ---- folders of others


@pytest.mark.skipif(os.name == "nt", reason="modes do not tell")
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o770, 0o722, 0o702, 0o1777])
@pytest.mark.parametrize("which", ["root", "leaf", "above"])
def test_a_folder_that_others_can_write_to_is_not_used(kept, tmp_path, mode, which, monkeypatch):
    root = tmp_path / "cache"
    monkeypatch.setattr(disk, "_root", root)
    leaf = disk.folder_of(Path(disk.__file__))
    assert leaf.parent == root
    assert {path.stat().st_mode & 0o777 for path in (root, leaf)} == {0o700}
    {"root": root, "leaf": leaf, "above": tmp_path}[which].chmod(mode)
    disk.folder_of.cache_clear()
    disk._refuse.cache_clear()
    closed = which == "above" and mode in (0o775, 0o770, 0o1777)  # nobody else can rename our folder there
    if closed:
        assert disk.folder_of(Path(disk.__file__)) == leaf
        return
    with pytest.warns(ModelWarning, match="can be written to by others"):
        assert kept()(1) == 3
    assert not [*leaf.iterdir()]
    if which != "leaf":
        disk.common_folder.cache_clear()
        disk.remember_cached("anything")  # has been said
        assert not disk.kernels_cached("anything")
    disk.common_folder.cache_clear()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_not_used(kept, tmp_path):
    leaf = disk.folder_of(Path(disk.__file__))
    os.chown(leaf, 12345, -1)
    disk.folder_of.cache_clear()
    with pytest.warns(ModelWarning, match="belongs to another user"):
        assert kept()(1) == 3
    assert not [*leaf.iterdir()]
