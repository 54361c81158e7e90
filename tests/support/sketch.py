"""Mechanisms drawn body by body at a pose, so that loops close to the last digit wherever they are closed.

Poses are carried in extended doubles (x87) from q, and a closing joint gets the `child_at` that fits. The laws of a
Sketch say which masses, lengths, angles and velocities are drawn; they are what makes a mechanism hard.
"""

import numpy as np
import scipy.linalg
from flint import arb, arb_mat, ctx

import whippletree as wt
from curve_jets import curve_frame
from extended_mechanism import Mechanism
from extended_reference import row_sizes
from whippletree.errors import ModelError
from whippletree.joints import KINDS
from whippletree.joints.curve import length
from whippletree.model import JOINT_KINDS, Pose
from whippletree.system.topology import find_topology

WIDE = np.longdouble
PI = 4 * np.arctan(WIDE(1))
SIZES = {kind: n for kind, (_, n) in JOINT_KINDS.items()}


def unit(x):
    x = np.asarray(x, float)
    return x / np.linalg.norm(x)


def log_uniform(rng, low, high):
    """A number whose decimal exponent is uniform between two."""
    return float(10.0 ** rng.uniform(low, high))


def tiny(rng, low=-14.0, high=-2.0):
    """Zero now and then, else of any size between."""
    return 0.0 if rng.random() < 0.15 else log_uniform(rng, low, high)


def pose(R=None, p=None):
    T = np.eye(4, dtype=WIDE)
    if R is not None:
        T[:3, :3] = R
    if p is not None:
        T[:3, 3] = p
    return T


def turn(axis, angle):
    a = np.asarray(axis, WIDE)
    a = a / np.sqrt((a * a).sum())
    K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]], WIDE)
    return pose(np.eye(3, dtype=WIDE) + np.sin(WIDE(angle)) * K + (1 - np.cos(WIDE(angle))) * (K @ K))


def shift(p):
    return pose(p=np.asarray(p, WIDE))


def of_quaternion(q):
    w, x, y, z = np.asarray(q, WIDE)
    n = 2 / (w * w + x * x + y * y + z * z)
    return pose(
        [
            [1 - n * (y * y + z * z), n * (x * y - w * z), n * (x * z + w * y)],
            [n * (x * y + w * z), 1 - n * (x * x + z * z), n * (y * z - w * x)],
            [n * (x * z - w * y), n * (y * z + w * x), 1 - n * (x * x + y * y)],
        ]
    )


def inverse(T):
    R = T[:3, :3].T
    return pose(R, -(R @ T[:3, 3]))


def quaternion(T):
    """[w, x, y, z] of the rotation of a pose, by its largest component."""
    R = T[:3, :3]
    squares = np.array([1 + R[0, 0] + R[1, 1] + R[2, 2]] + [1 + 2 * R[i, i] - np.trace(R) for i in range(3)])
    k = int(np.argmax(squares))
    s = np.sqrt(squares[k])
    skew = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
    if k == 0:
        q = [s, *(x / s for x in skew)]
    else:
        i, j, l = k - 1, k % 3, (k + 1) % 3
        q = [skew[i] / s, 0, 0, 0]
        q[1 + i], q[1 + j], q[1 + l] = s, (R[i, j] + R[j, i]) / s, (R[i, l] + R[l, i]) / s
    return np.array(q, WIDE) / 2


def as_pose(T):
    return Pose(tuple(float(x) for x in T[:3, 3]), tuple(float(x) for x in quaternion(T)))


def of_pose(p):
    T = of_quaternion(p.quaternion)
    T[:3, 3] = np.asarray(p.position, WIDE)
    return T


def plane_axes(axis):
    """In-plane directions of a planar joint about z, x or y, as docs/notation.md defines them."""
    k = int(np.argmax(np.abs(axis)))
    return np.eye(3, dtype=WIDE)[(k + 1) % 3], np.eye(3, dtype=WIDE)[(k + 2) % 3]


