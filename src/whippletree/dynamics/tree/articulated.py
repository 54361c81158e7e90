"""Articulated-body forward dynamics of a tree, O(n).

Paper    [featherstone2008] Rigid Body Dynamics Algorithms, sec. 7.3, table 7.1; the same recursion
         is [jain1992] eqs (63)-(64), whose modes are in flexible.py.
Symbols  as featherstone2008; uA is its u_i, because u is the generalized speed here. In jain1992:
         IA = P_R, U d = G_R, S = H', c = a_mR, pA = z_R.
Differs  all quantities share one frame (docs/notation.md), so the paper's X is 1; a joint's DOF
         are eliminated one at a time, so D is a number; pa is formed from IA c and U.c instead of
         Ia c, which takes the product off the critical path.
"""

import numpy as np

from ...algebra import spatial as sp
from ...algebra.compare import NEGATIVE, lane_most, larger
from ...compiler.function_pointers import ACCELERATE, ELIMINATE, PRESS, call_flexible
from ...compiler.lanes import entry, get, inline, put, scratch
from ...kernels import blocks
from ...kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ...kernels.unpack import unpack
from ...layout.system import MODES
from ...system.system import System
from ..accuracy.fast_motion import hidden_loss
from .workspace import take_work, work_rows

SUPPORTS = {"trees", "flexible", "lanes"}


def workspace(system: System, lanes: int = 1) -> np.ndarray:
    """Memory for :func:`accelerations`, for one state or for LANES of them."""
    return blocks.make_memory(system, kinematics_rows(system) + work_rows(system) + blocks.block_rows(system), lanes)


@inline
def eliminate(m, k, tau, w, j, IA, pA, turns, moves, loss):
    """Ia and pa: what the inboard side feels once joint coordinate j moves freely, and the loss so far.

    The loss is what a rounding of the largest inertia so far, ``turns`` and ``moves``, is of the pivot; beyond all
    numbers where the pivot is negative.
    """
    S = sp.load6(k.S, j)
    U = sp.mul(IA, S)
    d = 1.0 / (sp.dot(S, U) + m.resist[j])
    uA = get(tau, j) - sp.dot(S, pA)
    sp.store6(w.U, j, U)
    put(w.d, j, d)
    put(w.uA, j, uA)
    terms = turns * (S[0] * S[0] + S[1] * S[1] + S[2] * S[2]) + moves * (S[3] * S[3] + S[4] * S[4] + S[5] * S[5])
    loss = larger(loss, larger(d * terms, NEGATIVE * (d * terms)))
    return sp.sub_outer(IA, d, U), sp.axpy(d * uA, U, pA), loss  # Ia = IA - U d U', pa = pA + U d uA


@inline
def solve(m, k, tau, wrench, w, udot):
    """u' under tau and wrenches. Returns the loss: how many roundings of its terms the least pivot may be off by"""
    zero = 0.0 * get(k.R, 0)
    turns, moves, loss = zero, zero, zero
    for i in range(m.nb - 1, 0, -1):  # tips to ground
        if m.kind[i] < 0:
            if m.kind[i] == MODES:  # with its nodes
                call_flexible(ELIMINATE, i, 1, m.header, k.sin, w.IA, wrench, tau, udot, udot)
                call_flexible(PRESS, i, 1, m.header, k.sin, w.IA, wrench, tau, udot, udot)
            continue
        mass, h, J, v = m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i), sp.load6(k.v, i)
        pA = sp.rigid_force(mass, h, J, sp.load6(k.b, i), v)  # I b + v x* I v - f
        if wrench.shape[0] > 0:
            pA = sp.sub(pA, sp.load6(wrench, i))
        IA = sp.add_rigid(sp.load21(w.IA, i), mass, h, J)  # rows of leaves stay zero, as workspace made them
        pA = sp.add(pA, sp.load6(w.pA, i))
        turns, moves = larger(turns, IA[0] + IA[3] + IA[5]), larger(moves, IA[15] + IA[18] + IA[20])
        j = m.dof[i]
        for n in range(m.dof[i + 1] - 1, j, -1):
            IA, pA, loss = eliminate(m, k, tau, w, n, IA, pA, turns, moves, loss)
        IA, pA, loss = eliminate(m, k, tau, w, j, IA, pA, turns, moves, loss)
        p = m.parent[i]
        if p > 0:
            if m.first[i]:
                sp.store21(w.IA, p, IA)
                sp.store6(w.pA, p, pA)
            else:
                sp.store21(w.IA, p, sp.add21(sp.load21(w.IA, p), IA))
                sp.store6(w.pA, p, sp.add(sp.load6(w.pA, p), pA))
    for n in range(6):
        put(w.x, n, 0.0)
    x = sp.load6(w.x, 0)
    for i in range(1, m.nb):  # ground to tips
        if m.kind[i] < 0:
            if m.kind[i] == MODES:
                call_flexible(ACCELERATE, i, 1, m.header, k.sin, w.IA, wrench, tau, udot, udot)
            x = sp.load6(w.x, i)
            continue
        if m.parent[i] != i - 1:
            x = sp.load6(w.x, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            udot_j = get(w.d, j) * (get(w.uA, j) - sp.dot(sp.load6(w.U, j), x))
            x = sp.axpy(udot_j, sp.load6(k.S, j), x)
            put(udot, j, udot_j)
        sp.store6(w.x, i, x)
    return loss


@entry
def accelerations(memory, q, u, forces, udot, start, stop):
    """udot of the states start to stop, one or a batch in lanes, under tau and then wrenches if any.

    Returns the largest loss if all is well, else not a number.
    """
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
