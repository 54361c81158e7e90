"""Forward dynamics in 256 bits and more, with a bound of its own error: the judge of what the algorithms answer.

It reads the plain fields of a Model, and from a System which joints close loops and which rows belong to a joint; the
doubles q, u and tau are taken as exact. Every number is a ball of Arb (python-flint), whose radius encloses all
rounding; the precision is raised until the answer is known to more digits than a double has.

Poses T (4 x 4) are carried with their first and second derivatives in time at u' = 0, and every joint is a product of
exponentials exp(xi q). Motions are twists [omega; v] of the body point at the world origin: digits that this loses far
away are there in plenty. Every closing joint and constraint gives rows w of the difference of two bodies' twists and
the second derivative of its equation at u' = 0, so that with S the twists of all coordinates

    M = S' (sum of spatial inertias) S,    C = w' S,    M u' = tau - b + C' lambda,    C u' = gamma

The rank of C is that of its scaled rows: singular values below RANK of the largest are redundant. Between AMBIGUOUS
values the rank is no matter of fact, and any of the ranks in between is an answer to be accepted.

Left out: flexible bodies, forces other than prescribed motions, `roll` on lines and spheres, friction, latches,
functions of time given as tables.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from flint import arb, arb_mat, ctx

from extended_mechanism import Mechanism
from extended_poses import ZERO, minus, vector

BITS, MOST_BITS = 256, 4096
KNOWN = 1e-20  # radius of an acceleration against the largest, to which precision is raised
RANK = 1e-9  # as the library documents: dynamics/constraints/multipliers.py
AMBIGUOUS = (1e-15, 1e-7)  # relative singular values for which either rank is a fair reading
MOST_READINGS = 8
MOST_ENCLOSED = 250  # equations to eliminate in balls
LARGE_TREE = 60  # coordinates of a tree, beyond which its mass matrix is not formed
CONTRADICTS = 1e-7  # residual of a dropped equation, against its terms

NOTHING = 1e-30  # an acceleration that is zero
SLOW = 1e-3  # velocities and accelerations below which equations are not compared any more closely


@dataclass
class Answer:
    """Accelerations and what helps to judge others."""

    udot: np.ndarray  # rounded to doubles once
    rank: int
    rows: int
    singular: np.ndarray  # relative singular values of the scaled rows
    violation: float  # of the worst equation, m or rad
    slip: float  # of the velocities, against the largest terms of an equation
    residual: float  # of the accelerations in dropped equations, the same
    readings: list  # of the rank, if they keep all equations, first that by RANK: accelerations, relative size dropped
    ambiguous: bool  # whether there is more than one reading
    locked: bool  # no degree of freedom is left
    bits: int

    @property
    def contradicting(self):
        """Whether no reading keeps all equations."""
        return not self.readings

    @property
    def least(self):
        """The least singular value that counts, relative to the largest."""
        return float(self.singular[self.rank - 1]) if self.rank else 1.0


class Undetermined(ArithmeticError):
    """Masses and constraints together leave an acceleration open."""


def accelerations(system, q, u, tau=None, t=0.0):
    """u' of a system, as doubles."""
    return solve(system, q, u, tau, t).udot


def solve(system, q, u, tau=None, t=0.0, swapped=False, readings=True, wrenches=None):
    """The Answer, in as many bits as it takes to know every acceleration.

    Under generalized forces and ``wrenches`` [torque; force] at the origins of bodies, by name.

    ``swapped`` writes every equation from the side of the other body: the same at a closed pose, so that what differs
    is how far the closure error of the given doubles leaves the answer open.
    """
    kept = ctx.prec
    bits = BITS + 4 * min(system.nu, MOST_ENCLOSED)
    try:
        while True:
            ctx.prec = bits
            answer = _solve(lambda: Mechanism(system, q, u, t, swapped, wrenches), tau, readings)
            if answer is not None:
                answer.bits = bits
                return answer
            if bits >= MOST_BITS:
                raise Undetermined(f"no acceleration in {bits} bits")
            bits *= 2
    finally:
        ctx.prec = kept


