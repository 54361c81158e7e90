"""The curve joint: the child follows a spline in the parent's frame. Rails, cams, roller coasters.

c(q) is a quintic spline (C4) through ``points``; q is the arc length at the points and within a fraction of it between
them, so that |c'| is near 1. At the ends of an open curve c'' = c''' = 0, and beyond them it goes on straight: give it
limits with a stiffness where that must not be. The child's axes are the parent's (``orientation = "fixed"``); or x is
along the tangent a = c' and z as near as can be to ``up`` b(q): a vector, a spline through one for each point, or one
that turns least about the tangent (``up = "minimal"``).

    x = a / |a|,  y = w / |w| with w = b x a,  z = x x y
    omega = (w'.z / |w|) x - (a'.z / |a|) y + (a'.y / |a|) z         for a unit of q'
    S = [omega; c'],  S' u = [omega'; c'' + c' x omega] u^2          at the child's origin

A point on a curve that turns freely is a body without extent (massless, or the bead itself) on such a joint that
carries a spherical one. The kind closes no loop: another joint of the loop is cut.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from ..layout.forces import SHIFT, WAY
from .kind import CARRIED, Formulas, JointKind, Pose, X

HEAD, ROW = 3, 36  # count of pieces, period, whether axes follow; then where pieces begin, then 6 polynomials of each
FIXED, TANGENT = "fixed", "tangent"
DEGREE = 5
MOST, ALIKE = 100, 1e-13  # repetitions until knots are at arc lengths, and how nearly, of the whole length
WINDING = 1e3  # times the chords: a spline that is so long between its points is none
PARALLEL = 1e-3  # sine of the angle between up and tangent, below which the frame is not determined
FEWEST = {False: 2, True: 4}  # points of an open and of a closed curve


def _polynomials() -> Any:
    """Kernels: the piece that holds a coordinate, and three polynomials of it with three derivatives."""
    from ..compiler import lanes

    @lanes.kernel
    def piece_of(numbers, at, x):
        """The number of the piece that holds a float x, by bisection"""
        low, high = 0, int(numbers[at])
        while high - low > 1:
            middle = (low + high) // 2
            if numbers[at + HEAD + middle] <= x:
                low = middle
            else:
                high = middle
        return low

    @lanes.inline
    def gather(numbers, piece, first, n):
        """Number n of the row of each lane's piece"""
        out = 0.0 * piece
        for l in range(lanes.lane_count(piece)):
            out = lanes.with_lane(out, l, numbers[first + ROW * int(lanes.lane_of(piece, l)) + n])
        return out

    @lanes.inline
    def polynomial(numbers, piece, first, n, t):
        """A polynomial of degree 5, and three derivatives"""
        f = gather(numbers, piece, first, n + 5)
        d, dd, ddd = 0.0 * f, 0.0 * f, 0.0 * f
        for power in range(4, -1, -1):
            ddd = ddd * t + 3.0 * dd
            dd = dd * t + 2.0 * d
            d = d * t + f
            f = f * t + gather(numbers, piece, first, n + power)
        return f, d, dd, ddd

    @lanes.inline
    def three(numbers, piece, first, n, t):
        """Three of them, by derivative"""
        x, y, z = (
            polynomial(numbers, piece, first, n, t),
            polynomial(numbers, piece, first, n + 6, t),
            polynomial(numbers, piece, first, n + 12, t),
        )
        return (x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2]), (x[3], y[3], z[3])

    return piece_of, three


