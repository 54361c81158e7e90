"""The Coriolis matrix of a tree of rigid bodies whose twice difference from dM/dt is skew-symmetric, O(n^2).

Paper    [echeandia2021] Numerical methods to compute the Coriolis matrix and Christoffel symbols of rigid bodies:
         C = sum of J' (I dJ/dt + B J), B x = (v x* I x + x x* I v - I (v x x)) / 2.
Symbols  S, v, I as in docs/notation.md; dS is dS/dt.
Differs  one common frame, and a column of C by one inward pass over the bodies that its degree of freedom moves, in the
         place of composite B: no 6 x 6 matrix. dS of one axis by one follows from S' u of all (column_rate).
"""

from typing import Any

import numpy as np

from ...algebra import spatial as sp
from ...compiler.lanes import entry, get, inline, put, scratch, take
from ...joints import FIRST_QUATERNION
from ...kernels import blocks
from ...kernels.joints import has_bias, joint_bias
from ...kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ...kernels.unpack import unpack
from ...system.system import System


def coriolis_workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`coriolis_matrices`."""
    rows = kinematics_rows(system) + 6 * system.nb + system.nq + 2 * system.nu + system.nu**2
    return blocks.make_memory(system, rows, lanes)


@inline
def cross_force(v, f):
    """v x* f"""
    w = sp.angular(v)
    return sp.join(sp.add3(sp.cross(w, sp.angular(f)), sp.cross(sp.linear(v), sp.linear(f))), sp.cross(w, sp.linear(f)))


@inline
def column_rate(m, i, j, q, u, k, some):
    """dS/dt of one column. S' u of a joint, G(u, u), is known for all its axes together: of G(x, y), the change of S x
    by coordinates moving at y, the symmetric part follows from sums of unit velocities; the rest is half (S y) x (S x)
    """
    S, p, along = sp.load6(k.S, j), m.parent[i], m.sign[i] > 0.0
    if m.kind[i] >= FIRST_QUATERNION:
        return sp.cross_motion(sp.load6(k.v, i if along else p), S)
    if not has_bias(m, i):
        return sp.cross_motion(sp.load6(k.v, p), S)
    dS = sp.cross_motion(sp.load6(k.v, p if along else i), S)
    first, last = m.dof[i], m.dof[i + 1]
    for n in range(first, last):
        for l in range(first, last):
            put(some, l, (1.0 if l == j else 0.0) + (1.0 if l == n else 0.0))
        both = joint_bias(m, i, q, some, k)
        for unit in (j, n):
            for l in range(first, last):
                put(some, l, 1.0 if l == unit else 0.0)
            both = sp.sub(both, joint_bias(m, i, q, some, k))
        both = sp.add(both, sp.scale(m.sign[i], sp.cross_motion(sp.load6(k.S, n), S)))
        dS = sp.axpy(0.5 * get(u, n), both, dS)
    return dS


@entry
def coriolis_matrices(memory, q, u, out, start, stop):
    """C (nu nu, row by row) of the states start to stop. Returns 0 if all is well."""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or out.shape[-1] != m.nu * m.nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    f, n = take(buffer, n, 6 * m.nb)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, m.nu)
    some, n = take(buffer, n, m.nu)
    block, n = take(buffer, n, m.nu * m.nu)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities = blocks.gather(q, s, q_block), blocks.gather(u, s, u_block)
        place_and_move(m, coordinates, velocities, k)
        C = blocks.target(out, block)
        for i in range(1, m.nb):
            for j in range(m.dof[i], m.dof[i + 1]):
                dS = column_rate(m, i, j, coordinates, velocities, k, some)
                fill_column(m, k, f, i, j, sp.load6(k.S, j), dS, C)
        blocks.scatter(C, s, out)
        total += blocks.checksum(C) + blocks.unit_check(k)
    return total


@inline
def fill_column(m, k, f, i, j, S, dS, C):
    """Column j of C: forces that velocity S and acceleration dS of body i and of all that it carries take"""
    last = i
    while last + 1 < m.nb and m.parent[last + 1] >= i:  # bodies are numbered depth first
        last += 1
    for r in range(m.nu):
        put(C, r * m.nu + j, 0.0)
    for n in range(6 * i, 6 * last + 6):
        put(f, n, 0.0)
    for l in range(last, i - 1, -1):
        mass, h, J, v = m.mass[l], sp.load3(k.h, l), sp.load6(k.J, l), sp.load6(k.v, l)
        both = sp.add(cross_force(v, sp.mul_rigid(mass, h, J, S)), cross_force(S, sp.mul_rigid(mass, h, J, v)))
        moved = sp.mul_rigid(mass, h, J, sp.sub(dS, sp.scale(0.5, sp.cross_motion(v, S))))
        fl = sp.add(sp.load6(f, l), sp.add(moved, sp.scale(0.5, both)))
        sp.store6(f, l, fl)
        if l > i:
            sp.store6(f, m.parent[l], sp.add(sp.load6(f, m.parent[l]), fl))
        for r in range(m.dof[l], m.dof[l + 1]):
            put(C, r * m.nu + j, sp.dot(sp.load6(k.S, r), fl))
    fi, p = sp.load6(f, i), m.parent[i]
    while p > 0:
        for r in range(m.dof[p], m.dof[p + 1]):
            put(C, r * m.nu + j, sp.dot(sp.load6(k.S, r), fi))
        p = m.parent[p]