def bend_axes(a):
    """Directions across any unit axis, as docs/notation.md defines them."""
    k = int(np.argmax(np.abs(a)))
    first = np.eye(3, dtype=WIDE)[(k + 1) % 3]
    if np.abs(a[k]) != np.sqrt((a * a).sum()):
        up = a if a[2] >= 0 else -a
        first = np.eye(3, dtype=WIDE)[0] - up[0] / (1 + up[2]) * np.array([up[0], up[1], up[2] + 1])
    return first, np.cross(a, first)


def joint_pose(joint, q):
    a = np.asarray(joint.axis, WIDE)
    a = a / np.sqrt((a * a).sum())
    match joint.kind:
        case "fixed":
            return pose()
        case "revolute":
            return turn(a, q[0])
        case "prismatic":
            return shift(a * WIDE(q[0]))
        case "screw":
            return shift(a * WIDE(joint.pitch) * WIDE(q[0])) @ turn(a, q[0])
        case "cylindrical":
            return shift(a * WIDE(q[1])) @ turn(a, q[0])
        case "universal":
            b = np.asarray(joint.axis2, WIDE)
            return turn(a, q[0]) @ turn(b - (a @ b) * a, q[1])
        case "planar":
            e1, e2 = plane_axes(joint.axis)
            return shift(e1 * WIDE(q[0]) + e2 * WIDE(q[1])) @ turn(a, q[2])
        case "homokinetic":
            e1, e2 = bend_axes(a)
            half = turn(e1, WIDE(q[0]) / 2)
            return half @ turn(e2, q[1]) @ half
        case "curve":
            columns, place = curve_frame(joint, float(q[0]), WIDE)
            R = None if columns is None else np.array([[x[0] for x in e] for e in columns], WIDE).T
            return pose(R, [x[0] for x in place])
        case "spherical":
            return of_quaternion(q)
    T = of_quaternion(q[3:])
    T[:3, 3] = np.asarray(q[:3], WIDE)
    return T


def closing(kind, otherwise):
    """A kind that can close a loop."""
    return kind if KINDS[kind].holds is not None else otherwise


class Laws:
    """What numbers are drawn: each law is a function of the generator."""

    def __init__(self):
        self.mass = lambda rng: rng.uniform(0.5, 3.0)
        self.length = lambda rng: rng.uniform(0.3, 1.0)
        self.angle = lambda rng: rng.uniform(-2.5, 2.5)
        self.turn = lambda rng: unit(rng.normal(size=4))
        self.kind = lambda rng, kind: kind  # of joints whose axes are drawn
        self.speed = 1.0
        self.far = 0.0


