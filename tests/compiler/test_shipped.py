"""Compiled kernels that a wheel carries: taken where processor, Numba and Python fit, read with their checksums."""

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import whippletree as wt
from whippletree.compiler import shipped
from whippletree.compiler.lanes import LANES

SRC = Path(wt.__file__).parent
HOST = shipped.level_for(shipped.host_features(), LANES)
HASWELL = shipped.FEATURES["x86-64-v3"] | {"aes", "pclmul"}


@pytest.mark.parametrize(
    ("features", "lanes", "level"),
    [
        (shipped.FEATURES["x86-64-v4"], 8, "x86-64-v4"),
        (HASWELL, 4, "x86-64-v3"),
        (HASWELL - {"fma"}, 4, None),  # what the level has is asked, not what it is like
        (HASWELL, 2, "x86-64-v2"),  # as WHIPPLETREE_LANES may ask
        (HASWELL, 8, None),
        (HASWELL, 1, None),
        (frozenset(), 2, None),
    ],
)
def test_the_best_level_that_the_processor_runs(features, lanes, level):
    assert shipped.level_for(features, lanes) == level


PROGRAM = """
import warnings
from pack.kernels import twice
from whippletree.compiler import notice, shipped
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    assert twice(7.0) == 14.0
print(notice.compiled(), *(w.message for w in caught))
"""


@pytest.fixture(scope="module")
def carried(tmp_path_factory):
    """A package of its own whose one kernel is compiled for this host's level, as ``make wheel`` does it."""
    if HOST is None:
        pytest.skip("this processor has none of the levels")
    folder = tmp_path_factory.mktemp("carried")
    package = folder / "pack"
    package.mkdir()
    (package / "__init__.py").touch()
    source = "from whippletree.compiler.lanes import entry\n\n\n@entry\ndef twice(x):\n    return 2.0 * x\n"
    (package / "kernels.py").write_text(source)
    cache = package / "compiled" / HOST
    cache.mkdir(parents=True, mode=0o700)
    assert call(folder, cache, NUMBA_CPU_NAME=HOST, NUMBA_CPU_FEATURES="") == "1"
    write_about(package)
    return folder


def write_about(package, **other):
    about = {"tools": shipped.tools() | other, "levels": [HOST]}
    (package / "compiled" / "built.json").write_text(json.dumps(about))


def call(folder, cache, **environment):
    """Kernels that a process compiles for the call, and what it warns of; the package stands for ours."""
    program = f"from whippletree.compiler import shipped\nimport pathlib\nat = pathlib.Path({str(folder / 'pack')!r})\n"
    for name in ("place", "key_of", "mismatch"):
        program += f"shipped.{name}.__defaults__ = (at,)\n"
    around = os.environ | {"WHIPPLETREE_CACHE": str(cache), "PYTHONPATH": f"{SRC.parent}{os.pathsep}{folder}"}
    done = subprocess.run(
        [sys.executable, "-c", program + PROGRAM], env=around | environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_nothing_is_compiled_where_the_wheel_carries_it(carried, tmp_path):
    cache = tmp_path / "cache"
    assert call(carried, cache) == "0"
    assert not list(cache.rglob("*.nbc"))
    (tmp_path / "file").touch()
    assert call(carried, tmp_path / "file") == "0"  # and no folder can be written to


def test_a_damaged_kernel_is_compiled_anew(carried, tmp_path):
    (data,) = carried.rglob("*.nbc")
    whole = data.read_bytes()
    data.write_bytes(whole[:2000] + bytes([whole[2000] ^ 1]) + whole[2001:])
    try:
        assert call(carried, tmp_path / "cache") == "1"
        assert call(carried, tmp_path / "cache") == "0"  # from the folder of the user
    finally:
        data.write_bytes(whole)
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700


def test_other_versions_compile_and_say_why(carried, tmp_path):
    write_about(carried / "pack", numba="0.1")
    try:
        reported = call(carried, tmp_path / "cache")
        assert reported.startswith("1 the wheel's compiled kernels are for Numba 0.1 and Python ")
        assert call(carried, tmp_path / "cache") == "0"  # nothing is said where nothing is compiled
    finally:
        write_about(carried / "pack")
