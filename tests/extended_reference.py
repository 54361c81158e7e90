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

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg
from flint import arb, arb_mat, ctx

BITS, MOST_BITS = 256, 4096
KNOWN = 1e-20  # radius of an acceleration against the largest, to which precision is raised
RANK = 1e-9  # as the library documents: dynamics/multipliers.py
AMBIGUOUS = (1e-15, 1e-7)  # relative singular values for which either rank is a fair reading
MOST_READINGS = 8
MOST_ENCLOSED = 250  # equations to eliminate in balls
CONTRADICTS = 1e-7  # residual of a dropped equation, against its terms

SLOW = 1e-3  # velocities and accelerations below which equations are not compared any more closely

ZERO, ONE = arb(0), arb(1)
SIZES = {
    "fixed": 0, "revolute": 1, "prismatic": 1, "screw": 1, "cylindrical": 2, "universal": 2, "planar": 3,
    "spherical": 3, "free": 6,
}  # fmt: skip


# ---- vectors are lists of three balls, matrices are arb_mat


def vector(x):
    return [arb(float(v)) for v in x]


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def plus(a, b):
    return [x + y for x, y in zip(a, b, strict=True)]


def minus(a, b):
    return [x - y for x, y in zip(a, b, strict=True)]


def times(k, a):
    return [k * x for x in a]


def unit(x):
    a = x if isinstance(x[0], arb) else vector(x)
    return times(1 / dot(a, a).sqrt(), a)


def across(a):
    """Two unit vectors that make a right-handed frame with the unit vector a."""
    k = int(np.argmin([abs(float(v)) for v in a]))
    first = unit(cross(a, [arb(int(i == k)) for i in range(3)]))
    return first, cross(a, first)


def in_plane(axis):
    """The two directions of a planar joint, as docs/notation.md defines them."""
    a = unit(axis)
    k = int(np.argmax([abs(float(v)) for v in a]))
    if abs(float(axis[k])) == np.linalg.norm(axis):
        first = [arb(int(i == (k + 1) % 3)) for i in range(3)]
    else:  # x turned by the shortest rotation that takes z to up: x - up_x (z + up) / (1 + up_z)
        up = a if float(a[2]) >= 0 else times(-1, a)
        first = minus([ONE, ZERO, ZERO], times(up[0] / (1 + up[2]), [up[0], up[1], up[2] + 1]))
    return first, cross(a, first)


def second_axis(joint):
    """axis2 made perpendicular to axis."""
    a, b = unit(joint.axis), vector(joint.axis2)
    return unit(minus(b, times(dot(a, b), a)))


def rotation(quaternion):
    """Entries of the rotation matrix of a quaternion [w, x, y, z] of any length."""
    w, x, y, z = vector(quaternion)
    n = 2 / (w * w + x * x + y * y + z * z)
    return [
        [1 - n * (y * y + z * z), n * (x * y - w * z), n * (x * z + w * y)],
        [n * (x * y + w * z), 1 - n * (x * x + z * z), n * (y * z - w * x)],
        [n * (x * z - w * y), n * (y * z + w * x), 1 - n * (x * x + y * y)],
    ]


def homogeneous(R, p):
    return arb_mat([[*R[0], p[0]], [*R[1], p[1]], [*R[2], p[2]], [ZERO, ZERO, ZERO, ONE]])


def pose_matrix(position, quaternion):
    return homogeneous(rotation(quaternion), vector(position))


def twist_matrix(w, v):
    z = ZERO
    return arb_mat([[z, -w[2], w[1], v[0]], [w[2], z, -w[0], v[1]], [-w[1], w[0], z, v[2]], [z, z, z, z]])


def parts(T):
    """Rows of the rotation and the place of a pose."""
    e = T.entries()
    return [e[0:3], e[4:7], e[8:11]], [e[3], e[7], e[11]]


def apply(R, a):
    return [dot(R[0], a), dot(R[1], a), dot(R[2], a)]


