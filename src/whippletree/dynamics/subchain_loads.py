"""Each subchain's share of the equations of the loads at cuts, and its answer to them. Steps V, VI and IX.

Paper    [anderson1999] eqs (31)-(36), (45)-(64), steps V, VI and IX of section 5.
Symbols  of a subchain, with loads f1 on its base and f2 on its tip,
         x1 = A f1 + B f2 + b,    x2 = B' f1 + C f2 + c,    A = I^-1, B = I^-1 E, C = E' I^-1 E + L:
         D_bb, D_tb, D_t and eta of the paper. With Y the columns by which the loads lambda of its cuts act at base and tip,
         W of the base's joint and -W of those at the tip, its *element* is K = Y' [A B; B' C] Y and g = -Y' [b; c].
         Gamma and Psi are the sums of the elements: eqs (55)-(58).
Differs  one inward sweep, that of handles.py, gives C and c; of the base's six freedoms, which it eliminates last, follow
         A, B and b. The paper's second outward sweep (VI) is not needed.
"""

from ..kernels.lanes import entry, inline, kernel, put, view
from ..kernels.matrix6 import force_from, motion_in
from ..kernels.spatial import add, dot, sub
from .assembly import peek3, peek6, peek9, poke, spread21
from .handles import answer_strands, place_strands, sweep_strands
from .strand_layout import F_, HANDLES, L0_, L_, NEXT_O, NEXT_R, POINT, X_, registers, take_strands
from .subchain_faces import (
    AT,
    BASE_CUT,
    BASE_D,
    BASE_E,
    BASE_S,
    BASE_U,
    BASE_UA,
    BODY,
    CENTRE,
    CUT,
    DRIFT,
    FREE_D,
    GIVE,
    HELD,
    HOLD_W,
    INNER,
    JOINT,
    KNOWN,
    LENT,
    OUTER,
    PUSH,
    REL_O,
    REL_R,
    RETURNED,
    STEP,
    STRAND,
    TIP_COUNT,
    TIP_FIRST,
    TIP_O,
    TIP_R,
    open_system,
)
from .tips import WIDE

# numbers of a subchain's two ends: A, B, C row by row, b, c, e of the base's freedoms, room, loads there, accelerations
ENDS = 216
END_A, END_B, END_C, END_X, END_E, END_ROOM, END_F = 0, 36, 72, 108, 120, 156, 192
BOTH = 12  # numbers of a column of Y


# ---------------------------------------------------------------- blocks of subchains, as divide has them


@entry
def place_pieces(memory, table, blocks, q, u, tau, centre):
    """Local kinematics of all subchains of a share; frames of their tips. Steps III and IV"""
    for n in range(0, blocks.shape[0], 2):
        if blocks[n + 1] == 1:
            place_strands(memory, blocks[n], q, u, tau, memory)
        else:
            place_strands(memory, blocks[n], q, u, tau, registers(memory, 0, 0))
    for z in range(0, table.shape[0], STRAND):
        at, step = table[z + AT], table[z + STEP]
        if at < 0:
            continue
        if table[z + TIP_COUNT] > 0:
            poke(memory, at + NEXT_R * step, step, peek9(memory, table[z + TIP_R], step))
            poke(memory, at + NEXT_O * step, step, peek3(memory, table[z + TIP_O], step))
        if table[z + BASE_CUT] < 0:
            poke(centre, 3 * table[z + CENTRE], 1, peek3(memory, at + POINT * step, step))


@entry
def sweep_pieces(memory, blocks, wrench):
    """Step V"""
    for n in range(0, blocks.shape[0], 2):
        if blocks[n + 1] == 1:
            sweep_strands(memory, blocks[n], wrench, memory)
        else:
            sweep_strands(memory, blocks[n], wrench, registers(memory, 0, 0))


@entry
def answer_pieces(memory, blocks, udot):
    """Step IX: accelerations of all freedoms of the subchains of a share"""
    for n in range(0, blocks.shape[0], 2):
        if blocks[n + 1] == 1:
            answer_strands(memory, blocks[n], udot, memory)
        else:
            answer_strands(memory, blocks[n], udot, registers(memory, 0, 0))


@inline
def clear_block(memory, at, like):
    g = take_strands(memory, at, like)
    for j in range(g.m.nu):
        put(g.uA, j, 0.0)


@entry
def clear_forces(memory, blocks):
    """Nothing acts on the subchains any more; their inertia stays"""
    for n in range(0, blocks.shape[0], 2):
        if blocks[n + 1] == 1:
            clear_block(memory, blocks[n], memory)
        else:
            clear_block(memory, blocks[n], registers(memory, 0, 0))


