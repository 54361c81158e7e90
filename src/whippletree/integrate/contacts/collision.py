"""Impulses of several contacts that are struck at one moment and move each other: one complementarity problem.

Paper    [moreau1988] Unilateral contact and dry friction in finite freedom dynamics: the inelastic impact with Coulomb
         friction. With the velocity v = (normal, slip) of each contact and the impulse p on it, v+ = v + G p, every
         contact has v_n+ >= 0, p_n >= 0 and one of them zero, and friction is the impulse of at most mu p_n that takes
         most energy: v_t+ = 0, or p_t = -mu p_n v_t+ / |v_t+|.
         [acary2008] Numerical methods for nonsmooth dynamical systems: Newton's method for p = projection(p - r v+).
Symbols  G is the velocity of all contacts for unit impulses, with all other constraints held.
Differs  restitution is Poisson's: what a contact took it gives back e times, so that p is (1 + e) times the inelastic
         one. With one e for all that never gains energy, as p . v+ <= 0 of the inelastic impact shows, and without
         friction it is Newton's. With several e it may: then all of them are made smaller by the same factor, the
         largest that gains none. All contacts move at once from p = 0, so that symmetric ones share alike where several
         impulses solve the problem; where that does not settle, in turn, the fastest first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

SETTLED = 1e-13  # of the largest speed
FEWER = 0.5  # of what is left, after a step of Newton's method that is taken
BETWEEN, TOGETHER, MOST = 10, 30, 100  # projections between two such steps; steps with all contacts at once; steps


class Struck(NamedTuple):
    """A contact that is struck: the normal, towards its open side, is the first of its rows."""

    rows: slice
    mu: float  # inf: it does not slip
    restitution: float


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
    fastest = sorted(contacts, key=lambda c: v[c.rows.start])
    least, p = SETTLED * float(np.abs(v).max()), np.zeros(len(v))
    for n in range(MOST):
        off, slope = _off(G, v, contacts, r, p)
        left = float(np.abs(off / r).max())
        if left <= least:
            return np.asarray(p - off)
        there = p - np.linalg.lstsq(slope, off, rcond=1e-12)[0]
        if float(np.abs(_off(G, v, contacts, r, there)[0] / r).max()) <= FEWER * left:
            p = there
            continue
        for _ in range(BETWEEN):
            p = p - _off(G, v, contacts, r, p)[0] if n < TOGETHER else _in_turn(G, v, fastest, p)
    return None


def _in_turn(G: np.ndarray, v: np.ndarray, contacts: Sequence[Struck], p: np.ndarray) -> np.ndarray:
    """Each contact projected where those before it have led: faster than all at once."""
    p = p.copy()
    for c in contacts:
        own = G[c.rows, c.rows]
        p[c.rows] = _projected(p[c.rows] - (v[c.rows] + G[c.rows] @ p) / np.linalg.norm(own, 2), c.mu)
    return p


def _projected(w: np.ndarray, mu: float) -> np.ndarray:
    normal, size = max(w[0], 0.0), float(np.linalg.norm(w[1:]))
    limit = math.inf if mu == math.inf else mu * normal
    return np.append(normal, w[1:] * (limit / size if size > limit else 1.0))


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
