"""Through a pose where loops lose rank: one polynomial that obeys the equations on both sides of it.

Paper    [hairer1993] sec. II.7: collocation. That a branch of the constraints is smooth through a singular pose, and
         is followed by its tangent from outside, is the predictor of numerical continuation, [allgower1990] sec. 8.
Symbols  y = (q, u, work) as in methods/adaptive.py; the loops lose rank at t*; s is the least singular value of the
         rows that hold nearby, which falls like |t - t*|.
Differs  collocation points keep away from t*: rounding e of a closed pose is e / s in the coordinates that depend,
         e / s^2 in their velocities and e / s^3 in their accelerations, so that near t* nothing can be found out pose
         by pose. The motion along its branch is smooth there. Points lie from INNER b to b on both sides of t*, for
         several b; a polynomial is taken only if it obeys the equations within the tolerance at points in between too.
         A motion that changed to another branch would have a bend at t*, which no polynomial has: it is never taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import chebyshev
from numpy.polynomial.legendre import leggauss

from ...algebra.rotation import normalize
from ...compiler.lanes import entry, kernel, view
from ...dynamics.constraints.jacobian import rows_of
from ...dynamics.constraints.nullspace import scaled_rows
from ...dynamics.stepping.mechanism import impose, make_mechanism, open_scratch, rates
from ...kernels.joint_columns import load_quaternion
from ...kernels.joints import quaternion_at
from ...kernels.manifold import put_all
from ...system.system import System
from ..motion import advance, coordinate_rates
from ..project import close, project

SIDE = 6  # collocation points on either side
COUNT = 2 * SIDE + 1  # numbers of a polynomial
INNER = 0.3  # of the half length b: no point is nearer to t*
ITERATIONS = 40
SETTLED = 1e-3  # of the tolerance: further sweeps change nothing
AIM = 0.1  # of the tolerance: a polynomial that is so good is taken at once; within the tolerance, the best of all
RANK = 1e-8  # of rows of unit size: a singular value below is zero
FALLS = 0.5  # s at t* over s where it was looked at first: beyond, the pose is not singular
ASIDE = 100.0  # tolerances by which y where the run is may be off its branch: rounding over s^2
LARGEST = 1200  # rows whose singular values are taken


class Crossing(NamedTuple):
    """A pose where rank is lost, and the motion through it if ``error`` is within the tolerance."""

    t: float  # t* (s)
    rank: int  # there
    nearby: int  # the rank before and behind
    loops: tuple[str, ...]  # joints and constraints whose rows are lost
    error: float  # of the polynomial, in units of the tolerance
    low: float = 0.0  # the polynomial holds from here (s)
    high: float = 0.0  # to here
    coefficients: np.ndarray = np.zeros((0, 0))  # (COUNT, ny) of Chebyshev polynomials

    def at(self, t: float) -> np.ndarray:
        """y (ny)."""
        return polynomial(self.low, self.high, self.coefficients, t)

    def packed(self) -> np.ndarray:
        """As numbers: see :func:`unpacked`."""
        return np.concatenate([[self.low, self.high], self.coefficients.ravel()])

    def words(self) -> str:
        """Who loses how much."""
        some = ", ".join(f"'{name}'" for name in self.loops[:4]) + (" and others" if len(self.loops) > 4 else "")
        lose = "lose" if len(self.loops) > 1 else "loses"
        return f"{some} {lose} rank at t = {self.t:.6g} s, {self.rank} of {self.nearby}"


def polynomial(low: float, high: float, coefficients: np.ndarray, t: float) -> np.ndarray:
    """One row of coefficients for each Chebyshev polynomial over low to high."""
    return np.asarray(chebyshev.chebval((2.0 * t - low - high) / (high - low), coefficients))


def unpacked(numbers: np.ndarray, t: float, ny: int) -> np.ndarray:
    """y (ny) at t of a crossing that was packed."""
    return polynomial(numbers[0], numbers[1], numbers[2 : 2 + COUNT * ny].reshape(COUNT, ny), t)


def dense_rows(numbers: np.ndarray, t: float, end: float, rows: int, ny: int) -> tuple[np.ndarray, np.ndarray]:
    """(rows, ny) of an interpolant as in methods/adaptive.py, of a crossing that was packed, and y (ny) at its end."""
    share = (1.0 - np.cos(np.pi * np.arange(rows) / (rows - 1))) / 2
    Y = np.array([unpacked(numbers, t + x * (end - t), ny) for x in share])
    factors = [np.where(r % 2, 1.0 - share, share) for r in range(rows - 1)]
    return np.linalg.solve(np.cumprod([np.ones(rows), *factors], axis=0).T, Y), Y[-1]


def room(ny: int) -> int:
    """Numbers of a packed crossing."""
    return 2 + COUNT * ny


@kernel
def make_unit(m, y):
    """Quaternions of y = (q, ...) made unit, in place"""
    for i in range(1, m.nb):
        n = quaternion_at(m, i)
        if n >= 0:
            put_all(y, n, normalize(load_quaternion(y, n)))


@entry
def on_branch(memory, tau, call, algorithm, t, y, out):
    """y onto the constraints, in place, and y' there"""
    m, buffer = open_scratch(memory, y)
    x = make_mechanism(memory, buffer, 0, tau, call, algorithm)
    make_unit(m, y)
    q, u = view(y, 0, m.nq), view(y, m.nq, m.nu)
    impose(x, t, q, u)
    close(x, t, q, u)
    rates(m, x, t, y, out)