def back(R, a):
    """R' a"""
    return [R[0][i] * a[0] + R[1][i] * a[1] + R[2][i] * a[2] for i in range(3)]


def inverse(T):
    R, p = parts(T)
    return homogeneous([list(c) for c in zip(*R, strict=True)], times(-1, back(R, p)))


class Path:
    """A pose and its first two derivatives in time at u' = 0."""

    __slots__ = ("T",)

    def __init__(self, T, rate=None, second=None):
        self.T = (T, arb_mat(4, 4) if rate is None else rate, arb_mat(4, 4) if second is None else second)

    def __mul__(self, other):
        (a, a1, a2), (b, b1, b2) = self.T, other.T
        return Path(a * b, a1 * b + a * b1, a2 * b + 2 * (a1 * b1) + a * b2)

    def on(self, pose):
        """The pose fixed in this one."""
        return Path(*(T * pose for T in self.T))

    def inverse(self):
        T, rate, second = self.T
        Y = inverse(T)
        moved = Y * rate
        first = -(moved * Y)  # (T Y)' = 0
        return Path(Y, first, -(Y * second * Y) - 2 * (moved * first))


# ---- joints as products of exponentials


def factors(joint):
    """The twists [omega], [v] of a joint's coordinates, in the order in which they move the child frame."""
    a, o = unit(joint.axis), [ZERO] * 3
    match joint.kind:
        case "revolute":
            return [(a, o)]
        case "prismatic":
            return [(o, a)]
        case "screw":
            return [(a, times(arb(joint.pitch), a))]
        case "cylindrical":
            return [(a, o), (o, a)]
        case "universal":
            return [(a, o), (second_axis(joint), o)]
        case "planar":
            e1, e2 = in_plane(joint.axis)
            return [(o, e1), (o, e2), (a, o)]
    return []


def exponential(w, v, q):
    """exp of a twist whose omega is a unit vector parallel to v, or zero."""
    if all(x == 0 for x in w):
        return homogeneous([[ONE, ZERO, ZERO], [ZERO, ONE, ZERO], [ZERO, ZERO, ONE]], times(q, v))
    s, c = q.sin(), q.cos()
    k = 1 - c
    R = [[k * w[i] * w[j] for j in range(3)] for i in range(3)]
    for i in range(3):
        R[i][i] += c
        R[i][(i + 1) % 3] -= s * w[(i + 2) % 3]
        R[i][(i + 2) % 3] += s * w[(i + 1) % 3]
    return homogeneous(R, times(q, v))


def moved(R, p, w, v):
    """A twist of axes R at the place p, in world axes about the world origin."""
    w, v = apply(R, w), apply(R, v)
    return w + plus(v, cross(p, w))


def joint_path(joint, q, u):
    """The child frame in the parent frame, and the twists of u in the parent frame."""
    if joint.kind == "fixed":
        return Path(pose_matrix((0, 0, 0), (1, 0, 0, 0))), []
    if joint.kind in ("spherical", "free"):
        X = pose_matrix(q[:3] if joint.kind == "free" else (0, 0, 0), q[-4:])
        speeds = vector(u) + [ZERO] * (6 - len(u))
        K = twist_matrix(speeds[:3], speeds[3:])
        R, p = parts(X)
        e = [[arb(int(i == k)) for i in range(6)] for k in range(len(u))]
        return Path(X, X * K, X * K * K), [moved(R, p, x[:3], x[3:]) for x in e]
    total, screws = None, []
    for (w, v), qi, ui in zip(factors(joint), vector(q), vector(u), strict=True):
        screws.append(w + v if total is None else moved(*parts(total.T[0]), w, v))
        T, K = exponential(w, v, qi), ui * twist_matrix(w, v)
        step = Path(T, K * T, K * K * T)
        total = step if total is None else total * step
    return total, screws


# ---- equations of closing joints, in the pose E, p of one frame seen from another


