"""The search for a pose in which forces balance: T' (bias_force(q, 0) - tau) = 0, T the motions that are possible.

Method   Levenberg-Marquardt in independent coordinates, damping in proportion to the squared residual [yamashita2001],
         eight dampings tried at once in lanes. Where that stalls (a pendulum held level: the force is at its largest,
         so its slope is zero) the system falls: Newton steps down the energy with the stiffness made positive.
         With loops every pose on the way is closed, and one that cannot be closed is no way to go.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from ..dynamics.functions import bias_force
from ..dynamics.inputs import body_of
from ..dynamics.kinematics import energy
from ..errors import ModelError, SimulationError
from ..system.system import System
from .chart import Chart, Poses, refuse_rolling
from .differences import ROUNDING, units, weights
from .modal import Small, poles_and_shapes
from .point import rotational
from .reduced import damping, left_over, mass, stiffness

ROUNDS = 4  # of solving and falling
NEWTON_STEPS, FALL_STEPS = 40, 100  # in each
NEARLY = 1e-6  # of the forces left over: where a fall ends and the solution is near
DAMPINGS = np.array([0.0, 1e-8, 1e-5, 1e-3, 1e-2, 0.1, 1.0, 10.0])
FRACTIONS = np.array([4.0, 2.0, 1.0, 0.5, 0.25, 0.1, 0.01, 0.0])  # of a fall, the lowest is taken
SINGULAR, FLAT = 1e-9, 1e-6  # relative: what counts as no stiffness when solving, and when falling
SLIGHT = 1e-4  # of the largest force: smaller ones may be the rounding of larger ones that cancel
LONGEST_STEP, LONGEST_FALL = 1.0, 0.25  # rad, or lengths of the mechanism
POSES, FEW = 8, 4  # looked at to find a force that never changes; with fewer that close, nothing is reported


class Balance:
    """What is left over of the forces at a pose, along independent coordinates, scaled to be of size one."""

    def __init__(self, system: System, q: np.ndarray, tau: np.ndarray, free: np.ndarray, forces: np.ndarray) -> None:
        self.system, self.q, self.tau = system, q, tau
        refuse_rolling(system)
        self.chart = Chart(system, q, free)
        scale = np.abs(self.chart.motions(q)).T @ forces
        self.scale = np.where(scale > 0, scale, 1.0)
        self.units = self.chart.units[self.chart.rows]
        self.left = left_over(self.chart, q, tau) / self.scale

    @property
    def most(self) -> float:
        return float(np.abs(self.left).max(initial=0.0))

    def move(self, d: np.ndarray) -> Poses:
        """Displaced by d (B, f), in units."""
        return self.chart.poses(d * self.units)

    def left_at(self, poses: Poses) -> np.ndarray:
        """(B, f) At displaced poses; infinite where they do not close."""
        left = left_over(self.chart, poses.q, self.tau) / self.scale
        return np.where(poses.closed[:, None], left, np.inf)

    def matrices(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Mass, stiffness and damping."""
        return mass(self.chart), stiffness(self.chart, self.tau), damping(self.chart, self.tau)

    def stability(self) -> tuple[bool, int]:
        """Does it stay after a small push, and how many directions are neutral?"""
        if not self.chart.rows.size:
            return True, 0
        M, K, D = self.matrices()
        poles, _ = poles_and_shapes(Small(_positive(M), K, D, self.scale, self.units))
        neutral = int((poles == 0).sum())
        return bool(neutral == 0 and (poles.real <= 0).all()), neutral

    def refuse_unopposed(self) -> None:
        """Complains about a force that is the same in every pose: no displacement will ever balance it."""
        rng, rows = np.random.default_rng(1), self.chart.rows
        poses = self.move(np.vstack([np.zeros(rows.size), rng.uniform(-2, 2, (POSES - 1, rows.size))]))
        if poses.closed.sum() < FEW:
            return
        left = np.zeros((int(poses.closed.sum()), self.system.nu))
        left[:, rows] = (self.left_at(poses) * self.scale)[poses.closed]
        for joint in self.system.joints:
            index = self.system.u_index(joint)
            parts = [left[:, j : j + 1] for j in range(index.start, index.stop)]
            shifts = np.flatnonzero(~rotational(self.system)[index])
            if len(shifts) > 1:  # their axes may turn: the length is what stays
                parts.append(left[:, index][:, shifts])
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

    def not_found(self, count: int) -> SimulationError:
        """The joint with the largest force that is left over; with loops, along the motion that goes with it."""
        j = int(np.abs(self.left).argmax())
        row = int(self.chart.rows[j])
        unit = "N m" if rotational(self.system)[row] else "N"
        return SimulationError(
            f"no equilibrium of '{self.system.name}' was found in {count} steps",
            expected="joint forces in balance",
            got=f"{abs(self.left[j]) * self.scale[j]:.6g} {unit} left over",
            where=self.system.mechanical(body_of(self.system, "u", row)),
            hint="start nearer to it with q, hold joints with fixed, or check that tau can be balanced at all",
        )


