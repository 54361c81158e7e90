"""Composite-body mass matrix, and forward dynamics by factoring it, O(n d + n d^2), d the depth of the tree.

Paper    [walker1982] Efficient dynamic computer simulation of robotic mechanisms, method 3; [jain1992]
         eqs (46)-(50), with modes in flexible/paths.py; factors by [featherstone2008] sec. 6.5, table 6.3 (L'DL).
Symbols  Ic = R(k), F = X(k) of jain1992; up(j) = lambda(j) of featherstone2008.
Differs  one common frame: F needs no transform on its way to ground; one DOF at a time.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from ...algebra import spatial as sp
from ...algebra.compare import NEGATIVE, lane_most, larger
from ...compiler.function_pointers import MASS, call_flexible
from ...compiler.lanes import entry, get, inline, kernel, put, scratch, take
from ...kernels import blocks
from ...kernels.kinematics import kinematics_rows, place, place_and_move, take_kinematics
from ...kernels.unpack import unpack
from ...layout.system import FLEXIBLE
from ...system.system import System
from ..accuracy.fast_motion import hidden_loss
from .newton_euler import balance
from .workspace import Composite, take_composite

SUPPORTS = {"trees", "flexible", "lanes"}


class Work(NamedTuple):
    bodies: Composite
    M: Any  # (nu, nu)   mass matrix, then its factors
    f: Any  # (nb, 6)    for the bias force
    x: Any  # (nb, 6)
    zero: Any  # (nu)    no accelerations
    terms: Any  # (nu)   sizes of the terms of M_jj


def workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`accelerations` and :func:`mass_matrices`."""
    nb, nu = system.nb, system.nu
    return blocks.make_memory(
        system, kinematics_rows(system) + 22 * nb + 2 * nu + nu * nu + blocks.block_rows(system), lanes
    )


@inline
def take_work(m, buffer, n):
    bodies, n = take_composite(m, buffer, n)
    M, n = take(buffer, n, m.nu * m.nu)
    f, n = take(buffer, n, 6 * m.nb)
    x, n = take(buffer, n, 6 * m.nb)
    zero, n = take(buffer, n, m.nu)  # as the memory was made
    terms, n = take(buffer, n, m.nu)
    return Work(bodies, M, f, x, zero, terms), n


@inline
def gather_inertia(m, k, w, i):
    """Mass, h and J of a body and of all that it carries, going inward; they are added to those of its parent"""
    mass = get(w.mass, i) + m.mass[i]  # rows of leaves stay zero, as workspace made them
    h = sp.add3(sp.load3(w.h, i), sp.load3(k.h, i))
    J = sp.add(sp.load6(w.J, i), sp.load6(k.J, i))
    p = m.parent[i]
    if m.first[i]:
        put(w.mass, p, mass)  # R(k) = R(k-1) + M(k)
        sp.store3(w.h, p, h)
        sp.store6(w.J, p, J)
    else:
        put(w.mass, p, get(w.mass, p) + mass)
        sp.store3(w.h, p, sp.add3(sp.load3(w.h, p), h))
        sp.store6(w.J, p, sp.add(sp.load6(w.J, p), J))
    return mass, h, J


@kernel
def fill_mass_matrix(m, k, w, M):
    """M, both triangles; entries of DOF that do not carry each other are left as they are"""
    if m.header[FLEXIBLE] > 0:
        call_flexible(MASS, 0, 0, m.header, k.sin, w.mass, M, M, M, M)
        return
    for i in range(m.nb - 1, 0, -1):  # tips to ground
        mass, h, J = gather_inertia(m, k, w, i)
        for j in range(m.dof[i], m.dof[i + 1]):
            S = sp.load6(k.S, j)
            F = sp.mul_rigid(mass, h, J, S)  # X = R H'
            put(M, j * m.nu + j, sp.dot(S, F) + m.armature[j])
            l = m.up[j]
            while l >= 0:
                entry_jl = sp.dot(sp.load6(k.S, l), F)  # M = H X
                put(M, j * m.nu + l, entry_jl)
                put(M, l * m.nu + j, entry_jl)
                l = m.up[l]


