"""How far accelerations may be from the exact ones: a certificate of every solve, and the repair of those that are off.

Whatever algorithm has found u', its error e is that of the equations of motion and of the constraints,

    M e = r + C' mu,    C e = s,    r = tau + C' lam - (M u' + bias),    s = gamma - C u',

so one solve with the residuals r and s gives the error, and adding it is the repair (iterative refinement). Residuals
have twice the digits (equations.py), so that refinement goes down to the last digit of u'. It is believed where the
solver of the error equation is: pivots, or known errors that it must find, are measured. What is left is the rounding
of the System's numbers: solves with the residuals of systems next to it. The bound is the sum of both.

Trees are solved by the articulated-body factors, O(n). Mechanisms with constraints up to ``DENSE`` equations are solved
densely, in the null space of the constraints, by LAPACK: an independent way; larger ones by the factors of reduction.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
from threadpoolctl import ThreadpoolController

from ...errors import SimulationError
from ...system.system import System
from ..constraints.consistency import START, pulled_motions
from ..constraints.forces import shortest_multipliers
from ..constraints.jacobian import rows_at
from ..constraints.multipliers import PER_VIOLATION
from ..constraints.nullspace import rank_tolerance, scaled_rows
from ..dispatch import prepare
from ..inputs import body_of
from ..registry import with_corrections
from ..tree.innovations import solutions
from ..tree.innovations import workspace as solution_workspace
from .equations import ROUNDING, Equations, prescribe
from .limits import DENSE

PROBES = 7  # systems that are off by a rounding
MARGIN = 10.0  # of what the worst of them does: compiling a model rounds more than once
OPEN = 1e-3  # of the largest acceleration, or of gravity: what disagreeing equations may leave open
SPILL = 0.6  # of the worst rounding, which any acceleration may have
LEAST_ROUNDINGS = 256.0  # of the largest acceleration, that any may be off by: no bound is below 3e-14
FINEST = 8.0 * ROUNDING  # of the largest acceleration: smaller errors are not repaired
SETTLED = 1e-6  # of the same, or of what single terms would cause: a correction that stays larger is no correction
FALL = 0.1  # of gravity, or of what single terms would cause: accelerations are compared with no less
MOST = 12  # refinements
CHOICES = 10.0  # times what disagreeing equations do in the mean: another solver may meet some and leave others
LOST = 0.3  # of a known error, or of a pivot: a solver that misses so much does not find the error
LEAST = 1e-12  # m/s^2 or rad/s^2, where nothing moves and nothing acts
TINY = 1e-30  # the same: less is nothing
CONTRADICT = 1e-8  # of the terms of a constraint equation: what no acceleration can meet
BRANCH = 1e-5  # of the terms of dC[a] a: what is left of them where motions can go on
FAINT = 1e-6  # of a a: what they are taken as at least, as translations do not change C
PER_OPEN = 100.0  # times the closure error is added to that
SINGULAR = "the mass matrix, or what constraints leave of it, is lost to rounding"
TAKES_PART = 1e-3  # of the largest of those: a prescribed motion that is pulled at by more is one of them


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
    residual: Any  # of the equations of motion and constraints, relative to their terms, before any correction
    refinements: Any  # how often u' was corrected
    branches: Any  # whether loops lose rank in this pose: the equations have an answer, which no motion has


class Problem(NamedTuple):
    """A state to be solved: the generalized forces are all that act, wrenches on bodies stand behind them."""

    system: System
    q: np.ndarray
    u: np.ndarray
    forces: np.ndarray
    signals: np.ndarray


# ---------------------------------------------------------------- solvers of the error equation
# solve(r, s) gives e and mu for the columns of r (nu, k) and s (nr, k); missed() is the share of a known error that it
# does not find, pushes(tau - bias) the largest acceleration that a single term would cause, 0 where that is not known,
# left(s) what of constraint equations no acceleration can meet, open_by(s) how far that leaves the
# accelerations open: redundant equations that disagree by a rounding of the velocities are met in part each; and
# branches() whether equations are lost in this pose.


class _Tree:
    """M^-1 r by the articulated-body factors; what is prescribed does not move."""

    def __init__(self, p: Problem, equations: Equations) -> None:
        self.p, self.equations, self.memory = p, equations, solution_workspace(p.system)
        prescribe(p.system, self.memory)
        prepare(solutions, 2, 1)

    def solve(self, r: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        out = np.zeros(r.size)
        solutions(self.memory, np.ascontiguousarray(self.p.q), np.ascontiguousarray(r).ravel(), out, 0, 1)
        return out.reshape(r.shape), s

    def missed(self) -> float:
        return self.equations.pivot_loss()

    def pushes(self, still: np.ndarray) -> float:
        return 0.0

    def left(self, s: np.ndarray) -> np.ndarray:
        return s

    def open_by(self, s: np.ndarray) -> np.ndarray:
        return np.zeros(self.p.system.nu)

    def branches(self) -> bool:
        return False


class _Dense:
    """In the null space of the constraints, by singular values."""

    def __init__(self, p: Problem, equations: Equations) -> None:
        system = p.system
        self.p, self.equations, self.held = p, equations, system.constraints.follows < 0
        self.free = np.setdiff1d(np.arange(system.nu), list(system.forces.motions))
        self.M, C = equations.matrices()
        self.rows, C = rows_at(system, p.q, p.u, p.signals), C[self.held][:, self.free]
        self.size = scaled_rows(C, self.rows.wrenches[self.held])[:, None]
        U, d, Vt = np.linalg.svd(C / self.size)
        rank = int((d > rank_tolerance(system, self.rows)).sum())
        self.U, self.d, self.Y, self.Z = U[:, :rank], d[:rank, None], Vt[:rank].T, Vt[rank:].T
        self.U_left = U[:, rank:]
        inner = self.Z.T @ self._inner() @ self.Z
        self.root = 1.0 / np.sqrt(np.where(np.diag(inner) > 0.0, np.diag(inner), 1.0))[:, None]
        self.inner = inner * self.root * self.root.T  # of unit diagonal

    def _inner(self) -> np.ndarray:
        return self.M[np.ix_(self.free, self.free)]

    def solve(self, r: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        M, r, s = self._inner(), r[self.free], s[self.held] / self.size
        part = self.Y @ (self.U.T @ s / self.d)
        within = self.root * np.linalg.solve(self.inner, self.root * (self.Z.T @ (r - M @ part)))
        e, mu = np.zeros((self.p.system.nu, r.shape[1])), np.zeros((len(self.held), r.shape[1]))
        e[self.free] = part + self.Z @ within
        mu[self.held] = self.U @ (self.Y.T @ (M @ e[self.free] - r) / self.d) / self.size
        return e, mu

    def missed(self) -> float:
        """Of errors with as much kinetic energy in each direction, by that energy."""
        values, V = np.linalg.eigh(self.inner)
        if not len(values):
            return 0.0
        if not values[0] > ROUNDING * values[-1]:  # LAPACK may find a pivot that is zero
            return np.inf
        scale, back = self.root * V / np.sqrt(values), (V * np.sqrt(values)).T / self.root.T
        known = np.random.default_rng(1).choice([-1.0, 1.0], (len(values), 2))
        error = np.zeros((self.p.system.nu, 2))
        error[self.free] = self.Z @ (scale @ known)
        found = self.solve(*_differences(self.equations, error))[0][self.free] - error[self.free]
        return float(np.abs(back @ (self.Z.T @ found)).max())

    def pushes(self, still: np.ndarray) -> float:
        return single_pushes(self.p, self.M, still)

    def open_by(self, s: np.ndarray) -> np.ndarray:
        left = np.abs(self.left(s)[self.held] / self.size[:, 0])
        open_by = np.zeros(self.p.system.nu)
        open_by[self.free] = CHOICES * (np.abs((self.Y / self.d.T) @ self.U.T) @ left)
        return open_by

    def branches(self) -> bool:
        """Whether rows lose rank in this pose alone: with L' C = 0, motions a that C allows go on if L' dC[a] a = 0."""
        p, L = self.p, self.U_left
        violation = float(np.abs(self.rows.g).max(initial=0.0)) * max(1.0, 1.0 / p.system.constraints.size)
        if not L.shape[1] or not self.Z.shape[1] or violation > START:
            return False  # open states are no poses of the mechanism
        a = np.zeros((2, p.system.nu))
        a[:, self.free] = np.cos(1.0 + np.arange(2)[:, None] + 2.0 * np.arange(self.Z.shape[1])) @ self.Z.T
        U = np.concatenate([a, -a, np.zeros((1, p.system.nu))])  # motions that are nothing special
        Q, S = (np.tile(x, (5, 1)) for x in (p.q, p.signals))
        gamma = rows_at(p.system, Q, U, S, matrix=False).gamma[:, self.held] / self.size[:, 0]
        change = 0.5 * (gamma[:2] + gamma[2:4]) - gamma[4]  # - dC[a] a
        terms = np.abs(change).max(axis=1) + FAINT * np.square(a).max(axis=1)
        return bool((np.abs(change @ L) > (BRANCH + PER_OPEN * violation) * terms[:, None]).any())

    def left(self, s: np.ndarray) -> np.ndarray:
        s, left = s[self.held] / self.size[:, 0], np.zeros(len(self.held))
        left[self.held] = (s - self.U @ (self.U.T @ s)) * self.size[:, 0]
        return left


class _Large:
    """By the factors of reduction, O(n + m)."""

    def __init__(self, p: Problem, equations: Equations) -> None:
        self.p, self.equations = p, equations

    def solve(self, r: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p, by = self.p, cast(Any, with_corrections(self.p.system))
        lam, left, _ = by.reactions(p.system, p.q, p.u, -r[:, 0], p.signals)  # first: it would drown the rest
        rest = np.column_stack([-left, r[:, 1:]])
        return by.corrections(p.system, p.q, p.u, rest, s, p.signals), lam[:, None]

    def missed(self) -> float:
        error = np.random.default_rng(1).choice([-1.0, 1.0], (self.p.system.nu, 1))
        error[list(self.p.system.forces.motions)] = 0.0
        return float(np.abs(self.solve(*_differences(self.equations, error))[0] - error).max())

    def pushes(self, still: np.ndarray) -> float:
        return 0.0

    def left(self, s: np.ndarray) -> np.ndarray:
        return 0.0 * s

    def open_by(self, s: np.ndarray) -> np.ndarray:
        return np.zeros(self.p.system.nu)

    def branches(self) -> bool:
        return False  # not looked for


def _differences(equations: Equations, error: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Residuals that accelerations have by known errors (nu, k) alone: M e and C e."""
    none = np.zeros(equations.system.constraints.count)
    right = equations.residual(np.zeros(len(error)), none)
    found = [equations.residual(-e, none) for e in error.T]
    return tuple(np.column_stack([x[n] - right[n] for x in found]) for n in range(2))  # type: ignore[return-value]


