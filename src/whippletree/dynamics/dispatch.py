"""From a public call to compiled kernels: one state directly, a batch in lanes and on threads.

The fast path does no checking in Python: a compiled entry takes only contiguous doubles of the right
length and returns a finite number only if all went well. Everything else comes here to be put right
or explained.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Lock
from typing import Any

import numpy as np
from numba import types

from ..compiler.lanes import LANES
from ..errors import ModelError, SimulationError
from ..layout.system import UNIT
from ..system.system import System
from .inputs import body_of, require_finite, require_unit

SHARES = 4  # of a batch, for each thread
DEFORMED = "a flexible body tells its mass near the shape it was made in: deform it less, or take fewer modes"

_preparing = Lock()  # threads that share a batch may come here together
_prepared: set[tuple[int, int]] = set()
_threads: dict[int, ThreadPoolExecutor] = {}
if hasattr(os, "register_at_fork"):  # a forked process has the pools but not their threads
    os.register_at_fork(after_in_child=_threads.clear)


def prepare(entry: Any, inputs: int, ndim: int) -> None:
    """Compile (or load from disk) an entry for one state (ndim 1) or batches (2), and for nothing else."""
    if (id(entry), ndim) in _prepared or not hasattr(entry, "compile"):
        return
    one = types.Array(types.float64, 1, "C")
    data = types.Array(types.float64, ndim, "C")
    with _preparing:
        entry.disable_compile(False)
        entry.compile((one, *[data] * inputs, data, types.int64, types.int64))
        entry.disable_compile(True)
        # before its TypeError, Numba seeks conversions and words what did not fit: 270 us for unused text
        entry._search_new_conversions = entry._explain_matching_error = _does_not_fit
        _prepared.add((id(entry), ndim))


def _does_not_fit(*inputs: Any) -> Any:
    raise TypeError("not writable contiguous doubles of the right rank")


def quick(entry: Any, system: System, out: np.ndarray, *inputs: Any) -> bool:
    """One state straight into the kernel; False if anything asks for a closer look."""
    try:
        waiting = system.workspaces.ready[entry]
        memory = waiting.pop()
    except LookupError:  # not yet compiled and checked
        return False
    try:
        total = entry(memory, *inputs, out, 0, 1)
    except (TypeError, ValueError):  # also an empty list
        total = of_copies(entry, memory, inputs, out)
    waiting.append(memory)
    return total == 0.0


def of_copies(entry: Any, memory: np.ndarray, inputs: Sequence[Any], out: np.ndarray) -> float | None:
    """What an entry says to copies of inputs it did not take: lists, slices, read-only arrays. None for a batch."""
    try:
        return entry(memory, *(np.array(x, float) for x in inputs), out, 0, 1) if np.ndim(inputs[0]) == 1 else None
    except (TypeError, ValueError):
        return None


def evaluate(
    entry: Any,
    workspace: Callable[[System, int], np.ndarray],
    system: System,
    inputs: Sequence[np.ndarray],
    columns: int,
    threads: int | None = None,
    names: Sequence[str] = ("q", "u"),
    losses: list[float] | None = None,
    out: np.ndarray | None = None,
) -> np.ndarray:
    """Run an entry over checked inputs, (n,) or (B, n) each; returns (columns,) or (B, columns).

    What the entry returns, its loss of digits where it measures one, is added to ``losses``. Results are written to
    ``out``, contiguous doubles of that shape, if it is passed.
    """
    job = (entry, workspace, system, inputs, names, [] if losses is None else losses)
    ndim = inputs[0].ndim
    prepare(entry, len(inputs), ndim)
    if ndim == 1:
        out = np.zeros(columns) if out is None else out
        _run(*job, out, 0, 1)
        return out
    count = inputs[0].shape[0]
    out = np.empty((count, columns)) if out is None else out
    spread(count, threads, lambda start, stop: _run(*job, out, start, stop))
    return out


def spread(count: int, threads: int | None, run: Callable[[int, int], None], most: int | None = None) -> None:
    """Call ``run(start, stop)`` over shares of ``count`` states, each of whole blocks and of at most ``most`` states.

    Shares are handed out as threads come for them, so that a thread that wakes late takes fewer.
    """
    workers = max(1, min(thread_count(threads), -(-count // LANES)))
    share = count if workers == 1 else -(-count // (workers * SHARES * LANES)) * LANES
    share = min(share, most or share)
    starts = iter(range(0, count, share)) if count else iter(())

    def work() -> None:
        for s in starts:
            run(s, min(s + share, count))

    if workers == 1:
        work()
        return
    if workers not in _threads:
        _threads[workers] = ThreadPoolExecutor(workers - 1, thread_name_prefix="whippletree")
    helpers = [_threads[workers].submit(work) for _ in range(workers - 1)]
    try:
        work()
    finally:
        for _ in starts:  # no share begins after an error
            pass
        wait(helpers)
    for helper in helpers:
        helper.result()


def _run(
    entry: Any,
    workspace: Any,
    system: System,
    inputs: Sequence[np.ndarray],
    names: Sequence[str],
    losses: list[float],
    out: np.ndarray,
    start: int,
    stop: int,
) -> None:
    one = out.ndim == 1
    waiting = (
        system.workspaces.ready.setdefault(entry, [])
        if one
        else system.workspaces.pool.setdefault((entry, out.shape[-1]), [])
    )
    try:
        memory = waiting.pop()
    except IndexError:
        memory = workspace(system, 1 if one else LANES)
    total = entry(memory, *inputs, out, start, stop)
    if not total < np.inf:
        explain_failure(system, inputs, names, out)
    losses.append(total)
    waiting.append(memory)


def thread_count(threads: int | None) -> int:
    if threads is None:
        return 1
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 0:
        raise ModelError("threads is not a count", expected="a whole number, 0 for all cores", got=repr(threads))
    return threads or os.cpu_count() or 1


def explain_failure(system: System, inputs: Sequence[np.ndarray], names: Sequence[str], out: np.ndarray) -> None:
    """A result is not finite. Says why: an input that is not, a pivot that vanished, or numbers too large."""
    require_finite(system, inputs, names)
    require_unit(system, inputs[0], UNIT)
    state = int(np.argmax((~np.isfinite(np.atleast_2d(out))).any(axis=1)))
    which = f" in state {state} of the batch" if out.ndim > 1 else ""
    vanished = _vanished_pivot(system, np.atleast_2d(inputs[0])[state])
    if vanished is None:
        if deformed := _deformed(system, np.atleast_2d(inputs[0])[state]):
            name, strain = deformed
            raise SimulationError(
                f"the mass matrix of '{system.name}' is not positive{which}",
                got=f"a strain of {strain:.3g}",
                where=f"flexible body '{name}'",
                hint=DEFORMED,
            )
        raise SimulationError(
            f"the motion of '{system.name}' is too large to compute with{which}",
            hint="numbers in q, u or the forces are beyond what doubles hold when multiplied",
        )
    raise SimulationError(
        f"the mass matrix of '{system.name}' is singular{which}",
        where=system.mechanical(body_of(system, "u", vanished)),
        hint="a DOF moves no mass: give the outermost bodies mass and inertia about that axis, or armature",
    )


def _vanished_pivot(system: System, q: np.ndarray) -> int | None:
    """The outermost DOF whose pivot is zero or lost: it failed first, and took the others with it."""
    from .tree.innovations import pivots, workspace

    D = np.zeros(system.nu)
    prepare(pivots, 1, 1)
    pivots(workspace(system), np.ascontiguousarray(q), D, 0, 1)
    bad = np.flatnonzero(~np.isfinite(D) | (D == 0.0))
    return int(bad[-1]) if bad.size else None


def _deformed(system: System, q: np.ndarray) -> tuple[str, float] | None:
    """The flexible body that is strained most, and how much, where the mass matrix has a negative eigenvalue."""
    from .functions import mass_matrix

    if not system.flexible or np.linalg.eigvalsh(mass_matrix(system, q))[0] > 0.0:
        return None
    strain = {n: float(x.modes.largest_strain(q[system.q_index(n)])) for n, x in system.model.flexibles.items()}
    return max(strain.items(), key=lambda pair: pair[1])
