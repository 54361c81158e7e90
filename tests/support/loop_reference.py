"""A slow reference for mechanisms with loops and constraints: series in time, 50 digits, a dense least-squares solve.

It reads the plain fields of a Model, and from a System only which joints are cut and which rows belong to a joint.
No derivative is written down by hand for any constraint: whatever moves is a Series,

    x(t) = x + x' t + x'' t^2 / 2,     x' for every unit speed and for the given velocities,     x'' at u' = 0

and products and functions of Series differentiate exactly. A cut joint's rows are what its kind says of the two
frames' relative pose; with C' and c'' of a row's Series, Kane's equations (words: tests/support/reference.py) give

    M u' = tau - b + C' lambda,    C u' = gamma = -c''

solved for the u' that satisfies every row, rows that depend on others included (rank by pivoting), in least squares.
"""

from dataclasses import dataclass
from decimal import Decimal, localcontext

import mpmath
import numpy as np
from scipy.interpolate import CubicSpline

from curve_jets import curve_frame
from reference import SIZES

DIGITS = 50
# rows are scaled to length 1: what is left of a dependent one is the rounding of the model's numbers, 1e-16, times the
# conditioning of the others; between the two bounds the rank is not a matter of fact
DEPENDENT, INDEPENDENT = Decimal("1e-11"), Decimal("1e-7")


def exact(x):
    """Decimals of floats, digit for digit."""
    return np.vectorize(lambda v: Decimal(float(v)), otypes=[object])(np.asarray(x, float))


def floats(x):
    return np.array(x, float)


def zeros(*shape):
    return np.full(shape, Decimal(0), object)


ONE = np.vectorize(Decimal, otypes=[object])(np.eye(3, dtype=int))


def skew(a):
    o = Decimal(0)
    return np.array([[o, -a[2], a[1]], [a[2], o, -a[0]], [-a[1], a[0], o]], object)


def vee(A):
    """a of the antisymmetric part [a x] of A, or of each of several."""
    return np.stack([A[..., 2, 1] - A[..., 1, 2], A[..., 0, 2] - A[..., 2, 0], A[..., 1, 0] - A[..., 0, 1]], -1) / 2


def length(a):
    return sum(x * x for x in a).sqrt()


def unit(a):
    a = exact(a)
    return a / length(a)


def across(a):
    """Two unit vectors that make a right-handed frame with the unit vector a."""
    k = int(np.argmin(np.abs(floats(a))))
    first = skew(a) @ ONE[k]
    first = first / length(first)
    return first, skew(a) @ first


def in_plane(a):
    """The two directions of a planar joint, as docs/notation.md says."""
    k = int(np.argmax(np.abs(floats(a))))
    if abs(a[k]) == 1:
        first = ONE[(k + 1) % 3]
    else:
        up = a if a[2] >= 0 else -a
        # x turned by the shortest rotation that takes z to up: x - up_x (z + up) / (1 + up_z)
        first = ONE[0] - up[0] * (ONE[2] + up) / (1 + up[2])
    return first, skew(a) @ first


def matrix(quaternion):
    q = unit(quaternion)
    w, p = q[0], q[1:]
    return (w * w - p @ p) * ONE + 2 * w * skew(p) + 2 * np.outer(p, p)


def by_mpmath(f, *x):
    with mpmath.workdps(DIGITS + 10):
        return Decimal(mpmath.nstr(f(*(mpmath.mpf(str(v)) for v in x)), DIGITS + 5))