def _along_curve() -> Any:
    """A kernel: where the child is and how it turns, by the coordinate."""
    import math

    from ..algebra import spatial as sp
    from ..compiler import lanes

    piece_of, three = _polynomials()

    @lanes.inline
    def share(e, a, da, dda, aa, size, de):
        """a'.e / |a| and its derivative, with e' = de"""
        along, bend = sp.dot3(da, e) / size, sp.dot3(a, da) / aa
        return along, (sp.dot3(dda, e) + sp.dot3(da, de)) / size - along * bend

    @lanes.kernel
    def along_curve(numbers, at, x):
        """Of the child in the parent, at q = x: rotation, place, omega, c', omega', c''"""
        period, count = numbers[at + 1], int(numbers[at])
        piece, begin, turns = 0.0 * x, 0.0 * x, 0.0 * x
        for l in range(lanes.lane_count(x)):
            here = lanes.lane_of(x, l)
            turn = math.floor(here / period) if period > 0.0 else 0.0
            n = piece_of(numbers, at, here - turn * period)
            turns = lanes.with_lane(turns, l, turn)
            piece, begin = lanes.with_lane(piece, l, float(n)), lanes.with_lane(begin, l, numbers[at + HEAD + n])
        t, first = x - turns * period - begin, at + HEAD + count
        c, a, da, dda = three(numbers, piece, first, 0, t)
        zero, one = 0.0 * t, 0.0 * t + 1.0
        none = (zero, zero, zero)
        if numbers[at + 2] == 0.0:
            return (one, zero, zero, zero, one, zero, zero, zero, one), c, none, a, none, da
        b, db, ddb, _ = three(numbers, piece, first, 18, t)
        w = sp.cross(b, a)
        dw = sp.add3(sp.cross(db, a), sp.cross(b, da))
        ddw = sp.add3(sp.add3(sp.cross(ddb, a), sp.cross(b, dda)), sp.scale3(2.0, sp.cross(db, da)))
        aa, ww = sp.dot3(a, a), sp.dot3(w, w)
        na, nw = math.sqrt(aa), math.sqrt(ww)
        ex, ey = sp.scale3(1.0 / na, a), sp.scale3(1.0 / nw, w)
        ez = sp.cross(ex, ey)
        omega = sp.add3(sp.scale3(sp.dot3(dw, ez) / nw, ex), sp.scale3(-sp.dot3(da, ez) / na, ey))
        omega = sp.axpy3(sp.dot3(da, ey) / na, ez, omega)
        dey, dez = sp.cross(omega, ey), sp.cross(omega, ez)
        _, rx = share(ez, w, dw, ddw, ww, nw, dez)
        _, ry = share(ez, a, da, dda, aa, na, dez)
        _, rz = share(ey, a, da, dda, aa, na, dey)
        domega = sp.add3(sp.scale3(rx, ex), sp.add3(sp.scale3(-ry, ey), sp.scale3(rz, ez)))
        Q = (ex[0], ey[0], ez[0], ex[1], ey[1], ez[1], ex[2], ey[2], ez[2])
        return Q, c, omega, a, domega, da

    return along_curve


def kernels() -> Formulas:
    from ..algebra import spatial as sp
    from ..compiler import lanes
    from ..kernels.joint_columns import shift_origin

    along_curve = _along_curve()

    @lanes.inline
    def place(m, i, q, k, R, o):
        sign = m.sign[i]
        Q, c, omega, a, _, _ = along_curve(
            m.numbers, int(lanes.lane_of(lanes.get(m.parameter, i), 0)), lanes.get(q, m.position[i])
        )
        if sign > 0.0:
            A = R
            _, o = shift_origin(m, k, i, o, sp.mul33(A, c))
            R, child = sp.matmul(R, Q), o
        else:
            R = sp.matmul(R, sp.transpose(Q))
            A = R
            child, o = shift_origin(m, k, i, o, sp.neg3(sp.mul33(A, c)))
        w = sp.mul33(A, omega)
        sp.store6(k.S, m.dof[i], sp.scale(sign, sp.join(w, sp.add3(sp.mul33(A, a), sp.cross(child, w)))))
        return R, o

    @lanes.inline
    def bias(m, i, q, u, k):
        sign, u1 = m.sign[i], lanes.get(u, m.dof[i])
        Q, c, omega, a, domega, da = along_curve(
            m.numbers, int(lanes.lane_of(lanes.get(m.parameter, i), 0)), lanes.get(q, m.position[i])
        )
        A, child = sp.load9(k.R, i), sp.load3(k.o, i)
        if sign > 0.0:
            A = sp.matmul(A, sp.transpose(Q))
        else:
            child = sp.add3(child, sp.mul33(A, c))
        t = sp.mul33(A, domega)
        return sp.scale(
            sign * u1 * u1, sp.join(t, sp.add3(sp.mul33(A, sp.add3(da, sp.cross(a, omega))), sp.cross(child, t)))
        )

    @lanes.inline
    def read(m, i, R, d, q):
        """The nearest point, by Gauss and Newton from where it was"""
        at, x = int(m.parameter[i]), lanes.get(q, m.position[i])
        there = d if m.sign[i] > 0.0 else sp.neg3(sp.mul33t(R, d))
        for _ in range(12):
            _, c, _, a, _, _ = along_curve(m.numbers, at, x)
            x -= sp.dot3(sp.sub3(c, there), a) / sp.dot3(a, a)
        lanes.put(q, m.position[i], x)

    return Formulas(place, bias, read)


