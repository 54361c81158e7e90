"""The march of methods with a fixed step: so many steps from one output to the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.blocks import checksum, make_memory
from ..kernels.kinematics import kinematics_rows, take_kinematics
from ..kernels.lanes import get, inline, kernel, put, scratch, view
from ..kernels.layout import unpack
from .accelerate import CODES, work_rows
from .task import Failure, Task

# the state of a march: rows filled, steps since the last one, then q and u
ROW, STEP, HEAD = 0, 1, 2
GOING, NOT_FINITE = 0, 1


@kernel
def advance_speeds(n, u, h, a, out):
    """out = u + h a"""
    for j in range(n):
        put(out, j, get(u, j) + h * get(a, j))


@kernel
def scaled(n, a, u, out):
    """out = a u"""
    for j in range(n):
        put(out, j, a * get(u, j))


@inline
def open_run(memory, state):
    """The System, its Kinematics, q and u in the state, and scratch: a buffer and where it is unused"""
    m, end = unpack(memory)
    buffer = scratch(memory, end, state)
    k, n = take_kinematics(m, buffer)
    return m, k, view(state, HEAD, m.nq), view(state, HEAD + m.nq, m.nu), buffer, n


@kernel
def keep(m, state, q, u, every, Q, U):
    """After a step: every ``every``-th state becomes a row of Q, U; False if u is not finite"""
    state[STEP] += 1.0
    if checksum(u) != 0.0:
        return False
    if state[STEP] == every:
        row = int(state[ROW])
        for j in range(m.nq):
            Q[row, j] = q[j]
        for j in range(m.nu):
            U[row, j] = u[j]
        state[ROW] += 1.0
        state[STEP] = 0.0
    return True


def steps_between(step: float, output_step: float) -> tuple[int, float]:
    """Steps from one output to the next, and the step shortened so that they fit."""
    every = max(1, int(np.ceil(output_step / step * (1 - 1e-9))))
    return every, output_step / every


class Run:
    """A march under way; ``state`` is all there is to know about how far it has come."""

    def __init__(self, task: Task, march: Any, rows: int) -> None:
        self.task, self.march = task, march
        self.every, self.h = steps_between(task.step, float(task.t[-1]) / (task.t.size - 1))
        self.memory = make_memory(
            task.system, kinematics_rows(task.system) + work_rows(task.system, task.algorithm) + rows
        )
        self.state = np.concatenate([[1.0, 0.0], task.Q[0], task.U[0]])

    @property
    def row(self) -> int:
        return int(self.state[ROW])

    @property
    def time(self) -> float:
        return float(self.task.t[self.row - 1] + self.state[STEP] * self.h)

    def proceed(self, steps: int) -> Failure | None:
        task = self.task
        code = CODES[task.algorithm]
        status = self.march(self.memory, self.state, task.tau, self.h, self.every, code, task.Q, task.U, steps)
        if status == GOING:
            return None
        component = int(np.argmin(np.isfinite(self.state[HEAD + task.system.nq :]))) + task.system.nq
        hint = "a smaller step, integrator='dopri5', or mass and inertia for the outermost bodies"
        return Failure("ceased to be finite", self.time, component, hint)

    def attrs(self) -> dict[str, Any]:
        return {"step": self.h}
