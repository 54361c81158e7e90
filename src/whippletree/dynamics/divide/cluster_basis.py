"""Rows of the Jacobian inside one subchain as an orthonormal basis, which shared rows are made orthogonal to.

The rows are times D^-1/2 and those that the cluster has kept, see subchain_loops.py and shared_rows.py.
"""

import math

from ...compiler.lanes import get, kernel, put
from ...kernels.unpack import take_integers
from ..constraints.multipliers import product, subtract
from ..two_handle.layout import CLUSTER, CLUSTER_RANK, CLUSTERS_AT, HEAD, take_subchains
from .cluster_layout import take_cluster, take_clusters


@kernel
def make_basis(k, rank):
    """An orthonormal basis of the rows that are kept, by Gram-Schmidt, done twice"""
    for n in range(rank):
        r = int(get(k.order, n))
        for _ in range(2):
            for s in range(n):
                other = int(get(k.order, s))
                subtract(k.C, k.nf, product(k.C, k.nf, other, r), other, r)
            size = math.sqrt(product(k.C, k.nf, r, r))
            for l in range(k.nf):
                put(k.C, r * k.nf + l, get(k.C, r * k.nf + l) / size)


@kernel
def project_clustered(memory, at, row, like):
    """A row of the Jacobian times D^-1/2, (nu), less its parts along the rows inside one subchain"""
    g = take_subchains(memory, at, like)
    head, _ = take_integers(memory, at, HEAD)
    K, _ = take_clusters(memory, head[CLUSTERS_AT], g)
    for c in range(K.count):
        k, _ = take_cluster(memory, K, c)
        for n in range(K.table[CLUSTER * c + CLUSTER_RANK]):
            basis, total = int(get(k.order, n)) * k.nf, 0.0
            for b in range(k.bodies.shape[0]):
                i = k.bodies[b]
                for l in range(g.m.dof[i], g.m.dof[i + 1]):
                    total += get(k.C, basis + K.place[i] + l - g.m.dof[i]) * row[g.u_row[l]]
            for b in range(k.bodies.shape[0]):
                i = k.bodies[b]
                for l in range(g.m.dof[i], g.m.dof[i + 1]):
                    row[g.u_row[l]] -= total * get(k.C, basis + K.place[i] + l - g.m.dof[i])
