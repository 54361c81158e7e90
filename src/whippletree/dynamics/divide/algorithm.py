"""Divide and conquer: one large mechanism on the lanes of a core, on several cores, or on both. O(n/p + log p) on p.

Paper    [critchley2007] the efficient divide-and-conquer algorithm DCAe, with O(n) subsystems; its DCAt, where only
         terminal ones are, and DCA of [featherstone1999a], where every body is a leaf, by the same steps; joined in the
         pivoted form of [featherstone1999b].
Symbols  as the papers, see two_handle/recursion.py and two_handle/join.py. A subsystem of O(n) is a subchain here.
Differs  subchains of equal joints fill the SIMD lanes of one core. Trees need no equations of more than two handles: a
         branch is closed before the subchain that it hangs on (two_handle/partition.py). Loops are cut and closed by
         loads (loops.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from numba import types

from ...compiler.function_pointers import SUBCHAIN_CALL, address_of
from ...compiler.lanes import entry, scratch
from ...compiler.thread_pool import MOST_HELPERS, thread_pool_of
from ...errors import ModelError, SimulationError
from ...kernels import blocks, kinematics
from ...kernels import unpack as packing
from ...layout.system import DIVISION
from ...system.system import System
from ..accuracy import unevenness
from ..accuracy.fast_motion import BEYOND
from ..constraints.live_rows import live_rows
from ..dispatch import evaluate, thread_count
from ..tree import articulated
from ..two_handle import partition
from . import header as head
from . import loops as divided_loops
from . import options, shared_rows
from .memory import Plan
from .steps import solve
from .subchain_loops import clustered

SUPPORTS = {"trees", "loops", "couplings", "constraints"}
_NOTHING = np.zeros(0)
_NUMBERS = types.Array(types.float64, 1, "C")


def _only(kernel: Any, *arguments: Any) -> Any:
    """A kernel compiled or loaded from disk, for these types and no others."""
    kernel.compile(arguments)
    kernel.disable_compile(True)
    return kernel


@cache
def compiled() -> Any:
    """The solver, for contiguous doubles and nothing else."""
    return _only(solve, *[_NUMBERS] * 5, types.Array(types.int64, 1, "C"), types.int64, types.int64)


@cache
def compiled_loops() -> Any:
    """The solver of loops, likewise."""
    return _only(solve_loops, *[_NUMBERS] * 6)


@cache
def solver_address() -> int:
    """Where the compiled solver is, for kernels/outside.call_division."""
    (found,) = compiled().overloads.values()
    return int(found.library.get_pointer_to_function(found.fndesc.llvm_cfunc_wrapper_name))


@entry
def solve_loops(memory, q, u, forces, signals, udot):
    """udot of one state with constraints. Returns 0 if all is well, else not a number."""
    m, end = packing.unpack(memory)
    F, end = packing.unpack_forces(memory, end)
    E, end = packing.unpack_constraints(memory, end)
    if blocks.mismatch(m, q, u, forces, udot) or signals.shape[0] != 1 + 3 * F.ns:
        return np.nan
    buffer = scratch(memory, end, memory)
    k, n = kinematics.take_kinematics(m, buffer)
    w, n = shared_rows.take_work(m, E, buffer, n)
    kinematics.place_and_move(m, q, u, k)
    _, well = divided_loops.solve(m, F, E, k, signals, q, u, forces, w, udot)
    return well + blocks.checksum(udot)


def _help(shared_state: np.ndarray, member: int) -> None:
    solve(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, shared_state, member, 0)


class Planned:
    """One division of a System, and the memory to solve it in."""

    def __init__(self, system: System, choice: options.Division) -> None:
        compiled()
        self.plan = Plan(system, choice)
        self.memory, self.threads = self.plan.memory, choice.threads if self.plan.subchains else 1
        self.header = self.memory[: head.HEADER].view(np.int64)
        self.header[head.SOLVER] = solver_address()
        if self.plan.subchains and self.plan.inside:
            self.header[head.CLUSTERED] = address_of(clustered, SUBCHAIN_CALL)
        self._loops: np.ndarray | None = None
        self.graded = bool(self.plan.lent) or unevenness.is_graded(system)  # always certified

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Within it compiled loops may call the solver; helpers are awake, unless another job has the thread pool."""
        thread_pool = thread_pool_of(_help)
        mine = self.threads > 1 and thread_pool.free.acquire(blocking=False)
        self.header[[head.SHARED_STATE_AT, head.MEMBERS_NOW]] = (
            thread_pool.shared_state.ctypes.data,
            self.threads if mine else 1,
        )
        try:
            if mine:
                thread_pool.call(self.threads - 1)
            yield
        finally:
            self.header[head.FORCES_ALONE] = 0
            if mine:
                thread_pool.free.release()

    def solve_loops(self, q: Any, u: Any, forces: Any, signals: Any, udot: Any) -> float:
        """udot of one state with constraints, whose functions of time are evaluated; 0 if all is well, LOST if digits
        may be lost."""
        if self._loops is None:
            self._loops = loops_memory(self.plan.system, self)
        with self.at_work():
            return compiled_loops()(self._loops, q, u, forces, signals, udot)

    def growth(self) -> float:
        """The largest term of I_B L_A in all joins of the last state: times a rounding, what may be lost."""
        return self.plan.growth()

    def solve(self, q: Any, u: Any, forces: Any, udot: Any) -> float:
        """udot of one state; 0 if all is well. Where another job has the thread pool, this thread works alone."""
        thread_pool = thread_pool_of(_help)
        if self.threads == 1 or not thread_pool.free.acquire(blocking=False):
            return solve(self.memory, q, u, forces, udot, thread_pool.shared_state, 0, 1)
        try:
            thread_pool.call(self.threads - 1)
            return solve(self.memory, q, u, forces, udot, thread_pool.shared_state, 0, self.threads)
        finally:
            thread_pool.free.release()


