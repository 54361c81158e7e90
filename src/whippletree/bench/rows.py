"""Builds every model of a family in every engine and measures them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..model import Model
from . import families, peers
from .links import CannotHold
from .measure import AGREE, Call, difference, race, slope
from .result import OURS, BenchResult, Row

BATCH = 4096  # states
ROLLOUT = 256, 50, 1e-3  # states, steps, and the step (s)
LARGEST_MATRIX = 1024  # freedoms; beyond, writing the matrix is all that is measured
Progress = Callable[[str], None]
MODELS: dict[str, Callable[[Any], Model]] = {"chain": families.chain, "tree": families.tree, "robot": families.robot}


def single(result: BenchResult, sizes: Iterable[Any], against: list[str], progress: Progress) -> None:
    """Forward dynamics, inverse dynamics and mass matrix of one state, for the families chain, tree and robot."""
    for size in sizes:
        model = MODELS[result.family](size)
        progress(f"{model.name}: building")
        system = model.compile()
        q, u, tau, udot = (x[0] for x in families.states(model, system, 1))
        engines = [peers.Whippletree(model, system), *held(result, against, model, system, size)]
        for question, args in (("forward", (q, u, tau)), ("inverse", (q, u, udot)), ("mass", (q,))):
            if question == "mass" and system.nu > LARGEST_MATRIX:
                result.note(f"mass matrix: not asked above {LARGEST_MATRIX} freedoms")
                continue
            progress(f"{model.name}: {question}")
            calls = [c for e in engines for c in getattr(e, question)(*args)]
            label = str(size) if size == system.nu else f"{size} ({system.nu} freedoms)"
            _measure(result, calls, Row(question, label, len(model.bodies), system.nu))


def batch(
    result: BenchResult, sizes: Iterable[int], against: list[str], threads: Iterable[int], progress: Progress
) -> None:
    """The same questions about many states of a chain at once, for each number of threads."""
    threads = list(threads)
    for size in sizes:
        model = families.chain(size)
        system = model.compile()
        q, u, tau, udot = families.states(model, system, BATCH)
        engines = [peers.Whippletree(model, system), *held(result, against, model, system, size)]
        for e in engines[1:]:
            if not hasattr(e, "batch"):
                result.note(f"{e.name}: has no call for a batch; see the family chain for one state")
        for question, x in (("forward", tau), ("inverse", udot), ("mass", udot)):
            for count in threads:
                progress(f"{model.name}: {question}, {BATCH} states, {count} threads")
                label = f"{size}, {count} thread" + "s" * (count > 1)
                row = Row(question, label, size, system.nu, BATCH, count)
                calls = [c for e in engines if hasattr(e, "batch") for c in e.batch(question, q, u, x, count)]
                _measure(result, calls, row)
        _threads_note(result, size)


def rollout(
    result: BenchResult, names: Iterable[Any], against: list[str], threads: Iterable[int], progress: Progress
) -> None:
    """Many states of a model stepped by Runge-Kutta of order 4, without joint forces, for each number of threads."""
    threads = list(threads)
    states, steps, h = ROLLOUT
    result.note(f"rollouts are of {states} states, {steps} steps of {h:g} s each, Runge-Kutta of order 4")
    for name in names:
        model = families.rolled(name)
        system = model.compile()
        q, u, _, _ = families.states(model, system, states)
        engines = [peers.Whippletree(model, system), *held(result, against, model, system, name)]
        for e in engines:
            if not hasattr(e, "rollout"):
                result.note(f"{e.name}: has no rollout")
        for count in threads:
            progress(f"{model.name}: {states} states, {steps} steps, {count} threads")
            label = f"{model.name}, {count} thread" + "s" * (count > 1)
            row = Row("rollout", label, len(model.bodies), system.nu, states * steps, count)
            _measure(
                result, [c for e in engines if hasattr(e, "rollout") for c in e.rollout(q, u, h, steps, count)], row
            )


def scaling(result: BenchResult, sizes: Iterable[int], progress: Progress) -> None:
    """Our forward dynamics of ever longer chains: the slope of log time against log bodies, and memory a body."""
    size, memory = 0, 0.0
    for size in sizes:
        progress(f"chain of {size}: building")
        model = families.chain(size)
        system, q, u, tau = families.one_state(model)
        calls = peers.Whippletree(model, system).forward(q, u, tau)
        progress(f"chain of {size}: forward")
        _measure(result, calls, Row("forward", str(size), size, system.nu))
        memory = bytesheld(system) / size
    first, last, grown = slope((r.bodies, r.seconds[OURS]) for r in result.rows) or (size, size, float("nan"))
    result.scaling = {"slope": grown, "bytes_per_body": memory, "from": int(first), "to": int(last)}


def bytesheld(system: Any) -> int:
    """Bytes of all arrays that a system holds, the scratch of its last call among them."""
    found: dict[int, int] = {}
    waiting = list(vars(system).values())
    while waiting:
        x = waiting.pop()
        if isinstance(x, np.ndarray):
            while isinstance(x.base, np.ndarray):
                x = x.base
            found[id(x)] = x.nbytes
        elif isinstance(x, dict):
            waiting += x.values()
        elif isinstance(x, list | tuple):
            waiting += x
    return sum(found.values())


def held(result: BenchResult, against: list[str], model: Model, system: Any, size: Any) -> list[Any]:
    """The peers that hold the model; a note for the others."""
    held = []
    for name in against:
        try:
            held.append(peers.PEERS[name](model, system))
        except (CannotHold, ImportError, RuntimeError) as reason:
            result.note(f"{name}: not at {size}: {str(reason).splitlines()[0]}")
    return held


def _measure(result: BenchResult, calls: list[Call], row: Row) -> None:
    """Agreement with ours, then the times of those who agree."""
    ours = next(c for c in calls if c.engine == OURS).value()
    agreed = []
    for c in calls:
        if c.engine != OURS:
            row.differences[c.engine] = difference(c.value(), ours)
        if row.differences.get(c.engine, 0.0) < AGREE:
            agreed.append(c)
        else:
            result.note(
                f"{c.engine}: {row.question} at {row.label} differs by {row.differences[c.engine]:.0e}, not timed"
            )
    row.seconds = {e: s / row.states for e, s in race(agreed, result.rounds, row.threads).items()}
    result.rows.append(row)


def _threads_note(result: BenchResult, size: int) -> None:
    """What more threads give, against one."""
    for question in ("forward", "inverse", "mass"):
        times = {r.threads: r.seconds[OURS] for r in result.rows if r.question == question and r.bodies == size}
        for count, s in times.items():
            if count > 1 and 1 in times:
                result.note(f"{question} of {size}: {count} threads are {times[1] / s:.2f} times as fast as one")
