"""What joint forces alone do to subchains: the recursion of recursion.py once more, with the pivots that it has left
behind.

Paper    [critchley2007] eqs (45) and (57), without what velocity and gravity cause.
Symbols  as recursion.py. Inertias, U, d, E and L belong to the pose and stay; p, l and uA are those of the forces.
Differs  a step of this recursion is a dot product and two sums. Joining does all its work again: it is short.
"""

from ...algebra.spatial import add, axpy, dot, load6, store6
from ...compiler.lanes import get, inline, kernel, put, view
from .end_point import load_e
from .layout import HANDLES, L0_, NODE, P_, take_subchains
from .recursion import gather_rows


@kernel
def ready_subchains(memory, at, tau, like):
    """Joint forces into lanes; nothing hangs on the bodies yet"""
    g = take_subchains(memory, at, like)
    gather_rows(tau, g.u_row, g.u_full, g.tau)
    for i in range(1, g.m.nb):
        if g.side[i]:
            store6(g.pA, i, load6(g.zero, 0))


@inline
def press(g, j, pA):
    """d uA of a DOF, and pA inboard of it"""
    uA = get(g.tau, j) - dot(load6(g.k.S, j), pA)
    put(g.uA, j, uA)
    push = get(g.d, j) * uA
    return push, axpy(push, load6(g.U, j), pA)


@kernel
def press_subchains(memory, at, like):
    """p and l of the subchains of a block"""
    g = take_subchains(memory, at, like)
    for i in range(g.m.nb - 1, g.path, -1):
        pA = load6(g.pA, i)
        for j in range(g.m.dof[i + 1] - 1, g.m.dof[i] - 1, -1):
            _, pA = press(g, j, pA)
        store6(g.pA, g.m.parent[i], add(load6(g.pA, g.m.parent[i]), pA))
    pA, l = load6(g.zero, 0), load6(g.zero, 0)
    for i in range(g.path, 0, -1):
        if g.side[i]:
            pA = add(pA, load6(g.pA, i))
        for j in range(g.m.dof[i + 1] - 1, g.m.dof[i] - 1, -1):
            push, pA = press(g, j, pA)
            if not g.free_tip:
                l = axpy(push, load_e(g.e, j), l)
    handles = view(g.own, HANDLES, NODE)
    store6(view(handles, P_, 6), 0, pA)
    if not g.free_tip:
        store6(view(handles, L0_, 6), 0, l)