# ---------------------------------------------------------------- inward


@kernel
def base_end(memory, table, z, ends, at):
    """A, B, b and e: what loads at base and tip do to the base. Its freedoms were eliminated last first"""
    step = table[z + STEP]
    for i in range(6):
        for n in range(6):
            ends[at + END_ROOM + 6 * i + n] = 1.0 if i == n else 0.0  # how a load at the base is still felt
            ends[at + END_A + 6 * i + n] = ends[at + END_B + 6 * i + n] = 0.0
        ends[at + END_X + i] = 0.0
    for j in range(5, -1, -1):
        S, U = peek6(memory, table[z + BASE_S] + 6 * j * step, step), peek6(memory, table[z + BASE_U] + 6 * j * step, step)
        d, uA = memory[table[z + BASE_D] + j * step], memory[table[z + BASE_UA] + j * step]
        tip = peek6(memory, table[z + BASE_E] + WIDE * j * step, step)
        for n in range(6):
            ends[at + END_E + 6 * j + n] = dot(S, peek6(ends, at + END_ROOM + n, 6))
        e = peek6(ends, at + END_E + 6 * j, 1)
        for i in range(6):
            for n in range(6):
                ends[at + END_ROOM + 6 * i + n] -= U[i] * d * e[n]
                ends[at + END_A + 6 * i + n] += d * e[i] * e[n]
                if table[z + TIP_COUNT] > 0:
                    ends[at + END_B + 6 * i + n] += d * e[i] * tip[n]
            ends[at + END_X + i] += d * uA * e[i]


@kernel
def respond(ends, at, f1, f2):
    """What loads at base and tip do to both"""
    x1, x2 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for n in range(6):
        x1 = add(x1, scaled(f1[n], peek6(ends, at + END_A + 6 * n, 1)))
        x1 = add(x1, scaled(f2[n], peek6(ends, at + END_B + n, 6)))
        x2 = add(x2, scaled(f1[n], peek6(ends, at + END_B + 6 * n, 1)))
        x2 = add(x2, scaled(f2[n], peek6(ends, at + END_C + 6 * n, 1)))
    return x1, x2


@kernel
def scaled(x, a):
    return (x * a[0], x * a[1], x * a[2], x * a[3], x * a[4], x * a[5])


