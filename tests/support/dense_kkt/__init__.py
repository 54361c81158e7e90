"""Forward dynamics by one dense solve of the equations of motion and of the constraints together, O((n + m)^3).

Paper    [kelly1987] the equations M u' = f + C' lam, C u' = gamma, solved as they stand.
Symbols  M, C and gamma as docs/notation.md; f = tau - bias.
Differs  rows are scaled to unit length, and redundant ones take the multipliers of least norm.

An algorithm as an example of the interface (dynamics/algorithm.py): what it supports, its workspace and its
accelerations. Everything else is the default: runs by calls, projection, reactions, certificates, batches.
"""

import sys

import numpy as np

from whippletree.dynamics.algorithm import Algorithm
from whippletree.dynamics.constraints.jacobian import rows_at
from whippletree.dynamics.dispatch import evaluate
from whippletree.dynamics.functions import mass_matrix
from whippletree.dynamics.tree.newton_euler import torques
from whippletree.dynamics.tree.newton_euler import workspace as torque_workspace

SUPPORTS = {"trees", "flexible", "loops", "loops of nodes", "couplings", "constraints"}
RANK = 1e-9  # singular values of the KKT matrix, scaled to unit rows, below which an equation counts as redundant


def workspace(system, lanes=1):
    """What :func:`accelerations` works from: the System."""
    return system


def accelerations(system, q, u, forces, signals, udot, start, stop):
    """One state after the other; the loss is not measured."""
    Q, U, X, S, out = (np.atleast_2d(a) for a in (q, u, forces, signals, udot))
    for s in range(start, stop):
        out[s] = solve(system, Q[s], U[s], X[s], S[s])
    return float(0.0 * out[start:stop].sum())


def solve(system, q, u, forces, signals):
    """u' of one state: [[M, C'], [C, 0]] (u', -lam) = (f, gamma), without the rows whose motion is prescribed."""
    nu = system.nu
    M, rows = mass_matrix(system, q), rows_at(system, q, u, signals)
    still = np.concatenate([np.zeros(nu), forces[nu:]])
    f = forces[:nu] - evaluate(torques, torque_workspace, system, [q, u, still], nu)
    given, free = np.zeros(nu), np.ones(nu, bool)
    for row, function in system.forces.motions.items():
        given[row], free[row] = signals[3 + 3 * function], False
    root = 1.0 / np.sqrt(np.diag(M)[free])  # unit diagonal
    C = rows.C[:, free] * root
    size = np.linalg.norm(C, axis=1)
    size = np.where(size > RANK * max(size.max(initial=0.0), 1e-300), size, 1.0)
    C, gamma = C / size[:, None], (rows.gamma - rows.C @ given) / size
    inner = M[np.ix_(free, free)] * root * root[:, None]
    KKT = np.block([[inner, C.T], [C, np.zeros((len(C), len(C)))]])
    x = np.linalg.lstsq(KKT, np.concatenate([f[free] * root, gamma]), rcond=RANK)[0]
    udot = np.zeros(nu)  # the caller writes prescribed accelerations, whose inertia forces are in ``forces``
    udot[free] = root * x[: free.sum()]
    return udot


DENSE_KKT = Algorithm(
    "dense_kkt",
    sys.modules[__name__],
    SUPPORTS,
    workspace,
    accelerations,
    lambda system: f"O((n + m)^3): {system.nu} degrees of freedom and {system.constraints.count} equations, densely",
    acronyms=("kkt",),
    judged=lambda system, loss: np.inf,  # nothing is measured: every state has a certificate
)
