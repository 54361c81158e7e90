"""The innovations factors of the mass matrix, its inverse, and O(n) solves for any number of right-hand sides.

Paper    [jain1992] Recursive flexible multibody system dynamics using spatial operators, eqs (51)-(56),
         with modes in flexible.py: M = (1 + H Phi K) D (1 + H Phi K)', M^-1 = (1 - H Psi K)' D^-1 (1 - H Psi K).
Symbols  P = IA, D = 1/d, G = U d, epsilon, nu and z as the paper.
Differs  one common frame, so Phi is 1 between bodies and (H Phi K)_lj = S_l . U_j d_j for l inboard of j;
         DOF are numbered from ground, so the factor is unit upper triangular where the paper's,
         numbered from the tip, is lower.
"""

from typing import Any

import numpy as np
from numba.extending import overload

from ...algebra import spatial as sp
from ...compiler import function_pointers as pointers
from ...compiler.lanes import (
    ALWAYS,
    LANES,
    entry,
    get,
    get_run,
    inline,
    kernel,
    put,
    put_run,
    scratch,
    take,
    view,
)
from ...kernels import blocks
from ...kernels.kinematics import kinematics_rows, place, take_kinematics
from ...kernels.unpack import unpack
from ...layout.system import FACTORS, FLEXIBLE, MODES
from ...system.system import System
from .workspace import take_work, work_rows

SUPPORTS = {"trees", "flexible", "lanes"}


def workspace(system: System, lanes: int = 1, columns: int = 1) -> Any:
    """Memory for the entries below; they return ``columns`` vectors of length nu for each state."""
    rows = kinematics_rows(system) + work_rows(system) + system.nq + system.nu * columns
    return blocks.make_memory(system, rows, lanes)


