"""What the files of layout/ pack, as kernels read it: views of it.

They stand apart because a System is made, checked and shown without a compiler: those files load none.
"""

from ..compiler.lanes import get, inline, take, view_integers
from ..layout.constraints import NUMBERS as CONSTRAINT_NUMBERS
from ..layout.constraints import SLIDES, Constraints, Rows
from ..layout.forces import NUMBERS as FORCE_NUMBERS
from ..layout.forces import Forces
from ..layout.modes import VARIES, Constants, Modal
from ..layout.system import COUNTS, FLEXIBLE, OWN_NUMBERS, Arrays


@inline
def take_integers(packed, start, count):
    return view_integers(packed, start, count), start + count


@inline
def unpack(packed):
    """The arrays of the System packed at the start of a memory, as views, and where the rest starts."""
    counts, n = take_integers(packed, 0, COUNTS)
    nb, nu, nq, nc = counts[0], counts[1], counts[2], counts[3]
    parent, n = take_integers(packed, n, nb)
    kind, n = take_integers(packed, n, nb)
    position, n = take_integers(packed, n, nb + 1)
    dof, n = take_integers(packed, n, nb + 1)
    component, n = take_integers(packed, n, nb)
    first, n = take_integers(packed, n, nb)
    up, n = take_integers(packed, n, nu)
    Rt, n = take(packed, n, 9 * nb)
    pt, n = take(packed, n, 3 * nb)
    base, n = take(packed, n, 3 * nc)
    mass, n = take(packed, n, nb)
    com, n = take(packed, n, 3 * nb)
    inertia, n = take(packed, n, 6 * nb)
    parameter, n = take(packed, n, nb)
    sign, n = take(packed, n, nb)
    armature, n = take(packed, n, nu)
    resist, n = take(packed, n, nu)
    gravity, n = take(packed, n, 3)
    numbers, n = take(packed, n, counts[OWN_NUMBERS])
    system = Arrays(
        nb, nu, nq, nc, parent, kind, position, dof, component, up, first,
        Rt, pt, base, mass, com, inertia, parameter, sign, armature, resist, gravity, numbers, counts,
    )  # fmt: skip
    return system, n + counts[FLEXIBLE]


@inline
def unpack_forces(memory, n):
    """The forces packed in a memory from n on, as views, and where the rest starts."""
    counts, n = take_integers(memory, n, 6)
    nf, nj, ns, pieces = counts[0], counts[1], counts[2], counts[5]
    kind, n = take_integers(memory, n, nf)
    body, n = take_integers(memory, n, nf)
    to, n = take_integers(memory, n, nf)
    dof, n = take_integers(memory, n, nf)
    coordinate, n = take_integers(memory, n, nf)
    signal, n = take_integers(memory, n, 3 * nf)
    address, n = take_integers(memory, n, nf)
    numbers, n = take(memory, n, FORCE_NUMBERS * nf)
    passive_dof, n = take_integers(memory, n, nj)
    passive_coordinate, n = take_integers(memory, n, nj)
    passive, n = take(memory, n, 9 * nj)
    first, n = take_integers(memory, n, ns + 1)
    time, n = take(memory, n, pieces)
    piece, n = take(memory, n, 6 * pieces)
    wave, n = take(memory, n, 3 * ns)
    forces = Forces(
        nf, nj, ns, counts[3], counts[4], kind, body, to, dof, coordinate, signal, address, numbers,
        passive_dof, passive_coordinate, passive, first, time, piece, wave,
    )  # fmt: skip
    return forces, n


@inline
def unpack_constraints(memory, n):
    """The constraints packed in a memory from n on, as views, and where the rest starts."""
    counts, n = take_integers(memory, n, 3)
    ne, nr, size, alpha, beta, closes = counts[0], counts[1], memory[n], memory[n + 1], memory[n + 2], memory[n + 3]
    kind, n = take_integers(memory, n + 4, ne)
    turn, n = take_integers(memory, n, ne)
    shift, n = take_integers(memory, n, ne)
    drive, n = take_integers(memory, n, ne)
    row, n = take_integers(memory, n, ne + 1)
    body, n = take_integers(memory, n, ne)
    to, n = take_integers(memory, n, ne)
    dof, n = take_integers(memory, n, 2 * ne)
    coordinate, n = take_integers(memory, n, 2 * ne)
    signal, n = take_integers(memory, n, ne)
    element, n = take_integers(memory, n, nr)
    numbers, n = take(memory, n, CONSTRAINT_NUMBERS * ne)
    E = Constraints(
        ne, nr, counts[2], size, alpha, beta, closes, kind, turn, shift, drive, row, body, to, dof, coordinate, signal,
        element, numbers,
    )  # fmt: skip
    return E, n


@inline
def follows(E, r):
    """-1, or for a row of friction the row whose multiplier it follows; itself, where its load is constant"""
    n = E.element[r]
    return E.row[n] if E.drive[n] == SLIDES and r == E.row[n + 1] - 1 else -1


@inline
def take_rows(E, buffer, n):
    g, n = take(buffer, n, E.nr)
    rate, n = take(buffer, n, E.nr)
    prescribed, n = take(buffer, n, E.nr)
    gamma, n = take(buffer, n, E.nr)
    w, n = take(buffer, n, 12 * E.nr)
    return Rows(g, rate, prescribed, gamma, w), n


@inline
def constants_of(x, f, n):
    K = x.data[f]
    D, M, Ct = K + n * n, K + 2 * n * n, K + 3 * n * n
    Cr, J1, h = Ct + 3 * n, Ct + 6 * n, Ct + 12 * n
    J, G = h + 3, h + 9
    Y = G + n * n
    return Constants(K, D, M, Ct, Cr, J1, h, J, G, G + 9 * n * n, G + 15 * n * n, G, Y, Y + n * x.rank[f])


@inline
def unpack_modal(memory, m, end):
    """The flexible bodies packed before ``end`` in a memory."""
    n = end - m.header[FLEXIBLE]
    column, n = take_integers(memory, n, m.nb)
    work, n = take_integers(memory, n, m.nb)
    data, n = take_integers(memory, n, m.nb)
    flags, n = take_integers(memory, n, m.nb)
    nodes, n = take_integers(memory, n, m.nb)
    rank, n = take_integers(memory, n, m.nb)
    mass, n = take_integers(memory, n, m.nb)
    points, n = take_integers(memory, n, m.nb)
    entries, n = take_integers(memory, n, m.nb)
    lumps, n = take_integers(memory, n, m.nb)
    scratch, n = take_integers(memory, n, m.nb)
    numbers, n = take(memory, n, end - n)
    return Modal(column, work, data, flags, nodes, rank, mass, points, entries, lumps, scratch, numbers)


@inline
def modal_mass(x, P, f, n, M, a, b):
    """Mff of a flexible body: constant, or of the deformation; M is where the constants start"""
    zero = 0.0 * get(P, x.column[f])
    return get(P, x.mass[f] + a * n + b) if x.flags[f] & VARIES else x.numbers[M + a * n + b] + zero
