"""One long chain in floating subchains: time, iterations and error, beside the articulated recursion and divide.

The questions of Anderson and Duan 1999: what cutting costs and gains by the number of subchains, and how many
iterations the loads at the cuts take, from nothing and from those of a state before; accuracy is against extended
precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from whippletree.dynamics.functions import forward_dynamics
from whippletree.dynamics.subchains.algorithm import Pieces
from whippletree.dynamics.subchains.cut import cut_of
from whippletree.dynamics.subchains.options import Cutting
from whippletree.integrate.simulate import simulate

from . import families
from .divided import Chain, chains
from .measure import Call, best_calls, difference
from .result import OURS, BenchResult, Row

PIECES = (2, 4, 8, 16, 32, 64)
SOLVERS = ("thomas", "cyclic", "pcg")
OTHERS = ("divide", "dca")
EXACT_UP_TO = 1024  # bodies
DCA_UP_TO = 1024
RTOL = 1e-10  # residual of iterations
APART = 1e-3  # s between two states, of which one's loads start the iterations of the other
RUN_BODIES, RUN_PIECES, RUN_UNTIL = 128, 16, 0.02  # of the run whose iterations are counted


def measure(result: BenchResult, sizes: Iterable[int], progress: Callable[[str], None]) -> None:
    """Every size in every number of pieces by every solver, then a run."""
    result.note(f"{OURS} is the articulated-body recursion on one core; all others are on one core, in lanes")
    result.note("times are of the best single call; those of pcg start from the loads of a state 1 ms away")
    result.note(
        f"iterations leave a residual of {RTOL:g}; cold: from zero loads, warm: from those of a state 1 ms away"
    )
    result.note("errors are relative to the largest acceleration, without joint forces")
    for chain in chains(sizes, EXACT_UP_TO, progress):
        size = chain.system.nu
        result.rows.append(_whole(chain, result.rounds))
        for pieces in (p for p in PIECES if p <= size):
            progress(f"chain of {size} in {pieces} subchains")
            result.rows.append(_cut(chain, pieces, result.rounds))
    progress(f"chain of {RUN_BODIES} in {RUN_PIECES} subchains: a run")
    result.rows.append(_run())


def _whole(chain: Chain, rounds: int) -> Row:
    """The chain undivided, and by divide and conquer."""
    system, q, u, tau, known = chain
    row = Row("forward", str(system.nu), system.nu, system.nu, pieces=1)
    ways = {OURS: "articulated"} | {way: way for way in OTHERS if way != "dca" or system.nu <= DCA_UP_TO}
    calls = []
    for way, algorithm in ways.items():
        solve = partial(forward_dynamics, system, q, u, algorithm=algorithm)
        if known:
            row.differences[way] = difference(solve(tau=np.zeros(system.nu)), known[1])
        calls.append(Call(way, run := partial(solve, tau=tau), run))
    row.seconds = best_calls(calls, rounds)
    return row


class _Evaluation:
    """One state after another by the same pieces, to and fro between two that are near."""

    def __init__(self, system: Any, pieces: int, solver: str, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> None:
        choice = Cutting(pieces=pieces, solver=solver, rtol=RTOL)
        self.pieces = Pieces(cut_of(system, choice), choice)
        self.states, self.tau, self.udot = (q, q + APART * u), tau, np.empty(system.nu)
        self.u, self.turn, self.iterations = u, 0, 0

    def __call__(self) -> np.ndarray:
        self.turn = 1 - self.turn
        if self.pieces.solver.choice.solver == "thomas":
            self.pieces.evaluate(self.states[self.turn], self.u, self.tau, self.udot)
        else:
            self.pieces.recursion_of_tree(self.states[self.turn], self.u, self.tau)
            self.iterations = self.pieces.solve().iterations
            self.pieces.answer_tree(self.udot)
        return self.udot


def _cut(chain: Chain, pieces: int, rounds: int) -> Row:
    system, q, u, tau, known = chain
    row = Row("forward", str(system.nu), system.nu, system.nu, pieces=pieces)
    calls = []
    for solver in SOLVERS:
        evaluation = _Evaluation(system, pieces, solver, q, u, tau)
        if known:
            at_rest = _Evaluation(system, pieces, solver, q, u, np.zeros(system.nu))
            at_rest.turn = 1
            row.differences[solver] = difference(at_rest(), known[1])
        calls.append(Call(solver, evaluation, evaluation))
    row.operations["warm"], row.operations["cold"] = iterations(system, pieces, q, u, tau)
    row.seconds = best_calls(calls, rounds)
    return row


def iterations(system: Any, pieces: int, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> tuple[float, float]:
    """Of conjugate gradients, from the loads of a state 1 ms away and from none."""
    iterated = _Evaluation(system, pieces, "pcg", q, u, tau)
    iterated()
    iterated()
    warm = float(iterated.iterations)
    iterated.pieces.solver.loads[:] = 0.0
    iterated()
    return warm, float(iterated.iterations)


def _run() -> Row:
    """Iterations and residual of all evaluations of a run, each from the loads of the one before."""
    system, q, u, _ = families.one_state(families.chain(RUN_BODIES))
    algorithm = f"subchains(pieces={RUN_PIECES}, solver='pcg', rtol={RTOL})"
    run = simulate(system, RUN_UNTIL, q=q, u=u, algorithm=algorithm, output_step=RUN_UNTIL)
    row = Row("run", f"{RUN_BODIES}, {RUN_UNTIL * 1e3:g} ms", RUN_BODIES, system.nu, pieces=RUN_PIECES)
    row.operations = {"mean": run.attrs["iterations_mean"], "most": float(run.attrs["iterations_most"])}
    row.differences = {"residual": run.attrs["residual_worst"], "gap": run.attrs["gap_worst"]}
    return row
