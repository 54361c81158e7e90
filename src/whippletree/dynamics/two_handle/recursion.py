"""The two-handle equations of a subchain by one O(n) pass, of one subchain or of LANES side by side in registers.

Paper    [critchley2007] eqs (50)-(71); pivoted as it tells of [featherstone1999b]: f1 and x1 have changed places, and
         one body gives the equations of the articulated-body algorithm.
Symbols  handle 1 is the body that carries the subchain, handle 2 its tip. x1, x2 are their accelerations less what
         velocities cause, f1 and f2 the forces on the subchain there:
         f1 = I x1 - E f2 + p,    x2 = E' x1 + L f2 + l.
         I and p are the articulated inertia and force of eqs (44)-(45), E is the paper's E-hat.
Differs  one inward pass gives both handles, where the paper passes a second time, backward, from handle 1: with every
         DOF L and l grow by what it lets the tip move. Nothing is inverted but pivots. Kinematics are local: those
         of the carrying body are added to v and b as the recursion meets them. What hangs off the path is folded in
         first.
"""

from numba.extending import overload

from ...algebra import spatial as sp
from ...algebra.matrix6 import force_frame, force_in, store36
from ...algebra.trig import sincos_all
from ...compiler.lanes import ALWAYS, LANES, get, inline, kernel, put, view
from ...kernels.kinematics import move_body, place_body
from . import layout
from .end_point import end_tip, load_e, reach_tip, start_tip

RUN = 32  # bodies whose S, U, d and e in lanes fit the nearest cache


def gather_rows(source, row, full, target):
    """Numbers of the System's vector into the lanes of a block; beyond ``full`` rows a lane may have none."""


def scatter_rows(source, row, full, used, target):
    """The way back."""


@overload(gather_rows, jit_options=ALWAYS)
def _gather_rows(source, row, full, target):
    if target.ndim == 1:

        def one(source, row, full, target):
            for j in range(target.shape[0]):
                target[j] = source[row[j]]

        return one

    def many(source, row, full, target):
        for j in range(full):
            for lane in range(LANES):
                target[j, lane] = source[row[j * LANES + lane]]
        for j in range(full, target.shape[0]):
            for lane in range(LANES):
                if row[j * LANES + lane] >= 0:
                    target[j, lane] = source[row[j * LANES + lane]]

    return many


@overload(scatter_rows, jit_options=ALWAYS)
def _scatter_rows(source, row, full, used, target):
    if source.ndim == 1:

        def one(source, row, full, used, target):
            for j in range(source.shape[0]):
                target[row[j]] = source[j]

        return one

    def many(source, row, full, used, target):
        if used == LANES:
            for j in range(full):
                for lane in range(LANES):
                    target[row[j * LANES + lane]] = source[j, lane]
        for j in range(full if used == LANES else 0, source.shape[0]):
            for lane in range(used):
                if row[j * LANES + lane] >= 0:
                    target[row[j * LANES + lane]] = source[j, lane]

    return many


def take_wrench(wrench, body, i, target):
    """The wrench on each lane's body i."""


@overload(take_wrench, jit_options=ALWAYS)
def _take_wrench(wrench, body, i, target):
    if target.ndim == 1:

        def one(wrench, body, i, target):
            for n in range(6):
                target[6 * i + n] = wrench[6 * body[i] + n]

        return one

    def many(wrench, body, i, target):
        for lane in range(LANES):
            for n in range(6):
                target[6 * i + n, lane] = wrench[6 * body[i * LANES + lane] + n]

    return many


# ---------------------------------------------------------------- kinematics


