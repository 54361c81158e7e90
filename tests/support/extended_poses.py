"""Poses with two derivatives in time, joints as products of exponentials, and what joints hold: all in balls of Arb.

Vectors are lists of three balls, poses are arb_mat (4 x 4). Used by extended_mechanism.py; shares nothing with `src`.
"""

from dataclasses import dataclass

import numpy as np
from flint import arb, arb_mat

from curve_jets import curve_frame

ZERO, ONE = arb(0), arb(1)
SIZES = {
    "fixed": 0, "revolute": 1, "prismatic": 1, "screw": 1, "cylindrical": 2, "universal": 2, "planar": 3,
    "homokinetic": 2, "curve": 1, "spherical": 3, "free": 6,
}  # fmt: skip


# ---- vectors


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
        velocities = vector(u) + [ZERO] * (6 - len(u))
        K = twist_matrix(velocities[:3], velocities[3:])
        R, p = parts(X)
        e = [[arb(int(i == k)) for i in range(6)] for k in range(len(u))]
        return Path(X, X * K, X * K * K), [moved(R, p, x[:3], x[3:]) for x in e]
    if joint.kind == "homokinetic":  # half of the first angle, the second, the other half
        (e1, e2), o = in_plane(joint.axis), [ZERO] * 3
        first, second, rest = [(e1, o), (e2, o), (e1, o)], *([x[0] / 2, x[1], x[0] / 2] for x in (vector(q), vector(u)))
        total, (a, b, c) = product(first, second, rest)
        return total, [[(x + y) / 2 for x, y in zip(a, c, strict=True)], b]
    if joint.kind == "curve":
        return curve_path(joint, float(q[0]), arb(float(u[0])))
    return product(factors(joint), vector(q), vector(u))


def curve_path(joint, q, u):
    """Along a curve: derivatives by q times u and u^2."""
    columns, place = curve_frame(joint, q, lambda x: arb(float(x)))
    if columns is None:
        columns = [[(arb(int(i == k)), ZERO, ZERO) for i in range(3)] for k in range(3)]
    T, first, second = (
        arb_mat([[e[i][n] for e in columns] + [place[i][n]] for i in range(3)] + [[ZERO] * 3 + [arb(int(n == 0))]])
        for n in range(3)
    )
    K = (first * inverse(T)).entries()
    return Path(T, u * first, u * u * second), [[K[9], K[2], K[4], K[3], K[7], K[11]]]


def product(twists, q, u):
    """Of exponentials, each in the frame of those before it; and their twists in the first frame."""
    total, screws = None, []
    for (w, v), qi, ui in zip(twists, q, u, strict=True):
        screws.append(w + v if total is None else moved(*parts(total.T[0]), w, v))
        T, K = exponential(w, v, qi), ui * twist_matrix(w, v)
        step = Path(T, K * T, K * K * T)
        total = step if total is None else total * step
    return total, screws


# ---- equations of closing joints, in the pose E, p of one frame seen from another


@dataclass
class Meeting:
    """The frame G of body b seen from the frame F of body a, with derivatives, and where both are in the world."""

    a: str
    b: str
    F: list  # rotation of F
    x: list  # place of G in the world
    E: list  # E, E', E'': rows of the rotation
    p: list  # p, p', p''


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


def untwisted(m, x, y, z):
    """No part of the quaternion along the shaft: times its largest other part, since folded back the scalar is zero."""
    a, b, c = (tilt(m, e, e)[1][0] for e in (x, y, z))
    pivots = (a + b + c, x, y, ONE), (a - b - c, z, x, -ONE), (b - a - c, z, y, -ONE)
    _, g, f, sign = max(pivots, key=lambda row: float(row[0]))
    return less(tilt(m, g, f), tilt(m, f, g), sign)


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
        case "homokinetic":
            return [untwisted(m, *in_plane(joint.axis), a)] + [along(m, x) for x in e]
        case "spherical":
            return [along(m, x) for x in e]
    return []
