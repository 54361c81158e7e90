"""Subchains brought together: where each stands and moves, their handles joined two by two, and the answer handed back.

Paper    [critchley2007] eqs (6)-(11) for kinematics, (15)-(42) for joining; pivoted, after [featherstone1999b].
Symbols  A is the inboard and B the outboard of two subsystems, joined where A ends: x_B = x2_A and f2_A = -f1_B. With
         K = (1 + I_B L_A)^-1, W = K I_B E_A', w = K (I_B l_A + p_B), Y = K E_B, what joins them is
         f1_B = W x1 + w - Y f2,  and they are one subsystem with
         I = I_A + E_A W,  p = p_A + E_A w,  E = E_A Y,  L = L_B + E_B' L_A Y,  l = l_B + E_B' (l_A - L_A w).
Differs  a subchain owns its inboard joint, so nothing is left to eliminate when two are joined; I_B and L_A are at
         least positive semidefinite, so 1 + I_B L_A is never singular, where the paper inverts Phi_11 + Phi_22. A rigid
         body has L = 0 and K = 1: joining to it is a step of the articulated-body algorithm.
"""

from ...algebra import spatial as sp
from ...algebra.matrix6 import force_frame, force_from, motion_in
from ...compiler.lanes import LANES, get_run, inline, kernel, put_run, view
from ...kernels.unpack import take_integers
from . import layout

# integers of a subchain: where its own numbers are, and how far apart; the same of the subchain that carries it, or -1
# for ground; where R, o, v and b of the carrying body are; whether this subchain goes on from the other's tip
STANDS = 10
AT, STEP, ON, ON_STEP, ON_R, ON_O, ON_V, ON_B, GOES_ON = range(9)
# integers of a join: where A, B and the whole are and how far apart, where to keep W, w, Y, whether B has a tip
JOIN = 8
A_AT, A_STEP, B_AT, B_STEP, C_AT, KEEP, HAS_TIP = range(7)
KEPT = 96  # six rows of [W, w, Y], 13 numbers padded to 16
GROWTH = 15  # where among them the largest term of I_B L_A is: by so much 1 in 1 + I_B L_A may be lost
WIDTH = 24  # columns that are eliminated together: 19, in whole registers
# integers of a family: its node, the subchain it starts with, where IA, pA and x of the carrying body are (-1: ground)
FAMILY = 8
WHOLE, WHOLE_STEP, FIRST, FIRST_STEP, CARRY_IA, CARRY_P, CARRY_X, CARRY_STEP = range(8)
ROOM = 168 + 6 * WIDTH  # numbers to join in


@inline
def peek3(memory, at, step):
    return (memory[at], memory[at + step], memory[at + 2 * step])


@inline
def peek6(memory, at, step):
    return peek3(memory, at, step) + peek3(memory, at + 3 * step, step)


@inline
def peek9(memory, at, step):
    return peek6(memory, at, step) + peek3(memory, at + 6 * step, step)


@inline
def poke(memory, at, step, x):
    for n in range(len(x)):
        memory[at + n * step] = x[n]


# ---------------------------------------------------------------- kinematics