@dataclass
class Meeting:
    """The frame G of body b seen from the frame F of body a: rotation and place with derivatives, and F in the world."""

    a: str
    b: str
    F: list  # rotation of F
    x: list  # place of G in the world
    E: list  # E, E', E'': rows of the rotation
    p: list  # p, p', p''


@dataclass
class Equation:
    """One equation: row w of the difference of the twists of b and a, or factors of single coordinates."""

    name: str
    a: str = "ground"
    b: str = "ground"
    w: list | None = None
    columns: dict = field(default_factory=dict)  # row of u -> factor
    value: arb = ZERO  # violation
    rate: arb = ZERO  # violation of the velocities
    second: arb = ZERO  # second derivative at u' = 0


def along(m, e):
    """Place of G along a direction of F."""
    f = apply(m.F, e)
    return cross(m.x, f) + f, [dot(p, e) for p in m.p]


def tilt(m, g, f):
    """(E g) . f of a direction g of G and f of F."""
    Eg = [apply(E, g) for E in m.E]
    return apply(m.F, cross(Eg[0], f)) + [ZERO] * 3, [dot(e, f) for e in Eg]


def turned_by(m, a):
    """The angle of G about the axis a."""
    n, o = across(a)
    (wy, y), (wx, x) = tilt(m, n, o), tilt(m, n, n)
    r2 = x[0] * x[0] + y[0] * y[0]
    w = [(x[0] * i - y[0] * j) / r2 for i, j in zip(wy, wx, strict=True)]
    rate = (x[0] * y[1] - y[0] * x[1]) / r2
    stretch = 2 * (x[0] * x[1] + y[0] * y[1]) / r2
    return w, [arb.atan2(y[0], x[0]), rate, (x[0] * y[2] - y[0] * x[2]) / r2 - rate * stretch]


def less(first, second, k):
    """A row and its derivatives, less k times another."""
    return tuple([i - k * j for i, j in zip(x, y, strict=True)] for x, y in zip(first, second, strict=True))


def closing_rows(joint, m, swapped=False):
    """What a joint of this kind holds of the pose of its frames: rows and derivatives of what must be zero.

    G is the child's frame seen from the parent's frame F, or if ``swapped`` the other way round.
    """
    a, e = unit(joint.axis), [[arb(int(i == k)) for i in range(3)] for k in range(3)]
    n = across(a)
    match joint.kind:
        case "fixed":
            return [tilt(m, e[i], e[j]) for i, j in ((1, 2), (2, 0), (0, 1))] + [along(m, x) for x in e]
        case "prismatic":
            return [tilt(m, e[i], e[j]) for i, j in ((1, 2), (2, 0), (0, 1))] + [along(m, x) for x in n]
        case "revolute":
            return [tilt(m, a, x) for x in n] + [along(m, x) for x in e]
        case "screw":
            rise = less(along(m, a), turned_by(m, a), arb(joint.pitch))
            return [tilt(m, a, x) for x in n] + [along(m, x) for x in n] + [rise]
        case "cylindrical":
            return [tilt(m, a, x) for x in n] + [along(m, x) for x in n]
        case "universal":
            g, f = (a, second_axis(joint)) if swapped else (second_axis(joint), a)
            return [tilt(m, g, f)] + [along(m, x) for x in e]
        case "planar":
            return [tilt(m, a, x) for x in n] + [along(m, a)]
        case "spherical":
            return [along(m, x) for x in e]
    return []


def function_of_time(f, t):
    """Value and two rates."""
    kind = type(f).__name__
    if kind == "Sine":
        w = 2 * arb.pi() * arb(f.frequency)
        phase, k = w * arb(t) + arb(f.phase), arb(f.amplitude)
        return arb(f.offset) + k * phase.sin(), k * w * phase.cos(), -k * w * w * phase.sin()
    if kind == "Ramp":
        if t < f.start or f.end is not None:
            raise NotImplementedError("ramps that begin later or end")
        return arb(f.value) + arb(f.rate) * (arb(t) - arb(f.start)), arb(f.rate), ZERO
    if kind in ("Step", "Table"):
        raise NotImplementedError(kind)
    return arb(float(f)), ZERO, ZERO


