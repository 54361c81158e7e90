"""All that follows from (q, u), in world axes about the moving point of each component (docs/notation.md).

Going outward, a body's frame, DOF, inertia, velocity and bias acceleration follow from its
parent's: ``v = v_p + S u``, ``b = b_p + v_p x S u + S' u``. The acceleration is ``a = b + x`` with
``x = x_p + S u'``: what algorithms solve for has no velocity in it and starts from zero at ground.
"""

from typing import Any, NamedTuple

from ..algebra import spatial as sp
from ..algebra.trig import sincos_all
from ..compiler.function_pointers import call_placing
from ..compiler.lanes import get, inline, kernel, put, take, view
from ..layout.system import MODAL_MOTION, MODES
from .joints import has_bias, joint_bias, place_first, place_other


class Kinematics(NamedTuple):
    sin: Any  # (nq)      of every coordinate, be it an angle or not
    cos: Any  # (nq)
    R: Any  # (nb, 9)     rotation of the body in the world
    o: Any  # (nb, 3)     its origin, from the component's point
    S: Any  # (nu, 6)     column of each DOF
    J: Any  # (nb, 6)     inertia about the component's point
    h: Any  # (nb, 3)     mass times centre of mass, from the component's point
    point: Any  # (nc, 3) the component's point in the world
    v: Any  # (nb, 6)     spatial velocity
    defect: Any  # (3)    sum over quaternions of (length^2 - 1)^2; power of the damping of modes; LOST where
    #                     a column of S is so short that digits of its u' are lost, else 0
    b: Any  # (nb, 6)     acceleration at u' = 0, less gravity: a = b + (what u' adds)


def kinematics_rows(system: Any) -> int:
    """Numbers that one state's Kinematics takes."""
    modal = system.flexible.motion if system.flexible else 0
    return 3 + 2 * system.nq + 33 * system.nb + 6 * system.nu + 3 * system.nc + modal


@inline
def take_kinematics(m, buffer):
    """Kinematics at the start of a buffer, and where the rest starts; before it lies what flexible bodies keep."""
    sin, n = take(buffer, 0, m.nq)
    cos, n = take(buffer, n, m.nq)
    R, n = take(buffer, n, 9 * m.nb)
    o, n = take(buffer, n, 3 * m.nb)
    S, n = take(buffer, n, 6 * m.nu)
    J, n = take(buffer, n, 6 * m.nb)
    h, n = take(buffer, n, 3 * m.nb)
    point, n = take(buffer, n, 3 * m.nc)
    v, n = take(buffer, n, 6 * m.nb)
    defect, n = take(buffer, n, 3)
    b, n = take(buffer, n, 6 * m.nb)
    return Kinematics(sin, cos, R, o, S, J, h, point, v, defect, b), n + m.header[MODAL_MOTION]


@inline
def modal_columns(m, k):
    """What flexible bodies keep of their motion, which lies behind all the rest; and where it ends"""
    return take(k.b, 6 * m.nb, m.header[MODAL_MOTION])


@inline
def place_ground(m, k):
    """Ground stands at the origin; a component's point is at its first joint until that joint moves it."""
    for n in range(9):
        put(k.R, n, 1.0 if n % 4 == 0 else 0.0)
    for n in range(3):
        put(k.o, n, 0.0)
        put(k.h, n, 0.0)
    for n in range(6):
        put(k.J, n, 0.0)
    for n in range(3 * m.nc):
        put(k.point, n, m.base[n])
    for n in range(3):
        put(k.defect, n, 0.0)


@inline
def rest_ground(m, k):
    """Ground is at rest, and rises at -gravity"""
    for n in range(3):
        put(k.v, n, 0.0)
        put(k.v, n + 3, 0.0)
        put(k.b, n, 0.0)
        put(k.b, n + 3, -m.gravity[n])