class Series:
    """x; d: its rate for every unit speed and, last, for the given velocities; dd: its second rate for the given
    velocities.
    """

    __slots__ = ("d", "dd", "x")

    def __init__(self, x, d, dd):
        self.x, self.d, self.dd = x, d, dd

    def __add__(self, b):
        return Series(self.x + b.x, self.d + b.d, self.dd + b.dd) if isinstance(b, Series) else self + still(b, self)

    def __neg__(self):
        return Series(-self.x, -self.d, -self.dd)

    def __sub__(self, b):
        return self + (-b)

    def __matmul__(self, b):
        """A constant on the right may be an array; vectors on the right are columns."""
        if not isinstance(b, Series):
            return Series(self.x @ b, self.d @ b, self.dd @ b)
        moved = b.d @ self.x.T if b.x.ndim == 1 else self.x @ b.d
        return Series(self.x @ b.x, self.d @ b.x + moved, self.dd @ b.x + 2 * self.d[-1] @ b.d[-1] + self.x @ b.dd)

    def dot(self, b):
        """Inner product of vectors; b may be a constant."""
        if not isinstance(b, Series):
            return self @ b
        second = self.dd @ b.x + 2 * (self.d[-1] @ b.d[-1]) + self.x @ b.dd
        return Series(self.x @ b.x, self.d @ b.x + b.d @ self.x, second)

    def times(self, constant):
        """A scalar Series times a constant array."""
        d = np.multiply.outer(self.d, constant)
        return Series(self.x * constant, d, self.dd * constant)

    @property
    def T(self):
        return Series(self.x.T, np.swapaxes(self.d, -1, -2), self.dd.T)


def still(x, like):
    """A constant as a Series."""
    x = np.asarray(x, object)
    return Series(x, zeros(len(like.d), *x.shape), zeros(*x.shape))


def scaled(a, factor):
    return Series(a.x * factor, a.d * factor, a.dd * factor)


def stretched(s, a):
    """A scalar Series times a vector one."""
    d = np.multiply.outer(s.d, a.x) + s.x * a.d
    return Series(s.x * a.x, d, s.dd * a.x + 2 * s.d[-1] * a.d[-1] + s.x * a.dd)


def normalized(a):
    square = a.dot(a)
    root = square.x.sqrt()
    d = -square.d / (2 * root**3)  # of 1 / length
    return stretched(Series(1 / root, d, -square.dd / (2 * root**3) + 3 * square.d[-1] ** 2 / (4 * root**5)), a)


def crossed(a, b):
    product = skew(a.x)
    d = np.array([skew(x) @ b.x + product @ y for x, y in zip(a.d, b.d, strict=True)])
    return Series(product @ b.x, d, skew(a.dd) @ b.x + 2 * skew(a.d[-1]) @ b.d[-1] + product @ b.dd)


def slip(R, p, rho, e):
    """e . (p' + R' R^T rho) as a row: it has no value, its d are of the first, its dd of the second order."""
    back = R.x.T @ rho.x
    moved = p.d + R.d @ back
    rate = p.dd + R.dd @ back + R.d[-1] @ (R.d[-1].T @ rho.x + R.x.T @ rho.d[-1])
    return Series(Decimal(0), moved @ e.x, rate @ e.x + moved[-1] @ e.d[-1])


def turn(axis, angle):
    """Rotation about a unit axis: 1 + sin K + (1 - cos) K^2."""
    s, c, r = by_mpmath(mpmath.sin, angle.x), by_mpmath(mpmath.cos, angle.x), angle.d[-1]
    sine = Series(s, c * angle.d, c * angle.dd - s * r * r)
    cosine = Series(c, -s * angle.d, -s * angle.dd - c * r * r)
    K = skew(axis)
    return (sine.times(K) - cosine.times(K @ K)) + (ONE + K @ K)


def angle_of(y, x):
    """atan2(y, x) of scalar Series."""
    r2 = x.x * x.x + y.x * y.x
    d = (x.x * y.d - y.x * x.d) / r2
    stretch = 2 * (x.x * x.d[-1] + y.x * y.d[-1]) / r2
    return Series(by_mpmath(mpmath.atan2, y.x, x.x), d, (x.x * y.dd - y.x * x.dd) / r2 - d[-1] * stretch)


