"""A model at one state in balls of Arb: poses, twists, mass matrix and the equations of all its constraints.

Poses are carried with their first and second derivatives in time at u' = 0. Motions are twists [omega; v] of the body
point at the world origin: digits that this loses far away are there in plenty. Every closing joint and constraint gives
rows w of the difference of two bodies' twists, and the second derivative of its equation at u' = 0.
"""

from dataclasses import dataclass, field

import numpy as np
from flint import arb, arb_mat

from extended_poses import (
    ONE,
    SIZES,
    ZERO,
    Meeting,
    Path,
    along,
    apply,
    closing_rows,
    cross,
    dot,
    inverse,
    joint_path,
    minus,
    moved,
    parts,
    plus,
    pose_matrix,
    times,
    unit,
    vector,
)  # fmt: skip


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

    def __init__(self, system, q, u, t=0.0, swapped=False, wrenches=None):
        self.system, self.model, self.t, self.swapped = system, system.model, t, swapped
        self.wrenches = wrenches or {}  # [torque; force] at the origin of a body
        self.q, self.u = np.asarray(q, float), np.asarray(u, float)
        self.closing = [self.model.joints[name] for name in system.cut_joints]
        self.columns = [None] * system.nu  # twists of the coordinates, with the sign of the outer body
        self.mover = [None] * system.nu  # the outer body of each coordinate
        self.up = {"ground": None}  # inner neighbour of each body
        self.own = {"ground": ()}  # rows of u of the joint that carries a body
        self.path = {"ground": Path(pose_matrix((0, 0, 0), (1, 0, 0, 0)))}
        self._walk()
        self.armature = [ZERO] * system.nu
        for name in system.joints:
            self.armature[system.u_index(name)] = [arb(self.model.joints[name].armature)] * SIZES[
                self.model.joints[name].kind
            ]
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
        at, child_at = (pose_matrix(p.position, p.quaternion) for p in (j.at, j.child_at))
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

    # ---- mass matrix and bias force

    def solids(self):
        """Dicts of all bodies: spatial inertia about the world origin, and the wrench that moves each at u' = 0."""
        g, inertia, load = vector(self.model.gravity), {}, {}
        for name in self.up:
            inertia[name], load[name] = self._solid(name, g) if name != "ground" else (arb_mat(6, 6), arb_mat(6, 1))
        return inertia, load

    def tree_accelerations(self, tau):
        """u' of a tree, body by body inward and outward: for many bodies, whose M would be large.

        Without radii, which such a recursion blows up: precision is to be checked by a second, higher one.
        """
        IA, pA = self.solids()
        steps = {}
        for name in reversed(self.up):
            own, near = self.own[name], self.up[name]
            if near is None:
                continue
            I, p = IA[name], pA[name]
            if own:
                S = arb_mat([self.columns[k] for k in own])
                U = S * I
                D = U * S.transpose()
                for i, k in enumerate(own):
                    D[i, i] += self.armature[k]
                left = arb_mat(len(own), 1, [tau[k] for k in own]) - S * p
                DU, Dl = (D.solve(x, algorithm="lu").mid() for x in (U, left))
                I, p = (I - U.transpose() * DU).mid(), (p + U.transpose() * Dl).mid()
                steps[name] = S, DU, Dl
            IA[near] += I
            pA[near] += p
        x, udot = {"ground": arb_mat(6, 1)}, [ZERO] * self.system.nu
        for name in self.up:
            if name == "ground":
                continue
            x[name] = x[self.up[name]]
            if self.own[name]:
                S, DU, Dl = steps[name]
                found = Dl - DU * x[name]
                x[name] = (x[name] + S.transpose() * found).mid()
                for k, v in zip(self.own[name], found.entries(), strict=True):
                    udot[k] = v
        return udot

    def equations(self):
        """M and b of M u' + b = tau, as an arb_mat and a list."""
        nu = self.system.nu
        inertia, load = self.solids()
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
        for k, armature in enumerate(self.armature):
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
        if name in self.wrenches:
            torque, force = vector(self.wrenches[name][:3]), vector(self.wrenches[name][3:])
            load -= arb_mat(6, 1, plus(torque, cross(parts(T)[1], force)) + force)
        K = arb_mat([[ZERO, -c[2], c[1]], [c[2], ZERO, -c[0]], [-c[1], c[0], ZERO]])
        J, mK = (I - m * (K * K)).tolist(), (m * K).tolist()
        below = [[-x for x in mK[i]] + [m if i == j else ZERO for j in range(3)] for i in range(3)]
        return arb_mat([J[i] + mK[i] for i in range(3)] + below), load

    def acceleration(self, name, udot, at=None):
        """[angular; that of the centre of mass, or of a point ``at``] of a body, as doubles."""
        T, rate, second = self.path[name].T
        R = arb_mat(parts(T)[0]).transpose()
        spin = arb_mat(parts(rate)[0]) * R
        turning = (arb_mat(parts(second)[0]) * R - spin * spin).entries()
        com = arb_mat(4, 1, [*vector(self.model.bodies[name].com if at is None else at), ONE])
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
        own = pose_matrix(position, quaternion)
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

    def _coordinate(self, joint, dof):
        """Row of u of a coordinate of the tree, its value and rate."""
        if joint in self.system.cut_joints:
            raise NotImplementedError("constraints on coordinates of closing joints")
        row = self.system.u_index(joint).start + dof
        return row, arb(float(self.q[self.system.q_index(joint)][dof])), arb(float(self.u[row]))

    def _tied(self, name, joint, dof, of, of_dof, ratio, offset):
        i, q, u = self._coordinate(joint, dof)
        k, other, rate = self._coordinate(of, of_dof)
        r = arb(ratio)
        return Equation(name, columns=summed((i, ONE), (k, -r)), value=q - r * other - arb(offset), rate=u - r * rate)

    def _gear(self, c):
        return [self._tied(c.name, c.joint, c.dof, c.of, c.of_dof, c.ratio, c.offset)]

    def _rack(self, c):
        return [self._tied(c.name, c.joint, 0, c.of, 0, c.radius, c.offset)]

    def _relative(self, c):
        value, rate, second = function_of_time(c.position, self.t)
        i, q, u = self._coordinate(c.joint, c.dof)
        terms = [(i, ONE)]
        if c.of is not None:
            k, other, moves = self._coordinate(c.of, c.of_dof)
            terms, q, u = [*terms, (k, -ONE)], q - other, u - moves
        return [Equation(c.name, columns=summed(*terms), value=q - value, rate=u - rate, second=-second)]

    def _speed(self, c):
        value, rate, _ = function_of_time(c.speed, self.t)
        i = self.system.u_index(c.joint).start + c.dof
        terms, moves = [(i, ONE)], arb(float(self.u[i]))
        if c.of:
            k = self.system.u_index(c.of).start + c.of_dof
            terms, moves = [*terms, (k, -arb(c.ratio))], moves - arb(c.ratio) * arb(float(self.u[k]))
        return [Equation(c.name, columns=summed(*terms), rate=moves - value, second=-rate)]

    def _distance(self, c):
        m = self.meet(c.to, c.to_at, c.body, c.at)
        p, rate, second = m.p
        size = arb(c.length) if self.swapped else dot(p, p).sqrt()  # the same where the distance is right
        e = apply(m.F, times(1 / size, p))
        bend = (dot(p, second) + dot(rate, rate)) / size
        if not self.swapped:
            along_it = dot(p, rate) / size
            bend -= along_it * along_it / size  # ** of a ball around zero is NaN
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
            row = self._coordinate(f.joint, f.dof)[0]
            found[row] = function_of_time(f.position, self.t)[derivative]
        return found


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
