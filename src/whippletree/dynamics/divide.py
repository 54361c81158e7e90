"""Divide and conquer: one large tree on the lanes of a core, on several cores, or on both. O(n/p + log p) on p of them.

Paper    [critchley2007] the efficient divide-and-conquer algorithm DCAe, with O(n) subsystems; its DCAt, where only
         terminal ones are, and DCA of [featherstone1999a], where every body is a leaf, by the same steps; joined in the
         pivoted form of [featherstone1999b].
Symbols  as the papers, see handles.py and assembly.py. A subsystem of O(n) is a strand here.
Differs  strands of equal joints fill the SIMD lanes of one core. Trees need no equations of more than two handles: a
         branch is closed before the strand that it hangs on (partition.py).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numba import types

from ..errors import ModelError, SimulationError
from ..system.system import System
from . import articulated
from .crew import MOST_HELPERS, crew_of
from .division import Plan
from .division_options import Division, division
from .division_steps import solve
from .evaluate import evaluate, thread_count

SUPPORTS = {"trees"}
_NOTHING = np.zeros(0)


@cache
def compiled() -> Any:
    """The solver, compiled or loaded from disk, for contiguous doubles and nothing else."""
    numbers = types.Array(types.float64, 1, "C")
    board = types.Array(types.int64, 1, "C")
    kernel: Any = solve
    kernel.compile((*[numbers] * 5, board, types.int64, types.int64))
    kernel.disable_compile(True)
    return kernel


def _help(board: np.ndarray, member: int) -> None:
    solve(_NOTHING, _NOTHING, _NOTHING, _NOTHING, _NOTHING, board, member, 0)


class Planned:
    """One division of a System, and the memory to solve it in."""

    def __init__(self, system: System, choice: Division) -> None:
        compiled()
        self.plan = Plan(system, choice)
        self.memory, self.threads = self.plan.memory, choice.threads if self.plan.strands else 1

    def solve(self, q: Any, u: Any, forces: Any, udot: Any) -> float:
        """udot of one state; 0 if all is well. Where another job has the crew, this thread works alone."""
        crew = crew_of(_help)
        if self.threads == 1 or not crew.free.acquire(blocking=False):
            return solve(self.memory, q, u, forces, udot, crew.board, 0, 1)
        try:
            crew.call(self.threads - 1)
            return solve(self.memory, q, u, forces, udot, crew.board, 0, self.threads)
        finally:
            crew.free.release()


class Divided:
    """The algorithm with its options: interchangeable with the modules of other algorithms."""

    SUPPORTS = SUPPORTS

    def __init__(self, choice: Division) -> None:
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

    def accelerations(self, planned, q, u, forces, udot, start, stop):
        """As the compiled ones."""
        Q, U, F, out = (np.atleast_2d(a) for a in (q, u, forces, udot))
        total = 0.0
        for s in range(start, stop):
            one = planned.solve(Q[s], U[s], F[s], out[s])
            if one != 0.0:
                _explain_subchain(planned.plan, Q[s], U[s], F[s])
            total += one
        return total


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
        hint="bodies farther out hold it, so algorithm='articulated' can solve it; or give this body inertia",
    )


@cache
def _divided(choice: Division) -> Divided:
    return Divided(choice)


def divided(system: System, algorithm: str, threads: int | None, one_state: bool) -> Divided:
    """The algorithm as its name and options say. Threads share one state; of a batch each has states of its own."""
    count = thread_count(threads)
    found = _divided(division(algorithm, min(count, MOST_HELPERS + 1) if one_state else 1))
    if one_state:  # where quick() finds it
        system.ready[algorithm, threads] = system.ready.setdefault(found.accelerations, [])
    return found


def quick(system: System, q: Any, u: Any, tau: Any, algorithm: str, threads: int | None) -> np.ndarray | None:
    """u' of one state of a model without forces; None if anything asks for a closer look."""
    waiting: list[Any] = system.ready[algorithm, threads]
    try:
        planned = waiting.pop()
    except IndexError:  # no plan yet, or others use it
        return None
    udot = np.empty(system.nu)
    try:
        total = planned.solve(q, u, tau, udot)
    except TypeError:  # not contiguous doubles
        total = None
    waiting.append(planned)
    return udot if total == 0.0 else None


_default = _divided(Division())
workspace, accelerations = _default.workspace, _default.accelerations