def lowest(t: np.ndarray, f: np.ndarray) -> tuple[float, float]:
    """Where the parabola through three points is least, and how much it is there; inf if it is nowhere."""
    first, second = np.diff(f) / np.diff(t)
    bend = (second - first) / (t[2] - t[0])
    if not bend > 0.0:
        return np.inf, np.inf
    when = 0.5 * (t[0] + t[1] - first / bend)
    return float(when), float(f[0] + (when - t[0]) * (first + bend * (when - t[1])))


class Weakness:
    """How near poses are to one where rank is lost, by the rows as they are scaled at the first of them."""

    def __init__(self, system: System, t: float, q: np.ndarray) -> None:
        self.system = system
        self.free = np.setdiff1d(np.arange(system.nu), list(system.forces.motions))
        rows = rows_of(system, q, np.zeros(system.nu), t)
        self.scale = scaled_rows(rows.C, rows.wrenches)
        self.sizes = np.linalg.svd(self._scaled(rows.C), compute_uv=False)
        self.rank = int((self.sizes > RANK).sum())
        self.first = float(self.sizes[self.rank - 1]) if self.rank else np.inf

    def _scaled(self, C: np.ndarray) -> np.ndarray:
        return np.asarray((C / self.scale[:, None])[:, self.free])

    def matrix(self, t: float, q: np.ndarray) -> np.ndarray:
        return self._scaled(rows_of(self.system, q, np.zeros(self.system.nu), t).C)

    def sizes_at(self, t: float, q: np.ndarray) -> np.ndarray:
        """Singular values, falling."""
        return np.linalg.svd(self.matrix(t, q), compute_uv=False)

    def of(self, t: float, q: np.ndarray) -> float:
        """The least singular value of those that are not zero nearby."""
        return float(self.sizes_at(t, q)[self.rank - 1])

    def lost(self, t: float, q: np.ndarray, below: float) -> tuple[int, tuple[str, ...]]:
        """The rank with singular values above, and whose rows the others are."""
        left, sizes, _ = np.linalg.svd(self.matrix(t, q))
        rank = int((sizes[: self.rank] > below).sum())
        shares = (left[:, rank : self.rank] ** 2).sum(axis=1)
        owners = [self.system.constraints.owner[r] for r in np.flatnonzero(shares > 0.02 * shares.max(initial=0.0))]
        return rank, tuple(dict.fromkeys(owners))


