"""When a solve is believed as it is, and what happens to one that is not.

A pass measures its loss: how many roundings of the terms of a pivot that pivot is worth. Below LIMIT it is believed. A
state with a larger loss gets a certificate (certificate.py), which corrects its accelerations; one that needed no
correction raises the limit for its System, so that long chains, whose levers look like a loss, are looked at once.

Reduction eliminates by a plan. A plan is believed once the state that it was made for has a certificate, and as long as
its pivots stay near those of that state.
"""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np

from ...errors import SimulationError, warn
from ...system.system import System
from ..constraints.jacobian import rows_at
from ..constraints.multipliers import RANK
from ..constraints.nullspace import rank_tolerance, split_space
from ..registry import ALGORITHMS, with_corrections
from .certificate import FALL, Certificate, Problem, Unreliable, certify, is_large, pushes_of
from .fast_motion import BEYOND
from .limits import DENSE, LIMIT
from .unevenness import UNEVEN, first_limit, is_graded

FINE = 1e-13  # error for each degree of freedom, with which a larger loss is believed from then on
FEW = 10  # degrees of freedom at least: other states may lose a thousand times as much
LONG = 3  # the worst of some thousand poses of a chain of even bodies is off by up to nu^2 / LONG of FINE
PROMISED = 1e-9  # error that a plain call stays below; beyond, the caller is warned
POOR = 1e-6  # the same of flexible bodies
BALANCED = 1e-6  # of what single terms would cause: where accelerations are less, those terms cancel
SWIFT = 100.0  # rad/s or m/s at least, at which a pose is tried
RISE = 4.0  # of a loss that was fine
MOST = 1e8  # loss that may be fine where lengths or masses are so uneven: more is luck


class Solved(NamedTuple):
    """Accelerations of one state or of B states, by an algorithm, under all forces."""

    system: System
    algorithm: str
    q: np.ndarray
    u: np.ndarray
    forces: np.ndarray
    signals: np.ndarray
    udot: np.ndarray
    way: str  # the algorithm with its options

    def states(self) -> list[tuple[Problem, np.ndarray]]:
        """Of each state the problem and its accelerations."""
        columns = (np.atleast_2d(x) for x in self[2:7])
        return [(Problem(self.system, *state), udot) for *state, udot in zip(*columns, strict=True)]


def loss_limit(system: System, way: str) -> float:
    """The loss up to which accelerations by an algorithm with its options are believed."""
    if ("loss", way) not in system.workspaces.found:
        system.workspaces.found["loss", way] = first_limit(system)
    return system.workspaces.found["loss", way]


def promised(system: System) -> float:
    """The bound of the error with which a solve is believed: those of flexible bodies are larger than their errors."""
    return POOR if system.flexible else PROMISED


def fine_for(system: System) -> float:
    """The error with which a solve is believed: roundings add up along a chain, and a chain makes levers of them.

    In large mechanisms they add up to more than is promised, and a correction takes 25 times as long as the solve: the
    caller is warned, and may ask for a certificate.
    """
    large = is_large(system)
    longest = system.nu if first_limit(system) == LIMIT and (large or not system.constraints.count) else 0
    grown = ((system.nu + system.constraints.count) / DENSE) ** 2 if large else 1.0
    levers = min(FINE * longest**2 / LONG, PROMISED / RISE * grown)  # a loss RISE times as large is believed too
    return max(min(PROMISED, FINE * max(FEW, system.nu)), levers)


def certified(solved: Solved, auto: bool) -> tuple[np.ndarray, Certificate]:
    """Accelerations, corrected where they need it, and their certificate."""
    found = [_certify(problem, udot, solved.algorithm, auto) for problem, udot in solved.states()]
    if solved.q.ndim == 1:
        return found[0]
    if not found:
        none = np.zeros(0)
        return solved.udot, Certificate(solved.algorithm, none, solved.udot.copy(), none, none, none.astype(bool))
    names = ", ".join(dict.fromkeys(c.algorithm for _, c in found))
    columns = (np.array(column) for column in zip(*(c[1:] for _, c in found), strict=True))
    return np.array([udot for udot, _ in found]), Certificate(names, *columns)


def _certify(problem: Problem, udot: np.ndarray, algorithm: str, auto: bool) -> tuple[np.ndarray, Certificate]:
    """Of one state. "auto" goes on with another algorithm where one is lost to rounding."""
    try:
        return certify(problem, udot.copy(), algorithm)
    except Unreliable as lost:
        failure = lost
    for name, other in _others(problem, algorithm) if auto else ():
        try:
            return certify(problem, other, name)
        except Unreliable:
            continue
    raise failure


def _others(problem: Problem, algorithm: str) -> Any:
    """Accelerations by the other algorithms that solve any pose."""
    from ..functions import solve_again

    for name in (a.name for a in ALGORITHMS.values() if a.solves_any_pose):
        udot = None if name == algorithm else solve_again(problem, name, name)
        if udot is not None:
            yield name, udot


