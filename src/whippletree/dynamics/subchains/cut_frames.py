"""How subchains stand and move: their frames, and both sides of every cut. Steps II to IV.

Paper    [anderson1999] steps II to IV of section 5.
Symbols  A is the inner subchain, whose tip carried the base of the outer one, B. A *face* is one side of a cut: where
         the body is, R and o in the world, and how it moves, v and b in its own axes about its own origin.
Differs  a subchain is computed in the axes of its base, about its base's origin, as if that were at rest; pose and
         velocity of the base are added as the recursion meets each body, as in two_handle/recursion.py.
"""

from ...algebra import spatial as sp
from ...algebra.matrix6 import motion_in
from ...algebra.rotation import matrix, quaternion
from ...algebra.trig import sincos
from ...compiler.lanes import entry, get, inline, put, scratch
from ...kernels.joint_columns import load_quaternion
from ...kernels.kinematics import move_body, place_body, take_kinematics
from ...kernels.unpack import unpack
from ..two_handle.join import peek3, peek6, peek9, poke
from ..two_handle.layout import BASE_B, BASE_V, OFFSET, TURN
from . import cut_layout as lay

# ---------------------------------------------------------------- standing


@inline
def stand(memory, table, s, R, o, V, gravity):
    """Where a subchain's frame is and how it moves, for its recursion"""
    at, step = table[s * lay.SUBCHAIN + lay.AT], table[s * lay.SUBCHAIN + lay.STEP]
    poke(memory, at + TURN * step, step, R)
    poke(memory, at + OFFSET * step, step, o)
    poke(memory, at + BASE_V * step, step, V)
    pull = sp.mul33t(R, (gravity[0], gravity[1], gravity[2]))
    poke(memory, at + BASE_B * step, step, (0.0, 0.0, 0.0, -pull[0], -pull[1], -pull[2]))


@inline
def stand_on_ground(memory, table, s, gravity):
    one = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    stand(memory, table, s, one, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), gravity)


@inline
def tip_of(memory, table, s):
    """R, o, v and b of a tip in its subchain's frame"""
    z, step = s * lay.SUBCHAIN, table[s * lay.SUBCHAIN + lay.STEP]
    R, o = peek9(memory, table[z + lay.TIP_R], step), peek3(memory, table[z + lay.TIP_O], step)
    return R, o, peek6(memory, table[z + lay.TIP_V], step), peek6(memory, table[z + lay.TIP_B], step)


@inline
def face_tip(memory, table, cuts, origin, c, faces):
    """The inner side of a cut"""
    s = cuts[c * lay.CUT + lay.INNER]
    at, step = table[s * lay.SUBCHAIN + lay.AT], table[s * lay.SUBCHAIN + lay.STEP]
    R, o, v, b = tip_of(memory, table, s)
    turn, V = peek9(memory, at + TURN * step, step), peek6(memory, at + BASE_V * step, step)
    B = peek6(memory, at + BASE_B * step, step)
    poke(faces, 2 * c * lay.FACE, 1, sp.matmul(turn, R))
    poke(faces, 2 * c * lay.FACE + 9, 1, sp.add3(peek3(origin, 3 * s, 1), sp.mul33(turn, o)))
    poke(faces, 2 * c * lay.FACE + 12, 1, motion_in(R, o, sp.add(V, v)))
    poke(faces, 2 * c * lay.FACE + 18, 1, motion_in(R, o, sp.add(sp.add(B, b), sp.cross_motion(V, v))))


@inline
def face_base(memory, table, cuts, origin, c, faces):
    """The outer side of a cut"""
    s = cuts[c * lay.CUT + lay.OUTER]
    at, step = table[s * lay.SUBCHAIN + lay.AT], table[s * lay.SUBCHAIN + lay.STEP]
    poke(faces, (2 * c + 1) * lay.FACE, 1, peek9(memory, at + TURN * step, step))
    poke(faces, (2 * c + 1) * lay.FACE + 9, 1, peek3(origin, 3 * s, 1))
    poke(faces, (2 * c + 1) * lay.FACE + 12, 1, peek6(memory, at + BASE_V * step, step))
    poke(faces, (2 * c + 1) * lay.FACE + 18, 1, peek6(memory, at + BASE_B * step, step))


