"""Joints that were cut: what they leave free and what they hold, their coordinates and gaps. Steps I, II and VII.

Paper    [anderson1999] eqs (37)-(41), (58), and steps I.3, II and VII of section 5.
Symbols  as cut_frames.py. Of a joint: R, o of B as A's tip sees it; S its free motions, the paper's P; W what it
         holds, the paper's Q, with W S = 0; D = (S'S)^-1 S', so that u = D v. All of these in the frame of B.
Differs  two more kinds of rows may stand in W. A DOF with armature r is held too, by the load tau - r u': its row
         is that of D, and gives way by 1/r. A base without inertia about some axis is lent it, and what that costs is
         given back by a load: its row gives way by -1/inertia, and acts on the base alone.
"""

import math

from ...algebra import spatial as sp
from ...algebra.matrix6 import motion_in
from ...compiler.lanes import entry, get, inline, kernel, put
from ...joints import FIRST_CARRIED, FIRST_QUATERNION
from ...kernels.joints import read_coordinates
from ..two_handle.join import peek3, peek6, peek9, poke
from . import cut_layout as lay
from .cut_frames import open_system, place_cut

NONE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
SPARE = lay.HOLD_W + 36  # rows of W that hold an orthonormal basis of S while the complement is sought


@kernel
def orthogonal(joints, at, first, count, v):
    """v less its parts along the rows ``first`` on, which are orthonormal; twice, as rounding leaves some"""
    for _ in range(2):
        for n in range(count):
            b = peek6(joints, at + 6 * (first + n), 1)
            v = sp.axpy(-sp.dot(b, v), b, v)
    return v


@inline
def turns_in_base(kind, sign):
    """Whether the axes of a joint move in the frame of B"""
    return kind >= FIRST_CARRIED and (kind < FIRST_QUATERNION or sign < 0.0)


@kernel
def joint_columns(m, k, i, joints, c):
    """S, D and the rows of W that are the complement of S, in the frame of B. Step I.3"""
    at, count = c * lay.JOINT, m.dof[i + 1] - m.dof[i]
    R, o = sp.load9(k.R, i), sp.load3(k.o, i)
    poke(joints, at + lay.REL_R, 1, R)
    poke(joints, at + lay.REL_O, 1, o)
    if joints[at + lay.KNOWN_W] != 0.0:
        return
    if not turns_in_base(m.kind[i], m.sign[i]):
        joints[at + lay.KNOWN_W] = 1.0
    for n in range(count):
        S = motion_in(R, o, sp.load6(k.S, m.dof[i] + n))
        poke(joints, at + lay.FREE_S + 6 * n, 1, S)
        v = orthogonal(joints, at + SPARE, 0, n, S)
        poke(joints, at + SPARE + 6 * n, 1, sp.scale(1.0 / math.sqrt(sp.dot(v, v)), v))
    for n in range(count - 1, -1, -1):  # S = r Q with r lower triangular: r' D = Q
        Q = peek6(joints, at + SPARE + 6 * n, 1)
        row = Q
        for j in range(n + 1, count):
            row = sp.axpy(
                -sp.dot(peek6(joints, at + lay.FREE_S + 6 * j, 1), Q), peek6(joints, at + lay.FREE_D + 6 * j, 1), row
            )
        poke(
            joints,
            at + lay.FREE_D + 6 * n,
            1,
            sp.scale(1.0 / sp.dot(peek6(joints, at + lay.FREE_S + 6 * n, 1), Q), row),
        )
    for n in range(6 - count):
        largest, best = -1.0, 0
        for axis in range(6):
            left = 1.0
            for j in range(count + n):
                there = at + (SPARE + 6 * j if j < count else lay.HOLD_W + 6 * (j - count)) + axis
                left -= joints[there] * joints[there]
            if left > largest:
                largest, best = left, axis
        v = NONE
        poke(joints, at + lay.HOLD_W + 6 * n, 1, v)
        joints[at + lay.HOLD_W + 6 * n + best] = 1.0
        v = orthogonal(joints, at + SPARE, 0, count, peek6(joints, at + lay.HOLD_W + 6 * n, 1))
        v = orthogonal(joints, at + lay.HOLD_W, 0, n, v)
        v = orthogonal(joints, at + SPARE, 0, count, v)
        poke(joints, at + lay.HOLD_W + 6 * n, 1, sp.scale(1.0 / math.sqrt(sp.dot(v, v)), v))


@inline
def cross_force(v, f):
    """v x* f"""
    return sp.join(sp.add3(sp.cross(v[0:3], f[0:3]), sp.cross(v[3:6], f[3:6])), sp.cross(v[0:3], f[3:6]))