def function_series(f, t, like):
    """A function of time and its two rates; only the given velocities go with time."""
    kind = type(f).__name__
    if kind == "Sine":
        w = by_mpmath(lambda v: 2 * mpmath.pi * v, Decimal(f.frequency))
        phase = w * t + Decimal(f.phase)
        s, c = (Decimal(f.amplitude) * by_mpmath(g, phase) for g in (mpmath.sin, mpmath.cos))
        value, rate, second = Decimal(f.offset) + s, w * c, -w * w * s
    elif kind == "Ramp":
        on = t >= Decimal(f.start)
        value, rate = Decimal(f.value) + on * Decimal(f.rate) * (t - Decimal(f.start)), on * Decimal(f.rate)
        second = Decimal(0)
    elif kind == "Step":
        rise, x = Decimal(f.rise), (t - Decimal(f.start)) / Decimal(f.rise)
        x, h = min(max(x, Decimal(0)), Decimal(1)), Decimal(f.after) - Decimal(f.before)
        value = Decimal(f.before) + h * x**3 * (6 * x * x - 15 * x + 10)
        rate, second = h * 30 * x * x * (1 - x) ** 2 / rise, h * 60 * x * (1 - x) * (1 - 2 * x) / rise**2
    elif kind == "Table":
        spline, at = CubicSpline(f.times, f.values, bc_type="clamped"), np.clip(float(t), f.times[0], f.times[-1])
        inside = f.times[0] < float(t) < f.times[-1]
        value, rate, second = (Decimal(float(spline(at, n))) * (inside or n == 0) for n in range(3))
    else:
        value, rate, second = Decimal(f), Decimal(0), Decimal(0)
    d = zeros(len(like.d))
    d[-1] = rate
    return Series(value, d, second)


def curve_pose(joint, q):
    """E, p of a curve joint's child frame: jets by its coordinate, with the rates of the coordinate."""
    with mpmath.workdps(DIGITS + 10):
        turned, place = curve_frame(joint, mpmath.mpf(str(q.x)), mpmath.mpf)
        jets = [place] if turned is None else [place, *turned]
        vectors = [[[Decimal(mpmath.nstr(x, DIGITS + 5)) for x in jet] for jet in vector] for vector in jets]
    value, first, second = np.moveaxis(np.array(vectors, object), -1, 0)
    d, dd = np.multiply.outer(q.d, first), q.dd * first + q.d[-1] ** 2 * second
    p = Series(value[0], d[:, 0], dd[0])
    if turned is None:
        return still(ONE, q), p
    return Series(value[1:].T, np.swapaxes(d[:, 1:], 1, 2), dd[1:].T), p


def joint_pose(joint, q):
    """E, p of a tree joint's child frame in its parent frame, from the Series of its coordinates.

    q of spherical and free joints is (quaternion, place, rows of the unit velocities, u): their velocities are rates in
    the child's axes, E' = E [w x] and p' = E v.
    """
    if joint.kind in ("spherical", "free"):
        quaternion, place, columns, u, like = q
        E, w = matrix(quaternion), skew(u[:3])
        turned = still(E, like)
        turned.d[columns.start : columns.start + 3] = [E @ skew(e) for e in ONE]
        turned.d[-1], turned.dd = E @ w, E @ w @ w
        p = still(exact(place), like)
        if joint.kind == "free":
            p.d[columns.start + 3 : columns.stop] = E.T
            p.d[-1], p.dd = E @ u[3:], E @ w @ u[3:]
        return turned, p
    a = unit(joint.axis)
    fixed, nowhere = still(ONE, q[0]) if q else None, still(zeros(3), q[0]) if q else None
    match joint.kind:
        case "revolute":
            return turn(a, q[0]), nowhere
        case "prismatic":
            return fixed, q[0].times(a)
        case "screw":
            return turn(a, q[0]), q[0].times(a * Decimal(joint.pitch))
        case "cylindrical":
            return turn(a, q[0]), q[1].times(a)
        case "universal":
            return turn(a, q[0]) @ turn(second_axis(joint), q[1]), nowhere
        case "homokinetic":
            e1, e2 = in_plane(a)
            half = turn(e1, Series(q[0].x / 2, q[0].d / 2, q[0].dd / 2))
            return half @ turn(e2, q[1]) @ half, nowhere
        case "planar":
            e1, e2 = in_plane(a)
            return turn(a, q[2]), q[0].times(e1) + q[1].times(e2)
        case "curve":
            return curve_pose(joint, q[0])
    raise ValueError(joint.kind)


