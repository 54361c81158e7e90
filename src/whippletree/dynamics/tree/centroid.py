"""Centre of mass, its velocity, and the centroidal momentum matrix of a tree of rigid bodies, O(n).

Paper    [orin2013] Centroidal dynamics of a humanoid robot: A_G = X_G' I Phi, by composite inertias as in [walker1982].
Symbols  A = A_G: [angular about the centre of mass; linear] momentum = A u.
Differs  one common frame for each component, so a column is R S, moved from its point to the centre of mass.
"""

from typing import Any

import numpy as np

from ...algebra.spatial import add3, angular, axpy, cross, linear, load3, load6, mul_rigid, scale3, store3, sub3
from ...compiler.lanes import entry, get, put, scratch, take, view
from ...kernels.blocks import checksum, gather, make_memory, scatter, states_per_block, target, unit_check
from ...kernels.kinematics import kinematics_rows, place, take_kinematics
from ...kernels.unpack import unpack
from ...system.system import System
from .composite import gather_inertia
from .workspace import take_composite


def centroid_workspace(system: System, lanes: int = 1) -> Any:
    """Memory for :func:`centroids`."""
    rows = kinematics_rows(system) + 10 * system.nb + system.nq + 7 * system.nu + 7
    return make_memory(system, rows, lanes)


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
    for s in range(start, stop, states_per_block(buffer)):
        velocities, result = gather(u, s, u_block), target(out, block)
        place(m, gather(q, s, q_block), k)
        A = view(result, 7, 6 * m.nu)
        zero = 0.0 * get(k.R, 0)
        moment, mass = (zero, zero, zero), zero
        for i in range(1, m.nb):
            moment = add3(moment, add3(load3(k.h, i), scale3(m.mass[i], load3(k.point, m.component[i]))))
            mass = mass + m.mass[i]
        centre, p = scale3(1.0 / mass, moment), (zero, zero, zero, zero, zero, zero)
        for i in range(m.nb - 1, 0, -1):
            own, h, J = gather_inertia(m, k, w, i)
            lever = sub3(load3(k.point, m.component[i]), centre)
            for j in range(m.dof[i], m.dof[i + 1]):
                F = mul_rigid(own, h, J, load6(k.S, j))
                p = axpy(get(velocities, j), F, p)
                turn, push = add3(angular(F), cross(lever, linear(F))), linear(F)
                for n in range(3):
                    put(A, n * m.nu + j, turn[n])
                    put(A, (3 + n) * m.nu + j, push[n])
        store3(result, 0, centre)
        store3(result, 1, scale3(1.0 / mass, linear(p)))
        put(result, 6, mass)
        scatter(result, s, out)
        total += checksum(result) + unit_check(k)
    return total
