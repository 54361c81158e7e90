"""What motion needs, and how constraints open, with exact derivatives along any directions of the state.

    r = M u' + b - (forces of the model, wrenches) - C' lam,    c = C u' - gamma,    rate = C u - given,    g

One Newton-Euler pass and the rows of the constraints by the kernels of the simulation, on dual numbers
(compiler/dual.py): all joint kinds, forces, constraints and flexible bodies are differentiated by their own source.
TANGENTS directions go at once. A direction (dq, du, du') is tangent: dq are displacements along the columns of S, so
that q' = N(q) dq, and a quaternion has three.
"""

import numpy as np

from ..algebra.spatial import add, add3, axpy, cross, dot, join, load3, load6, load9, mul33, store6
from ..compiler.dual import DUALS, TANGENTS, dual_room, tangent_of, value_of, with_tangent
from ..compiler.lanes import entry, get, inline, kernel, put, take
from ..dynamics.tree.newton_euler import balance
from ..kernels.blocks import make_memory
from ..kernels.constraints import constrain, ends_of_row
from ..kernels.forces import apply_forces
from ..kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ..kernels.manifold import coordinate_rates
from ..kernels.unpack import take_rows, unpack, unpack_constraints, unpack_forces
from ..kernels.user_force import DUAL_ROOM
from ..layout.constraints import ROW_NUMBERS
from ..system.system import System

WRENCH_NUMBERS = 10  # body, point in its axes, torque, force


def workspace(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Memory for :func:`differentiate`, and room for its dual numbers."""
    memory = make_memory(system, 0, DUALS, system.forces.packed, system.constraints.packed)
    rows = kinematics_rows(system) + 18 * system.nb + system.nq + 6 * system.nu + DUAL_ROOM + 1
    return memory, dual_room(rows + 3 * system.forces.signals + ROW_NUMBERS * system.constraints.count)


@inline
def seed(directions, state, column, first, n):
    """Tangents of number n of (q, u, u'), from the directions of a state; unit directions of q and u without them."""
    count = directions.shape[1]
    x = 0.0 * get(state, 0)
    for l in range(TANGENTS):
        if count > 0 and first + l < count:
            x = with_tangent(x, l, directions[column, first + l, n])
        elif count == 0 and first + l == n:
            x = with_tangent(x, l, 1.0)
    return x


@kernel
def add_wrenches(m, k, given, wrench):
    """External wrenches, each a torque and a force that keeps its direction at a point that the body carries"""
    for n in range(given.shape[0] // WRENCH_NUMBERS):
        at = WRENCH_NUMBERS * n
        i = int(given[at])
        point, torque = (given[at + 1], given[at + 2], given[at + 3]), (given[at + 4], given[at + 5], given[at + 6])
        force = (given[at + 7], given[at + 8], given[at + 9])
        r = add3(load3(k.o, i), mul33(load9(k.R, i), point))
        store6(wrench, i, add(load6(wrench, i), join(add3(torque, cross(r, force)), force)))


@kernel
def press(m, E, k, c, lam, wrench, total):
    """C' lam, into wrenches on bodies and forces on DOF"""
    for r in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, r)
        if first != 0.0 or second != 0.0:
            put(total, i, get(total, i) + first * lam[r])
            put(total, j, get(total, j) + second * lam[r])
            continue
        store6(wrench, a, axpy(lam[r], load6(c.w, 2 * r), load6(wrench, a)))
        store6(wrench, b, axpy(lam[r], load6(c.w, 2 * r + 1), load6(wrench, b)))


@kernel
def open_rows(E, c, x, motion, r):
    """C u' - gamma of row r"""
    a, b, i, first, j, second = ends_of_row(E, r)
    left = dot(load6(c.w, 2 * r), load6(x, a)) + dot(load6(c.w, 2 * r + 1), load6(x, b)) - get(c.gamma, r)
    if first != 0.0:
        left = left + first * get(motion, i)
    if second != 0.0:
        left = left + second * get(motion, j)
    return left


@inline
def write(out, s, row, first, count, x):
    """The value, and tangents first, first + 1, ... of row ``row`` of state s"""
    out[s, row, 0] = value_of(x)
    for l in range(min(TANGENTS, count - first)):
        out[s, row, 1 + first + l] = tangent_of(x, l)


@entry
def differentiate(memory, buffer, q, u, udot, lam, signals, wrenches, directions, out):
    """out (B, nu + 3 nr, 1 + n): values of r, c, rate and g, and their derivatives along n directions.

    q (B, nq), u and udot (B, nu), lam (B, nr), signals (B, 1 + 3 ns), wrenches (B, 10 nw), directions (B, n, 3 nu), or
    (1, 0, 0) for the 2 nu unit directions of q and u. Returns nan if an array does not fit.
    """
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    E, end = unpack_constraints(memory, end)
    count = directions.shape[1] if directions.shape[1] > 0 else 2 * m.nu
    if q.shape[1] != m.nq or u.shape[1] != m.nu or out.shape[1] != m.nu + 3 * E.nr or out.shape[2] != 1 + count:
        return np.nan
    k, n = take_kinematics(m, buffer)
    f, n = take(buffer, n, 6 * m.nb)
    x, n = take(buffer, n, 6 * m.nb)
    wrench, n = take(buffer, n, 6 * m.nb)
    coordinates, n = take(buffer, n, m.nq)
    step, n = take(buffer, n, m.nu)
    velocities, n = take(buffer, n, m.nu)
    motion, n = take(buffer, n, m.nu)
    needed, n = take(buffer, n, m.nu)
    total, n = take(buffer, n, m.nu)
    spare, n = take(buffer, n, DUAL_ROOM)
    empty, n = take(buffer, n, 0)
    now, n = take(buffer, n, 1 + 3 * F.ns)
    c, n = take_rows(E, buffer, n)
    for s in range(q.shape[0]):
        column = s if directions.shape[0] > 1 else 0
        for j in range(1 + 3 * F.ns):
            put(now, j, signals[s, j])
        for first in range(0, count, TANGENTS):
            for j in range(m.nu):
                put(step, j, seed(directions, f, column, first, j))
                put(velocities, j, seed(directions, f, column, first, m.nu + j) + u[s, j])
                put(motion, j, seed(directions, f, column, first, 2 * m.nu + j) + udot[s, j])
                put(total, j, 0.0)
            coordinate_rates(m, q[s], step, coordinates)
            for j in range(m.nq):
                put(coordinates, j, get(coordinates, j) + q[s, j])
            place_and_move(m, coordinates, velocities, k)
            apply_forces(m, F, k, now, coordinates, velocities, total, wrench, spare, empty)
            add_wrenches(m, k, wrenches[s], wrench)
            constrain(m, E, k, now, coordinates, velocities, c)
            press(m, E, k, c, lam[s], wrench, total)
            balance(m, k, False, motion, wrench, f, x, needed)
            for j in range(m.nu):
                write(out, s, j, first, count, get(needed, j) - get(total, j))
            for r in range(E.nr):
                write(out, s, m.nu + r, first, count, open_rows(E, c, x, motion, r))
                write(out, s, m.nu + E.nr + r, first, count, get(c.rate, r))
                write(out, s, m.nu + 2 * E.nr + r, first, count, get(c.g, r))
    return 0.0
