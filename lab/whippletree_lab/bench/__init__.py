"""Speed as a number with a command: the same model in every engine, agreement first, then time side by side.

``run(family, *, sizes=None, against=("pinocchio", "mujoco", "drake"), threads=(1, 2), rounds=40, progress=None)``
gives a :class:`BenchResult`, which ``report`` prints, writes, reads and draws. ``families.PLANNED`` and ``peers.PEERS``
hold the known names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from whippletree.errors import ModelError, nearest

from ..engines import peers
from ..report import report
from . import (
    calls,
    choice,
    derivatives,
    divided,
    families,
    flexible,
    flexible_motion,
    live,
    loop_families,
    loops,
    mpi,
    rows,
    simulate,
    subchains,
    theory,
    view,
    whole,
)
from .result import BenchResult, Row, machine, versions

__all__ = ["BenchResult", "Row", "families", "peers", "report", "run"]

# how families are measured: without peers, beside them, and so by several threads
ALONE: dict[str, Any] = {"scaling": rows.scaling, "divide": divided.measure, "subchains": subchains.measure}
ALONE |= {"mpi": mpi.measure, "choose": choice.measure, "theory": theory.measure, "live": live.measure}
ALONE |= {"view": view.measure, "whole": whole.measure}
BESIDE: dict[str, Any] = dict.fromkeys(rows.MODELS, rows.single) | dict.fromkeys(loop_families.LOOPS, loops.measure)
BESIDE |= {"simulate": simulate.measure, "calls": calls.measure, "derivatives": derivatives.measure}
THREADED: dict[str, Any] = {"batch": rows.batch, "rollout": rows.rollout}


def run(
    family: str,
    *,
    sizes: str | Sequence[Any] | None = None,
    against: str | Sequence[str] = ("pinocchio", "mujoco", "drake"),
    threads: Sequence[int] = (1, 2),
    rounds: int = 40,
    modes: str | Sequence[int] | None = None,
    fidelity: str = "ruthless",
    progress: Callable[[str], None] | None = None,
) -> BenchResult:
    """Measure a family of models in our engine and in its peers.

    Parameters
    ----------
    family : "chain", "tree", "robot", "batch" (many states of a chain at once), "rollout" (many steps of many
        states), "simulate" (a motion of 10 s), "calls" (plain calls of all kinds, with and without forces),
        "derivatives" (exact ones of dynamics); ours only: "scaling" (ever longer chains), "divide" (one chain on
        lanes and threads), "subchains" (in floating subchains), "mpi" (on several ranks), "choose" (what auto
        takes, beside the best), "theory" (counts of the papers), "live" (real time; sizes are seconds), "view" (the
        first picture of a result; sizes are megabytes) and "whole" (from the model to the motion; sizes are loops);
        with closed loops "ladder", "tower", "lattice" and "stewart"; of flexible bodies "flexible".
    sizes : "8:4096" (doubling), "7,30,128", a sequence of sizes, or names of robots; for rollouts also model
        files; None for the planned ones. They count bodies; with loops they count these, but cells along a side
        of a lattice, and stewart platforms.
    against : peers, as names or "pinocchio,mujoco"; one that is not installed becomes a note.
    threads : numbers of threads for the families batch and rollout.
    rounds : turns of each engine; the best counts.
    modes, fidelity : of the family flexible: numbers of modes, as "1:20" (all of them), "1,5,10" or a sequence, and
        the fidelity of the bodies that are timed.
    progress : called with one line for each thing begun.
    """
    if family not in families.PLANNED:
        raise ModelError(f"benchmark '{family}' is not known", hint=nearest(str(family), families.PLANNED))
    planned, names = families.sizes(sizes, family), peers.known(() if family in ALONE else against)
    if rounds < 1 or any(t < 1 for t in threads):
        raise ModelError("rounds and threads are counts", expected="whole numbers >= 1", got=f"{rounds}, {threads}")
    looped, bends = family in loop_families.LOOPS, family == "flexible"
    able: Any
    able, asked = (peers.LOOP_PEERS, "loops") if looped else (peers.PEERS, "trees")
    if bends:
        able, asked = peers.FLEXIBLE_PEERS, "flexible bodies"
    if not bends and modes is not None:
        raise ModelError("modes are for the family flexible", got=f"modes = {modes!r} of '{family}'")
    numbers = flexible.mode_numbers(modes) if bends else ()
    more = f" --modes {_listed(modes, numbers)} --fidelity {flexible.known_fidelity(fidelity)}" if bends else ""
    result = BenchResult(
        family,
        f"whippletree bench {family} {'--sizes' if looped else '--bodies'} {_listed(sizes, planned)}{more}"
        + (f" --against {','.join(names)}" if names else "")
        + f" --rounds {rounds}",
        datetime.now(UTC).isoformat(timespec="seconds"),
        rounds,
        machine(),
        versions({"numpy": "numpy", "numba": "numba"} | {n: peers.PACKAGES[n] for n in names if n in able}),
    )
    for name in [n for n in names if n not in able]:
        names.remove(name)
        result.note(f"{name}: is not asked about {asked}")
    for name in [n for n in names if peers.installed(n) is None]:
        names.remove(name)
        result.note(f"{name}: not installed (pip install 'whippletree[peers]')")
    tell = progress or (lambda line: None)
    if family in ALONE:
        ALONE[family](result, planned, tell)
    elif family in THREADED:
        THREADED[family](result, planned, names, threads, tell)
    elif family in BESIDE:
        BESIDE[family](result, planned, names, tell)
    else:
        flexible.measure(result, planned, numbers, fidelity, tell)
        if names:
            flexible_motion.measure(result, planned, tell)
    return result


def _listed(given: Any, planned: Sequence[Any]) -> str:
    return given if isinstance(given, str) else ",".join(map(str, planned))
