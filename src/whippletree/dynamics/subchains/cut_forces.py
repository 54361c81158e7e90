"""Each subchain's share of the equations of the loads at cuts, and its answer to them. Steps V, VI and IX.

Paper    [anderson1999] eqs (31)-(36), (45)-(64), steps V, VI and IX of section 5.
Symbols  of a subchain, with loads f1 on its base and f2 on its tip,
         x1 = A f1 + B f2 + b,    x2 = B' f1 + C f2 + c,    A = I^-1, B = I^-1 E, C = E' I^-1 E + L:
         D_bb, D_tb, D_t and eta of the paper. With Y the columns by which the loads of its cuts act at base and tip,
         W of the base's joint and -W of those at the tip, its *element* is K = Y' [A B; B' C] Y and g = -Y' [b; c].
         Gamma and Psi are the sums of the elements: eqs (55)-(58).
Differs  one inward pass, that of two_handle/recursion.py, gives C and c; of the base's six DOF, which it
         eliminates last, follow A, B and b. The paper's second outward pass (VI) is not needed.
"""

from ...algebra.matrix6 import force_from, motion_in
from ...algebra.spatial import add, axpy, dot, scale, sub
from ...compiler.lanes import entry, inline, kernel, put, view
from ..two_handle import layout, recursion
from ..two_handle.end_point import WIDE
from ..two_handle.join import peek3, peek6, peek9, poke, spread21
from . import cut_layout as lay
from .cut_frames import open_system

# numbers of a subchain's two ends: A, B, C row by row, b, c, e of the base's DOF, room, loads there, accelerations
ENDS = 216
END_A, END_B, END_C, END_X, END_E, END_ROOM, END_F = 0, 36, 72, 108, 120, 156, 192
NONE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@entry
def copy_rows(source, rows, target, there):
    """Some rows of one vector to some of another"""
    for n in range(rows.shape[0]):
        target[there[n]] = source[rows[n]]


# ---------------------------------------------------------------- blocks of subchains, as divide has them


@entry
def place_pieces(memory, table, blocks, q, u, tau, centre):
    """Local kinematics of all subchains of a share; frames of their tips. Steps III and IV"""
    for n in range(0, blocks.shape[0], 2):
        if blocks[n + 1] == 1:
            recursion.place_subchains(memory, blocks[n], q, u, tau, memory)
        else:
            recursion.place_subchains(memory, blocks[n], q, u, tau, layout.registers(memory, 0, 0))
    for z in range(0, table.shape[0], lay.SUBCHAIN):
        at, step = table[z + lay.AT], table[z + lay.STEP]
        if at < 0:
            continue
        if table[z + lay.TIP_COUNT] > 0:
            poke(memory, at + layout.NEXT_R * step, step, peek9(memory, table[z + lay.TIP_R], step))
            poke(memory, at + layout.NEXT_O * step, step, peek3(memory, table[z + lay.TIP_O], step))
        if table[z + lay.BASE_CUT] < 0:
            poke(centre, 3 * table[z + lay.CENTRE], 1, peek3(memory, at + layout.POINT * step, step))


@entry
def inward_pieces(memory, blocks, wrench):
    """Step V"""
    for n in range(0, blocks.shape[0], 2):
        if blocks[n + 1] == 1:
            recursion.inward_subchains(memory, blocks[n], wrench, memory)
        else:
            recursion.inward_subchains(memory, blocks[n], wrench, layout.registers(memory, 0, 0))


@entry
def answer_pieces(memory, blocks, udot):
    """Step IX: accelerations of all DOF of the subchains of a share"""
    for n in range(0, blocks.shape[0], 2):
        if blocks[n + 1] == 1:
            recursion.answer_subchains(memory, blocks[n], udot, memory)
        else:
            recursion.answer_subchains(memory, blocks[n], udot, layout.registers(memory, 0, 0))


@inline
def clear_block(memory, at, like):
    g = layout.take_subchains(memory, at, like)
    for j in range(g.m.nu):
        put(g.uA, j, 0.0)


@entry
def clear_forces(memory, blocks):
    """Nothing acts on the subchains any more; their inertia stays"""
    for n in range(0, blocks.shape[0], 2):
        if blocks[n + 1] == 1:
            clear_block(memory, blocks[n], memory)
        else:
            clear_block(memory, blocks[n], layout.registers(memory, 0, 0))


# ---------------------------------------------------------------- inward


