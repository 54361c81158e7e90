"""The interface of an algorithm: all that it does, in one row. ``registry.py`` gathers the rows.

Three fields are required: what it supports, its workspace, and its accelerations. Everything else has a default that
works for every algorithm, only slower; a field is passed where an algorithm does better.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from ..system.system import System
from .auto.rates import Cost
from .stepping.stepper import Stepper


def _as_measured(system: System, loss: float) -> float:
    return loss


def _never(system: System) -> bool:
    return False


@dataclass(frozen=True)
class Algorithm:
    """One algorithm.

    Attributes
    ----------
    name : by which it is passed to calls.
    module : its header names Paper, Symbols and Differs; ``whippletree cite`` reads it.
    SUPPORTS : features of a System that it can solve.
    workspace : ``workspace(system, lanes)``, memory for one state (1) or a batch.
    accelerations : ``accelerations(memory, q, u, forces[, signals], udot, start, stop)`` writes rows of ``udot`` and
        returns the loss of digits, 0 if it measures none and not a number if it failed. ``forces`` are generalized
        forces (nu), and wrenches of bodies (6 nb) behind them where there are any; ``signals`` (time and functions of
        it) are passed to algorithms that support loops.
    describe : one line for ``explain``, ``(system)``.
    acronyms : other names.
    configured : for algorithms with options behind the name: ``(system, name with options, threads, one state)`` gives
        an object with ``workspace`` and ``accelerations``, and the number of threads for a batch. Default: no options.
    quick : ``(system, name as passed, threads)`` gives a function ``(q, u, forces, signals)`` of one state under all
        forces and functions of time (None if there are none), that returns its accelerations or None; None if there is
        no such way. Default: every call is checked.
    quick_loaded : the same with a time in place of signals, under the forces of the model too, which it evaluates in
        its own pass; prescribed motions are not among them. Default: they are evaluated before.
    measures_loss : whether each state of a batch has its own loss. Default: a batch is certified as a whole.
    judged : the loss to go by, from the one measured, ``(system, loss)``. Default: as measured.
    by_plan : whether it eliminates by a plan, which is believed once the state it was made for has a certificate.
    run_limit : loss of an evaluation in a run from which on it is certified. Default: as a single call.
    certifies_runs : whether one evaluation of each run is certified, as the loss is relative to a plan only.
    solves_any_pose : whether "auto" may fall back on it where another has lost a state.
    allows_violation : whether runs may leave constraints violated, as Baumgarte's stabilization does.
    projects : whether its stepper projects any state onto the constraints, without a plan.
    steps_in_lanes : whether its stepper has ``lanes``, by which compiled loops step a block of states.
    stepper : ``(system, name with options)`` gives its :class:`Stepper`, compiled. Default: stepping/by_calls.py calls
        ``accelerations`` from the loop, and projects as the first algorithm that ``projects``.
    cuts : whether a run has the coordinates of cut subchains (integrate/run/subchains.py) and not a stepper.
    reactions : ``(system, q, u, rest, signals)`` gives multipliers of all rows, what they leave, and how many rows are
        doubtful, in O(n + m). Default: by singular values of all rows, constraints/forces.py.
    corrections : ``(system, q, u, r, s, signals)`` gives e of M e = r + C' mu, C e = s for many right-hand sides, in
        O(n + m) each. Default: a dense solve, accuracy/certificate.py.
    lends_bodies : whether ``(system)`` has bodies without mass that are lent some in single states.
    cost : for ``auto`` and ``explain``. Default: not counted, so ``auto`` takes it only where nothing else can.
    comes_last : whether ``auto`` considers it after all others for ``(system)``.
    """

    name: str
    module: ModuleType
    SUPPORTS: Set[str]
    workspace: Callable[..., Any]
    accelerations: Callable[..., float]
    describe: Callable[[System], str]
    acronyms: tuple[str, ...] = ()
    configured: Callable[[System, str, int | None, bool], tuple[Any, int | None]] | None = None
    quick: Callable[[System, str, int | None], Callable[..., np.ndarray | None] | None] | None = None
    quick_loaded: Callable[[System, str, int | None], Callable[..., np.ndarray | None] | None] | None = None
    measures_loss: bool = False
    judged: Callable[[System, float], float] = _as_measured
    by_plan: bool = False
    run_limit: float | None = None
    certifies_runs: bool = False
    solves_any_pose: bool = False
    allows_violation: bool = False
    projects: bool = False
    steps_in_lanes: bool = False
    stepper: Callable[[System, str], Stepper] | None = None
    cuts: bool = False
    reactions: Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray]] | None = None
    corrections: Callable[..., np.ndarray] | None = None
    lends_bodies: Callable[[System], bool] = _never
    cost: Cost | None = None
    comes_last: Callable[[System], bool] = _never

    @property
    def handles_loops(self) -> bool:
        """Whether it takes functions of time, as constraint equations need them."""
        return "loops" in self.SUPPORTS

    @property
    def steps(self) -> bool:
        """Whether it has a compiled part in runs, by which ``auto`` may take it for one."""
        return self.stepper is not None

    def supports(self, system: System) -> bool:
        """Whether it can solve all that a System has."""
        return system.features <= self.SUPPORTS