def loops_memory(system: System, planned: Planned) -> np.ndarray:
    """Memory for :func:`solve_loops`."""
    rows = kinematics.kinematics_rows(system) + shared_rows.work_rows(system, planned.memory)
    memory = blocks.make_memory(system, rows, 1, system.forces.packed, live_rows(system).packed)
    memory[DIVISION : DIVISION + 1].view(np.int64)[0] = planned.memory.ctypes.data
    return memory


class Divided:
    """The algorithm with its options: interchangeable with the modules of other algorithms."""

    SUPPORTS = SUPPORTS

    def __init__(self, choice: options.Division) -> None:
        self.choice = choice

    def workspace(self, system: System, lanes: int = 1) -> Planned:
        """A plan and its memory; a batch is solved state by state, each in lanes."""
        bodies = system.nb - 1
        if self.choice.pieces is not None and self.choice.pieces > bodies:
            raise ModelError(
                f"'{system.name}' cannot be cut into so many subchains",
                expected=f"at most {bodies}, one for each body that moves",
                got=self.choice.pieces,
            )
        return Planned(system, self.choice)

    def accelerations(self, planned, q, u, forces, signals, udot, start, stop):
        """As the compiled ones. The loss is beyond all limits where it is not known."""
        Q, U, F, S, out = (np.atleast_2d(a) for a in (q, u, forces, signals, udot))
        loss, closed = 0.0, live_rows(planned.plan.system).count > 0
        for s in range(start, stop):
            if closed:
                one = planned.solve_loops(Q[s], U[s], F[s], S[s], out[s])
            else:
                one = planned.solve(Q[s], U[s], F[s], out[s])
            if not np.isfinite(one):
                _explain_subchain(planned.plan, Q[s], U[s], F[s])
                return np.nan
            if planned.graded or (one >= head.LOST and (closed or planned.plan.folded())):
                loss = BEYOND
            elif one >= head.LOST:
                loss = max(loss, planned.growth() ** 2)
        return loss


def _explain_subchain(plan: Plan, q: np.ndarray, u: np.ndarray, forces: np.ndarray) -> None:
    """Says so if a subchain alone has a motion without inertia, and the whole has none; else others explain."""
    body = plan.without_inertia()
    if body is None:
        return
    system = plan.system
    evaluate(
        articulated.accelerations, articulated.workspace, system, [q, u, forces], system.nu, None, ("q", "u", "tau")
    )
    raise SimulationError(
        f"a subchain of '{system.name}' has a motion without inertia",
        where=system.mechanical(body),
        hint="bodies farther out hold it, so an algorithm that cuts nothing can solve it; or give this body inertia",
    )


@cache
def _divided(choice: options.Division) -> Divided:
    return Divided(choice)


def divided(system: System, algorithm: str, threads: int | None, one_state: bool) -> tuple[Divided, int]:
    """The algorithm as its name and options say, and threads. They share one state; of a batch each has its own."""
    count = thread_count(options.threads_of(algorithm, threads))
    found = _divided(options.division(algorithm, min(count, MOST_HELPERS + 1) if one_state else 1))
    return found, count


def planned_run(system: System, algorithm: str) -> Planned:
    """A division for a run, with threads as its name says. Steps are not refined: what would lose digits is refused."""
    planned = divided(system, algorithm, None, True)[0].workspace(system)
    ratio, body = unevenness.mass_grading(system) if system.constraints.count else planned.plan.tip_grading()
    if ratio >= partition.LOSSY:
        raise ModelError(
            f"a run of '{system.name}' by '{algorithm}' would lose digits: a light body carries a heavy one",
            where=system.mechanical(body),
            got=f"one {ratio:.1e} times as heavy as itself",
            expected=f"less than {partition.LOSSY:g}",
            hint="an algorithm that cuts nothing can run it; other pieces may have heavy tips",
        )
    return planned


def waiting_for(system: System, algorithm: str, threads: int | None) -> list[Any] | None:
    """The memory of quick calls; None with constraints, or where masses differ so much that all is certified."""
    if live_rows(system).count or unevenness.is_graded(system):
        return None
    return system.workspaces.ready.setdefault(divided(system, algorithm, threads, True)[0].accelerations, [])


def quick(system: System, waiting: list[Any], q: Any, u: Any, tau: Any) -> np.ndarray | None:
    """u' of one state of a model without forces; None if anything asks for a closer look."""
    try:
        planned = waiting.pop()
    except LookupError:  # others use it
        return None
    udot = np.empty(system.nu)
    try:
        total = planned.solve(q, u, tau, udot)
    except TypeError:  # not contiguous doubles
        total = None
    waiting.append(planned)
    return udot if total == 0.0 else None


_default = _divided(options.Division())
workspace, accelerations = _default.workspace, _default.accelerations