def inverse_workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`inverses`."""
    nu = system.nu
    rows = kinematics_rows(system) + work_rows(system) + system.nq + nu * nu + (6 + nu) * (nu + LANES)
    return blocks.make_memory(system, rows, lanes)


@kernel
def factorize(m, k, w, added):
    """P, D and G, eq. (51), from the tips to ground. ``added`` is empty, or says how much of the stiffness and of the
    damping of modes is added to their mass"""
    for i in range(m.nb - 1, 0, -1):
        if m.kind[i] < 0:
            if m.kind[i] == MODES:  # with its nodes
                op = pointers.STIFFEN if added.shape[0] > 0 else pointers.ELIMINATE
                pointers.call_flexible(op, i, 1, m.header, k.sin, w.IA, added, w.d, w.d, w.d)
            continue
        P = sp.add_rigid(sp.load21(w.IA, i), m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i))
        for j in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            S = sp.load6(k.S, j)
            U = sp.mul(P, S)
            d = 1.0 / (sp.dot(S, U) + m.armature[j])
            P = sp.sub_outer(P, d, U)  # P+ = (1 - G H) P
            sp.store6(w.U, j, U)
            put(w.d, j, d)
        p = m.parent[i]
        if p > 0:
            sp.store21(w.IA, p, P if m.first[i] else sp.add21(sp.load21(w.IA, p), P))


@kernel
def solve(m, k, w, rhs, first, stride, out):
    """M x = rhs, eq. (56): two passes over the factors. Rows first, first + stride, ... of rhs and out."""
    for n in range(6 * m.nb):
        put(w.pA, n, 0.0)
    none, right = view(w.pA, 0, 0), view(rhs, first, rhs.shape[0] - first)
    for i in range(m.nb - 1, 0, -1):  # (1 - H Psi K) rhs, then D^-1
        if m.kind[i] < 0:
            if m.kind[i] == MODES:
                pointers.call_flexible(
                    pointers.PRESS_ALONE, i, stride, m.header, k.sin, w.IA, none, right, right, right
                )
            continue
        z = sp.load6(w.pA, i)
        for j in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            nu = get(w.d, j) * (get(rhs, first + stride * j) - sp.dot(sp.load6(k.S, j), z))
            z = sp.axpy(nu, sp.load6(w.U, j), z)  # z+ = z + G epsilon
            put(w.uA, j, nu)
        sp.store6(w.pA, m.parent[i], sp.add(sp.load6(w.pA, m.parent[i]), z))
    for n in range(6):
        put(w.x, n, 0.0)
    found = view(out, first, out.shape[0] - first)
    for i in range(1, m.nb):  # (1 - H Psi K)'
        if m.kind[i] < 0:
            if m.kind[i] == MODES:
                pointers.call_flexible(pointers.ACCELERATE, i, stride, m.header, k.sin, w.IA, none, found, found, found)
            continue
        x = sp.load6(w.x, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            xj = get(w.uA, j) - get(w.d, j) * sp.dot(sp.load6(w.U, j), x)
            x = sp.axpy(xj, sp.load6(k.S, j), x)
            put(out, first + stride * j, xj)
        sp.store6(w.x, i, x)


@entry
def solutions(memory, q, rhs, out, start, stop):
    """M^-1 rhs of the states start to stop; rhs and out hold (nu, k) numbers row by row."""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or rhs.shape[-1] != out.shape[-1] or rhs.shape[-1] % max(m.nu, 1):
        return np.nan
    columns = rhs.shape[-1] // max(m.nu, 1)
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    w, n = take_work(m, buffer, n)
    q_block, n = take(buffer, n, m.nq)
    rhs_block, n = take(buffer, n, rhs.shape[-1])
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        place(m, blocks.gather(q, s, q_block), k)
        factorize(m, k, w, view(w.d, 0, 0))
        right = blocks.gather(rhs, s, rhs_block)
        result = blocks.target(out, rhs_block)
        for c in range(columns):
            solve(m, k, w, right, c, columns, result)
        blocks.scatter(result, s, out)
        total += blocks.checksum(w.d) + blocks.unit_check(k)
    return total


@inline
def columns_at_once(buffer):
    """How many columns of a matrix in memory one number holds: in a batch one, of LANES states"""
    return LANES if blocks.states_per_block(buffer) < LANES else 1


def several(array, index):
    """Numbers of a row from ``index`` on: LANES columns of one state as a register, or one column of LANES states."""


def put_several(array, index, value):
    """The way back of :func:`several`."""


@overload(several, jit_options=ALWAYS)
def _several(array, index):
    if array.ndim == 1 and LANES > 1:
        return lambda array, index: get_run(array, index)
    return lambda array, index: get(array, index)


@overload(put_several, jit_options=ALWAYS)
def _put_several(array, index, value):
    if array.ndim == 1 and LANES > 1:
        return lambda array, index, value: put_run(array, index, value)
    return lambda array, index, value: put(array, index, value)


@inline
def load_columns(z, width, c):
    """Column c, and its neighbours, of six rows"""
    return (
        several(z, c),
        several(z, width + c),
        several(z, 2 * width + c),
        several(z, 3 * width + c),
        several(z, 4 * width + c),
        several(z, 5 * width + c),
    )


@inline
def store_columns(z, width, c, x):
    for r in range(6):
        put_several(z, r * width + c, x[r])


@kernel
def fill_inverse(m, k, w, z, N, width):
    """Upper triangle of M^-1 in rows of ``width`` numbers, eq. (56) for all columns of the identity at once.

    A column of z is what its right-hand side sends inward: zero from ground up to its own body, so siblings share z.
    """
    step = columns_at_once(z)
    for n in range(6 * width):
        put(z, n, 0.0)
    for i in range(m.nb - 1, 0, -1):  # (1 - H Psi K), then D^-1
        last = i
        while last + 1 < m.nb and m.parent[last + 1] >= i:  # bodies are numbered depth first
            last += 1
        end = m.dof[last + 1]
        for j in range(m.dof[i + 1] - 1, m.dof[i] - 1, -1):
            S, U, d = sp.load6(k.S, j), sp.load6(w.U, j), get(w.d, j)
            for c in range(j, m.nu if end < m.nu else 0, step):
                put_several(N, j * width + c, 0.0 * several(z, c))
            for c in range(j, m.nu, step):
                if c + step > end and end < m.nu:  # what is beyond belongs to other branches
                    fill_few(m, z, N, width, S, U, d, j, c, min(end, c + step))
                else:
                    x = load_columns(z, width, c)
                    nu = -d * sp.dot(S, x)
                    put_several(N, j * width + c, nu)
                    store_columns(z, width, c, sp.axpy(nu, U, x))
            put(N, j * width + j, d)  # of its own column, which nothing has touched
            for r in range(6):
                put(z, r * width + j, d * U[r])
    for i in range(1, m.nb):  # (1 - H Psi K)'
        p, j = m.parent[i], m.dof[i]
        if p != i - 1 or i == 1:
            for r in range(6):
                for c in range(j, m.nu, step):
                    put_several(z, r * width + c, 0.0 * several(z, r * width + c))
            while p > 0:
                add_motion(m, k, z, N, width, p, j, step)
                p = m.parent[p]
        for l in range(j, m.dof[i + 1]):
            S, U, d = sp.load6(k.S, l), sp.load6(w.U, l), get(w.d, l)
            for c in range(l, m.nu, step):
                x = load_columns(z, width, c)
                n = several(N, l * width + c) - d * sp.dot(U, x)
                put_several(N, l * width + c, n)
                store_columns(z, width, c, sp.axpy(n, S, x))


@inline
def fill_few(m, z, N, width, S, U, d, j, first, last):
    """The same for some columns, one by one"""
    for c in range(first, last):
        s = 0.0 * get(z, c)
        for r in range(6):
            s = s + S[r] * get(z, r * width + c)
        nu = -d * s
        put(N, j * width + c, nu)
        for r in range(6):
            put(z, r * width + c, get(z, r * width + c) + nu * U[r])


@inline
def add_motion(m, k, z, N, width, p, first, step):
    """z += S N of a body, columns from ``first`` on"""
    for l in range(m.dof[p], m.dof[p + 1]):
        S = sp.load6(k.S, l)
        for c in range(first, m.nu, step):
            store_columns(z, width, c, sp.axpy(several(N, l * width + c), S, load_columns(z, width, c)))


@inline
def row_width(nu):
    """Numbers in a padded row of a matrix: registers of one state may end behind it"""
    return nu + LANES


@entry
def inverses(memory, q, out, start, stop):
    """M^-1 (nu nu, row by row) of the states start to stop."""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or out.shape[-1] != m.nu * m.nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    w, n = take_work(m, buffer, n)
    q_block, n = take(buffer, n, m.nq)
    block, n = take(buffer, n, m.nu * m.nu)
    width = row_width(m.nu)
    z, n = take(buffer, n, 6 * width)
    N, n = take(buffer, n, m.nu * width)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        place(m, blocks.gather(q, s, q_block), k)
        factorize(m, k, w, view(w.d, 0, 0))
        result = blocks.target(out, block)
        if m.header[FLEXIBLE] > 0:  # modes are eliminated elsewhere: one solve for each column
            for j in range(m.nu * m.nu):
                put(result, j, 0.0)
            for j in range(m.nu):
                put(result, j * m.nu + j, 1.0)
                solve(m, k, w, result, j, m.nu, result)
        else:
            fill_inverse(m, k, w, z, N, width)
            for j in range(m.nu):
                put(result, j * m.nu + j, get(N, j * width + j))
                for c in range(j + 1, m.nu):
                    x = get(N, j * width + c)
                    put(result, j * m.nu + c, x)
                    put(result, c * m.nu + j, x)
        blocks.scatter(result, s, out)
        total += blocks.checksum(w.d) + blocks.unit_check(k)
    return total


@entry
def innovations(memory, q, out, start, stop):
    """(1 + H Phi K) row by row, then D: nu nu + nu numbers for each of the states start to stop."""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or out.shape[-1] != m.nu * m.nu + m.nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    w, n = take_work(m, buffer, n)
    q_block, n = take(buffer, n, m.nq)
    block, n = take(buffer, n, m.nu * m.nu + m.nu)
    total = 0.0
    m.header[FACTORS] = 1  # modes one by one
    for s in range(start, stop, blocks.states_per_block(buffer)):
        place(m, blocks.gather(q, s, q_block), k)
        factorize(m, k, w, view(w.d, 0, 0))
        result = blocks.target(out, block)
        if m.header[FLEXIBLE] > 0:
            pointers.call_flexible(pointers.INNOVATE, 0, 0, m.header, k.sin, w.IA, result, result, result, result)
        for j in range(m.nu if m.header[FLEXIBLE] == 0 else 0):
            put(result, j * m.nu + j, 1.0)
            put(result, m.nu * m.nu + j, 1.0 / get(w.d, j))
            G = sp.scale(get(w.d, j), sp.load6(w.U, j))
            l = m.up[j]
            while l >= 0:
                put(result, l * m.nu + j, sp.dot(sp.load6(k.S, l), G))
                l = m.up[l]
        blocks.scatter(result, s, out)
        total += blocks.checksum(w.d) + blocks.unit_check(k)
    return total


@entry
def pivots(memory, q, D, start, stop):
    """D of one state. Returns 0; a pivot that vanished shows in D."""
    m, end = unpack(memory)
    k, n = take_kinematics(m, scratch(memory, end, q))
    w, n = take_work(m, scratch(memory, end, q), n)
    place(m, q, k)
    factorize(m, k, w, view(w.d, 0, 0))
    for j in range(m.nu):
        put(D, j, 1.0 / get(w.d, j))
    return 0.0