def second_axis(joint):
    """axis2 made perpendicular to axis to the last digit."""
    a, b = unit(joint.axis), exact(joint.axis2)
    b = b - (a @ b) * a
    return b / length(b)


def joint_rows(joint, E, p):
    """What a joint's kind says of the pose E, p of its child frame in its parent frame: Series that are zero."""
    a = unit(joint.axis)
    n = across(a)
    place = [p.dot(e) for e in ONE]
    aside = [p.dot(e) for e in n]
    tilt = [(E @ a).dot(e) for e in n]
    match joint.kind:
        case "fixed" | "prismatic":
            W = E - E.T
            turned = [Series(W.x[i, j] / 2, W.d[:, i, j] / 2, W.dd[i, j] / 2) for i, j in ((2, 1), (0, 2), (1, 0))]
            return turned + (place if joint.kind == "fixed" else aside)
        case "revolute":
            return tilt + place
        case "screw":
            angle, pitch = turned_by(E, a), Decimal(joint.pitch)
            return [*tilt, *aside, p.dot(a) - Series(angle.x * pitch, angle.d * pitch, angle.dd * pitch)]
        case "cylindrical":
            return tilt + aside
        case "universal":
            return [(E @ second_axis(joint)).dot(a), *place]
        case "planar":
            return [*tilt, p.dot(a)]
        case "homokinetic":
            return [untwisted(E, *in_plane(a), a), *place]
        case "spherical":
            return place
    return []


def untwisted(E, x, y, z):
    """No part of the quaternion along the shaft: times its largest other part, since folded back the scalar is zero."""
    a, b, c = ((E @ e).dot(e).x for e in (x, y, z))
    twisted = (E @ x).dot(y) - (E @ y).dot(x), (E @ z).dot(x) + (E @ x).dot(z), (E @ z).dot(y) + (E @ y).dot(z)
    return twisted[int(np.argmax([a + b + c, a - b - c, b - a - c]))]


def turned_by(E, a):
    n = across(a)
    return angle_of((E @ n[0]).dot(n[1]), (E @ n[0]).dot(n[0]))


def joint_coordinate(joint, dof, E, p):
    """A coordinate of a cut joint, from the pose of its frames."""
    a = unit(joint.axis)
    if joint.kind == "universal":
        b = second_axis(joint)
        if dof == 0:  # E b = turn(a, q0) b
            return angle_of((E @ b).dot(skew(a) @ b), (E @ b).dot(b))
        return angle_of((E.T @ a).dot(skew(a) @ b), (E.T @ a).dot(a))  # E' a = turn(b, -q1) a
    e1, e2 = in_plane(a)
    of = {
        "revolute": [lambda: turned_by(E, a)],
        "screw": [lambda: turned_by(E, a)],
        "prismatic": [lambda: p.dot(a)],
        "cylindrical": [lambda: turned_by(E, a), lambda: p.dot(a)],
        "planar": [lambda: p.dot(e1), lambda: p.dot(e2), lambda: turned_by(E, a)],
    }
    return of[joint.kind][dof]()