class Passage:
    """Looks for a crossing ahead of y at t, and for the way through it.

    ``solver``: for a pose the memory and the code of what accelerates and closes it; ``allowed``: (ny) tolerances.
    """

    def __init__(
        self,
        system: System,
        solver: Callable[[float, np.ndarray], tuple[Any, Any]],
        tau: np.ndarray,
        call: int,
        t: float,
        y: np.ndarray,
        allowed: np.ndarray,
    ) -> None:
        self.system, self.tau, self.call, self.t, self.y, self.allowed = system, tau, call, t, y, allowed
        self.evaluations = 0
        self.solver, self.anchor = solver, (t, y)

    def through(self, lengths: list[float]) -> Crossing | None:
        """The best polynomial for these half lengths (s), or None where no rank is lost within the longest."""
        best = None
        for b in lengths:
            found = self.attempt(b)
            if found and (best is None or found.error < best.error):
                best = found
            if best and best.error < AIM:
                break
        return best

    def rates(self, t: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """y on the branch, and y' there."""
        self.evaluations += 1
        on, out = y.copy(), np.zeros(y.size)
        on_branch(self.memory, self.tau, self.call, self.code, float(t), on, out)
        return on, out

    def attempt(self, b: float) -> Crossing | None:
        """With points as far as b from t*."""
        nq, self.anchor = self.system.nq, (self.t, self.y)
        with np.errstate(all="ignore"):
            before = self.before(b)
            if before is None:
                return None
            weak = Weakness(self.system, self.t - b, before.at(self.t - b)[:nq])
            when = self.when(before, weak, b)
            if when is None:
                return None
            rank, loops = weak.lost(when, before.at(when)[:nq], 0.2 * INNER * weak.first)
            crossing = Crossing(when, rank, weak.rank, loops, np.inf)
            self.memory, self.code = self.solver(when - b, before.at(when - b)[:nq])
            return self.collocate(crossing, before, b)

    def before(self, b: float) -> Crossing | None:
        """The motion over the time b before here, by itself: a polynomial of lower degree, backwards."""
        base, nq = Crossing(self.t, 0, 0, (), np.inf, self.t - b, self.t), self.system.nq
        q, u = self.y[:nq].copy(), self.y[nq:-1].copy()
        back = advance(self.system, q, u, -b / 2)
        project(self.system, back, u.copy(), self.t - b / 2)
        self.memory, self.code = self.solver(self.t - b / 2, back)
        points = self.t - b / 2 + b / 2 * leggauss(SIDE)[0]
        slope = np.concatenate([coordinate_rates(self.system, q, u), np.zeros(u.size + 1)])  # u' here may be lost
        F = np.repeat(slope[None], SIDE, axis=0)
        F, _, settled = self.settle(base, points, F)
        return base._replace(coefficients=self.integral(base, points, F)) if settled else None

    def when(self, before: Crossing, weak: Weakness, b: float) -> float | None:
        """t*: where s goes to, and s^2, like a parabola, is least."""
        nq, here = self.system.nq, self.t
        if not np.isfinite(weak.first) or weak.rank == 0:
            return None
        looks: dict[float, float] = {}
        for t in (here - b / 8, here):
            looks[t] = weak.of(t, before.at(t)[:nq])
        fall = looks[here - b / 8] - looks[here]
        t = here + looks[here] / fall * b / 8 if fall != 0.0 else np.inf
        for _ in range(5):
            if not abs(t - here) < b:
                return None
            looks[t] = weak.of(t, before.at(t)[:nq])
            last = sorted(looks, key=looks.__getitem__)[:3]
            if len(last) < 3:
                break
            t, _ = lowest(np.array(last), np.array([looks[x] ** 2 for x in last]))
            if min(abs(t - x) for x in last) < 1e-3 * b:
                break
        t = min(looks, key=looks.__getitem__)
        behind = here > t + b / 2  # far enough for steps
        return t if looks[t] < FALLS * INNER * weak.first and not behind else None

    def collocate(self, crossing: Crossing, before: Crossing, b: float) -> Crossing:
        """First the points before t*, then those behind it one by one, each where the others lead; then all together.

        In the end all go out from y on its branch at the first point: where the run is, rounding has it off that.
        """
        t = crossing.t
        found = crossing._replace(low=min(t - b, self.t), high=t + b)
        side = (1.0 + leggauss(SIDE)[0]) / 2
        near = t - INNER * b
        left = found.low + (near - found.low) * side
        right = t + INNER * b + (1.0 - INNER) * b * side
        points = left
        F = np.array([self.rates(x, before.at(x))[1] for x in left])
        F, _, settled = self.settle(found, points, F)
        if not settled:
            return found
        for x in right:
            ahead = self.value(found, points, F, x)
            points, F = np.append(points, x), np.vstack([F, self.rates(x, ahead)[1]])
        F, _, settled = self.settle(found, points, F)
        self.anchor = found.low, self.rates(found.low, self.value(found, points, F, found.low))[0]
        F, moved, settled = self.settle(found, points, F) if settled else (F, np.inf, False)
        if not settled:
            return found
        found = found._replace(coefficients=self.integral(found, points, F))
        aside = self.size(found.at(self.t) - self.y) / ASIDE
        return found._replace(error=max(moved, aside, self.defect(found, left, right)))

    def value(self, window: Crossing, points: np.ndarray, F: np.ndarray, t: float) -> np.ndarray:
        return polynomial(window.low, window.high, self.integral(window, points, F), t)

    def integral(self, window: Crossing, points: np.ndarray, F: np.ndarray) -> np.ndarray:
        """Coefficients of the polynomial with rates F at the points that goes through the anchor."""
        half = (window.high - window.low) / 2
        x = (points - window.low) / half - 1.0
        slopes = np.linalg.solve(chebyshev.chebvander(x, len(x) - 1), F)
        c = chebyshev.chebint(slopes, axis=0) * half
        t, y = self.anchor
        c[0] += y - chebyshev.chebval((t - window.low) / half - 1.0, c)
        return np.asarray(c)

    def settle(self, window: Crossing, points: np.ndarray, F: np.ndarray) -> tuple[np.ndarray, float, bool]:
        """Rates at the points of a polynomial that has them, how far it is off the branch, and whether it was found."""
        change = np.inf
        for iteration in range(ITERATIONS):
            c, last, moved = self.integral(window, points, F), change, 0.0
            new = np.empty_like(F)
            for n, t in enumerate(points):
                y = polynomial(window.low, window.high, c, t)
                on, new[n] = self.rates(t, y)
                moved = max(moved, self.size(on - y))
            change = self.size(new - F) * (window.high - window.low)
            F = new
            if change < SETTLED:
                return F, moved, True
            if not change < np.inf or (iteration > 4 and change > 0.7 * last):  # all that is left is rounding
                return F, max(moved, change), bool(change < np.inf)
        return F, np.inf, False

    def defect(self, found: Crossing, left: np.ndarray, right: np.ndarray) -> float:
        """How far the rates of the polynomial are from those of the motion, between the points and at the ends."""
        half, worst = (found.high - found.low) / 2, 0.0
        slopes = chebyshev.chebder(found.coefficients, axis=0) / half
        checks = [found.low, *((x[1:] + x[:-1]) / 2 for x in (left, right)), found.high]
        for t in np.hstack(checks):
            y = found.at(t)
            on, rate = self.rates(t, y)
            off = rate - chebyshev.chebval((t - found.low) / half - 1.0, slopes)
            worst = max(worst, self.size(off) * 2.0 * half, self.size(on - y))
        return worst if worst < np.inf else np.inf

    def size(self, x: np.ndarray) -> float:
        """The largest component, in units of what is allowed."""
        return float(np.abs(x / self.allowed).max())
