"""Poses, velocities, degrees of freedom, Jacobians, energy and momentum of a state, for the user's eyes."""

from typing import Any

import numpy as np

from ..algebra import spatial as sp
from ..algebra.trig import sincos_all
from ..compiler.function_pointers import BODY_OUTPUT, call_flexible
from ..compiler.lanes import entry, get, inline, lane_sum, put, scratch, take, view
from ..layout.system import MODAL_MOTION, MODES
from . import blocks
from .kinematics import (
    Kinematics,
    kinematics_rows,
    place_and_move,
    place_frame,
    place_ground,
    rest_ground,
    take_kinematics,
    turn_inertia,
)
from .unpack import unpack

SUMS = 13  # momentum (6); kinetic, potential and modal energy; mass times centre of mass (3); mass


def motion_rows(system: Any) -> int:
    """Numbers in the motion of one state: 18 for each body (R, position, v), 6 for each degree of freedom, 3 for each
    component; and what flexible bodies keep of their motion.
    """
    modal = system.flexible.motion if system.flexible else 0
    return 18 * system.nb + 6 * system.nu + 3 * system.nc + modal


def motion_workspace(system: Any, lanes: int = 1) -> Any:
    """Memory for :func:`motions`, :func:`sums` and :func:`jacobians`, whose output in lanes is the last of it."""
    rows = kinematics_rows(system) + system.nq + system.nu + motion_rows(system) + SUMS + 4 + system.nb
    return blocks.make_memory(system, rows, lanes)


@inline
def spread_motion(m, q, u, k):
    """Frames, degrees of freedom and velocities, without inertias. Returns zero, or nan where one is not finite"""
    sincos_all(q, k.sin, k.cos)
    place_ground(m, k)
    rest_ground(m, k)
    total = 0.0 * get(k.v, 0)
    for i in range(1, m.nb):
        R, o = place_frame(m, q, k, i)
        v = sp.load6(k.v, m.parent[i])
        for j in range(m.dof[i], m.dof[i + 1]):
            v = sp.axpy(get(u, j), sp.load6(k.S, j), v)
        sp.store6(k.v, i, v)
        total = total + 0.0 * ((v[0] + v[1] + v[2]) + (v[3] + v[4] + v[5]) + (R[0] + R[1]) + (o[0] + o[1] + o[2]))
    return total


@inline
def copy(source, to):
    for n in range(to.shape[0]):
        put(to, n, get(source, n))


@entry
def motions(memory, q, u, out, start, stop):
    """R (nb, 9), position from the component's point (nb, 3), v (nb, 6), S (nu, 6), point (nc, 3), columns of
    flexible bodies. Returns 0 if all is well."""
    m, end = unpack(memory)
    modal = m.header[MODAL_MOTION]
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or out.shape[-1] != 18 * m.nb + 6 * m.nu + 3 * m.nc + modal:
        return np.nan
    buffer = scratch(memory, end, q)
    own, n = take_kinematics(m, buffer)
    columns = view(buffer, n - modal, modal)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, m.nu)
    block, n = take(buffer, n, out.shape[-1])
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        result = blocks.target(out, block)
        R, n = take(result, 0, 9 * m.nb)
        o, n = take(result, n, 3 * m.nb)
        v, n = take(result, n, 6 * m.nb)
        S, n = take(result, n, 6 * m.nu)
        point, n = take(result, n, 3 * m.nc)
        k = Kinematics(own.sin, own.cos, R, o, S, own.J, own.h, point, v, own.defect, own.b)
        coordinates, velocities = blocks.gather(q, s, q_block), blocks.gather(u, s, u_block)
        if modal > 0:  # what places flexible bodies computes on Kinematics as they lie
            place_and_move(m, coordinates, velocities, own)
            copy(own.R, R)
            copy(own.o, o)
            copy(own.v, v)
            copy(own.S, S)
            copy(own.point, point)
            copy(columns, view(result, n, modal))
            total += blocks.checksum(result)
        else:
            total += lane_sum(spread_motion(m, coordinates, velocities, k))
        blocks.scatter(result, s, out)
        total += blocks.unit_check(k)
    return total