class Sketch:
    """A model that grows at a pose: bodies with their poses, joints with their coordinates."""

    def __init__(self, rng, laws=None, name="adversary"):
        self.rng, self.laws = rng, laws or Laws()
        self.model = wt.Model(name, gravity=tuple(rng.uniform(-10, 10, 3)))
        self.q, self.u, self.poses = {}, None, {"ground": pose()}
        self.far = self.laws.far * rng.normal(size=3)
        self.rank = 1e-14 if rng.random() < 0.3 else 1e-9  # by which velocities see rows as independent

    # ---- draws

    def mass(self):
        return float(self.laws.mass(self.rng))

    def length(self):
        return float(self.laws.length(self.rng))

    def point(self, length=None):
        return (length or self.length()) * self.rng.uniform(-1, 1, 3)

    def place(self, length=None):
        return Pose(tuple(self.point(length)), tuple(unit(self.rng.normal(size=4))))

    def solid(self, length=None, mass=None):
        """A cloud of points of some size."""
        length, mass = length or self.length(), mass or self.mass()
        points = self.rng.normal(size=(6, 3)) * self.rng.uniform(0.2, 0.6, 3) * length
        spread = np.cov(points.T, bias=True)
        inertia = mass * (np.trace(spread) * np.eye(3) - spread)
        return {"mass": mass, "com": self.rng.uniform(-0.5, 0.5, 3) * length, "inertia": inertia}

    def bar(self, length, mass=None):
        """A rod along x, as thick as a twentieth of its length."""
        mass = mass or self.mass()
        thin, across = mass * length**2 / 400, mass * length**2 * (1 / 12 + 1 / 800)
        return {"mass": mass, "com": (length / 2, 0, 0), "inertia": (thin, across, across)}

    def axes(self, kind):
        """Axis arguments of a joint of this kind."""
        if kind in ("fixed", "spherical", "free"):
            return {}
        if kind == "planar":
            return {"axis": str(self.rng.choice(("x", "y", "z")))}
        if kind == "curve":
            count, shape = int(self.rng.integers(2, 8)), {"closed": self.rng.random() < 0.3}
            along = np.linspace(0, 2 * np.pi, count + 4, endpoint=False)
            ring = np.stack([np.cos(along), 0.7 * np.sin(along), 0.2 * np.sin(2 * along)], -1)
            line = np.outer(np.arange(count), unit(self.rng.normal(size=3)))
            points = ring if shape["closed"] else line
            points = self.length() * (points + 0.2 / (1 + 2 * shape["closed"]) * self.rng.normal(size=points.shape))
            turned = {"up": "minimal"} if self.rng.random() < 0.6 else {"orientation": "fixed"}
            return {"points": [tuple(map(float, p)) for p in points], **shape, **turned}
        first = unit(self.rng.normal(size=3))
        if kind == "universal":
            return {"axis": first, "axis2": unit(np.cross(first, self.rng.normal(size=3)))}
        return {"axis": first} | ({"pitch": self.rng.uniform(-0.3, 0.3)} if kind == "screw" else {})

    def coordinates(self, joint):
        kind = joint.kind
        rng, angle = self.rng, self.laws.angle
        way = lambda: self.length() * rng.uniform(-1, 1)  # noqa: E731
        match kind:
            case "spherical":
                return self.laws.turn(rng)
            case "free":
                return np.concatenate([self.point(), self.laws.turn(rng)])
            case "revolute" | "screw":
                return np.array([angle(rng)])
            case "prismatic":
                return np.array([way()])
            case "cylindrical":
                return np.array([angle(rng), way()])
            case "universal" | "homokinetic":
                return np.array([angle(rng), angle(rng)])
            case "curve":  # on it, beyond its ends, or more than once round
                return np.array([length(joint) * rng.uniform(-0.3, 1.3)])
            case "planar":
                return np.array([way(), way(), angle(rng)])
        return np.zeros(0)

    # ---- growth

    def carry(self, kind, near, at=None, child_at=None, q=None, solid=None, name=None, **axes):
        """A new body on a joint; returns its name."""
        name = name or f"body{len(self.poses)}"
        kind = kind if axes or q is not None else self.laws.kind(self.rng, kind)
        self.model.body(name, **(solid or self.solid()))
        at = self._pose(at if at is not None else self.place())
        child_at = self._pose(child_at if child_at is not None else (0, 0, 0))
        if near == "ground":
            at = Pose(tuple(np.asarray(at.position) + self.far), at.quaternion)
        joint = self.model.joint(name, kind, near, name, at=at, child_at=child_at, **(axes or self.axes(kind)))
        q = np.atleast_1d(self.coordinates(joint) if q is None else q)
        if kind != "fixed":
            self.q[name] = q
        self.poses[name] = self.poses[near] @ of_pose(at) @ joint_pose(joint, q) @ inverse(of_pose(child_at))
        return name

    def close(self, kind, a, b, at=None, q=None, name=None, **axes):
        """One more joint between two bodies, where they are."""
        kind = kind if axes or q is not None else closing(self.laws.kind(self.rng, kind), kind)
        name = name or f"close{len(self.model.joints)}"
        at = self._pose(at if at is not None else self.place())
        joint = self.model.joint(name, kind, a, b, at=at, **(axes or self.axes(kind)))
        q = np.atleast_1d(self.coordinates(joint) if q is None else q)
        if kind != "fixed":
            self.q[name] = q
        where = inverse(self.poses[b]) @ self.poses[a] @ of_pose(at) @ joint_pose(joint, q)
        joint.child_at = as_pose(where)
        return name

    def seen(self, a, b, point=(0, 0, 0)):
        """A point of the body a in the axes of b, as doubles."""
        p = inverse(self.poses[b]) @ self.poses[a] @ np.array([*point, 1], WIDE)
        return p[:3].astype(float)

    def _pose(self, at):
        return at if isinstance(at, Pose) else Pose(tuple(float(x) for x in at), (1.0, 0.0, 0.0, 0.0))

    # ---- the state

    def tree_coordinates(self):
        """(joint, index) of single coordinates of joints that close no loop."""
        cuts = {j.name for j in find_topology(self.model).cuts}
        plain = [j for j in self.model.joints.values() if j.name not in cuts and j.kind not in ("spherical", "free")]
        return [(j.name, k) for j in plain for k in range(SIZES[j.kind])]

    def shuffle(self):
        """Joints in any order, kept as written: other spanning trees, other closing joints."""
        joints = list(self.model.joints.items())
        self.model.joints.clear()
        self.model.joints.update(joints[i] for i in self.rng.permutation(len(joints)))
        self.model.tree = "as written"

    def finish(self, rest=False):
        """system, q, u, tau: velocities as near as can be to random ones, generalized forces at random."""
        rng, system = self.rng, self.model.compile()
        q = system.q0.copy()
        for name in system.joints:
            if name in self.q:
                q[system.q_index(name)] = self.q[name]
        u = np.zeros(system.nu) if rest else self.laws.speed * rng.normal(size=system.nu)
        tau = np.zeros(system.nu) if rng.random() < 0.4 else 10 * rng.normal(size=system.nu)
        return system, q, consistent(system, q, u, self.rank), tau