def single_pushes(p: Problem, M: np.ndarray, still: np.ndarray) -> float:
    """The largest acceleration that generalized forces, or what acts besides, would cause on their own DOF alone;
    ``still``: tau - bias."""
    masses, tau = np.diag(M), p.forces[: p.system.nu]
    terms = np.abs(tau) + np.abs(still) + np.abs(still - tau)
    return float((terms[masses > 0.0] / masses[masses > 0.0]).max(initial=0.0))


def pushes_of(p: Problem) -> float:
    """The same of a state."""
    equations, none = Equations(*p), np.zeros(p.system.constraints.count)
    return single_pushes(p, equations.matrices()[0], equations.residual(np.zeros(p.system.nu), none).motion)


def _solver(p: Problem, equations: Equations) -> Any:
    if not p.system.constraints.count:
        return _Tree(p, equations)
    return (_Large if is_large(p.system) else _Dense)(p, equations)


def is_large(system: System) -> bool:
    """Whether the error equation is solved by the factors of reduction."""
    count = system.constraints.count
    return bool(count) and system.nu + count > DENSE and with_corrections(system) is not None


@cache
def _linear_algebra() -> Any:
    """The libraries of linear algebra in this process, and their threads."""
    return ThreadpoolController()


# ---------------------------------------------------------------- certificates


