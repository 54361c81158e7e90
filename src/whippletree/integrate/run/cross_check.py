"""A run under observation: every k-th row of its result is solved once more, by another algorithm.

Two that round differently may differ by a rounding for each unit of conditioning, times a margin. Accelerations are
measured against the largest of the state, or against what single forces would cause where these cancel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dynamics.accuracy.conditioning import AGREE, DENSE, conditioning
from ...dynamics.functions import bias_force, forward_dynamics, mass_matrix
from ...dynamics.inputs import body_of
from ...dynamics.loads.applied import loads
from ...dynamics.registry import ALGORITHMS, AUTO, able_to_solve, find
from ...errors import ModelError, SimulationError, warn
from ...model.check import known
from ...result.spans import parts
from ...system.system import System
from .output_samples import forces_of, settle_rows
from .task import Task

ACTIONS = ("warn", "stop")


class CrossCheck:
    """Looks at the rows of a run as they come; ``every`` 0 is never."""

    def __init__(self, task: Task, tau: Any, every: int, action: str) -> None:
        if not isinstance(every, int) or isinstance(every, bool) or every < 0:
            raise ModelError("check is not a count of rows", expected="a whole number, 0 for none", got=repr(every))
        known(action, ACTIONS, "check_action")
        self.task, self.tau, self.every, self.action = task, tau, every, action
        self.seen, self.count, self.disagreed, self.worst = 0, 0, 0, 0.0
        self.by: dict[str, None] = {}
        if every:
            _other(task.system, task.algorithm)  # refuses before the first step

    def look(self, rows: int, changes: Any = ()) -> None:
        """At rows up to this one, with the constraints that held there."""
        first, self.seen = -(-self.seen // self.every) * self.every if self.every else rows, max(rows, self.seen)
        chosen = np.arange(first, rows, self.every or 1)
        if not chosen.size:
            return
        task = self.task
        t, Q, U = task.t[chosen], task.Q[chosen].copy(), task.U[chosen].copy()
        settle_rows(task, self.tau, t, Q, U)
        force = forces_of(task, self.tau, t, Q, U)
        for span, system in parts(task.system, t, tuple(changes)):
            for n in range(t.size)[span]:
                self._compare(system, float(t[n]), Q[n], U[n], force[n])

    def _compare(self, system: System, t: float, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> None:
        own = self.task.algorithm if system is self.task.system else AUTO
        own, other = _other(system, own)
        first = forward_dynamics(system, q, u, tau, t=t, algorithm=own)
        off = np.abs(forward_dynamics(system, q, u, tau, t=t, algorithm=other) - first)
        off /= max(np.abs(first).max(initial=0.0), _pushes(system, t, q, u, tau), 1e-300)
        dense = system.nu + system.constraints.count <= DENSE
        condition = conditioning(system, q, u) if dense else float(system.nu)
        j = int(np.argmax(np.where(np.isnan(off), np.inf, off))) if off.size else 0
        worst = float(off[j]) if off.size else 0.0
        self.count, self.worst = self.count + 1, max(self.worst, worst / condition)
        self.by[other] = None
        if worst <= AGREE * condition:
            return
        self.disagreed += 1
        words = {
            "what": f"algorithms '{own}' and '{other}' disagree about '{system.name}' at t = {t:.6g} s",
            "expected": f"accelerations that differ by at most {AGREE * condition:.1e} of the largest",
            "got": f"{worst:.3g}, with a conditioning of {condition:.1e}",
            "where": system.mechanical(body_of(system, "u", j)),
            "hint": "wt.verify compares all algorithms at random states",
        }
        if self.action == "stop":
            raise SimulationError(**words)
        if self.disagreed == 1:
            warn(str(SimulationError(**words)))

    def attrs(self) -> dict[str, Any]:
        """For the Result: rows checked, by what, how many of them disagree, and the worst difference over
        conditioning.
        """
        if not self.every:
            return {}
        reported = {"checked": self.count, "checked_by": ", ".join(self.by), "check_disagreed": self.disagreed}
        return reported | {"check_worst": self.worst}


def _other(system: System, algorithm: str) -> tuple[str, str]:
    """The algorithm by its name, and the first other one that can solve the system."""
    able = able_to_solve(system)
    found = find(algorithm)
    base = found.name if found else able[0]
    if algorithm == AUTO:
        algorithm = base
    others = [name for name in able if name != base]
    if not others:
        raise ModelError(
            f"nothing can check '{base}' on '{system.name}'", got=f"no other of {', '.join(ALGORITHMS)} can solve it"
        )
    return algorithm, others[0]


def _pushes(system: System, t: float, q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> float:
    """The largest acceleration that forces would cause, each by itself on its own DOF; and that of gravity."""
    floor = float(np.linalg.norm(system.gravity)) * max(1.0, 1.0 / system.constraints.size)
    if system.nu > DENSE:
        return floor
    given = loads(system, q, u, t).tau
    pushed = np.abs(given) + np.abs(bias_force(system, q, u, t=t) + given) + np.abs(tau)
    return max(floor, float((pushed / np.diag(mass_matrix(system, q))).max(initial=0.0)))