@kernel
def place_subchains(memory, at, q, u, tau, like):
    """Inputs into lanes, and local kinematics: as if the carrying bodies were at rest"""
    g = layout.take_subchains(memory, at, like)
    gather_rows(q, g.q_row, g.q_full, g.q)
    gather_rows(u, g.u_row, g.u_full, g.u)
    gather_rows(tau, g.u_row, g.u_full, g.tau)
    sincos_all(g.q, g.k.sin, g.k.cos)
    for n in range(3):
        put(g.k.point, n, get(g.m.base, n))
        put(g.k.defect, n, 0.0)
    for i in range(1, g.m.nb):
        if g.side[i]:
            sp.store21(g.IA, i, sp.load21(g.zero, 0))
            sp.store6(g.pA, i, sp.load6(g.zero, 0))
        place_body(g.m, g.q, g.k, i)
        move_body(g.m, g.q, g.u, g.k, i)
    for n in range(3):
        put(g.own, layout.POINT + n, get(g.k.point, n))


# ---------------------------------------------------------------- inward


@inline
def own_force(g, i, V, B, wrench):
    """I b + v x* I v - f of one body, with v = V + local, b = B + V x local v + local b"""
    vl = sp.load6(g.k.v, i)
    b = sp.add(sp.add(B, sp.load6(g.k.b, i)), sp.cross_motion(V, vl))
    p = sp.rigid_force(get(g.m.mass, i), sp.load3(g.k.h, i), sp.load6(g.k.J, i), b, sp.add(V, vl))
    if wrench.shape[0] > 0:
        p = sp.sub(p, sp.load6(g.x, i))
    return p


@inline
def release(g, j, IA, pA):
    """(U, d, uA) of a DOF that moves freely"""
    S = sp.load6(g.k.S, j)
    U = sp.mul(IA, S)
    d = 1.0 / (sp.dot(S, U) + get(g.m.resist, j))
    uA = get(g.tau, j) - sp.dot(S, pA)
    sp.store6(g.U, j, U)
    put(g.d, j, d)
    put(g.uA, j, uA)
    return U, d, uA


@inline
def fold_sides(g, V, B, wrench):
    """What hangs off the path aside, from its tips inward, into the rows of the bodies that it hangs on"""
    for i in range(g.m.nb - 1, g.path, -1):
        IA = sp.add_rigid(sp.load21(g.IA, i), get(g.m.mass, i), sp.load3(g.k.h, i), sp.load6(g.k.J, i))
        pA = sp.add(sp.load6(g.pA, i), own_force(g, i, V, B, wrench))
        for j in range(g.m.dof[i + 1] - 1, g.m.dof[i] - 1, -1):
            U, d, uA = release(g, j, IA, pA)
            IA, pA = sp.sub_outer(IA, d, U), sp.axpy(d * uA, U, pA)
        p = g.m.parent[i]
        sp.store21(g.IA, p, sp.add21(sp.load21(g.IA, p), IA))
        sp.store6(g.pA, p, sp.add(sp.load6(g.pA, p), pA))


@inline
def fold_path(g, V, B, wrench, outer, inner, IA, pA):
    """I and p, from the bodies of the path between two, the outer one with it: eqs (44)-(47)"""
    for i in range(outer, inner, -1):
        IA = sp.add_rigid(IA, get(g.m.mass, i), sp.load3(g.k.h, i), sp.load6(g.k.J, i))
        pA = sp.add(pA, own_force(g, i, V, B, wrench))
        if g.side[i]:
            IA, pA = sp.add21(IA, sp.load21(g.IA, i)), sp.add(pA, sp.load6(g.pA, i))
        for j in range(g.m.dof[i + 1] - 1, g.m.dof[i] - 1, -1):
            U, d, uA = release(g, j, IA, pA)
            IA, pA = sp.sub_outer(IA, d, U), sp.axpy(d * uA, U, pA)
    return IA, pA


@inline
def fold_handles(g, V, B, wrench, E, L, l):
    """I and p of handle 1; E, L and l grow where they lie. RUN bodies at a time, whose numbers stay near"""
    IA, pA = sp.load21(g.zero, 0), sp.load6(g.zero, 0)
    start_tip(E, L, l, g.wide)
    for outer in range(g.path, 0, -RUN):
        inner = max(outer - RUN, 0)
        IA, pA = fold_path(g, V, B, wrench, outer, inner, IA, pA)
        reach_tip(g, g.m.dof[inner + 1], g.m.dof[outer + 1], E, L, l)
    end_tip(E, L, l, g.wide)
    return IA, pA


