"""Poses, velocities, freedoms, energy and momentum of a state, for the user's eyes."""

from typing import Any

import numpy as np

from ..algebra.spatial import (
    add,
    add3,
    angular,
    cross,
    dot,
    dot3,
    join,
    linear,
    load3,
    load6,
    load9,
    mul_rigid,
    scale3,
    store3,
    store6,
    store9,
)
from ..compiler.function_pointers import SURVEY, call_flexible
from ..compiler.lanes import entry, get, put, scratch, take, view
from ..layout.system import MODAL_MOTION
from .blocks import checksum, gather, make_memory, scatter, states_per_block, target, unit_check
from .kinematics import MODES, kinematics_rows, place_and_move, take_kinematics
from .unpack import unpack


def survey_rows(system: Any) -> int:
    """Numbers in one survey: 18 for each body (R, position, v), 6 for each degree of freedom, 3 for each
    component, 9; and what flexible bodies keep of their motion.
    """
    modal = system.flexible.motion if system.flexible else 0
    return 18 * system.nb + 6 * system.nu + 3 * system.nc + 9 + modal


def survey_workspace(system: Any, lanes: int = 1) -> Any:
    return make_memory(system, kinematics_rows(system) + system.nq + system.nu + survey_rows(system), lanes)


@entry
def survey(memory, q, u, out, start, stop):
    """R (nb, 9), position from the component's point (nb, 3), v (nb, 6), S (nu, 6), point (nc, 3), momentum (6),
    kinetic, potential and modal energy, columns of flexible bodies."""
    m, end = unpack(memory)
    modal = m.header[MODAL_MOTION]
    if q.shape[-1] != m.nq or u.shape[-1] != m.nu or out.shape[-1] != 18 * m.nb + 6 * m.nu + 3 * m.nc + 9 + modal:
        return np.nan
    buffer = scratch(memory, end, q)
    k, n = take_kinematics(m, buffer)
    columns = view(buffer, n - modal, modal)
    q_block, n = take(buffer, n, m.nq)
    u_block, n = take(buffer, n, m.nu)
    block, n = take(buffer, n, out.shape[-1])
    total = 0.0
    for s in range(start, stop, states_per_block(buffer)):
        coordinates, speeds = gather(q, s, q_block), gather(u, s, u_block)
        place_and_move(m, coordinates, speeds, k)
        result = target(out, block)
        R, n = take(result, 0, 9 * m.nb)
        position, n = take(result, n, 3 * m.nb)
        v, n = take(result, n, 6 * m.nb)
        S, n = take(result, n, 6 * m.nu)
        point, n = take(result, n, 3 * m.nc)
        sums, n = take(result, n, 9)
        kinetic, potential, p = get(k.v, 0), get(k.v, 0), load6(k.v, 0)  # ground's own: zero
        store9(R, 0, load9(k.R, 0))
        store3(position, 0, load3(k.o, 0))
        store6(v, 0, load6(k.v, 0))
        for i in range(1, m.nb):
            origin = load3(k.point, m.component[i])
            store9(R, i, load9(k.R, i))
            store3(position, i, load3(k.o, i))
            store6(v, i, load6(k.v, i))
            h = load3(k.h, i)
            Iv = mul_rigid(m.mass[i], h, load6(k.J, i), load6(k.v, i))
            kinetic = kinetic + 0.5 * dot(load6(k.v, i), Iv)
            potential = potential - dot3(load3(m.gravity, 0), add3(h, scale3(m.mass[i], origin)))
            p = add(p, join(add3(angular(Iv), cross(origin, linear(Iv))), linear(Iv)))
        for j in range(m.nu):
            store6(S, j, load6(k.S, j))
            kinetic = kinetic + 0.5 * m.armature[j] * get(speeds, j) * get(speeds, j)
        for c in range(m.nc):
            store3(point, c, load3(k.point, c))
        store6(sums, 0, p)
        put(sums, 6, kinetic)
        put(sums, 7, potential)
        put(sums, 8, 0.0)
        if modal > 0:
            for i in range(1, m.nb):
                if m.kind[i] == MODES:
                    call_flexible(SURVEY, i, 0, m.header, k.sin, coordinates, speeds, sums, sums, sums)
            for j in range(modal):
                put(result, n + j, get(columns, j))
        scatter(result, s, out)
        total += checksum(result) + unit_check(k)
    return total
