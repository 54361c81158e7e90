"""Recursive Newton-Euler inverse dynamics of a tree, O(n).

Paper    [luh1980] On-line computational scheme for mechanical manipulators; [jain1992] eqs (44)-(45),
         whose modes are in flexible.py.
Symbols  f = f_m, a = alpha_m, S = H', tau = T of jain1992.
Differs  one common frame, so Phi is 1; gravity and the velocity products are the bias acceleration b.
"""

from typing import Any

import numpy as np

from ...algebra.spatial import add, axpy, dot, load3, load6, rigid_force, store6, sub
from ...compiler.function_pointers import CARRY, NEED, NEED_IN, call_flexible
from ...compiler.lanes import entry, get, kernel, put, scratch, take
from ...kernels.blocks import (
    block_rows,
    checksum,
    gather,
    make_memory,
    mismatch,
    scatter,
    split_wrench,
    states_per_block,
    take_block,
    target,
    unit_check,
)
from ...kernels.kinematics import MODES, kinematics_rows, place_and_move, take_kinematics
from ...kernels.unpack import unpack
from ...system.system import System

SUPPORTS = {"trees", "flexible", "loops", "loops of nodes", "couplings", "lanes"}


def workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`torques`."""
    return make_memory(system, kinematics_rows(system) + 12 * system.nb + block_rows(system), lanes)


@kernel
def balance(m, k, udot, wrench, f, x, tau):
    """tau that gives udot"""
    for n in range(6):
        put(x, n, 0.0)
    for i in range(1, m.nb):  # ground to tips: a = b + x, f = I a + v x* I v - wrench
        if m.kind[i] < 0:
            if m.kind[i] == MODES:  # with its nodes
                call_flexible(NEED, i, 0, m.header, k.sin, udot, wrench, f, x, tau)
            continue
        xi = load6(x, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            xi = axpy(get(udot, j), load6(k.S, j), xi)
        store6(x, i, xi)
        mass, h, J, v = m.mass[i], load3(k.h, i), load6(k.J, i), load6(k.v, i)
        fi = rigid_force(mass, h, J, add(load6(k.b, i), xi), v)
        if wrench.shape[0] > 0:
            fi = sub(fi, load6(wrench, i))
        store6(f, i, fi)
    for i in range(m.nb - 1, 0, -1):  # tips to ground: tau = S . f
        if m.kind[i] < 0:
            if m.kind[i] == MODES:
                call_flexible(NEED_IN, i, 0, m.header, k.sin, udot, wrench, f, x, tau)
            continue
        fi = load6(f, i)
        for j in range(m.dof[i], m.dof[i + 1]):
            put(tau, j, dot(load6(k.S, j), fi) + m.armature[j] * get(udot, j))
        p = m.parent[i]
        if p > 0:
            store6(f, p, add(load6(f, p), fi))


@entry
def torques(memory, q, u, motion, tau, start, stop):
    """tau of the states start to stop, for udot and then wrenches if any. Returns 0 if all is well."""
    m, end = unpack(memory)
    if mismatch(m, q, u, motion, tau):
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    f, n = take(buffer, n, 6 * m.nb)
    x, n = take(buffer, n, 6 * m.nb)
    block, n = take_block(m, buffer, n, motion)
    total = 0.0
    for s in range(start, stop, states_per_block(buffer)):
        place_and_move(m, gather(q, s, block.q), gather(u, s, block.u), k)
        udot, wrench = split_wrench(m, gather(motion, s, block.x))
        out = target(tau, block.out)
        balance(m, k, udot, wrench, f, x, out)
        scatter(out, s, tau)
        total += checksum(out) + unit_check(k)
    return total


def motion_workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`body_accelerations`."""
    return make_memory(system, kinematics_rows(system) + 6 * system.nb + system.nq + 2 * system.nu, lanes)


@entry
def body_accelerations(memory, q, u, udot, out, start, stop):
    """Spatial accelerations (nb, 6) less gravity, about the points of components, of the states start to stop"""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or udot.shape[-1] != m.nu or out.shape[-1] != 6 * m.nb:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, m.nu)
    a_block, n = take(buffer, n, m.nu)
    block, n = take(buffer, n, 6 * m.nb)
    total = 0.0
    for s in range(start, stop, states_per_block(buffer)):
        place_and_move(m, gather(q, s, q_block), gather(u, s, u_block), k)
        rates, a = gather(udot, s, a_block), target(out, block)
        store6(a, 0, load6(k.b, 0))
        for i in range(1, m.nb):  # a = b + x, and x - x_p = S u'
            if m.kind[i] < 0:
                if m.kind[i] == MODES:
                    call_flexible(CARRY, i, 0, m.header, k.sin, rates, a, a, a, a)
                continue
            p = m.parent[i]
            ai = add(load6(a, p), sub(load6(k.b, i), load6(k.b, p)))
            for j in range(m.dof[i], m.dof[i + 1]):
                ai = axpy(get(rates, j), load6(k.S, j), ai)
            store6(a, i, ai)
        scatter(a, s, out)
        total += checksum(a) + unit_check(k)
    return total