@kernel
def more_rows(m, i, tau, lending, faces, joints, cuts, c):
    """Rows of DOF with armature and of lent inertia; known loads, and what each row gives way"""
    at, base = c * lay.JOINT, (2 * c + 1) * lay.FACE
    row = 6 - (m.dof[i + 1] - m.dof[i])
    known, returned = NONE, NONE
    for n in range(lay.MOST):
        joints[at + lay.GIVE + n] = joints[at + lay.PUSH + n] = 0.0
    for j in range(m.dof[i], m.dof[i + 1]):
        D = peek6(joints, at + lay.FREE_D + 6 * (j - m.dof[i]), 1)
        if m.resist[j] > 0.0:
            poke(joints, at + lay.HOLD_W + 6 * row, 1, D)
            joints[at + lay.GIVE + row] = 1.0 / m.resist[j]
            joints[at + lay.PUSH + row] = get(tau, j) / m.resist[j]
            row += 1
        else:
            known = sp.axpy(get(tau, j), D, known)
    V, B = peek6(faces, base + 12, 1), peek6(faces, base + 18, 1)
    momentum = NONE
    for n in range(cuts[c * lay.CUT + lay.LENT]):
        there = (c * 6 + n) * lay.LENDING
        inertia, along = lending[there], peek6(lending, there + 1, 1)
        poke(joints, at + lay.HOLD_W + 6 * row, 1, along)
        joints[at + lay.GIVE + row] = -1.0 / inertia
        row += 1
        momentum = sp.axpy(inertia * sp.dot(along, V), along, momentum)
        returned = sp.axpy(inertia * sp.dot(along, B), along, returned)
    poke(joints, at + lay.KNOWN, 1, known)
    poke(joints, at + lay.RETURNED, 1, sp.add(returned, cross_force(V, momentum)))


@entry
def connect(cuts, tree, lending, q, u, tau, faces, joints, mine):
    """All that is to be known of the cut joints of a share, from their faces and coordinates. Step VII"""
    m, k = open_system(tree, q)
    for c in range(cuts.shape[0] // lay.CUT):
        if mine[c]:
            i = place_cut(m, k, q, u, faces, cuts, c)
            joint_columns(m, k, i, joints, c)
            more_rows(m, i, tau, lending, faces, joints, cuts, c)
            b = motion_in(sp.load9(k.R, i), sp.load3(k.o, i), sp.load6(k.b, i))
            poke(joints, c * lay.JOINT + lay.DRIFT, 1, sp.sub(b, peek6(faces, (2 * c + 1) * lay.FACE + 18, 1)))


@entry
def violations(cuts, faces, joints, mine, position, speed):
    """How far, and how fast, the two sides of each cut are apart along what the joint holds"""
    for c in range(cuts.shape[0] // lay.CUT):
        if mine[c]:
            at, first, held = c * lay.JOINT, cuts[c * lay.CUT + lay.FIRST_LOAD], cuts[c * lay.CUT + lay.HELD]
            R, o = relative(faces, c)
            there, point = peek9(joints, at + lay.REL_R, 1), peek3(joints, at + lay.REL_O, 1)
            Q = sp.matmul(sp.transpose(there), R)
            turn = (0.5 * (Q[7] - Q[5]), 0.5 * (Q[2] - Q[6]), 0.5 * (Q[3] - Q[1]))  # of a small one
            violation = sp.join(turn, sp.mul33t(there, sp.sub3(o, point)))
            v = motion_in(there, point, peek6(faces, 2 * c * lay.FACE + 12, 1))
            v = sp.sub(peek6(faces, (2 * c + 1) * lay.FACE + 12, 1), v)
            for n in range(held + cuts[c * lay.CUT + lay.LENT]):
                W = peek6(joints, at + lay.HOLD_W + 6 * n, 1)
                rigid = n < held and joints[at + lay.GIVE + n] == 0.0
                position[first + n] = sp.dot(W, violation) if rigid else 0.0
                speed[first + n] = sp.dot(W, v) if rigid else 0.0


# ---------------------------------------------------------------- coordinates, from the two faces


@inline
def relative(faces, c):
    """R, o of the outer face as the inner one sees it"""
    tip, base = 2 * c * lay.FACE, (2 * c + 1) * lay.FACE
    Rt = peek9(faces, tip, 1)
    o = sp.mul33t(Rt, sp.sub3(peek3(faces, base + 9, 1), peek3(faces, tip + 9, 1)))
    return sp.matmul(sp.transpose(Rt), peek9(faces, base, 1)), o


@entry
def derive_cuts(cuts, tree, faces, joints, q, u, mine):
    """q and u of the joints that were cut, from their two faces, into vectors of the System. Step II"""
    m, k = open_system(tree, q)
    for c in range(cuts.shape[0] // lay.CUT):
        if mine[c]:
            i = cuts[c * lay.CUT + lay.BODY]
            R, o = relative(faces, c)
            Rj = sp.load9(m.Rt, i)
            read_coordinates(m, i, sp.matmul(sp.transpose(Rj), R), sp.mul33t(Rj, sp.sub3(o, sp.load3(m.pt, i))), q)
            place_cut(m, k, q, u, faces, cuts, c)
            joint_columns(m, k, i, joints, c)
            v = sp.sub(
                peek6(faces, (2 * c + 1) * lay.FACE + 12, 1),
                motion_in(sp.load9(k.R, i), sp.load3(k.o, i), sp.load6(k.v, i)),
            )
            for n in range(m.dof[i + 1] - m.dof[i]):  # load6(k.v, i) has the old u in it
                more = sp.dot(peek6(joints, c * lay.JOINT + lay.FREE_D + 6 * n, 1), v)
                put(u, m.dof[i] + n, get(u, m.dof[i] + n) + more)