def trusted(solved: Solved, loss: float, auto: bool) -> np.ndarray:
    """Accelerations that are believed, or corrected."""
    system, algorithm = solved.system, ALGORITHMS[solved.algorithm]
    if algorithm.by_plan and (loss < BEYOND or solved.q.ndim == 2):
        solved = solved._replace(udot=_by_trusted_plan(solved, auto))
        if loss < BEYOND:
            return solved.udot  # else some states are fast, or have plans of their own
    loss = algorithm.judged(system, loss)
    limit = loss_limit(system, solved.way)
    if loss <= limit:
        return solved.udot
    doubted, rows = solved, cast(Any, slice(None))
    if solved.q.ndim == 2 and algorithm.measures_loss:
        rows = _beyond(solved, limit) or rows
        doubted = _part(solved, rows)
    udot, proof = certified(doubted, auto)
    most = MOST if first_limit(system) == UNEVEN else BEYOND
    if loss < most and _fine(doubted, udot, proof) and _fine_elsewhere(_part(doubted, 0)):
        system.workspaces.found["loss", solved.way] = RISE * loss
        _warn(doubted, udot, proof)
        return solved.udot  # to the bit what later calls return
    _warn(doubted._replace(udot=udot), udot, proof)
    solved.udot[rows] = udot
    return solved.udot


def _beyond(solved: Solved, limit: float) -> list[int]:
    """The states of a batch whose own loss is beyond the limit, found by halving: they alone get a certificate."""
    from ..functions import loss_of

    found, parts = [], np.array_split(np.arange(len(solved.q)), 2)
    while parts:
        rows = parts.pop()
        if rows.size and not loss_of(_part(solved, rows)) <= limit:
            found += [int(rows[0])] if rows.size == 1 else []
            parts += np.array_split(rows, 2) if rows.size > 1 else []
    return found


def _by_trusted_plan(solved: Solved, auto: bool) -> np.ndarray:
    """The state that a new plan was made for is certified; one that the plan does not solve is corrected."""
    system, one = solved.system, solved.q.ndim == 1
    entry = ALGORITHMS[solved.algorithm].accelerations
    key: Any = entry if one else (entry, system.nu)
    waiting: Any = (system.workspaces.ready if one else system.workspaces.pool).get(key, ())
    for planned in waiting:
        if planned.plan is planned.trusted:
            continue
        made_at = np.concatenate([np.atleast_2d(solved.q), np.atleast_2d(solved.signals)], axis=1)
        rows = np.flatnonzero((made_at == planned.pose).all(axis=1))
        state = _part(solved, int(rows[0]) if rows.size else 0)
        udot, proof = certified(state, auto)
        if rows.size and _fine(state, udot, proof) and _fine_elsewhere(state):
            planned.trusted = planned.plan
            _warn(state, udot, proof)
            continue
        _warn(state._replace(udot=udot), udot, proof)
        if one and not rows.size:
            planned.plan = None  # the next state has a plan of its own, which may be believed
        return udot if one else certified(solved, auto)[0]
    return solved.udot


def _fine(solved: Solved, right: np.ndarray, proof: Certificate) -> bool:
    """Whether the accelerations needed no correction."""
    system, fine = solved.system, fine_for(solved.system)
    if not system.flexible and _relative(system, proof.error, right) >= max(promised(system), fine):
        return False  # bounds of flexible bodies are far above their errors, and no correction is below them
    return _relative(system, solved.udot - right, right) < fine


def _fine_elsewhere(solved: Solved) -> bool:
    """Whether the algorithm finds as much in the same pose at high velocities, and under other forces."""
    if _nearly_loses_a_row(solved):
        return False  # what two other states lose there is luck
    rng = np.random.default_rng(1)
    u = _allowed(solved, rng.normal(size=solved.u.shape))
    fast = solved._replace(u=max(SWIFT, float(np.abs(solved.u).max(initial=0.0))) * u)
    tau = max(1.0, float(np.abs(solved.forces).max(initial=0.0))) * rng.normal(size=solved.u.shape)
    pushed = solved._replace(forces=np.concatenate([tau, solved.forces[solved.system.nu :]]))
    if not (_solves(fast) and _solves(pushed)):
        return False
    rigid = not solved.system.flexible  # modes that are pushed alike are beyond all digits
    measured = ALGORITHMS[solved.algorithm].measures_loss and not (rigid and is_graded(solved.system))
    return measured or _solves(_moved_alike(solved, u), PROMISED / RISE, 1.0)


def _moved_alike(solved: Solved, u: np.ndarray) -> Solved:
    """At rest, under forces that accelerate all parts alike. Any forces move the lightest parts most, which hides what
    is lost elsewhere: light links under heavy ones, and subchains that cancel each other."""
    from ..functions import needed_forces

    system, still = solved.system, 0.0 * u
    tau = needed_forces(system, solved.q, still, float(scale_of(system, solved.udot)) * u)
    return solved._replace(u=still, forces=np.concatenate([tau, 0.0 * solved.forces[system.nu :]]))