class Mechanism:
    """Poses, twists and equations of a model at one state."""

    def __init__(self, system, q, u, t=0.0, swapped=False, jitter=None):
        self.system, self.model, self.t, self.swapped, self.jitter = system, system.model, t, swapped, jitter
        self.q, self.u = np.asarray(q, float), np.asarray(u, float)
        self.closing = [self.model.joints[name] for name in system.cut_joints]
        self.columns = [None] * system.nu  # twists of the coordinates, with the sign of the outer body
        self.mover = [None] * system.nu  # the outer body of each coordinate
        self.up = {"ground": None}  # inner neighbour of each body
        self.own = {"ground": ()}  # rows of u of the joint that carries a body
        self.path = {"ground": Path(pose_matrix((0, 0, 0), (1, 0, 0, 0)))}
        self._walk()
        self.route = {"ground": ()}
        for body in self.up:
            if body != "ground":
                self.route[body] = (*self.route[self.up[body]], *self.own[body])

    def _walk(self):
        waiting = [j for j in self.model.joints.values() if j.name not in self.system.cut_joints]
        while waiting:
            later = []
            for j in waiting:
                if j.parent in self.path or j.child in self.path:
                    self._carry(j)
                else:
                    later.append(j)
            if len(later) == len(waiting):
                raise ValueError("joints that are not connected to ground")
            waiting = later

    def _carry(self, j):
        rows = self.system.u_index(j.name) if SIZES[j.kind] else slice(0, 0)
        q = self.q[self.system.q_index(j.name)] if SIZES[j.kind] else ()
        X, screws = joint_path(j, q, self.u[rows])
        at, child_at = (self.pose(p.position, p.quaternion) for p in (j.at, j.child_at))
        outward = j.parent in self.path
        if outward:
            F = self.path[j.parent].on(at)
            near, far = j.parent, j.child
            self.path[far] = (F * X).on(inverse(child_at))
        else:
            F = self.path[j.child].on(child_at) * X.inverse()
            near, far = j.child, j.parent
            self.path[far] = F.on(inverse(at))
        R, p = parts(F.T[0])
        self.up[far], self.own[far] = near, tuple(range(rows.start, rows.start + len(screws)))
        for k, s in zip(self.own[far], screws, strict=True):
            twist = moved(R, p, s[:3], s[3:])
            self.columns[k] = twist if outward else times(-1, twist)
            self.mover[k] = far

    def pose(self, position, quaternion):
        """A pose of the model, moved by one rounding if there is a generator for that."""
        if self.jitter is not None:
            position, quaternion = (rounded(x, self.jitter) for x in (position, quaternion))
        return pose_matrix(position, quaternion)

    # ---- mass matrix and bias force

    def equations(self):
        """M and b of M u' + b = tau, as an arb_mat and a list."""
        nu, g = self.system.nu, vector(self.model.gravity)
        inertia, load = {}, {}
        for name in self.up:
            inertia[name], load[name] = self._solid(name, g) if name != "ground" else (arb_mat(6, 6), arb_mat(6, 1))
        for name in reversed(self.up):  # of a body and all that it carries
            if self.up[name] is not None:
                inertia[self.up[name]] += inertia[name]
                load[self.up[name]] += load[name]
        rows, b = [ZERO] * (nu * nu), [ZERO] * nu
        for name, own in self.own.items():
            if not own:
                continue
            route = self.route[name]
            S = arb_mat([self.columns[k] for k in own])
            F = S * inertia[name]
            b_own = (S * load[name]).entries()
            block = (F * arb_mat([self.columns[k] for k in route]).transpose()).entries()
            for i, k in enumerate(own):
                b[k] = b_own[i]
                for j, l in enumerate(route):
                    rows[k * nu + l] = rows[l * nu + k] = block[i * len(route) + j]
        for name in self.system.joints:
            armature = arb(self.model.joints[name].armature)
            if armature != 0:
                for k in range(nu)[self.system.u_index(name)]:
                    rows[k * nu + k] += armature
        return arb_mat(nu, nu, rows), b

    def _solid(self, name, g):
        """Spatial inertia about the world origin, and the wrench that moves the body at u' = 0."""
        body = self.model.bodies[name]
        T, rate, second = self.path[name].T
        R = arb_mat(parts(T)[0])
        m, com = arb(body.mass), arb_mat(4, 1, [*vector(body.com), ONE])
        c, acceleration = ((X * com).entries()[:3] for X in (T, second))
        I = R * arb_mat([vector(row) for row in body.inertia]) * R.transpose()
        spin = arb_mat(parts(rate)[0]) * R.transpose()
        w = [spin[2, 1], spin[0, 2], spin[1, 0]]
        turning = (arb_mat(parts(second)[0]) * R.transpose() - spin * spin).entries()
        alpha = [turning[7], turning[2], turning[3]]
        force = times(m, minus(acceleration, g))
        rows = I.tolist()
        torque = plus(apply(rows, alpha), cross(w, apply(rows, w)))
        load = arb_mat(6, 1, plus(torque, cross(c, force)) + force)
        K = arb_mat([[ZERO, -c[2], c[1]], [c[2], ZERO, -c[0]], [-c[1], c[0], ZERO]])
        J, mK = (I - m * (K * K)).tolist(), (m * K).tolist()
        below = [[-x for x in mK[i]] + [m if i == j else ZERO for j in range(3)] for i in range(3)]
        return arb_mat([J[i] + mK[i] for i in range(3)] + below), load

    def acceleration(self, name, udot):
        """[angular; that of the centre of mass] of a body, as doubles."""
        T, rate, second = self.path[name].T
        R = arb_mat(parts(T)[0]).transpose()
        spin = arb_mat(parts(rate)[0]) * R
        turning = (arb_mat(parts(second)[0]) * R - spin * spin).entries()
        com = arb_mat(4, 1, [*vector(self.model.bodies[name].com), ONE])
        c, a = ((X * com).entries()[:3] for X in (T, second))
        total = [ZERO] * 6
        for k in self.route[name]:
            total = plus(total, times(arb(float(udot[k])), self.columns[k]))
        alpha = plus([turning[7], turning[2], turning[3]], total[:3])
        return np.array([float(x) for x in alpha + plus(plus(a, total[3:]), cross(total[:3], c))])

    # ---- equations of loops and constraints

    def frame(self, name, at):
        """A pose or point on a body or named frame: its body and its Path."""
        position, quaternion = (at, (1, 0, 0, 0)) if isinstance(at, tuple) else (at.position, at.quaternion)
        own = self.pose(position, quaternion)
        if name in self.path:
            return name, self.path[name].on(own)
        named = self.model.frames[name]
        body, path = self.frame(named.body, named.at)
        return body, path.on(own)

    def meet(self, to, to_at, body, at):
        (a, F), (b, G) = self.frame(to, to_at), self.frame(body, at)
        seen = [parts(T) for T in (F.inverse() * G).T]
        return Meeting(a, b, parts(F.T[0])[0], parts(G.T[0])[1], [s[0] for s in seen], [s[1] for s in seen])

    def rows(self):
        """Every Equation of the mechanism but those of prescribed motions."""
        found = []
        for j in self.closing:
            ends = (j.parent, j.at, j.child, j.child_at)
            m = self.meet(*(ends[2:] + ends[:2] if self.swapped else ends))
            found += [self._between(j.name, m, row) for row in closing_rows(j, m, self.swapped)]
        for c in self.model.couplings.values():
            found.append(self._tied(c.joint, c.joint, 0, c.of, 0, c.ratio, c.offset))
        for c in self.model.constraints.values():
            found += getattr(self, f"_{type(c).__name__.lower()}")(c)
        return found

    def _between(self, name, m, row):
        w, (value, rate, second) = row
        return Equation(name, m.a, m.b, w, {}, value, rate, second)

    def _coordinate(self, joint, freedom):
        """Row of u of a coordinate of the tree, its value and rate."""
        if joint in self.system.cut_joints:
            raise NotImplementedError("constraints on coordinates of closing joints")
        row = self.system.u_index(joint).start + freedom
        return row, arb(float(self.q[self.system.q_index(joint)][freedom])), arb(float(self.u[row]))

    def _tied(self, name, joint, freedom, of, of_freedom, ratio, offset):
        i, q, u = self._coordinate(joint, freedom)
        k, other, rate = self._coordinate(of, of_freedom)
        r = arb(ratio)
        return Equation(name, columns=summed((i, ONE), (k, -r)), value=q - r * other - arb(offset), rate=u - r * rate)

    def _gear(self, c):
        return [self._tied(c.name, c.joint, c.freedom, c.of, c.of_freedom, c.ratio, c.offset)]

    def _rack(self, c):
        return [self._tied(c.name, c.joint, 0, c.of, 0, c.radius, c.offset)]

    def _relative(self, c):
        value, rate, second = function_of_time(c.position, self.t)
        i, q, u = self._coordinate(c.joint, c.freedom)
        terms = [(i, ONE)]
        if c.of is not None:
            k, other, moves = self._coordinate(c.of, c.of_freedom)
            terms, q, u = [*terms, (k, -ONE)], q - other, u - moves
        return [Equation(c.name, columns=summed(*terms), value=q - value, rate=u - rate, second=-second)]

    def _speed(self, c):
        value, rate, _ = function_of_time(c.speed, self.t)
        i = self.system.u_index(c.joint).start + c.freedom
        terms, moves = [(i, ONE)], arb(float(self.u[i]))
        if c.of:
            k = self.system.u_index(c.of).start + c.of_freedom
            terms, moves = [*terms, (k, -arb(c.ratio))], moves - arb(c.ratio) * arb(float(self.u[k]))
        return [Equation(c.name, columns=summed(*terms), rate=moves - value, second=-rate)]

    def _distance(self, c):
        m = self.meet(c.to, c.to_at, c.body, c.at)
        p, rate, second = m.p
        size = arb(c.length) if self.swapped else dot(p, p).sqrt()  # the same where the distance is right
        e = apply(m.F, times(1 / size, p))
        bend = (dot(p, second) + dot(rate, rate)) / size
        if not self.swapped:
            bend -= (dot(p, rate) / size) ** 2 / size
        row = cross(m.x, e) + e, [dot(p, p).sqrt() - arb(c.length), dot(p, rate) / size, bend]
        return [self._between(c.name, m, row)]

    def _pointonline(self, c):
        m = self.meet(c.to, c.to_at, c.body, c.at)
        return [self._between(c.name, m, along(m, vector(e))) for e in ((0, 1, 0), (0, 0, 1))]

    def _pointonplane(self, c):
        m = self.meet(c.to, c.to_at, c.body, c.at)
        return [self._between(c.name, m, along(m, vector((0, 0, 1))))]

    def _knifeedge(self, c):
        m = self.meet(c.to, (0.0, 0.0, 0.0), c.body, c.at)
        y = [vector((0, 1, 0))]
        e, rate = apply(m.E[0], y[0]), apply(m.E[1], y[0])
        f = apply(m.F, e)
        second = dot(m.p[2], e) + dot(m.p[1], rate)
        return [self._between(c.name, m, (cross(m.x, f) + f, [ZERO, dot(m.p[1], e), second]))]

    def _roll(self, c):
        """A wheel or ball on a plane: its lowest point, at rho from the centre, moves at s = p' + omega x rho."""
        if c.on != "plane":
            raise NotImplementedError(f"rolling on a {c.on}")
        m = self.meet(c.to, c.to_at, c.body, c.at)
        R = arb_mat(m.E[0]).transpose()
        spin = arb_mat(m.E[1]) * R
        turning = (arb_mat(m.E[2]) * R - spin * spin).entries()
        w, alpha = [spin[2, 1], spin[0, 2], spin[1, 0]], [turning[7], turning[2], turning[3]]
        up = vector((0, 0, 1))
        rho, rho_rate, ahead, ahead_rate = touching(c, [apply(E, unit(c.axis)) for E in m.E] if c.axis else None)
        s = plus(m.p[1], cross(w, rho))
        s_rate = plus(plus(m.p[2], cross(alpha, rho)), cross(w, rho_rate))
        height = dot(up, plus(m.p[0], rho))
        held = [(up, [ZERO] * 3, height)]
        if c.slip != "all":
            held.append((ahead, ahead_rate, ZERO))
            if c.slip == "none":
                held.append((cross(up, ahead), cross(up, ahead_rate), ZERO))
        x = plus(m.x, apply(m.F, rho))
        found = []
        for e, e_rate, value in held:
            f = apply(m.F, e)
            row = cross(x, f) + f, [value, dot(e, s), dot(e, s_rate) + dot(e_rate, s)]
            found.append(self._between(c.name, m, row))
        if not c.pivots:
            found.append(self._between(c.name, m, (apply(m.F, up) + [ZERO] * 3, [ZERO, dot(up, w), dot(up, alpha)])))
        return found

    def jacobian(self, rows):
        """C, row by row, and gamma."""
        nu = self.system.nu
        C, S = [], arb_mat(self.columns).transpose() if nu else None
        W = [list(r.w) if r.w else [ZERO] * 6 for r in rows]
        product = (arb_mat(W) * S).entries()
        for i, r in enumerate(rows):
            line = [ZERO] * nu
            if r.w:
                a, b = set(self.route[r.a]), set(self.route[r.b])
                for k in b - a:
                    line[k] = product[i * nu + k]
                for k in a - b:
                    line[k] = -product[i * nu + k]
            for k, factor in r.columns.items():
                line[k] += factor
            C.append(line)
        return C, [-r.second for r in rows]

    def prescribed(self, derivative=2):
        """Row of u -> acceleration that a motion gives it, or its velocity."""
        found = {}
        for f in self.model.forces.values():
            if type(f).__name__ != "Motion":
                raise NotImplementedError(f"a force of kind {type(f).__name__}")
            row = self._coordinate(f.joint, f.freedom)[0]
            found[row] = function_of_time(f.position, self.t)[derivative]
        return found


