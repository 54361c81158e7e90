"""Poses in which a system stays: bias_force(q, 0) = tau on the manifold.

Method   Levenberg-Marquardt on the manifold, damping in proportion to the squared residual [yamashita2001], eight
         dampings tried at once in lanes. Where that stalls (a pendulum held level: the force is at its largest, so
         its slope is zero) the system falls: Newton steps down the energy with the stiffness made positive.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import eigh

from ..dynamics.functions import bias_force, energy, mass_matrix
from ..dynamics.inputs import body_of
from ..errors import ModelError, SimulationError
from ..integrate.motion import advance
from ..model.check import number
from ..system.system import System
from .differences import ROUNDING, damping, stiffness, units, weights
from .modal import Small, poles_and_shapes
from .point import free_rows, operating_point, turning

ROUNDS = 4  # of solving and falling
NEWTON_STEPS, FALL_STEPS = 40, 100  # in each
NEARLY = 1e-6  # of the forces left over: where a fall ends and the solution is near
DAMPINGS = np.array([1e-12, 1e-8, 1e-5, 1e-3, 1e-2, 0.1, 1.0, 10.0])
FRACTIONS = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.01, 0.0])  # of a fall, the lowest is taken
SINGULAR, FLAT = 1e-9, 1e-6  # relative: what counts as no stiffness when solving, and when falling
LONGEST_STEP, LONGEST_FALL = 1.0, 0.25  # rad, or lengths of the mechanism
POSES = 8  # looked at to find a force that never changes


@dataclass(frozen=True)
class Equilibrium:
    """A pose at rest, made by :func:`equilibrium`.

    Attributes
    ----------
    q : (nq) the pose.
    tau : (nu) joint forces that hold it: the given ones, and the reactions of joints that were held (N m, N).
    residual : the largest joint force that is left over (N m or N).
    iterations : steps taken.
    stable : after a small push the system stays near; False if it leaves or drifts away.
    neutral : number of independent directions in which nothing resists a displacement.
    """

    system: System
    q: np.ndarray
    tau: np.ndarray
    residual: float
    iterations: int
    stable: bool
    neutral: int

    def as_dict(self) -> dict[str, Any]:
        """Plain numbers and lists, as ``whippletree equilibrium --json`` prints them."""
        s = self.system
        joints = {j: {"q": self.q[s.q_index(j)].tolist(), "tau": self.tau[s.u_index(j)].tolist()} for j in s.joints}
        more = ("residual", "iterations", "stable", "neutral")
        return {"system": s.name, "joints": joints} | {name: getattr(self, name) for name in more}


def equilibrium(
    system: System,
    q: ArrayLike | Mapping[str, Any] | None = None,
    tau: ArrayLike | Mapping[str, Any] | None = None,
    *,
    fixed: Iterable[str] = (),
    tolerance: float = 1e-10,
) -> Equilibrium:
    """A pose in which the system stays at rest under constant joint forces ``tau`` (default none).

    The search starts at ``q`` (default neutral) and may end at an unstable pose, if that is near. ``q``
    and ``tau`` are arrays, or dicts from joint names to values. Joints named in ``fixed`` are held where
    they are, and so are given motions, at t = 0; what it takes to hold them is in ``tau`` of the answer. The other
    forces of the model act, as they are at t = 0. ``tolerance`` is what may be left
    over of a joint force, relative to the weight that the joint carries and the forces on it.

    Raises ModelError if a force has nothing to resist it, as with a free body under gravity, and
    SimulationError if the search ends without an equilibrium.
    """
    tolerance = number(tolerance, "tolerance")
    if not 1e-15 <= tolerance < 1.0:
        raise ModelError("tolerance is out of range", expected="from 1e-15 to below 1", got=tolerance)
    start, _, force = operating_point(system, q, None, tau)
    free = free_rows(system, fixed)
    balance = Balance(system, start, force, free)
    found, iterations = start, 0
    if free.size and np.abs(balance.left(start)).max() > tolerance:
        balance.refuse_unopposed(start)
        found, iterations = balance.search(start, tolerance)
    held = bias_force(system, found, np.zeros(system.nu))
    residual = float(np.abs(held - force)[free].max(initial=0.0))
    reactions = np.setdiff1d(np.arange(system.nu), free)
    force[reactions] = held[reactions]
    stable, neutral = _stability(system, found, free, balance.scale)
    return Equilibrium(system, found, force, residual, iterations, stable, neutral)


class Balance:
    """What is left over of the joint forces at a pose, scaled to be of size one; displacements likewise."""

    def __init__(self, system: System, q: np.ndarray, tau: np.ndarray, free: np.ndarray) -> None:
        self.system, self.tau, self.free = system, tau, free
        scale = weights(system) + np.abs(tau) + np.abs(bias_force(system, q, np.zeros(system.nu)))
        self.scale = np.where(scale > 0, scale, 1.0)[free]
        self.units = units(system)[free]

    def left(self, q: np.ndarray) -> np.ndarray:
        """(bias force - tau) / scale of the free freedoms, (n) or (B, n)."""
        rest = np.zeros((*q.shape[:-1], self.system.nu))
        return (bias_force(self.system, q, rest) - self.tau)[..., self.free] / self.scale

    def move(self, q: np.ndarray, d: np.ndarray) -> np.ndarray:
        """q displaced by d (in units), (n) or (B, n)."""
        step = np.zeros((*d.shape[:-1], self.system.nu))
        step[..., self.free] = d * self.units
        return advance(self.system, q, step)

    def search(self, q: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
        """Solve; where that stalls, fall a while, and solve again."""
        count = 0
        best, least = q, np.inf
        for _ in range(ROUNDS):
            q, n, left = self._solve(q, tolerance)
            count += n
            if left <= tolerance:
                return q, count
            if left < least:
                best, least = q, left
            q, n = self._fall(q)
            count += n
        raise self._not_found(best, count)

    def _solve(self, q: np.ndarray, tolerance: float) -> tuple[np.ndarray, int, float]:
        r, n = self.left(q), 0
        while n < NEWTON_STEPS:
            n += 1
            done = np.abs(r).max() <= tolerance
            J = stiffness(self.system, q)[np.ix_(self.free, self.free)] / self.scale[:, None] * self.units
            U, s, Vt = np.linalg.svd(J)
            if s[0] <= ROUNDING:
                break
            damped = s**2 + DAMPINGS[:, None] * (r @ r) * s[0] ** 2  # (8, n)
            shares = np.where(s > SINGULAR * s[0], s / damped, 0.0)
            trials = self.move(q, _shortened(-(shares * (U.T @ r)) @ Vt, LONGEST_STEP))
            rest = self.left(trials)
            k = int((rest**2).sum(axis=1).argmin())
            if rest[k] @ rest[k] > 0.999 * (r @ r):
                break
            q, r = trials[k], rest[k]
            if done:  # one step more than asked for: it squares what is left
                break
        return q, n, float(np.abs(r).max())

    def _fall(self, q: np.ndarray) -> tuple[np.ndarray, int]:
        """Newton steps with the size of each stiffness: down the energy, away from saddles and summits."""
        for n in range(FALL_STEPS):
            left = self.left(q)
            if np.abs(left).max() <= NEARLY:
                return q, n
            r = left * self.scale * self.units
            K, M = self._scaled(stiffness(self.system, q)), self._scaled(mass_matrix(self.system, q))
            values, shapes = eigh((K + K.T) / 2, _positive(M))
            push = shapes.T @ r
            sizes = np.maximum(np.abs(values), FLAT * (np.abs(values).max() + np.abs(push).max()))
            each = _shortened((shapes * (push / sizes)).T, LONGEST_FALL)  # a flat direction must not slow the others
            d = -FRACTIONS[:, None] * _shortened(each.sum(axis=0), LONGEST_STEP)
            trials = self.move(q, d)
            work = d @ (self.units * self.tau[self.free])
            heights = energy(self.system, trials, np.zeros((d.shape[0], self.system.nu))).total - work
            k = int(heights.argmin())
            if k == d.shape[0] - 1:
                return q, n
            q = trials[k]
        return q, FALL_STEPS

    def _scaled(self, matrix: np.ndarray) -> np.ndarray:
        return matrix[np.ix_(self.free, self.free)] * np.outer(self.units, self.units)

    def refuse_unopposed(self, q: np.ndarray) -> None:
        """Complains about a force that is the same in every pose: no displacement will ever balance it."""
        rng = np.random.default_rng(1)
        d = np.vstack([np.zeros(self.free.size), rng.uniform(-2, 2, (POSES - 1, self.free.size))])
        left = np.zeros((POSES, self.system.nu))
        left[:, self.free] = self.left(self.move(q, d)) * self.scale
        for joint in self.system.joints:
            rows = self.system.u_index(joint)
            parts = [left[:, j : j + 1] for j in range(rows.start, rows.stop)]
            if self.system.model.joints[joint].kind in ("free", "planar"):
                shifts = np.flatnonzero(~turning(self.system)[rows])  # their axes may turn: the length is what stays
                parts.append(left[:, rows][:, shifts])
            for part in parts:
                size = np.linalg.norm(part, axis=1)
                if size.min() > 1e-6 * self.scale.max() and np.ptp(size) <= 1e-9 * size.max():
                    raise self._unopposed(joint, float(size[0]))

    def _unopposed(self, joint: str, size: float) -> ModelError:
        owner = self.system.mechanical(body_of(self.system, "u", self.system.u_index(joint).start))
        return ModelError(
            f"'{self.system.name}' has no equilibrium: nothing resists the force on {owner}",
            expected="a force that changes with the pose",
            got=f"{size:.6g} left over in every pose (N or N m)",
            hint=f"hold the joint (fixed: '{joint}'), or balance the force with tau",
        )

    def _not_found(self, q: np.ndarray, count: int) -> SimulationError:
        left = self.left(q)
        j = int(np.abs(left).argmax())
        row = int(self.free[j])
        unit = "N m" if turning(self.system)[row] else "N"
        return SimulationError(
            f"no equilibrium of '{self.system.name}' was found in {count} steps",
            expected="joint forces in balance",
            got=f"{abs(left[j]) * self.scale[j]:.6g} {unit} left over",
            where=self.system.mechanical(body_of(self.system, "u", row)),
            hint="start nearer to it with q, hold joints with fixed, or check that tau can be balanced at all",
        )


def _shortened(d: np.ndarray, longest: float) -> np.ndarray:
    """Steps (n) or (B, n) with no entry above ``longest``."""
    return d * np.minimum(1.0, longest / np.maximum(np.abs(d).max(axis=-1, keepdims=True), np.finfo(float).tiny))


def _positive(M: np.ndarray) -> np.ndarray:
    """M, and a trace of its diagonal for freedoms that move no mass."""
    return M + np.diag(np.full(M.shape[0], 1e-9 * M.diagonal().max() + np.finfo(float).tiny))


def _stability(system: System, q: np.ndarray, free: np.ndarray, scale: np.ndarray) -> tuple[bool, int]:
    """Does it stay after a small push, and how many directions are neutral?"""
    if not free.size:
        return True, 0
    M, K, D = (m[np.ix_(free, free)] for m in (mass_matrix(system, q), stiffness(system, q), damping(system, q)))
    poles, _ = poles_and_shapes(Small(_positive(M), K, D, scale, units(system)[free]))
    neutral = int((poles == 0).sum())
    return bool(neutral == 0 and (poles.real <= 0).all()), neutral
