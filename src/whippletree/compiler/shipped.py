"""Compiled kernels that a platform wheel carries, one folder for each level of x86-64 (docs/decisions/0032-wheels.md).

They lie in ``compiled/<level>/`` of the installed package, in folders named as those of :mod:`.disk_cache`, and are
looked up under the name of their level instead of that of the host's processor. What they do not hold is compiled.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

PACKAGE = Path(__file__).parent.parent
COMPILED, BUILT = "compiled", "built.json"  # the folder in a package, and what its kernels were compiled with
_V2 = frozenset(["cx16", "popcnt", "sahf", "sse3", "sse4.1", "sse4.2", "ssse3"])
_V3 = _V2 | frozenset(["avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"])
_V4 = _V3 | frozenset(["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"])
FEATURES = {"x86-64-v4": _V4, "x86-64-v3": _V3, "x86-64-v2": _V2}  # best first, as the ABI of x86-64 defines them
LANES_OF = {"x86-64-v4": 8, "x86-64-v3": 4, "x86-64-v2": 2}


def level_for(features: frozenset[str], lanes: int) -> str | None:
    """The best level that a host with these features runs, of those with so many lanes."""
    return next((n for n, asked in FEATURES.items() if asked <= features and LANES_OF[n] == lanes), None)


@cache
def host_features() -> frozenset[str]:
    """What LLVM finds in this processor."""
    try:
        return frozenset(name for name, there in llvm.get_host_cpu_features().items() if there)
    except RuntimeError:
        return frozenset()


@cache
def built(package: Path = PACKAGE) -> dict[str, Any]:
    """What the kernels of a package were compiled with; empty where it carries none."""
    try:
        return dict(json.loads((package / COMPILED / BUILT).read_text("utf-8")))
    except (OSError, ValueError):
        return {}


def tools() -> dict[str, str]:
    """What kernels depend on beside the sources: they are loaded by the same versions only."""
    return {"numba": numba.__version__, "python": "{}.{}".format(*sys.version_info)}


@cache
def level(package: Path = PACKAGE) -> str | None:
    """The level whose kernels this process loads, if the package carries any for it."""
    from .lanes import LANES

    chosen = level_for(host_features(), LANES)
    return chosen if chosen in built(package).get("levels", ()) and tools() == built(package)["tools"] else None


def mismatch(package: Path = PACKAGE) -> str:
    """Why the kernels of the package are not loaded, in words; empty where they are, or where there are none."""
    if not built(package) or level(package):
        return ""
    if tools() != (given := built(package)["tools"]):
        return "the wheel's compiled kernels are for Numba {numba} and Python {python}".format(**given)
    return "the wheel has no compiled kernels for this processor"


def place(kept: Path, package: Path = PACKAGE) -> Path | None:
    """Where the wheel carries the kernels that are kept in a folder."""
    chosen = level(package)
    return package / COMPILED / chosen / kept.name if chosen else None


def key_of(key: Any, package: Path = PACKAGE) -> Any:
    """Numba's key (signature, (triple, processor, features), code), with the level for the processor."""
    signature, (triple, *_), code = key
    return signature, (triple, level(package), ""), code