class LoopReference:
    """The motion of every body of a model at one state, as Series; rows of all its constraints."""

    def __init__(self, model, system, q, u, t=0.0):
        self.model, self.system, self.nu, self.t = model, system, system.nu, Decimal(float(t))
        self.u = exact(u)
        self.like = Series(Decimal(0), zeros(system.nu + 1), Decimal(0))
        self.cuts = [model.joints[name] for name in system.cut_joints]
        self.coordinates = {name: self._coordinates(name, exact(q)) for name in system.joints}
        self.places = {"ground": (still(ONE, self.like), still(zeros(3), self.like))}
        self._walk()

    def _coordinates(self, name, q):
        rows, columns = self.system.q_index(name), self.system.u_index(name)
        q, u, kind = q[rows], self.u[columns], self.model.joints[name].kind
        if kind in ("spherical", "free"):
            return q[-4:], q[:3] if kind == "free" else zeros(3), columns, u, self.like
        series = []
        for n in range(SIZES[kind][0]):
            d = zeros(self.nu + 1)
            d[columns.start + n], d[-1] = Decimal(1), u[n]
            series.append(Series(q[n], d, Decimal(0)))
        return series

    def _walk(self):
        waiting = [j for j in self.model.joints.values() if j not in self.cuts]
        while waiting:
            j = next(j for j in waiting if (j.parent in self.places) != (j.child in self.places))
            waiting.remove(j)
            if j.kind == "fixed":
                E, p = still(ONE, self.like), still(zeros(3), self.like)
            else:
                E, p = joint_pose(j, self.coordinates[j.name])
            if j.parent in self.places:
                RF, rF = self.frame(j.parent, j.at)
                R = RF @ E @ matrix(j.child_at.quaternion).T
                self.places[j.child] = R, rF + RF @ p - R @ exact(j.child_at.position)
            else:
                RG, rG = self.frame(j.child, j.child_at)
                RF = RG @ E.T
                R = RF @ matrix(j.at.quaternion).T
                self.places[j.parent] = R, rG - RF @ p - R @ exact(j.at.position)

    def frame(self, name, at):
        """A pose on a body or frame, in the world."""
        if name not in self.places:
            named = self.model.frames[name]
            R, r = self.frame(named.body, named.at)
        else:
            R, r = self.places[name]
        position, quaternion = (at, (1, 0, 0, 0)) if isinstance(at, tuple) else (at.position, at.quaternion)
        return R @ matrix(quaternion), r + R @ exact(position)

    def relative(self, body, at, to, to_at):
        """Pose of a frame in another one."""
        (RF, rF), (RG, rG) = self.frame(to, to_at), self.frame(body, at)
        return RF.T @ RG, RF.T @ (rG - rF)

    def coordinate(self, joint, dof):
        if joint in self.coordinates:
            return self.coordinates[joint][dof]
        j = self.model.joints[joint]
        return joint_coordinate(j, dof, *self.relative(j.child, j.child_at, j.parent, j.at))

    def rows(self):
        """Every row that must be zero: (name of the joint, coupling, constraint or motion; its Series)."""
        for j in self.cuts:
            for row in joint_rows(j, *self.relative(j.child, j.child_at, j.parent, j.at)):
                yield j.name, row
        for c in self.model.couplings.values():
            yield c.joint, self._tied(c, c.ratio, 0, 0)
        for c in self.model.constraints.values():
            for row in self._constraint(c):
                yield c.name, row
        for f in self.model.forces.values():
            if type(f).__name__ == "Motion":
                yield f.name, self.coordinate(f.joint, f.dof) - function_series(f.position, self.t, self.like)

    def _tied(self, c, ratio, dof, of_dof):
        of, k = self.coordinate(c.of, of_dof), Decimal(ratio)
        follows = Series(of.x * k + Decimal(c.offset), of.d * k, of.dd * k)
        return self.coordinate(c.joint, dof) - follows

    def _constraint(self, c):
        match type(c).__name__:
            case "Gear":
                return [self._tied(c, c.ratio, c.dof, c.of_dof)]
            case "Rack":
                return [self._tied(c, c.radius, 0, 0)]
            case "Relative":
                row = self.coordinate(c.joint, c.dof) - function_series(c.position, self.t, self.like)
                return [row if c.of is None else row - self.coordinate(c.of, c.of_dof)]
            case "Speed":
                return [self._speed(c)]
            case "Roll" | "KnifeEdge":
                return self._slips(c)
        _, p = self.relative(c.body, c.at, c.to, c.to_at)
        match type(c).__name__:
            case "Distance":
                L = Decimal(c.length)
                square = p.dot(p)
                return [Series((square.x / L - L) / 2, square.d / L / 2, square.dd / L / 2)]
            case "PointOnLine":
                return [p.dot(ONE[1]), p.dot(ONE[2])]
        return [p.dot(ONE[2])]

    def _speed(self, c):
        """A row on velocities: its d are factors of u, and dd the rate of what is given."""
        given, d = function_series(c.speed, self.t, self.like), zeros(self.nu + 1)
        d[self.system.u_index(c.joint).start + c.dof] += 1
        if c.of:
            d[self.system.u_index(c.of).start + c.of_dof] -= Decimal(c.ratio)
        d[-1] = d[:-1] @ self.u - given.x
        return Series(Decimal(0), d, -given.d[-1])

    def _slips(self, c):
        """Rows of what rolls or glides: a point rho from the centre p moves at p' + R' R^T rho in ``to``."""
        if type(c).__name__ == "KnifeEdge":
            R, p = self.relative(c.body, c.at, c.to, (0.0, 0.0, 0.0))
            return [slip(R, p, still(zeros(3), self.like), R @ ONE[1])]
        R, p = self.relative(c.body, c.at, c.to, c.to_at)
        up = still(ONE[2], self.like)
        if c.on == "sphere":
            up = scaled(normalized(p), Decimal(1 if c.to_radius > 0 else -1))
        if c.axis is None:
            rho, along = scaled(up, -Decimal(c.radius)), still(ONE[0], self.like)
            if c.on == "sphere":
                along = normalized(crossed(up, still(across(up.x)[0], self.like)))
        else:
            a = R @ unit(c.axis)
            rise = a.dot(up)
            lean = normalized(up - stretched(rise, a))
            rho = scaled(lean, -(Decimal(c.radius) - Decimal(c.tyre))) - scaled(up, Decimal(c.tyre))
            along = normalized(crossed(a, up)) if c.on == "plane" else still(ONE[0], self.like)
        height = up.dot(p + rho) - Decimal(c.to_radius)
        rows = [height] + [p.dot(ONE[1])] * (c.on == "line")
        if c.slip != "all":
            rows.append(slip(R, p, rho, along))
            if c.slip == "none" and c.on != "line":
                rows.append(slip(R, p, rho, crossed(up, along)))
        if not c.pivots:
            spin = R.d @ R.x.T
            turned = vee(R.dd @ R.x.T) @ up.x + vee(spin[-1]) @ up.d[-1]
            rows.append(Series(Decimal(0), vee(spin) @ up.x, turned))
        return rows

    def equations(self):
        """M (nu x nu) and b (nu) of M u' + b = tau."""
        M, b, g = zeros(self.nu, self.nu), zeros(self.nu), exact(self.model.gravity)
        for j in self.coordinates:
            for r in range(self.nu)[self.system.u_index(j)]:
                M[r, r] += Decimal(self.model.joints[j].armature)
        for body in self.model.bodies.values():
            R, r = self.places[body.name]
            c, m = r + R @ exact(body.com), Decimal(body.mass)
            J, spin = R.x @ exact(body.inertia) @ R.x.T, vee(R.d @ R.x.T)
            w, alpha = spin[-1], vee(R.dd @ R.x.T)
            Jw, Jv = spin[:-1], c.d[:-1]
            M += m * (Jv @ Jv.T) + Jw @ J @ Jw.T
            b += m * (Jv @ (c.dd - g)) + Jw @ (J @ alpha + skew(w) @ J @ w)
        return M, b


