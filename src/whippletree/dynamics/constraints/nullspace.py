"""Forward dynamics with constraints in the null space of their matrix, O(n^3), by LAPACK.

Paper    [kelly1987] eqs (9)-(15) and (23)-(25): u' = Z z' + Y g and beta' (M u' - f) = 0, where the columns of
         beta = Z span the null space of B. It names singular values and the zero eigenvalue theorem.
Symbols  C = B of kelly1987, and gamma = g' - B' q'.
Differs  Z also by QR with pivoting, which it does not name; rows are scaled by their size; the rank is where singular
         values, or the diagonal of R, fall below RANK, judged more coarsely where loops are open, as in multipliers.py.
         NumPy, one state at a time. Loads of friction follow multipliers, which are recovered for that: sliding.py.
"""

from typing import Any

import numpy as np
import scipy

from ...system.system import System
from ..accuracy.fast_motion import BEYOND, FAST, NOTHING
from ..dispatch import evaluate
from ..tree.composite import mass_matrices
from ..tree.composite import workspace as mass_workspace
from ..tree.newton_euler import torques
from ..tree.newton_euler import workspace as torque_workspace
from .jacobian import ConstraintRows, rows_at
from .multipliers import CLEAR, PER_VIOLATION, RANK, WIDE
from .sliding import loads_that_follow

SMALL = 1e-6  # of the largest row: a rounding of 1e-16 is a tenth of RANK then

SUPPORTS = {"trees", "flexible", "loops", "loops of nodes", "couplings", "constraints", "friction"}


def workspace(system: System, lanes: int = 1) -> Any:
    """What :func:`accelerations` works from: the System."""
    return system


def rank_tolerance(system: System, rows: ConstraintRows) -> Any:
    """Below which a direction of scaled rows counts as dependent; of B states, one for each."""
    violation = np.abs(rows.g).max(axis=-1, initial=0.0) * max(1.0, 1.0 / system.constraints.size)
    return RANK + PER_VIOLATION * np.minimum(violation, WIDE)


def split_space(C: np.ndarray, tolerance: float, method: str = "qr") -> tuple[np.ndarray, np.ndarray]:
    """Bases (n, n - r) of the null space of C and (n, r) of its complement, both orthonormal."""
    if C.shape[0] == 0:
        return np.eye(C.shape[1]), np.zeros((C.shape[1], 0))
    if method == "svd":
        _, s, Vt = np.linalg.svd(C)
        rank = int((s > tolerance).sum())
        return Vt[rank:].T, Vt[:rank].T
    Q, R, _ = scipy.linalg.qr(C.T, pivoting=True)
    rank = int((np.abs(np.diag(R)) > tolerance).sum())
    return Q[:, rank:], Q[:, :rank]


def scaled_rows(C: np.ndarray, wrenches: np.ndarray | None = None) -> np.ndarray:
    """Size of each row of C, 1 where it is rounding; of a small row not so little that its rounding would count.

    Wrenches (..., 2, 6) say how large the terms of each row are, levers included.
    """
    size = np.linalg.norm(C, axis=-1)
    largest = size.max(axis=-1, keepdims=True, initial=1.0)
    terms = largest if wrenches is None else np.maximum(largest, np.linalg.norm(wrenches, axis=-1).sum(axis=-1))
    return np.where(size > RANK * largest, np.maximum(size, SMALL * terms), 1.0)