# ---------------------------------------------------------------- the spline


@lru_cache(64)
def table_of(points: tuple[Any, ...], closed: bool, orientation: str, up: Any) -> np.ndarray:
    """HEAD and rows as kernels read them."""
    P = np.array(points)
    if closed:
        P = np.vstack([P, P[:1]])
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(P, axis=0), axis=1))])
    chords, apart = s[-1], np.inf
    for _ in range(MOST):  # knots at the arc lengths of the points
        if apart <= ALIKE * s[-1] or not s[-1] < WINDING * chords:
            break
        before, s = s, np.concatenate([[0.0], np.cumsum(_lengths(_spline(s, P, closed), s))])
        apart = np.abs(s - before).max()
    if not apart <= ALIKE * s[-1]:
        raise ValueError("the arc lengths of the points do not settle")
    c = _spline(s, P, closed)
    if orientation == FIXED:
        b = None
    elif up == "minimal":
        b = _spline(s, _least_turning(c(s), c(s, 1), s, closed), closed)
    else:
        U = np.broadcast_to(np.array(up, float), (len(points), 3))
        b = _spline(s, np.vstack([U, U[:1]]) if closed else U, closed)
    begin, coefficients = _pieces(c, s, closed)
    ups = np.zeros_like(coefficients) if b is None else _pieces(b, s, closed)[1]
    rows = np.concatenate([coefficients, ups], axis=1).reshape(len(begin), ROW)
    head = [len(begin), s[-1] if closed else 0.0, float(b is not None)]
    return np.concatenate([head, begin, rows.ravel()])


def _spline(s: np.ndarray, P: np.ndarray, closed: bool) -> Any:
    from scipy.interpolate import make_interp_spline

    if closed:
        return _periodic(s, P)
    straight = [(n, np.zeros(3)) for n in (2, 3)]
    return make_interp_spline(s, P, DEGREE, bc_type=(straight, straight))