@dataclass
class Answer:
    """What the reference found, as floats."""

    udot: np.ndarray
    force: np.ndarray  # of the constraints, on the rows of u
    rank: int
    names: list  # of the rows
    gap: np.ndarray  # of each row, m or rad
    speed: np.ndarray  # of each row, m/s or rad/s
    misfit: float  # what is left of C u' = gamma, against the largest gamma; not small: rows contradict each other
    conditioning: float  # of [M C'; C 0] with the independent rows, scaled to unit diagonal and rows


def accelerations(model, system, q, u, tau=None, t=0.0):
    """u' of a system with loops and constraints, in 50 digits; forces of the model other than motions are in tau."""
    return solve(model, system, q, u, tau, t).udot


def solve(model, system, q, u, tau=None, t=0.0):
    with localcontext(prec=DIGITS):
        reference = LoopReference(model, system, q, u, t)
        M, b = reference.equations()
        rows = list(reference.rows())
        rhs = exact(np.zeros(system.nu) if tau is None else tau) - b
        L = cholesky(M)
        free = lower(L, rhs)  # y = L' u'
        if not rows:
            udot = upper(L, free)
            nothing = np.zeros(0)
            return Answer(floats(udot), 0 * floats(udot), 0, [], nothing, nothing, 0.0, np.linalg.cond(floats(M)))
        C, gamma = np.array([row.d[:-1] for _, row in rows]), np.array([-row.dd for _, row in rows])
        A = lower(L, C.T).T
        y, kept, misfit = onto(A, gamma, free)
        udot = upper(L, y)
        return Answer(
            floats(udot),
            floats(M @ udot - rhs),
            len(kept),
            [name for name, _ in rows],
            floats([row.x for _, row in rows]),
            floats([row.d[-1] for _, row in rows]),
            misfit,
            conditioning(floats(M), floats(C[kept])),
        )


