"""The clusters of a subchain as kernels see them: loops inside it that share bodies. loop_clusters.py lays them out."""

from typing import Any, NamedTuple

from ...compiler.lanes import inline, view
from ...kernels.unpack import take_integers
from ..two_handle.layout import BODIES_AT, CLUSTER, CLUSTER_BODIES, CLUSTER_ROW, CLUSTER_ROWS, DOFS, NUMBERS_AT, TOP


class Clusters(NamedTuple):
    """The clusters of a subchain, outermost top first."""

    count: Any
    table: Any  # (count, CLUSTER)
    row: Any  # (rows, KNOT_ROW)
    place: Any  # (nb)  where a body's DOF are among those of its cluster
    push: Any  # (nu)   acceleration that the loads of loops cause


class Cluster(NamedTuple):
    """One of them."""

    rows: Any
    nf: Any
    bodies: Any
    Y: Any  # (rows, nf)
    C: Any  # (rows, nf)  rows of the Jacobian times D^-1/2, then an orthonormal basis of those that are kept
    R: Any  # (rows, rows)
    scale: Any  # (rows)
    norm: Any  # (rows)
    order: Any  # (rows)
    part: Any  # (rows)
    nu: Any  # (rows)
    zeta: Any  # (rows, 6)  of a row, then of a direction
    eta: Any  # (rows, 6)
    kappa: Any  # (rows)


@inline
def take_clusters(memory, at, g):
    head, n = take_integers(memory, at, 2)
    table, n = take_integers(memory, n, CLUSTER * head[0])
    row, n = take_integers(memory, n, CLUSTER_ROW * head[1])
    place, n = take_integers(memory, n, g.m.nb)
    return Clusters(head[0], table, row, place, view(memory, n, g.m.nu)), n


@inline
def take_cluster(memory, K, c):
    t = CLUSTER * c
    rows, nf, n = K.table[t + CLUSTER_ROWS], K.table[t + DOFS], K.table[t + NUMBERS_AT]
    bodies, _ = take_integers(memory, K.table[t + BODIES_AT], K.table[t + CLUSTER_BODIES])
    Y = view(memory, n, rows * nf)
    n += rows * nf
    R = view(memory, n, rows * rows)
    n += rows * rows
    scale, norm, order = view(memory, n, rows), view(memory, n + rows, rows), view(memory, n + 2 * rows, rows)
    n += 3 * rows
    part, nu, kappa = view(memory, n, rows), view(memory, n + rows, rows), view(memory, n + 2 * rows, rows)
    n += 3 * rows
    zeta, eta = view(memory, n, 6 * rows), view(memory, n + 6 * rows, 6 * rows)
    n += 12 * rows
    C = view(memory, n, rows * nf)
    return Cluster(rows, nf, bodies, Y, C, R, scale, norm, order, part, nu, zeta, eta, kappa), n


@inline
def tops_at(K, c, i):
    """Whether cluster c ends on body i"""
    return c < K.count and K.table[CLUSTER * c + TOP] == i