@inline
def place_cut(m, k, q, u, faces, cuts, c):
    """R, o, S, v and b of the base, as the tip of the face sees it"""
    i, tip = cuts[c * lay.CUT + lay.BODY], 2 * c * lay.FACE
    p = m.parent[i]
    for n in range(m.position[i], m.position[i + 1]):
        s, co = sincos(get(q, n))
        put(k.sin, n, s)
        put(k.cos, n, co)
    sp.store9(k.R, p, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
    sp.store3(k.o, p, (0.0, 0.0, 0.0))
    sp.store6(k.v, p, peek6(faces, tip + 12, 1))
    sp.store6(k.b, p, peek6(faces, tip + 18, 1))
    place_body(m, q, k, i)
    move_body(m, q, u, k, i)
    return i


@inline
def open_system(tree, like):
    """The System, and room for its Kinematics"""
    m, end = unpack(tree)
    k, _ = take_kinematics(m, scratch(tree, end, like))
    return m, k


@entry
def compose_bases(memory, table, cuts, tree, centre, origin, q, u, faces, own_q, own_u):
    """Poses and velocities of all bases from coordinates of the System, from ground outward"""
    m, k = open_system(tree, q)
    for s in range(table.shape[0] // lay.SUBCHAIN):
        c = table[s * lay.SUBCHAIN + lay.BASE_CUT]
        if c < 0:
            stand_on_ground(memory, table, s, m.gravity)
            poke(origin, 3 * s, 1, peek3(centre, 3 * table[s * lay.SUBCHAIN + lay.CENTRE], 1))
            continue
        face_tip(memory, table, cuts, origin, c, faces)
        i = place_cut(m, k, q, u, faces, cuts, c)
        R, o, tip = sp.load9(k.R, i), sp.load3(k.o, i), 2 * c * lay.FACE
        turn = sp.matmul(peek9(faces, tip, 1), R)
        there = sp.add3(peek3(faces, tip + 9, 1), sp.mul33(peek9(faces, tip, 1), o))
        V = motion_in(R, o, sp.load6(k.v, i))
        stand(
            memory,
            table,
            s,
            turn,
            sp.sub3(there, peek3(centre, 3 * table[s * lay.SUBCHAIN + lay.CENTRE], 1)),
            V,
            m.gravity,
        )
        poke(origin, 3 * s, 1, there)
        poke(own_q, table[s * lay.SUBCHAIN + lay.IN_Q], 1, there)
        poke(own_q, table[s * lay.SUBCHAIN + lay.IN_Q] + 3, 1, quaternion(turn))
        poke(own_u, table[s * lay.SUBCHAIN + lay.IN_U], 1, V)


@entry
def stand_bases(memory, table, tree, centre, origin, own_q, own_u, first, last):
    """The same from a subchain's own state.

    A rank that has no subchain on ground does not have its point, ``centre``: wrenches alone are about it.
    """
    m, _ = unpack(tree)
    for s in range(first, last):
        n = table[s * lay.SUBCHAIN + lay.IN_Q]
        if n < 0:
            stand_on_ground(memory, table, s, m.gravity)
            poke(origin, 3 * s, 1, peek3(centre, 3 * table[s * lay.SUBCHAIN + lay.CENTRE], 1))
            continue
        poke(origin, 3 * s, 1, peek3(own_q, n, 1))
        a = load_quaternion(own_q, n + 3)
        there = sp.sub3(peek3(own_q, n, 1), peek3(centre, 3 * table[s * lay.SUBCHAIN + lay.CENTRE], 1))
        V = peek6(own_u, table[s * lay.SUBCHAIN + lay.IN_U], 1)
        stand(memory, table, s, matrix(a[0], a[1], a[2], a[3]), there, V, m.gravity)


@entry
def show_faces(memory, table, cuts, origin, faces, first, last):
    """The sides of cuts that belong to the subchains first to last"""
    for s in range(first, last):
        if table[s * lay.SUBCHAIN + lay.BASE_CUT] >= 0:
            face_base(memory, table, cuts, origin, table[s * lay.SUBCHAIN + lay.BASE_CUT], faces)
        for n in range(table[s * lay.SUBCHAIN + lay.TIP_COUNT]):
            face_tip(memory, table, cuts, origin, table[s * lay.SUBCHAIN + lay.TIP_FIRST] + n, faces)