def solve(
    system: System, rows: ConstraintRows, M: np.ndarray, force: np.ndarray, prescribed: np.ndarray, method: str = "qr"
) -> tuple[np.ndarray, float]:
    """u' of one state from M u' = force + C' lam, C u' = gamma; ``prescribed`` are accelerations of prescribed motions.
    Also the loss of digits, beyond all limits where an equation was left out that is not redundant to rounding."""
    free = np.ones(system.nu, bool)
    free[list(system.forces.motions)] = False
    follows, tolerance = system.constraints.follows, rank_tolerance(system, rows)
    held = follows < 0
    own = rows.C[held]
    size = scaled_rows(own, rows.wrenches[held])
    C = own / size[:, None]
    gamma = rows.gamma[held] / size - C @ prescribed
    Z, Y = split_space(C[:, free], tolerance, method)
    along, _, _, sizes = np.linalg.lstsq(C[:, free] @ Y, gamma, rcond=None)
    part = Y @ along  # the particular solution
    Mf, f = M[np.ix_(free, free)], force[free]
    udot, inner = np.zeros(system.nu), Z.T @ Mf @ Z
    udot[free] = part + Z @ np.linalg.solve(inner, Z.T @ (f - Mf @ part))
    left, terms = np.abs(C[:, free] @ part - gamma), np.abs(C[:, free]) @ np.abs(part) + np.abs(gamma)
    doubtful = (np.abs(C[:, free] @ Z) > CLEAR).any() or (left > CLEAR * terms).any()
    loss = (
        BEYOND
        if doubtful
        else max(spread(np.abs(Z.T) @ np.abs(Mf) @ np.abs(Z), inner), 1.0 / sizes.min(initial=1.0) ** 2)
    )
    if not held.all():
        F = rows.C[~held][:, free].T
        moved = Z @ np.linalg.solve(Z.T @ Mf @ Z, Z.T @ F)
        rest = np.column_stack([Mf @ udot[free] - f, Mf @ moved - F])
        lam = np.zeros((len(rows.g), rest.shape[1]))
        lam[held] = shortest(own[:, free], rest, tolerance)[0]
        udot[free] += moved @ loads_that_follow(follows, system.constraints.share, lam[:, 0], lam[:, 1:])
    return udot, loss


def spread(terms: np.ndarray, A: np.ndarray) -> float:
    """The largest term of A over its least eigenvalue, at unit diagonal; beyond all limits if A is not positive."""
    if not len(A):
        return 0.0
    root = 1.0 / np.sqrt(np.where(np.diag(A) > 0.0, np.diag(A), 1.0))
    least = np.linalg.eigvalsh(A * root * root[:, None])[0]
    return float((terms * root * root[:, None]).max() / least) if least > 0.0 else BEYOND


def shortest(C: np.ndarray, rest: np.ndarray, tolerance: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest lam (..., nr, c) of C' lam = rest (..., nu, c), and an orthonormal basis (..., nr, k) of C' n = 0.

    The rank is judged of rows of unit length, as where motion is solved for. Where it differs from state to state some
    columns of the basis are zero.
    """
    size = scaled_rows(C)[..., None]
    U, s, Vt = np.linalg.svd(C / size, full_matrices=C.shape[-2] > C.shape[-1])
    rank, nr = (s > np.asarray(tolerance)[..., None]).sum(axis=-1), C.shape[-2]
    if rank.min(initial=nr) == nr:
        return U @ (Vt @ rest / s[..., None]) / size, np.zeros((*C.shape[:-1], 0))
    lam, null = np.zeros((*C.shape[:-1], rest.shape[-1])), np.zeros((*C.shape[:-1], nr - rank.min()))
    for n in np.ndindex(rank.shape):
        r = rank[n]
        own = U[n][:, :r] @ (Vt[n][:r] @ rest[n] / s[n][:r, None]) / size[n]
        space = np.linalg.qr(U[n][:, r:] / size[n])[0]
        lam[n] = own - space @ (space.T @ own)
        null[n][:, : nr - r] = space
    return lam, null


def _swift(u: np.ndarray, udot: np.ndarray) -> float:
    """Of fast motion, as the compiled :func:`hidden_loss`, of NumPy arrays."""
    speed, rate = float(np.square(u).max(initial=0.0)), float(np.abs(udot).max(initial=0.0))
    return BEYOND if speed > FAST * rate and rate > NOTHING * speed else 0.0


def accelerations(system, q, u, forces, signals, udot, start, stop, method="qr"):
    """As the compiled ones; the memory is the System itself."""
    Q, U, X, S, out = (np.atleast_2d(a) for a in (q, u, forces, signals, udot))
    worst = 0.0
    for s in range(start, stop):
        rows = rows_at(system, Q[s], U[s], S[s])
        M = evaluate(mass_matrices, mass_workspace, system, [Q[s]], system.nu**2).reshape(system.nu, system.nu)
        still = np.concatenate([np.zeros(system.nu), X[s, system.nu :]])
        bias = evaluate(torques, torque_workspace, system, [Q[s], U[s], still], system.nu)
        prescribed = np.zeros(system.nu)
        for row, function in system.forces.motions.items():
            prescribed[row] = S[s, 3 + 3 * function]
        try:
            out[s], loss = solve(system, rows, M, X[s, : system.nu] - bias, prescribed, method)
            worst = max(worst, loss, _swift(U[s], out[s]))
        except np.linalg.LinAlgError:  # a singular mass matrix: the caller says where
            out[s] = np.nan
    return float(0.0 * out[start:stop].sum()) + worst
