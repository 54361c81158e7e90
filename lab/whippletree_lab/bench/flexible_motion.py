"""A short motion of a chain of flexible bodies: wall time for accuracy, ours beside Exudyn's floating-frame bodies.

Both have the same mass points and modes, full fidelity. The error is that of where the tips are at the end, the largest
in metres, against a much finer run of the same engine; how far apart the two finest runs are is noted. For each step
of the peer ours is the fastest of our methods whose error is not larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from whippletree.dynamics.functions import forward_dynamics
from whippletree.dynamics.kinematics import kinematics
from whippletree.integrate.simulate import simulate

from ..engines.exudyn import ExudynChain
from ..engines.links import CannotHold
from .flexible_families import chain, points
from .loop_families import start
from .measure import Call, difference, race, took
from .result import OURS, BenchResult, Row

UNTIL = 0.5  # s
PUSH = 1.0  # rad/s, the largest hinge speed at the start
MODES = 8
PEER_STEPS = (2e-3, 1e-3, 5e-4, 2.5e-4)  # s
FINER = 5  # times, of the peer's finest run
AGREE = 1e-6  # largest relative difference of modal accelerations at the start
FINEST: dict[str, Any] = {"integrator": "dop853", "rtol": 1e-12, "atol": 1e-14}
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6)
STEPS = tuple(float(f"{4e-3 * 10 ** (-k / 10):.2g}") for k in range(16))  # tenths of a decade
ROUNDS = 3  # runs of a motion are long


def candidates() -> dict[str, dict[str, Any]]:
    """Our methods, by the label that they get."""
    found = {f"generalized_alpha, step {h:g}": {"integrator": "generalized_alpha", "step": h} for h in STEPS}
    for method in ("dopri5", "dop853"):
        found |= {f"{method} at {r:g}": {"integrator": method, "rtol": r, "atol": r * 1e-2} for r in TOLERANCES}
    return found


class Motion:
    """Strips that hang straight down, each turning at its hinge as they begin."""

    def __init__(self, bodies: int, modes: int) -> None:
        self.bodies, self.strip = bodies, points(modes)
        self.u = np.random.default_rng(1).uniform(-PUSH, PUSH, bodies)
        self.system = chain(bodies, self.strip.modes).compile()
        self.start = {f"j{k}": float(u) for k, u in enumerate(self.u)}

    def ours(self, label: str, options: dict[str, Any]) -> Call:
        run = partial(simulate, self.system, UNTIL, u=self.start, output_step=UNTIL, **options)

        def value() -> np.ndarray:
            there = kinematics(self.system, run().q[-1])
            return np.array([there.position(f"b{k}/tip") for k in range(self.bodies)])

        return Call(label, run, value)

    def peer(self, step: float) -> Call:
        made = ExudynChain(self.bodies, self.strip, self.u)
        run = partial(made.run, made.settings(step, UNTIL))

        def value() -> np.ndarray:
            run()
            return made.places()

        return Call(f"exudyn, step {step:g}", run, value)

    def apart_at_start(self) -> float:
        """How far Exudyn's modal accelerations are from ours at the start, relative to the largest."""
        udot = forward_dynamics(self.system, *start(self.system, {}, self.start))
        mine = np.array([udot[self.system.u_index(f"b{k}")] for k in range(self.bodies)])
        theirs = ExudynChain(self.bodies, self.strip, self.u).accelerations()
        return difference(theirs, mine)


def measure(result: BenchResult, bodies: Iterable[int], progress: Callable[[str], None]) -> None:
    """One body, and each number of bodies asked for."""
    result.note(f"motions: {UNTIL:g} s of strips of mass points, {MODES} modes, full; errors: places of tips, in m")
    result.note(ExudynChain.HOW)
    for count in dict.fromkeys((1, *bodies)):
        progress(f"motion of {count} bodies: the finest runs")
        motion = Motion(count, MODES)
        try:
            _compare(result, motion, progress)
        except (CannotHold, RuntimeError) as reason:
            result.note(f"exudyn: not at {count} bodies: {str(reason).splitlines()[0]}")


def _compare(result: BenchResult, motion: Motion, progress: Callable[[str], None]) -> None:
    apart = motion.apart_at_start()
    if apart > AGREE:
        result.note(f"exudyn: modal accelerations of {motion.bodies} bodies are {apart:.0e} from ours, not timed")
        return
    end, there = motion.ours("finest", FINEST).value(), motion.peer(PEER_STEPS[-1] / FINER).value()
    between = float(np.abs(end - there).max())
    result.note(f"{motion.bodies} x {MODES}: first accelerations differ by {apart:.0e}, finest ends by {between:.0e} m")
    progress(f"motion of {motion.bodies} bodies: errors")
    mine = []
    for label, options in candidates().items():
        call = motion.ours(label, options)
        error = float(np.abs(call.value() - end).max())
        mine.append((min(took(call.run) for _ in range(ROUNDS)), error, call))
    for step in PEER_STEPS:
        theirs = motion.peer(step)
        error = float(np.abs(theirs.value() - there).max())
        able = [m for m in mine if m[1] <= error]
        if not able:
            result.note(f"{theirs.engine}: none of ours is as good at {motion.bodies} bodies")
            continue
        _, own, call = min(able, key=lambda m: m[0])
        progress(f"motion of {motion.bodies} bodies: {theirs.engine}")
        times = race([call, theirs], min(ROUNDS, result.rounds))
        label = f"{motion.bodies} x {MODES}, {call.engine} / {theirs.engine}"
        row = Row("motion", label, motion.bodies, motion.system.nu, modes=MODES)
        row.seconds = {OURS: times[call.engine], "exudyn": times[theirs.engine]}
        row.differences = {OURS: own, "exudyn": error}
        result.rows.append(row)