@kernel
def diagonal_terms(m, k, w, M, terms):
    """Of each M_jj the size of what it is summed up from: the composite inertia about the component's point"""
    for i in range(1, m.nb):
        turns = get(w.J, 6 * i) + get(k.J, 6 * i) + get(w.J, 6 * i + 3) + get(k.J, 6 * i + 3)
        turns = turns + get(w.J, 6 * i + 5) + get(k.J, 6 * i + 5)
        moves = 3.0 * (get(w.mass, i) + m.mass[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            S = sp.load6(k.S, j)
            size = turns * sp.dot3(sp.angular(S), sp.angular(S)) + moves * sp.dot3(sp.linear(S), sp.linear(S))
            put(terms, j, get(M, j * m.nu + j) if m.header[FLEXIBLE] > 0 else size + m.armature[j])


@kernel
def factor(m, M):
    """M = L' D L in place, L unit lower triangular with the tree's own zeros (lower triangle and diagonal of M)"""
    for j in range(m.nu - 1, -1, -1):
        d = 1.0 / get(M, j * m.nu + j)
        i = m.up[j]
        while i >= 0:
            a = get(M, j * m.nu + i) * d
            l = i
            while l >= 0:
                put(M, i * m.nu + l, get(M, i * m.nu + l) - a * get(M, j * m.nu + l))
                l = m.up[l]
            put(M, j * m.nu + i, a)
            i = m.up[i]


@kernel
def back_substitute(m, M, x):
    """x becomes (L' D L)^-1 x"""
    for j in range(m.nu - 1, -1, -1):
        xj = get(x, j)
        i = m.up[j]
        while i >= 0:
            put(x, i, get(x, i) - get(M, j * m.nu + i) * xj)
            i = m.up[i]
    for j in range(m.nu):
        xj = get(x, j) / get(M, j * m.nu + j)
        i = m.up[j]
        while i >= 0:
            xj = xj - get(M, j * m.nu + i) * get(x, i)
            i = m.up[i]
        put(x, j, xj)


@kernel
def solve(m, k, tau, wrench, w, udot):
    """M udot = tau - bias. Returns the loss: how many roundings of the terms of M_jj the least pivot may be off by"""
    balance(m, k, True, w.zero, wrench, w.f, w.x, udot)
    for j in range(m.nu):
        put(udot, j, get(tau, j) - get(udot, j))
    fill_mass_matrix(m, k, w.bodies, w.M)
    diagonal_terms(m, k, w.bodies, w.M, w.terms)
    for j in range(m.nu):
        if m.resist[j] == math.inf:  # a prescribed motion: no force moves it
            put(w.M, j * m.nu + j, math.inf + get(w.M, j * m.nu + j))
    factor(m, w.M)
    back_substitute(m, w.M, udot)
    loss = 0.0 * get(k.R, 0)
    for j in range(m.nu):
        share = get(w.terms, j) / get(w.M, j * m.nu + j)
        loss = larger(loss, larger(share, NEGATIVE * share))
    return loss


@entry
def accelerations(memory, q, u, forces, udot, start, stop):
    """udot of the states start to stop, under tau and then wrenches if any. Returns the largest loss if all is well."""
    m, end = unpack(memory)
    if blocks.mismatch(m, q, u, forces, udot):
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    w, n = take_work(m, buffer, n)
    block, n = blocks.take_block(m, buffer, n, forces)
    total, loss = 0.0, 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        velocities = blocks.gather(u, s, block.u)
        place_and_move(m, blocks.gather(q, s, block.q), velocities, k)
        tau, wrench = blocks.split_wrench(m, blocks.gather(forces, s, block.x))
        out = blocks.target(udot, block.out)
        own = solve(m, k, tau, wrench, w, out)
        loss = max(loss, lane_most(own), lane_most(hidden_loss(k, velocities, out)))
        blocks.scatter(out, s, udot)
        total += blocks.checksum(out) + blocks.unit_check(k)
    return total + loss


@entry
def mass_matrices(memory, q, M, start, stop):
    """M (nu nu, row by row) of the states start to stop. Returns a sum that is finite if all is well."""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or M.shape[-1] != m.nu * m.nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    w, n = take_composite(m, buffer, n)
    M_block, n = take(buffer, n, m.nu * m.nu)
    q_block, n = take(buffer, n, m.nq)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates = blocks.gather(q, s, q_block)
        place(m, coordinates, k)
        out = blocks.target(M, M_block)
        fill_mass_matrix(m, k, w, out)
        blocks.scatter(out, s, M)
        total += blocks.checksum(coordinates) + blocks.unit_check(k)
    return total
