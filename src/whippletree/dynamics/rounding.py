"""What rounding alone can leave in the equations of motion and of the constraints, in units of a rounding.

Inverse dynamics once more, with every product and sum of absolute values: what is left of terms that cancel is known
no better than the terms are. Levers count from the common point, as they do in every pass.
"""

from typing import Any

import numpy as np

from ..kernels.blocks import make_memory
from ..kernels.compare import larger
from ..kernels.constraint_layout import ROW_NUMBERS
from ..kernels.constraints import constrain, ends_of_row
from ..kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ..kernels.lanes import entry, get, inline, kernel, put, scratch, take, view
from ..kernels.spatial import add, add3, angular, axpy, dot, join, linear, load3, load6, scale, store6
from ..kernels.unpack import take_rows, unpack, unpack_constraints
from ..system.system import System
from .composite import mass_matrices
from .composite import workspace as mass_workspace
from .constraint_rows import rows_at
from .evaluate import evaluate
from .newton_euler import torques
from .newton_euler import workspace as torque_workspace


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
def cross_motion_sizes(v, s):
    """Of v x s"""
    w = angular(v)
    return join(
        cross_sizes(w, angular(s)), add3(cross_sizes(w, linear(s)), cross_sizes(linear(v), angular(s)))
    )


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
def column_sizes(k, i, j):
    """Of a joint's column S: as exact as the lever of its body"""
    S = size6(load6(k.S, j))
    return add(S, join((0.0, 0.0, 0.0), cross_sizes(size3(load3(k.o, i)), angular(S))))


@kernel
def body_sizes(m, k, u, udot, v, a):
    """Of velocities and accelerations of bodies, ground to tips"""
    for n in range(6):
        put(v, n, 0.0)
    store6(a, 0, size6(load6(k.b, 0)))  # gravity
    for i in range(1, m.nb):
        vi, ai = load6(v, m.parent[i]), load6(a, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            S, rate = column_sizes(k, i, j), size(get(u, j))
            own = scale(rate, S)
            vi = add(vi, own)
            ai = add(axpy(size(get(udot, j)), S, ai), cross_motion_sizes(vi, own))
        store6(v, i, vi)
        store6(a, i, ai)


@kernel
def force_sizes(m, k, E, x, lam, wrench, v, a, f):
    """Of what each body takes, constraint forces among it"""
    for i in range(m.nb):
        mass, h, J, vi = m.mass[i], size3(load3(k.h, i)), size6(load6(k.J, i)), load6(v, i)
        fi = add(momentum_sizes(mass, h, J, load6(a, i)), cross_force_sizes(vi, momentum_sizes(mass, h, J, vi)))
        store6(f, i, add(fi, size6(load6(wrench, i))) if wrench.shape[0] > 0 else fi)
    for r in range(E.nr):
        first, second = ends_of_row(E, r)[:2]
        for side, body in enumerate((first, second)):
            store6(f, body, axpy(size(get(lam, r)), size6(load6(x.w, 2 * r + side)), load6(f, body)))


@kernel
def lacks(m, k, E, x, udot, a, left):
    """gamma - C u'"""
    for n in range(6):
        put(a, n, 0.0)
    for i in range(1, m.nb):
        ai = load6(a, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            ai = axpy(get(udot, j), load6(k.S, j), ai)
        store6(a, i, ai)
    for r in range(E.nr):
        one, other, i, first, j, second = ends_of_row(E, r)
        done = dot(load6(x.w, 2 * r), load6(a, one)) + dot(load6(x.w, 2 * r + 1), load6(a, other))
        put(left, r, get(x.gamma, r) - done - first * get(udot, i) - second * get(udot, j))


@entry
def sizes(memory, q, u, forces, signals, udot, lam, motion, rows):
    """Of the equations of motion, ``motion (nu)``, and of the constraint equations, ``rows (nr)``, and behind these what
    they lack, gamma - C u', in ``rows (2, nr)``: one state of rigid bodies"""
    m, end = unpack(memory)
    E, end = unpack_constraints(memory, end)
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    x, n = take_rows(E, buffer, n)
    v, n = take(buffer, n, 6 * m.nb)
    a, n = take(buffer, n, 6 * m.nb)
    f, n = take(buffer, n, 6 * m.nb)
    place_and_move(m, q, u, k)
    constrain(m, E, k, signals, q, u, x)
    body_sizes(m, k, u, udot, v, a)
    force_sizes(m, k, E, x, lam, view(forces, m.nu, forces.shape[0] - m.nu), v, a, f)
    for j in range(m.nu):
        put(motion, j, size(get(forces, j)) + m.armature[j] * size(get(udot, j)))
    for r in range(E.nr):
        one, other, i, first, j, second = ends_of_row(E, r)
        w = size6(load6(x.w, 2 * r)), size6(load6(x.w, 2 * r + 1))
        coupled = size(first * get(udot, i)) + size(second * get(udot, j))
        put(rows, r, size(get(x.gamma, r)) + coupled + dot(w[0], load6(a, one)) + dot(w[1], load6(a, other)))
        put(motion, i, get(motion, i) + size(first * get(lam, r)))
        put(motion, j, get(motion, j) + size(second * get(lam, r)))
    lacks(m, k, E, x, udot, a, view(rows, E.nr, E.nr))
    for i in range(m.nb - 1, 0, -1):
        fi = load6(f, i)
        for j in range(m.dof[i], m.dof[i + 1]):
            put(motion, j, get(motion, j) + dot(column_sizes(k, i, j), fi))
        store6(f, m.parent[i], add(load6(f, m.parent[i]), fi))
    return 0.0


def workspace(system: System) -> Any:
    """Memory for :func:`sizes`."""
    rows = kinematics_rows(system) + 18 * system.nb + ROW_NUMBERS * system.constraints.count
    return make_memory(system, rows, 1, system.constraints.packed)


def equation_sizes(
    system: System,
    q: np.ndarray,
    u: np.ndarray,
    forces: np.ndarray,
    signals: np.ndarray,
    udot: np.ndarray,
    lam: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes (nu) and (nr) of one state's equations, under ``forces`` (tau, then wrenches if any) and multipliers, and
    what constraint equations lack (nr). Of flexible bodies by their matrices, without levers."""
    nu, nr = system.nu, system.constraints.count
    if system.flexible:
        M = evaluate(mass_matrices, mass_workspace, system, [q], nu**2).reshape(nu, nu)
        rows = rows_at(system, q, u, signals)
        still = np.concatenate([np.zeros(nu), forces[nu:]])
        bias = evaluate(torques, torque_workspace, system, [q, u, still], nu)
        C = np.abs(rows.C)
        motion = np.abs(M) @ np.abs(udot) + np.abs(bias) + np.abs(forces[:nu]) + np.abs(lam) @ C
        return motion, C @ np.abs(udot) + np.abs(rows.gamma), rows.gamma - rows.C @ udot
    motion, found = np.zeros(nu), np.zeros(2 * nr)
    waiting = system.ready.setdefault(sizes, [])
    memory = waiting.pop() if waiting else workspace(system)
    sizes(memory, *(np.ascontiguousarray(x) for x in (q, u, forces, signals, udot, lam)), motion, found)
    waiting.append(memory)
    return motion, found[:nr], found[nr:]
