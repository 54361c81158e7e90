"""The memory of a run's Mechanism. By reduction it has a plan, which is made again where it serves no longer; divided,
it has the memory of a division, and threads.

A plan follows from a pose, and the pose is the last part of a run's state: a run that goes on from a state, or is put
back to one, has the plan that it had there.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ...dynamics.functions import forward_dynamics
from ...dynamics.loads.applied import signals
from ...dynamics.reduction.program import Plan
from ...dynamics.registry import projecting
from ...dynamics.stepping.by_calls import stepper_of
from ...dynamics.stepping.calls import code_of
from ...dynamics.stepping.closing import FULLY
from ...dynamics.stepping.mechanism import mechanism_memory
from ...layout.constraints import STABILIZED
from ...result.records import Switch
from ...system.system import System
from .task import Task


class Plans:
    """``tail`` is the end of a run's state, ``width`` numbers: time and pose of its plan, or nothing."""

    def __init__(self, task: Task, rows: int) -> None:
        self.task, self.system, self.rows = task, task.system, rows
        self.stepper = stepper_of(task.system, task.algorithm)
        self.code = code_of(self.stepper)
        if self.stepper.lends:  # multipliers find motions without inertia, at the start
            q, u = task.y[: task.system.nq], task.y[task.system.nq : -1]
            forward_dynamics(task.system, q, u, task.tau, t=task.start, algorithm=projecting().name)
        self.planned = self.stepper.plan_at is not None
        self.width = 1 + task.system.nq if self.planned else 0
        self.plan: Plan | None = None
        self.pose = np.zeros(0)
        self.switches: list[Switch] = []
        self._memory = np.zeros(0) if self.planned else self._make()
        self._aside = np.zeros(0), np.zeros(0)

    def _make(self) -> np.ndarray:
        return mechanism_memory(self.system, self.stepper, self.rows, 1, self.task.stabilization, self.plan)

    def _plan_at(self, t: float, q: np.ndarray) -> Any:
        return self.stepper.plan_at(self.system, q, signals(self.system, t)) if self.stepper.plan_at else None

    def at_work(self) -> AbstractContextManager[None]:
        """Within it the compiled loop may run."""
        return self.stepper.at_work()

    def memory(self, tail: np.ndarray) -> np.ndarray:
        """For the plan of a tail."""
        if self.planned and not np.array_equal(tail, self.pose):
            self.pose = tail.copy()
            self.plan = self._plan_at(float(tail[0]), tail[1:])
            self._memory = self._make()
        return self._memory

    def take_forces(self, system: System) -> None:
        """Go on with a system that differs in the numbers of its forces alone."""
        self.system, packed = system, system.forces.packed
        self._memory[system.packed.size : system.packed.size + packed.size] = packed

    def put(self, n: int, values: np.ndarray) -> None:
        """Other numbers into the packed forces, from the n-th on."""
        at = self.system.packed.size + n
        self._memory[at : at + values.size] = values

    def aside(self) -> np.ndarray:
        """Memory for single states between steps, with the forces there are now: a march counts on what it left."""
        made_of, other = self._aside
        if made_of is not self._memory:
            self._aside = self._memory, (other := self._make())
        packed = self.system.packed.size + self.system.forces.packed.size
        other[:packed] = self._memory[:packed]
        return other

    def beside(self, t: float, q: np.ndarray) -> tuple[np.ndarray, tuple[int, int, int]]:
        """Memory and code for single states near a pose, with the forces there are now.

        By reduction with a plan of that pose, else by multipliers, which need neither plan nor threads.
        """
        stepper = self.stepper if self.planned else stepper_of(self.system, projecting().name)
        plan = self._plan_at(float(t), q)
        memory = mechanism_memory(self.system, stepper, 0, 1, self.task.stabilization, plan)
        first, packed = self.system.packed.size, self.system.packed.size + self.system.forces.packed.size
        if self._memory.size:  # a run has begun; of the system itself a division has marks
            memory[first:packed] = self._memory[first:packed]
        memory[packed + STABILIZED.stop - 1] = FULLY
        return memory, code_of(stepper)

    def begin(self, tail: np.ndarray, t: float, q: np.ndarray) -> None:
        """A plan for the pose from which a run begins."""
        if self.planned:
            tail[0], tail[1:] = t, q

    def renew(self, tail: np.ndarray, t: float, q: np.ndarray) -> None:
        """A plan for another pose; a change of dependent joints is noted.

        Where loops are about to lose rank the plan stays: motion goes through such a pose on its branch, and what the
        rows that lose their effect there have to say is known from both sides.
        """
        before, plan, pose, memory = self._dependents(), self.plan, tail.copy(), self._memory
        tail[0], tail[1:] = t, q
        self.memory(tail)
        now = self._dependents()
        if plan and _rank(self.plan) < _rank(plan):
            tail[:], self.plan, self.pose, self._memory = pose, plan, pose, memory
            return
        for loop, joints in now.items():
            if joints != before.get(loop):
                self.switches.append(Switch(float(t), loop, before.get(loop, ()), joints))

    def _dependents(self) -> dict[str, tuple[str, ...]]:
        """Joints that depend on the others, by the joint that closes their loop."""
        system, plan = self.system, self.plan
        if plan is None:
            return {}
        body = np.repeat(np.arange(system.nb), np.diff(system.arrays["dof"]))
        names = {loop: sorted({int(body[j]) for j in dofs}) for loop, dofs in plan.dependents.items()}
        return {loop: tuple(system.carriers[i - 1] for i in bodies) for loop, bodies in names.items()}

    def recall(self, attrs: dict[str, Any], until: float) -> None:
        """What was noted up to a time, as a file has it."""
        if self.planned:
            found = Switch.parse(attrs.get("switches", "[]"))
            self.switches = [s for s in found if s.t <= until]

    def attrs(self) -> dict[str, Any]:
        """For the Result."""
        return {"switches": json.dumps([list(s) for s in self.switches])} if self.planned else {}


def _rank(plan: Plan | None) -> int:
    return sum(map(len, plan.dependents.values())) if plan else 0