def rounded(x, rng):
    """A vector, or each row of several, moved by one rounding of its length."""
    x = np.asarray(x, float)
    return x + 2.0**-53 * np.linalg.norm(x) * rng.choice([-1.0, 1.0], x.shape)


def summed(*terms):
    """Factors by row, where a row may come twice."""
    found = {}
    for row, factor in terms:
        found[row] = found.get(row, ZERO) + factor
    return found


def touching(c, axle):
    """Lowest point and heading of a wheel about an axle, or of a ball, on the plane z = 0, and their rates."""
    up, o = vector((0, 0, 1)), [ZERO] * 3
    if axle is None:
        return times(-arb(c.radius), up), o, vector((1, 0, 0)), o
    a, a_rate = axle[:2]
    rim, tyre = arb(c.radius) - arb(c.tyre), arb(c.tyre)
    lean = minus(up, times(a[2], a))
    lean_rate = times(-1, plus(times(a_rate[2], a), times(a[2], a_rate)))
    rise, rise_rate = normalized(lean, lean_rate)
    ahead, ahead_rate = normalized(cross(a, up), cross(a_rate, up))
    return minus(times(-rim, rise), times(tyre, up)), times(-rim, rise_rate), ahead, ahead_rate


def normalized(a, rate):
    size = dot(a, a).sqrt()
    e = times(1 / size, a)
    return e, times(1 / size, minus(rate, times(dot(e, rate), e)))