def certify(p: Problem, udot: np.ndarray, algorithm: str) -> tuple[np.ndarray, Certificate]:
    """u', corrected to its last digits, and its certificate."""
    with _linear_algebra().limit(limits=1):  # threads that wait for busy cores take seconds for what takes milliseconds
        try:
            return _certify(p, udot, algorithm)
        except np.linalg.LinAlgError:  # a pivot of LAPACK is zero
            raise _lost(p, algorithm, SINGULAR, udot) from None


def _certify(p: Problem, udot: np.ndarray, algorithm: str) -> tuple[np.ndarray, Certificate]:
    equations = Equations(*p)
    solver = _solver(p, equations)
    missed = solver.missed()
    if not missed < LOST:
        raise _lost(p, algorithm, SINGULAR, udot)
    lam, before, residual = np.zeros(p.system.constraints.count), np.inf, 0.0
    still = equations.residual(0.0 * udot, lam).motion  # tau - bias
    terms = max(np.abs(p.forces).max(initial=0.0), np.abs(still).max(initial=0.0), LEAST)  # forces that are balanced
    if p.system.constraints.count:
        r, s = _residual(p, equations, udot, lam)
        lam, terms = solver.solve(r, s)[1][:, 0], max(terms, np.abs(r).max(initial=0.0))
    finest = 0.0
    if p.system.flexible:  # whose residuals have no more digits
        finest = _noise(p, equations, solver, udot, lam).max(initial=0.0)
    for refined in range(MOST + 1):
        largest = np.abs(udot).max(initial=0.0)
        r, s = _residual(p, equations, udot, lam)
        if refined == 0:
            residual = max(np.abs(r).max(initial=0.0) / terms, np.abs(s).max(initial=0.0) / max(largest, LEAST))
            _require_consistent(p, solver, udot, still, solver.left(s[:, 0]))
        step, mu = solver.solve(r, s)
        e, off = step[:, 0], np.abs(step).max(initial=0.0)
        if off <= max(FINEST * largest, finest) or refined == MOST or not off < 0.5 * before:
            break
        udot, lam, before = udot + e, lam + mu[:, 0], off
    met = np.abs(r).max(initial=0.0) / terms
    grown = np.abs(mu).max(initial=0.0) > 0.1 * np.abs(lam).max(initial=0.0)
    if grown and not met <= SETTLED:  # multipliers of constraint equations that are taken for independent, and are not
        raise _lost(p, algorithm, f"the equations of motion are met to {met:.1e} only", r[:, 0])
    balanced = FALL * max(float(np.linalg.norm(p.system.gravity)), solver.pushes(still))  # near balance u' is rounding
    if not off <= SETTLED * max(largest, balanced, LEAST):
        raise _lost(p, algorithm, f"a correction of {off / largest:.1e} of the largest acceleration stays", e)
    noise = _noise(p, equations, solver, udot, lam)  # at the refined u': terms of a u' far off are not those that round
    open_by, weight = solver.open_by(s[:, 0]), float(np.linalg.norm(p.system.gravity))
    if open_by.max(initial=0.0) > OPEN * max(largest, weight) + LEAST:
        raise _lost(p, algorithm, "constraint equations that are redundant but for rounding disagree", open_by)
    noise += open_by
    error = 2.0 * np.abs(e) / (1.0 - missed) + noise + LEAST_ROUNDINGS * ROUNDING * largest + TINY
    worst = error.max(initial=0.0)
    if not np.isfinite(worst):
        raise _lost(p, algorithm, "a rounding of the model's numbers leaves nothing of them", udot)
    if worst >= largest:  # zero within its error
        largest = max(largest, weight)
    bound = float(worst / largest) if largest > 0.0 else (np.inf if worst > TINY else 0.0)
    return udot, Certificate(algorithm, bound, error, residual, refined, solver.branches())


