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
from functools import partial
from importlib import import_module
from math import inf
from time import perf_counter
from typing import Any, NamedTuple

import llvmlite.binding as llvm
import numpy as np

from ...compiler.disk_cache import common_folder
from ...compiler.lanes import LANES
from ...model import Model
from ...system.system import System
from ..divide.options import Division
from . import cost_model as predict
from .cost_model import BENDING, IN_LANES, ON_THREADS, TYPICAL, WITH_FORCES, Rates
from .tree_operations import of_articulated, of_composite, of_divide

FILE = common_folder() / "rates.json"
ROUNDS, SPEND = 25, 0.004  # turns of each call that is timed, and seconds of a turn
LENGTHS, FEWER = (32, 512), (16, 96)  # bodies of the chains that are timed; where the cost is not linear
LOOPS = 4, 24
DIVIDED = 128, 1024
WHOLE = Division(lanes=False)

_measured: dict[str, tuple[float, ...]] = {}


def host() -> dict[str, Any]:
    """Whose rates they are."""
    version = import_module("whippletree").__version__
    return {"host": platform.node(), "processor": llvm.get_host_cpu_name(), "lanes": LANES, "version": version}


def known() -> Rates:
    """Rates as far as they have been measured here, else typical ones."""
    _read()
    faster = _measured.get("articulated", TYPICAL["articulated"])[1] / TYPICAL["articulated"][1]
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


class Timed(NamedTuple):
    """A call that is timed."""

    system: System
    algorithm: str
    states: int | None = None
    threads: int | None = None

    def call(self) -> Callable[[], Any]:
        from ..functions import forward_dynamics

        lead, s = () if self.states is None else (self.states,), self.system
        q, zero = np.broadcast_to(s.q0, (*lead, s.nq)).copy(), np.zeros((*lead, s.nu))
        return partial(forward_dynamics, s, q, zero, zero, algorithm=self.algorithm, threads=self.threads)


def fastest(*timed: Timed) -> list[float]:
    """Seconds of the fastest call of each. They take turns, so that what else runs here hits all alike."""
    calls = [t.call() for t in timed]
    found = [inf] * len(calls)
    for _ in range(ROUNDS):
        found = [min(least, best(call, SPEND)) for least, call in zip(found, calls, strict=True)]
    return found


def best(call: Callable[[], Any], spend: float) -> float:
    """Seconds of the fastest of so many calls as ``spend`` seconds hold, and at least three after the first."""
    call()
    least, calls, until = inf, 0, perf_counter() + spend
    while calls < 3 or perf_counter() < until:
        start = perf_counter()
        call()
        least, calls = min(least, perf_counter() - start), calls + 1
    return least


def _line(times: list[float], counts: list[float]) -> tuple[float, float]:
    """Seconds of a call and of an operation, from a small and a large system."""
    (quick, slow), (few, many) = times, counts
    each = max(slow - quick, 0.0) / (many - few)
    return max(quick - each * few, 0.0), each


def _trees(
    algorithm: str, sizes: tuple[int, int], count: Callable[[System], float], states: int | None = None
) -> tuple[float, float]:
    systems = [chain(n).compile() for n in sizes]
    return _line(fastest(*(Timed(s, algorithm, states) for s in systems)), [count(s) for s in systems])


def _reduction() -> tuple[float, float]:
    systems = [ladder(n).compile() for n in LOOPS]
    return _line(fastest(*(Timed(s, "reduction") for s in systems)), [predict.of_plan(s) for s in systems])


def _with_rows(algorithm: str) -> tuple[float, float]:
    """Behind a sweep over the tree, which takes as long as articulated."""
    sweep, systems = measured(["articulated"])["articulated"][1], [ladder(n).compile() for n in LOOPS]
    times = fastest(*(Timed(s, algorithm) for s in systems))
    behind = [t - sweep * of_articulated(s) for t, s in zip(times, systems, strict=True)]
    return _line(behind, [predict.constraint_operations(s, algorithm) for s in systems])


def _divide() -> tuple[float, ...]:
    """A call, and operations on registers and on floats."""
    from scipy.optimize import nnls

    short, long = (chain(n).compile() for n in DIVIDED)
    cases = [(short, Division()), (long, Division()), (short, WHOLE), (long, WHOLE)]
    counts = [of_divide(*case) for case in cases]
    times = fastest(*(Timed(s, "divide" if choice.lanes else "divide(lanes=False)") for s, choice in cases))
    table = np.array([(1.0, c.registers, c.floats) for c in counts if c is not None])
    found = nnls(table / np.array(times)[:, None], np.ones(len(times)))[0].tolist()  # least relative errors
    return tuple(found if LANES > 1 else (found[0], found[2], found[2]))


def _waiting() -> tuple[float, ...]:
    """What two threads lose by waiting for each other."""
    system, (call, wide, single) = chain(DIVIDED[1]).compile(), measured(["divide"])["divide"]
    count = of_divide(system, Division(threads=2))
    assert count is not None
    alone = call + wide * count.registers + single * count.floats
    return (max(fastest(Timed(system, "divide", threads=2))[0] - alone, 0.0),)


def _forces() -> tuple[float, ...]:
    """What a motor adds to a call that is quick without it, and to another."""
    driven = chain(FEWER[0])
    driven.force("motor", "motor", joint="j0", torque=1.0)
    systems = chain(FEWER[0]).compile(), driven.compile()
    times = fastest(*(Timed(s, name) for name in ("articulated", "multipliers") for s in systems))
    return max(times[1] - times[0], 0.0), max(times[3] - times[2], 0.0)


CALIBRATIONS: dict[str, Callable[[], tuple[float, ...]]] = {
    "articulated": lambda: _trees("articulated", LENGTHS, of_articulated),
    IN_LANES: lambda: _trees("articulated", LENGTHS, of_articulated, LANES),
    "composite": lambda: _trees("composite", FEWER, of_composite),
    "reduction": _reduction,
    "multipliers": lambda: _with_rows("multipliers"),
    "nullspace": lambda: _with_rows("nullspace"),
    "divide": _divide,
    ON_THREADS: _waiting,
    WITH_FORCES: _forces,
}
