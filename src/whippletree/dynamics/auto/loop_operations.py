"""How many additions and multiplications forward dynamics with loops takes, by algorithm, behind kinematics and rows.

Reduction is counted step by step of its plan. The others are counted by their loops, with the greatest power of each
factorization: n DOF, m rows of constraints and their rank.
"""

from __future__ import annotations

import numpy as np

from ...system.system import System
from ..reduction import operations as ops
from ..reduction.program import Plan

OF_BODY, OF_DOF = 150, 177  # its inertia and force, and the sum into its parent; the step of a free joint


def of_reduction(plan: Plan) -> int:
    """Of a plan: m other variables of the front, ``open`` rows there, ``own`` rows of the loop that gives a DOF."""
    op, _, _, m, *_ = plan.steps.T
    own = plan.steps.T[ops.OPERANDS :]  # operands, as the records of operations.py have them
    dof, loop, move = ops.Solve(*own), ops.Close(*own[:6]), ops.Move(*own[:5])
    modal, swap = ops.Modal(*own[:3]), ops.Exchange(*own)
    square, width, ends = m * (m + 1), 7 + m, loop.stop - loop.start
    counts = {
        ops.BODY: np.full(len(op), OF_BODY - 27),
        ops.ADD: np.full(len(op), OF_BODY - 21),
        ops.CLOSE: 24 + ends * (29 + 12 * (loop.key >= 0)),
        ops.COUPLED: np.full(len(op), 8),
        ops.FREE: OF_DOF + 28 * m + square,
        ops.DEPENDENT: 234 + dof.group * (13 + 2 * width) + dof.count * (11 + 2 * width) + 44 * m + 2 * square,
        ops.KEPT: 102 + 11 * m + 11 * dof.count,
        ops.RELEASE: 75 + 17 * m + square,
        ops.TAKE: 138 + dof.group * (2 + 2 * width) + width + dof.count * 2 * width + 33 * m + 2 * square,
        ops.EXCHANGE: swap.pivots * (swap.pivots + 2) * 2 * swap.used + swap.pivots * (14 + 2 * swap.count + 2 * m),
        ops.MERGE: 27 + 8 * m + square // 2,
        ops.MOVE: move.count * m,
        ops.MODAL: 6 + modal.count * (17 + modal.count) // 2,
    }
    return int(sum(count[op == step].sum() for step, count in counts.items()))


def of_tree(system: System) -> int:
    """One inward and one outward pass, without loops."""
    return OF_BODY * (system.nb - 1) + OF_DOF * system.nu


def of_multipliers(system: System, rank: int | None = None) -> int:
    """O(n + n m^2 + m^3): half a solve for every row, from its bodies to ground, and Gram-Schmidt, done twice."""
    n, m = system.nu, system.constraints.count
    r = m if rank is None else rank
    parent, dof = system.arrays["parent"], system.arrays["dof"]
    inboard = np.zeros(system.nb, int)  # DOF from here to ground
    for i in range(1, system.nb):
        inboard[i] = inboard[parent[i]] + dof[i + 1] - dof[i]
    c = system.constraints
    on_the_way = int((np.diff(c.row) * np.maximum(inboard[c.body], inboard[c.to])).sum())
    again, ahead = r * (r - 1) // 2, r * m - r * (r + 1) // 2  # pairs of a direction with those before, and after
    orthogonal = 3 * n * m + 4 * n * again + 6 * n * ahead + 3 * n * r
    return of_tree(system) + 53 * on_the_way + 50 * m + orthogonal + 2 * r * r + 2 * n * r + 26 * n


def of_nullspace(system: System, rank: int | None = None) -> int:
    """O(n^3): mass matrix, QR of the rows with all of Q, least squares in the complement, a solve in the null space."""
    n, m = system.nu, system.constraints.count
    r = min(m, n) if rank is None else rank
    free, low = n - r, min(m, n)
    factor = 2 * n * m * low - 2 * low**3 // 3 + 4 * n * n * low - 4 * n * low * low + 4 * low**3 // 3
    particular = 2 * m * n * r + 4 * m * r * r + 8 * r**3
    reduced = 2 * n * n * free + 2 * n * free * free + 2 * free**3 // 3
    return of_tree(system) + 12 * n * n + factor + particular + reduced