def _noise(p: Problem, equations: Equations, solver: Any, udot: np.ndarray, lam: np.ndarray) -> np.ndarray:
    """(nu) What roundings of the System's numbers may do to each acceleration."""
    near = equations.roundings(udot, lam, PROBES)
    near.motion[list(p.system.forces.motions)] = 0.0
    near.rows[p.system.constraints.follows >= 0] = 0.0
    noise = MARGIN * np.abs(solver.solve(*near)[0]).max(axis=1, initial=0.0)
    return np.maximum(noise, SPILL * noise.max(initial=0.0))


def _residual(p: Problem, equations: Equations, udot: np.ndarray, lam: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of the equations that hold, (nu, 1) and (nr, 1): a prescribed motion takes what it needs, friction follows."""
    r, s = equations.residual(udot, lam)
    if "friction" in p.system.features:  # its forces follow multipliers
        rows = rows_at(p.system, p.q[None], p.u[None], p.signals[None])
        r = -shortest_multipliers(p.system, rows, -r[None], np.zeros(0, int))[1][0]
    r[list(p.system.forces.motions)] = 0.0
    return r[:, None], np.where(p.system.constraints.follows < 0, s, 0.0)[:, None]


def _lost(p: Problem, algorithm: str, why: str, e: np.ndarray) -> Unreliable:
    """The complaint about accelerations that cannot be relied on."""
    return Unreliable(
        f"accelerations of '{p.system.name}' by '{algorithm}' are lost to rounding",
        got=why,
        where=p.system.mechanical(body_of(p.system, "u", int(np.argmax(np.abs(e))))),
        hint="masses or lengths differ too much for doubles: leave out what is tiny, or weld it to its neighbour",
    )


def _require_consistent(p: Problem, solver: Any, udot: np.ndarray, still: np.ndarray, left: np.ndarray) -> None:
    """Refuse constraint equations that contradict each other: what no acceleration can give them is beyond rounding, of
    their terms and of what the terms of the equations of motion would do to them one by one."""
    if not left.any():
        return
    rows, M, largest = solver.rows, np.abs(solver.M), np.abs(udot).max(initial=0.0)
    C, masses = np.abs(rows.C), np.diag(M)
    terms = M @ np.abs(udot) + np.abs(p.forces[: p.system.nu]) + np.abs(still)
    alone = C @ np.where(masses > 0.0, terms / np.where(masses > 0.0, masses, 1.0), 0.0)
    violation = np.abs(rows.g).max(initial=0.0) * max(1.0, 1.0 / p.system.constraints.size)
    size = np.linalg.norm(rows.wrenches, axis=-1).sum(axis=-1) * (largest + float(np.abs(p.u).max(initial=0.0)) ** 2)
    of_rows = C @ np.abs(udot) + np.abs(rows.gamma)
    allowed = (CONTRADICT + PER_VIOLATION * violation) * (of_rows + size + alone) + LEAST * max(1.0, largest)
    if (np.abs(left) > allowed).any():
        raise contradiction(p.system, left, allowed, rows.C)


def contradiction(system: System, left: np.ndarray, allowed: np.ndarray, C: np.ndarray) -> SimulationError:
    """The complaint about constraint equations that no acceleration meets, by name, and prescribed motions."""
    c = system.constraints
    worst = np.argsort(-np.abs(left) / np.where(allowed > 0.0, allowed, 1.0))
    names = list(dict.fromkeys(c.owner[r] for r in worst if abs(left[r]) > allowed[r]))
    names += pulled_motions(system, C, left, TAKES_PART)
    reported = ", ".join(f"'{name}'" for name in names[:6]) + (", ..." if len(names) > 6 else "")
    return SimulationError(
        f"constraints of '{system.name}' contradict each other",
        expected="accelerations that meet all constraint equations",
        got=f"{np.abs(left).max():.3g} m/s^2 or rad/s^2 that none can give",
        where=reported,
        hint="remove one of them, or prescribe motions that agree",
    )
