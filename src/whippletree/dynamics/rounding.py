"""What rounding alone leaves in the equations of motion and of the constraints: a probe of it, and their sizes.

Inverse dynamics once more, with an error of one rounding and random sign wherever a pass rounds: in levers, in the
accelerations of bodies, in their inertia forces and in the sums of these. Errors are carried on as the pass carries
them, so that what cancels in the pass cancels here.
"""

from typing import Any, NamedTuple

import numpy as np

from ..kernels.blocks import make_memory
from ..kernels.compare import larger
from ..kernels.constraint_layout import ROW_NUMBERS
from ..kernels.constraints import constrain, ends_of_row
from ..kernels.kinematics import kinematics_rows, place, place_and_move, take_kinematics
from ..kernels.lanes import entry, get, inline, kernel, put, scratch, take, view
from ..kernels.spatial import (
    add,
    add3,
    angular,
    axpy,
    dot,
    join,
    linear,
    load3,
    load6,
    mul_rigid,
    rigid_force,
    scale,
    store3,
    store6,
    sub,
)
from ..kernels.unpack import take_rows, unpack, unpack_constraints
from ..system.system import System
from .composite import mass_matrices
from .composite import workspace as mass_workspace
from .constraint_rows import rows_at
from .evaluate import evaluate
from .newton_euler import torques
from .newton_euler import workspace as torque_workspace

ROUNDING = 2.0**-53
SIGNS = 30  # of a body


@inline
def size(x):
    return larger(x, -x)


@inline
def size3(a):
    return (size(a[0]), size(a[1]), size(a[2]))


@inline
def size6(a):
    return (size(a[0]), size(a[1]), size(a[2]), size(a[3]), size(a[4]), size(a[5]))


@inline
def cross_sizes(a, b):
    """Of a x b"""
    return (a[1] * b[2] + a[2] * b[1], a[2] * b[0] + a[0] * b[2], a[0] * b[1] + a[1] * b[0])


@inline
def momentum_sizes(mass, h, J, v):
    """Of I v: J w + h x v and m v - h x w"""
    w, l = angular(v), linear(v)
    Jw = (
        J[0] * w[0] + J[1] * w[1] + J[2] * w[2],
        J[1] * w[0] + J[3] * w[1] + J[4] * w[2],
        J[2] * w[0] + J[4] * w[1] + J[5] * w[2],
    )
    ml = (mass * l[0], mass * l[1], mass * l[2])
    return join(add3(Jw, cross_sizes(h, l)), add3(ml, cross_sizes(h, w)))


@inline
def cross_force_sizes(v, p):
    """Of v x* p"""
    w = angular(v)
    return join(add3(cross_sizes(w, angular(p)), cross_sizes(linear(v), linear(p))), cross_sizes(w, linear(p)))


@inline
def signed(signs, n, x):
    """Each component of x with a random sign"""
    return (
        signs[n] * x[0],
        signs[n + 1] * x[1],
        signs[n + 2] * x[2],
        signs[n + 3] * x[3],
        signs[n + 4] * x[4],
        signs[n + 5] * x[5],
    )


@inline
def lever_sizes(k, i, S):
    """How large the terms of a joint's column are"""
    return add(size6(S), join((0.0, 0.0, 0.0), cross_sizes(size3(load3(k.o, i)), size3(angular(S)))))


@inline
def row_sizes(m, k, one, other, wr):
    """How large the terms of a constraint's wrench are: places are compared in the world"""
    far = (0.0, 0.0, 0.0)
    if one > 0:
        far = size3(load3(k.point, m.component[one]))
    if other > 0:
        far = add3(far, size3(load3(k.point, m.component[other])))
    return add(size6(wr), join(cross_sizes(far, size3(linear(wr))), (0.0, 0.0, 0.0)))