class Search:
    """From pose to pose, until forces balance."""

    def __init__(self, system: System, q: np.ndarray, tau: np.ndarray, free: np.ndarray) -> None:
        self.system, self.tau, self.free = system, tau, free
        each = weights(system) + np.abs(tau) + np.abs(bias_force(system, q, np.zeros(system.nu)))
        self.forces = np.maximum(each, SLIGHT * (each * units(system)).max(initial=0.0) / units(system))

    def at(self, q: np.ndarray) -> Balance:
        return Balance(self.system, q, self.tau, self.free, self.forces)

    def run(self, q: np.ndarray, tolerance: float) -> tuple[np.ndarray, int]:
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
        raise self.at(best).not_found(count)

    def _solve(self, q: np.ndarray, tolerance: float) -> tuple[np.ndarray, int, float]:
        here, n = self.at(q), 0
        while n < NEWTON_STEPS:
            n += 1
            r, done = here.left, here.most <= tolerance
            J = stiffness(here.chart, self.tau) / here.scale[:, None] * here.units
            U, s, Vt = np.linalg.svd(J)
            if s[0] <= ROUNDING:
                break
            damped = s**2 + DAMPINGS[:, None] * (r @ r) * s[0] ** 2  # (8, n)
            shares = np.divide(s, damped, out=np.zeros_like(damped), where=np.tile(s > SINGULAR * s[0], (8, 1)))
            trials = here.move(_shortened(-(shares * (U.T @ r)) @ Vt, LONGEST_STEP))
            rest = (here.left_at(trials) ** 2).sum(axis=1)
            k = int(rest.argmin())
            if rest[k] > 0.999 * (r @ r):
                break
            here = self.at(trials.q[k])
            if done:  # one step more than asked for: it squares what is left
                break
        return here.q, n, here.most

    def _fall(self, q: np.ndarray) -> tuple[np.ndarray, int]:
        """Newton steps with the size of each stiffness: down the energy, away from saddles and summits."""
        for n in range(FALL_STEPS):
            here = self.at(q)
            if here.most <= NEARLY:
                return q, n
            r = here.left * here.scale * here.units
            K, M = (m * np.outer(here.units, here.units) for m in (stiffness(here.chart, self.tau), mass(here.chart)))
            values, shapes = eigh((K + K.T) / 2, _positive(M))
            push = shapes.T @ r
            sizes = np.maximum(np.abs(values), FLAT * (np.abs(values).max() + np.abs(push).max()))
            each = _shortened((shapes * (push / sizes)).T, LONGEST_FALL)  # a flat direction must not slow the others
            trials = here.move(-FRACTIONS[:, None] * _shortened(each.sum(axis=0), LONGEST_STEP))
            still = np.zeros_like(trials.moved)
            heights = energy(self.system, trials.q, still).total - trials.moved @ self.tau
            k = int(np.where(trials.closed, heights, np.inf).argmin())
            if k == len(FRACTIONS) - 1:
                return q, n
            q = trials.q[k]
        return q, FALL_STEPS


def _shortened(d: np.ndarray, longest: float) -> np.ndarray:
    """Steps (n) or (B, n) with no entry above ``longest``."""
    return d * np.minimum(1.0, longest / np.maximum(np.abs(d).max(axis=-1, keepdims=True), np.finfo(float).tiny))


def _positive(M: np.ndarray) -> np.ndarray:
    """M, and a trace of its diagonal for DOF that move no mass."""
    return M + np.diag(np.full(M.shape[0], 1e-9 * M.diagonal().max() + np.finfo(float).tiny))
