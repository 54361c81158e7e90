"""Impulses of several contacts that are struck at one moment and move each other: one complementarity problem.

Paper    [moreau1988] Unilateral contact and dry friction in finite DOF dynamics: the inelastic impact with Coulomb
         friction. With the velocity v = (normal, slip) of each contact and the impulse p on it, v+ = v + G p, every
         contact has v_n+ >= 0, p_n >= 0 and one of them zero, and friction is the impulse of at most mu p_n that takes
         most energy: v_t+ = 0, or p_t = -mu p_n v_t+ / |v_t+|.
         [acary2008] Numerical methods for nonsmooth dynamical systems: Newton's method for p = projection(p - r v+).
         [allgower1990] sec. 2: following a path of solutions, by predictor and corrector.
Symbols  G is the velocity of all contacts for unit impulses, with all other constraints held.
Differs  restitution is Poisson's: what a contact took it gives back e times, so that p is (1 + e) times the inelastic
         one. With one e for all that never gains energy, as p . v+ <= 0 of the inelastic impact shows, and without
         friction it is Newton's. With several e it may: then all of them are made smaller by the same factor, the
         largest that gains none. Without friction, and where nothing slips, the problem is convex; its shortest
         solution is followed while friction grows, or falls, to what it is. So symmetric contacts share alike where
         several impulses solve the problem. A path that ends, where contacts jam, is given up for the other one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

SETTLED = 1e-13  # of the largest speed
MOST = 40  # steps of Newton's method
SHARES = tuple(0.5**n for n in range(8))  # of such a step
FEWER = 1e-4  # of what is left, at least, for a whole step
SHORTEST = 1e-4  # of the way from contacts without friction to those given
RANK = 1e-13  # of the largest eigenvalue of G
SHORT = 1e-2, 1e-7  # weight of the length of impulses, which decides where several solve a problem; if that fails


class Struck(NamedTuple):
    """A contact that is struck: the normal, towards its open side, is the first of its rows."""

    rows: slice
    mu: float  # inf: it does not slip
    restitution: float


Way = Callable[[Sequence[Struck], float], list[Struck]]


def collision(G: np.ndarray, v: np.ndarray, contacts: Sequence[Struck]) -> np.ndarray | None:
    """(k) The impulses on contacts that come in at v (k), each within its cone; None if they are not found."""
    p = inelastic(G, v, contacts)
    if p is None:
        return None
    given_back = np.zeros(len(v))
    for c in contacts:
        given_back[c.rows] = c.restitution * p[c.rows]
    return np.asarray(p + _most(G, v + G @ p, p, given_back) * given_back)


def _most(G: np.ndarray, after: np.ndarray, p: np.ndarray, more: np.ndarray) -> float:
    """The largest share, up to 1, of further impulses after which there is no more energy than before the impact."""
    lost = 0.5 * float(p @ G @ p) - float(p @ after)  # by the inelastic impact
    linear, square = float(more @ after), 0.5 * float(more @ G @ more)
    if linear + square <= lost:
        return 1.0
    root = math.sqrt(linear * linear + 4.0 * square * max(lost, 0.0))
    return min(1.0, 2.0 * max(lost, 0.0) / (linear + root)) if linear + root > 0.0 else 0.0


def inelastic(G: np.ndarray, v: np.ndarray, contacts: Sequence[Struck]) -> np.ndarray | None:
    """(k) The same without restitution."""
    r = np.empty(len(v))
    for c in contacts:
        r[c.rows] = 1.0 / sum(np.linalg.norm(G[c.rows, other.rows], 2) for other in contacts)
    for short, way in product(SHORT, (_growing, _falling)):
        p = _followed(G, v, contacts, r, way, short)
        if p is not None:
            return p
    return None


def _growing(contacts: Sequence[Struck], s: float) -> list[Struck]:
    """Contacts between those without friction, at s = 0, and those given, at s = 1; what does not slip never does."""
    return [c if c.mu == math.inf else c._replace(mu=s * c.mu) for c in contacts]


def _falling(contacts: Sequence[Struck], s: float) -> list[Struck]:
    """The same from those that do not slip."""
    return [c._replace(mu=c.mu / s if s else math.inf) for c in contacts]


def _followed(
    G: np.ndarray, v: np.ndarray, contacts: Sequence[Struck], r: np.ndarray, way: Way, short: float
) -> np.ndarray | None:
    """The impulses from s = 0, where they are those of a convex problem, to s = 1: at once, or in shorter steps."""
    least, s, step = SETTLED * float(np.abs(v).max()), 0.0, 1.0
    p = _convex(G, v, way(contacts, 0.0), short)
    rate = np.zeros(len(v))
    while s < 1.0 and step > SHORTEST:
        ahead = min(1.0, s + step)
        there = _newton(G, v, way(contacts, ahead), r, p + (ahead - s) * rate, least)
        if there is None:
            step *= 0.5
            continue
        rate = (there - p) / (ahead - s) if s else rate
        p, s, step = there, ahead, 2.0 * step
    return p if s == 1.0 else None


def _convex(G: np.ndarray, v: np.ndarray, contacts: Sequence[Struck], short: float) -> np.ndarray:
    """The shortest impulses of contacts of which none slips with friction: non-negative least squares."""
    normal = [c.rows.start for c in contacts]
    across = [n for c in contacts if c.mu == math.inf for n in range(c.rows.start + 1, c.rows.stop)]
    values, axes = np.linalg.eigh(G)
    some = values > RANK * values[-1]
    root, sizes = axes[:, some], np.sqrt(values[some])  # |sizes root' p + aim|^2 / 2 is p' G p / 2 + p' v
    aim = np.concatenate([root.T @ v / sizes, np.zeros(len(normal) + 2 * len(across))])
    unknowns = np.eye(len(v))[normal + across + across]
    unknowns[len(normal) + len(across) :] *= -1.0
    least = short * math.sqrt(values[-1]) * np.eye(len(unknowns))
    try:
        found, _ = nnls(np.vstack([sizes[:, None] * (unknowns @ root).T, least]), -aim)
    except RuntimeError:  # too many iterations
        return np.zeros(len(v))
    return np.asarray(found @ unknowns)


def _newton(
    G: np.ndarray, v: np.ndarray, contacts: Sequence[Struck], r: np.ndarray, p: np.ndarray, least: float
) -> np.ndarray | None:
    """Newton's method for p = projection(p - r v+), with steps that are halved until less is left."""
    off, slope = _off(G, v, contacts, r, p)
    left = float(np.abs(off / r).max())
    for _ in range(MOST):
        if left <= least:
            return np.asarray(p - off)
        step = np.linalg.lstsq(slope, off, rcond=1e-12)[0]
        for share in SHARES:
            there = p - share * step
            off, slope = _off(G, v, contacts, r, there)
            now = float(np.abs(off / r).max())
            if now < (1.0 - FEWER * share) * left:
                break
        else:
            return None
        p, left = there, now
    return None


def _off(
    G: np.ndarray, v: np.ndarray, contacts: Sequence[Struck], r: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """How far p is from its projection, and the derivative of that."""
    w = p - r * (v + G @ p)
    on, slope = w.copy(), np.eye(len(v))
    for c in contacts:
        n, across = c.rows.start, slice(c.rows.start + 1, c.rows.stop)
        on[n], slope[n, n] = (w[n], 1.0) if w[n] > 0.0 else (0.0, 0.0)
        size, limit = float(np.linalg.norm(w[across])), math.inf if c.mu == math.inf else c.mu * on[n]
        if size > limit:
            e = w[across] / size
            on[across] = limit * e
            slope[across, across] = limit / size * (np.eye(len(e)) - np.outer(e, e))
            slope[across, n] = c.mu * slope[n, n] * e
    moved = np.eye(len(v)) - r[:, None] * G
    return p - on, np.eye(len(v)) - slope @ moved