def constraint_rows(model, system, q, u, t=0.0):
    """Names, C (rows x nu), gap and speed of every row, as floats."""
    with localcontext(prec=DIGITS):
        rows = list(LoopReference(model, system, q, u, t).rows())
        C = floats([row.d[:-1] for _, row in rows]).reshape(len(rows), system.nu)
        gap, speed = (floats([f(row) for _, row in rows]) for f in (lambda r: r.x, lambda r: r.d[-1]))
        return [name for name, _ in rows], C, gap, speed


def cholesky(M):
    L = zeros(*M.shape)
    for i in range(len(M)):
        for j in range(i + 1):
            s = M[i, j] - L[i, :j] @ L[j, :j]
            L[i, j] = s.sqrt() if i == j else s / L[j, j]
    return L


def lower(L, b):
    """L^-1 b"""
    x = np.array(b, object)
    for i in range(len(L)):
        x[i] = (x[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def upper(L, b):
    """L'^-1 b"""
    x = np.array(b, object)
    for i in reversed(range(len(L))):
        x[i] = (x[i] - L[i + 1 :, i] @ x[i + 1 :]) / L[i, i]
    return x


def onto(A, gamma, y):
    """The point nearest to y with A y = gamma in least squares; the independent rows; what is left of the worst row."""
    size = np.array([length(a) for a in A])
    for part in size / max(size.max(), Decimal("1e-30")):
        clear(part)
    size = np.where(size > size.max() * DEPENDENT, size, Decimal("Infinity"))  # a row of nothing stays nothing
    A, gamma = A / size[:, None], gamma / size
    Q, R, kept = orthogonal(A)
    z = R @ (gamma - A @ y)
    L = cholesky(R @ R.T)  # A = R' Q: the least squares of R' z = d
    y = y + upper(L, lower(L, z)) @ Q
    scale = max(abs(gamma).max(), length(y), Decimal("1e-30"))
    return y, kept, float(abs(A @ y - gamma).max() / scale)


def clear(size):
    """Whether a row is independent of the others, by what it has apart from them."""
    if DEPENDENT < size < INDEPENDENT:
        raise ValueError(f"the rank is not clear: a row is independent by {float(size):.1g}")
    return size >= INDEPENDENT


def orthogonal(A):
    """Q (rank x n) with orthonormal rows and R (rank x rows) with A = R' Q, and which rows are independent."""
    left, Q, kept = A.copy(), [], []
    while len(kept) < min(A.shape):
        sizes = [length(a) for a in left]
        k = int(np.argmax(floats(sizes)))
        if not clear(sizes[k]):
            break
        e = left[k] / sizes[k]
        left = left - np.outer(left @ e, e)
        left[k] = 0 * left[k]
        Q.append(e)
        kept.append(k)
    return np.array(Q), np.array(Q) @ A.T, kept


def conditioning(M, C):
    d = 1 / np.sqrt(np.diag(M))
    M, C = M * d * d[:, None], C * d
    C /= np.linalg.norm(C, axis=1)[:, None]
    return float(np.linalg.cond(np.block([[M, C.T], [C, np.zeros((len(C), len(C)))]])))