def _nearly_loses_a_row(solved: Solved) -> bool:
    """Whether a rounding of the velocity terms is an error above RISE-th of what is promised, in independent rows."""
    system = solved.system
    if not 0 < system.constraints.count <= DENSE - system.nu:
        return False
    rows = rows_at(system, solved.q, solved.u, solved.signals)
    own, terms = np.linalg.norm(rows.C, axis=1), np.linalg.norm(rows.wrenches, axis=2).sum(axis=1)
    scale = np.maximum(own, terms)  # a row whose terms cancel is nearly lost
    sizes = np.linalg.svd(rows.C / np.where(scale > 0.0, scale, 1.0)[:, None], compute_uv=False)
    least = sizes[sizes > rank_tolerance(system, rows)].min(initial=1.0)
    return bool(least < RISE * np.finfo(float).eps / PROMISED)


def _allowed(solved: Solved, u: np.ndarray) -> np.ndarray:
    """A direction of motion that constraints allow, near u."""
    system = solved.system
    if 0 < system.constraints.count <= DENSE - system.nu:
        Z, _ = split_space(rows_at(system, solved.q, solved.u, solved.signals).C, RANK)
        u = Z @ (Z.T @ u)
    elif system.constraints.count and (algorithm := with_corrections(system)) and algorithm.corrections:
        none = np.zeros((system.constraints.count, 1))
        u = algorithm.corrections(system, solved.q, solved.u, u[:, None], none, solved.signals)[:, 0]
        u = u / (float(np.abs(u).max()) or 1.0)
    return u


def _solves(solved: Solved, fine: float = 0.0, bounds: float = 0.0) -> bool:
    """Whether the algorithm solves another state of the System right: to ``fine``, or what is believed, of the terms of
    its accelerations; and to some ``bounds`` of what roundings of the model do: long chains are that sensitive."""
    from ..functions import solve_again

    system, (problem, _) = solved.system, solved.states()[0]
    udot = solve_again(problem, solved.algorithm, solved.way)
    if udot is None:
        return False
    try:
        right, proof = certify(problem, udot, solved.algorithm)
    except SimulationError:
        return False
    terms = max(float(np.square(problem.u).max(initial=0.0)), float(scale_of(system, right)))
    allowed = max(fine_for(system), fine) * terms + bounds * float(proof.error.max(initial=0.0))
    return bool(np.abs(udot - right).max(initial=0.0) < allowed)


def scale_of(system: System, udot: np.ndarray) -> Any:
    """The largest acceleration of each state, and no less than a share of gravity: in equilibrium all are rounding."""
    size = np.maximum(np.abs(udot).max(axis=-1, initial=0.0), FALL * float(np.linalg.norm(system.gravity)))
    return np.where(size > 0.0, size, 1.0)


def near_balance(p: Problem, udot: np.ndarray) -> float:
    """The same of one state, and no less than a share of what single terms would cause where these cancel."""
    scale = float(scale_of(p.system, udot))
    if p.system.nu + p.system.constraints.count > DENSE:
        return scale
    pushes = pushes_of(p)
    return max(scale, FALL * pushes) if np.abs(udot).max(initial=0.0) < BALANCED * pushes else scale


def _relative(system: System, error: np.ndarray, udot: np.ndarray) -> float:
    """The largest error, relative to the largest acceleration of its state."""
    return float(np.max(np.abs(error).max(axis=-1, initial=0.0) / scale_of(system, udot), initial=0.0))


def _part(solved: Solved, rows: Any) -> Solved:
    """One state of a batch, or some."""
    return solved._replace(**{name: np.atleast_2d(getattr(solved, name))[rows] for name in Solved._fields[2:7]})


def _warn(solved: Solved, right: np.ndarray, proof: Certificate) -> None:
    """Once for a System each: a pose where motions branch, and accelerations that are known to a few digits only."""
    system = solved.system
    if np.any(proof.branches) and not system.workspaces.found.get("warned of branches"):
        system.workspaces.found["warned of branches"] = True
        warn(
            f"the loops of '{system.name}' lose rank in this pose, where its motions branch: accelerations solve the "
            "equations, and are those of no motion; take a pose beside it, or simulate"
        )
    error = np.abs(solved.udot - right) + np.abs(proof.error)
    if _relative(system, error, right) <= promised(system) or system.workspaces.found.get("warned of digits"):
        return
    states = zip(solved._replace(udot=right).states(), np.atleast_2d(error), strict=True)
    bound = max(float(e.max(initial=0.0)) / near_balance(p, udot) for (p, udot), e in states)
    if bound > promised(system):
        system.workspaces.found["warned of digits"] = True
        warn(
            f"accelerations of '{system.name}' by '{proof.algorithm}' are exact to {bound:.1e} of the largest only; "
            "certificate=True corrects what can be corrected, and returns the bound of each state"
        )