@kernel
def compose(memory, table, count, gravity):
    """Frame, velocity and bias acceleration of every subchain's carrying body, from ground outward"""
    for s in range(count):
        z, _ = take_integers(memory, table + s * STANDS, STANDS)
        at, step = z[AT], z[STEP]
        if z[ON] < 0:
            poke(memory, at + layout.TURN * step, step, (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
            poke(memory, at + layout.OFFSET * step, step, (0.0, 0.0, 0.0))
            poke(memory, at + layout.BASE_V * step, step, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
            poke(memory, at + layout.BASE_B * step, step, (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2]))
        else:
            place_stand(memory, z, at, step)


@inline
def place_stand(memory, z, at, step):
    on, w = z[ON], z[ON_STEP]
    R, o = peek9(memory, z[ON_R], w), peek3(memory, z[ON_O], w)
    vl, bl = peek6(memory, z[ON_V], w), peek6(memory, z[ON_B], w)
    V, B = peek6(memory, on + layout.BASE_V * w, w), peek6(memory, on + layout.BASE_B * w, w)
    o = sp.add3(o, sp.mul33(R, peek3(memory, at + layout.POINT * step, step)))  # of the joint's point
    poke(memory, at + layout.REL_R * step, step, R)
    poke(memory, at + layout.REL_O * step, step, o)
    if z[GOES_ON]:
        poke(memory, on + layout.NEXT_R * w, w, R)
        poke(memory, on + layout.NEXT_O * w, w, o)
    poke(memory, at + layout.BASE_V * step, step, motion_in(R, o, sp.add(V, vl)))  # eqs (9)-(11)
    poke(memory, at + layout.BASE_B * step, step, motion_in(R, o, sp.add(sp.add(B, bl), sp.cross_motion(V, vl))))
    turn = peek9(memory, on + layout.TURN * w, w)
    poke(memory, at + layout.TURN * step, step, sp.matmul(turn, R))  # eqs (6)-(8)
    poke(memory, at + layout.OFFSET * step, step, sp.add3(peek3(memory, on + layout.OFFSET * w, w), sp.mul33(turn, o)))


# ---------------------------------------------------------------- inward


@inline
def place21(i, j):
    """Where entry (i, j) of a symmetric matrix is among its 21 numbers"""
    if i > j:
        i, j = j, i
    if j < 3:
        return i * (5 - i) // 2 + j
    if i < 3:
        return 6 + 3 * i + j - 3
    return 15 + (i - 3) * (8 - i) // 2 + j - 3


@kernel
def spread21(memory, at, step, out, width):
    """A symmetric matrix of 21 numbers in full, its rows ``width`` apart"""
    n = at
    for block in range(3):
        for i in range(3):
            for j in range(0 if block == 1 else i, 3):
                row, column = i + 3 * (block // 2), j + 3 * ((block + 1) // 2)
                out[row * width + column] = out[column * width + row] = memory[n]
                n += step


@kernel
def solve6(G):
    """Gauss-Jordan with rows exchanged: the first six of WIDTH columns become 1, the others the solution"""
    for k in range(6):
        best = k
        for i in range(k + 1, 6):
            if abs(G[i * WIDTH + k]) > abs(G[best * WIDTH + k]):
                best = i
        d = 1.0 / G[best * WIDTH + k]
        for j in range(0, WIDTH, LANES):
            pivot = d * get_run(G, best * WIDTH + j)
            put_run(G, best * WIDTH + j, get_run(G, k * WIDTH + j))
            put_run(G, k * WIDTH + j, pivot)
        for i in range(6):
            if i != k:
                factor = G[i * WIDTH + k]
                for j in range(0, WIDTH, LANES):
                    put_run(G, i * WIDTH + j, get_run(G, i * WIDTH + j) - factor * get_run(G, k * WIDTH + j))


@kernel
def times(A, across, down, B, C, width):
    """C = A B: A by the steps across and down, rows of B and C of 16 numbers, those of C ``width`` apart"""
    for i in range(6):
        for j in range(0, 16, LANES):
            total = A[i * down] * get_run(B, j)
            for n in range(1, 6):
                total = total + A[i * down + n * across] * get_run(B, 16 * n + j)
            put_run(C, i * width + j, total)


@kernel
def join(memory, z, room):
    """Two subsystems become one"""
    a, sa, b, sb = z[A_AT], z[A_STEP], z[B_AT], z[B_STEP]
    IB, EA, T, G = view(room, 0, 36), view(room, 36, 36), view(room, 72, 96), view(room, 168, 6 * WIDTH)
    spread21(memory, b + layout.I_ * sb, sb, IB, 6)
    spread21(memory, a + layout.L_ * sa, sa, T, 16)  # T = [L_A, E_A', l_A]
    for i in range(6):
        for j in range(6):
            EA[6 * i + j] = memory[a + (layout.E_ + 6 * i + j) * sa]
            T[16 * j + 6 + i] = EA[6 * i + j]
        T[16 * i + 12] = memory[a + (layout.L0_ + i) * sa]
    times(IB, 1, 6, T, G, WIDTH)
    for i in range(6):
        G[i * WIDTH + i] += 1.0  # G = [1 + I_B L_A, I_B E_A', I_B l_A + p_B, E_B]
        G[i * WIDTH + 12] += memory[b + (layout.P_ + i) * sb]
        for j in range(6):
            G[i * WIDTH + 13 + j] = memory[b + (layout.E_ + 6 * i + j) * sb]
    growth = 0.0
    for i in range(6):
        growth = max(growth, IB[7 * i] * T[17 * i])
    solve6(G)
    keep = view(memory, z[KEEP], KEPT)
    for i in range(6):
        for j in range(0, 16, LANES):
            put_run(keep, 16 * i + j, get_run(G, i * WIDTH + 6 + j))  # [W, w, Y]
    keep[GROWTH] = growth
    whole(memory, z, EA, T, keep, G)


@kernel
def whole(memory, z, EA, T, keep, G):
    """The handles of two that were joined; T is [L_A, ..., l_A], G is overwritten"""
    a, sa, b, sb, c = z[A_AT], z[A_STEP], z[B_AT], z[B_STEP], z[C_AT]
    times(EA, 1, 6, keep, G, 16)
    for i in range(6):
        for j in range(i, 6):
            n = layout.I_ + place21(i, j)
            memory[c + n] = memory[a + n * sa] + G[16 * i + j]  # I_A + E_A W
        memory[c + layout.P_ + i] = memory[a + (layout.P_ + i) * sa] + G[16 * i + 6]  # p_A + E_A w
    if not z[HAS_TIP]:
        return
    for i in range(6):
        for j in range(6):
            memory[c + layout.E_ + 6 * i + j] = G[16 * i + 7 + j]  # E_A Y
    times(T, 1, 16, keep, G, 16)  # L_A [W, w, Y]
    for i in range(6):
        G[16 * i + 6] = T[16 * i + 12] - G[16 * i + 6]  # l_A - L_A w
        for j in range(6):
            EA[6 * i + j] = memory[b + (layout.E_ + 6 * i + j) * sb]  # E_B
    times(EA, 6, 1, G, T, 16)
    for i in range(6):
        for j in range(i, 6):
            n = layout.L_ + place21(i, j)
            memory[c + n] = memory[b + n * sb] + T[16 * i + 7 + j]  # L_B + E_B' L_A Y
        memory[c + layout.L0_ + i] = memory[b + (layout.L0_ + i) * sb] + T[16 * i + 6]  # l_B + E_B' (l_A - L_A w)


@kernel
def carry(memory, z, room):
    """A family that nothing is beyond, as articulated inertia and force of the body that carries it"""
    if z[CARRY_IA] < 0:
        return
    at, step, own, w = z[WHOLE], z[WHOLE_STEP], z[FIRST], z[FIRST_STEP]
    R, o = peek9(memory, own + layout.REL_R * w, w), peek3(memory, own + layout.REL_O * w, w)
    X, I, XI = view(room, 0, 36), view(room, 36, 36), view(room, 72, 36)
    poke(X, 0, 1, force_frame(R, o))
    spread21(memory, at + layout.I_ * step, step, I, 6)
    for i in range(6):
        for j in range(6):
            total = 0.0
            for n in range(6):
                total += X[6 * i + n] * I[6 * n + j]
            XI[6 * i + j] = total
    for i in range(6):
        for j in range(i, 6):
            total = 0.0
            for n in range(6):
                total += XI[6 * i + n] * X[6 * j + n]
            memory[z[CARRY_IA] + place21(i, j) * z[CARRY_STEP]] += total  # X I X'
    p = force_from(R, o, peek6(memory, at + layout.P_ * step, step))
    poke(memory, z[CARRY_P], z[CARRY_STEP], sp.add(p, peek6(memory, z[CARRY_P], z[CARRY_STEP])))


# ---------------------------------------------------------------- outward


@kernel
def stand_on(memory, z):
    """Handle 1 of a family moves with its carrying body; nothing acts at its tip"""
    at, step, own, w = z[WHOLE], z[WHOLE_STEP], z[FIRST], z[FIRST_STEP]
    x = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    if z[CARRY_X] >= 0:
        R, o = peek9(memory, own + layout.REL_R * w, w), peek3(memory, own + layout.REL_O * w, w)
        x = motion_in(R, o, peek6(memory, z[CARRY_X], z[CARRY_STEP]))
    poke(memory, at + layout.X_ * step, step, x)
    poke(memory, at + layout.F_ * step, step, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


@kernel
def part(memory, z):
    """x1 and f2 of two subsystems from those of the whole"""
    a, sa, b, sb, c = z[A_AT], z[A_STEP], z[B_AT], z[B_STEP], z[C_AT]
    keep = view(memory, z[KEEP], KEPT)
    x, f = peek6(memory, c + layout.X_, 1), peek6(memory, c + layout.F_, 1)
    for i in range(6):
        force = keep[16 * i + 6] + sp.dot(peek6(keep, 16 * i, 1), x)
        if z[HAS_TIP]:
            force -= sp.dot(peek6(keep, 16 * i + 7, 1), f)
        memory[a + (layout.F_ + i) * sa] = -force  # f2_A = -f1_B = -(W x1 + w - Y f2)
    poke(memory, a + layout.X_ * sa, sa, x)
    poke(memory, b + layout.F_ * sb, sb, f)
    f = peek6(memory, a + layout.F_ * sa, sa)
    for i in range(6):
        total = memory[a + (layout.L0_ + i) * sa] + sp.dot(peek6(memory, a + (layout.E_ + i) * sa, 6 * sa), x)
        for n in range(6):
            total += memory[a + (layout.L_ + place21(i, n)) * sa] * f[n]
        memory[b + (layout.X_ + i) * sb] = total  # x2_A = E_A' x1 + L_A f2_A + l_A