# ---- the solution


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


def solve(system, q, u, tau=None, t=0.0, swapped=False, readings=True, jitter=None):
    """The Answer, in as many bits as it takes to know every acceleration.

    ``swapped`` writes every equation from the side of the other body: the same at a closed pose, so that what differs
    is how far the closure error of the given doubles leaves the answer open. With ``jitter``, a seed, coordinates,
    velocities and all poses of the model are moved by one rounding: what then differs any algorithm may get wrong.
    """
    if jitter is not None:
        rng = np.random.default_rng(jitter)
        q = np.array(q) + 2.0**-53 * np.maximum(np.abs(q), 1.0) * rng.choice([-1.0, 1.0], np.shape(q))
        u = np.array(u) * (1 + 2.0**-53 * rng.choice([-1.0, 1.0], np.shape(u)))
    kept = ctx.prec
    bits = BITS + 4 * min(system.nu, MOST_ENCLOSED)
    try:
        while True:
            ctx.prec = bits
            rng = None if jitter is None else np.random.default_rng([jitter, 1])
            answer = _solve(Mechanism(system, q, u, t, swapped, rng), tau, readings)
            if answer is not None:
                answer.bits = bits
                return answer
            if bits >= MOST_BITS:
                raise Undetermined(f"no acceleration in {bits} bits")
            bits *= 2
    finally:
        ctx.prec = kept