@inline
def gather_wrench(g, wrench, R, o):
    """Wrenches on bodies, from the System's frame into those of the subchains, to where accelerations will be"""
    for i in range(1, g.m.nb):
        take_wrench(wrench, g.body, i, g.x)
        sp.store6(g.x, i, force_in(R, o, sp.load6(g.x, i)))


@kernel
def inward_subchains(memory, at, wrench, like):
    """Handles of the subchains of a block, in the frames of the carrying bodies"""
    g = layout.take_subchains(memory, at, like)
    V, B = sp.load6(view(g.own, layout.BASE_V, 6), 0), sp.load6(view(g.own, layout.BASE_B, 6), 0)
    if wrench.shape[0] > 0:
        gather_wrench(g, wrench, sp.load9(view(g.own, layout.TURN, 9), 0), sp.load3(view(g.own, layout.OFFSET, 3), 0))
    fold_sides(g, V, B, wrench)
    handles = view(g.own, layout.HANDLES, layout.NODE)
    if g.free_tip:
        IA, pA = fold_path(g, V, B, wrench, g.path, 0, sp.load21(g.zero, 0), sp.load6(g.zero, 0))
    else:
        # E starts as the frame in which the next subchain sees the tip, so L and l are in that frame too
        E, L, l = view(handles, layout.E_, 36), view(handles, layout.L_, 21), view(handles, layout.L0_, 6)
        store36(
            E, 0, force_frame(sp.load9(view(g.own, layout.NEXT_R, 9), 0), sp.load3(view(g.own, layout.NEXT_O, 3), 0))
        )
        IA, pA = fold_handles(g, V, B, wrench, E, L, l)
    sp.store21(view(handles, layout.I_, 21), 0, IA)
    sp.store6(view(handles, layout.P_, 6), 0, pA)


# ---------------------------------------------------------------- outward


@inline
def answer_body(g, i, x, f):
    """x of a body from that of its parent, and its DOF' accelerations into tau's place; f is the tip's force"""
    for j in range(g.m.dof[i], g.m.dof[i + 1]):
        left = get(g.uA, j) - sp.dot(sp.load6(g.U, j), x)
        if not g.free_tip and i <= g.path:
            left = left + sp.dot(load_e(g.e, j), f)  # eq. (57)
        udot_j = get(g.d, j) * left
        x = sp.axpy(udot_j, sp.load6(g.k.S, j), x)
        put(g.tau, j, udot_j)
    if g.side[i]:
        sp.store6(g.x, i, x)
    return x


@kernel
def pivots_of_subchains(memory, at, out, like):
    """1 / D of all DOF, each subchain with a free tip"""
    g = layout.take_subchains(memory, at, like)
    scatter_rows(g.d, g.u_row, g.u_full, g.used, out)


@kernel
def answer_subchains(memory, at, udot, like):
    """Accelerations of all DOF from those of the carrying bodies and the forces at the tips"""
    g = layout.take_subchains(memory, at, like)
    handles = view(g.own, layout.HANDLES, layout.NODE)
    x, f = sp.load6(view(handles, layout.X_, 6), 0), sp.load6(view(handles, layout.F_, 6), 0)
    for i in range(1, g.path + 1):
        x = answer_body(g, i, x, f)
    for i in range(g.path + 1, g.m.nb):
        answer_body(g, i, sp.load6(g.x, g.m.parent[i]), f)
    scatter_rows(g.tau, g.u_row, g.u_full, g.used, udot)
    total = get(g.zero, 0)
    for j in range(g.m.nu):
        total = total + 0.0 * get(g.tau, j)
    put(g.own, layout.HEALTH, total)