def consistent(system, q, u, rank=1e-9):
    """The velocities nearest to u that constraints and prescribed motions allow, rounded once.

    Rows that are independent by less than ``rank`` are left out. Raises ModelError where no velocities fit.
    """
    kept, ctx.prec = ctx.prec, 256
    try:
        mechanism = Mechanism(system, q, u)
        rows, motions = mechanism.rows(), mechanism.prescribed(1)
        if not rows and not motions:
            return u
        C = mechanism.jacobian(rows)[0] if rows else []
        given = [arb(0) if r.w else dot(C[i], u) - r.rate for i, r in enumerate(rows)] + list(motions.values())
        C = C + [[arb(int(k == row)) for k in range(system.nu)] for row in motions]
        plain = np.array([[float(x) for x in line] for line in C])
        scaled = plain / row_sizes(plain, rank)[:, None]
        R, order = scipy.linalg.qr(scaled.T, mode="r", pivoting=True)
        own = [int(i) for i in order[: int((np.abs(np.diag(R)) > rank).sum())]]
        found = onto(arb_mat([C[i] for i in own]), [given[i] for i in own], u) if own else u
        slip = plain @ found - np.array([float(g) for g in given])
    finally:
        ctx.prec = kept
    if np.abs(slip).max() > 1e-8 * (1e-3 + np.abs(u).max()) * max(1.0, np.abs(plain).max()):
        raise ModelError("constraints contradict each other in velocity")
    return found


def onto(C, given, u):
    """The point nearest to u with C u = given."""
    x = arb_mat(len(u), 1, [float(v) for v in u])
    left = C * x - arb_mat(len(given), 1, given)
    try:
        x -= C.transpose() * (C * C.transpose()).solve(left, algorithm="lu")
    except ZeroDivisionError:
        raise ModelError("constraints that are not independent") from None
    return np.array([float(v.mid()) for v in x.entries()])


def dot(line, u):
    return sum((c * arb(float(v)) for c, v in zip(line, u, strict=True)), arb(0))