@kernel
def base_end(memory, table, z, ends, at):
    """A, B, b and e: what loads at base and tip do to the base. Its DOF were eliminated last first"""
    step = table[z + lay.STEP]
    for i in range(6):
        for n in range(6):
            ends[at + END_ROOM + 6 * i + n] = 1.0 if i == n else 0.0  # how a load at the base is still felt
    for j in range(5, -1, -1):
        S, U = (
            peek6(memory, table[z + lay.BASE_S] + 6 * j * step, step),
            peek6(memory, table[z + lay.BASE_U] + 6 * j * step, step),
        )
        d = memory[table[z + lay.BASE_D] + j * step]
        for n in range(6):
            ends[at + END_E + 6 * j + n] = dot(S, peek6(ends, at + END_ROOM + n, 6))
        e = peek6(ends, at + END_E + 6 * j, 1)
        for i in range(6):
            row = at + END_ROOM + 6 * i
            poke(ends, row, 1, axpy(-d * U[i], e, peek6(ends, row, 1)))
    d = peek6(memory, table[z + lay.BASE_D], step)
    du = times6(d, peek6(memory, table[z + lay.BASE_UA], step))
    for i in range(6):
        e = peek6(ends, at + END_E + i, 6)
        de = times6(d, e)
        ends[at + END_X + i] = dot(du, e)
        for n in range(i + 1):
            ends[at + END_A + 6 * i + n] = ends[at + END_A + 6 * n + i] = dot(de, peek6(ends, at + END_E + n, 6))
        for n in range(6):
            tip = 0.0
            if table[z + lay.TIP_COUNT] > 0:
                tip = dot(de, peek6(memory, table[z + lay.BASE_E] + n * step, WIDE * step))
            ends[at + END_B + 6 * i + n] = tip


@inline
def times6(a, b):
    """Each number of a times that of b"""
    return (a[0] * b[0], a[1] * b[1], a[2] * b[2], a[3] * b[3], a[4] * b[4], a[5] * b[5])


@inline
def rows_times(ends, at, down, across, f):
    """A matrix at ``at``, by the steps down and across, times f"""
    upper = (dot(peek6(ends, at, across), f), dot(peek6(ends, at + down, across), f))
    middle = (dot(peek6(ends, at + 2 * down, across), f), dot(peek6(ends, at + 3 * down, across), f))
    return upper + middle + (dot(peek6(ends, at + 4 * down, across), f), dot(peek6(ends, at + 5 * down, across), f))


@kernel
def respond(ends, at, f1, f2):
    """What loads at base and tip do to both"""
    x1 = add(rows_times(ends, at + END_A, 6, 1, f1), rows_times(ends, at + END_B, 6, 1, f2))
    return x1, add(rows_times(ends, at + END_B, 1, 6, f1), rows_times(ends, at + END_C, 6, 1, f2))


@kernel
def columns(table, cuts, joints, z, Y, at, known):
    """Y of a subchain, six numbers for each load; into ``known`` the loads at both ends that are known"""
    count, c = 0, table[z + lay.BASE_CUT]
    poke(known, 0, 1, NONE)
    poke(known, 6, 1, NONE)
    if c >= 0:
        for row in range(cuts[c * lay.CUT + lay.HELD] + cuts[c * lay.CUT + lay.LENT]):
            poke(Y, at + 6 * count, 1, peek6(joints, c * lay.JOINT + lay.HOLD_W + 6 * row, 1))
            count += 1
        poke(
            known,
            0,
            1,
            add(peek6(joints, c * lay.JOINT + lay.KNOWN, 1), peek6(joints, c * lay.JOINT + lay.RETURNED, 1)),
        )
    for c in range(table[z + lay.TIP_FIRST], table[z + lay.TIP_FIRST] + table[z + lay.TIP_COUNT]):
        R, o = peek9(joints, c * lay.JOINT + lay.REL_R, 1), peek3(joints, c * lay.JOINT + lay.REL_O, 1)
        for row in range(cuts[c * lay.CUT + lay.HELD] + cuts[c * lay.CUT + lay.LENT]):
            f = force_from(R, o, peek6(joints, c * lay.JOINT + lay.HOLD_W + 6 * row, 1))
            poke(Y, at + 6 * count, 1, scale(-1.0 if row < cuts[c * lay.CUT + lay.HELD] else 0.0, f))
            count += 1
        poke(known, 6, 1, sub(peek6(known, 6, 1), force_from(R, o, peek6(joints, c * lay.JOINT + lay.KNOWN, 1))))


@kernel
def element(table, z, ends, at, Y, first, K, k, g, weight, width):
    """K and g of a subchain from its ends and Y, whose first columns act at the base and the others at the tip"""
    x1, x2 = peek6(ends, at + END_X, 1), peek6(ends, at + END_X + 6, 1)
    base, count = table[z + lay.BASE_LOADS], table[z + lay.LOADS]
    for i in range(count):
        y = peek6(Y, 6 * (first + i), 1)
        if i < base:
            x, g[first + i] = rows_times(ends, at + END_A, 6, 1, y), -dot(y, x1)
        else:
            x, g[first + i] = rows_times(ends, at + END_B, 6, 1, y), -dot(y, x2)
        for j in range(min(i + 1, base)):
            K[k + i * width + j] = K[k + j * width + i] = dot(peek6(Y, 6 * (first + j), 1), x)
        if i >= base:
            x = rows_times(ends, at + END_C, 6, 1, y)
            for j in range(base, i + 1):
                K[k + i * width + j] = K[k + j * width + i] = dot(peek6(Y, 6 * (first + j), 1), x)
        weight[first + i] = K[k + i * width + i]


