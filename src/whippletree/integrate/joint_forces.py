"""Forces of some joints, from their own coordinates and velocities: what a part of a mechanism knows of its forces.

Springs, dampers, friction and limits of joints, motors, and the constant forces of a task. Formulas: kernels/forces.py.
"""

from __future__ import annotations

import numpy as np

from ..compiler.lanes import entry
from ..kernels.forces import motor_law, passive_law, signal
from ..kernels.signals import evaluate_signals
from ..kernels.unpack import unpack_forces
from ..layout.forces import BALL, FRAMES, MOTOR, NUMBERS
from .run.task import Task


@entry
def joint_reactions(packed, t, signals, here, constant, counted, passive, elements, q, u, total):
    """Set the joint forces ``total`` at the places ``here``; returns the power of those that are ``counted``"""
    F, _ = unpack_forces(packed, 0)
    power = 0.0
    for n in range(here.shape[0]):
        total[here[n]] = constant[n]
        power += counted[n] * constant[n] * u[here[n]]
    for n in range(0, passive.shape[0], 4):
        c, j, at = 9 * passive[n], passive[n + 1], passive[n + 2]
        stretch, over, under = 0.0, 0.0, 0.0
        if at >= 0:
            stretch = q[at] - F.passive[c + 1]
            over, under = max(q[at] - F.passive[c + 6], 0.0), max(F.passive[c + 5] - q[at], 0.0)
        force, _, lost = passive_law(F.passive, c, u[j], stretch, over, under, 0.0)
        total[j] += force
        power += counted[passive[n + 3]] * lost
    if elements.shape[0] > 0:
        evaluate_signals(F, t, signals)
    for n in range(0, elements.shape[0], 4):
        row, j, at = elements[n], elements[n + 1], elements[n + 2]
        if F.kind[row] == MOTOR:
            lag = 0.0
            if F.numbers[NUMBERS * row + FRAMES] != 0.0:
                lag = signal(F, signals, row, 1, 0, 0.0) - q[at]
            force = motor_law(F, row, signals, lag, u[j], 0.0)
            total[j] += force
            power += counted[elements[n + 3]] * force * u[j]
        else:  # k times the rotation 2 e w of a spherical joint
            for r in range(3):
                total[j + r] -= 2.0 * F.numbers[NUMBERS * row + FRAMES] * q[at] * q[at + 1 + r]
    return power


class JointForces:
    """Of the DOF ``u_rows`` of a System, in vectors that hold them at ``u_here``, and ``q_rows`` at ``q_here``.

    ``counted`` says of each DOF whether its power is counted here.
    """

    def __init__(
        self,
        task: Task,
        u_rows: np.ndarray,
        u_here: np.ndarray,
        q_rows: np.ndarray,
        q_here: np.ndarray,
        counted: np.ndarray,
    ) -> None:
        forces = task.system.forces
        self.packed, self.signals = forces.packed, np.zeros(1 + 3 * forces.signals)
        self.here, self.constant = u_here.astype(np.int64), task.tau[u_rows].copy()
        self.counted = counted.astype(float)
        which = {int(row): n for n, row in enumerate(u_rows)}
        at = {int(row): int(n) for row, n in zip(q_rows, q_here, strict=True)} | {-1: -1}
        a = forces.arrays
        passive = zip(range(len(a["passive"])), a["passive_dof"], a["passive_coordinate"], strict=True)
        kinds = [n for n, kind in enumerate(a["kind"]) if kind in (MOTOR, BALL)]
        elements = [(n, a["dof"][n], a["coordinate"][n]) for n in kinds]
        self.passive, self.elements = (
            np.array(
                [(n, u_here[which[int(j)]], at[int(c)], which[int(j)]) for n, j, c in rows if int(j) in which], np.int64
            ).ravel()
            for rows in (passive, elements)
        )

    def __call__(self, t: float, q: np.ndarray, u: np.ndarray, total: np.ndarray) -> float:
        """Joint forces into ``total``; the power of those that store no energy."""
        return float(
            joint_reactions(
                self.packed, t, self.signals, self.here, self.constant, self.counted, self.passive, self.elements,
                q, u, total,
            )
        )  # fmt: skip