def _periodic(s: np.ndarray, P: np.ndarray) -> Any:
    """The smooth closed curve of any number of points; SciPy's own solver of it loses all digits of a few points."""
    from scipy.interpolate import BSpline
    from scipy.sparse import coo_array
    from scipy.sparse.linalg import spsolve

    n = len(s) - 1
    turns = np.arange(-DEGREE, n + DEGREE + 1)
    knots = s[turns % n] + s[-1] * (turns // n)
    basis = coo_array(BSpline.design_matrix(s[:-1], knots, DEGREE))
    wrapped = coo_array((basis.data, (basis.row, basis.col % n)), shape=(n, n))  # laps share their coefficients
    c = spsolve(wrapped.tocsc(), P[:-1]).reshape(n, 3)
    return BSpline(knots, c[np.arange(n + DEGREE) % n], DEGREE)


def _lengths(c: Any, s: np.ndarray) -> np.ndarray:
    """Of the curve between its points, by Gauss's rule."""
    x, weight = np.polynomial.legendre.leggauss(12)
    h = np.diff(s)
    at = s[:-1, None] + 0.5 * h[:, None] * (1.0 + x)
    return 0.5 * h * (np.linalg.norm(c(at, 1), axis=-1) @ weight)


def _pieces(spline: Any, s: np.ndarray, closed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Where each piece begins, and (pieces, 3, 6) coefficients of rising powers; an open curve is straight outside."""
    from math import factorial

    knots = np.unique(np.clip(spline.t, s[0], s[-1]))[:-1]
    middle = 0.5 * (knots + np.append(knots[1:], s[-1]))  # one-sided derivatives: within the piece
    degree = spline.k
    at = np.array([spline(middle, n) / factorial(n) for n in range(degree + 1)])  # (powers, pieces, 3)
    shift, c = knots - middle, np.zeros((6, len(knots), 3))
    for n in range(degree + 1):  # moved from the middle to the beginning
        for power in range(n, degree + 1):
            choose = factorial(power) / (factorial(n) * factorial(power - n))
            c[n] += choose * at[power] * shift[:, None] ** (power - n)
    c[0] = spline(knots)
    if not closed:
        ends = np.zeros((6, 2, 3))
        ends[0], ends[1] = spline(s[[0, -1]]), spline(s[[0, -1]], 1)
        c = np.concatenate([ends[:, :1], c, ends[:, 1:]], axis=1)
        knots = np.concatenate([s[:1], knots, s[-1:]])
    return knots, c.transpose(1, 2, 0)


def _least_turning(P: np.ndarray, a: np.ndarray, s: np.ndarray, closed: bool) -> np.ndarray:
    """Directions across a curve that turn least about it, by two reflections from point to point; closed at the end."""
    t = a / np.linalg.norm(a, axis=1, keepdims=True)
    start = np.eye(3)[np.argmin(np.abs(t[0]))] if abs(t[0][2]) > 0.9 else np.array([0.0, 0.0, 1.0])
    r = [start - t[0] * (start @ t[0])]
    r[0] /= np.linalg.norm(r[0])
    for i in range(len(P) - 1):
        v = P[i + 1] - P[i]
        left, tangent = (x - 2.0 * v * (v @ x) / (v @ v) for x in (r[i], t[i]))
        v = t[i + 1] - tangent
        r.append(left if v @ v == 0.0 else left - 2.0 * v * (v @ left) / (v @ v))
    if closed:
        angle = np.arctan2(np.cross(r[-1], r[0]) @ t[0], r[-1] @ r[0])
        for i in range(len(P)):
            f = angle * s[i] / s[-1]
            r[i] = np.cos(f) * r[i] + np.sin(f) * np.cross(t[i], r[i])
        r[-1] = r[0]
    return np.array(r)


def numbers(joint: Any) -> np.ndarray:
    own = joint.own
    return table_of(own["points"], own["closed"], own["orientation"], own["up"])


def length(joint: Any) -> float:
    """Arc length from the first point to the last, or once round."""
    table = numbers(joint)
    return float(table[1] or table[HEAD + int(table[0]) - 1])


def pose(x: np.ndarray, joint: Any) -> Pose:
    table, q = numbers(joint), x[..., 0]
    count, period = int(table[0]), table[1]
    begin, rows = table[HEAD : HEAD + count], table[HEAD + count :].reshape(count, 6, 6)
    if period:
        q = q - period * np.floor(q / period)
    piece = np.clip(np.searchsorted(begin, q, side="right") - 1, 0, count - 1)
    if not period:
        piece = np.where(q < begin[0], 0, piece)
    t = (q - begin[piece])[..., None]
    c = rows[piece]
    powers = t ** np.arange(6)
    place = (c * powers[..., None, :]).sum(axis=-1)
    if not table[2]:
        return np.eye(3), place[..., :3]
    a = (c[..., :3, 1:] * (powers[..., :5] * np.arange(1, 6))[..., None, :]).sum(axis=-1)
    w = np.cross(place[..., 3:], a)
    ex, ey = (v / np.linalg.norm(v, axis=-1, keepdims=True) for v in (a, w))
    return np.stack([ex, ey, np.cross(ex, ey)], axis=-1), place[..., :3]


# ---------------------------------------------------------------- what the user writes


def check(own: dict[str, Any], label: str, where: str | None) -> dict[str, Any]:
    """The parameters with their defaults, as tuples; complains about curves that are none."""
    from ..errors import ModelError
    from ..model.check import known, vector

    def vectors(key: str) -> tuple[Any, ...]:
        given = own.get(key)
        if not isinstance(given, list | tuple | np.ndarray):
            raise ModelError(f"{label}: {key} of a curve are missing", expected="a list of points (m)", where=where)
        return tuple(vector(x, f"{label}: {key}", where) for x in given)

    points, closed = vectors("points"), own.get("closed", False)
    if not isinstance(closed, bool):
        raise ModelError(f"{label}: closed is neither true nor false", got=closed, where=where)
    if len(points) < FEWEST[closed]:
        kind = "a closed" if closed else "an open"
        raise ModelError(
            f"{label}: too few points for {kind} curve", expected=f"at least {FEWEST[closed]}", got=len(points),
            where=where,
        )  # fmt: skip
    ring = points + points[:1] if closed else points
    for n, (a, b) in enumerate(pairwise(ring)):
        if a == b:
            raise ModelError(
                f"{label}: points {n} and {(n + 1) % len(points)} of the curve are the same",
                got=list(a),
                where=where,
                hint="a closed curve returns to its first point by itself: leave the last one out" if closed else None,
            )
    orientation = known(own.get("orientation", TANGENT), (FIXED, TANGENT), f"{label}: orientation", where)
    up: Any = own.get("up", (0.0, 0.0, 1.0))
    if isinstance(up, str):
        known(up, ("minimal",), f"{label}: up", where)
    elif len(np.shape(up)) == 2:
        up = vectors("up")
        if len(up) != len(points):
            raise ModelError(
                f"{label}: up has the wrong length",
                expected=f"one vector, or {len(points)}, one for each point",
                got=len(up),
                where=where,
            )
    else:
        up = vector(up, f"{label}: up", where)
    found = {"points": points, "closed": closed, "orientation": orientation, "up": up}
    _settled(found, label, where)
    if orientation == TANGENT:
        _upright(found, label, where)
    return found


def _settled(own: dict[str, Any], label: str, where: str | None) -> None:
    """There is a spline whose arc length is the coordinate at its points."""
    from ..errors import ModelError

    try:
        table = table_of(own["points"], own["closed"], FIXED, own["up"])
        if np.isfinite(table).all():
            return
    except (ValueError, np.linalg.LinAlgError):
        pass
    raise ModelError(
        f"{label}: no smooth curve was found through these points",
        expected="points that follow each other along a curve, closer where it bends",
        got=f"{len(own['points'])} points with sharp turns or uneven distances",
        where=where,
        hint="give more points",
    )


def _upright(own: dict[str, Any], label: str, where: str | None) -> None:
    """Up is nowhere along the tangent."""
    from ..errors import ModelError

    table = table_of(own["points"], own["closed"], TANGENT, own["up"])
    count = int(table[0])
    begin, rows = table[HEAD : HEAD + count], table[HEAD + count :].reshape(count, 6, 6)
    last = table[1] or begin[-1]
    for n in range(count):
        end = begin[n + 1] if n + 1 < count else last
        t = np.linspace(0.0, end - begin[n], 9)[:, None] ** np.arange(6)
        values = t @ rows[n].T
        a = (t[:, :5] * np.arange(1, 6)) @ rows[n][:3, 1:].T
        b = values[:, 3:]
        sine = np.linalg.norm(np.cross(b, a), axis=1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1))
        if not sine.min() > PARALLEL:
            x, y, z = values[int(np.argmin(sine)), :3].tolist()
            raise ModelError(
                f"{label}: up is along the curve",
                expected="up across the tangent everywhere",
                got=f"along it near [{x:.3g}, {y:.3g}, {z:.3g}]",
                where=where,
                hint='give up = "minimal", or one vector for each point, or orientation = "fixed"',
            )


CURVE = JointKind(
    "curve",
    about="motion along a spline through `points`, with the parent's axes or following the tangent",
    coordinates=(("", "m"),),
    dofs=((X + SHIFT, WAY),),
    holds=None,
    pose=pose,
    kernels=kernels,
    group=CARRIED,
    axes=0,
    parameters=("points", "closed", "orientation", "up"),
    picture="slide",
    color="#661100",
    operations=900,
    check=check,
    numbers=numbers,
)
