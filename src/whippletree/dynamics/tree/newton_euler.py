"""Recursive Newton-Euler inverse dynamics of a tree, O(n).

Paper    [luh1980] On-line computational scheme for mechanical manipulators; [jain1992] eqs (44)-(45),
         whose modes are in flexible.py.
Symbols  f = f_m, a = alpha_m, S = H', tau = T of jain1992.
Differs  one common frame, so Phi is 1; gravity and the velocity products are the bias acceleration b. What a body
         needs is found about its centre of mass: about the component's point, m c c of a small body far out would drown
         its own inertia.
"""

from typing import Any

import numpy as np

from ...algebra import spatial as sp
from ...compiler.function_pointers import CARRY, NEED, NEED_IN, call_flexible
from ...compiler.lanes import entry, get, inline, kernel, put, scratch, take
from ...kernels import blocks
from ...kernels.kinematics import (
    kinematics_rows,
    place_and_move,
    place_and_move_frames,
    take_kinematics,
    turn_inertia,
)
from ...kernels.unpack import unpack
from ...layout.system import MODES
from ...system.system import System

SUPPORTS = {"trees", "flexible", "loops", "loops of nodes", "couplings", "lanes"}


def workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`torques`."""
    return blocks.make_memory(system, kinematics_rows(system) + 12 * system.nb + blocks.block_rows(system), lanes)


@inline
def force_needed(m, k, i, a):
    """I a + v x* I v of one body"""
    R, v = sp.load9(k.R, i), sp.load6(k.v, i)
    J, c = turn_inertia(R, sp.load6(m.inertia, i)), sp.add3(sp.load3(k.o, i), sp.mul33(R, sp.load3(m.com, i)))
    w, e = sp.angular(v), sp.angular(a)
    moved = sp.add3(sp.linear(a), sp.add3(sp.cross(e, c), sp.cross(w, sp.add3(sp.linear(v), sp.cross(w, c)))))
    F = sp.scale3(m.mass[i], moved)
    own = sp.add3(sp.mulsym(J, e), sp.cross(w, sp.mulsym(J, w)))
    return sp.join(sp.add3(own, sp.cross(c, F)), F)


@kernel
def balance(m, k, placed, udot, wrench, f, x, tau):
    """tau that gives udot; from the inertias of k if they are ``placed``, as those that the mass matrix is made of"""
    for n in range(6):
        put(x, n, 0.0)
    for i in range(1, m.nb):  # ground to tips: a = b + x, f = I a + v x* I v - wrench
        if m.kind[i] < 0:
            if m.kind[i] == MODES:  # with its nodes
                call_flexible(NEED, i, 0, m.header, k.sin, udot, wrench, f, x, tau)
            continue
        xi = sp.load6(x, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            xi = sp.axpy(get(udot, j), sp.load6(k.S, j), xi)
        sp.store6(x, i, xi)
        a = sp.add(sp.load6(k.b, i), xi)
        if placed:
            fi = sp.rigid_force(m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i), a, sp.load6(k.v, i))
        else:
            fi = force_needed(m, k, i, a)
        if wrench.shape[0] > 0:
            fi = sp.sub(fi, sp.load6(wrench, i))
        sp.store6(f, i, fi)
    for i in range(m.nb - 1, 0, -1):  # tips to ground: tau = S . f
        if m.kind[i] < 0:
            if m.kind[i] == MODES:
                call_flexible(NEED_IN, i, 0, m.header, k.sin, udot, wrench, f, x, tau)
            continue
        fi = sp.load6(f, i)
        for j in range(m.dof[i], m.dof[i + 1]):
            put(tau, j, sp.dot(sp.load6(k.S, j), fi) + m.armature[j] * get(udot, j))
        p = m.parent[i]
        if p > 0:
            sp.store6(f, p, sp.add(sp.load6(f, p), fi))


@entry
def torques(memory, q, u, motion, tau, start, stop):
    """tau of the states start to stop, for udot and then wrenches if any. Returns 0 if all is well."""
    m, end = unpack(memory)
    if blocks.mismatch(m, q, u, motion, tau):
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    f, n = take(buffer, n, 6 * m.nb)
    x, n = take(buffer, n, 6 * m.nb)
    block, n = blocks.take_block(m, buffer, n, motion)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        place_and_move_frames(m, blocks.gather(q, s, block.q), blocks.gather(u, s, block.u), k)
        udot, wrench = blocks.split_wrench(m, blocks.gather(motion, s, block.x))
        out = blocks.target(tau, block.out)
        balance(m, k, False, udot, wrench, f, x, out)
        blocks.scatter(out, s, tau)
        total += blocks.checksum(out) + blocks.unit_check(k)
    return total


def motion_workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`body_accelerations`."""
    return blocks.make_memory(system, kinematics_rows(system) + 6 * system.nb + system.nq + 2 * system.nu, lanes)


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
    for s in range(start, stop, blocks.states_per_block(buffer)):
        place_and_move(m, blocks.gather(q, s, q_block), blocks.gather(u, s, u_block), k)
        rates, a = blocks.gather(udot, s, a_block), blocks.target(out, block)
        sp.store6(a, 0, sp.load6(k.b, 0))
        for i in range(1, m.nb):  # a = b + x, and x - x_p = S u'
            if m.kind[i] < 0:
                if m.kind[i] == MODES:
                    call_flexible(CARRY, i, 0, m.header, k.sin, rates, a, a, a, a)
                continue
            p = m.parent[i]
            ai = sp.add(sp.load6(a, p), sp.sub(sp.load6(k.b, i), sp.load6(k.b, p)))
            for j in range(m.dof[i], m.dof[i + 1]):
                ai = sp.axpy(get(rates, j), sp.load6(k.S, j), ai)
            sp.store6(a, i, ai)
        blocks.scatter(a, s, out)
        total += blocks.checksum(a) + blocks.unit_check(k)
    return total
