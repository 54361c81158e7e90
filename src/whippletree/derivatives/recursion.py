"""Derivatives of inverse and forward dynamics of a tree of rigid bodies by recursion, O(n d) and O(n^2).

Paper    [singh2022] Efficient analytical derivatives of rigid-body dynamics using spatial vector algebra, eqs of its
         algorithm 1; [carpentier2018] for forward dynamics: M du' = -d tau.
Symbols  of a column S of joint i on body p: psi = v_p x S (their Psi'), psi2 = a_p x S + v_p x psi (Psi''), and
         D = v_i x S + psi (S' + Psi'); 2 B = v x* I - I v x + (I v) xbar*, summed up outboard as I and F are.
Differs  2 B has no linear columns, and its linear rows are -2 p x with the linear momentum p: 12 numbers, E (9) and p.
         Entries of a column j come from its ancestors l: S_l . A_j, and U_j . psi2_l + r_j . psi_l, with
         A_j = I psi2 + 2 B psi + S x* F, U_j = I S_j and r_j = (2 B)' S_j; no loop over bodies that do not meet.
         Axes that are fixed in the parent, of a spherical or free joint written the other way round, change by
         -S_j x S_l less than those fixed in the child: psi and psi2 of their own joint say so.

Other joints, forces between bodies, constraints and flexible bodies are differentiated by tangents.py.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ..algebra import spatial as sp
from ..algebra.compare import larger, smaller
from ..compiler.lanes import INNER, LANES, LINE, entry, get, inline, kernel, put, scratch, take, view
from ..dynamics.tree.innovations import (
    columns_at_once,
    factorize,
    fill_inverse,
    put_several,
    row_width,
    several,
    solve,
)
from ..dynamics.tree.workspace import take_work, work_rows
from ..joints import FIRST_QUATERNION, KINDS
from ..joints.kind import CARRIED
from ..kernels import blocks
from ..kernels.forces import motor_law, passive_law, signal
from ..kernels.kinematics import kinematics_rows, place_and_move, take_kinematics
from ..kernels.unpack import unpack, unpack_forces
from ..layout.forces import FRAMES, MOTOR, NUMBERS
from ..system.system import System

FEW = 3  # columns that a register does not fill even with the rows behind
STEEP = 1e300  # times a number that is not zero: beyond 1


class Slopes(NamedTuple):
    """Of one state; composites are of all that hangs on a body."""

    a: Any  # (nb, 6)   acceleration less gravity
    mass: Any  # (nb)
    h: Any  # (nb, 3)
    J: Any  # (nb, 6)
    E: Any  # (nb, 9)   2 B of angular columns and rows
    p: Any  # (nb, 3)   linear momentum
    F: Any  # (nb, 6)
    psi: Any  # (nu, 3) angular part
    psi2: Any  # (nu, 6)
    D: Any  # (nu, 6)
    force: Any  # (nu)  what springs, dampers and motors do in joints
    kq: Any  # (nu)     its slopes
    ku: Any  # (nu)


def is_recursive(system: System) -> bool:
    """Whether all that a System has is differentiated here."""
    found = system.workspaces.found
    if "recursive" not in found:
        axes = all(KINDS[edge.joint.kind].group != CARRIED for edge in system.topology.edges if not edge.flexible)
        forces = (system.forces.arrays["kind"] == MOTOR).all()
        found["recursive"] = bool(system.features == {"trees"} and axes and forces)
    return bool(found["recursive"])


def slope_rows(system: System) -> int:
    return 35 * system.nb + 18 * system.nu


@inline
def take_slopes(m, buffer, n):
    a, n = take(buffer, n, 6 * m.nb)
    mass, n = take(buffer, n, m.nb)
    h, n = take(buffer, n, 3 * m.nb)
    J, n = take(buffer, n, 6 * m.nb)
    E, n = take(buffer, n, 9 * m.nb)
    p, n = take(buffer, n, 3 * m.nb)
    F, n = take(buffer, n, 6 * m.nb)
    psi, n = take(buffer, n, 3 * m.nu)
    psi2, n = take(buffer, n, 6 * m.nu)
    D, n = take(buffer, n, 6 * m.nu)
    force, n = take(buffer, n, m.nu)
    kq, n = take(buffer, n, m.nu)
    ku, n = take(buffer, n, m.nu)
    return Slopes(a, mass, h, J, E, p, F, psi, psi2, D, force, kq, ku), n


def scatter_tiles(block, first, out):
    """As blocks.scatter, of many rows: a cache line of each state at a time."""


@overload(scatter_tiles, jit_options=INNER)
def _scatter_tiles(block, first, out):
    if out.ndim == 1 or block.ndim == 1:
        return lambda block, first, out: blocks.scatter(block, first, out)

    def tiles(block, first, out):
        count, columns = min(LANES, out.shape[0] - first), out.shape[1]
        for start in range(0, columns, LINE):
            for lane in range(count):
                for j in range(start, min(start + LINE, columns)):
                    out[first + lane, j] = block[j, lane]

    return tiles


# ---------------------------------------------------------------- forces in joints


@inline
def beyond_zero(x):
    """1 where x > 0, else 0"""
    zero = 0.0 * x
    return smaller(larger(STEEP * x, zero), zero + 1.0)


@inline
def spring_slopes(P, c, u, over, under):
    """Slopes of kernels/forces.py: passive_law by coordinate and velocity"""
    zero, stop, rub = 0.0 * u, P[c + 7], u * u + P[c + 4] * P[c + 4]
    sink, above, below = P[c + 8] * u, beyond_zero(over), beyond_zero(under)
    kq = -P[c] - stop * (above * larger(1.0 + sink, zero) + below * larger(1.0 - sink, zero))
    slowed = over * beyond_zero(1.0 + sink) + under * beyond_zero(1.0 - sink)
    friction = P[c + 3] * P[c + 4] * P[c + 4] / (rub * math.sqrt(rub))
    return kq, -(P[c + 2] + friction) - stop * P[c + 8] * slowed


@kernel
def joint_slopes(m, F, q, u, signals, s):
    """Springs, dampers, friction, stops and motors of DOF of the tree, into force, kq and ku"""
    zero = 0.0 * get(s.a, 0)
    for j in range(m.nu):
        put(s.force, j, zero)
        put(s.kq, j, zero)
        put(s.ku, j, zero)
    for n in range(F.nj):
        c, j, over, under, stretch = 9 * n, F.passive_dof[n], zero, zero, zero
        rate = get(u, j)
        if F.passive_coordinate[n] >= 0:
            x = get(q, F.passive_coordinate[n])
            stretch, over = x - F.passive[c + 1], larger(x - F.passive[c + 6], zero)
            under = larger(F.passive[c + 5] - x, zero)
        force, _, _ = passive_law(F.passive, c, rate, stretch, over, under, zero)
        kq, ku = spring_slopes(F.passive, c, rate, over, under)
        put(s.force, j, get(s.force, j) + force)
        put(s.kq, j, get(s.kq, j) + (kq if F.passive_coordinate[n] >= 0 else zero))
        put(s.ku, j, get(s.ku, j) + ku)
    for n in range(F.nf):
        if F.kind[n] == MOTOR:
            c, j, lag = NUMBERS * n + FRAMES, F.dof[n], zero
            if F.numbers[c] != 0.0:
                lag = signal(F, signals, n, 1, 0, zero) - get(q, F.coordinate[n])
            force = motor_law(F, n, signals, lag, get(u, j), zero)
            most = min(F.numbers[c + 2], 1e200)  # inf times zero is no slope
            on = beyond_zero(most - force) * beyond_zero(most + force)
            put(s.force, j, get(s.force, j) + force)
            put(s.kq, j, get(s.kq, j) - on * F.numbers[c])
            put(s.ku, j, get(s.ku, j) - on * F.numbers[c + 1])


# ---------------------------------------------------------------- inverse dynamics


@inline
def angular_share(h, J, v):
    """(9) E = K + K' - [J w] + 2 ((h . l) 1 - l h') with K = [w] J, of v = [w; l]: angular rows and columns of 2 B"""
    w, l = sp.angular(v), sp.linear(v)
    r0, r1, r2, a = (J[0], J[1], J[2]), (J[1], J[3], J[4]), (J[2], J[4], J[5]), sp.mulsym(J, w)
    k0 = sp.sub3(sp.scale3(w[1], r2), sp.scale3(w[2], r1))
    k1 = sp.sub3(sp.scale3(w[2], r0), sp.scale3(w[0], r2))
    k2 = sp.sub3(sp.scale3(w[0], r1), sp.scale3(w[1], r0))
    xy, xz, yz, l2 = k0[1] + k1[0], k0[2] + k2[0], k1[2] + k2[1], sp.scale3(2.0, l)
    s = sp.dot3(h, l2)
    return (
        2.0 * k0[0] + s - l2[0] * h[0],
        xy + a[2] - l2[0] * h[1],
        xz - a[1] - l2[0] * h[2],
        xy - a[2] - l2[1] * h[0],
        2.0 * k1[1] + s - l2[1] * h[1],
        yz + a[0] - l2[1] * h[2],
        xz + a[1] - l2[2] * h[0],
        yz - a[0] - l2[2] * h[1],
        2.0 * k2[2] + s - l2[2] * h[2],
    )


@kernel
def go_out(m, k, udot, s):
    """Accelerations, psi, psi2 and D; the own share of each body in its composites"""
    sp.store6(s.a, 0, sp.load6(k.b, 0))
    for i in range(1, m.nb):
        up, first, last = m.parent[i], m.dof[i], m.dof[i + 1]
        vp, v, ap = sp.load6(k.v, up), sp.load6(k.v, i), sp.load6(s.a, up)
        a = sp.add(ap, sp.sub(sp.load6(k.b, i), sp.load6(k.b, up)))
        for j in range(first, last):
            a = sp.axpy(get(udot, j), sp.load6(k.S, j), a)
        sp.store6(s.a, i, a)
        fixed_in_parent = m.kind[i] >= FIRST_QUATERNION and m.sign[i] < 0.0
        pushed = sp.sub(sp.sub(a, ap), sp.cross_motion(vp, sp.sub(v, vp)))  # S u'
        for j in range(first, last):
            S = sp.load6(k.S, j)
            psi = sp.cross_motion(vp, S)
            psi2 = sp.add(sp.cross_motion(ap, S), sp.cross_motion(vp, psi))
            sp.store6(s.D, j, sp.add(sp.cross_motion(v, S), psi))
            if fixed_in_parent:
                e = sp.cross_motion(sp.sub(v, vp), S)
                psi, psi2 = (
                    sp.add(psi, e),
                    sp.add(psi2, sp.add(sp.cross_motion(pushed, S), sp.cross_motion(sp.add(v, vp), e))),
                )
            sp.store3(s.psi, j, sp.angular(psi))
            sp.store6(s.psi2, j, psi2)
        mass, h, J = m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i)
        put(s.mass, i, mass)
        sp.store3(s.h, i, h)
        sp.store6(s.J, i, J)
        sp.store9(s.E, i, angular_share(h, J, v))
        sp.store3(s.p, i, sp.add3(sp.scale3(mass, sp.linear(v)), sp.cross(sp.angular(v), h)))
        sp.store6(s.F, i, sp.rigid_force(mass, h, J, a, v))


@inline
def twice_B(E, p, w):
    """2 B of a motion with the angular part w"""
    return sp.join(sp.mul33(E, w), sp.scale3(2.0, sp.cross(w, p)))


@kernel
def come_in(m, k, s, tau, dq, du, M):
    """tau, and the entries of dtau/dq and dtau/du that are not zero; of M too, if there is room for it"""
    nu = m.nu
    for i in range(m.nb - 1, 0, -1):
        up, first, last, mass = m.parent[i], m.dof[i], m.dof[i + 1], get(s.mass, i)
        h, J, E, p, F = sp.load3(s.h, i), sp.load6(s.J, i), sp.load9(s.E, i), sp.load3(s.p, i), sp.load6(s.F, i)
        in_parent = m.kind[i] >= FIRST_QUATERNION and m.sign[i] < 0.0
        for j in range(last - 1, first - 1, -1):
            S, psi, D = sp.load6(k.S, j), sp.load3(s.psi, j), sp.load6(s.D, j)
            put(tau, j, sp.dot(S, F))
            w, f = sp.angular(S), sp.angular(F)
            U = sp.mul_rigid(mass, h, J, S)
            r = sp.add3(sp.mul33t(E, w), sp.scale3(2.0, sp.cross(p, sp.linear(S))))
            own = sp.add(sp.mul_rigid(mass, h, J, sp.load6(s.psi2, j)), twice_B(E, p, psi))
            turned = sp.join(
                sp.add3(sp.cross(w, f), sp.cross(sp.linear(S), sp.linear(F))), sp.cross(w, sp.linear(F))
            )  # S x* F
            A, A2 = sp.add(own, turned), sp.add(sp.mul_rigid(mass, h, J, D), twice_B(E, p, w))
            if in_parent:
                own = A
            for l in range(first, last):
                T = sp.load6(k.S, l)
                put(dq, l * nu + j, sp.dot(T, own))
                put(du, l * nu + j, sp.dot(T, A2))
                if M.shape[0] > 0:
                    put(M, l * nu + j, sp.dot(T, U))
            l = m.up[first]
            while l >= 0:
                T, at, across = sp.load6(k.S, l), l * nu + j, j * nu + l
                put(dq, at, sp.dot(T, A))
                put(du, at, sp.dot(T, A2))
                put(dq, across, sp.dot(U, sp.load6(s.psi2, l)) + sp.dot3(r, sp.load3(s.psi, l)))
                put(du, across, sp.dot(U, sp.load6(s.D, l)) + sp.dot3(r, sp.angular(T)))
                if M.shape[0] > 0:
                    x = sp.dot(T, U)
                    put(M, at, x)
                    put(M, across, x)
                l = m.up[l]
        if up > 0:
            put(s.mass, up, get(s.mass, up) + mass)
            sp.store3(s.h, up, sp.add3(sp.load3(s.h, up), h))
            sp.store6(s.J, up, sp.add(sp.load6(s.J, up), J))
            for n in range(9):
                put(s.E, 9 * up + n, get(s.E, 9 * up + n) + E[n])
            sp.store3(s.p, up, sp.add3(sp.load3(s.p, up), p))
            sp.store6(s.F, up, sp.add(sp.load6(s.F, up), F))


@kernel
def add_forces(m, s, udot, tau, dq, du, M):
    """tau less what acts in joints, and what armature takes"""
    for j in range(m.nu):
        at = j * m.nu + j
        put(tau, j, get(tau, j) + m.armature[j] * get(udot, j) - get(s.force, j))
        put(dq, at, get(dq, at) - get(s.kq, j))
        put(du, at, get(du, at) - get(s.ku, j))
        if M.shape[0] > 0:
            put(M, at, get(M, at) + m.armature[j])


def inverse_workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`inverse_slopes`."""
    nu = system.nu
    rows = kinematics_rows(system) + slope_rows(system) + system.nq + 3 * nu + 3 * nu * nu
    return blocks.make_memory(system, rows + 1 + 3 * system.forces.signals, lanes, system.forces.packed)