@entry
def make_elements(memory, table, cuts, joints, ends, Y, K, g, weight, width, first, last):
    """K, g and ends of the subchains first to last; the diagonals of Y' [A B; B' C] Y into ``weight``. Step VI"""
    for s in range(first, last):
        z, at, k = s * lay.SUBCHAIN, s * ENDS, s * width * width
        own, step = table[z + lay.AT], table[z + lay.STEP]
        if table[z + lay.TIP_COUNT] > 0:
            spread21(memory, own + (layout.HANDLES + layout.L_) * step, step, view(ends, at + END_C, 36), 6)
            poke(ends, at + END_X + 6, 1, peek6(memory, own + (layout.HANDLES + layout.L0_) * step, step))
        if table[z + lay.BASE_CUT] >= 0:
            base_end(memory, table, z, ends, at)
        known = view(ends, at + END_F, 12)
        columns(table, cuts, joints, z, Y, 6 * s * width, known)
        x1, x2 = respond(ends, at, peek6(known, 0, 1), peek6(known, 6, 1))
        poke(ends, at + END_X, 1, add(peek6(ends, at + END_X, 1), x1))
        poke(ends, at + END_X + 6, 1, add(peek6(ends, at + END_X + 6, 1), x2))
        element(table, z, ends, at, Y, s * width, K, k, g, weight, width)
        c = table[z + lay.BASE_CUT]
        for row in range(table[z + lay.BASE_LOADS]):
            give = joints[c * lay.JOINT + lay.GIVE + row]
            K[k + row * width + row] += give
            weight[s * width + row] += max(give, 0.0)
            g[s * width + row] += joints[c * lay.JOINT + lay.PUSH + row]
            if row < cuts[c * lay.CUT + lay.HELD]:
                W = peek6(joints, c * lay.JOINT + lay.HOLD_W + 6 * row, 1)
                g[s * width + row] += dot(W, peek6(joints, c * lay.JOINT + lay.DRIFT, 1))


# ---------------------------------------------------------------- outward


@entry
def push_ends(memory, table, where, ends, Y, loads, moves, width, alone, first, last):
    """Loads of the cuts onto base and tip of subchains; how both ends accelerate then, into ``moves``.

    ``alone``: nothing else acts, neither forces nor velocities.
    """
    for s in range(first, last):
        z, at = s * lay.SUBCHAIN, s * ENDS
        own, step = table[z + lay.AT], table[z + lay.STEP]
        f1, f2 = NONE, NONE
        for i in range(s * width, s * width + table[z + lay.BASE_LOADS]):
            f1 = axpy(loads[where[i]], peek6(Y, 6 * i, 1), f1)
        for i in range(s * width + table[z + lay.BASE_LOADS], s * width + table[z + lay.LOADS]):
            f2 = axpy(loads[where[i]], peek6(Y, 6 * i, 1), f2)
        x1, x2 = respond(ends, at, f1, f2)
        if not alone:
            x1, x2 = add(x1, peek6(ends, at + END_X, 1)), add(x2, peek6(ends, at + END_X + 6, 1))
            f1, f2 = add(f1, peek6(ends, at + END_F, 1)), add(f2, peek6(ends, at + END_F + 6, 1))
        poke(memory, own + (layout.HANDLES + layout.X_) * step, step, NONE)
        poke(memory, own + (layout.HANDLES + layout.F_) * step, step, f2)
        if table[z + lay.BASE_CUT] >= 0:
            for j in range(6):
                memory[table[z + lay.BASE_UA] + j * step] += dot(peek6(ends, at + END_E + 6 * j, 1), f1)
            poke(moves, (2 * table[z + lay.BASE_CUT] + 1) * 6, 1, x1)
        for c in range(table[z + lay.TIP_FIRST], table[z + lay.TIP_FIRST] + table[z + lay.TIP_COUNT]):
            poke(moves, 2 * c * 6, 1, x2)


@entry
def open_cuts(cuts, tree, joints, moves, udot, mine):
    """u' of the joints that were cut, from how their two sides accelerate"""
    m, _ = open_system(tree, udot)
    for c in range(cuts.shape[0] // lay.CUT):
        if mine[c]:
            at, i = c * lay.JOINT, cuts[c * lay.CUT + lay.BODY]
            x = motion_in(
                peek9(joints, at + lay.REL_R, 1), peek3(joints, at + lay.REL_O, 1), peek6(moves, 2 * c * 6, 1)
            )
            x = sub(sub(peek6(moves, (2 * c + 1) * 6, 1), x), peek6(joints, at + lay.DRIFT, 1))
            for n in range(m.dof[i + 1] - m.dof[i]):
                udot[m.dof[i] + n] = dot(peek6(joints, at + lay.FREE_D + 6 * n, 1), x)