@kernel
def accelerate_roughly(m, k, udot, signs, x, dx):
    """Ground to tips: x, what u' adds to the acceleration of each body, and its error dx in roundings"""
    for n in range(6):
        put(x, n, 0.0)
        put(dx, n, 0.0)
    for i in range(1, m.nb):
        xi, di = load6(x, m.parent[i]), load6(dx, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            S, rate = load6(k.S, j), get(udot, j)
            xi = axpy(rate, S, xi)
            di = add(di, signed(signs, SIGNS * i, scale(size(rate), lever_sizes(k, i, S))))
        store6(x, i, xi)
        store6(dx, i, add(di, signed(signs, SIGNS * i + 6, add(size6(xi), size6(load6(k.b, i))))))


@kernel
def push_roughly(m, k, wrench, signs, x, dx, f, df):
    """f, what each body needs, its error df in roundings, and in the place of x the size of its terms"""
    for i in range(1, m.nb):
        mass, h, J, v = m.mass[i], load3(k.h, i), load6(k.J, i), load6(k.v, i)
        a = add(load6(k.b, i), load6(x, i))
        fi = rigid_force(mass, h, J, a, v)
        hs, Js, vs = size3(h), size6(J), size6(v)
        terms = add(momentum_sizes(mass, hs, Js, size6(a)), cross_force_sizes(vs, momentum_sizes(mass, hs, Js, vs)))
        if wrench.shape[0] > 0:
            fi, terms = sub(fi, load6(wrench, i)), add(terms, size6(load6(wrench, i)))
        store6(f, i, fi)
        store6(df, i, add(mul_rigid(mass, h, J, load6(dx, i)), signed(signs, SIGNS * i + 12, terms)))
        store6(x, i, terms)


@kernel
def constrain_roughly(m, E, k, w, gamma, lam, signs, x, dx, udot, rows):
    """Of the constraint equations: an error in roundings, the size of their terms, and what they lack, gamma - C u'"""
    for r in range(E.nr):
        one, other, i, first, j, second = ends_of_row(E, r)
        wa, wb, xa, xb = load6(w, 2 * r), load6(w, 2 * r + 1), load6(x, one), load6(x, other)
        done = dot(wa, xa) + dot(wb, xb) + first * get(udot, i) + second * get(udot, j)
        ba, bb = size6(add(load6(k.b, one), xa)), size6(add(load6(k.b, other), xb))
        sa, sb = row_sizes(m, k, one, other, wa), row_sizes(m, k, one, other, wb)
        terms = size(get(gamma, r)) + dot(sa, ba) + dot(sb, bb)
        terms = terms + size(first * get(udot, i)) + size(second * get(udot, j))
        put(rows, r, dot(wa, load6(dx, one)) + dot(wb, load6(dx, other)) + signs[SIGNS * m.nb + r] * terms)
        put(rows, E.nr + r, terms)
        put(rows, 2 * E.nr + r, get(gamma, r) - done)


@entry
def probe(memory, q, u, forces, signals, udot, lam, signs, motion, rows):
    """One state of rigid bodies: errors of the equations of motion in roundings and the sizes of their terms, in
    ``motion (2, nu)``; the same of the constraint equations and what they lack, in ``rows (3, nr)``"""
    m, end = unpack(memory)
    E, end = unpack_constraints(memory, end)
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    c, n = take_rows(E, buffer, n)
    x, n = take(buffer, n, 6 * m.nb)
    dx, n = take(buffer, n, 6 * m.nb)
    f, n = take(buffer, n, 6 * m.nb)
    df, n = take(buffer, n, 6 * m.nb)
    g, n = take(buffer, n, 6 * m.nb)
    place_and_move(m, q, u, k)
    constrain(m, E, k, signals, q, u, c)
    accelerate_roughly(m, k, udot, signs, x, dx)
    constrain_roughly(m, E, k, c.w, c.gamma, lam, signs, x, dx, udot, rows)
    push_roughly(m, k, view(forces, m.nu, forces.shape[0] - m.nu), signs, x, dx, f, df)
    for n in range(6 * m.nb):
        put(g, n, 0.0)
    for j in range(m.nu):
        applied = size(get(forces, j)) + m.armature[j] * size(get(udot, j))
        put(motion, m.nu + j, applied)
    for r in range(E.nr):
        one, other, i, first, j, second = ends_of_row(E, r)
        for side, body in enumerate((one, other)):
            wr = load6(c.w, 2 * r + side)
            store6(g, body, axpy(get(lam, r), wr, load6(g, body)))
            terms = scale(size(get(lam, r)), row_sizes(m, k, one, other, wr))
            store6(x, body, add(terms, load6(x, body)))
            store6(df, body, add(load6(df, body), signed(signs, SIGNS * body + 12, terms)))
        put(motion, m.nu + i, get(motion, m.nu + i) + size(first * get(lam, r)))
        put(motion, m.nu + j, get(motion, m.nu + j) + size(second * get(lam, r)))
    for i in range(m.nb - 1, 0, -1):
        p, fi, gi, own = m.parent[i], load6(f, i), load6(g, i), load6(x, i)
        sums = add(add(size6(fi), size6(gi)), own)
        di = add(load6(df, i), signed(signs, SIGNS * i + 18, sums))
        for j in range(m.dof[i], m.dof[i + 1]):
            S = load6(k.S, j)
            terms = dot(lever_sizes(k, i, S), sums) + get(motion, m.nu + j)
            put(motion, m.nu + j, terms)
            put(motion, j, dot(S, di) + signs[SIGNS * i + 24 + (j - m.dof[i])] * terms)
        store6(f, p, add(load6(f, p), fi))
        store6(g, p, add(load6(g, p), gi))
        store6(df, p, add(load6(df, p), di))
    return 0.0


@entry
def inertia_terms(memory, q, out):
    """How large the terms of each diagonal entry of the mass matrix are, of one state of rigid bodies"""
    m, end = unpack(memory)
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    mass, n = take(buffer, n, m.nb)
    h, n = take(buffer, n, 3 * m.nb)
    J, n = take(buffer, n, 6 * m.nb)
    place(m, q, k)
    for i in range(m.nb):
        put(mass, i, m.mass[i])
        store3(h, i, size3(load3(k.h, i)))
        store6(J, i, size6(load6(k.J, i)))
    for i in range(m.nb - 1, 0, -1):
        p = m.parent[i]
        for j in range(m.dof[i], m.dof[i + 1]):
            S = lever_sizes(k, i, load6(k.S, j))
            put(out, j, m.armature[j] + dot(S, momentum_sizes(get(mass, i), load3(h, i), load6(J, i), S)))
        put(mass, p, get(mass, p) + get(mass, i))
        store3(h, p, add3(load3(h, p), load3(h, i)))
        store6(J, p, add(load6(J, p), load6(J, i)))
    return 0.0


def diagonal_terms(system: System, q: np.ndarray) -> np.ndarray:
    """(nu) How large the terms of the diagonal of the mass matrix are."""
    if system.flexible:
        nu = system.nu
        return np.abs(evaluate(mass_matrices, mass_workspace, system, [q], nu**2)[:: nu + 1])
    out = np.zeros(system.nu)
    inertia_terms(workspace(system), np.ascontiguousarray(q), out)
    return out


def workspace(system: System) -> Any:
    """Memory for :func:`probe`."""
    rows = kinematics_rows(system) + 30 * system.nb + ROW_NUMBERS * system.constraints.count
    return make_memory(system, rows, 1, system.constraints.packed)


class Probe(NamedTuple):
    """Of the equations of motion (nu) and the constraint equations (nr): errors of k probes, in units of the equations,
    sizes of their terms, and what the latter lack."""

    motion: np.ndarray  # (nu, k)
    rows: np.ndarray  # (nr, k)
    motion_size: np.ndarray  # (nu)
    row_size: np.ndarray  # (nr)
    lacks: np.ndarray  # (nr)


def probes_of(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    forces: np.ndarray,
    signals: np.ndarray,
    udot: np.ndarray,
    lam: np.ndarray,
    count: int,
) -> Probe:
    """Of one state under ``forces`` (tau, then wrenches if any) and multipliers; flexible bodies by their matrices."""
    nu, nr, rng = system.nu, system.constraints.count, np.random.default_rng(count)
    if system.flexible:
        return _by_matrices(system, q, u, forces, signals, udot, lam, rng.choice([-1.0, 1.0], (nu + nr, count)))
    waiting = system.ready.setdefault(probe, [])
    memory = waiting.pop() if waiting else workspace(system)
    given = [np.ascontiguousarray(x) for x in (q, u, forces, signals, udot, lam)]
    motion, rows = np.zeros((count, 2 * nu)), np.zeros((count, 3 * nr))
    for n in range(count):
        signs = ROUNDING * rng.choice([-1.0, 1.0], SIGNS * system.nb + nr)
        probe(memory, *given, signs, motion[n], rows[n])
    waiting.append(memory)
    sizes = motion[0, nu:], rows[0, nr : 2 * nr], rows[0, 2 * nr :]
    return Probe(motion[:, :nu].T, rows[:, :nr].T, *sizes)


def _by_matrices(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    forces: np.ndarray,
    signals: np.ndarray,
    udot: np.ndarray,
    lam: np.ndarray,
    signs: np.ndarray,
) -> Probe:
    """The same from |M| |u'|, |bias| and |C|: without the levers of a pass."""
    nu = system.nu
    M = evaluate(mass_matrices, mass_workspace, system, [q], nu**2).reshape(nu, nu)
    bias = evaluate(torques, torque_workspace, system, [q, u, np.concatenate([np.zeros(nu), forces[nu:]])], nu)
    rows = rows_at(system, q, u, signals)
    C = np.abs(rows.C)
    motion = np.abs(M) @ np.abs(udot) + np.abs(bias) + np.abs(forces[:nu]) + np.abs(lam) @ C
    row = C @ np.abs(udot) + np.abs(rows.gamma)
    errors = ROUNDING * signs * np.concatenate([motion, row])[:, None]
    return Probe(errors[:nu], errors[nu:], motion, row, rows.gamma - rows.C @ udot)