@entry
def inverse_slopes(memory, q, u, udot, signals, out, start, stop):
    """tau (nu), dtau/dq, dtau/du and M (nu nu each, row by row) of the states start to stop; 0 if all is well."""
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    nu = m.nu
    if q.shape[-1] != m.nq or u.shape[-1] != nu or udot.shape[-1] != nu or out.shape[-1] != nu + 3 * nu * nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    s, n = take_slopes(m, buffer, n)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, nu)
    x_block, n = take(buffer, n, nu)
    t_block, n = take(buffer, n, 1 + 3 * F.ns)
    block, n = take(buffer, n, out.shape[-1])
    total = 0.0
    for state in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities = blocks.gather(q, state, q_block), blocks.gather(u, state, u_block)
        motion, result = blocks.gather(udot, state, x_block), blocks.target(out, block)
        place_and_move(m, coordinates, velocities, k)
        for j in range(nu, out.shape[-1]):
            put(result, j, 0.0)
        tau, n = take(result, 0, nu)
        dq, n = take(result, n, nu * nu)
        du, n = take(result, n, nu * nu)
        M, n = take(result, n, nu * nu)
        joint_slopes(m, F, coordinates, velocities, blocks.gather(signals, state, t_block), s)
        go_out(m, k, motion, s)
        come_in(m, k, s, tau, dq, du, M)
        add_forces(m, s, motion, tau, dq, du, M)
        scatter_tiles(result, state, out)
        total += blocks.checksum(view(result, 0, 2 * nu)) + blocks.unit_check(k)
    return total


