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
from math import inf
from time import perf_counter
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from .. import __version__
from ..kernels.lanes import CACHE_FOLDER, LANES
from ..model import Model
from ..system.system import System
from . import predict, reduction
from .division_options import Division
from .loads import signals
from .operations import of_reduction
from .predict import IN_LANES, ON_THREADS, TYPICAL, Rates
from .tree_operations import of_articulated, of_composite, of_divide, of_kinematics

FILE = CACHE_FOLDER / "rates.json"
SPEND = 0.03  # s of calls, of which the fastest counts
LENGTHS = 32, 512  # bodies of the chains that are timed
FEW, MANY = 16, 128  # where the cost is not linear
LOOPS = 4, 24
DIVIDED = 128, 1024
WHOLE = Division(lanes=False)

_measured: dict[str, tuple[float, ...]] = {}


def host() -> dict[str, Any]:
    """Whose rates they are."""
    cpu = llvm.get_host_cpu_name()
    return {"host": platform.node(), "processor": cpu, "lanes": LANES, "version": __version__}


def known() -> Rates:
    """Rates as far as they have been measured here, else typical ones."""
    _read()
    return {**TYPICAL, **_measured}


def measured(names: Iterable[str]) -> Rates:
    """Rates of these, measured now where they have not been."""
    _read()
    missing = [name for name in names if name not in _measured and name in CALIBRATIONS]
    for name in missing:
        _measured[name] = CALIBRATIONS[name]()
    if missing:
        _write()
    return {**TYPICAL, **_measured}


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
        part.unlink(missing_ok=True)


# ---------------------------------------------------------------- what is timed


def chain(bodies: int) -> Model:
    """Boxes in a row, hinged about x, y and z in turn."""
    model = Model(f"chain of {bodies}")
    for k in range(bodies):
        model.body(f"b{k}", mass=1.0, com=(0.05, 0.02, 0.1), inertia=(4e-3, 5e-3, 3e-3))
        at = (0.02, 0.0, 0.2) if k else (0.0, 0.0, 0.0)
        model.joint(f"j{k}", "revolute", f"b{k - 1}" if k else "ground", f"b{k}", axis="xyz"[k % 3], at=at)
    return model


def ladder(loops: int) -> Model:
    """Upright cranks side by side, with couplers between their tips: closed at q = 0."""
    model = Model(f"ladder of {loops}")
    bar: dict[str, Any] = {"mass": 1.0, "inertia": (0.08, 0.08, 0.08)}
    for k in range(loops + 1):
        model.body(f"crank{k}", com=(0.0, 0.5, 0.0), **bar)
        if k:
            model.body(f"coupler{k}", com=(0.5, 0.0, 0.0), **bar)
            model.joint(f"left{k}", "revolute", f"crank{k - 1}", f"coupler{k}", axis="z", at=(0, 1, 0))
            ends: dict[str, Any] = {"at": (1, 0, 0), "child_at": (0, 1, 0)}
            model.joint(f"right{k}", "revolute", f"coupler{k}", f"crank{k}", axis="z", **ends)
        model.joint(f"foot{k}", "revolute", "ground", f"crank{k}", axis="z", at=(k, 0, 0))
    return model


def time_call(system: System, algorithm: str, states: int | None = None, threads: int | None = None) -> float:
    """Seconds of the fastest call."""
    from .functions import forward_dynamics

    lead = () if states is None else (states,)
    q, zero = np.broadcast_to(system.q0, (*lead, system.nq)).copy(), np.zeros((*lead, system.nu))
    return best(lambda: forward_dynamics(system, q, zero, zero, algorithm=algorithm, threads=threads), SPEND)


def best(run: Callable[[], Any], spend: float) -> float:
    """Seconds of the fastest of so many calls as ``spend`` seconds hold, and at least three after the first."""
    run()
    least, calls, until = inf, 0, perf_counter() + spend
    while calls < 3 or perf_counter() < until:
        start = perf_counter()
        run()
        least, calls = min(least, perf_counter() - start), calls + 1
    return least


def _line(algorithm: str, systems: list[System], count: Callable[[System], float], states: int | None = None) -> Any:
    """A call and an operation, from a small and a large system."""
    few, many = (count(s) for s in systems)
    quick, slow = (time_call(s, algorithm, states) for s in systems)
    each = max(slow - quick, 0.0) / (many - few)
    return max(quick - each * few, 0.0), each


def _chains(sizes: tuple[int, int]) -> list[System]:
    return [chain(n).compile() for n in sizes]


def _with_loops(algorithm: str) -> Any:
    """Behind a sweep over the tree, which takes as long as articulated."""
    sweep = measured(["articulated"])["articulated"][1]
    systems = [ladder(n).compile() for n in LOOPS]
    few, many = (predict.constraint_operations(s, algorithm) for s in systems)
    quick, slow = (time_call(s, algorithm) - sweep * of_articulated(s) for s in systems)
    each = max(slow - quick, 0.0) / (many - few)
    return max(quick - each * few, 0.0), each


def _of_reduction(system: System) -> int:
    return of_kinematics(system) + of_reduction(reduction.plan_at(system, system.q0, signals(system, 0.0)))


def _divide() -> tuple[float, ...]:
    """A call, and operations on registers and on floats."""
    systems = _chains(DIVIDED)
    cases = [(systems[0], Division()), (systems[1], Division()), (systems[1], WHOLE)]
    counts = [of_divide(*case) for case in cases]
    times = [time_call(system, "divide" if choice.lanes else "divide(lanes=False)") for system, choice in cases]
    table = [(1.0, c.registers, c.floats) for c in counts if c is not None]
    if LANES == 1:
        call, each = np.linalg.lstsq(np.array(table)[:, [0, 2]], np.array(times), rcond=None)[0]
        return max(float(call), 0.0), max(float(each), 0.0), max(float(each), 0.0)
    return tuple(max(float(x), 0.0) for x in np.linalg.solve(np.array(table), np.array(times)))


def _waiting() -> tuple[float, ...]:
    """What two threads lose by waiting for each other."""
    system, (call, wide, single) = chain(DIVIDED[1]).compile(), measured(["divide"])["divide"]
    count = of_divide(system, Division(threads=2))
    assert count is not None
    alone = call + wide * count.registers + single * count.floats
    return (max(time_call(system, "divide", threads=2) - alone, 0.0),)


CALIBRATIONS: dict[str, Callable[[], tuple[float, ...]]] = {
    "articulated": lambda: _line("articulated", _chains(LENGTHS), of_articulated),
    IN_LANES: lambda: _line("articulated", _chains(LENGTHS), of_articulated, LANES),
    "composite": lambda: _line("composite", _chains((FEW, MANY)), of_composite),
    "reduction": lambda: _line("reduction", [ladder(n).compile() for n in LOOPS], _of_reduction),
    "multipliers": lambda: _with_loops("multipliers"),
    "nullspace": lambda: _with_loops("nullspace"),
    "divide": _divide,
    ON_THREADS: _waiting,
}
