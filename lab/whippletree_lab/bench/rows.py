"""Builds every model of a family in every engine and measures them side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from whippletree.model import Model

from ..engines import peers
from ..engines.links import CannotHold
from ..engines.loop_peers import MujocoLoops
from . import families
from .loop_families import ROLLED, AllJoints, start
from .measure import AGREE, Call, difference, race, slope
from .result import OURS, BenchResult, Row

BATCH = 4096  # states
ROLLOUT = 256, 50, 1e-3  # states, steps, and the step (s)
LARGEST_MATRIX = 1024  # DOF; beyond, writing the matrix is all that is measured
Progress = Callable[[str], None]
MODELS: dict[str, Callable[[Any], Model]] = {"chain": families.chain, "tree": families.tree, "robot": families.robot}


def single(result: BenchResult, sizes: Iterable[Any], against: list[str], progress: Progress) -> None:
    """Forward dynamics, inverse dynamics and mass matrix of one state, for the families chain, tree and robot."""
    for size in sizes:
        model = MODELS[result.family](size)
        progress(f"{model.name}: building")
        system, engines = _engines(result, against, model, size)
        q, u, tau, udot = (x[0] for x in families.states(model, system, 1))
        for question, args in (("forward", (q, u, tau)), ("inverse", (q, u, udot)), ("mass", (q,))):
            if question == "mass" and system.nu > LARGEST_MATRIX:
                result.note(f"mass matrix: not asked above {LARGEST_MATRIX} degrees of freedom")
                continue
            progress(f"{model.name}: {question}")
            label = str(size) if size == system.nu else f"{size} ({system.nu} DOF)"
            row = Row(question, label, len(model.bodies), system.nu)
            _measure(result, [c for e in engines for c in getattr(e, question)(*args)], row)


def batch(
    result: BenchResult, sizes: Iterable[int], against: list[str], threads: Iterable[int], progress: Progress
) -> None:
    """The same questions about many states of a chain at once, for each number of threads."""
    for size in sizes:
        model = families.chain(size)
        system, engines = _engines(
            result, against, model, size, "batch", "has no call for a batch; see the family chain for one state"
        )
        q, u, tau, udot = families.states(model, system, BATCH)
        for question, x in (("forward", tau), ("inverse", udot), ("mass", udot)):
            for count in threads:
                progress(f"{model.name}: {question}, {BATCH} states, {count} threads")
                row = Row(question, _on_threads(size, count), size, system.nu, BATCH, count)
                _measure(result, [c for e in engines for c in e.batch(question, q, u, x, count)], row)
        _threads_note(result, size)


def rollout(
    result: BenchResult, names: Iterable[Any], against: list[str], threads: Iterable[int], progress: Progress
) -> None:
    """Many states of a model stepped by Runge-Kutta of order 4, without joint forces, for each number of threads."""
    states, steps, h = ROLLOUT
    result.note(f"rollouts are of {states} states, {steps} steps of {h:g} s each, Runge-Kutta of order 4")
    for name in names:
        if name in ROLLED:
            _loop_rollout(result, name, against, threads, progress)
            continue
        model = families.rolled(name)
        system, engines = _engines(result, against, model, name, "rollout", "has no rollout")
        q, u, _, _ = families.states(model, system, states)
        for count in threads:
            progress(f"{model.name}: {states} states, {steps} steps, {count} threads")
            label = _on_threads(model.name, count)
            row = Row("rollout", label, len(model.bodies), system.nu, states * steps, count)
            _measure(result, [c for e in engines for c in e.rollout(q, u, h, steps, count)], row)


def _loop_rollout(
    result: BenchResult, name: str, against: list[str], threads: Iterable[int], progress: Progress
) -> None:
    """The same with closed loops: states at one pose with velocities of other sizes, against loops that are soft."""
    states, steps, h = ROLLOUT
    posed = ROLLED[name]()
    system, every = posed.model.compile(), AllJoints(posed.model)
    faster = np.linspace(0.0, 1.0, states)[:, None]  # velocities that keep loops closed do so at any scale

    def batch(q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.tile(q, (states, 1)), faster * u

    ours = batch(*start(system, posed.q, posed.u))
    theirs = batch(every.vector(posed.q, "q"), every.vector(posed.u))
    kinds = [MujocoLoops] if "mujoco" in against else []
    for e in sorted(set(against) - {"mujoco"}):
        result.note(f"{e}: has no rollout; see the family {name} for one state")
    result.note("with loops, mujoco: connect constraints as stiff as it admits (solimp 0.9999), Newton, warm starts")
    result.note(
        "with loops, differences are of joint angles and displacements at the end: constraints of peers are soft"
    )
    for count in threads:
        progress(f"{posed.model.name}: {states} states, {steps} steps, {count} threads")
        calls = peers.Whippletree(posed.model, system).rollout(*ours, h, steps, count)
        both = list(system.joints)
        for peer in held(result, kinds, name, posed):
            both = [j for j in both if j in peer.joints]
            calls += peer.rollout(*theirs, h, steps, count)
        row = Row(
            "rollout", _on_threads(posed.model.name, count), len(posed.model.bodies), system.nu, states * steps, count
        )
        here, there = (np.concatenate([np.r_[s.q_index(j)] for j in both]) for s in (system, every))
        right = calls[0].value()[:, here]
        row.differences = {c.engine: difference(c.value()[:, there], right) for c in calls[1:]}
        row.seconds = {e: s / row.states for e, s in race(calls, result.rounds, count).items()}
        row.loops = len(system.cut_joints)
        result.rows.append(row)


def _on_threads(what: Any, count: int) -> str:
    return f"{what}, {count} thread" + "s" * (count > 1)


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


def _engines(
    result: BenchResult, against: list[str], model: Model, size: Any, able: str = "forward", otherwise: str = ""
) -> tuple[Any, list[Any]]:
    """The model compiled, and ours and the peers that hold it and have such a call; a note for the others."""
    system = model.compile()
    found = [peers.Whippletree(model, system), *held(result, (peers.PEERS[n] for n in against), size, model, system)]
    for e in found:
        if not hasattr(e, able):
            result.note(f"{e.name}: {otherwise}")
    return system, [e for e in found if hasattr(e, able)]


def held(result: BenchResult, kinds: Iterable[Any], size: Any, *given: Any) -> list[Any]:
    """The peers that hold what is given; a note for the others."""
    found = []
    for kind in kinds:
        try:
            found.append(kind(*given))
        except (CannotHold, ImportError, RuntimeError) as reason:
            deep = ", deep tree" * getattr(kind, "deep", False)
            result.note(f"{kind.name}{deep}: not at {size}: {str(reason).splitlines()[0]}")
    return found


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
