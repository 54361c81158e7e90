"""What an operation takes on this host: small systems, run by each algorithm, once, and kept on disk.

The file lies beside the compiled kernels, so other sources have another. It says whose rates it holds: the host by its
name, its processor, the lanes and the version. One that cannot be read is measured anew; where none can be written,
every process measures for itself.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm

from ...compiler.disk_cache import common_folder
from ...compiler.lanes import LANES
from ..registry import ALGORITHMS
from ..tree.cost import RECURSION
from .cost_model import TYPICAL
from .rates import BENDING, WITH_FORCES, Rates
from .timing import FEWER, Timed, chain, fastest

FILE = common_folder() / "rates.json"

_measured: dict[str, tuple[float, ...]] = {}


def host() -> dict[str, Any]:
    """Whose rates they are."""
    version = import_module("whippletree").__version__
    return {"host": platform.node(), "processor": llvm.get_host_cpu_name(), "lanes": LANES, "version": version}


def known() -> Rates:
    """Rates as far as they have been measured here, else typical ones."""
    _read()
    faster = _measured.get(RECURSION, TYPICAL[RECURSION])[1] / TYPICAL[RECURSION][1]
    bending = {BENDING: tuple(faster * x for x in TYPICAL[BENDING])}  # as rigid bodies on this host
    return {**TYPICAL, **bending, **_measured}


def measured(names: Iterable[str]) -> Rates:
    """Rates of these, measured now where they have not been."""
    _read()
    missing = [name for name in names if name not in _measured and name in CALIBRATIONS]
    for name in missing:
        _measured[name] = CALIBRATIONS[name]()
    if missing:
        _write()
    return known()


def is_measured(name: str) -> bool:
    """Whether the rate of an algorithm is of this host."""
    return name in _measured


def _read() -> None:
    if _measured:
        return
    try:
        kept = json.loads(FILE.read_text("utf-8"))
        rates = {name: tuple(map(float, rate)) for name, rate in kept["rates"].items()}
        sound = all(name in TYPICAL and len(TYPICAL[name]) == len(rate) for name, rate in rates.items())
        if sound and kept["host"] == host() and all(0.0 <= x < 1.0 for rate in rates.values() for x in rate):
            _measured.update(rates)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return


def _write() -> None:
    part = FILE.with_suffix(f".{os.getpid()}")
    try:
        FILE.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"host": host(), "rates": _measured}, indent=1) + "\n", "utf-8")
        part.replace(FILE)
    except OSError:  # a rate that is not kept is measured again
        with suppress(OSError):
            part.unlink()


def _quick_and_slow() -> tuple[str, str]:
    """An algorithm whose calls of one state go straight into a kernel, and one whose calls do not."""
    counted = [a for a in ALGORITHMS.values() if a.cost and a.handles_loops]
    return RECURSION, next(a.name for a in counted if a.quick is None)


def _forces() -> tuple[float, ...]:
    """What a motor adds to a call that is quick without it, and to another."""
    driven = chain(FEWER[0])
    driven.force("motor", "motor", joint="j0", torque=1.0)
    systems = chain(FEWER[0]).compile(), driven.compile()
    times = fastest(*(Timed(s, name) for name in _quick_and_slow() for s in systems))
    return max(times[1] - times[0], 0.0), max(times[3] - times[2], 0.0)


CALIBRATIONS: dict[str, Callable[[], tuple[float, ...]]] = {WITH_FORCES: _forces}
for _algorithm in ALGORITHMS.values():
    if _algorithm.cost:
        CALIBRATIONS |= _algorithm.cost.calibrations