# ---------------------------------------------------------------- forward dynamics


def forward_workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`forward_slopes`."""
    nu, width = system.nu, system.nu + LANES
    rows = kinematics_rows(system) + slope_rows(system) + work_rows(system) + system.nq + 5 * nu + 3 * nu * nu
    rows += 6 * width + nu * width + 2 * nu * nu + LANES + 1 + 3 * system.forces.signals
    return blocks.make_memory(system, rows, lanes, system.forces.packed)


@inline
def mirror(nu, N, width):
    """The lower triangle, from the upper one"""
    for j in range(nu):
        for c in range(j + 1, nu):
            put(N, c * width + j, get(N, j * width + c))


@inline
def put_pair(out, left, right, x, y):
    put_several(out, right, y)
    put_several(out, left, x)


@inline
def multiply(nu, N, width, A, out):
    """out = -N A, (nu, nu) row by row, four rows of two registers at a time

    Registers of one state end behind a row: what they spoil, the next row writes later, as columns go from right to
    left. They end behind the last row too, by less than a matrix of more than two rows.
    """
    if nu < FEW:
        for i in range(nu):
            for c in range(nu):
                x = 0.0 * get(A, c)
                for n in range(nu):
                    x = x - get(N, i * width + n) * get(A, n * nu + c)
                put(out, i * nu + c, x)
        return
    step = columns_at_once(A)
    pieces = (nu + step - 1) // step
    for i in range(0, nu, 4):
        j, k, l = min(i + 1, nu - 1), min(i + 2, nu - 1), min(i + 3, nu - 1)
        for piece in range(pieces - 1, -1, -2):
            left, right = max(piece - 1, 0) * step, piece * step
            x0 = 0.0 * several(A, right)
            x1, x2, x3, y0, y1, y2, y3 = x0, x0, x0, x0, x0, x0, x0
            for n in range(nu):
                a, b = several(A, n * nu + left), several(A, n * nu + right)
                f, g, h, e = get(N, i * width + n), get(N, j * width + n), get(N, k * width + n), get(N, l * width + n)
                x0, y0 = x0 - f * a, y0 - f * b
                x1, y1 = x1 - g * a, y1 - g * b
                x2, y2 = x2 - h * a, y2 - h * b
                x3, y3 = x3 - e * a, y3 - e * b
            put_pair(out, i * nu + left, i * nu + right, x0, y0)
            put_pair(out, j * nu + left, j * nu + right, x1, y1)
            put_pair(out, k * nu + left, k * nu + right, x2, y2)
            put_pair(out, l * nu + left, l * nu + right, x3, y3)


@inline
def write_rows(nu, rows, width, out):
    for i in range(nu):
        for c in range(nu):
            put(out, i * nu + c, get(rows, i * width + c))


@entry
def forward_slopes(memory, q, u, tau, signals, out, start, stop):
    """u' (nu), du'/dq, du'/du and M^-1 (nu nu each, row by row) of the states start to stop; 0 if all is well."""
    m, end = unpack(memory)
    F, end = unpack_forces(memory, end)
    nu, width = m.nu, row_width(m.nu)
    if q.shape[-1] != m.nq or u.shape[-1] != nu or tau.shape[-1] != nu or out.shape[-1] != nu + 3 * nu * nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    s, n = take_slopes(m, buffer, n)
    w, n = take_work(m, buffer, n)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, nu)
    x_block, n = take(buffer, n, nu)
    t_block, n = take(buffer, n, 1 + 3 * F.ns)
    rest, n = take(buffer, n, nu)
    z, n = take(buffer, n, 6 * width)
    N, n = take(buffer, n, nu * width)
    slopes, n = take(buffer, n, 2 * nu * nu + LANES)
    block, n = take(buffer, n, out.shape[-1])
    empty = view(z, 0, 0)
    total = 0.0
    for state in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities = blocks.gather(q, state, q_block), blocks.gather(u, state, u_block)
        forces, result = blocks.gather(tau, state, x_block), blocks.target(out, block)
        place_and_move(m, coordinates, velocities, k)
        joint_slopes(m, F, coordinates, velocities, blocks.gather(signals, state, t_block), s)
        udot, n = take(result, 0, nu)
        dq, n = take(slopes, 0, nu * nu)
        du, _ = take(slopes, n, slopes.shape[0] - n)
        accelerate(m, k, s, w, forces, rest, udot)
        for j in range(2 * nu * nu):
            put(slopes, j, 0.0)
        go_out(m, k, udot, s)
        come_in(m, k, s, rest, dq, du, empty)
        add_forces(m, s, udot, rest, dq, du, empty)
        fill_inverse(m, k, w, z, N, width)
        mirror(nu, N, width)
        multiply(nu, N, width, slopes, view(result, nu, 2 * nu * nu))
        multiply(nu, N, width, du, view(result, nu + nu * nu, 2 * nu * nu))
        write_rows(nu, N, width, view(result, nu + 2 * nu * nu, nu * nu))
        scatter_tiles(result, state, out)
        total += blocks.checksum(view(result, 0, 2 * nu)) + blocks.unit_check(k)
    return total


@inline
def accelerate(m, k, s, w, forces, rest, udot):
    """u' by the innovations factors, which stay: M u' = tau + forces in joints - bias"""
    for i in range(1, m.nb):
        sp.store6(
            s.F, i, sp.rigid_force(m.mass[i], sp.load3(k.h, i), sp.load6(k.J, i), sp.load6(k.b, i), sp.load6(k.v, i))
        )
    for i in range(m.nb - 1, 0, -1):
        f, up = sp.load6(s.F, i), m.parent[i]
        for j in range(m.dof[i], m.dof[i + 1]):
            put(rest, j, get(forces, j) + get(s.force, j) - sp.dot(sp.load6(k.S, j), f))
        if up > 0:
            sp.store6(s.F, up, sp.add(sp.load6(s.F, up), f))
    factorize(m, k, w, view(w.d, 0, 0))
    solve(m, k, w, rest, 0, 1, udot)
