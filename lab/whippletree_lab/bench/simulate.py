"""Ten seconds of motion, by our integrators and by SciPy's around a peer's dynamics, at the same accuracy.

The peers' methods get RTOL. The error is that of the state at the end, relative to its largest number, against a much
finer run of ours, with which the peer's own finest run must agree. Ours get the largest tolerance, in tenths of a
decade, at which their error is not larger than that of the peer's method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from whippletree.integrate.simulate import simulate as run_ours

from ..engines.peers import PEERS
from . import families
from .measure import AGREE, Call, difference, race
from .result import OURS, BenchResult, Row
from .rows import held

UNTIL = 10.0  # s
PUSH = 0.4  # rad/s, the largest speed at the start
RTOL, FINEST = 1e-8, 1e-13
ATOL = 1e-2  # of rtol, in rad and rad/s
LOOSEST = 1e-7
TIGHTER = 10**-0.1  # from one try to the next
METHODS = ("dopri5", "dop853")
PEER_METHODS = ("RK45", "DOP853")


class Motion:
    """One motion of one system from q = 0, and the error of each engine."""

    def __init__(self, system: Any) -> None:
        self.system = system
        self.u = np.random.default_rng(1).uniform(-PUSH, PUSH, system.nu)
        self.end = self.ours(METHODS[-1], FINEST).value()

    def ours(self, method: str, rtol: float) -> Call:
        options: Any = {"rtol": rtol, "atol": ATOL * rtol, "output_step": UNTIL}  # as solve_ivp: the end alone
        run = partial(run_ours, self.system, UNTIL, u=self.u, integrator=method, **options)

        def value() -> np.ndarray:
            found = run()
            return np.concatenate((found.q[-1], found.u[-1]))

        return Call(f"{method} at {rtol:.1e}", run, value)

    def peer(self, engine: Any, method: str, rtol: float) -> Call:
        from scipy.integrate import solve_ivp

        to, still = engine.to, np.zeros(self.system.nq)
        start = np.concatenate((to.q(still), to.turn(still, self.u)))
        rates, span = engine.rates(), (0.0, UNTIL)
        run = partial(solve_ivp, rates, span, start, method=method, rtol=rtol, atol=ATOL * rtol)

        def value() -> np.ndarray:
            q, u = run().y[:, -1].reshape(2, -1)
            return np.concatenate((to.back(still, q), to.back(still, u)))

        return Call(f"{engine.name} {method}", run, value)

    def error(self, call: Call) -> float:
        return difference(call.value(), self.end)

    def as_good(self, method: str, error: float) -> tuple[Call, float] | None:
        """Our call with the largest tolerance whose error is not larger, and that error."""
        rtol = LOOSEST if np.isfinite(error) else RTOL
        while rtol > FINEST:
            call = self.ours(method, rtol)
            found = self.error(call)
            if found <= error:
                return call, found
            rtol *= TIGHTER
        return None


def measure(result: BenchResult, sizes: Iterable[int], against: list[str], progress: Callable[[str], None]) -> None:
    """A hanging arm or tree of each size, pushed gently, for the family simulate."""
    result.note(f"runs of {UNTIL:g} s; peers at rtol {RTOL:g} and atol {ATOL * RTOL:g}, ours at what the label says")
    result.note(f"error: of the state at the end, against {METHODS[-1]} at rtol {FINEST:g}; ours is never the larger")
    for size in sizes:
        model = families.hanging(size)
        system = model.compile()
        progress(f"{model.name}: the finest run")
        motion, kinds = Motion(system), [PEERS[name] for name in against]
        peers = [c for e in held(result, kinds, size, model, system) for c in _agreeing(result, motion, e)]
        progress(f"{model.name}: errors")
        pairs = _pairs(result, motion, [(call, motion.error(call)) for call in peers])
        calls = {call.engine: call for _, *both in pairs for call in both}
        progress(f"{model.name}: times")
        times = race(list(calls.values()), result.rounds)
        for row, mine, *theirs in pairs:
            row.seconds = {OURS: times[mine.engine]} | {call.engine: times[call.engine] for call in theirs}
            result.rows.append(row)


def _agreeing(result: BenchResult, motion: Motion, engine: Any) -> list[Call]:
    """The methods around a peer, if its finest run ends where ours does."""
    if not hasattr(engine, "rates"):
        result.note(f"{engine.name}: is not put into SciPy's integrators")
        return []
    size, apart = motion.system.nu, motion.error(motion.peer(engine, PEER_METHODS[-1], FINEST))
    if apart > AGREE / 100:  # the errors to be compared are some 1e-8
        result.note(f"{engine.name}: the finest run of {size} ends {apart:.0e} from ours, not timed")
        return []
    result.note(f"{engine.name}: the finest run of {size} ends {apart:.0e} from ours")
    return [motion.peer(engine, method, RTOL) for method in PEER_METHODS]


def _pairs(result: BenchResult, motion: Motion, peers: Sequence[tuple[Call | None, float]]) -> list[Any]:
    """(row, our call, the peer's call) for each of our methods with each of the peers'; ours alone without peers."""
    found: list[Any] = []
    system = motion.system
    for method in METHODS:
        for theirs, error in peers or [(None, np.inf)]:
            mine = motion.as_good(method, error)
            if mine is None:
                result.note(f"{method}: never as good as {theirs.engine if theirs else 'asked'} at {system.nu}")
                continue
            label = f"{system.nu}, {mine[0].engine}" + (f" / {theirs.engine}" if theirs else "")
            row = Row("simulate", label, len(system.bodies) - 1, system.nu)
            row.differences = {OURS: mine[1]} | ({theirs.engine: error} if theirs else {})
            found.append((row, mine[0], *([theirs] if theirs else [])))
    return found
