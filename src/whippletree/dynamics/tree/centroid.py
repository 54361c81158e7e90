"""Centre of mass, its velocity, and the centroidal momentum matrix of a tree of rigid bodies, O(n).

Paper    [orin2013] Centroidal dynamics of a humanoid robot: A_G = X_G' I Phi, by composite inertias as in [walker1982].
Symbols  A = A_G: [angular about the centre of mass; linear] momentum = A u.
Differs  one common frame for each component, so a column is R S, moved from its point to the centre of mass.
"""

from typing import Any

import numpy as np

from ...algebra import spatial as sp
from ...compiler.lanes import entry, get, put, scratch, take, view
from ...kernels import blocks
from ...kernels.kinematics import kinematics_rows, place, take_kinematics
from ...kernels.unpack import unpack
from ...system.system import System
from .composite import gather_inertia
from .workspace import take_composite


def centroid_workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`centroids`."""
    rows = kinematics_rows(system) + 10 * system.nb + system.nq + 7 * system.nu + 7
    return blocks.make_memory(system, rows, lanes)


@entry
def centroids(memory, q, u, out, start, stop):
    """Centre of mass (3), its velocity (3), mass, and A (6, nu) row by row, of the states start to stop"""
    m, end = unpack(memory)
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or out.shape[-1] != 7 + 6 * m.nu:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    w, n = take_composite(m, buffer, n)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, m.nu)
    block, n = take(buffer, n, out.shape[-1])
    total = 0.0
    for s in range(start, stop, blocks.states_per_block(buffer)):
        velocities, result = blocks.gather(u, s, u_block), blocks.target(out, block)
        place(m, blocks.gather(q, s, q_block), k)
        A = view(result, 7, 6 * m.nu)
        zero = 0.0 * get(k.R, 0)
        moment, mass = (zero, zero, zero), zero
        for i in range(1, m.nb):
            moment = sp.add3(moment, sp.add3(sp.load3(k.h, i), sp.scale3(m.mass[i], sp.load3(k.point, m.component[i]))))
            mass = mass + m.mass[i]
        centre, p = sp.scale3(1.0 / mass, moment), (zero, zero, zero, zero, zero, zero)
        for i in range(m.nb - 1, 0, -1):
            own, h, J = gather_inertia(m, k, w, i)
            lever = sp.sub3(sp.load3(k.point, m.component[i]), centre)
            for j in range(m.dof[i], m.dof[i + 1]):
                F = sp.mul_rigid(own, h, J, sp.load6(k.S, j))
                p = sp.axpy(get(velocities, j), F, p)
                turn, push = sp.add3(sp.angular(F), sp.cross(lever, sp.linear(F))), sp.linear(F)
                for n in range(3):
                    put(A, n * m.nu + j, turn[n])
                    put(A, (3 + n) * m.nu + j, push[n])
        sp.store3(result, 0, centre)
        sp.store3(result, 1, sp.scale3(1.0 / mass, sp.linear(p)))
        put(result, 6, mass)
        blocks.scatter(result, s, out)
        total += blocks.checksum(result) + blocks.unit_check(k)
    return total
