"""Time and error against the number of loops: one state, forward dynamics, for every algorithm that solves loops.

The error is that of joint accelerations against exact ones, relative to the largest. No engine is refused for it:
constraints of some peers are soft, which is theirs to be, and is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from whippletree.errors import SimulationError

from ..engines import exact
from ..engines.exudyn import Exudyn
from ..engines.loop_peers import BATCH, Ours, PinocchioDeep, planar
from ..engines.peers import LOOP_PEERS
from .loop_families import LOOPS, AllJoints, Posed
from .measure import Call, difference, race, slope, took
from .result import OURS, BenchResult, Row
from .rows import held

CUBIC = (f"{OURS} multipliers", f"{OURS} nullspace", "pinocchio constraintDynamics")  # in the number of loops
LONGEST, LONGEST_BATCH = 1.0, 4.0  # s: a call that takes longer is not timed
MANY = 400  # loops: more than a cubic algorithm is asked about without having seen fewer
EXACT_UP_TO = 4096  # loops, where no formula gives accelerations
SLOPE_FROM = 64  # loops; below, what every call costs counts too


def measure(result: BenchResult, sizes: Iterable[int], against: list[str], progress: Callable[[str], None]) -> None:
    """A mechanism of each size in every engine."""
    result.note(f"{OURS} is reduction, of one state; lanes: of {BATCH} states at once, a state")
    if "mujoco" in against:
        result.note("mujoco: connect constraints as stiff as it admits (solimp 0.9999), sparse Jacobian, Newton")
    if "pinocchio" in against:
        result.note("pinocchio: lcaba with mu = 1e-6 and 2 rounds, constraintDynamics with mu = 1e-10; CONTACT_3D")
    if "exudyn" in against:
        result.note(Exudyn.HOW)
    spent: dict[str, tuple[int, float]] = {}
    for size in sizes:
        progress(f"{result.family} {size}: building")
        posed = LOOPS[result.family](size)
        engines = [Ours(posed), *_held(result, against, posed, size)]
        system = engines[0].system
        label = {"lattice": f"{size} x {size}", "stewart": f"{size} platforms"}.get(result.family, str(size))
        row = Row("forward", label, len(posed.model.bodies), system.nu, loops=len(system.cut_joints))
        progress(f"{posed.model.name}: exact accelerations")
        truth = _truth(result, posed, row.loops)
        calls = []
        for engine in engines:
            for call in engine.calls():
                progress(f"{posed.model.name}: {call.engine}")
                if _asked(result, call, engine, row, truth, spent):
                    calls.append(call)
        times = race(calls, result.rounds) if calls else {}
        row.seconds = {e: s / (BATCH if e == f"{OURS} lanes" else 1) for e, s in times.items()}
        spent |= {e: (row.loops, s) for e, s in row.seconds.items()}
        result.rows.append(row)
    for engine in result.engines():
        result.note_growth(engine, "loops", growth(result, engine, SLOPE_FROM))


def _held(result: BenchResult, against: list[str], posed: Posed, size: int) -> list[Any]:
    kinds = [k for name in against for k in LOOP_PEERS[name]]
    if PinocchioDeep in kinds and not planar(posed.model):
        kinds.remove(PinocchioDeep)
        result.note("pinocchio: on the deep tree, planar mechanisms only")
    return held(result, kinds, size, posed)


def _truth(result: BenchResult, posed: Posed, loops: int) -> dict[str, Any] | None:
    if posed.udot is not None:
        return posed.udot
    if loops > EXACT_UP_TO:
        result.note(f"errors: not known above {EXACT_UP_TO} loops")
        return None
    try:
        return exact.accelerations(posed)
    except SimulationError as error:
        result.note(f"errors: not known at {loops} loops: {error}")
        return None


def _asked(
    result: BenchResult, call: Call, engine: Any, row: Row, truth: dict[str, Any] | None, spent: dict[str, Any]
) -> bool:
    """The error of a call, unless it would take too long; whether it is to be timed."""
    cubic = call.engine in CUBIC
    loops, seconds = spent.get(call.engine, (MANY, LONGEST) if cubic else (1, 0.0))
    expected = seconds * (row.loops / loops) ** (3 if cubic else 0)
    if expected > LONGEST:
        if not any(n.startswith(f"{call.engine}: not from ") for n in result.notes):
            result.note(f"{call.engine}: not from {row.label} on: a call would take some {expected:.1f} s")
        spent[call.engine] = (row.loops, expected)
        return False
    found = call.value()  # the first call may compile
    spent_now = took(call.run)
    if truth is not None:
        every = AllJoints(engine.posed.model)
        rows = every.rows(engine.joints)
        row.differences[call.engine] = difference(found[rows], every.vector(truth)[rows])
    if spent_now > (LONGEST_BATCH if call.engine == f"{OURS} lanes" else LONGEST):
        result.note(f"{call.engine}: not timed at {row.label}: a call takes {spent_now:.1f} s")
        spent[call.engine] = (row.loops, spent_now)
        return False
    return True


def growth(result: BenchResult, engine: str, least: int) -> tuple[float, float, float] | None:
    """First and last number of loops, and the fitted slope of log time against log loops between."""
    return slope((r.loops, r.seconds[engine]) for r in result.rows if engine in r.seconds and r.loops >= least)