def _solve(mechanism, tau, readings):
    nu = mechanism.system.nu
    M, b = mechanism.equations()
    rows, given = mechanism.rows(), mechanism.prescribed()
    rhs = minus(vector(np.zeros(nu) if tau is None else tau), b)
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
        residuals.append(worst([left(line, x, g) for line, g in zip(C, gamma, strict=True)], plain, full[free], gamma))
    return Answer(
        udot[0], len(cases[0][0]), len(C), singular,
        max((abs(float(r.value)) for r in rows), default=0.0),
        worst([r.rate for r in rows], plain, mechanism.u[free]),
        residuals[0],
        [(x, loss) for x, r, loss in zip(udot, residuals, losses, strict=True) if r <= CONTRADICTS],
        len(cases) > 1, len(cases[0][0]) == len(free), 0,
    )  # fmt: skip


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
    largest = max((abs(float(v.mid())) for v in x), default=0.0)
    if any(not v.is_finite() or float(v.rad()) > KNOWN * largest for v in x):
        return None if largest > 0 or not all(v.is_finite() for v in x) else x
    return x


def enclosed(K, right):
    """K^-1 right with radii: by elimination in balls, or of many equations by a residual, which is no proof but quick."""
    if K.nrows() <= MOST_ENCLOSED:
        return K.solve(right, algorithm="lu")
    x = K.solve(right, algorithm="approx")
    step = K.solve((right - K * x).mid(), algorithm="approx")
    return arb_mat(x.nrows(), 1, [arb(v, 2 * abs(dv).upper()) for v, dv in zip(x.entries(), step.entries(), strict=True)])


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
    """The largest of what is left of equations, against the terms that rows of their size have."""
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


def spread(system, q, u, tau=None, t=0.0):
    """How far the answer is open, relative: equations written from either side of every joint."""
    one, other = (solve(system, q, u, tau, t, swapped=s, readings=False).udot for s in (False, True))
    return float(np.abs(one - other).max(initial=0.0) / max(np.abs(one).max(initial=0.0), 1e-300))


__all__ = ["Answer", "Mechanism", "Undetermined", "accelerations", "solve", "spread"]
