"""Compiled kernels on disk: a change of a source is seen by all that can be made of it, and by nothing else."""

import shutil
from pathlib import Path

import numpy as np

import whippletree as wt
from whippletree.kernels import disk

SRC = Path(wt.__file__).parent


def names(file):
    return {path.relative_to(SRC).as_posix() for path in disk.sources_of(SRC / file)}


def test_a_kernel_depends_on_what_it_calls():
    assert {"kernels/spatial.py", "kernels/rotation.py", "kernels/lanes.py"} <= names("dynamics/articulated.py")
    assert {"dynamics/articulated.py", "kernels/manifold.py"} <= names("integrate/rk4.py")


def test_words_for_users_compile_nothing_anew():
    assert not {"integrate/events.py", "integrate/simulate.py", "dynamics/divide.py"} & names("dynamics/articulated.py")
    assert "dynamics/joint_loads.py" not in names("integrate/rk4.py")


def test_the_same_sources_share_a_folder_wherever_they_are(tmp_path):
    there = tmp_path / "whippletree"
    shutil.copytree(SRC, there, ignore=shutil.ignore_patterns("__pycache__"))
    assert disk.folder_of(there / "dynamics/articulated.py") == disk.folder_of(SRC / "dynamics/articulated.py")
    with (there / "kernels/spatial.py").open("a") as file:
        file.write("\n# changed\n")
    disk.folder_of.cache_clear()
    assert disk.folder_of(there / "dynamics/articulated.py") != disk.folder_of(SRC / "dynamics/articulated.py")
    assert disk.folder_of(there / "kernels/rotation.py") == disk.folder_of(SRC / "kernels/rotation.py")


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(monkeypatch, tmp_path):
    from whippletree.kernels.lanes import entry

    (tmp_path / "file").touch()
    monkeypatch.setattr(disk, "_root", tmp_path / "file")
    disk.folder_of.cache_clear()
    try:
        double = entry(lambda x: x + x)
        assert double(np.float64(2.0)) == 4.0
    finally:
        disk.folder_of.cache_clear()