@inline
def place_frame(m, q, k, i):
    """Frame and DOF of one body; returns its rotation and origin"""
    p = m.parent[i]
    Rp = sp.load9(k.R, p)
    R = sp.matmul(Rp, sp.load9(m.Rt, i))
    o = sp.add3(sp.load3(k.o, p), sp.mul33(Rp, sp.load3(m.pt, i)))
    if m.kind[i] == 0:
        R, o = place_first(m, i, q, k, R, o)
    else:
        R, o = place_other(m, i, q, k, R, o)
    sp.store9(k.R, i, R)
    sp.store3(k.o, i, o)
    return R, o


@inline
def place_body(m, q, k, i):
    """Frame, DOF and inertia of one body"""
    R, o = place_frame(m, q, k, i)
    place_inertia(m, k, i, R, o)


@inline
def place_inertia(m, k, i, R, o):
    com = sp.add3(o, sp.mul33(R, sp.load3(m.com, i)))
    h = sp.scale3(get(m.mass, i), com)
    sp.store3(k.h, i, h)
    sp.store6(k.J, i, shift_inertia(turn_inertia(R, sp.load6(m.inertia, i)), h, com))


@inline
def turn_inertia(R, I):
    """R I R'"""
    T = sp.matmul(R, (I[0], I[1], I[2], I[1], I[3], I[4], I[2], I[4], I[5]))
    return (
        T[0] * R[0] + T[1] * R[1] + T[2] * R[2],
        T[0] * R[3] + T[1] * R[4] + T[2] * R[5],
        T[0] * R[6] + T[1] * R[7] + T[2] * R[8],
        T[3] * R[3] + T[4] * R[4] + T[5] * R[5],
        T[3] * R[6] + T[4] * R[7] + T[5] * R[8],
        T[6] * R[6] + T[7] * R[7] + T[8] * R[8],
    )


@inline
def shift_inertia(J, h, c):
    """J + m (c.c 1 - c c'), h = m c"""
    xx, yy, zz = h[0] * c[0], h[1] * c[1], h[2] * c[2]
    return (
        J[0] + yy + zz,
        J[1] - h[0] * c[1],
        J[2] - h[0] * c[2],
        J[3] + xx + zz,
        J[4] - h[1] * c[2],
        J[5] + xx + yy,
    )


@inline
def move_body(m, q, u, k, i):
    """Velocity and bias acceleration of one body"""
    j = m.dof[i]
    vp, bp = sp.load6(k.v, m.parent[i]), sp.load6(k.b, m.parent[i])
    vJ = sp.scale(get(u, j), sp.load6(k.S, j))
    for n in range(j + 1, m.dof[i + 1]):
        vJ = sp.axpy(get(u, n), sp.load6(k.S, n), vJ)
    b = sp.add(bp, sp.cross_motion(vp, vJ))
    if has_bias(m, i):
        b = sp.add(b, joint_bias(m, i, q, u, k))
    sp.store6(k.v, i, sp.add(vp, vJ))
    sp.store6(k.b, i, b)


@kernel
def place(m, q, k):
    """Positions only"""
    sincos_all(q, k.sin, k.cos)
    place_ground(m, k)
    for i in range(1, m.nb):
        if m.kind[i] >= 0:
            place_body(m, q, k, i)
        else:
            place_modes(m, q, view(q, 0, 0), k, i)


@inline
def place_modes(m, q, u, k, i):
    """A flexible body, together with its nodes, which are the next ones"""
    if m.kind[i] == MODES:
        call_placing(0, i, 0, m.header, k.sin, q, u, q, q, q)


@inline
def place_and_move_frames(m, q, u, k):
    """Positions and velocities, without inertias of rigid bodies"""
    sincos_all(q, k.sin, k.cos)
    place_ground(m, k)
    rest_ground(m, k)
    for i in range(1, m.nb):
        if m.kind[i] >= 0:
            place_frame(m, q, k, i)
            move_body(m, q, u, k, i)
        else:
            place_modes(m, q, u, k, i)


@inline
def place_and_move(m, q, u, k):
    """Positions and velocities"""
    sincos_all(q, k.sin, k.cos)
    place_ground(m, k)
    rest_ground(m, k)
    for i in range(1, m.nb):
        if m.kind[i] >= 0:
            place_body(m, q, k, i)
            move_body(m, q, u, k, i)
        else:
            place_modes(m, q, u, k, i)