@entry
def jacobians(memory, q, at, out, start, stop):
    """J (6, nu) row by row, world axes, of a point of a rigid body: ``at`` is the body's number, and the point in its
    axes. Returns 0 if all is well."""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or at.shape[-1] != 4 or out.shape[-1] != 6 * m.nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    q_block, n = take(buffer, n, m.nq)
    at_block, n = take(buffer, n, 4)
    on_path, n = take(buffer, n, m.nb)
    block, n = take(buffer, n, 6 * m.nu)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, place, J = blocks.gather(q, s, q_block), blocks.gather(at, s, at_block), blocks.target(out, block)
        body = int(lane_sum(get(place, 0))) // blocks.states_per_block(buffer)
        for i in range(body + 1):
            put(on_path, i, 0.0)
        i = body
        while i > 0:
            put(on_path, i, 1.0)
            i = m.parent[i]
        sincos_all(coordinates, k.sin, k.cos)
        place_ground(m, k)
        for i in range(1, body + 1):
            if lane_sum(get(on_path, i)) > 0.0:
                place_frame(m, coordinates, k, i)
        point = (get(place, 1), get(place, 2), get(place, 3))
        lever = sp.add3(sp.load3(k.o, body), sp.mul33(sp.load9(k.R, body), point))
        for n in range(6 * m.nu):
            put(J, n, 0.0)
        found = 0.0 * (lever[0] + lever[1] + lever[2])
        i = body
        while i > 0:
            for j in range(m.dof[i], m.dof[i + 1]):
                S = sp.load6(k.S, j)
                w, v = sp.angular(S), sp.add3(sp.linear(S), sp.cross(sp.angular(S), lever))
                for n in range(3):
                    put(J, n * m.nu + j, w[n])
                    put(J, (3 + n) * m.nu + j, v[n])
                found = found + 0.0 * (w[0] + w[1] + w[2])
            i = m.parent[i]
        blocks.scatter(J, s, out)
        total += lane_sum(found) + blocks.checksum(coordinates) + blocks.unit_check(k)
    return total


@inline
def rigid_vis_viva(m, k, i, v):
    """v . I v, about the centre of mass: far from it m c c would drown the rest"""
    R, w = sp.load9(k.R, i), sp.angular(v)
    moved = sp.add3(sp.linear(v), sp.cross(w, sp.add3(sp.load3(k.o, i), sp.mul33(R, sp.load3(m.com, i)))))
    own = sp.dot3(w, sp.mulsym(turn_inertia(R, sp.load6(m.inertia, i)), w))
    return m.mass[i] * sp.dot3(moved, moved) + own


@entry
def sums(memory, q, u, out, start, stop):
    """Momentum about the world origin (6), kinetic, potential and modal energy, mass times centre of mass (3) and mass
    of all moving bodies. Returns 0 if all is well."""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or out.shape[-1] != SUMS:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, m.nu)
    block, n = take(buffer, n, SUMS)
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        coordinates, velocities, result = (
            blocks.gather(q, s, q_block),
            blocks.gather(u, s, u_block),
            blocks.target(out, block),
        )
        place_and_move(m, coordinates, velocities, k)
        zero = get(k.v, 0)  # ground's own
        kinetic, p, moment, mass = zero, sp.load6(k.v, 0), (zero, zero, zero), zero
        for i in range(1, m.nb):
            origin, h, v = sp.load3(k.point, m.component[i]), sp.load3(k.h, i), sp.load6(k.v, i)
            Iv = sp.mul_rigid(m.mass[i], h, sp.load6(k.J, i), v)
            kinetic = kinetic + 0.5 * (rigid_vis_viva(m, k, i, v) if m.kind[i] >= 0 else sp.dot(v, Iv))
            moment, mass = sp.add3(moment, sp.add3(h, sp.scale3(m.mass[i], origin))), mass + m.mass[i]
            p = sp.add(p, sp.join(sp.add3(sp.angular(Iv), sp.cross(origin, sp.linear(Iv))), sp.linear(Iv)))
        for j in range(m.nu):
            kinetic = kinetic + 0.5 * m.armature[j] * get(velocities, j) * get(velocities, j)
        sp.store6(result, 0, p)
        put(result, 6, kinetic)
        put(result, 7, -sp.dot3(sp.load3(m.gravity, 0), moment))
        put(result, 8, 0.0)
        sp.store3(result, 3, moment)
        put(result, 12, mass)
        if m.header[MODAL_MOTION] > 0:
            for i in range(1, m.nb):
                if m.kind[i] == MODES:
                    call_flexible(BODY_OUTPUT, i, 0, m.header, k.sin, coordinates, velocities, result, result, result)
        blocks.scatter(result, s, out)
        total += blocks.checksum(result) + blocks.unit_check(k)
    return total