@kernel
def columns(table, cuts, joints, z, Y, at, known):
    """Y of a subchain; into ``known`` the loads at both ends that are known. Returns how many columns"""
    count = 0
    for n in range(BOTH):
        known[n] = 0.0
    c = table[z + BASE_CUT]
    if c >= 0:
        for row in range(cuts[c * CUT + HELD] + cuts[c * CUT + LENT]):
            poke(Y, at + BOTH * count, 1, peek6(joints, c * JOINT + HOLD_W + 6 * row, 1))
            poke(Y, at + BOTH * count + 6, 1, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
            count += 1
        poke(known, 0, 1, add(peek6(joints, c * JOINT + KNOWN, 1), peek6(joints, c * JOINT + RETURNED, 1)))
    for c in range(table[z + TIP_FIRST], table[z + TIP_FIRST] + table[z + TIP_COUNT]):
        R, o = peek9(joints, c * JOINT + REL_R, 1), peek3(joints, c * JOINT + REL_O, 1)
        for row in range(cuts[c * CUT + HELD] + cuts[c * CUT + LENT]):
            poke(Y, at + BOTH * count, 1, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
            f = force_from(R, o, peek6(joints, c * JOINT + HOLD_W + 6 * row, 1))
            push = -1.0 if row < cuts[c * CUT + HELD] else 0.0
            poke(Y, at + BOTH * count + 6, 1, scaled(push, f))
            count += 1
        poke(known, 6, 1, sub(peek6(known, 6, 1), force_from(R, o, peek6(joints, c * JOINT + KNOWN, 1))))
    return count


@entry
def make_elements(memory, table, cuts, joints, ends, Y, K, g, weight, width, first, last):
    """K, g and ends of the subchains first to last; the diagonals of Y' [A B; B' C] Y into ``weight``. Step VI"""
    for s in range(first, last):
        z, at, k = s * STRAND, s * ENDS, s * width * width
        own, step = table[z + AT], table[z + STEP]
        if table[z + TIP_COUNT] > 0:
            spread21(memory, own + (HANDLES + L_) * step, step, view(ends, at + END_C, 36), 6)
            poke(ends, at + END_X + 6, 1, peek6(memory, own + (HANDLES + L0_) * step, step))
        if table[z + BASE_CUT] >= 0:
            base_end(memory, table, z, ends, at)
        known = view(ends, at + END_F, BOTH)
        count = columns(table, cuts, joints, z, Y, s * width * BOTH, known)
        x1, x2 = respond(ends, at, peek6(known, 0, 1), peek6(known, 6, 1))
        poke(ends, at + END_X, 1, add(peek6(ends, at + END_X, 1), x1))
        poke(ends, at + END_X + 6, 1, add(peek6(ends, at + END_X + 6, 1), x2))
        x1, x2 = peek6(ends, at + END_X, 1), peek6(ends, at + END_X + 6, 1)
        for i in range(count):
            there = (s * width + i) * BOTH
            y1, y2 = peek6(Y, there, 1), peek6(Y, there + 6, 1)
            z1, z2 = respond(ends, at, y1, y2)
            g[s * width + i] = -dot(y1, x1) - dot(y2, x2)
            for j in range(i + 1):
                here = (s * width + j) * BOTH
                value = dot(peek6(Y, here, 1), z1) + dot(peek6(Y, here + 6, 1), z2)
                K[k + i * width + j] = K[k + j * width + i] = value
            weight[s * width + i] = K[k + i * width + i]
        c = table[z + BASE_CUT]
        if c >= 0:
            for row in range(cuts[c * CUT + HELD] + cuts[c * CUT + LENT]):
                give = joints[c * JOINT + GIVE + row]
                K[k + row * width + row] += give
                weight[s * width + row] += max(give, 0.0)
                g[s * width + row] += joints[c * JOINT + PUSH + row]
                if row < cuts[c * CUT + HELD]:
                    W = peek6(joints, c * JOINT + HOLD_W + 6 * row, 1)
                    g[s * width + row] += dot(W, peek6(joints, c * JOINT + DRIFT, 1))


# ---------------------------------------------------------------- outward


@entry
def push_ends(memory, table, where, ends, Y, loads, moves, width, alone, first, last):
    """Loads of the cuts onto base and tip of subchains; how both ends accelerate then, into ``moves``.

    ``alone``: nothing else acts, neither forces nor velocities.
    """
    for s in range(first, last):
        z, at = s * STRAND, s * ENDS
        own, step = table[z + AT], table[z + STEP]
        f1, f2 = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for i in range(width):
            load = loads[where[s * width + i]]
            there = (s * width + i) * BOTH
            f1 = add(f1, scaled(load, peek6(Y, there, 1)))
            f2 = add(f2, scaled(load, peek6(Y, there + 6, 1)))
        x1, x2 = respond(ends, at, f1, f2)
        if not alone:
            x1, x2 = add(x1, peek6(ends, at + END_X, 1)), add(x2, peek6(ends, at + END_X + 6, 1))
            f1, f2 = add(f1, peek6(ends, at + END_F, 1)), add(f2, peek6(ends, at + END_F + 6, 1))
        poke(memory, own + (HANDLES + X_) * step, step, (0.0, 0.0, 0.0, 0.0, 0.0, 0.0))
        poke(memory, own + (HANDLES + F_) * step, step, f2)
        if table[z + BASE_CUT] >= 0:
            for j in range(6):
                memory[table[z + BASE_UA] + j * step] += dot(peek6(ends, at + END_E + 6 * j, 1), f1)
            poke(moves, (2 * table[z + BASE_CUT] + 1) * 6, 1, x1)
        for c in range(table[z + TIP_FIRST], table[z + TIP_FIRST] + table[z + TIP_COUNT]):
            poke(moves, 2 * c * 6, 1, x2)


@entry
def open_cuts(cuts, tree, joints, moves, udot, mine):
    """u' of the joints that were cut, from how their two sides accelerate"""
    m, _ = open_system(tree, udot)
    for c in range(cuts.shape[0] // CUT):
        if mine[c]:
            at, i = c * JOINT, cuts[c * CUT + BODY]
            x = motion_in(peek9(joints, at + REL_R, 1), peek3(joints, at + REL_O, 1), peek6(moves, 2 * c * 6, 1))
            x = sub(sub(peek6(moves, (2 * c + 1) * 6, 1), x), peek6(joints, at + DRIFT, 1))
            for n in range(m.dof[i + 1] - m.dof[i]):
                udot[m.dof[i] + n] = dot(peek6(joints, at + FREE_D + 6 * n, 1), x)
