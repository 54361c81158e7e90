"""When a solve is believed as it is, and what happens to one that is not.

A pass measures its loss: how many roundings of the terms of a pivot that pivot is worth. Below LIMIT it is believed. A
state with a larger loss gets a certificate (certificate.py), which corrects its accelerations; one that needed no
correction raises the limit for its System, so that long chains, whose levers look like a loss, are looked at once.

Reduction eliminates by a plan. A plan is believed once the state that it was made for has a certificate, and as long as
its pivots stay near those of that state.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelWarning
from ..system.system import System
from . import reduction
from .certificate import DENSE, Certificate, Problem, Unreliable, certify
from .extended import certify_extended
from .multipliers import BEYOND

LIMIT = 1e5  # roundings of a pivot's terms: 1e-11 of it
FINE = 1e-9  # error with which a larger loss is believed from then on
POOR = 1e-6  # bound above which the caller is warned
RISE = 4.0  # of a loss that was fine
SQUARED = 100.0  # orthonormal bases mix light and heavy coordinates
BEGUN = 2.0 * LIMIT  # a loss that is looked at once


class Solved(NamedTuple):
    """Accelerations of one state or of B states, by an algorithm, under all forces."""

    system: System
    algorithm: str
    q: np.ndarray
    u: np.ndarray
    forces: np.ndarray
    signals: np.ndarray
    udot: np.ndarray

    def states(self) -> list[tuple[Problem, np.ndarray]]:
        """Of each state the problem and its accelerations."""
        columns = (np.atleast_2d(x) for x in self[2:])
        return [(Problem(self.system, *state), udot) for *state, udot in zip(*columns, strict=True)]


def loss_limit(system: System, algorithm: str) -> float:
    """The loss up to which accelerations are believed."""
    return system.found.get(("loss", algorithm), LIMIT)


def certified(solved: Solved, auto: bool) -> tuple[np.ndarray, Certificate]:
    """Accelerations, corrected where they need it, and their certificate."""
    found = [_certify(problem, udot, solved.algorithm, auto) for problem, udot in solved.states()]
    if solved.q.ndim == 1:
        return found[0]
    if not found:
        none = np.zeros(0)
        return solved.udot, Certificate(solved.algorithm, none, solved.udot.copy(), none, none)
    names = ", ".join(dict.fromkeys(c.algorithm for _, c in found))
    columns = (np.array(column) for column in zip(*(c[1:] for _, c in found), strict=True))
    return np.array([udot for udot, _ in found]), Certificate(names, *columns)


def _certify(problem: Problem, udot: np.ndarray, algorithm: str, auto: bool) -> tuple[np.ndarray, Certificate]:
    """By residuals in doubles; where these say too little of a tree of rigid bodies, in twice the digits.

    "auto" goes on with another algorithm where one is lost to rounding.
    """
    system, proof = problem.system, None
    try:
        right, proof = certify(problem, udot.copy(), algorithm)
        if proof.bound < FINE:
            return right, proof
    except Unreliable as lost:
        failure = lost
    if not (system.constraints.count or system.flexible):
        found = certify_extended(problem, udot, algorithm)
        if found is not None and (proof is None or found[1].bound < proof.bound):
            return found
    if proof is not None:
        return right, proof
    for name, other in _others(problem, algorithm) if auto else ():
        try:
            return certify(problem, other, name)
        except Unreliable:
            continue
    raise failure


def _others(problem: Problem, algorithm: str) -> Any:
    """Accelerations by the other algorithms that solve any pose."""
    from .functions import solve_again

    for name in ("reduction", "multipliers", "nullspace", "articulated", "composite"):
        udot = None if name == algorithm else solve_again(problem, name)
        if udot is not None:
            yield name, udot


def trusted(solved: Solved, loss: float, auto: bool) -> np.ndarray:
    """Accelerations that are believed, or corrected."""
    system, name = solved.system, solved.algorithm
    if name == "reduction":
        return _by_trusted_plan(solved, auto)
    if name in ("divide", "subchains"):  # what they lose in loops, and by levers, is not measured by their passes
        small = 0 < system.constraints.count <= DENSE - system.nu
        loss = max(loss, BEYOND if small else BEGUN)
    elif name == "nullspace":
        loss *= SQUARED
    if loss <= loss_limit(system, name):
        return solved.udot
    udot, proof = certified(solved, auto)
    bound = float(np.max(proof.bound, initial=0.0))
    if _apart(solved.udot, udot) + bound < FINE and loss < BEYOND and name != "nullspace":
        system.found["loss", name] = RISE * loss
    _warn(system, proof.algorithm, bound)
    return udot


def _by_trusted_plan(solved: Solved, auto: bool) -> np.ndarray:
    """The state that a new plan was made for is certified; one that the plan does not solve is corrected."""
    system, one = solved.system, solved.q.ndim == 1
    key: Any = reduction.accelerations if one else (reduction.accelerations, system.nu)
    waiting: Any = (system.ready if one else system.pool).get(key, ())
    for planned in waiting:
        if planned.plan is planned.trusted:
            continue
        made_at = np.concatenate([np.atleast_2d(solved.q), np.atleast_2d(solved.signals)], axis=1)
        rows = np.flatnonzero((made_at == planned.pose).all(axis=1))
        state = _row(solved, int(rows[0]) if rows.size else 0)
        udot, proof = certified(state, auto)
        if _apart(state.udot, udot) + proof.bound < FINE and rows.size:
            planned.trusted = planned.plan
            continue
        _warn(system, proof.algorithm, float(proof.bound))
        return udot if one else certified(solved, auto)[0]
    return solved.udot


def _apart(first: np.ndarray, second: np.ndarray) -> float:
    """The largest difference of accelerations, relative to the largest of its state."""
    off, size = (np.abs(x).max(axis=-1, initial=0.0) for x in (first - second, second))
    return float(np.max(off / np.where(size > 0.0, size, 1.0), initial=0.0))


def _row(solved: Solved, n: int) -> Solved:
    return Solved(solved.system, solved.algorithm, *(np.atleast_2d(x)[n] for x in solved[2:]))


def _warn(system: System, algorithm: str, bound: float) -> None:
    """Once for a System: accelerations that are known to a few digits only."""
    if bound > POOR and not system.found.get("warned of digits"):
        system.found["warned of digits"] = True
        said = f"accelerations of '{system.name}' by '{algorithm}' are exact to {bound:.1e} of the largest only"
        warnings.warn(f"{said}; certificate=True returns the bound of each state", ModelWarning, stacklevel=4)