def _solve(make, tau, readings):
    mechanism = make()
    nu = mechanism.system.nu
    tau = vector(np.zeros(nu) if tau is None else tau)
    rows, given = mechanism.rows(), mechanism.prescribed()
    if nu > LARGE_TREE and not rows and not given:
        return _solve_tree(make, tau)
    M, b = mechanism.equations()
    rhs = minus(tau, b)
    C, gamma = mechanism.jacobian(rows) if rows else ([], [])
    free = [k for k in range(nu) if k not in given]
    for i, line in enumerate(C):
        gamma[i] = gamma[i] - sum((line[k] * a for k, a in given.items()), ZERO)
    C = [[line[k] for k in free] for line in C]
    M, rhs = reduced(M, rhs, free, given)
    plain = np.array([[float(x) for x in line] for line in C]).reshape(len(C), len(free))
    cases, singular = fair_readings(plain, readings)
    found = []
    for kept, _ in cases:
        x = constrained(M, rhs, [C[i] for i in kept], [gamma[i] for i in kept])
        if x is None:
            return None
        found.append(x)
    udot, residuals, losses = [], [], [loss for _, loss in cases]
    for x in found:
        full = np.zeros(nu)
        full[free] = [float(v.mid()) for v in x]
        full[list(given)] = [float(a) for a in given.values()]
        udot.append(full)
        lefts = [left(line, x, g) for line, g in zip(C, gamma, strict=True)]
        residuals.append(worst(lefts, plain, np.append(full[free], np.square(mechanism.u)), gamma))
    return Answer(
        udot[0], len(cases[0][0]), len(C), singular,
        max((abs(float(r.value)) for r in rows), default=0.0),
        worst([r.rate for r in rows], plain, mechanism.u[free]),
        residuals[0],
        [(x, loss) for x, r, loss in zip(udot, residuals, losses, strict=True) if r <= CONTRADICTS],
        len(cases) > 1, len(cases[0][0]) == len(free), 0,
    )  # fmt: skip


def _solve_tree(make, tau):
    """By the recursion in two precisions, whose difference is taken for the radius."""
    bits = ctx.prec
    try:
        x = make().tree_accelerations(tau)
        ctx.prec = bits + BITS
        y = make().tree_accelerations(tau)
    except ZeroDivisionError:
        return None
    finally:
        ctx.prec = bits
    udot = np.array([float(v.mid()) for v in y])
    largest = np.abs(udot).max()
    if not all(abs(float((v - w).mid())) <= KNOWN * largest for v, w in zip(x, y, strict=True)):
        return None
    return Answer(udot, 0, 0, np.zeros(0), 0.0, 0.0, 0.0, [(udot, 0.0)], False, False, 0)


def known(x):
    """Whether balls are small enough against the largest number, which is zero where nothing can move."""
    largest = max((abs(float(v.mid())) for v in x), default=0.0) + NOTHING
    return all(v.is_finite() and float(v.rad()) <= KNOWN * largest for v in x)


def reduced(M, rhs, free, given):
    """The equations of the coordinates that are not prescribed."""
    if not given:
        return M, rhs
    rows = M.tolist()
    rhs = [rhs[i] - sum((rows[i][k] * a for k, a in given.items()), ZERO) for i in free]
    return arb_mat([[rows[i][k] for k in free] for i in free]), rhs


def row_sizes(C, least=RANK):
    """The length of each row; for rows that are rounding or zero the largest length, 1 or more."""
    size = np.linalg.norm(C, axis=1)
    largest = size.max(initial=1.0)
    return np.where(size > least * largest, size, largest)


def fair_readings(C, readings):
    """Rows to keep by RANK, then other choices that small rows and singular values leave open; singular values.

    A row that is small against others may be meant or rounding: with small rows as they are and scaled up, singular
    values are looked at, and where some lie between AMBIGUOUS values every gap between them is a rank. With each
    choice comes the largest singular value that it drops, against the least that it keeps.
    """
    if not C.size:
        return [([], 0.0)], np.zeros(0)
    found, first = {}, None
    for least in thresholds(C):
        scaled = C / row_sizes(C, least)[:, None]
        singular = np.linalg.svd(scaled, compute_uv=False)
        singular = singular / max(singular[0], 1.0)
        _, _, order = scipy.linalg.qr(scaled.T, mode="economic", pivoting=True)
        first = singular if first is None else first
        for rank in fair_ranks(singular):
            kept = tuple(sorted(int(i) for i in order[:rank]))
            found.setdefault(kept, float(singular[rank] / singular[max(rank - 1, 0)]) if rank < len(singular) else 0.0)
            if not readings:
                return list(found.items()), first
    return list(found.items())[:MOST_READINGS], first


