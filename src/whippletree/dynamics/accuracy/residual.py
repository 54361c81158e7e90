"""Residuals of the equations of motion and of the constraints, in twice the digits.

    r = tau + C' lam - (M u' + bias),    s = gamma - C u'

One Newton-Euler pass and the rows of the constraints, by the kernels that every algorithm uses, on numbers of twice the
digits (compiler/twice.py): doubles q, u, tau, u', lam and those of the System count as exact.
"""

from typing import Any

from ...algebra.spatial import axpy, dot, load6, store6
from ...compiler.lanes import entry, get, put, take, view
from ...compiler.twice import high, room
from ...kernels.blocks import make_memory
from ...kernels.constraints import constrain, ends_of_row, fill_matrix
from ...kernels.kinematics import kinematics_rows, place, place_and_move, take_kinematics
from ...kernels.unpack import take_rows, unpack, unpack_constraints
from ...layout.constraints import ROW_NUMBERS
from ...system.system import System
from ..tree.composite import fill_mass_matrix
from ..tree.innovations import factorize
from ..tree.newton_euler import balance
from ..tree.workspace import take_composite, take_work, work_rows


@entry
def residuals(memory, buffer, q, u, forces, signals, udot, lam, out):
    """r and s of one state of rigid bodies, in ``out (nu + nr)``; memory is read only"""
    m, end = unpack(memory)
    E, end = unpack_constraints(memory, end)
    k, n = take_kinematics(m, buffer)
    c, n = take_rows(E, buffer, n)
    x, n = take(buffer, n, 6 * m.nb)
    f, n = take(buffer, n, 6 * m.nb)
    wrench, n = take(buffer, n, 6 * m.nb)
    coordinates, n = take(buffer, n, m.nq)
    velocities, n = take(buffer, n, m.nu)
    motion, n = take(buffer, n, m.nu)
    needed, n = take(buffer, n, m.nu)
    for j in range(m.nq):
        put(coordinates, j, q[j])
    for j in range(m.nu):
        put(velocities, j, u[j])
        put(motion, j, udot[j])
    for j in range(6 * m.nb):
        put(wrench, j, forces[m.nu + j] if forces.shape[0] > m.nu else 0.0)
    place_and_move(m, coordinates, velocities, k)
    constrain(m, E, k, signals, coordinates, velocities, c)
    for r in range(E.nr):
        a, b, _, _, _, _ = ends_of_row(E, r)
        store6(wrench, a, axpy(lam[r], load6(c.w, 2 * r), load6(wrench, a)))
        store6(wrench, b, axpy(lam[r], load6(c.w, 2 * r + 1), load6(wrench, b)))
    balance(m, k, False, motion, wrench, f, x, needed)
    for r in range(E.nr):
        a, b, i, first, j, second = ends_of_row(E, r)
        left = get(c.gamma, r) - dot(load6(c.w, 2 * r), load6(x, a)) - dot(load6(c.w, 2 * r + 1), load6(x, b))
        if first != 0.0:
            left = left - first * get(motion, i)
            put(needed, i, get(needed, i) - lam[r] * (0.0 * left + first))
        if second != 0.0:
            left = left - second * get(motion, j)
            put(needed, j, get(needed, j) - lam[r] * (0.0 * left + second))
        out[m.nu + r] = high(left)
    for j in range(m.nu):
        out[j] = high(forces[j] - get(needed, j))
    return 0.0


@entry
def exact_pivots(memory, buffer, q, out):
    """The articulated-body pivots D of one state of rigid bodies"""
    m, _ = unpack(memory)
    k, n = take_kinematics(m, buffer)
    w, n = take_work(m, buffer, n)
    coordinates, n = take(buffer, n, m.nq)
    for j in range(m.nq):
        put(coordinates, j, q[j])
    place(m, coordinates, k)
    factorize(m, k, w, view(w.d, 0, 0))
    for j in range(m.nu):
        out[j] = high(1.0 / get(w.d, j))
    return 0.0


@entry
def exact_matrices(memory, buffer, q, u, signals, M, C):
    """M (nu nu) and C (nr nu), row by row, of one state of rigid bodies: each number to its last digit"""
    m, end = unpack(memory)
    E, end = unpack_constraints(memory, end)
    k, n = take_kinematics(m, buffer)
    c, n = take_rows(E, buffer, n)
    w, n = take_composite(m, buffer, n)
    coordinates, n = take(buffer, n, m.nq)
    velocities, n = take(buffer, n, m.nu)
    masses, n = take(buffer, n, m.nu * m.nu)
    jacobian, n = take(buffer, n, E.nr * m.nu)
    for j in range(m.nq):
        put(coordinates, j, q[j])
    for j in range(m.nu):
        put(velocities, j, u[j])
    for j in range(w.mass.shape[0]):
        put(w.mass, j, 0.0)
    for j in range(6 * w.mass.shape[0]):
        put(w.J, j, 0.0)
        put(w.h, j // 2, 0.0)
    for j in range(m.nu * m.nu):
        put(masses, j, 0.0)
    place_and_move(m, coordinates, velocities, k)
    constrain(m, E, k, signals, coordinates, velocities, c)
    fill_mass_matrix(m, k, w, masses)
    fill_matrix(m, E, k, c, jacobian)
    for j in range(m.nu * m.nu):
        M[j] = high(get(masses, j))
    for j in range(E.nr * m.nu):
        C[j] = high(get(jacobian, j))
    return 0.0


def workspace(system: System) -> tuple[Any, Any]:
    """The memory of a System, and room for the entries."""
    passes = max(work_rows(system), 18 * system.nb + 3 * system.nu + ROW_NUMBERS * system.constraints.count)
    return make_memory(system, 0, 1, system.constraints.packed), room(kinematics_rows(system) + passes + system.nq)
