"""How many additions and multiplications forward dynamics with loops takes, by algorithm, behind kinematics and rows.

Reduction is counted step by step of its plan. The others are counted by their loops, with the greatest power of each
factorization: n freedoms, m rows of constraints and their rank.
"""

from __future__ import annotations

import numpy as np

from ...system.system import System
from ..reduction.program import (
    ADD,
    BODY,
    CLOSE,
    COUPLED,
    DEPENDENT,
    EXCHANGE,
    FREE,
    KEPT,
    MERGE,
    MODAL,
    MOVE,
    RELEASE,
    TAKE,
    Plan,
)

OF_BODY, OF_FREEDOM = 150, 177  # its inertia and force, and the sum into its parent; the step of a free joint
# columns of a step: rows of a loop that ends, rows that move on, rows that give a freedom, all that are open there
START, STOP, KEY = 4, 5, 8
MOVED, OWN, OPEN, MODES = 5, 8, 9, 6


def of_reduction(plan: Plan) -> int:
    """Of a plan: m other variables of the front, ``open`` rows there, ``own`` rows of the loop that gives a freedom."""
    steps = plan.steps
    op, m, open_, own = steps[:, 0], steps[:, 3], steps[:, OPEN], steps[:, OWN]
    square, width, ends = m * (m + 1), 7 + m, steps[:, STOP] - steps[:, START]
    counts = {
        BODY: np.full(len(op), OF_BODY - 27),
        ADD: np.full(len(op), OF_BODY - 21),
        CLOSE: 24 + ends * (29 + 12 * (steps[:, KEY] >= 0)),
        COUPLED: np.full(len(op), 8),
        FREE: OF_FREEDOM + 28 * m + square,
        DEPENDENT: 234 + own * (13 + 2 * width) + open_ * (11 + 2 * width) + 44 * m + 2 * square,
        KEPT: 102 + 11 * m + 11 * open_,
        RELEASE: 75 + 17 * m + square,
        TAKE: 138 + own * (2 + 2 * width) + width + open_ * 2 * width + 33 * m + 2 * square,
        # of an exchange these columns are the pivots, their rows, and the open rows
        EXCHANGE: own * (own + 2) * 2 * open_ + own * (14 + 2 * steps[:, -1] + 2 * m),
        MERGE: 27 + 8 * m + square // 2,
        MOVE: steps[:, MOVED] * m,
        MODAL: 6 + steps[:, MODES] * (17 + steps[:, MODES]) // 2,
    }
    return int(sum(count[op == step].sum() for step, count in counts.items()))


def of_tree(system: System) -> int:
    """One sweep in and one out, without loops."""
    return OF_BODY * (system.nb - 1) + OF_FREEDOM * system.nu


def of_multipliers(system: System, rank: int | None = None) -> int:
    """O(n + n m^2 + m^3): half a solve for every row, from its bodies to ground, and Gram-Schmidt, done twice."""
    n, m = system.nu, system.constraints.count
    r = m if rank is None else rank
    parent, dof = system.arrays["parent"], system.arrays["dof"]
    inboard = np.zeros(system.nb, int)  # freedoms from here to ground
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