def thresholds(C):
    """RANK, and other sizes between which rows could be told from rounding."""
    size = np.linalg.norm(C, axis=1)
    size = np.sort(size / size.max(initial=1.0))
    size = size[(size > AMBIGUOUS[0]) & (size < AMBIGUOUS[1])]
    between = np.sqrt(size[1:] * size[:-1])[np.argsort(size[:-1] / size[1:], kind="stable")] if len(size) > 1 else []
    return [RANK, *AMBIGUOUS, *between] if len(size) else [RANK]


def fair_ranks(singular):
    """The rank by RANK, and then others that some singular value leaves open."""
    low, high = AMBIGUOUS
    rank, first, last = (int((singular > x).sum()) for x in (RANK, high, low))
    return [rank] + [k for k in range(first, last + 1) if k != rank and open_rank(singular, k)]


def open_rank(singular, k):
    """Whether a rank k cuts where singular values leave a gap."""
    return k in (0, len(singular)) or singular[k] < 0.1 * singular[k - 1]


def constrained(M, rhs, C, gamma):
    """x of M x = rhs + C' lam, C x = gamma as a list of balls, or None if more bits are needed."""
    n, m = len(rhs), len(C)
    rows = M.tolist()
    K = [rows[i] + [line[i] for line in C] for i in range(n)] + [line + [ZERO] * m for line in C]
    K, (right, factors) = balanced(K, rhs + gamma)
    try:
        x = enclosed(K, arb_mat(n + m, 1, right)).entries()
    except ZeroDivisionError:
        return None
    x = [v * s for v, s in zip(x[:n], factors, strict=False)]
    return x if known(x) else None


def enclosed(K, right):
    """K^-1 right with radii: by elimination in balls; of many equations by a correction, quick and no proof."""
    if K.nrows() <= MOST_ENCLOSED:
        return K.solve(right, algorithm="lu")
    x = K.solve(right, algorithm="approx")
    step = K.solve((right - K * x).mid(), algorithm="approx")
    return arb_mat(
        x.nrows(), 1, [arb(v, 2 * abs(dv).upper()) for v, dv in zip(x.entries(), step.entries(), strict=True)]
    )


def balanced(K, rhs):
    """Rows and columns scaled by powers of two to entries of about one, with the same factors on both sides."""
    plain = np.abs(np.array([[float(x) for x in line] for line in K]))
    d = np.ones(len(K))
    for _ in range(3):
        largest = (plain * d[:, None] * d).max(axis=1)
        d /= np.sqrt(np.where(largest > 0, largest, 1.0))
    factors = [arb(2) ** int(e) for e in np.round(np.log2(d))]
    scaled = [[x * r * s for x, s in zip(line, factors, strict=True)] for line, r in zip(K, factors, strict=True)]
    return arb_mat(scaled), ([x * r for x, r in zip(rhs, factors, strict=True)], factors)


def left(line, x, gamma):
    """What is left of one equation."""
    return sum((c * v for c, v in zip(line, x, strict=True)), ZERO) - gamma


def worst(lefts, C, x, gamma=()):
    """The largest of what is left of equations, against the terms that rows of their size have at x (or u' and u^2)."""
    if not len(C):
        return 0.0
    scale = row_sizes(C).max() * np.abs(x).max(initial=0.0) + max((abs(float(g)) for g in gamma), default=0.0)
    return max(abs(float(v)) for v in lefts) / max(scale, SLOW)


def body_accelerations(system, q, u, udot):
    """Dict body -> [angular; that of the centre of mass] (6,) that accelerations udot (doubles) give it."""
    kept, ctx.prec = ctx.prec, BITS
    try:
        m = Mechanism(system, q, u)
        return {name: m.acceleration(name, udot) for name in m.up if name != "ground"}
    finally:
        ctx.prec = kept


def spread(system, q, u, tau=None, t=0.0, wrenches=None):
    """How far the answer is open, relative: equations written from either side of every joint."""
    one, other = (solve(system, q, u, tau, t, s, False, wrenches).udot for s in (False, True))
    return float(np.abs(one - other).max(initial=0.0) / max(np.abs(one).max(initial=0.0), 1e-300))


__all__ = ["Answer", "Mechanism", "Undetermined", "accelerations", "solve", "spread"]
