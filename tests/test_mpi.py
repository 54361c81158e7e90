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
from whippletree.bench.mpi import mpiexec
from whippletree.cluster import mpi_report, mpi_start
from whippletree.errors import MissingExtra, ModelError

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
        at = (0.1, 0, 0) if i else (0, 0, 0)
        m.joint(f"hinge{i}", "revolute", inner, link, axis=(0, 1, 1 - 2 * (i % 2)), at=at, damping=1e-3)
        inner = link
    wt.save(m, path)
    return path


def start(ranks, *arguments, **options):
    """Ranks at work: one command for all, or a list of commands for each rank its own."""
    parts = arguments[0] if isinstance(arguments[0], list) else [arguments] * ranks
    command = [mpiexec()]
    for n, part in enumerate(parts):
        command += [":"] * (n > 0) + ["-n", "1", *PROGRAM, *map(str, part)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def run(ranks, *arguments):
    """Exit code, stdout and stderr of ranks that are done."""
    with start(ranks, *arguments) as ranks_at_work:
        out, err = ranks_at_work.communicate(timeout=300)
    assert "Traceback" not in err, err
    return ranks_at_work.returncode, out, err
