"""How far accelerations may be from the exact ones: a certificate of every solve, and the repair of those that are off.

Whatever algorithm has found u', its error e is that of the equations of motion and of the constraints,

    M e = r + C' mu,    C e = s,    r = tau - (M u' + bias),    s = gamma - C u',

so one solve with the residuals r and s gives the error, and adding it is the repair (iterative refinement). What this
cannot see is the rounding of the residuals themselves. It is known to a rounding of the terms that they are made of
(rounding.py): solves with random right-hand sides of that size tell what it can do to u'. The bound is the sum of both.

Trees are solved by the articulated-body factors, O(n). Mechanisms with constraints up to ``DENSE`` equations are solved
densely, in the null space of the constraints, by LAPACK: an independent way; larger ones by the factors of reduction.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from ..errors import SimulationError
from ..system.system import System
from . import reduction
from .composite import mass_matrices
from .composite import workspace as mass_workspace
from .constraint_forces import shortest_multipliers
from .constraint_rows import rows_at
from .evaluate import evaluate, prepare
from .inputs import body_of
from .multipliers import PER_GAP
from .newton_euler import torques
from .newton_euler import workspace as torque_workspace
from .nullspace import rank_tolerance, scaled_rows, spread
from .operators import pivots, solutions
from .operators import workspace as solution_workspace
from .reduction_correct import corrections_of
from .reduction_loads import loads_of
from .rounding import ROUNDING, Probe, diagonal_terms, probes_of

DENSE = 400  # degrees of freedom and constraint equations
PROBES = 7  # right-hand sides of the size of a rounding
MARGIN = 10.0  # of what the worst probe does: roundings accumulate
SPILL = 0.2  # of the worst rounding, which any acceleration may have
REPAIR = 1e-10  # of the largest acceleration: larger errors are repaired
SETTLED = 1e-6  # of the same: a correction that stays larger is no correction
MOST = 4  # refinements
LOST = 1e-3  # of a pivot, which may be rounding: nothing that is divided by it can be relied on
LEAST = 1e-12  # m/s^2 or rad/s^2, where nothing moves and nothing acts
CONTRADICT = 1e-8  # of the terms of a constraint equation: what no acceleration can meet


class Unreliable(SimulationError):
    """Accelerations whose error no refinement bounds."""


class Certificate(NamedTuple):
    """What is known of the error of accelerations u', of one state or of B states.

    ``bound`` is relative to the largest acceleration of the state: ``max|u' - exact| <= bound max|u'|``; to that of
    gravity where u' is zero within its error.
    """

    algorithm: str  # that found u'
    bound: Any  # of the relative error; (B,) for a batch
    error: np.ndarray  # (nu,) or (B, nu)  of each acceleration, in its unit
    residual: Any  # of the equations of motion and constraints, relative to their terms
    refinements: Any  # how often u' was corrected


class Problem(NamedTuple):
    """A state to be solved: the generalized forces are all that act, wrenches on bodies stand behind them."""

    system: System
    q: np.ndarray
    u: np.ndarray
    forces: np.ndarray
    signals: np.ndarray


class Errors(NamedTuple):
    """Solutions of the error equation for k right-hand sides, and of the first of them what goes with it."""

    e: np.ndarray  # (nu, k)
    lam: np.ndarray  # (nr)  multipliers
    rest: np.ndarray  # (nu) residual of the equations of motion beside the multipliers
    left: np.ndarray  # (nr) what no acceleration can give the constraint equations
    loss: float  # of the least pivot, relative: how much of it may be rounding


def residual_of(p: Problem, udot: np.ndarray) -> np.ndarray:
    """(nu) tau - (M u' + bias); zero where a motion is prescribed, which takes what it needs."""
    nu, motion = p.system.nu, np.concatenate([udot, p.forces[p.system.nu :]])
    r = p.forces[:nu] - evaluate(torques, torque_workspace, p.system, [p.q, p.u, motion], nu)
    if "friction" in p.system.features:  # its forces follow multipliers
        rows = rows_at(p.system, p.q[None], p.u[None], p.signals[None])
        r = -shortest_multipliers(p.system, rows, -r[None], np.zeros(0, int))[1][0]
    r[list(p.system.forces.motions)] = 0.0
    return r


def _tree(p: Problem, r: np.ndarray) -> Errors:
    """M^-1 r by the articulated-body factors."""

    def workspace(system: System, lanes: int) -> Any:
        return solution_workspace(system, lanes, r.shape[1])

    flat = np.ascontiguousarray(r).ravel()
    e = evaluate(solutions, workspace, p.system, [p.q, flat], flat.size).reshape(r.shape)
    return Errors(e, np.zeros(0), r[:, 0], np.zeros(0), _pivot_loss(p.system, p.q))


def _pivot_loss(system: System, q: np.ndarray) -> float:
    """Of the articulated-body pivots D, against the composite inertia that they are left of."""
    if system.nu > DENSE:
        return 0.0  # of a long chain levers alone would count
    D = np.zeros(system.nu)
    prepare(pivots, 1, 1)
    pivots(solution_workspace(system), np.ascontiguousarray(q), D, 0, 1)
    if not (D > 0.0).all():
        return np.inf
    return float((ROUNDING * diagonal_terms(system, q) / D).max(initial=0.0))


def _dense(p: Problem, r: np.ndarray, s: np.ndarray) -> Errors:
    """In the null space of the constraints, by singular values."""
    system, nu = p.system, p.system.nu
    free = np.setdiff1d(np.arange(nu), list(system.forces.motions))
    M = evaluate(mass_matrices, mass_workspace, system, [p.q], nu**2).reshape(nu, nu)[np.ix_(free, free)]
    rows, held = rows_at(system, p.q, p.u, p.signals), system.constraints.follows < 0
    C = rows.C[held][:, free]
    size = scaled_rows(C)[:, None]
    C, r, s = C / size, r[free], s[held] / size
    U, d, Vt = np.linalg.svd(C)
    rank = int((d > rank_tolerance(system, rows)).sum())
    Y, Z, U, d = Vt[:rank].T, Vt[rank:].T, U[:, :rank], d[:rank, None]
    part, inner, mu = Y @ (U.T @ s / d), Z.T @ M @ Z, np.zeros((len(C), r.shape[1]))
    for _ in range(2):  # first multipliers take what they can: in their place it would drown the rest in rounding
        rest = r + C.T @ mu
        e = part + Z @ _solve_positive(inner, Z.T @ (rest - M @ part))
        mu += U @ (Y.T @ (M @ e - rest) / d)
    terms = np.abs(M)
    np.fill_diagonal(terms, diagonal_terms(system, p.q)[free])
    loss = ROUNDING * spread(np.abs(Z.T) @ terms @ np.abs(Z), inner)
    found = Errors(np.zeros((nu, r.shape[1])), np.zeros(len(held)), np.zeros(nu), np.zeros(len(held)), loss)
    found.e[free] = e
    found.lam[held] = (mu / size)[:, 0]
    found.rest[free] = (r + C.T @ mu)[:, 0]
    found.left[held] = ((s - C @ e)[:, :1] * size)[:, 0]
    return found


def _solve_positive(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A^-1 b, scaled to a unit diagonal."""
    root = 1.0 / np.sqrt(np.where(np.diag(A) > 0.0, np.diag(A), 1.0))[:, None]
    return root * np.linalg.solve(A * root * root.T, root * b)


def _large(p: Problem, r: np.ndarray, s: np.ndarray) -> Errors:
    """By the factors of reduction, O(n + m): multipliers first take what they can of the first residual."""
    lam, left, _ = loads_of(p.system, p.q, p.u, -r[:, 0], p.signals)
    rest = np.column_stack([-left, r[:, 1:]])
    return Errors(corrections_of(p.system, p.q, p.u, rest, s, p.signals), lam, -left, 0.0 * s[:, 0], 0.0)


def solve_error(p: Problem, r: np.ndarray, s: np.ndarray) -> Errors:
    """For the columns of r (nu, k) and s (nr, k)."""
    system = p.system
    if not system.constraints.count and not system.forces.motions:
        return _tree(p, r)
    large = system.nu + system.constraints.count > DENSE and system.features <= reduction.SUPPORTS
    if large and system.constraints.count:
        return _large(p, r, s)
    with _linear_algebra().limit(limits=1):  # threads that wait for busy cores take seconds for what takes milliseconds
        return _dense(p, r, s)


@cache
def _linear_algebra() -> Any:
    """The libraries of linear algebra in this process, and their threads."""
    return ThreadpoolController()


def certify(p: Problem, udot: np.ndarray, algorithm: str) -> tuple[np.ndarray, Certificate]:
    """u', corrected where its error is more than rounding, and its certificate."""
    lam, noise, before = np.zeros(p.system.constraints.count), np.zeros(p.system.nu), np.inf
    for refined in range(MOST + 1):
        r, largest = residual_of(p, udot), np.abs(udot).max(initial=0.0)
        lacks = _lacks(p, udot, lam)
        found = solve_error(p, r[:, None], lacks[:, None])
        e, lam = found.e[:, 0], found.lam
        if refined == 0:
            probes = probes_of(*p, udot, lam, PROBES)
            probes.motion[list(p.system.forces.motions)] = 0.0
            if found.left.any():
                _require_consistent(p, largest, probes, found.left)
            noise = MARGIN * np.abs(solve_error(p, probes.motion, probes.rows).e).max(axis=1, initial=0.0)
        off = np.abs(e).max(initial=0.0)
        if off <= max(REPAIR * largest, noise.max(initial=0.0)) or refined == MOST or not off < 0.5 * before:
            break
        udot, before = udot + e, off
    noise = np.maximum(noise, SPILL * noise.max(initial=0.0))
    error = 2.0 * np.abs(e) + noise + ROUNDING * (4.0 * np.abs(udot) + largest)
    residual = max(_share(found.rest, probes.motion), _share(lacks, probes.rows))
    worst = error.max(initial=0.0)
    if off > max(SETTLED * largest, noise.max(initial=0.0)) or not found.loss < LOST:
        raise _lost(p, algorithm, off / largest if largest else np.inf, found.loss, e)
    if worst >= largest:  # zero within its error
        largest = max(largest, float(np.linalg.norm(p.system.gravity)))
    bound = float(worst / largest) if largest > 0.0 else (np.inf if worst > 0.0 else 0.0)
    return udot, Certificate(algorithm, bound, error, residual, refined)


def _lacks(p: Problem, udot: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """(nr) gamma - C u', of the equations that hold."""
    if not p.system.constraints.count:
        return lam
    return np.where(p.system.constraints.follows < 0, probes_of(*p, udot, lam, 1).lacks, 0.0)


def _lost(p: Problem, algorithm: str, off: float, loss: float, e: np.ndarray) -> Unreliable:
    """The complaint about accelerations that cannot be relied on."""
    if not loss < LOST:
        why = "a pivot of the mass matrix is the difference of terms that cancel to rounding"
    else:
        why = f"a correction of {off:.1e} of the largest acceleration stays, after refinement"
    j = int(np.argmax(np.abs(e)))
    return Unreliable(
        f"accelerations of '{p.system.name}' by '{algorithm}' are lost to rounding",
        got=why,
        where=p.system.mechanical(body_of(p.system, "u", j)),
        hint="masses or lengths differ too much for doubles: leave out what is tiny, or weld it to its neighbour",
    )


def _share(left: np.ndarray, probes: np.ndarray) -> float:
    """The largest of what is left of equations, relative to the largest terms that their roundings show."""
    size = float(np.abs(probes).max(initial=0.0)) / ROUNDING
    return float(np.abs(left).max(initial=0.0)) / size if size > 0.0 else 0.0


def _require_consistent(p: Problem, largest: float, probes: Probe, left: np.ndarray) -> None:
    """Refuse constraint equations that contradict each other: what no acceleration can give them is beyond rounding, of
    their terms and of what the terms of the equations of motion would do to them one by one."""
    system = p.system
    found = rows_at(system, p.q, p.u, p.signals)
    masses = np.diag(evaluate(mass_matrices, mass_workspace, system, [p.q], system.nu**2).reshape(system.nu, -1))
    alone = np.abs(found.C) @ np.where(masses > 0.0, probes.motion_size / np.where(masses > 0.0, masses, 1.0), 0.0)
    gap = np.abs(found.g).max(initial=0.0) * max(1.0, 1.0 / system.constraints.size)
    size = np.linalg.norm(found.wrenches, axis=-1).sum(axis=-1) * (largest + float(np.abs(p.u).max(initial=0.0)) ** 2)
    allowed = (CONTRADICT + PER_GAP * gap) * (probes.row_size + alone + size) + LEAST * max(1.0, largest)
    if (np.abs(left) > allowed).any():
        raise contradiction(system, left, allowed)


def contradiction(system: System, left: np.ndarray, allowed: np.ndarray) -> SimulationError:
    """The complaint about constraint equations that no acceleration meets, by name."""
    c = system.constraints
    worst = np.argsort(-np.abs(left) / np.where(allowed > 0.0, allowed, 1.0))
    names = list(dict.fromkeys(c.owner[r] for r in worst if abs(left[r]) > allowed[r]))
    said = ", ".join(f"'{name}'" for name in names[:6]) + (", ..." if len(names) > 6 else "")
    return SimulationError(
        f"constraints of '{system.name}' contradict each other",
        expected="accelerations that meet all constraint equations",
        got=f"{np.abs(left).max():.3g} m/s^2 or rad/s^2 that none can give",
        where=said,
        hint="remove one of them, or prescribe motions that agree",
    )
